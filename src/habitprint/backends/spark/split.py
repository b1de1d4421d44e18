"""Events on a cluster, split into two tables of counts: batch by batch, by the rules of one machine.

Executors turn batches of rows into events, and count them by user, place and day. Spark adds up. A period is a function
of days, so the driver needs little more than the number of rows on each day.
"""

import io
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from pathlib import Path, PurePosixPath

import msgspec
import polars as pl
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as sf
from pyspark.sql.types import DecimalType

from habitprint.backends.spark.session import Batches, address_of, collect, map_in_arrow, run_job, to_polars, to_spark
from habitprint.errors import InputError, first_few
from habitprint.events import Events
from habitprint.events.events import NUMBERS, to_events
from habitprint.events.read import DEGREES, Opened, open_rows, read_header
from habitprint.events.spec import DayName, Reading
from habitprint.events.times import SAMPLE, find_time_formats, possible_formats, telling_times, time_text
from habitprint.ids import positions
from habitprint.io.dialects import UTF_8, Dialect, Expected, find_dialect
from habitprint.periods import (
    AllOtherTime,
    BusiestWeeks,
    Calendar,
    ConsecutiveWeeks,
    DateRanges,
    DayRows,
    HalvesOfActiveWeeks,
    HalvesOfRows,
    OnDays,
    Period,
    Span,
)
from habitprint.periods.dates import day_of_week_zero, local_days
from habitprint.periods.day_table import MICROSECONDS, CountedAs, DayTable, that_last
from habitprint.periods.periods import KNOWN, RELEASED, FoundPeriod, Parts
from habitprint.periods.split import (
    Accounted,
    Sides,
    chosen_users,
    missing_in_cohort,
    nobody_active,
    refuse_empty,
    refuse_to_split,
)
from habitprint.progress import Progress

KINDS = {pl.Int64(): "bigint", pl.String(): "string", pl.Float64(): "double", pl.Datetime("us", "UTC"): "timestamp"}
N_SHOWN = 3  # rows at fault
EPOCH = date(1970, 1, 1)  # days are counted from here
TEXT = {".csv": ",", ".tsv": "\t", ".txt": "\t"}  # what separates columns, unless a file shows something else
PARQUET = ".parquet"
TOGETHER = 200_000  # rows that are worked on at once: each batch of Spark's costs some time of its own
MARK = b"\xef\xbb\xbf"  # of UTF-8, before the first letter
UNKNOWN = ("%Y",)  # stands for the format of times before any is looked at
FIRST_LINES = 2000  # of a text file, which show how it is written

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
Preparation = Callable[[Events], Events]


@dataclass(frozen=True)
class TextLines:
    """The format of the lines of text files: the dialect, the columns, and the header of every file."""

    dialect: Dialect
    names: tuple[str, ...]
    wanted: Mapping[str, str]
    header: tuple[bytes, ...]  # the lines before the first row


@dataclass(frozen=True)
class Recipe:
    """The steps that turn batches of rows into events, on an executor or on the driver.

    Parameters
    ----------
    reading
        The columns and the format of their values, both complete: nothing is left to detect.
    source
        The name of the events in messages.
    text
        How lines are read; None where columns have types of their own.
    prepare
        The function that changes the events, row by row.
    """

    reading: Reading
    source: str
    text: TextLines | None = None
    prepare: Preparation | None = None

    def events(self, rows: pl.DataFrame) -> Events:
        """Return the events of some rows."""
        if self.text is None:
            events = to_events(rows.lazy(), self.reading, self.source)
        else:
            opened = _opened(rows, self.text)
            events = to_events(opened.frame, self.reading, self.source, opened.against, self.text.dialect)
        return events if self.prepare is None else self.prepare(events)

    def batches(self, batches: Batches) -> Iterator[Events]:
        """Yield the events of the batches of a task, many at a time."""
        tables = map(to_polars, batches) if self.text is None else _without_headers(map(to_polars, batches), self.text)
        held: list[pl.DataFrame] = []
        for table in tables:
            held.append(table)
            if sum(one.height for one in held) >= TOGETHER:
                yield self.events(pl.concat(held))
                held = []
        if held:
            yield self.events(pl.concat(held))


