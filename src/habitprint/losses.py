"""Utility losses: the distance of a release from the original, and how much less it predicts."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import brentq

from habitprint.arrays import Floats, Indices, SparseMatrix
from habitprint.conversion import AnyTable, as_histograms
from habitprint.errors import InputError, first_few, require_whole
from habitprint.formatting import percent
from habitprint.histograms import Histograms
from habitprint.ids import positions
from habitprint.mechanisms import Mechanism, Release
from habitprint.mechanisms.files import Losses, PredictedOn
from habitprint.mechanisms.release import holds_shares
from habitprint.truth import SAME_ID, common_users

LEAST_MIXED = 1e-9  # of the population's row, in the row that predicts: no place may be impossible
NO_GAIN = 1e-9  # for each person: no more than rounding
TOP = 20  # places whose ranking is compared; the glossary names this number
ALMOST_ALL, MUCH = 0.9, 0.7  # shares of the possible loss
ROUNDING = 1e-9
TIE = 0.05  # a difference of the deciding loss that is less than this does not decide
HALVES_SEED = 0  # of the halves of everybody's events: it is printed
UtilityMetric = Literal["totals", "ranking", "patterns", "prediction", "people"]
# The other losses, which count where the deciding losses are similar.
OTHERS: tuple[UtilityMetric, ...] = ("prediction", "totals", "people")


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A table of another period as a test of predictions, prepared once for all releases of one original.

    The row x of a person predicts the shares y of the other period by (1 − λ) x + λ m, with m the population's mean
    row. It gains Σ y ln(((1 − λ) x + λ m) / m) over m, summed over all people, with the best λ: a reader smooths a row
    as well as possible. Shares, not counts, so that every person counts once.

    A place without earlier visits has a share of 0 in every row. Any smoothing of m gives it some ε > 0, and every row
    gains ln(λ ε / ε) = ln λ there. So the result does not depend on ε.

    Parameters
    ----------
    rows, columns, shares
        The user and the place of each share y, by their numbers in the original in order; −1 for a place that the
        original does not have.
    population
        The population's share m there; 1 where it is 0.
    n_users
        The number of people in both tables.
    gain
        The gain of the original's rows, with their own λ.

    Examples
    --------
    >>> import habitprint as hp
    >>> april, may = hp.datasets.town(60, 20)
    >>> test = HeldOut.of(april, may)
    >>> test.n_users, test.gain > 0
    (60, True)
    """

    rows: Indices
    columns: Indices
    shares: Floats
    population: Floats
    n_users: int
    gain: float

    @classmethod
    def of(cls, original: Histograms, later: Histograms) -> "HeldOut":
        """Return the test of releases of an original on another period of the same users."""
        original, later = original.in_order(), later.in_order()
        common = common_users(SAME_ID, original.users, later.users)
        tested = later.shares[common.known]
        place = positions(later.places, original.places)
        total = np.bincount(original.shares.indices, weights=original.shares.data, minlength=original.n_places)
        of_place = np.append(total / original.n_users, 0.0)  # the last is that of places without earlier visits
        rows = np.repeat(common.released, np.diff(tested.indptr))
        columns = place[tested.indices]
        population = np.where(of_place[columns] > 0, of_place[columns], 1.0)  # where it is 0, so is every row
        ratios = shares_at(original.shares, rows, columns) / population
        return cls(rows, columns, tested.data, population, common.n, most_gained(tested.data, ratios))

    @property
    def is_telling(self) -> bool:
        """Return whether people's own rows predict better than the population's."""
        return self.gain > NO_GAIN * self.n_users

    def kept_by(self, shares: SparseMatrix, rows: Indices, spread: SparseMatrix) -> float | None:
        """Return the share of the original's gain that a release keeps; None if people's own rows gain nothing.

        It may be above 1: where everybody has few events, the mean of similar people predicts better than a person's
        row.

        Parameters
        ----------
        shares
            The released shares, in order.
        rows
            The user of the original whom each of its rows belongs to. Users without a row are predicted by the
            population's.
        spread
            The mapping from released to original places: a matrix with at most one entry in a column.
        """
        if not self.is_telling:
            return None
        row_of = np.full(int(self.rows.max()) + 1, -1)
        is_tested = rows < len(row_of)
        row_of[rows[is_tested]] = np.flatnonzero(is_tested)
        released = row_of[self.rows]
        at = spread_shares_at(shares, spread, released, self.columns)
        ratios = np.where(released < 0, 1.0, at / self.population)
        return most_gained(self.shares, ratios) / self.gain


