"""``habitprint match``: the pairs of users with the smallest total weight."""

import warnings
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
    print_json,
    print_note,
)
from habitprint.cli.table_options import AttackOptions, Tables
from habitprint.errors import NoSharedPlaceWarning
from habitprint.evaluation import evaluate
from habitprint.flags import OUTPUT
from habitprint.formatting import counted
from habitprint.histograms import TableSpec
from habitprint.io.tables import check_writable, write_table
from habitprint.matching import Matching, MatchOptions
from habitprint.matching import match as match_histograms
from habitprint.progress import Progress
from habitprint.training import Training

PROBABILITY = "probability"  # column of the probability that a pair is right


@expanded
def match(
    released: Annotated[
        str,
        typer.Argument(
            help="Table of counts that you publish: CSV, Parquet, Excel, DuckDB or SQLite; with Spark, Parquet.",
            metavar="RELEASED",
        ),
    ],
    known: Annotated[
        str, typer.Argument(help="Table of counts that the attacker has, with real ids.", metavar="KNOWN")
    ],
    spec: TableSpec,
    tables: AttackOptions,
    how: MatchOptions,
    engine: EngineOptions,
    out: Annotated[
        str | None,
        typer.Option(
            help="File for all pairs, .csv or .parquet; with Spark, a folder.",
            metavar="PATH",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Match the users of two tables of counts.

    [bold]Examples[/bold]

    habitprint match week1.csv week2.csv --out pairs.csv

    habitprint match week1.parquet week2.parquet --truth same-id --size 3750

    habitprint match week1.csv week2.csv --method approximate --epsilon 0.01

    habitprint match week3.csv week4.csv --weight auto --train week1.csv week2.csv

    habitprint match week1 week2 --engine spark --master spark://host:7077 --out pairs

    Both tables have the columns [bold]user, place, count[/bold], or one column for each place.
    The pairs have the smallest total weight of all matchings, with a proof.
    With training, each pair has a probability of being right.
    If [bold]habitprint protect[/bold] wrote RELEASED, KNOWN is transformed in the same way.
    """
    if engine.is_spark:
        asked = SparkAsked(released, known, spec, tables, how, out, force)
        match_on_spark(asked, engine, as_json=as_json)
        return
    screen, notes = Screen(), Screen(stderr=True)
    released_file, known_file = Path(released), Path(known)
    if out is not None:
        check_writable(out, overwrite=force)
        refuse_inputs(Path(out), released_file, known_file, tables.truth)
    with ProgressBar(notes) as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSharedPlaceWarning)  # it is one of the notes below
        found = tables.read(released_file, known_file, spec, progress)
        chosen = tables.choose(
            how.method, how.direction, released=released_file, spec=spec, seed=how.seed, progress=progress
        )
        matching = match_histograms(found.released, found.known, options=how, weight=chosen.weight, progress=progress)
        result = None if found.truth is None else evaluate(matching, found.released, found.known, found.truth)
        pairs = _with_probabilities(matching, found, how, chosen.training, progress)
        if out is not None:
            progress("writing", 0, 1)
            write_table(pairs, out, overwrite=force, is_private=True)  # it identifies people
    found.print_notes(notes, chosen, result)
    if PROBABILITY in pairs.columns:
        print_note(notes, "Each probability assumes that all users of the smaller table are also in the other table.")
    if as_json:
        facts = {
            **found.to_json(),
            **matching_facts(matching),
            "direction": matching.direction if matching.method == "one-by-one" else None,
            "evaluation": None if result is None else result.to_json(),
            "out": out,
            "pairs": pairs.to_dicts() if out is None else None,
            "chosen": chosen.words,
        }
        print_json(facts)
        return
    screen.print(describe_matching(matching, found.released, found.known, result))
    if result is None:
        screen.print(Text("No accuracy: give the true pairs with --truth.", style="dim"))
    if out is None:
        screen.print()
        screen.print(describe_pairs(matching))
    else:
        screen.print(f"{counted(matching.size, 'pair')} written to {out}", soft_wrap=True)


def _with_probabilities(
    matching: Matching,
    tables: Tables,
    how: MatchOptions,
    training: Training | None,
    progress: Progress,
) -> pl.DataFrame:
    """Return the pairs; with their probabilities if they were matched as in training."""
    pairs = matching.to_table()
    if training is None or how.method != "joint" or how.size is not None:
        return pairs
    here = training.for_tables(tables.released, tables.known, progress=progress)
    said = here.probabilities(matching, tables.released, tables.known)
    return pairs.with_columns(pl.Series(PROBABILITY, said))
