"""What the risk depends on: the number of users, how long they are watched, and how finely."""

from collections.abc import Iterable

import numpy as np
import polars as pl
from scipy import sparse

from habitprint.audit.attack import run_match
from habitprint.audit.check import Prepared
from habitprint.audit.coarser import Coarser
from habitprint.audit.facts import Curve, Point
from habitprint.audit.sides import Sides, nested
from habitprint.events.table import collect
from habitprint.histograms import Histograms
from habitprint.periods import HalvesOfActiveWeeks, OnDays, Period
from habitprint.periods.dates import local_days
from habitprint.periods.split import CountedAs
from habitprint.periods.values import KNOWN, RELEASED
from habitprint.progress import Progress, silent
from habitprint.rates import Rate
from habitprint.weights import WeightName

STAGE = "what the risk depends on"
FEWEST_USERS = 10  # in a group
MOST_POINTS = 8
MOST_USERS = 5_000  # who are attacked at coarser places, where everybody is a rival of many others
SHARES_OF_COUNTS = (1 / 16, 1 / 8, 1 / 4, 1 / 2)


def users_curve(sides: Sides, whole: Rate, weight: WeightName, seed: int, progress: Progress = silent) -> Curve:
    """Attack random groups of fewer and fewer users.

    Examples
    --------
    >>> import habitprint as hp
    >>> sides = Sides(*hp.datasets.town(100, 20), truth="same-id")
    >>> curve = users_curve(sides, run_match(sides)[1], "jensen-shannon", 0)
    >>> [(point.x, point.n_groups) for point in curve.points]
    [(12, 8), (25, 4), (50, 2), (100, 1)]
    """
    n = sides.common.n
    n_groups = [2**power for power in range(1, MOST_POINTS) if n // 2**power >= FEWEST_USERS]
    points = [Point(n, f"{n:,} users", whole, n, 1, is_as_released=True)]
    for done, number in enumerate(n_groups):
        inner = nested(progress, STAGE, done, len(n_groups), f"groups of {n // number:,} users")
        rates = [run_match(part, weight, seed=seed, progress=inner)[1] for part in sides.groups(number, seed)]
        points.append(Point(n // number, f"{n // number:,} users", _pooled(rates), n // number, number, False))  # noqa: FBT003
    words = (
        "The users were cut at random into groups, and each group was attacked as if there were no others: among fewer "
        "people, each is easier to tell apart."
        if n_groups
        else f"There are too few users to make groups of at least {FEWEST_USERS}."
    )
    return Curve("users", "How many people there are", "users", words, tuple(points[::-1]))


def _pooled(rates: list[Rate]) -> Rate:
    n = sum(rate.n for rate in rates)
    return Rate.of(sum(rate.n_correct for rate in rates), n, sum(rate.by_chance * rate.n for rate in rates) / n)


def duration_curve(
    prepared: Prepared,
    whole: Rate,
    weight: WeightName,
    seed: int,
    *,
    count: CountedAs = "visits",
    progress: Progress = silent,
) -> Curve:
    """Attack shorter periods of the same users; from two tables of counts, random parts of the counts instead.

    Users of whom nothing is left on one side count as not identified.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.audit.check import check_pair
    >>> prepared = check_pair(*hp.datasets.town(60, 20), "same-id", None, 0)
    >>> curve = duration_curve(prepared, run_match(prepared.sides)[1], "jensen-shannon", 0)
    >>> [point.label for point in curve.points]
    ['6.25% of the counts', '12.5% of the counts', '25% of the counts', '50% of the counts', 'all counts']
    """
    if prepared.events is None or prepared.period is None:
        return _counts_curve(prepared.sides, whole, weight, seed, progress)
    days = _by_day(prepared, count)
    longest = int(days["day"].max()) + 1  # type: ignore[arg-type]
    is_own = _is_own_days(prepared.period)
    lengths = [length for length in _lengths(longest) if length < longest]
    points = []
    for done, length in enumerate(lengths):
        inner = nested(progress, STAGE, done, len(lengths), f"periods of {length} days")
        part = _first_days(days, length, prepared.sides)
        rate = _of_all(run_match(part, weight, seed=seed, progress=inner)[1], part, whole.n)
        points.append(Point(length, _days(length), rate, part.common.n, 1, is_as_released=False))
    points.append(Point(longest, _days(longest), whole, whole.n, 1, is_as_released=True))
    which = "days on which each user was seen" if is_own else "days"
    words = f"Only the first {which} of both periods were kept, of the same people: fewer days tell less about habits."
    return Curve("duration", "How long they are watched", "days in each period", words, tuple(points))


def _days(n: int) -> str:
    return f"{n} day{'' if n == 1 else 's'}"


def _lengths(longest: int) -> list[int]:
    """Return some lengths up to the longest, each a good deal longer than the one before."""
    series = [1, 2, 3, 5, 7, 10, 14, 21, 28, 42, 60, 90, 120, 180, 270, 365, 545, 730, 1095]
    return [length for length in series if length < longest][-MOST_POINTS + 1 :]


def _is_own_days(period: Period) -> bool:
    return isinstance(period.of if isinstance(period, OnDays) else period, HalvesOfActiveWeeks)


def _by_day(prepared: Prepared, count: CountedAs) -> pl.DataFrame:
    """Return the counts of each part, user and place on each day; days of a part are numbered from zero."""
    events, period = prepared.events, prepared.period
    assert events is not None  # noqa: S101  (asked for by the caller)
    assert period is not None  # noqa: S101
    day = local_days(events.time_zone).alias("day")
    amount = pl.col("seconds").sum() if count == "seconds" else pl.len().cast(pl.Int64)
    rows = period.parts(events).frame.filter((pl.col("reason") == 0) & pl.col("part").is_not_null())
    keys = ["part", "user", "place", "day"]
    (days,) = collect(
        [rows.select("part", "user", "place", day, *_seconds(count)).group_by(keys).agg(count=amount)], events.source
    )
    of_users = days.join(_users(prepared.sides), on=["part", "user"], how="semi")
    if _is_own_days(period):
        number = pl.col("day").rank("dense").over("part", "user") - 1
    else:
        number = pl.col("day") - pl.col("day").min().over("part")
    return of_users.with_columns(day=number.cast(pl.Int64))


def _seconds(count: CountedAs) -> list[str]:
    return ["seconds"] if count == "seconds" else []


def _users(sides: Sides) -> pl.DataFrame:
    both = ((RELEASED, sides.released.users), (KNOWN, sides.known.users))
    return pl.concat([pl.DataFrame({"user": users}).with_columns(part=pl.lit(part, pl.Int8)) for part, users in both])


def _first_days(days: pl.DataFrame, length: int, sides: Sides) -> Sides:
    kept = days.filter(pl.col("day") < length, pl.col("count") > 0)
    tables = [kept.filter(pl.col("part") == part) for part in (RELEASED, KNOWN)]
    released, known = (Histograms.from_table(table.drop("part", "day"), duplicates="sum") for table in tables)
    return Sides(released, known, sides.truth)


def _of_all(rate: Rate, part: Sides, n: int) -> Rate:
    """Return the rate among all users, those who are no longer on both sides included."""
    return Rate.of(rate.n_correct, n, rate.by_chance * part.common.n / n)


def _counts_curve(sides: Sides, whole: Rate, weight: WeightName, seed: int, progress: Progress) -> Curve:
    title, axis = "How much is counted", "share of the counts"
    if any(side.counts.data.dtype.kind != "i" for side in (sides.released, sides.known)):
        words = "The tables hold shares or fractions, of which no part can be drawn."
        return Curve("counts", title, axis, words, ())
    random = np.random.default_rng(seed)
    points = []
    for done, share in enumerate(SHARES_OF_COUNTS):
        label = f"{100 * share:g}% of the counts"
        inner = nested(progress, STAGE, done, len(SHARES_OF_COUNTS), label)
        part = Sides(_thinned(sides.released, share, random), _thinned(sides.known, share, random), sides.truth)
        rate = _of_all(run_match(part, weight, seed=seed, progress=inner)[1], part, whole.n)
        points.append(Point(share, label, rate, part.common.n, 1, is_as_released=False))
    points.append(Point(1.0, "all counts", whole, whole.n, 1, is_as_released=True))
    words = (
        "Each count of both tables was kept with the same probability, as if people had been watched for a part of the "
        "time only: fewer counts tell less about habits."
    )
    return Curve("counts", title, axis, words, tuple(points))


def _thinned(histograms: Histograms, share: float, random: np.random.Generator) -> Histograms:
    drawn = sparse.csr_array(histograms.counts, copy=True)
    drawn.data = random.binomial(histograms.counts.data, share)
    if not drawn.data.any():
        drawn.data[0] = 1  # somebody must be left to be attacked
    rows = np.flatnonzero(np.add.reduceat(drawn.data, drawn.indptr[:-1]) > 0)
    return Histograms(drawn[rows], histograms.users.gather(rows), histograms.places)


def resolution_curve(
    sides: Sides,
    whole: Rate,
    steps: Iterable[Coarser],
    weight: WeightName,
    seed: int,
    *,
    side: float | None = None,
    progress: Progress = silent,
) -> Curve:
    """Attack at coarser places, on both sides.

    Parameters
    ----------
    steps
        Ways to put places together.
    side
        Of the squares as they are; None where places are no squares.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.audit.coarser import coarser_places
    >>> sides = Sides(*hp.datasets.town(60, 20), truth="same-id")
    >>> curve = resolution_curve(sides, run_match(sides)[1], coarser_places(sides.released, None, []), "l1", 0)
    >>> [point.label for point in curve.points]
    ['2 places, all others as one', '5 places, all others as one', '10 places, all others as one', '20 places']
    """
    listed = list(steps)
    part = sides.sample(MOST_USERS, seed)
    if part is not sides:
        whole = run_match(part, weight, seed=seed, progress=nested(progress, STAGE, 0, len(listed), "as it is"))[1]
    n_places = part.released.n_places
    x, label = (n_places, f"{n_places:,} places") if side is None else (side, f"squares of {side:g} m")
    points = [Point(x, label, whole, whole.n, 1, is_as_released=part is sides)]
    for done, step in enumerate(listed):
        inner = nested(progress, STAGE, done, len(listed), step.label)
        release = step.mechanism(part.released)
        coarse = Sides(release.histograms, release.public(part.known), sides.truth)
        rate = _of_all(run_match(coarse, weight, "approximate", seed=seed, progress=inner)[1], coarse, whole.n)
        points.append(Point(step.x, step.label, rate, coarse.common.n, 1, is_as_released=False))
    how = listed[0].name if listed else None
    words = {
        "larger squares": "Squares were put together into larger ones, on both sides: coarser places tell less.",
        "places put together": "Places were put together as the mapping says, on both sides: coarser places tell less.",
        "rare places merged": "All but the most popular places were made one, on both sides: rare places tell most.",
        None: "There are too few places to put any together.",
    }[how]
    if part is not sides:
        words += (
            f" Done with a random {whole.n:,} of {sides.common.n:,} users, to save time: among fewer, risks are higher."
        )
    axis = "places" if side is None else "side of the squares in metres"
    return Curve(
        "resolution", "How finely places are told apart", axis, words, tuple(sorted(points, key=lambda point: point.x))
    )
