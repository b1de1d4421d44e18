"""The paper's first table: four students, three places, two days."""

import numpy as np
import polars as pl
from scipy import sparse

from habitprint.histograms import Histograms

PLACES = ["dormitory", "restaurant", "library"]
RELEASED = {"?1": (75, 15, 10), "?2": (31, 30, 39), "?3": (15, 15, 70), "?4": (15, 65, 20)}
KNOWN = {"John": (33, 33, 34), "Jill": (70, 20, 10), "Mary": (15, 60, 25), "Mike": (15, 20, 65)}


def illustration() -> tuple[Histograms, Histograms]:
    """Return the released and the known histograms of the paper's first table, in percent.

    Examples
    --------
    >>> released, known = illustration()
    >>> released.n_users, known.users.to_list(), known.places.to_list()
    (4, ['Jill', 'John', 'Mary', 'Mike'], ['dormitory', 'library', 'restaurant'])
    """
    return _habits(RELEASED), _habits(KNOWN)


def _habits(rows: dict[str, tuple[int, int, int]]) -> Histograms:
    counts = sparse.csr_array(np.array(list(rows.values())))
    return Histograms(counts, pl.Series(list(rows)), pl.Series(PLACES)).in_order()
