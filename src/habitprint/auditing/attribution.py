"""Whether places that a group publishes can be put down to one of its members.

A place that s of m members visited belongs to a given one with probability s/m, if nothing tells the members apart. An
attacker who knows the habits of some of them does better. So this is measured beside that base rate, and never called
guaranteed.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from habitprint.arrays import Floats, Indices, SparseMatrix
from habitprint.auditing.unmixing import Scene, unexplained_sums
from habitprint.rates import IntervalMethod, Rate

MOST_PEOPLE = 1_000  # about whom a place is claimed: enough for an interval of three points
FEWEST_PEOPLE = 50
MOST_WORK = 3e7  # entries of like people: some seconds
MOST_VISITORS = 100  # of a place that tells who is alike
SAMPLE_SEED = 0  # which people those are
LEFT_OVER = 0.1  # of a value counts as unexplained though others' known habits would explain all of it


@dataclass(frozen=True)
class Attribution:
    """How often the attacker is right about places of people in their groups.

    Parameters
    ----------
    right_group
        For how many people the attacker looks in the right group.
    new_places
        One claim about each of those: the likeliest place of their group that the attacker did not know of them. By
        chance is the base rate: the share who were there, of the members of that group who are not known to visit it.
    known_places
        A claim about every place that the attacker knew of a person: they were there again if and only if their group
        shows it. By chance is the better one of always claiming the same, whatever is released.

    The last two are None where there is nobody to claim anything about.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(60, 20)
    >>> hp.measure_risks(released, hp.microaggregate(released, k=5), known).attribution.new_places.n <= 60
    True
    """

    right_group: Rate
    new_places: Rate | None
    known_places: Rate | None


def attribute(scene: Scene) -> Attribution:
    """Claim places of people in their groups, and count how often that is right.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.attacks import Scenario
    >>> from habitprint.auditing.unmixing import point
    >>> released, known = hp.datasets.town(60, 20)
    >>> release = hp.microaggregate(released, k=5)
    >>> tables = Scenario(release.histograms, known, "same-id", release.steps)
    >>> attribute(Scene.of(released, release, tables, point(tables))).known_places.n == known.counts.nnz
    True
    """
    is_asked = (scene.of_person >= 0) & (scene.looked_in[scene.of_person] >= 0)
    asked = _sample(scene, np.flatnonzero(is_asked))
    known = scene.known.shares[scene.of_person[asked]]
    group = scene.looked_in[scene.of_person[asked]]
    own = sparse.csr_array(scene.own[asked] > 0)
    shown = sparse.csr_array(scene.groups.sums[group] > 0)
    is_right = group == scene.group_of_person[asked]
    new, place = _best(_score_new_places(scene, known, shown, group))
    new, place = new[is_right[new]], place[is_right[new]]
    base = _base_rate(scene, group[new], place)
    person, where = (np.asarray(at, np.int64) for at in known.nonzero())
    was_again = _at(own, person, where)
    is_claimed = _at(shown, person, where)
    again = float(was_again.mean()) if len(person) else 0.0
    return Attribution(
        Rate.of_chances(is_right.astype(np.float64), max(len(asked), 1), 0.0, IntervalMethod.JOINT),
        _rate(_at(own, new, place), base),
        _rate((was_again == is_claimed).astype(np.float64), np.array([max(again, 1 - again)])),
    )


def _sample(scene: Scene, people: Indices) -> Indices:
    """Return the people about whom places are claimed: fewer where many people share many places."""
    drawn = np.random.default_rng(SAMPLE_SEED).permutation(people)[:MOST_PEOPLE]
    shares = scene.known.shares
    n_visitors = np.bincount(shares.indices, minlength=shares.shape[1])
    n_identical = _rare(shares[scene.of_person[drawn]], n_visitors).astype(bool) @ n_visitors
    work = np.cumsum(n_identical * (shares.nnz / shares.shape[0]))
    return np.sort(drawn[: max(int(np.searchsorted(work, MOST_WORK)), FEWEST_PEOPLE)])


def _rare(known: SparseMatrix, n_visitors: Floats | Indices) -> SparseMatrix:
    """Return known shares at rare places, the rarer the more: who shares a popular place is not alike for that."""
    weight = np.where(n_visitors <= MOST_VISITORS, 1 / np.maximum(n_visitors, 1), 0.0)
    rare = sparse.csr_array(known * weight)
    rare.eliminate_zeros()
    return rare


def _score_new_places(scene: Scene, known: SparseMatrix, shown: SparseMatrix, group: Indices) -> SparseMatrix:
    """Return how well each place of a person's group fits them that they are not known to visit.

    A place fits that is visited by people who visit what this person visits, rare places first, and whose value in the
    group is not explained by what others are known to do.
    """
    everybody = sparse.csr_array((scene.known.shares > 0).astype(np.float64))
    alike = sparse.csr_array(_rare(known, np.asarray(everybody.sum(axis=0)).ravel()) @ everybody.T)
    fits = sparse.csr_array(alike @ everybody)
    left = sparse.csr_array(unexplained_sums(scene) + LEFT_OVER * scene.groups.sums)[group]
    candidates = sparse.csr_array(shown.astype(np.float64) - shown.multiply(known > 0))
    candidates.eliminate_zeros()
    # Where nobody alike was, what is left in the group still tells.
    least = 1e-3 * float(fits.data.mean()) if fits.nnz else 1.0
    return sparse.csr_array((candidates * least + candidates.multiply(fits)).multiply(left))


def _best(scores: SparseMatrix) -> tuple[Indices, Indices]:
    """Return the rows that have a score at all, and the column of the largest in each; of equal ones the first."""
    scores = sparse.csr_array(scores)
    scores.sort_indices()
    scores.eliminate_zeros()
    rows = np.flatnonzero(np.diff(scores.indptr))
    row = np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr))
    order = np.lexsort((scores.indices, -scores.data, row))
    first = np.flatnonzero(np.diff(row[order], prepend=-1))
    return rows, np.asarray(scores.indices[order[first]], np.int64)


def _base_rate(scene: Scene, group: Indices, place: Indices) -> Floats:
    """Return which share of the members of a group were at a place, among those who are not known to visit it."""
    n_groups, n = scene.groups.sums.shape[0], len(scene.group_of_person)
    members = sparse.csr_array((np.ones(n), (scene.group_of_person, np.arange(n))), (n_groups, n))
    own, known = (sparse.csr_array((rows > 0).astype(np.float64)) for rows in (scene.own, scene.known_of_people))
    n_known, n_known_there = (_at(sparse.csr_array(members @ each), group, place) for each in (known, known * own))
    n_new = _at(sparse.csr_array(members @ own), group, place) - n_known_there
    return np.asarray(n_new / np.maximum(np.bincount(scene.group_of_person, minlength=n_groups)[group] - n_known, 1))


def _at(table: SparseMatrix, row: Indices, column: Indices) -> Floats:
    """Return single cells of a table; of none, none (where scipy returns a matrix)."""
    return np.asarray(table[row, column], np.float64).ravel() if len(row) else np.zeros(0)


def _rate(is_right: Floats, by_chance: Floats) -> Rate | None:
    if not len(is_right):
        return None
    return Rate.of_chances(is_right, len(is_right), float(np.mean(by_chance)), IntervalMethod.JOINT)