def shares_at(shares: SparseMatrix, rows: Indices, columns: Indices) -> Floats:
    """Return the shares at some rows and columns; 0 where either is −1.

    Examples
    --------
    >>> shares_at(sparse.csr_array([[0.25, 0.75]]), np.array([0, 0, -1]), np.array([1, -1, 0])).tolist()
    [0.75, 0.0, 0.0]
    """
    n_columns = shares.shape[1]
    # Both are in order of row and column; to look single entries up in the matrix would take six times as long.
    keys = np.repeat(np.arange(shares.shape[0]) * n_columns, np.diff(shares.indptr)) + shares.indices
    wanted = np.where((rows >= 0) & (columns >= 0), rows * n_columns + columns, -1)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, shares.data[at], 0.0)


def spread_shares_at(shares: SparseMatrix, spread: SparseMatrix, rows: Indices, columns: Indices) -> Floats:
    """Return the shares that released places, spread over the original's, have at some rows and columns.

    The product of the two is not computed: one released place may stand for nearly all of the original's.

    Examples
    --------
    >>> one_place, evenly = sparse.csr_array([[1.0]]), sparse.csr_array([[0.25, 0.75]])
    >>> spread_shares_at(one_place, evenly, np.array([0, 0]), np.array([1, -1])).tolist()
    [0.75, 0.0]
    """
    parts = sparse.coo_array(spread)
    place_of, part = np.full(spread.shape[1] + 1, -1), np.zeros(spread.shape[1] + 1)
    place_of[parts.coords[1]], part[parts.coords[1]] = parts.coords[0], parts.data
    return shares_at(shares, rows, place_of[columns]) * part[columns]


def most_gained(shares: Floats, ratios: Floats) -> float:
    """Return the maximum over λ of Σ y ln(λ + (1 − λ) r), with y the shares and r the ratios x / m; never below 0.

    The sum is concave in λ, so its derivative Σ y (1 − r) / (λ + (1 − λ) r) changes its sign once.

    Examples
    --------
    >>> most_gained(np.array([1.0]), np.array([math.e])), most_gained(np.array([1.0]), np.array([0.5]))
    (0.999999..., 0.0)
    """
    is_zero = ratios == 0.0
    missed = math.fsum(shares[is_zero])  # where the row has no share, only λ counts
    y, r = shares[~is_zero], ratios[~is_zero]

    def slope(mixed: float) -> float:
        return missed / mixed + float((y * (1.0 - r) / (mixed + (1.0 - mixed) * r)).sum())

    if slope(1.0) >= 0.0:
        return 0.0  # the population's row alone is best
    mixed = LEAST_MIXED if slope(LEAST_MIXED) <= 0.0 else brentq(slope, LEAST_MIXED, 1.0, xtol=1e-9)
    return missed * math.log(mixed) + float((y * np.log(mixed + (1.0 - mixed) * r)).sum())


def halve(counts: Histograms, seed: int) -> tuple[Histograms, Histograms]:
    """Return everybody's events in two random halves; a user without any in one half is not in it.

    Examples
    --------
    >>> one, other = halve(Histograms.from_strings({"Jill": "a" * 100}), seed=0)
    >>> one.totals.sum() + other.totals.sum()
    np.float64(100.0)
    """
    counts = counts.in_order()
    drawn = np.random.default_rng(seed).binomial(counts.counts.data, 0.5)
    return _with_counts(counts, drawn), _with_counts(counts, counts.counts.data - drawn)


def _with_counts(table: Histograms, data: Indices) -> Histograms:
    entries = data, table.counts.indices, table.counts.indptr
    made = sparse.csr_array(entries, shape=table.counts.shape, copy=True)
    made.eliminate_zeros()
    is_there = np.flatnonzero(np.diff(made.indptr))
    return Histograms(made[is_there], table.users.gather(is_there), table.places)


