"""The blocks that every page is made of: plain values, turned into HTML, Markdown or terminal text by three renderers.

Functions in `wording/` return sentences and blocks; `report/render.py` and `cli/screen.py` show them. ``texts.md`` has
the texts. Values stand in braces there: ``{rate:percent}``, ``{rate:at most}``, and ``{n:count person}``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from string import Formatter
from typing import Any, Literal

from habitprint.formatting import at_most, by_heading, counted, in_column, percent

TEXTS = by_heading((files("habitprint.wording") / "texts.md").read_text(encoding="utf-8"))
Sign = Literal["met", "missed", "open"]
# The mark of a sign and its words: colour alone never shows a result.
SIGNS: dict[Sign, tuple[str, str]] = {
    "met": ("✓", "Target met"),
    "missed": ("✗", "Target missed"),
    "open": ("?", "Not shown to meet the target"),
}


class Block:
    """One part of a page."""

    @property
    def kind(self) -> str:
        """Return the name by which templates choose how to show it."""
        return type(self).__name__.lower()


@dataclass(frozen=True)
class Headline(Block):
    """The result in at most twelve words, with a sign that says whether the target is met."""

    text: str
    sign: Sign | None = None

    @property
    def mark(self) -> str:
        """Return the mark of the sign."""
        return "" if self.sign is None else SIGNS[self.sign][0]

    @property
    def label(self) -> str:
        """Return the sign in words."""
        return "" if self.sign is None else SIGNS[self.sign][1]


@dataclass(frozen=True)
class Text(Block):
    """One paragraph."""

    text: str


@dataclass(frozen=True)
class Caution(Block):
    """One paragraph that stands out: a caution about a result."""

    text: str


@dataclass(frozen=True)
class Heading(Block):
    """A heading within a section."""

    text: str


@dataclass(frozen=True)
class Bullets(Block):
    """A list of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class Command(Block):
    """A command to paste, and its aim."""

    aim: str
    command: str


@dataclass(frozen=True)
class Term:
    """A name and its meaning; a literal meaning is shown as typed."""

    name: str
    meaning: str
    is_literal: bool = False


@dataclass(frozen=True)
class Terms(Block):
    """A list of terms."""

    items: tuple[Term, ...]


@dataclass(frozen=True)
class Tile:
    """One number, its label and a note."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Tiles(Block):
    """A few numbers side by side."""

    items: tuple[Tile, ...]


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
class Table(Block):
    """A table; a reader of HTML can sort one that is `sorted_by` a column."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    sorted_by: str | None = None
    note: str = ""


@dataclass(frozen=True)
class Picture:
    """A chart: `spec` is Vega-Lite's, `name` its address within the page."""

    name: str
    spec: dict[str, Any]
    title: str = ""
    caption: str = ""


