"""What a page of a report is made of: plain values, which the template turns into markup."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Cell:
    """Hold the text of a cell; `key` is what a number sorts by, None for text."""

    text: str
    key: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Column:
    """Hold the head of a column, and whether it holds numbers."""

    label: str
    is_number: bool = False


@dataclass(frozen=True)
class Row:
    """Hold a row of a table; the first cell names it. A marked row stands out."""

    cells: tuple[Cell, ...]
    is_marked: bool = False


@dataclass(frozen=True)
class Table:
    """Hold a table; one that is `sorted_by` a column can be put in another order by its reader."""

    kind: ClassVar[str] = "table"
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    sorted_by: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """Hold a chart: `spec` is Vega-Lite's, `name` its place in the page."""

    name: str
    spec: dict[str, Any]
    title: str = ""
    caption: str = ""


@dataclass(frozen=True)
class Figure:
    """Hold one picture or several side by side, what they show, and the same numbers as tables."""

    kind: ClassVar[str] = "figure"
    title: str
    caption: str
    pictures: tuple[Picture, ...]
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Text:
    """Hold a paragraph; one that `warns` stands out."""

    kind: ClassVar[str] = "text"
    text: str
    warns: bool = False


@dataclass(frozen=True)
class Bullets:
    """Hold a list of sentences."""

    kind: ClassVar[str] = "bullets"
    items: tuple[str, ...]


@dataclass(frozen=True)
class Heading:
    """Hold a heading within a section."""

    kind: ClassVar[str] = "heading"
    text: str


@dataclass(frozen=True)
class Term:
    """Hold a word and what it means, or a setting and its value; what `is_literal` is shown as typed."""

    name: str
    meaning: str
    is_literal: bool = False


@dataclass(frozen=True)
class Terms:
    """Hold a list of terms."""

    kind: ClassVar[str] = "terms"
    items: tuple[Term, ...]


@dataclass(frozen=True)
class Number:
    """Hold a number that leads a section, what it is and what to know about it."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Numbers:
    """Hold a few numbers side by side."""

    kind: ClassVar[str] = "numbers"
    items: tuple[Number, ...]


Block = Table | Figure | Text | Bullets | Heading | Terms | Numbers


@dataclass(frozen=True)
class Section:
    """Hold a section: `name` is its address within the page."""

    name: str
    heading: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Record:
    """Hold the page that goes into somebody's files: what was found, and lines to sign.

    `note`, its first line, says for whom it is.
    """

    note: str
    title: str
    source: str
    blocks: tuple[Block, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Page:
    """Hold a whole report: the question, its answer, the sections that explain it, and the record for paper.

    `note`, its first line, says for whom it is; a page that no record goes with has None.
    """

    note: str
    record: Record | None
    source: str
    question: str
    answer: str
    about: str
    opening: tuple[Block, ...]
    sections: tuple[Section, ...]
    ending: str

    @property
    def pictures(self) -> list[Picture]:
        """Return all pictures, in the order of the page."""
        blocks: list[Block] = [*self.opening, *(block for section in self.sections for block in section.blocks)]
        return [picture for block in blocks if isinstance(block, Figure) for picture in block.pictures]


def table(
    caption: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[Cell | str]],
    *,
    note: str = "",
    sorted_by: str | None = None,
) -> Table:
    """Return a table; a column is one of numbers if any of its cells has a number to sort by.

    Examples
    --------
    >>> [column.is_number for column in table("Rows", ["fate", "rows"], [["used", Cell("7", 7)]]).columns]
    [False, True]
    """
    cells = [tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in row) for row in rows]
    columns = tuple(
        Column(head, any(row[position].key is not None for row in cells)) for position, head in enumerate(heads)
    )
    return Table(caption, columns, tuple(Row(row) for row in cells), sorted_by, note)
