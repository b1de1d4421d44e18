"""``habitprint protect``: make a safer release, check it on the file, and say what it guarantees and what it costs."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np
import polars as pl
import typer

from habitprint.arguments import is_release
from habitprint.attacks import Outcome, Scenario, full_suite, run_suite, strongest_of
from habitprint.auditing.reconstruction import Risks
from habitprint.auditing.verdict import Advice, read_advice
from habitprint.cli.open_events import files_of
from habitprint.cli.options import ForceOption, JsonOption, expanded, given
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import Screen, facts, print_json, print_note
from habitprint.cli.start import Start, events_of, find_earlier_key, go_on_from
from habitprint.cli.table_options import refuse_protected
from habitprint.errors import InputError
from habitprint.events.spec import SPAN
from habitprint.flags import ATTACKER, INPUT, MAIN, OUTPUT, PROTECTIONS, Record, flag
from habitprint.formatting import counted, number, percent
from habitprint.histograms import Histograms, TableSpec, read_histograms
from habitprint.io.files import real_path
from habitprint.mappings import Unknown
from habitprint.mechanisms import (
    Check,
    GuaranteedRisk,
    InputFile,
    Losses,
    Mechanism,
    Recipe,
    Release,
    chain,
    check_guarantees,
    from_flags,
    guaranteed_risk,
    pseudonymise,
    totals_exposure,
)
from habitprint.mechanisms.exposure import is_grouped, looks_protected
from habitprint.mechanisms.files import check_release_target, key_file, owner_file, sidecar, write_checked
from habitprint.mechanisms.groups.microaggregation import UNITS, Method
from habitprint.mechanisms.groups.table import Loss
from habitprint.mechanisms.guarantees import Unit
from habitprint.periods import Span
from habitprint.progress import Progress
from habitprint.truth import SAME_ID
from habitprint.wording.findings import words_of
from habitprint.wording.releases import (
    about_check,
    about_costs,
    about_guarantee,
    about_mechanism,
    about_note,
    about_step,
    about_totals,
    loss_lines,
    risk_lines,
    tell_release,
)

UserIds = Literal["fresh", "original", "earlier"]
GROUPS, NOISE, IDS = "Protections: groups (--k)", "Protections: noise (--epsilon)", "User ids"


class ProtectionOptions(Record, frozen=True, kw_only=True):
    """Options for the protection of a table; `from_flags` knows the order in which they are applied."""

    k: Annotated[
        int | None, flag("Least number of people in a group; each row becomes the mean of its group.", MAIN)
    ] = None
    shares: Annotated[bool, flag("Release shares instead of counts, so that no total is stated.", MAIN)] = False
    suppress_below: Annotated[float | None, flag("Smallest count that stays in the table.", PROTECTIONS)] = None
    round_to: Annotated[float | None, flag("Number to whose multiples counts are rounded.", PROTECTIONS)] = None
    merge_rare: Annotated[
        int | None, flag("Number of most popular places that stay; all others become one place.", PROTECTIONS)
    ] = None
    top_places: Annotated[
        int | None, flag("Number of most popular places that stay; all others are left out.", PROTECTIONS)
    ] = None
    coarsen: Annotated[
        Path | None, flag("Table with the columns place, to: the coarser place of each place.", PROTECTIONS)
    ] = None
    unknown_places: Annotated[
        Unknown, flag("Places that the table of --coarsen lacks: stop with an error, or leave them out.", PROTECTIONS)
    ] = "refuse"
    limit_contribution: Annotated[int | None, flag("Largest total of one user.", PROTECTIONS)] = None
    mean_k: Annotated[float | None, flag("Least number of people in a group on average; at least k.", GROUPS)] = None
    units: Annotated[int, flag("Whole units that each person contributes; fewer hide more.", GROUPS)] = UNITS
    least_members: Annotated[
        int, flag("Members of a group who visited a place before the group publishes it.", GROUPS)
    ] = 1
    exact_means: Annotated[
        bool, flag("Publish the paper's exact means. They can be taken apart: not for publication.", GROUPS)
    ] = False
    loss: Annotated[Loss, flag("Loss that the groups minimise.", GROUPS)] = "l1"
    method: Annotated[Method, flag("Method that finds the groups.", GROUPS)] = "best"
    epsilon: Annotated[
        float | None, flag("Privacy loss ε of differential privacy; smaller is safer. Needs the extra dp.", NOISE)
    ] = None
    unit: Annotated[
        Unit, flag("Unit that the noise hides: one event, or one user (with --limit-contribution).", NOISE)
    ] = "user"
    delta: Annotated[float, flag("Probability δ that differential privacy fails.", NOISE)] = 0.0
    key: Annotated[
        Path | None,
        flag("File for the key to the fresh ids; default: OUT.key.csv.", IDS, names=("--pseudonyms",), metavar="KEY"),
    ] = None
    keep_ids: Annotated[bool, flag("Keep the user ids of the input. Then nothing is guaranteed.", IDS)] = False
    earlier_key: Annotated[
        Path | None,
        flag("Key to an input that is itself a release; default: the key beside it.", IDS, metavar="KEY"),
    ] = None

    def recipe(self, out: Path | None) -> Recipe:
        """Return the mechanisms in their order; fresh ids come last and by themselves.

        Examples
        --------
        >>> ProtectionOptions(suppress_below=2.0, round_to=5.0).recipe(None)
        (SuppressBelow(threshold=2), RoundTo(base=5))
        """
        recipe = from_flags({each.name: each.value for each in given(self)})
        if not recipe and self.key is None:
            raise InputError(
                "no protection was given",
                why="the release would be the original",
                fix="give at least one, such as --k 10; habitprint protect --help lists them",
            )
        if out is None and self.key is not None:
            raise InputError(
                "--pseudonyms without --out",
                why="a key belongs to the release that was written with it",
                fix="name the file for the release: --out safer.parquet",
            )
        if self.keep_ids and self.key is not None:
            raise InputError(
                "--pseudonyms and --keep-ids",
                why="users have either fresh ids with a key, or their own ids",
                fix="leave one of them out",
            )
        return recipe

    def advised(self, advice: Advice) -> Mechanism:
        """Return the protection that an audit recommends, and refuse others beside it."""
        for_ids = {"--pseudonyms", "--keep-ids", "--earlier-key"}
        others = [each.name for each in given(self) if each.name not in for_ids]
        if others:
            raise InputError(
                f"--advice and {others[0]}",
                why="the audit has tested only the protection that it recommends",
                fix=f"leave out {' and '.join(others)}, or --advice",
            )
        return advice.mechanism


class Note(NamedTuple):
    """A caution about a release, as a code with its numbers."""

    code: str
    numbers: dict[str, float] = {}  # noqa: RUF012  (nobody changes it)
    is_warning: bool = False


@dataclass(frozen=True)
class Protected:
    """A release, its checks and losses, and the files that hold it.

    Parameters
    ----------
    start, span
        The table that was protected, and the time of its events; None for a table of counts.
    release, losses, checks
        The release, its losses, and its guarantees as checked on the file.
    out, key
        The files of the release and of its key; None where they were not written.
    advice
        The advice that was followed, if any.
    attacked, measured
        The strongest attack with the attacker's data, and the other risks that were measured with it; None without.
    """

    start: Start
    span: Span | None
    release: Release
    losses: Losses
    checks: list[Check]
    out: Path | None
    key: Path | None
    advice: Advice | None
    attacked: Outcome | None
    measured: Risks | None

    @property
    def ids(self) -> UserIds:
        """Return whose ids the users have: fresh ones, those of the original, or those of the release before."""
        if self.release.has_fresh_ids:
            return "fresh"
        return "original" if self.release.has_original_ids else "earlier"

    @property
    def guaranteed(self) -> GuaranteedRisk | None:
        """Return the guaranteed risk; None where ids may tell who is who."""
        return guaranteed_risk(self.release) if self.release.has_fresh_ids else None

    @property
    def risks(self) -> Risks:
        """Return the three risks of the table that was written."""
        if self.measured is None:
            return Risks(self.guaranteed, is_grouped=is_grouped(self.release))
        return replace(self.measured, guaranteed=self.guaranteed)

    @property
    def n_places(self) -> int:
        """Return the number of places in the file: places without visits are not written."""
        return len(np.unique(self.release.histograms.counts.indices))

    @property
    def notes(self) -> list[Note]:
        """Return the cautions to read before the file is published."""
        told, n_users = self.advice, self.start.release.histograms.n_users
        found: list[Note] = []
        if self.ids != "fresh":
            found.append(Note("original-ids" if self.ids == "original" else "earlier-ids"))
        if self.key is not None and not self.start.has_original_ids:
            found.append(Note("key-leads-to-release"))
        if told is not None:
            if told.scope.n_released != n_users:
                found.append(Note("other-people", {"n_audited": told.scope.n_released, "n_users": n_users}))
            limit, guaranteed = {"target": told.target}, self.guaranteed
            if told.decide == "guaranteed" and guaranteed is not None and not guaranteed.is_within(told.target):
                found.append(Note("guarantee-above-target", limit | asdict(guaranteed), is_warning=True))
            taken = None if self.measured is None else self.measured.reconstruction
            if taken is not None and not taken.is_within(told.target):
                found.append(Note("reconstruction-above-target", limit | {"high": taken.rate.high}, is_warning=True))
        if totals_exposure(self.release).has_exact_means:
            found.append(Note("exact-means", is_warning=True))
        found.append(Note("measured-on-original" if self.start.is_against_original else "measured-on-release"))
        return found


@expanded
def protect(
    file: Annotated[
        str,
        typer.Argument(
            help="Table of counts: CSV, Parquet, Excel, DuckDB or SQLite. Or, with --advice, the events that were "
            "audited.",
            metavar="HISTOGRAMS | EVENTS",
        ),
    ],
    *,
    advice: Annotated[
        Path | None,
        typer.Option(
            help="Folder of an audit: apply the protection that it recommends.", rich_help_panel=MAIN, metavar="AUDIT"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File for the release, .csv or .parquet. OUT.json beside it is to be published; OUT.owner.json and "
            "OUT.key.csv are yours alone.",
            rich_help_panel=MAIN,
        ),
    ] = None,
    options: ProtectionOptions,
    known: Annotated[
        Path | None,
        typer.Option(
            help="Table of counts of the attacker, from another period: attack the release with it. With events, "
            "default: the period that the attacker knew in the audit.",
            rich_help_panel=ATTACKER,
            metavar="KNOWN",
        ),
    ] = None,
    release: Annotated[
        str | None,
        typer.Option(
            help="Days of the events to be released; default: the days that were audited.",
            rich_help_panel=INPUT,
            metavar=SPAN,
        ),
    ] = None,
    table: TableSpec,
    force: ForceOption = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Print findings, checks and all losses too.", rich_help_panel=OUTPUT),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Protect a table of counts before you publish it.

    [bold]Examples[/bold]

    habitprint protect calls.parquet --advice audit --out safer.parquet

    habitprint protect week1.csv --advice audit --known week2.csv --out safer.parquet

    habitprint protect week1.csv --k 10 --out safer.parquet

    habitprint protect week1.csv --merge-rare 200 --suppress-below 3 --shares --out safer.csv

    [bold]What it does[/bold]

    Protections are applied in this order: places (coarsen, merge-rare, top-places), limit-contribution, epsilon,
    suppress-below, round-to, k, shares. A release can be protected further: the new one lists all steps.

    With the advice of an audit, give the same events: they are read and counted as in the audit.

    Users get fresh random ids from a secure source, without a seed. The guarantees are checked on the file before it
    gets its name, and again at any time by [bold]habitprint check[/bold].
    """
    told = None if advice is None else read_advice(advice)
    mechanism = chain(*options.recipe(out)) if told is None else options.advised(told)
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
            why="it selects the days of events that are counted",
            fix="give the events that were audited and --advice, or leave it out",
        )
    screen = Screen(stderr=True)
    with ProgressBar(screen) as progress:
        progress("reading", 0, 1)
        if known is not None:
            refuse_protected(known)
        theirs = None if known is None else read_histograms(known, table)
        if events is not None:
            counts, of_audit = events.count(file, progress)
            start, theirs = Start.of(counts), of_audit if theirs is None else theirs
        else:
            counts = read_histograms(files[0], table)
            start = go_on_from(files[0], counts, earlier_key, table) if goes_on else Start.of(counts)
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
        inputs = [*files, *([] if options.coarsen is None else [options.coarsen])]
        checks = check_guarantees(made) if out is None else _write(made, out, keys, start, losses, inputs, force=force)
    span = None if events is None else events.span
    done = Protected(start, span, made, losses, checks, out, key, told, attacked, measured)
    for found in looks_protected(start.release.histograms) if start.earlier is None else ():
        print_note(screen, words_of(found), mark="warning")
    for note in done.notes:
        print_note(screen, about_note(note.code, note.numbers), mark="warning" if note.is_warning else "note")
    if as_json:
        print_json(_to_json(done))
    else:
        Screen().print(facts(_lines(done, verbose=verbose)))
        for line in _files(done):
            Screen().print(line, soft_wrap=True)


