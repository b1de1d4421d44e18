"""The function `audit`, which runs all stages of an audit, and its result."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, get_args

import msgspec
import polars as pl

from habitprint.arguments import AnyTable
from habitprint.attacks import ALL_WEIGHTS, Outcome, draw_blindly, full_suite, run_suite, strongest_of
from habitprint.auditing import curves as risk_curves
from habitprint.auditing.candidates import Candidate, coarser_places
from habitprint.auditing.curves import Curve, Linkage, Times
from habitprint.auditing.data import Backend, DataFacts, Preparation, Prepared, Source, Subject, attack_all, prepare
from habitprint.auditing.explanation import Explanation, Internal
from habitprint.auditing.goal import Decide
from habitprint.auditing.options import DEFAULTS, AuditOptions
from habitprint.auditing.people import Confidence, People, PlaceMap, assess_people, draw_map
from habitprint.auditing.search import find_protection
from habitprint.auditing.trials import Protections
from habitprint.auditing.verdict import FILE, Advice, Alternative, Verdict, find_alternatives, reach_verdict
from habitprint.checks import Code
from habitprint.errors import InputError, require_option
from habitprint.events import Events, EventSpec
from habitprint.forecasting import MOST_PEOPLE, Forecast
from habitprint.forecasting import forecast as follow
from habitprint.formatting import Shown, abbreviated, chart_of, printable_json
from habitprint.histograms import Histograms
from habitprint.io.inputs import read_text
from habitprint.losses import UtilityMetric
from habitprint.mechanisms import InputFile, Release
from habitprint.periods import Period
from habitprint.periods.day_table import CountedAs
from habitprint.periods.split import Accounted
from habitprint.places import Grid, PlaceMapping
from habitprint.progress import Progress, silent
from habitprint.rates import Rate, rates_frame
from habitprint.runtime import versions
from habitprint.runtime.parallel import Once, run_two
from habitprint.training import Evidence, train_weight
from habitprint.weighing import Weight

if TYPE_CHECKING:
    import altair as alt

SCHEMA = "habitprint-audit/7"  # a change of meaning or of a name makes it /8; new names do not
# What its folder holds; the advice only if a protection is needed and one is enough.
RECORD_HTML, RECORD_MD = "record.html", "record.md"
REPORT, FACTS, USERS, ADVICE = "report.html", "report.json", "users.parquet", FILE
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

    __repr__ = abbreviated

    @classmethod
    def of(cls, subject: Subject, source: str) -> "Run":
        """Return what is told of a subject: no report says in which folder somebody keeps their files."""
        told, is_events = subject.preparation, isinstance(subject.source, Events)
        spec = told.events
        if spec is not None and spec.mapping is not None:
            spec = msgspec.structs.replace(spec, mapping=Path(spec.mapping).name)
        return cls(
            source=_as_text(source),
            kind="events" if is_events else "histograms",
            made_on=datetime.now(UTC).date(),
            active=subject.active if is_events else None,
            count=subject.count if is_events else None,
            grid=subject.grid,
            events=spec,
            coarsen=tuple(map(_as_text, told.coarsen)),
            command=None if told.command is None else _as_text(told.command),
            inputs=tuple(replace(file, name=_as_text(file.name)) for file in told.inputs),
            n_others=len(subject.others),
        )


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
class Audit(Shown):
    """The result of an audit. Made by `habitprint.audit`, or read back from its ``report.json``.

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
    ('habitprint-audit/7', True)
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
        return self.require_internal().explain(user)

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
    """Read an audit back from its folder or its ``report.json``, without the people at risk.

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


BESIDE = {field.name for field in fields(Subject)} - {"source"}


def audit(
    source: Source,
    options: AuditOptions | None = None,
    *,
    progress: Progress = silent,
    **keywords: Unpack[AuditKeywords],
) -> Audit:
    """Measure whether a table meets a re-identification target, and search a protection if it does not.

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
    if options.name is not None:
        options = msgspec.structs.replace(options, name=_as_text(options.name))
    called = options.name or subject.preparation.source or _name_of(subject.source)
    subject = subject.opened()
    run = Run.of(subject, called)
    progress("checking the data", 0, 1)
    prepared = prepare(subject, options, progress)
    # Codes that were accepted in vain are not told.
    found = {each.code for each in prepared.facts.findings if each.gravity == "stops"}
    accepted = tuple(code for code in options.accept if code in found)
    return _audit(prepared, subject, msgspec.structs.replace(options, accept=accepted), run, progress)


