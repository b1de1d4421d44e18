"""Comparison of audits: candidate releases, a table before and after protection, or two periods."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

import polars as pl

from habitprint.attacks import Outcome
from habitprint.auditing.audit import Audit, AuditRun
from habitprint.auditing.goal import Decide
from habitprint.auditing.preparation import Scope
from habitprint.auditing.trials import Trial
from habitprint.errors import InputError
from habitprint.events import EventSpec
from habitprint.formatting import Drawn, abbreviated, counted, percent
from habitprint.losses import SCALES
from habitprint.mechanisms import GuaranteedRisk, Losses
from habitprint.mechanisms.recipe import to_text
from habitprint.rates import Difference, Rate, rates_frame

SCHEMA = "habitprint-comparison/1"
FEWEST = 2

AdviceGiven = Literal["none is needed", "a protection", "sample meets the target", "none is enough"]


def _counted_how(run: AuditRun) -> str | None:
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


# Aspects in which audits may differ besides their results, with the value of each audit; None if unknown.
ASPECTS: dict[str, Callable[[Audit], str | None]] = {
    "release span": lambda audit: audit.data.scope.released.words or None,
    "known span": lambda audit: audit.data.scope.known.words or None,
    "people counted": lambda audit: f"{audit.strongest.rate.n:,}",
    "people known": lambda audit: f"{audit.data.scope.n_known:,}",
    "people in the file": lambda audit: (
        None if audit.data.scope.share_of_rows is None else f"{audit.data.scope.n_in_file:,}"
    ),
    "places released": lambda audit: f"{audit.data.released.n_places:,}",
    "how habits are counted": lambda audit: _counted_how(audit.run),
    "share of the people known": lambda audit: percent(audit.options.overlap or 1.0),
    "strongest attack": lambda audit: audit.strongest.name,
    "target": lambda audit: percent(audit.verdict.target),
    "target for each person": lambda audit: (
        "none" if audit.options.goal.person_target is None else percent(audit.options.goal.person_target)
    ),
    "what the release is for": lambda audit: SCALES[audit.options.keep].kept,
    "what decides": lambda audit: f"what is {audit.options.decide}",
}
GOALS = frozenset({"target", "target for each person", "what the release is for", "what decides"})


@dataclass(frozen=True)
class Unlike:
    """One difference between an audit and the first one: its name and both values; None if unknown.

    Examples
    --------
    >>> Unlike("target", "5%", "10%").is_told, Unlike("release span", "9 April 2012 to 15 April 2012", None).is_told
    (True, False)
    """

    aspect: str
    first: str | None
    here: str | None

    @property
    def is_told(self) -> bool:
        """Return whether both values are known; two tables of counts have no known period."""
        return self.first is not None and self.here is not None

    @property
    def is_finding(self) -> bool:
        """Return whether the value is a result and not an option, so that it causes no difference."""
        return self.aspect == "strongest attack"

    @property
    def is_goal(self) -> bool:
        """Return whether the value is part of the goal, which does not change measured risks."""
        return self.aspect in GOALS


@dataclass(frozen=True)
class Compared:
    """The findings of an audit that are compared.

    Parameters
    ----------
    name, made_on
        The name of the audit, and its day.
    scope
        The people and periods of the audit.
    strongest, other_time
        The strongest attack on the released table. Also the attack of an attacker who knows all other time in the file;
        None if it is not stronger.
    guaranteed
        The guaranteed risk of rows pointed at.
    target, decide, is_protected, passes
        The target, the deciding risk, whether the table is protected, and whether it meets the target.
    losses
        The losses of a protected table against its original; None if unprotected or unknown.
    advice, advised
        Whether a protection is recommended; and this protection, None if none is needed, or none meets the target.

    Examples
    --------
    >>> import habitprint as hp
    >>> Compared.of(hp.read_audit(hp.datasets.AUDIT_OF_TOWN), "town").advice
    'none is enough'
    """

    name: str
    made_on: date
    scope: Scope
    strongest: Outcome
    other_time: Outcome | None
    guaranteed: GuaranteedRisk
    target: float
    decide: Decide
    is_protected: bool
    passes: bool
    losses: Losses | None
    advice: AdviceGiven
    advised: Trial | None

    __repr__ = abbreviated

    @classmethod
    def of(cls, audit: Audit, name: str) -> "Compared":
        """Return the facts of an audit that are compared."""
        verdict = audit.verdict
        return cls(
            name=name,
            made_on=audit.run.made_on,
            scope=audit.data.scope,
            strongest=audit.strongest,
            other_time=audit.knows_more,
            guaranteed=verdict.guaranteed,
            target=verdict.target,
            decide=audit.options.decide,
            is_protected=verdict.is_protected,
            passes=verdict.passes,
            losses=audit.data.losses,
            advice=_advice(audit),
            advised=None if verdict.passes else audit.protections.advised,
        )

    @property
    def rate(self) -> Rate:
        """Return the rate of the strongest attack."""
        return self.strongest.rate


def _advice(audit: Audit) -> AdviceGiven:
    if audit.verdict.passes:
        return "none is needed"
    if audit.protections.advised is not None:
        return "a protection"
    return "sample meets the target" if audit.protections.chosen == 0 else "none is enough"


@dataclass(frozen=True)
class Against:
    """The difference between an audit and the first one.

    Parameters
    ----------
    compared
        The facts of the audit.
    difference
        The difference of its measured share from that of the first.
    unlike
        The other differences between the two audits, which may explain it.
    shared_inputs
        Names of files that both read: people in them are in both.
    """

    compared: Compared
    difference: Difference
    unlike: tuple[Unlike, ...]
    shared_inputs: tuple[str, ...]

    __repr__ = abbreviated


@dataclass(frozen=True)
class Comparison(Drawn):
    """A comparison of several audits. Made by `habitprint.compare`.

    Parameters
    ----------
    first
        The audit with which the others are compared.
    others
        The other audits, each with its difference from the first.
    sources
        The audits with all their facts, in the same order.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import habitprint as hp
    >>> strict = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> lenient = replace(strict, verdict=replace(strict.verdict, target=0.2))
    >>> found = hp.compare([strict, lenient], names=["strict", "lenient"])
    >>> found.others[0].difference.words
    'no difference (95% interval 24.2 points lower to 24.2 points higher)'
    >>> found.others[0].unlike[0].aspect
    'target'
    """

    first: Compared
    others: tuple[Against, ...]
    sources: tuple[Audit, ...] = field(repr=False)

    __repr__ = abbreviated

    def to_frame(self) -> pl.DataFrame:
        """Return the audits as a frame, one row each; differences are from the first.

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
            "guaranteed": [audit.guaranteed.stated for audit in self.audits],
            "difference": [None, *(other.difference.value for other in self.others)],
        }
        return rates_frame(names, [audit.strongest.rate for audit in self.audits])

    @property
    def audits(self) -> tuple[Compared, ...]:
        """Return all audits, in their order."""
        return (self.first, *(other.compared for other in self.others))

    def to_text(self) -> str:
        """Return the comparison as JSON text, without the facts of the audits."""
        facts = {"schema": SCHEMA, "comparison": {"first": self.first, "others": self.others}}
        return to_text(facts).rstrip("\n")