def _write(
    made: Release,
    out: Path,
    keys: dict[Path, pl.DataFrame],
    start: Start,
    losses: Losses,
    inputs: Sequence[Path],
    *,
    force: bool,
) -> list[Check]:
    """Write the release, its key and the files beside it; return the checks of its guarantees on the file."""
    owner = start.owner
    return write_checked(
        made,
        out,
        keys,
        losses=losses if start.is_against_original else None,
        inputs=[*(() if owner is None else owner.inputs), *map(InputFile.of, inputs)],
        earlier_keys=owner.keys if owner is not None and not keys else (),
        leads_to_original=start.leads_to_original and (not keys or start.has_original_ids),
        tell=tell_release,
        overwrite=force,
    )


def _attack(release: Release, known: Histograms, progress: Progress) -> Outcome:
    """Return the strongest attack on a release before it gets fresh ids, which tell who is who."""
    tables = Scenario(release.histograms.in_order(), known.in_order(), SAME_ID, release.steps)
    if tables.common.n == 0:
        raise InputError(
            "--known: nobody is in both tables",
            why="then no attack can re-identify anybody",
            fix="give a table of the same people with the same ids, from another period; for a release with fresh ids, "
            "give its key too: --earlier-key OUT.key.csv",
        )
    return strongest_of(run_suite(tables, full_suite(exact=False), progress=progress).outcomes)


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


