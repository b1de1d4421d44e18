"""Attacks: two tables and who is whom in them, one attack, its result, and the suite of which the strongest counts.

The attacker knows how a release was made, and may apply its steps to their own data. They compare users by any weight,
also by a trained one. They match jointly, or one by one from either side. They use totals if counts are released. The
auditor, who has the truth, goes further: they train a weight on one half of the people and attack the other half with
it. The maximum counts.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal, get_args

import numpy as np
import polars as pl
from scipy import sparse

from habitprint.arrays import Booleans, Floats, Indices, SparseMatrix
from habitprint.errors import InputError
from habitprint.evaluation import people_chances, people_interval
from habitprint.histograms import Histograms, align
from habitprint.losses import HeldOut
from habitprint.matching import Direction, Matching, MatchOptions, Method
from habitprint.matching.match import find_from_both_sides, find_matching
from habitprint.mechanisms import GuaranteedRisk, Mechanism, Release, Step, Transformed
from habitprint.mechanisms.exposure import apparent_totals
from habitprint.progress import Progress, nested, silent
from habitprint.rates import Rate
from habitprint.runtime import PLACES, run_parallel, run_two
from habitprint.truth import SAME_ID, CommonUsers, Truth, common_users
from habitprint.weighing import WEIGHTS, Weight
from habitprint.weighing.learned import fit_on_other_half

LEVELS = (4, 8, 16, 32)  # into how many parts of equally many people totals are cut
POWER_OF_TOTALS = 0.75  # of rows in joint matching: from 0.5 to 1, most people in most data sets
WEIGHT_OF_TOTALS = 0.1  # of each person's shares: the most probable true pairs in most data sets
HALVES_SEED = 0  # fixed: the seed of an audit cannot choose halves that suit it
STAGE = "attacks"
EPSILON = 0.001  # of the gain may be missing in an approximate attack
ALL_WEIGHTS: tuple[Weight, ...] = tuple(WEIGHTS.values())
N_JOINT = 2  # weights for joint matching of protected tables: those that are strongest on the original
FEWEST_TO_TRAIN = 20  # people on both sides
ON_TRUTH = "trained on the truth"
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)

AttackMethod = Method | Literal["random"]  # the last compares nothing
NO_WEIGHT = "none"  # of that one

TITLES: dict[AttackMethod, str] = {
    "joint": "Joint matching",
    "approximate": "Joint matching",
    "one-by-one": "One by one",
    "random": "By chance",
}


def shown_totals(released: Histograms, known: Histograms) -> tuple[Floats, Floats] | None:
    """Return the totals of both tables that an attacker can compare; None where the release shows none that differ.

    Examples
    --------
    >>> habits = Histograms.from_strings({1: "a", 2: "bbb"})
    >>> shown_totals(habits, habits)[0].tolist()
    [1.0, 3.0]
    """
    if released.identical_rows.min() > 1:
        return None  # the total of a published row is that of the group
    if not _are_equal(released.totals):
        return released.totals, known.totals
    # Shares of few events show their totals; the attacker knows those of their own table, if it has counts.
    shown = _read_off(released)
    return None if _are_equal(shown) else (shown, _read_off(known) if _are_equal(known.totals) else known.totals)


def with_totals(
    released: Histograms, known: Histograms, totals: tuple[Floats, Floats]
) -> tuple[Histograms, Histograms]:
    """Return two aligned tables as shares with columns added for totals: how each ranks, coarsely and finely.

    Two people with like totals then share up to four more columns, so that every attack can use them. Ranks, because
    the two tables may cover periods of different lengths. Places are named by the number of their column.

    Examples
    --------
    >>> habits = Histograms.from_strings({n: "a" * n for n in range(1, 9)})
    >>> with_totals(habits, habits, (habits.totals, habits.totals))[0].n_places
    61
    """
    # Sort by ids as text: then sums are rounded in the same way for integer ids and text ids.
    places = released.places.cast(pl.String).arg_sort().to_numpy()
    one, other = (
        sparse.csr_array(sparse.hstack([table.shares[:, places] * (1 - WEIGHT_OF_TOTALS), _ranks(of_table)]))
        for table, of_table in zip((released, known), totals, strict=True)
    )
    columns = pl.Series(np.arange(one.shape[1]))
    return Histograms(one, released.users, columns), Histograms(other, known.users, columns)


def scaled_by_totals(
    released: Histograms, known: Histograms, totals: tuple[Floats, Floats]
) -> tuple[Histograms, Histograms]:
    """Return two aligned tables as shares times a power of the row's total, for joint matching.

    More is known about people with many events, and a joint matching then prefers their pairs. What is missing in a row
    stands at a further place that only its own side has. Places are named by the number of their column.

    Examples
    --------
    >>> habits = Histograms.from_strings({1: "a", 2: "aaaa"})
    >>> scaled_by_totals(habits, habits, (habits.totals, habits.totals))[0].shares.toarray().round(2).tolist()
    [[0.35, 0.65, 0.0], [1.0, 0.0, 0.0]]
    """
    places = released.places.cast(pl.String).arg_sort().to_numpy()  # as for ranks
    made = []
    for side, (table, of_table) in enumerate(zip((released, known), totals, strict=True)):
        scale = (of_table / of_table.max()) ** POWER_OF_TOTALS
        missing = np.zeros((table.n_users, 2))
        missing[:, side] = 1 - scale
        shares = sparse.diags_array(scale) @ table.shares[:, places]
        counts = sparse.csr_array(sparse.hstack([shares, sparse.csr_array(missing)]))
        made.append(Histograms(counts, table.users, pl.Series(np.arange(counts.shape[1]))))
    return made[0], made[1]


def _ranks(totals: Floats) -> SparseMatrix:
    n, in_order = len(totals), np.sort(totals)
    ends = [np.searchsorted(in_order, totals, side=side) for side in ("left", "right")]
    rank = (ends[0] + ends[1]) / (2 * n)  # equal totals have equal ranks
    starts = np.cumsum(LEVELS) - LEVELS
    columns = [
        start + np.minimum((rank * n_parts).astype(np.int64), n_parts - 1)
        for start, n_parts in zip(starts, LEVELS, strict=True)
    ]
    shares = np.full(len(LEVELS) * n, WEIGHT_OF_TOTALS / len(LEVELS))
    rows = np.tile(np.arange(n), len(LEVELS))
    return sparse.csr_array((shares, (rows, np.concatenate(columns))), shape=(n, sum(LEVELS)))


def _are_equal(totals: Floats) -> bool:
    return bool(totals.max() <= totals.min() * (1 + 1e-9))


def _read_off(histograms: Histograms) -> Floats:
    """Return the total that each user's shares show; where none fits, one over the smallest share."""
    shares, totals = histograms.shares, apparent_totals(histograms)
    return np.where(totals > 0, totals, 1.0 / np.minimum.reduceat(shares.data, shares.indptr[:-1]))


