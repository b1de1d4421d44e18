"""``habitprint match``: who is whom in two tables of histograms."""

import json
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from habitprint.cli.describe import describe_matching, describe_pairs
from habitprint.cli.progress import ProgressBar
from habitprint.counts import Duplicates
from habitprint.errors import NoSharedPlaceWarning
from habitprint.evaluation import Evaluation, evaluate
from habitprint.histograms import Histograms, read_histograms
from habitprint.ids import positions
from habitprint.matching import Direction, Matching, Method
from habitprint.matching import match as match_histograms
from habitprint.tables import check_writable, read_table, write_table
from habitprint.truth import SAME_ID, common_users
from habitprint.weights import WeightName


def match(
    released: Annotated[
        Path, typer.Argument(help="Histograms whose owners are hidden: CSV or Parquet.", metavar="RELEASED")
    ],
    known: Annotated[Path, typer.Argument(help="Histograms whose owners are known: CSV or Parquet.", metavar="KNOWN")],
    weight: Annotated[WeightName, typer.Option(help="What pairing two users costs.")] = "jensen-shannon",
    size: Annotated[
        int | None, typer.Option(help="Give out exactly this many pairs; without it, as many as there can be.")
    ] = None,
    method: Annotated[Method, typer.Option(help="All users at once, or each user on its own.")] = "joint",
    direction: Annotated[Direction, typer.Option(help="One by one only: who looks for whom.")] = "released-to-known",
    truth: Annotated[
        str | None,
        typer.Option(
            help="Who really is whom, to say how many are identified: a table with the columns released, known; "
            "or same-id, where a user has the same id in both tables.",
            metavar="FILE|same-id",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write all pairs to this .csv or .parquet file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file of --out.")] = False,
    duplicates: Annotated[Duplicates, typer.Option(help="What several rows for one user and place mean.")] = "error",
    seed: Annotated[int, typer.Option(min=0, help="Decides among equally good matchings.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")] = False,
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
    with ProgressBar(notes) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSharedPlaceWarning)  # said below, in the words of the command line
        progress("reading", 0, 2)
        hidden = read_histograms(released, duplicates=duplicates)
        progress("reading", 1, 2)
        owned = read_histograms(known, duplicates=duplicates)
        who_is_whom = _read_truth(truth, hidden, owned)
        matching = match_histograms(
            hidden,
            owned,
            weight=weight,
            size=size,
            method=method,
            direction=direction,
            seed=seed,
            progress=progress,
        )
        result = None if who_is_whom is None else evaluate(matching, hidden, owned, who_is_whom)
        if out is not None:
            progress("writing", 0, 1)
            write_table(matching.to_table(), out, overwrite=force)
    n_shared = int((positions(hidden.places, owned.places) >= 0).sum())
    if n_shared == 0:
        notes.print(
            "[yellow]note:[/yellow] the two tables have no place in common, so every pair is a guess. "
            "Check that both name their places in the same way."
        )
    if as_json:
        typer.echo(json.dumps(_summary(matching, hidden, owned, n_shared, result, out), ensure_ascii=False))
        return
    screen.print(describe_matching(matching, hidden, owned, result))
    if result is None:
        screen.print("[dim]No accuracy: --truth says who really is whom.[/dim]")
    if out is None:
        screen.print()
        screen.print(describe_pairs(matching))
    else:
        screen.print(f"[bold]{matching.size:,}[/bold] pairs written to", str(out), soft_wrap=True)


def _read_truth(truth: str | None, released: Histograms, known: Histograms) -> Any:
    """Return the truth as `evaluate` takes it; read and check it before the long work."""
    if truth is None or truth == SAME_ID:
        return truth
    table = read_table(truth)
    common_users(table, released, known)
    return table


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
