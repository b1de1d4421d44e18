"""``habitprint protect``: make a safer release, and say what it guarantees and what it costs."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import polars as pl
import typer
from rich.console import Console, RenderableType

from habitprint.arguments import is_release
from habitprint.attacks import Outcome, Scenario, full_suite, run_suite, strongest_of
from habitprint.auditing.advice import Advice, read_advice
from habitprint.auditing.risks import Risks
from habitprint.cli.open_events import counted_as, files_of, on_days, open_events, period_or, to_span
from habitprint.cli.options import ForceOption, JsonOption, Options, expanded
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import Screen, facts, print_json, print_note
from habitprint.cli.start import Start, find_earlier_key, go_on_from
from habitprint.cli.table_options import refuse_protected
from habitprint.errors import InputError
from habitprint.events import EventSpec
from habitprint.events.spec import SPAN
from habitprint.flags import ATTACKER, INPUT, OUTPUT, PROTECTIONS
from habitprint.formatting import at_most, counted, number, percent
from habitprint.histograms import Histograms, TableSpec, read_histograms
from habitprint.io.count_tables import COLUMNS
from habitprint.io.dialects import Expected
from habitprint.io.files import real_path
from habitprint.io.tables import READERS, read_names
from habitprint.losses import HALVES_SEED, SCALES
from habitprint.mappings import Unknown
from habitprint.mechanisms import (
    Check,
    GuaranteedRisk,
    InputFile,
    Losses,
    Mechanism,
    Microaggregate,
    Recipe,
    Release,
    chain,
    check_guarantees,
    from_flags,
    guaranteed_risk,
    pseudonymise,
    totals_exposure,
)
from habitprint.mechanisms.files import check_release_target, key_file, owner_file, sidecar, write_checked
from habitprint.mechanisms.groups.distances import Loss
from habitprint.mechanisms.groups.microaggregation import Method
from habitprint.mechanisms.guarantees import Unit
from habitprint.mechanisms.traces import is_grouped, looks_protected
from habitprint.mechanisms.units import UNITS
from habitprint.periods import AllOtherTime, DateRanges, HalvesOfRows, Period, Span, count_release, split
from habitprint.periods.periods import to_range
from habitprint.progress import Progress
from habitprint.truth import SAME_ID
from habitprint.wording.data import about_totals
from habitprint.wording.findings import words_of
from habitprint.wording.risks import bound_in_short, risk_lines

UserIds = Literal["fresh", "original", "earlier"]
FOR_ADVICE = {"--pseudonyms", "--keep-ids", "--earlier-key"}  # options that go with what an audit advises


@dataclass(frozen=True)
class ProtectionOptions(Options, panel=PROTECTIONS):
    """Options for the protection of a table, applied in the order of the numbers."""

    coarsen: Annotated[
        Path | None, typer.Option(help="1. Put places together: a table with the columns place, to.")
    ] = None
    unknown_places: Annotated[
        Unknown, typer.Option(help="Coarsening only: refuse places that are not in the table, or leave them out.")
    ] = "refuse"
    merge_rare: Annotated[
        int | None, typer.Option(help="2. Keep so many places, the most popular, and make one of all others.")
    ] = None
    top_places: Annotated[int | None, typer.Option(help="3. Keep only so many places, the most popular.")] = None
    limit_contribution: Annotated[int | None, typer.Option(help="4. Let each user add at most so many counts.")] = None
    epsilon: Annotated[
        float | None, typer.Option(help="5. Add noise for differential privacy with this ε (needs the extra dp).")
    ] = None
    unit: Annotated[
        Unit, typer.Option(help="Noise only: hide one event, or all of a user (then limit the contribution).")
    ] = "user"
    delta: Annotated[float, typer.Option(help="Noise only: the probability that the promise fails.")] = 0.0
    suppress_below: Annotated[float | None, typer.Option(help="6. Leave out counts below this.")] = None
    round_to: Annotated[float | None, typer.Option(help="7. Round counts to multiples of this.")] = None
    k: Annotated[int | None, typer.Option(help="8. Micro-aggregate: groups of at least so many users.")] = None
    mean_k: Annotated[
        float | None,
        typer.Option(help="Micro-aggregation only: and of so many on average; groups of like people grow larger."),
    ] = None
    units: Annotated[
        int,
        typer.Option(help="Micro-aggregation only: whole units that each person contributes; fewer hide more."),
    ] = UNITS
    least_members: Annotated[
        int,
        typer.Option(help="Micro-aggregation only: members of a group who must have been at a place to publish it."),
    ] = 1
    exact_means: Annotated[
        bool,
        typer.Option(
            "--exact-means",
            help="Micro-aggregation only: publish exact means, as in the paper. They can be taken apart: not for "
            "publication.",
        ),
    ] = False
    loss: Annotated[Loss, typer.Option(help="Micro-aggregation only: which loss to keep small.")] = "l1"
    method: Annotated[Method, typer.Option(help="Micro-aggregation only: how to find groups.")] = "best"
    shares: Annotated[
        bool, typer.Option("--shares", help="9. Release shares instead of counts, so that no total is stated.")
    ] = False
    key: Annotated[
        Path | None,
        typer.Option(
            "--pseudonyms",
            help="10. Fresh random ids are given out anyway: write their key to this file, and not beside the release.",
            metavar="KEY",
        ),
    ] = None
    keep_ids: Annotated[bool, typer.Option("--keep-ids", help="Release the user ids of the input after all.")] = False
    earlier_key: Annotated[
        Path | None,
        typer.Option(
            help="Of an input that is a release: its key, so that the new key leads to the original ids; default: the "
            "key beside it.",
            metavar="KEY",
        ),
    ] = None

    @property
    def recipe(self) -> Recipe:
        """Return what is applied, in its order; fresh ids come last and by themselves.

        Examples
        --------
        >>> ProtectionOptions(suppress_below=2.0, round_to=5.0).recipe
        (SuppressBelow(threshold=2), RoundTo(base=5))
        """
        return from_flags({given.name: given.value for given in self.given})


@dataclass(frozen=True)
class Protected:
    """What was protected, what came of it, what that costs, and where it was written, if it was.

    `advice` is what was followed; `attacked` the strongest attack with what somebody knows, and `measured` what else
    was measured with it; None if none was given.
    `span` is the time of the events that were counted; None for a table of counts.
    """

    start: Start
    release: Release
    losses: Losses
    checks: list[Check]
    out: Path | None
    key: Path | None
    advice: Advice | None
    attacked: Outcome | None
    measured: Risks | None
    span: Span | None

    @property
    def ids(self) -> UserIds:
        """Return whose ids the users have: fresh ones, those of the original, or those of the release before."""
        if self.release.has_fresh_ids:
            return "fresh"
        return "original" if self.release.has_original_ids else "earlier"

    @property
    def guaranteed(self) -> GuaranteedRisk | None:
        """Return what nobody can exceed; None where ids may tell who is who."""
        return guaranteed_risk(self.release) if self.release.has_fresh_ids else None

    @property
    def has_exact_means(self) -> bool:
        """Return whether groups publish exact means, which can be taken apart."""
        done = [step.mechanism for step in self.release.steps]
        return any(isinstance(each, Microaggregate) and each.units is None for each in done)

    @property
    def risks(self) -> Risks:
        """Return the three lines about what was written."""
        if self.measured is None:
            return Risks(self.guaranteed, is_grouped=is_grouped(self.release))
        return replace(self.measured, guaranteed=self.guaranteed)

    @property
    def n_places(self) -> int:
        """Return how many places a reader of the release sees: those that nobody visits any more are not written."""
        return len(np.unique(self.release.histograms.counts.indices))


@expanded
def protect(
    file: Annotated[
        str,
        typer.Argument(
            help="What is to be protected: a table of counts, CSV, Parquet, Excel, DuckDB or SQLite; with the advice "
            "of an audit of events, such events too.",
            metavar="HISTOGRAMS | EVENTS",
        ),
    ],
    *,
    table: TableSpec,
    options: ProtectionOptions,
    advice: Annotated[
        Path | None,
        typer.Option(
            help="The folder of an audit: do what it advises, instead of the options above.",
            rich_help_panel=PROTECTIONS,
            metavar="AUDIT",
        ),
    ] = None,
    release: Annotated[
        str | None,
        typer.Option(
            help="Of events: the days to be released; default: those that were audited.",
            rich_help_panel=INPUT,
            metavar=SPAN,
        ),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(
            help="What somebody knows of the same people from another time: attack the release with it. Of events, "
            "by default what was known in the audit.",
            rich_help_panel=ATTACKER,
            metavar="KNOWN",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the release to this .csv or .parquet file; beside it what was done (.json, to be published), "
            "and what is yours alone (.owner.json, .key.csv).",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Protect a table of histograms before it is released.

    Whatever is asked for is applied in the order of the numbers.
    A release that was written before is protected further: the new one tells all steps.
    With the advice of an audit, its events can be given as they are:
    they are read and counted as they were for the audit, everybody in the days of the release.
    Users get fresh random ids, from a secure source and without a seed.
    The guarantees are checked on the file that was written, and again at any time by [bold]habitprint check[/bold].

    [bold]Examples[/bold]

    habitprint protect calls.parquet --advice audit --out safer.parquet

    habitprint protect week1.csv --advice audit --known week2.csv --out safer.parquet

    habitprint protect week1.csv --k 10 --loss l1 --out safer.parquet

    habitprint protect week1.csv --merge-rare 200 --suppress-below 3 --shares --out safer.csv
    """
    told = None if advice is None else read_advice(advice)
    mechanism = chain(*_asked_for(options, out)) if told is None else _advised(told, options)
    key = None if out is None or options.keep_ids else options.key or key_file(out)
    files = [Path(file)] if told is None or told.events is None else files_of(file)
    events = None if told is None else events_of(told, files, release, table)
    goes_on = events is None and is_release(files[0])
    earlier_key = find_earlier_key(files[0], options.earlier_key, is_release=goes_on)
    beside = [sidecar(files[0]), owner_file(files[0]), earlier_key] if goes_on else []
    _check_files(key, out, *files, *beside, options.coarsen, known, force=force)
    if release is not None and events is None:
        raise InputError(
            "--release without events",
            why="it says which days of events are counted",
            fix="give the events that were audited and --advice, or leave it out",
        )
    notes = Screen(stderr=True)
    with ProgressBar(notes) as progress:
        progress("reading", 0, 1)
        if known is not None:
            refuse_protected(known)
        theirs = None if known is None else read_histograms(known, table)
        span = None
        if events is not None:
            counted_now = events.count(file, progress)
            start, span = Start.of(counted_now.released), events.span
            theirs = counted_now.known if theirs is None else theirs
        else:
            counts, read = read_histograms(files[0], table), partial(read_histograms, spec=table)
            start = go_on_from(files[0], counts, earlier_key, read) if goes_on else Start.of(counts)
        made = mechanism(start.release, progress=progress)
        progress("measuring the loss", 0, 1)
        losses = start.measure(made, theirs, mechanism)
        attacked = None if theirs is None else _attack(made, theirs, progress)
        measured = None if theirs is None else start.measure_risks(made, theirs, progress)
        keys: dict[Path, pl.DataFrame] = {}
        if options.keep_ids:
            made = start.with_ids_of_file(made)
        else:
            made, table_of_ids = pseudonymise(made)
            keys = {} if key is None else {key: table_of_ids}
        if out is None:
            checks = check_guarantees(made)
        else:
            inputs = [InputFile.of(each) for each in (*files, options.coarsen) if each is not None]
            owner = start.owner
            # What counts is what was written, not what was meant.
            checks = write_checked(
                made,
                out,
                keys,
                losses=losses if start.is_against_original else None,
                inputs=inputs if owner is None else [*owner.inputs, *inputs],
                earlier_keys=owner.keys if owner is not None and options.keep_ids else (),
                leads_to_original=start.leads_to_original and (options.keep_ids or start.has_original_ids),
                overwrite=force,
            )
    done = Protected(start, made, losses, checks, out, key, told, attacked, measured, span)
    _note(done, notes)
    if as_json:
        print_json(_to_json(done))
    else:
        _tell(done, Screen())