@dataclass(frozen=True, eq=False)
class Scenario:
    """A released table, the attacker's data, and the truth.

    Parameters
    ----------
    released, known, truth
        As for `habitprint.evaluate`.
    steps
        The steps that protected the released table, if any.
    transform
        The attacker's own table after they repeated what anyone can repeat of the protection; None if they did not.
        People whom it removes still count: they are released, and not identified.
    n_lost
        People who count though they are not in both tables, because only a part of the time is attacked.
    original
        The released table before any protection, with the ids of the release or of the known table. None if it is
        unknown, or if the released table is unprotected.
    others
        Further releases of the same people that the attacker also has.
    sensitive
        Places whose attribution is also measured on their own; None for none.

    Examples
    --------
    >>> import habitprint as hp
    >>> Scenario(*hp.datasets.town(40, 20), truth="same-id").n_people
    40
    """

    released: Histograms
    known: Histograms
    truth: Truth
    steps: tuple[Step, ...] = ()
    transform: Transformed | None = None
    n_lost: int = 0
    original: Histograms | None = None
    others: tuple[Release, ...] = ()
    sensitive: pl.Series | None = None

    @cached_property
    def common(self) -> CommonUsers:
        """Return the rows of the people who count: those in both tables before the attacker transforms theirs."""
        return common_users(self.truth, self.released.users, self.known.users)

    @property
    def has_same_ids(self) -> bool:
        """Return whether a user has the same id in both tables."""
        return isinstance(self.truth, str) and self.truth == SAME_ID

    @cached_property
    def anonymity_sets(self) -> Indices:
        """Return for each of the people in both tables how many released rows are identical to theirs."""
        return np.asarray(self.released.identical_rows[self.common.released])

    @property
    def n_people(self) -> int:
        """Return the number of people who count: the denominator of every rate."""
        return self.common.n + self.n_lost

    @property
    def transformed_known(self) -> Histograms:
        """Return the attacker's table as they compare it."""
        return self.known if self.transform is None else self.transform.histograms

    @property
    def applied(self) -> "Scenario":
        """Return the scenario after the attacker's transformation, with the tables that are matched."""
        if self.transform is None:
            return self
        return Scenario(self.released, self.transformed_known, self.truth, self.steps)

    @cached_property
    def held_out(self) -> HeldOut:
        """Return the known table with the released ids, to measure the predictive value of a release."""
        copied = self.fully_transformed.transformed_known
        common = common_users(self.truth, self.released.users, copied.users)
        rows = _rows(copied, common.known)
        return HeldOut.of(
            self.released, Histograms(rows.counts, self.released.users.gather(common.released), rows.places)
        )

    @cached_property
    def selection_half(self) -> Booleans:
        """Return for each person in both tables whether protections are selected on them, or they are held out.

        It depends on the known table alone, so everybody is in the same half of each release.
        """
        random = np.random.default_rng(HALVES_SEED)
        return np.asarray((random.permutation(self.known.n_users) % 2 == 0)[self.common.known])

    def counting(self, n_people: int) -> "Scenario":
        """Return the same tables with another number of people in the denominator of rates.

        Examples
        --------
        >>> import habitprint as hp
        >>> Scenario(*hp.datasets.town(40, 20), truth="same-id").counting(50).n_lost
        10
        """
        return replace(self, n_lost=n_people - self.common.n)

    def protected_by(self, mechanism: Mechanism, progress: Progress = silent) -> tuple[Release, "Scenario"]:
        """Return the release, and the scenario with it in the place of the original.

        Examples
        --------
        >>> import habitprint as hp
        >>> scenario = Scenario(*hp.datasets.town(60, 20), truth="same-id")
        >>> scenario.protected_by(hp.KeepTopPlaces(3))[1].released.n_places
        3
        """
        release = mechanism(Release(self.released, self.steps), progress=progress)
        return release, self.with_release(release)

    def with_release(self, release: Release) -> "Scenario":
        """Return the scenario with a release in the place of the original."""
        return Scenario(release.histograms, self.known, self.truth, release.steps)

    @cached_property
    def aligned(self) -> tuple[Histograms, Histograms]:
        """Return the compared tables over the same places in the same order: made once for all attacks."""
        return align(self.released.in_order(), self.transformed_known.in_order())

    @property
    def shows_totals(self) -> bool:
        """Return whether the release shows totals that differ, so that an attacker can compare them too."""
        return self._totals is not None

    @cached_property
    def _totals(self) -> tuple[Floats, Floats] | None:
        return shown_totals(*self.aligned)

    @cached_property
    def _ranked(self) -> tuple[Histograms, Histograms]:
        return self.aligned if self._totals is None else with_totals(*self.aligned, self._totals)

    @cached_property
    def _scaled(self) -> tuple[Histograms, Histograms]:
        return self.aligned if self._totals is None else scaled_by_totals(*self.aligned, self._totals)

    def compared(self, attack: "Attack") -> tuple[Histograms, Histograms]:
        """Return the aligned tables, with totals if the attack uses them and the release shows them.

        One by one, ranks of totals are further columns. Jointly, rows are scaled by their totals.

        Examples
        --------
        >>> import habitprint as hp
        >>> scenario, l1 = Scenario(*hp.datasets.town(40, 20), truth="same-id"), hp.WEIGHTS["l1"]
        >>> attacks = Attack(l1), Attack(l1, uses_totals=True), Attack(l1, "one-by-one", uses_totals=True)
        >>> [scenario.compared(attack)[0].n_places for attack in attacks]
        [20, 22, 80]
        """
        if not attack.uses_totals:
            return self.aligned
        return self._ranked if attack.method == "one-by-one" else self._scaled

    @property
    def transformed(self) -> tuple["Scenario", ...]:
        """Return the scenario by each of the attacker's transformations; the first is none."""
        return (self, *self._transformations)

    @cached_property
    def _transformations(self) -> tuple["Scenario", ...]:
        # Without this scenario itself: a value that refers to itself is freed late, together with its aligned tables.
        tables = Release(self.released, self.steps).transformed(self.known)
        return tuple(replace(self, transform=table) for table in tables[1:])

    @property
    def fully_transformed(self) -> "Scenario":
        """Return the scenario of an attacker who copies every step that can be copied."""
        return (*self.transformed[1:2], self)[0]

    def part(self, released: Indices, known: Indices) -> "Scenario":
        """Return the given rows of both tables.

        Examples
        --------
        >>> import habitprint as hp
        >>> scenario = Scenario(*hp.datasets.town(40, 20), truth="same-id")
        >>> scenario.part(np.arange(5), np.arange(3, 8)).n_people
        2
        """
        rows, columns = _rows(self.released, released), _rows(self.known, known)
        return replace(self, released=rows, known=columns, transform=None, n_lost=0)

    def groups(self, n_groups: int, seed: int) -> list["Scenario"]:
        """Return the users cut at random into groups of nearly equal size; common users stay together.

        Examples
        --------
        >>> import habitprint as hp
        >>> scenario = Scenario(*hp.datasets.town(40, 20), truth="same-id")
        >>> [part.n_people for part in scenario.groups(3, seed=0)]
        [14, 13, 13]
        """
        random = np.random.default_rng(seed)
        of_released, of_known = (_labels(table.n_users, n_groups, random) for table in (self.released, self.known))
        of_common = _labels(self.common.n, n_groups, random)
        of_released[self.common.released] = of_common
        of_known[self.common.known] = of_common
        return [
            self.part(rows, columns)
            for group in range(n_groups)
            if len(rows := np.flatnonzero(of_released == group)) and len(columns := np.flatnonzero(of_known == group))
        ]

    def sample(self, most_users: int, seed: int) -> "Scenario":
        """Return a random part with at most n common users.

        Examples
        --------
        >>> import habitprint as hp
        >>> scenario = Scenario(*hp.datasets.town(40, 20), truth="same-id")
        >>> scenario.sample(15, seed=0).n_people, scenario.sample(50, seed=0) is scenario
        (14, True)
        """
        n = self.common.n
        return self if n <= most_users else self.groups(math.ceil(n / most_users), seed)[0]

    def with_overlap(self, overlap: float | None, seed: int) -> "Scenario":
        """Return the scenario of an attacker who knows only a random share of the common users.

        Examples
        --------
        >>> import habitprint as hp
        >>> scenario = Scenario(*hp.datasets.town(40, 20), truth="same-id").with_overlap(0.5, seed=0)
        >>> scenario.released.n_users, scenario.known.n_users
        (40, 20)
        """
        if overlap is None:
            return self
        n = math.ceil(overlap * self.common.n)
        unknown = np.random.default_rng(seed).permutation(self.common.known)[n:]
        return replace(self, known=_rows(self.known, np.setdiff1d(np.arange(self.known.n_users), unknown)))

    def require_people(self, overlap: float | None = None) -> None:
        """Raise `InputError` unless at least two people are in both tables.

        Examples
        --------
        >>> import habitprint as hp
        >>> Scenario(*hp.datasets.town(1, 20), truth="same-id").require_people()
        Traceback (most recent call last):
        habitprint.errors.InputError: only one user is on both sides
          why: the risk is the share of common people who are re-identified among others
          fix: check that both tables use the same user ids, or pass the truth; use longer periods or more users
        """
        if self.common.n < 2:  # noqa: PLR2004
            who = "no user is" if self.common.n == 0 else "only one user is"
            raise InputError(
                f"{who} on both sides",
                why="the risk is the share of common people who are re-identified among others",
                fix="check that both tables use the same user ids, or pass the truth; use longer periods or more users"
                if overlap is None
                else f"raise the overlap above {overlap:g}",
            )


