"""Output for people: blocks as terminal text, and a few facts of matchings."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
import typer
from rich.console import Console, ConsoleOptions, ConsoleRenderable, Group, RenderableType, RenderHook
from rich.segment import Segment
from rich.table import Table as Grid
from rich.text import Text as Words

from habitprint.checks import Finding, check_sides
from habitprint.evaluation import Evaluation
from habitprint.formatting import counted, number, printable, printable_json
from habitprint.histograms import Histograms, n_shared_places
from habitprint.matching import Matching
from habitprint.wording.blocks import (
    Block,
    Bullets,
    Card,
    Caution,
    Command,
    Heading,
    Headline,
    Table,
    Terms,
    Text,
    Tiles,
)
from habitprint.wording.findings import words_of
from habitprint.wording.risk import about_guesses, about_proof

if TYPE_CHECKING:
    from habitprint.backends.spark import SparkMatching

FIRST = 10  # pairs shown


class Screen(Console):
    r"""Show text to people: text that comes from data is neither obeyed nor taken for markup.

    Every command prints through it, so that no id, column or title clears a screen, sets its title, turns a line around
    or ends in an error. What is styled says so by `rich.text.Text`.

    Examples
    --------
    >>> Screen().print("[/]x \x1b[2J")
    [/]x \x1b[2J
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)
        self.push_render_hook(_Cleaning())

    def show(self, blocks: Iterable[Block]) -> None:
        """Print blocks; pictures are left out, and commands are never broken."""
        for block in blocks:
            self._show(block)

    def _show(self, block: Block) -> None:  # noqa: C901  (one case for each kind)
        match block:
            case Headline():
                self.print(Words(f"{block.mark} {block.text}".strip(), style="bold"))
            case Text():
                self.print(block.text)
            case Caution():
                print_note(self, block.text, mark="caution")
            case Heading():
                self.print(Words(block.text, style="bold"))
            case Bullets():
                for item in block.items:
                    self.print(f"· {item}")
            case Command():
                self.print(f"{block.aim}: {block.command}", soft_wrap=True)
            case Terms():
                self.print(facts([(term.name, term.meaning) for term in block.items]))
            case Tiles():
                self.print(facts([(tile.label, f"{tile.value}  {tile.note}".rstrip()) for tile in block.items]))
            case Table():
                self.print(_grid(block))
            case Card():
                self.print()
                self.print(Words(block.title, style="bold"))
                self.show(block.blocks)


class _Cleaning(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Clean(renderable) for renderable in renderables]


@dataclass(frozen=True)
class _Clean:
    renderable: ConsoleRenderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self.renderable, options):
            yield segment if segment.control else Segment(printable(segment.text, keep="\n"), segment.style)


def print_json(value: object) -> None:
    r"""Print a value as one JSON object in one line; what a terminal would obey is escaped, which JSON allows.

    Examples
    --------
    >>> print_json({"user": "a\x9b2J"})
    {"user": "a\u009b2J"}
    """
    print_json_text(json.dumps(value, ensure_ascii=False))


def print_json_text(text: str) -> None:
    r"""Print a text that is JSON already in the same way.

    Examples
    --------
    >>> print_json_text('["\u202e"]')
    ["\u202e"]
    """
    typer.echo(printable_json(text))


def _grid(block: Table) -> Grid:
    """Return a table; a marked row is bold, and the note of a cell follows its text."""
    heads = [f"{'>' * column.is_number}{column.label}" for column in block.columns]
    texts = [[f"{cell.text}{cell.note and f': {cell.note}'}" for cell in row.cells] for row in block.rows]
    grid = plain_table(heads, texts)
    for shown, row in zip(grid.rows, block.rows, strict=True):
        shown.style = "bold" if row.is_marked else ""
    return grid


def facts(rows: list[tuple[str, str]]) -> Grid:
    """Return names and values side by side.

    Examples
    --------
    >>> facts([("pairs", "4")]).row_count
    1
    """
    table = Grid.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column()
    for name, value in rows:
        table.add_row(Words(name), Words(value))
    return table


def plain_table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None) -> Grid:
    """Return a table without lines; a column whose name begins with ``>`` holds numbers, aligned at the right.

    Examples
    --------
    >>> plain_table([">people", "attack"], [["9", "joint"]]).row_count
    1
    """
    table = Grid(
        title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0), header_style="bold"
    )
    for name in columns:
        table.add_column(Words(name.removeprefix(">")), justify="right" if name.startswith(">") else "left")
    for row in rows:
        table.add_row(*map(Words, row))
    return table


def describe_matching(
    matching: Matching,
    released: Histograms,
    known: Histograms,
    result: Evaluation | None = None,
) -> RenderableType:
    """Return what was matched, how, what is proven about it, and how many users it identifies.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.illustration()
    >>> describe_matching(hp.match(released, known), released, known).row_count
    5
    """
    how = f"{matching.method}, {matching.direction}" if matching.gap is None else matching.method
    extents = f"{_extent(released)}, {n_shared_places(released, known):,} of them known", _extent(known)
    return facts([*_matching_rows(matching, extents, how), *([] if result is None else evaluation_facts(result))])


