"""The parameters of a mobility Markov chain."""

import math
from dataclasses import dataclass

from habitprint.errors import InputError, is_whole

LARGEST = 1_000_000.0  # metres: there a straight line through the earth is a kilometre shorter than the way over it


@dataclass(frozen=True, kw_only=True)
class MarkovModel:
    """The parameters that turn points into states.

    Points are thinned to one per `sample_every` seconds. Those of a *stay* are kept: consecutive points no two of
    which are more than `max_diameter` apart, over at least `min_stay` seconds. Where at least `min_points` of these
    lie within `radius` of one of them, they belong to one state; states that share a point are one.

    Parameters
    ----------
    radius
        Metres. 500 in the setting that the paper compares with.
    min_points
        Points within `radius` of a point, itself included, that make a state.
    max_diameter
        Metres between the two points of a stay that are farthest apart.
    min_stay
        Seconds from the first to the last point of a stay.
    sample_every
        Seconds: of the points of each such stretch of time only the first is kept, so that a state's number of
        points is the time spent there, however often the device took a fix. None keeps every point.

    Examples
    --------
    >>> MarkovModel(min_points=5)
    MarkovModel(radius=500.0, min_points=5, max_diameter=200.0, min_stay=900.0, sample_every=60.0)
    """

    radius: float = 500.0
    min_points: int = 10
    max_diameter: float = 200.0
    min_stay: float = 900.0
    sample_every: float | None = 60.0

    def __post_init__(self) -> None:
        _require("radius", self.radius, "metres", least=0.001, most=LARGEST)
        _require("max_diameter", self.max_diameter, "metres", least=0.0, most=LARGEST)
        _require("min_stay", self.min_stay, "seconds", least=0.0, most=math.inf)
        if self.sample_every is not None:
            _require("sample_every", self.sample_every, "seconds", least=1e-6, most=1e9)
        if not is_whole(self.min_points) or self.min_points < 1:
            raise InputError(
                f"min_points {self.min_points!r} is not a whole number of one or more",
                why="it is the number of points that make a state",
                fix="use 1, 2, 3, …",
            )


def _require(name: str, value: object, unit: str, *, least: float, most: float) -> None:
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    if not (math.isfinite(number) and least <= number <= most):
        bound = f"at least {least:g}" + (f" and at most {most:g}" if math.isfinite(most) else "")
        raise InputError(
            f"{name} {value!r} is not a number of {unit}",
            why=f"it is {bound} {unit}",
            fix=f"give {name} in {unit}, such as {name}={getattr(MarkovModel, name):g}",
        )
