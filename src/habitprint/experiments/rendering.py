"""What an experiment becomes: a table for machines, lines for people, and perhaps a picture."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from habitprint.experiments.claims import tenths
from habitprint.experiments.measure import Result
from habitprint.experiments.sources import Source
from habitprint.experiments.spec import Cell, DataName, Experiment

NOT_GIVEN = "–"
QUICK_LINE = "quick: smaller sizes than the paper's, where people are easier to identify"
DATA_NAMES = {
    "calls": "calls (CDR)",
    "sub-prefectures": "calls by sub-prefecture",
    "web": "web histories (WBH)",
    "geolife": "GeoLife (GL)",
    "events": "your events",
}


@dataclass(frozen=True)
class Outcome:
    """Hold what was computed for an experiment.

    Parameters
    ----------
    experiment
        What was asked for.
    results
        Of its cells, as far as there is data for them.
    summary, runs
        One row for each point, and one for each cell.
    sources
        Where the data comes from.
    is_quick
        Whether it was computed at smaller sizes.
    """

    experiment: Experiment
    results: Mapping[Cell, Result]
    summary: pl.DataFrame
    runs: pl.DataFrame
    sources: Mapping[DataName, Source]
    is_quick: bool = False

    @property
    def data(self) -> list[DataName]:
        """Return the names of the data with results, in order."""
        return list(dict.fromkeys(cell.data for cell in self.results))

    @property
    def source_lines(self) -> list[str]:
        """Return where the data comes from, one line each, and whether sizes are smaller than they could be."""
        quick = [QUICK_LINE] if self.is_quick else []
        return [*(f"{DATA_NAMES[name]}: {self.sources[name].words}" for name in self.data), *quick]

    @property
    def skipped(self) -> list[str]:
        """Return why parts are missing, in sentences."""
        wanted = dict.fromkeys(part.data for part in self.experiment.parts)
        no_data = [self.sources[name].words for name in wanted if self.sources[name].open is None]
        too_large = dict.fromkeys(f"{result['left_out']}." for result in self.results.values() if "left_out" in result)
        return [*no_data, *too_large]


@dataclass(frozen=True)
class Rendered:
    """Hold the table, its lines in Markdown, and the chart."""

    table: pl.DataFrame
    markdown: list[str]
    chart: Any | None = None


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table in Markdown; numbers are to the right.

    Examples
    --------
    >>> markdown_table(["data", "N"], [["web", "121"]])
    ['| data | N |', '|---|---:|', '| web | 121 |']
    """
    is_number = [all(row[k][:1] in "0123456789.–+-<" for row in rows) for k in range(len(header))]
    rule = "|".join("---:" if right and k else "---" for k, right in enumerate(is_number))
    return [
        f"| {' | '.join(header)} |",
        f"|{rule}|",
        *(f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows),
    ]


def rate(value: float | None) -> str:
    """Return a rate for a table.

    Examples
    --------
    >>> rate(0.211), rate(None)
    ('21.1%', '–')
    """
    return NOT_GIVEN if value is None else tenths(value)


def interval(low: float | None, high: float | None) -> str:
    """Return an interval for a table.

    Examples
    --------
    >>> interval(0.2, 0.3)
    '20.0% to 30.0%'
    """
    return NOT_GIVEN if low is None or high is None else f"{tenths(low)} to {tenths(high)}"


def paper_rate(row: Mapping[str, Any], column: str = "paper") -> str:
    """Return the paper's number for a table, with what to know about it.

    Examples
    --------
    >>> paper_rate({"paper": 0.5, "paper_note": "more than"})
    '50.0% (more than)'
    """
    if row[column] is None:
        return NOT_GIVEN
    return tenths(row[column]) + (f" ({row['paper_note']})" if row["paper_note"] else "")


def plain_columns(summary: pl.DataFrame) -> pl.DataFrame:
    """Return a table for machines: without columns that say nothing here.

    Examples
    --------
    >>> plain_columns(pl.DataFrame({"a": [1], "b": [None], "paper_note": [""]})).columns
    ['a']
    """
    frame = summary.drop("is_all", strict=False)
    keep = [name for name in frame.columns if frame[name].drop_nulls().len() and set(frame[name].to_list()) != {""}]
    return frame.select(keep)
