"""The function `audit`, which runs all stages of an audit, and its result."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack, get_args

import msgspec
import polars as pl

from habitprint.attacks import ALL_WEIGHTS, Outcome, SuiteResult, draw_blindly, full_suite, run_suite, strongest_of
from habitprint.auditing import curves as risk_curves
from habitprint.auditing.candidates import Candidate, coarser_places
from habitprint.auditing.curves import Curve, Times
from habitprint.auditing.examples import ExampleRow, make_examples
from habitprint.auditing.explanation import Explanation, Internal
from habitprint.auditing.goal import Decide, Goal, TargetPreset
from habitprint.auditing.options import DEFAULTS, RATES, Accountability, AuditOptions, to_share
from habitprint.auditing.people import Confidence, People, PlaceMap, assess_people, draw_map
from habitprint.auditing.preparation import (
    Backend,
    DataFacts,
    Preparation,
    Prepared,
    Scope,
    Source,
    Subject,
    attack_all,
    prepare,
)
from habitprint.auditing.search import find_protection
from habitprint.auditing.trials import Protections
from habitprint.auditing.verdict import FILE, Advice, Alternative, Verdict, find_alternatives, reach_verdict
from habitprint.checks import Code
from habitprint.conversion import AnyTable, as_events
from habitprint.errors import InputError, require_option
from habitprint.events import Events, EventSpec
from habitprint.events.spec import Reading, ReadingKeywords
from habitprint.following import Following
from habitprint.forecasting import MOST_PEOPLE, Forecast
from habitprint.forecasting import forecast as forecast_share
from habitprint.formatting import Shown, abbreviated, chart_of, summary_of
from habitprint.histograms import Histograms
from habitprint.io.files import read_text
from habitprint.losses import UtilityMetric
from habitprint.mechanisms import InputFile, Release
from habitprint.mechanisms.guarantees import AnyGuarantee
from habitprint.mechanisms.recipe import to_text
from habitprint.periods import Period
from habitprint.periods.day_table import CountedAs
from habitprint.periods.split import Accounted
from habitprint.places import Grid, PlaceMapping
from habitprint.progress import Progress, ProgressBar, silent
from habitprint.rates import Rate, rates_frame
from habitprint.runtime import Once, run_two, versions
from habitprint.training import EvidenceShare, train_weight
from habitprint.weighing import Weight

if TYPE_CHECKING:
    import altair as alt

SCHEMA = "habitprint-audit/9"  # a change of meaning or of a name makes it /10; new names do not
# The files of an audit's folder; the advice only if a protection is recommended.
RECORD_HTML, RECORD_MD = "record.html", "record.md"
REPORT, FACTS, USERS, ADVICE = "report.html", "report.json", "users.parquet", FILE
FILES = (REPORT, RECORD_HTML, RECORD_MD, FACTS, USERS, ADVICE)
PUBLISH, INTERNAL = "publish", "internal"  # the two folders within the folder of a release
TIMES_AS_MANY = 10  # default of `population`, in multiples of the attacked people
MOST_USERS = 5_000  # most users on whom coarser places and all protections are tried first

SourceKind = Literal["events", "histograms"]
TrainedOn = Literal["own data", "given tables"]
FrameRows = Literal["attacks", "curves", "protections", "claims", "people"]
Pictured = Literal[
    "answer", "attacks", "curves", "pairs", "following", "protections", "frontier", "claims", "reliability", "map"
]


@dataclass(frozen=True)
class AuditRun:
    """The origin of an audit: data, day, command and files.

    Facts that only the preparer of the data knows are None or empty if they were not passed on (`Preparation`).

    Parameters
    ----------
    source, kind
        The name of the data; events, or two tables of histograms.
    made_on
        The day of the audit.
    active, count
        For events: the least number of events of a user, and the unit of counts.
    grid
        The grid of the places.
    events
        The options by which events were read and cut.
    coarsen, command, inputs
        Files of coarser places, the command line, and the files that it read; all without folders.
    n_others
        The number of further releases of the same people that the attacker has.
    """

    source: str
    kind: SourceKind
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
    def of(cls, subject: Subject, source: str) -> "AuditRun":
        """Return the origin of a subject, without folders and ids."""
        told, is_events = subject.preparation, isinstance(subject.source, Events)
        spec = None if told.events is None else told.events.anonymous
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
        The missing condition: times or people; None if the attacker could train.
    n_people, evidence
        The number of people, and the evidence that counts.
    """

    on: TrainedOn
    missing: Literal["times", "people"] | None
    n_people: int = 0
    evidence: tuple[EvidenceShare, ...] = ()


