"""``habitprint forecast``: the share of people re-identified in a larger population, or from longer periods."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

import habitprint as hp
from habitprint.attacks import Attack, Scenario, run_attack
from habitprint.auditing.curves import FEWEST_USERS, users_curve
from habitprint.auditing.options import DEFAULT_TARGET, to_share
from habitprint.cli.options import ForceOption, JsonOption, PlotOption, SeedOption, check_outputs, given, refuse
from habitprint.cli.screen import Note, tell, written
from habitprint.cli.tables import AttackOptions
from habitprint.conversion import is_release
from habitprint.durations import MOST_DAYS
from habitprint.errors import InputError, first_few
from habitprint.flags import ATTACKER, flag
from habitprint.forecasting import MOST_PEOPLE
from habitprint.formatting import at_most, percent
from habitprint.histograms import TableSpec
from habitprint.progress import Progress, ProgressBar
from habitprint.wording.blocks import Cell, Table, Text, table
from habitprint.wording.prediction import about_lengths, lengths_table
from habitprint.wording.risk import about_forecast, about_law, about_needed, tell_forecast

NOT_PROTECTED = "among more people, a protection would form other groups and other noise"


class ForecastOptions(AttackOptions, frozen=True, kw_only=True):
    """The options of a forecast: those of an attack, and population, days, method, seed, target.

    Parameters
    ----------
    population
        Number of people in the larger population.
    days
        Number of days in each longer period. Needs the folder of an audit.
    method
        Attack that is forecast: joint matching of all people, or the nearest match of each person alone.
    target
        Highest share of people who may be re-identified, such as 5% or 0.05. The forecast says how many people that
        takes. Default: the target of the audit, or 5%.
    """

    population: Annotated[int | None, flag(least=1, most=MOST_PEOPLE, metavar="N")] = None
    days: Annotated[int | None, flag(least=1, most=MOST_DAYS, metavar="N")] = None
    method: Annotated[Literal["joint", "one-by-one"], flag(panel=ATTACKER)] = "joint"
    seed: SeedOption = 0
    target: Annotated[float | None, flag(metavar="RATE", read=to_share)] = None


def forecast(
    files: Annotated[list[Path], typer.Argument(metavar="RELEASED KNOWN | AUDIT")],
    spec: TableSpec,
    options: ForecastOptions,
    plot: PlotOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Forecast the share of people re-identified in a larger population, or from longer periods, without protection.

    [bold]Examples[/bold]

    habitprint forecast week1.csv week2.csv --population 30000000

    habitprint forecast week1.csv week2.csv --population 30000000 --target 1% --plot forecast.svg

    habitprint forecast audit --population 30000000

    habitprint forecast audit --days 365

    [bold]What it does[/bold]

    It attacks all people, then random halves and quarters of them, and extrapolates. The interval holds for similar
    people, observed for the same time. The forecast also says how many people a release needs to meet a target. From
    the folder of an audit, it extrapolates the measured curve of people or of days, and no attack runs again.

    Parameters
    ----------
    files
        Two tables of counts, released and known; or the folder of an audit, or its report.json.
    """
    check_outputs(*files, options.truth, force=force, chart=plot)
    population, days = options.population, options.days
    if days is not None and population is None:
        found_lengths = _forecast_length(files, days, spec, options)
        if plot is not None:
            hp.save_chart(hp.plot_lengths(found_lengths), plot, overwrite=force)
        said = about_lengths(found_lengths)
        facts = {**vars(found_lengths), "words": said, "plot": plot}
        tell(facts, [lengths_table(found_lengths), Text(said), *written(plot)], as_json=as_json)
        return
    if population is None or days is not None:
        raise InputError(
            f"habitprint forecast got {'no' if days is None else 'both'} --population and --days",
            why="it forecasts either the share among more people, or the share from longer periods",
            fix="--population 30000000; or, with the folder of an audit, --days 365",
        )
    target = DEFAULT_TARGET if options.target is None else options.target
    measured: Sequence[hp.Measured] | hp.Impostors
    chosen: str | None = None
    with ProgressBar() as progress:
        if len(files) == 1:
            audit = _read_audit(files[0], spec, options, "--population", "--target", "--seed")
            target = audit.verdict.target if options.target is None else target
            points = [point for curve in audit.curves if curve.dimension == "users" for point in curve.points]
            measured = [hp.Measured(point.n_users, point.rate) for point in points]
        else:
            measured, chosen = _measure(files, spec, options, progress)
        sizes = [] if isinstance(measured, hp.Impostors) else measured
        if measured is sizes and len(sizes) < 2:  # noqa: PLR2004
            raise InputError(
                f"{sum(size.n_users for size in sizes):,} people are too few for a forecast",
                why=f"the forecast compares all people with halves of at least {FEWEST_USERS}",
                fix=f"test at least {2 * FEWEST_USERS} people, better hundreds",
            )
        progress("forecasting", 0, 1)
        found = hp.forecast(measured, population, target=target)
        if plot is not None:
            progress("drawing", 0, 1)
            hp.save_chart(hp.plot_forecast(found, sizes), plot, overwrite=force)
    facts = {
        **vars(found),
        "words": about_forecast(found),
        "law_words": about_law(found),
        "needed_words": None if found.needed is None else about_needed(found.needed),
        "sizes": sizes,
        "plot": plot,
    }
    blocks = [_curve(found, sizes), *map(Text, tell_forecast(found)), *written(plot)]
    tell(facts, blocks, [] if chosen is None else [Note(chosen)], as_json=as_json)


