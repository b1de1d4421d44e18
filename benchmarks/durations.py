"""Measure how far off forecasts for longer periods are, and how often their intervals hold: a table of docs/notes.md.

    python benchmarks/durations.py            # minutes
    python benchmarks/durations.py --fresh    # data on which nothing was chosen

Both halves of a data set are cut to their first days. The share identified is forecast from the lengths up to a limit,
and compared with the share at each longer length, of the same people. The rival is a straight line of shares.
"""

import sys
from collections.abc import Iterator
from datetime import date, timedelta

import numpy as np
import polars as pl

import habitprint as hp
from habitprint.attacks import Scenario, run_attack
from habitprint.auditing.curves import LENGTHS, Point
from habitprint.durations import RECENT, forecast_length

MOST_PEOPLE = 3_000
YEAR, LATE = (date(2017, 1, 1), date(2017, 12, 31)), (date(2017, 7, 1), date(2017, 12, 31))
SPRING = (date(2017, 3, 1), date(2017, 6, 30))


def of_twin(events: pl.DataFrame) -> tuple[hp.Events, date, date]:
    """Return the events of a twin, and the first and the last day of its two weeks."""
    first: date = events.select(pl.col("time").dt.date().min()).item()
    return hp.events_from_frame(events), first, first + timedelta(days=13)


def sources(*, fresh: bool) -> Iterator[tuple[str, hp.Events, date, date, tuple[int, ...]]]:
    """Yield events, their first and last day, and the lengths from which longer ones are forecast."""
    if fresh:
        yield ("calls", *of_twin(hp.datasets.calls_twin(5_000, seed=7).events), (2, 3))
        yield ("web", *of_twin(hp.datasets.web_twin(600, seed=7).events), (2, 3))
    else:
        yield ("calls", *of_twin(hp.datasets.calls_twin(2_000).events), (2, 3))
        yield ("calls", *of_twin(hp.datasets.calls_twin(8_000, seed=3).events), (2, 3))
        yield ("web", *of_twin(hp.datasets.web_twin(400).events), (2, 3))
    for place in ("product", "category", "department"):
        events = hp.datasets.complete_journey(place)
        for days, limits in [(LATE, (7, 21, 42))] if fresh else [(YEAR, (28, 60)), (SPRING, (14,))]:
            yield place, events, *days, limits


def curve(events: hp.Events, first: date, last: date, limit: int) -> list[Point]:
    """Return the share identified at each length, of people who are in both halves at the limit."""
    half = ((last - first).days + 1) // 2
    middle = first + timedelta(days=half)

    def tables(length: int) -> tuple[hp.Histograms, hp.Histograms]:
        ends = ((str(start), str(start + timedelta(days=length - 1))) for start in (first, middle))
        found = hp.split(events, hp.DateRanges(*ends), users="all")
        return found.released, found.known

    released, known = tables(limit)
    people = released.users.filter(released.users.is_in(known.users.implode())).sort()
    people = people.sample(min(len(people), MOST_PEOPLE), seed=0).sort().implode()
    points = []
    for length in (each for each in LENGTHS if each <= half):
        one, other = (table.select(users=table.users.filter(table.users.is_in(people))) for table in tables(length))
        rate = run_attack(Scenario(one, other, "same-id").counting(len(people[0]))).rate
        points.append(Point(float(length), "", rate, rate.n))
    return points


def line(points: list[Point], days: float) -> float:
    """Return the share by a straight line in the logarithm of the length, through the last point."""
    recent = [point for point in points if point.x * RECENT >= points[-1].x]
    slope = np.polyfit(np.log([point.x for point in recent]), [point.rate.value for point in recent], 1)[0]
    return float(np.clip(points[-1].rate.value + slope * np.log(days / points[-1].x), 0, 1))


def main() -> None:
    """Print every forecast, and how good they are on average."""
    rows = []
    for name, events, first, last, limits in sources(fresh="--fresh" in sys.argv):
        for limit in limits:
            points = curve(events, first, last, limit)
            measured = [point for point in points if point.x <= limit]
            for point in points[len(measured) :]:
                found = forecast_length(measured, point.x)
                times = 2 ** round(np.log2(point.x / limit))
                share, off = point.rate.value, abs(found.share - point.rate.value)
                rival = abs(line(measured, point.x) - share)
                rows.append((name, times, off, rival, found.high - found.low, found.low <= share <= found.high))
                print(
                    name,
                    limit,
                    point.x,
                    f"{share:.3f} {found.share:.3f} ({found.low:.3f} to {found.high:.3f})",
                    flush=True,
                )
    names = ["data", "times", "off", "line off", "width", "holds"]
    frame = pl.DataFrame(rows, names, orient="row")
    means = [pl.len().alias("n"), *((pl.col(name).mean() * 100).round(1) for name in names[2:5]), pl.col("holds").sum()]
    with pl.Config(tbl_rows=-1):
        for keys in (["data", "times"], ["times"]):
            print(frame.group_by(keys, maintain_order=True).agg(means))
        print(frame.select(means))


if __name__ == "__main__":
    main()
