"""The search for the protection of lowest cost that meets the target, and the runner of its trials."""

import math
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from typing import Literal

from habitprint.attacks import Attack, Scenario, SuiteResult, count_identified, run_attack, run_screening, run_suite
from habitprint.auditing.candidates import (
    TRIAL_SEED,
    UNPROTECTED,
    Candidate,
    group_needed,
    list_candidates,
    why_no_noise,
)
from habitprint.auditing.goal import FAIL, OPEN, ROWS, Decide, Goal, judge
from habitprint.auditing.options import AuditOptions
from habitprint.auditing.people import Confidence, look_closer
from habitprint.auditing.trials import BestFor, NotTried, Protections, Trial, make_trial
from habitprint.errors import InputError
from habitprint.losses import SCALES, Cost, UtilityMetric, find_cheapest, may_be_cheaper
from habitprint.matching import Matching
from habitprint.mechanisms import Microaggregate, Release, chain, with_seed
from habitprint.mechanisms.groups.neighbours import Neighbours, find_neighbours
from habitprint.progress import Progress, nested, silent
from habitprint.rates import Rate
from habitprint.runtime import Once, run_parallel

STAGE = "protections"
MOST_CONFIRMED = 12
ROUNDING = 1e-9  # allowed error of a group size
FAR_ABOVE = 1.5  # a guarantee above so many times the target is not tried
NEARLY = 0.15  # allowed error of the line, in users; among 47,299 users it was off by a third of that
TRIED_AT_ONCE = 2  # protections that are tried on all users at the same time
NOTHING_LOST = Cost(0.0, 0.0, 0.0)
ENOUGH_REFUTED = 2  # among fewer people each is easier to identify, so one failure is not enough
# Draws of a random protection that is a close call. The published file is one more: it is worse than all n of them with
# a probability of 1 / (n + 1) at most.
N_DRAWS = 19
MOST_DRAWN = 20_000  # people in all draws of a protection together: among many people, draws are similar
# Most users for whom margins are computed if rare places are merged: an exact matching can take very long.
MOST_MERGED = 1_000

Look = Callable[[Progress], tuple[Rate, Confidence | None]]
# The full suite starts from the release and the matchings of the screening; its tables are aligned again.
SuiteStart = tuple[Release, list[tuple[Attack, Matching]]]
Outcomes = dict[Candidate, tuple[Trial, SuiteStart | None] | NotTried]


@dataclass(frozen=True)
class Try:
    """Protect all users in some ways, and run the screening attacks: all of them can be done at the same time."""

    candidates: tuple[Candidate, ...]


@dataclass(frozen=True)
class Deepen:
    """A step that measures more of one protection: the full suite, or the confidence of claims."""

    candidate: Candidate
    further: Literal["full suite", "closer look"]


@dataclass(frozen=True)
class Done:
    """The answer: the lowest-cost protections by guarantee, and by measured risk; None if none meets the goal.

    Parameters
    ----------
    best
        The same for each utility metric. Empty if the unprotected table reaches the goal.
    """

    guaranteed: Candidate | None
    measured: Candidate | None
    best: Mapping[UtilityMetric, tuple[Candidate | None, Candidate | None]] = field(default_factory=dict)


Step = Try | Deepen | Done