@dataclass(frozen=True)
class SparkEvents:
    """Rows on a cluster, and the steps that turn them into events: `Spark.read_events` opens them.

    Parameters
    ----------
    frame
        The rows as they are stored.
    recipe
        The steps that turn batches of rows into events.
    empty
        Events without a row: they tell the types of ids, and why rows may be invalid.
    """

    frame: DataFrame
    recipe: Recipe
    empty: Events

    @property
    def session(self) -> SparkSession:
        """Return the session in which the rows are."""
        return self.frame.sparkSession

    def then(self, prepare: Preparation) -> "SparkEvents":
        """Return the same rows with one more step that changes their events, row by row.

        Examples
        --------
        >>> import habitprint as hp
        >>> spark = hp.Spark.connect("local[2]")
        >>> row = ("Jill", "2012-04-09 08:30", "dorm")
        >>> frame = spark.session.createDataFrame([row], ["user", "time", "place"])
        >>> events = spark.read_events(frame).then(hp.by_weekday)
        >>> events.map(lambda events: events.usable.select("place").collect(), "place string").first()
        Row(place='dorm Mon')
        """
        before = self.recipe.prepare

        def both(events: Events) -> Events:
            return prepare(events if before is None else before(events))

        return replace(self, recipe=replace(self.recipe, prepare=both), empty=prepare(self.empty))

    def map(self, function: Callable[[Events], pl.DataFrame], schema: str) -> DataFrame:
        """Return the results of a function on batches of events."""
        recipe = self.recipe

        def run(batches: Batches) -> Batches:
            for events in recipe.batches(batches):
                yield from function(events).to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches()

        return map_in_arrow(self.frame, run, schema)


def open_events(session: SparkSession, source: DataFrame | Paths, reading: Reading, progress: Progress) -> SparkEvents:
    """Return the events in a Spark frame, or in files that Spark reads, with all formats detected.

    Examples
    --------
    >>> from habitprint.backends.spark import connect
    >>> from habitprint.progress import silent
    >>> session, row = connect("local[2]"), ("Jill", "2012-04-09 08:30", "dorm")
    >>> frame = session.createDataFrame([row], ["user", "time", "place"])
    >>> open_events(session, frame, Reading(), silent).recipe.reading.time_format
    ('%Y-%m-%d %H:%M',)
    """
    if reading.sheet is not None or reading.sql is not None:
        raise InputError(
            "a sheet or a query on Spark",
            why="Spark reads Parquet and text files here",
            fix="give the frame that it makes",
        )
    if isinstance(source, DataFrame):
        return _of_columns(source, reading, "a Spark frame", progress)
    names = [os.fspath(source)] if isinstance(source, (str, os.PathLike)) else [os.fspath(path) for path in source]
    shown = names[0] if len(names) == 1 else first_few(names, 2)
    names = [address_of(session, name) for name in names]
    # Which files there are, Spark says without reading them.
    found = run_job(session, lambda: session.read.text(names).inputFiles(), "finding files", progress)
    endings = {_ending(name) for name in found}
    if not found:
        raise InputError(f"{shown} has no files", why="a folder of events has some", fix="check the path")
    if endings == {PARQUET}:
        frame = run_job(session, lambda: session.read.parquet(*names), "finding columns", progress)
        return _of_columns(frame, reading, shown, progress)
    if len(endings) == 1 and endings <= set(TEXT):
        return _of_lines(session, names, _Look(reading, TEXT[endings.pop()], shown), progress)
    raise InputError(
        f"cannot read {shown} on Spark: its files end in {', '.join(map(repr, sorted(endings)))}",
        why="Spark reads Parquet and text with separators here, one of them at a time",
        fix=f"use {PARQUET}, or one of {', '.join(TEXT)}, also .gz; or read it with Spark, and give the frame",
    )


def _ending(name: str) -> str:
    endings = [ending.lower() for ending in PurePosixPath(name).suffixes]
    while endings and endings[-1] not in TEXT and endings[-1] != PARQUET and len(endings) > 1:
        endings.pop()  # .gz, or .snappy
    return endings[-1] if endings else ""


