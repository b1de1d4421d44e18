"""One unit of work: from a cell to its result."""

import time
from collections import defaultdict
from datetime import timedelta
from typing import Any, cast

import numpy as np
import polars as pl

from habitprint.evaluation import evaluate
from habitprint.experiments.prepare import NotEnoughUsersError, Workshop, n_places_of, prepare
from habitprint.experiments.spec import COMMON, FROM_KNOWN, MARKOV, ONE_BY_ONE, Cell
from habitprint.grids import Grid
from habitprint.markov import evaluate_chains, match_chains
from habitprint.markov.distances import ChainDistance
from habitprint.matching import match
from habitprint.periods.dates import DAYS, DayName, day_of_week_zero, local_weeks
from habitprint.progress import Progress, silent
from habitprint.truth import SAME_ID, common_users
from habitprint.weights import WeightName

Result = dict[str, Any]
WEEKS_FROM: DayName = "tuesday"  # in GMT, as for the halves
MEASURES = ("expected_correct", "n_common", "size", "accuracy", "accuracy_random", "precision", "cluster_accuracy")


def measure(
    cell: Cell, workshop: Workshop, seed: int, *, max_memory: float = 2e9, progress: Progress = silent
) -> Result:
    """Return the result of a cell: numbers and short texts only.

    Examples
    --------
    >>> from habitprint.experiments.sources import Folders, find_sources
    >>> from habitprint.experiments.spec import Setting
    >>> workshop = Workshop(find_sources(Folders(), is_quick=True))
    >>> result = measure(Cell(data="web", setting=Setting(n_users=20)), workshop, seed=0)
    >>> result["n_common"], result["accuracy"] > result["accuracy_random"]
    (20, True)
    """
    start = time.perf_counter()
    try:
        if cell.task == "attack":
            is_chain = cell.method in MARKOV
            result = _chains(cell, workshop, seed) if is_chain else _attack(cell, workshop, seed, max_memory, progress)
        elif cell.task == "time":
            result = _time(cell, workshop, seed, max_memory, progress)
        else:
            describe = {"popularity": _popularity, "antennas": _antennas, "squares": _squares, "active-weeks": _weeks}
            result = describe[cell.task](cell, workshop)
    except NotEnoughUsersError as error:
        result = {"left_out": error.what}
    return result | {"seconds": time.perf_counter() - start}


def _attack(cell: Cell, workshop: Workshop, seed: int, max_memory: float, progress: Progress) -> Result:
    sides = prepare(cell, workshop, seed, progress)
    released, known = sides.released, sides.known
    size = common_users(SAME_ID, released.users, known.users).n if cell.method == COMMON else None
    is_one_by_one = cell.method in {ONE_BY_ONE, FROM_KNOWN}
    matching = match(
        released,
        known,
        weight=cast("WeightName", cell.weight),
        size=size,
        method="one-by-one" if is_one_by_one else "joint",
        direction="known-to-released" if cell.method == FROM_KNOWN else "released-to-known",
        seed=seed,
        max_memory=max_memory,
        progress=progress,
    )
    result = evaluate(matching, released, known).to_json()
    return {
        "value": _value(cell, released.n_users, sides.value),
        "n_users": released.n_users,
        "n_known": known.n_users,
        "n_places": n_places_of(released, known),
        **{name: result[name] for name in MEASURES},
        "gap": matching.gap,
        "information_loss": sides.information_loss,
        "n_groups": sides.n_groups,
        "n_alike": sides.n_alike,
    }


def _value(cell: Cell, n_users: int, k: float | None) -> float | None:
    """Return the value of what may vary, as a number: "all" is how many that is."""
    setting = cell.setting
    if cell.method == ONE_BY_ONE and setting.n_released == 1:
        return 1.0
    if k is not None:
        return k
    if setting.last_day is not None:
        return float([str(day) for day in DAYS].index(setting.last_day) + 1)
    if setting.n_top is not None:
        return float(setting.n_top)
    return float(n_users) if setting.side is None else float(setting.side)


def _chains(cell: Cell, workshop: Workshop, seed: int) -> Result:
    side = cell.setting.side
    assert side is not None, "chains are compared with squares"  # noqa: S101
    released, known = workshop.chains(cell.data, side)
    kind = cast("ChainDistance", cell.method.removeprefix("markov-"))
    result = evaluate_chains(match_chains(released, known, kind=kind, seed=seed)).to_json()
    return {
        "value": side,
        "n_users": released.n_users,
        "n_known": known.n_users,
        "n_places": None,
        **{name: result[name] for name in MEASURES},
        "n_without_state": released.n_without_state + known.n_without_state,
    }


