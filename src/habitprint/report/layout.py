"""Where words and axes have room in a picture."""

import math
from collections.abc import Sequence

HEIGHT = 260
LABEL = 0.15  # of a panel's width, for the label of a tick


def axis_end(largest: float) -> float:
    """Return a round number above, at most one.

    Examples
    --------
    >>> axis_end(0.41), axis_end(0.0031)
    (0.5, 0.004)
    """
    if largest <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(largest))
    above = [step * power for step in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * power >= largest]
    return min(1.0, *above)


def room_beside(dot: float, line: float, *, is_high: bool) -> int:
    """Return how far below a dot its name has room: within the picture, off the target's line and words.

    Examples
    --------
    >>> room_beside(100, 200, is_high=False), room_beside(100, 95, is_high=False)
    (-12, 14)
    """
    top, bottom = (line - 4, line + 24) if is_high else (line - 23, line + 4)
    for down in (-12, 14, 30, -30, 46, -46):
        if 9 <= dot + down <= HEIGHT - 9 and not top - 9 < dot + down < bottom + 9:  # noqa: PLR2004  (half a line)
            return down
    return 14


def ticks_with_room(places: Sequence[float], *, is_log: bool) -> list[float]:
    """Return the places that have room for a label each; the last, which is as released, before all others.

    Examples
    --------
    >>> ticks_with_room([1, 2, 50, 100], is_log=False)
    [2, 50, 100]
    """
    spot = [math.log(place) for place in places] if is_log else list(places)
    room = LABEL * (spot[-1] - spot[0])
    kept = [len(spot) - 1]
    for at in range(len(spot) - 2, -1, -1):
        if spot[kept[-1]] - spot[at] >= room:
            kept.append(at)
    return [places[at] for at in reversed(kept)]