def _of_columns(frame: DataFrame, reading: Reading, source: str, progress: Progress) -> SparkEvents:
    # Spark reads integers of 64 bits without a sign as decimals: as text they stay whole.
    decimals = [name for name, kind in zip(frame.columns, frame.schema, strict=True) if _is_whole(kind.dataType)]
    frame = frame.withColumns({name: _column(name).cast("string") for name in decimals}) if decimals else frame
    nothing = collect(frame.limit(0), "finding columns", progress)
    to_events(nothing.lazy(), _with_format(reading), source)
    rows = frame.select(*(_column(name) for name in dict.fromkeys(reading.roles.values())))

    def sampled() -> pl.DataFrame:
        times = rows.select(_column(reading.time)).where(_column(reading.time).isNotNull()).limit(SAMPLE)
        return collect(times, "looking at times", progress)

    kind = nothing.schema[reading.time]
    is_clear = reading.time_format is not None or kind != pl.String
    sample = nothing.select(reading.time) if is_clear else sampled()
    return _detected(rows, Recipe(reading, source), nothing, sample, progress)


def _with_format(reading: Reading) -> Reading:
    return msgspec.structs.replace(reading, time_format=reading.time_format or UNKNOWN)


def _is_whole(kind: object) -> bool:
    return isinstance(kind, DecimalType) and kind.scale == 0


def _column(name: str) -> Column:
    return sf.col("`" + name.replace("`", "``") + "`")


def _of_lines(session: SparkSession, paths: list[str], look: "_Look", progress: Progress) -> SparkEvents:
    # As bytes: what is no letter must reach the rules of one machine as it is.
    block = sf.xxhash64("_metadata.file_path", "_metadata.file_block_start")
    lines = session.read.text(paths, lineSep="\n").select(
        sf.col("value").cast("binary").alias("line"),
        block.alias("block"),
        (sf.col("_metadata.file_block_start") == 0).alias("is_first_block"),
    )
    first = collect(lines.where("is_first_block").limit(FIRST_LINES), "looking at lines", progress)
    if first.is_empty():
        raise InputError(f"{look.source} is empty", why="a file of events has a header at least", fix="leave it out")
    first = first.filter(pl.col("block") == first["block"][0])
    text = look.at(first["line"].to_list())
    recipe = Recipe(look.reading, look.source, text)
    sample = _opened(first.slice(len(text.header)), text).frame.select(look.reading.time).collect()
    return _detected(lines, recipe, first.clear(), sample, progress)


@dataclass(frozen=True)
class _Look:
    """The options for text files before their first line is read."""

    reading: Reading
    usual: str
    source: str

    def at(self, lines: list[bytes]) -> TextLines:
        """Return how text is written, from the first lines of a file."""
        wanted = self.reading.roles
        columns = None if self.reading.columns is None else tuple(self.reading.columns)
        numbers = tuple(wanted[role] for role in NUMBERS if role in wanted)
        degrees = tuple(wanted[role] for role in DEGREES if role in wanted)
        expected = Expected(self.usual, tuple(wanted.values()), columns, numbers, degrees)
        with tempfile.TemporaryDirectory() as folder:
            sample = Path(folder) / "first lines"
            sample.write_bytes(b"\n".join(lines) + b"\n")
            dialect = find_dialect(sample, self.reading, expected)
        if dialect.encoding.lower().replace("_", "-").startswith(("utf-16", "utf-32")):
            raise InputError(
                f"{self.source} is {dialect.encoding}",
                why="Spark finds the ends of lines where a letter is one byte, or in UTF-8",
                fix="convert it to UTF-8, or to Parquet",
            )
        header = [_bare(line) for line in lines[: dialect.n_before + (columns is None)]]
        names = columns or tuple(read_header(_in_utf8(header[-1], dialect), dialect))
        text = TextLines(dialect, names, wanted, tuple(header))
        nothing = _opened(pl.DataFrame(schema={"line": pl.Binary}), text).frame
        to_events(nothing, _with_format(self.reading), self.source)
        return text


