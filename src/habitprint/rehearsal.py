"""The attack rehearsed on the known side alone: an adversary needs no secret to learn which evidence counts.

He has the habits of the people whom he knows, so he can cut them in two in time, match the halves, of which he knows
the truth, and see which weight and method identify most. He then uses these on the release.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from habitprint.arrays import Booleans, Floats
from habitprint.calibration import Calibration, LikelyPairs
from habitprint.errors import InputError, require_seed
from habitprint.expectation import pair_chances, people_chances, people_interval
from habitprint.histograms import Histograms, align
from habitprint.matching import Direction, Matching, Method, match
from habitprint.matching.probability import PairScores, pair_scores
from habitprint.mechanisms import Mechanism, Release
from habitprint.progress import Progress, silent
from habitprint.rates import Rate, rates_frame
from habitprint.showing import Shown
from habitprint.truth import SAME_ID, CommonUsers, common_users
from habitprint.weighing import WEIGHTS, Sides, Term, Weight, find_weight, pair_terms
from habitprint.weighing.definitions import KINDS
from habitprint.weighing.learned import fit_on_other_half, fit_weight
from habitprint.words import percent

MOST_PEOPLE = 5_000  # on whom attacks are tried
FEWEST_PEOPLE = 20  # fewer settle nothing
EPSILON = 0.001  # of the gain may be missing where all are matched at once
NOISE = 2.0  # standard errors by which another attack must be better than the paper's to be taken
DOUBTS = (0.1, 0.5, 0.9)  # of the likelihood
PROPOSED = find_weight("jensen-shannon")
REHEARSED = "learned by rehearsal"
N_DROPS = 3  # times that people are left out anew
ALIKE = 0.9  # of the counts: about as many are left as they are
LARGEST_COUNT = 2.0**53  # up to here a number of counts is whole for sure
LEAST_SHARE = 0.05  # of people with a partner: fewer teach nothing about them

_WAYS: tuple[tuple[Method, Direction], ...] = (
    ("approximate", "released-to-known"),
    ("one-by-one", "released-to-known"),
    ("one-by-one", "known-to-released"),
)


@dataclass(frozen=True)
class Lesson:
    """A weight that was learned from pairs of whom the truth is known, and what it counts.

    Parameters
    ----------
    weight
        Fitted to all of the people.
    evidence
        What each of its terms adds for true pairs, as a share of all.
    n_people
        How many people could be learned from.

    Examples
    --------
    >>> import habitprint as hp
    >>> weight = Weight("mine", (Term("logarithm"), Term("fourth-root", rarity=1.0)))
    >>> Lesson(weight, (0.25, 0.75), 80).words
    'Having been there at all, the more the rarer the place, is 75% of the evidence for a true pair; how alike shares \
are 25%.'
    """

    weight: Weight
    evidence: tuple[float, ...]
    n_people: int

    @property
    def words(self) -> str:
        """Return which evidence counts, as a sentence."""
        shares: dict[str, float] = {}
        for term, share in zip(self.weight.terms, self.evidence, strict=True):
            words = KINDS[term.kind].words + ("" if term.rarity == 0 else ", the more the rarer the place,")
            shares[words] = shares.get(words, 0.0) + share
        (first, most), *rest = sorted(shares.items(), key=lambda pair: -pair[1])
        others = "".join(f"; {words} {percent(share)}" for words, share in rest)
        return f"{first[0].upper()}{first[1:]} is {percent(most)} of the evidence for a true pair{others}."


@dataclass(frozen=True)
class RehearsedAttack:
    """One attack of a rehearsal, and how many people it identified.

    Parameters
    ----------
    weight
        By which users were compared. The learned one was fitted to other people than those on whom it was tried.
    method, direction
        How they were matched, and one by one who looked for whom. All at once, a thousandth of the best gain may have
        been missing.
    rate
        People identified, everybody counted once.

    Examples
    --------
    >>> RehearsedAttack(PROPOSED, "joint", None, Rate.of(5, 40, 1 / 40)).name
    'all at once, jensen-shannon'
    """

    weight: Weight
    method: Method
    direction: Direction | None
    rate: Rate

    def __repr__(self) -> str:
        return f"RehearsedAttack({self.name}: {self.rate.words})"

    @property
    def name(self) -> str:
        """Return which attack it is."""
        backwards = ", from the known side" if self.direction == "known-to-released" else ""
        return f"{'one by one' if self.method == 'one-by-one' else 'all at once'}, {self.weight.name}{backwards}"


@dataclass(frozen=True)
class Rehearsal(Shown):
    """The outcome of a rehearsal. Made by `habitprint.rehearse`.

    Parameters
    ----------
    best
        The attack to make: the paper's, unless another identified more by more than noise.
    best_ways
        The same for each way to match: all at once, one by one from the released side, and from the known side. The
        paper's weight, unless another identified more in that way by more than noise.
    attacks
        All that were tried; the paper's is the first.
    lesson
        The weight that was learned, and what it counts.
    calibration
        How likely a pair is right, by how it stands among its rivals: learned from the pairs of the best joint attack.
    seed
        What decided the choices among people.
    stage
        The two tables that it was rehearsed with, and who is whom.

    Examples
    --------
    >>> import habitprint as hp
    >>> rehearsal = hp.rehearse(*hp.datasets.town(80, 30))
    >>> rehearsal.weight.name, rehearsal.lesson.n_people
    ('jensen-shannon', 80)
    """

    best: RehearsedAttack
    best_ways: tuple[RehearsedAttack, ...]
    attacks: tuple[RehearsedAttack, ...]
    lesson: Lesson
    calibration: Calibration
    seed: int
    stage: "_Stage" = field(repr=False, compare=False)

    def __repr__(self) -> str:
        return f"Rehearsal({len(self.attacks)} attacks on {self.lesson.n_people:,} people; best: {self.best})"

    def to_frame(self) -> pl.DataFrame:
        """Return the attacks that were tried as a frame, one row each; the paper's is the first.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.rehearse(*hp.datasets.town(80, 30)).to_frame()["attack"][0]
        'all at once, jensen-shannon'
        """
        names: dict[str, list[object]] = {
            "attack": [attack.name for attack in self.attacks],
            "is_best": [a is self.best for a in self.attacks],
        }
        return rates_frame(names, [attack.rate for attack in self.attacks])

    @property
    def weight(self) -> Weight:
        """Return the weight to attack with."""
        return self.best.weight

    @property
    def method(self) -> Method:
        """Return the method to attack with."""
        return self.best.method

    @property
    def direction(self) -> Direction:
        """Return who looks for whom, if each is matched on its own."""
        return self.best.direction or "released-to-known"

    def weight_for(self, method: Method, direction: Direction = "released-to-known") -> Weight:
        """Return the weight to use with one way to match.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.rehearse(*hp.datasets.town(80, 30)).weight_for("one-by-one").name
        'jensen-shannon'
        """
        joint, *alone = self.best_ways
        if method != "one-by-one":
            return joint.weight
        return next(way.weight for way in alone if way.direction == direction)

    def probabilities(self, matching: Matching, released: Histograms, known: Histograms) -> Floats:
        """Return how likely each pair of a joint matching of other tables is right, as far as the rehearsal tells.

        It tells of people about whom as much is known as in the rehearsal, and who are all on both sides. Where many
        released people are strangers, claims are right less often than this says: see `for_tables`.

        Parameters
        ----------
        matching
            Joint, exact, and by the weight that the rehearsal took for it: ``rehearsal.weight_for("joint")``.
        released, known
            What was matched.

        Examples
        --------
        >>> import habitprint as hp
        >>> rehearsal = hp.rehearse(*hp.datasets.town(80, 30))
        >>> released, known = hp.datasets.town(100, 30, seed=5)
        >>> matching = hp.match(released, known, weight=rehearsal.weight_for("joint"))
        >>> rehearsal.probabilities(matching, released, known).shape
        (100,)
        """
        if matching.weight != self.weight_for("joint"):
            raise InputError(
                f"this matching is by the weight '{matching.weight_name}'",
                why=f"in the rehearsal, pairs were found by '{self.weight_for('joint').name}'",
                fix='match with weight=rehearsal.weight_for("joint")',
            )
        return self.calibration.probabilities(pair_scores(matching, released, known, weight=self.lesson.weight))

    def claims(self, matching: Matching, released: Histograms, known: Histograms, *, above: float = 0.9) -> LikelyPairs:
        """Return only the pairs of a joint matching that are right with more than some probability.

        Parameters
        ----------
        matching, released, known
            As for `probabilities`.
        above
            The probability.

        Examples
        --------
        >>> import habitprint as hp
        >>> rehearsal = hp.rehearse(*hp.datasets.town(80, 30))
        >>> released, known = hp.datasets.town(100, 30, seed=5)
        >>> claims = rehearsal.claims(hp.match(released, known), released, known, above=0.9)
        >>> claims.expected_precision > 0.9, claims.to_table().columns
        (True, ['released', 'known', 'probability'])
        """
        return LikelyPairs.of(matching, self.probabilities(matching, released, known), above)

    def for_tables(
        self, released: Histograms, known: Histograms, n_common: int | None = None, progress: Progress = silent
    ) -> "Rehearsal":
        """Return the same rehearsal with probabilities for other tables than it was made with.

        If these have more counts of each user, as months have that are attacked with what halves of them taught, then
        a weight is used on more than it was learned from. That is rehearsed too: weights are learned from people some
        of whose counts are left out, and how likely pairs by them are right from the same people with all their counts.

        If only some people are common, those of the rehearsal are left out of one table or the other at random, so that
        as large a share of each side has a partner; several times.

        Parameters
        ----------
        released, known
            To be attacked.
        n_common
            How many people they have in common; None for all users of the smaller table.

        Examples
        --------
        >>> import habitprint as hp
        >>> rehearsal = hp.rehearse(*hp.datasets.town(200, 60))
        >>> released, known = hp.datasets.town(150, 60, seed=5)
        >>> released, known = released.select(users=released.users[:100]), known.select(users=known.users[50:])
        >>> matching = hp.match(released, known, weight=rehearsal.weight_for("joint"))
        >>> here = rehearsal.for_tables(released, known, n_common=50)
        >>> both = [each.probabilities(matching, released, known) for each in (rehearsal, here)]
        >>> bool(both[0].sum() > both[1].sum())
        True
        """
        kept = [
            float(ours.totals.mean() / theirs.totals.mean())
            for ours, theirs in ((self.stage.released, released), (self.stage.known, known))
        ]
        sizes = (released.n_users, known.n_users)
        n_both = min(sizes) if n_common is None else n_common
        least = max(LEAST_SHARE, 2 / (self.stage.common.n / FEWEST_PEOPLE + 1))  # so that enough are on both sides
        here, there = (min(max(n_both / size, least), 1.0) for size in sizes)
        has_strangers = min(here, there) < 1
        random, scores, chances = np.random.default_rng(self.seed), [], []
        for _ in range(N_DROPS if has_strangers else 1):
            stage = self.stage.with_strangers(here, there, random) if has_strangers else self.stage
            is_first = random.permutation(stage.common.n) % 2 == 0
            fewer = [
                _thinned(table, share, random) for table, share in zip((stage.released, stage.known), kept, strict=True)
            ]
            halves = fit_on_other_half(fewer[0], fewer[1], stage.common, is_first, name=REHEARSED, seed=self.seed)
            found, right = stage.scores(self.weight_for("joint"), halves, is_first, progress)
            scores.append(found)
            chances.append(right)
        return replace(self, calibration=Calibration.fit(PairScores.together(scores), np.concatenate(chances)))

    @property
    def paper(self) -> RehearsedAttack:
        """Return what the paper's attack identified."""
        return self.attacks[0]

    @property
    def words(self) -> str:
        """Return what was chosen, and why, as sentences.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.rehearse(*hp.datasets.town(80, 30)).words[:64]
        'Rehearsed on 80 people: no attack identified more than the paper'
        """
        paper = f"the paper's ({self.paper.name}: {percent(self.paper.rate.value)})"
        found = (
            "no attack identified more"
            if self.best == self.paper
            else f"{self.best.name}, identified {percent(self.best.rate.value)}, more"
        )
        return f"Rehearsed on {self.lesson.n_people:,} people: {found} than {paper} by more than noise."


