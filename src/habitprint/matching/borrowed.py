"""Arrays without a reference count, for compiled code that passes many of them around.

Numba counts references to an array at every call that takes it, atomically. The solver's state is sixteen arrays that
go through every small function; counting would cost more than the work. Whoever calls the solver holds them anyway.
"""

from typing import Any

import numba
from numba import carray  # type: ignore[attr-defined]
from numba.extending import intrinsic

from habitprint.matching.state import State


@intrinsic
def _to_pointer(_context: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

    return numba.types.voidptr(address), generate


@numba.njit(cache=True, nogil=True, inline="always")
def borrow(array: Any) -> Any:
    """Return the same array without a reference count; the caller keeps the original alive."""
    return carray(_to_pointer(array.ctypes.data), array.shape, array.dtype)  # type: ignore[call-arg]


@numba.njit(cache=True, nogil=True)
def borrow_state(s: State) -> State:
    """Return the same state without reference counts."""
    return State(
        borrow(s.rows), borrow(s.columns), borrow(s.arcs), borrow(s.waiters), borrow(s.short), borrow(s.long),
        borrow(s.long_free), borrow(s.reserve_columns), borrow(s.reserve_gains), borrow(s.queue_time),
        borrow(s.queue_node), borrow(s.queue_place), borrow(s.step_price), borrow(s.step_flow), borrow(s.counters),
        borrow(s.clock),
    )  # fmt: skip
