"""Audits side by side: candidate releases, one before and after protection, or two periods."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

import msgspec
import polars as pl

from habitprint.attacks import Outcome
from habitprint.auditing.audit import Audit, Run
from habitprint.auditing.data import TWO_TABLES, Scope
from habitprint.auditing.goal import Decide
from habitprint.auditing.trials import Trial
from habitprint.auditing.verdict import SAMPLE_DOES
from habitprint.errors import InputError
from habitprint.events import EventSpec
from habitprint.losses import SCALES
from habitprint.mechanisms import InputFile, Losses, ProvenShare
from habitprint.rates import Difference, Rate, rates_frame
from habitprint.showing import LONGEST_LINE, Drawn, abbreviated, cut
from habitprint.words import at_most, counted, percent, printable_json, whole

SCHEMA = "habitprint-comparison/1"
FEWEST = 2

Aspect = Literal[
    "release span",
    "known span",
    "people counted",
    "people known",
    "people in the file",
    "places released",
    "how habits are counted",
    "share of the people known",
    "strongest attack",
    "target",
    "target for each person",
    "what the release is for",
    "what decides",
]


GOALS: frozenset[Aspect] = frozenset({"target", "target for each person", "what the release is for", "what decides"})


@dataclass(frozen=True)
class Unlike:
    """Hold in what an audit differs from the first one, and how both have it, in words; None where that is not told.

    Examples
    --------
    >>> Unlike("target", "5%", "10%").words, Unlike("release span", "9 April 2012 to 15 April 2012", None).words
    ('target: 10%, not 5%', 'release span: not told of both')
    """

    aspect: Aspect
    first: str | None
    here: str | None

    @property
    def is_told(self) -> bool:
        """Return whether both audits tell it: two tables do not tell which time they are of."""
        return self.first is not None and self.here is not None

    @property
    def is_finding(self) -> bool:
        """Return whether it was found and not asked for: then no difference comes from it."""
        return self.aspect == "strongest attack"

    @property
    def is_goal(self) -> bool:
        """Return whether it says what is enough, which changes nothing of what attacks find."""
        return self.aspect in GOALS

    @property
    def words(self) -> str:
        """Return the same as a clause."""
        return f"{self.aspect}: {self.here}, not {self.first}" if self.is_told else f"{self.aspect}: not told of both"


@dataclass(frozen=True)
class Compared:
    """Hold what an audit found, as far as it is compared.

    Parameters
    ----------
    name, made_on
        What it is called here, and when it was made.
    scope
        Whom and which time it is about.
    strongest, other_time
        The strongest attack on the released table; and that of an adversary who knows all other time in the file, where
        he finds more, else None.
    proven
        What is guaranteed about pointing at rows.
    target, decide, is_protected, passes, answer
        The target, what decides about a protected table, whether this one was, whether it meets the target, in words.
    losses
        What a table that was protected has lost against its original; None where it was not, or nobody knows.
    advised
        The cheapest protection that meets the target; None if none is needed, or none does.
    advice
        Which one that is, or why there is none.

    Examples
    --------
    >>> import habitprint as hp
    >>> Compared.of(hp.read_audit(hp.datasets.AUDIT_OF_TOWN), "town").verdict
    'misses the target of 5%'
    """

    name: str
    made_on: date
    scope: Scope
    strongest: Outcome
    other_time: Outcome | None
    proven: ProvenShare
    target: float
    decide: Decide
    is_protected: bool
    passes: bool
    answer: str
    losses: Losses | None
    advised: Trial | None
    advice: str

    def __repr__(self) -> str:
        return abbreviated(self)

    @classmethod
    def of(cls, audit: Audit, name: str) -> "Compared":
        """Return what is compared of an audit."""
        verdict = audit.verdict
        return cls(
            name=name,
            made_on=audit.run.made_on,
            scope=audit.data.scope,
            strongest=audit.strongest,
            other_time=audit.knows_more,
            proven=verdict.proven,
            target=verdict.target,
            decide=audit.options.decide,
            is_protected=verdict.is_protected,
            passes=verdict.passes,
            answer=audit.headline,
            losses=audit.data.losses,
            advised=None if verdict.passes else audit.protections.advised,
            advice=_advice(audit),
        )

    @property
    def rate(self) -> Rate:
        """Return what the strongest attack identifies."""
        return self.strongest.rate

    @property
    def people(self) -> str:
        """Say how many people were attacked in all ways."""
        return counted(self.rate.n, "person", "people") + self.scope.of_sample

    @property
    def verdict(self) -> str:
        """Say whether the target is met, and by what."""
        how = "guaranteed" if self.proven.is_within(self.target) else "measured"
        target = f"the target of {percent(self.target)}"
        if self.advice == SAMPLE_DOES:
            return f"is not shown to meet {target}"
        return f"meets {target}, {how}" if self.passes else f"misses {target}"

    @property
    def words(self) -> str:
        """Say what was measured and what is guaranteed."""
        bound = "nothing is guaranteed"
        if self.proven.mean < 1:
            bound = f"guaranteed: pointing at a row is right for at most {at_most(self.proven.mean)} of people"
        found = f"{whole(self.rate.n_correct)} of {self.people} are identified ({self.rate.words}); {bound}."
        return f"“{self.name}” {self.verdict}: {found}"

    @property
    def lost(self) -> str:
        """Say what the table itself has lost."""
        if not self.is_protected:
            return "nothing: it is not protected"
        if self.losses is None:
            return "not known: the owner’s file was not there"
        loss = self.losses.information_loss
        return "not defined" if loss is None else f"{loss:.2f}"


def _advice(audit: Audit) -> str:
    """Say which protection is advised, or why none is."""
    if audit.verdict.passes:
        return "none is needed"
    if audit.protections.advised is not None:
        return audit.protections.advised.label
    return SAMPLE_DOES if audit.protections.chosen == 0 else "none that was tried is enough"


@dataclass(frozen=True)
class Against:
    """Hold how an audit stands to the first.

    Parameters
    ----------
    compared
        What it found.
    difference
        By how much its measured share exceeds that of the first.
    unlike
        In what else the two differ: what the difference may come from.
    shared_inputs
        Names of files that both read: people in them are in both.
    """

    compared: Compared
    difference: Difference
    unlike: tuple[Unlike, ...]
    shared_inputs: tuple[str, ...]

    def __repr__(self) -> str:
        return abbreviated(self)


@dataclass(frozen=True)
class Comparison(Drawn):
    """Hold audits side by side. Made by `habitprint.compare`.

    Parameters
    ----------
    first
        What the others are compared with.
    others
        Each with its difference.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import habitprint as hp
    >>> strict = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> lenient = replace(strict, verdict=replace(strict.verdict, target=0.2))
    >>> found = hp.compare([strict, lenient], names=["strict", "lenient"])
    >>> found.others[0].difference.words
    'no difference (95% interval 24.2 points lower to 24.2 points higher)'
    >>> found.others[0].unlike[0].words
    'target: 20%, not 5%'
    """

    first: Compared
    others: tuple[Against, ...]

    def __repr__(self) -> str:
        return cut(f"Comparison({self.answer} {' '.join(self.differences)})", LONGEST_LINE)

    def to_frame(self) -> pl.DataFrame:
        """Return the audits as a frame, one row each; differences are to the first.

        Examples
        --------
        >>> import habitprint as hp
        >>> fewer = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
        >>> found = hp.compare([fewer, hp.audit(hp.datasets.town(14, 5), noise=False)])
        >>> found.to_frame()["passes"].to_list()
        [False, False]
        """
        names: dict[str, list[object]] = {
            "audit": [audit.name for audit in self.audits],
            "passes": [audit.passes for audit in self.audits],
            "target": [audit.target for audit in self.audits],
            "proven": [audit.proven.mean for audit in self.audits],
            "difference": [None, *(other.difference.value for other in self.others)],
        }
        return rates_frame(names, [audit.strongest.rate for audit in self.audits])

    @property
    def audits(self) -> tuple[Compared, ...]:
        """Return all audits, in their order."""
        return (self.first, *(other.compared for other in self.others))

    @property
    def answer(self) -> str:
        """Say which audits meet their targets."""
        passing = [audit.name for audit in self.audits if audit.passes]
        n = len(self.audits)
        if not passing:
            return f"None of the {n} tables meets its target."
        if len(passing) == n:
            return f"All {n} tables meet their targets."
        named = _listed([f"“{name}”" for name in passing])
        return f"Of {n} tables, {len(passing)} {'meets its target' if len(passing) == 1 else 'meet theirs'}: {named}."

    @property
    def differences(self) -> tuple[str, ...]:
        """Say of each audit how its measured share stands to the first."""
        return tuple(_stands(self.first, other) for other in self.others)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Say what else differs, so that nobody takes one thing for another."""
        return tuple(
            f"“{other.compared.name}” and “{self.first.name}” differ in {'; '.join(told)}. {consequence}"
            for other in self.others
            for is_goal, consequence in (
                (False, "What was found may differ for any of these reasons."),
                (True, "What was found does not depend on that; whether it is enough, and what is advised, does."),
            )
            if (
                told := [
                    unlike.words
                    for unlike in other.unlike
                    if unlike.is_told and not unlike.is_finding and unlike.is_goal is is_goal
                ]
            )
        )

    @property
    def unknown(self) -> tuple[str, ...]:
        """Say what cannot be compared, because an audit of two tables does not tell it."""
        return tuple(
            f"Whether “{other.compared.name}” and “{self.first.name}” are alike in {_listed(untold)} is not told."
            for other in self.others
            if (untold := [unlike.aspect for unlike in other.unlike if not unlike.is_told])
        )

    @property
    def about_people(self) -> tuple[str, ...]:
        """Say what the intervals take for granted about people who are in two audits."""
        shared = [other for other in self.others if other.shared_inputs]
        known = tuple(
            f"“{other.compared.name}” and “{self.first.name}” were made from the same "
            f"{_files(other.shared_inputs)}, so people are in both."
            for other in shared
        )
        return (INDEPENDENT, IN_BOTH, *known)

    def to_text(self) -> str:
        """Return it as JSON."""
        told = msgspec.json.encode(_Told(SCHEMA, self.answer, self))
        return printable_json(msgspec.json.format(told, indent=1).decode())