@dataclass(frozen=True)
class Scale:
    """A utility metric: what a release should keep, and the loss that measures it (see the glossary of a report).

    Parameters
    ----------
    kept
        The property to keep, as the name of a row.
    name
        The name of the loss.
    read
        The function that reads this loss from the losses of a release.
    worst
        The loss at which no utility is left; a loss may exceed it.
    is_share
        Whether the loss is printed as a percentage.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, _ = hp.datasets.town(60, 20)
    >>> losses = hp.measure_losses(released, hp.microaggregate(released, k=20, units=None))
    >>> [scale.said(scale.of(losses)) for scale in SCALES.values()]
    ['totals error 0%', 'ranking error 0%', 'information loss 0.86', 'loss of predictive value not defined', \
'share of people left out 0%']
    """

    kept: str
    name: str
    read: Callable[[Losses], float | None]
    worst: float = 1.0
    is_share: bool = True

    def of(self, losses: Losses) -> float | None:
        """Return the loss; None where it is not defined. A loss within rounding error is 0."""
        loss = self.read(losses)
        return 0.0 if loss is not None and abs(loss) < ROUNDING else loss

    def shown(self, loss: float) -> float:
        """Return a loss at the precision at which people read it: a tenth of a percent, or a hundredth."""
        return round(loss, 3 if self.is_share else 2)

    def in_words(self, loss: float | None) -> str:
        """Return a loss on this scale as people read it."""
        if loss is None:
            return "not defined"
        return percent(self.shown(loss)) if self.is_share else f"{self.shown(loss):.2f}"

    def said(self, loss: float | None) -> str:
        """Return a loss with its name."""
        return f"{self.name} {self.in_words(loss)}"

    @property
    def one(self) -> str:
        """Return the name with its article."""
        return f"{'an' if self.name[0] in 'aeiou' else 'a'} {self.name}"

    @property
    def limit(self) -> str:
        """Return in words the loss at which nothing is left."""
        return percent(self.worst) if self.is_share else f"{self.worst:g}"


# The utility metrics, in the order in which they are shown.
SCALES: dict[UtilityMetric, Scale] = {
    "totals": Scale("totals of places", "totals error", lambda losses: losses.totals_error),
    "ranking": Scale("ranking of places", "ranking error", lambda losses: losses.ranking_error, worst=0.5),
    "patterns": Scale(
        "patterns of each person", "information loss", lambda losses: losses.information_loss, is_share=False
    ),
    "prediction": Scale(
        "predictive value",
        "loss of predictive value",
        lambda losses: None if losses.predictive_value is None else max(0.0, 1 - losses.predictive_value),
    ),
    "people": Scale(
        "people in the table", "share of people left out", lambda losses: 1 - losses.n_users_kept / losses.n_users
    ),
}


class Cost(NamedTuple):
    """The cost of a release by a utility metric.

    Parameters
    ----------
    loss
        The loss that decides, at the printed precision.
    others
        The sum of three losses, rounded to a hundredth: predictive value, totals error, and people left out. Smaller
        differences do not count. An undefined loss counts as 0; it is undefined for all releases.
    patterns
        The information loss.
    """

    loss: float
    others: float
    patterns: float

    @property
    def rank(self) -> tuple[float, float, float]:
        """Return the sort key of releases whose deciding losses are similar: the other losses come first."""
        return self.others, self.loss, self.patterns


def cost_of(keep: UtilityMetric, loss_for: Callable[[UtilityMetric], float | None]) -> Cost | None:
    """Return the cost of a release from its losses; None where the loss that decides is not defined.

    If people's own rows predict nothing, no predictive value can be lost: this loss is 0, and the others decide.

    Examples
    --------
    >>> cost_of("patterns", {"patterns": 0.912, "prediction": 0.48, "totals": 0.0, "people": 0.01}.get)
    Cost(loss=0.91, others=0.49, patterns=0.912)
    """
    loss = loss_for("prediction") or 0.0 if keep == "prediction" else loss_for(keep)
    if loss is None:
        return None
    patterns, others = loss_for("patterns"), [loss_for(each) or 0.0 for each in OTHERS]
    return Cost(SCALES[keep].shown(loss), round(sum(others), 2), math.inf if patterns is None else patterns)


def find_cheapest(costs: Sequence[Cost]) -> int:
    """Return the index of the lowest cost; of equal costs the first.

    Releases whose deciding loss is less than 0.05 above the lowest are similar. Of these, the one with the lowest sum
    of the other losses wins: predictive value, totals and people.

    Examples
    --------
    >>> plain, fewer_places = Cost(0.91, 0.48, 0.914), Cost(0.89, 1.32, 0.893)
    >>> find_cheapest([fewer_places, plain]), find_cheapest([fewer_places, plain._replace(loss=0.94)])
    (1, 0)
    """
    least = min(cost.loss for cost in costs)
    tied = [at for at, cost in enumerate(costs) if _is_tied(cost.loss, least)]
    return min(tied, key=lambda at: costs[at].rank)


