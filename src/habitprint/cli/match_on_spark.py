"""``habitprint match --engine spark``: who is whom in two tables on a cluster."""

import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
from rich.table import Table
from rich.text import Text

from habitprint.arguments import refuse_release
from habitprint.cli.engine import EngineOptions, refuse_on_spark
from habitprint.cli.options import given
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import (
    FIRST,
    Screen,
    describe_first_pairs,
    evaluation_facts,
    facts,
    matching_facts,
    print_json,
    print_note,
)
from habitprint.cli.table_options import AUTO, AttackOptions, require_common
from habitprint.errors import InputError, NoCommonUserWarning, NoSharedPlaceWarning
from habitprint.evaluation import Evaluation
from habitprint.formatting import counted
from habitprint.histograms import TableSpec
from habitprint.io.tables import read_table
from habitprint.matching import MatchOptions
from habitprint.matching.match import NO_SHARED_PLACE
from habitprint.progress import Progress
from habitprint.truth import SAME_ID
from habitprint.wording.attacks import about_proof

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from habitprint.spark import SparkMatching


@dataclass(frozen=True)
class SparkAsked:
    """The options of a match on Spark."""

    released: str
    known: str
    spec: TableSpec
    tables: AttackOptions
    how: MatchOptions
    out: str | None
    force: bool

    def refuse(self) -> None:
        """Raise `InputError` if something is asked for that is not done on a cluster."""
        refuse_on_spark(
            [*given(self.spec), *given(self.tables), *given(self.how)],
            ["--separator", "--decimal", "--encoding", "--sheet", "--sql", "--duplicates", "--direction", "--train"],
            fix="give Parquet tables with a row for each user and place; train on one machine: habitprint train",
        )
        if self.how.method == "one-by-one":
            raise InputError(
                "--method one-by-one does not go with --engine spark",
                why="on a cluster all users are matched at once, which identifies more",
                fix="leave it out, or match a sample on one machine",
            )
        if self.how.method == "approximate" and self.how.epsilon is None:
            raise InputError(
                "--method approximate without --epsilon",
                why="it says which share of the gain may be missing",
                fix="add --epsilon 0.01",
            )
        if self.tables.weight == AUTO:
            raise InputError(
                "--weight auto does not go with --engine spark",
                why="it is chosen in training, which runs on one machine",
                fix="habitprint train A B --out weight.json, on tables of a sample; then --weight weight.json",
            )
        if not self.tables.as_is:
            refuse_release(self.released)
            refuse_release(self.known)


def match_on_spark(asked: SparkAsked, engine: EngineOptions, *, as_json: bool) -> None:
    """Match two tables on a cluster, and say what came of it."""
    asked.refuse()
    screen, notes = Screen(), Screen(stderr=True)
    with ProgressBar(notes) as progress, warnings.catch_warnings(), engine.connected(progress) as session:
        warnings.simplefilter("ignore", NoSharedPlaceWarning)  # said below, in the words of the command line
        warnings.simplefilter("ignore", NoCommonUserWarning)
        found = _match(asked, session, progress)
    matching, result = found.matching, found.result
    if matching.n_guesses == matching.size:
        print_note(notes, NO_SHARED_PLACE)
    if as_json:
        _print_json(asked, found)
        return
    screen.print(_described(matching, result))
    if result is None:
        screen.print(Text("No accuracy: give the true pairs with --truth.", style="dim"))
    if found.first is not None:
        screen.print()
        screen.print(describe_first_pairs(found.first, matching.size, "pairs"))
    else:
        screen.print(f"{counted(matching.size, 'pair')} written to {asked.out}", soft_wrap=True, markup=False)


@dataclass(frozen=True)
class _Found:
    """The matching, its evaluation if the truth is known, and the first pairs if none are written."""

    matching: "SparkMatching"
    result: Evaluation | None
    first: pl.DataFrame | None


def _match(asked: SparkAsked, session: "SparkSession", progress: Progress) -> _Found:
    from habitprint import spark  # noqa: PLC0415 - an extra, and slow to load
    from habitprint.spark.folders import read_counts, refuse_outputs, write_folders  # noqa: PLC0415
    from habitprint.spark.rows import to_polars  # noqa: PLC0415
    from habitprint.spark.session import run_job  # noqa: PLC0415

    if asked.out is not None:
        refuse_outputs(session, [asked.out], [asked.released, asked.known], overwrite=asked.force)
    released, known = (
        read_counts(session, name, asked.spec.columns, progress) for name in (asked.released, asked.known)
    )
    truth = None if asked.tables.truth is None else _truth(asked.tables.truth)
    weight = asked.tables.choose(
        asked.how.method, asked.how.direction, released=Path(asked.released), seed=asked.how.seed, progress=progress
    ).weight
    matching = spark.match(released, known, options=asked.how, weight=weight, progress=progress)
    result = None if truth is None else spark.evaluate(matching, released, known, truth, progress=progress)
    if result is not None:
        require_common(result.n_common, "equal ids" if isinstance(truth, str) else f"{asked.tables.truth}")
    if asked.out is None:
        first = run_job(session, matching.pairs.orderBy("weight", "released").limit(FIRST).toArrow, "pairs", progress)
        return _Found(matching, result, to_polars(first))
    # It says who is who.
    write_folders([(matching.pairs, asked.out)], overwrite=asked.force, is_private=True, progress=progress)
    return _Found(matching, result, None)


def _truth(text: str) -> str | pl.DataFrame:
    return text if text == SAME_ID else read_table(text)


def _described(matching: "SparkMatching", result: Evaluation | None) -> Table:
    guesses = f", {matching.n_guesses:,} of them without a shared place: guesses" if matching.n_guesses else ""
    rounds = matching.rounds
    looked = f"all pairs looked at {counted(len(rounds), 'time')}, {sum(one.n_added for one in rounds):,} brought here"
    return facts(
        [
            ("released", counted(matching.n_released, "user")),
            ("known", counted(matching.n_known, "user")),
            ("pairs", f"{matching.size:,}{guesses}"),
            (
                "total weight",
                f"{matching.total_weight:.10g}  ({matching.weight.name}, {matching.method}, seed {matching.seed})",
            ),
            ("proof", about_proof(matching.gap, matching.bound, matching.size)),
            ("on the cluster", f"{looked}, {sum(one.n_bytes for one in rounds) / 1e6:,.1f} MB moved"),
            *([] if result is None else evaluation_facts(result)),
        ]
    )


def _print_json(asked: SparkAsked, found: _Found) -> None:
    matching, result = found.matching, found.result
    print_json(
        {
            "released": {"n_users": matching.n_released},
            "known": {"n_users": matching.n_known},
            **matching_facts(matching),
            "rounds": [asdict(one) for one in matching.rounds],
            "evaluation": None if result is None else result.to_json(),
            "out": asked.out,
        }
    )
