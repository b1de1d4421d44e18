"""What protection costs: how far a release is from the original, on the original's own places."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse

from habitprint.arrays import Floats, Indices, SparseMatrix
from habitprint.errors import InputError, first_few, require_whole
from habitprint.histograms import Histograms
from habitprint.ids import positions
from habitprint.mechanisms import Release
from habitprint.mechanisms.owner import Losses
from habitprint.mechanisms.release import holds_shares
from habitprint.words import percent

ROWS = 2_000  # users at a time: a coarse place may stand for all the others
TOP = 20  # places whose ranking is compared
ALMOST_ALL = 0.9  # of what there is to lose
ROUNDING = 1e-9

Purpose = Literal["totals", "ranking", "patterns", "people"]


@dataclass(frozen=True)
class Scale:
    """Hold what a release may be for, by which loss that is measured, and how this loss is said.

    Parameters
    ----------
    kept
        What is to be kept, to name a row.
    name
        Of the loss.
    meaning
        What the loss is, as a sentence.
    ends
        What its least and its most mean.
    worst
        The loss at which nothing is left for this purpose; it may be exceeded.
    is_share
        Whether it is said as a percentage.
    read
        Where it stands among the losses.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, _ = hp.datasets.town(60, 20)
    >>> losses = hp.measure_losses(released, hp.microaggregate(released, k=20))
    >>> [scale.said(scale.of(losses)) for scale in SCALES.values()]
    ['totals error 0%', 'ranking error 0%', 'information loss 0.86', 'share of people left out 0%']
    """

    kept: str
    name: str
    meaning: str
    ends: str
    worst: float
    is_share: bool
    read: Callable[[Losses], float | None]

    def of(self, losses: Losses) -> float | None:
        """Return the loss; None where it is not defined. What is no more than rounding is nothing."""
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

    def leaves_little(self, loss: float) -> bool:
        """Return whether little is left for this purpose."""
        return loss >= ALMOST_ALL * self.worst


# The purposes, in the order in which they are shown.
SCALES: dict[Purpose, Scale] = {
    "totals": Scale(
        "totals of places",
        "totals error",
        "how far the totals per place are from the original ones, as a share of these, every person counting once",
        "0%: they are exact, 100%: as wrong as if none were told",
        1.0,
        is_share=True,
        read=lambda losses: losses.totals_error,
    ),
    "ranking": Scale(
        "ranking of places",
        "ranking error",
        f"of all pairs of the {TOP} most popular places, the share that is ranked the other way round; a tie counts "
        "half",
        "0%: the order is the same, 50%: any order would do",
        0.5,
        is_share=True,
        read=lambda losses: losses.ranking_error,
    ),
    "patterns": Scale(
        "patterns of each person",
        "information loss",
        "how far everybody’s histogram is from the original one, where the mean of all is 1 away; noise, or leaving "
        "places out, can exceed 1",
        "0: nothing is lost, 1: everybody looks the same",
        1.0,
        is_share=False,
        read=lambda losses: losses.information_loss,
    ),
    "people": Scale(
        "people in the table",
        "share of people left out",
        "how many of the people have no row any more",
        "0%: nobody is left out, 100%: everybody is",
        1.0,
        is_share=True,
        read=lambda losses: 1 - losses.n_users_kept / losses.n_users,
    ),
}


def measure_losses(original: Histograms, release: Release | Histograms, *, n_top: int = TOP) -> Losses:
    """Measure what a release has lost, on the original's own places.

    The paper's L (its normalised information loss) is Σ ‖Γ − Γ̃‖₁ / Σ ‖Γ − mean‖₁ over all users, with 0/0 = 0. A
    share at a coarse place is spread over the places that it stands for, in proportion to their total shares, so that
    one coarse place for all costs 1, like one group of all users. A user who was dropped counts as the mean.

    Totals and rankings are what a reader of the release can make of it: he can only spread a coarse place evenly, and
    knows nothing of users who were dropped.

    Parameters
    ----------
    original
        The histograms before any protection.
    release
        What is released, with the same user ids: measure before giving out pseudonyms.
    n_top
        How many of the most popular places to compare.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, _ = hp.datasets.town(60, 20)
    >>> losses = hp.measure_losses(released, hp.microaggregate(released, k=60))
    >>> losses.information_loss, losses.totals_error < 1e-12
    (1.0, True)
    """
    why, fix = "rankings are compared on at least one place", "use a positive whole number, such as 20"
    require_whole("n_top", n_top, 1, why, fix)
    original = original.in_order()
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
    return Losses(
        information_loss=_information_loss(original.shares, released.shares, rows, stands_for, shares),
        totals_error=float(np.abs(shares - reader_shares).sum() / shares.sum()),
        count_totals_error=None if has_shares else float(np.abs(counted - reader).sum() / counted.sum()),
        ranking_error=_ranking_error(popularity[top], shown[top]),
        top_places_missed=_missed(top, popularity, shown),
        n_top=n_top,
        n_users=original.n_users,
        n_users_kept=released.n_users,
        n_places=int(np.count_nonzero(counted)),
        n_places_kept=int(np.count_nonzero(_totals(released.counts))),
    )


def _stands_for(original: Histograms, released: Histograms, release: Release | Histograms) -> SparseMatrix:
    """Return which original places each released place stands for: ones, released × original places."""
    fine, moved = np.arange(original.n_places), original.places
    for step in release.steps if isinstance(release, Release) else ():
        if step.copied is not None:
            moved = step.copied.moved(moved)
            fine, moved = fine[moved.is_not_null().to_numpy()], moved.drop_nulls()
    to = positions(moved, released.places)
    unknown = np.setdiff1d(np.unique(released.counts.indices), to)
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
    before: SparseMatrix, after: SparseMatrix, rows: Indices, stands_for: SparseMatrix, totals: Floats
) -> float | None:
    mean = totals / before.shape[0]
    spread = _rows_adding_up_to_one(sparse.csr_array(stands_for * mean))
    lost = []
    for first in range(0, len(rows), ROWS):
        block = slice(first, first + ROWS)
        difference = before[rows[block]] - after[block] @ spread
        lost.append(float(np.abs(difference.data).sum()))
    from_mean = _distances_from(mean, before)
    is_dropped = np.ones(before.shape[0], np.bool_)
    is_dropped[rows] = False
    lost_in_all, at_most = math.fsum([*lost, *from_mean[is_dropped]]), math.fsum(from_mean)
    # What is no more than rounding is nothing.
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
    """Return the share of the top places that are not among as many of the release, beyond what ties would cost anyway.

    Where places of the original tie for the last ranks, even the original itself would find only some of those taken.
    """
    return max(0.0, 1.0 - _found_among_top(top, shown) / _found_among_top(top, popularity))


def _found_among_top(top: Indices, shown: Floats) -> float:
    """Return the share of some places that are expected among as many that are shown as the most popular."""
    n = len(top)
    least = np.sort(shown)[-n]
    margin = 1e-9 * least
    n_above, n_at = np.count_nonzero(shown > least + margin), np.count_nonzero(np.abs(shown - least) <= margin)
    # Of those that tie for the last ranks, each is in with the same chance; nobody is in who is not shown at all.
    chance = 0.0 if least == 0.0 else (n - n_above) / n_at
    is_at = np.abs(shown[top] - least) <= margin
    found = np.where(is_at, chance, shown[top] > least)
    return float(found.mean())