def _lines(done: Protected, *, verbose: bool) -> list[tuple[str, str]]:
    """Return the answer as lines with names: the release, what was done, the risks, and the cost."""
    start, losses, steps = done.start, done.losses, done.release.steps
    size = f"{losses.n_users_kept:,} of {counted(losses.n_users, 'person')}"
    lines = [("release", f"{size}, {done.n_places:,} of {counted(start.against.n_places, 'place')}")]
    if done.span is not None:
        lines.append(("events of", done.span.words))
    if start.earlier is not None:
        lines.append(("goes on from", f"a release, after {counted(len(start.release.steps), 'step')}"))
    told = (about_step(step) if verbose else about_mechanism(step.mechanism) for step in steps)
    lines += [(f"step {at}", words) for at, words in enumerate(told, 1)]
    for check in done.checks:
        lines.append(("guarantee", about_guarantee(check.guarantee)))
        if verbose or check.holds is None:
            lines.append(("", f"{'' if check.holds is None else 'checked: '}{about_check(check)}"))
    lines += risk_lines(done.risks) if done.checks else [("guarantee", "none"), *risk_lines(done.risks)]
    if done.attacked is not None:
        rate = done.attacked.rate
        people = f"{number(rate.n_correct)} of {counted(rate.n, 'person')} re-identified"
        lines.append(("measured risk", f"{people}: {rate.words}, by the attack {done.attacked.name}"))
    if done.advice is not None:
        lines.append(("advice", f"{done.advice.label}, for a target of {percent(done.advice.target)}"))
    lines.append(("cost", about_costs(losses)))
    if not start.is_against_original:
        lines.append(("", "against the release that was protected further; earlier losses are not known"))
    if verbose:
        lines += [*loss_lines(losses), ("totals", about_totals(totals_exposure(done.release)))]
    return lines


