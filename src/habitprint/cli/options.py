"""Options that several commands share."""

import re
from pathlib import Path
from typing import Annotated

import typer

from habitprint.counts import Duplicates
from habitprint.errors import InputError
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
