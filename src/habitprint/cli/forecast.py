"""``habitprint forecast``: the share of people who would be re-identified in a larger population."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer
from rich.table import Table

from habitprint.arguments import is_release
from habitprint.attacks import Attack, Scenario, run_attack
from habitprint.auditing.audit import read_audit
from habitprint.auditing.curves import FEWEST_USERS, users_curve
from habitprint.auditing.options import DEFAULT_TARGET, PERCENT, to_share
from habitprint.cli.options import ForceOption, JsonOption, expanded, given, refuse_inputs
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import Screen, plain_table, print_json, print_note
from habitprint.cli.table_options import AttackOptions
from habitprint.errors import InputError
from habitprint.flags import ATTACKER, OUTPUT, Record, flag
from habitprint.forecasting import MOST_PEOPLE, Forecast, Measured, Scaling
from habitprint.formatting import at_most, percent
from habitprint.histograms import TableSpec
from habitprint.io.files import write_all
from habitprint.matching.rivals import Impostors, count_impostors
from habitprint.progress import Progress
from habitprint.wording.risk import about_forecast, about_law, about_needed, tell_forecast

NOT_PROTECTED = "among more people, a protection would form other groups and other noise"


class ForecastOptions(Record, frozen=True, kw_only=True):
    """The options of a forecast: method, seed, target."""

    method: Annotated[
        Literal["joint", "one-by-one"],
        flag("Joint matching of all people, or the nearest match of each person alone.", ATTACKER),
    ] = "joint"
    seed: Annotated[int, flag("Seed of every random choice.", ATTACKER, least=0)] = 0
    target: Annotated[
        float | None,
        flag(
            f"Highest share of people who may be re-identified, {PERCENT}. The forecast says how many people that "
            "takes. Default: the target of the audit, or 5%.",
            metavar="RATE",
            read=to_share,
        ),
    ] = None


@dataclass(frozen=True)
class _Source:
    """The measurements: at several sizes, or the number of impostors of each person; and the choice of the weight."""

    sizes: tuple[Measured, ...]
    target: float
    impostors: Impostors | None = None
    chosen: str | None = None

    @property
    def scaling(self) -> Scaling:
        if self.impostors is None and len(self.sizes) < 2:  # noqa: PLR2004
            raise InputError(
                f"too few people to forecast from: {sum(size.n_users for size in self.sizes):,}",
                why=f"the forecast compares all people with halves of at least {FEWEST_USERS}",
                fix=f"test at least {2 * FEWEST_USERS} people, better hundreds",
            )
        return Scaling.of(self.sizes if self.impostors is None else self.impostors)


@expanded
def forecast(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Two tables of counts, released and known; or the folder of an audit, or its report.json.",
            metavar="RELEASED KNOWN | AUDIT",
        ),
    ],
    population: Annotated[
        int, typer.Option(min=1, max=MOST_PEOPLE, help="Number of people in the larger population.", metavar="N")
    ],
    spec: TableSpec,
    tables: AttackOptions,
    how: ForecastOptions,
    plot: Annotated[
        Path | None,
        typer.Option(help="File for a chart: .svg, .png, .html, or .json for Vega-Lite.", rich_help_panel=OUTPUT),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Forecast the share of people re-identified in a larger population, without protection.

    [bold]Examples[/bold]

    habitprint forecast week1.csv week2.csv --population 30000000

    habitprint forecast week1.csv week2.csv --population 30000000 --target 1% --plot forecast.svg

    habitprint forecast audit --population 30000000

    habitprint attacks all people, and random halves, quarters, … of them, and extrapolates.
    The interval holds for people of the same kind, observed for as long.
    The forecast also says how many people a release must have to meet a target.
    From the folder of an audit, it extrapolates the measured curve; no attack runs again.
    """
    if plot is not None:
        from habitprint.plots import check_chart_target  # noqa: PLC0415  (takes a second: only if needed)

        check_chart_target(plot, overwrite=force)
        refuse_inputs(plot, *files, tables.truth)
    notes = Screen(stderr=True)
    with ProgressBar(notes) as progress:
        if len(files) == 1:
            source = _of_audit(files[0], spec, tables, how)
        else:
            source = _of_tables(files, spec, tables, how, progress)
        progress("forecasting", 0, 1)
        found = source.scaling.at(population, source.target)
        if plot is not None:
            from habitprint.plots import chart_output, plot_forecast  # noqa: PLC0415  (the same)

            progress("drawing", 0, 1)
            write_all([chart_output(plot_forecast(found, source.sizes), plot)], overwrite=force)
    if source.chosen is not None:
        print_note(notes, source.chosen)
    if as_json:
        facts = {
            **asdict(found),
            "words": about_forecast(found),
            "law_words": about_law(found),
            "needed_words": None if found.needed is None else about_needed(found.needed),
            "sizes": [asdict(size) for size in source.sizes],
            "plot": None if plot is None else str(plot),
        }
        print_json(facts)
        return
    screen = Screen()
    screen.print(_as_table(found, source.sizes))
    for sentence in tell_forecast(found):
        screen.print(sentence, soft_wrap=True)
    if plot is not None:
        screen.print(f"written to {plot}", soft_wrap=True)


