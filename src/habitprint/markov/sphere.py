"""Positions on the earth as points in space, in metres.

In space there is no date line and no pole, and a metre is a metre everywhere: people who travel from Beijing to
Shanghai need no second projection. Over 500 m, the straight line and the way over the ground differ by a
ten-thousandth of a millimetre.
"""

import numpy as np

from habitprint.arrays import Floats

EARTH_RADIUS = 6_371_008.8  # metres: the mean radius of the earth (IUGG)


def to_space(latitudes: Floats, longitudes: Floats) -> Floats:
    """Return positions in degrees as points in space, in metres from the centre of the earth, shape (n, 3).

    Examples
    --------
    >>> to_space(np.array([0.0, 90.0]), np.array([0.0, 0.0])).round(1).tolist()
    [[6371008.8, 0.0, 0.0], [0.0, 0.0, 6371008.8]]
    """
    up, east = np.radians(latitudes), np.radians(longitudes)
    return EARTH_RADIUS * np.column_stack([np.cos(up) * np.cos(east), np.cos(up) * np.sin(east), np.sin(up)])


def to_degrees(points: Floats) -> tuple[Floats, Floats]:
    """Return the latitudes and longitudes that points in space lie above (or below).

    Examples
    --------
    >>> latitudes, longitudes = to_degrees(to_space(np.array([40.0]), np.array([116.5])))
    >>> latitudes.round(9).tolist(), longitudes.round(9).tolist()
    ([40.0], [116.5])
    """
    x, y, z = points.T
    return np.degrees(np.arctan2(z, np.hypot(x, y))), np.degrees(np.arctan2(y, x))


def ground_distances(a: Floats, b: Floats) -> Floats:
    """Return the way over the ground between all points of `a` and of `b` on the sphere, in metres, shape (n, m).

    Examples
    --------
    >>> poles = to_space(np.array([90.0, -90.0]), np.array([0.0, 0.0]))
    >>> (ground_distances(poles, poles) / EARTH_RADIUS).round(3).tolist()
    [[0.0, 3.142], [3.142, 0.0]]
    """
    # From differences, not from a product: near points keep their digits, and the distance to itself is exactly 0.
    squares = np.zeros((len(a), len(b)))
    for axis in range(3):
        squares += np.square(np.subtract.outer(a[:, axis], b[:, axis]))
    return 2 * EARTH_RADIUS * np.arcsin(np.minimum(np.sqrt(squares) / (2 * EARTH_RADIUS), 1.0))
