"""The execution of jobs: from data to the two tables of a setting, and from these to a result."""

import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from itertools import product
from threading import Lock
from typing import Any, TypeVar, TypeVarTuple, cast

import numpy as np
import polars as pl
from scipy import sparse

from habitprint.attacks import PROPOSED, Attack, Scenario, run_attack
from habitprint.datasets import illustration
from habitprint.errors import InputError
from habitprint.evaluation import evaluate, user_chances
from habitprint.events import Events
from habitprint.events.spec import DayName
from habitprint.experiments import jobs
from habitprint.experiments.sources import Data, DataSource
from habitprint.experiments.spec import GRAPHS
from habitprint.histograms import Histograms, align
from habitprint.ids import positions
from habitprint.io.tables import collect
from habitprint.losses import measure_losses
from habitprint.markov import chains as markov
from habitprint.matching import Matching, match
from habitprint.mechanisms import microaggregate
from habitprint.mechanisms.recoding import keep_places
from habitprint.periods import BusiestWeeks, ConsecutiveWeeks, HalvesOfActiveWeeks, OnDays, Split, split
from habitprint.periods.day_table import DAYS, DayTable, day_of_week_zero, local_days, to_date, weeks_of
from habitprint.periods.periods import KNOWN, RELEASED, Period
from habitprint.places import OUTSIDE, Grid
from habitprint.progress import Progress, silent
from habitprint.runtime import Once
from habitprint.truth import SAME_ID
from habitprint.weighing import find_weight, weights

WEEKS_FROM: DayName = "tuesday"  # in GMT, as for the halves

# The attacks of the paper, each with any weight.
ATTACKS: Mapping[str, Attack] = {
    "joint": PROPOSED,
    "timing": PROPOSED,
    "joint-common": replace(PROPOSED, is_as_common=True),
    "one-by-one": replace(PROPOSED, method="one-by-one"),
    "one-by-one-from-known": replace(PROPOSED, method="one-by-one", direction="known-to-released"),
}
CHAINS: Mapping[str, markov.ChainDistance] = {f"markov-{distance}": distance for distance in markov.CHAIN_DISTANCES}
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
    def split(self, name: jobs.DataName, setting: jobs.Setting) -> Split:
        """Return both periods, with all users who are active in both, and the account of the rows."""
        data = self.data(name)
        events = data.events if setting.side is None else _grid(data, setting.side).place(data.events)
        period = data.period
        if setting.first_day is not None:
            period = _of_weeks(period, setting.first_day)
        if setting.last_day is None:
            return split(events, period)
        first: DayName = "monday"
        cohort = split(events, OnDays(first, first, of=period)).released.users
        return split(events, OnDays(first, setting.last_day, of=period), users=cohort)

    @_once
    def popular(self, name: jobs.DataName, setting: jobs.Setting) -> pl.DataFrame:
        """Return the places, most visited first: ``place, visits``; by all users in both periods."""
        tables = [side.to_table().select("place", "count") for side in self.split(name, setting)]
        visits = pl.concat(tables).group_by("place").agg(visits=pl.col("count").sum())
        return visits.sort("visits", "place", descending=[True, False])

    @_once
    def chains(self, name: jobs.DataName, setting: jobs.Setting) -> tuple[markov.Chains, markov.Chains]:
        """Return the Markov chains of both periods, for the users whose histograms are compared."""
        data = self.data(name)
        users = self.split(name, setting).released.users
        parts = data.period.parts(DayTable.of(_within(data)).kept()).days.usable
        parts = parts.filter(pl.col("user").is_in(users.implode()))
        sides = [parts.filter(pl.col("part") == part).select(markov.COLUMNS) for part in (RELEASED, KNOWN)]
        released, known = map(markov.mobility_chains, collect(sides, data.events.source))
        return released, known


def _of_weeks(period: Period, first_day: DayName) -> Period:
    if not isinstance(period, BusiestWeeks | HalvesOfActiveWeeks):
        raise InputError(
            "first_day is given for periods of fixed days",
            why="only the busiest weeks, and halves of active weeks, begin on a day of the week",
            fix="remove first_day, or use halves or busiest in [periods]",
        )
    return replace(period, first_day=first_day)


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
    released, known = _narrow(job, shared)
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


