"""``habitprint train``: the weight and method that re-identify most people in two tables whose true pairs are known."""

from pathlib import Path
from typing import Annotated

import typer

from habitprint.cli.options import ForceOption, JsonOption, expanded, refuse_inputs
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import Screen, plain_table, print_copied, print_json
from habitprint.cli.table_options import TableOptions
from habitprint.flags import ATTACKER, OUTPUT
from habitprint.formatting import percent
from habitprint.histograms import TableSpec
from habitprint.io.files import check_target
from habitprint.training import train as train_tables
from habitprint.weighing import write_weight
from habitprint.wording.risk import about_evidence, chosen_in_training

N_SHOWN = 8  # attacks on the screen
SeedOption = Annotated[int, typer.Option(min=0, help="Seed of every random choice.", rich_help_panel=ATTACKER)]


@expanded
def train(
    released_file: Annotated[
        Path, typer.Argument(help="Earlier table of counts of people whom the attacker knows.", metavar="A")
    ],
    known_file: Annotated[Path, typer.Argument(help="Table of the same people in another period.", metavar="B")],
    spec: TableSpec,
    tables: TableOptions,
    seed: SeedOption = 0,
    out: Annotated[Path | None, typer.Option(help="File for the best weight: .json.", rich_help_panel=OUTPUT)] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train the attack on two tables whose true pairs are known.

    [bold]Examples[/bold]

    habitprint train april.parquet may.parquet --out weight.json

    habitprint match june.parquet july.parquet --weight weight.json

    An attacker needs no secret for this: they cut their own data in two halves in time.
    habitprint tries all weights, and one that it trains on these people.
    Use the best weight on a release with [bold]--weight FILE[/bold].
    For a protected release, protect A in the same way (habitprint protect --keep-ids).
    """
    if out is not None:
        check_target(out, overwrite=force)
        refuse_inputs(out, released_file, known_file, tables.truth)
    notes = Screen(stderr=True)
    with ProgressBar(notes) as progress:
        both = tables.with_truth().read(released_file, known_file, spec, progress)
        found = train_tables(both.released, both.known, truth=both.truth, seed=seed, progress=progress)
    if out is not None:
        write_weight(found.weight, out, overwrite=force)
    print_copied(notes, both.copied)
    chosen, evidence = chosen_in_training(found), about_evidence(found.trained.by_kind)
    if as_json:
        names = ("name", "weight", "method", "direction")
        attacks = [
            {name: getattr(each.outcome, name) for name in names}
            | {"identified": each.rate.value, "interval": each.rate.interval}
            for each in found.attacks
        ]
        facts = {
            "best": found.best.outcome.name,
            "words": chosen,
            "trained": evidence,
            "n_people": found.trained.n_people,
            "seed": found.seed,
            "attacks": attacks,
            "out": None if out is None else str(out),
        }
        print_json(facts)
        return
    ordered = sorted(found.attacks, key=lambda attack: -attack.rate.value)
    rows = [
        [each.outcome.name, percent(each.rate.value), each.rate.interval_words, "best" if each is found.best else ""]
        for each in dict.fromkeys([*ordered[:N_SHOWN], found.paper, found.best])
    ]
    screen = Screen()
    screen.print(plain_table(["attack", ">re-identified", "95% interval", ""], rows))
    screen.print(chosen, soft_wrap=True)
    screen.print(f"Evidence that the trained weight counts: {evidence}", soft_wrap=True)
    if out is not None:
        screen.print(f"{found.weight.name} written to {out}. Use it with --weight {out}", soft_wrap=True)
