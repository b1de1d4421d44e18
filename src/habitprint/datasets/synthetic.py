"""Data that habitprint makes: the paper's first table, a town, and synthetic twins of the paper's data."""

import math
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import numpy as np
import polars as pl
from scipy import sparse
from scipy.special import ndtri

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.errors import InputError, is_whole, require_seed, require_whole, require_within
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

DAY = 86_400_000_000  # microseconds
# Draws stay below one by more than the rounding of a row number plus a draw.
BELOW_ONE = 1 - 1e-9
TwinOf = Literal["calls", "web histories"]
MOST_USERS = 1_000_000  # of one synthetic twin, twenty times those of the paper: they are made in memory

# Parameters of models, with their bounds.
Count = Annotated[int, (1, math.inf)]
Share = Annotated[float, (0, 1)]
Spread = Annotated[float, (0, 10)]
Times = Annotated[float, (0, 100)]
Positive = Annotated[float, (1e-6, 1e6)]
Kilometres = Annotated[float, (0, 1000)]

# The country of the calls.
KM_PER_DEGREE = 111.2  # of latitude; of longitude, times the cosine of the latitude
CAPITAL = (5.35, -4.02)  # where Abidjan is
SOUTH, NORTH = 5.0, 10.4  # the towns lie in this box: as large as Ivory Coast
WEST, EAST = -8.3, -2.8
FEWEST = 5  # antennas, so that each has neighbours

# The calls.
CALLS_START = datetime(2012, 4, 9, tzinfo=UTC)  # Easter Monday; Ivory Coast is on UTC
N_DAYS = 14
MOST_PLACES = 32  # that a customer has, home included
N_NEIGHBOURS = 3  # antennas that a call may be handed over to
BLOCK = 1000  # customers drawn from one stream, so that no customer's calls depend on the number of customers
CALL_GAP = 0.02  # days after the start of a burst, on average, that a call of it is made
# The hours when bursts start: at home in the morning or the evening, at other places by day. (No figure depends on it.)
MORNING, EVENING, MIDDAY = 7.5, 20.0, 13.5

# The web histories.
WEB_START = datetime(2011, 3, 7, tzinfo=UTC)  # a Monday; the paper does not say which fortnight it is
PAGE_GAP = 0.01  # days after the start of a session, on average, that a page of it is visited
GOLDEN = (5**0.5 - 1) / 2


def illustration() -> tuple[Histograms, Histograms]:
    """Return the released and the known histograms of the paper's first table, in percent.

    Examples
    --------
    >>> released, known = illustration()
    >>> released.n_users, known.users.to_list(), known.places.to_list()
    (4, ['Jill', 'John', 'Mary', 'Mike'], ['dormitory', 'library', 'restaurant'])
    """
    released, known = (
        Histograms(sparse.csr_array(np.array(list(rows.values()))), pl.Series(list(rows)), pl.Series(PLACES)).in_order()
        for rows in (RELEASED, KNOWN)
    )
    return released, known


