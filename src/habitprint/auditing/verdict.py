"""The answer: does the table meet the target, and if not, what would help."""

import math
from dataclasses import dataclass, replace

from habitprint.attacks import Outcome
from habitprint.auditing.goal import OPEN, PASS, ROWS, Criterion, Evidence, Goal, judge
from habitprint.auditing.people import People
from habitprint.auditing.trials import Protections, Trial
from habitprint.losses import SCALES, Scale, cost_words, leaves_little
from habitprint.mechanisms import ProvenShare
from habitprint.rates import Rate, wilson_interval
from habitprint.showing import abbreviated
from habitprint.words import at_most, counted, percent, whole

SURE = 0.95  # claims of such a precision are called sure
SOMETHING = 0.99  # a bound above says nothing

UNSEEN = "What the protection makes of the whole table was not seen: check or audit that."
SAMPLE_DOES = "none was chosen: the sample meets the target as it is; of all people that is not shown"


@dataclass(frozen=True)
class Verdict:
    """Hold the answer.

    Parameters
    ----------
    answer
        A sentence or two: does this meet the target?
    details
        A few more, in the order in which they should be read.
    about_protections
        What came of the protections, in sentences.
    upper_end
        Of the interval of the strongest attack on the table as it is; where a sample is audited, the higher one of that
        and of the attack on all people.
    proven
        What anybody could reach on the table as it is.
    target, passes
        The target, and whether the table meets it as it is.
    is_protected
        Whether the table was protected before: then what is proven decides, unless asked otherwise. A table that was
        not is only ever measured.
    can_pass_at_all, n_users_needed
        Whether a measured result could pass at all with so few users, and how many it takes.
    surest_passes
        Whether the surest claims are within their target; None without one.
    person_passes
        Whether nobody's row is pointed at with more than the probability that is allowed for one person; None without
        one. It says nothing about rows that are reconstructed.
    fails_gate
        Whether the table fails by the same rule with `fail_above` for a target; None without one.
    protection
        The label of the cheapest protection that meets the target; None if none is needed or none does.
    """

    answer: str
    details: tuple[str, ...]
    about_protections: str
    upper_end: float
    proven: ProvenShare
    target: float
    passes: bool
    is_protected: bool
    can_pass_at_all: bool
    n_users_needed: int
    surest_passes: bool | None
    person_passes: bool | None
    fails_gate: bool | None
    protection: str | None

    def __repr__(self) -> str:
        return abbreviated(self)


def reach_verdict(
    goal: Goal,
    strongest: Outcome,
    protections: Protections,
    people: People,
    *,
    is_protected: bool = False,
    fail_above: float | None = None,
    overlap: float | None = None,
    on_all: Outcome | None = None,
) -> Verdict:
    """Say whether the table meets the target as it is, and if not, what would help.

    Parameters
    ----------
    goal
        What must be reached.
    strongest
        The attack on the table as it is with the highest upper end.
    protections, people
        What the stages before found.
    is_protected
        Whether the table was protected before.
    fail_above, overlap
        As for `habitprint.audit`.
    on_all
        The attack on all people, where all else is about a sample of them: the target must be met by both.

    Examples
    --------
    >>> import habitprint as hp
    >>> hp.audit(hp.datasets.town(20, 6), target=0.1, noise=False).verdict.answer[:74]
    'The table misses the target of 10% as it is: 14 of 20 people are identifie'
    """
    # A table that is not protected is only ever measured.
    rule = goal.of_original(is_protected=is_protected)
    case = _Case(goal, rule, strongest, protections, people, overlap, on_all)
    # What is proven of a sample is proven of nobody else: of all people, only what was measured counts.
    among_all = 0.0 if on_all is None else on_all.rate.high
    helps = None if case.passes else protections.advised
    gate = None if fail_above is None else replace(rule, target=fail_above)
    return Verdict(
        answer=" ".join([_answer(case, helps), *_about_all(case, helps)]),
        details=tuple(_details(case)),
        about_protections=_about_protections(case),
        upper_end=max(case.rate.high, among_all),
        proven=case.proven,
        target=goal.target,
        passes=case.passes and among_all <= goal.target,
        is_protected=is_protected,
        can_pass_at_all=case.can_pass,
        n_users_needed=users_needed(goal.target),
        surest_passes=None if goal.surest_target is None else case.reaches(goal, ("surest",)),
        person_passes=None if goal.person_target is None else case.is_safe_for_each,
        fails_gate=None if gate is None else not case.reaches(gate) or among_all > gate.target,
        protection=None if helps is None else helps.label,
    )


