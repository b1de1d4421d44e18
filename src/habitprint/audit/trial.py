"""What one protection achieves, and what it costs."""

from dataclasses import dataclass

from habitprint.audit.attack import run_match
from habitprint.audit.candidates import Candidate
from habitprint.audit.facts import Trial
from habitprint.audit.sides import Sides
from habitprint.losses import Losses, measure_losses
from habitprint.matching import Method
from habitprint.mechanisms import Mechanism, Release
from habitprint.progress import Progress, silent
from habitprint.rates import Rate
from habitprint.weights import WeightName

ONE_BY_ONE: Method = "one-by-one"


@dataclass(frozen=True)
class Goal:
    """Hold what a protection must reach, and how it is attacked.

    Examples
    --------
    >>> Goal(0.05).is_reached_by(Rate.of(0, 100, 0.01))
    True
    """

    target: float
    surest_target: float | None = None
    weight: WeightName = "jensen-shannon"
    seed: int = 0

    def is_reached_by(self, risk: Rate) -> bool:
        """Return whether the upper end of the interval is not above the target."""
        return risk.high <= self.target


def run_trial(sides: Sides, candidate: Candidate, goal: Goal, progress: Progress = silent) -> Trial:
    """Protect, attack, and measure what is lost.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.audit.candidates import micro_aggregation
    >>> trial = run_trial(Sides(*hp.datasets.town(60, 20), truth="same-id"), micro_aggregation(5), Goal(0.05))
    >>> trial.label, trial.guarantees
    ('groups of 5', ('5-anonymity: every row is identical to at least 4 others',))
    """
    release, part, n = apply_to(sides, candidate.mechanism, progress)
    # Which of the two is stronger depends on the protection: joint matching needs the users of a group to differ.
    joint: Method = "joint" if not release.steps else "approximate"
    rates = {
        name: among_released(run_match(part, goal.weight, method, seed=goal.seed, progress=progress)[1], part, n)
        for name, method in ((f"joint, {goal.weight}", joint), (f"one by one, {goal.weight}", ONE_BY_ONE))
    }
    attack = max(rates, key=lambda name: rates[name].high)
    return _trial(candidate, release, (attack, rates[attack]), measure_losses(sides.released, release), goal)


def apply_to(sides: Sides, mechanism: Mechanism, progress: Progress) -> tuple[Release, Sides, int]:
    """Return the release, what is attacked, and how many of the common users are still in the release.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.mechanisms import KeepTopPlaces
    >>> sides = Sides(*hp.datasets.town(60, 20), truth="same-id")
    >>> apply_to(sides, KeepTopPlaces(3), silent)[1].known.n_places
    3
    """
    release = mechanism(sides.released, progress=progress)
    part = Sides(release.histograms, release.public(sides.known), sides.truth)
    # Who is gone from the known side only (he was nowhere but at places left out) is released, and not found.
    return release, part, Sides(release.histograms, sides.known, sides.truth).common.n


def among_released(rate: Rate, part: Sides, n: int) -> Rate:
    """Return the rate among the n common users who are still released, found on the other side or not.

    Examples
    --------
    >>> import habitprint as hp
    >>> sides = Sides(*hp.datasets.town(60, 20), truth="same-id")
    >>> among_released(Rate.of(6, 60, 1 / 60), sides, 120).value
    0.05
    """
    return Rate.of(rate.n_correct, max(n, 1), rate.by_chance * part.common.n / max(n, 1))


def _trial(candidate: Candidate, release: Release, found: tuple[str, Rate], losses: Losses, goal: Goal) -> Trial:
    attack, risk = found
    return Trial(
        name=candidate.name,
        strength=candidate.strength,
        label=candidate.label,
        words=tuple(step.words for step in release.steps),
        guarantees=tuple(guarantee.words for guarantee in release.guarantees),
        command=candidate.command,
        attack=attack,
        risk=risk,
        loss=losses.information_loss,
        totals_error=losses.totals_error,
        ranking_error=losses.ranking_error,
        n_users=losses.n_users,
        n_users_kept=losses.n_users_kept,
        n_places=losses.n_places,
        n_places_kept=losses.n_places_kept,
        surest=None,
        passes=goal.is_reached_by(risk),
        is_on_frontier=False,
        confirmed=(),
    )


def worst_risk(trial: Trial) -> Rate:
    """Return the highest risk that was found of a protection: of all attacks with all users, if they were made.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.audit.candidates import micro_aggregation
    >>> trial = run_trial(Sides(*hp.datasets.town(60, 20), truth="same-id"), micro_aggregation(5), Goal(0.05))
    >>> worst_risk(trial) == trial.risk
    True
    """
    return max((attack.rate for attack in trial.confirmed), key=lambda rate: rate.high, default=trial.risk)
