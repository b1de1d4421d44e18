"""The execution of jobs: from data to the two tables of a setting, and from these to a result."""

import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from threading import Lock
from typing import Any, TypeVar, TypeVarTuple, cast

import numpy as np
import polars as pl

from habitprint.attacks import PROPOSED, Attack, Scenario, run_attack
from habitprint.errors import InputError
from habitprint.evaluation import evaluate, user_chances
from habitprint.events import Events
from habitprint.events.spec import DayName
from habitprint.experiments import jobs
from habitprint.experiments.sources import Data, DataSource
from habitprint.histograms import Histograms
from habitprint.ids import positions
from habitprint.io.tables import collect
from habitprint.losses import measure_losses
from habitprint.markov import CHAIN_DISTANCES, ChainDistance, Chains, evaluate_chains, match_chains, mobility_chains
from habitprint.markov.chains import COLUMNS
from habitprint.matching import match
from habitprint.mechanisms import microaggregate
from habitprint.mechanisms.recoding import keep_places
from habitprint.periods import OnDays, Split, split
from habitprint.periods.day_table import DayTable, day_of_week_zero, local_days, weeks_of
from habitprint.periods.periods import KNOWN, RELEASED
from habitprint.places import OUTSIDE, Grid
from habitprint.progress import Progress, silent
from habitprint.runtime import Once
from habitprint.truth import SAME_ID, common_users
from habitprint.weighing import WeightName, find_weight

WEEKS_FROM: DayName = "tuesday"  # in GMT, as for the halves

# The attacks of the paper, each with any weight.
ATTACKS: Mapping[str, Attack] = {
    "joint": PROPOSED,
    "joint-common": replace(PROPOSED, is_as_common=True),
    "one-by-one": replace(PROPOSED, method="one-by-one"),
    "one-by-one-from-known": replace(PROPOSED, method="one-by-one", direction="known-to-released"),
}
CHAINS: Mapping[str, ChainDistance] = {f"markov-{distance}": distance for distance in CHAIN_DISTANCES}

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class NotEnoughUsersError(InputError):
    """A setting that needs more users than there are: this point of a curve is left out."""


def _once(method: Callable[["SharedData", *Ts], T]) -> Callable[["SharedData", *Ts], T]:
    """Return a method whose result is computed once for each argument, by the first thread that needs it."""

    def made(self: "SharedData", /, *args: *Ts) -> T:
        with self.lock:
            job = self.made.setdefault((method.__name__, *args), Once(lambda _: method(self, *args)))
        return cast("T", job())

    return made


class SharedData:
    """The data, tables and chains that several jobs share; the first thread that needs them makes them.

    Examples
    --------
    >>> from habitprint.experiments.sources import Folders, find_sources
    >>> shared = SharedData(find_sources(Folders(), is_quick=True))
    >>> shared.data("web") is shared.data("web")
    True
    """

    def __init__(self, sources: Mapping[jobs.DataName, DataSource]) -> None:
        self.sources = sources
        self.lock, self.made = Lock(), dict[Hashable, Once[Any]]()

    @_once
    def data(self, name: jobs.DataName) -> Data:
        """Return the data of that name."""
        source = self.sources[name]
        assert source.open is not None, "jobs without data are not run"  # noqa: S101
        return source.open()

    @_once
    def users(self, name: jobs.DataName) -> pl.Series:
        """Return all users of the data, in order: a user's number in it is the same in all periods and settings."""
        events = self.data(name).events
        (users,) = collect([events.usable.select("user").unique()], events.source)
        return users["user"].sort()

    @_once
    def split(self, name: jobs.DataName, last_day: DayName | None, side: float | None) -> Split:
        """Return both periods, with all users who are active in both, and the account of the rows."""
        data = self.data(name)
        events = data.events if side is None else _grid(data, side).place(data.events)
        if last_day is None:
            return split(events, data.period)
        first: DayName = "monday"
        cohort = split(events, OnDays(first, first, of=data.period)).released.users
        return split(events, OnDays(first, last_day, of=data.period), users=cohort)

    @_once
    def popular(self, name: jobs.DataName, side: float | None) -> pl.DataFrame:
        """Return the places, most visited first: ``place, visits``; by all users in both periods."""
        tables = [side_.to_table().select("place", "count") for side_ in self.split(name, None, side)]
        visits = pl.concat(tables).group_by("place").agg(visits=pl.col("count").sum())
        return visits.sort("visits", "place", descending=[True, False])

    @_once
    def chains(self, name: jobs.DataName, side: float) -> tuple[Chains, Chains]:
        """Return the Markov chains of both periods, for the users whose histograms are compared."""
        data = self.data(name)
        users = self.split(name, None, side).released.users
        parts = data.period.parts(DayTable.of(_within(data)).kept(*COLUMNS[1:])).days.usable
        parts = parts.filter(pl.col("user").is_in(users.implode()))
        sides = [parts.filter(pl.col("part") == part).select(COLUMNS) for part in (RELEASED, KNOWN)]
        released, known = map(mobility_chains, collect(sides, data.events.source))
        return released, known


