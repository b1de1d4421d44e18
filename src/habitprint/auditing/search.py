"""Which protection keeps the risk under the target at the least loss."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from habitprint.auditing.attacks import (
    Attack,
    Attacked,
    attack,
    attack_in_every_way,
    attack_in_two_ways,
    in_order,
    strongest_of,
)
from habitprint.auditing.candidates import AS_IT_IS, Candidate, Coarser, list_candidates, why_no_noise
from habitprint.auditing.people import surest_claims
from habitprint.auditing.two_tables import TwoTables
from habitprint.errors import InputError
from habitprint.losses import measure_losses
from habitprint.mechanisms import Guarantee, Release
from habitprint.progress import Progress, nested, silent
from habitprint.rates import Rate
from habitprint.weighing import WeightName

STAGE = "protections"
MAPPING_FILE = "coarser.csv"  # of the protection that is chosen
MOST_REFINED = 5  # strengths tried between one that fails and one that passes
MOST_CONFIRMED = 12
# Users for whom margins are computed where rare places are one: an exact matching can take very long.
MOST_MERGED = 1_000


@dataclass(frozen=True)
class Goal:
    """Hold what a protection must reach, and how it is attacked.

    Examples
    --------
    >>> Goal(0.05).is_reached_by(Rate.of(0, 100, 0.01)), Goal(0.05).is_reached_by(Rate.of(5, 100, 0.01))
    (True, False)
    """

    target: float
    surest_target: float | None = None
    weight: WeightName = "jensen-shannon"
    seed: int = 0

    def is_reached_by(self, risk: Rate) -> bool:
        """Return whether the upper end of the interval is not above the target."""
        return risk.high <= self.target

    def is_sure_enough(self, surest: Rate | None) -> bool:
        """Return whether the surest claims are not right too often; where that matters, it must have been measured."""
        return self.surest_target is None or (surest is not None and surest.high <= self.surest_target)


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
    options, is_mapped
        Options of ``habitprint protect`` that do the same, but for a mapping to coarser places, and whether it needs
        one; for the chosen protection it is written.
    attacks
        Jointly and one by one by the strongest weight, among users who are still released; in every way for those that
        passed, from the cheapest on until one holds.
    loss
        The paper's L: 0 nothing lost, 1 everybody is released as the mean of all. None where it is not defined.
    totals_error, ranking_error
        Of the totals per place; of the ranking of the most popular places.
    n_users, n_users_kept, n_places, n_places_kept
        Before and after.
    surest
        Precision of the surest claims by margin, if a target is set on it and it was measured.
    passes
        Whether the risk is within the target; and, for those that were looked at more closely, the surest claims too.
    """

    name: str
    strength: float | None
    label: str
    words: tuple[str, ...]
    promises: tuple[Promise, ...]
    options: str
    is_mapped: bool
    attacks: tuple[Attack, ...]
    loss: float | None
    totals_error: float
    ranking_error: float
    n_users: int
    n_users_kept: int
    n_places: int
    n_places_kept: int
    surest: Rate | None
    passes: bool

    @property
    def strongest(self) -> Attack:
        """Return the strongest attack that was made on it."""
        return strongest_of(self.attacks)

    @property
    def risk(self) -> Rate:
        """Return what the strongest attack achieves: the one risk that decides, and that is shown."""
        return self.strongest.rate

    @property
    def command(self) -> str:
        """Return the options of ``habitprint protect``, with a mapping in the file of its usual name."""
        return self.command_with(MAPPING_FILE)

    def command_with(self, mapping_file: str) -> str:
        """Return the options of ``habitprint protect``, with a mapping in a file of the given name, if one is needed.

        Examples
        --------
        >>> import habitprint as hp
        >>> found = hp.audit(hp.datasets.town(40, 10), noise=False)
        >>> next(trial for trial in found.protections.trials if trial.is_mapped).command_with("here.csv")
        '--coarsen here.csv'
        """
        return f"--coarsen {mapping_file} {self.options}".strip() if self.is_mapped else self.options


