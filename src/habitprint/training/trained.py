"""Training: the attack practised on the attacker's own data, which needs no secret.

The attacker has the habits of the people whom they know. They cut these in two in time, match the halves, of which they
know the truth, and see which weight and method identify most. They then use these on the release.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from habitprint.arrays import Booleans, Floats
from habitprint.attacks import AttackResult, Scenario, run_attacks
from habitprint.attacks.suite import by_each_method, run_crossed
from habitprint.errors import InputError, require_seed
from habitprint.evaluation import pair_chances
from habitprint.formatting import Shown
from habitprint.histograms import Histograms, align
from habitprint.matching import Direction, Matching, Method, match
from habitprint.matching.margins import PairScores, pair_scores
from habitprint.mechanisms import Mechanism, Release
from habitprint.progress import Progress, nested, silent
from habitprint.rates import rates_frame
from habitprint.training.calibration import Calibration, LikelyPairs
from habitprint.truth import SAME_ID
from habitprint.weighing import WEIGHTS, Sides, Term, Weight, pair_terms
from habitprint.weighing.definitions import KindName
from habitprint.weighing.learned import fit_on_other_half, fit_weight

STAGE = "training"
MOST_PEOPLE = 5_000  # on whom attacks are tried
FEWEST_PEOPLE = 20  # fewer settle nothing
NOISE = 2.0  # standard errors by which another attack must be better than the paper's to be taken
SMOOTHINGS = (0.1, 0.5, 0.9)  # of the likelihood
TRAINED = "trained"
N_DROPS = 3  # times that people are left out anew
ALIKE = 0.9  # of the counts: about as many are left as they are
LARGEST_COUNT = 2.0**53  # up to here every whole number is exact
LEAST_SHARE = 0.05  # of people with a partner: fewer teach nothing about them

FIXED_WEIGHTS: tuple[Weight, ...] = (
    *(weight for weight in WEIGHTS.values() if weight.terms[0].kind != "likelihood"),
    *(
        Weight(f"likelihood, smoothing {smoothing:g}", (Term("likelihood", smoothing=smoothing),))
        for smoothing in SMOOTHINGS
    ),
)


@dataclass(frozen=True)
class Evidence:
    """One kind of evidence for a true pair and its share of all; `is_rarer`: rare places count more."""

    kind: KindName
    share: float
    is_rarer: bool = False


@dataclass(frozen=True)
class TrainedWeight:
    """A weight that was trained on pairs whose truth is known, and the evidence that it counts.

    Parameters
    ----------
    weight
        The weight, fitted to all of the people.
    evidence
        The share of each term in the gain of true pairs.
    n_people
        The number of people on whom it was trained.

    Examples
    --------
    >>> weight = Weight("mine", (Term("logarithm"), Term("fourth-root", rarity=1.0), Term("logarithm")))
    >>> TrainedWeight(weight, (0.25, 0.5, 0.25), 80).by_kind[0].share
    0.5
    """

    weight: Weight
    evidence: tuple[float, ...]
    n_people: int

    @property
    def by_kind(self) -> tuple[Evidence, ...]:
        """Return the evidence by kind of term."""
        shares: dict[tuple[KindName, bool], float] = {}
        for term, share in zip(self.weight.terms, self.evidence, strict=True):
            what = term.kind, term.rarity != 0
            shares[what] = shares.get(what, 0.0) + share
        return tuple(Evidence(kind, share, is_rarer=is_rarer) for (kind, is_rarer), share in shares.items())


@dataclass(frozen=True)
class Training(Shown):
    """The attacks that were tried on two tables of the same people, and the best of them. Made by `habitprint.train`.

    Parameters
    ----------
    best
        The attack to use: the paper's attack, unless another one is clearly better.
    best_by_method
        The same for each method: joint, one by one from the released side, and one by one from the known side.
    attacks
        All attacks that were tried; the paper's is the first. The trained weight was tried on other people than it was
        fitted to.
    trained
        The trained weight, and the evidence that it counts.
    calibration
        The function from a pair's scores to the probability that it is right, fitted to the pairs of the best joint
        attack.
    seed
        The seed of the choices among people.
    scenario
        The two tables and their truth.

    Examples
    --------
    >>> import habitprint as hp
    >>> training = hp.train(*hp.datasets.town(80, 30))
    >>> training.weight.name, training.trained.n_people
    ('jensen-shannon', 80)
    """

    best: AttackResult
    best_by_method: tuple[AttackResult, ...]
    attacks: tuple[AttackResult, ...]
    trained: TrainedWeight
    calibration: Calibration
    seed: int
    scenario: Scenario = field(repr=False)

    def __repr__(self) -> str:
        return f"Training({len(self.attacks)} attacks on {self.trained.n_people:,} people; best: {self.best})"

    def to_frame(self) -> pl.DataFrame:
        """Return the attacks that were tried as a frame, one row each; the paper's is the first.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.train(*hp.datasets.town(80, 30)).to_frame()["attack"][0]
        'joint matching, jensen-shannon'
        """
        names: dict[str, list[object]] = {
            "attack": [each.outcome.name for each in self.attacks],
            "is_best": [each is self.best for each in self.attacks],
        }
        return rates_frame(names, [each.rate for each in self.attacks])

    @property
    def weight(self) -> Weight:
        """Return the weight to attack with."""
        return self.best.attack.weight

    def weight_for(self, method: Method, direction: Direction = "released-to-known") -> Weight:
        """Return the weight to use with one method.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.train(*hp.datasets.town(80, 30)).weight_for("one-by-one").name
        'jensen-shannon'
        """
        joint, *alone = (each.attack for each in self.best_by_method)
        if method != "one-by-one":
            return joint.weight
        return next(attack.weight for attack in alone if attack.direction == direction)

    def probabilities(self, matching: Matching, released: Histograms, known: Histograms) -> Floats:
        """Return the probability that each pair of a joint matching of other tables is right, according to training.

        It assumes as many counts for each person as in training, and that everybody is in both tables. If many released
        people are not known, claims are right less often: see `for_tables`.

        Parameters
        ----------
        matching
            A joint, exact matching by the weight that training chose: ``training.weight_for("joint")``.
        released, known
            The matched tables.

        Examples
        --------
        >>> import habitprint as hp
        >>> training = hp.train(*hp.datasets.town(80, 30))
        >>> released, known = hp.datasets.town(100, 30, seed=5)
        >>> matching = hp.match(released, known, weight=training.weight_for("joint"))
        >>> training.probabilities(matching, released, known).shape
        (100,)
        """
        if matching.weight != self.weight_for("joint"):
            raise InputError(
                f"this matching has the weight '{matching.weight_name}'",
                why=f"the probabilities were fitted to matchings with the weight '{self.weight_for('joint').name}'",
                fix='match with weight=training.weight_for("joint")',
            )
        return self.calibration.probabilities(pair_scores(matching, released, known, weight=self.trained.weight))

    def claims(self, matching: Matching, released: Histograms, known: Histograms, *, above: float = 0.9) -> LikelyPairs:
        """Return only the pairs of a joint matching whose probability is above a limit.

        Parameters
        ----------
        matching, released, known
            As for `probabilities`.
        above
            The limit.

        Examples
        --------
        >>> import habitprint as hp
        >>> training = hp.train(*hp.datasets.town(80, 30))
        >>> released, known = hp.datasets.town(100, 30, seed=5)
        >>> claims = training.claims(hp.match(released, known), released, known, above=0.9)
        >>> claims.expected_precision > 0.9, claims.to_table().columns
        (True, ['released', 'known', 'probability'])
        """
        return LikelyPairs.of(matching, self.probabilities(matching, released, known), above)

    def for_tables(
        self, released: Histograms, known: Histograms, n_common: int | None = None, progress: Progress = silent
    ) -> "Training":
        """Return the training with probabilities that fit other tables.

        The other tables may have more counts of each user, such as months after training on halves of months. Then
        weights are trained on people with some of their counts left out. The calibration is fitted to the same people
        with all their counts.

        If only some people are in both tables, training leaves out random people of either table, several times. Then
        the same share of each side has a partner as in the other tables.

        Parameters
        ----------
        released, known
            The tables to attack.
        n_common
            The number of their common people; None for all users of the smaller table.

        Examples
        --------
        >>> import habitprint as hp
        >>> training = hp.train(*hp.datasets.town(200, 60))
        >>> released, known = hp.datasets.town(150, 60, seed=5)
        >>> released, known = released.select(users=released.users[:100]), known.select(users=known.users[50:])
        >>> matching = hp.match(released, known, weight=training.weight_for("joint"))
        >>> here = training.for_tables(released, known, n_common=50)
        >>> both = [each.probabilities(matching, released, known) for each in (training, here)]
        >>> bool(both[0].sum() > both[1].sum())
        True
        """
        own = self.scenario
        kept = [
            float(ours.totals.mean() / theirs.totals.mean())
            for ours, theirs in ((own.released, released), (own.known, known))
        ]
        sizes = (released.n_users, known.n_users)
        n_both = min(sizes) if n_common is None else n_common
        least = max(LEAST_SHARE, 2 / (own.common.n / FEWEST_PEOPLE + 1))  # so that enough are on both sides
        here, there = (min(max(n_both / size, least), 1.0) for size in sizes)
        has_strangers = min(here, there) < 1
        random, scores, chances = np.random.default_rng(self.seed), [], []
        for _ in range(N_DROPS if has_strangers else 1):
            people = with_strangers(own, here, there, random) if has_strangers else own
            is_first = random.permutation(people.common.n) % 2 == 0
            fewer = [
                thinned(table, share, random)
                for table, share in zip((people.released, people.known), kept, strict=True)
            ]
            halves = fit_on_other_half(fewer[0], fewer[1], people.common, is_first, name=TRAINED, seed=self.seed)
            found, right = _score(people, self.weight_for("joint"), halves, is_first, self.seed, progress)
            scores.append(found)
            chances.append(right)
        return replace(self, calibration=Calibration.fit(PairScores.together(scores), np.concatenate(chances)))

    @property
    def paper(self) -> AttackResult:
        """Return the result of the paper's attack."""
        return self.attacks[0]


