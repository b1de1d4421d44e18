"""Traces of a protection in a table: signs that it is a release, even without a file beside it."""

import numpy as np

from habitprint.checks import Finding
from habitprint.histograms import Histograms
from habitprint.mechanisms.groups.microaggregation import Microaggregate
from habitprint.mechanisms.release import Release, holds_shares
from habitprint.mechanisms.top_places import REST

MERGED = frozenset({REST, "all others", "all other", "other places"})  # the name of places that were put together
FEW_PLACES = 3  # rows with fewer are often identical by chance
FEW = 20  # rows or counts: fewer are identical by chance
MANY = 0.5  # of the rows


def looks_protected(histograms: Histograms) -> tuple[Finding, ...]:
    """Return the signs that a table was protected before; none for a table of counts as they were.

    Coarser places leave no sign. A table with signs may be an original all the same.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, _ = hp.datasets.town(60, 20)
    >>> protected = hp.microaggregate(released, k=5).histograms
    >>> looks_protected(released), [found.code for found in looks_protected(protected)]
    ((), ['identical-rows', 'shares-not-counts'])
    """
    counts, n_users = histograms.counts, histograms.n_users
    n_places = np.diff(counts.indptr)
    has_company = histograms.identical_rows[n_places >= FEW_PLACES] > 1
    n_identical, n_rows = int(has_company.sum()), len(has_company)
    found = []
    if n_rows >= FEW and n_identical >= MANY * n_rows:
        found.append(Finding("identical-rows", "changes-answer", n_identical, n_rows))
    if holds_shares(histograms):
        found.append(Finding("shares-not-counts", "changes-answer", n_users, n_users))
    merged = [at for at, place in enumerate(histograms.places.to_list()) if str(place).strip().casefold() in MERGED]
    n_merged = int(np.count_nonzero(np.isin(counts.indices, merged)))
    if n_merged:
        found.append(Finding("merged-place", "changes-answer", n_merged, n_users))
    if len(counts.data) >= FEW and np.array_equal(counts.data, np.rint(counts.data)):
        base, smallest = int(np.gcd.reduce(counts.data.astype(np.int64))), int(counts.data.min())
        if base > 1:
            found.append(Finding("multiples", "changes-answer", base, len(counts.data)))
        elif smallest > 1:
            found.append(Finding("no-small-counts", "changes-answer", smallest, len(counts.data)))
    return tuple(found)


def is_grouped(release: Release) -> bool:
    """Return whether rows are published for groups: a step says so, or every row of shares has identical ones.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, _ = hp.datasets.town(60, 20)
    >>> is_grouped(hp.microaggregate(released, k=5)), is_grouped(hp.Release(released))
    (True, False)
    """
    if any(isinstance(step.mechanism, Microaggregate) for step in release.steps):
        return True
    return holds_shares(release.histograms) and bool(release.histograms.identical_rows.min() > 1)
