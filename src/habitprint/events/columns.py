"""Which columns of a table make an event, what their values may be, and what is wrong with them."""

import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime

import polars as pl

from habitprint.errors import InputError

SURPLUS = "more fields than columns"  # a column that only a line that is too long fills
BLANK = "nothing in the line"  # a column that says so
NO_ID = {role: f"the {role} is neither text nor an integer" for role in ("user", "place")}  # columns that say so
OURS = frozenset({SURPLUS, BLANK, *NO_ID.values()})
LATITUDES, LONGITUDES = {"lat", "latitude"}, {"lon", "lng", "long", "longitude"}
LONGEST = 1e10  # seconds, so that their sums stay within 64 bits of microseconds
OUT_OF_RANGE = "the time is out of range (wrong unit?)"
# Year 1 to 9999, less a day for the time zones.
FIRST_TIME, LAST_TIME = (
    pl.lit(moment).dt.replace_time_zone("UTC").dt.cast_time_unit("us")
    for moment in (datetime(1, 1, 2), datetime(9999, 12, 31))  # noqa: DTZ001 - the zone follows
)


def require_named(schema: pl.Schema, wanted: Mapping[str, str], source: str) -> None:
    """Raise `InputError` unless all named columns exist; suggest what may have been meant.

    Examples
    --------
    >>> require_named(pl.Schema({"who": pl.String}), {"user": "who"}, "calls.csv")
    """
    twice = [column for column in wanted.values() if f"{column}_duplicated_0" in schema]
    if twice:
        raise InputError(
            f"{source} has several columns {', '.join(map(repr, twice))}",
            why="it is not said which of them counts",
            fix="keep one of them",
        )
    missing = {role: column for role, column in wanted.items() if column not in schema}
    if not missing:
        return
    names = [name for name in schema if name not in OURS]
    if len(names) == 1 and any(mark in names[0] for mark in ",;\t|"):
        raise InputError(
            f"{source} has a single column, {names[0]!r}",
            why="columns are separated by commas in .csv and by tabs in .tsv",
            fix="separate them so, or give the file the ending that it should have",
        )
    positions = [next((name for name in names if name.lower() in usual), None) for usual in (LATITUDES, LONGITUDES)]
    if list(missing) == ["place"] and all(positions):
        lat, lon = positions
        raise InputError(
            f"{source} has no column {missing['place']!r}, but positions",
            why=f"it has the columns {', '.join(map(repr, names))}",
            fix=f"name them: lat='{lat}', lon='{lon}' (on the command line: --lat {lat} --lon {lon} --side METRES)",
        )
    meant: dict[str, str | None] = {}
    for role, column in missing.items():
        taken = {*wanted.values(), *meant.values()}
        meant[role] = _nearest(column, [name for name in names if name not in taken])
    known = [f"'{name}'" for name in meant.values() if name]
    them = "it" if len(meant) == 1 else "them"
    in_python = ", ".join(f"{role}='{name or '…'}'" for role, name in meant.items())
    in_shell = " ".join(f"--{role} {name or '…'}" for role, name in meant.items())
    raise InputError(
        f"{source} has no column {' and no column '.join(map(repr, missing.values()))}",
        why=f"it has the columns {', '.join(map(repr, names)) or 'none'}",
        fix=(f"did you mean {' and '.join(known)}? " if known else "")
        + f"Name {them}: "
        + f"{in_python} (on the command line: {in_shell})",
    )


def _nearest(column: str, names: list[str]) -> str | None:
    """Return the name that looks most like a column that is not there, if one does."""
    near = difflib.get_close_matches(column.lower(), [name.lower() for name in names], n=1, cutoff=0.5)
    return next((name for name in names if near and name.lower() == near[0]), None)


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
    elif not kind.is_numeric() and kind != pl.Null:
        raise InputError(
            f"column '{column}' holds {kind} values, which are not numbers",
            why="positions and durations are numbers",
            fix=f"convert '{column}' to numbers first",
        )
    return values.cast(pl.Float64, strict=False)


def find_faults(columns: Iterable[str], text: Collection[str] = ()) -> Iterator[tuple[pl.Expr, str]]:
    """Yield what makes a row unusable, in the order in which it is looked for; some ids may be text.

    Examples
    --------
    >>> [text for _, text in find_faults(["user", "time", "place"])][:3]
    ['the time cannot be read', 'the time is out of range (wrong unit?)', 'the user is missing']
    """
    yield pl.col("time").is_null(), "the time cannot be read"
    yield (pl.col("time") < FIRST_TIME) | (pl.col("time") >= LAST_TIME), OUT_OF_RANGE
    for name in ("user", "place"):
        if name in columns:
            yield pl.col(name).is_null(), f"the {name} is missing"
        if name in text:
            # What is not UTF-8 was read as this mark, so that ids that differ would become the same.
            yield pl.col(name).str.contains("\ufffd", literal=True), f"the {name} is not UTF-8 text"
            yield pl.col(name).str.contains("[\r\n]"), f"the {name} has a line break in it"
    if "place" not in columns:
        lat, lon = pl.col("lat"), pl.col("lon")
        is_given = (lat.is_finite() & lon.is_finite()).fill_null(value=False)
        yield ~is_given, "the position is missing or no number"
        yield ~(lat.is_between(-90, 90) & lon.is_between(-180, 180)), "the position is out of range"
    if "seconds" in columns:
        is_duration = pl.col("seconds").is_finite() & (pl.col("seconds") >= 0)
        yield ~is_duration.fill_null(value=False), "the duration is missing, negative or no number"
        yield pl.col("seconds") > LONGEST, "the duration is over 300 years (wrong unit?)"