def town(n_users: int = 300, n_places: int = 60, *, seed: int = 0) -> tuple[Histograms, Histograms]:
    """Return the habits of a synthetic town in two weeks: the first released, the second known.

    Each person has a few usual places; popular places are drawn more often. The first one is home and has the most
    visits. The two weeks are independent samples of the same habits, as the paper assumes. The town contains no real
    person and is not calibrated to any data: use it to try things out.

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
    for name, n in (("n_users", n_users), ("n_places", n_places)):
        require_whole(name, n, 1, why="a town has people and places", fix="use a positive whole number")
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


def require_users(n_users: object, seed: object) -> None:
    """Raise `InputError` unless a synthetic twin with this number of users can be made from this seed.

    Examples
    --------
    >>> require_users(1_000, 0)
    """
    if not is_whole(n_users) or not 1 <= n_users <= MOST_USERS:
        raise InputError(
            f"a twin of {n_users!r} users",
            why=f"it has 1 to {MOST_USERS:,} users, because it is made in memory",
            fix="use a whole number in that range, such as 1000; for more users make several, with other seeds",
        )
    require_seed(seed)


def twin_words(of: TwinOf, n_users: int, seed: int) -> str:
    """Return the phrase that describes a synthetic twin, also before it is made.

    Examples
    --------
    >>> twin_words("calls", 50_000, 0)
    'synthetic twin of the calls, 50,000 customers, seed 0 (contains no real person)'
    """
    people = "customers" if of == "calls" else "users"
    return f"synthetic twin of the {of}, {n_users:,} {people}, seed {seed} (contains no real person)"


@dataclass(frozen=True, eq=False)
class Twin:
    """The base of synthetic twins: their events, and the arguments that they were made from."""

    of: ClassVar[TwinOf]
    events: pl.DataFrame
    n_users: int
    seed: int

    @property
    def source(self) -> str:
        """Return the phrase that labels every result of this data."""
        return twin_words(self.of, self.n_users, self.seed)


def cumulate(weights: Floats) -> Floats:
    """Return, row after row, the cumulative shares of weights plus the number of the row: ascending throughout.

    Examples
    --------
    >>> cumulate(np.array([[1.0, 3.0], [0.0, 2.0]])).tolist()
    [0.25, 1.0, 1.0, 2.0]
    """
    shares = np.cumsum(weights, axis=1)
    shares /= shares[:, -1:]
    return (shares + np.arange(len(shares))[:, None]).ravel()


def pick(cumulative: Floats, rows: Indices, n_columns: int, random: np.random.Generator) -> Indices:
    """Draw a column for each of the given rows, with the probabilities that `cumulate` made of their weights.

    Examples
    --------
    >>> cumulative = cumulate(np.array([[1.0, 0.0], [0.0, 2.0]]))
    >>> pick(cumulative, np.array([1, 0, 1]), 2, np.random.default_rng(0)).tolist()
    [1, 0, 1]
    """
    draws = random.random(rows.shape) * BELOW_ONE
    return np.searchsorted(cumulative, rows + draws, side="right") - rows * n_columns


def moments(start: datetime, day: Indices, part: Floats) -> pl.Series:
    """Return the times at a part of a day, days counted from a start; nothing runs past midnight.

    Examples
    --------
    >>> from datetime import UTC
    >>> times = moments(datetime(2012, 4, 9, tzinfo=UTC), np.array([1, 2]), np.array([0.5, 1.2]))
    >>> times.dt.to_string("%d %H:%M").to_list()
    ['10 12:00', '11 23:59']
    """
    first = round(start.timestamp() * 1_000_000)
    within = np.minimum(part * DAY, DAY - 1).astype(np.int64)
    return pl.Series("time", first + day * DAY + within).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")


@dataclass(frozen=True)
class CountryModel:
    """The parameters of the country of the synthetic calls.

    Parameters
    ----------
    n_antennas
        All antennas; the paper's map shows 1,237.
    n_sub_prefectures
        Towns, each the seat of a sub-prefecture with at least one antenna; the paper has 237.
    n_silent
        Antennas without a call during the fortnight; 1,237 − 1,211 in the paper.
    capital_share
        The share of the people who live in the largest town.
    town_exponent
        The fall of the sizes of the other towns: the k-th has a size of 1/k to this power.
    crowding
        Antennas of a town grow with its size to this power: below one, antennas of large towns serve more people.
    popularity_spread
        The spread of the logarithm of an antenna's popularity within its town.
    town_km, antenna_km
        The standard deviation of antennas around the centre of their town: `town_km`, plus `antenna_km` times the
        square root of the number of antennas.
    seed
        The seed of the map. It is not the seed of the customers: all synthetic twins of the calls share one country.

    Examples
    --------
    >>> CountryModel().n_antennas
    1237
    """

    n_antennas: Count = 1237
    n_sub_prefectures: Count = 237
    n_silent: Annotated[int, (0, math.inf)] = 26
    capital_share: Annotated[float, (0, 0.99)] = 0.33
    town_exponent: Spread = 0.8
    crowding: Spread = 0.9
    popularity_spread: Spread = 0.56
    town_km: Kilometres = 5.0
    antenna_km: Kilometres = 0.3
    seed: int = 0

    def __post_init__(self) -> None:
        require_within(self)
        n_serving = self.n_antennas - self.n_silent
        if n_serving < max(FEWEST, self.n_sub_prefectures):
            raise InputError(
                f"{self.n_antennas} antennas ({self.n_silent} silent) for {self.n_sub_prefectures} sub-prefectures",
                why=f"each sub-prefecture has an antenna that serves people, and at least {FEWEST} antennas do",
                fix="use more antennas, or fewer sub-prefectures",
            )
        require_seed(self.seed)


@dataclass(frozen=True, eq=False)
class Country:
    """The antennas of a country: their coordinates, their sub-prefectures, and the share of people who live at each.

    Examples
    --------
    >>> country = make_country(CountryModel(n_antennas=9, n_sub_prefectures=4, n_silent=1))
    >>> country.antennas.columns
    ['place', 'lat', 'lon', 'sub_prefecture']
    >>> round(float(country.popularity.sum()), 6)
    1.0
    """

    lat: Floats
    lon: Floats
    sub_prefecture: Indices
    popularity: Floats

    @property
    def antennas(self) -> pl.DataFrame:
        """Return the table ``place, lat, lon, sub_prefecture``; antennas are numbered from 1."""
        return pl.DataFrame(
            {
                "place": np.arange(1, len(self.lat) + 1),
                "lat": self.lat.round(6),
                "lon": self.lon.round(6),
                "sub_prefecture": self.sub_prefecture + 1,
            }
        )


def make_country(model: CountryModel) -> Country:
    """Draw the map.

    Examples
    --------
    >>> country = make_country(CountryModel())
    >>> country.antennas["sub_prefecture"].n_unique(), int((country.popularity == 0).sum())
    (237, 26)
    """
    random = np.random.default_rng(model.seed)
    n_towns = model.n_sub_prefectures
    centres = np.column_stack([random.uniform(SOUTH, NORTH, n_towns), random.uniform(WEST, EAST, n_towns)])
    centres[0] = CAPITAL
    size: Floats = 1.0 / np.arange(1, n_towns + 1, dtype=np.float64) ** model.town_exponent
    if n_towns > 1:
        size[0] = size[1:].sum() * model.capital_share / (1 - model.capital_share)
    n_here = _share_out(model.n_antennas - n_towns, size**model.crowding) + 1
    town = np.repeat(np.arange(n_towns), n_here)
    spread = (model.town_km + model.antenna_km * np.sqrt(n_here)) / KM_PER_DEGREE
    around = random.normal(size=(model.n_antennas, 2)) * spread[town][:, None]
    lat = centres[town, 0] + around[:, 0]
    lon = centres[town, 1] + around[:, 1] / np.cos(np.deg2rad(centres[town, 0]))
    draw = np.exp(random.normal(size=model.n_antennas) * model.popularity_spread)
    others = np.setdiff1d(np.arange(model.n_antennas), np.cumsum(n_here) - n_here)  # never the first of a town
    draw[random.choice(others, model.n_silent, replace=False)] = 0.0
    popularity = draw / np.bincount(town, draw)[town] * size[town] / size.sum()
    return Country(lat, lon, town, popularity)


def _share_out(n: int, size: Floats) -> Indices:
    """Return whole numbers that add up to n, in proportion to the sizes: the largest remainders get one more."""
    exact = n * size / size.sum()
    whole: Indices = np.floor(exact).astype(np.int64)
    whole[np.argsort(whole - exact, kind="stable")[: n - whole.sum()]] += 1
    return whole


@dataclass(frozen=True)
class CallsModel:
    """The behaviour of the customers of the synthetic calls.

    The defaults are the calibrated values (``docs/twins.md``).

    Parameters
    ----------
    calls_per_day
        Calls of the average customer on an ordinary day.
    rate_spread
        The spread of the logarithm of a customer's rate of calls. The logarithm is normal: a few customers call very
        often, some hardly ever.
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

    calls_per_day: Positive = 7.2
    rate_spread: Spread = 1.22
    burst: Annotated[float, (1, 1e6)] = 2.0
    holiday: Times = 1.0
    quiet_day: Times = 0.25
    n_others: Annotated[float, (0, 1e6)] = 3.6
    mobility_spread: Spread = 1.24
    home: Positive = 6.3
    fall: Times = 0.6
    evenness: Positive = 1.0
    reach_km: Positive = 3.1
    far: Times = 2.48
    hand_over: Share = 0.28
    hand_over_km: Annotated[float, (0, 1e6)] = 2.0
    drift: Times = 0.43
    home_drift: Spread = 0.6
    one_offs: Share = 0.083
    country: CountryModel = field(default_factory=CountryModel)

    def __post_init__(self) -> None:
        require_within(self)


