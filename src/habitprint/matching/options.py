"""The options of a matching: one record from keywords and flags to the solver."""

import re
from typing import Annotated, TypedDict

from habitprint.errors import InputError
from habitprint.flags import ATTACKER, Record, flag
from habitprint.matching.matching import Direction, Method
from habitprint.weighing import WEIGHTS, Weight, WeightName

UNITS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}


def to_bytes(text: str, option: str = "--max-memory") -> float:
    """Return an amount of memory as a number of bytes.

    Examples
    --------
    >>> to_bytes("500MB"), to_bytes("1.5 m")
    (500000000.0, 1500000.0)
    """
    found = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,15})?)\s*([KMGT]?)i?B?\s*", text, re.IGNORECASE | re.ASCII)
    if found is None:
        raise InputError(
            f"{option} '{text}' is not an amount of memory",
            why="habitprint needs a number of bytes",
            fix="write a number and a unit, such as 4GB or 500MB",
        )
    return float(found[1]) * UNITS[found[2].upper()]


class MatchKeywords(TypedDict, total=False):
    """The keywords of `habitprint.match`: fields of `MatchOptions`."""

    weight: WeightName | Weight
    size: int | None
    method: Method
    direction: Direction
    epsilon: float | None
    seed: int
    max_memory: float


class SolverOptions(Record, frozen=True, kw_only=True):
    """The options of every joint matching, of one size or of all.

    Examples
    --------
    >>> SolverOptions(seed=7)
    SolverOptions(seed=7)
    """

    seed: Annotated[int, flag("Seed of the random choice among equally good matchings.", ATTACKER, least=0)] = 0
    max_memory: Annotated[
        float,
        flag(
            "Memory that the joint matching may use, such as 500MB; default: 4GB.",
            ATTACKER,
            metavar="BYTES",
            read=to_bytes,
        ),
    ] = 4e9


class MatchOptions(SolverOptions, frozen=True, kw_only=True):
    """The options of `habitprint.match`: weight, number of pairs, method.

    Examples
    --------
    >>> MatchOptions(size=3750)
    MatchOptions(size=3750)
    """

    weight: Weight = WEIGHTS["jensen-shannon"]
    size: Annotated[int | None, flag("Number of pairs to match; default: as many as possible.", ATTACKER)] = None
    method: Annotated[
        Method,
        flag("Matching method: joint (exact), approximate (needs --epsilon), or one-by-one (nearest match).", ATTACKER),
    ] = "joint"
    epsilon: Annotated[
        float | None, flag("Share of the gain that the approximate method may miss, such as 0.01.", ATTACKER)
    ] = None
    direction: Annotated[
        Direction, flag("Side whose users each take their nearest match, with --method one-by-one.", ATTACKER)
    ] = "released-to-known"