def rehearse(
    released: Histograms,
    known: Histograms,
    *,
    truth: Any = SAME_ID,
    protection: Mechanism | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> Rehearsal:
    """Try attacks on two tables of the same people, and learn which weight and method to use on others.

    An adversary uses two tables of his own: what he knows, cut in two in time, or two earlier periods. Every built-in
    weight is tried, the likelihood with several doubts, and a weight that is learned by conditional logit; each all at
    once, and one by one from both sides. The learned one is tried on half of the people and fitted to the other half,
    and vice versa.

    Parameters
    ----------
    released, known
        Two tables of the same people; the first plays the release.
    truth
        Who is whom in them, as for `habitprint.evaluate`.
    protection
        How the release to be attacked was protected: the first table is protected in the same way, and the second
        changed by all that anyone can copy of it.
    seed
        Decides the choices among people, and among equally good matchings.
    progress
        Told now and then how far the work has come.

    Examples
    --------
    >>> import habitprint as hp
    >>> rehearsal = hp.rehearse(*hp.datasets.town(80, 30))
    >>> released, known = hp.datasets.town(100, 30, seed=5)
    >>> hp.match(released, known, weight=rehearsal.weight)
    Matching(100 pairs, joint, jensen-shannon, gap 0)
    """
    require_seed(seed)
    stage = _Stage.of(released, known, truth, protection, seed, progress)
    is_first = np.random.default_rng(seed).permutation(stage.common.n) % 2 == 0
    lesson = stage.lesson()
    halves = fit_on_other_half(stage.released, stage.known, stage.common, is_first, name=REHEARSED, seed=seed)
    fixed = [weight for weight in WEIGHTS.values() if weight.terms[0].kind != "likelihood"]
    fixed += [Weight(f"likelihood, doubt {doubt:g}", (Term("likelihood", doubt=doubt),)) for doubt in DOUBTS]
    n_all = len(_WAYS) * (len(fixed) + 1)
    chances: list[Floats] = []
    attacks: list[RehearsedAttack] = []
    for method, direction in _WAYS:
        for weight in (*fixed, lesson.weight):
            progress("rehearsing", len(attacks), n_all)
            weights = halves if weight is lesson.weight else (weight,)
            found = [stage.chances(each, method, direction) for each in weights]
            chances.append(np.where(is_first, found[0], found[-1]))
            attacks.append(stage.fact(weight, method, direction, chances[-1]))
    progress("rehearsing", n_all, n_all)
    n_weights = len(attacks) // len(_WAYS)
    firsts = range(0, len(attacks), n_weights)  # of each way, the paper's weight
    best_ways = tuple(attacks[first + _best(chances[first : first + n_weights])] for first in firsts)
    return Rehearsal(
        best=attacks[_best(chances)],
        best_ways=best_ways,
        attacks=tuple(attacks),
        lesson=lesson,
        calibration=Calibration.fit(*stage.scores(best_ways[0].weight, halves, is_first, progress)),
        seed=seed,
        stage=stage,
    )


def learn(released: Histograms, known: Histograms, *, truth: Any = SAME_ID, seed: int = 0) -> Lesson:
    """Learn a weight from two tables of the same people, without trying whether it is better than others.

    Parameters
    ----------
    released, known, truth, seed
        As for `rehearse`.

    Examples
    --------
    >>> import habitprint as hp
    >>> learn(*hp.datasets.town(80, 30)).weight.name
    'learned by rehearsal'
    """
    return _Stage.of(released, known, truth, None, seed, silent).lesson()


@dataclass(frozen=True, eq=False)
class _Stage:
    """The two tables of a rehearsal, over the same places, and who is whom."""

    released: Histograms
    known: Histograms
    common: CommonUsers
    seed: int

    @classmethod
    def of(
        cls,
        released: Histograms,
        known: Histograms,
        truth: Any,
        protection: Mechanism | None,
        seed: int,
        progress: Progress,
    ) -> "_Stage":
        """Return the tables of some thousand people at most, the first protected if that is asked for."""
        released, known = released.in_order(), known.in_order()
        common = common_users(truth, released.users, known.users)
        _require_people(common)
        if max(released.n_users, known.n_users) > MOST_PEOPLE:
            some = np.random.default_rng(seed).permutation(common.n)[:MOST_PEOPLE]
            released = released.select(users=released.users.gather(np.sort(common.released[some])))
            known = known.select(users=known.users.gather(np.sort(common.known[some])))
        if protection is not None:
            release = protection(Release(released), progress=progress)
            released, known = release.histograms.in_order(), release.public(known).in_order()
        common = common_users(truth, released.users, known.users)
        _require_people(common)
        return cls(*align(released, known), common, seed)

    def with_strangers(self, released_share: float, known_share: float, random: np.random.Generator) -> "_Stage":
        """Return as many of the common users as there can be, some of them on one side only.

        The shares say how much of each side is on the other too, above 0 and up to 1.
        """
        n = self.common.n
        n_both = n / (1 / released_share + 1 / known_share - 1)
        ends = np.rint([n_both, n_both / released_share]).astype(np.int64)
        drawn = random.permutation(n)
        here = np.sort(drawn[: ends[1]])
        there = np.sort(np.concatenate([drawn[: ends[0]], drawn[ends[1] :]]))
        in_both, rows, columns = np.intersect1d(here, there, assume_unique=True, return_indices=True)
        return _Stage(
            self.released.select(users=self.released.users.gather(self.common.released[here])),
            self.known.select(users=self.known.users.gather(self.common.known[there])),
            CommonUsers(rows, columns, n - len(in_both)),
            self.seed,
        )

    def chances(self, weight: Weight, method: Method, direction: Direction) -> Floats:
        """Return how likely an attack identifies each person."""
        made = match(
            self.released,
            self.known,
            weight=weight,
            method=method,
            direction=direction,
            epsilon=EPSILON if method == "approximate" else None,
            seed=self.seed,
        )
        return people_chances(made, self.released, self.known, self.common)

    def fact(self, weight: Weight, method: Method, direction: Direction, chances: Floats) -> RehearsedAttack:
        """Return what an attack achieved."""
        sizes, n = (self.released.n_users, self.known.n_users), self.common.n
        rate = Rate.of_chances(chances, n, min(sizes) / math.prod(sizes), people_interval(method, direction))
        is_joint = method != "one-by-one"
        return RehearsedAttack(weight, "joint" if is_joint else method, None if is_joint else direction, rate)

    def scores(
        self, weight: Weight, halves: tuple[Weight, Weight], is_first: Booleans, progress: Progress
    ) -> tuple[PairScores, Floats]:
        """Return how pairs stand, each half by what the other half taught, and how likely they are right."""
        made = match(self.released, self.known, weight=weight, seed=self.seed, progress=progress)
        of_row = np.ones(self.released.n_users, np.bool_)  # who is on one side only taught nobody
        of_row[self.common.released] = is_first
        is_mine = of_row[made.rows_in(self.released, self.known)[0]]
        first = pair_scores(made, self.released, self.known, weight=halves[0], progress=progress)
        second = pair_scores(made, self.released, self.known, weight=halves[1], margins=first.margins)
        return first.where(is_mine, second), pair_chances(made, self.released, self.known, self.common)

    def lesson(self) -> Lesson:
        """Return the weight that these people teach."""
        weight = fit_weight(self.released, self.known, self.common, name=REHEARSED, seed=self.seed)
        sides = Sides.of(self.released, self.known, weight)
        added = pair_terms(sides, self.common.released, self.common.known).sum(axis=0)
        shares = added / max(float(added.sum()), np.finfo(float).tiny)
        return Lesson(weight, tuple(shares.tolist()), self.common.n)


def _thinned(table: Histograms, kept: float, random: np.random.Generator) -> Histograms:
    """Return a table with a share of the counts of each user, drawn at random, but one at least.

    Where counts are not whole numbers, or nearly all are kept, the table stays as it is.
    """
    counts = table.counts
    is_whole = bool((counts.data == np.floor(counts.data)).all()) and float(counts.data.max()) < LARGEST_COUNT
    if not is_whole or kept >= ALIKE:
        return table
    left = random.binomial(counts.data.astype(np.int64), kept)
    # Nobody vanishes: who has lost all keeps one count where most were.
    of_row = np.repeat(np.arange(table.n_users), np.diff(counts.indptr))
    most_visited = np.lexsort((counts.data, of_row))[counts.indptr[1:] - 1]
    gone = np.bincount(of_row, left, minlength=table.n_users) == 0
    left[most_visited[gone]] = 1
    return Histograms(type(counts)((left, counts.indices, counts.indptr), counts.shape), table.users, table.places)


def _require_people(common: CommonUsers) -> None:
    if common.n < FEWEST_PEOPLE:
        raise InputError(
            f"only {common.n} people are in both tables of the rehearsal",
            why=f"an attack is learned from people of whom the truth is known; fewer than {FEWEST_PEOPLE} teach little",
            fix="give two tables of the same people, with the same ids, or leave the rehearsal out",
        )


def _best(chances: list[Floats]) -> int:
    """Return the number of the attack to make: the best that beats the first by more than noise, else the first."""
    order = sorted(range(len(chances)), key=lambda at: (-math.fsum(chances[at]), at))
    for at in order:
        gained = chances[at] - chances[0]  # the same people: what they have in common is no noise
        if float(gained.mean()) > NOISE * float(gained.std()) / math.sqrt(len(gained)):
            return at
    return 0
