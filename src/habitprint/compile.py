"""Compile the kernels once and keep them on disk: ``python -m habitprint.compile``."""

import time
from pathlib import Path

import numba

from habitprint.datasets import illustration
from habitprint.evaluation import evaluate
from habitprint.matching import match
from habitprint.matching.kernel import advance
from habitprint.matching.waiting import drop_void_waiters
from habitprint.weights import weights


def is_compiled() -> bool:
    """Return whether the kernels seem to be compiled on this machine.

    Examples
    --------
    >>> _ = compile_kernels()
    >>> is_compiled()
    True
    """
    # Numba has no public way to ask.
    folder = Path(advance._cache.cache_path)  # type: ignore[attr-defined]  # noqa: SLF001
    return any(folder.glob("kernel.advance-*.nbi"))


def compile_kernels() -> float:
    """Run every kernel on the smallest example, so that later processes find them compiled.

    Returns
    -------
    float
        The seconds it took: a fraction of one when they were compiled already.

    Examples
    --------
    >>> compile_kernels() > 0
    True
    """
    start = time.perf_counter()
    released, known = illustration()
    matching = match(released, known)
    matching.verify(released, known)
    evaluate(match(released, known, method="one-by-one"), released, known, truth={"?1": "Jill"})
    weights(released, known)
    # No small example has so many waiting rows that this one is called.
    drop_void_waiters.compile((advance.signatures[0][0], numba.int64[::1]))
    return time.perf_counter() - start


if __name__ == "__main__":
    print(f"kernels ready after {compile_kernels():.1f} s")  # noqa: T201  (a command that says what it did)
