"""Distances of chains: by hand, against the definitions, and their laws."""

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
import reference_chains
from hypothesis import given
from hypothesis import strategies as st
from trajectories import CORNER

import habitprint as hp
from habitprint.markov import CHAIN_DISTANCES, ChainDistance, Chains, MarkovModel, chain_distances
from habitprint.markov.stays import ground_distances, to_space

DEGREE = math.radians(1) * 6_371_008.8  # metres of a degree of latitude

states = st.lists(st.tuples(st.integers(1, 50), st.integers(-4, 4), st.integers(-4, 4)), max_size=6)


def chains_of(*users: Sequence[tuple[int, float, float]], step: float = 0.0005) -> Chains:
    """Make chains from lists of states (points, steps north, steps east)."""
    ordered = [sorted(states, key=lambda state: -state[0]) for states in users]
    flat = [state for states in ordered for state in states]
    columns = np.array(flat, np.float64).reshape(-1, 3)
    return Chains(
        users=pl.Series("user", range(len(users)), dtype=pl.Int64),
        starts=np.cumsum([0, *map(len, users)]),
        centroids=to_space(CORNER[0] + step * columns[:, 1], CORNER[1] + step * columns[:, 2]),
        n_points=columns[:, 0].astype(np.int64),
        transitions=tuple(np.eye(len(states)) for states in users),
        n_given=0,
        n_sampled=0,
        n_stays=0,
        n_stationary=0,
        n_noise=0,
        model=MarkovModel(),
    )


many = st.lists(states, min_size=1, max_size=5).map(lambda users: chains_of(*users))


def expected(released: Chains, known: Chains, kind: ChainDistance, near: float) -> list[list[float]]:
    rows = []
    for i in range(released.n_users):
        a = slice(released.starts[i], released.starts[i + 1])
        row = []
        for j in range(known.n_users):
            b = slice(known.starts[j], known.starts[j + 1])
            ground = ground_distances(released.centroids[a], known.centroids[b])
            shares = released.importance[a], known.importance[b]
            if kind == "stationary":
                row.append(reference_chains.stationary(ground, *shares))
            elif kind == "proximity":
                row.append(reference_chains.proximity(ground, near))
            else:
                row.append(reference_chains.stat_prox(ground, *shares, near))
        rows.append(row)
    return rows


@pytest.mark.parametrize("kind", CHAIN_DISTANCES)
@pytest.mark.parametrize("step", [0.0005, 0.02])
def test_all_pairs_at_once_are_as_the_definition_says(kind: ChainDistance, step: float) -> None:
    random = np.random.default_rng(3)

    def make(*lengths: int) -> Chains:
        users = [np.column_stack([random.integers(1, 9, n), random.integers(-3, 4, (n, 2))]) for n in lengths]
        return chains_of(*([(int(n), float(a), float(b)) for n, a, b in states] for states in users), step=step)

    released, known = make(0, 3, 1, 7, 2), make(4, 0, 0, 9, 1, 2, 0)
    found = chain_distances(released, known, kind, near=120.0)
    np.testing.assert_allclose(found, expected(released, known, kind, 120.0), rtol=1e-12)


@pytest.mark.parametrize("kind", CHAIN_DISTANCES)
@given(released=many, known=many)
def test_distances_are_those_of_the_reference(kind: ChainDistance, released: Chains, known: Chains) -> None:
    found = chain_distances(released, known, kind)
    np.testing.assert_allclose(found, expected(released, known, kind, 100.0), rtol=1e-12)


@pytest.mark.parametrize("kind", CHAIN_DISTANCES)
@given(released=many, known=many)
def test_distances_are_the_same_there_and_back(kind: ChainDistance, released: Chains, known: Chains) -> None:
    there, back = chain_distances(released, known, kind), chain_distances(known, released, kind)
    np.testing.assert_allclose(there, back.T, rtol=1e-12)


@pytest.mark.parametrize("kind", CHAIN_DISTANCES)
@given(chains=many)
def test_nothing_is_nearer_to_a_chain_than_itself(kind: ChainDistance, chains: Chains) -> None:
    distances = chain_distances(chains, chains, kind)
    assert (np.diag(distances) <= distances.min(axis=1) + 1e-12).all()


@given(chains=many)
def test_a_chain_is_no_metre_from_itself(chains: Chains) -> None:
    own = np.diag(chain_distances(chains, chains))
    assert (own[chains.has_state] == 0).all()
    assert np.isinf(own[~chains.has_state]).all()


