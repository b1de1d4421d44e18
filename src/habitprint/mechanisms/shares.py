"""Release shares instead of counts."""

from typing import ClassVar

from habitprint.arguments import AnyTable
from habitprint.histograms import Histograms
from habitprint.mechanisms.guarantees import EqualTotals
from habitprint.mechanisms.release import Mechanism, Outcome, Release, holds_shares
from habitprint.progress import Progress


class ReleaseShares(Mechanism, frozen=True):
    """Divide each row by its total, so that totals are not stated.

    Rows that were identical stay so, to the last bit, and rows in equal proportion become identical. Shares stay
    unchanged. A row of few events still shows its total: 1/7 is one of seven, or two of fourteen (`totals_exposure`
    counts such people). A group does not show the total of a member (`Microaggregate`).

    Examples
    --------
    >>> release = ReleaseShares()(Histograms.from_strings({"Jill": "aaab", "Mike": "bb"}))
    >>> release.histograms.to_table().rows(), release.guarantees
    ([('Jill', 'a', 0.75), ('Jill', 'b', 0.25), ('Mike', 'b', 1.0)], (EqualTotals(),))
    """

    makes_shares: ClassVar[bool] = True

    @property
    def words(self) -> str:
        """Return a sentence about the mechanism."""
        return "divided each row by its total"

    def apply(self, before: Release, progress: Progress) -> Outcome:
        """Divide by the totals."""
        del progress  # there is nothing to wait for
        histograms = before.histograms
        if not holds_shares(histograms):
            histograms = Histograms(histograms.shares, histograms.users, histograms.places)
        return Outcome(histograms, (EqualTotals(),))


def release_shares(source: Histograms | Release | AnyTable) -> Release:
    """Release shares instead of counts; see `ReleaseShares`.

    Examples
    --------
    >>> release_shares(Histograms.from_strings({"Jill": "aaab"})).histograms.totals.tolist()
    [1.0]
    """
    return ReleaseShares()(source)
