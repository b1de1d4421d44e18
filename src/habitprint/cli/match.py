"""``habitprint match``, ``path`` and ``train``: matchings of the users of two tables, and the weight for them."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import polars as pl
import typer

import habitprint as hp
from habitprint.cli.options import (
    OF_FILES,
    BackendOptions,
    ForceOption,
    JsonOption,
    PlotOption,
    SeedOption,
    check_outputs,
    given,
    refuse_lost,
    refuse_on_spark,
)
from habitprint.cli.screen import Note, tell, written
from habitprint.cli.tables import (
    AttackOptions,
    ChosenWeight,
    TableOptions,
    Tables,
    require_common,
)
from habitprint.conversion import refuse_release
from habitprint.evaluation import pair_chances
from habitprint.flags import OUTPUT, flag
from habitprint.formatting import counted, percent
from habitprint.histograms import TableSpec, n_shared_places
from habitprint.io.files import check_target, write_all
from habitprint.io.tables import read_table, table_output, write_table
from habitprint.matching.match import NO_SHARED_PLACE, SolverOptions
from habitprint.progress import Progress, ProgressBar
from habitprint.training import confident_rates
from habitprint.truth import common_users
from habitprint.wording.blocks import Block, Cell, Command, Heading, Text, table, terms
from habitprint.wording.risk import (
    about_evaluation,
    about_evidence,
    about_pairs,
    about_proof,
    chosen_in_training,
    tell_training,
)

if TYPE_CHECKING:
    from habitprint.backends.spark import Spark, SparkMatching

FIRST = 10  # pairs shown
N_SIZES = 10  # sizes of a path that are shown, and whose correct pairs are counted: each needs a matching
# The options of a matching that are printed besides its weight.
FACTS = (
    *("method", "epsilon", "seed", "size", "n_guesses"),
    *("total_weight", "total_gain", "bound", "gap", "is_exact"),
)
OF_RATES = ("precision", "95% interval", "by chance")
NO_TRUTH = "No accuracy: give the true pairs with --truth."


def match(
    released: Annotated[str, typer.Argument(metavar="RELEASED")],
    known: Annotated[str, typer.Argument(metavar="KNOWN")],
    spec: TableSpec,
    tables: AttackOptions,
    options: hp.MatchOptions,
    backend: BackendOptions,
    out: Annotated[str | None, flag(panel=OUTPUT, metavar="PATH")] = None,
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

    [bold]What it does[/bold]

    Both tables have the columns [bold]user, place, count[/bold], or one column for each place. A weight says how
    different two users are. The command finds the pairs with the smallest total weight, and proves it. With training,
    each pair has a probability of being right. If [bold]habitprint protect[/bold] wrote RELEASED, the attacker protects
    KNOWN in the same way.

    Parameters
    ----------
    released
        Table of counts that you publish: CSV, Parquet, Excel, DuckDB or SQLite; with Spark, Parquet.
    known
        Table of counts that the attacker has, with real ids.
    out
        File for all pairs, .csv or .parquet; with Spark, a folder.
    """
    files = (released, known)
    if backend.is_spark:
        _refuse_on_spark(files, spec, tables, options)
    else:
        check_outputs(*files, tables.truth, force=force, table=out)
    with ProgressBar() as progress, warnings.catch_warnings(), backend.opened(progress) as spark:
        warnings.simplefilter("ignore", hp.NoSharedPlaceWarning)  # it is one of the notes
        warnings.simplefilter("ignore", hp.NoCommonUserWarning)  # it is an error here
        if spark is None:
            found = _match_here(files, spec, tables, options, progress)
            if out is not None:
                progress("writing", 0, 1)
                write_table(found.pairs, out, overwrite=force, is_private=True)  # it identifies people
        else:
            found = _match_on_spark(files, spec, tables, options, spark, out, force, progress)
    matching, result = found.matching, found.result
    facts = {**found.facts, **{name: getattr(matching, name) for name in FACTS}}
    facts |= {
        "weight": matching.weight.name,
        "evaluation": None if result is None else result.to_json(),
        "out": out,
    }
    if spark is None:
        facts["pairs"] = found.pairs if out is None else None
    success = [] if result is None else about_evaluation(result)
    blocks: list[Block] = [terms(*found.about, *success), *([] if success else [Text(NO_TRUTH)])]
    if out is not None:
        blocks.append(Command(f"{counted(matching.size, 'pair')} written to", out))
    else:
        blocks += [Text(""), *_first_pairs(found.pairs, matching.size)]
    tell(facts, blocks, found.notes, as_json=as_json)


