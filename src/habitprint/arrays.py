"""Names for the array types that the signatures use."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]
