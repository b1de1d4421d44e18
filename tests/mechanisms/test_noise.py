"""Differential privacy: OpenDP's accounting, noise of the right size, and nothing that looks like a seed."""

import builtins
import math
from typing import Any

import numpy as np
import pytest

import habitprint as hp
from nights import by_night

dp = pytest.importorskip("opendp.prelude", reason="OpenDP is not installed (extra 'dp')")


def many(count: int, n_users: int = 150, n_places: int = 4) -> hp.Histograms:
    return hp.Histograms.from_table(
        {
            "user": np.repeat(np.arange(n_users), n_places),
            "place": np.tile(np.arange(n_places), n_users),
            "count": np.full(n_users * n_places, count),
        }
    )


def test_noise_on_every_cell_has_the_scale_of_the_unit() -> None:
    release = hp.AddNoise(0.5, "event", threshold=1)(many(1000))
    noise = release.histograms.counts.toarray() - 1000
    # Discrete Laplace noise of scale 2: its mean absolute value is 1/sinh(1/2) = 1.919.
    assert hp.AddNoise(0.5, "event").scale == 2
    assert np.abs(noise).mean() == pytest.approx(1 / math.sinh(0.5), rel=0.25)
    assert abs(noise.mean()) < 0.6
    assert release.guarantees == (hp.DifferentialPrivacy(0.5, 0.0, "event", None),)


def test_a_whole_user_costs_twice_the_limit() -> None:
    release = hp.AddNoise(1.0, "user", limit=3, threshold=1)(many(1000))
    # A user may exchange all three counts for three others.
    assert hp.AddNoise(1.0, limit=3).scale == 6
    assert release.histograms.totals.mean() < 100


def test_the_noise_has_no_seed() -> None:
    first, second = (hp.AddNoise(1.0, "event", threshold=1)(many(50)) for _ in range(2))
    assert not first.histograms.to_table().equals(second.histograms.to_table())


def test_the_default_threshold_leaves_about_one_false_place_per_user() -> None:
    n_users, n_places = 60, 50
    habits = hp.Histograms.from_table(
        {"user": range(n_users), "place": [user % n_places for user in range(n_users)], "count": [1000] * n_users}
    )
    release = hp.AddNoise(1.0, "event")(habits)
    n_false = release.histograms.counts.nnz - n_users
    assert release.steps[0].findings["n_draws"] == n_users * n_places
    assert 0 < n_false < 2 * n_users


def test_with_a_delta_only_real_counts_are_drawn_and_the_threshold_is_opendp_s() -> None:
    habits = hp.Histograms.from_strings(dict.fromkeys(range(50), "a" * 200 + "b"))
    release = hp.AddNoise(1.0, "event", delta=1e-9)(habits)
    threshold, promise = release.steps[0].findings["threshold"], release.guarantees[0]
    assert isinstance(promise, hp.DifferentialPrivacy)
    assert release.steps[0].findings["n_draws"] == 100
    space = (
        dp.map_domain(dp.atom_domain(T="i64"), dp.atom_domain(T="i64")),
        dp.l01inf_distance(dp.absolute_distance(T="i64")),
    )
    scale = hp.AddNoise(1.0, "event", 1e-9).noise(habits.counts).scale
    # OpenDP accounts for counts above its threshold, so the smallest one that is released is one above it.
    stated, lower = (
        dp.m.make_laplace_threshold(*space, scale=scale, threshold=threshold - n).map((1, 1, 1)) for n in (1, 2)
    )
    assert stated == (promise.epsilon, promise.delta)
    assert promise.delta <= 1e-9 < lower[1]
    assert release.histograms.counts.data.min() >= threshold
    assert release.histograms.places.to_list() == ["a"]


def tail(least: int, scale: float) -> float:
    """Return the probability that discrete Laplace noise is at least so much: e^(−least/s) / (1 + e^(−1/s)) above 0."""
    if least <= 0:
        return 1 - tail(1 - least, scale)
    return math.exp(-least / scale) / (1 + math.exp(-1 / scale))


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-3, *by_night(0.2, 0.03, 1e-6, 1e-9)])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0, 8.0])
def test_delta_is_no_less_than_the_chance_that_one_event_shows_by_being_there(epsilon: float, delta: float) -> None:
    # With the event there is a count of one, without it none, so that whatever is released of it tells.
    noise = hp.AddNoise(epsilon, "event", delta).noise(many(1).counts)
    assert tail(noise.threshold - 1, noise.scale) <= noise.delta * (1 + 1e-9)
    assert noise.delta <= delta


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-3, *by_night(0.2, 1e-9)])
@pytest.mark.parametrize("limit", [1, 2, 3, 5])
@pytest.mark.parametrize("epsilon", [1.0, 16.0, *by_night(4.0, 8.0)])
def test_delta_is_no_less_than_the_chance_that_one_user_shows_by_being_anywhere(
    epsilon: float, limit: int, delta: float
) -> None:
    noise = hp.AddNoise(epsilon, "user", delta, limit).noise(many(1).counts)
    for counts in partitions(limit):
        shows = -math.expm1(sum(math.log1p(-tail(noise.threshold - count, noise.scale)) for count in counts))
        assert shows <= noise.delta * (1 + 1e-9)
    assert noise.delta <= delta