@dataclass(frozen=True)
class _Case:
    """Hold what a verdict rests on: the goal of a protection, and the rule for the table as it is."""

    goal: Goal
    rule: Goal
    strongest: Outcome
    protections: Protections
    people: People
    overlap: float | None
    on_all: Outcome | None

    @property
    def subject(self) -> str:
        """Return what the answer is about."""
        return "table" if self.on_all is None else "sample"

    @property
    def rate(self) -> Rate:
        return self.strongest.rate

    @property
    def proven(self) -> ProvenShare:
        return self.protections.trials[0].proven

    def reaches(self, goal: Goal, criteria: tuple[Criterion, ...] = ROWS) -> bool:
        """Return whether the table as it is reaches a goal."""
        taken, people = self.protections.trials[0].taken, self.people
        evidence = Evidence(self.proven, self.rate.high, taken, surest=people.surest, confidence=people.confidence)
        return judge(goal, evidence, criteria=criteria) is PASS

    @property
    def is_taken_apart(self) -> bool:
        """Return whether too many people's own rows can be reconstructed from the table as it is."""
        return not self.reaches(self.rule, ("reconstruction",))

    @property
    def scale(self) -> Scale:
        """Return how the loss that decides is said."""
        return SCALES[self.goal.keep]

    @property
    def target(self) -> str:
        return percent(self.goal.target)

    @property
    def passes(self) -> bool:
        return bool(self.protections.trials[0].passes)

    @property
    def least(self) -> float:
        """Return the upper end for an attack that identifies nobody."""
        return wilson_interval(0, self.rate.n)[1]

    @property
    def can_pass(self) -> bool:
        return self.least <= self.goal.target

    @property
    def blind_end(self) -> float:
        """Return the upper end for pairs drawn at random."""
        return wilson_interval(self.rate.by_chance * self.rate.n, self.rate.n)[1]

    @property
    def is_safe_for_each(self) -> bool:
        """Return whether nobody is found too surely in the table as it is."""
        return self.reaches(self.rule, ("person",))

    def loss_of(self, trial: Trial) -> float | None:
        """Return what a protection costs for the purpose that was asked for."""
        return trial.loss_for(self.goal.keep)

    @property
    def measured(self) -> str:
        """Return what the strongest attack found."""
        return (
            f"{whole(self.rate.n_correct)} of {counted(self.rate.n, 'person', 'people')} are identified "
            f"({percent(self.rate.value)}, up to {at_most(self.rate.high)})"
        )

    @property
    def about_chance(self) -> str:
        return f"with {self.rate.n:,} people, even pairs drawn at random leave {percent(self.blind_end)} possible"


def users_needed(target: float) -> int:
    """Return with how many users no correct claim at all would keep the upper end under the target.

    Examples
    --------
    >>> users_needed(0.05)
    73
    """
    if target >= 1:
        return 1
    upper = wilson_interval(0, 1)[1]  # for 0 of n it is z² / (n + z²)
    z_squared = upper / (1 - upper)
    n = max(1, math.floor(z_squared * (1 - target) / target))
    while wilson_interval(0, n)[1] > target:
        n += 1
    return n


def _answer(case: _Case, protection: Trial | None) -> str:
    goal, target = case.goal, case.target
    if case.passes and case.proven.is_within(min(goal.target, SOMETHING)):
        return f"The {case.subject} meets the target of {target}. {case.protections.trials[0].risks.words}"
    if case.passes:
        return (
            f"As far as was measured, the {case.subject} meets the target of {target} as it is: {case.measured}. "
            "Nothing is guaranteed about attacks that were not made."
        )
    if case.reaches(case.rule) and not case.is_safe_for_each:
        misses = f"The {case.subject} misses its target for each person: {_each_person(case)}"
    elif case.reaches(case.rule):
        misses = f"The {case.subject} misses its target for the surest claims: {_surest(case)}"
    elif case.is_taken_apart:
        misses = f"{_taken_apart(case)}. {case.protections.trials[0].risks.words.rstrip('.')}"
    elif case.rule.decide == "proven" and case.rate.high <= goal.target:
        misses = f"It is not guaranteed that the {case.subject} meets the target of {target}: {case.proven.in_short}"
    elif case.rate.low > goal.target:
        misses = f"The {case.subject} misses the target of {target} as it is: {case.measured}"
    else:
        misses = f"It cannot be shown that the {case.subject} meets the target of {target} as it is: {_why_not(case)}"
    if protection is None:
        return f"{misses}. No protection that was tried is enough."
    left = f"; little is left of the {case.scale.kept}" if leaves_little(goal.keep, protection.losses) else ""
    is_proven = protection.proven.is_within(goal.target)
    how = "" if is_proven else f", but only in our tests: measured up to {at_most(protection.risk.high)}"
    person = goal.person_target
    each = "" if person is None else f", and that of {percent(person)} for pointing at the row of each person"
    helps = f"Protected by “{protection.label}” it meets the target{each}{how}"
    return f"{misses}. {helps}. {protection.risks.words} Cost: {cost_words(protection.losses)}{left}."