def _bare(line: bytes) -> bytes:
    return line.removeprefix(MARK).rstrip(b"\r")


def _in_utf8(content: bytes, dialect: Dialect) -> bytes:
    return content if dialect.encoding == UTF_8 else content.decode(dialect.encoding, "replace").encode()


def _opened(lines: pl.DataFrame, text: TextLines) -> Opened:
    # A first line that is skipped: nothing at all would be no table.
    content = _in_utf8(b"\n".join([b"-", *lines["line"].to_list(), b""]), text.dialect)
    return open_rows(io.BytesIO(content), replace(text.dialect, n_before=1), text.names, text.wanted, has_header=False)


def _without_headers(tables: Iterator[pl.DataFrame], text: TextLines) -> Iterator[pl.DataFrame]:
    """Leave out the first lines of each file: within a task, the lines of a block follow each other."""
    block, n_left = None, 0
    for table in tables:
        starts = table.with_row_index("at").filter(
            pl.col("is_first_block") & pl.col("block").ne_missing(pl.col("block").shift(1, fill_value=block))
        )
        block = table["block"][-1]
        first = list(range(min(n_left, table.height)))
        n_left -= len(first)
        for at in starts["at"]:
            first += range(at, min(at + len(text.header), table.height))
            n_left = max(0, at + len(text.header) - table.height)
        _refuse_other_headers(table, first, text)
        rest = table.with_row_index("at").filter(~pl.col("at").is_in(first)).drop("at") if first else table
        if rest.height:
            yield rest


def _refuse_other_headers(table: pl.DataFrame, first: list[int], text: TextLines) -> None:
    for line in table["line"].gather(first):
        if _bare(line) not in text.header:
            raise InputError(
                f"a file begins with {line[:200].decode(errors='replace')!r}, "
                f"and another with {text.header[-1][:200].decode(errors='replace')!r}",
                why="the first line is the header, and all files are read as one table",
                fix="give every file the same header, or read them apart",
            )


def _detected(
    frame: DataFrame, recipe: Recipe, nothing: pl.DataFrame, sample: pl.DataFrame, progress: Progress
) -> SparkEvents:
    """Return the rows with the detected formats of times, from a sample or, if it is ambiguous, from all rows."""
    time, reading = recipe.reading.time, recipe.reading
    kind = sample.schema[time]
    if kind == pl.String and reading.time_format is None:
        texts = sample.select(time_text(time)).drop_nulls().to_series()
        possible = possible_formats(texts, time) if texts.len() else ()
        if len(possible) > 1:
            sample = pl.concat([sample.select(time), _that_tell(frame, recipe, possible, progress)])
    formats = find_time_formats(sample.lazy(), time, kind, reading.time_format, recipe.source)
    recipe = replace(recipe, reading=msgspec.structs.replace(reading, time_format=formats))
    return SparkEvents(frame, recipe, recipe.events(nothing))


def _that_tell(frame: DataFrame, recipe: Recipe, possible: Sequence[str], progress: Progress) -> pl.DataFrame:
    """Return the times among all rows that tell formats apart."""
    time, text = recipe.reading.time, recipe.text

    def run(batches: Batches) -> Batches:
        tables = map(to_polars, batches)
        for table in tables if text is None else _without_headers(tables, text):
            values = table.lazy() if text is None else _opened(table, text).frame
            told = values.select(telling_times(time, possible)).rename({time: "time"}).collect()
            yield from told.to_arrow(compat_level=pl.CompatLevel.oldest()).to_batches()

    told = map_in_arrow(frame, run, "time string").distinct()
    return collect(told, "looking at times", progress).rename({"time": time})


@dataclass(frozen=True)
class SparkSplit(Accounted):
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
    periods: str
    released_span: Span
    known_span: Span
    source: str
    n_rows: int
    n_used: int
    n_outside: int
    n_of_others: int
    n_users_seen: int
    n_users: tuple[int, int]
    n_places: tuple[int, int]
    n_common: int
    unused: Mapping[str, int]
    _counted: DataFrame

    def __iter__(self) -> Iterator[DataFrame]:
        yield self.released
        yield self.known

    def forget(self) -> None:
        """Release the counts on the executors; later requests count them again."""
        self._counted.unpersist()


