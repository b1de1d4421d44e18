"""A protection as a tuple of mechanisms: written down, read back, and as options of ``habitprint protect``."""

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import msgspec
import polars as pl

from habitprint.errors import InputError
from habitprint.formatting import printable_json
from habitprint.mechanisms.groups.microaggregation import Microaggregate
from habitprint.mechanisms.noise import AddNoise
from habitprint.mechanisms.recoding import (
    Coarsen,
    KeepTopPlaces,
    LimitContribution,
    MergeRarePlaces,
    ReleaseShares,
    RoundTo,
    SuppressBelow,
)
from habitprint.mechanisms.release import Mechanism
from habitprint.places import PlaceMapping

AnyMechanism = (
    Coarsen
    | MergeRarePlaces
    | KeepTopPlaces
    | LimitContribution
    | AddNoise
    | SuppressBelow
    | RoundTo
    | Microaggregate
    | ReleaseShares
)
Recipe = tuple[AnyMechanism, ...]
AnyRecord = TypeVar("AnyRecord")

# The mechanisms in the order in which options apply them, and the options that set their parameters. The first option
# of a mechanism asks for it; the others say how it is done.
FLAGS: dict[type[Mechanism], dict[str, str]] = {
    Coarsen: {"--coarsen": "mapping", "--unknown-places": "unknown"},
    MergeRarePlaces: {"--merge-rare": "n"},
    KeepTopPlaces: {"--top-places": "n"},
    LimitContribution: {"--limit-contribution": "total"},
    AddNoise: {"--epsilon": "epsilon", "--unit": "unit", "--delta": "delta", "--limit-contribution": "limit"},
    SuppressBelow: {"--suppress-below": "threshold"},
    RoundTo: {"--round-to": "base"},
    Microaggregate: {
        "--k": "k",
        "--mean-k": "mean_k",
        "--units": "units",
        "--exact-means": "units",
        "--least-members": "least_members",
        "--loss": "loss",
        "--method": "method",
    },
    ReleaseShares: {"--shares": ""},
}
ALONE = {"--exact-means", "--shares"}  # have no value
ASKING = {next(iter(flags)) for flags in FLAGS.values()}


def to_flags(recipe: Recipe) -> str:
    """Return the options of ``habitprint protect`` that apply the same protection.

    Examples
    --------
    >>> to_flags((KeepTopPlaces(10), Microaggregate(5, mean_k=8.0, units=None), ReleaseShares()))
    '--top-places 10 --k 5 --mean-k 8 --exact-means --shares'
    """
    words = []
    for mechanism in recipe:
        default = {field.name: field.default for field in msgspec.structs.fields(mechanism)}
        for flag, name in FLAGS[type(mechanism)].items():
            value = getattr(mechanism, name) if name else None
            if (flag in ALONE) != (value is None) or (name and value == default[name]):
                continue
            shown = "MAPPING" if isinstance(value, PlaceMapping) else value
            words += [flag] if value is None else [flag, f"{shown:g}" if isinstance(shown, float) else str(shown)]
    return " ".join(words)


def from_flags(given: Mapping[str, Any]) -> Recipe:
    """Return the mechanisms for options of ``habitprint protect``, in the order in which they are applied.

    Examples
    --------
    >>> from_flags({"--k": 5, "--exact-means": True, "--top-places": 10})[0]
    KeepTopPlaces(n=10, by='visits')
    """
    if {"--units", "--exact-means"} <= set(given):
        raise InputError(
            "--units does not go with --exact-means",
            why="exact means are not rounded to units, so --units would do nothing",
            fix="remove one of them",
        )
    recipe: list[Any] = []
    for kind, flags in FLAGS.items():
        asks, given_here = next(iter(flags)), [flag for flag in flags if flag in given]
        details = sorted(set(given_here) - ASKING)
        # A user who gives an option without effect believes that it has one.
        if asks not in given and details:
            raise InputError(
                f"{' and '.join(details)} without {asks}",
                why=f"it only changes how {asks} works, so alone it protects nothing",
                fix=f"add {asks}, or remove {' and '.join(details)}",
            )
        if asks in given and not (kind is LimitContribution and "--epsilon" in given):  # noise for each user limits
            recipe.append(kind(**{flags[flag]: _value(flag, given[flag]) for flag in given_here if flags[flag]}))
    return tuple(recipe)


def _value(flag: str, value: Any) -> Any:
    if flag == "--exact-means":
        return None
    # Whole counts stay whole.
    return int(value) if flag in {"--suppress-below", "--round-to"} and value.is_integer() else value


def with_seed(recipe: Recipe, seed: int | None) -> Recipe:
    """Return a recipe whose rounding of groups has a seed, for trials that are never published; None for a secure one.

    Examples
    --------
    >>> with_seed((Microaggregate(5),), 3)[0].seed
    3
    """
    return tuple(
        msgspec.structs.replace(each, seed=seed) if isinstance(each, Microaggregate) else each for each in recipe
    )


class Schema(msgspec.Struct):
    """The name of the schema of a file."""

    schema: str | None = None


def to_text(record: object) -> str:
    """Return a record as the text of a JSON file.

    Examples
    --------
    >>> print(to_text((ReleaseShares(), RoundTo(5))), end="")
    [
     {
      "name": "release-shares"
     },
     {
      "name": "round-to",
      "base": 5
     }
    ]
    """
    text = msgspec.json.format(msgspec.json.encode(record, enc_hook=_to_columns), indent=1).decode()
    return printable_json(text) + "\n"


def from_text(text: str, kind: type[AnyRecord], schema: str) -> AnyRecord:
    """Return the record in a JSON file of a schema; raise `ValueError` with the fault of the file.

    Examples
    --------
    >>> from_text('{"schema": "habitprint-advice/1"}', Schema, "habitprint-advice/2")
    Traceback (most recent call last):
    ValueError: its schema is 'habitprint-advice/1', and this version reads 'habitprint-advice/2'
    """
    try:
        found = msgspec.json.decode(text, type=Schema).schema
        if found == schema:
            return msgspec.json.decode(text, type=kind, dec_hook=_from_columns)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        fault = error.__cause__.what if isinstance(error.__cause__, InputError) else str(error)
        raise ValueError(fault) from error
    raise ValueError(f"its schema is {found!r}, and this version reads {schema!r}")


def _to_columns(table: object) -> dict[str, list[Any]]:
    assert isinstance(table, pl.DataFrame)  # noqa: S101  (no other value of ours has no form in JSON)
    return table.to_dict(as_series=False)


def _from_columns(kind: type, columns: object) -> pl.DataFrame:
    assert kind is pl.DataFrame  # noqa: S101  (the same)
    try:
        return pl.DataFrame(msgspec.convert(columns, dict[Literal["place", "to"], list[str | int]]))
    except (pl.exceptions.PolarsError, OverflowError) as error:
        raise ValueError("its columns are not those of a table") from error