INDEPENDENT = (
    "The interval of a difference is Newcombe’s hybrid score interval, made of the two intervals. It takes the "
    "people of two audits for different people, because no report names anybody."
)
IN_BOTH = (
    "Where the same people are in both, as before and after a protection, those who are easily found in one are mostly "
    "those who are easily found in the other. Then the interval is wider than need be: a clear difference is clear all "
    "the same. If it were the other way round, which nothing here can rule out, it would be too narrow."
)


@dataclass(frozen=True)
class _Told:
    """Hold what goes into the JSON of a comparison."""

    schema: str
    answer: str
    comparison: Comparison


def compare(audits: Iterable[Audit], names: Iterable[str] | None = None) -> Comparison:
    """Put audits side by side, each with the difference of its measured share from that of the first.

    Parameters
    ----------
    audits
        Two or more: candidate releases, one before and after protection, or two periods. What differs between them is
        told beside the difference.
    names
        What each is called; None for the names of their data.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(12, 5)
    >>> before = hp.audit((released, known), target=0.2, noise=False)
    >>> after = hp.audit((before.advice.mechanism(released), known), target=0.2, noise=False)
    >>> found = hp.compare([before, after], ["before", "after"])
    >>> found.answer, found.others[0].difference.is_clear
    ('Of 2 tables, 1 meets its target: “after”.', True)
    """
    given = tuple(audits)
    _require_comparable(given)
    called = _distinct([audit.run.source for audit in given] if names is None else list(names))
    if len(called) != len(given):
        raise InputError(
            f"{len(called)} names for {len(given)} audits", why="each has one", fix="give a name for each, or none"
        )
    first, *others = (Compared.of(audit, name) for audit, name in zip(given, called, strict=True))
    return Comparison(
        first,
        tuple(
            Against(
                other,
                Difference.of(other.rate, first.rate),
                tuple(_unlike(given[0], audit)),
                _shared(given[0].run.inputs, audit.run.inputs),
            )
            for audit, other in zip(given[1:], others, strict=True)
        ),
    )


