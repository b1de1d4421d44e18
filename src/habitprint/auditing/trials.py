"""Trials: each protection that was tried, with its measured risk, guarantees and losses."""

import math
from dataclasses import dataclass, replace

import polars as pl

from habitprint.attacks import Outcome, Scenario, SuiteResult, strongest_of, strongest_of_each
from habitprint.auditing.candidates import UNPROTECTED, Candidate
from habitprint.auditing.goal import FAIL, PASS, ROWS, Decide, Goal, Judgement, RiskEvidence, TargetPreset, judge
from habitprint.auditing.people import Confidence
from habitprint.auditing.reconstruction import (
    WHOLE,
    Attribution,
    Reconstruction,
    Risks,
    Scene,
    TakenApart,
    attribute,
    point,
    reconstruct,
)
from habitprint.formatting import Drawn
from habitprint.losses import SCALES, Cost, UtilityMetric, cost_of, measure_losses
from habitprint.mechanisms import GuaranteedRisk, Losses, OnlyPlaces, Recipe, Release, to_flags
from habitprint.mechanisms.exposure import is_grouped
from habitprint.mechanisms.guarantees import AnyGuarantee
from habitprint.rates import Rate, rates_frame
from habitprint.singling_out import SinglingOut, measure_singling_out

BELOW_LINE = 0.01  # a loss may lie so far below the line between two group sizes; half of that was measured