def may_be_cheaper(floor: Cost, costs: Sequence[Cost]) -> bool:
    """Return whether a release with at least a given cost could change the choice of the lowest cost.

    It changes the choice if it is preferred itself. It also does so if its deciding loss is so low that the preferred
    release no longer ties with it.

    Examples
    --------
    >>> plain, fewer_places = Cost(0.91, 0.48, 0.914), Cost(0.89, 1.32, 0.893)
    >>> [may_be_cheaper(each, [plain]) for each in (fewer_places, fewer_places._replace(loss=0.86))]
    [False, True]
    """
    if not costs:
        return True
    least, best = min(cost.loss for cost in costs), costs[find_cheapest(costs)]
    is_preferred = _is_tied(floor.loss, least) and floor.rank < best.rank
    return is_preferred or not _is_tied(best.loss, floor.loss)


def _is_tied(loss: float, least: float) -> bool:
    return loss - least < TIE - ROUNDING


def loses_much(keep: UtilityMetric, losses: Losses) -> bool:
    """Return whether a release loses so much by a utility metric that alternatives should be read first.

    Examples
    --------
    >>> import habitprint as hp
    >>> april = hp.datasets.town(60, 20)[0]
    >>> [loses_much("patterns", hp.measure_losses(april, hp.microaggregate(april, k=k))) for k in (2, 30)]
    [False, True]
    """
    loss = SCALES[keep].of(losses)
    return loss is not None and SCALES[keep].shown(loss) > MUCH * SCALES[keep].worst


def leaves_little(keep: UtilityMetric, losses: Losses) -> bool:
    """Return whether a release leaves little utility.

    Patterns of people are judged by their predictive value where that was measured. The information loss is nearly 1
    for any group of people who share few places. Half of the predictive value may still be there.

    Examples
    --------
    >>> import habitprint as hp
    >>> april, may = hp.datasets.town(60, 20)
    >>> release = hp.microaggregate(april, k=30)
    >>> [leaves_little("patterns", hp.measure_losses(april, release, later=later)) for later in (None, may)]
    [True, False]
    """
    judged: UtilityMetric = "prediction" if keep == "patterns" and losses.predictive_value is not None else keep
    loss = SCALES[judged].of(losses)
    return loss is not None and SCALES[judged].shown(loss) >= ALMOST_ALL * SCALES[judged].worst


