"""``habitprint forecast``: how many would be identified among more people than were tested."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table

from habitprint.arguments import is_release
from habitprint.attacks import Attack, Scenario, run_attack
from habitprint.auditing.audit import read_audit
from habitprint.auditing.curves import FEWEST_USERS, users_curve
from habitprint.auditing.options import DEFAULT_TARGET, PERCENT, to_share
from habitprint.cli.options import ForceOption, Given, JsonOption, expanded, given, refuse_inputs
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import Screen, print_chosen, print_json
from habitprint.cli.table_options import TableOptions
from habitprint.cli.train import ChosenWeight, WeightOptions
from habitprint.errors import InputError
from habitprint.flags import ATTACKER, OUTPUT
from habitprint.forecasting import MOST_PEOPLE, Forecast, Measured, Scaling
from habitprint.formatting import at_most, percent
from habitprint.histograms import TableSpec
from habitprint.io.files import write_all
from habitprint.matching.impostors import Impostors, count_impostors
from habitprint.progress import Progress
from habitprint.truth import SAME_ID
from habitprint.wording.forecast import about_forecast, about_law, about_needed, tell_forecast

ForecastMethod = Literal["joint", "one-by-one"]
NOT_PROTECTED = (
    "the groups and noise of a protected table would be others among more people, so that its parts say nothing of them"
)


@dataclass(frozen=True)
class _Source:
    """The measurements: at several sizes, or the number of impostors of each person; and the words about them."""

    sizes: tuple[Measured, ...]
    impostors: Impostors | None
    target: float
    chosen: ChosenWeight | None

    @property
    def scaling(self) -> Scaling:
        if self.impostors is None and len(self.sizes) < 2:  # noqa: PLR2004
            raise InputError(
                f"too few people to forecast from: {sum(size.n_users for size in self.sizes):,}",
                why=f"how the share falls is seen among all and among halves of at least {FEWEST_USERS}",
                fix=f"test {2 * FEWEST_USERS} people at least; hundreds tell something",
            )
        return Scaling.of(self.sizes if self.impostors is None else self.impostors)


@expanded
def forecast(
    files: Annotated[
        list[Path],
        typer.Argument(
            help="Two tables of histograms, released and known; or the folder of an audit, or its report.json.",
            metavar="RELEASED KNOWN | AUDIT",
        ),
    ],
    population: Annotated[
        int, typer.Option(min=1, max=MOST_PEOPLE, help="How many people there would be.", metavar="N")
    ],
    spec: TableSpec,
    tables: TableOptions,
    weighing: WeightOptions,
    method: Annotated[
        ForecastMethod,
        typer.Option(
            help="Whether all people are matched at once, or each alone; one by one is forecast person by person.",
            rich_help_panel=ATTACKER,
        ),
    ] = "joint",
    seed: Annotated[int, typer.Option(min=0, help="Decides the choices among people.", rich_help_panel=ATTACKER)] = 0,
    target: Annotated[
        str | None,
        typer.Option(
            help=f"Say how many people it takes for the share identified to be within this, {PERCENT}; default: that "
            "of the audit, or 5%.",
            metavar="RATE",
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw it: .svg, .png, .html, or .json for Vega-Lite.", rich_help_panel=OUTPUT),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Forecast how many people would be identified among more of them than were tested, without protection.

    Random halves, quarters, … of the people are attacked, and what that shows is followed on.
    The interval says how far that can be trusted; it holds for people of the same kind, watched for as long.
    It also says how many people a release must have for the share to be within a target.
    From the folder of an audit, the curve that it measured is followed on, and nothing is attacked again.

    [bold]Examples[/bold]

    habitprint forecast week1.csv week2.csv --population 30000000

    habitprint forecast week1.csv week2.csv --population 30000000 --target 1% --plot forecast.svg

    habitprint forecast audit --population 30000000
    """
    asked = None if target is None else to_share(target, "--target")
    if plot is not None:
        from habitprint.plots import check_chart_target  # noqa: PLC0415  (takes a second: only if needed)

        check_chart_target(plot, overwrite=force)
        refuse_inputs(plot, *files, tables.truth)
    notes = Screen(stderr=True)
    with ProgressBar(notes) as progress:
        if len(files) == 1:
            _refuse_options(files[0], [*given(spec), *tables.given, *weighing.given], method)
            source = _of_audit(files[0], asked)
        else:
            source = _of_tables(files, spec, tables, weighing, method, seed, asked or DEFAULT_TARGET, progress)
        progress("forecasting", 0, 1)
        found = source.scaling.at(population, source.target)
        if plot is not None:
            from habitprint.plots import chart_output, plot_forecast  # noqa: PLC0415  (the same)

            progress("drawing", 0, 1)
            write_all([chart_output(plot_forecast(found, source.sizes), plot)], overwrite=force)
    if source.chosen is not None:
        print_chosen(notes, source.chosen.words)
    if as_json:
        _print_json(found, source, plot)
        return
    screen = Screen()
    screen.print(_as_table(found, source.sizes))
    for sentence in tell_forecast(found):
        screen.print(sentence, soft_wrap=True, markup=False)
    if plot is not None:
        screen.print(f"written to {plot}", soft_wrap=True, markup=False)