@dataclass(frozen=True)
class Tried:
    """The state of the search, which alone decides the next step.

    Parameters
    ----------
    goal
        The goal of the search.
    listed
        The candidates to try on all users first, with the unprotected table.
    screened
        Trials with some of the users; empty if all candidates are tried on all users.
    trials, refused
        The trials on all users, and the candidates that could not be tried.
    looked_at
        The candidates whose confidence of claims was measured.
    """

    goal: Goal
    listed: tuple[Candidate, ...] = (UNPROTECTED,)
    screened: Mapping[Candidate, Trial] = field(default_factory=dict)
    trials: Mapping[Candidate, Trial] = field(default_factory=dict)
    refused: Mapping[Candidate, NotTried] = field(default_factory=dict)
    looked_at: frozenset[Candidate] = frozenset()

    def looks_enough(self, candidate: Candidate, by: Decide) -> bool:
        """Return whether a protection may meet the goal by its guarantee, or on the selection half."""
        trial = self.trials[candidate]
        high = trial.selection_rate.high if trial.is_full_suite else max(trial.selection_rate.high, trial.risk.high)
        evidence = trial.evidence(high, is_looked_at=candidate in self.looked_at)
        return candidate != UNPROTECTED and judge(self.goal, evidence, by) is not FAIL


def _costs(
    trials: Mapping[Candidate, Trial], keep: UtilityMetric, among: Collection[Candidate] | None = None
) -> dict[Candidate, Cost]:
    """Return the defined costs of some protections, in the order of preference."""
    asked = [each for each in trials if among is None or each in among]
    safest = sorted(asked, key=lambda each: trials[each].risk.high)
    return {each: cost for each in safest if (cost := trials[each].cost(keep)) is not None}


def next_few(
    tried: Tried, passing: Collection[Candidate], by: Decide = "measured", most: int = TRIED_AT_ONCE
) -> list[Candidate]:
    """Return the candidates to try next on all users, after screening; none if no other can cost less.

    Among all users, risk and loss differ and are mostly lower. So screening only gives the order of the trials, and a
    lower bound of the cost. (For totals and rankings it is an estimate.)

    Those of the first few families, one of each, so that they can be tried at the same time. Their number does not
    depend on the machine, because it decides which protections are tried.

    Parameters
    ----------
    passing
        The candidates that meet the goal among those tried on all users.
    by
        The deciding risk: guaranteed, or measured.
    most
        The largest number of candidates. With more at the same time, more of them are tried for nothing.
    """
    goal, screened = tried.goal, tried.screened
    enough = list(_costs(tried.trials, goal.keep, passing).values())
    floors = least_costs(screened, goal.keep)
    skipped = {each for each, floor in floors.items() if not may_be_cheaper(floor, enough)} | tried.refused.keys()
    # Groups for which no guarantee can be expected: with some of the users it was far above the target.
    failing = {
        each
        for each, trial in screened.items()
        if by == "guaranteed" and each.is_cheaper_among_more and trial.guaranteed.average > FAR_ABOVE * goal.target
    }

    def weakest(members: Sequence[Candidate]) -> Candidate | None:
        """Return the next step of the search, by halving, for the weakest protection of a scale that is enough.

        Candidates that certainly fail are not tried. A candidate that costs too much is skipped after weaker ones.
        """
        first, last = 0, len(members) - 1
        while first <= last:
            middle = (first + last) // 2
            each = members[middle]
            is_weak = each in failing and each not in tried.trials
            if not (is_weak or each in tried.trials or each in skipped):
                return each
            if not is_weak and (each not in tried.trials or each in passing):
                last = middle - 1
            else:
                first = middle + 1
        return None

    def any_of(members: Sequence[Candidate]) -> Candidate | None:
        return next((each for each in members if each not in tried.trials and each not in skipped), None)

    families = _families(screened, goal)
    # Where there is no scale, one says nothing about the others.
    found = [any_of(members) if members[0].between is None else weakest(members) for members in families]
    return [each for each in found if each is not None][:most]


def least_costs(screened: Mapping[Candidate, Trial], keep: UtilityMetric) -> dict[Candidate, Cost]:
    """Return the lowest cost that each protection can have among all users.

    Groups cost less among more users. For groups, only the cost of the protection that they are added to is certain.
    """
    costs = _costs(screened, keep)
    certain = {each: each.base if each.is_cheaper_among_more else each for each in screened}
    return {each: NOTHING_LOST if of is None else costs.get(of, NOTHING_LOST) for each, of in certain.items()}


