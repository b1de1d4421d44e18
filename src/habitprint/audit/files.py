"""The folder that an audit leaves: complete or not at all."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from habitprint.audit.candidates import MAPPING_FILE
from habitprint.audit.result import Audit
from habitprint.files import OWNER_ONLY, Writer, write_folder

FACTS, USERS, REPORT = "report.json", "users.parquet", "report.html"


def write_files(
    audit: Audit, folder: str | os.PathLike[str], *, overwrite: bool = False, more: Mapping[str, Writer] | None = None
) -> list[Path]:
    """Write an audit into a folder: ``report.json``, which names nobody, and ``users.parquet``.

    The latter says who is at risk, by id, and is readable by its owner only. If the chosen protection puts places
    together, ``coarser.csv`` says how. All files are first written into a folder
    beside it and moved into place once complete.

    Parameters
    ----------
    audit
        What was found.
    folder
        It must not be there, or be empty, unless `overwrite` is true; then files of these names are replaced or
        removed, and no others touched.
    more
        Further files by name, and what writes each.

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
    ...     [file.name for file in write_files(found, Path(folder) / "audit")]
    ['report.json', 'users.parquet']
    """
    folder = Path(folder)
    writers: dict[str, Writer] = {
        **(more or {}),
        FACTS: lambda path: path.write_text(to_text(audit) + "\n", encoding="utf-8"),
        USERS: lambda path: _write_users(audit, path),
    }
    if audit.mapping is not None:
        writers[MAPPING_FILE] = audit.mapping.write_csv
    return write_folder(folder, writers, ours=(REPORT, FACTS, USERS, MAPPING_FILE), overwrite=overwrite)


def to_text(audit: Audit) -> str:
    """Return the facts of an audit as JSON text.

    Examples
    --------
    >>> import habitprint as hp
    >>> json.loads(to_text(hp.audit(hp.datasets.town(20, 5), noise=False)))["schema"]
    'habitprint-audit/1'
    """
    return json.dumps(audit.to_json(), ensure_ascii=False, indent=1, allow_nan=False)


def _write_users(audit: Audit, path: Path) -> None:
    path.touch(mode=OWNER_ONLY)
    audit.users.write_parquet(path)
