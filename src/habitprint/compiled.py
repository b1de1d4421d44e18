"""How functions are compiled.

A `kernel` is called from Python, and never from C; it is compiled once per machine and kept on disk. An `inner`
function is called from kernels only and becomes part of them: it needs no entry from Python, which would take as long
to compile as itself. It may not make arrays: in return it counts no references to those that it is given, which takes
a tenth of the time. Nor may it raise or print. It is translated, but optimised and made machine code in its kernels
alone, and not by itself and again in all that call it; and it is compiled once for whole numbers of all widths.
Neither holds the interpreter's lock, so that threads can run them at the same time. How both are made, and what they
must do without, is in `parts`.

Numba notices when the file of a kernel has changed, but not when a file that it imports has: ``make`` compiles anew
whenever one of them is newer than the compiled code.

What is kept is only ever a saving: a file that is damaged is thrown away and made again, and where nothing can be kept
(a read-only package and no home), everything is compiled each time.
"""

# mypy: disable-error-code="no-untyped-call"
import contextlib
import hashlib
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core import types
from numba.core.caching import FunctionCache, IndexDataCacheFile

N_DIGEST = hashlib.sha256().digest_size
# How numba's compiler is told to make parts and kernels is its own affair, which may change with every version: it is
# done with the one that it was tried with. With others all is compiled in the usual way, which takes 60% longer.
IS_TRIED = numba.version_info.short == (0, 68)

_HOW = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_INNER = _HOW | {"_nrt": False, "no_cpython_wrapper": True}


def _compilers() -> tuple[Any, Any]:
    """Return what compiles a kernel, and what an inner function."""
    if not IS_TRIED:
        return numba.njit(**_HOW), numba.njit(**_INNER)  # type: ignore[call-overload]
    from habitprint.parts import KernelCompiler, PartCompiler  # noqa: PLC0415  (names that other numbas may not have)

    return (
        numba.njit(**_HOW, pipeline_class=KernelCompiler),  # type: ignore[call-overload]
        numba.njit(**_INNER, pipeline_class=PartCompiler),  # type: ignore[call-overload]
    )


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
    compiled = _compilers()[1](function)
    if not IS_TRIED:
        return compiled
    fold = compiled._compiler.fold_argument_types  # noqa: SLF001 - numba has no public way

    def widen(args: Any, kws: Any) -> tuple[Any, tuple[Any, ...]]:
        # Else a zero that is counted up from has a type of its own for a while, and all is compiled for that too.
        signature, folded = fold(args, kws)
        return signature, tuple(
            types.int64 if isinstance(arg, types.Integer) and arg.signed else arg  # type: ignore[attr-defined]
            for arg in folded
        )

    compiled._compiler.fold_argument_types = widen  # noqa: SLF001
    return compiled


def kernel(function: Callable[..., Any]) -> Any:
    """Return a function compiled, and kept on disk if there is a place for it.

    Examples
    --------
    >>> @kernel
    ... def double(x: float) -> float:
    ...     return 2 * x
    Traceback (most recent call last):
    ValueError: kernels are kept under the names of their files: '...' is none
    """
    if not Path(function.__code__.co_filename).is_file():
        raise ValueError(f"kernels are kept under the names of their files: '{function.__code__.co_filename}' is none")
    compiled = _compilers()[0](function)
    # Numba refuses to define a function if there is no place to keep it, so that not even a version could be printed.
    with contextlib.suppress(RuntimeError, OSError):
        compiled._cache = _Kept(function)  # noqa: SLF001 - numba has no public way
    return compiled


class _Sealed(IndexDataCacheFile):
    """Keep compiled code with its hash before it: code with one wrong bit could do anything."""

    def _save_data(self, name: str, data: object) -> None:
        dumped = self._dump(data)
        with self._open_for_write(self._data_path(name)) as file:
            file.write(hashlib.sha256(dumped).digest() + dumped)

    def _load_data(self, name: str) -> object:
        content = Path(self._data_path(name)).read_bytes()
        digest, dumped = content[:N_DIGEST], content[N_DIGEST:]
        if hashlib.sha256(dumped).digest() != digest:
            raise ValueError(name)
        return pickle.loads(dumped)  # noqa: S301 - numba's own way to keep code, in a folder that is its user's

    def throw_away(self) -> None:
        """Forget all that is kept of one function."""
        with contextlib.suppress(OSError):
            Path(self._index_path).unlink(missing_ok=True)


class _Kept(FunctionCache):
    """Keep what was compiled, and do without where that cannot be done."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file: _Sealed = _Sealed(
            self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
        )

    def load_overload(self, sig: object, target_context: object) -> object:
        """Return what is kept for a signature; None if nothing is, or it is damaged."""
        try:
            return super().load_overload(sig, target_context)
        except Exception:  # noqa: BLE001 - whatever reading damaged bytes leads to: it is compiled again
            self._cache_file.throw_away()
            return None

    def save_overload(self, sig: object, data: object) -> None:
        """Keep what was compiled for a signature, if there is room."""
        try:
            super().save_overload(sig, data)
        except (OSError, EOFError, ValueError, pickle.PickleError):  # a full disk, or a damaged index
            self._cache_file.throw_away()