def _note(done: Protected, notes: Console) -> None:
    """Say what to look at before the file goes out."""
    told, guaranteed = done.advice, done.guaranteed
    n_users = done.start.release.histograms.n_users
    if done.ids == "original":
        print_note(notes, "the release has the original user ids, as --keep-ids asks for.")
    if done.ids == "earlier":
        print_note(
            notes,
            "the release has the user ids of the release that it was made from, as --keep-ids asks for. Anybody who "
            "has both tables can join them.",
        )
    if done.key is not None and not done.start.has_original_ids:
        print_note(
            notes,
            "the key leads to the user ids of the release that this one was made from, not to the original ones. Give "
            "the key to that release: --earlier-key OUT.key.csv.",
        )
    if done.start.earlier is None:
        for found in looks_protected(done.start.release.histograms):
            print_note(notes, words_of(found), mark="warning")
    if told is not None and told.scope.n_released != n_users:
        print_note(
            notes,
            f"the advice is from an audit of {told.scope.n_released:,} people in the release; "
            f"this table has {n_users:,}. Audit what was written.",
        )
    if (
        told is not None
        and told.decide == "guaranteed"
        and guaranteed is not None
        and not guaranteed.is_within(told.target)
    ):
        print_note(
            notes,
            f"it is not guaranteed that this file meets the target of the audit, {percent(told.target)}: "
            f"{bound_in_short(guaranteed)}. Audit it before it goes out.",
            mark="warning",
        )
    if done.has_exact_means:
        print_note(
            notes,
            "exact means of groups can be taken apart: do not publish this table. Leave out --exact-means for one that "
            "may be published.",
            mark="warning",
        )
    taken = None if done.measured is None else done.measured.reconstruction
    if told is not None and taken is not None and not taken.is_within(told.target):
        print_note(
            notes,
            f"own rows can be reconstructed from this file for up to {at_most(taken.rate.high)} of people, above the "
            f"target of the audit, {percent(told.target)}. Protect again with --least-members 2, or larger groups.",
            mark="warning",
        )
    measured_on = "the original" if done.start.is_against_original else "the table that was protected further"
    print_note(notes, f"what follows was measured on {measured_on}: not for publication.")


