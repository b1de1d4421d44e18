"""How numba's compiler is told to make parts and kernels, in less time than it takes by itself.

A part is linked into the kernels that call it, and optimised there alone. The entry of a kernel from Python is not
optimised at all. And steps are left out for what neither may use: closures, comprehensions, ``with``, ``literally``,
arguments that may be None, errors with values. Expressions of whole arrays make arrays for what is in between.

All of it rests on names that are numba's own: `compiled` asks for it only with the version that it was tried with.
"""

# mypy: disable-error-code="no-untyped-call"
from typing import Any

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

WRAPPER = "_ZN7cpython"  # how the name of a kernel's entry from Python begins
OPTIONS_HASH = hash(Flags())  # one for all: where equal options had another one, something would be compiled again
STEPS = (
    TranslateByteCode, FixupArgs, IRProcessing, GenericRewrites, ReconstructSSA,
    NopythonTypeInference, PreLowerStripPhis, IRLegalization, AnnotateTypes, NativeLowering, NoPythonBackend,
)  # fmt: skip


class Library(JITCodeLibrary):
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


class Part(Library):
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
    def codegen(self) -> "Part":
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


class KernelCompiler(Compiler):
    """Compile to a kernel."""

    library_class: type[Library] = Library

    def compile_extra(self, func: Any) -> Any:
        """Compile a function."""
        state = self.state
        state.library = self.library_class(state.targetctx.codegen(), func.__qualname__)
        state.library.enable_object_caching()  # else it cannot be kept on disk, and nobody is told
        state.flags = _Options(state.flags)
        return super().compile_extra(func)

    def define_pipelines(self) -> list[PassManager]:
        """Leave out the steps for what kernels do without."""
        steps = PassManager("kernel")
        for step in STEPS:
            steps.add_pass(step, step.__name__)
        steps.finalize()
        return [steps]


class PartCompiler(KernelCompiler):
    """Compile to a part of kernels."""

    library_class = Part
