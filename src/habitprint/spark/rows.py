"""The conversion of rows on a cluster to events: batch by batch, by the rules of one machine."""

import io
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import cast

import msgspec
import polars as pl
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls them
from pyspark.sql.types import DecimalType

from habitprint.errors import InputError, first_few
from habitprint.events import Events
from habitprint.events.frame import NUMBERS, to_events
from habitprint.events.read import DEGREES, Opened, open_rows, read_header
from habitprint.events.spec import Reading
from habitprint.events.times import SAMPLE, find_time_formats, possible_formats, telling_times, time_text
from habitprint.io.dialects import UTF_8, Dialect, Expected, find_dialect
from habitprint.progress import Progress
from habitprint.spark.session import Batches, address_of, connect, map_in_arrow, run_job

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
class Rows:
    """Rows on a cluster, and the steps that turn them into events."""

    frame: DataFrame
    recipe: Recipe
    empty: Events  # without a row: it says of which kind ids are, and what may speak against rows

    @property
    def session(self) -> SparkSession:
        """Return the session in which the rows are."""
        return self.frame.sparkSession

    def then(self, prepare: Preparation) -> "Rows":
        """Return the same rows with something more that is done to their events, row by row."""
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


def open_events(
    source: DataFrame | Paths,
    reading: Reading,
    *,
    prepare: Preparation | None = None,
    progress: Progress,
) -> Rows:
    """Find out how rows of a Spark frame, or of files that Spark reads, are events.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.progress import silent
    >>> row = ("Jill", "2012-04-09 08:30", "dorm")
    >>> frame = hp.spark.connect("local[2]").createDataFrame([row], ["user", "time", "place"])
    >>> open_events(frame, Reading(), progress=silent).recipe.reading.time_format
    ('%Y-%m-%d %H:%M',)
    """
    if isinstance(source, DataFrame):
        return _of_columns(source, reading, "a Spark frame", prepare, progress)
    names = [os.fspath(source)] if isinstance(source, (str, os.PathLike)) else [os.fspath(path) for path in source]
    session, shown = connect(), names[0] if len(names) == 1 else first_few(names, 2)
    names = [address_of(session, name) for name in names]
    # Which files there are, Spark says without reading them.
    found = run_job(session, lambda: session.read.text(names).inputFiles(), "finding files", progress)
    endings = {_ending(name) for name in found}
    if not found:
        raise InputError(f"{shown} has no files", why="a folder of events has some", fix="check the path")
    if endings == {PARQUET}:
        frame = run_job(session, lambda: session.read.parquet(*names), "finding columns", progress)
        return _of_columns(frame, reading, shown, prepare, progress)
    if len(endings) == 1 and endings <= set(TEXT):
        look = _Look(reading, TEXT[endings.pop()], shown)
        return _of_lines(session, names, look, prepare, progress)
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


def _of_columns(
    frame: DataFrame, reading: Reading, source: str, prepare: Preparation | None, progress: Progress
) -> Rows:
    session = frame.sparkSession
    # Spark reads integers of 64 bits without a sign as decimals: as text they stay whole.
    decimals = [name for name, kind in zip(frame.columns, frame.schema, strict=True) if _is_whole(kind.dataType)]
    frame = frame.withColumns({name: _column(name).cast("string") for name in decimals}) if decimals else frame
    nothing = to_polars(run_job(session, lambda: frame.limit(0).toArrow(), "finding columns", progress))
    to_events(nothing.lazy(), _with_format(reading), source)
    rows = frame.select(*(_column(name) for name in dict.fromkeys(reading.roles.values())))

    def sampled() -> pl.DataFrame:
        times = rows.select(_column(reading.time)).where(_column(reading.time).isNotNull()).limit(SAMPLE)
        return to_polars(run_job(session, times.toArrow, "looking at times", progress))

    kind = nothing.schema[reading.time]
    is_clear = reading.time_format is not None or kind != pl.String
    sample = nothing.select(reading.time) if is_clear else sampled()
    recipe = Recipe(reading, source, prepare=prepare)
    return _settled(rows, recipe, nothing, sample, progress)


def _with_format(reading: Reading) -> Reading:
    return msgspec.structs.replace(reading, time_format=reading.time_format or UNKNOWN)


def _is_whole(kind: object) -> bool:
    return isinstance(kind, DecimalType) and kind.scale == 0


def _column(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")


def _of_lines(
    session: SparkSession, paths: list[str], look: "_Look", prepare: Preparation | None, progress: Progress
) -> Rows:
    # As bytes: what is no letter must reach the rules of one machine as it is.
    block = F.xxhash64("_metadata.file_path", "_metadata.file_block_start")
    lines = session.read.text(paths, lineSep="\n").select(
        F.col("value").cast("binary").alias("line"),
        block.alias("block"),
        (F.col("_metadata.file_block_start") == 0).alias("is_first_block"),
    )
    first = to_polars(
        run_job(session, lines.where("is_first_block").limit(FIRST_LINES).toArrow, "looking at lines", progress)
    )
    if first.is_empty():
        raise InputError(f"{look.source} is empty", why="a file of events has a header at least", fix="leave it out")
    first = first.filter(pl.col("block") == first["block"][0])
    text = look.at(first["line"].to_list())
    recipe = Recipe(look.reading, look.source, text, prepare)
    sample = _opened(first.slice(len(text.header)), text).frame.select(look.reading.time).collect()
    return _settled(lines, recipe, first.clear(), sample, progress)


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


def _settled(frame: DataFrame, recipe: Recipe, nothing: pl.DataFrame, sample: pl.DataFrame, progress: Progress) -> Rows:
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
    return Rows(frame, recipe, recipe.events(nothing))


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
    found = run_job(frame.sparkSession, told.toArrow, "looking at times", progress)
    return to_polars(found).rename({"time": time})


def to_polars(rows: pa.RecordBatch | pa.Table) -> pl.DataFrame:
    """Return rows as polars has them; moments are in UTC, whatever Spark calls the zone of its session.

    Examples
    --------
    >>> to_polars(pa.table({"user": ["Jill"]})).rows()
    [('Jill',)]
    """
    table = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
    kinds = [
        field.with_type(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(field.type) and field.type.tz else field
        for field in table.schema
    ]
    return cast("pl.DataFrame", pl.from_arrow(table.cast(pa.schema(kinds))))
