"""Draw noise by a measurement of OpenDP's, block by block."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from habitprint.arrays import Indices, SparseMatrix
from habitprint.blocks import run_blocks
from habitprint.errors import InputError
from habitprint.progress import Progress

DRAWS_PER_BLOCK = 2_000  # some hundredths of a second
WORK_PER_DRAW = 4e6 / DRAWS_PER_BLOCK  # in the units of `run_blocks`


@dataclass(frozen=True)
class Noise:
    """Hold a measurement of OpenDP's, and what it costs by OpenDP's accounting."""

    measurement: Any
    scale: float
    threshold: int
    epsilon: float
    delta: float
    n_draws: int

    def draw(self, counts: SparseMatrix, progress: Progress) -> SparseMatrix:
        """Return the noisy counts that reach the threshold, users × places."""
        shape = counts.shape
        draws = np.diff(counts.indptr) if self.delta else np.full(shape[0], shape[1])
        # Noise is drawn for each cell on its own, so blocks of users together are one draw of the whole table.
        blocks = run_blocks(
            lambda first, last: self._of_users(counts[first:last], first, shape[1]),
            draws * WORK_PER_DRAW,
            "noise",
            progress,
        )
        cells, values = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return sparse.csr_array((values, np.divmod(cells, shape[1])), shape=shape)

    def _of_users(self, counts: SparseMatrix, first: int, n_places: int) -> tuple[Indices, Indices]:
        rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
        cells = rows * n_places + counts.indices
        if self.delta:
            noisy = self.measurement(dict(zip(cells.tolist(), counts.data.tolist(), strict=True)))
            found, values = np.array(list(noisy.keys()), np.int64), np.array(list(noisy.values()), np.int64)
        else:
            dense = np.zeros(counts.shape[0] * n_places, np.int64)
            dense[cells] = counts.data
            values = np.array(self.measurement(dense), np.int64)
            found = np.flatnonzero(values >= self.threshold)
            values = values[found]
        return found + first * n_places, values


def load_opendp() -> Any:
    """Return OpenDP, which is not needed for anything else.

    Examples
    --------
    >>> load_opendp().__name__
    'opendp.prelude'
    """
    try:
        import opendp.prelude as dp  # noqa: PLC0415  (an extra)
    except ImportError as error:
        raise InputError(
            "OpenDP is not installed",
            why="noise for differential privacy is drawn and accounted for by it",
            fix="install it: pip install 'habitprint[dp]'",
        ) from error
    dp.enable_features("contrib")
    return dp
