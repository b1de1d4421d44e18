"""``habitprint rehearse``: which attack identifies most, tried on tables of which the truth is known."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from habitprint.cli.options import ForceOption, JsonOption, Options, expanded, refuse_inputs
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import Screen, print_copied, print_json
from habitprint.cli.table_options import TableOptions
from habitprint.errors import InputError
from habitprint.files import check_target
from habitprint.flags import ADVERSARY, OUTPUT
from habitprint.histograms import TableSpec
from habitprint.inputs import require_file
from habitprint.matching import Direction, Method
from habitprint.progress import Progress
from habitprint.rehearsal import Rehearsal
from habitprint.rehearsal import rehearse as rehearse_tables
from habitprint.truth import SAME_ID
from habitprint.weighing import WEIGHTS, Weight, read_weight, write_weight
from habitprint.words import percent

AUTO = "auto"
N_SHOWN = 8  # attacks on the screen
NOTHING_TO_REHEARSE = (
    "--weight auto: there is nothing to rehearse with, so the paper's weight is used. --rehearse A B gives two earlier "
    "tables of the same people."
)


@dataclass(frozen=True)
class ChosenWeight:
    """The weight to match with, what to say about the choice, and the rehearsal; nothing if it was given."""

    weight: Weight
    words: str | None
    rehearsal: Rehearsal | None


@dataclass(frozen=True)
class WeightOptions(Options, panel=ADVERSARY):
    """Hold by which weight users are compared: a given one, one that was learned before, or the best in a rehearsal."""

    weight: Annotated[
        str,
        typer.Option(
            help=f"What pairing two users costs: {', '.join(WEIGHTS)}; a file that habitprint rehearse wrote; or auto, "
            "the best in a rehearsal (--rehearse).",
            metavar="NAME|FILE|auto",
        ),
    ] = "jensen-shannon"
    rehearse: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            help="Two earlier tables of the same people, with the same ids, to rehearse with; A protected as"
            " RELEASED is.",
            metavar="A B",
        ),
    ] = None

    def choose(
        self,
        method: Method,
        direction: Direction,
        *,
        released: Path,
        spec: TableSpec | None = None,
        seed: int,
        progress: Progress,
    ) -> ChosenWeight:
        """Return the weight for one way to match.

        Examples
        --------
        >>> from habitprint.progress import silent
        >>> way, table = ("joint", "released-to-known"), Path("week1.csv")
        >>> WeightOptions("l1").choose(*way, released=table, seed=0, progress=silent).weight.name
        'l1'
        """
        if self.rehearse is not None and self.weight != AUTO:
            raise InputError(
                f"--rehearse does not go with --weight {self.weight}",
                why="a rehearsal chooses the weight",
                fix="leave one of them out, or use --weight auto",
            )
        if self.weight in WEIGHTS:
            return ChosenWeight(WEIGHTS[self.weight], None, None)
        if self.weight != AUTO:
            return ChosenWeight(_read(self.weight), None, None)
        if self.rehearse is None:
            return ChosenWeight(WEIGHTS["jensen-shannon"], NOTHING_TO_REHEARSE, None)
        refuse_to_rehearse_with(released, self.rehearse)
        require_earlier(self.rehearse)
        found = TableOptions(truth=SAME_ID).read(*self.rehearse, spec, progress)
        rehearsal = rehearse_tables(found.released, found.known, seed=seed, progress=progress)
        weight = rehearsal.weight_for(method, direction)
        return ChosenWeight(weight, f"{rehearsal.words} The weight used here: {weight.name}.", rehearsal)


def refuse_to_rehearse_with(released: Path, tables: Sequence[Path] | None) -> None:
    """Raise `InputError` if the table to be attacked is one of those that an adversary is said to know the truth about.

    Examples
    --------
    >>> refuse_to_rehearse_with(Path("june.csv"), [Path("april.csv"), Path("may.csv")])
    >>> refuse_to_rehearse_with(Path(__file__), [Path(__file__)])
    Traceback (most recent call last):
    habitprint.errors.InputError: --rehearse: ...rehearse.py is the released table itself
      why: an adversary learns from tables of which he knows who is who
      fix: give two other tables of people whom he knows
    """
    for table in tables or ():
        if table.exists() and released.exists() and table.samefile(released):
            raise InputError(
                f"--rehearse: {table} is the released table itself",
                why="an adversary learns from tables of which he knows who is who",
                fix="give two other tables of people whom he knows",
            )


def require_earlier(tables: Sequence[Path] | None) -> None:
    """Raise `InputError` unless the tables to rehearse with are there.

    Examples
    --------
    >>> require_earlier([Path("nowhere.csv")])
    Traceback (most recent call last):
    habitprint.errors.InputError: --rehearse: cannot read nowhere.csv: there is no such file
      why: an adversary learns from two earlier tables which evidence counts
      fix: give two earlier tables of the same people, or leave --rehearse out
    """
    for table in tables or ():
        try:
            require_file(
                table,
                why="an adversary learns from two earlier tables which evidence counts",
                fix="give two earlier tables of the same people, or leave --rehearse out",
            )
        except InputError as error:
            raise InputError(f"--rehearse: {error.what}", why=error.why, fix=error.fix) from error


def _read(name: str) -> Weight:
    try:
        return read_weight(name)
    except InputError as error:
        if Path(name).exists():
            raise
        raise InputError(
            f"there is no weight '{name}', and no such file",
            why="a weight says what pairing two users costs",
            fix=f"use one of {', '.join(WEIGHTS)}, a file that habitprint rehearse wrote, or auto",
        ) from error


@expanded
def rehearse(
    released_file: Annotated[
        Path, typer.Argument(help="Earlier histograms of people whom the adversary knows.", metavar="A")
    ],
    known_file: Annotated[Path, typer.Argument(help="The same people in another period.", metavar="B")],
    spec: TableSpec,
    tables: TableOptions,
    seed: Annotated[int, typer.Option(min=0, help="Decides the choices among people.", rich_help_panel=ADVERSARY)] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Write the weight to this .json file.", rich_help_panel=OUTPUT)
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Rehearse the attack on two tables of which the truth is known, and learn which evidence counts.

    An adversary needs no secret for that: he cuts what he knows in two in time.
    All weights are tried, and one that is learned from the people themselves.
    What was best can be used on a release with [bold]--weight FILE[/bold].
    Against a protected release, rehearse with A protected in the same way (habitprint protect --keep-ids);
    B is then changed by what anyone can copy of it.

    [bold]Examples[/bold]

    habitprint rehearse april.parquet may.parquet --out weight.json

    habitprint match june.parquet july.parquet --weight weight.json
    """
    if out is not None:
        check_target(out, overwrite=force)
        refuse_inputs(out, released_file, known_file, tables.truth)
    notes = Screen(stderr=True)
    with ProgressBar(notes) as progress:
        with_truth = replace(tables, truth=tables.truth or SAME_ID)
        both = with_truth.read(released_file, known_file, spec, progress)
        found = rehearse_tables(both.released, both.known, truth=both.truth, seed=seed, progress=progress)
    if out is not None:
        write_weight(found.weight, out, overwrite=force)
    print_copied(notes, both.copied)
    if as_json:
        _print_json(found, out)
        return
    screen = Screen()
    screen.print(_as_table(found))
    screen.print(found.words, soft_wrap=True, markup=False)
    screen.print(f"What the learned weight counts: {found.lesson.words}", soft_wrap=True, markup=False)
    if out is not None:
        screen.print(f"{found.weight.name} written to {out}: use it with --weight {out}", soft_wrap=True, markup=False)


def _as_table(found: Rehearsal) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("attack")
    table.add_column("identified", justify="right")
    table.add_column("95% interval")
    ordered = sorted(found.attacks, key=lambda attack: -attack.rate.value)
    for each in dict.fromkeys([*ordered[:N_SHOWN], found.paper, found.best]):
        style = "bold" if each == found.best else ""
        table.add_row(each.name, percent(each.rate.value), each.rate.interval_words, style=style)
    return table


def _print_json(found: Rehearsal, out: Path | None) -> None:
    facts = {
        "best": found.best.name,
        "words": found.words,
        "lesson": found.lesson.words,
        "n_people": found.lesson.n_people,
        "seed": found.seed,
        "attacks": [
            {
                "name": each.name,
                "weight": each.weight.name,
                "method": each.method,
                "direction": each.direction,
                "identified": each.rate.value,
                "interval": each.rate.interval,
            }
            for each in found.attacks
        ],
        "out": None if out is None else str(out),
    }
    print_json(facts)