@dataclass(frozen=True)
class ReleasedFile:
    """The written release that an audit confirms, and the audit that recommended its protection.

    Parameters
    ----------
    file, protection, guarantees
        The table that may be published; its protection in words; and its guarantees, besides the list of its places.
    advised_on, strongest, knows_more
        The day of the audit of the unprotected table, and its strongest attack. Also the attack of an attacker who
        knows all other time in the file; None if it is not stronger.

    Examples
    --------
    >>> file = InputFile("calls.parquet", "0" * 64, 5643)
    >>> found = Outcome("joint", "l1", Rate.of(190, 200, 1 / 200), 0.0, 0)
    >>> ReleasedFile(file, "groups of 20", (), date(2012, 4, 23), found).strongest.rate.value
    0.95
    """

    file: InputFile
    protection: str
    guarantees: tuple[AnyGuarantee, ...]
    advised_on: date
    strongest: Outcome
    knows_more: Outcome | None = None

    __repr__ = abbreviated


@dataclass(frozen=True, eq=False)
class Audit(Shown):
    """The result of an audit. Made by `habitprint.audit`, or read back from its ``report.json``.

    Parameters
    ----------
    options, run, versions
        The options of the audit; the data, the day and the files; the versions of the software.
    data, attacks, curves, protections, people, verdict
        The results of the stages.
    other_time
        The attack of an attacker who knows all other time in the file. None if the release is half of the file or more,
        if the attacker knows all other time already, or if there are no events.
    training
        The attacker's training.
    following
        The people who can be followed if the release is repeated under new pseudonyms. None without events, or for a
        file with fewer than three days.
    alternatives
        Alternatives if no protection meets the target, or if the recommended one loses much; otherwise empty.
    weight
        The weight of the strongest joint attack. Later stages use it again.
    forecast
        The forecast of that attack's share among more people. None with too few people, for a protected table, and in
        files of earlier versions.
    place_map
        The places that identify people, for a map. None if places have no positions.
    on_all
        The attack on all people of remote tables. All other fields are about a sample of these people
        (`data.scope.whole`). None if everybody is audited.
    release
        The file that the audit confirms, made by `habitprint.release`; None for any other audit.
    examples
        Synthetic people before and after the recommended protection, or that of the release; empty if there is none.
    internal
        The people at risk, by id: for internal use only. None for an audit that was read back, because no report names
        people.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(12, 5), target=1.0, noise=False)
    >>> found.to_json()["schema"], found.verdict.passes
    ('habitprint-audit/9', True)
    """

    options: AuditOptions
    run: AuditRun
    versions: Mapping[str, str]
    data: DataFacts
    weight: str
    attacks: tuple[Outcome, ...]
    curves: tuple[Curve, ...]
    other_time: Outcome | None
    training: AttackerTraining
    following: Following | None
    protections: Protections
    alternatives: tuple[Alternative, ...]
    people: People
    verdict: Verdict
    forecast: Forecast | None = None
    place_map: PlaceMap | None = None
    on_all: Outcome | None = None
    release: ReleasedFile | None = None
    examples: tuple[ExampleRow, ...] = ()
    internal: Internal | None = None

    def __repr__(self) -> str:
        return f"Audit(of {self.run.source!r}: {self.verdict.reason}; {self.strongest.rate.words})"

    def to_frame(self, rows: FrameRows = "attacks") -> pl.DataFrame:
        """Return a part of the results as a frame.

        Parameters
        ----------
        rows
            ``"attacks"`` on the unprotected table; points of all ``"curves"``; ``"protections"`` that were tried;
            ``"claims"``: the precision of the most confident ones; or ``"people"`` by id, for internal use only.

        Examples
        --------
        >>> import habitprint as hp
        >>> found = hp.audit(hp.datasets.town(12, 5), noise=False)
        >>> found.to_frame().columns
        ['attack', 'method', 'weight', 'gap', 'n_guesses', 'share', 'low', 'high', 'n_correct', 'n', 'by_chance']
        >>> found.to_frame("people").height
        12
        """
        require_option("rows", rows, get_args(FrameRows))
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
            ``"following"`` through repeated releases; ``"protections"`` by loss and risk, with the ``"frontier"`` of
            the best ones (the same picture); the precision of the most confident ``"claims"``; the ``"reliability"``
            of probabilities; or the ``"map"`` of places. The data decide which of them exist.

        Examples
        --------
        >>> import habitprint as hp
        >>> found = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
        >>> type(found.plot("attacks")).__name__
        'LayerChart'
        """
        require_option("picture", picture, get_args(Pictured))
        return chart_of(self, picture)

    def summary(self) -> str:
        """Return the answer in a few lines of text: result, numbers, recommendation and cautions.

        Examples
        --------
        >>> import habitprint as hp
        >>> print(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).summary()[:49])
        ✗ 100% of people can be re-identified. Target: 5%
        """
        return summary_of(self)

    @property
    def strongest(self) -> Outcome:
        """Return the attack with the highest upper end."""
        return strongest_of(self.attacks)

    @property
    def knows_more(self) -> Outcome | None:
        """Return the attack of an attacker who knows all other time in the file, if it is stronger."""
        other = self.other_time
        return other if other is not None and other.rate.high > self.strongest.rate.high else None

    def require_internal(self) -> Internal:
        """Return the results for internal use, or raise `InputError` for an audit that was read back."""
        if self.internal is None:
            raise InputError(
                "this audit was read from a report, which holds no user ids",
                why="a report never contains the people at risk or the tables",
                fix="read users.parquet in the same folder; to explain a person, audit the tables again",
            )
        return self.internal

    @property
    def users(self) -> pl.DataFrame:
        """Return the people at risk, by id: for internal use only."""
        return self.require_internal().users

    @property
    def advice(self) -> Advice | None:
        """Return the recommended protection, or None: for internal use."""
        return self.require_internal().advice

    def explain(self, user: object) -> Explanation:
        """Explain why a person is re-identified or not: places, rivals, probability, and the effect of each protection.

        The explanation names people and places: for internal use only. An audit that was read back cannot explain. The
        first call measures the effect of protections and keeps it.

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
        """Return all facts except ids of users, as a dictionary for JSON; `docs/audit.md` describes its fields."""
        facts: dict[str, object] = msgspec.json.decode(self.to_text())
        return facts

    def to_text(self) -> str:
        """Return the facts as JSON text; ``report.json`` also has sentences."""
        return to_text({"schema": SCHEMA} | {name: getattr(self, name) for name in IN_JSON}).rstrip("\n")

    @classmethod
    def from_json(cls, facts: Mapping[str, object]) -> "Audit":
        """Return the audit from the result of `to_json` or from a ``report.json``, without the people at risk.

        Examples
        --------
        >>> import habitprint as hp
        >>> facts = hp.read_audit(hp.datasets.AUDIT_OF_TOWN).to_json()
        >>> hp.Audit.from_json(facts).to_json() == facts
        True
        """
        why, fix = "a report of another version, or a damaged one, cannot be read", "audit again with this version"
        if (schema := facts.get("schema")) != SCHEMA:
            what = f"report.json has the schema {schema!r}, but this version reads {SCHEMA!r}"
            raise InputError(what, why=why, fix=fix)
        try:
            return msgspec.convert({name: facts[name] for name in IN_JSON if name in facts}, cls)
        except msgspec.ValidationError as error:
            raise InputError(f"report.json is not valid: {error}", why=why, fix=fix) from error


