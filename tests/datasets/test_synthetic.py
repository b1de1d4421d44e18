"""The twins: made-up data with the paper's figures."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import habitprint as hp
from habitprint.datasets import CallsModel, CallsTwin, WebModel, WebTwin, calls_twin, web_twin
from habitprint.datasets.synthetic import CountryModel, make_country
from habitprint.weighing import PAPER_WEIGHTS, WeightName

SCHEMA = {"user": pl.Int64, "time": pl.Datetime("us", "UTC"), "place": pl.Int64}
FORTNIGHTS = {"calls": datetime(2012, 4, 9, tzinfo=UTC), "web": datetime(2011, 3, 7, tzinfo=UTC)}
each_twin = pytest.mark.parametrize("kind", ["calls", "web"])


def make(kind: str, n_users: int, seed: int = 0) -> CallsTwin | WebTwin:
    return calls_twin(n_users, seed=seed) if kind == "calls" else web_twin(n_users, seed=seed)


@each_twin
def test_the_same_seed_makes_the_same_twin_and_another_seed_another(kind: str) -> None:
    first, again, other = (make(kind, 40, seed).events for seed in (3, 3, 4))
    assert first.equals(again)
    assert not first.equals(other)


@each_twin
def test_events_are_users_times_and_places_in_order(kind: str) -> None:
    events = make(kind, 60).events
    assert dict(events.schema) == SCHEMA
    assert events.equals(events.sort("user", "time", "place"))
    assert events.null_count().sum_horizontal().item() == 0


@each_twin
def test_times_lie_within_the_fortnight_and_fill_it(kind: str) -> None:
    times = make(kind, 60).events["time"]
    start = FORTNIGHTS[kind]
    assert start.weekday() == 0
    assert times.is_between(start, start + timedelta(days=14), closed="left").all()
    assert times.dt.date().n_unique() == 14


@each_twin
@settings(max_examples=5)
@given(n_users=st.integers(1, 1300))
def test_a_twin_has_no_more_users_than_asked_for(kind: str, n_users: int) -> None:
    n_users = n_users if kind == "calls" else n_users // 20 + 1
    twin = make(kind, n_users)
    assert twin.n_users == n_users
    assert twin.events["user"].is_between(0, n_users - 1).all()


@each_twin
@pytest.mark.parametrize("n_users", [1, 37, 1001])
def test_nobody_s_events_depend_on_how_many_others_there_are(kind: str, n_users: int) -> None:
    n_users = n_users if kind == "calls" else min(n_users, 45)
    larger = make(kind, n_users + 40).events
    assert make(kind, n_users).events.equals(larger.filter(pl.col("user") < n_users))


def test_every_call_is_made_from_an_antenna_of_the_country_that_serves_somebody() -> None:
    twin = calls_twin(500)
    country = make_country(twin.model.country)
    served = twin.antennas["place"].filter(pl.Series(country.popularity > 0))
    assert twin.events["place"].is_in(served.implode()).all()


def test_every_twin_lives_in_the_same_country() -> None:
    assert calls_twin(10, seed=1).antennas.equals(calls_twin(20, seed=2).antennas)


def test_a_country_has_the_antennas_and_sub_prefectures_asked_for() -> None:
    country = make_country(CountryModel(n_antennas=40, n_sub_prefectures=7, n_silent=3))
    assert country.antennas.height == 40
    assert set(country.antennas["sub_prefecture"]) == set(range(1, 8))
    assert np.count_nonzero(country.popularity) == 37
    assert country.popularity.sum() == pytest.approx(1)


def test_people_live_in_the_capital_as_often_as_the_model_says() -> None:
    country = make_country(CountryModel(capital_share=0.4))
    assert country.popularity[country.sub_prefecture == 0].sum() == pytest.approx(0.4)


def test_without_hand_over_one_offs_and_other_places_everybody_calls_from_home_alone() -> None:
    twin = calls_twin(300, model=CallsModel(n_others=0.0, hand_over=0.0, one_offs=0.0))
    assert twin.events.group_by("user").agg(pl.col("place").n_unique())["place"].max() == 1


def test_a_quiet_day_without_calls_has_none() -> None:
    twin = calls_twin(300, model=CallsModel(quiet_day=0.0))
    assert date(2012, 4, 10) not in twin.events["time"].dt.date().to_list()


def test_users_without_habits_and_new_sites_only_hardly_repeat_a_site() -> None:
    loyal, curious = (web_twin(30, model=WebModel(habit=habit)).events for habit in (1.0, 0.0))
    assert curious["place"].n_unique() > 5 * loyal["place"].n_unique()


@each_twin
def test_the_source_says_that_nobody_in_it_exists(kind: str) -> None:
    source = make(kind, 12, seed=5).source
    assert "12" in source
    assert "seed 5" in source
    assert "contains no real person" in source


@each_twin
@pytest.mark.parametrize("n_users", [0, -3, 2.5, True, "many", 10**9, 10**400])
def test_a_number_of_users_that_is_none_is_refused(kind: str, n_users: int) -> None:
    with pytest.raises(hp.InputError, match="a twin of"):
        make(kind, n_users)


@each_twin
def test_a_seed_that_is_none_is_refused(kind: str) -> None:
    with pytest.raises(hp.InputError, match="seed"):
        make(kind, 10, seed=-1)


@pytest.mark.parametrize(
    "change", [{"burst": 0.5}, {"calls_per_day": 0.0}, {"hand_over": 1.5}, {"drift": -1.0}, {"reach_km": float("nan")}]
)
def test_a_calls_model_that_makes_no_sense_is_refused_by_name(change: dict[str, float]) -> None:
    with pytest.raises(hp.InputError, match=next(iter(change))):
        CallsModel(**change)  # type: ignore[arg-type]


@pytest.mark.parametrize("change", [{"habit": 2.0}, {"sessions": -1.0}, {"n_favourites": 2.5}])
def test_a_web_model_that_makes_no_sense_is_refused_by_name(change: dict[str, float]) -> None:
    with pytest.raises(hp.InputError, match=next(iter(change))):
        WebModel(**change)  # type: ignore[arg-type]


def test_a_country_with_more_sub_prefectures_than_antennas_is_refused() -> None:
    with pytest.raises(hp.InputError, match="sub-prefectures"):
        CountryModel(n_antennas=100, n_sub_prefectures=101)


def two_weeks(events: pl.DataFrame, middle: datetime) -> pl.DataFrame:
    """Return ``user, place, is_second, count`` of the users active in both weeks."""
    counts = events.group_by("user", "place", (pl.col("time") >= middle).alias("is_second")).len("count")
    return counts.filter(pl.col("is_second").n_unique().over("user") == 2)


def accuracy(counts: pl.DataFrame, weight: WeightName = "jensen-shannon") -> float:
    """Return the percentage that joint matching of the two weeks identifies."""
    released, known = (
        hp.Histograms.from_table(counts.filter(pl.col("is_second") == week).select("user", "place", "count"))
        for week in (False, True)
    )
    return 100 * (hp.evaluate(hp.match(released, known, weight=weight), released, known).accuracy or 0.0)


@pytest.mark.slow
def test_the_full_calls_twin_has_the_paper_s_figures() -> None:
    events = calls_twin().events
    counts = two_weeks(events, datetime(2012, 4, 16, tzinfo=UTC))
    active = counts["user"].unique().sort()
    calls = events.filter(pl.col("user").is_in(active.implode()))
    day = pl.col("time").dt.date()
    mondays = events.filter(day.is_in([date(2012, 4, 9), date(2012, 4, 16)]))
    assert active.len() == pytest.approx(46_986, rel=0.01)
    assert counts["place"].n_unique() == pytest.approx(1211, rel=0.01)
    assert calls.height / active.len() == pytest.approx(101.2, rel=0.03)
    assert counts.select("user", "place").unique().height / active.len() == pytest.approx(6.7, rel=0.03)
    assert mondays.group_by("user").agg(day.n_unique().alias("n")).filter(pl.col("n") == 2).height == pytest.approx(
        30_937, rel=0.05
    )
    assert calls.filter(day == date(2012, 4, 10)).height / active.len() == pytest.approx(1.9, rel=0.05)
    some = [accuracy(counts.filter(pl.col("user").is_in(active[k : k + 1000].implode()))) for k in range(0, 5000, 1000)]
    assert np.mean(some) == pytest.approx(78, abs=5)
    assert accuracy(counts) == pytest.approx(21.1, abs=2)


@pytest.mark.slow
def test_the_web_twin_has_the_paper_s_figures() -> None:
    counts = two_weeks(web_twin().events, datetime(2011, 3, 14, tzinfo=UTC))
    sites = counts.group_by("place").agg(pl.col("user").n_unique(), pl.col("count").sum())
    assert counts["user"].n_unique() == pytest.approx(121, rel=0.03)
    assert sites.height == pytest.approx(83_219, rel=0.03)
    assert sites.filter(pl.col("user") == 1).height == pytest.approx(77_935, rel=0.03)
    published = {"jensen-shannon": 90.0, "l1": 81.1, "cosine": 72.7, "dot": 64.4}
    found = [accuracy(counts, weight) for weight in PAPER_WEIGHTS]
    assert found == pytest.approx(list(published.values()), abs=4)
    assert found == sorted(found, reverse=True)
    top = sites.sort(["count", "place"], descending=[True, False])["place"]
    fans = counts.filter(pl.col("place").is_in(top.head(5).implode()))["user"].unique()
    kept = counts.filter(pl.col("place").is_in(top.head(60).implode()), pl.col("user").is_in(fans.implode()))
    assert accuracy(kept.filter(pl.col("is_second").n_unique().over("user") == 2)) > 50