@dataclass(frozen=True)
class NotTried:
    """Hold which protection was not tried, and why."""

    label: str
    why: str


@dataclass(frozen=True)
class Protections:
    """Hold the protections that were tried; `chosen` is the number of the cheapest that passes, in `trials`, or None.

    The first trial is the release as it is. With many users, every protection was `screened` with only `n_users` of
    the `n_users_in_all`, and `trials` are those that might be the cheapest, with all; else nothing was screened.
    `n_tried` counts each protection once.
    """

    trials: tuple[Trial, ...]
    screened: tuple[Trial, ...]
    chosen: int | None
    not_tried: tuple[NotTried, ...]
    n_tried: int
    n_users: int
    n_users_in_all: int

    @property
    def n_on_all(self) -> int:
        """Return how many protections were tried on all users."""
        return len(self.trials) - 1

    @property
    def advised(self) -> Trial | None:
        """Return the cheapest protection that passes; None where none does, or the release passes as it is."""
        return None if not self.chosen else self.trials[self.chosen]

    @property
    def words(self) -> str:
        """Return on whom protections were tried, as sentences."""
        n_part, n = self.n_users, self.n_users_in_all
        if n_part == n:
            return f"Protections were tried on all {n:,} users."
        return (
            f"To save time, {len(self.screened) - 1} protections were first tried on a random {n_part:,} of {n:,} "
            "users. Among fewer people each is easier to tell apart, and groups of like people are harder to find, so "
            "risk and loss are too high there. Those that might be the cheapest were then tried on all users."
        )

    def within(self, target: float) -> list[Trial]:
        """Return the protections, tried on all users, whose risk is not above a target."""
        return [trial for trial in self.trials[1:] if trial.risk.high <= target]

    @property
    def frontier(self) -> tuple[int, ...]:
        """Return the numbers of the trials that no other beats in both loss and risk, in order of their loss.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.audit(hp.datasets.town(40, 10), noise=False).protections.frontier[0]
        0
        """
        measured = [(trial.loss, trial.risk.high, at) for at, trial in enumerate(self.trials) if trial.loss is not None]
        front, lowest = [], math.inf
        for _, high, at in sorted(measured):
            if high < lowest:
                front.append(at)
                lowest = high
        return tuple(front)


@dataclass(frozen=True, eq=False)
class Found:
    """Hold the protections that were tried, and what was chosen among them, if anything."""

    protections: Protections
    chosen: Candidate | None


def find_protection(
    whole: Attacked,
    part: Attacked,
    coarser: Sequence[Coarser],
    goal: Goal,
    *,
    noise: bool = True,
    progress: Progress = silent,
) -> Found:
    """Try protections, each against the same attacks, and find the cheapest that reaches the goal.

    Parameters
    ----------
    whole
        The tables as they are, attacked in every way.
    part
        The same; or, with many users, a random part of them, against an adversary who knows the same part. There they
        are easier to tell apart, and groups cost more, than among all: all protections are screened with them, and
        those that may be the cheapest are tried again with all users.
    coarser
        Ways to put places together.
    goal
        What must be reached.
    noise
        Whether to try noise; it has no seed, so those trials differ from run to run.

    Examples
    --------
    >>> import habitprint as hp
    >>> tables = attack_in_every_way(TwoTables(*hp.datasets.town(100, 20), truth="same-id"))
    >>> found = find_protection(tables, tables, [], Goal(0.1), noise=False)
    >>> found.protections.trials[found.protections.chosen].label == found.chosen.label
    True
    """
    released = whole.tables.released
    n_users = part.tables.released.n_users
    candidates = list_candidates(released, coarser, goal.target, n_users=n_users, noise=noise)
    search = _Search(whole, part, goal, progress)
    screened = {} if part is whole else search.screen(candidates)
    if part is whole:
        search.try_all(candidates)
    chosen = search.choose(Screening.of(screened) if screened else None)
    why = why_no_noise(released) if noise else "it was not asked for"
    trials = search.trials
    protections = Protections(
        trials=tuple(trials.values()),
        screened=tuple(screened.values()),
        chosen=None if chosen is None else list(trials).index(chosen),
        not_tried=(*search.not_tried, *(() if why is None else (NotTried("noise", why),))),
        n_tried=len(trials.keys() | screened.keys()) - 1,
        n_users=part.tables.n_people,
        n_users_in_all=whole.tables.n_people,
    )
    return Found(protections, chosen)


