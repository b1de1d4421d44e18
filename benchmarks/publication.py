"""Compare rules by which groups may be published: what can be reconstructed, and what is lost (some minutes).

python benchmarks/publication.py          # prints the table of docs/notes.md
"""

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

import habitprint as hp
from habitprint.arrays import Floats, Indices, SparseMatrix
from habitprint.mechanisms.groups.grouping import group_means
from habitprint.mechanisms.groups.microaggregation import draw_with, round_to_units
from habitprint.mechanisms.release import Step

SIZES = (5, 20)
UNITS = (3, 5, 10, 20, 50)
SEED = 0

Rule = Callable[[SparseMatrix, Indices], SparseMatrix]  # own shares and group numbers to what each group publishes


def long_tailed(n_users: int = 1_500, n_places: int = 60_000, seed: int = 5) -> tuple[hp.Histograms, hp.Histograms]:
    """Return two periods of synthetic people: most places have one or two visitors, and everybody 1 to 50 events."""
    random = np.random.default_rng(seed)
    popularity = np.arange(1, n_places + 1) ** -0.9
    rows: tuple[list[tuple[int, int, int]], ...] = ([], [])
    for user in range(n_users):
        places = random.choice(n_places, random.integers(2, 25), replace=False, p=popularity / popularity.sum())
        habits = random.dirichlet(np.full(len(places), 0.7))
        for part in rows:
            counts = random.multinomial(max(int(np.exp(random.uniform(0, np.log(50)))), 1), habits)
            part += [(user, int(place), int(n)) for place, n in zip(places, counts, strict=True) if n]
    one, other = (
        hp.Histograms.from_table(pl.DataFrame(part, schema=["user", "place", "count"], orient="row")) for part in rows
    )
    return one, other


def data() -> Iterator[tuple[str, hp.Histograms, hp.Histograms]]:
    """Yield a name and two tables of the same people."""
    for name, events, period in (
        ("Complete Journey, products", hp.datasets.complete_journey("product"), hp.BusiestWeeks()),
        ("calls (synthetic twin)", hp.events_from_frame(hp.datasets.calls_twin(2_000).events), hp.HalvesOfRows()),
        ("web (synthetic twin)", hp.events_from_frame(hp.datasets.web_twin(1_000).events), hp.HalvesOfRows()),
    ):
        released, known = hp.split(events, period)
        yield name, released.in_order(), known.in_order()
    yield ("long-tailed, made up", *long_tailed())


def exact(shares: SparseMatrix, labels: Indices) -> SparseMatrix:
    """Publish exact means, as the paper does."""
    return group_means(shares, labels, int(labels.max()) + 1)


def three_decimals(shares: SparseMatrix, labels: Indices) -> SparseMatrix:
    """Round means to three decimals."""
    means = exact(shares, labels)
    return _with(means, np.asarray(np.round(means.data, 3), np.float64))


def in_units(units: int) -> Rule:
    """Let every member contribute so many units, each rounded at random for themselves."""

    def publish(shares: SparseMatrix, labels: Indices) -> SparseMatrix:
        return _in_units(exact(round_to_units(shares, units, draw_with(SEED)), labels), units)

    return publish


def in_controlled_units(units: int) -> Rule:
    """Let every member contribute so many units, rounded such that the totals of places are kept to one unit.

    A corner of the polytope of all such roundings, in a random direction: whole numbers, but not quite without bias.
    """

    def publish(shares: SparseMatrix, labels: Indices) -> SparseMatrix:
        wanted = sparse.coo_array(shares * units)
        whole = np.floor(wanted.data + 1e-9)
        n = wanted.nnz
        by_row, by_place = (
            sparse.csr_array((np.ones(n), (at, np.arange(n))), (size, n))
            for at, size in zip(wanted.coords, wanted.shape, strict=True)
        )
        missing, of_place = units - by_row @ whole, by_place @ (wanted.data - whole)
        found = milp(
            np.random.default_rng(SEED).normal(size=n) - 4 * (wanted.data - whole),
            constraints=[
                LinearConstraint(by_place, np.floor(of_place + 1e-9), np.ceil(of_place - 1e-9)),
                LinearConstraint(by_row, missing, missing),
            ],
            bounds=Bounds(0, 1),
        )
        rounded = sparse.csr_array((whole + np.rint(np.asarray(found.x)), wanted.coords), shares.shape)
        rounded.eliminate_zeros()
        return _in_units(exact(rounded, labels), units)

    return publish


