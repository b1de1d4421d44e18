"""Counting on Spark gives the same tables, and the same account of every row, as counting on one machine."""

import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pyspark.sql import DataFrame, SparkSession

import habitprint as hp
from habitprint.periods.periods import Period

WEEKS = hp.ConsecutiveWeeks("2012-04-09")


def made_rows(seed: int, n: int = 400) -> pl.DataFrame:
    """Return random rows of some weeks, among them some that cannot be used."""
    random = np.random.default_rng(seed)
    seconds = random.integers(0, 35 * 86400, n)
    return pl.DataFrame(
        {
            "user": random.integers(1, 25, n),
            "time": [datetime(2012, 4, 2, tzinfo=UTC) + timedelta(seconds=int(s)) for s in seconds],
            "place": random.choice(["dorm", "library", "café", "gym"], n),
            "duration": random.integers(0, 4000, n) / 7,
        }
    ).with_columns(pl.col("time").cast(pl.Datetime("us", "UTC")))


ROWS = made_rows(1)
BAD = pl.DataFrame(
    {
        "user": [None, 3, 4, 5, 6, 6],
        "time": [datetime(2012, 4, 9, tzinfo=UTC)] * 2 + [None, datetime(9999, 12, 31, 12, tzinfo=UTC)] * 2,
        "place": ["dorm", None, "dorm", "", "library", "café"],
        "duration": [1.0, 2.0, None, -1.0, float("nan"), 0.0],
    },
    schema=ROWS.schema,
)


@dataclass(frozen=True)
class Case:
    """Hold a file or a frame, and how it is read and counted."""

    name: str
    make: Callable[[Path, SparkSession], Any]
    period: Period = WEEKS
    reading: Mapping[str, Any] = field(default_factory=dict)
    counting: Mapping[str, Any] = field(default_factory=dict)
    prepare: Callable[[hp.Events], hp.Events] | None = None


def parquet(frame: pl.DataFrame, n_files: int = 1) -> Callable[[Path, SparkSession], Path]:
    def make(folder: Path, _: SparkSession) -> Path:
        if n_files == 1:
            frame.write_parquet(folder / "calls.parquet")
            return folder / "calls.parquet"
        for number in range(n_files):
            frame[number::n_files].write_parquet(folder / f"part-{number}.parquet")
        return folder

    return make


def text(content: str | bytes | Sequence[bytes], ending: str = ".csv") -> Callable[[Path, SparkSession], Path]:
    def make(folder: Path, _: SparkSession) -> Path:
        contents = [content] if isinstance(content, (str, bytes)) else content
        for number, one in enumerate(contents):
            raw = one.encode() if isinstance(one, str) else one
            file = folder / f"calls-{number}{ending}"
            file.write_bytes(gzip.compress(raw) if ending.endswith(".gz") else raw)
        return folder

    return make


