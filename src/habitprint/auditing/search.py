"""Which protection keeps the risk under the target at the least loss."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Literal

import polars as pl

from habitprint.attacks import (
    Attack,
    Outcome,
    Scenario,
    SuiteResult,
    count_identified,
    run_attack,
    run_screening,
    run_suite,
    strongest_of,
    strongest_of_each,
)
from habitprint.auditing.attribution import Attribution, attribute
from habitprint.auditing.candidates import (
    AS_IT_IS,
    TRIAL_SEED,
    Candidate,
    Coarser,
    group_needed,
    list_candidates,
    why_no_noise,
)
from habitprint.auditing.confidence import Confidence
from habitprint.auditing.people import CloserLook, look_closer
from habitprint.auditing.risks import Risks
from habitprint.auditing.unmixing import WHOLE, Reconstruction, Scene, TakenApart, reconstruct, second_look
from habitprint.errors import InputError
from habitprint.losses import SCALES, Cost, Purpose, cost_of, find_cheapest, may_be_cheaper, measure_losses
from habitprint.matching import Matching
from habitprint.mechanisms import Guarantee, Microaggregate, ProvenShare, Release, to_flags, with_seed
from habitprint.mechanisms.groups.neighbours import Neighbours, find_neighbours
from habitprint.mechanisms.owner import Losses
from habitprint.mechanisms.traces import is_grouped
from habitprint.progress import Progress, nested, silent
from habitprint.rates import Rate, rates_frame
from habitprint.showing import Drawn
from habitprint.side_by_side import side_by_side

STAGE = "protections"
MOST_REFINED = 5  # strengths tried between one that fails and one that passes
MOST_CONFIRMED = 12
ENOUGH_REFUTED = 2  # among fewer people each is easier to tell apart: one would not be enough
ROUNDING = 1e-9  # of a size of groups
FAR_ABOVE = 1.5  # times the target
NEARLY = 0.15  # of one user: among 47,299, what the line says of the next smaller groups was off by a third of that
BELOW_LINE = 0.01  # of a loss may be missing where it is followed as a line between two sizes; half of that was seen
TRIED_AT_ONCE = 2  # protections, on all users
# Users for whom margins are computed where rare places are one: an exact matching can take very long.
MOST_MERGED = 1_000

Decide = Literal["proven", "measured"]
NOTHING_LOST = Cost(0.0, 0.0, 0.0)


def prove(tables: Scenario) -> ProvenShare:
    """Return what anybody could reach of the people who count, on the released table as it would be published.

    Examples
    --------
    >>> import habitprint as hp
    >>> habits = hp.Histograms.from_strings({1: "ab", 2: "ab", 3: "abb"})
    >>> prove(Scenario(habits, habits, "same-id")).largest
    1.0
    """
    return ProvenShare.of(tables.anonymity_sets)


@dataclass(frozen=True)
class Goal:
    """Hold what a protection must reach, and what decides whether it does.

    Parameters
    ----------
    target
        The share of people that may be identified.
    decide
        ``"proven"``: what anybody could reach must not be above it. ``"measured"``: it is enough that the upper end of
        the interval of the strongest attack is not.
    surest_target
        How often the surest claims may be right; None if that does not matter.
    keep
        What the release is for: the protection that loses the least of it is the cheapest.
    person_target
        With which probability anybody's row may be pointed at: by proof the largest 1/m; where what is measured
        decides, the upper end of how often the surest claims are right. None if only the mean matters. Rows that are
        reconstructed count for `target` alone.

    Examples
    --------
    >>> rate = Rate.of(0, 100, 0.01)
    >>> [Goal(0.05, decide).is_reached_by(ProvenShare(1.0, 1.0), rate) for decide in ("measured", "proven")]
    [True, False]
    """

    target: float
    decide: Decide = "proven"
    surest_target: float | None = None
    seed: int = 0
    keep: Purpose = "patterns"
    person_target: float | None = None

    def is_reached_by(self, proven: ProvenShare, risk: Rate, taken: TakenApart = WHOLE) -> bool:
        """Return whether a table passes: the one rule of verdict, gate, advice and check.

        Whatever decides about pointing at rows, it must have been measured that rows are not reconstructed either.
        """
        is_pointed = proven.is_within(self.target) or (self.decide == "measured" and risk.high <= self.target)
        return is_pointed and taken.is_within(self.target)

    def is_sure_enough(self, surest: Rate | None) -> bool:
        """Return whether the surest claims are not right too often; where that matters, it must have been measured."""
        return self.surest_target is None or (surest is not None and surest.high <= self.surest_target)

    def is_safe_for_each(self, proven: ProvenShare, confidence: Confidence | None, by: Decide) -> bool:
        """Return whether nobody is found too surely, by what is proven, or where that decides by what is measured.

        Examples
        --------
        >>> [Goal(0.1, person_target=0.2).is_safe_for_each(ProvenShare(0.1, m), None, "proven") for m in (0.2, 0.5)]
        [True, False]
        """
        if self.person_target is None or proven.is_within_for_each(self.person_target):
            return True
        return by == "measured" and confidence is not None and confidence.is_within(self.person_target)

    def is_met_by(self, trial: "Trial", by: Decide) -> bool:
        """Return whether a protection that was tried is enough, by what is proven alone or by what is measured alone.

        What is measured must hold against every attack, among all people, and among each half of them. What is proven
        holds against every attack, made or not: then it is measured to be enough, too.
        """
        is_known = by == "proven" or trial.is_full_suite or trial.is_proven_within(self.target)
        return is_known and self.may_be_met_by(trial, by)

    def may_be_met_by(self, trial: "Trial", by: Decide) -> bool:
        """Return the same by the attacks that were made so far, which need not be all."""
        within = trial.is_proven_within(self.target) if by == "proven" else trial.may_be_within(self.target)
        is_safe = self.is_safe_for_each(trial.proven, trial.confidence, by)
        return within and is_safe and self.is_sure_enough(trial.surest)

    def looks_reached_by(self, trial: "Trial") -> bool:
        """Return whether a protection is enough, or may be, and only attacks that were not made could tell."""
        is_open = self.surest_target is None and self.is_safe_for_each(trial.proven, None, "proven")
        return bool(trial.passes) or (trial.passes is None and is_open)

    def of_original(self, tables: Scenario) -> "Goal":
        """Return the rule for a table as it is: one that was never protected is only ever measured."""
        return self if tables.steps else replace(self, decide="measured")


@dataclass(frozen=True)
class Promise:
    """Hold what a guarantee says: in words, whether it is about people, and whether it hides them in groups."""

    words: str
    protects_people: bool
    hides_in_groups: bool

    @classmethod
    def of(cls, guarantee: Guarantee) -> "Promise":
        """Return what a guarantee says."""
        return cls(guarantee.words, guarantee.protects_people, guarantee.hides_in_groups)


@dataclass(frozen=True)
class Trial:
    """Hold what one protection does: its risk, and its cost on one scale for all.

    Parameters
    ----------
    name, strength, label
        The protection (``"micro-aggregation"``), its number (k), and both in a few words (``"groups of 10"``).
    words, promises
        What was done, step by step, and what holds for sure then.
    options
        Options of ``habitprint protect`` that do the same; MAPPING is a file of coarser places.
    proven
        What anybody could reach.
    attacks, n_attacks
        The strongest attack of each method and weight, of so many that were made.
    is_full_suite
        Whether the full suite was run. Else, after screening, it was above the target already, or too dear to be the
        answer: then every measured share is the least that it can be.
    selection_rate, hold_out_rate
        The highest rates of all attacks among the selection half of the people, on whom protections are selected, and
        among the hold-out half, on whom the selection is confirmed.
    losses
        What is lost against the table as it is.
    surest
        Precision of the surest claims by margin; None if it was not measured.
    confidence
        How surely people are found, one by one; None if it was not measured, or too few people teach it.
    taken, attribution
        Whether rows are published for groups, and how many people's own rows can be pieced together from them; and how
        often places are attributed to people, None where it was not asked.
    passes
        Whether it reaches the goal; None where that depends on surest claims that were not measured, or on attacks that
        were not made.
    """

    name: str
    strength: float | None
    label: str
    words: tuple[str, ...]
    promises: tuple[Promise, ...]
    options: str
    proven: ProvenShare
    attacks: tuple[Outcome, ...]
    n_attacks: int
    is_full_suite: bool
    selection_rate: Rate
    hold_out_rate: Rate
    losses: Losses
    surest: Rate | None
    confidence: Confidence | None
    passes: bool | None
    taken: TakenApart = WHOLE
    attribution: Attribution | None = None

    def __repr__(self) -> str:
        verdict = {True: "enough", False: "not enough", None: "not decided"}[self.passes]
        return f"Trial({self.label}: {verdict}; {self.risk.words}; proven {self.proven.mean:.4g})"

    @property
    def strongest(self) -> Outcome:
        """Return the strongest attack that was made on it."""
        return strongest_of(self.attacks)

    @property
    def risk(self) -> Rate:
        """Return what the strongest attack achieves: the one measured risk that decides, and that is shown."""
        return self.strongest.rate

    @property
    def loss(self) -> float | None:
        """Return the loss in patterns, the paper's L; None where it is not defined."""
        return self.loss_for("patterns")

    @property
    def n_dropped(self) -> int:
        """Return how many people the protection leaves out."""
        return self.losses.n_users - self.losses.n_users_kept

    def loss_for(self, keep: Purpose) -> float | None:
        """Return what is lost for a purpose; None where that is not defined."""
        return SCALES[keep].of(self.losses)

    def cost(self, keep: Purpose) -> Cost | None:
        """Return what it costs for a purpose: what decides is what is shown, at the precision at which it is shown."""
        return cost_of(keep, self.loss_for)

    def least_cost(self, keep: Purpose, other: "Trial", part: float) -> Cost | None:
        """Return what it costs at least to go this part of the way from here to another size of groups.

        The larger groups are, the less is lost by one more in each: between two sizes, patterns lose more than the line
        says. That was measured, and is no law; totals and people are kept by groups of any size.
        """

        def on_line(each: Purpose) -> float | None:
            one, two = self.loss_for(each), other.loss_for(each)
            return None if one is None or two is None else (1.0 - BELOW_LINE) * (one + part * (two - one))

        return cost_of(keep, on_line)

    def is_measured_within(self, target: float) -> bool:
        """Return whether no attack was measured above a target, and every attack was made or it is proven."""
        return self.is_proven_within(target) or (self.is_full_suite and self.may_be_within(target))

    def may_be_within(self, target: float) -> bool:
        """Return whether no attack so far was measured above: among all, nor among either half of the people."""
        highest = max(self.risk.high, self.selection_rate.high, self.hold_out_rate.high)
        return self.keeps_rows_apart(target) and (self.proven.is_within(target) or highest <= target)

    def is_proven_within(self, target: float) -> bool:
        """Return whether it is proven that nobody points at more rows, and no more were seen to be reconstructed."""
        return self.proven.is_within(target) and self.keeps_rows_apart(target)

    def keeps_rows_apart(self, target: float) -> bool:
        """Return whether no more people's own rows than a target were reconstructed from groups."""
        return self.taken.is_within(target)

    @property
    def risks(self) -> Risks:
        """Return the three lines about it."""
        return Risks(self.proven, self.taken.is_grouped, self.reconstruction, self.attribution)

    @property
    def reconstruction(self) -> Reconstruction | None:
        """Return how many people's own rows can be pieced together; None without groups, or where it is not known."""
        return self.taken.found