class _Stopwatch:
    """Add up the time of each stage, from the reports of progress."""

    def __init__(self, progress: Progress) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._last = time.perf_counter()
        self._progress = progress

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        now = time.perf_counter()
        self.seconds[stage] += now - self._last
        self._last = now
        self._progress(stage, done, total, note)


def _time(cell: Cell, workshop: Workshop, seed: int, max_memory: float, progress: Progress) -> Result:
    sides = prepare(cell, workshop, seed)
    start = time.perf_counter()
    watch = _Stopwatch(progress)
    matching = match(sides.released, sides.known, seed=seed, max_memory=max_memory, progress=watch)
    total = time.perf_counter() - start
    return {
        "value": None,
        "n_users": sides.released.n_users,
        "n_known": sides.known.n_users,
        "n_places": n_places_of(sides.released, sides.known),
        "gap": matching.gap,
        "seconds_weights": watch.seconds["gains"],
        "seconds_proof": watch.seconds["proof"],
        "seconds_matching": total - watch.seconds["gains"] - watch.seconds["proof"],
    }


def _popularity(cell: Cell, workshop: Workshop) -> Result:
    popular = workshop.popular(cell.data, cell.setting.side)
    ranked = popular.with_row_index("rank", offset=1)
    # Of equally popular sites the first and the last are enough to draw them all.
    ends = ranked.group_by("visits", maintain_order=True).agg(first=pl.col("rank").min(), last=pl.col("rank").max())
    released, known = workshop.histograms(cell.data, None, cell.setting.side)
    both = pl.concat([side.to_table().select("user", "place") for side in (released, known)]).unique()
    n_of_one = both.group_by("place").len().filter(pl.col("len") == 1).height
    return {
        "columns": ["visits", "first", "last"],
        "rows": [list(row) for row in ends.select("visits", "first", "last").rows()],
        "n_users": released.n_users,
        "n_places": popular.height,
        "n_of_one_user": n_of_one,
    }


def _antennas(cell: Cell, workshop: Workshop) -> Result:
    antennas = workshop.data(cell.data).antennas
    assert antennas is not None, "only the calls have antennas"  # noqa: S101
    table = antennas.select("place", "lat", "lon", "region").sort("place")
    return {"columns": table.columns, "rows": [list(row) for row in table.rows()], "n_places": table.height}


def _squares(cell: Cell, workshop: Workshop) -> Result:
    data, side = workshop.data(cell.data), cell.setting.side
    assert data.box is not None and side is not None, "squares are laid over positions"  # noqa: S101, PT018
    grid = Grid(side, data.box)
    places = grid.place(data.events).usable.select("place").unique().collect(engine="streaming")["place"].sort()
    row, column = np.divmod(places.to_numpy(), grid.n_columns)
    # Neighbours in a row of squares are one run.
    is_first = np.ones(len(row), np.bool_)
    is_first[1:] = (np.diff(row) != 0) | (np.diff(column) != 1)
    starts = np.flatnonzero(is_first)
    lengths = np.diff(np.append(starts, len(row)))
    (lat, lon), (next_lat, next_lon) = grid.centre(0), grid.centre(grid.n_columns + 1)
    step_lat, step_lon = next_lat - lat, next_lon - lon
    west = data.box.west + column[starts] * step_lon
    south = data.box.south + row[starts] * step_lat
    runs = np.column_stack([west, west + lengths * step_lon, south, south + step_lat]).round(6)
    return {"columns": ["west", "east", "south", "north"], "rows": runs.tolist(), "n_places": places.len()}


def _weeks(cell: Cell, workshop: Workshop) -> Result:
    data = workshop.data(cell.data)
    assert data.box is not None, "squares are laid over positions"  # noqa: S101
    within = Grid(1000, data.box).place(data.events)
    week = local_weeks(data.events.time_zone, WEEKS_FROM).alias("week")
    active = within.usable.select("user", week).unique().sort("user", "week").collect()
    users = active["user"].unique().sort()
    start = day_of_week_zero(WEEKS_FROM)
    rows = [[user, (start + timedelta(weeks=number)).isoformat()] for user, number in active.rows()]
    n_weeks = active.group_by("user").len()["len"]
    several = n_weeks.filter(n_weeks > 1)
    return {
        "columns": ["user", "week"],
        "rows": rows,
        "n_users": users.len(),
        "n_users_of_several": several.len(),
        "mean_weeks": float(several.mean() or 0),  # type: ignore[arg-type]
    }
