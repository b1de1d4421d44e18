"""An audit as a folder of files."""

import os
from pathlib import Path

from habitprint.auditing.audit import ADVICE, FACTS, RECORD_HTML, RECORD_MD, REPORT, USERS, Audit
from habitprint.io.files import OWNER_ONLY, Writer, write_folder
from habitprint.report.record import build_record, to_markdown
from habitprint.report.render import render_record, render_report
from habitprint.wording.facts import report_json


def write_audit(found: Audit, folder: str | os.PathLike[str], *, overwrite: bool = False) -> list[Path]:
    """Write an audit into a folder, as ``habitprint audit`` does: report, record, facts, and who is at risk.

    All of it is for internal use; ``users.parquet`` names people, the others nobody. All files appear at once, when
    they are complete.

    Parameters
    ----------
    found
        What `habitprint.audit` found.
    folder
        It must not be there, or be empty, unless `overwrite` is true; then files of an earlier audit are replaced or
        removed, and no others touched.

    Returns
    -------
    list of Path
        The files.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(20, 5), noise=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [file.name for file in hp.write_audit(found, Path(folder) / "audit")]
    ['report.html', 'record.html', 'record.md', 'report.json', 'users.parquet', 'advice.json']
    """
    internal = found.require_internal()
    writers: dict[str, Writer] = {
        REPORT: lambda path: path.write_text(render_report(found), encoding="utf-8"),
        RECORD_HTML: lambda path: path.write_text(render_record(found), encoding="utf-8"),
        RECORD_MD: lambda path: path.write_text(to_markdown(build_record(found)), encoding="utf-8"),
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
