"""Try protections as the planner says, several at the same time, and tell what came of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate

from habitprint.attacks import (
    Attack,
    Scenario,
    SuiteResult,
    count_identified,
    run_attack,
    run_screening,
    run_suite,
    strongest_of,
    strongest_of_each,
)
from habitprint.auditing.attribution import attribute
from habitprint.auditing.candidates import (
    TRIAL_SEED,
    UNPROTECTED,
    Candidate,
    Coarser,
    group_needed,
    list_candidates,
    why_no_noise,
)
from habitprint.auditing.goal import FAIL, ROWS, Evidence, Goal, judge
from habitprint.auditing.people import CloserLook, look_closer
from habitprint.auditing.planner import Deepen, Done, Screening, Tried, Try, next_step
from habitprint.auditing.trials import Best, NotTried, Protections, Trial
from habitprint.auditing.unmixing import Scene, TakenApart, point, reconstruct, second_look
from habitprint.errors import InputError
from habitprint.losses import measure_losses
from habitprint.matching import Matching
from habitprint.mechanisms import GuaranteedRisk, Microaggregate, OnlyPlaces, Release, to_flags, with_seed
from habitprint.mechanisms.exposure import is_grouped
from habitprint.mechanisms.groups.neighbours import Neighbours, find_neighbours
from habitprint.progress import Progress, nested, silent
from habitprint.runtime.parallel import Once, run_parallel

STAGE = "protections"
ENOUGH_REFUTED = 2  # among fewer people each is easier to tell apart: one would not be enough
# Draws of a random protection that is a close call. The published file is one more: it is worse than all n of them with
# a probability of 1 / (n + 1) at most.
N_DRAWS = 19
MOST_DRAWN = 4_000  # people in all draws of a protection: among many, one draw is like another
# Users for whom margins are computed where rare places are one: an exact matching can take very long.
MOST_MERGED = 1_000


@dataclass(frozen=True, eq=False)
class Found:
    """The protections that were tried, each as it can be made again, and what was chosen, if anything."""

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
        The same; or, with many users, a random part of them, against an attacker who knows the same part. There they
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
    >>> found.protections.advised.guaranteed.is_within(0.2)
    True
    """
    released = whole.scenario.released
    candidates = list_candidates(
        released,
        coarser,
        goal.target,
        n_users=part.scenario.released.n_users,
        person_target=goal.person_target,
        noise=noise,
        counts=counts,
    )
    runner = _Runner(whole, part, goal, look, progress)
    tried, screened = Tried(goal, tuple(candidates)), dict[Candidate, Trial]()
    not_tried: list[NotTried] = []
    if part is not whole:
        screened, not_tried = runner.screen(candidates)
        tried = Tried(goal, screening=Screening.of(screened, goal))
    while not isinstance(step := next_step(tried), Done):
        tried = runner.take(step, tried)
    chosen = step.measured if goal.decide == "measured" and step.guaranteed != UNPROTECTED else step.guaranteed
    why = why_no_noise(released) if noise else "it was not asked for"
    numbers: dict[Candidate | None, int] = {candidate: number for number, candidate in enumerate(tried.trials)}
    protections = Protections(
        keep=goal.keep,
        trials=tuple(tried.trials.values()),
        screened=tuple(screened.values()),
        chosen=numbers.get(chosen),
        measured=numbers.get(step.measured),
        best=tuple(Best(keep, numbers.get(one), numbers.get(other)) for keep, (one, other) in step.best.items()),
        not_tried=(*not_tried, *tried.refused.values(), *(() if why is None else (NotTried("noise", why),))),
        n_tried=len(tried.trials.keys() | screened.keys()) - 1,
        n_users=part.scenario.n_people,
        n_users_in_all=whole.scenario.n_people,
    )
    return Found(protections, chosen, tuple(tried.trials))


