"""The accuracy of redealt events, the effective share of observations, and what they say of real events."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from scipy.stats import multivariate_hypergeom

import habitprint as hp
from command_line import run
from habitprint.attacks import Scenario, run_attack
from habitprint.prediction import redeal, thinned
from habitprint.wording.prediction import about_needed


def people(
    random: np.random.Generator,
    n: int = 400,
    n_places: int = 60,
    n_events: int = 15,
    burst: int = 1,
    drift: float = 0.0,
) -> tuple[hp.Histograms, hp.Histograms]:
    """Return people with habits of their own; events come in bursts of equal length, and habits may drift."""
    popular = 1 / np.arange(1, n_places + 1)
    popular *= 8 / popular.sum()
    first, last = random.dirichlet(popular, n), random.dirichlet(popular, n)
    tables = []
    for habits in (first, (1 - drift) * first + drift * last):
        counts = burst * np.array([random.multinomial(n_events // burst, habit) for habit in habits])
        tables.append(hp.Histograms(sparse.csr_array(counts), pl.Series(range(n)), pl.Series(range(n_places))))
    return tables[0], tables[1]


def slowly_redealt(
    pooled: dict[str, int], n_dealt: int, random: np.random.Generator
) -> tuple[dict[str, int], dict[str, int]]:
    """Return the events of a person, one by one in a list, shuffled and cut in two."""
    events = [place for place, n in pooled.items() for _ in range(n)]
    random.shuffle(events)
    one, other = events[:n_dealt], events[n_dealt:]
    return {place: one.count(place) for place in pooled}, {place: other.count(place) for place in pooled}


def test_redealing_keeps_both_totals_and_the_pooled_events_of_everybody() -> None:
    random = np.random.default_rng(0)
    released, known = people(random, 40)
    known = known.select(users=range(5, 40))  # five people are in one table only
    before = Scenario(*hp.align(released, known), "same-id")
    after = redeal(before, random)
    for one, other in ((before.released, after.released), (before.known, after.known)):
        assert np.array_equal(one.totals, other.totals)
        assert one.users.equals(other.users)
    rows = before.common.released, before.common.known
    pooled = [each.released.counts[rows[0]] + each.known.counts[rows[1]] for each in (before, after)]
    assert abs(pooled[0] - pooled[1]).nnz == 0
    assert abs(before.released.counts[:5] - after.released.counts[:5]).nnz == 0
    assert abs(before.released.counts - after.released.counts).nnz > 0


@pytest.mark.slow
def test_redealt_events_follow_the_distribution_of_a_shuffled_list() -> None:
    n_draws, counts = 1500, {"a": 5, "b": 2, "c": 1}
    released = hp.Histograms.from_table({"user": [1, 1], "place": ["a", "b"], "count": [2, 1]})
    known = hp.Histograms.from_table({"user": [1, 1, 1], "place": ["a", "b", "c"], "count": [3, 1, 1]})
    tables, random = Scenario(*hp.align(released, known), "same-id"), np.random.default_rng(0)
    fast = [tuple(redeal(tables, random).released.counts.toarray()[0].tolist()) for _ in range(n_draws)]
    slow = [tuple(slowly_redealt(counts, 3, random)[0].values()) for _ in range(n_draws)]
    for outcome in set(fast) | set(slow):
        exact = float(multivariate_hypergeom.pmf(outcome, list(counts.values()), 3))
        for drawn in (fast, slow):
            seen = drawn.count(outcome) / n_draws
            assert abs(seen - exact) < 4.5 * np.sqrt(exact * (1 - exact) / n_draws)


def test_independent_draws_from_stable_habits_are_predicted_and_all_effective() -> None:
    found = [hp.predict(*people(np.random.default_rng(seed))) for seed in range(3)]
    assert all(each.effective.high == 1 and each.effective.value > 0.85 for each in found)
    assert sum(each.is_random for each in found) >= 2


@pytest.mark.parametrize(("burst", "share"), [(3, 1 / 3), (5, 1 / 5)])
def test_of_events_in_bursts_about_one_of_each_burst_is_effective(burst: int, share: float) -> None:
    found = hp.predict(*people(np.random.default_rng(0), n_events=60, burst=burst))
    assert not found.is_random
    assert found.predicted.low > found.measured.high
    assert share / 2 < found.effective.value < 2 * share


def test_habits_that_drift_make_fewer_observations_effective() -> None:
    stable, drifting = (hp.predict(*people(np.random.default_rng(0), drift=drift)) for drift in (0.0, 0.4))
    assert drifting.effective.high < stable.effective.value
    assert drifting.measured.value < drifting.predicted.low


def test_fewer_of_the_redealt_events_identify_fewer_people() -> None:
    found = hp.predict(*people(np.random.default_rng(0), drift=0.5))
    shares, rates = zip(*((point.share, point.rate.value) for point in found.redealt), strict=True)
    assert list(shares) == sorted(shares)
    assert list(rates) == sorted(rates)
    assert found.to_frame().height == len(shares) + 1


def test_the_order_of_rows_and_columns_never_matters() -> None:
    released, known = people(np.random.default_rng(0), 60)
    turned = released.select(users=released.users.reverse(), places=released.places.reverse())
    found, again = hp.predict(released, known), hp.predict(turned, known)
    assert (again.measured, again.redealt, again.needed, again.growth) == (
        found.measured,
        found.redealt,
        found.needed,
        found.growth,
    )
    assert again.people.equals(found.people)
    assert hp.predict(released, known, seed=1).predicted != found.predicted


def test_pseudonyms_with_a_key_give_the_same_as_equal_ids() -> None:
    released, known = people(np.random.default_rng(0), 60)
    hidden = hp.Histograms(released.counts, pl.Series([f"?{user:03}" for user in released.users]), released.places)
    truth = dict(zip(hidden.users, released.users, strict=True))
    assert hp.predict(hidden, known, truth=truth).predicted.value == pytest.approx(
        hp.predict(released, known).predicted.value, abs=0.1
    )


@pytest.mark.parametrize("n_draws", [1, 101, 2.5])
def test_too_few_and_too_many_draws_are_refused(n_draws: int) -> None:
    with pytest.raises(hp.InputError, match="n_draws"):
        hp.predict(*people(np.random.default_rng(0), 30), n_draws=n_draws)


def test_counts_that_are_not_whole_are_refused_and_whole_floats_are_not() -> None:
    released, known = people(np.random.default_rng(0), 30)
    as_floats = hp.Histograms(released.counts.astype(float), released.users, released.places)
    assert hp.predict(as_floats, known).predicted == hp.predict(released, known).predicted
    with pytest.raises(hp.InputError, match="known table has counts that are not whole"):
        hp.predict(released, hp.Histograms(known.shares, known.users, known.places))
    many = hp.Histograms(released.counts * 10**9, released.users, released.places)
    with pytest.raises(hp.InputError, match="at most 500,000,000 events"):
        hp.predict(many, known)


def test_the_command_prints_the_facts_of_python_and_draws_them(
    town: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plot = tmp_path / "prediction.svg"
    assert run(monkeypatch, "predict", *town, "--draws", 3, "--plot", plot, "--json") == 0
    facts = json.loads(capsys.readouterr().out)
    found = hp.predict(*map(hp.read_histograms, town), n_draws=3)
    assert facts["predicted"]["value"] == found.predicted.value
    assert facts["effective"]["value"] == found.effective.value
    assert plot.read_text().startswith("<svg")
    assert run(monkeypatch, "predict", *town, "--draws", 3) == 0
    assert "had fallen into the two periods at random" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("n_events", "concentration"), [(400, 30.0), (60, 30.0), (400, 100.0)])
def test_where_everybody_is_identified_fewer_observations_are_expected_to_do_what_they_do(
    n_events: int, concentration: float
) -> None:
    random = np.random.default_rng(0)
    habits = random.dirichlet(concentration * random.dirichlet(np.ones(60)), 300)
    tables = [
        hp.Histograms(
            sparse.csr_array(np.array([random.multinomial(n_events, habit) for habit in habits])),
            pl.Series(range(300)),
            pl.Series(range(60)),
        )
        for _ in range(2)
    ]

    def attack(share: float) -> float:
        released, known = (thinned(table, share, random) for table in tables)
        return run_attack(Scenario(released, known, "same-id").counting(300)).rate.value

    found = hp.predict(*tables, n_draws=2)
    assert found.is_saturated
    assert "smaller parts of the redealt events" in about_needed(found)
    for grown in found.growth[:3]:
        assert grown.share == pytest.approx(attack(grown.times), abs=0.08)
    half = found.needed[1].observations
    assert half is not None
    assert 0.3 < attack(half / n_events) < 0.7
    assert {point.n_draws for point in found.redealt} == {2}
