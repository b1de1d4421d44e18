"""Built-in data: what it says it is."""

import pytest

import habitprint as hp


def test_the_illustration_holds_the_numbers_of_the_paper_s_first_table() -> None:
    released, known = hp.datasets.illustration()
    assert released.totals.tolist() == known.totals.tolist() == [100] * 4
    assert known.select(users=["Mary"], places=["dormitory", "restaurant", "library"]).counts.toarray().tolist() == [
        [15, 60, 25]
    ]


def test_the_same_seed_makes_the_same_town_and_another_seed_another() -> None:
    first, again, other = (hp.datasets.town(30, 10, seed=seed)[0].to_table() for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)


def test_a_town_has_the_size_asked_for() -> None:
    released, known = hp.datasets.town(25, 7)
    assert released.users.to_list() == known.users.to_list()
    assert released.n_users == 25
    assert hp.align(released, known)[0].n_places <= 7
    with pytest.raises(hp.InputError, match="n_users 0"):
        hp.datasets.town(0)
