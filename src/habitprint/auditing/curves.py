"""What the risk depends on: the number of users, how long they are watched, and how finely."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl
from scipy import sparse

from habitprint.auditing.attacks import Attempt, attack
from habitprint.auditing.candidates import Coarser, CoarserKind
from habitprint.auditing.data import CountedEvents, Prepared
from habitprint.auditing.two_tables import TwoTables
from habitprint.histograms import Histograms
from habitprint.matching import Method
from habitprint.periods import HalvesOfActiveWeeks, OnDays, Period
from habitprint.periods.dates import local_days
from habitprint.periods.periods import KNOWN, RELEASED
from habitprint.progress import Progress, nested, silent
from habitprint.rates import Rate
from habitprint.tables import collect
from habitprint.words import counted

STAGE = "what the risk depends on"
FEWEST_USERS = 10  # in a group
MOST_POINTS = 8
SHARES_OF_COUNTS = (1 / 16, 1 / 8, 1 / 4, 1 / 2)

Dimension = Literal["users", "duration", "counts", "resolution"]
TITLES: dict[Dimension, str] = {
    "users": "How many people there are",
    "duration": "How long they are watched",
    "counts": "How much is counted",
    "resolution": "How finely places are told apart",
}
COARSER: dict[CoarserKind, str] = {
    "larger squares": "Squares were put together into larger ones, on both sides: coarser places tell less.",
    "places put together": "Places were put together as the mapping says, on both sides: coarser places tell less.",
    "rare places merged": "All but the most popular places were made one, on both sides: rare places tell most.",
}


@dataclass(frozen=True)
class Point:
    """Hold the risk at one value: `x` for an axis, `label` for people; in groups of `n_users`, matched apart."""

    x: float
    label: str
    rate: Rate
    n_users: int
    n_groups: int = 1
    is_as_released: bool = False


@dataclass(frozen=True)
class Curve:
    """Hold how the risk depends on something; points in ascending order of `x`, none where `words` say why not."""

    dimension: Dimension
    axis: str
    words: str
    points: tuple[Point, ...]

    @property
    def title(self) -> str:
        """Return what the risk depends on, to head a picture."""
        return TITLES[self.dimension]


def users_curve(whole: Attempt, progress: Progress = silent) -> Curve:
    """Attack random groups of fewer and fewer users, as the whole was attacked.

    Examples
    --------
    >>> import habitprint as hp
    >>> curve = users_curve(attack(TwoTables(*hp.datasets.town(100, 20), truth="same-id")))
    >>> [(point.x, point.n_groups) for point in curve.points]
    [(12.0, 8), (25.0, 4), (50.0, 2), (100.0, 1)]
    """
    tables = whole.tables
    n = tables.n_people
    n_groups = [2**power for power in range(1, MOST_POINTS) if n // 2**power >= FEWEST_USERS]
    points = [Point(float(n), f"{n:,} users", whole.rate, n, is_as_released=True)]
    for done, number in enumerate(n_groups):
        inner = nested(progress, STAGE, done, len(n_groups), f"groups of {n // number:,} users")
        rates = [_again(whole, part, inner).rate for part in tables.groups(number, whole.matching.seed)]
        points.append(Point(float(n // number), f"{n // number:,} users", _pooled(rates), n // number, number))
    words = (
        "The users were cut at random into groups, and each group was attacked as if there were no others: among fewer "
        "people, each is easier to tell apart."
        if n_groups
        else f"There are too few users to make groups of at least {FEWEST_USERS}."
    )
    return Curve("users", "users", words, tuple(points[::-1]))


def _again(whole: Attempt, tables: TwoTables, progress: Progress, method: Method = "joint") -> Attempt:
    """Make the same attack on other tables."""
    return attack(tables, whole.matching.weight_name, method, seed=whole.matching.seed, progress=progress)


def _pooled(rates: list[Rate]) -> Rate:
    n = sum(rate.n for rate in rates)
    return Rate.of(sum(rate.n_correct for rate in rates), n, sum(rate.by_chance * rate.n for rate in rates) / n)


def duration_curve(prepared: Prepared, whole: Attempt, progress: Progress = silent) -> Curve:
    """Attack shorter periods of the same users; from two tables of counts, random parts of the counts instead.

    Users of whom nothing is left on one side count as not identified.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.auditing.data import prepare_tables
    >>> prepared = prepare_tables(*hp.datasets.town(60, 20), "same-id")
    >>> [point.label for point in duration_curve(prepared, attack(prepared.tables)).points]
    ['6.25% of the counts', '12.5% of the counts', '25% of the counts', '50% of the counts', 'all counts']
    """
    if prepared.source is None:
        return _counts_curve(whole, progress)
    days = _by_day(prepared.source, whole.tables)
    longest = int(days["day"].max()) + 1  # type: ignore[arg-type]
    lengths = _lengths(longest)
    points = []
    for done, length in enumerate(lengths):
        inner = nested(progress, STAGE, done, len(lengths), f"periods of {length} days")
        part = _first_days(days, length, whole.tables).counting(whole.rate.n)
        points.append(Point(float(length), counted(length, "day"), _again(whole, part, inner).rate, part.common.n))
    points.append(Point(float(longest), counted(longest, "day"), whole.rate, whole.rate.n, is_as_released=True))
    which = "days on which each user was seen" if _is_own_days(prepared.source.period) else "days"
    words = f"Only the first {which} of both periods were kept, of the same people: fewer days tell less about habits."
    return Curve("duration", "days in each period", words, tuple(points))


def _lengths(longest: int) -> list[int]:
    """Return some lengths up to the longest, each a good deal longer than the one before."""
    series = [1, 2, 3, 5, 7, 10, 14, 21, 28, 42, 60, 90, 120, 180, 270, 365, 545, 730, 1095]
    return [length for length in series if length < longest][-MOST_POINTS + 1 :]


def _is_own_days(period: Period) -> bool:
    return isinstance(period.of if isinstance(period, OnDays) else period, HalvesOfActiveWeeks)


def _by_day(source: CountedEvents, tables: TwoTables) -> pl.DataFrame:
    """Return the counts of each part, user and place on each day; days of a part are numbered from zero."""
    events, period = source.events, source.period
    day = local_days(events.time_zone).alias("day")
    is_long = source.count == "seconds"
    amount = pl.col("seconds").sum() if is_long else pl.len().cast(pl.Int64)
    seconds = ["seconds"] if is_long else []
    rows = period.parts(events).frame.filter((pl.col("reason") == 0) & pl.col("part").is_not_null())
    keys = ["part", "user", "place", "day"]
    (days,) = collect(
        [rows.select("part", "user", "place", day, *seconds).group_by(keys).agg(count=amount)], events.source
    )
    of_users = days.join(_users(tables), on=["part", "user"], how="semi")
    if _is_own_days(period):
        number = pl.col("day").rank("dense").over("part", "user") - 1
    else:
        number = pl.col("day") - pl.col("day").min().over("part")
    return of_users.with_columns(day=number.cast(pl.Int64))


def _users(tables: TwoTables) -> pl.DataFrame:
    both = ((RELEASED, tables.released.users), (KNOWN, tables.known.users))
    return pl.concat([pl.DataFrame({"user": users}).with_columns(part=pl.lit(part, pl.Int8)) for part, users in both])


def _first_days(days: pl.DataFrame, length: int, whole: TwoTables) -> TwoTables:
    kept = days.filter(pl.col("day") < length, pl.col("count") > 0)
    tables = [kept.filter(pl.col("part") == part) for part in (RELEASED, KNOWN)]
    released, known = (Histograms.from_table(table.drop("part", "day"), duplicates="sum") for table in tables)
    return TwoTables(released, known, whole.truth)


def _counts_curve(whole: Attempt, progress: Progress) -> Curve:
    tables, axis = whole.tables, "share of the counts"
    if any(table.counts.data.dtype.kind != "i" for table in (tables.released, tables.known)):
        return Curve("counts", axis, "The tables hold shares or fractions, of which no part can be drawn.", ())
    random = np.random.default_rng(whole.matching.seed)
    points = []
    for done, share in enumerate(SHARES_OF_COUNTS):
        label = f"{100 * share:g}% of the counts"
        inner = nested(progress, STAGE, done, len(SHARES_OF_COUNTS), label)
        released, known = (_thinned(table, share, random) for table in (tables.released, tables.known))
        part = TwoTables(released, known, tables.truth).counting(whole.rate.n)
        points.append(Point(share, label, _again(whole, part, inner).rate, part.common.n))
    points.append(Point(1.0, "all counts", whole.rate, whole.rate.n, is_as_released=True))
    words = (
        "Each count of both tables was kept with the same probability, as if people had been watched for a part of the "
        "time only: fewer counts tell less about habits."
    )
    return Curve("counts", axis, words, tuple(points))


def _thinned(histograms: Histograms, share: float, random: np.random.Generator) -> Histograms:
    drawn = sparse.csr_array(histograms.counts, copy=True)
    drawn.data = random.binomial(histograms.counts.data, share)
    if not drawn.data.any():
        drawn.data[0] = 1  # somebody must be left to be attacked
    rows = np.flatnonzero(np.add.reduceat(drawn.data, drawn.indptr[:-1]) > 0)
    return Histograms(drawn[rows], histograms.users.gather(rows), histograms.places)


def resolution_curve(
    whole: Attempt,
    steps: Sequence[Coarser],
    *,
    side: float | None = None,
    n_in_all: int | None = None,
    progress: Progress = silent,
) -> Curve:
    """Attack at coarser places, on both sides.

    Parameters
    ----------
    whole
        The attack at the places as they are.
    steps
        Ways to put places together.
    side
        Of the squares as they are; None where places are no squares.
    n_in_all
        How many people there are, if the attack is on some of them only; None if it is on all.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.auditing.candidates import coarser_places
    >>> tables = TwoTables(*hp.datasets.town(60, 20), truth="same-id")
    >>> curve = resolution_curve(attack(tables, "l1"), coarser_places(tables.released, None, []))
    >>> [point.label for point in curve.points]
    ['2 places, all others as one', '5 places, all others as one', '10 places, all others as one', '20 places']
    """
    n, n_places = whole.rate.n, whole.tables.released.n_places
    x, label = (n_places, f"{n_places:,} places") if side is None else (side, f"squares of {side:g} m")
    points = [Point(float(x), label, whole.rate, n, is_as_released=n_in_all is None)]
    for done, step in enumerate(steps):
        inner = nested(progress, STAGE, done, len(steps), step.label)
        coarse = whole.tables.protected_by(step.mechanism)[1].views[-1].counting(n)
        rate = _again(whole, coarse, inner, "approximate").rate
        points.append(Point(float(step.x), step.label, rate, coarse.common.n))
    words = COARSER[steps[0].kind] if steps else "There are too few places to put any together."
    if n_in_all is not None:
        words += f" Done with a random {n:,} of {n_in_all:,} users, to save time: among fewer, risks are higher."
    axis = "places" if side is None else "side of the squares in metres"
    return Curve("resolution", axis, words, tuple(sorted(points, key=lambda point: point.x)))