def partitions(total: int, largest: int | None = None) -> list[tuple[int, ...]]:
    """Return every way in which a user can spend all that the limit allows over places."""
    if total == 0:
        return [()]
    first = range(min(total, largest or total), 0, -1)
    return [(count, *rest) for count in first for rest in partitions(total - count, count)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("noise", "n_places"),
    [
        (hp.AddNoise(1.0, "event", delta=0.02), 1),
        (hp.AddNoise(2.0, "event", delta=0.05), 1),
        (hp.AddNoise(4.0, limit=1, delta=0.05), 1),
        (hp.AddNoise(1.0, limit=1, delta=0.1), 40),  # where the limit leaves nothing, nothing may show either
        (hp.AddNoise(1.0, limit=3, delta=0.2), 40),
    ],
    ids=str,
)
def test_as_many_rare_users_show_as_delta_says_and_no_more(noise: hp.AddNoise, n_places: int) -> None:
    n = 4000
    release = noise(many(1, n_users=n, n_places=n_places))
    delta = release.guarantees[0].delta  # type: ignore[union-attr]
    assert release.histograms.n_users < n * delta + 5 * math.sqrt(n * delta)


def test_a_noisy_release_can_be_grouped_and_keeps_both_promises() -> None:
    release = hp.chain(hp.AddNoise(1.0, "event", delta=1e-6), hp.Microaggregate(5))(many(200, n_users=20))
    assert [type(guarantee) for guarantee in release.guarantees] == [
        hp.DifferentialPrivacy,
        hp.KAnonymity,
        hp.EqualContributions,
    ]
    assert [check.holds for check in hp.check_guarantees(release)] == [None, True, True]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": 0.0}, "epsilon 0.0 is not"),
        ({"epsilon": -1.0}, "epsilon -1.0 is not"),
        ({"epsilon": math.inf}, "epsilon inf is not"),
        ({"epsilon": "1", "unit": "event"}, "epsilon '1' is not"),
        ({"epsilon": True, "unit": "event"}, "epsilon True is not"),
        ({"epsilon": 1.0, "unit": "event", "delta": "0"}, "delta '0' is not"),
        ({"epsilon": 1.0, "unit": "event", "delta": False}, "delta False is not"),
        ({"epsilon": 1.0, "unit": "event", "delta": math.nan}, "delta nan is not"),
        ({"epsilon": 1.0}, "no limit for the unit 'user'"),
        ({"epsilon": 1.0, "limit": 0}, "limit 0 is not"),
        ({"epsilon": 1.0, "unit": "event", "limit": 5}, "limit = 5 for the unit 'event'"),
        ({"epsilon": 1.0, "unit": "day"}, "unit 'day' is not one of user, event"),
        ({"epsilon": 1.0, "unit": "event", "delta": 1.0}, "delta 1.0 is not"),
        ({"epsilon": 1.0, "unit": "event", "delta": 0.1, "threshold": 3}, "threshold = 3"),
        ({"epsilon": 1.0, "unit": "event", "threshold": 0}, "threshold 0 is not"),
    ],
)
def test_bad_parameters_are_refused_by_name(options: dict[str, Any], words: str) -> None:
    with pytest.raises(hp.InputError, match=words):
        hp.AddNoise(**options)


def test_noise_that_leaves_nothing_is_refused_with_advice_that_helps() -> None:
    with pytest.raises(hp.InputError, match="no noisy count reaches the threshold of 100,000") as refusal:
        hp.AddNoise(5.0, "event", threshold=100_000)(many(3, n_users=5))
    assert refusal.value.fix == "use a larger epsilon or coarser places"
    with pytest.raises(hp.InputError, match="no noisy count") as refusal:
        hp.AddNoise(1.0, "event", delta=1e-12)(many(1, n_users=5))
    assert refusal.value.fix == "use a larger epsilon or coarser places, or a larger delta"


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-320, 0.0), (1.0, 1e-300), (1e-320, 1e-9)])
def test_what_opendp_cannot_account_for_is_refused(epsilon: float, delta: float) -> None:
    with pytest.raises(hp.InputError, match="OpenDP finds no noise"):
        hp.AddNoise(epsilon, "event", delta=delta)(many(3, n_users=5))