def _advised(advice: Advice, options: ProtectionOptions) -> Mechanism:
    """Return what an audit advises, and refuse to do anything else besides."""
    others = [given.name for given in options.given if given.name not in FOR_ADVICE]
    if others:
        raise InputError(
            f"--advice and {others[0]}",
            why="the audit has tested what it advises, and nothing else",
            fix=f"leave out {' and '.join(others)}, or --advice",
        )
    return advice.mechanism


@dataclass(frozen=True)
class Counted:
    """The released table, and the attacker's data; None where the latter is not known apart from the release."""

    released: Histograms
    known: Histograms | None


@dataclass(frozen=True)
class EventsToProtect:
    """The way from events to the released table, as an audit had it.

    Parameters
    ----------
    spec
        How they are read.
    period
        Which of them are released, and which are known.
    span
        Which time is released.
    is_known_apart
        Whether what is known is of other days, so that an attack with it says something.
    """

    spec: EventSpec
    period: Period
    span: Span
    is_known_apart: bool

    def count(self, files: str, progress: Progress) -> Counted:
        """Read and count the events: everybody in the days of the release."""
        events, active, count = open_events(files, self.spec).events, self.spec.active, counted_as(self.spec)
        if not self.is_known_apart:
            return Counted(count_release(events, self.period, active=active, count=count), None)
        parts = split(events, self.period, users="all", active=active, count=count, progress=progress)
        return Counted(parts.released, parts.known)


