"""``habitprint train``: the attack that identifies most, tried on tables of which the truth is known."""

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
from habitprint.flags import ATTACKER, OUTPUT
from habitprint.formatting import percent
from habitprint.histograms import TableSpec
from habitprint.io.files import check_target
from habitprint.io.inputs import require_file
from habitprint.matching import Direction, Method
from habitprint.progress import Progress
from habitprint.training import Training
from habitprint.training import train as train_tables
from habitprint.truth import SAME_ID
from habitprint.weighing import WEIGHTS, Weight, read_weight, write_weight
from habitprint.wording.attacks import about_evidence, chosen_in_training

AUTO = "auto"
N_SHOWN = 8  # attacks on the screen
NOTHING_TO_TRAIN_ON = (
    "--weight auto: there is nothing to train on, so the paper's weight is used. --train A B gives two earlier tables "
    "of the same people."
)


@dataclass(frozen=True)
class ChosenWeight:
    """The weight to match with, the words about the choice, and the training; None if it was given."""

    weight: Weight
    words: str | None
    training: Training | None


@dataclass(frozen=True)
class WeightOptions(Options, panel=ATTACKER):
    """The weight by which users are compared: a given one, one that was trained before, or the best in training."""

    weight: Annotated[
        str,
        typer.Option(
            help=f"What pairing two users costs: {', '.join(WEIGHTS)}; a file that habitprint train wrote; or auto, "
            "the best in training (--train).",
            metavar="NAME|FILE|auto",
        ),
    ] = "jensen-shannon"
    train: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            help="Two earlier tables of the same people, with the same ids, to train on; A protected as RELEASED is.",
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
        if self.train is not None and self.weight != AUTO:
            raise InputError(
                f"--train does not go with --weight {self.weight}",
                why="training chooses the weight",
                fix="leave one of them out, or use --weight auto",
            )
        if self.weight in WEIGHTS:
            return ChosenWeight(WEIGHTS[self.weight], None, None)
        if self.weight != AUTO:
            return ChosenWeight(_read(self.weight), None, None)
        if self.train is None:
            return ChosenWeight(WEIGHTS["jensen-shannon"], NOTHING_TO_TRAIN_ON, None)
        refuse_to_train_on(released, self.train)
        require_earlier(self.train)
        found = TableOptions(truth=SAME_ID).read(*self.train, spec, progress)
        training = train_tables(found.released, found.known, seed=seed, progress=progress)
        weight = training.weight_for(method, direction)
        return ChosenWeight(weight, f"{chosen_in_training(training)} The weight used here: {weight.name}.", training)


def refuse_to_train_on(released: Path, tables: Sequence[Path] | None) -> None:
    """Raise `InputError` if the table to be attacked is one of those that the attacker is said to train on.

    Examples
    --------
    >>> refuse_to_train_on(Path("june.csv"), [Path("april.csv"), Path("may.csv")])
    >>> refuse_to_train_on(Path(__file__), [Path(__file__)])
    Traceback (most recent call last):
    habitprint.errors.InputError: --train: ...train.py is the released table itself
      why: an attacker trains on tables of which they know who is who
      fix: give two other tables of people whom they know
    """
    for table in tables or ():
        if table.exists() and released.exists() and table.samefile(released):
            raise InputError(
                f"--train: {table} is the released table itself",
                why="an attacker trains on tables of which they know who is who",
                fix="give two other tables of people whom they know",
            )


def require_earlier(tables: Sequence[Path] | None) -> None:
    """Raise `InputError` unless the tables to train on are there.

    Examples
    --------
    >>> require_earlier([Path("nowhere.csv")])
    Traceback (most recent call last):
    habitprint.errors.InputError: --train: cannot read nowhere.csv: there is no such file
      why: an attacker trains on two earlier tables
      fix: give two earlier tables of the same people, or leave --train out
    """
    for table in tables or ():
        try:
            require_file(
                table,
                why="an attacker trains on two earlier tables",
                fix="give two earlier tables of the same people, or leave --train out",
            )
        except InputError as error:
            raise InputError(f"--train: {error.what}", why=error.why, fix=error.fix) from error


def _read(name: str) -> Weight:
    try:
        return read_weight(name)
    except InputError as error:
        if Path(name).exists():
            raise
        raise InputError(
            f"there is no weight '{name}', and no such file",
            why="a weight says what pairing two users costs",
            fix=f"use one of {', '.join(WEIGHTS)}, a file that habitprint train wrote, or auto",
        ) from error


@expanded
def train(
    released_file: Annotated[
        Path, typer.Argument(help="Earlier histograms of people whom the attacker knows.", metavar="A")
    ],
    known_file: Annotated[Path, typer.Argument(help="The same people in another period.", metavar="B")],
    spec: TableSpec,
    tables: TableOptions,
    seed: Annotated[int, typer.Option(min=0, help="Decides the choices among people.", rich_help_panel=ATTACKER)] = 0,
    out: Annotated[
        Path | None, typer.Option(help="Write the weight to this .json file.", rich_help_panel=OUTPUT)
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train the attack on two tables of which the truth is known.

    An attacker needs no secret for that: they cut their own data in two in time.
    All weights are tried, and one that is trained on the people themselves.
    The best weight can be used on a release with [bold]--weight FILE[/bold].
    Against a protected release, train on A protected in the same way (habitprint protect --keep-ids);
    B is then changed by what anyone can copy of it.

    [bold]Examples[/bold]

    habitprint train april.parquet may.parquet --out weight.json

    habitprint match june.parquet july.parquet --weight weight.json
    """
    if out is not None:
        check_target(out, overwrite=force)
        refuse_inputs(out, released_file, known_file, tables.truth)
    notes = Screen(stderr=True)
    with ProgressBar(notes) as progress:
        with_truth = replace(tables, truth=tables.truth or SAME_ID)
        both = with_truth.read(released_file, known_file, spec, progress)
        found = train_tables(both.released, both.known, truth=both.truth, seed=seed, progress=progress)
    if out is not None:
        write_weight(found.weight, out, overwrite=force)
    print_copied(notes, both.copied)
    if as_json:
        _print_json(found, out)
        return
    screen = Screen()
    screen.print(_as_table(found))
    screen.print(chosen_in_training(found), soft_wrap=True, markup=False)
    screen.print(
        f"Evidence that the trained weight counts: {about_evidence(found.trained.by_kind)}",
        soft_wrap=True,
        markup=False,
    )
    if out is not None:
        screen.print(f"{found.weight.name} written to {out}: use it with --weight {out}", soft_wrap=True, markup=False)


def _as_table(found: Training) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("attack")
    table.add_column("identified", justify="right")
    table.add_column("95% interval")
    ordered = sorted(found.attacks, key=lambda attack: -attack.rate.value)
    for each in dict.fromkeys([*ordered[:N_SHOWN], found.paper, found.best]):
        style = "bold" if each is found.best else ""
        table.add_row(each.outcome.name, percent(each.rate.value), each.rate.interval_words, style=style)
    return table


def _print_json(found: Training, out: Path | None) -> None:
    facts = {
        "best": found.best.outcome.name,
        "words": chosen_in_training(found),
        "trained": about_evidence(found.trained.by_kind),
        "n_people": found.trained.n_people,
        "seed": found.seed,
        "attacks": [
            {
                "name": each.name,
                "weight": each.weight,
                "method": each.method,
                "direction": each.direction,
                "identified": each.rate.value,
                "interval": each.rate.interval,
            }
            for each in (result.outcome for result in found.attacks)
        ],
        "out": None if out is None else str(out),
    }
    print_json(facts)