@dataclass(frozen=True)
class Trial:
    """The risk and the cost of one protection. A further measurement makes a new trial.

    Parameters
    ----------
    name, parameter, label
        The protection (``"micro-aggregation"``), its number (k), and both in a few words (``"groups of 10"``).
    recipe, guarantees
        The mechanisms that make it, without mappings, and what they guarantee besides the list of their places.
    options
        Options of ``habitprint protect`` that do the same; MAPPING is a file of coarser places.
    guaranteed
        The guaranteed risk.
    attacks, n_attacks
        The strongest attack of each method and weight, and the number of all attacks.
    is_full_suite
        Whether the full suite ran. If not, the protection was above the target after screening, or costs too much to be
        the answer. Then every measured share is a lower bound.
    selection_rate, hold_out_rate
        The highest rates of all attacks in the selection half of the people and in the hold-out half.
    losses
        The losses against the unprotected table.
    most_confident
        Precision of the most confident claims by margin; None if it was not measured.
    confidence
        The calibrated probabilities of claims; None if not measured, or with too few people.
    taken, attribution
        The share of rows reconstructed from groups; and places attributed, None if not measured.
    passes
        Whether it reaches the goal; None where that depends on claims or attacks that were not measured.
    n_draws
        The number of measured draws of a random protection; every measured share is that of the worst draw.
    singling_out
        The shares of people whom some of their places single out in its table; None if the full suite did not run.
    """

    name: str
    parameter: float | None
    label: str
    recipe: Recipe
    guarantees: tuple[AnyGuarantee, ...]
    options: str
    guaranteed: GuaranteedRisk
    attacks: tuple[Outcome, ...]
    n_attacks: int
    is_full_suite: bool
    selection_rate: Rate
    hold_out_rate: Rate
    losses: Losses
    most_confident: Rate | None
    confidence: Confidence | None
    passes: bool | None
    taken: TakenApart = WHOLE
    attribution: Attribution | None = None
    n_draws: int = 1
    singling_out: SinglingOut | None = None

    def __repr__(self) -> str:
        verdict = {True: "enough", False: "not enough", None: "not decided"}[self.passes]
        return f"Trial({self.label}: {verdict}; {self.risk.words}; guaranteed {self.guaranteed.stated:.4g})"

    @property
    def strongest(self) -> Outcome:
        """Return the strongest attack that was made on it."""
        return strongest_of(self.attacks)

    @property
    def risk(self) -> Rate:
        """Return the rate of the strongest attack: the measured risk."""
        return self.strongest.rate

    @property
    def loss(self) -> float | None:
        """Return the loss in patterns, the paper's L; None where it is not defined."""
        return self.loss_for("patterns")

    @property
    def n_dropped(self) -> int:
        """Return how many people the protection leaves out."""
        return self.losses.n_users - self.losses.n_users_kept

    def loss_for(self, keep: UtilityMetric) -> float | None:
        """Return the loss by a utility metric; None if it is not defined."""
        return SCALES[keep].of(self.losses)

    def cost(self, keep: UtilityMetric) -> Cost | None:
        """Return the cost by a utility metric, at the printed precision."""
        return cost_of(keep, self.loss_for)

    def least_cost(self, keep: UtilityMetric, other: "Trial", part: float) -> Cost | None:
        """Return the least possible cost of a group size that lies a given part of the way to another size.

        The larger groups are, the less is lost by one more in each: between two sizes, patterns lose more than the line
        says. That was measured, and is no law; totals and people are kept by groups of any size.
        """

        def on_line(each: UtilityMetric) -> float | None:
            one, two = self.loss_for(each), other.loss_for(each)
            return None if one is None or two is None else (1.0 - BELOW_LINE) * (one + part * (two - one))

        return cost_of(keep, on_line)

    def evidence(self, high: float | None = None, *, is_looked_at: bool = True) -> RiskEvidence:
        """Return the evidence for a judgement.

        Parameters
        ----------
        high
            The upper end that decides; None for the highest among all people and among each half of them.
        is_looked_at
            Whether the confidence of claims was measured.
        """
        if high is None:
            high = max(self.risk.high, self.selection_rate.high, self.hold_out_rate.high)
        claims = self.most_confident, self.confidence
        return RiskEvidence(self.guaranteed, high, self.taken, self.is_full_suite, *claims, is_looked_at=is_looked_at)

    def looked_at(self, look: tuple[Rate, Confidence | None] | None, rule: Goal) -> "Trial":
        """Return the trial with the confidence of its claims, by the rule for its table; None if that took too long."""
        looked = self if look is None else replace(self, most_confident=look[0], confidence=look[1])
        return looked.judged(rule, is_looked_at=True)

    def judged(self, rule: Goal, *, is_looked_at: bool) -> "Trial":
        """Return the trial with whether it reaches a goal, by all people."""
        evidence = self.evidence(self.risk.high, is_looked_at=is_looked_at)
        return replace(self, passes=judge(rule, evidence).passes)

    def or_worse(self, other: "Trial") -> "Trial":
        """Return the trial with the worse of two draws of the same protection, each share on its own."""
        return replace(
            self,
            guaranteed=max(self.guaranteed, other.guaranteed, key=lambda each: each.stated),
            attacks=strongest_of_each((*self.attacks, *other.attacks)),
            n_attacks=self.n_attacks + other.n_attacks,
            selection_rate=max(self.selection_rate, other.selection_rate, key=lambda rate: rate.high),
            hold_out_rate=max(self.hold_out_rate, other.hold_out_rate, key=lambda rate: rate.high),
            taken=max(self.taken, other.taken, key=lambda taken: taken.found.rate.high if taken.found else 0.0),
            n_draws=self.n_draws + other.n_draws,
        )

    def is_close_to(self, goal: Goal) -> bool:
        """Return whether another draw of the same protection might miss the target that this one meets.

        If this one misses it by the deciding risk, the protection is not recommended, whatever other draws show.

        Two draws differ by less than twice the standard deviation of the difference of two Poisson numbers. The reason:
        rows that every draw gives away vary less.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections.trials[0].is_close_to(Goal(0.05))
        False
        """
        limits = [] if self.reconstruction is None else [(self.reconstruction.rate, goal.rows_target)]
        if not self.guaranteed.is_within(goal.target):
            limits.append((self.risk, goal.target))
        further = [rate.high + 2 * math.sqrt(2 * (rate.n_correct + 1)) / rate.n > limit for rate, limit in limits]
        return any(further) and judge(goal, self.evidence(), criteria=ROWS) is not FAIL

    @property
    def risks(self) -> Risks:
        """Return the three lines about it."""
        return Risks(
            self.guaranteed, self.taken.is_grouped, self.reconstruction, self.attribution, n_draws=self.n_draws
        )

    @property
    def reconstruction(self) -> Reconstruction | None:
        """Return how many people's own rows can be pieced together; None without groups, or where it is not known."""
        return self.taken.found


def make_trial(
    original: Scenario,
    candidate: Candidate,
    release: Release,
    suite: SuiteResult,
    goal: Goal,
    *,
    is_drawn_again: bool = False,
) -> Trial:
    """Return the trial of a release from its attacks; further draws meet all reconstruction attacks."""
    # The earlier losses of a protected table are not known here: losses are measured against that table.
    added = Release(release.histograms, release.steps[len(original.steps) :], release.guarantees)
    guaranteed, half = GuaranteedRisk.of(suite.scenario.anonymity_sets), suite.scenario.selection_half
    rule = goal.of_original(is_protected=bool(original.steps)) if candidate == UNPROTECTED else goal
    scene = _scene(original, release, suite)
    risk = strongest_of(suite.outcomes).rate
    taken = TakenApart(is_grouped(release))
    # A protection whose rows are pointed at too often fails, however few rows are reconstructed: time is saved.
    if scene is not None and (
        candidate == UNPROTECTED or guaranteed.is_within(goal.target) or risk.high <= goal.target
    ):
        # Also in the groups where `habitprint protect` looks for people, which has no other attack.
        also = [point(suite.scenario)] if suite.is_full_suite or is_drawn_again else []
        taken = TakenApart(is_grouped=True, found=reconstruct(scene, also, original.others))
    evidence = RiskEvidence(guaranteed, risk.high, taken, suite.is_full_suite, is_looked_at=False)
    return Trial(
        name=candidate.name,
        parameter=None if candidate.parameter is None else float(candidate.parameter),
        label="no further protection" if candidate == UNPROTECTED and original.steps else candidate.label,
        recipe=tuple(each.published for each in candidate.recipe),  # type: ignore[misc]
        guarantees=tuple(each for each in release.guarantees if not isinstance(each, OnlyPlaces)),
        options=to_flags(candidate.recipe),
        guaranteed=guaranteed,
        attacks=strongest_of_each(suite.outcomes),
        n_attacks=len(suite.outcomes),
        is_full_suite=suite.is_full_suite,
        selection_rate=suite.highest_among(half),
        hold_out_rate=suite.highest_among(~half),
        losses=measure_losses(original.released, added, later=original.held_out),
        most_confident=None,
        confidence=None,
        passes=judge(rule, evidence).passes,
        taken=taken,
        attribution=None if scene is None or not suite.is_full_suite else attribute(scene, original.sensitive),
        singling_out=measure_singling_out(release.histograms, seed=goal.seed) if suite.is_full_suite else None,
    )