@dataclass(frozen=True)
class NotTried:
    """Hold which protection was not tried, and why."""

    label: str
    why: str


@dataclass(frozen=True)
class Best:
    """Hold the best protections for one purpose: their numbers among the trials, None where none is enough."""

    keep: Purpose
    proven: int | None
    measured: int | None


@dataclass(frozen=True)
class Protections(Drawn):
    """Hold the protections that were tried.

    Parameters
    ----------
    keep
        What the release is for: which loss decides what is the cheapest.
    trials
        Those that were tried on all users; the first is the release as it is.
    screened
        With many users: every protection, tried with only `n_users` of the `n_users_in_all`. Else empty.
    chosen
        The number of the cheapest that reaches the goal, in `trials`; None if none does.
    measured
        The number of the cheapest of which only measurements say that it is within the target: chosen with one half of
        the people, confirmed with the other. None if there is none.
    best
        For each purpose, the best among `trials`: by what is proven, and by what is measured, with each half of the
        people. Empty where the release reaches the goal as it is.
    not_tried
        What could not be tried, and why.
    n_tried
        How many protections that are, each counted once.
    """

    keep: Purpose
    trials: tuple[Trial, ...]
    screened: tuple[Trial, ...]
    chosen: int | None
    measured: int | None
    best: tuple[Best, ...]
    not_tried: tuple[NotTried, ...]
    n_tried: int
    n_users: int
    n_users_in_all: int

    def __repr__(self) -> str:
        advised = "none" if self.advised is None else f"“{self.advised.label}”"
        return f"Protections({self.n_tried} tried on {self.n_users:,} people to keep {self.keep}; advised: {advised})"

    def to_frame(self) -> pl.DataFrame:
        """Return the protections that were tried on all users as a frame, one row each; the first is none at all.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections.to_frame()["protection"][0]
        'as it is'
        """
        trials = self.trials
        names: dict[str, list[object]] = {
            "protection": [trial.label for trial in trials],
            "name": [trial.name for trial in trials],
            "strength": [trial.strength for trial in trials],
            "passes": [trial.passes for trial in trials],
            "is_advised": [trial is self.advised for trial in trials],
            "proven": [trial.proven.mean for trial in trials],
            **{f"loss_{keep}": [trial.loss_for(keep) for trial in trials] for keep in SCALES},
            "n_dropped": [trial.n_dropped for trial in trials],
        }
        return rates_frame(names, [trial.risk for trial in trials])

    @property
    def n_on_all(self) -> int:
        """Return how many protections were tried on all users."""
        return len(self.trials) - 1

    @property
    def advised(self) -> Trial | None:
        """Return the cheapest protection that reaches the goal; None where none does, or the release does as it is."""
        return None if not self.chosen else self.trials[self.chosen]

    @property
    def only_measured(self) -> Trial | None:
        """Return the cheapest protection that is only measured to be enough, if it is cheaper than what is advised."""
        if not self.measured or self.measured == self.chosen:
            return None
        only = self.trials[self.measured]
        return None if only.passes else only

    @property
    def words(self) -> str:
        """Return on whom protections were tried, as sentences."""
        n_part, n = self.n_users, self.n_users_in_all
        if n_part == n:
            return f"Protections were tried on {n:,} people."
        return (
            f"To save time, {len(self.screened) - 1} protections were first tried on a random {n_part:,} of {n:,} "
            "people. Among fewer each is easier to tell apart, and groups of like people are harder to find, so "
            "risk and loss are too high there. Those that might be the cheapest were then tried on "
            f"{n:,}."
        )

    def proven_within(self, target: float) -> list[Trial]:
        """Return the protections, tried on all users, of which it is proven that they are not above a target."""
        return [trial for trial in self.trials[1:] if trial.is_proven_within(target)]

    def measured_within(self, target: float) -> list[Trial]:
        """Return the protections, tried on all users, of which it was measured that they are not above a target."""
        return [trial for trial in self.trials[1:] if trial.is_measured_within(target)]

    @property
    def frontier(self) -> tuple[int, ...]:
        """Return the numbers of the trials that no other beats in both loss and risk, in order of their loss.

        The loss is the one that decides.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections.frontier[0]
        0
        """
        measured = [
            (loss, trial.risk.high, at)
            for at, trial in enumerate(self.trials)
            if (loss := trial.loss_for(self.keep)) is not None
        ]
        front, lowest = [], math.inf
        for _, high, at in sorted(measured):
            if high < lowest:
                front.append(at)
                lowest = high
        return tuple(front)