def _rows(histograms: Histograms, rows: Indices) -> Histograms:
    return Histograms(histograms.counts[rows], histograms.users.gather(rows), histograms.places)


def _labels(n: int, n_groups: int, random: np.random.Generator) -> Indices:
    return random.permutation(np.arange(n) % n_groups)


@dataclass(frozen=True)
class Attack:
    """One attack: its weight, its method, and its direction.

    Parameters
    ----------
    weight, method, direction
        As for `habitprint.match`. An approximate attack may miss a thousandth of the best gain.
    uses_totals
        Whether totals are compared too.
    is_cross_fitted
        Whether the weight is trained on the truth about one half of the people, and used on the other half.
    is_as_common
        Whether as many pairs are given out as there are common users (the paper's A2), not as many as there can be.

    Examples
    --------
    >>> Attack(WEIGHTS["l1"]).method
    'joint'
    """

    weight: Weight
    method: Method = "joint"
    direction: Direction = "released-to-known"
    uses_totals: bool = False
    is_cross_fitted: bool = False
    is_as_common: bool = False


PROPOSED = Attack(WEIGHTS["jensen-shannon"])  # the paper's


@dataclass(frozen=True)
class Outcome:
    """One attack and its rate, for a report.

    Parameters
    ----------
    method, weight
        The method of the matching, and its weight.
    rate
        The people who are identified, among those who count; a name that is given to several rows counts for one.
    gap
        The proof of the optimum: 0 is proven optimal. None where there is no proof.
    n_guesses
        Pairs that share no place.
    direction
        One by one, who looks for whom; None for other methods.
    transform
        The attacker's transformation in words; None if there is none.
    uses_totals, is_cross_fitted
        As for `Attack`.

    Examples
    --------
    >>> Outcome("joint", "l1", Rate.of(5, 40, 1 / 40), 0.0, 0).name
    'joint matching, l1'
    """

    method: AttackMethod
    weight: str
    rate: Rate
    gap: float | None
    n_guesses: int
    direction: Direction | None = None
    transform: str | None = None
    uses_totals: bool = False
    is_cross_fitted: bool = False

    @property
    def title(self) -> str:
        """Return which attack it is, to head a line."""
        weight = "" if self.weight == NO_WEIGHT else f", {self.weight}"
        backwards = ", from the known side" if self.direction == "known-to-released" else ""
        totals = ", with totals" if self.uses_totals else ""
        transform = f" ({self.transform})" if self.transform else ""
        return f"{TITLES[self.method]}{weight}{backwards}{totals}{transform}"

    @property
    def name(self) -> str:
        """Return which attack it is."""
        return self.title[:1].lower() + self.title[1:]


