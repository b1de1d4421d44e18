"""Which columns of a table make an event, what their values may be, and what is wrong with them."""

import difflib
from collections.abc import Iterable, Iterator, Mapping

import polars as pl

from habitprint.errors import InputError


def require_named(schema: pl.Schema, wanted: Mapping[str, str], source: str) -> None:
    """Raise `InputError` unless all named columns exist; suggest what may have been meant.

    Examples
    --------
    >>> require_named(pl.Schema({"who": pl.String}), {"user": "who"}, "calls.csv")
    """
    missing = {role: column for role, column in wanted.items() if column not in schema}
    if not missing:
        return
    role, column = next(iter(missing.items()))
    near = difflib.get_close_matches(column.lower(), {name.lower(): name for name in schema}, n=1, cutoff=0.5)
    meant = next((name for name in schema if near and name.lower() == near[0]), None)
    raise InputError(
        f"{source} has no column {' and no column '.join(map(repr, missing.values()))}",
        why=f"it has the columns {', '.join(map(repr, schema)) or 'none'}",
        fix=(f"did you mean '{meant}'? Name it: " if meant else "name the column that says it: ")
        + f"{role}='{meant or '…'}' (on the command line: --{role} {meant or '…'})",
    )


def where_columns(place: str | None, lat: str | None, lon: str | None) -> dict[str, str]:
    """Return the columns that say where an event was: a place, or a position.

    Examples
    --------
    >>> where_columns("antenna", None, None)
    {'place': 'antenna'}
    """
    if lat is None and lon is None:
        return {"place": place or "place"}
    if place is not None or lat is None or lon is None:
        raise InputError(
            "an event has either a place or a position with latitude and longitude",
            why="of several, it is not said which one counts",
            fix="give place=…, or both lat=… and lon=… (on the command line --place, or --lat and --lon)",
        )
    return {"lat": lat, "lon": lon}


def to_id(schema: pl.Schema, column: str) -> pl.Expr:
    """Return the expression for ids as text or integers; text with nothing in it is no id.

    Examples
    --------
    >>> pl.DataFrame({"who": ["Jill", ""]}).select(to_id(pl.Schema({"who": pl.String}), "who"))["who"].to_list()
    ['Jill', None]
    """
    kind, ids = schema[column], pl.col(column)
    if kind.is_integer():
        return ids if kind == pl.UInt64 else ids.cast(pl.Int64)
    if isinstance(kind, (pl.Categorical, pl.Enum, pl.Null)):
        return ids.cast(pl.String)
    if kind == pl.String:
        return pl.when(ids.str.len_bytes() > 0).then(ids)
    raise InputError(
        f"column '{column}' holds {kind} values",
        why="ids of users and places are text or integers",
        fix=f"convert '{column}' to text or to integers first",
    )


def to_number(schema: pl.Schema, column: str) -> pl.Expr:
    """Return the expression for numbers; what is none becomes null.

    Examples
    --------
    >>> pl.DataFrame({"lat": [" 39.9", "?"]}).select(to_number(pl.Schema({"lat": pl.String}), "lat"))["lat"].to_list()
    [39.9, None]
    """
    kind, values = schema[column], pl.col(column)
    if kind == pl.String:
        values = values.str.strip_chars()
    elif not kind.is_numeric():
        raise InputError(
            f"column '{column}' holds {kind} values, which are not numbers",
            why="positions and durations are numbers",
            fix=f"convert '{column}' to numbers first",
        )
    return values.cast(pl.Float64, strict=False)


def find_faults(columns: Iterable[str]) -> Iterator[tuple[pl.Expr, str]]:
    """Yield what makes a row unusable, in the order in which it is looked for.

    Examples
    --------
    >>> [text for _, text in find_faults(["user", "time", "place"])]
    ['the time cannot be read', 'the user is missing', 'the place is missing']
    """
    yield pl.col("time").is_null(), "the time cannot be read"
    yield pl.col("user").is_null(), "the user is missing"
    if "place" in columns:
        yield pl.col("place").is_null(), "the place is missing"
    else:
        lat, lon = pl.col("lat"), pl.col("lon")
        is_given = (lat.is_finite() & lon.is_finite()).fill_null(value=False)
        yield ~is_given, "the position is missing or no number"
        yield ~(lat.is_between(-90, 90) & lon.is_between(-180, 180)), "the position is out of range"
    if "seconds" in columns:
        is_duration = pl.col("seconds").is_finite() & (pl.col("seconds") >= 0)
        yield ~is_duration.fill_null(value=False), "the duration is missing, negative or no number"