def supported_by(least: int) -> Rule:
    """Publish exact means, and only places that so many members visited."""

    def publish(shares: SparseMatrix, labels: Indices) -> SparseMatrix:
        means = exact(shares, labels)
        ones = sparse.csr_array((np.ones(shares.nnz), shares.indices, shares.indptr), shares.shape)
        n_visitors = exact(ones, labels).data * np.bincount(labels)[_row_of(means)]
        return _with(means, np.where(n_visitors >= least - 0.5, means.data, 0.0))

    return publish


def in_supported_units(units: int, least: int) -> Rule:
    """Let every member contribute so many units, and publish only places that so many members contribute to."""

    def publish(shares: SparseMatrix, labels: Indices) -> SparseMatrix:
        rounded = round_to_units(shares, units, draw_with(SEED))
        return _in_units(supported_by(least)(rounded, labels), units)

    return publish


def p_percent(p: float) -> Rule:
    """Publish exact means, without those of which the second largest contributor could tell the largest within p."""

    def publish(shares: SparseMatrix, labels: Indices) -> SparseMatrix:
        means = exact(shares, labels)
        entries = sparse.coo_array(shares)
        cell = labels[entries.coords[0]] * np.int64(shares.shape[1]) + entries.coords[1]
        order = np.lexsort((-entries.data, cell))
        first = np.flatnonzero(np.diff(cell[order], prepend=-1))
        values = np.append(entries.data[order], 0.0)
        has_second = np.diff(first, append=len(cell)) > 1
        total, largest = np.add.reduceat(values[:-1], first), values[first]
        second = np.where(has_second, values[first + 1], 0.0)
        return _with(means, np.where(total - largest - second >= p * largest, means.data, 0.0))

    return publish


RULES: dict[str, tuple[Rule, int | None]] = {
    "exact means (the paper's)": (exact, None),
    "three decimals": (three_decimals, None),
    **{f"{units} units": (in_units(units), units) for units in UNITS},
    **{f"{units} units, totals controlled": (in_controlled_units(units), units) for units in (20, 50)},
    "50 units, places of 2 members": (in_supported_units(50, 2), 50),
    **{f"exact means, places of {least} members": (supported_by(least), None) for least in (2, 3)},
    "p% rule, 10%": (p_percent(0.1), None),
}


def main() -> None:
    """Print one line for each table, size and rule."""
    print("| data | k | rule | reconstructed | pieced together | predictive value kept | totals off by |")
    print("|---|---|---|---|---|---|---|")
    for name, released, known in data():
        for k in SIZES:
            labels = hp.microaggregate(released, k, units=None).histograms.share_classes
            for rule, (publish, units) in RULES.items():
                rows = publish(released.shares, labels)[labels]
                has_any = np.diff(rows.indptr) > 0
                kept = hp.Histograms(rows[has_any], released.users.filter(has_any), released.places)
                groups = Step(hp.Microaggregate(k, units=units, seed=SEED))
                steps = [groups, *([Step(hp.RoundTo(0.001))] if rule == "three decimals" else [])]
                found = hp.measure_risks(released, hp.Release(kept, tuple(steps)), known).reconstruction
                losses = hp.measure_losses(released, kept, later=known)
                told = "–" if found is None else f"{found.rate.value:.1%} | {found.pieced.value:.1%}"
                value = losses.predictive_value
                print(f"| {name} | {k} | {rule} | {told} | {value:.2f} | {losses.totals_error:.1%} |", flush=True)


def _with(means: SparseMatrix, data: Floats) -> SparseMatrix:
    changed = sparse.csr_array((data, means.indices.copy(), means.indptr.copy()), means.shape)
    changed.eliminate_zeros()
    return changed


def _in_units(means: SparseMatrix, units: int) -> SparseMatrix:
    return _with(means, means.data / units)


def _row_of(matrix: SparseMatrix) -> Indices:
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


if __name__ == "__main__":
    main()
