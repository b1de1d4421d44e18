"""A twin of the paper's call records: made-up customers who call from the antennas of a made-up country."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np
import polars as pl

from habitprint.arrays import Floats, Indices
from habitprint.datasets.country import Country, CountryModel, make_country
from habitprint.errors import InputError, is_whole, require_seed

START = datetime(2012, 4, 9, tzinfo=UTC)  # Easter Monday; Ivory Coast is on UTC
N_DAYS = 14
QUIET_DAY = 1  # Tuesday 10 April
MOST_PLACES = 32  # that a customer has, home included
N_NEIGHBOURS = 3  # antennas that a call may be handed over to
BLOCK = 1000  # customers drawn from one stream, so that nobody's calls depend on how many customers there are
DAY = 86_400_000_000  # microseconds


@dataclass(frozen=True)
class CallsModel:
    """Say how the customers of the calls twin behave.

    Parameters
    ----------
    calls_per_day
        Of the average customer, on an ordinary day.
    rate_spread
        Of the logarithm of a customer's rate of calls, which is normal: few call very often, some hardly ever.
    burst
        Calls come in bursts from one place; their mean length (geometric).
    holiday
        Calls on Easter Monday, 9 April, as a share of an ordinary day's.
    quiet_day
        The same for Tuesday, 10 April.
    n_others, mobility_spread
        Mean number of places other than home, and how much it varies among customers: it is Poisson with a mean of its own for
        each customer, the logarithm of which is normal with this spread.
    home
        How much home weighs against the first of the other places.
    fall
        The k-th of the other places weighs 1/k to this power.
    evenness
        How alike the habits of customers are: weights are multiplied by gamma draws of this shape.
    reach_km, far
        A customer goes to an antenna d away from home with a probability in proportion to its popularity / (1 + d / reach_km) to the
        power `far`.
    hand_over
        The share of calls that a neighbouring antenna takes.
    drift
        How much habits change from week to week: the coefficient of variation of the factor of each place's weight.
    country
        Where they live.

    Examples
    --------
    >>> CallsModel(burst=1.0).burst
    1.0
    """

    calls_per_day: float = 7.2
    rate_spread: float = 0.9
    burst: float = 2.5
    holiday: float = 1.0
    quiet_day: float = 0.26
    n_others: float = 4.0
    mobility_spread: float = 1.0
    home: float = 3.0
    fall: float = 1.0
    evenness: float = 1.0
    reach_km: float = 3.0
    far: float = 2.0
    hand_over: float = 0.2
    hand_over_km: float = 2.0
    drift: float = 0.5
    renewal: float = 0.0
    home_drift: float = 0.0
    explore: float = 0.0
    easter_trips: float = 0.0
    trips: float = 0.0
    trip_days: float = 4.0
    country: CountryModel = field(default_factory=CountryModel)


@dataclass(frozen=True, eq=False)
class CallsTwin:
    """Hold made-up call records and the antennas they were made from.

    Parameters
    ----------
    events
        The calls, ordered by user and time: ``user, time, place``.
    antennas
        ``place, lat, lon, sub_prefecture``.
    n_users, seed, model
        What it was made from.

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
        """Return a phrase that says what this is, for whatever is made from it."""
        return f"twin of the calls, {self.n_users:,} customers, seed {self.seed} (made up: nobody in it exists)"


def calls_twin(n_users: int = 50_000, *, seed: int = 0, model: CallsModel | None = None) -> CallsTwin:
    """Make a twin of the paper's call records: two weeks of calls, 9 to 22 April 2012.

    The records themselves cannot be had. The twin is drawn from a model of people whose parameters are fitted to
    all published figures at once (``docs/twins.md`` says how close they come). Nobody in it exists.

    Fewer customers are the first ones of the full twin: a random sample of them, in the same country. Customers who happen
    not to call at all have no row, as in real records.

    Parameters
    ----------
    n_users
        The number of customers, 0 to n_users − 1.
    seed
        The same seed gives the same customers; another one, others in the same country.
    model
        How they behave; None for the calibrated model.

    Examples
    --------
    >>> twin = calls_twin(200)
    >>> twin.events.columns, twin.antennas.height
    (['user', 'time', 'place'], 1237)
    >>> twin.events["time"].min().date().isoformat(), twin.events["time"].max().date().isoformat()
    ('2012-04-09', '2012-04-22')
    """
    if not is_whole(n_users) or n_users < 1:
        raise InputError(
            f"a twin of {n_users!r} customers",
            why="somebody has to make the calls",
            fix="use a positive whole number, such as 50000",
        )
    require_seed(seed)
    model = model or CallsModel()
    country = make_country(model.country)
    world = _World(model, country, _likely_places(model, country), _neighbours(country, model.hand_over_km))
    blocks = [_block(world, first, n_users, seed) for first in range(0, n_users, BLOCK)]
    return CallsTwin(pl.concat(blocks), country.antennas, n_users, seed, model)


@dataclass(frozen=True, eq=False)
class _World:
    model: CallsModel
    country: Country
    likely: Floats  # cumulative, one row per home, plus the number of the row: one ascending array
    neighbours: Indices


def _likely_places(model: CallsModel, country: Country) -> Floats:
    near = country.popularity / (1 + country.distances() / model.reach_km) ** model.far
    np.fill_diagonal(near, 0.0)
    near = np.cumsum(near, axis=1)
    near /= near[:, -1:]
    return (near + np.arange(len(near))[:, None]).ravel()