@dataclass(frozen=True, eq=False)
class AttackResult:
    """The result of one attack: its matching, the probability for each person, and the re-identification rate.

    Parameters
    ----------
    scenario, attack
        The attacked tables, and the attack.
    matching
        The pairs that the attack claims. For a cross-fitted attack, these are the pairs by the weight for the first
        half.
    chances
        The probability that each person in both tables is re-identified.
    rate
        The share of the counted people who are re-identified.

    Examples
    --------
    >>> import habitprint as hp
    >>> run_attack(Scenario(*hp.datasets.town(40, 20), truth="same-id")).rate.n
    40
    """

    scenario: Scenario
    attack: Attack
    matching: Matching
    chances: Floats
    rate: Rate

    def __repr__(self) -> str:
        return f"AttackResult({self.outcome.name}: {self.rate.words})"

    @property
    def outcome(self) -> Outcome:
        """Return the attack and its rate, without tables."""
        attack, transform = self.attack, self.scenario.transform
        return Outcome(
            attack.method,
            attack.weight.name,
            self.rate,
            None if attack.is_cross_fitted else self.matching.gap,
            self.matching.n_guesses,
            direction=attack.direction if attack.method == "one-by-one" else None,
            transform=None if transform is None else ", ".join(transform.names),
            uses_totals=attack.uses_totals,
            is_cross_fitted=attack.is_cross_fitted,
        )

    def rate_among(self, is_asked: Booleans) -> Rate:
        """Return the same rate among some of the people in both tables."""
        n = max(int(np.count_nonzero(is_asked)), 1)
        return Rate.of_chances(self.chances[is_asked], n, self.rate.by_chance, self.rate.method)

    def crossed_with(self, other: "AttackResult", is_first: Booleans, weight: Weight) -> "AttackResult":
        """Return a result with the first half of the people from this result, and the second half from another.

        Parameters
        ----------
        other
            The same attack, with the weight for the second half.
        is_first
            Whether each person in both tables is in the first half.
        weight
            The weight that names the attack.
        """
        chances = np.where(is_first, self.chances, other.chances)
        rate = Rate.of_chances(chances, self.rate.n, self.rate.by_chance, self.rate.method)
        attack = replace(self.attack, weight=weight, is_cross_fitted=True)
        return replace(self, attack=attack, chances=chances, rate=rate)


