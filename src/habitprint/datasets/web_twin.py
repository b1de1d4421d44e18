"""A synthetic twin of the paper's web histories: synthetic people who visit the sites of a synthetic web."""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import polars as pl
from scipy.special import ndtri

from habitprint.arrays import Floats, Indices
from habitprint.datasets.twin_draws import cumulate, moments, pick, require_counts, require_users, require_within
from habitprint.errors import InputError

START = datetime(2011, 3, 7, tzinfo=UTC)  # a Monday; the paper does not say which fortnight it is
PAGE_GAP = 0.01  # days after the start of a session, on average, that a page of it is visited
GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True)
class WebModel:
    """The behaviour of the people of the synthetic web histories.

    The defaults are the calibrated values (``docs/twins.md``).

    Parameters
    ----------
    sessions, sessions_spread
        Sessions per week of the median user, and the spread of their logarithm among users.
    pages, pages_spread
        Visits in a row to one site in the median session, and the spread of their logarithm.
    habit
        The share of sessions on a user's favourite sites; the others go anywhere.
    n_favourites
        The number of favourite sites of a user.
    fall
        The k-th favourite weighs 1/k to this power.
    drift
        The change of favourites from week to week: the coefficient of variation of the factor of each one's weight.
    popularity, head
        Sessions that go anywhere find the site of rank r in proportion to 1/(r + head)**popularity; not 1.
    taste
        The same for favourites, with this power: larger, because people share their favourites more than their finds.
    n_sites
        Sites on the web.

    Examples
    --------
    >>> WebModel(habit=0.5).habit
    0.5
    """

    sessions: float = 250.0
    sessions_spread: float = 1.78
    pages: float = 2.08
    pages_spread: float = 1.3
    habit: float = 0.614
    n_favourites: int = 42
    fall: float = 1.46
    drift: float = 0.99
    popularity: float = 0.847
    taste: float = 1.37
    head: float = 7.0
    n_sites: int = 22_000_000

    def __post_init__(self) -> None:
        tiny, large = 1e-6, 1e6
        require_within(
            self,
            {
                "sessions": (tiny, large), "sessions_spread": (0, 10), "pages": (tiny, large), "pages_spread": (0, 5),
                "habit": (0, 1), "fall": (0, 100), "drift": (0, 100),
                "popularity": (0, 10), "taste": (0, 10), "head": (tiny, large),
            },
        )  # fmt: skip
        require_counts(self, {"n_favourites": 1, "n_sites": 1})
        for name in ("popularity", "taste"):
            if getattr(self, name) == 1:
                raise InputError(
                    f"{name}=1 makes no sense in a WebModel",
                    why="the ranks of sites are drawn with a formula that divides by 1 − the power",
                    fix="use 0.999 or 1.001",
                )


@dataclass(frozen=True, eq=False)
class WebTwin:
    """Synthetic web histories.

    Parameters
    ----------
    events
        The visits, ordered by user and time: ``user, time, place``; a place is a site, numbered by its rank on the web.
    n_users, seed, model
        The arguments that it was made from.

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
        """Return a phrase that describes this data set, for the label of every result."""
        return web_twin_words(self.n_users, self.seed)


def web_twin_words(n_users: int, seed: int) -> str:
    """Return a phrase that describes a synthetic twin before it is made.

    Examples
    --------
    >>> web_twin_words(122, 0)
    'twin of the web histories, 122 users, seed 0 (made up: nobody in it exists)'
    """
    return f"twin of the web histories, {n_users:,} users, seed {seed} (made up: nobody in it exists)"


def web_twin(n_users: int = 122, *, seed: int = 0, model: WebModel | None = None) -> WebTwin:
    """Make a synthetic twin of the paper's web histories: two weeks of visits to sites.

    The histories themselves are not available. The paper takes the fortnight with the most users active in both weeks,
    121 of 472; the twin is of this fortnight only, and now and then one of its users is not active in both weeks. Its
    parameters are fitted jointly to all published figures (``docs/twins.md`` shows the errors). It contains no real
    person.

    Parameters
    ----------
    n_users
        The number of users, 0 to n_users − 1; fewer users are the first ones of a larger twin.
    seed
        The same seed gives the same users; another seed gives others on the same web.
    model
        The model of their behaviour; None for the calibrated one.

    Examples
    --------
    >>> twin = web_twin(20)
    >>> twin.events.columns, twin.events["user"].n_unique() <= 20
    (['user', 'time', 'place'], True)
    """
    require_users(n_users, seed)
    model = model or WebModel()
    return WebTwin(pl.concat([_history(model, user, seed) for user in range(n_users)]), n_users, seed, model)


def _history(model: WebModel, user: int, seed: int) -> pl.DataFrame:
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(user,)))
    # Levels of activity are spread evenly, not drawn: a hundred draws from so wide a distribution would never add up to
    # the same twice.
    level = ndtri((user + 0.5) * GOLDEN % 1)
    rate = model.sessions * np.exp(model.sessions_spread * level)
    favourites = _sites(model, model.taste, random.random(model.n_favourites))
    week = np.repeat([0, 1], random.poisson(rate, 2))
    which = pick(_liking(model, random), week, model.n_favourites, random)
    found = _sites(model, model.popularity, random.random(len(week)))
    site = np.where(random.random(len(week)) < model.habit, favourites[which], found)
    pages = np.ceil(model.pages * np.exp(model.pages_spread * random.normal(size=len(week)))).astype(np.int64)
    day = 7 * week + random.integers(0, 7, len(week))
    start = (15 + 4 * random.normal(size=len(week))).clip(0, 23.9) / 24
    session = np.repeat(np.arange(len(week)), pages)
    time = start[session] + random.exponential(PAGE_GAP, len(session))
    times = moments(START, day[session], time)
    visits = pl.DataFrame({"user": np.full(len(session), user), "time": times, "place": site[session]})
    return visits.sort("time", "place")


def _liking(model: WebModel, random: np.random.Generator) -> Floats:
    """Return how a user shares out sessions over the favourites in each week: `cumulate`."""
    weights = np.tile(1.0 / np.arange(1, model.n_favourites + 1, dtype=np.float64) ** model.fall, (2, 1))
    if model.drift > 0:
        weights *= random.gamma(1 / model.drift**2, model.drift**2, weights.shape)
    weights[:, 0] += 1e-9  # so that a user whose weights all vanish keeps one
    return cumulate(weights)


def _sites(model: WebModel, power: float, draws: Floats) -> Indices:
    """Return the ranks of sites with a density of (rank + head)**−power, from draws between 0 and 1."""
    one = 1 - power
    first, last = model.head**one, (model.head + model.n_sites) ** one
    rank: Indices = np.floor((first + draws * (last - first)) ** (1 / one) - model.head).astype(np.int64)
    return np.clip(rank, 0, model.n_sites - 1) + 1
