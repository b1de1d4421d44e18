"""A weight trained on pairs whose truth is known, by conditional logit; how likely weights make pairs; weight files.

Let s_ij = Σ_t θ_t x_ijt be the gain of a pair, where x_ijt is the part of term t. The model: released user i is known
user j with probability exp(s_ij) / Σ_k exp(s_ik) among all known users k, and in the other direction likewise. θ ≥ 0
maximises the mean logarithm of the probabilities of the true pairs, less a small ridge.

Not all users k need a computation. Users who share no place with i have s = 0 and are only counted. The nearest are
taken one by one. Of the rest some are drawn, and each stands for several.
"""

import math
import os
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec
import numpy as np
from scipy import optimize

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.errors import InputError
from habitprint.formatting import printable_json
from habitprint.histograms import Histograms, align
from habitprint.io.files import read_text, write_text
from habitprint.runtime import kernel
from habitprint.truth import CommonUsers
from habitprint.weighing.definitions import WEIGHTS, Term, Weight, find_weight
from habitprint.weighing.evidence import Problem, Sides
from habitprint.weighing.gains import gain_blocks, pair_terms

RIDGE = 1e-5
MOST_PEOPLE = 400  # to learn from, in each direction: a few hundred pairs settle six numbers
MOST_JUDGED = 1_000  # people on whom weights are compared
N_NEAREST, N_DRAWN = 60, 60  # rivals of each: the nearest, and others drawn among the rest
NEGLIGIBLE = 1e-6  # the share of a term in the gain of true partners: a term below it is left out
LEARNED = "learned"

# The evidence of a shared place: similar shares, and a visit at all; each counts more at a rare place.
BASIS: tuple[Term, ...] = tuple(
    Term(kind, rarity=power) for kind in ("logarithm", "fourth-root") for power in (0.0, 1.0, 2.0)
)
SCHEMA = "habitprint-weight/2"
WHY = "a weight says which evidence counts when two users are compared"
FIX = "take a file that habitprint train wrote, or the name of a built-in weight"


@dataclass(frozen=True, eq=False)
class _Choices:
    """The evidence for the true partner and for the rivals of each of n users.

    Parameters
    ----------
    true
        The gain of the true partner by each term, n × terms.
    rivals
        The same for rivals, n × rivals × terms.
    offsets
        The logarithm of the number of users each rival stands for, n × rivals; minus infinity for none.
    """

    true: Floats
    rivals: Floats
    offsets: Floats

    def scaled_by(self, scale: Floats) -> "_Choices":
        """Return the same with terms in other units."""
        return _Choices(self.true / scale, self.rivals / scale, self.offsets)

    @property
    def summed(self) -> "_Choices":
        """Return the same with the sum of all terms as the only term."""
        return _Choices(self.true.sum(axis=-1, keepdims=True), self.rivals.sum(axis=-1, keepdims=True), self.offsets)

    def of(self, is_mine: Booleans) -> "_Choices":
        """Return the same for some of the users."""
        return _Choices(self.true[is_mine], self.rivals[is_mine], self.offsets[is_mine])


def fit_weight(
    released: Histograms, known: Histograms, common: CommonUsers, *, name: str = LEARNED, seed: int = 0
) -> Weight:
    """Train a weight: learn the factor of each kind of evidence from true pairs.

    Parameters
    ----------
    released, known
        Two tables; the rarity of places is computed from the known one.
    common
        The pairs to learn from, by rows of both tables.
    name
        The name of the weight.
    seed
        Draws the people to learn from if there are many, and the rivals that stand for the rest.

    Returns
    -------
    Weight
        The weight with the terms that count; the paper's weight if there are no pairs, or no term helps.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.truth import common_users
    >>> released, known = hp.datasets.town(60, 20)
    >>> weight = fit_weight(released, known, common_users("same-id", released.users, known.users))
    >>> weight.name, weight.ceiling, len(weight.terms) <= 6
    ('learned', 0.0, True)
    """
    random = np.random.default_rng(seed)
    pairs = np.sort(random.permutation(common.n)[:MOST_PEOPLE])
    if len(pairs) == 0:
        return replace(find_weight("jensen-shannon"), name=name, ceiling=0.0, floor=-math.inf)
    rows, columns = common.released[pairs], common.known[pairs]
    sides = Sides.of(*align(released, known), Weight("basis", BASIS))
    choices = [_gather(sides, rows, columns, random, is_back=is_back) for is_back in (False, True)]
    size = np.mean([each.true.mean(axis=0) for each in choices], axis=0)  # of each term, for a true partner
    scale = np.where(size > 0, size, 1.0)
    theta = _most_likely([each.scaled_by(scale) for each in choices])
    counts = theta * (size > 0) > NEGLIGIBLE * theta.sum()
    terms = tuple(
        replace(term, factor=factor)
        for term, factor, is_kept in zip(BASIS, (theta / scale).tolist(), counts, strict=True)
        if is_kept
    )
    return Weight(name, terms or find_weight("jensen-shannon").terms)


