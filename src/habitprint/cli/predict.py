"""``habitprint predict``: the accuracy that theory predicts from the habits, beside the measured one."""

from pathlib import Path
from typing import Annotated

import typer

import habitprint as hp
from habitprint.cli.options import ForceOption, JsonOption, PlotOption, SeedOption, check_outputs
from habitprint.cli.screen import Note, tell, written
from habitprint.cli.tables import AttackOptions
from habitprint.conversion import is_release
from habitprint.errors import InputError
from habitprint.flags import ATTACKER, flag
from habitprint.histograms import TableSpec
from habitprint.io.files import write_all
from habitprint.prediction import N_DRAWS
from habitprint.progress import ProgressBar
from habitprint.wording.blocks import Block
from habitprint.wording.prediction import about_prediction, tell_prediction


class PredictOptions(AttackOptions, frozen=True, kw_only=True):
    """The options of a prediction: those of an attack, and draws, seed.

    Parameters
    ----------
    draws
        Number of times that all events are redealt.
    """

    draws: Annotated[int, flag(panel=ATTACKER, least=2)] = N_DRAWS
    seed: SeedOption = 0


def predict(
    released: Annotated[Path, typer.Argument(metavar="RELEASED")],
    known: Annotated[Path, typer.Argument(metavar="KNOWN")],
    spec: TableSpec,
    options: PredictOptions,
    plot: PlotOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Predict the share of people identified if events fell at random, and compare it with the measured share.

    [bold]Examples[/bold]

    habitprint predict week1.csv week2.csv --truth same-id

    habitprint predict week1.csv week2.csv --truth key.csv --plot prediction.svg

    [bold]What it does[/bold]

    It pools each person's events of both tables, and deals them out again at random. Each table keeps its number of
    events of each person. The same attack then shows what stable habits would reveal. If the measured share is lower,
    habits drift or events come in bursts. The effective share of observations says how much that matters.

    Parameters
    ----------
    released
        Table of counts that is released.
    known
        Table of counts that the attacker knows, from another period.
    """
    check_outputs(released, known, options.truth, force=force, chart=plot)
    with ProgressBar() as progress:
        tables = options.read(released, known, spec, progress, needs_truth=True)
        if tables.release.steps or is_release(released):
            raise InputError(
                f"{released} is a protected table",
                why="its events cannot be redealt: the protection changed them",
                fix="predict from its original",
            )
        chosen = options.choose(released=released, spec=spec, seed=options.seed, progress=progress)
        found = hp.predict(
            tables.released,
            tables.known,
            truth=tables.truth,
            weight=chosen.weight,
            n_draws=options.draws,
            seed=options.seed,
            progress=progress,
        )
        if plot is not None:
            from habitprint.plots import chart_output, plot_prediction  # noqa: PLC0415  (takes a second: only if needed)

            progress("drawing", 0, 1)
            write_all([chart_output(plot_prediction(found), plot)], overwrite=force)
    facts = {
        **vars(found),
        "predicted": found.predicted,
        "effective": found.effective,
        "is_random": found.is_random,
        "words": about_prediction(found),
        "plot": plot,
    }
    blocks: list[Block] = [*tell_prediction(found), *written(plot)]
    tell(facts, blocks, [] if chosen.words is None else [Note(chosen.words)], as_json=as_json)