def events_of(advice: Advice, files: Sequence[Path], release: str | None, table: TableSpec) -> EventsToProtect | None:
    """Return how files are counted that are events, as an audit had it; None where they are a table of counts.

    Examples
    --------
    >>> import habitprint as hp
    >>> advice = hp.audit(hp.datasets.town(12, 5), target=0.2, noise=False).advice
    >>> events_of(advice, [Path("week1.csv")], None, TableSpec()) is None
    True
    """
    if advice.events is None or _is_table(files, advice.events, table):
        return None
    spec, scope = advice.events, advice.scope
    if release is None:
        chosen = scope.released.one_range, scope.known.one_range
        # What the audit chose for itself is in its scope.
        otherwise = HalvesOfRows() if chosen[0] is None or chosen[1] is None else DateRanges(chosen[0], chosen[1])
        return EventsToProtect(spec, period_or(spec, otherwise), scope.released, is_known_apart=True)
    days = to_range("--release", to_span(release))
    known, span = scope.known.one_range, Span.between(*days)
    is_apart = known is not None and (days[1] < known[0] or known[1] < days[0])
    if not is_apart and advice.decide != "guaranteed":
        raise InputError(
            f"--release: {span.words} overlaps what the adversary knows ({scope.known.words})",
            why="what is advised was only measured, with an adversary who knows other days than are released",
            fix="release days that the attacker does not know; or audit with --decide guaranteed",
        )
    period = DateRanges(days, known) if is_apart and known is not None else AllOtherTime(released=days)
    chosen_days = period if spec.days is None else on_days(spec.days, period)
    return EventsToProtect(spec, chosen_days, span, is_known_apart=is_apart)