def _refuse_options(file: Path, options: Sequence[Given], method: ForecastMethod) -> None:
    names = [option.name for option in options] + (["--method one-by-one"] if method != "joint" else [])
    if names:
        raise InputError(
            f"{names[0]} does not go with an audit ({file})",
            why="its attacks have been made already",
            fix="leave it out, or give the two tables of histograms",
        )


def _of_audit(file: Path, asked: float | None) -> _Source:
    audit = read_audit(file)
    if audit.verdict.is_protected:
        raise InputError(
            f"{file} is the audit of a protected table",
            why=NOT_PROTECTED,
            fix="forecast the audit of the table from which it was made",
        )
    points = [point for curve in audit.curves if curve.dimension == "users" for point in curve.points]
    sizes = tuple(Measured(point.n_users, point.rate) for point in points)
    return _Source(sizes, None, audit.verdict.target if asked is None else asked, None)


def _of_tables(
    files: Sequence[Path],
    spec: TableSpec,
    tables: TableOptions,
    weighing: WeightOptions,
    method: ForecastMethod,
    seed: int,
    target: float,
    progress: Progress,
) -> _Source:
    if len(files) != 2:  # noqa: PLR2004
        raise InputError(
            f"{len(files)} files",
            why="a forecast is made from two tables of histograms, released and known, or from one audit",
            fix="habitprint forecast RELEASED KNOWN --population N",
        )
    released, known = files
    found = replace(tables, truth=tables.truth or SAME_ID).read(released, known, spec, progress)
    if found.release.steps or is_release(released):
        raise InputError(
            f"{released} is a protected table", why=NOT_PROTECTED, fix="forecast the table from which it was made"
        )
    chosen = weighing.choose(method, "released-to-known", released=released, spec=spec, seed=seed, progress=progress)
    if method == "one-by-one":
        impostors = count_impostors(found.released, found.known, chosen.weight, truth=found.truth, progress=progress)
        return _Source((), impostors, target, chosen)
    both = Scenario(found.released, found.known, found.truth)
    both.require_people()
    curve = users_curve(run_attack(both, Attack(chosen.weight), seed=seed, progress=progress), progress)
    return _Source(tuple(Measured(point.n_users, point.rate) for point in curve.points), None, target, chosen)


def _as_table(found: Forecast, sizes: Sequence[Measured]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("people", "identified"):
        table.add_column(name, justify="right")
    table.add_column("95% interval")
    table.add_column("")
    for size in sizes or (Measured(found.n_measured, found.measured),):
        table.add_row(f"{size.n_users:,}", percent(size.rate.value), size.rate.interval_words, "measured")
    ahead = [point for point in found.fan if point.n > found.n_measured]
    steps = {round((len(ahead) - 1) * part / 3) for part in range(4)} if ahead else set()
    for at in sorted(steps):
        point = ahead[at]
        ends = f"{percent(point.low)} to {at_most(point.high)}"
        style = "bold" if point.n == found.n else ""
        table.add_row(f"{point.n:,}", percent(point.share), ends, "forecast", style=style)
    return table


def _print_json(found: Forecast, source: _Source, plot: Path | None) -> None:
    facts = {
        **asdict(found),
        "words": about_forecast(found),
        "law_words": about_law(found),
        "needed_words": None if found.needed is None else about_needed(found.needed),
        "sizes": [asdict(size) for size in source.sizes],
        "plot": None if plot is None else str(plot),
    }
    print_json(facts)