def _families(screened: Mapping[Candidate, Trial], goal: Goal) -> list[list[Candidate]]:
    """Return protections that differ in parameter only, from weak to strong; those that are enough at a low cost first.

    The unprotected table comes first: every protection is compared with it.
    """
    costs, families = _costs(screened, goal.keep), dict[object, list[Candidate]]()
    # A stronger protection loses more of the patterns, under every utility metric.
    for each in sorted(costs, key=lambda each: (costs[each].patterns, each.label)):
        families.setdefault(each.family, []).append(each)

    def rank(members: Sequence[Candidate]) -> tuple[bool, Cost, str]:
        enough = [costs[each] for each in members if judge(goal, screened[each].evidence()) is not FAIL]
        cost = min(enough, default=Cost(math.inf, math.inf, math.inf))
        return members[0] != UNPROTECTED, cost, members[0].name

    return sorted(families.values(), key=rank)


def next_step(tried: Tried) -> Step:
    """Return the next step; it depends only on the trials so far.

    The answer is the same as if the full suite had run on every protection, in all draws of a random one. A protection
    above the target is rejected, because more attacks and draws can only raise the risk. So is one that must cost more
    than another that meets the goal.

    Examples
    --------
    >>> next_step(Tried(Goal(0.05))).candidates[0].label
    'unprotected'
    """
    return next(_steps(tried))


def _steps(tried: Tried) -> Generator[Step]:
    """Yield the steps to take; only the first counts, because its result may change the others."""
    if not tried.trials:
        yield Try(tried.listed)
    passes, is_looked_at = tried.trials[UNPROTECTED].passes, UNPROTECTED in tried.looked_at
    if passes is not False and not is_looked_at:
        yield Deepen(UNPROTECTED, "closer look")
    if passes:
        yield Done(UNPROTECTED, None)
    guaranteed = yield from _choose(tried, "guaranteed")
    measured = yield from _choose(tried, "measured")
    if not is_looked_at:  # the answer does not depend on it, but it is shown
        yield Deepen(UNPROTECTED, "closer look")
    best = {}
    for keep in SCALES:
        best[keep] = (yield from _best(tried, "guaranteed", keep)), (yield from _best(tried, "measured", keep))
    yield Done(guaranteed, measured, best)


def _choose(tried: Tried, by: Decide) -> Generator[Step, None, Candidate | None]:
    """Return the lowest-cost protection, selected on one half of the people and confirmed on the other.

    What is not confirmed is rejected, and the next in cost looked for. Parameters between a sufficient and an
    insufficient one are tried too, if they may cost less. After screening, other candidates that may cost less are
    tried too.
    """
    passing = [each for each in tried.trials if tried.looks_enough(each, by)]
    n_rejected = len(tried.looked_at - {UNPROTECTED, *passing})
    for _ in range(MOST_CONFIRMED - n_rejected):
        if few := next_few(tried, passing, by):
            yield Try(tuple(few))
        costs = _costs(tried.trials, tried.goal.keep, passing)
        if between := _between(tried, passing, list(costs.values()), by):
            yield Try(between)
        best, refuted = _cheapest(costs), None
        for each in _deciding(costs):
            is_looked_at = each in tried.looked_at
            judged = judge(tried.goal, tried.trials[each].evidence(is_looked_at=is_looked_at), by)
            if judged is FAIL:
                refuted = each
                break
            if not tried.trials[each].is_full_suite:
                yield Deepen(each, "full suite")
            if not is_looked_at and (each == best or judged is OPEN):
                yield Deepen(each, "closer look")
        if refuted is None:
            return best
        passing.remove(refuted)
    return (yield from _best(tried, by, tried.goal.keep))


