"""Output of commands: blocks as terminal text for people, and JSON for programs."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
import polars as pl
import typer
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook
from rich.segment import Segment
from rich.table import Table as Grid
from rich.text import Text as Words

from habitprint.formatting import printable, printable_json
from habitprint.wording import blocks as page

GATE_FAILED = 1  # exit code of a command whose answer is no


Mark = Literal["note", "warning", "caution"]


class Note(NamedTuple):
    """A sentence worth knowing, which is printed beside a result."""

    words: str
    mark: Mark = "note"


class Screen(Console):
    r"""Show text to people: text that comes from data is neither obeyed nor taken for markup.

    Every command prints through it. So no text from the data can control the terminal. What is styled says so by
    `rich.text.Text`.

    Examples
    --------
    >>> Screen().print("[/]x \x1b[2J")
    [/]x \x1b[2J
    """

    def __init__(self, *, stderr: bool = False, **settings: Any) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False, **settings)
        self.push_render_hook(_Cleaning())

    def note(self, words: str, mark: Mark = "note") -> None:
        """Print a sentence worth knowing.

        Examples
        --------
        >>> Screen().note("the release has the original user ids.")
        note: the release has the original user ids.
        """
        self.print(Words.assemble((f"{mark}: ", "yellow"), words), soft_wrap=True)

    def show(self, blocks: Iterable[page.Block]) -> None:
        """Print blocks; pictures are left out, and commands are never broken."""
        for block in blocks:
            self._show(block)

    def _show(self, block: page.Block) -> None:  # noqa: C901  (one case for each kind)
        match block:
            case page.Headline():
                self.print(Words(f"{block.mark} {block.text}".strip(), style="bold"))
            case page.Text():
                self.print(block.text)
            case page.Caution():
                self.note(block.text, mark="caution")
            case page.Heading():
                self.print(Words(block.text, style="bold"))
            case page.Bullets():
                for item in block.items:
                    self.print(f"· {item}")
            case page.Command():
                self.print(f"{block.aim}: {block.command}", soft_wrap=True)
            case page.Terms():
                self.print(_facts((term.name, term.meaning) for term in block.items))
            case page.Tiles():
                self.print(_facts((tile.label, f"{tile.value}  {tile.note}".rstrip()) for tile in block.items))
            case page.Table():
                self.print(_grid(block))
            case page.Card():
                self.show((page.Text(""), page.Heading(block.title), *block.blocks))


class _Cleaning(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Clean(renderable) for renderable in renderables]


@dataclass(frozen=True)
class _Clean:
    renderable: ConsoleRenderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self.renderable, options):
            yield segment if segment.control else Segment(printable(segment.text, keep="\n"), segment.style)


def _facts(rows: Iterable[tuple[str, str]]) -> Grid:
    """Return names and values side by side."""
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column()
    for row in rows:
        grid.add_row(*map(Words, row))
    return grid


def _grid(block: page.Table) -> Grid:
    """Return a table without lines; a marked row is bold, and the note of a cell follows its text."""
    grid = Grid(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in block.columns:
        grid.add_column(Words(column.label), justify="right" if column.is_number else "left")
    for row in block.rows:
        cells = (Words(f"{cell.text}{cell.note and f': {cell.note}'}") for cell in row.cells)
        grid.add_row(*cells, style="bold" if row.is_marked else "")
    return grid


def tell(facts: object, blocks: Iterable[page.Block], notes: Iterable[Note] = (), *, as_json: bool) -> None:
    """Print a result: its facts as JSON for a program, or blocks for a person; and notes beside it.

    Examples
    --------
    >>> tell({"n_users": 7}, [page.Text("7 users")], as_json=False)
    7 users
    """
    for note in notes:
        Screen(stderr=True).note(note.words, note.mark)
    if as_json:
        print_json(facts)
    else:
        Screen().show(blocks)


def written(*files: object) -> list[page.Block]:
    """Return the blocks that list the written files; None stands for a file that was not requested.

    Examples
    --------
    >>> Screen().show(written("path.csv", None))
    Written to: path.csv
    """
    return [page.Command("Written to", str(file)) for file in files if file is not None]


def print_json(value: object) -> None:
    r"""Print a value as one JSON object in one line, with control characters escaped.

    Examples
    --------
    >>> print_json({"user": "a\x9b2J", "out": PurePath("pairs.csv")})
    {"user": "a\u009b2J", "out": "pairs.csv"}
    """
    print_json_text(json.dumps(msgspec.to_builtins(value, enc_hook=_plain), ensure_ascii=False))


def print_json_text(text: str) -> None:
    r"""Print a text that is JSON already in the same way.

    Examples
    --------
    >>> print_json_text('["\u202e"]')
    ["\u202e"]
    """
    typer.echo(printable_json(text))


def _plain(value: object) -> object:
    """Return a value that JSON does not support in a form that it supports."""
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, np.generic):  # a number of numpy's
        return value.item()
    if isinstance(value, pl.DataFrame):
        return value.to_dicts()
    if isinstance(value, Mapping):
        return dict(value)
    raise NotImplementedError(type(value).__name__)