def _is_table(files: Sequence[Path], spec: EventSpec, table: TableSpec) -> bool:
    """Tell a table of counts from events, by its columns."""
    if len(files) != 1 or files[0].suffix.lower() not in READERS:
        return False
    try:
        names = set(read_names(files[0], asked=table, expected=Expected(columns=table.columns)))
    except InputError:  # whoever reads it says what is wrong
        return False
    return (set(table.columns) <= names or set(COLUMNS) <= names) and spec.time not in names


def _attack(release: Release, known: Histograms, progress: Progress) -> Outcome:
    """Return the strongest attack on a release before it gets fresh ids, which tell who is who."""
    tables = Scenario(release.histograms.in_order(), known.in_order(), SAME_ID, release.steps)
    if tables.common.n == 0:
        raise InputError(
            "--known: nobody is in both tables",
            why="then nobody could be identified, however good the attack",
            fix="give a table of the same people, with the same ids, from another time; of a release with fresh ids, "
            "give its key too: --earlier-key OUT.key.csv",
        )
    return strongest_of(run_suite(tables, full_suite(exact=False), progress=progress).outcomes)


def _asked_for(options: ProtectionOptions, out: Path | None) -> Recipe:
    """Return what was asked for, and refuse what makes no sense, before the long work."""
    recipe = options.recipe
    if not recipe and options.key is None:
        raise InputError(
            "no protection was asked for",
            why="the release would be the original",
            fix="give at least one, such as --k 10 or --suppress-below 3; habitprint protect --help lists them",
        )
    if out is None and options.key is not None:
        raise InputError(
            "--pseudonyms without --out",
            why="a key belongs to the release that was written with it",
            fix="say where to write the release: --out safer.parquet",
        )
    if options.keep_ids and options.key is not None:
        raise InputError(
            "--pseudonyms and --keep-ids",
            why="users have either fresh ids, to which there is a key, or their own",
            fix="leave one of them out",
        )
    return recipe


def _check_files(key: Path | None, out: Path | None, *inputs: Path | None, force: bool) -> None:
    """Refuse files that cannot be written, or that would be lost."""
    if out is None:
        return
    outputs = [out, sidecar(out), owner_file(out), *([] if key is None else [key])]
    check_release_target(out, key=key, overwrite=force)
    taken = {real_path(path) for path in inputs if path is not None}
    for path in outputs:
        if real_path(path) in taken:
            raise InputError(
                f"{path} is used twice",
                why="one of the two files would be lost",
                fix="choose another name",
            )
        taken.add(real_path(path))


def _tell(done: Protected, screen: Console) -> None:
    screen.print(_describe(done))
    if done.out is not None:
        use = "not for publication" if done.has_exact_means else "to be published"
        for written in (
            f"{use}: {done.out}, and what was done: {sidecar(done.out)}",
            f"for you alone: {owner_file(done.out)}"
            + ("" if done.key is None else f", and the key {done.key}; keep it apart from the release"),
        ):
            screen.print(written, soft_wrap=True, markup=False)


