"""An explanation tells of one person what the audit knows of all."""

from functools import cache

import numpy as np
import pytest

import habitprint as hp
from audits import only_groups


@cache
def tables() -> tuple[hp.Histograms, hp.Histograms]:
    released, known = hp.datasets.town(24, 8)
    # Somebody is released whom the attacker does not know.
    return released, known.select(users=known.users.to_list()[:-1])


@cache
def found() -> hp.Audit:
    with only_groups():
        return hp.audit(tables(), target=0.5, noise=False)


def explained() -> list[hp.Explanation]:
    return [found().explain(user) for user in found().users["user"].to_list()]


@pytest.mark.slow
def test_places_add_up_to_the_gain_of_the_pair() -> None:
    weight = found().require_internal().joint.matching.weight
    released, known = tables()
    weights = hp.weights(released, known, weight)
    for why in explained():
        if why.compared_with is None:
            continue  # neither known nor matched: there is no pair
        row = released.users.to_list().index(why.user)
        column = known.users.to_list().index(why.compared_with)
        assert why.gain == pytest.approx(weight.ceiling - weights[row, column], abs=1e-9)


@pytest.mark.slow
def test_rivals_stand_in_the_order_of_what_speaks_for_them_and_nobody_nearer_is_missing() -> None:
    weight = found().require_internal().joint.matching.weight
    released, known = tables()
    weights = hp.weights(released, known, weight)
    for why in explained():
        gains = [rival.gain for rival in why.rivals]
        assert gains == sorted(gains, reverse=True)
        row = released.users.to_list().index(why.user)
        assert gains[0] == pytest.approx(weight.ceiling - np.min(weights[row]), abs=1e-9)


@pytest.mark.slow
def test_the_person_and_whoever_is_named_are_among_the_rivals() -> None:
    for why in explained():
        assert sum(rival.is_named for rival in why.rivals) == (why.named is not None)
        assert sum(rival.is_same_person for rival in why.rivals) == (0 if why.is_right is None else 1)
        assert next((rival.user for rival in why.rivals if rival.is_named), None) == why.named


def test_it_says_of_each_person_what_the_table_of_people_says() -> None:
    for why, facts in zip(explained(), found().users.iter_rows(named=True), strict=True):
        assert (why.named, why.probability) == (facts["matched_to"], facts["probability"])
        assert why.is_right == facts["realised_correct"]
        if why.is_right is not None:
            assert why.chance == why.protections[0].chance == facts["expected_correct"]


def test_the_place_that_tells_most_is_the_one_that_gives_away() -> None:
    for why, facts in zip(explained(), found().users.iter_rows(named=True), strict=True):
        assert (why.places[0].place if why.places else None) == facts["place_1"]


def test_no_protection_leaves_a_chance_above_what_is_guaranteed() -> None:
    for why in explained():
        for each in why.protections:
            assert each.n_identical is None or each.chance <= 1 / each.n_identical + 1e-9


def test_what_is_advised_is_among_the_protections() -> None:
    advised = found().protections.advised
    assert advised is not None
    for why in explained():
        assert [each.label for each in why.protections if each.is_advised] == [advised.label]


def test_somebody_whom_the_attacker_does_not_know_is_explained_by_whom_they_are_taken_for() -> None:
    released, known = tables()
    (unknown,) = set(released.users.to_list()) - set(known.users.to_list())
    matched = found().users.drop_nulls("matched_to")["user"].to_list()
    why = found().explain(unknown)
    assert why.is_right is None
    assert why.chance == 0
    assert (why.named is None) == (unknown not in matched)


def test_an_id_that_is_a_number_may_be_given_as_text() -> None:
    released, known = (
        hp.Histograms(side.counts, range(side.n_users), side.places)  # type: ignore[arg-type]
        for side in hp.datasets.town(12, 5)
    )
    audit = hp.audit((released, known), noise=False)
    assert audit.explain("3").user == audit.explain(3).user == 3


@pytest.mark.parametrize("user", ["nobody", 7, None, 1.5, True, ["person"]])
def test_who_is_not_in_the_release_cannot_be_explained(user: object) -> None:
    with pytest.raises(hp.InputError) as error:
        found().explain(user)
    assert "audit.users" in error.value.fix


def test_an_audit_that_was_read_back_says_what_an_explanation_needs() -> None:
    with pytest.raises(hp.InputError, match="holds no user ids") as error:
        hp.Audit.from_json(found().to_json()).explain("person")
    assert "tables" in error.value.why
    assert "audit the tables again" in error.value.fix


def test_a_picture_has_places_rivals_and_protections_with_all_their_rows() -> None:
    why = explained()[0]
    spec = why.plot().to_dict()
    sizes = sorted(len(rows) for rows in spec["datasets"].values())
    wanted = [len(why.places) + 1 + bool(why.n_more_places), len(why.rivals), len(why.protections), 1]
    assert sizes == sorted(wanted)
    assert why.to_frame().height == len(why.places)
    assert why.to_frame("rivals").height == len(why.rivals)
    assert why.to_frame("protections").height == len(why.protections)
