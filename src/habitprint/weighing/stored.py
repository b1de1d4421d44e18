"""A weight as a file, so that a trained weight can be used again."""

import math
import os
from pathlib import Path

import msgspec

from habitprint.errors import InputError
from habitprint.formatting import printable_json
from habitprint.io.files import write_text
from habitprint.io.inputs import read_text
from habitprint.weighing.definitions import WEIGHTS, Term, Weight

SCHEMA = "habitprint-weight/2"
WHY = "a weight says which evidence counts when two users are compared"
FIX = "take a file that habitprint train wrote, or the name of a built-in weight"


class _Stored(msgspec.Struct, forbid_unknown_fields=True):
    """The content of the file. JSON has no infinity: a weight without a lowest value has no floor."""

    schema: str
    name: str
    terms: tuple[Term, ...]
    ceiling: float
    floor: float | None
    unit_length: bool


def write_weight(weight: Weight, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a weight to a JSON file.

    Examples
    --------
    >>> import tempfile
    >>> from habitprint.weighing import WEIGHTS
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_weight(WEIGHTS["rarity"], Path(folder) / "weight.json")
    ...     read_weight(Path(folder) / "weight.json") == WEIGHTS["rarity"]
    True
    """
    floor = weight.floor if math.isfinite(weight.floor) else None
    stored = _Stored(SCHEMA, weight.name, weight.terms, weight.ceiling, floor, weight.unit_length)
    text = printable_json(msgspec.json.format(msgspec.json.encode(stored), indent=1).decode()) + "\n"
    write_text(Path(path), text, overwrite=overwrite)


def read_weight(path: str | os.PathLike[str]) -> Weight:
    """Read a weight that `write_weight` wrote, or raise `InputError` if the file holds something else.

    Examples
    --------
    >>> read_weight("no-such-file.json")
    Traceback (most recent call last):
    habitprint.errors.InputError: cannot read no-such-file.json: there is no such file
      why: a weight says which evidence counts when two users are compared
      fix: take a file that habitprint train wrote, or the name of a built-in weight
    """
    path = Path(path)
    text = read_text(path, why=WHY, fix=FIX)
    try:
        found = msgspec.json.decode(text, type=_Stored)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _refused(f"{path} holds no weight: {error}") from error
    if found.schema != SCHEMA:
        raise _refused(f"{path} holds no weight: its schema is {found.schema!r}, not {SCHEMA!r}")
    floor = -math.inf if found.floor is None else found.floor
    weight = Weight(found.name, found.terms, found.ceiling, floor, found.unit_length)
    if weight != WEIGHTS.get(weight.name, weight):
        raise _refused(f"{path} holds a weight that is called {weight.name} and is another")
    return weight


def _refused(what: str) -> InputError:
    return InputError(
        what,
        why=WHY,
        fix=FIX,
    )
