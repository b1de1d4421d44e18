"""Events on a cluster, split into two tables of counts by the rules of one machine.

Executors turn batches of rows into events, and count them by user, place and day. Spark adds up. The driver gets the
number of rows on each day, and settles what of a period depends on all rows. Then each task has all days of some users,
and tells their parts as one machine does.
"""

import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import reduce
from pathlib import Path, PurePosixPath

import msgspec
import polars as pl
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import DecimalType

from habitprint import periods
from habitprint.auditing.preparation import RemoteSplit
from habitprint.backends.spark.session import address_of, collect, kept, map_tables, map_users, run_job
from habitprint.checks import Finding
from habitprint.checks.check import check_days, check_excel, check_names, check_unused
from habitprint.errors import InputError, first_few
from habitprint.events import Events
from habitprint.events.events import SURPLUS, to_events
from habitprint.events.read import OPENERS, Opened, Paths, open_rows
from habitprint.events.spec import Reading
from habitprint.events.times import SAMPLE, find_time_formats, possible_formats, telling_times, time_text
from habitprint.ids import positions
from habitprint.io.dialects import UTF_8, Dialect
from habitprint.periods.day_table import MICROSECONDS, CountedAs, DayTable
from habitprint.periods.periods import KNOWN, RELEASED, FoundPeriod
from habitprint.periods.split import (
    KeptUsers,
    account_of,
    chosen_users,
    missing_in_cohort,
    nobody_active,
    refuse_empty,
    refuse_to_split,
)
from habitprint.progress import Progress
from habitprint.wording.findings import refuse

# Periods that need only a user's own days to decide their parts.
BY_USER = (periods.DateRanges, periods.AllOtherTime, periods.ConsecutiveWeeks, periods.HalvesOfActiveWeeks)
N_SHOWN = 3  # rows at fault
EPOCH = date(1970, 1, 1)  # days are counted from here
TEXT = (".csv", ".tsv", ".txt")
PARQUET = ".parquet"
MARK = b"\xef\xbb\xbf"  # of UTF-8, before the first letter
UNKNOWN = ("%Y",)  # stands for the format of times before any is looked at
FIRST_LINES = 2000  # of a text file, which show how it is written

Prepare = Callable[[Events], Events]


