"""``habitprint protect`` and ``check``: make a safer release, and check its guarantees on the file."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import typer

import habitprint as hp
from habitprint.auditing.protecting import Protected, ToProtect, find_earlier_key, go_on_from
from habitprint.auditing.protecting import protect as protect_table
from habitprint.cli import events as of_events
from habitprint.cli.options import ForceOption, JsonOption, OtherReleases, SensitivePlaces, given, refuse, refuse_lost
from habitprint.cli.screen import GATE_FAILED, Mark, Note, tell
from habitprint.cli.tables import refuse_protected
from habitprint.conversion import is_release
from habitprint.errors import InputError
from habitprint.events.spec import SPAN
from habitprint.flags import ATTACKER, MAIN, OUTPUT, PROTECTIONS, Record, flag
from habitprint.formatting import counted, number, percent
from habitprint.histograms import COLUMNS, TableSpec
from habitprint.io.dialects import Expected
from habitprint.io.tables import READERS, read_names, read_table
from habitprint.mechanisms import files as on_disk
from habitprint.mechanisms import from_flags
from habitprint.mechanisms.exposure import is_grouped, looks_protected
from habitprint.mechanisms.groups.microaggregation import UNITS, Method
from habitprint.mechanisms.groups.table import Loss
from habitprint.mechanisms.guarantees import Unit
from habitprint.periods import Period, Span, count_release
from habitprint.periods.periods import to_range
from habitprint.places import Unknown
from habitprint.progress import Progress, ProgressBar
from habitprint.truth import SAME_ID
from habitprint.wording import releases as saying
from habitprint.wording.blocks import Block, Command, terms
from habitprint.wording.findings import words_of
from habitprint.wording.releases import POINTED, about_costs, risk_lines

GROUPS, NOISE, IDS = "Protections: groups (--k)", "Protections: noise (--epsilon)", "User ids"
CHANGED = "nothing is guaranteed: the file was changed, and a change may reveal whose row is whose"
OF_IDS = {"--pseudonyms", "--keep-ids", "--earlier-key"}
ANSWERS = {True: "holds", False: "BROKEN", None: "not checked"}


class ProtectionOptions(Record, frozen=True, kw_only=True):
    """Options for the protection of a table; `from_flags` knows the order in which they are applied.

    Parameters
    ----------
    k
        Smallest number of people in a group, such as 10. Each row becomes the mean of its group.
    shares
        Publish shares instead of counts, because totals can identify people.
    suppress_below
        Smallest count that is published, such as 3. Smaller counts are removed.
    round_to
        Number, such as 5: each count is rounded to a multiple of it.
    merge_rare
        Number of places to keep, the most popular ones. All others are merged into one place.
    top_places
        Number of places to keep, the most popular ones. All others are removed.
    coarsen
        File with the columns place and to: the coarser place of each place.
    unknown_places
        Treatment of places that the --coarsen file lacks: stop with an error, or leave them out.
    limit_contribution
        Largest total of counts of one user. Larger totals are reduced to it.
    mean_k
        Smallest mean number of people in a group; at least k.
    units
        Number of whole units into which each person's row is rounded. Fewer units hide more.
    least_members
        Smallest number of members who visited a place that the group publishes. Other places are left out.
    exact_means
        Use exact means, as in the paper. Rows can be reconstructed from them, so do not publish them.
    loss
        Distance between a row and its group mean that grouping minimises: l1 (absolute) or l2 (squared).
    method
        Algorithm that forms the groups. successive (the paper's choice) and mdav are for comparisons.
    epsilon
        Privacy loss ε of differential privacy, such as 1; smaller is safer. Needs pip install 'habitprint[dp]'.
    unit
        Unit that the noise hides: one event, or one user (needs --limit-contribution).
    delta
        Probability δ that the privacy loss exceeds ε, such as 1e-6.
    key
        File for the key from fresh ids to your ids; default: OUT.key.csv.
    keep_ids
        Keep the user ids of the input. The release then has no guarantee.
    earlier_key
        File with the key to the input, if the input is itself a release; default: the key beside it.
    """

    k: Annotated[int | None, flag(panel=MAIN)] = None
    shares: Annotated[bool, flag(panel=MAIN)] = False
    suppress_below: Annotated[float | None, flag(panel=PROTECTIONS)] = None
    round_to: Annotated[float | None, flag(panel=PROTECTIONS)] = None
    merge_rare: Annotated[int | None, flag(panel=PROTECTIONS)] = None
    top_places: Annotated[int | None, flag(panel=PROTECTIONS)] = None
    coarsen: Annotated[Path | None, flag(panel=PROTECTIONS)] = None
    unknown_places: Annotated[Unknown, flag(panel=PROTECTIONS)] = "refuse"
    limit_contribution: Annotated[int | None, flag(panel=PROTECTIONS)] = None
    mean_k: Annotated[float | None, flag(panel=GROUPS)] = None
    units: Annotated[int, flag(panel=GROUPS)] = UNITS
    least_members: Annotated[int, flag(panel=GROUPS)] = 1
    exact_means: Annotated[bool, flag(panel=GROUPS)] = False
    loss: Annotated[Loss, flag(panel=GROUPS)] = "l1"
    method: Annotated[Method, flag(panel=GROUPS)] = "best"
    epsilon: Annotated[float | None, flag(panel=NOISE)] = None
    unit: Annotated[Unit, flag(panel=NOISE)] = "user"
    delta: Annotated[float, flag(panel=NOISE)] = 0.0
    key: Annotated[Path | None, flag(panel=IDS, names=("--pseudonyms",), metavar="KEY")] = None
    keep_ids: Annotated[bool, flag(panel=IDS)] = False
    earlier_key: Annotated[Path | None, flag(panel=IDS, metavar="KEY")] = None

    def mechanism(self, advice: hp.Advice | None, out: Path | None) -> hp.Mechanism:
        """Return the requested protection, or the recommendation of an audit, without fresh ids.

        Examples
        --------
        >>> ProtectionOptions(round_to=5.0).mechanism(None, None)(hp.datasets.town(60, 20)[0]).steps[0].name
        'round-to'
        """
        if self.k == 1:
            raise InputError(
                "--k 1 protects nobody",
                why="in a group of one, each row stays the row of one person and can be unique",
                fix="write --k 10, or another number of at least 2",
            )
        if self.keep_ids:
            why = "users have either fresh ids with a key, or their own ids"
            refuse(given(self), ["--pseudonyms"], "--keep-ids", why=why)
        if out is None:
            why, fix = "a key belongs to the release that was written with it", "name its file: --out safer.parquet"
            refuse(given(self), ["--pseudonyms"], "a release without --out", why=why, fix=fix)
        if advice is not None:
            others = [each for each in given(self) if each.name not in OF_IDS]
            refuse(others, None, "--advice", why="the audit has tested only the protection that it recommends")
            return advice.mechanism
        recipe = from_flags({each.name: each.value for each in given(self)})
        if not recipe and self.key is None:
            raise InputError(
                "no protection is given",
                why="the release would equal the input",
                fix="add --k 10 or --advice AUDIT; habitprint protect --help lists all protections",
            )
        return hp.chain(*recipe)


class ProtectFiles(Record, frozen=True, kw_only=True):
    """The files of a protection beside the table: the advice, the release, and the attacker's data.

    Parameters
    ----------
    advice
        Folder of an audit, whose recommended protection is applied.
    out
        File for the release, .csv or .parquet. Publish OUT.json with it. Keep OUT.owner.json and OUT.key.csv secret.
    known
        File with the attacker's counts, from another period. habitprint attacks the release with them. Default, with
        events: the attacker's period in the audit.
    release_span
        Days that you publish; default: the days that were audited. Needs --advice and events.
    """

    advice: Annotated[Path | None, flag(panel=MAIN, metavar="AUDIT")] = None
    out: Annotated[Path | None, flag(panel=MAIN)] = None
    known: Annotated[Path | None, flag(panel=ATTACKER, metavar="KNOWN")] = None
    sensitive: SensitivePlaces = None
    release_span: Annotated[str | None, flag(metavar=SPAN)] = None


def protect(
    file: Annotated[str, typer.Argument(metavar="HISTOGRAMS | EVENTS")],
    *,
    beside: ProtectFiles,
    options: ProtectionOptions,
    table: TableSpec,
    force: ForceOption = False,
    verbose: Annotated[bool, flag(panel=OUTPUT)] = False,
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
    suppress-below, round-to, k, shares. You can protect a release again: the new release lists all steps.

    With --advice, give the events that were audited. habitprint reads and counts them as in the audit.

    Users get fresh random ids from a secure source, without a seed. habitprint checks the guarantees on the written
    file. [bold]habitprint check[/bold] repeats this check at any time.

    Parameters
    ----------
    file
        Table of counts: CSV, Parquet, Excel, DuckDB or SQLite. Or, with --advice, the events that were audited.
    verbose
        Also print findings, checks and all losses.
    """
    advice, out, known = None if beside.advice is None else hp.read_advice(beside.advice), beside.out, beside.known
    mechanism = options.mechanism(advice, out)
    key = None if out is None or options.keep_ids else options.key or on_disk.key_file(out)
    files = [Path(file)] if advice is None or advice.events is None else of_events.files_of(file)
    days = None if advice is None or _is_table(files, advice, table) else _days(advice, beside.release_span)
    goes_on = days is None and is_release(files[0])
    earlier_key = find_earlier_key(files[0], options.earlier_key, is_release=goes_on)
    read = [*files, options.coarsen, known, beside.sensitive]
    if goes_on:
        read += [on_disk.sidecar(files[0]), on_disk.owner_file(files[0]), earlier_key]
    if out is not None:
        on_disk.check_release_target(out, key=key, overwrite=force)
        refuse_lost([out, on_disk.sidecar(out), on_disk.owner_file(out), key], read)
    if days is None:
        fix = "give the events that were audited and --advice, or leave it out"
        refuse(
            given(beside), ["--release-span"], "a table", why="it selects the days of events that are counted", fix=fix
        )
    with ProgressBar() as progress:
        replaces = out is not None and is_release(out)
        progress("reading", 0, 1)
        if known is not None:
            refuse_protected(known)
        theirs = None if known is None else hp.read_histograms(known, table)
        if days is None:
            counts = hp.read_histograms(files[0], table)
        else:
            counts, of_audit = _count_events(file, days, progress)
            theirs = of_audit if theirs is None else theirs
        start = go_on_from(files[0], counts, earlier_key, table) if goes_on else ToProtect.of(counts)
        done = protect_table(
            start, mechanism, theirs, sensitive=beside.sensitive, keep_ids=options.keep_ids, progress=progress
        )
        inputs = [hp.InputFile.of(each) for each in (*files, options.coarsen) if each is not None]
        if out is None:
            checks = hp.check_guarantees(done.release)
        else:
            checks = done.write(out, key, inputs, tell=saying.tell_release, overwrite=force)
    findings = [] if goes_on else looks_protected(start.release.histograms)
    cautions = list(_cautions(done, advice, key, replaces=replaces))
    notes = [Note(words_of(found), "warning") for found in findings]
    notes += [Note(saying.about_note(code, numbers), mark) for code, numbers, mark in cautions]
    span, original = None if days is None else days.span.words, None if days is not None or goes_on else file
    facts = _facts(done, checks, span=span, advised=None if advice is None else advice.label) | {
        "findings": findings,
        "notes": [{"code": code, **numbers} for code, numbers, _ in cautions],
        "verified_on": "this release" if out is None else str(out),
        "out": out,
        "sidecar": out and on_disk.sidecar(out),
        "owner": out and on_disk.owner_file(out),
        "key": key,
        "key_leads_to": None if key is None else "original" if start.has_original_ids else "release",
        "text": [": ".join(line) for line in _lines(done, checks, advice, span, is_verbose=True)],
    }
    shown = _lines(done, checks, advice, span, is_verbose=verbose)
    tell(facts, [terms(*shown), *_files(done, out, key, original, known)], notes, as_json=as_json)


def _count_events(file: str, days: "_Days", progress: Progress) -> tuple[hp.Histograms, hp.Histograms | None]:
    """Return the counts of the released days; and the attacker's counts, if they know other days."""
    spec, events = days.spec, of_events.open_events(file, days.spec).events
    count = of_events.counted_as(spec)
    if not days.is_known_apart:
        return count_release(events, days.period, active=spec.active, count=count), None
    both = hp.split(events, days.period, users="all", active=spec.active, count=count, progress=progress)
    return both.released, both.known


def _facts(done: Protected, checks: Sequence[hp.Check], *, span: str | None, advised: str | None) -> dict[str, object]:
    """Return a release, its guarantees, risks and losses for programs."""
    start = done.start
    return {
        "original": {"n_users": start.against.n_users, "n_places": start.against.n_places},
        "release_span": span,
        "release": {"n_users": done.release.histograms.n_users, "n_places": done.n_places},
        "user_ids": done.ids,
        "goes_on_from": {"n_steps": len(start.release.steps)} if start.is_further else None,
        "steps": [{"mechanism": step.mechanism.published, "findings": step.findings} for step in done.release.steps],
        **_safety(checks, done.risks),
        "measured": None if done.attacked is None else done.attacked.rate,
        "advised": advised,
        "losses": done.losses,
        "losses_against": "original" if start.is_against_original else "release",
        "totals_exposure": hp.totals_exposure(done.release),
    }


class _Days(NamedTuple):
    """The days of events that are released, and whether the attacker knows other days: then an attack is fair."""

    spec: hp.EventSpec
    period: Period
    span: Span
    is_known_apart: bool


def _days(advice: hp.Advice, release: str | None) -> _Days:
    """Return the days of the events that are released: those of the audit, or others."""
    spec, scope = advice.events or hp.EventSpec(), advice.scope
    ours, theirs = scope.released.one_range, scope.known.one_range
    if release is None:
        # Periods that the audit chose itself are in its scope.
        otherwise = hp.HalvesOfRows() if ours is None or theirs is None else hp.DateRanges(ours, theirs)
        return _Days(spec, of_events.period_or(spec, otherwise), scope.released, is_known_apart=True)
    days = to_range("--release-span", of_events.to_span(release))
    span = Span.between(*days)
    period: Period = hp.AllOtherTime(released=days)
    is_apart = theirs is not None and (days[1] < theirs[0] or theirs[1] < days[0])
    if is_apart and theirs is not None:
        period = hp.DateRanges(days, theirs)
    elif advice.decide != "guaranteed":
        raise InputError(
            f"--release-span {span.words} overlaps the days that the attacker knows ({scope.known.words})",
            why="the advice rests on measured risk, with an attacker who does not know the released days",
            fix="release days that the attacker does not know; or audit with --decide guaranteed",
        )
    return _Days(spec, period if spec.days is None else of_events.on_days(spec.days, period), span, is_apart)


def _is_table(files: Sequence[Path], advice: hp.Advice, table: TableSpec) -> bool:
    """Return whether a file is a table of counts, and not events, by its columns."""
    if advice.events is None:
        return True
    if len(files) != 1 or files[0].suffix.lower() not in READERS:
        return False
    try:
        names = set(read_names(files[0], asked=table, expected=Expected(columns=table.columns)))
    except InputError:  # the reader of the file says what is wrong
        return False
    return (set(table.columns) <= names or set(COLUMNS) <= names) and advice.events.time not in names


def _cautions(
    done: Protected, advice: hp.Advice | None, key: Path | None, *, replaces: bool
) -> Iterator[tuple[str, dict[str, float], Mark]]:
    """Yield the cautions to read before the file is published: code, numbers, and how they are marked."""
    n_users, guaranteed, taken = done.start.release.histograms.n_users, done.risks.guaranteed, done.risks.reconstruction
    if done.ids != "fresh":
        yield "original-ids" if done.ids == "original" else "earlier-ids", {}, "note"
    if key is not None and not done.start.has_original_ids:
        yield "key-leads-to-release", {}, "note"
    if advice is not None:
        limit = {"target": advice.target}
        if advice.scope.n_released != n_users:
            yield "other-people", {"n_audited": advice.scope.n_released, "n_users": n_users}, "note"
        if advice.decide == "guaranteed" and guaranteed is not None and not guaranteed.is_within(advice.target):
            yield "guarantee-above-target", limit | asdict(guaranteed), "warning"
        if taken is not None and not taken.is_within(advice.target):
            yield "reconstruction-above-target", limit | {"high": taken.rate.high}, "warning"
    if hp.totals_exposure(done.release).has_exact_means:
        yield "exact-means", {}, "warning"
    if replaces:
        yield "replaces-release", {}, "warning"
    yield "measured-on-original" if done.start.is_against_original else "measured-on-release", {}, "note"


def _lines(
    done: Protected, checks: Sequence[hp.Check], advice: hp.Advice | None, span: str | None, *, is_verbose: bool
) -> list[tuple[str, str]]:
    """Return the answer as named lines: release, steps, risks and cost."""
    start, losses = done.start, done.losses
    size = f"{losses.n_users_kept:,} of {counted(losses.n_users, 'person')}"
    lines = [
        ("release", f"{size}, {done.n_places:,} of {counted(start.against.n_places, 'place')}"),
        ("events of", span or ""),
    ]
    if start.is_further:
        lines.append(("input", f"a release with {counted(len(start.release.steps), 'step')}"))
    for at, step in enumerate(done.release.steps, 1):
        lines.append((f"step {at}", saying.about_step(step) if is_verbose else saying.about_mechanism(step.mechanism)))
    for check in checks:
        lines.append(("guarantee", saying.about_guarantee(check.guarantee)))
        if is_verbose or check.holds is None:
            lines.append(("", f"{'' if check.holds is None else 'checked: '}{saying.about_check(check)}"))
    lines += [*([] if checks else [("guarantee", "none")]), *risk_lines(done.risks)]
    if done.attacked is not None:
        rate = done.attacked.rate
        people = f"{number(rate.n_correct)} of {counted(rate.n, 'person')} in both tables are re-identified"
        lines.append(("measured risk", f"{rate.words}: {people} by {done.attacked.name}"))
    if advice is not None:
        lines.append(("advice", f"{advice.label}, for a target of {percent(advice.target)}"))
    lines.append(("cost", about_costs(losses)))
    if not start.is_against_original:
        lines.append(
            ("", "These losses are measured against the input, which is a release. Earlier losses are not known.")
        )
    if is_verbose:
        lines += [*saying.loss_lines(losses), ("totals", saying.about_totals(hp.totals_exposure(done.release)))]
    return [line for line in lines if line[1]]


def _files(
    done: Protected, out: Path | None, key: Path | None, original: str | None, known: Path | None
) -> list[Block]:
    """Name the files that were written, to publish or for the owner alone, and the command that checks them."""
    if out is None:
        return []
    use = "do not publish" if hp.totals_exposure(done.release).has_exact_means else "to publish"
    apart = "" if key is None else f", {key} (the key: keep it apart from the release)"
    named = [] if key in (None, on_disk.key_file(out)) else ["--truth", str(key)]
    tables = [] if original is None else ["--original", original, "--known", "KNOWN" if known is None else str(known)]
    check = shlex.join(["habitprint", "check", str(out), *tables, *(named if tables else [])])
    return [
        Command(use, f"{out}, {on_disk.sidecar(out)}"),
        Command("for you alone", f"{on_disk.owner_file(out)}{apart}"),
        Command("Next, check", check),
    ]


def _safety(checks: Sequence[hp.Check], risks: hp.Risks) -> dict[str, object]:
    """Return guarantees, whether they hold and the evidence; and the three risks of a release."""
    guarantees = [
        {**msgspec.to_builtins(check.guarantee), "holds": check.holds, "evidence": check.evidence} for check in checks
    ]
    names = ("guaranteed", "reconstruction", "attribution")
    return {"guarantees": guarantees} | {name: getattr(risks, name) for name in names}


def check(
    release_file: Annotated[Path, typer.Argument(metavar="RELEASE")],
    original: Annotated[Path | None, flag()] = None,
    truth: Annotated[Path | None, flag(metavar="KEY")] = None,
    known: Annotated[Path | None, flag(panel=ATTACKER)] = None,
    other: OtherReleases = (),
    sensitive: SensitivePlaces = None,
    as_json: JsonOption = False,
) -> None:
    """Check the guarantees of a release on the file itself.

    [bold]Examples[/bold]

    habitprint check safer.parquet

    habitprint check safer.parquet --original week1.csv --known week2.csv

    [bold]What it does[/bold]

    The .json file beside the release lists its guarantees and the SHA-256 of the table. The check shows whether the
    table is unchanged, and whether it holds anything else: columns, rows of zeros, metadata or other ids. It does not
    show who wrote the files. Guarantees that a file cannot show, such as noise, are listed as not checked.

    With --original and --known, the check measures how many rows can be reconstructed from groups.

    The exit code is 1 if a guarantee is broken, if the table was changed, or if it holds anything else.

    Parameters
    ----------
    release_file
        Release that habitprint protect wrote, with its .json beside it.
    original
        File with the counts before protection. With --known, habitprint measures rows reconstructed.
    truth
        File with the key to the fresh ids; default: the key beside the release.
    known
        File with the attacker's counts, from another period.
    """
    release, told = hp.read_release(release_file), on_disk.read_sidecar(release_file)
    is_as_written = told.is_of(release_file)
    is_told = not is_as_written or on_disk.tells_the_same(told, release)
    if not release.guarantees and is_as_written:
        raise InputError(
            f"{release_file} has no guarantee",
            why=f"{on_disk.sidecar(release_file)} lists no guarantee that habitprint could check",
            fix="protect it first: habitprint protect TABLE --k 10 --out safer.parquet",
        )
    checks, strangers = hp.check_guarantees(release), on_disk.find_strangers(release_file)
    # Identical rows are indistinguishable unless ids, or content that was added since, distinguish them.
    is_whole = is_as_written and is_told and not strangers
    risks = hp.Risks(None, is_grouped=is_grouped(release))
    if original is not None or known is not None or other or sensitive is not None:
        beside = on_disk.key_file(release_file)
        key = truth or (beside if beside.exists() else None)
        risks = _measure(release, original, known, key, other, sensitive)
    risks = replace(risks, guaranteed=hp.guaranteed_risk(release) if release.has_fresh_ids and is_whole else None)
    facts = {
        "file": release_file,
        "is_as_written": is_as_written,
        "is_told_as_by_owner": is_told,
        "strangers": [each._asdict() for each in strangers],
        **_safety(checks, risks),
    }
    changed = "unchanged" if is_as_written else "changed"
    besides = ", ".join(map(saying.about_stranger, strangers))
    holds = f"also holds {besides}" if strangers else "holds the release and nothing else"
    lines = risk_lines(risks)
    rows = [
        (ANSWERS[is_as_written], f"{release_file.name} is {changed} since its .json was written (SHA-256)"),
        *([] if is_told else [(ANSWERS[is_told], "its .json lists the steps of the owner's file")]),
        (ANSWERS[not strangers], f"{release_file.name} {holds}"),
        *(
            (ANSWERS[each.holds], f"{saying.about_guarantee(each.guarantee)}: {saying.about_check(each)}")
            for each in checks
        ),
        *(lines if is_whole else [(POINTED, CHANGED), *lines[1:]]),
    ]
    tell(facts, [terms(*rows)], as_json=as_json)
    if not is_whole or any(each.holds is False for each in checks):
        raise SystemExit(GATE_FAILED)


def _measure(
    release: hp.Release,
    original: Path | None,
    known: Path | None,
    key: Path | None,
    others: Sequence[Path],
    sensitive: Path | None,
) -> hp.Risks:
    """Return the risks with rows reconstructed and places attributed; refuse where a table is missing for that."""
    if original is None or known is None:
        raise InputError(
            f"{'--original' if original is None else '--known'} is missing",
            why="rows reconstructed are compared with the original rows, and matched with the attacker's data",
            fix="give both: --original week1.csv --known week2.csv",
        )
    if key is None and release.has_fresh_ids:
        raise InputError(
            "the key to the release is missing",
            why="the release has fresh ids, and only the key maps them to the original ids",
            fix="give it: --truth safer.parquet.key.csv",
        )
    truth = SAME_ID if key is None else read_table(key)
    further = [hp.read_release(other) for other in others]
    return hp.measure_risks(original, release, known, truth, others=further, sensitive=sensitive)
