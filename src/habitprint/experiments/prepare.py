"""From data to the two sides of an attack, as a setting asks for."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar, cast

import numpy as np
import polars as pl

from habitprint.arrays import Indices
from habitprint.errors import InputError
from habitprint.experiments.sources import Data, Source
from habitprint.experiments.spec import ALL, Cell, DataName, Setting
from habitprint.grids import OUTSIDE, Grid
from habitprint.histograms import Histograms, align
from habitprint.losses import measure_losses
from habitprint.markov import Chains, mobility_chains
from habitprint.mechanisms import microaggregate
from habitprint.mechanisms.groups.microaggregation import Grouped
from habitprint.mechanisms.top_places import KeepPlaces
from habitprint.periods import OnDays, split
from habitprint.periods.dates import DayName
from habitprint.periods.periods import KNOWN, RELEASED
from habitprint.progress import Progress, silent
from habitprint.ties import share_classes

T = TypeVar("T")


class NotEnoughUsersError(InputError):
    """Tell that a setting asks for more users than there are: this point of a curve is left out."""


class Workshop:
    """Make what several cells need once, whichever thread asks first.

    Examples
    --------
    >>> from habitprint.experiments.sources import Folders, find_sources
    >>> workshop = Workshop(find_sources(Folders(), is_quick=True))
    >>> workshop.once("answer", lambda: 42), workshop.once("answer", lambda: 43)
    (42, 42)
    """

    def __init__(self, sources: Mapping[DataName, Source]) -> None:
        self.sources = sources
        self._locks: dict[Hashable, Lock] = {}
        self._made: dict[Hashable, Any] = {}
        self._lock = Lock()

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` returned for this key the first time."""
        with self._lock:
            lock = self._locks.setdefault(key, Lock())
        with lock:
            if key not in self._made:
                self._made[key] = make()
            return cast("T", self._made[key])

    def data(self, name: DataName) -> Data:
        """Return the data of that name."""

        def make() -> Data:
            source = self.sources[name]
            assert source.open is not None, "cells without data are not run"  # noqa: S101
            return source.open()

        return self.once(("data", name), make)

    def histograms(self, name: DataName, last_day: str | None, side: float | None) -> tuple[Histograms, Histograms]:
        """Return both periods, with all users who are active in both."""

        def make() -> tuple[Histograms, Histograms]:
            data = self.data(name)
            events = data.events
            if side is not None:
                events = _grid(data, side).place(events)
            if last_day is None:
                released, known = split(events, data.period)
                return released, known
            first: DayName = "monday"
            cohort = split(events, OnDays(first, first, of=data.period)).released.users
            days = OnDays(first, cast("DayName", last_day), of=data.period)
            released, known = split(events, days, users=cohort)
            return released, known

        return self.once(("histograms", name, last_day, side), make)

    def popular(self, name: DataName, side: float | None) -> pl.DataFrame:
        """Return the places, most visited first: ``place, visits``; by all users in both periods."""

        def make() -> pl.DataFrame:
            tables = [side_.to_table().select("place", "count") for side_ in self.histograms(name, None, side)]
            visits = pl.concat(tables).group_by("place").agg(visits=pl.col("count").sum())
            return visits.sort("visits", "place", descending=[True, False])

        return self.once(("popular", name, side), make)

    def chains(self, name: DataName, side: float) -> tuple[Chains, Chains]:
        """Return the Markov chains of both periods, of the users whose histograms are compared."""

        def make() -> tuple[Chains, Chains]:
            data = self.data(name)
            users = self.histograms(name, None, side)[0].users
            is_inside = _grid(data, side).box.holds(pl.col("lat"), pl.col("lon"))
            points = data.events.leave_out(~is_inside, OUTSIDE)
            parts = data.period.parts(points).frame.filter(
                (pl.col("reason") == 0) & pl.col("user").is_in(users.implode())
            )
            released, known = (
                mobility_chains(parts.filter(pl.col("part") == part).select("user", "time", "lat", "lon").collect())
                for part in (RELEASED, KNOWN)
            )
            return released, known

        return self.once(("chains", name, side), make)


def _grid(data: Data, side: float) -> Grid:
    if data.box is None:
        raise InputError(
            "side is given for data without positions",
            why="squares are laid over latitudes and longitudes",
            fix="leave out side, or name the columns of positions (lat, lon)",
        )
    return Grid(side, data.box)


@dataclass(frozen=True)
class Sides:
    """Hold the two sides of an attack, what protection did to the released one, and how many were alike before."""

    released: Histograms
    known: Histograms
    value: float | None
    information_loss: float | None = None
    n_groups: int | None = None
    n_alike: int | None = None