@dataclass(frozen=True, eq=False)
class Found:
    """Hold the protections that were tried, each as it can be made again, and what was chosen, if anything."""

    protections: Protections
    chosen: Candidate | None
    tried: tuple[Candidate, ...]


def find_protection(
    whole: SuiteResult,
    part: SuiteResult,
    coarser: Sequence[Coarser],
    goal: Goal,
    *,
    look: Callable[[Progress], CloserLook] | None = None,
    noise: bool = True,
    counts: bool = False,
    progress: Progress = silent,
) -> Found:
    """Try protections, each against the same screening attacks, and find the cheapest that reaches the goal.

    More attacks can only raise the measured risk, so a candidate above the target after screening is rejected. The full
    suite runs only on candidates that could still be the cheapest that passes.

    Beside it, the cheapest that is only measured to be enough: it is selected on one half of the people, and confirmed
    on the hold-out half.

    Parameters
    ----------
    whole
        The full suite on the unprotected tables.
    part
        The same; or, with many users, a random part of them, against an adversary who knows the same part. There they
        are easier to tell apart, and groups cost more, than among all: all protections are screened with them, and
        those that may be the cheapest are tried again with all users.
    coarser
        Ways to put places together.
    goal
        What must be reached.
    look
        What tells how sure claims about the table as it is are. It is asked last, unless the answer depends on it.
    noise
        Whether to try noise; it has no seed, so those trials differ from run to run.
    counts
        Whether counts are released; else shares.

    Examples
    --------
    >>> import habitprint as hp
    >>> tables = run_suite(Scenario(*hp.datasets.town(20, 6), truth="same-id"))
    >>> found = find_protection(tables, tables, [], Goal(0.2), noise=False)
    >>> found.protections.advised.proven.is_within(0.2)
    True
    """
    released = whole.scenario.released
    n_users = part.scenario.released.n_users
    candidates = list_candidates(
        released,
        coarser,
        goal.target,
        n_users=n_users,
        person_target=goal.person_target,
        noise=noise,
        counts=counts,
    )
    search = _Search(whole, part, goal, look, progress)
    screened = {} if part is whole else search.screen(candidates)
    search.try_all([AS_IT_IS] if screened else candidates)
    if search.trials[AS_IT_IS].passes is not False:
        search.look_at_original()
    screening = Screening.of(screened, goal) if screened else None
    chosen: Candidate | None = AS_IT_IS
    measured: Candidate | None = None
    if not search.trials[AS_IT_IS].passes:
        n_tried = 0
        while n_tried != len(search.trials):  # what one of the two tries may be better for the other, too
            n_tried = len(search.trials)
            proven = search.choose("proven", screening)
            measured = search.choose("measured", screening)
        chosen = measured if goal.decide == "measured" else proven
    search.look_at_original()
    why = why_no_noise(released) if noise else "it was not asked for"
    trials = search.trials
    numbers = {candidate: number for number, candidate in enumerate(trials)}
    best: tuple[Best, ...] = ()
    if chosen != AS_IT_IS:
        best = tuple(
            Best(keep, *(None if each is None else numbers[each] for each in search.best_for(keep))) for keep in SCALES
        )
    protections = Protections(
        keep=goal.keep,
        trials=tuple(trials.values()),
        screened=tuple(screened.values()),
        chosen=None if chosen is None else numbers[chosen],
        measured=None if measured is None else numbers[measured],
        best=best,
        not_tried=(*search.not_tried, *(() if why is None else (NotTried("noise", why),))),
        n_tried=len(trials.keys() | screened.keys()) - 1,
        n_users=part.scenario.n_people,
        n_users_in_all=whole.scenario.n_people,
    )
    return Found(protections, chosen, tuple(trials))


