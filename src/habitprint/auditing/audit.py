"""Does this meet the target? All stages of an audit, one after the other, and what they found in all."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, get_args

import msgspec
import polars as pl

from habitprint.arguments import AnyTable, as_events, as_histograms, is_release, is_table
from habitprint.attacks import (
    ALL_WEIGHTS,
    Outcome,
    Scenario,
    SuiteResult,
    draw_blindly,
    full_suite,
    run_suite,
    strongest_of,
)
from habitprint.auditing.advice import FILE, Advice
from habitprint.auditing.alternatives import Alternative, find_alternatives
from habitprint.auditing.backend import Backend, attack_all
from habitprint.auditing.candidates import coarser_places
from habitprint.auditing.curves import Curve, forecast_people, resolution_curve, users_curve
from habitprint.auditing.data import (
    NOTHING,
    Background,
    DataFacts,
    Preparation,
    Prepared,
    prepare_events,
    prepare_tables,
)
from habitprint.auditing.explanation import Case, Explanation
from habitprint.auditing.goal import Decide
from habitprint.auditing.options import DEFAULTS, AuditOptions
from habitprint.auditing.people import CloserLook, People, assess_people
from habitprint.auditing.place_map import PlaceMap, draw_map, read_positions
from habitprint.auditing.runner import find_protection
from habitprint.auditing.times import Linkage, Times, duration_curve, measure_times
from habitprint.auditing.trials import Protections
from habitprint.auditing.verdict import Verdict, reach_verdict
from habitprint.checks import Code
from habitprint.checks.check import check_unused
from habitprint.display import Shown, abbreviated, chart_of
from habitprint.errors import InputError, require_option
from habitprint.events import Events, EventSpec
from habitprint.forecasting import MOST_PEOPLE, Forecast
from habitprint.formatting import printable_json
from habitprint.grids import Grid
from habitprint.histograms import Histograms
from habitprint.io.inputs import read_text
from habitprint.losses import UtilityMetric
from habitprint.mappings import PlaceMapping
from habitprint.mechanisms import InputFile, Release
from habitprint.mechanisms.exposure import is_grouped
from habitprint.mechanisms.files import open_release
from habitprint.periods import HalvesOfRows, Period, Split
from habitprint.periods.day_table import CountedAs
from habitprint.periods.split import Accounted
from habitprint.progress import Progress, silent
from habitprint.rates import rates_frame
from habitprint.runtime.parallel import Once, run_two
from habitprint.runtime.versions import versions
from habitprint.training import Evidence, train_weight
from habitprint.truth import SAME_ID
from habitprint.weighing import Weight

if TYPE_CHECKING:
    import altair as alt

SCHEMA = "habitprint-audit/6"  # a change of meaning or of a name makes it /7; new names do not
# What its folder holds; the advice only if a protection is needed and one is enough.
RECORD_HTML, RECORD_MD = "record.html", "record.md"
REPORT, FACTS, USERS, ADVICE = "report.html", "report.json", "users.parquet", FILE
STARTS_FROM = "an audit needs events, or two tables of counts: released and known"
READ_THEM = "read events with hp.read_events(path), or pass (released, known) from hp.read_histograms(path)"
TIMES_AS_MANY = 10  # people as were attacked: how far the curve of their number is followed, if nobody says
MOST_USERS = 5_000  # with whom coarser places, and every protection, are tried

Kind = Literal["events", "histograms"]
TrainedOn = Literal["own data", "given tables"]
Rows = Literal["attacks", "curves", "protections", "claims", "people"]
Pictured = Literal["answer", "attacks", "curves", "pairs", "protections", "claims", "reliability", "map"]


@dataclass(frozen=True)
class Run:
    """What was audited, when, by which command and from which files.

    Facts that only the preparer of the data knows are None or empty if they were not passed on (`Preparation`).

    Parameters
    ----------
    source, kind
        What the data is called; events, or two tables of histograms.
    made_on
        The day of the audit.
    active, count
        Of events: the fewest of a user who counts, and what is counted.
    grid
        Whose squares the places are.
    events
        How events were read and cut.
    coarsen, command, inputs
        Files of coarser places, the command line, and the files that it read; all without folders.
    n_others
        How many further releases of the same people the attacker has.
    """

    source: str
    kind: Kind
    made_on: date
    active: int | None = None
    count: str | None = None
    grid: Grid | None = None
    events: EventSpec | None = None
    coarsen: tuple[str, ...] = ()
    command: str | None = None
    inputs: tuple[InputFile, ...] = ()
    n_others: int = 0

    def __repr__(self) -> str:
        return abbreviated(self)


@dataclass(frozen=True)
class AttackerTraining:
    """How the attacker of an audit trained.

    Parameters
    ----------
    on
        Their own data, cut in two in time, or two tables that were given.
    missing
        What they had not enough of: times or people; None if they could train.
    n_people, evidence
        On how many people, and which evidence counts.
    """

    on: TrainedOn
    missing: Literal["times", "people"] | None
    n_people: int = 0
    evidence: tuple[Evidence, ...] = ()


@dataclass(frozen=True, eq=False)
class Internal:
    """The internal part of an audit: it names people and places, and is in no report.

    Parameters
    ----------
    users
        Who is at risk, by id.
    advice
        The protection to apply; None if none is needed, or none is enough.
    case
        What the strongest joint attack was made on, to explain it.
    """

    users: pl.DataFrame
    advice: Advice | None
    case: Case

    def __repr__(self) -> str:
        return abbreviated(self)


@dataclass(frozen=True, eq=False)
class Audit(Shown):
    """All that an audit found. Made by `habitprint.audit`, or read back from its ``report.json``.

    Parameters
    ----------
    options, run, versions
        What was asked for; of what, when and from which files; and with which software.
    data, attacks, curves, protections, people, verdict
        One for each stage.
    other_time
        The attack by someone who knows all other time in the file; None where the release is half of the file or
        more, all other time is known already, or there are no events.
    training
        How the attacker trained.
    linkage
        Whether people could be followed through releases that are repeated.
    alternatives
        What would be enough where no protection is; empty where one is, or none is needed.
    weight
        Of the strongest joint attack, which the later stages repeat.
    forecast
        How many that attack would identify among more people; None with too few to see how the share falls, for a table
        that was protected before, whose groups would be others, and in files of earlier versions.
    place_map
        Where people are given away; None where nobody told where places are.
    on_all
        The attack on all people of remote tables, where `data` and all the rest are about a sample of them
        (`data.scope.whole`); None where everybody is audited.
    internal
        Who is at risk, by id: for internal use only. None for an audit that was read back: no report has it.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(12, 5), target=1.0, noise=False)
    >>> found.to_json()["schema"], found.verdict.passes
    ('habitprint-audit/6', True)
    """

    options: AuditOptions
    run: Run
    versions: Mapping[str, str]
    data: DataFacts
    weight: str
    attacks: tuple[Outcome, ...]
    curves: tuple[Curve, ...]
    other_time: Outcome | None
    training: AttackerTraining
    linkage: Linkage
    protections: Protections
    alternatives: tuple[Alternative, ...]
    people: People
    verdict: Verdict
    forecast: Forecast | None = None
    place_map: PlaceMap | None = None
    on_all: Outcome | None = None
    internal: Internal | None = None

    def __repr__(self) -> str:
        return f"Audit(of {self.run.source!r}: {self.verdict.reason}; {self.strongest.rate.words})"

    def to_frame(self, rows: Rows = "attacks") -> pl.DataFrame:
        """Return some of what was found as a frame.

        Parameters
        ----------
        rows
            ``"attacks"`` on the table as it is; points of all ``"curves"``; ``"protections"`` that were tried;
            ``"claims"``, how often the most confident are right; or ``"people"`` by id, for internal use only.

        Examples
        --------
        >>> import habitprint as hp
        >>> found = hp.audit(hp.datasets.town(12, 5), noise=False)
        >>> found.to_frame().columns
        ['attack', 'method', 'weight', 'gap', 'n_guesses', 'share', 'low', 'high', 'n_correct', 'n', 'by_chance']
        >>> found.to_frame("people").height
        12
        """
        require_option("rows", rows, get_args(Rows))
        if rows == "people":
            return self.users
        if rows == "protections":
            return self.protections.to_frame()
        if rows == "claims":
            return self.people.to_frame()
        if rows == "curves":
            return pl.concat([curve.to_frame() for curve in self.curves])
        names: dict[str, list[object]] = {
            "attack": [attack.title for attack in self.attacks],
            "method": [attack.method for attack in self.attacks],
            "weight": [attack.weight for attack in self.attacks],
            "gap": [attack.gap for attack in self.attacks],
            "n_guesses": [attack.n_guesses for attack in self.attacks],
        }
        return rates_frame(names, [attack.rate for attack in self.attacks])

    def plot(self, picture: Pictured = "answer") -> "alt.TopLevelMixin":
        """Return a picture of the report, an Altair chart: show it, or write it with `habitprint.save_chart`.

        Parameters
        ----------
        picture
            The ``"answer"``; ``"attacks"``; ``"curves"`` of what the risk depends on; ``"pairs"`` of periods;
            ``"protections"`` by loss and risk; the precision of the most confident ``"claims"``; the ``"reliability"``
            of probabilities; or the ``"map"`` of places. Which of them there are depends on the data.

        Examples
        --------
        >>> import habitprint as hp
        >>> found = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
        >>> type(found.plot("attacks")).__name__
        'LayerChart'
        """
        require_option("picture", picture, get_args(Pictured))
        return chart_of(self, picture)

    @property
    def strongest(self) -> Outcome:
        """Return the attack with the highest upper end."""
        return strongest_of(self.attacks)

    @property
    def knows_more(self) -> Outcome | None:
        """Return the attack by someone who knows all other time in the file, where that attack is stronger."""
        other = self.other_time
        return other if other is not None and other.rate.high > self.strongest.rate.high else None

    def require_internal(self) -> Internal:
        """Return what stays in the house, or raise `InputError` for an audit that was read back."""
        if self.internal is None:
            raise InputError(
                "this audit was read from a report, which holds no user ids",
                why="a report never contains the people at risk or the tables",
                fix="read users.parquet in the same folder; to explain a person, audit the tables again",
            )
        return self.internal

    @property
    def users(self) -> pl.DataFrame:
        """Return who is at risk, by id: for internal use only."""
        return self.require_internal().users

    @property
    def advice(self) -> Advice | None:
        """Return the protection to apply, if one is needed and one is enough: for internal use."""
        return self.require_internal().advice

    def explain(self, user: object) -> Explanation:
        """Say why one person is found, or is not: places, rivals, probability, and what each protection does to them.

        It names people and places: for internal use. An audit that was read back has none of them. What protections do
        is measured when somebody is first asked about, and kept.

        Parameters
        ----------
        user
            The person's id in the released table.

        Examples
        --------
        >>> import habitprint as hp
        >>> found = hp.audit(hp.datasets.town(20, 6), noise=False)
        >>> len(found.explain(found.users["user"][0]).plot().vconcat)
        3
        """
        return self.require_internal().case.explain(user)

    def to_json(self) -> dict[str, object]:
        """Return all facts but names of users, as a dictionary that is JSON; `docs/audit.md` tells its fields."""
        facts: dict[str, object] = msgspec.json.decode(self.to_text())
        return facts

    def to_text(self) -> str:
        """Return the same as text; ``report.json`` has sentences beside it."""
        facts = {name: getattr(self, name) for name in IN_JSON}
        return printable_json(msgspec.json.format(msgspec.json.encode({"schema": SCHEMA} | facts), indent=1).decode())

    @classmethod
    def from_json(cls, facts: Mapping[str, object]) -> "Audit":
        """Return the audit that `to_json` told of, or a ``report.json`` holds; who is at risk is in neither.

        Examples
        --------
        >>> import habitprint as hp
        >>> facts = hp.read_audit(hp.datasets.AUDIT_OF_TOWN).to_json()
        >>> hp.Audit.from_json(facts).to_json() == facts
        True
        """
        schema = facts.get("schema")
        if schema != SCHEMA:
            raise InputError(
                f"report.json has the schema {schema!r}, but this version reads {SCHEMA!r}",
                why="names or meanings of its fields differ",
                fix="audit again with this version",
            )
        try:
            return msgspec.convert({name: facts[name] for name in IN_JSON if name in facts}, cls)
        except msgspec.ValidationError as error:
            raise InputError(
                f"report.json is not valid: {error}",
                why="a changed or damaged report cannot be read",
                fix="use the unchanged report.json of an audit, or audit again",
            ) from error


def read_audit(path: str | os.PathLike[str]) -> Audit:
    """Read an audit back, from its folder or its ``report.json``; who is at risk is in neither.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(12, 5), noise=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = hp.write_audit(found, Path(folder) / "audit")
    ...     hp.read_audit(Path(folder) / "audit").to_json() == found.to_json()
    True
    """
    path = Path(path)
    file = path / FACTS if path.is_dir() else path
    fix = f"pass the folder that habitprint audit wrote, or its {FACTS}"
    text = read_text(file, why="the results of an audit are read from this file", fix=fix)
    try:
        return Audit.from_json(msgspec.json.decode(text, type=dict[str, object]))
    except (msgspec.MsgspecError, RecursionError) as error:
        why = "the report of an audit is a JSON file"
        raise InputError(f"{file} is not the report of an audit: {error}", why=why, fix=fix) from error
    except InputError as error:
        raise InputError(f"{file}: {error.what}", why=error.why, fix=error.fix) from error


IN_JSON = tuple(field.name for field in fields(Audit) if field.name != "internal")


Source = Events | Accounted | tuple[Histograms | Release | AnyTable, Histograms | AnyTable] | AnyTable


class AuditKeywords(TypedDict, total=False):
    """What `habitprint.audit` may be told: fields of `AuditOptions` and of a `Subject`."""

    target: float | None
    decide: Decide
    keep: UtilityMetric
    fail_above: float | None
    confident_target: float | None
    person_target: float | None
    overlap: float | None
    noise: bool
    counts: bool
    population: int | None
    accept: Sequence[Code]
    name: str | None
    seed: int
    period: Period | None
    grid: Grid | None
    positions: AnyTable | None
    coarser: Iterable[PlaceMapping]
    truth: Any
    original: Histograms | AnyTable | None
    others: Sequence[Release]
    training: tuple[Histograms, Histograms] | None
    active: int
    count: CountedAs
    preparation: Preparation
    backend: Backend | None


@dataclass(frozen=True, eq=False)
class Subject:
    """What is audited, and what is given beside it; the fields are those of `audit`."""

    source: Source
    period: Period | None = None
    grid: Grid | None = None
    positions: AnyTable | None = None
    coarser: Iterable[PlaceMapping] = ()
    truth: Any = SAME_ID
    original: Histograms | AnyTable | None = None
    others: Sequence[Release] = ()
    training: tuple[Histograms, Histograms] | None = None
    active: int = 1
    count: CountedAs = "visits"
    preparation: Preparation = NOTHING
    backend: Backend | None = None


BESIDE = {field.name for field in fields(Subject)} - {"source"}


def audit(
    source: Source,
    options: AuditOptions | None = None,
    *,
    progress: Progress = silent,
    **keywords: Unpack[AuditKeywords],
) -> Audit:
    """Find out whether statistics of habits meet a target, and if not, which protection would make them.

    Parameters
    ----------
    source
        Events; or two sets of histograms, released and known. The first may be a `Release`, for an audit of what was
        protected already: the attacker knows how. Each may also be the name of a file, or any frame; then columns
        that are not called ``user``, ``time``, ``place`` and ``count`` are guessed, and a warning says so.
    options
        A record of the keywords that are options; single keywords go before it.
    period
        Which events are released and which are known; None cuts the file at the day that halves its rows.
    target
        The share of people that may be identified; None for the tool's default, 5%, which is no legal threshold.
    decide
        The risk of a protected table that must not be above the target: ``"guaranteed"``, the average risk that a row
        is pointed at by any attack; or ``"measured"``, the upper end of the 95% interval of the strongest attack that
        was made. A table that is not protected is only ever measured.
    keep
        What the release is for, so which loss makes a protection cheap: ``"totals"`` of places, their ``"ranking"``,
        the ``"patterns"`` of each person (the paper's L), or as many ``"people"`` as possible. Of equal losses, the
        one in patterns decides.
    fail_above
        A gate for scripts: `verdict.fails_gate` says whether the unprotected data exceeds it.
    confident_target
        The precision that the most confident claims may have: 5% of all claims, at least 50.
    person_target
        The highest probability allowed of pointing at the row of any one person. The guarantee is one over the size of
        the smallest anonymity set. With ``decide="measured"`` it is the upper end of the precision of the top 10% most
        confident claims, at least 50.
    overlap
        The share of the people whom the attacker knows; None for all.
    grid
        The grid whose squares the places are, or that turns positions into places; larger squares are tried.
    positions
        Where places are, for a map in the report: a file or a frame with the columns ``place, lat, lon``. The squares
        of a grid have positions of their own.
    coarser
        Mappings to coarser places, to be tried.
    truth
        For two sets of histograms: who really is whom, as for `habitprint.evaluate`.
    original
        Of a released table that was protected: the table before any protection, so that it can be measured whether
        people's own rows can be reconstructed. Its ids are those of the known table. None where it is not at hand; a
        `Release` that was just made knows it.
    others
        For two sets of histograms: further releases of the same people that the attacker has, too. Groups of several
        releases can be intersected.
    training
        Two earlier tables of the people whom the attacker knows, to learn from; None to cut the known part of events
        in two. From two tables alone nobody can learn.
    active, count
        For events: as for `habitprint.split`.
    noise
        Whether to try noise, if OpenDP is installed. It has no seed, so its trials differ from run to run.
    counts
        Whether counts are released; else what is advised releases shares, so that totals tell nothing.
    population
        For how many people the share identified is forecast; None for all where a sample is audited, else for ten
        times those attacked.
    accept
        Codes of findings that would stop the audit because they make its answer wrong (`Finding`): they are told in the
        report instead.
    name
        What the data is called in the report; None for what its source says.
    preparation
        What was done to the data before, for the report.
    backend
        Where the tables live: None for this machine; `Spark` for a cluster. Then a sample of the people is audited
        here. All people are attacked once on the cluster, jointly, by the weight that identifies most of the sample.
        The target, and the gate, must be met by the sample and by the attack on all people.
    seed
        Decides all other random choices.
    progress
        Told now and then how far the work has come.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(20, 6), target=0.2, noise=False)
    >>> found.strongest.name, found.verdict.passes, found.verdict.protection
    ('joint matching, likelihood', False, 'groups of 6')
    """
    given: dict[str, Any] = {**keywords, **({"accept": tuple(keywords["accept"])} if "accept" in keywords else {})}
    subject = Subject(source, **{name: given.pop(name) for name in BESIDE & given.keys()})
    return audit_subject(subject, msgspec.structs.replace(options or DEFAULTS, **given), progress)


def audit_subject(subject: Subject, options: AuditOptions, progress: Progress = silent) -> Audit:
    """Do the same with records in place of keywords.

    Examples
    --------
    >>> import habitprint as hp
    >>> audit_subject(Subject(hp.datasets.town(12, 5)), AuditOptions(target=1.0, noise=False)).verdict.passes
    True
    """
    source: Any = subject.source if subject.backend is not None else _opened(subject.source)
    grid, told = subject.grid, subject.preparation
    _refuse_misplaced(subject, is_events=_is_events(source))
    is_events = isinstance(source, Events)
    if options.name is not None:
        options = msgspec.structs.replace(options, name=_as_text(options.name))
    run = Run(
        source=_as_text(options.name or told.source or _name_of(subject.source)),
        kind="events" if is_events else "histograms",
        made_on=datetime.now(UTC).date(),
        active=subject.active if is_events else None,
        count=subject.count if is_events else None,
        grid=grid,
        events=_without_folder(told.events),
        coarsen=tuple(map(_as_text, told.coarsen)),
        command=None if told.command is None else _as_text(told.command),
        inputs=tuple(replace(file, name=_as_text(file.name)) for file in told.inputs),
        n_others=len(subject.others),
    )
    progress("checking the data", 0, 1)
    # A mapping that cannot be read, or a table of positions, is told before the long work.
    subject = replace(
        subject,
        coarser=list(subject.coarser),
        positions=None if subject.positions is None else read_positions(subject.positions),
    )
    if isinstance(source, Events):
        events = source if grid is None or "place" in source.columns else grid.place(source)
        prepared = prepare_events(
            events,
            subject.period,
            options,
            active=subject.active,
            count=subject.count,
            spec=told.events,
            progress=progress,
        )
    elif subject.backend is not None:
        prepared, source = _prepare_remote(subject, options, progress)
    else:
        prepared = _prepare_pair(source, subject, options)
    # Codes that were accepted in vain are not told.
    found = {each.code for each in prepared.facts.findings if each.gravity == "stops"}
    accepted = tuple(code for code in options.accept if code in found)
    options = msgspec.structs.replace(options, accept=accepted)
    return _audit(prepared, replace(subject, source=source), options, run, progress)


def _audit(prepared: Prepared, subject: Subject, options: AuditOptions, run: Run, progress: Progress) -> Audit:
    seed, everybody, grid = options.seed, prepared.facts.scope.whole, subject.grid
    weights, training = _learn(prepared, subject.training, seed, progress)
    whole = run_suite(prepared.tables, full_suite(weights), seed=seed, progress=progress)
    joint = whole.strongest_joint
    weight = joint.matching.weight_name
    # The very attack that later stages repeat, so that what they find can be compared with it.
    on_all = None
    if subject.backend is not None and everybody is not None:
        remote: Any = subject.source
        on_all = attack_all(subject.backend, remote, subject.truth, joint.matching.weight, seed, progress)
    part = _part_of(whole, seed, progress)
    steps = coarser_places(prepared.tables.released, grid, subject.coarser)
    goal = options.goal

    assess = Once(partial(assess_people, joint))

    def look(progress: Progress) -> CloserLook:
        people, _ = assess(progress)
        return CloserLook(people.most_confident, people.confidence)

    def see_what_matters(progress: Progress) -> tuple[Times, tuple[Curve, ...]]:
        times = measure_times(
            prepared,
            joint,
            part.strongest_joint,
            most_users=MOST_USERS,
            weights=whole.weights,
            overlap=options.overlap,
            progress=progress,
        )
        curves = (
            users_curve(joint, progress),
            duration_curve(prepared, joint, overlap=options.overlap, progress=progress),
            resolution_curve(
                part.strongest_joint,
                steps,
                side=None if grid is None else grid.side,
                n_in_all=None if part is whole else joint.rate.n,
                progress=progress,
            ),
            times.pairs,
            times.distance,
        )
        assess(progress)
        return times, curves

    protect = partial(find_protection, whole, part, steps, goal, look=look, noise=options.noise, counts=options.counts)
    # A search for a protection goes step by step and leaves cores idle: what it does not need is done meanwhile.
    found, (times, curves) = run_two(lambda progress: protect(progress=progress), see_what_matters, progress)
    people, users = assess(progress)
    n = options.population or (TIMES_AS_MANY * joint.rate.n if everybody is None else everybody.n_attacked)
    is_protected = bool(prepared.tables.steps)
    # Of a protected table, parts say nothing about more people: its groups would be others.
    forecast = None if is_protected else forecast_people(curves[0], min(n, MOST_PEOPLE), goal.target)
    advised, advice = found.protections.advised, None
    if advised is not None and found.chosen is not None:
        advice = Advice.of(found.chosen, advised, goal, prepared.facts.scope, subject.preparation.events)
    return Audit(
        options=options,
        run=run,
        versions=versions(),
        data=prepared.facts,
        weight=weight,
        attacks=(*whole.outcomes, draw_blindly(joint.rate)),
        curves=curves,
        other_time=times.other_time,
        training=training,
        linkage=times.linkage,
        protections=found.protections,
        alternatives=find_alternatives(
            goal,
            prepared.tables,
            curves,
            found.protections,
            needed=None if forecast is None else forecast.needed,
            side=None if grid is None else grid.side,
            n_released=None if everybody is None else everybody.n_released,
        ),
        people=people,
        verdict=reach_verdict(
            goal,
            strongest_of(whole.outcomes),
            found.protections,
            people,
            is_protected=is_protected,
            fail_above=options.fail_above,
            on_all=on_all,
        ),
        forecast=forecast,
        place_map=draw_map(joint, subject.positions, grid),
        on_all=on_all,
        internal=Internal(users, advice, Case(joint, users, found.tried, found.protections)),
    )


def _part_of(whole: SuiteResult, seed: int, progress: Progress) -> SuiteResult:
    """Return the tables with which coarser places and protections are tried: all, or with many users a part."""
    tables = whole.scenario.sample(MOST_USERS, seed)
    if tables is whole.scenario:
        return whole
    return run_suite(tables, full_suite(whole.weights), seed=seed, progress=progress)


def _learn(
    prepared: Prepared, training: tuple[Histograms, Histograms] | None, seed: int, progress: Progress
) -> tuple[tuple[Weight, ...], AttackerTraining]:
    """Return the weights that an attacker may use, with a trained one if they could train, and how."""
    on: TrainedOn = "own data" if training is None else "given tables"
    if training is None and prepared.source is None:
        return ALL_WEIGHTS, AttackerTraining(on, "times")
    try:
        trained = train_weight(*(prepared.halves_of_known(progress) if training is None else training), seed=seed)
    except InputError:
        return ALL_WEIGHTS, AttackerTraining(on, "people")
    return (*ALL_WEIGHTS, trained.weight), AttackerTraining(on, None, trained.n_people, trained.by_kind)


def _name_of(source: object) -> str:
    # No report tells in which folder somebody keeps their files.
    if isinstance(source, (Events, Accounted)):
        return Path(source.source).name
    if isinstance(source, (tuple, list)):
        return "two sets of histograms"
    return Path(source).name if isinstance(source, (str, os.PathLike)) else "a frame"


def _opened(source: object) -> Events | Split | tuple[Histograms | Release, Histograms]:
    """Return what is audited as values of ours, whatever it was given as."""
    if isinstance(source, (Events, Split)):
        return source
    tables = list(source) if isinstance(source, (tuple, list)) else [source]
    is_known = [isinstance(table, (Histograms, Release)) or is_table(table) for table in tables]
    if len(tables) == 1 and is_table(source):
        return as_events(source)
    if len(tables) != 2 or not all(is_known) or isinstance(tables[1], Release):  # noqa: PLR2004
        raise InputError(f"this {type(source).__name__} cannot be audited", why=STARTS_FROM, fix=READ_THEM)
    released, known = tables
    # A file that was protected tells how beside it, which an attacker may copy.
    if isinstance(released, (str, os.PathLike)) and is_release(released):
        released = open_release(released).release
    table = released if isinstance(released, Release) else as_histograms(released, "released")
    return table, as_histograms(known, "known")


def _without_folder(spec: EventSpec | None) -> EventSpec | None:
    """Return how events were read, for a report."""
    if spec is None or spec.mapping is None:
        return spec
    return msgspec.structs.replace(spec, mapping=Path(spec.mapping).name)


def _as_text(name: str) -> str:
    """Return a name of a file, which may hold bytes that are no text at all, as text."""
    return name.encode("utf-8", errors="replace").decode("utf-8")


def _refuse_misplaced(subject: Subject, *, is_events: bool) -> None:
    """Raise `InputError` for what is asked of something else: it would be passed over, and the answer be of another."""
    of_events = {
        "a period": subject.period is not None,
        f"active = {subject.active!r}": subject.active != 1,
        f"count = {subject.count!r}": subject.count != "visits",
    }
    for option, is_given in of_events.items():
        if is_given and not is_events:
            raise InputError(
                f"{option} for two sets of histograms",
                why="they are counts already, of two periods",
                fix="leave it out, or give the events",
            )
    if is_events and not (isinstance(subject.truth, str) and subject.truth == SAME_ID):
        raise InputError(
            "truth does not apply to events",
            why="in one file of events a user has the same id in both periods",
            fix="remove it, or audit two tables of counts",
        )


def _prepare_remote(subject: Subject, options: AuditOptions, progress: Progress) -> tuple[Prepared, tuple[Any, Any]]:
    """Return a sample of the people of two remote tables, made ready to be audited; and the tables themselves."""
    only_here = {
        "an overlap": options.overlap is not None,
        "the original": subject.original is not None,
        "another release": bool(subject.others),
    }
    for option, is_given in only_here.items():
        if is_given:
            raise InputError(
                f"{option} for remote tables",
                why="all people are attacked there, in the tables as they are",
                fix="audit them on one machine; for an overlap, leave people out of the known table",
            )
    backend, background = subject.backend, Background(how="counted remotely")
    source: Any = subject.source
    assert backend is not None  # noqa: S101  (only remote tables come here)
    if _is_events(source):
        period = subject.period or HalvesOfRows()
        source = backend.count(
            source, period, users="all", active=subject.active, count=subject.count, progress=progress
        )
    if isinstance(source, Accounted):
        spans, found = (source.released_span, source.known_span), check_unused(source.unused, source.n_rows)
        background = replace(background, periods=source.periods, spans=spans, found=found)
    released, known = source
    sample = backend.sample(released, known, subject.truth, options.seed, progress)
    return prepare_tables(sample.scenario, options, replace(background, whole=sample.whole)), (released, known)


def _is_events(source: object) -> bool:
    return not isinstance(source, (tuple, list, Accounted))


def _prepare_pair(
    source: Split | tuple[Histograms | Release, Histograms], subject: Subject, options: AuditOptions
) -> Prepared:
    first, known = source
    release = first if isinstance(first, Release) else Release(first)
    _refuse_secret_mapping(release)
    own = None if subject.original is None else as_histograms(subject.original, "original")
    original = own or release.original
    others = tuple(subject.others)
    if others and original is None and is_grouped(release):
        raise InputError(
            "another release is given, but not the original",
            why="two grouped releases can reveal people's own rows; only the original shows whose they are",
            fix="add the table before any protection: original=… (command line: --original FILE)",
        )
    both = Scenario(release.histograms, known, subject.truth, release.steps, original=original, others=others)
    background = Background(losses=subject.preparation.losses, found=subject.preparation.found)
    if isinstance(source, Split):
        background = replace(background, periods=source.periods, spans=(source.released_span, source.known_span))
    return prepare_tables(both, options, background)


def _refuse_secret_mapping(release: Release) -> None:
    """Raise `InputError` where an attacker may know more than this audit: then what it measures is too low."""
    if release.steps_not_copied:
        raise InputError(
            f"the place mapping of the step {release.steps_not_copied[0].name!r} is missing",
            why="an attacker who has the mapping applies it to their own data; without it the measured risk is too low",
            fix="put the owner's file (.owner.json) beside the table or beside the key that --truth names; or add "
            "--as-is for an attacker who does not have the mapping",
        )