def prepare(cell: Cell, workshop: Workshop, seed: int, progress: Progress = silent) -> Sides:
    """Return the two sides that the setting of a cell asks for.

    Users are the first of a shuffle that depends on the seed and the repeat alone, so that all weights, methods and
    sizes meet the same users.

    Examples
    --------
    >>> from habitprint.experiments.sources import Folders, find_sources
    >>> workshop = Workshop(find_sources(Folders(), is_quick=True))
    >>> sides = prepare(Cell(data="web", setting=Setting(n_users=20)), workshop, seed=0)
    >>> sides.released.users.equals(sides.known.users), sides.released.n_users
    (True, 20)
    """
    setting = cell.setting
    released, known = workshop.histograms(cell.data, setting.last_day, setting.side)
    released, known = _narrow(released, known, setting, cell.data, workshop)
    if setting.is_drawn and not (cell.method == "one-by-one" and setting.n_released == 1):
        # One user released at a time is the one-by-one attack on all of them.
        released, known = _draw(released, known, setting, cell.repeat, seed)
    if setting.k is None:
        return Sides(released, known, None)
    k = released.n_users if setting.k == ALL else int(setting.k)
    if k > released.n_users:
        raise NotEnoughUsersError(
            f"k = {k:,} is more than the {released.n_users:,} users that there are",
            why="a group has at least k users",
            fix=f'use a smaller k, or "{ALL}"',
        )
    release = microaggregate(released, k, progress=progress)
    return Sides(
        release.histograms,
        known,
        float(k),
        information_loss=measure_losses(released, release).information_loss,
        n_groups=release.facts(Grouped).n_groups,
        n_alike=int((np.bincount(share_classes(released))[share_classes(released)] > 1).sum()),
    )


def _narrow(
    released: Histograms, known: Histograms, setting: Setting, name: DataName, workshop: Workshop
) -> tuple[Histograms, Histograms]:
    """Keep users who were at a popular place, then popular places; users of whom nothing is left on a side go too."""
    popular = workshop.popular(name, setting.side)["place"] if setting.seen_top or setting.n_top else None
    if popular is not None and setting.seen_top is not None:
        top = KeepPlaces(tuple(popular.head(setting.seen_top).to_list()))
        seen = pl.concat([top.public(side).users for side in (released, known)])
        users = released.users.filter(released.users.is_in(seen.implode()))
        released, known = released.select(users=users), known.select(users=users)
    if popular is not None and setting.n_top is not None:
        top = KeepPlaces(tuple(popular.head(setting.n_top).to_list()))
        released, known = top.public(released), top.public(known)
        both = released.users.filter(released.users.is_in(known.users.implode()))
        if both.is_empty():
            raise InputError(
                f"nobody was at one of the {setting.n_top} most popular places in both periods",
                why="an attack needs users on both sides",
                fix="keep more places",
            )
        released, known = released.select(users=both), known.select(users=both)
    return released, known


def _draw(
    released: Histograms, known: Histograms, setting: Setting, repeat: int, seed: int
) -> tuple[Histograms, Histograms]:
    n_all = released.n_users
    order = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(repeat,))).permutation(n_all)
    n_users = n_all if setting.n_users == ALL else int(setting.n_users)
    ours: Indices = order[:n_users]
    theirs: Indices = ours
    n_needed = n_users
    if setting.n_common is not None:
        n_needed = 2 * n_users - setting.n_common
        theirs = np.concatenate([order[: setting.n_common], order[n_users:n_needed]])
    if setting.n_released != ALL:
        ours = ours[: int(setting.n_released)]
        n_needed = max(n_needed, int(setting.n_released))
    if n_needed > n_all:
        raise NotEnoughUsersError(
            f"{n_needed:,} users are needed, and {n_all:,} are active in both periods",
            why=f"the setting draws that many: n_users = {setting.n_users}, n_released = {setting.n_released}, "
            f"n_common = {setting.n_common}",
            fix=f'use smaller numbers, or "{ALL}"',
        )
    return (
        released.select(users=released.users.gather(np.sort(ours))),
        known.select(users=known.users.gather(np.sort(theirs))),
    )


def n_places_of(released: Histograms, known: Histograms) -> int:
    """Return the number of places of both sides together.

    Examples
    --------
    >>> n_places_of(Histograms.from_strings({1: "ab"}), Histograms.from_strings({1: "bc"}))
    3
    """
    both = align(released, known)
    visited = np.concatenate([side.counts.indices for side in both])
    return len(np.unique(visited))