def _require_comparable(audits: Sequence[Audit]) -> None:
    if len(audits) < FEWEST:
        raise InputError(
            f"{counted(len(audits), 'audit')} to compare",
            why="a comparison is between two or more",
            fix="give at least two, such as before and after protection",
        )
    texts = [audit.to_text() for audit in audits]
    if len(set(texts)) < len(texts):
        again = next(at for at, text in enumerate(texts) if text in texts[:at])
        raise InputError(
            f"audits {texts.index(texts[again]) + 1} and {again + 1} are the same",
            why="between an audit and itself there is no difference",
            fix="give each audit once",
        )
    levels = {audit.strongest.rate.level for audit in audits}
    if len(levels) > 1:
        raise InputError(
            f"their intervals are of different levels: {' and '.join(map(percent, sorted(levels)))}",
            why="the interval of a difference is made of two intervals of one level",
            fix="audit again with one version of habitprint",
        )


def _distinct(names: Sequence[str]) -> list[str]:
    """Return names of which no two are the same."""
    many = Counter(names)
    return [name if many[name] == 1 else f"{name} ({at})" for at, name in enumerate(names, 1)]


def _unlike(first: Audit, other: Audit) -> Iterable[Unlike]:
    """Return in what two audits differ beyond what they found."""
    for (aspect, before), (_, here) in zip(_aspects(first), _aspects(other), strict=True):
        if before != here:
            yield Unlike(aspect, before, here)