def _narrow(job: jobs.Job, shared: SharedData) -> tuple[Histograms, Histograms]:
    """Keep users who were at popular places in both periods, then popular places and who still has counts in both."""
    setting, base = job.setting, job.setting.of_periods
    whole = narrowed = tuple(shared.split(job.data, base))
    for n, is_of_users in ((setting.seen_top, True), (setting.n_top, False)):
        if n is None:
            continue
        top = shared.popular(job.data, base)["place"].head(n)
        kept = [keep_places(side, top) for side in narrowed]
        both = kept[0].users.filter(kept[0].users.is_in(kept[1].users.implode()))
        if both.is_empty():
            raise InputError(
                f"nobody was at one of the {n} most popular places in both periods",
                why="an attack needs users on both sides",
                fix="keep more places",
            )
        narrowed = tuple(side.select(users=both) for side in (whole if is_of_users else kept))
    released, known = narrowed
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
    scenario, protected = prepare(job, shared, seed, progress)
    released, known, common = scenario.released, scenario.known, scenario.common
    facts: dict[str, Any] = {}
    matching: Matching | markov.ChainMatching
    if job.task in CHAINS:
        matching = markov.match_chains(
            *shared.chains(job.data, job.setting.of_periods), kind=CHAINS[job.task], users=released.users, seed=seed
        )
        found, right = markov.evaluate_chains(matching), matching.chances(common)
        facts["has_state"] = matching.has_state(common)
    else:
        watch = _Stopwatch(progress)
        attack = replace(ATTACKS[job.task], weight=find_weight(job.weight))
        matching = run_attack(scenario, attack, seed=seed, max_memory=max_memory, progress=watch).matching
        facts["seconds"] = watch.seconds() if job.task == "timing" else {}
        found, right = evaluate(matching, released, known), user_chances(matching, released, known, common)
        facts["n_places"] = _n_places(scenario.aligned)
        if protected:
            of_row = released.share_classes
            facts |= {"clustered": right * np.bincount(of_row)[of_row[common.released]], "protected": protected}
    return jobs.MeasuredAttack(
        n_users=released.n_users,
        n_known=known.n_users,
        found=found,
        n_right=int((matching.released == matching.known).sum()),
        users=positions(released.users.gather(common.released), shared.users(job.data)),
        right=right,
        unused=dict(shared.split(job.data, job.setting.of_periods).unused),
        **facts,
    )


