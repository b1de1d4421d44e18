"""``habitprint match``: who is whom in two tables of histograms."""

import json
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from habitprint.cli.describe import counted, describe_matching, describe_pairs, n_shared_places, print_caveats
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
from habitprint.histograms import Histograms, read_histograms
from habitprint.matching import Direction, Matching, Method
from habitprint.matching import match as match_histograms
from habitprint.tables import check_writable, write_table


def match(
    released_file: ReleasedFile,
    known_file: KnownFile,
    weight: WeightOption = "jensen-shannon",
    size: Annotated[
        int | None, typer.Option(help="Give out exactly this many pairs; without it, as many as there can be.")
    ] = None,
    method: Annotated[
        Method, typer.Option(help="All users at once, exactly or approximately (needs --epsilon), or each on its own.")
    ] = "joint",
    epsilon: Annotated[
        float | None, typer.Option(help="Approximate only: the share of the gain that may be missing, such as 0.01.")
    ] = None,
    direction: Annotated[Direction, typer.Option(help="One by one only: who looks for whom.")] = "released-to-known",
    truth_source: TruthOption = None,
    out: Annotated[Path | None, typer.Option(help="Write all pairs to this .csv or .parquet file.")] = None,
    force: ForceOption = False,
    duplicates: DuplicatesOption = "error",
    seed: SeedOption = 0,
    max_memory: MemoryOption = "4GB",
    as_json: JsonOption = False,
) -> None:
    """Find out who is whom in two tables of histograms.

    Both tables have the columns [bold]user, place, count[/bold].
    The pairs found have the smallest total weight there is, with a proof.

    [bold]Examples[/bold]

    habitprint match week1.csv week2.csv --out pairs.csv

    habitprint match week1.parquet week2.parquet --truth same-id --size 3750

    habitprint match week1.csv week2.csv --method approximate --epsilon 0.01
    """
    screen, notes = Console(highlight=False), Console(stderr=True, highlight=False)
    if out is not None:
        check_writable(out, overwrite=force)
        refuse_inputs(out, released_file, known_file, truth_source)
    with ProgressBar(notes) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSharedPlaceWarning)  # said below, in the words of the command line
        progress("reading", 0, 2)
        released = read_histograms(released_file, duplicates=duplicates)
        progress("reading", 1, 2)
        known = read_histograms(known_file, duplicates=duplicates)
        truth = read_truth(truth_source, released, known)
        matching = match_histograms(
            released,
            known,
            weight=weight,
            size=size,
            method=method,
            direction=direction,
            epsilon=epsilon,
            seed=seed,
            max_memory=to_bytes(max_memory),
            progress=progress,
        )
        result = None if truth is None else evaluate(matching, released, known, truth)
        if out is not None:
            progress("writing", 0, 1)
            write_table(matching.to_table(), out, overwrite=force)
    n_shared = n_shared_places(released, known)
    print_caveats(notes, released, known, n_shared, result)
    if as_json:
        typer.echo(json.dumps(_summary(matching, released, known, n_shared, result, out), ensure_ascii=False))
        return
    screen.print(describe_matching(matching, released, known, n_shared, result))
    if result is None:
        screen.print("[dim]No accuracy: --truth says who really is whom.[/dim]")
    if out is None:
        screen.print()
        screen.print(describe_pairs(matching))
    else:
        screen.print(f"{counted(matching.size, 'pair')} written to {out}", soft_wrap=True, markup=False)


def _summary(
    matching: Matching,
    released: Histograms,
    known: Histograms,
    n_shared_places: int,
    result: Evaluation | None,
    out: Path | None,
) -> dict[str, Any]:
    return {
        "released": {"n_users": released.n_users, "n_places": released.n_places},
        "known": {"n_users": known.n_users, "n_places": known.n_places},
        "n_shared_places": n_shared_places,
        "weight": matching.weight_name,
        "method": matching.method,
        "direction": matching.direction if matching.method == "one-by-one" else None,
        "epsilon": matching.epsilon,
        "seed": matching.seed,
        "size": matching.size,
        "n_guesses": matching.n_guesses,
        "total_weight": matching.total_weight,
        "total_gain": matching.total_gain,
        "bound": matching.bound,
        "gap": matching.gap,
        "is_exact": matching.is_exact,
        "evaluation": None if result is None else asdict(result),
        "out": None if out is None else str(out),
        "pairs": matching.to_table().to_dicts() if out is None else None,
    }