def _neighbours(country: Country, hand_over_km: float) -> Indices:
    apart = country.distances()
    np.fill_diagonal(apart, np.inf)
    apart[:, country.popularity == 0] = np.inf
    near = np.argsort(apart, axis=1, kind="stable")[:, :N_NEIGHBOURS]
    here = np.arange(len(apart))[:, None]
    return np.where(apart[here, near] <= hand_over_km, near, here)


def _block(world: _World, first: int, n_users: int, seed: int) -> pl.DataFrame:
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(first // BLOCK,)))
    model = world.model
    own = _own_places(world, random)
    habits = _habits(model, random)
    rates = model.calls_per_day * np.exp(random.normal(size=BLOCK) * model.rate_spread - model.rate_spread**2 / 2)
    days = np.ones(N_DAYS)
    days[0], days[QUIET_DAY] = model.holiday, model.quiet_day
    n_bursts = random.poisson(rates[:, None] / model.burst * days)
    user, day = (np.repeat(index.ravel(), n_bursts.ravel()) for index in np.indices(n_bursts.shape))
    row = (day // 7) * BLOCK + user
    which = np.searchsorted(habits, row + random.random(len(row)), side="right") - row * MOST_PLACES
    start = _times_of_day(which == 0, random)
    length = random.geometric(1 / model.burst, len(row))
    burst = np.repeat(np.arange(len(row)), length)
    place = own[row, which]
    new = random.random(len(row)) < model.explore
    home = own[user[new], 0]
    place[new] = np.searchsorted(world.likely, home + random.random(len(home)), side="right") - home * len(world.neighbours)
    there = _trips(world, random)[user, day]
    place = np.where(there >= 0, there, place)[burst]
    moved = random.random(len(burst)) < model.hand_over
    place[moved] = world.neighbours[place[moved], random.integers(0, N_NEIGHBOURS, np.count_nonzero(moved))]
    within = random.exponential(0.02, len(burst))
    time = ((day[burst] + np.minimum(start[burst] + within, 0.99999)) * DAY).astype(np.int64)
    kept = first + user[burst] < n_users
    frame = pl.DataFrame({"user": first + user[burst][kept], "time": time[kept], "place": place[kept] + 1})
    moment = pl.lit(START).cast(pl.Datetime("us", "UTC")) + pl.duration(microseconds="time")
    return frame.with_columns(moment.alias("time")).sort("user", "time", "place")


def _own_places(world: _World, random: np.random.Generator) -> Indices:
    """Return the antennas of each customer, home first."""
    n_antennas = len(world.country.popularity)
    home = random.choice(n_antennas, BLOCK, p=world.country.popularity)
    draws = random.random((2, BLOCK, MOST_PLACES - 1))
    draws[1] = np.where(random.random(draws[1].shape) < world.model.renewal, draws[1], draws[0])
    others = np.searchsorted(world.likely, home[:, None] + draws, side="right") - home[:, None] * n_antennas
    return np.concatenate([np.broadcast_to(home[:, None], (2, BLOCK, 1)), others], axis=2).reshape(2 * BLOCK, MOST_PLACES)


def _habits(model: CallsModel, random: np.random.Generator) -> Floats:
    """Return the cumulative habits of each customer in each week, plus the number of the row: one ascending array."""
    weights = np.concatenate([[model.home], 1.0 / np.arange(1, MOST_PLACES) ** model.fall])
    weights = weights * random.gamma(model.evenness, 1 / model.evenness, (BLOCK, MOST_PLACES))
    spread = model.mobility_spread
    n_others = random.poisson(model.n_others * np.exp(random.normal(size=BLOCK) * spread - spread**2 / 2))
    weights[np.arange(MOST_PLACES) > n_others[:, None]] = 0.0
    weights[:, 0] += 1e-9
    if model.drift > 0:
        shape = 1 / model.drift**2
        weights = weights * random.gamma(shape, 1 / shape, (2, BLOCK, MOST_PLACES))
    else:
        weights = np.broadcast_to(weights, (2, BLOCK, MOST_PLACES))
    weights = weights.copy()
    weights[:, :, 0] *= np.exp(model.home_drift * random.normal(size=(2, BLOCK)))
    habits = np.cumsum(weights.reshape(2 * BLOCK, MOST_PLACES), axis=1)
    habits /= habits[:, -1:]
    return (habits + np.arange(2 * BLOCK)[:, None]).ravel()


def _trips(world: _World, random: np.random.Generator) -> Indices:
    """Return for each customer and day the antenna where a trip leads, −1 for none."""
    model, popularity = world.model, world.country.popularity
    where = random.choice(len(popularity), (BLOCK, N_DAYS), p=popularity)
    leaves = random.random((BLOCK, N_DAYS)) < np.array([model.easter_trips] + [model.trips] * (N_DAYS - 1))
    returns = random.random((BLOCK, N_DAYS)) < 1 / model.trip_days
    there = np.full((BLOCK, N_DAYS), -1)
    for day in range(N_DAYS):
        if day > 0:
            there[:, day] = np.where(returns[:, day], -1, there[:, day - 1])
        away = (there[:, day] < 0) & leaves[:, day]
        there[away, day] = where[away, day]
    return there


def _times_of_day(is_home: np.ndarray, random: np.random.Generator) -> Floats:
    """Draw when bursts start: at home mostly in the morning and the evening, elsewhere by day."""
    hours = np.where(is_home, random.choice([7.5, 20.0], len(is_home), p=[0.35, 0.65]), 13.5)
    return (hours + random.normal(size=len(is_home)) * np.where(is_home, 1.5, 3.0)).clip(0, 23.9) / 24
