"""``habitprint path``: the best matching of every size."""

import warnings
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from habitprint.cli.options import ForceOption, JsonOption, expanded, refuse_inputs
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import Screen, plain_table, print_json
from habitprint.cli.table_options import AttackOptions, ChosenWeight, KnownFile, ReleasedFile, Tables
from habitprint.errors import NoSharedPlaceWarning
from habitprint.evaluation import Evaluation, evaluate, pair_chances
from habitprint.flags import OUTPUT
from habitprint.formatting import percent
from habitprint.histograms import TableSpec
from habitprint.io.files import Output, write_all
from habitprint.io.tables import check_writable, table_output
from habitprint.matching import MatchingPath, matching_path
from habitprint.matching.options import SolverOptions
from habitprint.progress import Progress
from habitprint.rates import Rate
from habitprint.training.calibration import confident_rates
from habitprint.truth import common_users

N_SHOWN = 10  # sizes on the screen, and sizes whose pairs are counted: each is matched anew
OF_RATES = ("precision", "95% interval", "by chance")


@expanded
def path(
    released_file: ReleasedFile,
    known_file: KnownFile,
    spec: TableSpec,
    tables: AttackOptions,
    solver: SolverOptions,
    out: Annotated[
        Path | None,
        typer.Option(help="File for size, weight, gain and price: .csv or .parquet.", rich_help_panel=OUTPUT),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="File for a chart: .svg, .png, .html, or .json for Vega-Lite.", rich_help_panel=OUTPUT),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compute the total weight of the best matching of every size.

    [bold]Examples[/bold]

    habitprint path week1.csv week2.csv --out path.csv

    habitprint path week1.csv week2.csv --truth same-id --plot path.svg

    habitprint path week3.csv week4.csv --truth same-id --weight auto --train week1.csv week2.csv

    One run computes all sizes, and shows what each further pair adds.
    A large gain means that two users are similar, not that they are the same person.
    With --truth, correct pairs are counted for ten sizes.
    With --truth and training, the most confident pairs are counted too.
    If [bold]habitprint protect[/bold] wrote RELEASED, KNOWN is transformed in the same way.
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
        warnings.simplefilter("ignore", NoSharedPlaceWarning)  # it is one of the notes below
        found = tables.read(released_file, known_file, spec, progress)
        chosen = tables.choose(
            "joint", "released-to-known", released=released_file, spec=spec, seed=solver.seed, progress=progress
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
        most_confident = _count_confident(every_size, found, chosen, progress)
        outputs: list[Output] = []
        if plot is not None:
            from habitprint.plots import chart_output, plot_path  # noqa: PLC0415  (the same)

            progress("drawing", 0, 1)
            outputs.append(chart_output(plot_path(every_size, results, most_confident), plot))
        if out is not None:
            outputs.append(table_output(every_size.to_table(), out))
        if outputs:
            progress("writing", 0, 1)
            write_all(outputs, overwrite=force)
    found.print_notes(notes, chosen, next(iter(results), None))
    if as_json:
        facts = {
            **found.to_json(),
            "weight": every_size.weight.name,
            "seed": every_size.seed,
            "evaluations": [result.to_json() for result in results] or None,
            "most_confident": [asdict(rate) for rate in most_confident] or None,
            "out": None if out is None else str(out),
            "plot": None if plot is None else str(plot),
            "path": every_size.to_table().to_dict(as_series=False) if out is None else None,
        }
        print_json(facts)
        return
    _print_tables(every_size, results, most_confident)
    for file in (out, plot):
        if file is not None:
            Screen().print(f"written to {file}", soft_wrap=True)


def _print_tables(every_size: MatchingPath, results: Sequence[Evaluation], most_confident: tuple[Rate, ...]) -> None:
    screen, rows = Screen(), []
    rates = {result.size: result.precision_rate for result in results}
    for size in _shown_sizes(every_size):
        total_weight, price = every_size.total_weight[size - 1], every_size.price[size - 1]
        cells = [f"{size:,}", f"{total_weight:.6g}", f"{price:.4f} of {every_size.highest_gain:.4f}"]
        rows.append([*cells, *(_cells(rates[size]) if results else ())])
    columns = (">pairs", ">total weight", ">gain of the last pair", *(OF_RATES if results else ()))
    screen.print(plain_table(columns, rows))
    if most_confident:
        screen.print()
        pairs = ([f"{rate.n:,}", *_cells(rate)] for rate in most_confident)
        screen.print(plain_table((">pairs", *OF_RATES), pairs, "The most confident pairs, by training"))
    if not results:
        screen.print(Text("No precision: give the true pairs with --truth.", style="dim"))


def _cells(rate: Rate | None) -> tuple[str, str, str]:
    if rate is None:
        return "not defined", "", ""
    return percent(rate.value), rate.interval_words, percent(rate.by_chance)


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


def _count_confident(
    every_size: MatchingPath, tables: Tables, chosen: ChosenWeight, progress: Progress
) -> tuple[Rate, ...]:
    """Return how many of the most confident pairs are correct; nothing without training or truth."""
    if chosen.training is None or tables.truth is None:
        return ()
    released, known = every_size.released, every_size.known
    largest = every_size.matching(len(every_size.sizes), progress)
    common = common_users(tables.truth, released.users, known.users)
    return confident_rates(
        chosen.training.for_tables(released, known, progress=progress).probabilities(largest, released, known),
        pair_chances(largest, released, known, common),
        _shown_sizes(every_size),
        by_chance=common.n / (released.n_users * known.n_users),
    )
