"""Audit real shopping data and synthetic call records: two reports to look at.

python scripts/gallery.py gallery
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from rich.console import Console

import habitprint as hp
from habitprint.progress import ProgressBar

N_CUSTOMERS = 2_000


@dataclass(frozen=True)
class Case:
    """Events, and how to audit them."""

    events: hp.Events
    period: hp.BusiestWeeks | hp.ConsecutiveWeeks
    coarser: hp.PlaceMapping


def shopping() -> Case:
    """Return real purchases, by product: categories are coarser places."""
    events = hp.datasets.complete_journey("product")
    bought = events.usable.select("place").unique().sort("place").collect()
    categories = bought.join(
        hp.datasets.complete_journey_categories().table, on="place", how="left", maintain_order="left"
    ).with_columns(pl.col("to").fill_null("WITHOUT A CATEGORY"))
    return Case(events, hp.BusiestWeeks(), hp.PlaceMapping(categories))


def calls() -> Case:
    """Return the synthetic twin of the paper's call records: sub-prefectures are coarser places."""
    twin = hp.datasets.calls_twin(N_CUSTOMERS)
    events = hp.events_from_frame(twin.events, time_zone="Africa/Abidjan", source=twin.source)
    districts = hp.PlaceMapping.from_table(twin.antennas, place="place", to="sub_prefecture")
    return Case(events, hp.ConsecutiveWeeks("2012-04-09"), districts)


def main() -> None:
    """Write one folder for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(exist_ok=True)
    for name, make in {"shopping": shopping, "calls": calls}.items():
        case = make()
        with ProgressBar(Console(stderr=True, highlight=False)) as progress:
            found = hp.audit(case.events, period=case.period, coarser=[case.coarser], seed=0, progress=progress)
            report, *_ = hp.write_audit(found, folder / name, overwrite=True)
        print(f"{report}: {found.verdict.reason}")


if __name__ == "__main__":
    main()