def _of_audit(file: Path, spec: TableSpec, tables: AttackOptions, how: ForecastOptions) -> _Source:
    others = msgspec.structs.replace(how, target=None, seed=0)
    for option in (*given(spec), *given(tables), *given(others)):
        raise InputError(
            f"{option.words} does not go with an audit ({file})",
            why="the audit has read its tables and has run its attacks",
            fix=f"leave out {option.name}, or give two tables",
        )
    audit = read_audit(file)
    if audit.verdict.is_protected:
        raise InputError(
            f"{file} is the audit of a protected table", why=NOT_PROTECTED, fix="forecast the audit of its original"
        )
    points = [point for curve in audit.curves if curve.dimension == "users" for point in curve.points]
    sizes = tuple(Measured(point.n_users, point.rate) for point in points)
    return _Source(sizes, audit.verdict.target if how.target is None else how.target)


def _of_tables(
    files: Sequence[Path], spec: TableSpec, tables: AttackOptions, how: ForecastOptions, progress: Progress
) -> _Source:
    if len(files) != 2:  # noqa: PLR2004
        raise InputError(
            f"{len(files)} files",
            why="a forecast needs two tables of counts, released and known, or one audit",
            fix="habitprint forecast RELEASED KNOWN --population N",
        )
    released, known = files
    found = tables.with_truth().read(released, known, spec, progress)
    if found.release.steps or is_release(released):
        raise InputError(f"{released} is a protected table", why=NOT_PROTECTED, fix="forecast its original")
    chosen = tables.choose(
        how.method, "released-to-known", released=released, spec=spec, seed=how.seed, progress=progress
    )
    target = DEFAULT_TARGET if how.target is None else how.target
    if how.method == "one-by-one":
        impostors = count_impostors(found.released, found.known, chosen.weight, truth=found.truth, progress=progress)
        return _Source((), target, impostors, chosen.words)
    both = Scenario(found.released, found.known, found.truth)
    both.require_people()
    curve = users_curve(run_attack(both, Attack(chosen.weight), seed=how.seed, progress=progress), progress)
    sizes = tuple(Measured(point.n_users, point.rate) for point in curve.points)
    return _Source(sizes, target, chosen=chosen.words)


def _as_table(found: Forecast, sizes: Sequence[Measured]) -> Table:
    rows = [
        [f"{size.n_users:,}", percent(size.rate.value), size.rate.interval_words, "measured"]
        for size in sizes or (Measured(found.n_measured, found.measured),)
    ]
    ahead = [point for point in found.fan if point.n > found.n_measured]
    for at in sorted({round((len(ahead) - 1) * part / 3) for part in range(4)} if ahead else ()):
        point = ahead[at]
        ends = f"{percent(point.low)} to {at_most(point.high)}"
        rows.append([f"{point.n:,}", percent(point.share), ends, "forecast"])
    return plain_table([">people", ">re-identified", "95% interval", ""], rows)