def run_attack(
    scenario: Scenario,
    attack: Attack = PROPOSED,
    *,
    seed: int = 0,
    max_memory: float = 4e9,
    progress: Progress = silent,
) -> AttackResult:
    """Match the two tables, and count the people who are re-identified, each person once.

    Examples
    --------
    >>> import habitprint as hp
    >>> rate = run_attack(Scenario(*hp.datasets.town(40, 20), truth="same-id")).rate
    >>> rate.n, rate.by_chance
    (40, 0.025)
    """
    epsilon = EPSILON if attack.method == "approximate" else None
    size = scenario.common.n if attack.is_as_common else None
    options = MatchOptions(
        weight=attack.weight,
        method=attack.method,
        direction=attack.direction,
        size=size,
        epsilon=epsilon,
        seed=seed,
        max_memory=max_memory,
    )
    # No warning here: if no place or person is shared, the protection is good, and the rate shows it.
    with PLACES:
        matching = find_matching(*scenario.compared(attack), options, progress)
    return count_identified(scenario, attack, matching)


def run_attacks(
    wanted: Sequence[tuple[Scenario, Attack]], *, seed: int = 0, progress: Progress = silent
) -> list[AttackResult]:
    """Make several attacks at the same time; one by one, both directions take little more time than one.

    Examples
    --------
    >>> import habitprint as hp
    >>> town, weight = Scenario(*hp.datasets.town(40, 20), truth="same-id"), hp.WEIGHTS["l1"]
    >>> both = [Attack(weight, "one-by-one"), Attack(weight, "one-by-one", "known-to-released")]
    >>> [result.outcome.name for result in run_attacks([(town, attack) for attack in both])]
    ['one by one, l1', 'one by one, l1, from the known side']
    """
    together: dict[tuple[Scenario, Attack], list[Attack]] = {}
    for scenario, attack in dict.fromkeys(wanted):  # two halves of the people may teach the same weight
        _ = scenario.common, scenario.compared(attack)  # before several attacks need them
        together.setdefault((scenario, replace(attack, direction="released-to-known")), []).append(attack)

    def run(scenario: Scenario, attacks: Sequence[Attack], progress: Progress) -> list[AttackResult]:
        if len(attacks) == 1:
            return [run_attack(scenario, attacks[0], seed=seed, progress=progress)]
        tables, weight = scenario.compared(attacks[0]), attacks[0].weight
        found = {each.direction: each for each in find_from_both_sides(*tables, weight, seed=seed, progress=progress)}
        return [count_identified(scenario, attack, found[attack.direction]) for attack in attacks]

    jobs = [partial(run, scenario, attacks) for (scenario, _), attacks in together.items()]
    found = {(each.scenario, each.attack): each for made in run_parallel(jobs, progress) for each in made}
    return [found[each] for each in wanted]