@given(chains=many, degrees=st.integers(-180, 180))
def test_turning_the_earth_changes_no_distance(chains: Chains, degrees: int) -> None:
    turn = math.radians(degrees)
    matrix = np.array([[math.cos(turn), -math.sin(turn), 0], [math.sin(turn), math.cos(turn), 0], [0, 0, 1]])
    fields = {name: getattr(chains, name) for name in Chains.__dataclass_fields__}
    turned = Chains(**fields | {"centroids": chains.centroids @ matrix.T})
    np.testing.assert_allclose(chain_distances(turned, turned), chain_distances(chains, chains), atol=1e-6)


def test_the_stationary_distance_by_hand() -> None:
    # Three quarters of the time 0.01° and one quarter 0.02° north of the other's only place.
    two, one = chains_of([(30, 0.01, 0), (10, 0.02, 0)], step=1.0), chains_of([(5, 0, 0)], step=1.0)
    there, back = 0.75 * 0.01 + 0.25 * 0.02, 0.01
    np.testing.assert_allclose(chain_distances(two, one), [[(there + back) / 2 * DEGREE]])


@pytest.mark.parametrize(
    ("is_close", "score"),
    [("1", 10), ("11", 15), ("111", 17.5), ("1111", 18.75), ("111111", 20.75), ("01", 5), ("00001", 1), ("101", 12.5)],
)
def test_the_proximity_distance_by_hand(is_close: str, score: float) -> None:
    own = [(100 - k, 0.1 * k, 0.0) for k in range(len(is_close))]
    other = [(n, north, 0.0 if mark == "1" else 0.05) for (n, north, _), mark in zip(own, is_close, strict=True)]
    released, known = chains_of(own, step=1.0), chains_of(other, step=1.0)
    np.testing.assert_allclose(chain_distances(released, known, "proximity"), [[1 / score]])


def test_chains_without_a_close_state_are_at_the_largest_proximity_distance() -> None:
    released, known = chains_of([(1, 0, 0)], step=1.0), chains_of([(1, 1, 0)], step=1.0)
    assert chain_distances(released, known, "proximity").tolist() == [[100_000.0]]


def test_states_at_exactly_the_limit_are_not_close() -> None:
    released, known = chains_of([(1, 0, 0)], step=1.0), chains_of([(1, 0.001, 0)], step=1.0)
    apart = float(chain_distances(released, known)[0, 0])
    assert chain_distances(released, known, "proximity", near=apart).tolist() == [[100_000.0]]
    assert chain_distances(released, known, "proximity", near=apart * (1 + 1e-9)).tolist() == [[0.1]]


def test_stat_prox_asks_for_proximity_only_from_afar() -> None:
    released = chains_of([(3, 0, 0), (2, 0, 0.1)], step=1.0)
    nearby, afar = [(3, 0, 0), (2, 0, 0.11)], [(3, 0, 0), (2, 0, 9)]
    strangers = [(3, 5, 5)]
    known = chains_of(nearby, afar, strangers, step=1.0)
    stationary, proximity = chain_distances(released, known)[0], chain_distances(released, known, "proximity")[0]
    assert stationary[0] < 2000 < stationary[1]
    assert chain_distances(released, known, "stat-prox")[0].tolist() == [stationary[0], proximity[1], stationary[2]]


def test_users_without_a_state_are_infinitely_far() -> None:
    nobody, someone = chains_of([]), chains_of([(1, 0, 0)])
    for kind in CHAIN_DISTANCES:
        assert chain_distances(nobody, someone, kind).tolist() == [[math.inf]]
        assert chain_distances(someone, nobody, kind).tolist() == [[math.inf]]


def test_ground_distances_go_round_the_earth() -> None:
    north, south, east = to_space(np.array([90.0, -90.0, 0.0]), np.array([0.0, 0.0, 90.0]))
    quarter = math.pi / 2 * 6_371_008.8
    np.testing.assert_allclose(ground_distances(north[np.newaxis], np.array([south, east])), [[2 * quarter, quarter]])


def test_unknown_kinds_are_refused_by_name() -> None:
    chains = chains_of([(1, 0, 0)])
    with pytest.raises(hp.InputError, match="no kind 'density'"):
        chain_distances(chains, chains, "density")  # type: ignore[arg-type]


@pytest.mark.parametrize("near", [0, -1.0, math.inf, math.nan, "100", True])
def test_an_impossible_nearness_is_refused(near: object) -> None:
    chains = chains_of([(1, 0, 0)])
    with pytest.raises(hp.InputError, match="near"):
        chain_distances(chains, chains, near=near)  # type: ignore[arg-type]


def test_only_chains_have_distances() -> None:
    chains = chains_of([(1, 0, 0)])
    with pytest.raises(hp.InputError, match="known is a DataFrame, not Chains"):
        chain_distances(chains, chains.to_table())  # type: ignore[arg-type]
