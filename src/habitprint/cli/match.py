"""``habitprint match``: the pairs of users with the smallest total weight."""

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.console import RenderableType
from rich.text import Text

from habitprint.arguments import refuse_release
from habitprint.cli.backend import OF_FILES, BackendOptions, refuse_on_spark
from habitprint.cli.options import ForceOption, JsonOption, expanded, given, refuse_inputs
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import (
    FIRST,
    Screen,
    describe_first_pairs,
    describe_matching,
    describe_pairs,
    describe_remote_matching,
    matching_facts,
    print_json,
    print_note,
)
from habitprint.cli.table_options import AttackOptions, Tables, require_common
from habitprint.errors import NoCommonUserWarning, NoSharedPlaceWarning
from habitprint.evaluation import Evaluation, evaluate
from habitprint.flags import OUTPUT
from habitprint.formatting import counted
from habitprint.histograms import TableSpec
from habitprint.io.tables import check_writable, read_table, write_table
from habitprint.matching import Matching, MatchOptions
from habitprint.matching import match as match_tables
from habitprint.matching.match import NO_SHARED_PLACE
from habitprint.progress import Progress
from habitprint.training import Training
from habitprint.truth import SAME_ID

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
    where: BackendOptions,
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

    habitprint match week1 week2 --backend spark --master spark://host:7077 --out pairs

    Both tables have the columns [bold]user, place, count[/bold], or one column for each place.
    The pairs have the smallest total weight of all matchings, with a proof.
    With training, each pair has a probability of being right.
    If [bold]habitprint protect[/bold] wrote RELEASED, KNOWN is transformed in the same way.
    """
    if where.is_spark:
        _match_on_spark((released, known), spec, tables, how, where, out, force=force, as_json=as_json)
        return
    notes = Screen(stderr=True)
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
        matching = match_tables(found.released, found.known, options=how, weight=chosen.weight, progress=progress)
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
    _tell(describe_matching(matching, found.released, found.known, result), result)
    if out is None:
        Screen().print()
        Screen().print(describe_pairs(matching))
    else:
        Screen().print(f"{counted(matching.size, 'pair')} written to {out}", soft_wrap=True)


def _tell(described: RenderableType, result: Evaluation | None) -> None:
    Screen().print(described)
    if result is None:
        Screen().print(Text("No accuracy: give the true pairs with --truth.", style="dim"))


def _match_on_spark(
    files: tuple[str, str],
    spec: TableSpec,
    tables: AttackOptions,
    how: MatchOptions,
    where: BackendOptions,
    out: str | None,
    *,
    force: bool,
    as_json: bool,
) -> None:
    _refuse_on_spark(files, spec, tables, how)
    notes, truth, first = Screen(stderr=True), tables.truth, None
    with ProgressBar(notes) as progress, warnings.catch_warnings(), where.opened(progress) as spark:
        from habitprint.backends.spark.session import collect  # noqa: PLC0415 - an extra, and slow to load
        from habitprint.backends.spark.tables import read_counts, refuse_outputs, write_folders  # noqa: PLC0415

        assert spark is not None  # noqa: S101  (it was asked for)
        warnings.simplefilter("ignore", NoSharedPlaceWarning)  # it is one of the notes below
        warnings.simplefilter("ignore", NoCommonUserWarning)
        if out is not None:
            refuse_outputs(spark.session, [out], files, overwrite=force)
        released, known = (read_counts(spark.session, name, spec.columns, progress) for name in files)
        named = truth if truth in (None, SAME_ID) else read_table(str(truth))
        chosen = tables.choose(how.method, how.direction, released=Path(files[0]), seed=how.seed, progress=progress)
        matching = match_tables(released, known, backend=spark, options=how, weight=chosen.weight, progress=progress)
        result = None if named is None else matching.evaluate(named, progress)
        if result is not None:
            require_common(result.n_common, "equal ids" if truth == SAME_ID else f"{truth}")
        if out is None:
            first = collect(matching.pairs.orderBy("weight", "released").limit(FIRST), "pairs", progress)
        else:
            write_folders([(matching.pairs, out)], overwrite=force, progress=progress)
    if matching.n_guesses == matching.size:
        print_note(notes, NO_SHARED_PLACE)
    if as_json:
        facts = {
            "released": {"n_users": matching.n_released},
            "known": {"n_users": matching.n_known},
            **matching_facts(matching),
            "rounds": [asdict(one) for one in matching.rounds],
            "evaluation": None if result is None else result.to_json(),
            "out": out,
        }
        print_json(facts)
        return
    _tell(describe_remote_matching(matching, result), result)
    if first is not None:
        Screen().print()
        Screen().print(describe_first_pairs(first, matching.size, "pairs"))
    else:
        Screen().print(f"{counted(matching.size, 'pair')} written to {out}", soft_wrap=True)


def _refuse_on_spark(files: tuple[str, str], spec: TableSpec, tables: AttackOptions, how: MatchOptions) -> None:
    """Raise `InputError` if something is asked for that is not done on a cluster, before any work."""
    options = [*given(spec), *given(tables), *given(how)]
    refuse_on_spark(options, OF_FILES, "give Parquet tables with a row for each user and place")
    refuse_on_spark(options, ["--method one-by-one"], "leave it out, or match a sample on one machine")
    fix = "habitprint train A B --out weight.json, on tables of a sample; then --weight weight.json"
    refuse_on_spark(options, ["--train", "--weight auto"], fix)
    for file in () if tables.as_is else files:
        refuse_release(file)


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
