"""The best groups: parts as defined, never too small, no worse than successive group selection, in any order."""

import numpy as np
import pytest
import reference_best
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import habitprint as hp
from habitprint.arrays import Floats
from habitprint.mechanisms.exposure import guaranteed_risk
from habitprint.mechanisms.groups import grouping
from habitprint.mechanisms.groups.best import best_groups, dissolve, fill_up, take_tightest
from habitprint.mechanisms.groups.exchange import exchange, exchange_pairs, take_turns
from habitprint.mechanisms.groups.neighbours import find_neighbours
from habitprint.mechanisms.groups.table import L1, L2, Loss, arrange, labels_of, list_members, losses_of
from instances import random_histograms, tables

LOSSES = pytest.mark.parametrize("loss", ["l1", "l2"])


def exact_rows(n: int, n_places: int, *, seed: int, density: float = 0.3, is_signed: bool = False) -> Floats:
    """Make rows of eighths, some of them equal."""
    random = np.random.default_rng(seed)
    values = random.integers(1, 9, (n, n_places)) * (random.random((n, n_places)) < density) / 8
    if is_signed:
        values *= random.choice([-1, 1], values.shape)
    values[random.integers(0, n, n // 4)] = values[random.integers(0, n, n // 4)]
    return np.asarray(values)


def partition(labels: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in labels}


def grouped(rows: Floats | sparse.csr_array, k: int, loss: Loss) -> np.ndarray:
    return best_groups(find_neighbours(sparse.csr_array(rows), loss, k), k)


@LOSSES
@pytest.mark.parametrize("is_signed", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_neighbours_are_the_nearest_who_share_a_place(loss: Loss, is_signed: bool, seed: int) -> None:
    rows = exact_rows(40, 10, seed=seed, is_signed=is_signed)
    neighbours = find_neighbours(sparse.csr_array(rows), loss, 3)
    ordered = rows[neighbours.order]
    for i in range(len(rows)):
        n, by_definition = neighbours.found.counts[i], reference_best.nearest(ordered, i, list(range(40)), loss)
        assert neighbours.found.users[i, :n].tolist() == by_definition[: neighbours.found.users.shape[1]]
        apart = [reference_best.size(ordered[i] - ordered[j], loss) for j in by_definition[:n]]
        assert neighbours.found.distances[i, :n].tolist() == apart


@LOSSES
@pytest.mark.parametrize("k", [2, 4, 8])
@pytest.mark.parametrize("seed", range(4))
def test_the_tightest_groups_are_those_of_the_definition(loss: Loss, k: int, seed: int) -> None:
    rows = exact_rows(64, 12, seed=seed, density=0.15)  # 64, 2, 4 and 8: nothing is rounded
    neighbours = find_neighbours(sparse.csr_array(rows), loss, k)
    assert take_tightest(neighbours, k).tolist() == reference_best.tightest(rows[neighbours.order], k, loss)


@LOSSES
@pytest.mark.parametrize("is_signed", [False, True])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_what_exchanges_gain_is_what_the_loss_falls_by(loss: Loss, is_signed: bool, k: int) -> None:
    for seed in range(4):
        rows = exact_rows(6 * k + 5, 14, seed=seed, is_signed=is_signed)
        common = arrange(sparse.csr_array(rows), L1 if loss == "l1" else L2, np.zeros(len(rows)))
        labels = np.minimum(np.arange(len(rows)) // k, 5)
        before = reference_best.total_lost(rows, labels, loss)
        groups = list_members(labels, k)
        assert losses_of(groups, common).sum() == pytest.approx(before, abs=1e-9)
        gains = exchange_pairs(common, groups, np.array([[0, 5], [1, 2], [3, 4]]), k)
        after = labels_of(groups)
        assert before - reference_best.total_lost(rows, after, loss) == pytest.approx(gains.sum(), abs=1e-9)
        assert np.bincount(after).min() >= k
        assert gains.min() >= 0
        assert [set(labels[after == g]) <= {g, other} for g, other in ((0, 5), (1, 2), (3, 4))] == [True] * 3


@LOSSES
@pytest.mark.parametrize("seed", range(4))
def test_after_exchanges_no_swap_of_small_groups_lowers_the_loss(loss: Loss, seed: int) -> None:
    rows = exact_rows(6, 8, seed=seed, density=0.6)
    common = arrange(sparse.csr_array(rows), L1 if loss == "l1" else L2, np.zeros(6))
    groups = list_members(np.array([0, 1, 0, 1, 0, 1]), 3)  # of three members all are tried
    exchange_pairs(common, groups, np.array([[0, 1]]), 3)
    one, other = (groups.members[g, :3].tolist() for g in range(2))
    assert reference_best.best_swap(rows, one, other, loss) <= 1e-9


def test_pairs_that_take_turns_together_have_no_group_in_common() -> None:
    random = np.random.default_rng(0)
    pairs = np.array([random.choice(40, 2, replace=False) for _ in range(900)])
    turns = take_turns(pairs, 40)
    assert (turns < 0).any()  # some have no turn at all
    for turn in range(turns.max() + 1):
        there = pairs[turns == turn]
        assert len(np.unique(there)) == there.size > 0


@LOSSES
@pytest.mark.parametrize("k", [2, 3, 5])
def test_dissolving_groups_never_raises_the_loss_and_leaves_none_too_small(loss: Loss, k: int) -> None:
    n_dissolved = 0
    for seed in range(6):
        rows = random_histograms(80, 14, density=0.15, seed=seed, n_habits=40).shares
        neighbours = find_neighbours(rows, loss, k)
        ordered = rows[neighbours.order].toarray()
        labels = np.minimum(np.arange(80) // k, 80 // k - 1)
        fewer = dissolve(neighbours, labels, k)
        assert np.bincount(fewer).min() >= k
        n_dissolved += int(labels.max() - fewer.max())
        assert (
            reference_best.total_lost(ordered, fewer, loss) <= reference_best.total_lost(ordered, labels, loss) + 1e-9
        )
    assert n_dissolved > 0


@pytest.mark.slow
@LOSSES
@pytest.mark.parametrize(("k", "mean_k"), [(1, 4), (2, 10), (5, 5), (5, 40), (3, 300)])
def test_groups_of_different_sizes_are_as_few_as_asked_and_cost_less_than_equal_ones(
    loss: Loss, k: int, mean_k: int
) -> None:
    released, _ = hp.datasets.town(600, 40, seed=4)
    release = hp.microaggregate(released, k, loss, mean_k=mean_k, units=None)
    assert release.histograms.identical_rows.min() >= k
    assert guaranteed_risk(release).average <= 1 / mean_k + 1e-9
    rows, equal = released.shares.toarray(), release.histograms.select(places=released.places).shares.toarray()
    limit = reference_best.total_lost(rows, grouped(released.shares, mean_k, loss), loss)
    assert sum(reference_best.size(row, loss) for row in rows - equal) <= limit + 1e-9


def test_groups_without_anything_in_common_are_merged_all_the_same() -> None:
    labels = best_groups(find_neighbours(sparse.csr_array(np.eye(12)), "l1", 2), 2, n_groups=2)
    assert np.bincount(labels).min() >= 2
    assert labels.max() == 1


@LOSSES
@given(histograms=tables(max_users=12), k=st.integers(1, 5))
def test_no_group_is_too_small_and_none_is_lost(loss: Loss, histograms: hp.Histograms, k: int) -> None:
    k = min(k, histograms.n_users)
    labels = grouped(histograms.shares, k, loss)
    sizes = np.bincount(labels)
    assert sizes.min() >= k
    assert sizes.sum() == histograms.n_users
    assert labels[np.unique(labels, return_index=True)[1]].tolist() == list(range(len(sizes)))


@LOSSES
@given(histograms=tables(max_users=12), k=st.integers(1, 5))
def test_the_loss_is_never_above_that_of_successive_group_selection(
    loss: Loss, histograms: hp.Histograms, k: int
) -> None:
    k, rows = min(k, histograms.n_users), histograms.shares
    # In the order of the best groups: among equal users, successive selection takes the first.
    ordered = sparse.csr_array(rows[find_neighbours(rows, loss, k).order])
    rival = grouping.successive_groups(ordered, k, loss)
    limit = reference_best.total_lost(ordered.toarray(), rival, loss)
    assert reference_best.total_lost(rows.toarray(), grouped(rows, k, loss), loss) <= limit + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("k", [2, 3, 5, 10, 20, 50])
def test_the_loss_on_a_town_is_below_those_of_both_published_methods(k: int) -> None:
    shares = hp.datasets.town(600, 60, seed=3)[0].shares  # more than have a second start
    rows = shares.toarray()
    lost = reference_best.total_lost(rows, grouped(shares, k, "l1"), "l1")
    for method in (grouping.successive_groups, grouping.mdav):
        assert lost < reference_best.total_lost(rows, method(shares, k, "l1"), "l1")


@LOSSES
@pytest.mark.parametrize("k", [2, 5, 20])
def test_the_order_of_rows_does_not_matter(loss: Loss, k: int) -> None:
    for n, seed in ((120, 0), (700, 1)):
        shares = random_histograms(n, 40, density=0.1, seed=seed).shares
        _, first = np.unique(shares.toarray(), axis=0, return_index=True)
        shares = sparse.csr_array(shares[np.sort(first)])  # all different
        order = np.random.default_rng(seed).permutation(shares.shape[0])
        shuffled = grouped(sparse.csr_array(shares[order]), k, loss)
        labels = grouped(shares, k, loss)
        assert partition(shuffled) == partition(labels[order])


def test_among_equal_rows_the_order_does_not_change_the_means() -> None:
    shares = random_histograms(200, 20, density=0.2, seed=0, n_habits=50).shares
    order = np.random.default_rng(1).permutation(200)
    sums = []
    for rows in (shares, sparse.csr_array(shares[order])):
        labels = grouped(rows, 7, "l1")
        means = grouping.group_means(rows, labels, labels.max() + 1)[labels]
        sums.append(np.sort(np.round(means @ np.arange(1.0, 21.0), 9)).tolist())
    assert sums[0] == sums[1]


def test_threads_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = hp.datasets.town(700, 50)[0].shares
    labels = grouped(shares, 5, "l1")
    monkeypatch.setattr("habitprint.runtime.WORK", 300.0)  # many small blocks
    assert grouped(shares, 5, "l1").tolist() == labels.tolist()
    monkeypatch.setattr("os.cpu_count", lambda: 7)
    assert grouped(shares, 5, "l1").tolist() == labels.tolist()


@LOSSES
@pytest.mark.parametrize("k", [2, 9, 30])
def test_how_many_neighbours_are_listed_matters_for_speed_alone(loss: Loss, k: int) -> None:
    shares = hp.datasets.town(300, 30, seed=2)[0].shares
    starts = [take_tightest(find_neighbours(shares, loss, listed), k) for listed in (1, k, 300)]
    assert starts[0].tolist() == starts[1].tolist() == starts[2].tolist()


def test_users_without_a_common_place_are_grouped_all_the_same() -> None:
    sizes = np.bincount(grouped(np.eye(11), 3, "l1"))
    assert (sizes.min(), sizes.sum()) == (3, 11)
    neighbours = find_neighbours(sparse.csr_array(np.eye(11)), "l1", 3)
    filled = fill_up(neighbours, np.full(11, -1), 3)
    assert np.bincount(filled[filled >= 0]).tolist() == [3, 3, 3]


def test_progress_is_told_and_can_stop_the_work() -> None:
    shares = hp.datasets.town(60, 20)[0].shares
    neighbours = find_neighbours(shares, "l1", 5)
    heard: list[str] = []

    def listen(stage: str, done: int, total: int, note: str = "") -> None:
        assert 0 <= done <= total
        heard.append(f"{stage}{note}")

    def stop(stage: str, done: int, total: int, note: str = "") -> None:
        assert done == 0, (stage, total, note)
        raise KeyboardInterrupt

    best_groups(neighbours, 5, listen)
    assert set(heard) == {"grouping", "exchanging"}
    labels = np.arange(60) // 5
    with pytest.raises(KeyboardInterrupt):
        take_tightest(neighbours, 5, stop)
    with pytest.raises(KeyboardInterrupt):
        exchange(neighbours.common, labels, 5, stop)
