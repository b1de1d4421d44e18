"""Fresh random ids for a release, and the key to them."""

import secrets
from typing import ClassVar

import polars as pl

from habitprint.arguments import AnyTable
from habitprint.histograms import Histograms
from habitprint.mechanisms.release import Mechanism, Release, Step, as_release
from habitprint.progress import Progress, silent

N_BYTES = 8  # of an id: two of a million users get the same with probability 3e-8, and then another is drawn


class Pseudonymise(Mechanism, frozen=True):
    """Fresh random ids, without a seed; `pseudonymise` returns their key too.

    Examples
    --------
    >>> Pseudonymise()(Histograms.from_strings({"Jill": "aab"})).has_fresh_ids
    True
    """

    gives_fresh_ids: ClassVar[bool] = True

    def __call__(self, source: Histograms | Release | AnyTable, *, progress: Progress = silent) -> Release:
        """Return the release; the key is discarded."""
        del progress  # there is nothing to wait for
        return pseudonymise(source)[0]


def pseudonymise(source: Histograms | Release | AnyTable) -> tuple[Release, pl.DataFrame]:
    """Give every user a fresh random id, and order the rows by it, so that neither tells anything.

    The ids come from the system's secure source. They have no seed: every run gives others.

    Returns
    -------
    tuple
        The release, and its key: a table ``released, known`` of the new ids and the old ones. Keep it apart; it is
        also a truth for `evaluate`.

    Examples
    --------
    >>> import habitprint as hp
    >>> release, key = pseudonymise(hp.Histograms.from_strings({"Jill": "aab", "Mike": "b"}))
    >>> release.histograms.users.to_list() == sorted(key["released"]), sorted(key["known"])
    (True, ['Jill', 'Mike'])
    """
    before = as_release(source)
    histograms = before.histograms
    drawn: set[str] = set()
    while len(drawn) < histograms.n_users:
        drawn.add(secrets.token_hex(N_BYTES))
    # A set has an order of its own, which must not decide who gets which id.
    fresh = sorted(drawn)
    secrets.SystemRandom().shuffle(fresh)
    key = pl.DataFrame({"released": fresh, "known": histograms.users}).sort("released")
    renamed = Histograms(histograms.counts, pl.Series(fresh), histograms.places).in_order()
    steps = (*before.steps, Step(Pseudonymise()))
    return Release(renamed, steps, before.guarantees, before.promised), key
