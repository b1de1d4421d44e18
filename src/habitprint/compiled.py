"""How functions are compiled.

A `kernel` is called from Python, and never from C; it is compiled once per machine and kept on disk. An `inner`
function is called from kernels only and becomes part of them: it needs no entry from Python, which would take as long
to compile as itself. It may not make arrays: in return it counts no references to those that it is given, which takes
a tenth of the time. Nor may it raise or print. It is translated, but optimised and made machine code in its kernels
alone, and not by itself and again in all that call it; and it is compiled once for whole numbers of all widths.
Neither holds the interpreter's lock, so that threads can run them at the same time.

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
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import PassManager
from numba.core.typed_passes import (
    AnnotateTypes,
    IRLegalization,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PreLowerStripPhis,
)
from numba.core.untyped_passes import (
    FixupArgs,
    GenericRewrites,
    IRProcessing,
    ReconstructSSA,
    TranslateByteCode,
)

N_DIGEST = hashlib.sha256().digest_size
# How inner functions are made part of kernels is numba's own affair, which may change with every version: it is done
# with the one that it was tried with. With others all is compiled in the usual way, which takes 60% longer.
IS_TRIED = numba.version_info.short == (0, 68)
WRAPPER = "_ZN7cpython"  # how the name of a kernel's entry from Python begins
OPTIONS_HASH = hash(Flags())
STEPS = (
    TranslateByteCode, FixupArgs, IRProcessing, GenericRewrites, ReconstructSSA,
    NopythonTypeInference, PreLowerStripPhis, IRLegalization, AnnotateTypes, NativeLowering, NoPythonBackend,
)  # fmt: skip


class _Library(JITCodeLibrary):
    """Code of which only what runs for long is made fast."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout  # noqa: SLF001 - as numba's own libraries do
        for function in ll_module.functions:
            if function.name.startswith(WRAPPER) and not function.is_declaration:
                # It takes dozens of arrays out of tuples, once per call: to optimise that took a fifteenth of all time.
                function.add_function_attribute("noinline")
                function.add_function_attribute("optnone")
            elif not function.is_declaration:  # numba makes a list of passes for each of those too
                passes, builder = self._codegen._function_pass_manager()  # noqa: SLF001
                passes.run(function, builder)


class _Part(_Library):
    """Code that is linked into that of kernels, and not run by itself."""

    def finalize(self) -> None:
        """Take in the code that is called; the kernel that all of it ends in optimises it."""
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)  # noqa: SLF001 - as numba's own libraries do
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)  # noqa: SLF001
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002
        """Return that there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> "_Part":
        """Stand in for the compiler where it notes addresses, of which there are none."""
        return self

    def set_env(self, env_name: str, env: object) -> None:
        """Note nothing."""


class _Options(Flags):
    """Options that are compared as they were set: numba compares all, one by one, for every candidate of every call."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and self._values == other._values

    def __hash__(self) -> int:
        return OPTIONS_HASH


class _KernelCompiler(Compiler):
    """Compile to a kernel."""

    library_class: type[_Library] = _Library

    def compile_extra(self, func: Any) -> Any:
        """Compile a function."""
        state = self.state
        state.library = self.library_class(state.targetctx.codegen(), func.__qualname__)
        state.library.enable_object_caching()
        state.flags = _Options(state.flags)
        return super().compile_extra(func)

    def define_pipelines(self) -> list[PassManager]:
        """Leave out the steps for what kernels do without: closures, array expressions, comprehensions, `literally`."""
        steps = PassManager("kernel")
        for step in STEPS:
            steps.add_pass(step, step.__name__)
        steps.finalize()
        return [steps]


class _PartCompiler(_KernelCompiler):
    """Compile to a part of kernels."""

    library_class = _Part


_HOW = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_INNER = _HOW | {"_nrt": False, "no_cpython_wrapper": True}
_compile, _compile_inner = numba.njit(**_HOW), numba.njit(**_INNER)  # type: ignore[call-overload]
_translate = numba.njit(**_INNER, pipeline_class=_PartCompiler)  # type: ignore[call-overload]
_make = numba.njit(**_HOW, pipeline_class=_KernelCompiler)  # type: ignore[call-overload]


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
    if not IS_TRIED:
        return _compile_inner(function)
    compiled = _translate(function)
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
    compiled = (_make if IS_TRIED else _compile)(function)
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
