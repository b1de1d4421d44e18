"""How functions are compiled.

A `kernel` is called from Python, and never from C; it is compiled once per machine and kept on disk. An `inner`
function is called from kernels only and becomes part of them: it needs no entry from Python, which would take as long
to compile as itself. It may not make arrays: in return it counts no references to those that it is given, which takes
a tenth of the time.
Neither holds the interpreter's lock, so that threads can run them at the same time.

Numba notices when the file of a kernel has changed, but not when a file that it imports has: ``make`` compiles anew
whenever one of them is newer than the compiled code.
"""

import numba

kernel = numba.njit(cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True)  # type: ignore[call-overload]
inner = numba.njit(_nrt=False, nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)  # type: ignore[call-overload]