def count_identified(scenario: Scenario, attack: Attack, matching: Matching) -> AttackResult:
    """Count the people whom a matching re-identifies, each person once.

    Examples
    --------
    >>> import habitprint as hp
    >>> town = Scenario(*hp.datasets.town(40, 20), truth="same-id")
    >>> count_identified(town, PROPOSED, hp.match(*town.aligned)).rate.n
    40
    """
    released, known = scenario.compared(attack)
    found = common_users(scenario.truth, released.users, known.users)
    # People whom the attacker's transformation removes count, and are not identified.
    of_row = np.zeros(released.n_users)
    of_row[found.released] = people_chances(matching, released, known, found)
    chances = of_row[scenario.common.released]
    by_chance = min(released.n_users, known.n_users) / (released.n_users * known.n_users)
    interval = people_interval(attack.method, attack.direction)
    rate = Rate.of_chances(chances, max(scenario.n_people, 1), by_chance, interval)
    return AttackResult(scenario, attack, matching, chances, rate)


def draw_blindly(rate: Rate) -> Outcome:
    """Return the attack that compares nothing, on the same people as another.

    Examples
    --------
    >>> draw_blindly(Rate.of(20, 40, by_chance=1 / 40)).rate.n_correct
    1.0
    """
    return Outcome("random", NO_WEIGHT, Rate.of(rate.by_chance * rate.n, rate.n, rate.by_chance), None, 0)


def one_by_one(weights: Iterable[Weight], *, uses_totals: bool = False) -> tuple[Attack, ...]:
    """Return the attacks one by one, from both sides, by some weights.

    Examples
    --------
    >>> len(one_by_one(ALL_WEIGHTS))
    14
    """
    return tuple(Attack(weight, "one-by-one", direction, uses_totals) for weight in weights for direction in DIRECTIONS)


def by_each_method(weight: Weight) -> tuple[Attack, ...]:
    """Return the attacks by one weight: joint, approximate, and one by one from both sides.

    Examples
    --------
    >>> [attack.method for attack in by_each_method(WEIGHTS["l1"])]
    ['approximate', 'one-by-one', 'one-by-one']
    """
    return Attack(weight, "approximate"), *one_by_one([weight])


def full_suite(
    weights: Sequence[Weight] = ALL_WEIGHTS, joint: Sequence[Weight] | None = None, *, exact: bool = True
) -> tuple[Attack, ...]:
    """Return the full attack suite: one by one from both sides, and joint, by every weight.

    Parameters
    ----------
    weights
        The weights of the attacks.
    joint, exact
        Those by which all users are matched at once, None for all, and whether exactly. Otherwise a thousandth of the
        best gain may be missing. This bounds the time if a protection makes all rows similar.

    Examples
    --------
    >>> len(full_suite()), len(full_suite(joint=ALL_WEIGHTS[:2]))
    (21, 16)
    """
    method: Method = "joint" if exact else "approximate"
    return (*one_by_one(weights), *(Attack(weight, method) for weight in (weights if joint is None else joint)))


@dataclass(frozen=True, eq=False)
class SuiteResult:
    """The results of a suite of attacks on one scenario.

    Parameters
    ----------
    scenario
        The attacked scenario, before any of the attacker's transformations.
    results
        One for each attack.
    is_full_suite
        Whether the full suite was run, or only screening attacks: then each rate is the least that it can be.
    """

    scenario: Scenario
    results: tuple[AttackResult, ...]
    is_full_suite: bool = True

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Return the outcomes of the attacks; no interval ends above the guarantee."""
        return tuple(self._capped(each).outcome for each in self.results)

    def _capped(self, result: AttackResult) -> AttackResult:
        guaranteed = GuaranteedRisk.of(self.scenario.anonymity_sets).average
        return replace(result, rate=result.rate.capped(guaranteed))

    @property
    def weights(self) -> tuple[Weight, ...]:
        """Return the weights by which users were compared."""
        return tuple(dict.fromkeys(each.attack.weight for each in self._plain))

    @property
    def strongest_joint(self) -> AttackResult:
        """Return the joint attack with the highest upper end, which later stages use."""
        return self._capped(self._joint[0])  # before intervals are cut, which makes many of them equal

    @property
    def joint_weights(self) -> tuple[Weight, ...]:
        """Return the weights that are strongest in joint matching: protected tables are matched with these."""
        return tuple(each.attack.weight for each in self._joint[:N_JOINT])

    @property
    def suite_for_protected(self) -> tuple[Attack, ...]:
        """Return the full attack suite for protected forms of this table."""
        return full_suite(self.weights, self.joint_weights, exact=False)

    @property
    def screening(self) -> tuple[Attack, ...]:
        """Return the screening attacks for protected forms of this table: those that are strongest here.

        One by one from the known side, where nobody points at more than one row; and joint matching.
        """
        alone = [each for each in self._plain if each.outcome.direction == "known-to-released"]
        weight = max(alone, key=_high).attack.weight
        return Attack(weight, "one-by-one", "known-to-released"), Attack(self.joint_weights[0], "approximate")

    @property
    def _plain(self) -> list[AttackResult]:
        return [each for each in self.results if not (each.attack.uses_totals or each.attack.is_cross_fitted)]

    @property
    def _joint(self) -> list[AttackResult]:
        return sorted(
            (each for each in self._plain if each.attack.method != "one-by-one"), key=lambda each: -_high(each)
        )

    def highest_among(self, is_asked: Booleans) -> Rate:
        """Return the highest rate of all attacks among some of the people in both tables, as far as is guaranteed."""
        highest = max((each.rate_among(is_asked) for each in self.results), key=lambda rate: rate.high)
        return highest.capped(GuaranteedRisk.of(self.scenario.anonymity_sets[is_asked]).average)


def strongest_of(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the attack with the highest upper end; of equal ones that which identifies more, or else the first.

    Examples
    --------
    >>> weak, strong = (Outcome("joint", "l1", Rate.of(n, 40, 1 / 40), 0.0, 0) for n in (5, 20))
    >>> strongest_of([weak, strong]) is strong
    True
    """
    return max(outcomes, key=lambda each: (each.rate.high, each.rate.value))