def _describe(done: Protected) -> RenderableType:
    start, losses = done.start, done.losses
    where = "this release" if done.out is None else f"{done.out.name} as written"
    rows = [] if done.span is None else [("events of", done.span.words)]
    if start.earlier is not None:
        rows.append(("goes on from", f"a release, after {counted(len(start.release.steps), 'step')}"))
    size = f"{counted(start.against.n_users, 'user')}, {counted(start.against.n_places, 'place')}"
    rows.append(("original" if start.is_against_original else "that release", size))
    rows += [(f"step {number}", step.in_full) for number, step in enumerate(done.release.steps, 1)]
    n_users = f"{losses.n_users_kept:,} of {counted(losses.n_users, 'user')}"
    rows.append(("release", f"{n_users}, {counted(done.n_places, 'place')}"))
    for check in done.checks:
        rows.append(("guarantee", check.guarantee.words))
        rows.append(("", f"verified on {where}: {check.words}" if check.holds else check.words))
    if not done.checks:
        rows.append(("guarantee", "none"))
    rows += risk_lines(done.risks)
    if done.attacked is not None:
        rate = done.attacked.rate
        rows.append(("measured", f"{number(rate.n_correct)} of {counted(rate.n, 'person', 'people')}: {rate.words}"))
        rows.append(("", f"by the strongest attack, {done.attacked.name}"))
    if done.advice is not None:
        rows.append(("advised", f"{done.advice.label}, for a target of {percent(done.advice.target)}"))
    rows += _describe_losses(losses)
    if not start.is_against_original:
        rows.append(("", "against the release that was protected further; losses before that are not known here"))
    rows.append(("totals", about_totals(totals_exposure(done.release))))
    return facts(rows)


def _describe_losses(losses: Losses) -> list[tuple[str, str]]:
    value = "not defined" if losses.information_loss is None else f"{losses.information_loss:.4f}"
    counts = "" if losses.count_totals_error is None else f"; of counts {percent(losses.count_totals_error)}"
    return [
        ("information loss", f"{value}  ({SCALES['patterns'].ends})"),
        ("predictive value", _describe_prediction(losses)),
        ("totals per place", f"off by {percent(losses.totals_error)}, every user counting once{counts}"),
        (
            f"top {counted(losses.n_top, 'place')}",
            f"{percent(losses.top_places_missed)} missed; {percent(losses.ranking_error)} of their pairs swapped",
        ),
    ]


def _describe_prediction(losses: Losses) -> str:
    if losses.predictive_value is None:
        return f"not measured ({losses.predicted_on})"
    on = f"{losses.predicted_on}, seed {HALVES_SEED}" if losses.predicted_on == "held-out-events" else "other-period"
    return f"{percent(losses.predictive_value)} kept  ({on})"


def _to_json(done: Protected) -> dict[str, Any]:
    start = done.start
    return {
        "original": {"n_users": start.against.n_users, "n_places": start.against.n_places},
        "release_span": None if done.span is None else done.span.words,
        "release": {"n_users": done.release.histograms.n_users, "n_places": done.n_places},
        "user_ids": done.ids,
        "goes_on_from": None if start.earlier is None else {"n_steps": len(start.release.steps)},
        "findings": [] if start.earlier else [asdict(each) for each in looks_protected(start.release.histograms)],
        "steps": [
            {
                "mechanism": msgspec.to_builtins(step.mechanism.published),
                "words": step.words,
                "found": step.found,
                "findings": dict(step.findings),
            }
            for step in done.release.steps
        ],
        "guarantees": checks_to_json(done.checks),
        "verified_on": "this release" if done.out is None else str(done.out),
        "guaranteed": None if done.guaranteed is None else asdict(done.guaranteed),
        "reconstruction": None if done.risks.reconstruction is None else asdict(done.risks.reconstruction),
        "attribution": None if done.risks.attribution is None else asdict(done.risks.attribution),
        "measured": None if done.attacked is None else asdict(done.attacked.rate),
        "advised": None if done.advice is None else done.advice.label,
        "losses": asdict(done.losses),
        "losses_against": "original" if start.is_against_original else "release",
        "totals_exposure": asdict(totals_exposure(done.release)),
        "out": None if done.out is None else str(done.out),
        "sidecar": None if done.out is None else str(sidecar(done.out)),
        "owner": None if done.out is None else str(owner_file(done.out)),
        "key": None if done.key is None else str(done.key),
        "key_leads_to": None if done.key is None else "original" if start.has_original_ids else "release",
    }


def checks_to_json(checks: list[Check]) -> list[dict[str, Any]]:
    """Return guarantees, whether they hold and how that was found out.

    Examples
    --------
    >>> from habitprint.mechanisms import SmallestCount
    >>> checks_to_json(check_guarantees(Histograms.from_strings({1: "a"}), [SmallestCount(1)]))[0]["holds"]
    True
    """
    return [
        {
            **msgspec.to_builtins(check.guarantee),
            "words": check.guarantee.words,
            "holds": check.holds,
            "verified_by": check.words,
        }
        for check in checks
    ]
