"""Results on disk: what was computed once is found again after a stop."""

import json
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from habitprint.errors import InputError
from habitprint.files import write_whole

FOLDER = ".habitprint"
NOTE = "what-this-is.txt"
WORDS = "Results of single computations of habitprint reproduce. Without this folder they are computed anew.\n"


class Store:
    """Keep the results of cells in a folder, one small JSON file each.

    Parameters
    ----------
    out
        The folder of the output; the results are in a folder within it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(Path(folder))
    ...     store.put("key", {"accuracy": 0.5})
    ...     store.get("key"), store.get("other")
    ({'accuracy': 0.5}, None)
    """

    def __init__(self, out: Path) -> None:
        self.folder = out / FOLDER / version("habitprint")
        self.folder.mkdir(parents=True, exist_ok=True)
        (out / FOLDER / NOTE).write_text(WORDS, encoding="utf-8")

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the result that is kept under a key; None if there is none, or none that can be read."""
        try:
            result = json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return result if isinstance(result, dict) else None

    def put(self, key: str, result: dict[str, Any]) -> None:
        """Keep a result."""
        text = json.dumps(result, ensure_ascii=False, allow_nan=False)
        path = self.folder / f"{key}.json"
        write_whole(path, lambda target: target.write_text(text, encoding="utf-8"), overwrite=True)


def make_output(out: Path, *, force: bool = False) -> Store:
    """Make the folder of the output, or go on in one that is ours; refuse any other.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = make_output(Path(folder) / "paper")
    ...     make_output(Path(folder) / "paper").folder == store.folder
    True
    """
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file", why="the output is a folder", fix="choose another name: --out DIR")
    if out.is_dir() and not (out / FOLDER / NOTE).is_file() and not force and _some(out.iterdir()):
        raise InputError(
            f"{out} holds files that are not from here",
            why="tables and figures of the same names would be overwritten",
            fix="name a new or an empty folder, or allow it with --force",
        )
    if not out.parent.is_dir():
        raise InputError(
            f"cannot make {out}: the folder {out.parent} does not exist",
            why="the output is made within an existing folder",
            fix=f"make it first: mkdir -p '{out.parent}'",
        )
    try:
        out.mkdir(exist_ok=True)
        return Store(out)
    except OSError as error:
        raise InputError(
            f"cannot write into {out}: {error.strerror}",
            why="results are kept there as they come",
            fix="choose a folder that you may write into",
        ) from error


def _some(items: Iterable[object]) -> bool:
    return any(True for _ in items)
