"""Compile the kernels once and keep them on disk: ``python -m habitprint.compile``."""

import gc
import subprocess
import sys
import time
from pathlib import Path

import numba
import numpy as np

from habitprint.auditing.posterior import Places, likeliest_units, prior_of_units
from habitprint.datasets import illustration
from habitprint.evaluation import evaluate
from habitprint.histograms import align
from habitprint.markov import stays
from habitprint.matching import match
from habitprint.matching.margins import pair_scores
from habitprint.matching.one_by_one import count_impostors
from habitprint.matching.solver.candidates import Candidates, solve_candidates
from habitprint.matching.solver.kernel import advance
from habitprint.matching.solver.offers import none_yet, offer_to_block
from habitprint.matching.solver.waiting import drop_void_waiters
from habitprint.mechanisms import microaggregate
from habitprint.singling_out import measure_singling_out
from habitprint.truth import CommonUsers
from habitprint.weighing import Sides, find_weight, weights
from habitprint.weighing.index import make_index, make_rows
from habitprint.weighing.learned import fit_weight

OTHERS = "others"  # asks for those only that share no kernel with the joint matching


def is_compiled() -> bool:
    """Return whether the kernels seem to be compiled on this machine.

    Examples
    --------
    >>> _ = compile_kernels()
    >>> is_compiled()
    True
    """
    return is_kept() and any(Path(advance.stats.cache_path).glob("kernel.advance-*.nbi"))


def is_kept() -> bool:
    """Return whether there is a place where compiled code can be kept: not in a read-only package without a home.

    Examples
    --------
    >>> is_kept()
    True
    """
    return advance.stats.cache_path is not None


def compile_kernels() -> float:
    """Run every kernel of weights, matching and evaluation on the smallest example, so that later processes find them.

    Returns
    -------
    float
        The seconds it took: a fraction of one when they were compiled already.

    Examples
    --------
    >>> seconds = compile_kernels()
    >>> len(drop_void_waiters.signatures)
    1
    """
    start = time.perf_counter()
    released, known = illustration()
    matching = match(released, known)
    matching.verify(released, known)
    _compile_candidates(Sides.of(*align(released, known), find_weight("jensen-shannon")))
    # No small example has enough waiting rows to call this one.
    drop_void_waiters.compile((advance.signatures[0][0], numba.int64[::1]))
    pair_scores(matching, released, known)
    count_impostors(released, known, truth={"?1": "Jill", "?2": "John"})
    measure_singling_out(released)
    _compile_one_by_one()  # last: by now the other process of `compile_all` has compiled these
    return time.perf_counter() - start


def _compile_one_by_one() -> None:
    """Compile the kernels that joint matching does not use, such as those of trained weights."""
    released, known = illustration()
    evaluate(match(released, known, method="one-by-one"), released, known, truth={"?1": "Jill"})
    weights(released, known)
    fit_weight(released, known, CommonUsers(np.arange(4), np.array([0, 1, 3, 2]), 0))


def _compile_candidates(sides: Sides) -> None:
    """Compile the kernels of a cluster's tasks, and the solver on the candidates that they return."""
    n, best = sides.released.shape[0], none_yet(sides.released.shape[0], 1)
    index = make_index(sides.known)
    anything, nothing = np.full(n, -np.inf), np.zeros(index.n_users)
    offer_to_block(make_rows(sides.released), index, sides.evidence, 0, nothing, anything, best)
    kept = best.offers[:, 0]
    candidates = Candidates.of(np.arange(n), kept["column"], kept["gain"], n)
    units = np.ones(n, np.int64), np.ones(index.n_users, np.int64)
    solution = solve_candidates(candidates, *units, n)
    candidates.gains_of(solution.rows, solution.columns)


def _compile_others() -> None:
    """Compile the kernels of groups, their posterior and Markov chains, which share none with the joint matching."""
    released, _ = illustration()
    for method in ("best", "successive", "mdav"):
        microaggregate(released, k=2, method=method)
    microaggregate(released, k=1, mean_k=2)
    prior = prior_of_units(np.ones(1, np.int64), np.ones(1, np.int64), units=1, remembered=1.0)
    likeliest_units(prior, Places(np.array([0, 1]), np.zeros(1, np.int64), np.zeros(1)), 1, np.ones(2))
    stays.find_stays(np.zeros((2, 3)), np.arange(2), 1.0, 1)
    stays.find_clusters(np.zeros((2, 3)), 1.0, 2)


def compile_all() -> float:
    """Compile all kernels, in two processes at once: a compiler uses one core.

    Examples
    --------
    >>> compile_all() > 0
    True
    """
    start = time.perf_counter()
    command = [sys.executable, "-m", "habitprint.compile", OTHERS]
    with subprocess.Popen(command) as process:  # noqa: S603  (our own)
        compile_kernels()
    if process.returncode:
        raise RuntimeError(f"the other process ended with {process.returncode}")
    return time.perf_counter() - start


if __name__ == "__main__":
    gc.disable()  # to look for garbage among the objects of a compiler takes a tenth of its time
    if sys.argv[1:] == [OTHERS]:
        _compile_one_by_one()
        _compile_others()
    else:
        print("compiling, once on this machine: about half a minute …", flush=True)  # noqa: T201
        print(f"kernels ready after {compile_all():.1f} s")  # noqa: T201