def compare(audits: Iterable[Audit], names: Iterable[str] | None = None) -> Comparison:
    """Compare audits, each by the difference of its measured risk from that of the first.

    Parameters
    ----------
    audits
        Two audits or more: of candidate releases, of a table before and after protection, or of two periods. The
        comparison also lists what else differs between them.
    names
        The names of the audits; None for the names of their data.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(12, 5)
    >>> before = hp.audit((released, known), target=0.5, noise=False)
    >>> after = hp.audit((before.advice.mechanism(released), known), target=0.5, noise=False)
    >>> found = hp.compare([before, after], ["before", "after"])
    >>> [audit.passes for audit in found.audits], found.others[0].difference.is_clear
    ([False, True], True)
    """
    given = tuple(audits)
    _require_comparable(given)
    called = distinct_audit_names([audit.run.source for audit in given] if names is None else list(names))
    if len(called) != len(given):
        why, fix = "each audit needs one name", "pass one name for each audit, or none"
        raise InputError(f"{len(called)} names are given for {len(given)} audits", why=why, fix=fix)
    first, *others = (Compared.of(audit, name) for audit, name in zip(given, called, strict=True))
    hashes = {file.sha256 for file in given[0].run.inputs}
    against = [
        Against(
            compared=other,
            difference=Difference.of(other.rate, first.rate),
            unlike=tuple(
                Unlike(aspect, of(given[0]), of(audit)) for aspect, of in ASPECTS.items() if of(given[0]) != of(audit)
            ),
            shared_inputs=tuple(file.name for file in audit.run.inputs if file.sha256 in hashes),
        )
        for audit, other in zip(given[1:], others, strict=True)
    ]
    return Comparison(first, tuple(against), given)


def _require_comparable(audits: Sequence[Audit]) -> None:
    if len(audits) < FEWEST:
        why, fix = "a comparison needs two or more audits", "pass at least two, such as before and after protection"
        raise InputError(f"{counted(len(audits), 'audit')} to compare", why=why, fix=fix)
    texts = [audit.to_text() for audit in audits]
    if len(set(texts)) < len(texts):
        again = next(at for at, text in enumerate(texts) if text in texts[:at])
        why, fix = "an audit does not differ from itself", "pass each audit once"
        raise InputError(f"audits {texts.index(texts[again]) + 1} and {again + 1} are the same", why=why, fix=fix)
    levels = {audit.strongest.rate.level for audit in audits}
    if len(levels) > 1:
        raise InputError(
            f"their intervals are of different levels: {' and '.join(map(percent, sorted(levels)))}",
            why="the interval of a difference needs two intervals of the same level",
            fix="audit again with one version of habitprint",
        )


def distinct_audit_names(names: Sequence[str]) -> list[str]:
    """Return distinct names: repeated ones are numbered.

    Examples
    --------
    >>> distinct_audit_names(["audit", "before", "audit"])
    ['audit (1)', 'before', 'audit (3)']
    """
    many = Counter(names)
    return [name if many[name] == 1 else f"{name} ({at})" for at, name in enumerate(names, 1)]