def _taken_apart(case: _Case) -> str:
    """Say that rows can be reconstructed, or that nobody knows."""
    found = case.protections.trials[0].reconstruction
    if found is None:
        return (
            f"It cannot be shown that the {case.subject} meets the target of {case.target}: whether own rows can be "
            "reconstructed was not measured (--original)"
        )
    return (
        f"The {case.subject} misses the target of {case.target}: own rows of {percent(found.rate.value)} of people can "
        f"be reconstructed (up to {at_most(found.rate.high)})"
    )


def _about_all(case: _Case, protection: Trial | None) -> list[str]:
    """Say what holds for all people, where the rest is about a sample of them; nothing where it is about all."""
    if case.on_all is None:
        return []
    rate, target = case.on_all.rate, case.goal.target
    than = "is within" if rate.high <= target else "may be above" if rate.low <= target else "is above"
    others = "" if rate.low > target else "; other attacks were not made there"
    found = f"{percent(rate.value)}, up to {at_most(rate.high)}"
    attack = f"One attack was made on all {rate.n:,} people in both tables, {case.on_all.name}"
    return [f"{attack}: it identifies {found}, which {than} the target{others}.", *([UNSEEN] if protection else [])]


def _why_not(case: _Case) -> str:
    if not case.can_pass:
        return f"with {case.rate.n:,} people, even an attack that finds nobody leaves {percent(case.least)} possible"
    return case.about_chance if case.blind_end > case.goal.target else case.measured


def _surest(case: _Case) -> str:
    surest, allowed = case.people.surest, case.goal.surest_target or 0.0
    least = wilson_interval(0, surest.n)[1]
    if least > allowed:
        return (
            f"of {surest.n:,} surest claims, even none that is right leaves {percent(least)} possible, above "
            f"{percent(allowed)}"
        )
    return (
        f"of the {surest.n:,} surest claims {percent(surest.value)} are right (up to {at_most(surest.high)}), where "
        f"{percent(allowed)} are allowed"
    )


def _each_person(case: _Case) -> str:
    """Say how surely people may be found, and are."""
    allowed, confidence = percent(case.goal.person_target or 0.0), case.people.confidence
    proven = f"what is proven is that nobody is found with a chance above {at_most(case.proven.largest)}"
    if case.rule.decide == "proven":
        return f"{proven}, where {allowed} is allowed"
    if confidence is None:
        return f"{allowed} is allowed, and there are too few people to learn how surely each is found"
    surest = confidence.surest
    return (
        f"of the {surest.n:,} people who are found most surely {percent(surest.value)} are (up to "
        f"{at_most(surest.high)}), where {allowed} is allowed"
    )


def _only_pointed(case: _Case) -> str:
    """Say what the target for each person does not cover, and what was measured of that."""
    trial, about = case.protections.trials[0], "That target is about pointing at a row, not about reconstructing one"
    if trial.reconstruction is not None:
        rate = trial.reconstruction.rate
        return f"{about}: own rows of {percent(rate.value)} of people can be (up to {at_most(rate.high)})."
    return f"{about}{', which was not measured' if trial.taken.is_grouped else ''}."


def _how_sure(case: _Case) -> list[str]:
    """Say how many people are found how surely, as the table is and as it would be."""
    if case.people.confidence is None:
        return []
    advised = None if case.passes else case.protections.advised
    safer = "" if advised is None or advised.confidence is None else f"; as advised, {advised.confidence.words}"
    return [f"How surely people are found: {case.people.confidence.words}{safer}."]