def _forecast_length(files: Sequence[Path], days: int, spec: TableSpec, options: ForecastOptions) -> hp.LengthForecast:
    curves = _read_audit(files[0], spec, options, "--days").curves if len(files) == 1 else ()
    curve = next((each for each in curves if each.dimension == "duration"), None)
    if curve is None:
        raise InputError(
            f"--days needs the audit of events, and got {first_few(map(str, files))}",
            why="the forecast continues the curve by days in each period; tables of counts have no days",
            fix="audit the events, and give the folder of the audit",
        )
    return hp.forecast_length(curve.points, days)


def _read_audit(file: Path, spec: TableSpec, options: ForecastOptions, *allowed: str) -> hp.Audit:
    refuse(
        [option for option in given(spec, options) if option.name not in allowed],
        None,
        f"an audit ({file})",
        why="the audit has read its tables and has run its attacks",
    )
    audit = hp.read_audit(file)
    if audit.verdict.is_protected:
        raise InputError(
            f"{file} is the audit of a protected table", why=NOT_PROTECTED, fix="forecast the audit of its original"
        )
    return audit


def _measure(
    files: Sequence[Path], spec: TableSpec, options: ForecastOptions, progress: Progress
) -> tuple[list[hp.Measured] | hp.Impostors, str | None]:
    """Attack groups of people of several sizes, or count the impostors of each person; with the choice of weight."""
    if len(files) != 2:  # noqa: PLR2004
        raise InputError(
            f"habitprint forecast got {len(files)} files: {first_few(map(str, files))}",
            why="a forecast needs two tables of counts, released and known, or one audit",
            fix="habitprint forecast RELEASED KNOWN --population N",
        )
    released, known = files
    found = options.read(released, known, spec, progress, needs_truth=True)
    if found.release.steps or is_release(released):
        raise InputError(f"{released} is a protected table", why=NOT_PROTECTED, fix="forecast its original")
    chosen = options.choose(released=released, spec=spec, seed=options.seed, progress=progress)
    if options.method == "one-by-one":
        impostors = hp.count_impostors(found.released, found.known, chosen.weight, truth=found.truth, progress=progress)
        return impostors, chosen.words
    both = Scenario(found.released, found.known, found.truth)
    both.require_people()
    curve = users_curve(run_attack(both, Attack(chosen.weight), seed=options.seed, progress=progress), progress)
    return [hp.Measured(point.n_users, point.rate) for point in curve.points], chosen.words


def _curve(found: hp.Forecast, sizes: Sequence[hp.Measured]) -> Table:
    """Return the measured sizes, and four sizes up to the population, as a table."""
    rows = [
        (size.n_users, _share(size.rate.value), size.rate.interval_words, "measured")
        for size in sizes or (hp.Measured(found.n_measured, found.measured),)
    ]
    ahead = [point for point in found.fan if point.n > found.n_measured]
    for at in sorted({round((len(ahead) - 1) * part / 3) for part in range(4)} if ahead else ()):
        point = ahead[at]
        rows.append((point.n, _share(point.share), f"{percent(point.low)} to {at_most(point.high)}", "forecast"))
    return table("Forecast", ["people", "re-identified", "95% interval", ""], rows)


def _share(share: float) -> Cell:
    return Cell(percent(share), share)