def fit_on_other_half(
    released: Histograms,
    known: Histograms,
    common: CommonUsers,
    is_first: Booleans,
    *,
    name: str = LEARNED,
    seed: int = 0,
) -> tuple[Weight, Weight]:
    """Train one weight for each half of the people, on the other half: no person trains their own weight.

    Parameters
    ----------
    is_first
        Whether each common user is in the first half.

    Returns
    -------
    tuple
        The weight for the first half, fitted to the second; and the weight for the second half.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.truth import common_users
    >>> released, known = hp.datasets.town(60, 20)
    >>> common = common_users("same-id", released.users, known.users)
    >>> [weight.name for weight in fit_on_other_half(released, known, common, np.arange(60) < 30)]
    ['learned', 'learned']
    """
    first, second = (
        CommonUsers(common.released[half], common.known[half], n_ignored=0) for half in (is_first, ~is_first)
    )
    return (
        fit_weight(released, known, second, name=name, seed=seed),
        fit_weight(released, known, first, name=name, seed=seed),
    )


def log_likelihoods(
    released: Histograms,
    known: Histograms,
    common: CommonUsers,
    halves: tuple[Weight, Weight],
    is_first: Booleans,
    *,
    seed: int = 0,
) -> Floats:
    """Return how likely a weight makes the true partner of each person, on people to whom nothing was fitted.

    With a temperature β, released user i is known user j with probability exp(β s_ij) / Σ_k exp(β s_ik), where s is the
    gain by the weight; and in the other direction likewise. The temperature for each half of the people is fitted to
    the other half, so gains in any unit can be compared. Of many people a random part is judged: the same people for
    every weight, if the seed is the same.

    Parameters
    ----------
    released, known, common
        Two tables over the same places, and the true pairs.
    halves
        The weight for the first half of the people, and that for the second.
    is_first
        Whether each common user is in the first half.
    seed
        Draws the people who are judged, and the rivals that stand for the rest.

    Returns
    -------
    Floats
        The mean logarithm of both probabilities, of each person who is judged.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.truth import common_users
    >>> released, known = hp.align(*hp.datasets.town(60, 20))
    >>> common, is_first = common_users("same-id", released.users, known.users), np.arange(60) < 30
    >>> def mean(name: str) -> float:
    ...     weight = find_weight(name)
    ...     return float(log_likelihoods(released, known, common, (weight, weight), is_first).mean())
    >>> mean("dot") < mean("rarity") < 0
    True
    """
    drawn = np.sort(np.random.default_rng(seed).permutation(common.n)[:MOST_JUDGED])
    rows, columns, is_first = common.released[drawn], common.known[drawn], is_first[drawn]
    judged = {}
    for weight in dict.fromkeys(halves):
        sides, random = Sides.of(released, known, weight), np.random.default_rng(seed)
        ways = [_gather(sides, rows, columns, random, is_back=is_back) for is_back in (False, True)]
        judged[weight] = [way.summed for way in ways]
    found = np.zeros(len(drawn))
    for weight, is_mine in zip(halves, (is_first, ~is_first), strict=True):
        ways = judged[weight]
        size = np.mean([way.true.mean(axis=0) for way in ways], axis=0)
        ways = [way.scaled_by(np.where(size > 0, size, 1.0)) for way in ways]
        temperature = _most_likely([way.of(~is_mine) for way in ways])
        for way in ways:
            mine = way.of(is_mine)
            found[is_mine] -= surprises_of(temperature, mine.true, mine.rivals, mine.offsets)[0] / len(ways)
    return found


def _gather(sides: Sides, rows: Indices, columns: Indices, random: np.random.Generator, *, is_back: bool) -> _Choices:
    """Return the evidence for the true partners of some users and for their rivals, seen from one side."""
    mine, true = (columns, rows) if is_back else (rows, columns)
    side, other = (sides.known, sides.released) if is_back else (sides.released, sides.known)
    evidence = sides.evidence_back if is_back else sides.evidence
    rivals = np.empty((len(mine), N_NEAREST + N_DRAWN + 1), np.int64)
    offsets = np.full(rivals.shape, -math.inf)
    at = 0
    for block in gain_blocks(Problem.of(side[mine], other, evidence)):
        for start, end in zip(block.indptr[:-1], block.indptr[1:], strict=True):
            users, gains = block.indices[start:end], block.data[start:end]
            is_rival = users != true[at]
            rivals[at], offsets[at] = _stand_ins(users[is_rival], gains[is_rival], other.shape[0] - 1, random)
            at += 1
    n, m = rivals.shape

    def terms(own: Indices, others: Indices) -> Floats:
        return pair_terms(sides, others, own) if is_back else pair_terms(sides, own, others)

    found = terms(np.repeat(mine, m), rivals.ravel()).reshape(n, m, -1)
    found[:, -1] = 0.0  # users who share no place
    return _Choices(terms(mine, true), found, offsets)