def run_trial(base: Attacked, candidate: Candidate, goal: Goal, progress: Progress = silent) -> Trial:
    """Protect, attack jointly and one by one, and measure what is lost; as it is, the attacks were made before.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.auditing.candidates import micro_aggregation
    >>> tables = attack_in_every_way(TwoTables(*hp.datasets.town(60, 20), truth="same-id"))
    >>> trial = run_trial(tables, micro_aggregation(5), Goal(0.05))
    >>> trial.label, trial.promises[0].words
    ('groups of 5', '5-anonymity: every row is identical to at least 4 others')
    """
    release, tables = base.tables.protected_by(candidate.mechanism, progress)
    if candidate == AS_IT_IS:
        attacks = base.facts
    else:
        attacks = attack_in_two_ways(tables, goal.weight, seed=goal.seed, progress=progress).facts
    passes = goal.is_reached_by(strongest_of(attacks).rate)
    return _trial(base.tables, candidate, release, attacks, surest=None, passes=passes)


def _trial(
    original: TwoTables,
    candidate: Candidate,
    release: Release,
    attacks: Iterable[Attack],
    *,
    surest: Rate | None,
    passes: bool,
) -> Trial:
    losses = measure_losses(original.released, release)
    return Trial(
        name=candidate.name,
        strength=None if candidate.strength is None else float(candidate.strength),
        label=candidate.label,
        words=tuple(step.words for step in release.steps),
        promises=tuple(map(Promise.of, release.guarantees)),
        options=candidate.options,
        is_mapped=candidate.mapping is not None,
        attacks=in_order(attacks),
        loss=losses.information_loss,
        totals_error=losses.totals_error,
        ranking_error=losses.ranking_error,
        n_users=losses.n_users,
        n_users_kept=losses.n_users_kept,
        n_places=losses.n_places,
        n_places_kept=losses.n_places_kept,
        surest=surest,
        passes=passes,
    )


@dataclass(frozen=True)
class Screening:
    """Hold every protection that was tried on some of the users.

    Among all users both risk and loss are others, mostly lower. So this says only in which order to try, and what a
    protection costs at least.

    Parameters
    ----------
    families
        The protections that differ in strength only, from weak to strong; those that were enough at a low cost first.
    floors
        The least that each of them can cost among all users.
    """

    families: tuple[tuple[Candidate, ...], ...]
    floors: Mapping[Candidate, float]

    @classmethod
    def of(cls, screened: Mapping[Candidate, Trial]) -> "Screening":
        """Return the screening from trials with some of the users.

        Examples
        --------
        >>> import habitprint as hp
        >>> from habitprint.auditing.candidates import micro_aggregation
        >>> tables, goal = TwoTables(*hp.datasets.town(200, 20), truth="same-id"), Goal(0.15)
        >>> part = attack_in_every_way(tables.sample(60, seed=0))
        >>> screening = Screening.of({each: run_trial(part, each, goal) for each in map(micro_aggregation, (2, 5, 9))})
        >>> screening.next({}).label
        'groups of 5'
        """
        losses = {each: trial.loss for each, trial in screened.items() if trial.loss is not None}

        def floor(each: Candidate) -> float:
            if not each.is_cheaper_among_more:
                return losses.get(each, 0.0)
            return 0.0 if each.base is None else losses.get(each.base, 0.0)

        families = []
        for family in dict.fromkeys(each.family for each in losses):
            members = [each for each in losses if each.family == family]
            members.sort(key=lambda each: (losses[each], each.label))
            cost = next((losses[each] for each in members if screened[each].passes), math.inf)
            # The release as it is comes first: what every protection is compared with.
            families.append(((members[0] != AS_IT_IS, cost, members[0].name), tuple(members)))
        families.sort(key=lambda family: family[0])
        return cls(tuple(members for _, members in families), {each: floor(each) for each in screened})

    def next(self, trials: Mapping[Candidate, Trial], refused: Collection[Candidate] = ()) -> Candidate | None:
        """Return what to try next on all users, after these trials with all of them; None if nothing can be cheaper.

        Parameters
        ----------
        trials
            What was tried on all users; `passes` is false also for what was rejected later.
        refused
            Protections that cannot be tried on all users.
        """
        enough = min((trial.loss for trial in trials.values() if trial.passes and trial.loss is not None), default=None)
        too_dear = {each for each, floor in self.floors.items() if enough is not None and floor >= enough}
        skipped = too_dear | set(refused)
        for members in self.families:
            if members[0].between is None:  # not a scale: one says nothing about the others
                following = next((each for each in members if each not in trials and each not in skipped), None)
            else:
                following = _halve(members, trials, skipped)
            if following is not None:
                return following
        return None


