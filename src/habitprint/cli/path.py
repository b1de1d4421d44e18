"""``habitprint path``: the best matching of every size."""

import json
import warnings
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from habitprint.charts import check_chart_target, plot_path, save_chart
from habitprint.cli.describe import facts, n_shared_places, print_caveats
from habitprint.cli.options import (
    DuplicatesOption,
    ForceOption,
    JsonOption,
    KnownFile,
    MemoryOption,
    ReleasedFile,
    SeedOption,
    WeightOption,
    to_bytes,
)
from habitprint.cli.progress import ProgressBar
from habitprint.errors import NoSharedPlaceWarning
from habitprint.histograms import read_histograms
from habitprint.matching import MatchingPath, matching_path
from habitprint.tables import check_writable, write_table

TENTHS = (1, 2, 5, 8, 9, 10)  # of the largest size, shown on the screen


def path(
    released_file: ReleasedFile,
    known_file: KnownFile,
    weight: WeightOption = "jensen-shannon",
    out: Annotated[Path | None, typer.Option(help="Write size, weight, gain and price to .csv or .parquet.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw them: .svg, .png or .html.")] = None,
    force: ForceOption = False,
    duplicates: DuplicatesOption = "error",
    seed: SeedOption = 0,
    max_memory: MemoryOption = "4GB",
    as_json: JsonOption = False,
) -> None:
    """Compute the total weight of the best matching of every size, in one run.

    It shows how many pairs are sure: where the gain of a further pair falls.

    [bold]Example[/bold]

    habitprint path week1.csv week2.csv --plot path.svg
    """
    if out is not None:
        check_writable(out, overwrite=force)
    if plot is not None:
        check_chart_target(plot, overwrite=force)
    notes = Console(stderr=True, highlight=False)
    with ProgressBar(notes) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSharedPlaceWarning)  # said below, in the words of the command line
        progress("reading", 0, 2)
        released = read_histograms(released_file, duplicates=duplicates)
        known = read_histograms(known_file, duplicates=duplicates)
        found = matching_path(
            released, known, weight=weight, seed=seed, max_memory=to_bytes(max_memory), progress=progress
        )
        if out is not None:
            write_table(found.to_table(), out, overwrite=force)
        if plot is not None:
            save_chart(plot_path(found), plot, overwrite=force)
    print_caveats(notes, released, known, n_shared_places(released, known))
    files = {"out": out, "plot": plot}
    if as_json:
        summary = {name: None if file is None else str(file) for name, file in files.items()}
        columns = None if out else found.to_table().to_dict(as_series=False)
        typer.echo(json.dumps({"weight": weight, "seed": seed, **summary, "path": columns}))
        return
    screen = Console(highlight=False)
    screen.print(_some_sizes(found))
    for file in filter(None, files.values()):
        screen.print(f"written to {file}", soft_wrap=True, markup=False)


def _some_sizes(found: MatchingPath) -> object:
    largest = len(found.sizes)
    return facts(
        [
            (
                f"{size:,} pairs",
                f"total weight {found.total_weight[size - 1]:.6g}; the last one gains {found.price[size - 1]:.4f}",
            )
            for size in sorted({max(1, largest * tenth // 10) for tenth in TENTHS})
        ]
    )