def describe_remote_matching(matching: "SparkMatching", result: Evaluation | None = None) -> RenderableType:
    """Return the same of a matching on a cluster, and what was moved for it."""
    rounds, extents = matching.rounds, (counted(matching.n_released, "user"), counted(matching.n_known, "user"))
    looked = f"all pairs looked at {counted(len(rounds), 'time')}, {sum(one.n_added for one in rounds):,} brought here"
    return facts(
        [
            *_matching_rows(matching, extents, matching.method),
            ("on the cluster", f"{looked}, {sum(one.n_bytes for one in rounds) / 1e6:,.1f} MB moved"),
            *([] if result is None else evaluation_facts(result)),
        ]
    )


def _matching_rows(matching: "Matching | SparkMatching", extents: tuple[str, str], how: str) -> list[tuple[str, str]]:
    return [
        ("released", extents[0]),
        ("known", extents[1]),
        ("pairs", f"{matching.size:,}{about_guesses(matching.n_guesses)}"),
        ("total weight", f"{matching.total_weight:.10g}  ({matching.weight.name}, {how}, seed {matching.seed})"),
        ("proof", about_proof(matching.gap, matching.bound, matching.size)),
    ]


def matching_facts(matching: "Matching | SparkMatching") -> dict[str, object]:
    """Return how pairs were found and what is proven of them, for a program to read.

    Examples
    --------
    >>> import habitprint as hp
    >>> matching_facts(hp.match(*hp.datasets.illustration()))["is_exact"]
    True
    """
    return {
        "weight": matching.weight.name,
        "method": matching.method,
        "epsilon": matching.epsilon,
        "seed": matching.seed,
        "size": matching.size,
        "n_guesses": matching.n_guesses,
        "total_weight": matching.total_weight,
        "total_gain": matching.total_gain,
        "bound": matching.bound,
        "gap": matching.gap,
        "is_exact": matching.is_exact,
    }


def _extent(side: Histograms) -> str:
    return f"{counted(side.n_users, 'user')}, {counted(side.n_places, 'place')}"


def evaluation_facts(result: Evaluation) -> list[tuple[str, str]]:
    """Return how many users are identified, with names for each number.

    Examples
    --------
    >>> import habitprint as hp
    >>> tables = hp.datasets.town(40, 10)
    >>> [name for name, _ in evaluation_facts(hp.evaluate(hp.match(*tables), *tables))][:2]
    ['identified', 'accuracy']
    """
    rates = {
        "accuracy": result.accuracy_rate,
        "precision": result.precision_rate,
        "cluster accuracy": result.cluster_rate,
    }
    return [
        ("identified", f"{number(result.expected_correct)} of {counted(result.n_common, 'common user')}"),
        *((name, "not defined" if rate is None else rate.words) for name, rate in rates.items()),
    ]


def describe_pairs(matching: Matching) -> RenderableType:
    """Return the pairs with the smallest weights as a table, and say how many there are in all.

    Examples
    --------
    >>> import habitprint as hp
    >>> describe_pairs(hp.match(*hp.datasets.illustration())).renderables[0].row_count
    4
    """
    pairs = matching.to_table().sort("weight", "released", maintain_order=True)
    return describe_first_pairs(pairs.head(FIRST), matching.size)


def describe_first_pairs(pairs: pl.DataFrame, size: int, out: str = "pairs.csv") -> RenderableType:
    """Return the pairs with the smallest weights, of so many, as a table; `out` is where all could be written.

    Examples
    --------
    >>> import habitprint as hp
    >>> describe_first_pairs(hp.match(*hp.datasets.illustration()).to_table(), 4).renderables[0].row_count
    4
    """
    table = Grid(title="The smallest weights", title_justify="left", title_style="bold")
    table.add_column("released")
    table.add_column("known")
    table.add_column("weight", justify="right")
    for released, known, weight, _, is_guess in pairs.iter_rows():
        table.add_row(Words(printable(released)), Words(printable(known)), "guess" if is_guess else f"{weight:.4f}")
    more = size - FIRST
    return Group(table, Words(f"… and {more:,} more; --out {out} writes them all" if more > 0 else ""))


def print_copied(notes: Console, copied: Sequence[str] | None, findings: Sequence[Finding] = ()) -> None:
    """Say what was done to the known side, if anything was, and what could not be.

    Examples
    --------
    >>> print_copied(Console(width=200), ["rounded counts to 5"])
    note: the known side was changed by what anyone can copy of the release: rounded counts to 5 (--as-is: not)
    """
    if copied:
        words = f"the known side was changed by what anyone can copy of the release: {'; '.join(copied)} (--as-is: not)"
        print_note(notes, words)
    for found in findings:
        print_note(notes, words_of(found), mark="warning")


def print_caveats(notes: Console, released: Histograms, known: Histograms, result: Evaluation | None = None) -> None:
    """Print what a person should know before believing the numbers.

    Examples
    --------
    >>> print_caveats(Console(), Histograms.from_strings({1: "ab"}), Histograms.from_strings({1: "cd"}))
    note: The two tables have no place in common. Every pair is a guess. Check that both use the same names for places.
    """
    for found in check_sides(released, known):
        print_note(notes, words_of(found))
    if result is not None and result.n_ignored:
        print_note(
            notes, f"ignored: {counted(result.n_ignored, 'row')} of the truth, about users who are not in both tables."
        )


def print_note(notes: Console, words: str, mark: str = "note") -> None:
    """Print what is worth knowing.

    Examples
    --------
    >>> print_note(Console(), "the release has the original user ids.")
    note: the release has the original user ids.
    """
    notes.print(Words.assemble((f"{mark}: ", "yellow"), words), soft_wrap=True)
