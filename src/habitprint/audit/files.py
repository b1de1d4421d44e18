"""The folder that an audit leaves: complete or not at all."""

import json
import os
import secrets
import shlex
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from habitprint.audit.candidates import MAPPING_FILE
from habitprint.audit.result import Audit
from habitprint.errors import InputError

FACTS, USERS, REPORT = "report.json", "users.parquet", "report.html"
OWNER_ONLY = 0o600

Writer = Callable[[Path], object]


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
    check_folder(folder, overwrite=overwrite)
    writers: dict[str, Writer] = {
        **(more or {}),
        FACTS: lambda path: path.write_text(to_text(audit) + "\n", encoding="utf-8"),
        USERS: lambda path: _write_users(audit, path),
    }
    if audit.mapping is not None:
        writers[MAPPING_FILE] = audit.mapping.write_csv
    # The name is chosen before the folder is there, so that at no moment it could be left behind.
    temporary = folder.absolute().parent / f".habitprint-{secrets.token_hex(8)}"
    try:
        temporary.mkdir()
        for name, write in writers.items():
            write(temporary / name)
        _move(temporary, folder, overwrite=overwrite)
    except OSError as error:
        raise InputError(
            f"cannot write {folder}: {error}",
            why="the system refused it; nothing was written",
            fix="choose another place, or make room there",
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return [folder / name for name in writers]


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


def check_folder(folder: Path, *, overwrite: bool) -> None:
    """Raise `InputError` unless an audit could be written to the folder: worth knowing before long work.

    Examples
    --------
    >>> check_folder(Path("audit-of-calls"), overwrite=False)
    """
    parent = folder.absolute().parent
    if folder.exists() and not folder.is_dir():
        raise InputError(
            f"cannot write into {folder}: it is a file",
            why="an audit is a folder of several files",
            fix="choose another name",
        )
    if not parent.is_dir():
        raise InputError(
            f"cannot make {folder}: the folder {parent} does not exist",
            why="the audit is written into a new folder within an existing one",
            fix=f"make it first: mkdir -p {shlex.quote(str(parent))}",
        )
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        raise InputError(
            f"the folder {folder} exists already and is not empty",
            why="nothing is overwritten without being asked",
            fix="choose another name, or allow it with --force (overwrite=True in Python)",
        )
    for place in (parent, folder) if folder.is_dir() else (parent,):
        if not os.access(place, os.W_OK):
            raise InputError(
                f"cannot write {folder}: no permission to write into {place}",
                why="the audit is first written beside its final place, then moved there",
                fix="choose a folder that you may write into",
            )


def _move(temporary: Path, folder: Path, *, overwrite: bool) -> None:
    if folder.is_dir() and overwrite:
        stale = {REPORT, FACTS, USERS, MAPPING_FILE}
        for file in sorted(temporary.iterdir()):
            file.replace(folder / file.name)
            stale.discard(file.name)
        for name in stale:  # of an earlier audit: what this one does not write is no longer true
            (folder / name).unlink(missing_ok=True)
        return
    if folder.is_dir():
        folder.rmdir()  # fails if somebody wrote something into it meanwhile
    temporary.rename(folder)
