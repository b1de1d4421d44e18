"""How the share identified falls with the number of people, and how far that can be told."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

import habitprint as hp
from habitprint.forecasting import Law, Measured, Scaling
from habitprint.formatting import percent
from habitprint.rates import IntervalMethod
from habitprint.wording.risk import about_forecast, about_needed, among_more
from nights import by_night

SIZES = (31, 62, 125, 250, 500, 1000)
LAWS = [Law(0.3, 20.0, 0.1), Law(0.5, 300.0), Law(2.0, 900.0), Law(0.1, 5.0, 0.3)]


def curve(law: Law, n_people: int = 1000, sizes: tuple[int, ...] = SIZES) -> list[Measured]:
    """Return what would be measured if a law were true, without any chance."""
    return [
        Measured(n, hp.Rate.of(n_people * law.share(n), n_people, 1 / n, method=IntervalMethod.JOINT)) for n in sizes
    ]


def people_of(law: Law, n_people: int, random: np.random.Generator) -> hp.Impostors:
    """Return people of whom each is taken for anybody else with a probability of his own, so that the law is true."""
    chances = np.where(random.random(n_people) < law.always, 0.0, random.beta(law.a, law.b, n_people))
    closer = random.binomial(n_people - 1, chances)
    return hp.Impostors(closer, np.zeros(n_people, np.int64), n_people - 1)


@given(st.fractions(0, 2).filter(lambda a: a > Fraction(1, 100)), st.integers(1, 50), st.integers(1, 60))
def test_a_law_is_the_product_of_the_chances_to_stay_unique(a: Fraction, b: int, n: int) -> None:
    # B(a, b + n − 1) / B(a, b) = Π (b + k) / (a + b + k): exact, in fractions
    exact = math.prod(((b + k) / (a + b + k) for k in range(n - 1)), start=Fraction(1))
    assert Law(float(a), float(b)).share(n) == pytest.approx(float(exact), rel=1e-11)


@pytest.mark.parametrize("law", LAWS)
def test_a_law_without_any_chance_is_found_again(law: Law) -> None:
    found = Scaling.of(curve(law, n_people=10**6))
    assert found.law.a == pytest.approx(law.a, rel=1e-4)
    assert found.law.b == pytest.approx(law.b, rel=1e-4)
    assert found.law.always == pytest.approx(law.always, abs=1e-5)
    made = found.at(10_000)
    n, shares = zip(*((each.n_users, each.rate.value) for each in curve(law, n_people=10**6)[-3:]), strict=True)
    power = shares[-1] * (10_000 / n[-1]) ** np.polyfit(np.log(n), np.log(shares), 1)[0]
    assert made.share == pytest.approx(expit((logit(law.share(10_000)) + logit(power)) / 2), abs=0.01)
    assert made.low < law.share(10_000) < made.high


@pytest.mark.parametrize("law", LAWS)
def test_the_share_and_both_ends_never_rise_and_are_never_below_chance(law: Law) -> None:
    fan = hp.forecast(curve(law), 10**10).fan
    for name in ("share", "low", "high"):
        ends = np.array([getattr(point, name) for point in fan])
        assert np.all(np.diff(ends) <= 1e-12)
    assert all(1 / point.n <= point.low <= point.share <= point.high <= 1 for point in fan)


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_the_interval_is_wider_farther_away_and_narrower_with_more_people(law: Law) -> None:
    def width(n: int, n_people: int = 1000) -> float:
        made = hp.forecast(curve(law, n_people), n)
        return float(logit(made.high) - logit(made.low))

    assert width(1_000) < width(2_000) < width(8_000)
    assert width(4_000, 10_000) < width(4_000)


def test_more_sizes_make_the_interval_narrower() -> None:
    points = curve(Law(0.3, 20.0, 0.1))
    few, more = (hp.forecast(points[-n:], 10_000) for n in (2, 6))
    assert more.high - more.low < few.high - few.low


def test_where_the_curve_itself_is_not_foretold_the_interval_is_wider() -> None:
    smooth = curve(Law(0.3, 20.0, 0.1), n_people=5000)
    rate = hp.Rate.of(0.25 * 5000, 5000, 1 / 1000, method=IntervalMethod.JOINT)  # a sudden fall at the end
    broken = [*smooth[:-1], Measured(1000, rate)]
    assert hp.forecast(broken, 10_000).discrepancy > hp.forecast(smooth, 10_000).discrepancy


@pytest.mark.slow
@pytest.mark.parametrize(
    "law",
    [Law(0.5, 300.0), *by_night(Law(2.0, 900.0), Law(0.9, 50.0))],
)
@pytest.mark.parametrize("target", [0.5, 0.1])
def test_the_people_needed_are_the_fewest_with_whom_the_share_is_within_the_target(law: Law, target: float) -> None:
    points = curve(law)
    needed = hp.people_for(points, target)
    for name, n in (("share", needed.n), ("low", needed.low), ("high", needed.high)):
        if n is None:
            assert getattr(hp.forecast(points, 10**10), name) > target
        else:
            assert getattr(hp.forecast(points, n), name) <= target
            assert getattr(hp.forecast(points, n - 1), name) > target


def test_never_is_an_answer() -> None:
    needed = hp.people_for(curve(Law(0.5, 20.0, 0.6), n_people=50_000), 0.05)
    assert (needed.n, needed.low, needed.high) == (None, None, None)
    assert "No realistic population" in about_needed(needed)


def test_neither_the_order_of_sizes_nor_of_people_matters() -> None:
    points = curve(Law(0.3, 20.0, 0.1))
    assert hp.forecast(points, 5_000) == hp.forecast(points[::-1], 5_000)
    released, known = hp.datasets.town(60, 20)
    found = hp.count_impostors(released, known)
    turned = hp.Impostors(found.n_closer[::-1], found.n_tied[::-1], found.n_others)
    assert hp.forecast(found, 600) == hp.forecast(turned, 600)


def test_person_by_person_nothing_is_forecast_where_it_was_measured() -> None:
    released, known = hp.datasets.town(200, 30)
    measured = hp.evaluate(hp.match(released, known, method="one-by-one"), released, known)
    found = hp.forecast(hp.count_impostors(released, known), 200)
    assert found.share == pytest.approx(measured.accuracy, abs=1e-12)
    assert found.measured == measured.accuracy_rate


def test_at_the_size_that_was_measured_the_forecast_is_what_was_measured() -> None:
    random = np.random.default_rng(3)
    points = [
        Measured(point.n_users, hp.Rate.of(float(random.binomial(1000, point.rate.value)), 1000, 1 / point.n_users))
        for point in curve(Law(0.3, 20.0, 0.1))
    ]
    found = hp.forecast(points, 1000)
    assert (found.share, found.low, found.high) == (found.measured.value, found.measured.low, found.measured.high)


@pytest.mark.parametrize("right", [0, 1000])
def test_nobody_or_everybody_found_is_followed_too(right: int) -> None:
    points = [Measured(n, hp.Rate.of(right, 1000, 1 / n, method=IntervalMethod.JOINT)) for n in SIZES]
    made = hp.forecast(points, 100_000)
    assert 1e-5 <= made.low <= made.share <= made.high <= 1


@pytest.mark.slow
@pytest.mark.parametrize("law", [LAWS[0], *by_night(*LAWS[1:3])])
def test_of_people_for_whom_a_law_is_true_most_intervals_hold(law: Law) -> None:
    random = np.random.default_rng(0)
    made = [hp.forecast(people_of(law, 400, random), 4_000) for _ in range(30)]
    assert sum(each.low <= law.share(4_000) <= each.high for each in made) >= 27


def test_evaluations_are_sizes_too() -> None:
    released, known = hp.datasets.town(80, 20)
    whole = hp.evaluate(hp.match(released, known), released, known)
    half = released.in_order().counts[:40]
    part = [hp.Histograms(half, released.in_order().users[:40], released.places), known]
    fewer = hp.evaluate(hp.match(*part), *part)
    assert hp.forecast([whole, fewer], 800).n_measured == 80


def test_what_cannot_be_forecast_is_refused_with_a_way_out() -> None:
    points = curve(Law(0.5, 20.0))
    for few in ([], points[:1], [points[0], points[0]]):
        with pytest.raises(hp.InputError, match="sizes"):
            hp.forecast(few, 1000)
    for n in (0, 1.5, 10**11):
        with pytest.raises(hp.InputError, match=r"people|n ="):
            hp.forecast(points, n)  # type: ignore[arg-type]
    for target in (0, 1.5, "5%"):
        with pytest.raises(hp.InputError, match="target"):
            hp.people_for(points, target)  # type: ignore[arg-type]


def test_a_forecast_of_an_attack_that_is_not_the_strongest_names_both() -> None:
    audit = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    measured = [Measured(n, hp.Rate.of(share * 12, 12, 1 / n)) for n, share in ((6, 1.0), (12, 0.75))]
    weaker = replace(audit.attacks[0], method="joint", weight=audit.weight, rate=measured[1].rate)
    strongest = replace(weaker, weight="l1", rate=hp.Rate.of(11, 12, 1 / 12))
    found = replace(audit, attacks=(weaker, strongest), forecast=hp.forecast(measured, 120))
    said = among_more(found)
    assert weaker.name in said
    assert "75%" in said
    assert percent(strongest.rate.value) in said
    alone = replace(found, attacks=(weaker,), forecast=found.forecast)
    assert among_more(alone) == about_forecast(hp.forecast(measured, 120))


def test_numbers_of_people_are_said_with_three_figures() -> None:
    points = curve(Law(0.5, 20.0))
    assert "Forecast for 30 million similar people" in about_forecast(hp.forecast(points, 30_000_000))
    assert "Forecast for 123,000 similar people" in about_forecast(hp.forecast(points, 123_456))
    assert "of these people" in about_forecast(hp.forecast(points, 500))


@pytest.mark.parametrize("n_users", [20, 60, 200])
def test_people_who_are_all_alike_are_found_by_chance_among_any_number(n_users: int) -> None:
    alike = hp.Histograms.from_strings(dict.fromkeys(range(n_users), "ab"))
    found = hp.forecast(hp.count_impostors(alike, alike), 10 * n_users)
    assert found.low == pytest.approx(1 / (10 * n_users))
    assert found.low <= found.share < 3 * found.low