def _stand_ins(users: Indices, gains: Floats, n_others: int, random: np.random.Generator) -> tuple[Indices, Floats]:
    """Return rivals who represent all others, and the logarithm of the number that each represents."""
    rivals = np.zeros(N_NEAREST + N_DRAWN + 1, np.int64)
    offsets = np.full(len(rivals), -math.inf)
    order = np.lexsort((users, -gains))
    nearest, rest = users[order[:N_NEAREST]], users[order[N_NEAREST:]]
    drawn = np.sort(random.choice(rest, N_DRAWN, replace=False)) if len(rest) > N_DRAWN else rest
    rivals[: len(nearest)], offsets[: len(nearest)] = nearest, 0.0
    if len(drawn):
        there = slice(N_NEAREST, N_NEAREST + len(drawn))
        rivals[there], offsets[there] = drawn, math.log(len(rest) / len(drawn))
    if n_others > len(users):
        offsets[-1] = math.log(n_others - len(users))
    return rivals, offsets


def _most_likely(choices: list[_Choices]) -> Floats:
    """Return θ ≥ 0 under which the true partners are likeliest."""
    n_terms, n = choices[0].true.shape[1], sum(len(each.true) for each in choices)

    def loss(theta: Floats) -> tuple[float, Floats]:
        value, slope = RIDGE * float(theta @ theta), 2 * RIDGE * theta
        for each in choices:
            surprises, added = surprises_of(theta, each.true, each.rivals, each.offsets)
            value, slope = value + float(surprises.sum()) / n, slope + added / n
        return value, slope

    # Truncated Newton: six numbers are no work for the threads of a linear-algebra library.
    found = optimize.minimize(loss, np.ones(n_terms), jac=True, method="TNC", bounds=[(0.0, None)] * n_terms)
    return np.asarray(found.x, np.float64)


@kernel
def surprises_of(theta: Floats, true: Floats, rivals: Floats, offsets: Floats) -> tuple[Floats, Floats]:
    """Return minus the logarithm of the probability of each true partner, and the slope of their sum in θ."""
    n, m, n_terms = rivals.shape
    scores = np.empty(m)
    values, slope = np.empty(n), np.zeros(n_terms)
    for i in range(n):
        score = 0.0
        for t in range(n_terms):
            score += true[i, t] * theta[t]
        top = score
        for k in range(m):
            scores[k] = offsets[i, k]
            for t in range(n_terms):
                scores[k] += rivals[i, k, t] * theta[t]
            top = max(top, scores[k])
        total = math.exp(score - top)
        for k in range(m):
            scores[k] = math.exp(scores[k] - top)
            total += scores[k]
        values[i] = top + math.log(total) - score
        own = math.exp(score - top) / total
        for t in range(n_terms):
            slope[t] += (own - 1.0) * true[i, t]
        for k in range(m):
            for t in range(n_terms):
                slope[t] += scores[k] / total * rivals[i, k, t]
    return values, slope


class _Stored(msgspec.Struct, forbid_unknown_fields=True):
    """The content of the file. JSON has no infinity: a weight without a lowest value has no floor."""

    schema: str
    name: str
    terms: tuple[Term, ...]
    ceiling: float
    floor: float | None
    unit_length: bool


def write_weight(weight: Weight, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a weight to a JSON file.

    Examples
    --------
    >>> import tempfile
    >>> from habitprint.weighing import WEIGHTS
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_weight(WEIGHTS["rarity"], Path(folder) / "weight.json")
    ...     read_weight(Path(folder) / "weight.json") == WEIGHTS["rarity"]
    True
    """
    floor = weight.floor if math.isfinite(weight.floor) else None
    stored = _Stored(SCHEMA, weight.name, weight.terms, weight.ceiling, floor, weight.unit_length)
    text = printable_json(msgspec.json.format(msgspec.json.encode(stored), indent=1).decode()) + "\n"
    write_text(Path(path), text, overwrite=overwrite)


def read_weight(path: str | os.PathLike[str]) -> Weight:
    """Read a weight that `write_weight` wrote, or raise `InputError` if the file holds something else.

    Examples
    --------
    >>> read_weight("no-such-file.json")
    Traceback (most recent call last):
    habitprint.errors.InputError: cannot read no-such-file.json: there is no such file
      why: a weight says which evidence counts when two users are compared
      fix: take a file that habitprint train wrote, or the name of a built-in weight
    """
    path = Path(path)
    text = read_text(path, why=WHY, fix=FIX)
    try:
        found = msgspec.json.decode(text, type=_Stored)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise _refused(f"{path} holds no weight: {error}") from error
    if found.schema != SCHEMA:
        raise _refused(f"{path} holds no weight: its schema is {found.schema!r}, not {SCHEMA!r}")
    floor = -math.inf if found.floor is None else found.floor
    weight = Weight(found.name, found.terms, found.ceiling, floor, found.unit_length)
    if weight != WEIGHTS.get(weight.name, weight):
        raise _refused(f"{path} holds a weight that is called {weight.name} and is another")
    return weight


def _refused(what: str) -> InputError:
    return InputError(what, why=WHY, fix=FIX)