def measure_losses(
    original: Histograms | AnyTable,
    release: Release | Histograms,
    *,
    later: Histograms | HeldOut | AnyTable | None = None,
    mechanism: Mechanism | None = None,
    n_top: int = TOP,
) -> Losses:
    """Measure the losses of a release, on the original's own places.

    The paper's L (its normalised information loss) is Σ ‖Γ − Γ̃‖₁ / Σ ‖Γ − mean‖₁ over all users, with 0/0 = 0. The
    share at a coarse place is divided among its original places, in proportion to their total shares. So one coarse
    place for all places costs 1, like one group of all users. A user who was dropped counts as the mean.

    Totals and rankings are those that a reader of the release can compute. A reader can only divide a coarse place
    evenly, and knows nothing about users who were dropped.

    Parameters
    ----------
    original
        The histograms before any protection.
    release
        The released histograms with the same user ids. Measure before users get pseudonyms.
    later
        Another period of the same users, to measure the predictive value on it (`HeldOut`).
    mechanism
        The mechanism that made the release. Without another period, it protects a random half of everybody's events,
        and the predictive value is measured on the other half.
    n_top
        The number of most popular places that are compared.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, later = hp.datasets.town(60, 20)
    >>> losses = hp.measure_losses(released, hp.microaggregate(released, k=60, units=None), later=later)
    >>> losses.information_loss, losses.totals_error < 1e-12, losses.predictive_value < 0.001
    (1.0, True, True)
    >>> hp.measure_losses(released, hp.microaggregate(released, k=2), mechanism=hp.Microaggregate(2)).predicted_on
    'held-out-events'
    """
    why, fix = "rankings are compared on at least one place", "use a positive whole number, such as 20"
    require_whole("n_top", n_top, 1, why, fix)
    _require_order(original, release)
    original = as_histograms(original, "original").in_order()
    later = as_histograms(later, "later") if later is not None and not isinstance(later, HeldOut) else later
    released = (release.histograms if isinstance(release, Release) else release).in_order()
    rows = positions(released.users, original.users)
    if (rows < 0).any():
        raise InputError(
            f"user {first_few(released.users.filter(rows < 0).to_list())} of the release is not in the original",
            why="a loss compares each user before and after",
            fix="measure before giving out pseudonyms",
        )
    stands_for = _stands_for(original, released, release)
    counted = _totals(original.counts)
    evenly = _rows_adding_up_to_one(stands_for)
    reader, reader_shares = (evenly.T @ _totals(table) for table in (released.counts, released.shares))
    has_shares = holds_shares(released)
    shares = _totals(original.shares)
    popularity, shown = (shares, reader_shares) if has_shares else (counted, reader)
    n_top = min(n_top, original.n_places)
    top = np.argsort(-popularity, kind="stable")[:n_top]
    mean = shares / original.n_users
    spread = _rows_adding_up_to_one(sparse.csr_array(stands_for * mean))
    value, predicted_on = (
        _on_halves(original, mechanism)
        if later is None and mechanism is not None
        else _on_period(original, later, lambda test: test.kept_by(released.shares, rows, spread))
    )
    return Losses(
        information_loss=_information_loss(original.shares, released.shares, rows, spread, mean),
        totals_error=float(np.abs(shares - reader_shares).sum() / shares.sum()),
        count_totals_error=None if has_shares else float(np.abs(counted - reader).sum() / counted.sum()),
        ranking_error=_ranking_error(popularity[top], shown[top]),
        top_places_missed=_missed(top, popularity, shown),
        n_top=n_top,
        n_users=original.n_users,
        n_users_kept=released.n_users,
        n_places=int(np.count_nonzero(counted)),
        n_places_kept=int(np.count_nonzero(_totals(released.counts))),
        predictive_value=value,
        predicted_on=predicted_on,
    )


def _require_order(original: object, release: object) -> None:
    """Raise `InputError` if the two tables seem to be swapped: the release first, then the original."""
    after = release.histograms if isinstance(release, Release) else release
    is_swapped = (  # no protection makes counts of shares
        isinstance(original, Histograms)
        and isinstance(after, Histograms)
        and holds_shares(original)
        and not holds_shares(after)
    )
    if isinstance(original, Release) or not isinstance(after, Histograms) or is_swapped:
        raise InputError(
            f"measure_losses got a {type(original).__name__} and a {type(release).__name__}, which is not their order",
            why="it compares the original table of counts with the release that was made from it",
            fix="write hp.measure_losses(original, release); read files with hp.read_histograms and hp.read_release",
        )


def _on_period(
    original: Histograms, later: Histograms | HeldOut | None, kept_by: Callable[[HeldOut], float | None]
) -> tuple[float | None, PredictedOn]:
    if later is None:
        return None, "not-measured"
    test = later if isinstance(later, HeldOut) else HeldOut.of(original, later)
    if test.n_users == 0:
        return None, "no-common-users"
    return (kept_by(test), "other-period") if test.is_telling else (None, "no-gain")


def _on_halves(original: Histograms, mechanism: Mechanism) -> tuple[float | None, PredictedOn]:
    if original.counts.data.dtype.kind != "i":
        return None, "counts-not-whole"
    try:
        one, other = halve(original, HALVES_SEED)
        halved = measure_losses(one, mechanism(one), later=other)
    except InputError:  # fewer events have fewer users, perhaps too few for it
        return None, "cannot-be-repeated"
    is_measured = halved.predicted_on == "other-period"
    return halved.predictive_value, "held-out-events" if is_measured else halved.predicted_on