def train(
    released: Histograms,
    known: Histograms,
    *,
    truth: Any = SAME_ID,
    protection: Mechanism | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Training:
    """Train an attack: try weights and methods on two tables of the same people, and return the best.

    An attacker uses two tables of their own: their data cut in two in time, or two earlier periods. Training tries
    every built-in weight, the likelihood with several smoothings, and a weight that is trained by conditional logit.
    Each is tried jointly, and one by one from both sides. The trained weight is fitted to one half of the people and
    tried on the other half, and vice versa.

    Parameters
    ----------
    released, known
        Two tables of the same people; the first stands for the release.
    truth
        The truth about them, as for `habitprint.evaluate`.
    protection
        The protection of the release to be attacked. The first table is protected in the same way, and the second
        changed by every step that an attacker can repeat.
    seed
        The seed of choices among people, and among equally good matchings.
    progress
        A function that is called now and then with the progress of the work.

    Examples
    --------
    >>> import habitprint as hp
    >>> training = hp.train(*hp.datasets.town(80, 30))
    >>> released, known = hp.datasets.town(100, 30, seed=5)
    >>> hp.match(released, known, weight=training.weight)
    Matching(100 pairs, joint, jensen-shannon, gap 0)
    """
    require_seed(seed)
    scenario = _scenario(released, known, truth, protection, seed, progress)
    is_first = np.random.default_rng(seed).permutation(scenario.common.n) % 2 == 0
    trained = _fit(scenario, seed)
    halves = fit_on_other_half(scenario.released, scenario.known, scenario.common, is_first, name=TRAINED, seed=seed)
    wanted = [(scenario, attack) for weight in FIXED_WEIGHTS for attack in by_each_method(weight)]
    made = run_attacks(wanted, seed=seed, progress=nested(progress, STAGE, 0, 2, "fixed weights"))
    inner = nested(progress, STAGE, 1, 2, "trained weight")
    made += run_crossed(scenario, halves, trained.weight, is_first, seed=seed, progress=inner)
    n_methods = len(by_each_method(trained.weight))
    by_method = [made[at::n_methods] for at in range(n_methods)]  # of each, the paper's weight is the first
    attacks = [each for results in by_method for each in results]
    best_by_method = tuple(map(_best, by_method))
    scores = _score(scenario, best_by_method[0].attack.weight, halves, is_first, seed, progress)
    return Training(
        best=_best(attacks),
        best_by_method=best_by_method,
        attacks=tuple(attacks),
        trained=trained,
        calibration=Calibration.fit(*scores),
        seed=seed,
        scenario=scenario,
    )


def train_weight(released: Histograms, known: Histograms, *, truth: Any = SAME_ID, seed: int = 0) -> TrainedWeight:
    """Train a weight on two tables of the same people, without trying whether it is better than others.

    Parameters
    ----------
    released, known, truth, seed
        As for `train`.

    Examples
    --------
    >>> import habitprint as hp
    >>> train_weight(*hp.datasets.town(80, 30)).weight.name
    'trained'
    """
    return _fit(_scenario(released, known, truth, None, seed, silent), seed)


def _scenario(
    released: Histograms, known: Histograms, truth: Any, protection: Mechanism | None, seed: int, progress: Progress
) -> Scenario:
    """Return the aligned tables of some thousand people at most, the first protected if that is asked for."""
    found = _require_people(Scenario(released.in_order(), known.in_order(), truth))
    common = found.common
    if max(found.released.n_users, found.known.n_users) > MOST_PEOPLE:
        some = np.random.default_rng(seed).permutation(common.n)[:MOST_PEOPLE]
        found = found.part(np.sort(common.released[some]), np.sort(common.known[some]))
    released, known = found.released, found.known
    if protection is not None:
        release = protection(Release(released), progress=progress)
        released, known = release.histograms.in_order(), release.public(known).in_order()
    return _require_people(Scenario(*align(released, known), truth))


def _require_people(scenario: Scenario) -> Scenario:
    if scenario.common.n < FEWEST_PEOPLE:
        raise InputError(
            f"only {scenario.common.n} people are in both tables to train on",
            why=f"training needs at least {FEWEST_PEOPLE} people whose true pairs are known",
            fix="give two tables of the same people, with the same ids, or do not train",
        )
    return scenario


def _fit(scenario: Scenario, seed: int) -> TrainedWeight:
    released, known, common = scenario.released, scenario.known, scenario.common
    weight = fit_weight(released, known, common, name=TRAINED, seed=seed)
    added = pair_terms(Sides.of(released, known, weight), common.released, common.known).sum(axis=0)
    shares = added / max(float(added.sum()), np.finfo(float).tiny)
    return TrainedWeight(weight, tuple(shares.tolist()), common.n)


def _score(
    scenario: Scenario, weight: Weight, halves: tuple[Weight, Weight], is_first: Booleans, seed: int, progress: Progress
) -> tuple[PairScores, Floats]:
    """Return how pairs stand, each half by the weight trained on the other, and how likely they are right."""
    released, known, common = scenario.released, scenario.known, scenario.common
    made = match(released, known, weight=weight, seed=seed, progress=progress)
    of_row = np.ones(released.n_users, np.bool_)  # people on one side only were not trained on
    of_row[common.released] = is_first
    is_mine = of_row[made.rows_in(released, known)[0]]
    first = pair_scores(made, released, known, weight=halves[0], progress=progress)
    second = pair_scores(made, released, known, weight=halves[1], margins=first.margins)
    return first.where(is_mine, second), pair_chances(made, released, known, common)


def with_strangers(
    scenario: Scenario, released_share: float, known_share: float, random: np.random.Generator
) -> Scenario:
    """Return as many of the common users as there can be, some of them on one side only.

    The shares say how much of each side is on the other too, above 0 and up to 1.

    Examples
    --------
    >>> import habitprint as hp
    >>> town = Scenario(*hp.datasets.town(90, 10), truth="same-id")
    >>> found = with_strangers(town, 0.5, 0.5, np.random.default_rng(0))
    >>> found.common.n, found.released.n_users, found.known.n_users
    (30, 60, 60)
    """
    common = scenario.common
    n_both = common.n / (1 / released_share + 1 / known_share - 1)
    ends = np.rint([n_both, n_both / released_share]).astype(np.int64)
    drawn = random.permutation(common.n)
    here = np.sort(drawn[: ends[1]])
    there = np.sort(np.concatenate([drawn[: ends[0]], drawn[ends[1] :]]))
    return scenario.part(common.released[here], common.known[there])


def thinned(table: Histograms, kept: float, random: np.random.Generator) -> Histograms:
    """Return a table with a share of the counts of each user, drawn at random, but one at least.

    Where counts are not whole numbers, or nearly all are kept, the table is returned unchanged.

    Examples
    --------
    >>> thinned(Histograms.from_strings({1: "a" * 1000, 2: "a"}), 0.1, np.random.default_rng(0)).totals.tolist()
    [92.0, 1.0]
    """
    counts = table.counts
    is_whole = bool((counts.data == np.floor(counts.data)).all()) and float(counts.data.max()) < LARGEST_COUNT
    if not is_whole or kept >= ALIKE:
        return table
    left = random.binomial(counts.data.astype(np.int64), kept)
    # No user vanishes: a user who has lost all counts keeps one at the place that had most.
    of_row = np.repeat(np.arange(table.n_users), np.diff(counts.indptr))
    most_visited = np.lexsort((counts.data, of_row))[counts.indptr[1:] - 1]
    gone = np.bincount(of_row, left, minlength=table.n_users) == 0
    left[most_visited[gone]] = 1
    return Histograms(type(counts)((left, counts.indices, counts.indptr), counts.shape), table.users, table.places)


def _best(results: list[AttackResult]) -> AttackResult:
    """Return the attack to make: the best that beats the first by more than noise, else the first."""
    for each in sorted(results, key=lambda result: -math.fsum(result.chances)):  # of equal ones, the first
        gained = each.chances - results[0].chances  # the same people: their common part is no noise
        if float(gained.mean()) > NOISE * float(gained.std()) / math.sqrt(len(gained)):
            return each
    return results[0]
