"""A twin of the paper's web histories: made-up people who visit the sites of a made-up web."""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import polars as pl
from scipy.special import ndtri

from habitprint.arrays import Floats, Indices
from habitprint.errors import InputError, is_whole, require_seed

START = datetime(2011, 3, 7, tzinfo=UTC)  # a Monday; the paper does not say which fortnight it is
N_DAYS = 14
GOLDEN = (5**0.5 - 1) / 2
DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True)
class WebModel:
    """Say how the people of the web twin behave.

    Parameters
    ----------
    visits, visits_spread
        Sessions of the middle user per week, and the spread of the logarithm of that among users.
    pages, pages_spread
        Visits in a row to one site: the middle session's, and the spread of the logarithm.
    habit
        The share of sessions on a user's favourite sites; the others go anywhere.
    n_favourites
        How many favourite sites a user has.
    fall
        The k-th favourite weighs 1/k to this power.
    drift
        How much favourites change from week to week: the coefficient of variation of the factor of each one's weight.
    taste, popularity
        The site of rank r on the web is visited in proportion to 1/(r + head) to the power `popularity`; favourites are drawn with the power
        `taste`.
    head
        How many sites at the top are about equally popular.
    n_sites
        Sites on the web.

    Examples
    --------
    >>> WebModel(habit=0.5).habit
    0.5
    """

    visits: float = 200.0
    visits_spread: float = 1.5
    pages: float = 2.0
    pages_spread: float = 1.0
    habit: float = 0.6
    n_favourites: int = 30
    fall: float = 1.0
    drift: float = 1.5
    taste: float = 1.2
    popularity: float = 0.9
    head: float = 3.0
    n_sites: int = 3_000_000


@dataclass(frozen=True, eq=False)
class WebTwin:
    """Hold made-up web histories.

    Parameters
    ----------
    events
        The visits, ordered by user and time: ``user, time, place``; a place is a site, numbered by its rank on the web.
    n_users, seed, model
        What it was made from.

    Examples
    --------
    >>> web_twin(20, seed=3).source
    'twin of the web histories, 20 users, seed 3 (made up: nobody in it exists)'
    """

    events: pl.DataFrame
    n_users: int
    seed: int
    model: WebModel

    @property
    def source(self) -> str:
        """Return a phrase that says what this is, for whatever is made from it."""
        return f"twin of the web histories, {self.n_users:,} users, seed {self.seed} (made up: nobody in it exists)"


def web_twin(n_users: int = 123, *, seed: int = 0, model: WebModel | None = None) -> WebTwin:
    """Make a twin of the paper's web histories: two weeks of visits to sites.

    The paper's fortnight is the one with the most users active in both weeks, 121 of 472; the twin makes this fortnight only, with a
    few users who turn out not to be active in both weeks. Its parameters are fitted to all published figures at once
    (``docs/twins.md`` says how close they come). Nobody in it exists.

    Parameters
    ----------
    n_users
        The number of users, 0 to n_users − 1; fewer users are the first ones of a larger twin.
    seed
        The same seed gives the same users; another one, others on the same web.
    model
        How they behave; None for the calibrated model.

    Examples
    --------
    >>> twin = web_twin(20)
    >>> twin.events.columns, twin.events["user"].n_unique() <= 20
    (['user', 'time', 'place'], True)
    """
    if not is_whole(n_users) or n_users < 1:
        raise InputError(
            f"a twin of {n_users!r} users",
            why="somebody has to visit the sites",
            fix="use a positive whole number, such as 123",
        )
    require_seed(seed)
    model = model or WebModel()
    return WebTwin(pl.concat([_history(model, user, seed) for user in range(n_users)]), n_users, seed, model)


def _history(model: WebModel, user: int, seed: int) -> pl.DataFrame:
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(user,)))
    # Evenly spread, not drawn: a hundred draws from a distribution this wide would never add up to the same twice.
    level = ndtri((user + 0.5) * GOLDEN % 1)
    rate = model.visits * np.exp(model.visits_spread * level)
    favourites = _sites(model, model.taste, random.random(model.n_favourites))
    weights = 1.0 / np.arange(1, model.n_favourites + 1) ** model.fall
    parts = []
    for week in range(2):
        shape = 1 / model.drift**2
        liking = np.cumsum(weights * random.gamma(shape, 1 / shape, model.n_favourites))
        n = random.poisson(rate)
        site = favourites[np.searchsorted(liking / liking[-1], random.random(n), side="right").clip(max=model.n_favourites - 1)]
        new = random.random(n) >= model.habit
        site[new] = _sites(model, model.popularity, random.random(int(new.sum())))
        pages = np.ceil(model.pages * np.exp(model.pages_spread * random.normal(size=n))).astype(np.int64)
        start = 7 * week + random.integers(0, 7, n) + (15 + 4 * random.normal(size=n)).clip(0, 23.9) / 24
        visit = np.repeat(np.arange(n), pages)
        after = random.exponential(0.01, len(visit))
        time = np.minimum(start[visit] + after, np.floor(start[visit]) + 0.99999)
        parts.append(pl.DataFrame({"user": np.full(len(visit), user), "time": (time * DAY).astype(np.int64), "place": site[visit]}))
    moment = pl.lit(START).cast(pl.Datetime("us", "UTC")) + pl.duration(microseconds="time")
    return pl.concat(parts).with_columns(moment.alias("time")).sort("time", "place")


def _sites(model: WebModel, power: float, draws: Floats) -> Indices:
    """Return the ranks of sites with a density of (rank + head) to the power −power, from draws between 0 and 1."""
    one = 1 - power
    first, last = model.head**one, (model.head + model.n_sites) ** one
    return np.floor((first + draws * (last - first)) ** (1 / one) - model.head).astype(np.int64) + 1
