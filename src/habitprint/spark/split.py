"""The split of a table of events on a cluster into two tables of counts."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import partial
from typing import Unpack

import msgspec
import polars as pl
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them

from habitprint.errors import InputError
from habitprint.events import Events
from habitprint.events.spec import DayName, Reading, ReadingKeywords
from habitprint.ids import positions
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
from habitprint.periods.dates import local_days, local_weeks
from habitprint.periods.periods import KNOWN, RELEASED, Parts
from habitprint.periods.split import (
    Accounted,
    CountedAs,
    Sides,
    chosen_users,
    missing_in_cohort,
    nobody_active,
    nobody_in_both,
    refuse_empty,
    refuse_to_split,
    that_last,
)
from habitprint.periods.tally import IS_INSIDE, MICROSECONDS
from habitprint.progress import Progress, silent
from habitprint.spark.rows import Paths, Preparation, Rows, open_events, to_polars
from habitprint.spark.session import run_job

BY_ROW = (DateRanges, AllOtherTime, ConsecutiveWeeks)  # which tell the part of an event by its time alone
FOUND = (BusiestWeeks, HalvesOfRows)  # which become one of these once the data was looked at
KINDS = {pl.Int64(): "bigint", pl.String(): "string", pl.Float64(): "double", pl.Datetime("us", "UTC"): "timestamp"}
N_SHOWN = 3  # rows at fault


@dataclass(frozen=True)
class SparkSplit(Accounted):
    """Two tables of counts on a cluster, and an account of every row of the events.

    It unpacks into the two: ``released, known = hp.spark.split(...)``. The counts of all users are kept on the
    executors (on their discs, if need be) until `forget` is called or the session ends.

    Parameters
    ----------
    released, known
        Spark frames ``user, place, count`` of the two parts: over the same users, unless all were asked for.
    periods, released_span, known_span, source, n_rows, n_used, n_outside, n_of_others, n_users_seen, unused
        As of `habitprint.Split`.
    n_released_users, n_known_users, n_common
        Users of each part, and of both.
    n_released_places, n_known_places
        Places of each part.

    Examples
    --------
    >>> import habitprint as hp
    >>> rows = [("Jill", "2012-04-09", "dorm"), ("Jill", "2012-04-16", "dorm"), ("Mike", "2012-04-10", "dorm")]
    >>> frame = hp.spark.connect("local[2]").createDataFrame(rows, ["user", "time", "place"])
    >>> parts = hp.spark.split(frame, hp.ConsecutiveWeeks("2012-04-09"))
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
    n_released_users: int
    n_known_users: int
    n_common: int
    n_released_places: int
    n_known_places: int
    unused: Mapping[str, int]
    _counted: DataFrame

    def __iter__(self) -> Iterator[DataFrame]:
        yield self.released
        yield self.known

    def forget(self) -> None:
        """Release the counts on the executors; later requests count them again."""
        self._counted.unpersist()


