"""What a protection leaves behind in a table: signs that it is a release, though nothing beside it says so."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from habitprint.histograms import Caution, Histograms
from habitprint.mechanisms.release import holds_shares
from habitprint.mechanisms.top_places import REST
from habitprint.ties import identical_rows
from habitprint.words import counted

TraceCode = Literal["identical-rows", "shares", "merged-place", "multiples", "smallest-count"]
MERGED = frozenset({REST, "all others", "all other", "other places"})  # what places that were made one are called
FEW_PLACES = 3  # rows with fewer are often identical by chance
FEW = 20  # rows or counts: fewer are alike by chance
MANY = 0.5  # of the rows


@dataclass(frozen=True)
class Trace:
    """One sign that a table was protected.

    Parameters
    ----------
    code
        What was seen.
    count
        Rows that are identical to another (``identical-rows``) or add up to one (``shares``), users at a place such as
        "all other places" (``merged-place``), the number that divides every count (``multiples``), or the smallest
        count.
    of
        Of how many rows or counts.

    Examples
    --------
    >>> import habitprint as hp
    >>> looks_protected(hp.round_to(hp.datasets.town(60, 20)[0], 5).histograms)
    (Trace(code='multiples', count=5, of=151),)
    """

    code: TraceCode
    count: int
    of: int


def looks_protected(histograms: Histograms) -> tuple[Trace, ...]:
    """Return the signs that a table was protected before; none for a table of counts as they were.

    Coarser places leave no sign. A table with signs may be an original all the same.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, _ = hp.datasets.town(60, 20)
    >>> protected = hp.microaggregate(released, k=5).histograms
    >>> looks_protected(released), [trace.code for trace in looks_protected(protected)]
    ((), ['identical-rows', 'shares'])
    """
    counts, n_users = histograms.counts, histograms.n_users
    n_places = np.diff(counts.indptr)
    has_company = identical_rows(histograms)[n_places >= FEW_PLACES] > 1
    n_identical, n_rows = int(has_company.sum()), len(has_company)
    found = []
    if n_rows >= FEW and n_identical >= MANY * n_rows:
        found.append(Trace("identical-rows", n_identical, n_rows))
    if holds_shares(histograms):
        found.append(Trace("shares", n_users, n_users))
    merged = [at for at, place in enumerate(histograms.places.to_list()) if str(place).strip().casefold() in MERGED]
    n_merged = int(np.count_nonzero(np.isin(counts.indices, merged)))
    if n_merged:
        found.append(Trace("merged-place", n_merged, n_users))
    if len(counts.data) >= FEW and np.array_equal(counts.data, np.rint(counts.data)):
        base, smallest = int(np.gcd.reduce(counts.data.astype(np.int64))), int(counts.data.min())
        if base > 1:
            found.append(Trace("multiples", base, len(counts.data)))
        elif smallest > 1:
            found.append(Trace("smallest-count", smallest, len(counts.data)))
    return tuple(found)


def trace_cautions(traces: Sequence[Trace]) -> list[Caution]:
    """Say what makes a table look protected, and what that means; nothing where nothing does.

    Examples
    --------
    >>> trace_cautions([Trace("multiples", 5, 151)])[0].words[:92]
    'The released table looks protected, but no .json file beside it says how: every count is a m'
    """
    if not traces:
        return []
    seen = "; ".join(map(_in_words, traces))
    words = (
        f"The released table looks protected, but no .json file beside it says how: {seen}. An attacker may copy what "
        "was done to it; here they do not, so the risk may be higher. If habitprint protect wrote the table, keep its "
        "files together."
    )
    return [Caution(words, is_grave=True)]


def _in_words(trace: Trace) -> str:
    if trace.code == "identical-rows":
        return f"{trace.count:,} of {counted(trace.of, 'row')} with several places are identical to another row"
    if trace.code == "shares":
        return "every row adds up to one"
    if trace.code == "merged-place":
        return f"{trace.count:,} of {counted(trace.of, 'user')} are at a place that stands for all others"
    if trace.code == "multiples":
        return f"every count is a multiple of {trace.count:,}"
    return f"no count is below {trace.count:,}"