def _grid(data: Data, side: float) -> Grid:
    if data.box is None:
        raise InputError(
            "side is given for data without positions",
            why="a grid of squares needs latitudes and longitudes",
            fix="remove side, or name the columns of positions (lat, lon)",
        )
    return Grid(side, data.box)


def _within(data: Data) -> Events:
    """Return the events within the area."""
    assert data.box is not None, "only data with positions has an area"  # noqa: S101
    return data.events.leave_out(~data.box.holds(pl.col("lat"), pl.col("lon")), OUTSIDE)


def _n_places(scenario: Scenario) -> int:
    return len(np.unique(np.concatenate([table.counts.indices for table in scenario.aligned])))


def prepare(
    job: jobs.Job, shared: SharedData, seed: int, progress: Progress = silent
) -> tuple[Scenario, jobs.ProtectionEffect | None]:
    """Return the two tables of a job's setting, and the effect of their protection, if there is one.

    Users are the first ones of a shuffle by the seed and the repeat. So all weights, methods and sizes use the same
    users.

    Examples
    --------
    >>> from habitprint.experiments.sources import Folders, find_sources
    >>> shared = SharedData(find_sources(Folders(), is_quick=True))
    >>> scenario, effect = prepare(jobs.Job(data="web", setting=jobs.Setting(n_users=20)), shared, seed=0)
    >>> scenario.n_people, effect
    (20, None)
    """
    setting = job.setting
    released, known = shared.split(job.data, setting.last_day, setting.side)
    released, known = _narrow(released, known, setting, job.data, shared)
    if job.is_drawn:
        released, known = _draw(released, known, job, seed)
    if setting.k is None:
        return Scenario(released, known, SAME_ID), None
    k = released.n_users if setting.k == jobs.ALL else setting.k
    if k > released.n_users:
        raise NotEnoughUsersError(
            f"k = {k:,} is more than the {released.n_users:,} users that there are",
            why="a group has at least k users",
            fix=f'use a smaller k, or "{jobs.ALL}"',
        )
    release = microaggregate(released, k, method="successive", units=None, progress=progress)  # the paper's exact means
    loss, classes = measure_losses(released, release).information_loss, released.share_classes
    assert loss is not None, "micro-aggregation keeps equal users equal"  # noqa: S101
    protected = jobs.ProtectionEffect(
        information_loss=loss,
        n_groups=release.steps[-1].findings["n_groups"],
        n_identical=int((np.bincount(classes)[classes] > 1).sum()),
    )
    return Scenario(release.histograms, known, SAME_ID), protected


def _narrow(
    released: Histograms, known: Histograms, setting: jobs.Setting, name: jobs.DataName, shared: SharedData
) -> tuple[Histograms, Histograms]:
    """Keep users who were at a popular place, then popular places; drop users without a remaining count."""
    if setting.seen_top is not None:
        top = shared.popular(name, setting.side)["place"].head(setting.seen_top)
        seen = pl.concat([keep_places(side, top).users for side in (released, known)])
        users = released.users.filter(released.users.is_in(seen.implode()))
        released, known = released.select(users=users), known.select(users=users)
    if setting.n_top is not None:
        top = shared.popular(name, setting.side)["place"].head(setting.n_top)
        released, known = keep_places(released, top), keep_places(known, top)
        both = released.users.filter(released.users.is_in(known.users.implode()))
        if both.is_empty():
            raise InputError(
                f"nobody was at one of the {setting.n_top} most popular places in both periods",
                why="an attack needs users on both sides",
                fix="keep more places",
            )
        released, known = released.select(users=both), known.select(users=both)
    return released, known


