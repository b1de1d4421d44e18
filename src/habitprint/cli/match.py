"""``habitprint match``: who is whom in two tables of histograms."""

import json
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from habitprint.cli.describe import describe_matching, describe_pairs, n_shared_places, print_caveats
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
from habitprint.errors import InputError, NoSharedPlaceWarning
from habitprint.evaluation import Evaluation, evaluate
from habitprint.histograms import Histograms, read_histograms
from habitprint.matching import Direction, Matching, Method
from habitprint.matching import match as match_histograms
from habitprint.mechanisms import Release
from habitprint.mechanisms.files import Told, read_sidecar, sidecar
from habitprint.tables import check_writable, write_table
from habitprint.words import counted

AsIsOption = Annotated[
    bool, typer.Option("--as-is", help="Leave KNOWN as it is, even if the .json beside RELEASED says what to copy.")
]


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
    is_as_is: AsIsOption = False,
    seed: SeedOption = 0,
    max_memory: MemoryOption = "4GB",
    as_json: JsonOption = False,
) -> None:
    """Find out who is whom in two tables of histograms.

    Both tables have the columns [bold]user, place, count[/bold].
    The pairs found have the smallest total weight there is, with a proof.
    If RELEASED was written by [bold]habitprint protect[/bold], KNOWN is changed by what anyone can copy of it.

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
        known, copied = as_the_adversary(released_file, read_histograms(known_file, duplicates=duplicates), is_as_is)
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
    print_copied(notes, copied)
    print_caveats(notes, released, known, n_shared, result)
    if as_json:
        typer.echo(
            json.dumps(
                {**_summary(matching, released, known, n_shared, result, out), "copied": copied}, ensure_ascii=False
            )
        )
        return
    screen.print(describe_matching(matching, released, known, n_shared, result))
    if result is None:
        screen.print("[dim]No accuracy: --truth says who really is whom.[/dim]")
    if out is None:
        screen.print()
        screen.print(describe_pairs(matching))
    else:
        screen.print(f"{counted(matching.size, 'pair')} written to {out}", soft_wrap=True, markup=False)


def as_the_adversary(released_file: Path, known: Histograms, is_as_is: bool) -> tuple[Histograms, list[str] | None]:
    """Return the known side changed by what anyone can copy of a protected release, and the words of what was copied.

    They are None if there is nothing beside the release to tell of it, or nobody wants to know.

    Examples
    --------
    >>> known = Histograms.from_strings({"Jo": "x"})
    >>> as_the_adversary(Path("week1.csv"), known, False) == (known, None)
    True
    """
    if is_as_is or not sidecar(released_file).exists():
        return known, None
    try:
        told = read_sidecar(released_file)
        _require_as_written(told, released_file)
        known = Release(known, told.steps).public(known)
    except InputError as error:
        fix = f"{error.fix}; or --as-is, which leaves the known side alone"
        raise InputError(error.what, why=error.why, fix=fix) from error
    return known, [step.words for step in told.steps if step.copied is not None]


def _require_as_written(told: Told, released_file: Path) -> None:
    if not told.is_as_written:
        raise InputError(
            f"{released_file} is not the file that {sidecar(released_file).name} was written for",
            why="what an adversary can copy of it is not known",
            fix="keep the two files together as habitprint protect wrote them",
        )


def print_copied(notes: Console, copied: list[str] | None) -> None:
    """Say what was done to the known side.

    Examples
    --------
    >>> print_copied(Console(), None)
    """
    if copied:
        words = f"the known side was changed by what anyone can copy of the release: {'; '.join(copied)} (--as-is: not)"
        notes.print(f"[yellow]note:[/yellow] {escape(words)}", soft_wrap=True)


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
        "evaluation": None if result is None else result.to_json(),
        "out": None if out is None else str(out),
        "pairs": matching.to_table().to_dicts() if out is None else None,
    }
