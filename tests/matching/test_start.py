"""Whatever a matching starts from, an auction or any potentials and pairs, it ends with the best."""

from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import habitprint as hp
from habitprint.arrays import Floats
from habitprint.histograms import align
from habitprint.matching.matching import EXACT, Proof
from habitprint.matching.nodes import Nodes, make_nodes
from habitprint.matching.solver import Solution, auction, run, solve_all
from habitprint.matching.solver.flow import Pairs
from habitprint.matching.solver.queue import NONE
from habitprint.matching.solver.settle import Settled, settle_columns
from habitprint.matching.solver.state import Problem, State
from habitprint.progress import silent
from habitprint.weighing import Sides, WeightName, find_weight, positive_gains
from instances import CASES, Case, tables
from nights import in_full

Start = tuple[Pairs, Floats]
ALL = [case for case in CASES if case.size is None]


class Instance:
    """Two tables, arranged for the solver; and what an outside judge says of them."""

    def __init__(self, released: hp.Histograms, known: hp.Histograms, weight: WeightName = "jensen-shannon") -> None:
        released, known = align(released, known)
        chosen = find_weight(weight)
        self.sides = Sides.of(released, known, chosen)
        self.nodes: tuple[Nodes, Nodes] = (
            make_nodes(released, chosen, np.random.default_rng(1)),
            make_nodes(known, chosen, np.random.default_rng(2)),
        )
        self.gains = positive_gains(self.sides).toarray()

    @property
    def best_total(self) -> float:
        rows, columns = linear_sum_assignment(self.gains, maximize=True)
        return float(self.gains[rows, columns].sum())

    def solve(self, beginning: Start | None = None, epsilon: float = 0.0) -> Solution:
        evidence = self.sides.evidence, self.sides.evidence_back
        return solve_all(*self.nodes, evidence, start=beginning, epsilon=epsilon)

    def gap_of(self, solution: Solution) -> float:
        """Return by how much the pairs may miss the best, by a proof that covers every pair; each is used once."""
        for numbers, nodes in ((solution.rows, self.nodes[0]), (solution.columns, self.nodes[1])):
            used = np.bincount(numbers, solution.flows, minlength=len(nodes.n_members))
            assert np.all(used <= nodes.n_members)
        first = [nodes.members[nodes.starts[:-1]] for nodes in self.nodes]
        total = float(self.gains[first[0][solution.rows], first[1][solution.columns]] @ solution.flows)
        mine, theirs = self.nodes
        potentials = mine.to_users(solution.row_potential), theirs.to_users(solution.column_potential)
        proof = Proof(*potentials, solution.price).raised_to_cover(self.sides)
        assert total <= self.best_total * (1 + 1e-11)
        return proof.gap(total, min(self.gains.shape))

    def judge(self, solution: Solution) -> None:
        """Check the pairs against an outside solver, and the proof against every pair."""
        assert self.gap_of(solution) <= EXACT
        first = [nodes.members[nodes.starts[:-1]] for nodes in self.nodes]
        total = float(self.gains[first[0][solution.rows], first[1][solution.columns]] @ solution.flows)
        assert total == pytest.approx(self.best_total, rel=1e-11, abs=1e-300)

    def random_start(self, random: np.random.Generator, scale: float, n_pairs: int) -> Start:
        """Draw pairs and potentials without a look at the gains."""
        units = [np.repeat(np.arange(len(nodes.n_members)), nodes.n_members) for nodes in self.nodes]
        n = min(n_pairs, *map(len, units))
        rows, columns = (random.permutation(of)[:n] for of in units)
        pairs, flows = np.unique(np.stack([rows, columns]), axis=1, return_counts=True)
        return Pairs(pairs[0], pairs[1], flows), random.random(len(self.nodes[1].n_members)) * scale