IN_TEXT = ROWS.with_columns(pl.col("time").dt.strftime("%Y-%m-%d %H:%M:%S")).write_csv()
DAY_FIRST = ROWS.with_columns(pl.col("time").dt.strftime("%d/%m/%Y %H:%M")).sort(
    pl.col("time").str.slice(0, 2).cast(pl.Int32) > 12, maintain_order=True
)
UNUSUAL = (
    '\ufeffuser;time;place;duration\r\n"7";09.04.2012 10:00;"a;b";1,5\r\n7;16.04.2012 10:00;"a;b";2,5\r\n\r\n'
    "7;16.04.2012 10:00;x;1;surplus\r\n8;no time;x;1\r\n9\r\n"
    "'=7;17.04.2012 00:30;x;1,0\r\n'=7;13.04.2012 00:30;x;1,0\r\n"
)
CASES = [
    Case("one Parquet file", parquet(ROWS)),
    Case("a folder of them, and a zone", parquet(ROWS, 3), reading={"time_zone": "America/Los_Angeles"}),
    Case("bad rows", parquet(pl.concat([ROWS, BAD])), reading={"on_bad_rows": "skip"}),
    Case(
        "seconds, all who are active",
        parquet(pl.concat([ROWS, BAD])),
        reading={"on_bad_rows": "skip", "seconds": "duration"},
        counting={"count": "seconds", "users": "all", "active": 5},
    ),
    Case("clocks without a zone", parquet(ROWS.with_columns(pl.col("time").dt.replace_time_zone(None)))),
    Case("days", parquet(ROWS.with_columns(pl.col("time").dt.date())), reading={"time_zone": "Asia/Tokyo"}),
    Case("a cohort, by text", parquet(ROWS), counting={"users": ["3", "4"]}),
    Case("two ranges", parquet(ROWS), hp.DateRanges(("2012-04-03", "2012-04-11"), ("2012-04-12", "2012-04-30"))),
    Case("all other time", parquet(ROWS), hp.AllOtherTime(known=("2012-04-12", "2012-04-30"))),
    Case("the busiest weeks", parquet(ROWS), hp.BusiestWeeks("sunday"), {"time_zone": "Pacific/Auckland"}),
    Case("halves of rows", parquet(ROWS), hp.HalvesOfRows(), {"time_zone": "Pacific/Auckland"}),
    Case("halves of active weeks", parquet(ROWS[::6]), hp.HalvesOfActiveWeeks(), counting={"users": "all"}),
    Case("some days of them", parquet(ROWS), hp.OnDays("friday", "monday", of=hp.HalvesOfActiveWeeks("tuesday"))),
    Case("some days of the busiest weeks", parquet(ROWS), hp.OnDays("monday", "friday", of=hp.BusiestWeeks())),
    Case("places by hours", parquet(ROWS), prepare=partial(hp.by_hours, hours=6)),
    Case("text", text(IN_TEXT)),
    Case("text in several files, compressed", text([IN_TEXT.encode(), IN_TEXT.encode()], ".tsv.gz")),
    Case("text, another encoding", text(IN_TEXT.replace(",", ";").encode("cp1252"))),
    Case("text that leaves a doubt at first", text(DAY_FIRST.write_csv(separator="\t"), ".txt")),
    Case("text as it should not be", text(UNUSUAL), reading={"on_bad_rows": "skip", "seconds": "duration"}),
    Case(
        "text without a header",
        text("1,1333965600,a,1\n1,1334570400,b,1\n"),
        reading={"columns": ["user", "time", "place", "duration"], "time_format": "seconds"},
    ),
    Case("a frame", lambda _, spark: spark.createDataFrame(ROWS.to_arrow(compat_level=pl.CompatLevel.oldest()))),
]


def local(source: Any) -> Any:
    """Return the same for one machine."""
    if isinstance(source, DataFrame):
        return None
    return sorted(source.iterdir()) if source.is_dir() else source


def on_one_machine(case: Case, source: Any) -> hp.Split:
    files = local(source)
    events = hp.events_from_frame(ROWS) if files is None else hp.read_events(files, **case.reading)
    found: hp.Split = hp.split(events if case.prepare is None else case.prepare(events), case.period, **case.counting)
    return found


def rows_of(frame: DataFrame) -> pl.DataFrame:
    table = pl.DataFrame(pl.from_arrow(frame.toArrow()))
    return table.sort("user", "place")


BY_NIGHT = {
    "one Parquet file",
    "days",
    "all other time",
    "halves of active weeks",
    "a folder of them, and a zone",
    "clocks without a zone",
    "a cohort, by text",
    "two ranges",
    "some days of the busiest weeks",
    "places by hours",
    "text",
    "text, another encoding",
    "text without a header",
}  # others by day are of the same kind


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=pytest.mark.nightly if case.name in BY_NIGHT else ()) for case in CASES],
)
def test_the_same_is_counted_as_on_one_machine(case: Case, spark: SparkSession, tmp_path: Path) -> None:
    source = case.make(tmp_path, spark)
    expected = on_one_machine(case, source)
    backend = hp.Spark(spark)
    events = backend.read_events(source, **case.reading)
    events = events if case.prepare is None else events.then(case.prepare)
    found = hp.split(events, case.period, backend=backend, **case.counting)
    assert found.accounting == expected.accounting
    for side, table in zip(found, expected, strict=True):
        assert rows_of(side).rows() == table.to_table().sort("user", "place").rows()
    for name in ("periods", "released_span", "known_span", "n_rows", "n_users_seen", "n_users", "n_places", "n_common"):
        assert getattr(found, name) == getattr(expected, name)
    assert sum(found.accounting.values()) == found.n_rows
    found.forget()