@pytest.mark.parametrize(
    "before",
    [hp.SuppressBelow(2), hp.RoundTo(2), hp.Microaggregate(2), hp.AddNoise(9.0, "event", threshold=1)],
    ids=lambda mechanism: type(mechanism).__name__,
)
@pytest.mark.parametrize("noise", [hp.AddNoise(1.0, "event"), hp.AddNoise(1.0, limit=5)], ids=lambda noise: noise.unit)
def test_noise_is_refused_after_a_step_that_makes_its_promise_false(before: hp.Mechanism, noise: hp.AddNoise) -> None:
    with pytest.raises(hp.InputError, match="after the step"):
        hp.chain(before, noise)(many(30, n_users=6))


def test_a_limit_comes_before_noise_for_users_but_not_before_noise_for_events() -> None:
    limit = hp.LimitContribution(total=40)
    release = hp.chain(limit, hp.AddNoise(9.0, limit=40, threshold=1))(many(30, n_users=6))
    assert isinstance(release.guarantees[-1], hp.DifferentialPrivacy)
    with pytest.raises(hp.InputError, match="unit 'event' after the step 'limit-contribution'"):
        hp.chain(limit, hp.AddNoise(9.0, "event"))(many(30, n_users=6))


def test_noise_is_drawn_for_every_place_that_a_limit_leaves_empty() -> None:
    habits = hp.Histograms.from_strings({1: "a" * 9 + "b", 2: "a" * 9 + "c"})
    noise = hp.AddNoise(9.0, limit=2, threshold=1)
    for release in (noise(habits), hp.chain(hp.LimitContribution(total=2), noise)(habits)):
        assert release.steps[-1].findings["n_draws"] == 2 * 3


def test_the_promise_says_when_the_places_were_chosen_without_noise() -> None:
    coarse = hp.Coarsen({place: place // 2 for place in range(4)})
    noise = hp.AddNoise(1.0, "event", delta=1e-6)
    plain = hp.chain(coarse, noise)(many(200, n_users=6)).guarantees[-1]
    chosen = hp.chain(coarse, hp.KeepTopPlaces(1), noise, hp.RoundTo(5))(many(200, n_users=6)).guarantees[-2]
    assert [each.are_places_chosen for each in (plain, chosen)] == [False, True]  # type: ignore[union-attr]


def test_shares_have_no_event_to_hide() -> None:
    shares = hp.microaggregate(many(3, n_users=5), k=2).histograms
    with pytest.raises(hp.InputError, match="not whole numbers"):
        hp.AddNoise(1.0, "event")(shares)


def test_without_opendp_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *rest: Any) -> Any:
        if name.startswith("opendp"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(hp.InputError, match=r"habitprint\[dp\]"):
        hp.AddNoise(1.0, "event")(many(3, n_users=5))


@pytest.mark.parametrize("narrow", [hp.Coarsen({"a": "x", "b": "y"}, "leave-out"), hp.KeepTopPlaces(1)])
def test_the_rows_and_places_that_get_noise_do_not_depend_on_one_event(narrow: hp.Mechanism) -> None:
    """Else a row or a place would show that somebody was at a listed place, whatever the noise."""
    others = {f"user {number}": "a" * 9 for number in range(3)}
    without, with_one = (hp.Histograms.from_strings({**others, "Bob": "z" + more}) for more in ("", "a"))
    drawn = {
        hp.chain(narrow, hp.AddNoise(5.0, "event"))(table).steps[-1].findings["n_draws"]
        for table in (without, with_one)
    }
    assert len(drawn) == 1
    assert drawn == {4 * (2 if isinstance(narrow, hp.Coarsen) else 1)}  # four users, and every place that is listed


def test_suppressed_shares_add_up_to_one_again() -> None:
    """Else one minus their sum would be the hidden part."""
    shares = hp.ReleaseShares()(hp.Histograms.from_strings({1: "aaab", 2: "aabb"}))
    release = hp.SuppressBelow(0.3)(shares)
    assert release.histograms.totals.tolist() == [1.0, 1.0]
    assert "EqualTotals()" in map(repr, release.guarantees)