def split_on_spark(
    events: SparkEvents,
    period: Period,
    users: Sides | Iterable[object],
    active: int,
    count: CountedAs,
    progress: Progress,
) -> SparkSplit:
    """Count events per user and place in two periods, as `habitprint.split` does, where they are stored."""
    chosen, source = chosen_users(users), events.recipe.source
    _require_known(period)
    refuse_to_split(events.empty, period, active, count)
    events = events.then(partial(that_last, count=count))
    by_day = _count_by_day(events, count).persist()
    try:
        totals = collect(by_day.groupBy("reason", "day").agg(sf.sum("n").alias("n")), "counting events", progress)
        n_by_reason = dict(totals.group_by("reason").agg(pl.col("n").sum()).rows())
        unused = _refuse_faults(events, n_by_reason, progress)
        events.empty.refuse_no_rows(n_by_reason)
        days = totals.filter(pl.col("reason") == 0).select("day", "n").sort("day")
        settled = _settled(period, source, by_day, days, progress)
        parts, (by_days, first_day) = settled.parts(events.empty), _told_by_day(settled)
        of_days = _parts_of_days(by_days, events, days["day"])
        n_outside = int(days.join(of_days.filter(pl.col("part").is_null()), on="day")["n"].sum())
        counted = _counted(by_day, of_days, first_day, count).persist()
        refuse_no_events = partial(refuse_empty, n_outside=n_outside, unused=unused, parts=parts, source=source)
        try:
            kept = _kept(counted, chosen, active, refuse_no_events, parts.words, progress)
        except BaseException:
            counted.unpersist()
            raise
    finally:
        by_day.unpersist()
    released, known = (kept.frame.where(sf.col("part") == part).drop("part", "n") for part in (RELEASED, KNOWN))
    return SparkSplit(
        released=released,
        known=known,
        periods=parts.words,
        released_span=parts.released,
        known_span=parts.known,
        source=source,
        n_rows=sum(n_by_reason.values()),
        n_used=kept.n_used,
        n_outside=n_outside,
        n_of_others=sum(kept.n_inside) - kept.n_used,
        n_users_seen=kept.n_seen,
        n_users=kept.n_users,
        n_places=kept.n_places,
        n_common=kept.n_common,
        unused=unused,
        _counted=counted,
    )


def _require_known(period: object) -> None:
    inner = period
    while isinstance(inner, OnDays):
        inner = inner.of
    kinds = (DateRanges, AllOtherTime, ConsecutiveWeeks, BusiestWeeks, HalvesOfRows, HalvesOfActiveWeeks)
    if not isinstance(inner, kinds):
        raise InputError(
            f"{inner!r} is no period that can be told on Spark",
            why="executors see some rows of the events, and not all",
            fix=f"use one of {', '.join(kind.__name__ for kind in (*kinds, OnDays))}; or split on one machine",
        )


def _count_by_day(events: SparkEvents, count: CountedAs) -> DataFrame:
    """Return the counts ``reason, user, place, day, n, amount`` of all rows; ids and days of usable ones only."""
    day, in_seconds, is_usable = local_days(events.recipe.reading.time_zone), count == "seconds", pl.col("reason") == 0
    keys = ["reason", "user", "place", "day"]
    user, place = (KINDS[events.empty.frame.collect_schema()[name]] for name in ("user", "place"))
    schema = f"reason smallint, user {user}, place {place}, day int, n bigint, amount decimal(38, 0)"

    def tallied(events: Events) -> pl.DataFrame:
        # Whole microseconds add up to the same in any order, which floats do not.
        amount = (pl.col("seconds") * MICROSECONDS).round() if in_seconds else pl.lit(1)
        usable = {"user": pl.col("user"), "place": pl.col("place"), "day": day, "amount": amount.cast(pl.Int128)}
        frame = events.frame.select(
            pl.col("reason").cast(pl.Int16), **{name: pl.when(is_usable).then(each) for name, each in usable.items()}
        )
        sums = {"n": pl.len().cast(pl.Int64), "amount": pl.col("amount").sum().cast(pl.Decimal(38, 0))}
        return frame.group_by(keys).agg(**sums).collect()

    return events.map(tallied, schema).groupBy(*keys).agg(sf.sum("n").alias("n"), sf.sum("amount").alias("amount"))