@pytest.fixture(params=["long lists", "shortest lists"], autouse=True)
def lists(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "shortest lists":
        for name, value in {"SHORT": 1, "RESERVE": 2, "LEAST_RESERVE": 1, "PAUSE": 3}.items():
            monkeypatch.setattr(run, name, value)


@pytest.mark.parametrize("scale", [0.0, 0.3, 1e6, *in_full(1e-3, 2.0)])
@pytest.mark.parametrize("n_pairs", [0, 10, *in_full(1000)])
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_any_potentials_and_pairs_end_with_the_best(case: Case, n_pairs: int, scale: float) -> None:
    instance, random = Instance(*case.make(seed=3)), np.random.default_rng(n_pairs)
    instance.judge(instance.solve(instance.random_start(random, scale, n_pairs)))


@pytest.mark.parametrize("epsilon", [0.001, 0.5, *in_full(0.05)])
@pytest.mark.parametrize("scale", [0.0, 2.0, *in_full(0.3)])
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_from_any_start_no_more_is_missing_than_may_be(case: Case, scale: float, epsilon: float) -> None:
    """High potentials leave columns active, low ones rows: both may be left with something."""
    instance, random = Instance(*case.make(seed=6)), np.random.default_rng(1)
    assert instance.gap_of(instance.solve(epsilon=epsilon)) <= epsilon
    assert instance.gap_of(instance.solve(instance.random_start(random, scale, 10), epsilon)) <= epsilon


@pytest.mark.parametrize(("epsilon", "is_needed"), [(0.02, False), (0.001, True), (0.0, True)])
def test_columns_are_settled_only_where_too_much_is_missing(epsilon: float, *, is_needed: bool) -> None:
    first = np.zeros(1, np.int64)
    settled = Settled(Pairs(first, first, first + 1), np.array([0.5]), np.array([0.49, 0.01]))
    n_units = np.array([1]), np.array([1, 1])
    assert settled.missing(n_units) == pytest.approx(0.01)

    class AskedError(Exception):
        pass

    def turn() -> tuple[State, Problem]:
        raise AskedError

    with pytest.raises(AskedError) if is_needed else nullcontext():
        assert settle_columns(settled, turn, n_units, 1e9, silent, epsilon).pairs is settled.pairs


@pytest.mark.parametrize("weight", hp.WEIGHTS)
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_a_solution_that_is_a_little_wrong_ends_with_the_best(case: Case, weight: WeightName) -> None:
    instance, random = Instance(*case.make(seed=8), weight), np.random.default_rng(5)
    right = instance.solve()
    noise = 0.2 * random.random(len(right.column_potential)) * (random.random(len(right.column_potential)) < 0.3)
    for wrong in (0.0, noise, -noise):
        pairs = Pairs(right.rows, right.columns, right.flows)
        instance.judge(instance.solve((pairs, np.maximum(right.column_potential + wrong, 0.0))))


@given(released=tables(), known=tables(), seed=st.integers(0, 1000), scale=st.sampled_from([0.0, 0.5, 5.0]))
def test_ties_do_not_keep_any_start_from_the_best(
    released: hp.Histograms, known: hp.Histograms, seed: int, scale: float
) -> None:
    instance = Instance(released, known)
    instance.judge(instance.solve(instance.random_start(np.random.default_rng(seed), scale, seed % 6)))


@pytest.mark.parametrize(
    ("step", "kept", "most_work"),
    [(1e-6, 0.0, 1000), (0.3, 0.0, 1000), (0.01, 0.9, 1000), (0.01, 0.1, 0), (0.01, 0.1, 1)],
)
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_any_auction_ends_with_the_best(
    case: Case, step: float, kept: float, most_work: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auction, "MOST_WAITING", 3)
    monkeypatch.setattr(auction, "STEP", step)
    monkeypatch.setattr(auction, "KEPT", kept)
    monkeypatch.setattr(auction, "MOST_WORK", most_work)
    instance = Instance(*case.make(seed=9))
    instance.judge(instance.solve())


@pytest.mark.parametrize("weight", hp.WEIGHTS)
@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_an_auction_gives_everybody_nearly_what_he_likes_best(case: Case, weight: WeightName) -> None:
    instance = Instance(*case.make(seed=4), weight)
    mine, theirs = instance.nodes
    problem = Problem.of(mine.shares, theirs.shares, instance.sides.evidence)
    state = run.first_state(problem, instance.nodes, 1e9)
    held = auction.hold_auction(state, problem)
    assert held.n_done.tolist() == [len(held.turns), 0]
    gains = instance.gains[np.ix_(*(nodes.members[nodes.starts[:-1]] for nodes in instance.nodes))]
    offers = gains - state.columns["potential"]
    best = np.maximum(offers.max(axis=1, initial=0.0), 0.0)
    assert np.all(state.rows["potential"] >= best)
    rows, columns = held.rows, np.repeat(np.arange(len(theirs.n_members)), theirs.n_members)
    assert np.all(held.prices[rows == NONE] == 0.0)
    seated = rows != NONE
    paid = (gains[rows, columns] - held.prices)[seated]
    assert np.all(paid >= best[rows[seated]] - held.step - 1e-12)