def _draw(released: Histograms, known: Histograms, job: jobs.Job, seed: int) -> tuple[Histograms, Histograms]:
    setting, n_all = job.setting, released.n_users
    n_users, n_released = (n_all if n == jobs.ALL else n for n in (setting.n_users, setting.n_released))
    n_common = n_users if setting.n_common is None else setting.n_common
    n_of_both = 2 * n_users - n_common
    n_needed = n_of_both if setting.n_released == jobs.ALL else max(n_of_both, n_released)
    if n_needed > n_all:
        raise NotEnoughUsersError(
            f"{n_needed:,} users are needed, and {n_all:,} are active in both periods",
            why=f"the setting draws that many: n_users = {setting.n_users}, n_released = {setting.n_released}, "
            f"n_common = {setting.n_common}",
            fix=f'use smaller numbers, or "{jobs.ALL}"',
        )
    order = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(job.repeat,))).permutation(n_all)
    ours = order[: min(n_users, n_released)]
    theirs = np.concatenate([order[:n_common], order[n_users:n_of_both]])
    return (
        released.select(users=released.users.gather(np.sort(ours))),
        known.select(users=known.users.gather(np.sort(theirs))),
    )


def measure(
    job: jobs.Job, shared: SharedData, seed: int, *, max_memory: float = 2e9, progress: Progress = silent
) -> jobs.Done:
    """Do a job.

    Examples
    --------
    >>> from habitprint.experiments.sources import Folders, find_sources
    >>> shared = SharedData(find_sources(Folders(), is_quick=True))
    >>> result = measure(jobs.Job(data="web", setting=jobs.Setting(n_users=20)), shared, seed=0).result
    >>> result.found.n_common, result.found.accuracy > result.found.accuracy_rate.by_chance
    (20, True)
    """
    start = time.perf_counter()
    try:
        result = _result(job, shared, seed, max_memory, progress)
    except NotEnoughUsersError as error:
        result = jobs.LeftOut(error.what)
    return jobs.Done(result, time.perf_counter() - start)


def _result(job: jobs.Job, shared: SharedData, seed: int, max_memory: float, progress: Progress) -> jobs.Result:
    if job.task in DESCRIPTIONS:
        return DESCRIPTIONS[job.task](job, shared)
    if job.task in CHAINS:
        return _compare_chains(job, CHAINS[job.task], shared, seed)
    scenario, protected = prepare(job, shared, seed, progress)
    if job.task == "timing":
        return _time(scenario, job.weight, seed, max_memory, progress)
    attack = replace(ATTACKS[job.task], weight=find_weight(job.weight))
    released, known, common = scenario.released, scenario.known, scenario.common
    matching = run_attack(scenario, attack, seed=seed, max_memory=max_memory, progress=progress).matching
    right, of_row = user_chances(matching, released, known, common), released.share_classes
    return jobs.MeasuredAttack(
        n_users=released.n_users,
        n_known=known.n_users,
        n_places=_n_places(scenario),
        found=evaluate(matching, released, known),
        users=positions(released.users.gather(common.released), shared.users(job.data)),
        right=right,
        clustered=right * np.bincount(of_row)[of_row[common.released]] if protected else None,
        unused=dict(shared.split(job.data, job.setting.last_day, job.setting.side).unused),
        protected=protected,
    )


def _compare_chains(job: jobs.Job, distance: ChainDistance, shared: SharedData, seed: int) -> jobs.MeasuredAttack:
    side = job.setting.side
    assert side is not None, "chains are compared with squares"  # noqa: S101
    released, known = shared.chains(job.data, side)
    matching = match_chains(released, known, kind=distance, seed=seed)
    common = common_users(SAME_ID, released.users, known.users)
    return jobs.MeasuredAttack(
        n_users=released.n_users,
        n_known=known.n_users,
        n_places=None,
        found=evaluate_chains(matching),
        users=positions(released.users.gather(common.released), shared.users(job.data)),
        right=matching.chances(common),
        has_state=matching.has_state(common),
        unused=dict(shared.split(job.data, None, side).unused),
    )