@dataclass(frozen=True)
class _Found:
    """A matching on this machine or on a cluster, with its evaluation, its pairs and its notes."""

    matching: "hp.Matching | SparkMatching"
    result: hp.Evaluation | None
    pairs: pl.DataFrame
    about: list[tuple[str, str]]
    facts: Mapping[str, object]
    notes: list[Note]


def _match_here(
    files: tuple[str, str], spec: TableSpec, tables: AttackOptions, options: hp.MatchOptions, progress: Progress
) -> _Found:
    both = tables.read(Path(files[0]), Path(files[1]), spec, progress)
    chosen = tables.choose(released=Path(files[0]), spec=spec, seed=options.seed, progress=progress)
    matching = hp.match(both.released, both.known, options=options, weight=chosen.weight, progress=progress)
    result = None if both.truth is None else hp.evaluate(matching, both.released, both.known, both.truth)
    pairs, notes = matching.to_table(), both.notes(chosen, result)
    if chosen.training is not None and options.method == "joint" and options.size is None:  # as in training
        here = chosen.training.for_tables(both.released, both.known, progress=progress)
        probabilities = here.probabilities(matching, both.released, both.known)
        pairs = pairs.with_columns(probability=pl.Series(probabilities))
        notes.append(Note("Each probability assumes that all users of the smaller table are also in the other table."))
    facts = {
        **both.to_json(),
        "direction": matching.direction if matching.method == "one-by-one" else None,
        "chosen": chosen.words,
    }
    shared = f"{_sizes_of(both.released)}, {n_shared_places(both.released, both.known):,} of them known"
    method = matching.method if matching.gap is not None else f"{matching.method}, {matching.direction}"
    about = [("released", shared), ("known", _sizes_of(both.known)), *_about_matching(matching, method)]
    return _Found(matching, result, pairs, about, facts, notes)


def _match_on_spark(
    files: tuple[str, str],
    spec: TableSpec,
    tables: AttackOptions,
    options: hp.MatchOptions,
    spark: "Spark",
    out: str | None,
    force: bool,
    progress: Progress,
) -> _Found:
    from habitprint.backends.spark.session import collect  # noqa: PLC0415 - an extra, and slow to load

    if out is not None:
        spark.refuse_outputs([out], files, overwrite=force)
    released, known = (spark.read_counts(name, spec.columns, progress) for name in files)
    truth = tables.truth if tables.truth_file is None else read_table(tables.truth_file)
    chosen = tables.choose(released=Path(files[0]), seed=options.seed, progress=progress)
    matching = hp.match(released, known, backend=spark, options=options, weight=chosen.weight, progress=progress)
    result = None if truth is None else matching.evaluate(truth, progress)
    if result is not None:
        require_common(result.n_common, str(tables.truth))
    if out is not None:
        spark.write_folders({out: matching.pairs}, overwrite=force, progress=progress)
    first = collect(matching.pairs.orderBy("weight", "released").limit(FIRST), "pairs", progress)
    sizes = matching.n_released, matching.n_known
    facts = {"released": {"n_users": sizes[0]}, "known": {"n_users": sizes[1]}, "rounds": matching.rounds}
    times, n_added = counted(len(matching.rounds), "time"), sum(one.n_added for one in matching.rounds)
    moved = f"{sum(one.n_bytes for one in matching.rounds) / 1e6:,.1f} MB moved"
    looked = ("on the cluster", f"all pairs looked at {times}, {n_added:,} brought here, {moved}")
    about = [(name, counted(n, "user")) for name, n in zip(("released", "known"), sizes, strict=True)]
    about += [*_about_matching(matching, matching.method), looked]
    notes = [Note(NO_SHARED_PLACE)] if matching.n_guesses == matching.size else []
    return _Found(matching, result, first, about, facts, notes)


def _refuse_on_spark(files: tuple[str, str], spec: TableSpec, tables: AttackOptions, options: hp.MatchOptions) -> None:
    """Raise `InputError` before any work if an option does not apply to a cluster."""
    used = given(spec, tables, options)
    refuse_on_spark(used, OF_FILES, "give Parquet tables with a row for each user and place")
    refuse_on_spark(used, ["--method one-by-one"], "leave it out, or match a sample on one machine")
    fix = "habitprint train A B --out weight.json, on tables of a sample; then --weight weight.json"
    refuse_on_spark(used, ["--train", "--weight auto"], fix)
    for file in () if tables.as_is else files:
        refuse_release(file)


