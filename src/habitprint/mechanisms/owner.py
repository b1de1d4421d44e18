"""Facts about a release for the owner of the original alone: its losses, and the files it was made from."""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from habitprint.arguments import sha256_of
from habitprint.display import Shown
from habitprint.io.inputs import require_file

PredictedOn = Literal[
    "other-period",
    "held-out-events",
    "not-measured",
    "no-common-users",
    "no-gain",
    "counts-not-whole",
    "cannot-be-repeated",
]


@dataclass(frozen=True)
class Losses(Shown):
    """The losses of a release against the original, on one scale for all mechanisms.

    Parameters
    ----------
    information_loss
        The paper's normalised l1 loss L: 0 for no loss, 1 when every user is released as the mean of all; noise can
        make it larger. None when all users were equal from the start and no longer are.
    totals_error
        ``Σ |difference| / Σ`` over the totals per place, every user counting once (total shares).
    count_totals_error
        The same with counts; None when the release holds shares.
    ranking_error
        Of all pairs of the most popular places, the share that the release ranks the other way; a tie counts half.
    top_places_missed
        Of the most popular places, the share that is not among the most popular of the release; ties count in part.
    n_top
        The number of places that the last two compare.
    n_users, n_users_kept, n_places, n_places_kept
        The numbers of users and places in the original and in the release.
    predictive_value
        The share of predictive gain that the released rows keep: 1 for all, 0 for nothing; means of similar people can
        exceed 1. The gain is in log-likelihood over the population's row, on data that was not released. None where it
        was not measured.
    predicted_on
        The data of that measurement, or the reason for none: ``"other-period"``; ``"held-out-events"``, a random half
        of everybody's events; ``"not-measured"``, also in files of earlier versions; ``"no-common-users"`` in the two
        periods; ``"no-gain"``, people's own rows predict no better than the population's; ``"counts-not-whole"`` and
        ``"cannot-be-repeated"``, there are no halves, or they cannot be protected in the same way.

    Examples
    --------
    >>> import habitprint as hp
    >>> habits = hp.Histograms.from_strings({"Jill": "aab", "Mike": "b"})
    >>> losses = hp.measure_losses(habits, hp.suppress_below(habits, 2))
    >>> losses.n_users_kept, losses.count_totals_error
    (1, 0.5)
    """

    information_loss: float | None
    totals_error: float
    count_totals_error: float | None
    ranking_error: float
    top_places_missed: float
    n_top: int
    n_users: int
    n_users_kept: int
    n_places: int
    n_places_kept: int
    predictive_value: float | None = None
    predicted_on: PredictedOn = "not-measured"

    def to_frame(self) -> pl.DataFrame:
        """Return the losses as a frame ``loss, value``; one that is not defined is null.

        Examples
        --------
        >>> import habitprint as hp
        >>> habits = hp.Histograms.from_strings({"Jill": "aab", "Mike": "b"})
        >>> hp.measure_losses(habits, hp.suppress_below(habits, 2)).to_frame().row(2)
        ('count_totals_error', 0.5)
        """
        told = {name: value for name, value in asdict(self).items() if name != "predicted_on"}
        return pl.DataFrame({"loss": list(told), "value": list(told.values())}, schema_overrides={"value": pl.Float64})


@dataclass(frozen=True)
class InputFile:
    r"""A file that a release was made from.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "week1.csv"
    ...     _ = file.write_text("user,place,count\n")
    ...     InputFile.of(file).n_bytes
    17
    """

    name: str
    sha256: str
    n_bytes: int

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> "InputFile":
        """Return the present state of a file."""
        path = require_file(path, why="the owner's file holds the SHA-256 of every input")
        return cls(path.name, sha256_of(path), path.stat().st_size)

    @classmethod
    def of_all(cls, name: str, paths: Sequence[Path]) -> "InputFile":
        """Return the present state of a folder as one file: its SHA-256 is of the names and hashes of its files."""
        listed = "".join(f"{sha256_of(path)}  {path.name}\n" for path in paths)
        size = sum(path.stat().st_size for path in paths)
        return cls(name, hashlib.sha256(listed.encode("utf-8", "surrogateescape")).hexdigest(), size)
