"""Audit real shopping data and a twin of call records: two reports to look at.

python scripts/gallery.py gallery
"""

import argparse
from pathlib import Path
from typing import Any

import polars as pl
from rich.console import Console

import habitprint as hp
from habitprint.cli.progress import ProgressBar

N_CUSTOMERS = 2_000


def shopping() -> tuple[hp.Events, dict[str, Any]]:
    """Return real purchases, by product, and how to audit them: categories are coarser places."""
    events = hp.datasets.complete_journey("product")
    bought = events.usable.select("place").unique().sort("place").collect()
    categories = bought.join(
        hp.datasets.complete_journey_categories().table, on="place", how="left", maintain_order="left"
    ).with_columns(pl.col("to").fill_null("WITHOUT A CATEGORY"))
    return events, {"period": hp.BusiestWeeks(), "coarser": [hp.PlaceMapping(categories)]}


def calls() -> tuple[hp.Events, dict[str, Any]]:
    """Return a twin of the paper's call records, and how to audit it."""
    twin = hp.datasets.calls_twin(N_CUSTOMERS)
    events = hp.events_from_frame(twin.events, time_zone="Africa/Abidjan", source=twin.source)
    districts = hp.PlaceMapping.from_table(twin.antennas, place="place", to="sub_prefecture")
    return events, {"period": hp.ConsecutiveWeeks("2012-04-09"), "coarser": [districts]}


def main() -> None:
    """Write one folder for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    folder.mkdir(exist_ok=True)
    for name, make in {"shopping": shopping, "calls": calls}.items():
        events, options = make()
        with ProgressBar(Console(stderr=True, highlight=False)) as progress:
            found = hp.audit(events, seed=0, progress=progress, **options)
            report, *_ = hp.write_audit(found, folder / name, overwrite=True)
        print(f"{report}: {found.verdict.answer}")


if __name__ == "__main__":
    main()