def run_trial(base: SuiteResult, candidate: Candidate, goal: Goal, progress: Progress = silent) -> Trial:
    """Protect, run the full suite, and measure what is lost; unprotected, the attacks were made before.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.auditing.candidates import micro_aggregation
    >>> tables = run_suite(Scenario(*hp.datasets.town(60, 20), truth="same-id"))
    >>> trial = run_trial(tables, micro_aggregation(5), Goal(0.05))
    >>> trial.promises[0].words
    '5-anonymity: every row is identical to at least 4 others'
    >>> trial.proven.mean
    0.2
    """
    release, tables = base.scenario.protected_by(candidate.mechanism, progress)
    attacked = base
    if candidate != AS_IT_IS:
        attacked = run_suite(tables, base.suite_for_protected, seed=goal.seed, progress=progress)
    return _trial(base.scenario, candidate, release, attacked, goal)


@dataclass(frozen=True, eq=False)
class _Open:
    """A release on which only screening attacks were run, and their matchings; its tables are aligned anew later."""

    release: Release
    made: tuple[tuple[Attack, Matching], ...]


def _trial(original: Scenario, candidate: Candidate, release: Release, attacked: SuiteResult, goal: Goal) -> Trial:
    # Of a table that was protected before, what was lost then is not known here: losses are of what was left.
    added = Release(release.histograms, release.steps[len(original.steps) :], release.guarantees)
    proven, half = prove(attacked.scenario), attacked.scenario.selection_half
    rule = goal.of_original(original) if candidate == AS_IT_IS else goal
    scene = _scene(original, release, attacked)
    risk = strongest_of(attacked.outcomes).rate
    taken = TakenApart(is_grouped(release))
    # A protection whose rows are pointed at too often fails, however few rows are reconstructed: time is saved.
    if scene is not None and (candidate == AS_IT_IS or proven.is_within(goal.target) or risk.high <= goal.target):
        seconds = [second_look(scene, other, attacked.scenario) for other in original.others]
        taken = TakenApart(is_grouped=True, found=reconstruct(scene, seconds))
    is_reached = rule.is_reached_by(proven, risk, taken)
    is_safe = rule.is_safe_for_each(proven, None, "proven")  # else only a closer look can tell, if that counts
    is_open = is_reached and (goal.surest_target is not None or not is_safe) and (is_safe or rule.decide == "measured")
    is_open |= is_reached and not (attacked.is_full_suite or proven.is_within(goal.target))
    return Trial(
        name=candidate.name,
        strength=None if candidate.strength is None else float(candidate.strength),
        label=candidate.label,
        words=tuple(step.words for step in added.steps),
        promises=tuple(map(Promise.of, release.guarantees)),
        options=to_flags(candidate.recipe),
        proven=proven,
        attacks=strongest_of_each(attacked.outcomes),
        n_attacks=len(attacked.outcomes),
        is_full_suite=attacked.is_full_suite,
        selection_rate=attacked.highest_among(half),
        hold_out_rate=attacked.highest_among(~half),
        losses=measure_losses(original.released, added, later=original.held_out),
        surest=None,
        confidence=None,
        passes=None if is_open else is_reached and is_safe,
        taken=taken,
        attribution=None if scene is None or not attacked.is_full_suite else attribute(scene),
    )


def _scene(original: Scenario, release: Release, attacked: SuiteResult) -> Scene | None:
    """Lay out a release whose groups may be taken apart; None without groups, or without people's own rows."""
    own, steps = original.original, release.steps
    if own is None:
        if is_grouped(Release(original.released, original.steps)):
            return None  # the rows of a table that is in groups already are not people's own
        own, steps = original.released, steps[len(original.steps) :]
    # The attack that points at the most rows tells best in which group somebody is.
    pointed = max(attacked.results, key=lambda each: each.rate.high).matching
    return Scene.of(own, Release(attacked.scenario.released, steps), attacked.scenario, pointed)