@dataclass(frozen=True)
class RowReader:
    """The steps that turn batches of rows into events, on an executor or on the driver.

    Parameters
    ----------
    reading
        The columns and the format of their values, both complete: nothing is left to detect.
    source
        The name of the events in messages.
    dialect, names, header
        Of text files: how lines are written, the columns, and the lines before the first row of each file; without a
        dialect, columns have types of their own.
    steps
        The functions that change the events, row by row.
    """

    reading: Reading
    source: str
    dialect: Dialect | None = None
    names: tuple[str, ...] = ()
    header: tuple[bytes, ...] = ()
    steps: tuple[Prepare, ...] = ()

    def opened(self, rows: pl.DataFrame) -> Opened:
        """Return the columns of some rows, without a header."""
        if self.dialect is None:
            return Opened(rows.lazy())
        # A first line that is skipped: nothing at all would be no table.
        content = b"\n".join([b"-", *rows["line"], b""])
        if self.dialect.encoding != UTF_8:
            content = content.decode(self.dialect.encoding, "replace").encode()
        dialect = replace(self.dialect, n_before=1)
        return open_rows(io.BytesIO(content), dialect, self.names, self.reading.roles, has_header=False)

    def events(self, rows: pl.DataFrame) -> Events:
        """Return the events of some rows."""
        opened = self.opened(rows)
        events = to_events(opened.frame, self.reading, self.source, opened.against, self.dialect)
        return reduce(lambda events, step: step(events), self.steps, events)

    def without_headers(self, tables: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Yield the tables of a task without the first lines of each file: the lines of a block follow each other."""
        if not self.header:
            yield from tables
            return
        block, n_seen = None, 0
        for table in tables:
            run = pl.col("block").rle_id()
            goes_on = (run == 0) & (pl.col("block") == block).fill_null(value=False)
            nth = pl.int_range(pl.len()).over(run) + pl.when(goes_on).then(n_seen).otherwise(0)
            numbered = table.with_columns(nth=nth)
            block, n_seen = numbered.select("block", pl.col("nth") + 1).row(-1)
            is_header = pl.col("is_first_block") & (pl.col("nth") < len(self.header))
            for line in numbered.filter(is_header)["line"]:
                if _bare(line) not in self.header:
                    raise InputError(
                        f"a file begins with {line[:200].decode(errors='replace')!r}, "
                        f"and another with {self.header[-1][:200].decode(errors='replace')!r}",
                        why="the first line is the header, and all files are read as one table",
                        fix="give every file the same header, or read them apart",
                    )
            yield numbered.filter(~is_header)


def _bare(line: bytes) -> bytes:
    return line.removeprefix(MARK).rstrip(b"\r")


@dataclass(frozen=True)
class SparkEvents:
    """Rows on a cluster, and the steps that turn them into events: `Spark.read_events` opens them.

    Parameters
    ----------
    frame
        The rows as they are stored.
    reader
        The steps that turn batches of rows into events.
    empty
        Events without a row: they tell the types of ids, and why rows may be invalid.
    """

    frame: DataFrame
    reader: RowReader
    empty: Events

    def then(self, prepare: Prepare) -> "SparkEvents":
        """Return the same rows with one more step that changes their events, row by row.

        Examples
        --------
        >>> import habitprint as hp
        >>> spark = hp.Spark.connect("local[2]")
        >>> row = ("Jill", "2012-04-09 08:30", "dorm")
        >>> frame = spark.session.createDataFrame([row], ["user", "time", "place"])
        >>> events = spark.read_events(frame).then(hp.by_weekday)
        >>> events.map(lambda events: events.usable.select("place")).first()
        Row(place='dorm Mon')
        """
        reader = replace(self.reader, steps=(*self.reader.steps, prepare))
        return SparkEvents(self.frame, reader, prepare(self.empty))

    def map(self, function: Callable[[Events], pl.LazyFrame]) -> DataFrame:
        """Return the results of a function on batches of events."""
        reader, nothing = self.reader, function(self.empty).collect()
        return map_tables(
            self.frame,
            lambda tables: (function(reader.events(rows)).collect() for rows in reader.without_headers(tables)),
            nothing,
        )


def open_events(session: SparkSession, source: DataFrame | Paths, reading: Reading, progress: Progress) -> SparkEvents:
    """Return the events in a Spark frame, or in files that Spark reads, with all formats detected.

    Examples
    --------
    >>> from habitprint.backends.spark import connect
    >>> from habitprint.progress import silent
    >>> session, row = connect("local[2]"), ("Jill", "2012-04-09 08:30", "dorm")
    >>> frame = session.createDataFrame([row], ["user", "time", "place"])
    >>> open_events(session, frame, Reading(), silent).reader.reading.time_format
    ('%Y-%m-%d %H:%M',)
    """
    if reading.sheet is not None or reading.sql is not None:
        raise InputError(
            "a sheet or a query cannot be read on Spark",
            why="the Spark backend reads Parquet and text files",
            fix="read the table with Spark, and pass its frame",
        )
    if isinstance(source, DataFrame):
        return _of_columns(source, reading, "a Spark frame", progress)
    names = [os.fspath(source)] if isinstance(source, (str, os.PathLike)) else [os.fspath(path) for path in source]
    shown = names[0] if len(names) == 1 else first_few(names, 2)
    names = [address_of(session, name) for name in names]
    # Which files there are, Spark says without reading them.
    found = run_job(session, lambda: session.read.text(names).inputFiles(), "finding files", progress)
    endings = {_ending(name) for name in found}
    if endings == {PARQUET}:
        frame = run_job(session, lambda: session.read.parquet(*names), "finding columns", progress)
        return _of_columns(frame, reading, shown, progress)
    if len(endings) == 1 and endings <= set(TEXT):
        return _of_lines(session, names, reading, endings.pop(), shown, progress)
    raise InputError(
        f"cannot read {shown} on Spark: its files end in {', '.join(map(repr, sorted(endings)))}"
        if found
        else f"{shown} has no files",
        why="Spark reads Parquet and text with separators here, one of them at a time",
        fix=f"use {PARQUET}, or one of {', '.join(TEXT)}, also .gz; or read it with Spark, and give the frame",
    )


def _ending(name: str) -> str:
    """Return the ending that names the format; .gz or .snappy may follow or precede it."""
    endings = [ending.lower() for ending in PurePosixPath(name).suffixes]
    known = [ending for ending in endings if ending in TEXT or ending == PARQUET]
    return (known or endings or [""])[-1]


def _of_columns(frame: DataFrame, reading: Reading, source: str, progress: Progress) -> SparkEvents:
    # Spark reads integers of 64 bits without a sign as decimals: as text they stay whole.
    decimals = [
        field.name for field in frame.schema if isinstance(field.dataType, DecimalType) and not field.dataType.scale
    ]
    frame = frame.withColumns({name: _column(name).cast("string") for name in decimals}) if decimals else frame
    nothing = collect(frame.limit(0), "finding columns", progress)
    to_events(nothing.lazy(), _with_format(reading), source)
    rows, time = frame.select(*(_column(name) for name in dict.fromkeys(reading.roles.values()))), _column(reading.time)
    times = nothing.select(reading.time)
    if reading.time_format is None and times.dtypes == [pl.String]:
        times = collect(rows.select(time).where(time.isNotNull()).limit(SAMPLE), "looking at times", progress)
    return _detected(rows, RowReader(reading, source), nothing, times, progress)


def _with_format(reading: Reading) -> Reading:
    return msgspec.structs.replace(reading, time_format=reading.time_format or UNKNOWN)


def _column(name: str) -> Column:
    return sf.col("`" + name.replace("`", "``") + "`")


def _of_lines(
    session: SparkSession, paths: list[str], reading: Reading, ending: str, source: str, progress: Progress
) -> SparkEvents:
    # As bytes: bytes that are no letters must reach the rules of one machine unchanged.
    lines = session.read.text(paths, lineSep="\n").select(
        sf.col("value").cast("binary").alias("line"),
        sf.xxhash64("_metadata.file_path", "_metadata.file_block_start").alias("block"),
        (sf.col("_metadata.file_block_start") == 0).alias("is_first_block"),
    )
    found = collect(lines.where("is_first_block").limit(FIRST_LINES), "looking at lines", progress)
    if found.is_empty():
        raise InputError(f"{source} is empty", why="a file of events has a header at least", fix="leave it out")
    first = found.filter(pl.col("block") == found["block"][0])["line"].to_list()
    with tempfile.TemporaryDirectory() as folder:
        sample = Path(folder) / f"first lines{ending}"
        sample.write_bytes(b"\n".join([*first, b""]))
        opened = OPENERS[ending]([sample], reading)
        to_events(opened.frame, _with_format(reading), source)
        times = opened.frame.select(reading.time).collect()
    names, dialect = opened.frame.collect_schema().names(), opened.dialect
    assert dialect is not None  # noqa: S101  (every text has one)
    if dialect.encoding.lower().replace("_", "-").startswith(("utf-16", "utf-32")):
        raise InputError(
            f"{source} is {dialect.encoding}",
            why="Spark finds the ends of lines where a letter is one byte, or in UTF-8",
            fix="convert it to UTF-8, or to Parquet",
        )
    header = tuple(_bare(line) for line in first[: dialect.n_before + (reading.columns is None)])
    reader = RowReader(reading, source, dialect, tuple(name for name in names if name != SURPLUS), header)
    return _detected(lines, reader, found.clear(), times, progress)


def _detected(
    frame: DataFrame, reader: RowReader, nothing: pl.DataFrame, times: pl.DataFrame, progress: Progress
) -> SparkEvents:
    """Return the rows with the detected formats of times, from a sample or, if it is ambiguous, from all rows."""
    time, reading = reader.reading.time, reader.reading
    kind = times.schema[time]
    if kind == pl.String and reading.time_format is None:
        texts = times.select(time_text(time)).drop_nulls().to_series()
        possible = possible_formats(texts, time) if texts.len() else ()
        if len(possible) > 1:
            that_tell = telling_times(time, possible).alias("time")
            told = map_tables(
                frame,
                lambda tables: (
                    reader.opened(rows).frame.select(that_tell).collect() for rows in reader.without_headers(tables)
                ),
                pl.DataFrame(schema={"time": pl.String}),
            )
            told_times = collect(told.distinct(), "looking at times", progress).rename({"time": time})
            times = pl.concat([times, told_times])
    formats = find_time_formats(times.lazy(), time, kind, reading.time_format, reader.source)
    reader = replace(reader, reading=msgspec.structs.replace(reading, time_format=formats))
    return SparkEvents(frame, reader, reader.events(nothing))


@dataclass(frozen=True, kw_only=True)
class SparkSplit(RemoteSplit):
    """Two tables of counts on a cluster, and an account of every row of the events.

    It unpacks into the two: ``released, known = hp.split(..., backend=spark)``. The counts of all users are kept on the
    executors (on their discs, if need be) until `forget` is called or the session ends.

    Parameters
    ----------
    released, known
        Spark frames ``user, place, count`` of the two parts: over the same users, unless all were asked for.
    periods, released_span, known_span, source, n_rows, n_used, n_outside, n_of_others, n_users_seen, unused
        As of `habitprint.Split`.
    n_users, n_places
        Users and places of the two parts.
    n_common
        Users of both parts.
    findings
        Possible faults of the rows, their dates, and the names of columns.

    Examples
    --------
    >>> import habitprint as hp
    >>> spark = hp.Spark.connect("local[2]")
    >>> rows = [("Jill", "2012-04-09", "dorm"), ("Jill", "2012-04-16", "dorm"), ("Mike", "2012-04-10", "dorm")]
    >>> frame = spark.session.createDataFrame(rows, ["user", "time", "place"])
    >>> parts = hp.split(frame, hp.ConsecutiveWeeks("2012-04-09"), backend=spark)
    >>> parts.released.collect()[0].user, parts.n_rows, parts.n_used, parts.n_of_others
    ('Jill', 3, 2, 1)
    """

    released: DataFrame
    known: DataFrame
    n_users: tuple[int, int]
    n_places: tuple[int, int]
    n_common: int
    _counted: DataFrame

    def __iter__(self) -> Iterator[DataFrame]:
        yield self.released
        yield self.known

    def forget(self) -> None:
        """Release the counts on the executors; later requests count them again."""
        self._counted.unpersist()


def split_on_spark(
    events: SparkEvents,
    period: periods.Period,
    users: KeptUsers | Iterable[object],
    active: int,
    count: CountedAs,
    progress: Progress,
) -> SparkSplit:
    """Count events per user and place in two periods, as `habitprint.split` does, where they are stored."""
    chosen, source = chosen_users(users), events.reader.source
    refuse_to_split(events.empty, period, active, count)
    empty = DayTable.of(events.empty, count).events
    with kept(_count_by_day(events, count)) as by_day:
        totals = collect(by_day.groupBy("reason", "day").agg(sf.sum("n").alias("n")), "counting events", progress)
        n_by_reason = dict(totals.group_by("reason").agg(pl.col("n").sum()).rows())
        unused = replace(empty, frame=_at_fault(events, empty, n_by_reason, progress)).count_unused(n_by_reason)
        empty.refuse_no_rows(n_by_reason)
        days = totals.filter(pl.col("reason") == 0).sort("day").select(pl.col("day").cast(pl.Date), "n")
        calendar = periods.Calendar(tuple(periods.DayRows(day, n) for day, n in days.rows()), source)
        # Days of Excel that are read as another time are one day at most, and no two periods.
        refuse(_check_excel(events, calendar, n_by_reason[0], progress), (), source)
        usable = by_day.where("reason = 0")
        settled = _settled(period, usable, calendar, progress)
        parts = settled.parts(empty)
        counted = _count_parts(usable, settled, empty.time_zone, chosen, active).persist()
        found = _count_users(counted, progress)
    n_inside, n_used, n_users, n_places = (
        (found[RELEASED][name], found[KNOWN][name]) for name in ("n_inside", "n_used", "n_users", "n_places")
    )
    n_outside = n_by_reason[0] - sum(n_inside)
    refuse_empty(n_inside, n_outside, unused, parts, source)
    n_common, takes_all = found[RELEASED]["n_common"], isinstance(chosen, str) and chosen == "all"
    if isinstance(chosen, pl.Series) and n_common < chosen.len():
        found_users = collect(counted.where("is_kept").select("user").distinct(), "counting users", progress)["user"]
        raise missing_in_cohort(chosen.filter(positions(chosen, found_users) < 0).to_list(), active, parts.words)
    for name, n in zip(("released", "known"), n_users, strict=True):
        if n == 0:
            raise nobody_active(active, f"the {name} part" if takes_all else "each part", parts.words)
    released, known = (
        counted.where((sf.col("part") == part) & sf.col("is_kept")).select("user", "place", "count")
        for part in (RELEASED, KNOWN)
    )
    return SparkSplit(
        released=released,
        known=known,
        source=source,
        n_users_seen=sum(part["n_new"] for part in found.values()),
        n_users=n_users,
        n_places=n_places,
        n_common=n_common,
        findings=(
            *check_unused(unused, sum(n_by_reason.values())),
            *check_days(calendar, (parts.released, parts.known)),
            *check_names(empty.read_as, n_by_reason[0]),
        ),
        _counted=counted,
        **account_of(parts, n_inside, sum(n_used), n_outside, unused),
    )


def _count_by_day(events: SparkEvents, count: CountedAs) -> DataFrame:
    """Return the rows of a `DayTable`, counted; ids of usable ones only."""
    keys = ["reason", "user", "place", "day"]
    amounts = {"n": pl.Int64()} | ({"microseconds": pl.Decimal(38, 0)} if count == "seconds" else {})

    def tallied(events: Events) -> pl.LazyFrame:
        ids = (pl.when(pl.col("reason") == 0).then(pl.col(name)).alias(name) for name in ("user", "place"))
        rows = DayTable.of(events, count).frame.with_columns(pl.col("reason").cast(pl.Int16), *ids)
        return rows.group_by(keys).agg(pl.col(name).sum().cast(kind) for name, kind in amounts.items())

    return events.map(tallied).groupBy(*keys).agg(*(sf.sum(name).alias(name) for name in amounts))


def _settled(
    period: periods.Period, usable: DataFrame, calendar: periods.Calendar, progress: Progress
) -> periods.Period:
    """Return the period after the parts that depend on all rows are decided."""
    if isinstance(period, periods.OnDays):
        return replace(period, of=_settled(period.of, usable, calendar, progress))
    if isinstance(period, periods.HalvesOfRows):
        return FoundPeriod(period.cut(calendar), period.how)
    if isinstance(period, periods.BusiestWeeks):
        both = map_users(usable, lambda rows: period.count_active(_day_table(rows)))
        found = collect(both.groupBy("week").agg(sf.sum("len").alias("len")), "finding the periods", progress)
        return FoundPeriod(period.busiest(found, calendar.source), period.how)
    if isinstance(period, BY_USER):
        return period
    raise InputError(
        f"Spark cannot split by the period {period!r}",
        why="an executor sees only some rows of the events",
        fix="use another period, or split on one machine",
    )


def _day_table(rows: pl.DataFrame, time_zone: str = "UTC") -> DayTable:
    return DayTable(Events(pl.LazyFrame(), time_zone=time_zone), rows.lazy(), is_kept=True)


def _count_parts(
    usable: DataFrame, period: periods.Period, time_zone: str, chosen: KeptUsers | pl.Series, active: int
) -> DataFrame:
    """Return the counts of users at places in each part, and whether the user is kept in it.

    Beside ``part, user, place, n, count``: whether the row `is_kept`. Two more columns serve to count users: whether
    the row is the first one of its user (`is_new`), and of its user in this part (`is_first`).
    """
    in_seconds = "microseconds" in usable.columns
    cohort = chosen.cast(pl.String) if isinstance(chosen, pl.Series) else None
    takes_all = isinstance(chosen, str) and chosen == "all"

    def run(rows: pl.DataFrame) -> pl.DataFrame:
        inside = period.parts(_day_table(rows, time_zone)).frame.filter(pl.col("part").is_not_null())
        amounts = {"n": pl.col("n").sum(), "count": pl.col("microseconds" if in_seconds else "n").sum()}
        counted = inside.group_by("part", "user", "place").agg(**amounts).collect()
        if in_seconds:  # by numpy: polars would round twice
            seconds = counted["count"].cast(pl.Float64).to_numpy() / MICROSECONDS
            counted = counted.with_columns(count=pl.Series(seconds))
        part = pl.col("part")
        is_released, is_known = (
            pl.col("n").filter(part == each).sum().over("user") >= active for each in (RELEASED, KNOWN)
        )
        is_common = is_released & is_known
        if cohort is not None:  # an integer and its decimal text are the same id
            is_common &= pl.col("user").cast(pl.String).is_in(cohort.implode())
        return counted.select(
            part.cast(pl.Int8),
            "user",
            "place",
            "n",
            "count",
            is_kept=pl.when(part == RELEASED).then(is_released).otherwise(is_known) if takes_all else is_common,
            is_common=is_common,
            is_first=pl.int_range(pl.len()).over("part", "user") == 0,
            is_new=pl.int_range(pl.len()).over("user") == 0,
        )

    return map_users(usable, run)


def _count_users(counted: DataFrame, progress: Progress) -> dict[int, dict[str, int]]:
    """Return the numbers of events, users and places of each part."""
    is_kept = sf.col("is_kept")
    numbers = {
        "n_inside": sf.sum("n"),
        "n_used": sf.sum(sf.when(is_kept, sf.col("n")).otherwise(0)),
        "n_users": sf.count_if(is_kept & sf.col("is_first")),
        "n_places": sf.count_distinct(sf.when(is_kept, sf.col("place"))),
        "n_common": sf.count_if(sf.col("is_common") & sf.col("is_first")),
        "n_new": sf.count_if(sf.col("is_new")),
    }
    by_part = counted.groupBy("part").agg(*(number.alias(name) for name, number in numbers.items()))
    found = {row["part"]: row for row in collect(by_part, "counting users", progress).to_dicts()}
    return {part: found.get(part, dict.fromkeys(numbers, 0)) for part in (RELEASED, KNOWN)}


def _at_fault(events: SparkEvents, empty: Events, n_by_reason: Mapping[int, int], progress: Progress) -> pl.LazyFrame:
    """Return some invalid rows that stop the work, as examples."""
    at_fault = [number for number, reason in enumerate(empty.reasons, 1) if reason.is_fault and n_by_reason.get(number)]
    if empty.on_bad_rows != "fail" or not at_fault:
        return empty.frame
    is_fault = pl.col("reason").is_in(at_fault)
    shown = events.map(lambda events: events.frame.filter(is_fault).head(N_SHOWN).cast({"reason": pl.Int16}))
    return collect(shown.limit(N_SHOWN), "looking at bad rows", progress).lazy()


def _check_excel(events: SparkEvents, calendar: periods.Calendar, n_rows: int, progress: Progress) -> list[Finding]:
    """Find days of Excel that were read as time since 1970: then all events are of its first hours."""
    if calendar.days[-1].day > EPOCH + timedelta(days=1):
        return []
    moments = events.map(lambda events: events.usable.select("time"))
    ends = collect(moments.agg(sf.min("time"), sf.max("time")), "looking at times", progress)
    first, last = ends.row(0)
    return check_excel(events.empty.read_as, first, last, n_rows)
