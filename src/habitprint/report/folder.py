"""An audit as a folder of files."""

import os
from pathlib import Path

import polars as pl

from habitprint.auditing.audit import FACTS, MAPPING, REPORT, USERS, Audit
from habitprint.files import OWNER_ONLY, Writer, write_folder
from habitprint.report.render import write_report


def write_audit(found: Audit, folder: str | os.PathLike[str], *, overwrite: bool = False) -> list[Path]:
    """Write an audit into a folder, as ``habitprint audit`` does: the report for people, its facts, and who is at risk.

    ``users.parquet`` names people and is for internal use only. All files appear at once, when they are complete.

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
    ['report.html', 'report.json', 'users.parquet']
    """
    internal = found.require_internal()
    writers: dict[str, Writer] = {
        REPORT: lambda path: write_report(found, path),
        FACTS: lambda path: path.write_text(found.to_text() + "\n", encoding="utf-8"),
        USERS: lambda path: _write_owner_only(internal.users, path),
    }
    if internal.mapping is not None:
        writers[MAPPING] = internal.mapping.write_csv
    return write_folder(Path(folder), writers, ours=(REPORT, FACTS, USERS, MAPPING), overwrite=overwrite)


def _write_owner_only(frame: pl.DataFrame, path: Path) -> None:
    path.touch(mode=OWNER_ONLY)
    frame.write_parquet(path)