def _aspects(audit: Audit) -> list[tuple[Aspect, str | None]]:
    options, scope = audit.options, audit.data.scope
    return [
        ("release span", None if scope.released in TWO_TABLES else scope.released.words),
        ("known span", None if scope.known in TWO_TABLES else scope.known.words),
        ("people counted", f"{audit.strongest.rate.n:,}"),
        ("people known", f"{scope.n_known:,}"),
        ("people in the file", None if scope.share_of_rows is None else f"{scope.n_in_file:,}"),
        ("places released", f"{audit.data.released.n_places:,}"),
        ("how habits are counted", _counted_how(audit.run)),
        ("share of the people known", percent(1.0 if options.overlap is None else options.overlap)),
        ("strongest attack", audit.strongest.name),
        ("target", percent(audit.verdict.target)),
        ("target for each person", "none" if options.person_target is None else percent(options.person_target)),
        ("what the release is for", SCALES[options.keep].kept),
        ("what decides", f"what is {options.decide}"),
    ]


def _counted_how(run: Run) -> str | None:
    if run.count is None:
        return None
    spec = run.events or EventSpec()
    side = spec.side if run.grid is None else run.grid.side
    parts = [
        run.count,
        "" if run.active in (None, 1) else f"at least {run.active} events",
        "" if side is None else f"squares of {side:g} m",
        "" if not spec.by_hours else f"blocks of {counted(spec.by_hours, 'hour')}",
        "days of the week apart" if spec.by_weekday else "",
        "" if spec.shared == "keep" else f"shared histories: {spec.shared}",
    ]
    return ", ".join(part for part in parts if part)


def _shared(inputs: Sequence[InputFile], others: Sequence[InputFile]) -> tuple[str, ...]:
    hashes = {file.sha256 for file in inputs}
    return tuple(file.name for file in others if file.sha256 in hashes)


def _stands(first: Compared, other: Against) -> str:
    clear = "" if other.difference.is_clear else "; that may be chance"
    return (
        f"“{other.compared.name}” against “{first.name}”: {_share(other.compared.rate)} are identified instead of "
        f"{_share(first.rate)}, {other.difference.words}{clear}."
    )


def _share(rate: Rate) -> str:
    return f"{percent(rate.value)} of {counted(rate.n, 'person', 'people')}"


def _listed(things: Sequence[str]) -> str:
    *some, last = things
    return f"{', '.join(some)} and {last}" if some else last


def _files(names: Sequence[str]) -> str:
    return f"{'file' if len(names) == 1 else 'files'} {_listed(names)}"
