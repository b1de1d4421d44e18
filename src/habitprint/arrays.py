"""Names for the array types that the signatures use."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
SmallIndices = npt.NDArray[np.int32]
Booleans = npt.NDArray[np.bool_]
SparseMatrix = sparse.csr_array[Any, tuple[int, int]]
