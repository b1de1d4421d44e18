"""``habitprint predict``: the accuracy that theory predicts from the habits, and the share from longer periods."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import habitprint as hp
from habitprint.cli.options import ForceOption, JsonOption, PlotOption, SeedOption, check_outputs, given, refuse
from habitprint.cli.screen import Note, tell, written
from habitprint.cli.tables import AttackOptions, ChosenWeight
from habitprint.conversion import is_release
from habitprint.durations import MOST_DAYS
from habitprint.errors import InputError, first_few
from habitprint.flags import ATTACKER, flag
from habitprint.histograms import TableSpec
from habitprint.information import COUNTRY
from habitprint.prediction import MOST_DRAWS, N_DRAWS
from habitprint.progress import Progress, ProgressBar
from habitprint.wording.blocks import Block, Text
from habitprint.wording.prediction import (
    about_bits,
    about_lengths,
    about_needed,
    about_prediction,
    lengths_table,
    tell_prediction,
)

NOT_PROTECTED = "with more events, a protection would form other groups and other noise"

if TYPE_CHECKING:
    from habitprint.plots import LayerChart


class PredictOptions(AttackOptions, frozen=True, kw_only=True):
    """The options of a prediction: those of an attack, and days, draws, seed.

    Parameters
    ----------
    days
        Number of days in each period, for a forecast from the folder of an audit.
    draws
        Number of times that all events are redealt.
    """

    days: Annotated[int | None, flag(least=1, most=MOST_DAYS, metavar="N")] = None
    draws: Annotated[int, flag(panel=ATTACKER, least=2, most=MOST_DRAWS)] = N_DRAWS
    seed: SeedOption = 0


def predict(
    files: Annotated[list[Path], typer.Argument(metavar="RELEASED KNOWN | AUDIT")],
    spec: TableSpec,
    options: PredictOptions,
    plot: PlotOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Predict the share of people identified: if events fell at random, with more events, from longer periods.

    [bold]Examples[/bold]

    habitprint predict week1.csv week2.csv --truth same-id

    habitprint predict week1.csv week2.csv --truth key.csv --plot prediction.svg

    habitprint predict audit --days 365

    [bold]What it does[/bold]

    It pools each person's events of both tables, and deals them out again at random. Each table keeps its number of
    events of each person. The same attack then shows what stable habits would reveal. If the measured share is lower,
    habits drift or events come in bursts. It also says how many observations make people identifiable. From the folder
    of an audit, it extrapolates the measured curve to longer periods, and no attack runs again.

    Parameters
    ----------
    files
        Two tables of counts, released and known; or the folder of an audit, or its report.json.
    """
    check_outputs(*files, options.truth, force=force, chart=plot)
    notes: list[Note] = []
    with ProgressBar() as progress:
        found: hp.Prediction | hp.LengthForecast
        if len(files) == 1:
            found = _from_audit(files[0], spec, options)
        else:
            found, chosen = _from_tables(files, spec, options, progress)
            notes += [] if chosen.words is None else [Note(chosen.words)]
        if plot is not None:
            progress("drawing", 0, 1)
            hp.save_chart(_draw(found), plot, overwrite=force)
    facts, blocks = _told(found)
    tell({**facts, "plot": plot}, [*blocks, *written(plot)], notes, as_json=as_json)


def _draw(found: hp.Prediction | hp.LengthForecast) -> "LayerChart":
    return hp.plot_prediction(found) if isinstance(found, hp.Prediction) else hp.plot_lengths(found)


def _told(found: hp.Prediction | hp.LengthForecast) -> tuple[dict[str, object], list[Block]]:
    """Return the facts without ids of people, and the blocks that say them."""
    if isinstance(found, hp.LengthForecast):
        return {**vars(found), "words": about_lengths(found)}, [lengths_table(found), Text(about_lengths(found))]
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


def _from_audit(file: Path, spec: TableSpec, options: PredictOptions) -> hp.LengthForecast:
    refuse(
        [option for option in given(spec, options) if option.name != "--days"],
        None,
        f"an audit ({file})",
        why="the audit has read its tables and has run its attacks",
    )
    if options.days is None:
        raise InputError(
            f"habitprint predict got an audit ({file}), but no --days",
            why="from an audit, the share from longer periods is forecast",
            fix=f"habitprint predict {file} --days 365; or give two tables of counts",
        )
    audit = hp.read_audit(file)
    if audit.verdict.is_protected:
        raise InputError(f"{file} is the audit of a protected table", why=NOT_PROTECTED, fix="use that of its original")
    curve = next((each for each in audit.curves if each.dimension == "duration"), None)
    if curve is None:
        raise InputError(
            f"{file} is the audit of two tables of counts, without times",
            why="the forecast continues the curve by days in each period",
            fix="audit the events",
        )
    return hp.forecast_length(curve.points, options.days)


def _from_tables(
    files: Sequence[Path], spec: TableSpec, options: PredictOptions, progress: Progress
) -> tuple[hp.Prediction, ChosenWeight]:
    if len(files) != 2:  # noqa: PLR2004
        raise InputError(
            f"habitprint predict got {len(files)} files: {first_few(map(str, files))}",
            why="a prediction needs two tables of counts, released and known, or one audit",
            fix="habitprint predict RELEASED KNOWN",
        )
    if options.days is not None:
        raise InputError(
            "--days does not go with two tables of counts",
            why="tables of counts have no days",
            fix="leave out --days; or audit the events, and give the folder of the audit",
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
