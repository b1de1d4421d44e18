"""Compute lazy frames in a stream, and say whose fault it is when that fails."""

from collections.abc import Sequence

import polars as pl

from habitprint.errors import InputError


def collect(frames: Sequence[pl.LazyFrame], source: str) -> list[pl.DataFrame]:
    """Compute lazy frames together, in a stream; a file that breaks off in the middle is the input's fault.

    Examples
    --------
    >>> collect([pl.LazyFrame({"n": [1, 2]}).select(pl.col("n").sum())], "a frame")[0].item()
    3
    """
    try:
        return pl.collect_all(frames, engine="streaming")
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).strip().splitlines()
        raise InputError(
            f"{source} cannot be read to its end: {reason[0] if reason else type(error).__name__}",
            why="a file is broken, or changed while it was read",
            fix="check that the files are complete and all have the same columns",
        ) from error