def _details(case: _Case) -> list[str]:
    rate, goal, people = case.rate, case.goal, case.people
    on_sample = "" if case.on_all is None else " on the sample"
    details = [f"The strongest attack{on_sample} ({case.strongest.name}) identifies {rate.words}."]
    if not case.can_pass:
        details.append(
            f"With fewer than {users_needed(goal.target):,} people no measured result can be within {case.target}: the "
            "interval is too wide. Only a proof can."
        )
    elif not case.passes and case.blind_end > goal.target:
        details.append(
            f"There are few people: {case.about_chance}. Only a result below chance is measured to be within "
            f"{case.target}."
        )
    if n_sure := people.n_sure(SURE):
        details.append(
            f"Some claims are sure, and an adversary can tell which: of the {n_sure:,} surest, at least "
            f"{percent(SURE)} are right."
        )
    details += _how_sure(case)
    if goal.surest_target is not None:
        surest = _surest(case)
        details.append(f"{surest[:1].upper()}{surest[1:]}.")
    if goal.person_target is not None:
        each = _each_person(case)
        verdict = "meets" if case.is_safe_for_each else "misses"
        details.append(f"The {case.subject} {verdict} the target for each person: {each}. {_only_pointed(case)}")
    if not case.passes:
        details.append(_about_protections(case))
    if case.overlap is not None:
        details.append(f"The adversary was taken to know {percent(case.overlap)} of the people; rates are among these.")
    return details


def _about_protections(case: _Case) -> str:
    """Say what came of the protections: the one author of these sentences."""
    found, goal = case.protections, case.goal
    if case.passes:
        more = " The protections show what more would cost." if found.n_tried else ""
        return f"The {case.subject} meets the target of {case.target} as it is.{more}"
    if not found.n_tried:
        return "No protection could be tried."
    with_most = f", {found.n_on_all} of them on {found.n_users_in_all:,} people" if found.screened else ""
    tried = f"Of {counted(found.n_tried, 'protection')} that {'was' if found.n_tried == 1 else 'were'} tried{with_most}"
    n_proven, n_measured = len(found.within(goal.target, "proven")), len(found.within(goal.target, "measured"))
    # On protections that are dearer than the answer only screening attacks ran.
    n_maybe = len(found.within(goal.target, "measured", OPEN)) - n_measured
    maybe = f", {n_maybe:,} more by screening attacks alone" if n_maybe else ""
    only = f"{n_measured - n_proven:,} more {'is' if n_measured - n_proven == 1 else 'are'}"
    said = f"{tried}, {_are(n_proven)} guaranteed to be within {case.target}, and {only} measured to be{maybe}."
    why = _why_none(case) if found.advised is None else ""
    return said + _about_proven(case) + _about_measured(case) + why


def _are(n: int) -> str:
    return f"{n:,} {'is' if n == 1 else 'are'}"


def _cost(trial: Trial) -> str:
    return f"; cost: {cost_words(trial.losses)}"


def _about_proven(case: _Case) -> str:
    advised = case.protections.advised
    if advised is None:
        return ""
    measured = f"{percent(advised.risk.value)} of people are identified, up to {at_most(advised.risk.high)}"
    return f" The cheapest is “{advised.label}”. Measured on it: {measured}{_cost(advised)}."


def _about_measured(case: _Case) -> str:
    only = case.protections.only_measured
    if only is None:
        return ""
    attacks = f"by the strongest of {only.n_attacks} attacks"
    return (
        f" The cheapest that is only measured to be is “{only.label}”: up to {at_most(only.risk.high)} {attacks}"
        f"{_cost(only)}; it was chosen with one half of the people and confirmed with the other, and attacks "
        f"that were not made may reach up to {at_most(only.proven.mean)}."
    )


def _why_none(case: _Case) -> str:
    """Say how near the protections come if none is enough."""
    found, goal = case.protections, case.goal
    within = found.within(goal.target, goal.decide)
    safe = [trial for trial in within if judge(goal, trial.evidence(), criteria=("person",)) is PASS]
    if within and goal.person_target is not None and not safe:
        return f" In all of them somebody may be found with more than {percent(goal.person_target)}."
    if within and goal.surest_target is not None:
        ends = [trial.surest.high for trial in within if trial.surest is not None]
        if not ends:
            return " How often their surest claims are right was not measured."
        return (
            f" Their surest claims are right too often wherever that was measured: for {len(ends)} of them, at best up "
            f"to {at_most(min(ends))}, where {percent(goal.surest_target)} is allowed."
        )
    # Beyond the worst, knowing nothing, or only the mean of all, would say more than what is released.
    scale = case.scale
    losses = [(case.loss_of(trial), trial) for trial in found.trials[1:]]
    useful = [(loss, trial) for loss, trial in losses if loss is not None and loss <= scale.worst]
    if within or not useful:
        return ""
    _, least = min(useful, key=lambda one: (one[1].proven.mean, one[1].risk.high, one[0]))
    bound = f" The lowest bound at {scale.one} of at most {scale.limit} is that of “{least.label}”"
    return f"{bound}: {least.proven.in_short}{_cost(least)}."