def _settled(period: Period, source: str, by_day: DataFrame, days: pl.DataFrame, progress: Progress) -> Period:
    """Return the period with the parts that depend on the data filled in."""
    if isinstance(period, OnDays):
        return replace(period, of=_settled(period.of, source, by_day, days, progress))
    if isinstance(period, BusiestWeeks):
        weeks = by_day.where("reason = 0").groupBy("user").agg(sf.collect_set(_week(period.first_day)).alias("weeks"))
        both = weeks.select(sf.explode(sf.expr("filter(weeks, one -> array_contains(weeks, one + 1))")).alias("week"))
        found = collect(both.groupBy("week").agg(sf.count("*").alias("len")), "finding the periods", progress)
        return FoundPeriod(period.busiest(found, source), period.how)
    if isinstance(period, HalvesOfRows):
        calendar = Calendar(tuple(DayRows(EPOCH + timedelta(days=day), n) for day, n in days.rows()), source)
        return FoundPeriod(period.cut(calendar), period.how)
    return period


def _week(first_day: DayName) -> Column:
    """Return the number of a day's week, as `weeks_of` counts them."""
    return sf.floor((sf.col("day") - (day_of_week_zero(first_day) - EPOCH).days) / 7)


@dataclass(frozen=True)
class _AllTime:
    """Stand for halves of each user's weeks, which only Spark can tell, while days are looked at one by one."""

    def parts(self, events: Events | DayTable) -> Parts:
        return Parts(DayTable.of(events).with_part(pl.lit(RELEASED, pl.Int8)), "", Span(""), Span(""))


def _told_by_day(period: Period) -> tuple[Period, DayName | None]:
    """Return the period without the halves of each user's weeks, and the day on which those begin; None for none."""
    if isinstance(period, OnDays):
        inner, first_day = _told_by_day(period.of)
        return replace(period, of=inner), first_day
    return (_AllTime(), period.first_day) if isinstance(period, HalvesOfActiveWeeks) else (period, None)


def _parts_of_days(period: Period, events: SparkEvents, days: pl.Series) -> pl.DataFrame:
    """Return the part of each day, ``day, part``."""
    table = DayTable(events.empty, pl.LazyFrame({"day": days}), is_kept=True)
    return period.parts(table).frame.select("part", "day").collect()


def _counted(by_day: DataFrame, of_days: pl.DataFrame, first_day: DayName | None, count: CountedAs) -> DataFrame:
    """Return the counts ``part, user, place, n, count`` of the rows within the periods."""
    usable = by_day.where("reason = 0").join(sf.broadcast(to_spark(by_day.sparkSession, of_days)), "day")
    if first_day is not None:
        # Rows on other days make weeks active too.
        weeks = sf.sort_array(sf.collect_set(_week(first_day)).over(Window.partitionBy("user")))
        last_of_first_half = sf.element_at(weeks, ((sf.size(weeks) + 1) / 2).cast("int"))
        half = (_week(first_day) > last_of_first_half).cast("tinyint")
        usable = usable.withColumn("part", sf.when(sf.col("part").isNotNull(), half))
    counted = usable.where("part is not null").groupBy("part", "user", "place")
    amount = sf.sum("n") if count == "visits" else sf.sum("amount").cast("double") / MICROSECONDS
    return counted.agg(sf.sum("n").alias("n"), amount.alias("count"))


