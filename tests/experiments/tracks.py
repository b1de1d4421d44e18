"""A few made-up people with GPS receivers, in the format of GeoLife."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

HEADER = ["Geolife trajectory", "WGS 84", "Altitude is in Feet", "Reserved 3", "0,2,255,My Track,0,0,2,8421376", "0"]


def write_tracks(folder: Path, n_users: int = 8, n_weeks: int = 4, n_moving: int = 0) -> None:
    """Write tracks: each week each person stays at home, at work and somewhere else; the last has one week only.

    Some, the first ones, stay nowhere: they go through all that without a stop.
    """
    for user in range(n_users):
        random = np.random.default_rng(user)
        homes = random.uniform([39.80, 116.20], [40.05, 116.55], (2, 2))
        start = datetime(2008, 7, 1, 8, tzinfo=UTC) + timedelta(weeks=int(random.integers(50)))
        for week in range(1 if user == n_users - 1 else n_weeks):
            begin = start + timedelta(weeks=week)
            spots = [*homes, random.uniform([39.85, 116.25], [39.99, 116.50])]
            lines = []
            for k, spot in enumerate(spots):
                for minute in range(20):
                    lat, lon = spot + random.normal(size=2) * 0.0003 + (0.003 * minute if user < n_moving else 0.0)
                    moment = begin + timedelta(hours=2 * k, minutes=minute)
                    lines.append(f"{lat:.6f},{lon:.6f},0,-777,39744.1,{moment:%Y-%m-%d,%H:%M:%S}")
            file = folder / "Data" / f"{user:03d}" / "Trajectory" / f"{begin:%Y%m%d%H%M%S}.plt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\r\n".join([*HEADER, *lines]) + "\r\n")
