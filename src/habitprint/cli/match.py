"""``habitprint match``: who is whom in two tables of histograms."""

import json
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from habitprint.cli.describe import describe_matching, describe_pairs, n_shared_places, print_caveats
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
from habitprint.errors import InputError, NoSharedPlaceWarning
from habitprint.evaluation import Evaluation, evaluate
from habitprint.histograms import Histograms, read_histograms
from habitprint.matching import Direction, Matching, Method
from habitprint.matching import match as match_histograms
from habitprint.tables import check_writable, read_table, write_table
from habitprint.truth import SAME_ID, common_users


def match(
    released_file: ReleasedFile,
    known_file: KnownFile,
    weight: WeightOption = "jensen-shannon",
    size: Annotated[
        int | None, typer.Option(help="Give out exactly this many pairs; without it, as many as there can be.")
    ] = None,
    method: Annotated[
        Method, typer.Option(help="All users at once, exactly or approximately, or each on its own.")
    ] = "joint",
    epsilon: Annotated[
        float | None, typer.Option(help="Approximate only: the share of the gain that may be missing, such as 0.01.")
    ] = None,
    direction: Annotated[Direction, typer.Option(help="One by one only: who looks for whom.")] = "released-to-known",
    truth_source: Annotated[
        str | None,
        typer.Option(
            "--truth",
            help="Who really is whom, to say how many are identified: a table with the columns released, known; "
            "or same-id, where a user has the same id in both tables.",
            metavar="FILE|same-id",
        ),
    ] = None,
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
    """
    screen, notes = Console(highlight=False), Console(stderr=True, highlight=False)
    if out is not None:
        check_writable(out, overwrite=force)
        _keep_inputs(out, released_file, known_file, truth_source)
    with ProgressBar(notes) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSharedPlaceWarning)  # said below, in the words of the command line
        progress("reading", 0, 2)
        released = read_histograms(released_file, duplicates=duplicates)
        progress("reading", 1, 2)
        known = read_histograms(known_file, duplicates=duplicates)
        truth = _read_truth(truth_source, released, known)
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
        screen.print(f"{matching.size:,} pairs written to {out}", soft_wrap=True, markup=False)


def _read_truth(truth: str | None, released: Histograms, known: Histograms) -> Any:
    """Return the truth as `evaluate` takes it; read and check it before the long work."""
    if truth is None:
        return None
    if truth == SAME_ID:
        _require_common(common_users(truth, released, known).n, "equal ids")
        return truth
    try:
        table = read_table(truth)
        common = common_users(table, released, known)
    except InputError as error:
        fix = f"{error.fix}; or --truth {SAME_ID}, where ids agree"
        raise InputError(f"--truth: {error.what}", why=error.why, fix=fix) from error
    _require_common(common.n, f"{truth} ({table.height:,} rows)")
    return table


def _require_common(n_common: int, source: str) -> None:
    """Refuse to say "nobody is identified" when in truth nothing could be counted."""
    if n_common == 0:
        raise InputError(
            f"--truth: according to {source}, no user is in both tables",
            why="then nobody could be identified, however good the attack",
            fix="check that the truth spells ids as the tables do (case, leading zeros), released before known",
        )


def _keep_inputs(out: Path, *inputs: Path | str | None) -> None:
    for path in inputs:
        if path is not None and Path(path).exists() and out.exists() and out.samefile(path):
            raise InputError(
                f"--out {out} is one of the inputs",
                why="it would be lost",
                fix="choose another name",
            )


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