@dataclass(frozen=True)
class Figure(Block):
    """One picture or several side by side, their caption, and the same numbers as tables."""

    title: str
    caption: str
    pictures: tuple[Picture, ...]
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Card(Block):
    """Blocks that belong together, in a frame with a title."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Lines(Block):
    """Lines for names, days and a signature: a term without a meaning is filled in by hand."""

    items: tuple[Term, ...]


@dataclass(frozen=True)
class Section:
    """A section under a heading that is a question; `name` is its address within the page."""

    name: str
    heading: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Page:
    """A whole page.

    Parameters
    ----------
    note
        The first line: for whom the page is.
    title, source
        The kind of the page, and the name of its data.
    blocks
        The first screen.
    sections
        The rest, under headings.
    ending
        The last line.
    record
        A page to sign, which is printed after the first section; None if there is none.
    """

    note: str
    title: str
    source: str
    blocks: tuple[Block, ...]
    sections: tuple[Section, ...] = ()
    ending: str = ""
    record: "Page | None" = None

    @property
    def has_headline(self) -> bool:
        """Return whether the page begins with a headline."""
        return bool(self.blocks) and isinstance(self.blocks[0], Headline)

    @property
    def pictures(self) -> list[Picture]:
        """Return all pictures, in the order of the page."""
        blocks = [*self.blocks, *(block for section in self.sections for block in section.blocks)]
        return [picture for block in blocks if isinstance(block, Figure) for picture in block.pictures]


def table(
    caption: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    marked: Sequence[bool] = (),
    note: str = "",
    sorted_by: str | None = None,
) -> Table:
    """Return a table of text, whole numbers, shares, truths and cells; None is a dash.

    A column holds numbers if any of its cells has a number to sort by.

    Examples
    --------
    >>> shown = table("Rows", ["use", "rows", "share"], [["counted", 7000, 0.5]])
    >>> [cell.text for cell in shown.rows[0].cells], [column.is_number for column in shown.columns]
    (['counted', '7,000', '50.0%'], [False, True, True])
    """
    cells = [tuple(map(_cell, row)) for row in rows]
    columns = tuple(
        Column(head, any(row[position].key is not None for row in cells)) for position, head in enumerate(heads)
    )
    marks = marked or [False] * len(cells)
    return Table(caption, columns, tuple(map(Row, cells, marks)), sorted_by, note)


def _cell(value: object) -> Cell:
    match value:
        case Cell():
            return value
        case None:
            return Cell("–")
        case bool():
            return Cell("yes" if value else "no")
        case int():
            return Cell(f"{value:,}", value)
        case float():
            return Cell(in_column(value), value)
    return Cell(str(value))


def terms(*items: tuple[str, str]) -> Terms:
    """Return a list of terms; a term without a meaning is left out.

    Examples
    --------
    >>> terms(("Seed", "0"), ("Caution", "")).items
    (Term(name='Seed', meaning='0', is_literal=False),)
    """
    return Terms(tuple(Term(name, meaning) for name, meaning in items if meaning))


def sentences(blocks: Sequence[Block]) -> Iterator[str]:
    """Yield the texts of blocks in order, without tables and pictures: for files that hold text beside facts.

    Examples
    --------
    >>> list(sentences([Headline("Done."), Card("Cost", (terms(("Totals", "kept")),))]))
    ['Done.', 'Cost', 'Totals: kept']
    """
    for block in blocks:
        match block:
            case Headline() | Text() | Caution() | Heading():
                yield block.text
            case Bullets():
                yield from block.items
            case Terms():
                yield from (f"{term.name}: {term.meaning}" for term in block.items)
            case Tiles():
                yield from (f"{tile.label}: {tile.value}{tile.note and f' ({tile.note})'}" for tile in block.items)
            case Card():
                yield from (block.title, *sentences(block.blocks))


class _Filled(Formatter):
    """A text with values in its braces: shares, upper ends of shares, and numbers of things."""

    def format_field(self, value: Any, format_spec: str) -> str:
        match format_spec.split():
            case ["percent"]:
                return percent(value)
            case ["at", "most"]:
                return at_most(value)
            case ["count", *thing]:
                return counted(value, " ".join(thing))
        return str(super().format_field(value, format_spec))


def fixed_text(name: str, /, **values: object) -> str:
    """Return the text of ``texts.md`` under a heading, with values in its braces.

    Examples
    --------
    >>> fixed_text("attacker of a sample", n_released=5000, n_known=4000)
    'In all attacks but one, both tables hold only the sample: 5,000 people released, 4,000 known.'
    >>> fixed_text("truth")
    'The truth about people is used only to count correct matches. The attacker never sees it.'
    """
    return _Filled().format(" ".join(fixed_texts(name)), **values)


def fixed_texts(name: str) -> tuple[str, ...]:
    """Return the paragraphs of ``texts.md`` under a heading.

    Examples
    --------
    >>> len(fixed_texts("not covered"))
    2
    """
    return TEXTS[name]