def split(
    events: DataFrame | Paths,
    period: Period,
    *,
    reading: Reading | None = None,
    prepare: Preparation | None = None,
    users: Sides | Iterable[object] = "both",
    active: int = 1,
    count: CountedAs = "visits",
    progress: Progress = silent,
    **keywords: Unpack[ReadingKeywords],
) -> SparkSplit:
    """Count events per user and place in two periods, as `habitprint.split` does, where they lie: on a cluster.

    The numbers are the same: executors clean rows and tell their periods by the rules of one machine, many rows at a
    time, and Spark adds up.

    Parameters
    ----------
    events
        A Spark frame, or the name of a Parquet file, of a folder of them, or of text files with separators (``.csv``,
        ``.tsv``, ``.txt``, also ``.gz``), or several names; at any address that Spark reads. Files are read by the
        session of this process, or one that is started (see `connect`).
    period
        Which events are released and which are known: `ConsecutiveWeeks`, `DateRanges`, `AllOtherTime`,
        `BusiestWeeks`, `HalvesOfRows`, `HalvesOfActiveWeeks`, or one of these `OnDays` of the week.
    reading
        A record of the following keywords; single keywords override it.
    user, time, place, lat, lon, seconds, columns, time_zone, time_format, separator, decimal, encoding, on_bad_rows
        As of `habitprint.read_events`.
    prepare
        What is done to the events before they are counted, as long as it can be done to each row by itself:
        ``grid.place``, `by_weekday`, ``functools.partial(hp.by_hours, hours=6)``.
    users, active, count
        As of `habitprint.split`.

    Examples
    --------
    >>> import habitprint as hp
    >>> rows = [("Jill", "2012-04-09", "dorm"), ("Jill", "2012-04-09", "dorm"), ("Jill", "2012-04-16", "library")]
    >>> frame = hp.spark.connect("local[2]").createDataFrame(rows, ["user", "time", "place"])
    >>> released, known = hp.spark.split(frame, hp.ConsecutiveWeeks("2012-04-09"))
    >>> released.collect(), known.collect()
    ([Row(user='Jill', place='dorm', count=2)], [Row(user='Jill', place='library', count=1)])
    """
    reading = msgspec.structs.replace(reading or Reading(), **keywords)
    if reading.sheet is not None or reading.sql is not None:
        raise InputError(
            "a sheet or a query on Spark",
            why="it reads Parquet and text files here",
            fix="give the frame that it makes",
        )
    chosen = chosen_users(users)
    _require_known(period)
    rows = open_events(events, reading, prepare=prepare, progress=progress)
    refuse_to_split(rows.empty, period, active, count)
    rows = rows.then(partial(that_last, count=count))
    settled = _settled(period, rows, progress)
    parts = settled.parts(rows.empty)
    counted = _counted(rows, settled, count).persist()
    try:
        n_by_fate = _count_fates(rows, counted, progress)
        unused = _refuse_faults(rows, n_by_fate, progress)
        n_outside = n_by_fate.get((0, None), 0)
        n_inside = [n_by_fate.get((0, part), 0) for part in (RELEASED, KNOWN)]
        refuse_empty(n_inside, n_outside, unused, parts, rows.recipe.source)
        kept = _kept(rows, counted, chosen, active, parts.words, progress)
        released, known = (kept.frame.where(F.col("part") == part).drop("part", "n") for part in (RELEASED, KNOWN))
    except BaseException:
        counted.unpersist()
        raise
    return SparkSplit(
        released=released,
        known=known,
        periods=parts.words,
        released_span=parts.released,
        known_span=parts.known,
        source=rows.recipe.source,
        n_rows=sum(n_by_fate.values()),
        n_used=kept.n_used,
        n_outside=n_outside,
        n_of_others=sum(n_inside) - kept.n_used,
        n_users_seen=kept.n_seen,
        n_released_users=kept.n_users[RELEASED],
        n_known_users=kept.n_users[KNOWN],
        n_common=kept.n_common,
        n_released_places=kept.n_places[RELEASED],
        n_known_places=kept.n_places[KNOWN],
        unused=unused,
        _counted=counted,
    )


def _require_known(period: object) -> None:
    inner = period
    while isinstance(inner, OnDays):
        inner = inner.of
    if not isinstance(inner, (*BY_ROW, *FOUND, HalvesOfActiveWeeks)):
        names = ", ".join(kind.__name__ for kind in (*BY_ROW, *FOUND, HalvesOfActiveWeeks, OnDays))
        raise InputError(
            f"{inner!r} is no period that can be told on Spark",
            why="executors see some rows of the events, and not all",
            fix=f"use one of {names}; or split on one machine: hp.split",
        )