def _best(tried: Tried, by: Decide, keep: UtilityMetric) -> Generator[Step, None, Candidate | None]:
    """Return the lowest-cost protection for a utility metric, by the full suite, among all that were tried."""
    met = [each for each in tried.trials if judge(tried.goal, tried.trials[each].evidence(), by) is not FAIL]
    costs = _costs(tried.trials, keep, set(met) - {UNPROTECTED})
    for each in _deciding(costs):
        if not tried.trials[each].is_full_suite:
            yield Deepen(each, "full suite")
    return _cheapest(costs)


def _cheapest(costs: Mapping[Candidate, Cost]) -> Candidate | None:
    return list(costs)[find_cheapest(list(costs.values()))] if costs else None


def _deciding(costs: Mapping[Candidate, Cost]) -> list[Candidate]:
    """Return the protections that the choice depends on: the one with the lowest cost, and the one with the least loss.

    The latter counts only if the choice would differ without it, and without all with a smaller deciding loss.
    """
    best = _cheapest(costs)
    if best is None:
        return []
    dearer = {each: cost for each, cost in costs.items() if cost.loss >= costs[best].loss}
    least = min(costs, key=lambda each: costs[each].loss)
    return [best] if _cheapest(dearer) == best else [best, least]


def _between(tried: Tried, passing: Collection[Candidate], enough: Sequence[Cost], by: Decide) -> tuple[Candidate, ...]:
    """Return parameters, of a few families, between one that is enough and the next weaker, which would be better."""
    found: dict[object, Candidate] = {}
    for best in passing:
        if best.between is None or best.parameter is None or best.family in found or len(found) == TRIED_AT_ONCE:
            continue
        sign = -1 if best.is_falling else 1  # of a number of places, the larger protects less
        weaker = {
            sign * each.parameter: each
            for each in tried.trials
            if each.family == best.family and each.parameter and sign * each.parameter < sign * best.parameter
        }
        if not weaker or (nearest := weaker[max(weaker)]) in passing:
            continue
        weak, strong = tried.trials[nearest], tried.trials[best]
        less = weak.cost(tried.goal.keep)
        sizes = int(nearest.parameter or 0), int(best.parameter)
        if less is None or abs(sizes[1] - sizes[0]) <= 1 or not may_be_cheaper(less, enough):
            continue
        is_group = best.is_cheaper_among_more
        middle = size_between(weak, strong, sizes, tried.goal, by, enough) if is_group else sum(sizes) // 2
        if middle is not None and (candidate := best.between(middle)) not in tried.refused:
            found[best.family] = candidate
    return tuple(found.values())