@dataclass(frozen=True, eq=False)
class CallsTwin(Twin):
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
    'synthetic twin of the calls, 1,000 customers, seed 3 (contains no real person)'
    """

    of: ClassVar[TwinOf] = "calls"
    model: CallsModel
    antennas: pl.DataFrame


def calls_twin(n_users: int = 50_000, *, seed: int = 0, model: CallsModel | None = None) -> CallsTwin:
    """Make a synthetic twin of the paper's call records: two weeks of calls, 9 to 22 April 2012.

    The records themselves are not available. The synthetic twin is drawn from a model of people. Its parameters are
    fitted jointly to all published figures (``docs/twins.md`` shows the errors). It contains no real person.

    A smaller synthetic twin holds the first customers of the full one. It is a random sample of the same people, in the
    same country with all its antennas. Customers who happen not to call at all have no row, as in real records.

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
    return CallsTwin(pl.concat(blocks), n_users, seed, model, world.country.antennas)


@dataclass(frozen=True, eq=False)
class _World:
    model: CallsModel
    country: Country
    likely: Floats  # where customers go, by home: `cumulate`
    neighbours: Indices  # antennas × N_NEIGHBOURS; itself where none is near enough


@lru_cache(maxsize=2)
def _make_world(model: CallsModel) -> _World:
    country = make_country(model.country)
    # On a flat map.
    middle = np.cos(np.deg2rad((SOUTH + NORTH) / 2))
    x, y = country.lon * KM_PER_DEGREE * middle, country.lat * KM_PER_DEGREE
    apart: Floats = np.hypot(x[:, None] - x, y[:, None] - y)
    likely: Floats = country.popularity / (1 + apart / model.reach_km) ** model.far
    np.fill_diagonal(likely, 0.0)
    itself, serves = np.arange(len(apart))[:, None], np.flatnonzero(country.popularity)
    away = np.where(serves == itself, np.inf, apart[:, serves])
    near = np.argpartition(away, N_NEIGHBOURS, axis=1)[:, :N_NEIGHBOURS]
    neighbours = np.where(away[itself, near] <= model.hand_over_km, serves[near], itself)
    return _World(model, country, cumulate(likely), neighbours)