def _settled(period: Period, rows: Rows, progress: Progress) -> Period:
    """Return the period with the parts that depend on the data filled in."""
    if isinstance(period, OnDays):
        return replace(period, of=_settled(period.of, rows, progress))
    if isinstance(period, BusiestWeeks):
        return period.explained(period.busiest(_both_weeks(rows, period.first_day, progress), rows.recipe.source))
    if isinstance(period, HalvesOfRows):
        return period.explained(period.cut(_calendar(rows, progress)))
    return period


def _both_weeks(rows: Rows, first_day: DayName, progress: Progress) -> pl.DataFrame:
    """Return how many users are active in each week and in the next."""
    week = local_weeks(rows.recipe.reading.time_zone, first_day).alias("week")
    active = rows.map(
        lambda events: events.usable.select("user", week).unique().collect(), f"user {_kind(rows, 'user')}, week int"
    )
    weeks = active.groupBy("user").agg(F.collect_set("week").alias("weeks"))
    both = weeks.select(F.explode(F.expr("filter(weeks, one -> array_contains(weeks, one + 1))")).alias("week"))
    found = _collected(rows, both.groupBy("week").agg(F.count("*").alias("len")), "finding the periods", progress)
    if found.is_empty():
        _refuse_unusable(rows, progress)
    return found


def _calendar(rows: Rows, progress: Progress) -> Calendar:
    day = local_days(rows.recipe.reading.time_zone).alias("day")
    by_day = rows.map(
        lambda events: events.usable.select(day).group_by("day").agg(n=pl.len().cast(pl.Int64)).collect(),
        "day int, n bigint",
    )
    found = _collected(rows, by_day.groupBy("day").agg(F.sum("n").alias("n")), "finding the periods", progress)
    if found.is_empty():
        _refuse_unusable(rows, progress)
    first = date(1970, 1, 1)
    days = (DayRows(first + timedelta(days=number), n) for number, n in found.sort("day").rows())
    return Calendar(tuple(days), rows.recipe.source)


@dataclass(frozen=True)
class _AllTime:
    """Stand for a period that only Spark can tell, while rows are looked at one by one."""

    def parts(self, events: Events) -> Parts:
        return Parts(events.frame.with_columns(part=pl.lit(RELEASED, pl.Int8)), "", Span(""), Span(""))


def _counted(rows: Rows, period: Period, count: CountedAs) -> DataFrame:
    """Return the counts ``reason, part, user, place, n, count`` of all rows; users and places only of those in a part.

    The first week of the second half of a user's weeks is known only when all of them have been seen. So these are
    counted by week first, with those outside, for they make weeks active.
    """
    by_row, first_day = _told_by_row(period)
    week = None if first_day is None else local_weeks(rows.recipe.reading.time_zone, first_day)
    keys = ["reason", "part", "user", "place", *([] if week is None else ["week"])]
    amount = ", amount decimal(38, 0)" if count == "seconds" else ""
    schema = (
        f"reason smallint, part tinyint, user {_kind(rows, 'user')}, place {_kind(rows, 'place')}"
        f"{'' if week is None else ', week int'}, n bigint{amount}"
    )

    def tallied(events: Events) -> pl.DataFrame:
        has_user = IS_INSIDE if week is None else pl.col("reason") == 0
        columns = {
            "reason": pl.col("reason").cast(pl.Int16),
            "part": pl.when(IS_INSIDE).then(pl.col("part").cast(pl.Int8)),
            "user": pl.when(has_user).then(pl.col("user")),
            "place": pl.when(IS_INSIDE).then(pl.col("place")),
        }
        if week is not None:
            columns["week"] = pl.when(has_user).then(week)
        amounts = {}
        if count == "seconds":
            # Whole microseconds add up to the same in any order, which floats do not.
            columns["amount"] = pl.when(IS_INSIDE).then((pl.col("seconds") * MICROSECONDS).round().cast(pl.Int128))
            amounts["amount"] = pl.col("amount").sum().cast(pl.Decimal(38, 0))
        frame = by_row.parts(events).frame.select(**columns)
        return frame.group_by(keys).agg(n=pl.len().cast(pl.Int64), **amounts).collect()

    tally = rows.map(tallied, schema)
    sums = [F.sum("n").alias("n"), *([F.sum("amount").alias("amount")] if count == "seconds" else [])]
    counted = tally.groupBy(*keys).agg(*sums)
    if week is not None:
        counted = _in_halves(counted, sums)
    amount_or_n = F.col("n") if count == "visits" else F.col("amount").cast("double") / MICROSECONDS
    return counted.select("reason", "part", "user", "place", "n", amount_or_n.alias("count"))


