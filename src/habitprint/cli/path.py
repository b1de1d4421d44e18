"""``habitprint path``: the best matching of every size."""

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from habitprint.calibration import surest_rates
from habitprint.cli.options import ForceOption, JsonOption, expanded, refuse_inputs
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import Screen, print_caveats, print_chosen, print_copied, print_json
from habitprint.cli.table_options import KnownFile, ReleasedFile, TableOptions, Tables
from habitprint.cli.train import ChosenWeight, WeightOptions
from habitprint.errors import NoSharedPlaceWarning
from habitprint.evaluation import Evaluation, evaluate
from habitprint.expectation import pair_chances
from habitprint.flags import OUTPUT
from habitprint.formatting import percent
from habitprint.histograms import TableSpec, n_shared_places
from habitprint.io.files import Output, write_all
from habitprint.io.tables import check_writable, table_output
from habitprint.matching import MatchingPath, matching_path
from habitprint.matching.options import SolverOptions
from habitprint.progress import Progress
from habitprint.rates import Rate
from habitprint.truth import common_users

N_SHOWN = 10  # sizes on the screen, and sizes whose pairs are counted: each is matched anew


@expanded
def path(
    released_file: ReleasedFile,
    known_file: KnownFile,
    spec: TableSpec,
    tables: TableOptions,
    weighing: WeightOptions,
    solver: SolverOptions,
    out: Annotated[
        Path | None,
        typer.Option(help="Write size, weight, gain and price to .csv or .parquet.", rich_help_panel=OUTPUT),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw them: .svg, .png, .html, or .json for Vega-Lite.", rich_help_panel=OUTPUT),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compute the total weight of the best matching of every size, in one run.

    It shows what each further pair adds.
    A large gain means alike, not sure: many people may be alike.
    If RELEASED was written by [bold]habitprint protect[/bold], KNOWN is changed by what anyone can copy of it.
    With --truth it also counts, for ten sizes, how many pairs are correct;
    with training beside it, how many of as many pairs that are the likeliest to be right.

    [bold]Examples[/bold]

    habitprint path week1.csv week2.csv --out path.csv

    habitprint path week1.csv week2.csv --truth same-id --plot path.svg

    habitprint path week3.csv week4.csv --truth same-id --weight auto --train week1.csv week2.csv
    """
    inputs = released_file, known_file, tables.truth
    if out is not None:
        check_writable(out, overwrite=force)
        refuse_inputs(out, *inputs)
    if plot is not None:
        from habitprint.plots import check_chart_target  # noqa: PLC0415  (takes a second: only if needed)

        check_chart_target(plot, overwrite=force)
        refuse_inputs(plot, *inputs)
    notes = Screen(stderr=True)
    with ProgressBar(notes) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSharedPlaceWarning)  # said below, in the words of the command line
        found = tables.read(released_file, known_file, spec, progress)
        chosen = weighing.choose(
            "joint",
            "released-to-known",
            released=released_file,
            spec=spec,
            seed=solver.seed,
            progress=progress,
        )
        every_size = matching_path(
            found.released,
            found.known,
            weight=chosen.weight,
            seed=solver.seed,
            max_memory=solver.max_memory,
            progress=progress,
        )
        results = _count_correct(every_size, found, progress)
        surest = _count_surest(every_size, found, chosen, progress)
        outputs: list[Output] = []
        if plot is not None:
            from habitprint.plots import chart_output, plot_path  # noqa: PLC0415  (the same)

            progress("drawing", 0, 1)
            outputs.append(chart_output(plot_path(every_size, results, surest), plot))
        if out is not None:
            outputs.append(table_output(every_size.to_table(), out))
        if outputs:
            progress("writing", 0, 1)
            write_all(outputs, overwrite=force)
    print_copied(notes, found.copied, found.findings)
    print_chosen(notes, chosen.words)
    print_caveats(notes, found.released, found.known, next(iter(results), None))
    if as_json:
        _print_json(every_size, found, results, surest, out, plot)
        return
    _print_tables(every_size, results, surest)
    for file in (out, plot):
        if file is not None:
            Screen().print(f"written to {file}", soft_wrap=True, markup=False)


def _print_tables(every_size: MatchingPath, results: list[Evaluation], surest: tuple[Rate, ...]) -> None:
    screen = Screen()
    screen.print(_some_sizes(every_size, results))
    if surest:
        screen.print()
        screen.print(_likeliest(surest))
    if not results:
        screen.print(Text("No precision: --truth says who really is whom.", style="dim"))


def _shown_sizes(every_size: MatchingPath) -> list[int]:
    largest = len(every_size.sizes)
    return sorted({max(1, largest * part // N_SHOWN) for part in range(1, N_SHOWN + 1)})


def _count_correct(every_size: MatchingPath, tables: Tables, progress: Progress) -> list[Evaluation]:
    """Return how many of the best pairs are correct, for each of the sizes shown; nothing if the truth is not known."""
    sizes = [] if tables.truth is None else _shown_sizes(every_size)
    results = []
    for done, size in enumerate(sizes):
        progress("counting correct pairs", done, len(sizes))
        results.append(evaluate(every_size.matching(size), every_size.released, every_size.known, tables.truth))
    return results


def _count_surest(
    every_size: MatchingPath, tables: Tables, chosen: ChosenWeight, progress: Progress
) -> tuple[Rate, ...]:
    """Return how many of the surest pairs of the largest matching are correct; nothing without training or truth."""
    if chosen.training is None or tables.truth is None:
        return ()
    released, known = every_size.released, every_size.known
    largest = every_size.matching(len(every_size.sizes), progress)
    common = common_users(tables.truth, released.users, known.users)
    return surest_rates(
        chosen.training.for_tables(released, known, progress=progress).probabilities(largest, released, known),
        pair_chances(largest, released, known, common),
        _shown_sizes(every_size),
        by_chance=common.n / (released.n_users * known.n_users),
    )


def _some_sizes(every_size: MatchingPath, results: list[Evaluation]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("pairs", "total weight", "the last one adds"):
        table.add_column(name, justify="right")
    for name in ("precision", "95% interval", "by chance") if results else ():
        table.add_column(name)
    by_size = {result.size: result for result in results}
    for size in _shown_sizes(every_size):
        total_weight, price = every_size.total_weight[size - 1], every_size.price[size - 1]
        cells = [f"{size:,}", f"{total_weight:.6g}", f"{price:.4f} of {every_size.highest_gain:.4f}"]
        table.add_row(*cells, *(_precision(by_size[size]) if results else ()))
    return table


def _likeliest(surest: tuple[Rate, ...]) -> Table:
    """Return how many are correct if as many pairs are given out in the order of their probability."""
    title = "The pairs that are the likeliest to be right, by training"
    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0), header_style="bold"
    )
    table.add_column("pairs", justify="right")
    for name in ("precision", "95% interval", "by chance"):
        table.add_column(name)
    for rate in surest:
        table.add_row(f"{rate.n:,}", *_rate(rate))
    return table


def _rate(rate: Rate) -> tuple[str, str, str]:
    return percent(rate.value), rate.interval_words, percent(rate.by_chance)


def _precision(result: Evaluation) -> tuple[str, str, str]:
    rate = result.precision_rate
    if rate is None:
        return "not defined", "", ""
    return _rate(rate)


def _print_json(
    every_size: MatchingPath,
    tables: Tables,
    results: list[Evaluation],
    surest: tuple[Rate, ...],
    out: Path | None,
    plot: Path | None,
) -> None:
    released, known = every_size.released, every_size.known
    facts = {
        "released": {"n_users": released.n_users, "n_places": released.n_places},
        "known": {"n_users": known.n_users, "n_places": known.n_places},
        "n_shared_places": n_shared_places(released, known),
        "weight": every_size.weight.name,
        "seed": every_size.seed,
        "evaluations": [result.to_json() for result in results] or None,
        "surest": [asdict(rate) for rate in surest] or None,
        "out": None if out is None else str(out),
        "plot": None if plot is None else str(plot),
        "path": every_size.to_table().to_dict(as_series=False) if out is None else None,
        "copied": tables.copied,
    }
    print_json(facts)