class _Stopwatch:
    """The time of each stage, from the reports of progress."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.stages = progress, defaultdict[str, float](float)
        self.start = self.last = time.perf_counter()

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        now = time.perf_counter()
        self.stages[stage] += now - self.last
        self.last = now
        self.progress(stage, done, total, note)

    def seconds(self) -> dict[jobs.Stage, float]:
        """Return the seconds from the start: what is neither weights nor proof belongs to the matching."""
        weights, proof = self.stages["gains"], self.stages["proof"]
        return {"weights": weights, "matching": self.last - self.start - weights - proof, "proof": proof}


def _n_places(sides: Iterable[Histograms]) -> int:
    return len(np.unique(np.concatenate([side.counts.indices for side in sides])))


def _describe_facts(job: jobs.Job, shared: SharedData) -> jobs.Description:
    """Return the facts that the paper prints about its data, as far as they have a meaning for this data."""
    data, both = shared.data(job.data), shared.split(job.data, job.setting.of_periods)
    period = data.period
    n, sides = both.released.n_users, align(both.released, both.known)
    visits: sparse.csr_array = sides[0].counts + sides[1].counts
    facts: dict[str, float] = {
        "n_users": n,
        "n_places": _n_places(sides),
        "n_places_of_one_user": int((np.bincount(visits.indices) == 1).sum()),
        "events_per_user": visits.sum() / n,
        "places_per_user": visits.nnz / n,
        "by_chance": 1 / n,
    }
    if isinstance(period, ConsecutiveWeeks):
        second_day = local_days(data.events.time_zone) == pl.lit(to_date(period.start)).cast(pl.Int32) + 1
        theirs = data.events.usable.filter(pl.col("user").is_in(both.released.users.implode()), second_day)
        (n_then,) = collect([theirs.select(pl.len())], data.events.source)
        facts |= {
            "events_per_day": facts["events_per_user"] / (2 * len(DAYS)),
            "events_on_second_day": n_then.item() / n,
            "n_on_both_mondays": shared.split(job.data, jobs.Setting(last_day="monday")).released.n_users,
        }
    if isinstance(period, HalvesOfActiveWeeks):
        weeks = _active_weeks(job, shared).group_by("user").len().filter(pl.col("len") > 1)
        facts["weeks_per_user"] = int(weeks["len"].sum()) / max(weeks.height, 1)
    return jobs.Description(columns=("fact", "number"), rows=tuple((name, float(of)) for name, of in facts.items()))


def _describe_popularity(job: jobs.Job, shared: SharedData) -> jobs.Description:
    """Return the first and the last rank of the places with as many visits: enough to draw them all."""
    popular = shared.popular(job.data, job.setting.of_periods)
    ranked = popular.with_row_index("rank", offset=1)
    ends = ranked.group_by("visits", maintain_order=True).agg(first=pl.col("rank").min(), last=pl.col("rank").max())
    return jobs.Description.of(ends, popular.height)


def _describe_antennas(job: jobs.Job, shared: SharedData) -> jobs.Description:
    antennas = shared.data(job.data).antennas
    assert antennas is not None, "only the calls have antennas"  # noqa: S101
    return jobs.Description.of(antennas.select("place", "lat", "lon", "region").sort("place"), antennas.height)


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
    return jobs.Description.of(table.select(pl.all().round(6)), squares.height)


def _active_weeks(job: jobs.Job, shared: SharedData) -> pl.DataFrame:
    data = shared.data(job.data)
    week = weeks_of(local_days(data.events.time_zone), WEEKS_FROM).alias("week")
    active = _within(data).usable.select("user", week).unique().sort("user", "week")
    day = pl.lit(day_of_week_zero(WEEKS_FROM)) + pl.duration(weeks=pl.col("week"))
    (table,) = collect([active.select("user", week=day.dt.to_string("%Y-%m-%d"))], data.events.source)
    return table


def _describe_illustration(job: jobs.Job, shared: SharedData) -> jobs.Description:
    """Return the pairs of the paper's first table, released users with their matches, in percent."""
    del job, shared
    released, known = illustration()
    pairs = match(released, known).to_table().select("released", "known", "weight").sort("released")
    for side, name in ((released, "released"), (known, "known")):
        rows = side.to_table().pivot("place", index="user", values="count")
        rows = rows.select(pl.col("user").alias(name), pl.exclude("user").name.prefix(f"{name}_"))
        pairs = pairs.join(rows, on=name, maintain_order="left")
    return jobs.Description.of(pairs.select("^released.*$", "^known.*$", "weight"))


def _describe_graph(job: jobs.Job, shared: SharedData) -> jobs.Description:
    """Return the edges of the graphs of one figure, on users of the paper's first table."""
    del shared
    everybody = illustration()
    truth = dict(match(*everybody).to_table().select("released", "known").rows())
    rows: list[tuple[jobs.Plain, ...]] = []
    for one in GRAPHS[job.task]:
        released, known = everybody[0].select(users=one.released), everybody[1].select(users=one.known)
        pairs = match(released, known, size=one.size).to_table().select("released", "known").rows()
        every, right = weights(released, known), [truth[user] for user in released.users]
        for i, j in product(range(released.n_users), range(known.n_users)):
            user, other = released.users[i], known.users[j]
            common = (right[i] in known.users, other in right)
            rows.append((one.panel, user, other, round(float(every[i, j]), 3), (user, other) in pairs, *common))
    columns = ("panel", "released", "known", "weight", "is_matched", "released_is_common", "known_is_common")
    return jobs.Description(columns=columns, rows=tuple(rows))


DESCRIPTIONS: Mapping[str, Callable[[jobs.Job, SharedData], jobs.Description]] = {
    "facts": _describe_facts,
    "illustration": _describe_illustration,
    **dict.fromkeys(GRAPHS, _describe_graph),
    "popularity": _describe_popularity,
    "antennas": _describe_antennas,
    "squares": _describe_squares,
    "active-weeks": lambda job, shared: jobs.Description.of(_active_weeks(job, shared)),
}