def _audit(prepared: Prepared, subject: Subject, options: AuditOptions, run: Run, progress: Progress) -> Audit:
    seed, goal, grid, tables = options.seed, options.goal, subject.grid, prepared.tables
    everybody, side = prepared.facts.scope.whole, None if grid is None else grid.side
    weights, training = _learn(prepared, subject.training, seed, progress)
    whole = run_suite(tables, full_suite(weights), seed=seed, progress=progress)
    joint, some = whole.strongest_joint, tables.sample(MOST_USERS, seed)
    # Coarser places and protections are tried with all, or with many users a part.
    part = whole if some is tables else run_suite(some, full_suite(whole.weights), seed=seed, progress=progress)
    # The very attack that later stages repeat, so that what they find can be compared with it.
    on_all = None
    if subject.backend is not None and prepared.remote is not None and everybody is not None:
        weight = joint.matching.weight
        on_all = attack_all(subject.backend, prepared.remote, subject.truth, weight, seed, progress)
    steps = coarser_places(tables.released, grid, subject.coarser)
    assess = Once(partial(assess_people, joint))

    def look(progress: Progress) -> tuple[Rate, Confidence | None]:
        people, _ = assess(progress)
        return people.most_confident, people.confidence

    def protect(progress: Progress) -> tuple[Protections, tuple[Candidate, ...]]:
        noise, counts = options.noise, options.counts
        return find_protection(whole, part, steps, goal, look=look, noise=noise, counts=counts, progress=progress)

    def see_what_matters(progress: Progress) -> tuple[Times, tuple[Curve, ...]]:
        again, n_in_all = (joint, None) if part is whole else (part.strongest_joint, joint.rate.n)
        overlap = options.overlap
        times = risk_curves.measure_times(
            prepared, joint, again, most_users=MOST_USERS, weights=whole.weights, overlap=overlap, progress=progress
        )
        curves = (
            risk_curves.users_curve(joint, progress),
            risk_curves.duration_curve(prepared, joint, overlap=overlap, progress=progress),
            risk_curves.resolution_curve(again, steps, side=side, n_in_all=n_in_all, progress=progress),
            times.pairs,
            times.distance,
        )
        assess(progress)
        return times, curves

    # A search for a protection goes step by step and leaves cores idle: what it does not need is done meanwhile.
    (protections, tried), (times, curves) = run_two(protect, see_what_matters, progress)
    people, users = assess(progress)
    n = options.population or (TIMES_AS_MANY * joint.rate.n if everybody is None else everybody.n_attacked)
    # Of a protected table, parts say nothing about more people: its groups would be others.
    is_followed = not tables.steps and len(curves[0].points) > 1
    forecast = follow(curves[0].points, min(n, MOST_PEOPLE), target=goal.target) if is_followed else None
    advice = None
    if protections.chosen:
        recipe, events = tried[protections.chosen].recipe, subject.preparation.events
        advice = Advice.of(protections.trials[protections.chosen], recipe, goal, prepared.facts.scope, events)
    return Audit(
        options=options,
        run=run,
        versions=versions(),
        data=prepared.facts,
        weight=joint.matching.weight_name,
        attacks=(*whole.outcomes, draw_blindly(joint.rate)),
        curves=curves,
        other_time=times.other_time,
        training=training,
        linkage=times.linkage,
        protections=protections,
        alternatives=find_alternatives(
            goal,
            tables,
            curves,
            protections,
            needed=None if forecast is None else forecast.needed,
            n_released=None if everybody is None else everybody.n_released,
        ),
        people=people,
        verdict=reach_verdict(
            goal, protections, is_protected=bool(tables.steps), fail_above=options.fail_above, on_all=on_all
        ),
        forecast=forecast,
        place_map=draw_map(joint, subject.positions, grid),
        on_all=on_all,
        internal=Internal(users, advice, joint, tried, protections),
    )


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
    if isinstance(source, Events):
        return Path(source.origin).name
    if isinstance(source, Accounted):
        return Path(source.source).name
    if isinstance(source, (tuple, list)):
        return "two sets of histograms"
    return Path(source).name if isinstance(source, (str, os.PathLike)) else "a frame"


def _as_text(name: str) -> str:
    """Return a name of a file, which may hold bytes that are no text at all, as text."""
    return name.encode("utf-8", errors="replace").decode("utf-8")