def _told_by_row(period: Period) -> tuple[Period, DayName | None]:
    """Return the period with what only Spark can tell left out, and on which day its weeks begin; None: all is told."""
    if isinstance(period, OnDays):
        inner, first_day = _told_by_row(period.of)
        return replace(period, of=inner), first_day
    return (_AllTime(), period.first_day) if isinstance(period, HalvesOfActiveWeeks) else (period, None)


def _in_halves(counted: DataFrame, sums: list[Column]) -> DataFrame:
    """Return counts by week as those of the first and of the second half of each user's active weeks."""
    active = F.collect_set(F.when(F.col("reason") == 0, F.col("week"))).over(Window.partitionBy("user"))
    weeks = F.sort_array(active)
    last_of_first_half = F.element_at(weeks, ((F.size(weeks) + 1) / 2).cast("int"))
    part = F.when(F.col("part").isNotNull(), (F.col("week") > last_of_first_half).cast("tinyint"))
    return counted.withColumn("part", part).groupBy("reason", "part", "user", "place").agg(*sums)


def _count_fates(rows: Rows, counted: DataFrame, progress: Progress) -> dict[tuple[int, int | None], int]:
    """Return the number of rows by the number of the reason against them and by part."""
    fates = counted.groupBy("reason", "part").agg(F.sum("n").alias("n"))
    found = _collected(rows, fates, "counting events", progress)
    return {(reason, part): n for reason, part, n in found.select("reason", "part", "n").rows()}


def _refuse_faults(rows: Rows, n_by_fate: Mapping[tuple[int, int | None], int], progress: Progress) -> dict[str, int]:
    """Return the number of unused rows by reason, or raise `InputError` where they stop the work."""
    n_by_reason: dict[int, int] = {}
    for (reason, _), n in n_by_fate.items():
        n_by_reason[reason] = n_by_reason.get(reason, 0) + n
    at_fault = [number for number, reason in enumerate(rows.empty.reasons, 1) if reason.is_fault]
    is_refused = rows.recipe.reading.on_bad_rows == "fail" and any(n_by_reason.get(number) for number in at_fault)
    events = rows.empty if not is_refused else _with_faults(rows, at_fault, progress)
    return events.count_unused(n_by_reason)


def _with_faults(rows: Rows, at_fault: list[int], progress: Progress) -> Events:
    """Return events with some rows that are at fault, to be shown."""
    schema = rows.empty.frame.collect_schema()
    names = [f"{name} {KINDS[kind]}" for name, kind in schema.items() if name != "reason"]
    shown = rows.map(
        lambda events: (
            events.frame.filter(pl.col("reason").is_in(at_fault))
            .head(N_SHOWN)
            .with_columns(pl.col("reason").cast(pl.Int16))
            .collect()
        ),
        ", ".join([*names, "reason smallint"]),
    )
    return replace(rows.empty, frame=_collected(rows, shown.limit(N_SHOWN), "looking at bad rows", progress).lazy())


def _refuse_unusable(rows: Rows, progress: Progress) -> None:
    """Raise `InputError` if there are faults that stop the work, or no row that can be used."""
    by_reason = rows.map(
        lambda events: (
            events.frame.group_by("reason")
            .agg(n=pl.len().cast(pl.Int64))
            .select(pl.col("reason").cast(pl.Int16), part=pl.lit(None, pl.Int8), n="n")
            .collect()
        ),
        "reason smallint, part tinyint, n bigint",
    )
    n_by_fate = _count_fates(rows, by_reason, progress)
    _refuse_faults(rows, n_by_fate, progress)
    rows.empty.refuse_no_rows({reason: n for (reason, _), n in n_by_fate.items()})


