"""A part of a release that is too dense to be attacked as a whole."""

from dataclasses import dataclass

import numpy as np

from habitprint.errors import InputError, is_whole, require_seed
from habitprint.histograms import Histograms
from habitprint.mechanisms.release import Release

MOST_COUNTS = 5_000_000  # a release with more is not sparse: its matching would visit most pairs at many places


@dataclass(frozen=True)
class Sample:
    """Hold the part of a release that is attacked, and say that it is one.

    Parameters
    ----------
    histograms
        The users drawn; all of them where that is possible.
    n_users
        The users of the release.
    seed
        The same seed draws the same users.

    Examples
    --------
    >>> sample_to_attack(Histograms.from_strings({1: "a", 2: "b"}), most_counts=1).histograms.n_users
    1
    """

    histograms: Histograms
    n_users: int
    seed: int

    @property
    def words(self) -> str:
        """Return it as a sentence.

        Examples
        --------
        >>> sample_to_attack(Histograms.from_strings({1: "a", 2: "b"})).words
        'all 2 users are attacked'
        """
        n = self.histograms.n_users
        if n == self.n_users:
            return "the only user is attacked" if n == 1 else f"all {n:,} users are attacked"
        verb = "is" if n == 1 else "are"
        return f"a random {n:,} of {self.n_users:,} users {verb} attacked (seed {self.seed}): the table is not sparse"


def sample_to_attack(source: Release | Histograms, *, most_counts: int = MOST_COUNTS, seed: int = 0) -> Sample:
    """Return as many users of a release as an attack can handle: all, if it is sparse.

    The adversary keeps all that he knows. Fewer released users against the same known ones are a little harder to
    match jointly, so the accuracy on a sample is a lower bound in tendency; say that it is a sample.

    Parameters
    ----------
    source
        The release.
    most_counts
        How many counts above zero the part may have.
    seed
        Draws the users.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(60, 20)
    >>> hp.sample_to_attack(released, most_counts=100).words
    'a random 19 of 60 users are attacked (seed 0): the table is not sparse'
    """
    require_seed(seed)
    if not is_whole(most_counts) or most_counts < 1:
        raise InputError(
            f"most_counts = {most_counts!r}",
            why="at least one count is needed to attack anybody",
            fix="use a positive whole number",
        )
    histograms = (source.histograms if isinstance(source, Release) else source).in_order()
    order = np.random.default_rng(seed).permutation(histograms.n_users)
    n_counts = np.cumsum(np.diff(histograms.counts.indptr)[order])
    n_drawn = max(1, int(np.searchsorted(n_counts, most_counts, side="right")))
    if n_drawn == histograms.n_users:
        return Sample(histograms, histograms.n_users, seed)
    rows = np.sort(order[:n_drawn])
    part = Histograms(histograms.counts[rows], histograms.users.gather(rows), histograms.places)
    return Sample(part, histograms.n_users, seed)