def _scene(original: Scenario, release: Release, suite: SuiteResult) -> Scene | None:
    """Return the data for reconstruction attacks on a release; None without groups, or without the original rows."""
    own, steps = original.original, release.steps
    if own is None:
        if is_grouped(Release(original.released, original.steps)):
            return None  # the rows of a table that is in groups already are not people's own
        own, steps = original.released, steps[len(original.steps) :]
    # The attack that points at most right rows is the best guess of each person's group.
    pointed = max(suite.results, key=lambda each: each.rate.high).matching
    return Scene.of(own, Release(suite.scenario.released, steps), suite.scenario, pointed)


@dataclass(frozen=True)
class NotTried:
    """A protection that was not tried, and why."""

    label: str
    why: str


@dataclass(frozen=True)
class BestFor:
    """The best protections for one utility metric, by their index among the trials; None if none meets the goal."""

    keep: UtilityMetric
    guaranteed: int | None
    measured: int | None


@dataclass(frozen=True)
class Protections(Drawn):
    """The protections that were tried, and which of them are advised.

    Parameters
    ----------
    keep
        The utility metric that decides.
    trials
        The protections that were tried on all users; the first is the unprotected table.
    screened
        With many users: every protection, tried with `n_users` of the `n_users_in_all`. Otherwise empty.
    chosen
        The index in `trials` of the lowest-cost protection that reaches the goal; None if none does.
    measured
        The index of the lowest-cost protection that meets the target only by measured risk. It is selected on one half
        of the people and confirmed on the other. None if there is none.
    best
        The best of `trials` for each utility metric: by guarantee, and by measured risk. Empty if the unprotected table
        reaches the goal.
    not_tried
        The protections that could not be tried, and why.
    n_tried
        The number of protections, each counted once.
    """

    keep: UtilityMetric
    trials: tuple[Trial, ...]
    screened: tuple[Trial, ...]
    chosen: int | None
    measured: int | None
    best: tuple[BestFor, ...]
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
        'unprotected'
        """
        trials = self.trials
        names: dict[str, list[object]] = {
            "protection": [trial.label for trial in trials],
            "name": [trial.name for trial in trials],
            "parameter": [trial.parameter for trial in trials],
            "passes": [trial.passes for trial in trials],
            "is_advised": [trial is self.advised for trial in trials],
            "guaranteed": [trial.guaranteed.stated for trial in trials],
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
        """Return the lowest-cost protection that reaches the goal; None if none does, or none is needed."""
        return None if not self.chosen else self.trials[self.chosen]

    @property
    def only_measured(self) -> Trial | None:
        """Return the lowest-cost protection by measured risk alone, if it costs less than the advised one."""
        if not self.measured or self.measured == self.chosen:
            return None
        only = self.trials[self.measured]
        return None if only.passes else only

    def within(
        self, target: float, by: Decide, at_least: Judgement = PASS, *, preset: TargetPreset | None = None
    ) -> list[Trial]:
        """Return the protections, tried on all users, whose guaranteed or measured risk is within a target.

        Parameters
        ----------
        at_least
            Open is also asked for those that only attacks which were not made could tell.
        preset
            The preset of the target, if it is about the highest risk of any person.

        Examples
        --------
        >>> import habitprint as hp
        >>> found = hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections
        >>> len(found.within(0.2, "guaranteed")) <= len(found.within(0.2, "measured"))
        True
        """
        goal = Goal(target, person_target=target if preset else None, target_preset=preset)
        return [trial for trial in self.trials[1:] if judge(goal, trial.evidence(), by) >= at_least]

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