def _first_pairs(pairs: pl.DataFrame, size: int) -> list[Block]:
    """Return the pairs with the smallest weights, and a note with the number of all others."""
    rows = [
        [str(pair["released"]), str(pair["known"]), "guess" if pair["is_guess"] else f"{pair['weight']:.4f}"]
        for pair in pairs.sort("weight", "released", maintain_order=True).head(FIRST).iter_rows(named=True)
    ]
    title, more = "The smallest weights", size - len(rows)
    left = [Text(f"… and {more:,} more pairs; --out writes them all.")] if more > 0 else []
    return [Heading(title), table(title, ["released", "known", "weight"], rows), *left]


def _about_matching(matching: "hp.Matching | SparkMatching", method: str) -> list[tuple[str, str]]:
    return [
        ("pairs", about_pairs(matching.size, matching.n_guesses)),
        ("total weight", f"{matching.total_weight:.10g}  ({matching.weight.name}, {method}, seed {matching.seed})"),
        ("proof", about_proof(matching.gap, matching.bound, matching.size)),
    ]


def _sizes_of(side: hp.Histograms) -> str:
    return f"{counted(side.n_users, 'user')}, {counted(side.n_places, 'place')}"


def path(
    released_file: Annotated[Path, typer.Argument(metavar="RELEASED")],
    known_file: Annotated[Path, typer.Argument(metavar="KNOWN")],
    spec: TableSpec,
    tables: AttackOptions,
    solver: SolverOptions,
    out: Annotated[Path | None, flag(panel=OUTPUT)] = None,
    plot: PlotOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show how the matching grows: the best pairs for every number of pairs.

    [bold]Examples[/bold]

    habitprint path week1.csv week2.csv --out path.csv

    habitprint path week1.csv week2.csv --truth same-id --plot path.svg

    habitprint path week3.csv week4.csv --truth same-id --weight auto --train week1.csv week2.csv

    [bold]What it does[/bold]

    One run computes the best matching of every size, and shows what each further pair adds. A large gain means that two
    users are similar, not that they are the same person. With --truth, it counts correct pairs for ten sizes. With
    --truth and training, it also counts the most confident pairs. If [bold]habitprint protect[/bold] wrote RELEASED,
    the attacker protects KNOWN in the same way.

    Parameters
    ----------
    released_file
        Table of counts that you publish: CSV, Parquet, Excel, DuckDB or SQLite.
    known_file
        Table of counts that the attacker has, with real ids.
    out
        File for a table of size, weight, gain and price, .csv or .parquet.
    """
    check_outputs(released_file, known_file, tables.truth, force=force, table=out, chart=plot)
    with ProgressBar() as progress, warnings.catch_warnings():
        warnings.simplefilter("ignore", hp.NoSharedPlaceWarning)  # it is one of the notes below
        found = tables.read(released_file, known_file, spec, progress)
        chosen = tables.choose(released=released_file, spec=spec, seed=solver.seed, progress=progress)
        every_size = hp.matching_path(
            found.released,
            found.known,
            weight=chosen.weight,
            seed=solver.seed,
            max_memory=solver.max_memory,
            progress=progress,
        )
        results = _count_correct(every_size, found, progress)
        most_confident = _count_confident(every_size, found, chosen, progress)
        outputs = [] if out is None else [table_output(every_size.to_table(), out)]
        if plot is not None:
            from habitprint.plots import chart_output  # noqa: PLC0415  (takes a second: only if needed)

            progress("drawing", 0, 1)
            outputs.append(chart_output(hp.plot_path(every_size, results, most_confident), plot))
        if outputs:
            progress("writing", 0, 1)
            write_all(outputs, overwrite=force)
    facts = {
        **found.to_json(),
        "weight": every_size.weight.name,
        "seed": every_size.seed,
        "evaluations": [result.to_json() for result in results] or None,
        "most_confident": most_confident or None,
        "out": out,
        "plot": plot,
        "path": every_size.to_table().to_dict(as_series=False) if out is None else None,
    }
    blocks = [*_about_path(every_size, results, most_confident), *written(out, plot)]
    tell(facts, blocks, found.notes(chosen, next(iter(results), None)), as_json=as_json)


def _about_path(
    every_size: hp.MatchingPath, results: Sequence[hp.Evaluation], most_confident: Sequence[hp.Rate]
) -> list[Block]:
    rates = {result.size: _cells(result.precision_rate) for result in results}
    rows: list[list[object]] = []
    for size in _shown_sizes(every_size):
        weight, price = every_size.total_weight[size - 1], every_size.price[size - 1]
        gain = f"{price:.4f} of {every_size.highest_gain:.4f}"
        rows.append([size, Cell(f"{weight:.6g}", weight), Cell(gain, price), *rates.get(size, ())])
    heads = ["pairs", "total weight", "gain of the last pair", *(OF_RATES if results else ())]
    blocks: list[Block] = [table("Best matchings", heads, rows)]
    if most_confident:
        title = "The most confident pairs, by training"
        rows = [[rate.n, *_cells(rate)] for rate in most_confident]
        blocks += [Text(""), Heading(title), table(title, ["pairs", *OF_RATES], rows)]
    return blocks if results else [*blocks, Text("No precision: give the true pairs with --truth.")]


def _cells(rate: hp.Rate | None) -> list[object]:
    return ["not defined", "", ""] if rate is None else [rate.value, rate.interval_words, percent(rate.by_chance)]


def _shown_sizes(every_size: hp.MatchingPath) -> list[int]:
    largest = len(every_size.sizes)
    return sorted({max(1, largest * part // N_SIZES) for part in range(1, N_SIZES + 1)})


def _count_correct(every_size: hp.MatchingPath, tables: Tables, progress: Progress) -> list[hp.Evaluation]:
    """Return how many of the best pairs are correct, for each of the sizes shown; nothing if the truth is not known."""
    sizes = [] if tables.truth is None else _shown_sizes(every_size)
    results = []
    for done, size in enumerate(sizes):
        progress("counting correct pairs", done, len(sizes))
        results.append(hp.evaluate(every_size.matching(size), every_size.released, every_size.known, tables.truth))
    return results


def _count_confident(
    every_size: hp.MatchingPath, tables: Tables, chosen: ChosenWeight, progress: Progress
) -> tuple[hp.Rate, ...]:
    """Return how many of the most confident pairs are correct; nothing without training or truth."""
    if chosen.training is None or tables.truth is None:
        return ()
    released, known = every_size.released, every_size.known
    largest = every_size.matching(len(every_size.sizes), progress)
    common = common_users(tables.truth, released.users, known.users)
    return confident_rates(
        chosen.training.for_tables(released, known, progress=progress).probabilities(largest, released, known),
        pair_chances(largest, released, known, common),
        _shown_sizes(every_size),
        by_chance=common.n / (released.n_users * known.n_users),
    )


def train(
    released_file: Annotated[Path, typer.Argument(metavar="A")],
    known_file: Annotated[Path, typer.Argument(metavar="B")],
    spec: TableSpec,
    tables: TableOptions,
    seed: SeedOption = 0,
    out: Annotated[Path | None, flag(panel=OUTPUT)] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train the attack on two tables whose true pairs are known.

    [bold]Examples[/bold]

    habitprint train april.parquet may.parquet --out weight.json

    habitprint match june.parquet july.parquet --weight weight.json

    [bold]What it does[/bold]

    An attacker can do this with two periods of their own data. The command tries all weights, and one that it trains on
    these people. It keeps the paper's weight unless true pairs are clearly more probable by another one that
    re-identifies as many people. Use the chosen weight with [bold]habitprint match --weight FILE[/bold]. For a
    protected release, first protect A in the same way (habitprint protect --keep-ids).

    Parameters
    ----------
    released_file
        Earlier table of counts of people whom the attacker knows.
    known_file
        Table of the same people in another period.
    out
        File for the chosen weight, .json.
    """
    if out is not None:
        check_target(out, overwrite=force)
        refuse_lost([out], [released_file, known_file, tables.truth])
    with ProgressBar() as progress:
        both = tables.read(released_file, known_file, spec, progress, needs_truth=True)
        found = hp.train(both.released, both.known, truth=both.truth, seed=seed, progress=progress)
    if out is not None:
        hp.write_weight(found.weight, out, overwrite=force)
    facts = {
        "best": found.best.outcome.name,
        "words": chosen_in_training(found),
        "trained": about_evidence(found.trained.by_kind),
        "n_people": found.trained.n_people,
        "seed": found.seed,
        "weights": [
            {"weight": each.weight.name, "log_likelihood": each.log_likelihood, "advantage": each.advantage}
            | {"standard_error": each.standard_error, "is_chosen": each is found.chosen}
            for each in found.scores
        ],
        "attacks": [
            {name: getattr(each.outcome, name) for name in ("name", "weight", "method", "direction")}
            | {"identified": each.rate.value, "interval": each.rate.interval}
            for each in found.attacks
        ],
        "out": out,
    }
    use = [] if out is None else [Command(f"{found.weight.name} written to {out}. Use it with", f"--weight {out}")]
    tell(facts, [*tell_training(found), *use], both.notes(), as_json=as_json)
