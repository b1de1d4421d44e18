"""What an event table is: who was where and when, read lazily, with the reasons why rows cannot be used."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, get_args

import polars as pl

from habitprint.errors import InputError, require_option
from habitprint.events.columns import find_faults, require_named, to_id, to_number, where_columns
from habitprint.events.times import require_time_zone, to_instants
from habitprint.tables import to_frame

OnBadRows = Literal["fail", "skip"]


@dataclass(frozen=True)
class Reason:
    """Say why rows are not used: a fault of the data, or a rule that leaves them out on purpose.

    Examples
    --------
    >>> Reason("the time is missing", is_fault=True).text
    'the time is missing'
    """

    text: str
    is_fault: bool


@dataclass(frozen=True)
class Events:
    """Hold a table of events that is read only when something is computed from it.

    Made by `read_events` and `events_from_frame`. Nothing is dropped silently: a row that cannot be used stays in
    `frame` with the number of its reason, and whoever computes something counts it.

    Parameters
    ----------
    frame
        Columns ``user``, ``time`` (UTC), ``place`` or ``lat`` and ``lon``, perhaps ``seconds``, and ``reason``:
        0 where a row can be used, n where ``reasons[n - 1]`` speaks against it.
    reasons
        Why rows are not used.
    time_zone
        Where days and weeks begin at local midnight.
    source
        Where the events come from, for messages.
    on_bad_rows
        Whether rows at fault stop the work (``"fail"``) or are counted and left out (``"skip"``).

    Examples
    --------
    >>> import habitprint as hp
    >>> calls = hp.events_from_frame({"user": ["Jill"], "time": ["2012-04-09 08:30:00"], "place": ["dorm"]})
    >>> calls
    Events(a frame: user, time, place; days in UTC)
    >>> calls.usable.collect().row(0)
    ('Jill', datetime.datetime(2012, 4, 9, 8, 30, tzinfo=zoneinfo.ZoneInfo(key='UTC')), 'dorm')
    """

    frame: pl.LazyFrame
    reasons: tuple[Reason, ...] = ()
    time_zone: str = "UTC"
    source: str = "a frame"
    on_bad_rows: OnBadRows = "fail"

    def __post_init__(self) -> None:
        require_time_zone(self.time_zone)
        require_option("on_bad_rows", self.on_bad_rows, get_args(OnBadRows))

    def __repr__(self) -> str:
        return f"Events({self.source}: {', '.join(self.columns)}; days in {self.time_zone})"

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns, without that of reasons."""
        return [name for name in self.frame.collect_schema().names() if name != "reason"]

    @property
    def usable(self) -> pl.LazyFrame:
        """Return the rows that can be used, lazily and without a word on the others."""
        return self.frame.filter(pl.col("reason") == 0).drop("reason")

    def refuse(self, condition: pl.Expr, reason: str) -> Self:
        """Return the events with the rows that fulfil a condition marked as faults of the data.

        Examples
        --------
        >>> import habitprint as hp
        >>> calls = hp.events_from_frame({"user": [1], "time": ["2012-04-09"], "place": [-1]})
        >>> calls.refuse(pl.col("place") < 0, "no such antenna").usable.collect().height
        0
        """
        return self._against(condition, Reason(reason, is_fault=True))

    def leave_out(self, condition: pl.Expr, reason: str) -> Self:
        """Return the events without the rows that fulfil a condition: counted under the reason, never a fault.

        Examples
        --------
        >>> import habitprint as hp
        >>> calls = hp.events_from_frame({"user": [1, 2], "time": ["2012-04-09"] * 2, "place": [-1, 7]})
        >>> calls.leave_out(pl.col("place") == -1, "the antenna is unknown").usable.collect()["user"].to_list()
        [2]
        """
        return self._against(condition, Reason(reason, is_fault=False))

    def _against(self, condition: pl.Expr, reason: Reason) -> Self:
        reasons = (*self.reasons, reason)
        number = pl.when((pl.col("reason") == 0) & condition.fill_null(value=False)).then(
            pl.lit(len(reasons), pl.UInt8)
        )
        return replace(
            self, reasons=reasons, frame=self.frame.with_columns(number.otherwise(pl.col("reason")).alias("reason"))
        )

    def count_unused(self, counts: Mapping[int, int]) -> dict[str, int]:
        """Return the number of unused rows by reason in words, from their number by the number of the reason.

        Raises `InputError` if there are faults and `on_bad_rows` says that they stop the work.

        Examples
        --------
        >>> missing = Reason("the user is missing", is_fault=True)
        >>> Events(pl.LazyFrame(), (missing,), on_bad_rows="skip").count_unused({1: 3})
        {'the user is missing': 3}
        """
        unused = {number: counts.get(number, 0) for number in range(1, len(self.reasons) + 1)}
        faults = [number for number, n in unused.items() if n and self.reasons[number - 1].is_fault]
        if faults and self.on_bad_rows == "fail":
            raise self._cannot_be_used({self.reasons[number - 1].text: unused[number] for number in faults})
        return {self.reasons[number - 1].text: n for number, n in unused.items() if n}

    def _cannot_be_used(self, faults: dict[str, int]) -> InputError:
        is_fault = pl.col("reason").is_in([n for n, reason in enumerate(self.reasons, 1) if reason.is_fault])
        (first,) = collect([self.frame.with_row_index("row", offset=1).filter(is_fault).head(3)], self.source)
        where = "; ".join(
            f"row {row}: {self.reasons[number - 1].text}" for row, number in first.select("row", "reason").rows()
        )
        return InputError(
            f"{self.source}: {sum(faults.values()):,} rows cannot be used: "
            + ", ".join(f"{n:,} where {text}" for text, n in faults.items()),
            why=f"the first are {where} (counted without headers); left out unseen they could hide a systematic loss",
            fix="correct them, or leave them out knowingly: --on-bad-rows skip (on_bad_rows='skip' in Python)",
        )