def size_between(
    weak: Trial, strong: Trial, sizes: tuple[int, int], goal: Goal, by: Decide, enough: Sequence[Cost] = ()
) -> int | None:
    """Return the least size of groups that should be enough, between one that is not and one that is.

    What is left of a risk is about one over the size of groups, so one over the risk is followed as a line. What is
    guaranteed is the number of groups, and n users make at most n // k: few users need no line.

    Parameters
    ----------
    weak, strong, sizes
        Two trials, and their group sizes.
    enough
        The costs of protections that meet the goal: another size helps only if it could be preferred to them.

    Returns
    -------
    int or None
        None where that size must cost more, and no smaller one should be enough; or where all between are too small.
        The latter is said only of the guarantee, which follows from the number of groups: what is measured is tried.
    """
    fails, holds = sizes
    risks = [trial.guaranteed.average if by == "guaranteed" else trial.selection_rate.high for trial in (weak, strong)]
    if not risks[0] > risks[1] > 0.0:
        return (fails + holds) // 2
    low, high = (1 / risk for risk in risks)
    wanted = fails + (1 / goal.target - low) / (high - low) * (holds - fails)
    if by == "guaranteed":
        n = strong.losses.n_users_kept
        wanted = min(wanted, n // (math.floor(goal.target * n + ROUNDING) + 1) + 1)
        if wanted > holds - 1 + NEARLY:
            return None
    size = min(max(math.ceil(wanted - ROUNDING), fails + 1), holds - 1)
    least = weak.least_cost(goal.keep, strong, (size - fails) / (holds - fails))
    return None if least is not None and not may_be_cheaper(least, enough) else size


def find_protection(
    whole: SuiteResult,
    part: SuiteResult,
    coarser: Sequence[Candidate],
    options: AuditOptions,
    look: Look | None = None,
    progress: Progress = silent,
    *,
    is_final: bool = False,
) -> tuple[Protections, tuple[Candidate, ...]]:
    """Return the results of the tried protections, and the candidates in the order of their trials.

    The same screening attacks run on each candidate, to find the lowest cost that reaches the goal.

    More attacks can only raise the measured risk, so a candidate above the target after screening is rejected. The full
    suite runs only on candidates that could still be the answer.

    A second answer meets the goal only by measured risk: it is selected on one half of the people, and confirmed on the
    hold-out half.

    Parameters
    ----------
    whole
        The full suite on the unprotected tables.
    part
        The same; or, with many users, a random part of them, against an attacker who knows the same part. Among fewer
        users, people are easier to identify and groups cost more. All protections are screened with them. Those that
        may cost least are tried again with all users.
    coarser
        Mappings to coarser places.
    options
        The options of the audit: the goal, and the protections to try. Noise has no seed, so its trials differ from run
        to run.
    look
        The function that measures the confidence of claims about the unprotected table. It runs last, unless the answer
        depends on it.
    is_final
        Whether the table is released as it is, so that no further protection is tried.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.attacks import Scenario
    >>> tables = run_suite(Scenario(*hp.datasets.town(20, 6), truth="same-id"))
    >>> found, _ = find_protection(tables, tables, [], hp.AuditOptions(target=0.2, noise=False))
    >>> found.advised.guaranteed.is_within(0.2)
    True
    """
    goal, released, n_users = options.goal, whole.scenario.released, part.scenario.released.n_users
    noise, counts = options.noise, options.counts
    candidates = [UNPROTECTED]
    if not is_final:
        candidates = list_candidates(released, coarser, goal, n_users=n_users, noise=noise, counts=counts)
    runner = _Runner(whole, part, goal, look, progress)
    tried, screened = Tried(goal, tuple(candidates)), dict[Candidate, Trial]()
    not_tried: list[NotTried] = []
    if part is not whole:
        screened, not_tried = runner.screen(candidates)
        tried = Tried(goal, screened=screened)
    while not isinstance(step := next_step(tried), Done):
        tried = runner.take(step, tried)
    chosen = step.measured if goal.decide == "measured" and step.guaranteed != UNPROTECTED else step.guaranteed
    why = why_no_noise(released) if noise else "it was not requested"
    numbers: dict[Candidate | None, int] = {candidate: number for number, candidate in enumerate(tried.trials)}
    protections = Protections(
        keep=goal.keep,
        trials=tuple(tried.trials.values()),
        screened=tuple(screened.values()),
        chosen=numbers.get(chosen),
        measured=numbers.get(step.measured),
        best=tuple(BestFor(keep, numbers.get(one), numbers.get(other)) for keep, (one, other) in step.best.items()),
        not_tried=(*not_tried, *tried.refused.values(), *(() if why is None else (NotTried("noise", why),))),
        n_tried=len(tried.trials.keys() | screened.keys()) - 1,
        n_users=part.scenario.n_people,
        n_users_in_all=whole.scenario.n_people,
    )
    return protections, tuple(tried.trials)


@dataclass(frozen=True, eq=False)
class _Runner:
    """The runner of the planner's steps. Jobs that run at the same time only return their results.

    The most confident claims take long to find, so they are those about a sample of the users. Among fewer people
    claims are rather more confident.
    """

    whole: SuiteResult
    part: SuiteResult
    goal: Goal
    look: Look | None
    progress: Progress
    starts: dict[Candidate, SuiteStart] = field(default_factory=dict)  # on all users, where the full suite may follow
    # The table before the groups and its neighbours, by tables and by the steps before the groups.
    ungrouped: dict[tuple[Scenario, Candidate | None], Once[tuple[Release, Neighbours]]] = field(default_factory=dict)

    def screen(self, candidates: Sequence[Candidate]) -> tuple[dict[Candidate, Trial], list[NotTried]]:
        """Try all candidates on a part of the users, and return the results.

        Of groups the largest come first: what is weaker than two that are not enough is left out.
        """
        chains: dict[object, list[Candidate]] = {}
        for each in candidates:
            chains.setdefault(each.family if each.is_cheaper_among_more else each, []).append(each)
        strong_first = [sorted(chain, key=lambda each: -(each.parameter or 0)) for chain in chains.values()]
        screened, not_tried = self._try(self.part, strong_first)
        return {each: screened[each] for each in candidates if each in screened}, list(not_tried.values())

    def take(self, step: Try | Deepen, tried: Tried) -> Tried:
        """Take a step, and return the trials with its result."""
        if isinstance(step, Try):
            trials, refused = self._try(self.whole, [[each] for each in step.candidates])
            return replace(tried, trials={**tried.trials, **trials}, refused={**tried.refused, **refused})
        candidate = step.candidate
        inner = nested(self.progress, STAGE, 0, 1, f"{step.further}: {candidate.label}")
        if step.further == "full suite":
            trial = self._attack_further(candidate, inner)
            return replace(tried, trials={**tried.trials, candidate: trial})
        rule, look = self.goal, self._look_closer(candidate, inner)
        if candidate == UNPROTECTED:
            rule = rule.of_original(is_protected=bool(self.whole.scenario.steps))
        trial = tried.trials[candidate].looked_at(look, rule)
        return replace(tried, trials={**tried.trials, candidate: trial}, looked_at=tried.looked_at | {candidate})

    def _try(
        self, base: SuiteResult, chains: Sequence[Sequence[Candidate]]
    ) -> tuple[dict[Candidate, Trial], dict[Candidate, NotTried]]:
        """Try chains of protections, several chains at the same time; each until enough of it is refuted."""
        n_before = list(accumulate(map(len, chains), initial=0))

        def try_chain(n_done: int, chain: Sequence[Candidate], progress: Progress) -> Outcomes:
            outcomes: Outcomes = {}
            n_refuted = 0
            for done, candidate in enumerate(chain, n_done):
                inner = nested(progress, STAGE, done, n_before[-1], candidate.label)
                try:
                    trial, start = self._try_one(base, candidate, inner)
                except InputError as error:
                    outcomes[candidate] = NotTried(candidate.label, error.what)
                    continue
                outcomes[candidate] = trial, start
                n_refuted += start is None
                if n_refuted == ENOUGH_REFUTED:
                    break
            if weaker := chain[len(outcomes) :]:
                why = f"{ENOUGH_REFUTED} larger sizes were not enough with {base.scenario.n_people:,} of the people"
                outcomes[weaker[0]] = NotTried(", ".join(each.label for each in weaker), why)
            return outcomes

        jobs = [partial(try_chain, done, chain) for done, chain in zip(n_before, chains, strict=False)]
        trials, refused = dict[Candidate, Trial](), dict[Candidate, NotTried]()
        for candidate, found in (each for outcomes in run_parallel(jobs, self.progress) for each in outcomes.items()):
            if isinstance(found, NotTried):
                refused[candidate] = found
                continue
            trials[candidate], start = found
            if start is not None and base is self.whole:
                self.starts[candidate] = start
        return trials, refused

    def _try_one(self, base: SuiteResult, candidate: Candidate, progress: Progress) -> tuple[Trial, SuiteStart | None]:
        """Protect, and run the screening attacks; unprotected, all attacks were made before.

        What is out has no start for further attacks: releases take memory.
        """
        goal, tables = self.goal, base.scenario
        release = self._protect(tables, candidate, progress)
        if candidate == UNPROTECTED:
            return make_trial(tables, candidate, release, base, goal), None
        # With many users time matters: a protection above the target is rejected, however little.
        limit = None if self.part is self.whole else goal.target
        protected = tables.with_release(release)
        attacked = run_screening(protected, base.screening, limit=limit, seed=goal.seed, progress=progress)
        trial = make_trial(tables, candidate, release, attacked, goal)
        is_out = judge(Goal(goal.target), trial.evidence(), "measured") is FAIL
        return trial, None if is_out else (release, [(each.attack, each.matching) for each in attacked.results])

    def _protect(self, tables: Scenario, candidate: Candidate, progress: Progress) -> Release:
        """Apply a protection; for groups, the table before them and its neighbours are computed once for all sizes."""
        before = Release(tables.released, tables.steps)
        if not candidate.is_cheaper_among_more:
            return candidate.mechanism(before, progress=progress)
        *first, last = with_seed(candidate.recipe, TRIAL_SEED)
        assert isinstance(last, Microaggregate)  # noqa: S101  (groups come last)
        k = max(last.k, group_needed(self.goal.target))

        def find(progress: Progress) -> tuple[Release, Neighbours]:
            ungrouped = chain(*first)(before, progress=progress)
            shares = ungrouped.histograms.in_order().shares
            return ungrouped, find_neighbours(shares, last.loss, min(k, shares.shape[0]), progress)

        ungrouped, neighbours = self.ungrouped.setdefault((tables, candidate.base), Once(find))(progress)
        return last.among(neighbours, ungrouped, progress=progress)

    def _attack_further(self, candidate: Candidate, progress: Progress) -> Trial:
        """Make all attacks that were not made yet."""
        base, (release, before) = self.whole, self.starts.pop(candidate)
        scenario = base.scenario.with_release(release)
        made = [count_identified(scenario.fully_transformed, *each) for each in before]
        further = run_suite(scenario, base.suite_for_protected, made=made, seed=self.goal.seed, progress=progress)
        trial = make_trial(base.scenario, candidate, release, further, self.goal)
        return self._draw_again(candidate, trial, further, progress)

    def _draw_again(self, candidate: Candidate, trial: Trial, attacked: SuiteResult, progress: Progress) -> Trial:
        """Return the worst of several draws where another one might miss the target, by the strongest attack."""
        tables, goal = self.whole.scenario, self.goal
        if not (candidate.is_drawn and trial.is_close_to(goal)):
            return trial
        attack = replace(max(attacked.results, key=lambda each: each.rate.high).attack, is_cross_fitted=False)
        seeds = range(TRIAL_SEED + 1, TRIAL_SEED + min(N_DRAWS, MOST_DRAWN // tables.n_people))
        releases = candidate.redraw(Release(tables.released, tables.steps), seeds)
        while judge(goal, trial.evidence(), "measured", ROWS) is not FAIL and (release := next(releases, None)):
            again = run_screening(tables.with_release(release), [attack], seed=goal.seed, progress=progress)
            trial = trial.or_worse(make_trial(tables, candidate, release, again, goal, is_drawn_again=True))
        return trial.judged(goal, is_looked_at=False)

    def _look_closer(self, candidate: Candidate, progress: Progress) -> tuple[Rate, Confidence | None] | None:
        """Return the confidence of claims; None if that would take too long."""
        if candidate == UNPROTECTED:
            return None if self.look is None else self.look(progress)
        tables = self.part.scenario
        if candidate.is_merging_rare and tables.released.n_users > MOST_MERGED:
            return None
        copied = tables.protected_by(candidate.mechanism, progress)[1].fully_transformed
        joint = run_attack(copied, Attack(self.part.joint_weights[0]), seed=self.goal.seed, progress=progress)
        return look_closer(joint, progress)