def _refuse_faults(events: SparkEvents, n_by_reason: Mapping[int, int], progress: Progress) -> dict[str, int]:
    """Return the number of unused rows by reason, or raise `InputError` where they stop the work."""
    at_fault = [number for number, reason in enumerate(events.empty.reasons, 1) if reason.is_fault]
    if events.recipe.reading.on_bad_rows != "fail" or not any(n_by_reason.get(number) for number in at_fault):
        return events.empty.count_unused(n_by_reason)
    # Some rows at fault are brought here, to be shown.
    schema = events.empty.frame.collect_schema()
    names = [f"{name} {KINDS[kind]}" for name, kind in schema.items() if name != "reason"]
    shown = events.map(
        lambda events: (
            events.frame.filter(pl.col("reason").is_in(at_fault))
            .head(N_SHOWN)
            .with_columns(pl.col("reason").cast(pl.Int16))
            .collect()
        ),
        ", ".join([*names, "reason smallint"]),
    )
    faults = collect(shown.limit(N_SHOWN), "looking at bad rows", progress)
    return replace(events.empty, frame=faults.lazy()).count_unused(n_by_reason)


@dataclass(frozen=True)
class _Kept:
    """The counts of the users who are kept, and the numbers of users, events and places."""

    frame: DataFrame
    n_used: int
    n_inside: tuple[int, int]
    n_seen: int
    n_common: int
    n_users: tuple[int, int]
    n_places: tuple[int, int]


def _kept(
    counted: DataFrame,
    chosen: Sides | pl.Series,
    active: int,
    refuse_no_events: Callable[[Sequence[int]], None],
    words: str,
    progress: Progress,
) -> _Kept:
    totals = counted.groupBy("user").agg(*(_total(part).alias(f"n_{part}") for part in (RELEASED, KNOWN)))
    is_released, is_known = (sf.col(f"n_{part}") >= active for part in (RELEASED, KNOWN))
    is_common = is_released & is_known
    takes_all = isinstance(chosen, str) and chosen == "all"
    if isinstance(chosen, pl.Series):
        # An integer and its decimal text are the same id.
        cohort = to_spark(counted.sparkSession, chosen.cast(pl.String).alias("id").to_frame())
        totals = totals.join(sf.broadcast(cohort), sf.col("user").cast("string") == sf.col("id"), "left")
        is_common &= sf.col("id").isNotNull()
    if not takes_all:
        is_released = is_known = is_common
    users = totals.select("user", "n_0", "n_1", is_released.alias("is_released"), is_known.alias("is_known"))
    facts = users.agg(
        sf.count("*").alias("n_seen"),
        sf.count_if(sf.expr("is_released and is_known")).alias("n_common"),
        *(sf.coalesce(sf.sum(f"n_{part}"), sf.lit(0)).alias(f"n_{part}") for part in (RELEASED, KNOWN)),
    )
    n_seen, n_common, *n_inside = collect(facts, "counting users", progress).row(0)
    refuse_no_events(n_inside)
    if isinstance(chosen, pl.Series) and n_common < chosen.len():
        active_users = collect(users.where("is_released").select("user"), "counting users", progress)["user"]
        raise missing_in_cohort(chosen.filter(positions(chosen, active_users) < 0).to_list(), active, words)
    is_kept = sf.when(sf.col("part") == RELEASED, sf.col("is_released")).otherwise(sf.col("is_known"))
    frame = counted.join(users.drop("n_0", "n_1"), "user").where(is_kept).select("part", "user", "place", "n", "count")
    by_part = frame.groupBy("part").agg(
        sf.sum("n").alias("n"), sf.count_distinct("user").alias("users"), sf.count_distinct("place").alias("places")
    )
    found = collect(by_part, "counting users", progress).select("part", "n", "users", "places")
    facts_of = {part: numbers for part, *numbers in found.rows()}
    for part, name in ((RELEASED, "released"), (KNOWN, "known")):
        if part not in facts_of:
            raise nobody_active(active, f"the {name} part" if takes_all else "each part", words)
    n_used, n_users, n_places = zip(facts_of[RELEASED], facts_of[KNOWN], strict=True)
    return _Kept(frame, sum(n_used), (n_inside[0], n_inside[1]), n_seen, n_common, n_users, n_places)


def _total(part: int) -> Column:
    return sf.sum(sf.when(sf.col("part") == part, sf.col("n")).otherwise(0))