def _halve(
    members: Sequence[Candidate], trials: Mapping[Candidate, Trial], skipped: Collection[Candidate]
) -> Candidate | None:
    """Return the next step of the search for the weakest protection of a family that is enough."""
    first, last = 0, len(members) - 1
    while first <= last:
        middle = (first + last) // 2
        each = members[middle]
        if each not in trials and each not in skipped:
            return each
        if each not in trials or trials[each].passes:
            last = middle - 1
        else:
            first = middle + 1
    return None


class _Search:
    """Try protections until the cheapest that holds is found; each has one trial, the latest.

    What turns out not to hold gets a trial that does not pass, and the search goes on. The surest claims, which take
    long to find, are those about a part of the users: among fewer people claims are rather surer.
    """

    def __init__(self, whole: Attacked, part: Attacked, goal: Goal, progress: Progress) -> None:
        self.whole, self.part, self.goal, self.progress = whole, part, goal, progress
        self.trials: dict[Candidate, Trial] = {}
        self.not_tried: list[NotTried] = []
        self._refused: set[Candidate] = set()
        self._refined: set[object] = set()  # families

    def screen(self, candidates: Sequence[Candidate]) -> dict[Candidate, Trial]:
        """Try all on a part of the users, and return what came of those that could be."""
        return self._try(self.part, candidates)

    def try_all(self, candidates: Sequence[Candidate]) -> None:
        """Try all on all users."""
        self.trials |= self._try(self.whole, candidates)

    def _try(self, base: Attacked, candidates: Sequence[Candidate]) -> dict[Candidate, Trial]:
        found = {}
        for done, candidate in enumerate(candidates):
            inner = nested(self.progress, STAGE, done, len(candidates), candidate.label)
            try:
                found[candidate] = run_trial(base, candidate, self.goal, inner)
            except InputError as error:
                self.not_tried.append(NotTried(candidate.label, error.what))
        return found

    def choose(self, screening: Screening | None) -> Candidate | None:
        """Return the cheapest protection that holds against all attacks; None if none does.

        Strengths between those that pass and those that do not are tried too, where they may be cheaper; and from a
        screening, whatever else may be.
        """
        n_confirmed = 0
        while n_confirmed < MOST_CONFIRMED:
            if screening is not None and self._try_next(screening):
                continue
            cheapest = self._cheapest()
            if cheapest is None:
                return None
            if (bracket := self._find_bracket(self.trials[cheapest].loss)) is not None:
                self._refine(*bracket)
                continue
            inner = nested(self.progress, STAGE, n_confirmed, MOST_CONFIRMED, f"all attacks: {cheapest.label}")
            surest = self._measure_surest(cheapest, inner)
            if self.goal.is_sure_enough(surest):
                n_confirmed += 1
                self.trials[cheapest] = self._confirm(cheapest, surest, inner)
                if self.trials[cheapest].passes:
                    return cheapest
            else:
                self.trials[cheapest] = replace(self.trials[cheapest], surest=surest, passes=False)
            self._refined.discard(cheapest.family)  # there may be others between this one and the next that passes
        return None

    def _try_next(self, screening: Screening) -> bool:
        """Try on all users what may be cheaper than the cheapest so far, and return whether there was anything."""
        candidate = screening.next(self.trials, self._refused)
        if candidate is None:
            return False
        n_done = len(self.trials)
        inner = nested(
            self.progress, STAGE, n_done, max(len(screening.floors), n_done), f"all users: {candidate.label}"
        )
        try:
            self.trials[candidate] = run_trial(self.whole, candidate, self.goal, inner)
        except InputError as error:
            self._refused.add(candidate)
            self.not_tried.append(NotTried(candidate.label, f"with all users, {error.what}"))
        return True

    def _cheapest(self) -> Candidate | None:
        """Return the cheapest protection that passes, or None."""
        passing = [
            (trial.loss, trial.risk.high, number, each)
            for number, (each, trial) in enumerate(self.trials.items())
            if trial.passes and trial.loss is not None
        ]
        return min(passing)[-1] if passing else None

    def _find_bracket(self, cost: float | None) -> tuple[Candidate, int] | None:
        """Return a protection that passes, and the next weaker strength, which does not and would cost less."""
        for best, trial in self.trials.items():
            if not trial.passes or best.between is None or best.strength is None or best.family in self._refined:
                continue
            sign = -1 if best.is_falling else 1  # of a number of places, the larger protects less
            weaker = [
                (sign * each.strength, other)
                for each, other in self.trials.items()
                if each.family == best.family and each.strength and sign * each.strength < sign * best.strength
            ]
            if not weaker:
                continue
            strength, nearest = max(weaker, key=lambda pair: pair[0])
            is_cheaper = nearest.loss is not None and cost is not None and nearest.loss < cost
            if not nearest.passes and is_cheaper:
                return best, int(sign * strength)
        return None

    def _refine(self, best: Candidate, weaker: int) -> None:
        """Try strengths between one that passes and one that does not."""
        assert best.between is not None  # noqa: S101  (`_find_bracket` says so)
        assert best.strength is not None  # noqa: S101
        self._refined.add(best.family)
        fails, holds = weaker, int(best.strength)
        for done in range(MOST_REFINED):
            middle = (fails + holds) // 2
            if middle in (fails, holds):
                break
            candidate = best.between(middle)
            inner = nested(self.progress, STAGE, done, MOST_REFINED, f"in between: {candidate.label}")
            trial = self.trials[candidate] = run_trial(self.whole, candidate, self.goal, inner)
            fails, holds = (fails, middle) if trial.passes else (middle, holds)

    def _measure_surest(self, candidate: Candidate, progress: Progress) -> Rate | None:
        """Return the precision of the surest claims; None if it is not asked for, or would take too long."""
        tables, goal = self.part.tables, self.goal
        if goal.surest_target is None or (candidate.is_merging_rare and tables.released.n_users > MOST_MERGED):
            return None
        if candidate == AS_IT_IS:
            return surest_claims(self.part.strongest_joint, progress)
        _, tables = tables.protected_by(candidate.mechanism, progress)
        return surest_claims(attack(tables, goal.weight, seed=goal.seed, progress=progress), progress)

    def _confirm(self, candidate: Candidate, surest: Rate | None, progress: Progress) -> Trial:
        """Return the trial with every attack there is; of a release that is drawn anew, all of them anew."""
        trial, goal, tables = self.trials[candidate], self.goal, self.whole.tables
        try:
            release, attacked = tables.protected_by(candidate.mechanism, progress)
        except InputError:  # drawn anew, nobody is left
            return replace(trial, surest=surest, passes=False)
        made = () if candidate.is_random else trial.attacks
        more = attack_in_every_way(
            attacked,
            weight=goal.weight,
            repeated=candidate != AS_IT_IS,
            made=made,
            seed=goal.seed,
            progress=progress,
        )
        attacks = (*made, *more.facts)
        passes = goal.is_reached_by(strongest_of(attacks).rate)
        return _trial(tables, candidate, release, attacks, surest=surest, passes=passes)
