"""``habitprint predict``: the accuracy that theory predicts from the habits."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

import habitprint as hp
from habitprint.cli.options import ForceOption, JsonOption, PlotOption, SeedOption, check_outputs
from habitprint.cli.screen import Note, tell, written
from habitprint.cli.tables import AttackOptions, ChosenWeight
from habitprint.conversion import is_release
from habitprint.errors import InputError, first_few
from habitprint.flags import ATTACKER, flag
from habitprint.histograms import TableSpec
from habitprint.information import COUNTRY
from habitprint.prediction import MOST_DRAWS, N_DRAWS
from habitprint.progress import Progress, ProgressBar
from habitprint.wording.blocks import Block
from habitprint.wording.prediction import (
    about_bits,
    about_needed,
    about_prediction,
    tell_prediction,
)

NOT_PROTECTED = "with more events, a protection would form other groups and other noise"


class PredictOptions(AttackOptions, frozen=True, kw_only=True):
    """The options of a prediction: those of an attack, and draws, seed.

    Parameters
    ----------
    draws
        Number of times that all events are redealt.
    """

    draws: Annotated[int, flag(panel=ATTACKER, least=2, most=MOST_DRAWS)] = N_DRAWS
    seed: SeedOption = 0


def predict(
    files: Annotated[list[Path], typer.Argument(metavar="RELEASED KNOWN")],
    spec: TableSpec,
    options: PredictOptions,
    plot: PlotOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Predict the share of people re-identified, if events fell at random, and with fewer or more events.

    [bold]Examples[/bold]

    habitprint predict week1.csv week2.csv --truth same-id

    habitprint predict week1.csv week2.csv --truth key.csv --plot prediction.svg

    [bold]What it does[/bold]

    It pools each person's events of both tables, and deals them out again at random. Each table keeps its number of
    events of each person. The same attack then shows what stable habits would reveal. If the measured share is lower
    than that, habits drift or events come in bursts. It also says how many observations make people identifiable.

    Parameters
    ----------
    files
        Two tables of counts, released and known.
    """
    check_outputs(*files, options.truth, force=force, chart=plot)
    notes: list[Note] = []
    with ProgressBar() as progress:
        found, chosen = _from_tables(files, spec, options, progress)
        notes += [] if chosen.words is None else [Note(chosen.words)]
        if plot is not None:
            progress("drawing", 0, 1)
            hp.save_chart(hp.plot_prediction(found), plot, overwrite=force)
    facts, blocks = _told(found)
    tell({**facts, "plot": plot}, [*blocks, *written(plot)], notes, as_json=as_json)


def _told(found: hp.Prediction) -> tuple[dict[str, object], list[Block]]:
    """Return the facts without ids of people, and the blocks that say them."""
    names = ("measured", "redealt", "predicted", "is_random", "effective", "worth", "needed", "growth", "seed")
    facts = {name: getattr(found, name) for name in names}
    facts |= {"words": about_prediction(found), "needed_words": about_needed(found)}
    information, n = found.information, found.information.n_crowd
    facts["bits"] = {
        "n_crowd": n,
        "above_crowd": information.share_above(n),
        "above_country": information.share_above(COUNTRY),
        "bound": information.bound(n),
        "one_by_one": information.one_by_one,
        "is_exceeded": information.is_exceeded,
        "words": about_bits(information),
    }
    return facts, tell_prediction(found)


def _from_tables(
    files: Sequence[Path], spec: TableSpec, options: PredictOptions, progress: Progress
) -> tuple[hp.Prediction, ChosenWeight]:
    if len(files) != 2:  # noqa: PLR2004
        raise InputError(
            f"habitprint predict got {len(files)} files: {first_few(map(str, files))}",
            why="a prediction needs two tables of counts, released and known",
            fix="habitprint predict RELEASED KNOWN",
        )
    released, known = files
    tables = options.read(released, known, spec, progress, needs_truth=True)
    if tables.release.steps or is_release(released):
        raise InputError(
            f"{released} is a protected table",
            why=NOT_PROTECTED,
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
    return found, chosen
