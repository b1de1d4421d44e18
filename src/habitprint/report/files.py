"""Reports as files: the page alone, or the folder of an audit."""

import os
from pathlib import Path

from habitprint.auditing.audit import ADVICE, FACTS, RECORD_HTML, RECORD_MD, REPORT, USERS, Audit
from habitprint.auditing.compare import Comparison
from habitprint.io.files import OWNER_ONLY, Writer, check_target, write_folder, write_text
from habitprint.report.compare import build_comparison
from habitprint.report.html import render_page
from habitprint.report.markdown import to_markdown
from habitprint.report.sections import build_page
from habitprint.wording.facts import report_json
from habitprint.wording.record import build_record


def render_report(audit: Audit) -> str:
    """Return the report of an audit as the text of an HTML file that opens without a network.

    For a page from a file, read it back: ``hp.Audit.from_json(json.load(file))``.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> hp.render_report(hp.Audit.from_json(found.to_json())) == hp.render_report(found)
    True
    """
    return render_page(build_page(audit))


def write_report(audit: Audit, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write the report of an audit to an HTML file, in one piece or not at all.

    Parameters
    ----------
    audit
        The audit.
    path
        The file; an existing one is kept unless `overwrite` is true.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> found = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hp.write_report(found, Path(folder) / "report.html")
    ...     (Path(folder) / "report.html").read_text().startswith("<!doctype html>")
    True
    """
    check_target(Path(path), overwrite=overwrite)
    write_text(Path(path), render_report(audit), overwrite=overwrite)


def write_comparison(found: Comparison, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a comparison of audits to an HTML file, in one piece or not at all.

    Parameters
    ----------
    found
        The result of `habitprint.compare`.
    path
        The file; an existing one is kept unless `overwrite` is true.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> fewer = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> found = hp.compare([fewer, hp.audit(hp.datasets.town(14, 5), noise=False)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hp.write_comparison(found, Path(folder) / "compared.html")
    ...     (Path(folder) / "compared.html").read_text().startswith("<!doctype html>")
    True
    """
    check_target(Path(path), overwrite=overwrite)
    write_text(Path(path), render_page(build_comparison(found)), overwrite=overwrite)


def write_audit(found: Audit, folder: str | os.PathLike[str], *, overwrite: bool = False) -> list[Path]:
    """Write an audit into a folder, as ``habitprint audit`` does: report, record, facts, and who is at risk.

    All files are for internal use; only ``users.parquet`` names people. All files appear at once, when they are
    complete.

    Parameters
    ----------
    found
        The result of `habitprint.audit`.
    folder
        A new or empty folder. If `overwrite` is true, files of an earlier audit are replaced or removed, and no others
        touched.

    Returns
    -------
    list of Path
        The files.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(20, 6), target=0.3, noise=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [file.name for file in hp.write_audit(found, Path(folder) / "audit")]
    ['report.html', 'record.html', 'record.md', 'report.json', 'users.parquet', 'advice.json']
    """
    internal, record = found.require_internal(), build_record(found)
    writers: dict[str, Writer] = {
        REPORT: lambda path: path.write_text(render_report(found), encoding="utf-8"),
        RECORD_HTML: lambda path: path.write_text(render_page(record), encoding="utf-8"),
        RECORD_MD: lambda path: path.write_text(to_markdown(record), encoding="utf-8"),
        FACTS: lambda path: path.write_text(report_json(found) + "\n", encoding="utf-8"),
        USERS: lambda path: internal.users.write_parquet(_owner_only(path)),
    }
    if (advice := internal.advice) is not None:
        writers[ADVICE] = lambda path: _owner_only(path).write_text(advice.to_text(), encoding="utf-8")
    return write_folder(
        Path(folder), writers, ours=(REPORT, RECORD_HTML, RECORD_MD, FACTS, USERS, ADVICE), overwrite=overwrite
    )


def _owner_only(path: Path) -> Path:
    path.touch(mode=OWNER_ONLY)
    return path
