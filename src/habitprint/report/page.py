"""What a page of a report is made of: plain values, which the template turns into markup."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class Cell:
    """The text of a cell; a number is sorted by `key`, which is None for text."""

    text: str
    key: float | None = None
    note: str = ""


@dataclass(frozen=True)
class Column:
    """The head of a column, and whether its cells are numbers."""

    label: str
    is_number: bool = False


@dataclass(frozen=True)
class Row:
    """A row of a table; the first cell names it. A marked row stands out."""

    cells: tuple[Cell, ...]
    is_marked: bool = False


@dataclass(frozen=True)
class Table:
    """A table; the reader can put one that is `sorted_by` a column in another order."""

    kind: ClassVar[str] = "table"
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    sorted_by: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """A chart: `spec` is Vega-Lite's, `name` its place in the page."""

    name: str
    spec: dict[str, Any]
    title: str = ""
    caption: str = ""


@dataclass(frozen=True)
class Figure:
    """One picture or several side by side, their caption, and the same numbers as tables."""

    kind: ClassVar[str] = "figure"
    title: str
    caption: str
    pictures: tuple[Picture, ...]
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Text:
    """A paragraph; one that `warns` stands out."""

    kind: ClassVar[str] = "text"
    text: str
    warns: bool = False


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    kind: ClassVar[str] = "bullets"
    items: tuple[str, ...]


@dataclass(frozen=True)
class Heading:
    """A heading within a section."""

    kind: ClassVar[str] = "heading"
    text: str


@dataclass(frozen=True)
class Term:
    """A word and its meaning, or an option and its value; a literal value is shown as typed."""

    name: str
    meaning: str
    is_literal: bool = False


@dataclass(frozen=True)
class Terms:
    """A list of terms."""

    kind: ClassVar[str] = "terms"
    items: tuple[Term, ...]


@dataclass(frozen=True)
class Number:
    """A number that leads a section, its label and a note."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Numbers:
    """A few numbers side by side."""

    kind: ClassVar[str] = "numbers"
    items: tuple[Number, ...]


Block = Table | Figure | Text | Bullets | Heading | Terms | Numbers


@dataclass(frozen=True)
class Section:
    """A section: `name` is its address within the page."""

    name: str
    heading: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Record:
    """The page for the files of the data controller: the findings, and lines to sign.

    `note`, its first line, says for whom it is.
    """

    note: str
    title: str
    source: str
    blocks: tuple[Block, ...]
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Page:
    """A whole report: the question, its answer, the sections that explain it, and the record for paper.

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
