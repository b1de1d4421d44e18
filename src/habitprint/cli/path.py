"""``habitprint path``: the best matching of every size."""

import json
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from habitprint.cli.describe import n_shared_places, print_caveats
from habitprint.cli.match import AsIsOption, as_the_adversary, print_copied
from habitprint.cli.options import (
    DuplicatesOption,
    ForceOption,
    JsonOption,
    KnownFile,
    MemoryOption,
    ReleasedFile,
    SeedOption,
    TruthOption,
    WeightOption,
    read_truth,
    refuse_inputs,
    to_bytes,
)
from habitprint.cli.progress import ProgressBar
from habitprint.errors import NoSharedPlaceWarning
from habitprint.evaluation import Evaluation, evaluate
from habitprint.histograms import read_histograms
from habitprint.matching import MatchingPath, matching_path
from habitprint.progress import Progress
from habitprint.tables import check_writable, write_table
from habitprint.words import percent

N_SHOWN = 10  # sizes on the screen, and sizes whose pairs are counted: each is matched anew


def path(
    released_file: ReleasedFile,
    known_file: KnownFile,
    weight: WeightOption = "jensen-shannon",
    truth_source: TruthOption = None,
    out: Annotated[Path | None, typer.Option(help="Write size, weight, gain and price to .csv or .parquet.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw them: .svg, .png, .html, or .json for Vega-Lite.")] = None,
    force: ForceOption = False,
    duplicates: DuplicatesOption = "error",
    is_as_is: AsIsOption = False,
    seed: SeedOption = 0,
    max_memory: MemoryOption = "4GB",
    as_json: JsonOption = False,
) -> None:
    """Compute the total weight of the best matching of every size, in one run.

    It shows what each further pair adds.
    A large gain means alike, not sure: many people may be alike.
    If RELEASED was written by [bold]habitprint protect[/bold], KNOWN is changed by what anyone can copy of it.
    With --truth it also counts, for ten sizes, how many pairs are correct.

    [bold]Examples[/bold]

    habitprint path week1.csv week2.csv --out path.csv

    habitprint path week1.csv week2.csv --truth same-id --plot path.svg
    """
    inputs = released_file, known_file, truth_source
    if out is not None:
        check_writable(out, overwrite=force)
        refuse_inputs(out, *inputs)
    if plot is not None:
        from habitprint.charts import check_chart_target  # noqa: PLC0415  (takes a second: only if needed)

        check_chart_target(plot, overwrite=force)
        refuse_inputs(plot, *inputs)
    notes = Console(stderr=True, highlight=False)
    with ProgressBar(notes) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSharedPlaceWarning)  # said below, in the words of the command line
        progress("reading", 0, 2)
        released = read_histograms(released_file, duplicates=duplicates)
        progress("reading", 1, 2)
        known, copied = as_the_adversary(released_file, read_histograms(known_file, duplicates=duplicates), is_as_is)
        truth = read_truth(truth_source, released, known)
        every_size = matching_path(
            released, known, weight=weight, seed=seed, max_memory=to_bytes(max_memory), progress=progress
        )
        results = {} if truth is None else _count_correct(every_size, truth, progress)
        if plot is not None:
            from habitprint.charts import plot_path, save_chart  # noqa: PLC0415  (the same)

            progress("drawing", 0, 1)
            save_chart(plot_path(every_size, results.values()), plot, overwrite=force)
        if out is not None:
            progress("writing", 0, 1)
            write_table(every_size.to_table(), out, overwrite=force)
    n_shared = n_shared_places(released, known)
    print_copied(notes, copied)
    print_caveats(notes, released, known, n_shared, next(iter(results.values()), None))
    if as_json:
        typer.echo(
            json.dumps({**_summary(every_size, n_shared, results, out, plot), "copied": copied}, ensure_ascii=False)
        )
        return
    screen = Console(highlight=False)
    screen.print(_some_sizes(every_size, results))
    if not results:
        screen.print("[dim]No precision: --truth says who really is whom.[/dim]")
    for file in (out, plot):
        if file is not None:
            screen.print(f"written to {file}", soft_wrap=True, markup=False)


def _shown_sizes(every_size: MatchingPath) -> list[int]:
    largest = len(every_size.sizes)
    return sorted({max(1, largest * part // N_SHOWN) for part in range(1, N_SHOWN + 1)})


def _count_correct(every_size: MatchingPath, truth: Any, progress: Progress) -> dict[int, Evaluation]:
    """Return, for the sizes shown, how many of the best pairs are correct."""
    sizes = _shown_sizes(every_size)
    results = {}
    for done, size in enumerate(sizes):
        progress("counting correct pairs", done, len(sizes))
        results[size] = evaluate(every_size.matching(size), every_size.released, every_size.known, truth)
    return results


def _some_sizes(every_size: MatchingPath, results: dict[int, Evaluation]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("pairs", "total weight", "the last one adds"):
        table.add_column(name, justify="right")
    for name in ("precision", "95% interval", "by chance") if results else ():
        table.add_column(name)
    for size in _shown_sizes(every_size):
        total_weight, price = every_size.total_weight[size - 1], every_size.price[size - 1]
        cells = [f"{size:,}", f"{total_weight:.6g}", f"{price:.4f} of {every_size.highest_gain:.4f}"]
        table.add_row(*cells, *(_precision(results[size]) if results else ()))
    return table


def _precision(result: Evaluation) -> tuple[str, str, str]:
    rate, interval, by_chance = result.precision, result.precision_interval, result.precision_random
    if rate is None or interval is None or by_chance is None:
        return "not defined", "", ""
    return percent(rate), " to ".join(map(percent, interval)), percent(by_chance)


def _summary(
    every_size: MatchingPath, n_shared: int, results: dict[int, Evaluation], out: Path | None, plot: Path | None
) -> dict[str, Any]:
    released, known = every_size.released, every_size.known
    return {
        "released": {"n_users": released.n_users, "n_places": released.n_places},
        "known": {"n_users": known.n_users, "n_places": known.n_places},
        "n_shared_places": n_shared,
        "weight": every_size.weight_name,
        "seed": every_size.seed,
        "evaluations": [result.to_json() for result in results.values()] or None,
        "out": None if out is None else str(out),
        "plot": None if plot is None else str(plot),
        "path": every_size.to_table().to_dict(as_series=False) if out is None else None,
    }