def strongest_of_each(outcomes: Iterable[Outcome]) -> tuple[Outcome, ...]:
    """Return the strongest attack of each method and weight, in the order to be shown.

    Examples
    --------
    >>> outcomes = [Outcome("joint", "l1", Rate.of(n, 40, 1 / 40), 0.0, 0) for n in (5, 20)]
    >>> [outcome.rate.n_correct for outcome in strongest_of_each(outcomes)]
    [20.0]
    """
    best: dict[tuple[AttackMethod, str], Outcome] = {}
    for each in outcomes:
        kind = each.method, each.weight
        best[kind] = strongest_of([best[kind], each]) if kind in best else each
    methods = list(TITLES)
    return tuple(sorted(best.values(), key=lambda each: methods.index(each.method)))


def run_screening(
    scenario: Scenario,
    attacks: Iterable[Attack],
    *,
    limit: float | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> SuiteResult:
    """Run the screening attacks on a protected table; the attacker copies every step that can be copied.

    More attacks can only raise the measured risk. With a limit, no more are run than it takes to be above it.

    Examples
    --------
    >>> import habitprint as hp
    >>> town = Scenario(*hp.datasets.town(60, 20), truth="same-id")
    >>> attacks = run_suite(town).screening
    >>> [each.name for each in run_screening(town.protected_by(hp.Microaggregate(5))[1], attacks).outcomes]
    ['one by one, jensen-shannon, from the known side', 'joint matching, rarity-half']
    """
    results: list[AttackResult] = []
    for attack in attacks:
        results.append(run_attack(scenario.fully_transformed, attack, seed=seed, progress=progress))
        if limit is not None and _high(results[-1]) > limit:
            break
    return SuiteResult(scenario, tuple(results), is_full_suite=False)


def run_suite(
    scenario: Scenario,
    suite: Sequence[Attack] | None = None,
    *,
    made: Sequence[AttackResult] = (),
    seed: int = 0,
    progress: Progress = silent,
) -> SuiteResult:
    """Run a suite of attacks; then with totals if they differ, and by weights that are trained on the truth.

    Parameters
    ----------
    scenario
        The scenario to attack. One by one, every attack runs once for each of the attacker's transformations. Joint
        attacks run with the transformation that is strongest one by one. With totals, every transformation is tried
        again: totals help most if both sides count the same places.
    suite
        The attacks; None for `full_suite`.
    made
        Earlier results on this scenario, which are not computed again.

    Examples
    --------
    >>> import habitprint as hp
    >>> town = Scenario(*hp.datasets.town(60, 20), truth="same-id")
    >>> found = run_suite(town).outcomes
    >>> len(found), found[1].name, found[14].name, found[-1].name
    (30, 'one by one, jensen-shannon, from the known side', 'joint matching, jensen-shannon', \
'one by one, trained on the truth, from the known side')
    >>> top = town.protected_by(hp.KeepTopPlaces(3))[1]
    >>> found = run_suite(top, full_suite(joint=[hp.WEIGHTS["l1"]])).outcomes
    >>> len(found), found[0].transform, found[14].transform
    (42, None, 'other places left out')
    """
    suite = full_suite() if suite is None else suite
    alone = [attack for attack in suite if attack.method == "one-by-one"]
    joint = [attack for attack in suite if attack.method != "one-by-one"]
    n_steps = len(joint) + 2
    before = {(each.scenario, each.attack): each for each in made}

    def run(wanted: Sequence[tuple[Scenario, Attack]], progress: Progress) -> list[AttackResult]:
        new = [each for each in wanted if each not in before]
        found = before | dict(zip(new, run_attacks(new, seed=seed, progress=progress), strict=True))
        return [found[each] for each in wanted]

    results = run(
        [(view, attack) for view in scenario.transformed for attack in alone],
        nested(progress, STAGE, 0, n_steps, "one by one"),
    )
    best_alone = max(results, key=_high)

    def best_by(weight: Weight) -> Scenario:
        return max((each for each in results if each.attack.weight == weight), key=_high).scenario

    def run_joint(progress: Progress) -> list[AttackResult]:
        inner = nested(progress, STAGE, 1, n_steps, "joint matching")
        found = run([(best_by(attack.weight), attack) for attack in joint], inner)
        found += [each for each in made if each not in results and each not in found]  # with other transformations
        strongest = SuiteResult(scenario, tuple(found)).strongest_joint
        return found + _run_with_totals(scenario, strongest, best_alone, seed, progress)

    def run_on_truth(progress: Progress) -> list[AttackResult]:
        inner = nested(progress, STAGE, n_steps - 1, n_steps, ON_TRUTH)
        return _run_trained_on_truth(best_alone.scenario, seed, inner)

    for more in run_two(run_joint, run_on_truth, progress):
        results += more
    return SuiteResult(scenario, tuple(results))


def _high(result: AttackResult) -> float:
    return result.rate.high


def _run_with_totals(
    scenario: Scenario, joint: AttackResult, alone: AttackResult, seed: int, progress: Progress
) -> list[AttackResult]:
    """Attack with totals, too, unless they are the same for all or not shown.

    One-by-one attacks run with each of the attacker's transformations, since totals may add most under another one than
    the strongest without them. They use the weights that are strongest in joint and in one-by-one matching. Joint
    matching uses the strongest transformation without totals, and the strongest with them:
    each with the strongest weight and with the paper's.
    """
    if not scenario.shows_totals:
        return []
    attacks = one_by_one(dict.fromkeys(each.attack.weight for each in (joint, alone)), uses_totals=True)
    wanted = [(view, attack) for view in scenario.transformed for attack in attacks]
    results = run_attacks(wanted, seed=seed, progress=progress)
    together = dict.fromkeys(
        (each.scenario, Attack(weight, joint.attack.method, uses_totals=True))
        for each in (joint, max(results, key=_high))
        for weight in (each.attack.weight, PROPOSED.weight)
    )
    return results + run_attacks(list(together), seed=seed, progress=progress)


def _run_trained_on_truth(scenario: Scenario, seed: int, progress: Progress) -> list[AttackResult]:
    """Attack each half of the people with a weight that was trained on the truth about the other half."""
    released, known = scenario.aligned
    common = common_users(scenario.truth, released.users, known.users)
    if common.n < FEWEST_TO_TRAIN:
        return []
    is_first = np.random.default_rng(HALVES_SEED).permutation(common.n) % 2 == 0
    weights = fit_on_other_half(released, known, common, is_first, name=ON_TRUTH, seed=seed)
    # The people for whom each of the two attacks counts. Neither identifies a person who is gone from the attacker's
    # side.
    of_row = np.zeros(released.n_users, np.bool_)
    of_row[common.released[is_first]] = True
    return run_crossed(scenario, weights, weights[0], of_row[scenario.common.released], seed=seed, progress=progress)


def run_crossed(
    scenario: Scenario,
    halves: tuple[Weight, Weight],
    weight: Weight,
    is_first: Booleans,
    *,
    seed: int = 0,
    progress: Progress = silent,
) -> list[AttackResult]:
    """Attack each half of the people with its own weight: joint, and one by one from both sides.

    Parameters
    ----------
    halves
        The weight for the first half of the people, and that for the second.
    weight
        The weight that names the attacks.
    is_first
        For each of the people in both tables.

    Examples
    --------
    >>> import habitprint as hp
    >>> town, l1 = Scenario(*hp.datasets.town(40, 20), truth="same-id"), hp.WEIGHTS["l1"]
    >>> crossed = run_crossed(town, (l1, hp.WEIGHTS["dot"]), l1, np.arange(40) < 20)
    >>> [each.outcome.name for each in crossed]
    ['joint matching, l1', 'one by one, l1', 'one by one, l1, from the known side']
    """
    wanted = [(scenario, attack) for half in halves for attack in by_each_method(half)]
    made = run_attacks(wanted, seed=seed, progress=progress)
    pairs = zip(made[: len(made) // 2], made[len(made) // 2 :], strict=True)
    return [first.crossed_with(second, is_first, weight) for first, second in pairs]
