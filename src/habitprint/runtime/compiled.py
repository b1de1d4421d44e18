"""Decorators that compile kernels with numba.

A `kernel` is called from Python. It is compiled once per machine and cached on disk. An `inner` function is called from
kernels only and becomes part of them. Neither holds the interpreter's lock, so that threads can run them at the same
time.

Numba compiles a kernel anew when its file has changed, but not when a file that it imports has: ``make`` compiles anew
whenever one of them is newer than the compiled code.
"""

from collections.abc import Callable
from typing import Any

import numba


def inner(function: Callable[..., Any]) -> Any:
    """Return a function that kernels may call.

    Examples
    --------
    >>> @inner
    ... def double(x: float) -> float:
    ...     return 2 * x
    >>> @numba.njit
    ... def quadruple(x: float) -> float:
    ...     return double(double(x))
    >>> quadruple(1.5)
    6.0
    """
    # Inlined by the compiler, arrays are not counted at every call: matchings take a fifth less time.
    return numba.njit(nogil=True, error_model="numpy", forceinline=True)(function)


def kernel(function: Callable[..., Any]) -> Any:
    """Return a function compiled, and cached on disk if there is a place for it.

    Examples
    --------
    >>> @kernel
    ... def double(x: float) -> float:
    ...     return 2 * x
    >>> double(1.5)
    3.0
    """
    try:
        return numba.njit(nogil=True, error_model="numpy", cache=True)(function)
    except RuntimeError:  # a read-only package and no home folder: it is compiled in each process
        return numba.njit(nogil=True, error_model="numpy")(function)
