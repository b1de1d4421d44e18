"""Options that several commands share, and what they mean."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from habitprint.counts import Duplicates
from habitprint.errors import InputError
from habitprint.histograms import Histograms
from habitprint.tables import read_table
from habitprint.truth import SAME_ID, common_users
from habitprint.weights import WeightName

UNITS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}

ReleasedFile = Annotated[
    Path, typer.Argument(help="Histograms whose owners are hidden: CSV or Parquet.", metavar="RELEASED")
]
KnownFile = Annotated[Path, typer.Argument(help="Histograms whose owners are known: CSV or Parquet.", metavar="KNOWN")]
WeightOption = Annotated[WeightName, typer.Option("--weight", help="What pairing two users costs.")]
DuplicatesOption = Annotated[
    Duplicates, typer.Option("--duplicates", help="What several rows for one user and place mean.")
]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Decides among equally good matchings.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")]
MemoryOption = Annotated[
    str, typer.Option("--max-memory", help="What the joint matching may use, such as 4GB or 500MB.")
]
TruthOption = Annotated[
    str | None,
    typer.Option(
        "--truth",
        help="Who really is whom, to say how many are identified: a table with the columns released, known; "
        "or same-id, where a user has the same id in both tables.",
        metavar="FILE|same-id",
    ),
]


def to_bytes(text: str) -> float:
    """Return an amount of memory as a number of bytes.

    Examples
    --------
    >>> to_bytes("4GB"), to_bytes("1.5 m")
    (4000000000.0, 1500000.0)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?\s*", text, re.IGNORECASE)
    if found is None:
        raise InputError(
            f"--max-memory '{text}' is not an amount of memory",
            why="it says how many bytes the matching may use",
            fix="give a number and a unit: 4GB, 500MB",
        )
    return float(found[1]) * UNITS[found[2].upper()]


def read_truth(truth: str | None, released: Histograms, known: Histograms) -> Any:
    """Return the truth as `evaluate` takes it; read and check it before the long work.

    Examples
    --------
    >>> habits = Histograms.from_strings({"Jo": "x"})
    >>> read_truth("same-id", habits, habits)
    'same-id'
    """
    if truth is None:
        return None
    if truth == SAME_ID:
        _require_common(common_users(truth, released.users, known.users).n, "equal ids")
        return truth
    try:
        table = read_table(truth)
        common = common_users(table, released.users, known.users)
    except InputError as error:
        fix = f"{error.fix}; or --truth {SAME_ID}, where ids agree"
        raise InputError(f"--truth: {error.what}", why=error.why, fix=fix) from error
    _require_common(common.n, f"{truth} ({table.height:,} rows)")
    return table


def _require_common(n_common: int, source: str) -> None:
    """Refuse to say "nobody is identified" when in truth nothing could be counted."""
    if n_common == 0:
        raise InputError(
            f"--truth: according to {source}, no user is in both tables",
            why="then nobody could be identified, however good the attack",
            fix="check that the truth spells ids as the tables do (case, leading zeros), released before known",
        )


def refuse_inputs(target: Path, *inputs: Path | str | None) -> None:
    """Raise `InputError` if the file to be written is one of those that are read, whatever it is called here.

    Examples
    --------
    >>> refuse_inputs(Path("pairs.csv"), Path("week1.csv"), "same-id", None)
    """
    for path in inputs:
        if path is not None and Path(path).exists() and target.exists() and target.samefile(path):
            raise InputError(
                f"cannot write {target}: it is one of the inputs",
                why="the input would be lost",
                fix="choose another name",
            )
