"""``habitprint match``: who is whom in two tables of histograms."""

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.text import Text

from habitprint.cli.engine import EngineOptions
from habitprint.cli.match_on_spark import SparkAsked, match_on_spark
from habitprint.cli.options import ForceOption, JsonOption, expanded, refuse_inputs
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import (
    Screen,
    describe_matching,
    describe_pairs,
    matching_facts,
    print_caveats,
    print_chosen,
    print_copied,
    print_json,
    print_note,
)
from habitprint.cli.table_options import TableOptions, Tables
from habitprint.cli.train import ChosenWeight, WeightOptions
from habitprint.errors import NoSharedPlaceWarning
from habitprint.evaluation import Evaluation, evaluate
from habitprint.flags import OUTPUT
from habitprint.formatting import counted
from habitprint.histograms import TableSpec, n_shared_places
from habitprint.io.tables import check_writable, write_table
from habitprint.matching import Matching, MatchOptions
from habitprint.matching import match as match_histograms
from habitprint.progress import Progress
from habitprint.training import Training

PROBABILITY = "probability"  # the column that says how likely a pair is right


@expanded
def match(
    released: Annotated[
        str,
        typer.Argument(
            help="Histograms whose owners are hidden: CSV, Parquet, Excel, DuckDB or SQLite; with Spark, Parquet.",
            metavar="RELEASED",
        ),
    ],
    known: Annotated[str, typer.Argument(help="Histograms whose owners are known.", metavar="KNOWN")],
    spec: TableSpec,
    tables: TableOptions,
    how: MatchOptions,
    weighing: WeightOptions,
    engine: EngineOptions,
    out: Annotated[
        str | None,
        typer.Option(
            help="Write all pairs to this .csv or .parquet file; with Spark, a folder.",
            metavar="PATH",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find out who is whom in two tables of histograms.

    Both tables have the columns [bold]user, place, count[/bold], or those that the options name;
    or a column for each place.
    The pairs found have the smallest total weight there is, with a proof.
    With training, it also tells how likely each pair is right.
    If RELEASED was written by [bold]habitprint protect[/bold], KNOWN is changed by what anyone can copy of it.

    [bold]Examples[/bold]

    habitprint match week1.csv week2.csv --out pairs.csv

    habitprint match week1.parquet week2.parquet --truth same-id --size 3750

    habitprint match week1.csv week2.csv --method approximate --epsilon 0.01

    habitprint match week3.csv week4.csv --weight auto --train week1.csv week2.csv

    habitprint match week1 week2 --engine spark --master spark://host:7077 --out pairs
    """
    if engine.is_spark:
        asked = SparkAsked(released, known, spec, tables, how, weighing, out, force)
        match_on_spark(asked, engine, as_json=as_json)
        return
    screen, notes = Screen(), Screen(stderr=True)
    released_file, known_file, out_file = Path(released), Path(known), None if out is None else Path(out)
    if out_file is not None:
        check_writable(out_file, overwrite=force)
        refuse_inputs(out_file, released_file, known_file, tables.truth)
    with ProgressBar(notes) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSharedPlaceWarning)  # said below, in the words of the command line
        found = tables.read(released_file, known_file, spec, progress)
        chosen = weighing.choose(
            how.method, how.direction, released=released_file, spec=spec, seed=how.seed, progress=progress
        )
        matching = match_histograms(found.released, found.known, options=how, weight=chosen.weight, progress=progress)
        result = None if found.truth is None else evaluate(matching, found.released, found.known, found.truth)
        pairs = _with_probabilities(matching, found, how, chosen.training, progress)
        if out_file is not None:
            progress("writing", 0, 1)
            write_table(pairs, out_file, overwrite=force, is_private=True)  # it says who is who
    print_copied(notes, found.copied, found.findings)
    print_chosen(notes, chosen.words)
    if PROBABILITY in pairs.columns:
        print_note(notes, "Each probability holds if all users of the smaller table are in the other one too.")
    print_caveats(notes, found.released, found.known, result)
    if as_json:
        _print_json(matching, pairs, found, result, chosen, out)
        return
    screen.print(describe_matching(matching, found.released, found.known, result))
    if result is None:
        screen.print(Text("No accuracy: --truth says who really is whom.", style="dim"))
    if out is None:
        screen.print()
        screen.print(describe_pairs(matching))
    else:
        screen.print(f"{counted(matching.size, 'pair')} written to {out}", soft_wrap=True, markup=False)


def _with_probabilities(
    matching: Matching,
    tables: Tables,
    how: MatchOptions,
    training: Training | None,
    progress: Progress,
) -> pl.DataFrame:
    """Return the pairs; with how likely each is right, if all are given out as they were in training."""
    pairs = matching.to_table()
    if training is None or how.method != "joint" or how.size is not None:
        return pairs
    here = training.for_tables(tables.released, tables.known, progress=progress)
    said = here.probabilities(matching, tables.released, tables.known)
    return pairs.with_columns(pl.Series(PROBABILITY, said))


def _print_json(
    matching: Matching,
    pairs: pl.DataFrame,
    tables: Tables,
    result: Evaluation | None,
    chosen: ChosenWeight,
    out: str | None,
) -> None:
    released, known = tables.released, tables.known
    facts = {
        "released": {"n_users": released.n_users, "n_places": released.n_places},
        "known": {"n_users": known.n_users, "n_places": known.n_places},
        "n_shared_places": n_shared_places(released, known),
        **matching_facts(matching),
        "direction": matching.direction if matching.method == "one-by-one" else None,
        "evaluation": None if result is None else result.to_json(),
        "out": out,
        "pairs": pairs.to_dicts() if out is None else None,
        "copied": tables.copied,
        "findings": [asdict(each) for each in tables.findings],
        "chosen": chosen.words,
    }
    print_json(facts)