def _block(world: _World, first: int, n_users: int, seed: int) -> pl.DataFrame:
    """Return the calls of a block of customers. All of them are drawn, even if not all of them are wanted."""
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(first // BLOCK,)))
    model, n_antennas = world.model, len(world.neighbours)
    own = _own_places(world, random)
    habits = _habits(model, random)
    user, day = _bursts(model, random)
    which = pick(habits, day // 7 * BLOCK + user, MOST_PLACES, random)
    start = _times_of_day(which == 0, random)
    is_one_off = random.random(len(user)) < model.one_offs
    place = np.where(is_one_off, pick(world.likely, own[user, 0], n_antennas, random), own[user, which])
    burst = np.repeat(np.arange(len(user)), random.geometric(1 / model.burst, len(user)))
    is_handed_over = random.random(len(burst)) < model.hand_over
    neighbour = world.neighbours[place[burst], random.integers(0, N_NEIGHBOURS, len(burst))]
    place = np.where(is_handed_over, neighbour, place[burst])
    time = start[burst] + random.exponential(CALL_GAP, len(burst))
    calls = pl.DataFrame(
        {"user": first + user[burst], "time": moments(CALLS_START, day[burst], time), "place": place + 1}
    )
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


def _times_of_day(is_home: Booleans, random: np.random.Generator) -> Floats:
    at_home = np.where(random.random(len(is_home)) < 0.35, MORNING, EVENING)  # noqa: PLR2004
    hours = np.where(is_home, at_home, MIDDAY)
    return (hours + random.normal(size=len(is_home)) * np.where(is_home, 1.5, 3.0)).clip(0, 23.9) / 24


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
        The share of sessions on a user's favourite sites. Other sessions go to any site.
    n_favourites
        The number of favourite sites of a user.
    fall
        The k-th favourite weighs 1/k to this power.
    drift
        The change of favourites from week to week: the coefficient of variation of the factor of each one's weight.
    popularity, head
        Other sessions choose the site of rank r in proportion to 1/(r + head)**popularity.
    taste
        The power for favourites. It is larger, because favourites of different people are more often the same sites.
    n_sites
        Sites on the web.

    Examples
    --------
    >>> WebModel(habit=0.5).habit
    0.5
    """

    sessions: Positive = 250.0
    sessions_spread: Spread = 1.78
    pages: Positive = 2.08
    pages_spread: Annotated[float, (0, 5)] = 1.3
    habit: Share = 0.614
    n_favourites: Count = 42
    fall: Times = 1.46
    drift: Times = 0.99
    popularity: Spread = 0.847
    taste: Spread = 1.37
    head: Positive = 7.0
    n_sites: Count = 22_000_000

    def __post_init__(self) -> None:
        require_within(self)


@dataclass(frozen=True, eq=False)
class WebTwin(Twin):
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
    'synthetic twin of the web histories, 20 users, seed 3 (contains no real person)'
    """

    of: ClassVar[TwinOf] = "web histories"
    model: WebModel


def web_twin(n_users: int = 122, *, seed: int = 0, model: WebModel | None = None) -> WebTwin:
    """Make a synthetic twin of the paper's web histories: two weeks of visits to sites.

    The histories themselves are not available. The paper takes the two weeks with the most users active in both: 121 of
    472. The synthetic twin covers these two weeks only. Now and then one of its users is not active in both. Its
    parameters are fitted jointly to all published figures (``docs/twins.md`` shows the errors). It contains no real
    person.

    Parameters
    ----------
    n_users
        The number of users; ids are 0 to n_users − 1. Fewer users are the first ones of a larger synthetic twin.
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
    times = moments(WEB_START, day[session], time)
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
    one = (1 - power) or 1e-6  # at a power of 1 the formula has a limit, which it is close to here
    first, last = model.head**one, (model.head + model.n_sites) ** one
    rank: Indices = np.floor((first + draws * (last - first)) ** (1 / one) - model.head).astype(np.int64)
    return np.clip(rank, 0, model.n_sites - 1) + 1