def facts_file(path: str | os.PathLike[str]) -> Path:
    """Return the ``report.json`` of an audit, from its folder, from the folder of a release, or from its own path.

    Examples
    --------
    >>> facts_file("april.json").as_posix()
    'april.json'
    """
    path = Path(path)
    if not path.is_dir():
        return path
    return next((file for file in (path / FACTS, path / INTERNAL / FACTS) if file.exists()), path / FACTS)


def read_audit(path: str | os.PathLike[str]) -> Audit:
    """Read an audit back from its folder, from the folder of a release, or from ``report.json``; nobody is named in it.

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
    file = facts_file(path)
    why, fix = f"an audit writes its results to {FACTS}", "give the folder that habitprint audit --out wrote"
    text = read_text(file, why=why, fix=fix)
    try:
        return Audit.from_json(msgspec.json.decode(text, type=dict[str, object]))
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(f"{file} is not the report of an audit: {error}", why=why, fix=fix) from error
    except InputError as error:
        raise error.of(str(file)) from error


IN_JSON = tuple(field.name for field in fields(Audit) if field.name != "internal")


class AuditKeywords(ReadingKeywords, total=False):
    """The keywords of `habitprint.audit`: fields of `AuditOptions`, of a `Subject` and of a `Reading`."""

    target: float | str | None
    target_preset: TargetPreset | None
    decide: Decide
    keep: UtilityMetric
    fail_above: float | str | None
    confident_target: float | str | None
    person_target: float | str | None
    overlap: float | str | None
    noise: bool
    counts: bool
    population: int | None
    accept: Sequence[Code]
    name: str | None
    accountability: Accountability
    seed: int
    period: Period | None
    grid: Grid | None
    positions: AnyTable | None
    coarser: Iterable[PlaceMapping]
    truth: Any
    original: Histograms | AnyTable | None
    others: Sequence[Release]
    sensitive: AnyTable | None
    training: tuple[Histograms, Histograms] | None
    active: int
    count: CountedAs
    preparation: Preparation
    backend: Backend | None


BESIDE = {field.name for field in fields(Subject)} - {"source"}
READ_AS = set(Reading.__struct_fields__)


def audit(
    source: Source,
    options: AuditOptions | None = None,
    *,
    progress: Progress | None = None,
    **keywords: Unpack[AuditKeywords],
) -> Audit:
    """Measure whether a table meets a re-identification target, and search for a protection if it does not.

    Parameters
    ----------
    source
        Events; or two sets of histograms, released and known. The first may be a `Release`: then a protected table is
        audited, and the attacker knows its protection. Each may also be the name of a file, or any frame. Columns with
        other names than ``user``, ``time``, ``place`` and ``count`` are then guessed, with a warning.
    options
        A record of options; single keywords override it. A rate is a share of one, or text such as ``"5%"``.
    user, time, place, lat, lon, seconds, columns, time_zone, time_format, on_bad_rows
        For a file or frame of events: its columns and its times, as for `habitprint.read_events`.
    separator, decimal, encoding, sheet, sql
        For a file of events: its format, as for `habitprint.read_events`.
    period
        The released and the known period. None cuts the file at the day that halves its rows.
    target
        The share of people who may be re-identified. None is the default, 5%, which is no legal threshold.
    target_preset
        A target for the highest risk of any person instead. ``"cell-5"``, ``"cell-10"``, ``"cell-11"`` and
        ``"cell-20"`` ask for at least so many identical rows; ``"ema"`` is 1/11. Only the guarantee can meet it.
    decide
        The risk of a protected table that must be within the target. ``"guaranteed"``: the average risk that any attack
        points at the right row. ``"measured"``: the upper end of the 95% interval of the strongest attack that ran. The
        risk of an unprotected table is always measured.
    keep
        The utility metric that decides: ``"totals"`` of places, their ``"ranking"``, or the ``"patterns"`` of each
        person (the paper's L). Or the ``"prediction"`` of another period, or as many ``"people"`` as possible.
    fail_above
        A gate for scripts: `verdict.fails_gate` says whether the unprotected data exceeds it.
    confident_target
        The highest precision allowed for the top 5% most confident claims, at least 50 claims.
    person_target
        The highest probability allowed of pointing at the row of any one person. The guarantee is one over the size of
        the smallest anonymity set. With ``decide="measured"`` it is the upper end of the precision of the top 10% most
        confident claims, at least 50.
    overlap
        The share of the people about whom the attacker has data; None for all.
    grid
        The grid of the places, or the grid that turns positions into places. The audit also tries larger squares.
    positions
        The positions of places, for a map in the report: a file or a frame with the columns ``place, lat, lon``. A grid
        needs none.
    coarser
        Mappings to coarser places that the audit tries.
    truth
        For two sets of histograms: the truth, as for `habitprint.evaluate`.
    original
        For a protected table: the table before any protection, with the ids of the known table. The audit needs it to
        measure whether rows can be reconstructed. A `Release` that was just made knows it.
    others
        For two sets of histograms: further releases of the same people that the attacker has, too. Groups of several
        releases can be intersected.
    sensitive
        Places whose attribution is also measured on their own: a list, or a file or frame with the column ``place``.
        They are measured in every protection in groups on which the full attack suite runs.
    training
        Two earlier tables of the attacker's data, to train on. None cuts the known part of events in two. Without
        events, the attacker then cannot train.
    active, count
        For events: as for `habitprint.split`.
    noise
        Whether to try noise, if OpenDP is installed. It has no seed, so its trials differ from run to run.
    counts
        Whether the release holds counts. Otherwise the recommendation releases shares, which state no total.
    population
        The number of people of the forecast. None is ten times the attacked people, or for a sample, all people.
    accept
        Codes of findings (`Finding`) that would stop the audit because they make its answer wrong. The report lists
        them instead.
    name
        The name of the data in the report; None for the name of its source.
    accountability
        The people and reasons behind the release, for the record.
    preparation
        The steps that prepared the data, for the report.
    backend
        The backend of the tables: None for this machine, or `Spark` for a cluster. With Spark, the audit covers a
        sample of the people. One joint attack runs on all people, with the weight that re-identifies most of the
        sample. Both must be within the target, and within the gate.
    seed
        Decides all other random choices.
    progress
        A function that is called now and then with the progress of the work. None shows a bar in a terminal or in a
        notebook; `habitprint.progress.silent` shows nothing.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(40, 6), target="20%", noise=False)
    >>> found.strongest.name, found.verdict.passes, found.verdict.protection
    ('joint matching, jensen-shannon, with totals', False, 'groups of 5')
    """
    given: dict[str, Any] = {**keywords, **({"accept": tuple(keywords["accept"])} if "accept" in keywords else {})}
    subject = Subject(source, **{name: given.pop(name) for name in BESIDE & given.keys()})
    if read_as := {name: given.pop(name) for name in READ_AS & given.keys()}:
        subject = replace(subject, source=as_events(source, **read_as))
    rates = {name: to_share(given[name], name) for name in RATES if isinstance(given.get(name), str)}
    options = msgspec.structs.replace(options or DEFAULTS, **(given | rates))
    if progress is not None:
        return audit_subject(subject, options, progress)
    with ProgressBar() as shown:
        return audit_subject(subject, options, shown)


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
    run = AuditRun.of(subject, called)
    progress("checking the data", 0, 1)
    prepared = prepare(subject, options, progress)
    # Accepted codes that stop nothing are not recorded.
    found = {each.code for each in prepared.facts.findings if each.gravity == "stops"}
    accepted = tuple(code for code in options.accept if code in found)
    return audit_prepared(prepared, subject, msgspec.structs.replace(options, accept=accepted), run, progress)


def audit_prepared(
    prepared: Prepared,
    subject: Subject,
    options: AuditOptions,
    run: AuditRun,
    progress: Progress = silent,
    release: ReleasedFile | None = None,
    examples: tuple[ExampleRow, ...] = (),
) -> Audit:
    """Attack two tables that were checked, search for a protection, and return all results.

    Examples
    --------
    >>> import habitprint as hp
    >>> subject, options = Subject(hp.datasets.town(12, 5)), AuditOptions(target=1.0, noise=False)
    >>> audit_prepared(prepare(subject, options), subject, options, AuditRun.of(subject, "town")).verdict.passes
    True
    """
    seed, goal, grid, tables = options.seed, options.goal, subject.grid, prepared.tables
    everybody = prepared.facts.scope.whole
    if prepared.source is not None:
        prepared = replace(prepared, other_time=risk_curves.count_other_time(prepared, options.overlap, seed))
    weights, training, trained_on = _learn(prepared, subject.training, seed, progress)
    whole = run_suite(tables, full_suite(weights), seed=seed, progress=progress)
    joint, some = whole.strongest_joint, tables.sample(MOST_USERS, seed)
    # Coarser places and protections are tried with all, or with many users a part.
    part = whole if some is tables else run_suite(some, full_suite(whole.weights), seed=seed, progress=progress)
    # Later stages repeat this attack, so that their results can be compared with it.
    on_all = None
    if subject.backend is not None and prepared.remote is not None and everybody is not None:
        weight = joint.matching.weight
        on_all = attack_all(subject.backend, prepared.remote, subject.truth, weight, seed, progress)
    steps = coarser_places(tables.released, grid, subject.coarser)
    assess = Once(partial(assess_people, joint, is_of_events=subject.count == "visits"))

    def look(progress: Progress) -> tuple[Rate, Confidence | None]:
        people, _ = assess(progress)
        return people.most_confident, people.confidence

    def see_what_matters(progress: Progress) -> tuple[Times, tuple[Curve, ...]]:
        found = _see_what_matters(prepared, subject, whole, part, steps, options.overlap, progress)
        assess(progress)
        return found

    # The search for a protection leaves cores idle, so independent stages run at the same time.
    (protections, tried), (times, curves) = run_two(
        partial(find_protection, whole, part, steps, options, look, is_final=release is not None),
        see_what_matters,
        progress,
    )
    people, users = assess(progress)
    n = options.population or (TIMES_AS_MANY * joint.rate.n if everybody is None else everybody.n_attacked)
    # Of a protected table, parts say nothing about more people: its groups would be others.
    has_sizes = not tables.steps and len(curves[0].points) > 1
    forecast = forecast_share(curves[0].points, min(n, MOST_PEOPLE), target=goal.target) if has_sizes else None
    needed = None if forecast is None else forecast.needed
    advice = _advise(protections, tried, goal, prepared.facts.scope, subject.preparation.events)
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
        following=times.following,
        protections=protections,
        alternatives=find_alternatives(goal, tables, curves, protections, needed, everybody),
        people=people,
        verdict=reach_verdict(options, protections, is_protected=bool(tables.steps), on_all=on_all),
        forecast=forecast,
        place_map=draw_map(joint, subject.positions, grid),
        on_all=on_all,
        release=release,
        examples=examples if advice is None else make_examples(advice.recipe),
        internal=Internal(users, advice, joint, tried, protections, replace(prepared, source=None, halves=trained_on)),
    )


def _see_what_matters(
    prepared: Prepared,
    subject: Subject,
    whole: SuiteResult,
    part: SuiteResult,
    steps: Sequence[Candidate],
    overlap: float | None,
    progress: Progress,
) -> tuple[Times, tuple[Curve, ...]]:
    """Repeat the strongest joint attack on parts of the data, and return what the risk depends on."""
    joint = whole.strongest_joint
    again, n_in_all = (joint, None) if part is whole else (part.strongest_joint, joint.rate.n)
    times = risk_curves.measure_times(
        prepared, joint, again, most_users=MOST_USERS, weights=whole.weights, overlap=overlap, progress=progress
    )
    side = None if subject.grid is None else subject.grid.side
    return times, (
        risk_curves.users_curve(joint, progress),
        risk_curves.duration_curve(prepared, joint, overlap=overlap, progress=progress),
        risk_curves.resolution_curve(again, steps, side=side, n_in_all=n_in_all, progress=progress),
        times.pairs,
        times.distance,
    )


def _advise(
    found: Protections, tried: Sequence[Candidate], goal: Goal, scope: Scope, events: EventSpec | None
) -> Advice | None:
    """Return the recommended protection with its mappings, which a trial does not hold; None if there is none."""
    trial = found.advised
    if trial is None or found.chosen is None:
        return None
    return Advice(
        label=trial.label,
        recipe=tried[found.chosen].recipe,
        target=goal.target,
        decide="guaranteed" if trial.guaranteed.is_within(goal.target) else "measured",
        guaranteed=trial.guaranteed,
        measured=trial.risk,
        keep=goal.keep,
        losses=trial.losses,
        scope=scope,
        events=events,
    )


def _learn(
    prepared: Prepared, training: tuple[Histograms, Histograms] | None, seed: int, progress: Progress
) -> tuple[tuple[Weight, ...], AttackerTraining, tuple[Histograms, Histograms] | None]:
    """Return the weights that an attacker may use, with a trained one if they could train; how, and on which tables."""
    on: TrainedOn = "own data" if training is None else "given tables"
    if training is None and not prepared.has_times:
        return ALL_WEIGHTS, AttackerTraining(on, "times"), None
    try:
        training = prepared.halves_of_known(progress) if training is None else training
        trained = train_weight(*training, seed=seed)
    except InputError:
        return ALL_WEIGHTS, AttackerTraining(on, "people"), training
    return (*ALL_WEIGHTS, trained.weight), AttackerTraining(on, None, trained.n_people, trained.by_kind), training


def _name_of(source: object) -> str:
    # A report must not show folders of its author.
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
