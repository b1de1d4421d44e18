"""Files of audits: the folder of an audit, that of a release, and single pages."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from habitprint.auditing.audit import (
    ADVICE,
    FACTS,
    FILES,
    INTERNAL,
    PUBLISH,
    RECORD_HTML,
    RECORD_MD,
    REPORT,
    USERS,
    Audit,
)
from habitprint.auditing.compare import Comparison, compare
from habitprint.auditing.options import NOBODY, Accountability
from habitprint.auditing.releasing import ReleaseFolder, ToRelease, release_table
from habitprint.errors import InputError
from habitprint.formatting import counted
from habitprint.io.files import OWNER_ONLY, OWNERS_FOLDER, Writer, new_folder, write_folder, write_text
from habitprint.mechanisms import InputFile
from habitprint.mechanisms.recipe import to_text
from habitprint.progress import Progress, ProgressBar
from habitprint.report.charts import comparison_figure, figures_of
from habitprint.report.render import render_page, to_markdown
from habitprint.wording.compare import BEFORE_AND_AFTER, build_comparison
from habitprint.wording.pages import build_joint_record, build_page, build_record, report_json
from habitprint.wording.releases import tell_release

COMPARED = "compared.html"


def render_report(audit: Audit) -> str:
    """Return the report of an audit as the text of an HTML file that opens without a network.

    To make the page from a file, read the file: ``hp.Audit.from_json(json.load(file))``.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> hp.render_report(hp.Audit.from_json(found.to_json())) == hp.render_report(found)
    True
    """
    return render_page(build_page(audit, figures_of(audit)))


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
    write_text(Path(path), render_page(build_comparison(found, comparison_figure(found))), overwrite=overwrite)


def write_record(
    audits: Mapping[str, Audit],
    path: str | os.PathLike[str],
    *,
    accountability: Accountability = NOBODY,
    reports: Sequence[InputFile] = (),
    overwrite: bool = False,
) -> None:
    """Write one record of audits under several assumptions, one row each; of one audit, its own record.

    Parameters
    ----------
    audits
        The audits by name, such as insider, partner and public.
    path
        The file, .html or .md; an existing one is kept unless `overwrite` is true.
    accountability
        The people and reasons behind the release. They replace those that the audits agree on.
    reports
        The files that hold the audits, for the record.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> found = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hp.write_record({"insider": found, "public": found}, Path(folder) / "record.md")
    ...     (Path(folder) / "record.md").read_text().count("Target missed")
    2
    """
    path = Path(path)
    if path.suffix not in {".html", ".md"} or not audits:
        what = f"cannot write the record of {counted(len(audits), 'audit')} to {path}"
        raise InputError(what, why="a record is a page of one or more audits", fix="write to a file .html or .md")
    record = build_joint_record(audits, accountability, reports)
    write_text(path, (render_page if path.suffix == ".html" else to_markdown)(record), overwrite=overwrite)


def write_audit(found: Audit, folder: str | os.PathLike[str], *, overwrite: bool = False) -> list[Path]:
    """Write an audit into a folder, as ``habitprint audit`` does: report, record, facts, and who is at risk.

    All files are for internal use; only ``users.parquet`` names people. All files appear together, when they are
    complete.

    Parameters
    ----------
    found
        The result of `habitprint.audit`.
    folder
        A new or empty folder. If `overwrite` is true, files of an earlier audit are replaced or removed; other files
        stay.

    Returns
    -------
    list of Path
        The files.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(12, 5), target=0.5, noise=False)
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
        writers[ADVICE] = lambda path: _owner_only(path).write_text(to_text(advice), encoding="utf-8")
    return write_folder(Path(folder), writers, ours=FILES, overwrite=overwrite)


def release(
    audit: Audit | ToRelease,
    folder: str | os.PathLike[str],
    *,
    command: str | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Audit:
    """Protect an audited table as its audit recommends, audit the written file, and write everything into one folder.

    ``publish/`` has the protected table and its JSON file: publish these two. ``internal/`` has the key, the owner's
    file, the report, the comparison with the unprotected table, and the record to sign. The folder appears when all
    files are complete. If the written table misses the target, there is no folder.

    Parameters
    ----------
    audit
        An audit that recommends a protection, made by `habitprint.audit` in this process.
    folder
        A new or empty folder. If `overwrite` is true, an earlier release there is replaced.
    command
        The command line that made the release, for the record.
    progress
        A function that is called now and then with the progress of the work. None shows a bar in a terminal or in a
        notebook.

    Returns
    -------
    Audit
        The audit of the written file. The attacker and all options are those of the first audit.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(40, 6), target=0.5, noise=False)
    >>> with tempfile.TemporaryDirectory() as place:
    ...     final = release(found, Path(place) / "april")
    ...     sorted(os.listdir(Path(place) / "april" / "publish"))
    ['april.parquet', 'april.parquet.json']
    >>> final.verdict.passes
    True
    """
    start = audit if isinstance(audit, ToRelease) else ToRelease.of(audit)
    folder = Path(folder)
    if progress is None:
        with ProgressBar() as shown:
            return release(start, folder, command=command, overwrite=overwrite, progress=shown)
    with new_folder(folder, entries=(PUBLISH, INTERNAL), overwrite=overwrite) as made:
        files = ReleaseFolder.of(made)
        files.table.parent.mkdir()
        files.internal.mkdir(mode=OWNERS_FOLDER)
        final = release_table(start, files.table, files.key, command=command, tell=tell_release, progress=progress)
        progress("writing", 0, 1)
        write_audit(final, files.internal, overwrite=True)
        write_comparison(compare([start.audit, final], BEFORE_AND_AFTER), files.internal / COMPARED)
    return final


def _owner_only(path: Path) -> Path:
    path.touch(mode=OWNER_ONLY)
    return path
