"""Made-up trajectories: legs of minutes at places a given number of metres from a corner of Beijing."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import polars as pl

from habitprint.markov.stays import EARTH_RADIUS

START = datetime(2009, 3, 2, tzinfo=UTC)
CORNER = (39.9, 116.3)

Leg = tuple[int, float, float]  # minutes, metres east, metres north


def walk(
    user: str | int, legs: Sequence[Leg], *, start: datetime = START, corner: tuple[float, float] = CORNER
) -> pl.DataFrame:
    """Make one point per minute: the user is at each place for so many minutes, and jumps to the next."""
    places = np.array([(east, north) for minutes, east, north in legs for _ in range(minutes)]).reshape(-1, 2)
    return pl.DataFrame(
        {
            "user": [user] * len(places),
            "time": pl.Series(
                [start + timedelta(minutes=k) for k in range(len(places))], dtype=pl.Datetime("us", "UTC")
            ),
            "lat": corner[0] + np.degrees(places[:, 1] / EARTH_RADIUS),
            "lon": corner[1] + np.degrees(places[:, 0] / EARTH_RADIUS / np.cos(np.radians(corner[0]))),
        }
    )


def population(n_users: int, seed: int, *, n_days: int = 3) -> pl.DataFrame:
    """Make people with a home and a work place of their own; the days, the noise and the shops differ by seed."""
    homes = np.random.default_rng(7)
    random = np.random.default_rng(seed)
    frames = []
    for user in range(n_users):
        home, work = homes.uniform(0, 30_000, (2, 2))
        legs: list[Leg] = []
        for _ in range(n_days):
            shop = random.uniform(0, 30_000, 2)
            for minutes, place in ((120, home), (90, work), (30, shop), (60, home)):
                legs += [(1, *(place + random.normal(0, 10, 2))) for _ in range(minutes)]
        frames.append(walk(user, legs))
    return pl.concat(frames)
