"""Names for the array types that the signatures use, and the base of records whose arrays nobody changes."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
SmallIndices = npt.NDArray[np.int32]
Booleans = npt.NDArray[np.bool_]
SparseMatrix = sparse.csr_array[Any, tuple[int, int]]


class ReadOnly:
    """The base of frozen records whose arrays cannot be written to, alone or in a tuple.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Potentials(ReadOnly):
    ...     rows: Floats
    >>> Potentials(np.zeros(2)).rows.flags.writeable
    False
    """

    def __post_init__(self) -> None:
        for value in vars(self).values():
            for array in value if isinstance(value, tuple) else (value,):
                if isinstance(array, np.ndarray):
                    array.setflags(write=False)