@dataclass(frozen=True)
class _Kept:
    """The counts of the users who are kept, and the numbers of users and events."""

    frame: DataFrame
    n_used: int
    n_seen: int
    n_common: int
    n_users: tuple[int, int]
    n_places: tuple[int, int]


def _kept(
    rows: Rows, counted: DataFrame, chosen: Sides | pl.Series, active: int, words: str, progress: Progress
) -> _Kept:
    inside = counted.where("reason = 0 and part is not null").drop("reason")
    totals = inside.groupBy("user").agg(*(_total(part).alias(f"n_{part}") for part in (RELEASED, KNOWN)))
    is_released, is_known = (F.col(f"n_{part}") >= active for part in (RELEASED, KNOWN))
    is_common = is_released & is_known
    takes_all = isinstance(chosen, str) and chosen == "all"
    if isinstance(chosen, pl.Series):
        cohort = _as_column(rows, chosen)
        totals = totals.join(F.broadcast(cohort.withColumn("is_asked", F.expr("true"))), "user", "left")
        is_common &= F.col("is_asked").isNotNull()
    if not takes_all:
        is_released = is_known = is_common
    users = totals.select("user", is_released.alias("is_released"), is_known.alias("is_known"))
    facts = users.agg(F.count("*").alias("n_seen"), F.count_if(F.expr("is_released and is_known")).alias("n_common"))
    n_seen, n_common = _collected(rows, facts, "counting users", progress).select("n_seen", "n_common").row(0)
    if isinstance(chosen, pl.Series) and n_common < chosen.len():
        active_users = _collected(rows, users.where("is_released").select("user"), "counting users", progress)["user"]
        raise missing_in_cohort(chosen.filter(positions(chosen, active_users) < 0).to_list(), active, words)
    is_kept = F.when(F.col("part") == RELEASED, F.col("is_released")).otherwise(F.col("is_known"))
    frame = inside.join(users, "user").where(is_kept).select("part", "user", "place", "n", "count")
    by_part = frame.groupBy("part").agg(
        F.sum("n").alias("n"), F.count_distinct("user").alias("users"), F.count_distinct("place").alias("places")
    )
    found = _collected(rows, by_part, "counting users", progress).select("part", "n", "users", "places")
    facts_of = {part: numbers for part, *numbers in found.rows()}
    for part, name in ((RELEASED, "released"), (KNOWN, "known")):
        if part not in facts_of:
            raise nobody_active(active, name, words) if takes_all else nobody_in_both(active, words)
    n_used, n_users, n_places = zip(facts_of[RELEASED], facts_of[KNOWN], strict=True)
    return _Kept(frame, sum(n_used), n_seen, n_common, n_users, n_places)


def _total(part: int) -> Column:
    return F.sum(F.when(F.col("part") == part, F.col("n")).otherwise(0))


def _as_column(rows: Rows, cohort: pl.Series) -> DataFrame:
    """Return the users of a cohort as Spark has them; an integer and its decimal text are the same id."""
    kind = rows.empty.frame.collect_schema()["user"]
    ids = cohort.cast(pl.String).cast(kind, strict=False).drop_nulls().alias("user")
    return rows.session.createDataFrame(ids.to_frame().to_arrow(compat_level=pl.CompatLevel.oldest()))


def _kind(rows: Rows, column: str) -> str:
    return KINDS[rows.empty.frame.collect_schema()[column]]


def _collected(rows: Rows, frame: DataFrame, stage: str, progress: Progress) -> pl.DataFrame:
    return to_polars(run_job(rows.session, frame.toArrow, stage, progress))
