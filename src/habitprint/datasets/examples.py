"""Small built-in data: the paper's first table, and a synthetic town."""

from pathlib import Path

import numpy as np
import polars as pl
from scipy import sparse

from habitprint.errors import InputError, is_whole, require_seed
from habitprint.histograms import Histograms

# The paper's first table: four students, three places, two days.
PLACES = ["dormitory", "restaurant", "library"]
RELEASED = {"?1": (75, 15, 10), "?2": (31, 30, 39), "?3": (15, 15, 70), "?4": (15, 65, 20)}
KNOWN = {"John": (33, 33, 34), "Jill": (70, 20, 10), "Mary": (15, 60, 25), "Mike": (15, 20, 65)}

# The town.
AUDIT_OF_TOWN = Path(__file__).with_name("audit_of_town.json")  # of ``town(12, 5)``: `habitprint.read_audit` reads it
N_HAUNTS = 5  # places that a person goes back to
EXPLORATION = 0.1  # share of visits to any place of the town
MEAN_VISITS = 25.0  # per person and week; log-normal with this spread of the logarithm
SPREAD_OF_VISITS = 0.7


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


def town(n_users: int = 300, n_places: int = 60, *, seed: int = 0) -> tuple[Histograms, Histograms]:
    """Return the habits of a synthetic town in two weeks: the first released, the second known.

    Each person has a few usual places, popular ones more often than others. The first is home and has the most visits.
    The two weeks are independent samples of the same habits, as the paper assumes. The town contains no real person and
    is not calibrated to any data: use it to try things out.

    Parameters
    ----------
    n_users, n_places
        The size of the town.
    seed
        The same seed gives the same town.

    Examples
    --------
    >>> released, known = town(n_users=40, n_places=20, seed=1)
    >>> released.n_users, known.n_users
    (40, 40)
    """
    if not (is_whole(n_users) and is_whole(n_places)) or min(n_users, n_places) < 1:
        raise InputError(
            f"a town of {n_users} people and {n_places} places",
            why="a town has at least one of each",
            fix="use positive whole numbers",
        )
    require_seed(seed)
    random = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(1, n_places + 1)
    popularity /= popularity.sum()
    weeks: tuple[list[pl.DataFrame], list[pl.DataFrame]] = ([], [])
    for user in range(n_users):
        haunts = random.choice(n_places, min(N_HAUNTS, n_places), replace=False, p=popularity)
        habit = EXPLORATION * popularity
        habit[haunts] += (1 - EXPLORATION) * random.dirichlet(2.0 ** -np.arange(len(haunts)) * 3)
        rate = random.lognormal(np.log(MEAN_VISITS) - SPREAD_OF_VISITS**2 / 2, SPREAD_OF_VISITS)
        for week in weeks:
            counts = random.multinomial(1 + random.poisson(rate), habit)
            here = np.flatnonzero(counts)
            week.append(pl.DataFrame({"user": np.full(len(here), user), "place": here, "count": counts[here]}))
    released, known = (Histograms.from_table(_named(pl.concat(week), n_users, n_places)) for week in weeks)
    return released, known


def _named(week: pl.DataFrame, n_users: int, n_places: int) -> pl.DataFrame:
    def name(column: str, prefix: str, n: int) -> pl.Expr:
        number = pl.col(column).cast(pl.String).str.zfill(len(str(n - 1)))
        return pl.concat_str(pl.lit(prefix), number).alias(column)

    return week.select(name("user", "person-", n_users), name("place", "place-", n_places), "count")
