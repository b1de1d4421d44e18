"""A made-up country of antennas: towns by the rank-size law, one sub-prefecture each, and antennas around them."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.datasets.twin_draws import require_counts, require_within
from habitprint.errors import InputError, require_seed

KM_PER_DEGREE = 111.2  # of latitude; of longitude, times the cosine of the latitude
CAPITAL = (5.35, -4.02)  # where Abidjan is
SOUTH, NORTH = 5.0, 10.4  # the towns lie in this box: as large as Ivory Coast
WEST, EAST = -8.3, -2.8
FEWEST = 5  # antennas, so that each has neighbours


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
        Antennas lie around the centre of their town with a standard deviation of `town_km`, and `antenna_km` more for
        the square root of the number of antennas.
    seed
        The seed of the map. It is not the seed of a twin: all twins live in the same country.

    Examples
    --------
    >>> CountryModel().n_antennas
    1237
    """

    n_antennas: int = 1237
    n_sub_prefectures: int = 237
    n_silent: int = 26
    capital_share: float = 0.33
    town_exponent: float = 0.8
    crowding: float = 0.9
    popularity_spread: float = 0.56
    town_km: float = 5.0
    antenna_km: float = 0.3
    seed: int = 0

    def __post_init__(self) -> None:
        require_counts(self, {"n_antennas": 1, "n_sub_prefectures": 1, "n_silent": 0})
        n_serving = self.n_antennas - self.n_silent
        if n_serving < max(FEWEST, self.n_sub_prefectures):
            raise InputError(
                f"{self.n_antennas} antennas ({self.n_silent} silent) for {self.n_sub_prefectures} sub-prefectures",
                why=f"each sub-prefecture has an antenna that serves somebody, and at least {FEWEST} antennas do",
                fix="use more antennas, or fewer sub-prefectures",
            )
        require_within(
            self,
            {
                "capital_share": (0, 0.99), "town_exponent": (0, 10), "crowding": (0, 10), "popularity_spread": (0, 10),
                "town_km": (0, 1000), "antenna_km": (0, 1000),
            },
        )  # fmt: skip
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

    def distances(self) -> Floats:
        """Return the kilometres between any two antennas, on a flat map."""
        middle = np.cos(np.deg2rad((SOUTH + NORTH) / 2))
        x, y = self.lon * KM_PER_DEGREE * middle, self.lat * KM_PER_DEGREE
        apart: Floats = np.hypot(x[:, None] - x, y[:, None] - y)
        return apart


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
    draw[_silent(model.n_silent, town, n_here, random)] = 0.0
    popularity = draw / np.bincount(town, draw)[town] * size[town] / size.sum()
    return Country(lat, lon, town, popularity)


def _share_out(n: int, size: Floats) -> Indices:
    """Return whole numbers that add up to n, in proportion to the sizes: the largest remainders get one more."""
    exact = n * size / size.sum()
    whole: Indices = np.floor(exact).astype(np.int64)
    whole[np.argsort(whole - exact, kind="stable")[: n - whole.sum()]] += 1
    return whole


def _silent(n: int, town: Indices, n_here: Indices, random: np.random.Generator) -> Booleans:
    """Draw n antennas, never the first of a town."""
    first = np.cumsum(n_here) - n_here
    others = np.setdiff1d(np.arange(len(town)), first)
    silent = np.zeros(len(town), np.bool_)
    silent[random.choice(others, n, replace=False)] = True
    return silent