def size_between(
    weak: Trial, strong: Trial, sizes: tuple[int, int], goal: Goal, by: Decide, enough: Sequence[Cost] = ()
) -> int | None:
    """Return the least size of groups that should be enough, between one that is not and one that is.

    What is left of a risk is about one over the size of groups, so one over the risk is followed as a line. What is
    proven is the number of groups, and n users make at most n // k: few users need no line.

    Parameters
    ----------
    weak, strong, sizes
        What was tried, and the sizes of its groups.
    enough
        What protections cost that are enough: a size is of use only if it could be preferred to them.

    Returns
    -------
    int or None
        None where that size must cost more, and no smaller one should be enough; or where all between are too small.
        The latter is said only of what is proven, which follows from the number of groups: what is measured is tried.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.auditing.candidates import micro_aggregation
    >>> tables = run_suite(Scenario(*hp.datasets.town(300, 20), truth="same-id"))
    >>> trials = [run_trial(tables, micro_aggregation(k), Goal(0.1)) for k in (5, 20)]
    >>> [size_between(*trials, (5, 20), Goal(target), "proven") for target in (0.1, 0.051, 0.049)]
    [10, 19, None]
    """
    fails, holds = sizes
    risks = [trial.proven.mean if by == "proven" else trial.selection_rate.high for trial in (weak, strong)]
    if not risks[0] > risks[1] > 0.0:
        return (fails + holds) // 2
    low, high = (1 / risk for risk in risks)
    wanted = fails + (1 / goal.target - low) / (high - low) * (holds - fails)
    if by == "proven":
        n = strong.losses.n_users_kept
        wanted = min(wanted, n // (math.floor(goal.target * n + ROUNDING) + 1) + 1)
        if wanted > holds - 1 + NEARLY:
            return None
    size = min(max(math.ceil(wanted - ROUNDING), fails + 1), holds - 1)
    least = weak.least_cost(goal.keep, strong, (size - fails) / (holds - fails))
    return None if least is not None and not may_be_cheaper(least, enough) else size


@dataclass(frozen=True)
class Screening:
    """Hold every protection that was tried on some of the users.

    Among all users both risk and loss are others, mostly lower. So this says only in which order to try, and what a
    protection costs at least; or, of totals and rankings, about.

    Parameters
    ----------
    keep
        What the release is for.
    families
        The protections that differ in strength only, from weak to strong; those that were enough at a low cost first.
    floors
        The least that each of them can cost among all users.
    unproven
        Groups of which no proof can be expected: with some of the users it was far above the target, and what is proven
        follows from their sizes.
    """

    keep: Purpose
    families: tuple[tuple[Candidate, ...], ...]
    floors: Mapping[Candidate, Cost]
    unproven: frozenset[Candidate]

    @classmethod
    def of(cls, screened: Mapping[Candidate, Trial], goal: Goal) -> "Screening":
        """Return the screening from trials with some of the users.

        Examples
        --------
        >>> import habitprint as hp
        >>> from habitprint.auditing.candidates import micro_aggregation
        >>> tables, goal = Scenario(*hp.datasets.town(200, 20), truth="same-id"), Goal(0.15)
        >>> part = run_suite(tables.sample(60, seed=0))
        >>> tried = {each: run_trial(part, each, goal) for each in map(micro_aggregation, (2, 5, 9))}
        >>> screening = Screening.of(tried, goal)
        >>> [each.label for each in screening.next_few({}, [])]
        ['groups of 5']
        """
        keep = goal.keep
        costs = {each: cost for each, trial in screened.items() if (cost := trial.cost(keep)) is not None}

        def floor(each: Candidate) -> Cost:
            if not each.is_cheaper_among_more:
                return costs.get(each, NOTHING_LOST)
            return NOTHING_LOST if each.base is None else costs.get(each.base, NOTHING_LOST)

        families = []
        for family in dict.fromkeys(each.family for each in costs):
            members = [each for each in costs if each.family == family]
            # Who is stronger loses more of the patterns, whatever the purpose.
            members.sort(key=lambda each: (costs[each][-1], each.label))
            enough = [costs[each] for each in members if goal.looks_reached_by(screened[each])]
            cost = min(enough, default=Cost(math.inf, math.inf, math.inf))
            # The release as it is comes first: what every protection is compared with.
            families.append(((members[0] != AS_IT_IS, cost, members[0].name), tuple(members)))
        families.sort(key=lambda family: family[0])
        unproven = frozenset(
            each
            for each, trial in screened.items()
            if each.is_cheaper_among_more and trial.proven.mean > FAR_ABOVE * goal.target
        )
        floors = {each: floor(each) for each in screened}
        return cls(keep, tuple(members for _, members in families), floors, unproven)

    def next_few(
        self,
        trials: Mapping[Candidate, Trial],
        passing: Collection[Candidate],
        refused: Collection[Candidate] = (),
        *,
        by: Decide = "measured",
        most: int = TRIED_AT_ONCE,
    ) -> list[Candidate]:
        """Return what to try next on all users, after these trials with all of them; nothing if none can be cheaper.

        Those of the first few families, one of each, so that they can be tried at the same time. How many does not
        depend on the machine: it decides what is tried.

        Parameters
        ----------
        trials
            What was tried on all users.
        passing
            Which of them are enough.
        refused
            Protections that cannot be tried on all users.
        by
            Which are looked for: those that are proven to be enough, or also those that are measured to be.
        most
            How many at most. The more at once, the more of them are tried for nothing.
        """
        enough = [cost for each in passing if (cost := trials[each].cost(self.keep)) is not None]
        too_dear = {each for each, floor in self.floors.items() if not may_be_cheaper(floor, enough)}
        skipped = too_dear | set(refused)
        failing = self.unproven if by == "proven" else frozenset[Candidate]()
        found: list[Candidate] = []
        for members in self.families:
            if members[0].between is None:  # not a scale: one says nothing about the others
                following = next((each for each in members if each not in trials and each not in skipped), None)
            else:
                following = _halve(members, trials, passing, skipped, failing)
            if following is not None:
                found.append(following)
            if len(found) == most:
                break
        return found


def _halve(
    members: Sequence[Candidate],
    trials: Collection[Candidate],
    passing: Collection[Candidate],
    skipped: Collection[Candidate],
    failing: Collection[Candidate],
) -> Candidate | None:
    """Return the next step of the search for the weakest protection of a family that is enough.

    What fails for sure is not tried, and what is skipped because it is too dear has weaker ones before it.
    """
    first, last = 0, len(members) - 1
    while first <= last:
        middle = (first + last) // 2
        each = members[middle]
        is_weak = each in failing and each not in trials
        if not (is_weak or each in trials or each in skipped):
            return each
        if not is_weak and (each not in trials or each in passing):
            last = middle - 1
        else:
            first = middle + 1
    return None


class _Search:
    """Try protections until the cheapest that is enough is found; each has one trial, the latest.

    What turns out not to be enough is rejected, and the search goes on. The surest claims, which take long to find, are
    those about a part of the users: among fewer people claims are rather surer.
    """

    def __init__(
        self,
        whole: SuiteResult,
        part: SuiteResult,
        goal: Goal,
        look: Callable[[Progress], CloserLook] | None,
        progress: Progress,
    ) -> None:
        self.whole, self.part, self.goal, self.progress = whole, part, goal, progress
        self._look = look
        self.trials: dict[Candidate, Trial] = {}
        self.not_tried: list[NotTried] = []
        self._refused: set[Candidate] = set()
        self._open: dict[Candidate, _Open] = {}  # what may be attacked further, on all users
        # Of tables, and of a protection before groups: the release, and who is near whom in it.
        self._ungrouped: dict[tuple[Scenario, Candidate | None], tuple[Release, Neighbours]] = {}

    def screen(self, candidates: Sequence[Candidate]) -> dict[Candidate, Trial]:
        """Try all on a part of the users, and return what came of those that could be.

        Of groups the largest come first: what is weaker than two that are not enough is left out.
        """
        chains: dict[object, list[Candidate]] = {}
        for each in candidates:
            chains.setdefault(each.family if each.is_cheaper_among_more else each, []).append(each)
        strong_first = [sorted(chain, key=lambda each: -(each.strength or 0)) for chain in chains.values()]
        found = self._try(self.part, strong_first)
        return {each: found[each] for each in candidates if each in found}

    def _is_refuted(self, trial: Trial) -> bool:
        """Return whether something is neither proven nor, so far, measured to be enough."""
        target = self.goal.target
        return not trial.may_be_within(target)

    def try_all(self, candidates: Sequence[Candidate]) -> None:
        """Try all on all users."""
        self.trials |= self._try(self.whole, [[each] for each in candidates])

    def look_at_original(self) -> None:
        """Add how sure claims about the table as it is are, which somebody else measures."""
        look = None if self._look is None else self._look(self.progress)
        rule = self.goal.of_original(self.whole.scenario)
        self.trials[AS_IT_IS] = self._looked_at(AS_IT_IS, look, rule.decide)

    def _looked_at(self, candidate: Candidate, look: CloserLook | None, by: Decide) -> Trial:
        trial, goal = self.trials[candidate], self.goal
        surest, confidence = (None, None) if look is None else (look.surest, look.confidence)
        is_enough = goal.is_sure_enough(surest) and goal.is_safe_for_each(trial.proven, confidence, by)
        return replace(trial, surest=surest, confidence=confidence, passes=trial.passes is not False and is_enough)

    def _try(self, base: SuiteResult, chains: Sequence[Sequence[Candidate]]) -> dict[Candidate, Trial]:
        """Try chains of protections, several chains at the same time; each until enough of it is refuted."""
        n_in_all = sum(map(len, chains))

        def try_chain(n_before: int, chain: Sequence[Candidate], progress: Progress) -> list[Trial | NotTried]:
            outcomes: list[Trial | NotTried] = []
            n_refuted = 0
            for done, candidate in enumerate(chain, n_before):
                inner = nested(progress, STAGE, done, n_in_all, candidate.label)
                try:
                    trial = self._try_one(base, candidate, inner)
                except InputError as error:
                    outcomes.append(NotTried(candidate.label, error.what))
                    continue
                outcomes.append(trial)
                n_refuted += self._is_refuted(trial)
                if n_refuted == ENOUGH_REFUTED:
                    break
            if weaker := chain[len(outcomes) :]:
                why = f"{ENOUGH_REFUTED} larger sizes were not enough with {base.scenario.n_people:,} of the people"
                outcomes.append(NotTried(", ".join(each.label for each in weaker), why))
            return outcomes

        n_before = accumulate(map(len, chains), initial=0)
        jobs = [partial(try_chain, done, chain) for done, chain in zip(n_before, chains, strict=False)]
        found = {}
        for chain, outcomes in zip(chains, side_by_side(jobs, self.progress), strict=True):
            for candidate, outcome in zip(chain, outcomes, strict=False):
                if isinstance(outcome, NotTried):
                    self.not_tried.append(outcome)
                else:
                    found[candidate] = outcome
        return found

    def _try_one(self, base: SuiteResult, candidate: Candidate, progress: Progress) -> Trial:
        """Protect, and run the screening attacks; unprotected, all attacks were made before."""
        goal = self.goal
        release = self._protect(base.scenario, candidate, progress)
        tables = base.scenario.with_release(release)
        if candidate == AS_IT_IS:
            return _trial(base.scenario, candidate, release, base, goal)
        # With many users time matters: what is above the target is out, however far.
        limit = None if self.part is self.whole else goal.target
        attacked = run_screening(tables, base.screening, limit=limit, seed=goal.seed, progress=progress)
        trial = _trial(base.scenario, candidate, release, attacked, goal)
        if base is self.whole and not self._is_refuted(trial):
            self._open[candidate] = _Open(release, tuple((each.attack, each.matching) for each in attacked.results))
        return trial

    def _protect(self, tables: Scenario, candidate: Candidate, progress: Progress) -> Release:
        """Protect; of groups, what comes before them and who is near whom is found once for all sizes."""
        before = Release(tables.released, tables.steps)
        if not candidate.is_cheaper_among_more:
            return candidate.mechanism(before, progress=progress)
        *first, groups = with_seed(candidate.recipe, TRIAL_SEED)
        assert isinstance(groups, Microaggregate)  # noqa: S101  (which comes last)
        start = self._ungrouped.get((tables, candidate.base))
        if start is None:
            ungrouped = before
            for mechanism in first:
                ungrouped = mechanism(ungrouped, progress=progress)
            k = max(groups.k, group_needed(self.goal.target))
            shares = ungrouped.histograms.in_order().shares
            start = ungrouped, find_neighbours(shares, "l1", min(k, shares.shape[0]), progress)
            self._ungrouped[tables, candidate.base] = start
        ungrouped, neighbours = start
        return groups.among(neighbours, ungrouped, progress=progress)

    def _attack_further(self, candidate: Candidate) -> None:
        """Make all attacks on what may be the answer that were not made yet."""
        if (start := self._open.pop(candidate, None)) is None:
            return
        base = self.whole
        scenario = base.scenario.with_release(start.release)
        inner = nested(self.progress, STAGE, 0, 1, f"full suite: {candidate.label}")
        further = run_suite(
            scenario,
            base.suite_for_protected,
            made=[count_identified(scenario.fully_transformed, *each) for each in start.made],
            seed=self.goal.seed,
            progress=inner,
        )
        self.trials[candidate] = _trial(base.scenario, candidate, start.release, further, self.goal)

    def choose(self, by: Decide, screening: Screening | None) -> Candidate | None:
        """Return the cheapest protection that is enough, by what is proven or by what is measured; None if none is.

        Strengths between those that are enough and those that are not are tried too, where they may be cheaper; and
        from a screening, whatever else may be.
        """
        keep = self.goal.keep
        rejected = {AS_IT_IS}  # it was judged before, by its own rule
        refined: set[object] = set()  # families
        while len(rejected) <= MOST_CONFIRMED:
            passing = [
                each for each, trial in self.trials.items() if each not in rejected and self._looks_enough(trial, by)
            ]
            if screening is not None and self._try_next(screening, passing, by):
                continue
            cheapest = self._cheapest(passing, keep)
            if cheapest is None:
                return None
            enough = self._costs(passing, keep)
            if brackets := self._find_brackets(passing, refined, enough):
                refined |= {best.family for best, _ in brackets}
                self._refine(brackets, by, enough)
                continue
            refuted = next(
                (each for each in self._deciding(passing, keep) if not self._holds(each, by, cheapest)), None
            )
            if refuted is None:
                return cheapest
            if self._looks_enough(self.trials[refuted], by):
                rejected.add(refuted)
            refined.clear()  # what was too dear beside this one may not be beside the next
        return self._best(by, keep)

    def best_for(self, keep: Purpose) -> tuple[Candidate | None, Candidate | None]:
        """Return the best for a purpose among all that were tried: proven, and measured, to be enough."""
        return self._best("proven", keep), self._best("measured", keep)

    def _best(self, by: Decide, keep: Purpose) -> Candidate | None:
        """Return the cheapest that is enough by the full suite."""
        while True:
            met = [
                each for each, trial in self.trials.items() if each != AS_IT_IS and self.goal.may_be_met_by(trial, by)
            ]
            best = self._cheapest(met, keep)
            doubtful = [
                each
                for each in self._deciding(met, keep)
                if each in self._open and (each == best or not self.trials[each].is_proven_within(self.goal.target))
            ]
            if not doubtful:
                return best
            self._attack_further(doubtful[0])

    def _looks_enough(self, trial: Trial, by: Decide) -> bool:
        goal = self.goal
        is_proven = trial.is_proven_within(goal.target) and goal.is_safe_for_each(trial.proven, None, "proven")
        if by == "proven" or is_proven:
            return is_proven
        is_refuted = not trial.is_full_suite and trial.risk.high > goal.target
        return trial.selection_rate.high <= goal.target and not is_refuted

    def _holds(self, candidate: Candidate, by: Decide, answer: Candidate) -> bool:
        """Look more closely at what looks enough: at the other half of the people, and at the surest claims.

        Something cheaper than the answer, beside which that must be alike, is looked at only as far as that may change.
        """
        goal = self.goal
        if by == "measured" and not self.trials[candidate].may_be_within(goal.target):
            return False
        is_proven = self.trials[candidate].is_proven_within(goal.target)
        if candidate == answer or not is_proven:
            self._attack_further(candidate)
        trial = self.trials[candidate]
        if not trial.may_be_within(goal.target) and by == "measured":
            return False
        is_open = goal.surest_target is not None or not goal.is_safe_for_each(trial.proven, None, "proven")
        if trial.surest is None and (candidate == answer or is_open):
            inner = nested(self.progress, STAGE, 0, 1, f"the surest claims: {candidate.label}")
            self.trials[candidate] = self._looked_at(candidate, self._look_closer(candidate, inner), goal.decide)
        return goal.is_met_by(self.trials[candidate], by)

    def _try_next(self, screening: Screening, passing: Collection[Candidate], by: Decide) -> bool:
        """Try on all users what may be cheaper than the cheapest so far, and return whether there was anything."""
        candidates = screening.next_few(self.trials, passing, self._refused, by=by)
        n_done = len(self.trials)
        n_in_all = max(len(screening.floors), n_done)

        def try_on_all(candidate: Candidate, progress: Progress) -> Trial | NotTried:
            inner = nested(progress, STAGE, n_done, n_in_all, f"all users: {candidate.label}")
            try:
                return self._try_one(self.whole, candidate, inner)
            except InputError as error:
                return NotTried(candidate.label, f"with all users, {error.what}")

        outcomes = side_by_side([partial(try_on_all, each) for each in candidates], self.progress)
        for candidate, outcome in zip(candidates, outcomes, strict=True):
            if isinstance(outcome, NotTried):
                self._refused.add(candidate)
                self.not_tried.append(outcome)
            else:
                self.trials[candidate] = outcome
        return bool(candidates)

    def _costs(self, candidates: Collection[Candidate], keep: Purpose) -> dict[Candidate, Cost]:
        """Return what some protections cost, where that is defined, in the order in which equal ones are preferred."""
        order = {candidate: number for number, candidate in enumerate(self.trials)}
        safest = sorted(candidates, key=lambda each: (self.trials[each].risk.high, order[each]))
        return {each: cost for each in safest if (cost := self.trials[each].cost(keep)) is not None}

    def _cheapest(self, passing: Collection[Candidate], keep: Purpose) -> Candidate | None:
        """Return the cheapest of some protections for a purpose, or None."""
        costs = self._costs(passing, keep)
        return list(costs)[find_cheapest(list(costs.values()))] if costs else None

    def _deciding(self, passing: Collection[Candidate], keep: Purpose) -> list[Candidate]:
        """Return the protections that the choice rests on: the cheapest, and the one that it must be alike to.

        The latter only if something else would be chosen without it, and without all whose deciding loss is less than
        that of the cheapest.
        """
        costs = self._costs(passing, keep)
        best = self._cheapest(costs, keep)
        if best is None:
            return []
        dearer = [each for each, cost in costs.items() if cost.loss >= costs[best].loss]
        least = min(costs, key=lambda each: costs[each].loss)
        return [best] if self._cheapest(dearer, keep) == best else [best, least]

    def _find_brackets(
        self, passing: Collection[Candidate], refined: Collection[object], enough: Mapping[Candidate, Cost]
    ) -> list[tuple[Candidate, int]]:
        """Return a few protections that are enough, with the next weaker strength, which is not and would be better."""
        found = []
        for best in passing:
            if best.between is None or best.strength is None or best.family in refined:
                continue
            sign = -1 if best.is_falling else 1  # of a number of places, the larger protects less
            weaker = [
                (sign * each.strength, each)
                for each in self.trials
                if each.family == best.family and each.strength and sign * each.strength < sign * best.strength
            ]
            if not weaker:
                continue
            strength, nearest = max(weaker, key=lambda pair: pair[0])
            less = self.trials[nearest].cost(self.goal.keep)
            if nearest not in passing and less is not None and may_be_cheaper(less, list(enough.values())):
                found.append((best, int(sign * strength)))
            if len(found) == TRIED_AT_ONCE:
                break
        return found

    def _refine(self, brackets: Sequence[tuple[Candidate, int]], by: Decide, enough: Mapping[Candidate, Cost]) -> None:
        """Try strengths between those that are enough and those that are not, of several families at the same time."""
        jobs = [partial(self._refined, best, weaker, by, list(enough.values())) for best, weaker in brackets]
        for found in side_by_side(jobs, self.progress):
            self.trials |= found

    def _refined(
        self, best: Candidate, weaker: int, by: Decide, enough: Sequence[Cost], progress: Progress
    ) -> dict[Candidate, Trial]:
        """Return what was tried between a strength that is enough and one that is not.

        `enough` is what those cost that are enough: nothing is tried that could not be preferred to them.
        """
        assert best.between is not None  # noqa: S101  (`_find_brackets` says so)
        assert best.strength is not None  # noqa: S101
        fails, holds = weaker, int(best.strength)
        found: dict[Candidate, Trial] = {}
        for done in range(MOST_REFINED):
            if abs(holds - fails) <= 1:
                break
            tried = self.trials | found
            middle = self._guess(best, tried, (fails, holds), by, enough)
            if middle is None:
                break
            candidate = best.between(middle)
            if candidate not in tried:
                inner = nested(progress, STAGE, done, MOST_REFINED, f"in between: {candidate.label}")
                tried[candidate] = found[candidate] = self._try_one(self.whole, candidate, inner)
            fails, holds = (fails, middle) if self._looks_enough(tried[candidate], by) else (middle, holds)
        return found

    def _guess(
        self,
        best: Candidate,
        tried: Mapping[Candidate, Trial],
        between: tuple[int, int],
        by: Decide,
        enough: Sequence[Cost],
    ) -> int | None:
        """Return the strength to try next, between two: of groups the least that should be enough, else the middle."""
        assert best.between is not None  # noqa: S101  (`_find_brackets` says so)
        weak, strong = (tried.get(best.between(strength)) for strength in between)
        if not best.is_cheaper_among_more or weak is None or strong is None:
            return sum(between) // 2
        return size_between(weak, strong, between, self.goal, by, enough)

    def _look_closer(self, candidate: Candidate, progress: Progress) -> CloserLook | None:
        """Return how sure claims are; None if that would take too long."""
        tables, goal = self.part.scenario, self.goal
        if candidate.is_merging_rare and tables.released.n_users > MOST_MERGED:
            return None
        copied = tables.protected_by(candidate.mechanism, progress)[1].fully_transformed
        joint = run_attack(copied, Attack(self.part.joint_weights[0]), seed=goal.seed, progress=progress)
        return look_closer(joint, progress)