def run_trial(base: SuiteResult, candidate: Candidate, goal: Goal, progress: Progress = silent) -> Trial:
    """Protect, run the full suite, and measure what is lost; unprotected, the attacks were made before.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.auditing.candidates import micro_aggregation
    >>> tables = run_suite(Scenario(*hp.datasets.town(60, 20), truth="same-id"))
    >>> trial = run_trial(tables, micro_aggregation(5), Goal(0.05))
    >>> trial.guarantees[0]
    KAnonymity(k=5)
    >>> trial.guaranteed.average
    0.2
    """
    release, tables = base.scenario.protected_by(candidate.mechanism, progress)
    attacked = base
    if candidate != UNPROTECTED:
        attacked = run_suite(tables, base.suite_for_protected, seed=goal.seed, progress=progress)
    return make_trial(base.scenario, candidate, release, attacked, goal)


def make_trial(
    original: Scenario,
    candidate: Candidate,
    release: Release,
    attacked: SuiteResult,
    goal: Goal,
    *,
    is_drawn_again: bool = False,
) -> Trial:
    """Return what came of a release that was attacked; one that is drawn again is taken apart as in the full suite."""
    # Of a table that was protected before, what was lost then is not known here: losses are of what was left.
    added = Release(release.histograms, release.steps[len(original.steps) :], release.guarantees)
    guaranteed, half = GuaranteedRisk.of(attacked.scenario.anonymity_sets), attacked.scenario.selection_half
    rule = goal.of_original(is_protected=bool(original.steps)) if candidate == UNPROTECTED else goal
    scene = _scene(original, release, attacked)
    risk = strongest_of(attacked.outcomes).rate
    taken = TakenApart(is_grouped(release))
    # A protection whose rows are pointed at too often fails, however few rows are reconstructed: time is saved.
    if scene is not None and (
        candidate == UNPROTECTED or guaranteed.is_within(goal.target) or risk.high <= goal.target
    ):
        seconds = [second_look(scene, other, attacked.scenario) for other in original.others]
        # Also in the groups where `habitprint protect` looks for people, which has no other attack.
        also = [point(attacked.scenario)] if attacked.is_full_suite or is_drawn_again else []
        scenes = [scene, *(scene.looking_as(each, attacked.scenario.released) for each in also)]
        taken = TakenApart(is_grouped=True, found=reconstruct(*scenes, seconds=seconds))
    evidence = Evidence(guaranteed, risk.high, taken, attacked.is_full_suite, is_looked_at=False)
    return Trial(
        name=candidate.name,
        parameter=None if candidate.parameter is None else float(candidate.parameter),
        label=candidate.label,
        recipe=tuple(each.published for each in candidate.recipe),  # type: ignore[misc]
        guarantees=tuple(each for each in release.guarantees if not isinstance(each, OnlyPlaces)),  # type: ignore[misc]
        options=to_flags(candidate.recipe),
        guaranteed=guaranteed,
        attacks=strongest_of_each(attacked.outcomes),
        n_attacks=len(attacked.outcomes),
        is_full_suite=attacked.is_full_suite,
        selection_rate=attacked.highest_among(half),
        hold_out_rate=attacked.highest_among(~half),
        losses=measure_losses(original.released, added, later=original.held_out),
        most_confident=None,
        confidence=None,
        passes=judge(rule, evidence).passes,
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


@dataclass(frozen=True, eq=False)
class _Screened:
    """A protection on which screening attacks were run.

    Parameters
    ----------
    release, made
        What the full suite starts from: the release, whose tables are aligned anew, and the matchings that were made.
        None where it is out already: releases take memory.
    """

    trial: Trial
    release: Release | None = None
    made: tuple[tuple[Attack, Matching], ...] = ()


Ungrouped = Once[tuple[Release, Neighbours]]


@dataclass(frozen=True, eq=False)
class _Runner:
    """Do what the planner says. Jobs that run at the same time only return what they find.

    The most confident claims take long to find, so they are those about a sample of the users. Among fewer people
    claims are rather more confident.
    """

    whole: SuiteResult
    part: SuiteResult
    goal: Goal
    look: Callable[[Progress], CloserLook] | None
    progress: Progress
    screened: dict[Candidate, _Screened] = field(default_factory=dict)  # on all users, where the full suite may follow
    # Of a table, and of a protection before groups: the release, and who is near whom in it.
    ungrouped: dict[tuple[Scenario, Candidate | None], Ungrouped] = field(default_factory=dict)

    def screen(self, candidates: Sequence[Candidate]) -> tuple[dict[Candidate, Trial], list[NotTried]]:
        """Try all on a part of the users, and return what came of it.

        Of groups the largest come first: what is weaker than two that are not enough is left out.
        """
        chains: dict[object, list[Candidate]] = {}
        for each in candidates:
            chains.setdefault(each.family if each.is_cheaper_among_more else each, []).append(each)
        strong_first = [sorted(chain, key=lambda each: -(each.parameter or 0)) for chain in chains.values()]
        found = self._try(self.part, strong_first)
        screened = {each: one.trial for each in candidates if isinstance(one := found.get(each), _Screened)}
        return screened, [each for each in found.values() if isinstance(each, NotTried)]

    def take(self, step: Try | Deepen, tried: Tried) -> Tried:
        """Take a step, and return what was tried with what it found."""
        if isinstance(step, Try):
            found = self._try(self.whole, [[each] for each in step.candidates])
            refused = {each: outcome for each, outcome in found.items() if isinstance(outcome, NotTried)}
            screened = {each: outcome for each, outcome in found.items() if isinstance(outcome, _Screened)}
            self.screened.update(screened)
            trials = {each: outcome.trial for each, outcome in screened.items()}
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

    def _try(self, base: SuiteResult, chains: Sequence[Sequence[Candidate]]) -> dict[Candidate, _Screened | NotTried]:
        """Try chains of protections, several chains at the same time; each until enough of it is refuted."""
        n_before = list(accumulate(map(len, chains), initial=0))
        for each in (each for chain in chains for each in chain if each.is_cheaper_among_more):
            if (base.scenario, each.base) not in self.ungrouped:
                self.ungrouped[base.scenario, each.base] = Once(partial(self._find_neighbours, base.scenario, each))

        def try_chain(n_done: int, chain: Sequence[Candidate], progress: Progress) -> list[_Screened | NotTried]:
            outcomes: list[_Screened | NotTried] = []
            n_refuted = 0
            for done, candidate in enumerate(chain, n_done):
                try:
                    found = self._try_one(base, candidate, nested(progress, STAGE, done, n_before[-1], candidate.label))
                except InputError as error:
                    outcomes.append(NotTried(candidate.label, error.what))
                    continue
                outcomes.append(found)
                n_refuted += found.release is None
                if n_refuted == ENOUGH_REFUTED:
                    break
            if weaker := chain[len(outcomes) :]:
                why = f"{ENOUGH_REFUTED} larger sizes were not enough with {base.scenario.n_people:,} of the people"
                outcomes.append(NotTried(", ".join(each.label for each in weaker), why))
            return outcomes

        jobs = [partial(try_chain, done, chain) for done, chain in zip(n_before, chains, strict=False)]
        found = zip(chains, run_parallel(jobs, self.progress), strict=True)
        return {each: outcome for chain, outcomes in found for each, outcome in zip(chain, outcomes, strict=False)}

    def _try_one(self, base: SuiteResult, candidate: Candidate, progress: Progress) -> _Screened:
        """Protect, and run the screening attacks; unprotected, all attacks were made before."""
        goal, tables = self.goal, base.scenario
        release = self._protect(tables, candidate, progress)
        if candidate == UNPROTECTED:
            return _Screened(make_trial(tables, candidate, release, base, goal), release)
        # With many users time matters: what is above the target is out, however far.
        limit = None if self.part is self.whole else goal.target
        protected = tables.with_release(release)
        attacked = run_screening(protected, base.screening, limit=limit, seed=goal.seed, progress=progress)
        trial = make_trial(tables, candidate, release, attacked, goal)
        if judge(Goal(goal.target), trial.evidence(), "measured") is FAIL:
            return _Screened(trial)
        return _Screened(trial, release, tuple((each.attack, each.matching) for each in attacked.results))

    def _protect(self, tables: Scenario, candidate: Candidate, progress: Progress, seed: int = TRIAL_SEED) -> Release:
        """Protect; of groups, what comes before them and who is near whom is found once for all sizes."""
        if not candidate.is_cheaper_among_more:
            return candidate.drawn(seed)(Release(tables.released, tables.steps), progress=progress)
        ungrouped, neighbours = self.ungrouped[tables, candidate.base](progress)
        return _groups_of(candidate, seed).among(neighbours, ungrouped, progress=progress)

    def _find_neighbours(
        self, tables: Scenario, candidate: Candidate, progress: Progress
    ) -> tuple[Release, Neighbours]:
        """Return a table before groups are made, and who is near whom in it."""
        ungrouped = Release(tables.released, tables.steps)
        for mechanism in with_seed(candidate.recipe, TRIAL_SEED)[:-1]:
            ungrouped = mechanism(ungrouped, progress=progress)
        shares = ungrouped.histograms.in_order().shares
        k = max(_groups_of(candidate).k, group_needed(self.goal.target))
        return ungrouped, find_neighbours(shares, "l1", min(k, shares.shape[0]), progress)

    def _attack_further(self, candidate: Candidate, progress: Progress) -> Trial:
        """Make all attacks that were not made yet."""
        base, start = self.whole, self.screened.pop(candidate)
        assert start.release is not None  # noqa: S101  (the planner asks of nothing that is out)
        scenario = base.scenario.with_release(start.release)
        made = [count_identified(scenario.fully_transformed, *each) for each in start.made]
        further = run_suite(scenario, base.suite_for_protected, made=made, seed=self.goal.seed, progress=progress)
        trial = make_trial(base.scenario, candidate, start.release, further, self.goal)
        return self._draw_again(candidate, trial, further, progress)

    def _draw_again(self, candidate: Candidate, trial: Trial, attacked: SuiteResult, progress: Progress) -> Trial:
        """Return the worst of several draws where another one might miss the target, by the strongest attack."""
        if not (candidate.is_drawn and trial.is_close_to(self.goal.target)):
            return trial
        tables, goal = self.whole.scenario, self.goal
        attack = replace(max(attacked.results, key=lambda each: each.rate.high).attack, is_cross_fitted=False)
        for seed in range(TRIAL_SEED + 1, TRIAL_SEED + min(N_DRAWS, MOST_DRAWN // tables.n_people)):
            if judge(goal, trial.evidence(), "measured", ROWS) is FAIL:
                break
            release = self._protect(tables, candidate, progress, seed)
            protected = tables.with_release(release)
            again = run_screening(protected, [attack], seed=goal.seed, progress=progress)
            trial = trial.or_worse(make_trial(tables, candidate, release, again, goal, is_drawn_again=True))
        evidence = trial.evidence(trial.risk.high, is_looked_at=False)
        return replace(trial, passes=judge(goal, evidence).passes)

    def _look_closer(self, candidate: Candidate, progress: Progress) -> CloserLook | None:
        """Return how sure claims are; None if that would take too long."""
        if candidate == UNPROTECTED:
            return None if self.look is None else self.look(progress)
        tables = self.part.scenario
        if candidate.is_merging_rare and tables.released.n_users > MOST_MERGED:
            return None
        copied = tables.protected_by(candidate.mechanism, progress)[1].fully_transformed
        joint = run_attack(copied, Attack(self.part.joint_weights[0]), seed=self.goal.seed, progress=progress)
        return look_closer(joint, progress)


def _groups_of(candidate: Candidate, seed: int = TRIAL_SEED) -> Microaggregate:
    groups = with_seed(candidate.recipe, seed)[-1]
    assert isinstance(groups, Microaggregate)  # noqa: S101  (which comes last)
    return groups