def _stands_for(original: Histograms, released: Histograms, release: Release | Histograms) -> SparseMatrix:
    """Return which original places each released place stands for: ones, released × original places."""
    fine, moved = np.arange(original.n_places), original.places
    for step in release.steps if isinstance(release, Release) else ():
        if step.transformations:
            moved = step.transformations[0].moved(moved)
            fine, moved = fine[moved.is_not_null().to_numpy()], moved.drop_nulls()
    to = positions(moved, released.places)
    is_unknown = np.zeros(released.n_places, np.bool_)
    is_unknown[released.counts.indices] = True
    is_unknown[to[to >= 0]] = False
    unknown = np.flatnonzero(is_unknown)
    if len(unknown):
        raise InputError(
            f"place {first_few(released.places.gather(unknown).to_list())} of the release is not in the original",
            why="a loss compares each place before and after",
            fix="give the release itself, which knows its mapping, and not its histograms alone",
        )
    is_there = to >= 0
    ones = np.ones(int(is_there.sum()))
    return sparse.csr_array((ones, (to[is_there], fine[is_there])), (released.n_places, original.n_places))


def _rows_adding_up_to_one(matrix: SparseMatrix) -> SparseMatrix:
    totals = np.asarray(matrix.sum(axis=1))
    return sparse.csr_array(sparse.diags_array(1 / np.where(totals > 0, totals, 1)) @ matrix)


def _information_loss(
    before: SparseMatrix, after: SparseMatrix, rows: Indices, spread: SparseMatrix, mean: Floats
) -> float | None:
    own = before[rows]
    shown = spread_shares_at(
        after, spread, np.repeat(np.arange(len(rows)), np.diff(own.indptr)), own.indices.astype(np.int64)
    )
    # What is shown where a user was is corrected; all that is shown elsewhere is wrong.
    is_spread = np.asarray(spread.sum(axis=1)).ravel()
    in_all = np.add.reduceat(after.data * is_spread[after.indices], after.indptr[:-1])
    lost = in_all + np.add.reduceat(np.abs(own.data - shown) - shown, own.indptr[:-1])
    from_mean = _distances_from(mean, before)
    is_dropped = np.ones(before.shape[0], np.bool_)
    is_dropped[rows] = False
    lost_in_all, at_most = math.fsum([*lost, *from_mean[is_dropped]]), math.fsum(from_mean)
    # A difference within rounding error is 0.
    lost_in_all, at_most = (0.0 if value < 1e-9 * before.shape[0] else value for value in (lost_in_all, at_most))
    if at_most == 0.0:
        return 0.0 if lost_in_all == 0.0 else None
    return lost_in_all / at_most


def _distances_from(mean: Floats, shares: SparseMatrix) -> Floats:
    """Return ‖Γ − mean‖₁ of each user: 1 where the user is not, corrected where the user is."""
    here = mean[shares.indices]
    corrections = np.abs(shares.data - here) - here
    return np.asarray(mean.sum() + np.add.reduceat(corrections, shares.indptr[:-1]))


def _totals(counts: SparseMatrix) -> Floats:
    return np.bincount(counts.indices, weights=counts.data, minlength=counts.shape[1]).astype(np.float64)


def _ranking_error(popularity: Floats, shown: Floats) -> float:
    """Return the share of pairs that are ranked the other way; where the original has a tie, no pair is."""
    first, second = np.triu_indices(len(popularity), 1)
    order = np.sign(popularity[first] - popularity[second])
    difference = shown[first] - shown[second]
    is_tie = np.abs(difference) <= 1e-9 * np.maximum(shown[first], shown[second])
    wrong = np.where(is_tie, 0.5, (order * difference < 0).astype(np.float64))[order != 0]
    return float(wrong.mean()) if len(wrong) else 0.0


def _missed(top: Indices, popularity: Floats, shown: Floats) -> float:
    """Return the share of the top places that are not top places of the release, beyond the effect of ties.

    Where places of the original tie for the last ranks, even the original itself would rank only some of them.
    """
    return max(0.0, 1.0 - _found_among_top(top, shown) / _found_among_top(top, popularity))


def _found_among_top(top: Indices, shown: Floats) -> float:
    """Return the share of some places that are expected among as many that are shown as the most popular."""
    n = len(top)
    least = np.sort(shown)[-n]
    margin = 1e-9 * least
    n_above, n_at = np.count_nonzero(shown > least + margin), np.count_nonzero(np.abs(shown - least) <= margin)
    # Of places that tie for the last ranks, each is in with the same chance; a place that is not shown is never in.
    chance = 0.0 if least == 0.0 else (n - n_above) / n_at
    is_at = np.abs(shown[top] - least) <= margin
    found = np.where(is_at, chance, shown[top] > least)
    return float(found.mean())