def _time(scenario: Scenario, weight: WeightName, seed: int, max_memory: float, progress: Progress) -> jobs.TimeResult:
    """Add up the time of each stage, from the reports of progress."""
    seconds: dict[str, float] = defaultdict(float)
    start = last = time.perf_counter()

    def watch(stage: str, done: int, total: int, note: str = "") -> None:
        nonlocal last
        now = time.perf_counter()
        seconds[stage] += now - last
        last = now
        progress(stage, done, total, note)

    match(scenario.released, scenario.known, weight=weight, seed=seed, max_memory=max_memory, progress=watch)
    total = time.perf_counter() - start
    return jobs.TimeResult(
        n_users=scenario.released.n_users,
        n_known=scenario.known.n_users,
        n_places=_n_places(scenario),
        seconds_weights=seconds["gains"],
        seconds_matching=total - seconds["gains"] - seconds["proof"],
        seconds_proof=seconds["proof"],
    )


def _describe_popularity(job: jobs.Job, shared: SharedData) -> jobs.Description:
    """Return the first and the last rank of the places with as many visits: enough to draw them all."""
    popular = shared.popular(job.data, job.setting.side)
    ranked = popular.with_row_index("rank", offset=1)
    ends = ranked.group_by("visits", maintain_order=True).agg(first=pl.col("rank").min(), last=pl.col("rank").max())
    released, known = shared.split(job.data, None, job.setting.side)
    both = pl.concat([side.to_table().select("user", "place") for side in (released, known)]).unique()
    n_of_one = both.group_by("place").len().filter(pl.col("len") == 1).height
    return jobs.Description.of(ends, n_places=popular.height, n_users=released.n_users, n_places_of_one_user=n_of_one)


def _describe_antennas(job: jobs.Job, shared: SharedData) -> jobs.Description:
    antennas = shared.data(job.data).antennas
    assert antennas is not None, "only the calls have antennas"  # noqa: S101
    return jobs.Description.of(antennas.select("place", "lat", "lon", "region").sort("place"), n_places=antennas.height)


def _describe_squares(job: jobs.Job, shared: SharedData) -> jobs.Description:
    data, side = shared.data(job.data), job.setting.side
    assert side is not None, "squares have a side"  # noqa: S101
    grid = _grid(data, side)
    row, column = pl.col("place") // grid.n_columns, pl.col("place") % grid.n_columns
    visited = grid.place(data.events).usable.select(row=row, column=column).unique().sort("row", "column")
    (squares,) = collect([visited], data.events.source)
    # Neighbours in a row of squares are one run.
    runs = squares.group_by("row", run=pl.col("column") - pl.int_range(pl.len()), maintain_order=True)
    (lat, lon), (next_lat, next_lon) = grid.centre(0), grid.centre(grid.n_columns + 1)
    west = grid.box.west + pl.col("column") * (next_lon - lon)
    south = grid.box.south + pl.col("row") * (next_lat - lat)
    table = runs.agg(pl.col("column").min(), pl.len()).select(
        west=west, east=west + pl.col("len") * (next_lon - lon), south=south, north=south + (next_lat - lat)
    )
    return jobs.Description.of(table.select(pl.all().round(6)), n_places=squares.height)


def _describe_active_weeks(job: jobs.Job, shared: SharedData) -> jobs.Description:
    data = shared.data(job.data)
    week = weeks_of(local_days(data.events.time_zone), WEEKS_FROM).alias("week")
    active = _within(data).usable.select("user", week).unique().sort("user", "week")
    day = pl.lit(day_of_week_zero(WEEKS_FROM)) + pl.duration(weeks=pl.col("week"))
    (table,) = collect([active.select("user", week=day.dt.to_string("%Y-%m-%d"))], data.events.source)
    return jobs.Description.of(table)


DESCRIPTIONS: Mapping[str, Callable[[jobs.Job, SharedData], jobs.Description]] = {
    "popularity": _describe_popularity,
    "antennas": _describe_antennas,
    "squares": _describe_squares,
    "active-weeks": _describe_active_weeks,
}