def _files(done: Protected) -> list[str]:
    """Name the files that were written: those to publish, and those of the owner alone."""
    if done.out is None:
        return []
    use = "do not publish" if totals_exposure(done.release).has_exact_means else "to publish"
    key = "" if done.key is None else f", {done.key} (the key: keep it apart from the release)"
    return [f"{use}: {done.out}, {sidecar(done.out)}", f"for you alone: {owner_file(done.out)}{key}"]


def _to_json(done: Protected) -> dict[str, Any]:
    start, out, risks = done.start, done.out, done.risks
    found = [] if start.earlier else looks_protected(start.release.histograms)
    return {
        "original": {"n_users": start.against.n_users, "n_places": start.against.n_places},
        "release_span": None if done.span is None else done.span.words,
        "release": {"n_users": done.release.histograms.n_users, "n_places": done.n_places},
        "user_ids": done.ids,
        "goes_on_from": None if start.earlier is None else {"n_steps": len(start.release.steps)},
        "findings": [asdict(each) for each in found],
        "notes": [{"code": note.code, **note.numbers} for note in done.notes],
        "steps": [
            {"mechanism": msgspec.to_builtins(step.mechanism.published), "findings": step.findings}
            for step in done.release.steps
        ],
        "guarantees": checks_to_json(done.checks),
        "verified_on": "this release" if out is None else str(out),
        **risks_to_json(risks),
        "measured": None if done.attacked is None else asdict(done.attacked.rate),
        "advised": None if done.advice is None else done.advice.label,
        "losses": asdict(done.losses),
        "losses_against": "original" if start.is_against_original else "release",
        "totals_exposure": asdict(totals_exposure(done.release)),
        **{
            name: None if path is None else str(path)
            for name, path in {
                "out": out,
                "sidecar": out and sidecar(out),
                "owner": out and owner_file(out),
                "key": done.key,
            }.items()
        },
        "key_leads_to": None if done.key is None else "original" if start.has_original_ids else "release",
        "text": [": ".join(line) for line in _lines(done, verbose=True)],
    }


def checks_to_json(checks: list[Check]) -> list[dict[str, Any]]:
    """Return guarantees, whether they hold, and the evidence.

    Examples
    --------
    >>> from habitprint.mechanisms import SmallestCount
    >>> checks_to_json(check_guarantees(Histograms.from_strings({1: "a"}), [SmallestCount(1)]))[0]
    {'name': 'smallest-count', 'threshold': 1, 'holds': True, 'evidence': {'smallest': 1}}
    """
    return [
        {**msgspec.to_builtins(check.guarantee), "holds": check.holds, "evidence": dict(check.evidence)}
        for check in checks
    ]


def risks_to_json(risks: Risks) -> dict[str, Any]:
    """Return the three risks of a release: pointing at a row, reconstructing it, attributing places.

    Examples
    --------
    >>> risks_to_json(Risks(None, is_grouped=False))
    {'guaranteed': None, 'reconstruction': None, 'attribution': None}
    """
    found = {name: getattr(risks, name) for name in ("guaranteed", "reconstruction", "attribution")}
    return {name: None if each is None else asdict(each) for name, each in found.items()}
