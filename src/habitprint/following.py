"""Following: people of a release that is repeated under new pseudonyms, and found again in each later release.

An attacker has all releases of a series, and no names. They match each release with the chains that they gathered so
far. A chain is the sum of the rows that they believe to be of one person. An unmatched row begins a new chain. A person
is followed to a release if their row there joins the chain that their first row began. The attacker may also go link by
link: from each release to the next alone. Then a person who is absent or confused once is lost.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import partial
from itertools import pairwise

import numpy as np
import polars as pl
from scipy import sparse

from habitprint.arrays import Booleans, Indices, SparseMatrix
from habitprint.conversion import AnyTable, as_events
from habitprint.errors import InputError, require_seed, require_whole
from habitprint.events import Events
from habitprint.formatting import Drawn, abbreviated, counted
from habitprint.histograms import Histograms
from habitprint.ids import number_ids
from habitprint.io.tables import collect
from habitprint.matching import MatchOptions
from habitprint.matching.match import find_matching
from habitprint.periods.day_table import EPOCH, MICROSECONDS, CountedAs, DayTable, between, count_days
from habitprint.periods.split import refuse_to_count
from habitprint.progress import Progress, silent
from habitprint.rates import IntervalMethod, Rate, rates_frame
from habitprint.weighing import Weight, WeightName, find_weight

ROTATIONS = (1, 3, 7, 14, 28)  # days between new pseudonyms
FEWEST_RELEASES = 3  # fewer are no series
MOST_RELEASES = 20  # of one series, so that short intervals do not take hours
NOBODY = -1


@dataclass(frozen=True)
class Followed:
    """The people who are still followed after a number of further releases.

    Parameters
    ----------
    n_releases, n_days
        The number of releases after the first, and the days from the first to this one.
    everybody
        The share of the people in the first release and in this one. They may be absent in between.
    throughout
        The share of the people who are in every release of the series; None if there are none.
    link_by_link
        The share of everybody if the attacker compares each release with the next one only.
    """

    n_releases: int
    n_days: int
    everybody: Rate
    throughout: Rate | None
    link_by_link: Rate


@dataclass(frozen=True)
class Survival:
    """How long people are followed if pseudonyms change every so many days.

    Parameters
    ----------
    every
        The days of each release, after which pseudonyms change.
    n_people
        The number of people in the first release.
    n_once
        The number of people in the series who are in one release only; nobody can follow them.
    followed
        The people who are still followed, after one further release, after two, and so on.

    Examples
    --------
    >>> share = Rate.of(30, 40, by_chance=0.025)
    >>> week = Survival(7, 40, 0, (Followed(1, 7, share, share, share),))
    >>> week.last.everybody.value
    0.75
    """

    every: int
    n_people: int
    n_once: int
    followed: tuple[Followed, ...]

    @property
    def last(self) -> Followed:
        """Return the people who are still followed in the last release."""
        return self.followed[-1]

    def is_within(self, target: float) -> bool:
        """Return whether the interval of every release ends within the target."""
        return all(step.everybody.high <= target for step in self.followed)


@dataclass(frozen=True)
class Following(Drawn):
    """The people who can be followed through a series of releases, by rotation interval. Made by `habitprint.follow`.

    Parameters
    ----------
    survivals
        One for each rotation interval of which the file has at least three releases, in ascending order.
    too_long
        The other intervals, in days: the file has fewer than three such releases.
    n_days
        The days of the file.
    weight, seed
        The weight of the matchings; the seed of the sample and of choices among equally good pairs.
    n_sampled
        The number of people in the random sample that was followed; None for everybody.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.follow(hp.datasets.calls_twin(60).events, every=[3])
    >>> [(week.every, len(week.followed)) for week in found.survivals]
    [(3, 3)]
    """

    survivals: tuple[Survival, ...]
    too_long: tuple[int, ...]
    n_days: int
    weight: str
    seed: int
    n_sampled: int | None = None

    __repr__ = abbreviated

    def to_frame(self) -> pl.DataFrame:
        """Return the shares as a frame: a row for each interval, number of releases, and kind of people.

        Examples
        --------
        >>> import habitprint as hp
        >>> hp.follow(hp.datasets.calls_twin(60).events, every=[3]).to_frame().columns[:4]
        ['every', 'n_releases', 'n_days', 'people']
        """
        rows = [
            (week.every, step.n_releases, step.n_days, people, rate)
            for week in self.survivals
            for step in week.followed
            for people in ("everybody", "throughout", "link_by_link")
            if isinstance(rate := getattr(step, people), Rate)
        ]
        names = ("every", "n_releases", "n_days", "people")
        columns: dict[str, list[object]] = {name: [row[at] for row in rows] for at, name in enumerate(names)}
        return rates_frame(columns, [row[-1] for row in rows])


def follow(
    events: Events | DayTable | AnyTable,
    *,
    every: int | Iterable[int] = ROTATIONS,
    weight: WeightName | Weight = "jensen-shannon",
    count: CountedAs = "visits",
    most_people: int | None = None,
    most_releases: int = MOST_RELEASES,
    seed: int = 0,
    progress: Progress = silent,
) -> Following:
    """Follow people through releases of the same table that is repeated under new pseudonyms.

    Parameters
    ----------
    events
        Events with places, as for `habitprint.split`.
    every
        The rotation intervals, in days: each release holds the counts of so many days, under new pseudonyms.
    weight
        The weight of the matchings.
    count
        The unit of counts, as for `habitprint.split`.
    most_people
        Follow a random sample of so many people; None for everybody. With fewer people, more of them are followed.
    most_releases
        The number of releases of a series at most, from the first day on.
    seed
        Draws the sample, and chooses among equally good pairs.
    progress
        A function that is called now and then with the progress of the work.

    Notes
    -----
    Each release is matched jointly with all chains, at most once each; pairs without a shared place are no pairs. What
    is matched is added to the chain. The time is that of the matchings, two for each release.

    Examples
    --------
    >>> import habitprint as hp
    >>> twin = hp.datasets.calls_twin(60)
    >>> week = hp.follow(twin.events, every=7, most_releases=3)
    Traceback (most recent call last):
    habitprint.errors.InputError: the events cover 14 days
      why: a series needs at least 3 releases, and the shortest interval is 7 days
      fix: give events of at least 21 days, or a shorter interval
    >>> hp.follow(twin.events, every=3).survivals[0].followed[0].everybody.n
    48
    """
    require_seed(seed)
    given = list(every) if isinstance(every, Iterable) else [every]
    if not given:
        raise InputError("no rotation interval is given", why="it says when pseudonyms change", fix="use every=[7]")
    for days in given:
        require_whole("every", days, 1, why="pseudonyms change after whole days", fix="use 7 for a new one each week")
    intervals = sorted({int(days) for days in given})
    why, fix = f"a series has at least {FEWEST_RELEASES} releases", f"use {MOST_RELEASES}"
    require_whole("most_releases", most_releases, FEWEST_RELEASES, why=why, fix=fix)
    if most_people is not None:
        require_whole("most_people", most_people, 2, why="people are followed among others", fix="use 1000")
    events = events if isinstance(events, DayTable) else as_events(events)
    refuse_to_count(events, count)
    progress("counting events", 0, 1)
    table = DayTable.of(events, count).counted()
    usual = count_days(table).usual
    first, n_days = usual[0].day, (usual[-1].day - usual[0].day).days + 1
    fitting = [days for days in intervals if n_days // days >= FEWEST_RELEASES]
    if not fitting:
        shortest = intervals[0]
        raise InputError(
            f"the events cover {counted(n_days, 'day')}",
            why=f"a series needs at least {FEWEST_RELEASES} releases, and the shortest interval is "
            f"{counted(shortest, 'day')}",
            fix=f"give events of at least {counted(FEWEST_RELEASES * shortest, 'day')}, or a shorter interval",
        )
    sample = None if most_people is None else _draw_people(table, most_people, seed)
    survivals = []
    for done, days in enumerate(fitting):
        progress(f"releases of {counted(days, 'day')}", done, len(fitting))
        series = count_series(table, first, days, min(n_days // days, most_releases), sample)
        survivals.append(_survival(days, series, weight, seed))
    return Following(
        survivals=tuple(each for each in survivals if each.followed),
        too_long=tuple(days for days in intervals if days not in fitting),
        n_days=n_days,
        weight=weight if isinstance(weight, str) else weight.name,
        seed=seed,
        n_sampled=None if sample is None else len(sample),
    )


def _draw_people(table: DayTable, most: int, seed: int) -> Indices | None:
    """Return the codes of a random sample of people; None for everybody."""
    order = np.argsort(_by_text(table.users))  # so that ids of either type give the same sample
    return order[np.random.default_rng(seed).permutation(len(order))[:most]] if len(order) > most else None


def _by_text(ids: pl.Series | None) -> Indices:
    """Return the position of each id among all, in the order of their text: whole numbers and text agree."""
    texts = pl.Series([]) if ids is None else ids.cast(pl.String)
    return np.argsort(texts.arg_sort().to_numpy())


def count_series(
    table: DayTable, first: date, every: int, n_releases: int, people: Indices | None = None
) -> dict[int, Histograms]:
    """Return the histograms of consecutive releases of so many days each, by number; empty ones are left out.

    Users and places are numbered in the order of the text of their ids.

    Examples
    --------
    >>> import habitprint as hp
    >>> calls = hp.events_from_frame({"user": [3, 3, 5], "time": ["2012-04-09", "2012-04-10", "2012-04-10"],
    ...                               "place": ["a", "a", "b"]})
    >>> days = DayTable.of(calls).counted()
    >>> series = count_series(days, date(2012, 4, 9), every=1, n_releases=2)
    >>> {number: table.users.to_list() for number, table in series.items()}
    {0: [0], 1: [0, 1]}
    """
    number = (pl.col("day") - (first - EPOCH).days) // every
    rows = table.usable.filter(between(first, first + timedelta(days=n_releases * every - 1)))
    if people is not None:
        rows = rows.filter(pl.col("user").is_in(pl.Series(people, dtype=pl.UInt32).implode()))
    amount = "microseconds" if table.in_seconds else "n"
    (found,) = collect(
        [rows.group_by(number.alias("release"), "user", "place").agg(pl.col(amount).sum())], table.events.source
    )
    of_user, of_place = _by_text(table.users), _by_text(table.places)
    found = found.with_columns(user=of_user[found["user"]], place=of_place[found["place"]])
    places, _ = number_ids(found["place"])
    series = {}
    for (release,), mine in sorted(found.partition_by("release", as_dict=True).items()):
        users, of_user = number_ids(mine["user"])
        of_place = places.search_sorted(mine["place"]).to_numpy()
        values = mine[amount].cast(pl.Float64).to_numpy() / (MICROSECONDS if table.in_seconds else 1)
        counts = sparse.csr_array((values, (of_user, of_place)), (users.len(), places.len()))
        series[release] = Histograms(counts, users, places)
    return series


def _survival(every: int, releases: dict[int, Histograms], weight: WeightName | Weight, seed: int) -> Survival:
    """Return who is followed through a series, by what is gathered and link by link."""
    (begin, *numbers), series = releases, list(releases.values())
    everybody = [table.users.to_numpy() for table in series]
    _, n_times = np.unique(np.concatenate(everybody), return_counts=True)
    start = everybody[0]
    is_throughout = np.logical_and.reduce([np.isin(start, users) for users in everybody])
    gathered = _gather(series, weight, seed)
    linked = _link(series, weight, seed)
    followed = []
    for step, number in enumerate(numbers, 1):
        users = everybody[step]
        is_here = np.isin(start, users)
        if not is_here.any():
            continue
        rate = partial(_rate, chance=1 / len(users))
        is_right = gathered[step - 1] == start
        followed.append(
            Followed(
                n_releases=number - begin,
                n_days=(number - begin) * every,
                everybody=rate(is_right, is_here),
                throughout=rate(is_right, is_throughout) if is_throughout.any() else None,
                link_by_link=rate(linked[step - 1] == start, is_here),
            )
        )
    return Survival(every, len(start), int((n_times == 1).sum()), tuple(followed))


def _rate(is_right: Booleans, among: Booleans, chance: float) -> Rate:
    return Rate.of(int((is_right & among).sum()), int(among.sum()), chance, method=IntervalMethod.JOINT)


def _gather(series: Sequence[Histograms], weight: WeightName | Weight, seed: int) -> list[Indices]:
    """Return for each later release whose row was added to the chains of the first one, matched with all so far."""
    start = series[0]
    chains: SparseMatrix = start.counts
    found = []
    for step, table in enumerate(series[1:], 1):
        known = Histograms(chains, pl.Series(np.arange(chains.shape[0])), table.places)
        of_chain = _partners(known, table, weight, seed + step)
        old, rows = np.flatnonzero(of_chain != NOBODY), of_chain[of_chain != NOBODY]
        adding = sparse.csr_array((np.ones(len(rows)), (old, rows)), (len(of_chain), table.n_users))
        is_new = ~np.isin(np.arange(table.n_users), rows)
        chains = sparse.vstack([chains + adding @ table.counts, table.counts[is_new]], format="csr")
        users = np.append(table.users.to_numpy(), NOBODY)
        found.append(users[of_chain[: start.n_users]])
    return found


def _link(series: Sequence[Histograms], weight: WeightName | Weight, seed: int) -> list[Indices]:
    """Return for each later release whose row is at the end of the links that the first one began."""
    at = np.arange(series[0].n_users)
    found = []
    for step, (one, other) in enumerate(pairwise(series), 1):
        at = np.append(_partners(one, other, weight, seed + step), NOBODY)[at]  # who is lost stays lost
        found.append(np.append(other.users.to_numpy(), NOBODY)[at])
    return found


def _partners(known: Histograms, released: Histograms, weight: WeightName | Weight, seed: int) -> Indices:
    """Return for each known row the released row that it is matched with, or `NOBODY`; a guess is no match."""
    partner = np.full(known.n_users, NOBODY)
    found = find_matching(released, known, MatchOptions(weight=find_weight(weight), seed=seed))
    rows, columns = found.rows_in(released, known)
    partner[columns[~found.is_guess]] = rows[~found.is_guess]
    return partner