def collect(frames: Sequence[pl.LazyFrame], source: str) -> list[pl.DataFrame]:
    """Compute lazy frames together, in a stream; a file that breaks off in the middle is the input's fault.

    Examples
    --------
    >>> collect([pl.LazyFrame({"n": [1, 2]}).select(pl.col("n").sum())], "a frame")[0].item()
    3
    """
    try:
        return pl.collect_all(frames, engine="streaming")
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).strip().splitlines()
        raise InputError(
            f"{source} cannot be read to its end: {reason[0] if reason else type(error).__name__}",
            why="a file is broken, or changed while it was read",
            fix="check that the files are complete and all have the same columns",
        ) from error


def events_from_frame(
    table: Any,
    *,
    user: str = "user",
    time: str = "time",
    place: str | None = None,
    lat: str | None = None,
    lon: str | None = None,
    seconds: str | None = None,
    time_zone: str = "UTC",
    time_format: str | Sequence[str] | None = None,
    on_bad_rows: OnBadRows = "fail",
    source: str = "a frame",
) -> Events:
    """Make events from any frame, lazily where the frame is lazy.

    Parameters
    ----------
    table
        A polars lazy frame, any frame that speaks Arrow, or a mapping of columns.
    user, time, place, lat, lon
        The names of its columns; an event has a place or a position. Default: ``place``.
    seconds
        The column that says how long each event lasted, if there is one.
    time_zone
        Where clocks without a zone stood, and where days and weeks begin.
    time_format
        How times are written, or the unit of a number; None: found from the data (see `read_events`).
    on_bad_rows
        ``"fail"``: rows that cannot be used stop the work, with their number by reason. ``"skip"``: they are
        counted and left out.
    source
        What the events are called in messages.

    Examples
    --------
    >>> visits = {"who": ["Jill", "Mike"], "when": ["2012-04-09", "2012-04-10"], "where": ["dorm", None]}
    >>> events = events_from_frame(visits, user="who", time="when", place="where", on_bad_rows="skip")
    >>> events.usable.collect()["user"].to_list()
    ['Jill']
    """
    frame = table if isinstance(table, pl.LazyFrame) else to_frame(table).lazy()
    where = where_columns(place, lat, lon)
    wanted = {"user": user, "time": time, **where} | ({"seconds": seconds} if seconds else {})
    schema = frame.collect_schema()
    require_named(schema, wanted, source)
    require_time_zone(time_zone)
    columns = {
        name: (to_id if name in {"user", "place"} else to_number)(schema, column)
        for name, column in wanted.items()
        if name != "time"
    }
    columns["time"] = to_instants(frame, time, schema[time], time_format, time_zone)
    is_time_given = pl.col(time).is_not_null() if schema[time] != pl.String else pl.col(time).str.len_bytes() > 0
    selected = frame.select(
        *(columns[name].alias(name) for name in wanted),
        reason=pl.when(is_time_given).then(pl.lit(0, pl.UInt8)).otherwise(pl.lit(1, pl.UInt8)),
    )
    events = Events(selected, (Reason("the time is missing", is_fault=True),), time_zone, source, on_bad_rows)
    for condition, text in find_faults(wanted):
        events = events.refuse(condition, text)
    return events
