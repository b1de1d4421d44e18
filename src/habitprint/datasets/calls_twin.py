"""A synthetic twin of the paper's call records: customers who call from the antennas of a synthetic country."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache

import numpy as np
import polars as pl

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.datasets.country import Country, CountryModel, make_country
from habitprint.datasets.twin_draws import cumulate, moments, pick, require_users, require_within

START = datetime(2012, 4, 9, tzinfo=UTC)  # Easter Monday; Ivory Coast is on UTC
N_DAYS = 14
MOST_PLACES = 32  # that a customer has, home included
N_NEIGHBOURS = 3  # antennas that a call may be handed over to
BLOCK = 1000  # customers drawn from one stream, so that no customer's calls depend on the number of customers
CALL_GAP = 0.02  # days after the start of a burst, on average, that a call of it is made
# The hours when bursts start: at home in the morning or the evening, at other places by day. (No figure depends on it.)
MORNING, EVENING, MIDDAY = 7.5, 20.0, 13.5


@dataclass(frozen=True)
class CallsModel:
    """The behaviour of the customers of the synthetic calls.

    The defaults are the calibrated values (``docs/twins.md``).

    Parameters
    ----------
    calls_per_day
        Calls of the average customer on an ordinary day.
    rate_spread
        The spread of the logarithm of a customer's rate of calls, which is normal: few call very often, some hardly
        ever.
    burst
        The mean length of a burst of calls from one place (geometric).
    holiday
        Calls on Easter Monday, 9 April, as a share of an ordinary day's.
    quiet_day
        The same for Tuesday, 10 April.
    n_others, mobility_spread
        The mean number of places other than home, and its spread. The number is Poisson around each customer's own
        mean, and the logarithm of that mean is normal with this spread.
    home
        The weight of home relative to the first of the other places.
    fall
        The k-th of the other places weighs 1/k to this power.
    evenness
        The similarity of customers' habits: weights are multiplied by gamma draws of this shape.
    reach_km, far
        Customers go to an antenna d away from home in proportion to its popularity / (1 + d / reach_km)**far.
    hand_over, hand_over_km
        The share of calls that one of the three nearest antennas takes, if it is no farther than this.
    drift
        The change of habits from week to week: the coefficient of variation of the factor of each place's weight.
    home_drift
        The same for the time at home, in addition: the spread of the logarithm of a factor of home's weight.
    one_offs
        The share of bursts from a place outside the habits, drawn like the other places.
    country
        The country where they live.

    Examples
    --------
    >>> CallsModel(burst=1.0).burst
    1.0
    """

    calls_per_day: float = 7.2
    rate_spread: float = 1.22
    burst: float = 2.0
    holiday: float = 1.0
    quiet_day: float = 0.25
    n_others: float = 3.6
    mobility_spread: float = 1.24
    home: float = 6.3
    fall: float = 0.6
    evenness: float = 1.0
    reach_km: float = 3.1
    far: float = 2.48
    hand_over: float = 0.28
    hand_over_km: float = 2.0
    drift: float = 0.43
    home_drift: float = 0.6
    one_offs: float = 0.083
    country: CountryModel = field(default_factory=CountryModel)

    def __post_init__(self) -> None:
        tiny, large = 1e-6, 1e6
        require_within(
            self,
            {
                "calls_per_day": (tiny, large), "rate_spread": (0, 10), "burst": (1, large),
                "holiday": (0, 100), "quiet_day": (0, 100), "n_others": (0, large), "mobility_spread": (0, 10),
                "home": (tiny, large), "fall": (0, 100), "evenness": (tiny, large), "reach_km": (tiny, large),
                "far": (0, 100), "hand_over": (0, 1), "hand_over_km": (0, large), "drift": (0, 100),
                "home_drift": (0, 10), "one_offs": (0, 1),
            },
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class CallsTwin:
    """Synthetic call records and their antennas.

    Parameters
    ----------
    events
        The calls, ordered by user and time: ``user, time, place``; a place is an antenna.
    antennas
        ``place, lat, lon, sub_prefecture``.
    n_users, seed, model
        The arguments that it was made from.

    Examples
    --------
    >>> calls_twin(1_000, seed=3).source
    'twin of the calls, 1,000 customers, seed 3 (made up: nobody in it exists)'
    """

    events: pl.DataFrame
    antennas: pl.DataFrame
    n_users: int
    seed: int
    model: CallsModel

    @property
    def source(self) -> str:
        """Return a phrase that describes this data set, for the label of every result."""
        return calls_twin_words(self.n_users, self.seed)


def calls_twin_words(n_users: int, seed: int) -> str:
    """Return a phrase that describes a synthetic twin before it is made.

    Examples
    --------
    >>> calls_twin_words(50_000, 0)
    'twin of the calls, 50,000 customers, seed 0 (made up: nobody in it exists)'
    """
    return f"twin of the calls, {n_users:,} customers, seed {seed} (made up: nobody in it exists)"


def calls_twin(n_users: int = 50_000, *, seed: int = 0, model: CallsModel | None = None) -> CallsTwin:
    """Make a synthetic twin of the paper's call records: two weeks of calls, 9 to 22 April 2012.

    The records themselves are not available. The twin is drawn from a model of people. Its parameters are fitted
    jointly to all published figures (``docs/twins.md`` shows the errors). It contains no real person.

    A smaller twin is the first customers of the full one: a random sample of the same people, in the same country with
    all its antennas. Customers who happen not to call at all have no row, as in real records.

    Parameters
    ----------
    n_users
        The number of customers, 0 to n_users − 1.
    seed
        The same seed gives the same customers; another seed gives others in the same country.
    model
        The model of their behaviour; None for the calibrated one.

    Examples
    --------
    >>> twin = calls_twin(200)
    >>> twin.events.columns, twin.antennas.height
    (['user', 'time', 'place'], 1237)
    >>> twin.events["time"].min().date().isoformat(), twin.events["time"].max().date().isoformat()
    ('2012-04-09', '2012-04-22')
    """
    require_users(n_users, seed)
    model = model or CallsModel()
    world = _make_world(model)
    blocks = [_block(world, first, n_users, seed) for first in range(0, n_users, BLOCK)]
    return CallsTwin(pl.concat(blocks), world.country.antennas, n_users, seed, model)


@dataclass(frozen=True, eq=False)
class _World:
    model: CallsModel
    country: Country
    likely: Floats  # where customers go, by home: `cumulate`
    neighbours: Indices  # antennas × N_NEIGHBOURS; itself where none is near enough


@lru_cache(maxsize=2)
def _make_world(model: CallsModel) -> _World:
    country = make_country(model.country)
    apart = country.distances()
    return _World(model, country, _likely_places(model, country, apart), _neighbours(model, country, apart))


def _likely_places(model: CallsModel, country: Country, apart: Floats) -> Floats:
    near: Floats = country.popularity / (1 + apart / model.reach_km) ** model.far
    np.fill_diagonal(near, 0.0)
    return cumulate(near)


def _neighbours(model: CallsModel, country: Country, apart: Floats) -> Indices:
    itself = np.arange(len(apart))[:, None]
    serves = np.flatnonzero(country.popularity)
    away = np.where(serves == itself, np.inf, apart[:, serves])
    near = np.argpartition(away, N_NEIGHBOURS, axis=1)[:, :N_NEIGHBOURS]
    return np.where(away[itself, near] <= model.hand_over_km, serves[near], itself)


def _block(world: _World, first: int, n_users: int, seed: int) -> pl.DataFrame:
    """Return the calls of a block of customers. All of them are drawn, even if not all of them are wanted."""
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(first // BLOCK,)))
    own = _own_places(world, random)
    habits = _habits(world.model, random)
    user, day = _bursts(world.model, random)
    week = day // 7
    which = pick(habits, week * BLOCK + user, MOST_PLACES, random)
    start = _times_of_day(which == 0, random)
    place = _with_one_offs(world, own[user, 0], own[user, which], random)
    burst = np.repeat(np.arange(len(user)), random.geometric(1 / world.model.burst, len(user)))
    place = _handed_over(world, place[burst], random)
    time = start[burst] + random.exponential(CALL_GAP, len(burst))
    calls = pl.DataFrame({"user": first + user[burst], "time": moments(START, day[burst], time), "place": place + 1})
    return calls.filter(pl.col("user") < n_users).sort("user", "time", "place")


def _own_places(world: _World, random: np.random.Generator) -> Indices:
    """Return the antennas of each customer, home first."""
    popularity = world.country.popularity
    home = random.choice(len(popularity), BLOCK, p=popularity)
    homes = np.broadcast_to(home[:, None], (BLOCK, MOST_PLACES - 1))
    return np.column_stack([home, pick(world.likely, homes, len(popularity), random)])


def _habits(model: CallsModel, random: np.random.Generator) -> Floats:
    """Return how customers share out their bursts over their places: `cumulate`, first week, then second."""
    typical = np.concatenate([[model.home], 1.0 / np.arange(1, MOST_PLACES) ** model.fall])
    weights = typical * random.gamma(model.evenness, 1 / model.evenness, (BLOCK, MOST_PLACES))
    mobility = random.normal(size=BLOCK) * model.mobility_spread - model.mobility_spread**2 / 2
    n_others = random.poisson(model.n_others * np.exp(mobility))
    weights[np.arange(MOST_PLACES) > n_others[:, None]] = 0.0
    weeks = np.stack([weights, weights])
    if model.drift > 0:
        weeks *= random.gamma(1 / model.drift**2, model.drift**2, weeks.shape)
    weeks[:, :, 0] *= np.exp(random.normal(size=(2, BLOCK)) * model.home_drift)
    weeks[:, :, 0] += 1e-9  # a customer whose weights all vanish stays at home
    return cumulate(weeks.reshape(2 * BLOCK, MOST_PLACES))


def _bursts(model: CallsModel, random: np.random.Generator) -> tuple[Indices, Indices]:
    """Return the customer and the day of each burst of calls."""
    spread = random.normal(size=BLOCK) * model.rate_spread - model.rate_spread**2 / 2
    rates = model.calls_per_day * np.exp(spread) / model.burst
    days = np.array([model.holiday, model.quiet_day] + [1.0] * (N_DAYS - 2))
    n_bursts = random.poisson(rates[:, None] * days)
    user, day = np.indices(n_bursts.shape)
    return np.repeat(user, n_bursts.ravel()), np.repeat(day, n_bursts.ravel())


def _with_one_offs(world: _World, home: Indices, place: Indices, random: np.random.Generator) -> Indices:
    is_new = random.random(len(place)) < world.model.one_offs
    return np.where(is_new, pick(world.likely, home, len(world.neighbours), random), place)


def _handed_over(world: _World, place: Indices, random: np.random.Generator) -> Indices:
    is_moved = random.random(len(place)) < world.model.hand_over
    return np.where(is_moved, world.neighbours[place, random.integers(0, N_NEIGHBOURS, len(place))], place)


def _times_of_day(is_home: Booleans, random: np.random.Generator) -> Floats:
    at_home = np.where(random.random(len(is_home)) < 0.35, MORNING, EVENING)  # noqa: PLR2004
    hours = np.where(is_home, at_home, MIDDAY)
    return (hours + random.normal(size=len(is_home)) * np.where(is_home, 1.5, 3.0)).clip(0, 23.9) / 24
