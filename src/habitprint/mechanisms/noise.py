"""Differential privacy: noise on counts, drawn and accounted for by OpenDP."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from habitprint.arrays import Indices, SparseMatrix
from habitprint.errors import InputError, first_few
from habitprint.ids import positions, to_ids
from habitprint.mechanisms.guarantees import Delta, DifferentialPrivacy, Epsilon, OnlyPlaces, Unit, Whole
from habitprint.mechanisms.recoding import limited_counts
from habitprint.mechanisms.release import Applied, Mechanism, Release, count_discarded, keep_users
from habitprint.progress import Progress
from habitprint.runtime import run_blocks

FALSE_PLACES = 1.0  # noise above the default threshold at places where a user never was, per user
DRAWS_PER_BLOCK = 2_000  # some hundredths of a second
WORK_PER_DRAW = 4e6 / DRAWS_PER_BLOCK  # in the units of `run_blocks`


class AddNoise(Mechanism, frozen=True):
    """The mechanism that adds noise to counts, to hide any single event or user (differential privacy).

    The noise comes from OpenDP's secure source. It has no seed: every run gives another release.

    Without a δ, every cell of the table gets discrete Laplace noise, zeros too. That takes some 20 microseconds for
    each user and place. With a δ, only counts above zero get noise, and the threshold hides which counts these are.
    Noisy counts below a threshold are left out, so the release stays sparse.

    Only coarsening and top places may come before the noise, and for the unit ``"user"`` a limit. After these steps one
    unit still changes no more counts than before. All other steps come after the noise.

    Parameters
    ----------
    epsilon
        The privacy loss for one unit; smaller is safer. Above zero.
    unit
        ``"event"``: one count more or less. ``"user"``: everything that a user did; needs a `limit`.
    delta
        The probability that the guarantee fails; zero, or far below one over the number of users.
    limit
        For the unit ``"user"``: the largest total of one user. Users above it are scaled down first.
    threshold
        The smallest noisy count that is released, without a δ. (With a δ, OpenDP sets it.) With None, about one
        released place of each user is noise alone.

    Examples
    --------
    >>> import habitprint as hp
    >>> habits = hp.Histograms.from_strings({"Jill": "a" * 50 + "b", "Mike": "b" * 70})
    >>> release = AddNoise(epsilon=1.0, unit="event", threshold=10)(habits)
    >>> release.histograms.n_users
    2
    >>> round(release.guarantees[0].epsilon, 6), release.guarantees[0].unit
    (1.0, 'event')
    """

    epsilon: Epsilon
    unit: Unit = "user"
    delta: Delta = 0.0
    limit: Whole | None = None
    threshold: Whole | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.unit == "user") != (self.limit is not None):
            raise InputError(
                f"{'no limit' if self.limit is None else f'limit = {self.limit}'} for the unit {self.unit!r}",
                why="noise hides all events of a user only up to a limit; one event is one count, which needs no limit",
                fix="use the unit 'user' with limit=20, say (--limit-contribution 20), or the unit 'event' without it",
            )
        if self.threshold is not None and self.delta:
            raise InputError(
                f"threshold = {self.threshold} with delta = {self.delta}",
                why="with a delta, OpenDP computes the smallest noisy count that may be released",
                fix="leave out the threshold or the delta",
            )

    def run(self, before: Release, progress: Progress) -> Applied:
        """Limit counts, add noise, and leave out small counts; refuse earlier steps that break the guarantee."""
        spoiling = [step.name for step in before.steps if self.unit not in step.mechanism.noise_may_follow]
        if spoiling:
            limit = " and a limit on contributions" if self.unit == "user" else ""
            raise InputError(
                f"noise for the unit {self.unit!r} after the step {first_few(spoiling)}",
                why=f"after that step, one {self.unit} may change more counts than the noise hides",
                fix=f"add noise first; only coarser places, top places{limit} may come before it",
            )
        histograms = before.histograms
        if histograms.counts.data.dtype.kind != "i":
            raise InputError(
                "noise on counts that are not whole numbers",
                why="noise hides one event, which is one count; shares and fractions have no such unit",
                fix="add noise to the original counts, before the other steps",
            )
        users, places = _public_lists(before)
        limited = limited_counts(histograms.counts, self.limit, None).tocoo()
        rows, columns = positions(histograms.users, users), positions(histograms.places, places)
        shape = (users.len(), places.len())
        counts = sparse.csr_array((limited.data, (rows[limited.row], columns[limited.col])), shape)
        # With a δ, counts that the limit sets to zero get no noise, or a user would show at more places than the limit
        # allows.
        counts.eliminate_zeros()
        noise = self.noise(counts)
        left = keep_users(
            noise.draw(counts, progress),
            users,
            places,
            nothing=f"no noisy count reaches the threshold of {noise.threshold:,}",
            fix="use a larger epsilon or coarser places" + (", or a larger delta" if self.delta else ""),
        )
        are_places_chosen = any(step.mechanism.chooses_places for step in before.steps)
        guarantee = DifferentialPrivacy(noise.epsilon, noise.delta, self.unit, self.limit, are_places_chosen)
        drawn = {"n_draws": noise.n_draws, "threshold": noise.threshold}
        return Applied(left, (guarantee,), findings=drawn | count_discarded(users.len(), left))

    def gives(self, promise: DifferentialPrivacy) -> bool:
        """Return whether a guarantee fits this noise: OpenDP accounts for the requested ε, and for no more than δ.

        Examples
        --------
        >>> [AddNoise(1.0, "event").gives(DifferentialPrivacy(e, 0.0, "event", None)) for e in (1.0, 0.5)]
        [True, False]
        """
        is_as_asked = math.isclose(promise.epsilon, self.epsilon, rel_tol=1e-6) and promise.delta <= self.delta
        return is_as_asked and (promise.unit, promise.limit) == (self.unit, self.limit)

    @property
    def scale(self) -> float:
        """Return the scale of the noise for ε; OpenDP's scale may be a little larger.

        Examples
        --------
        >>> AddNoise(0.5, "event").scale
        2.0
        """
        return self._distance[1] / self.epsilon

    @property
    def _distance(self) -> tuple[int, int, int]:
        """Return how far apart two tables are that differ in one unit: cells, sum of differences, largest one."""
        # One user's counts may all be replaced by others: those that go and those that come.
        return (1, 1, 1) if self.limit is None else (2 * self.limit, 2 * self.limit, self.limit)

    def noise(self, counts: SparseMatrix) -> "Noise":
        """Return OpenDP's noise for a table of counts, with its threshold and privacy loss.

        Examples
        --------
        >>> AddNoise(1.0, "event", delta=0.01).noise(sparse.csr_array([[7, 0]])).threshold
        6
        """
        dp = load_opendp()
        number, distance, asked = dp.atom_domain(T="i64"), self._distance, (self.epsilon, self.delta)
        cells = dp.vector_domain(number), dp.l1_distance(T="i64")
        listed = dp.map_domain(number, number), dp.l01inf_distance(dp.absolute_distance(T="i64"))

        def make(threshold: int) -> Any:
            return dp.m.make_laplace_threshold(*listed, scale=scale, threshold=threshold)

        try:
            scale = dp.binary_search_param(
                lambda scale: dp.m.make_laplace(*cells, scale=scale), d_in=distance[1], d_out=self.epsilon, T=float
            )
            if not self.delta:
                measurement = dp.m.make_laplace(*cells, scale=scale)
                threshold = self.threshold or _likely_threshold(scale, counts.shape[1])
                n_draws = counts.shape[0] * counts.shape[1]
                return Noise(measurement, scale, threshold, measurement.map(distance[1]), 0.0, n_draws, on_zeros=True)
            threshold = distance[2]  # no lower one is accounted for
            if not make(threshold).check(distance, asked):
                threshold = dp.binary_search_param(make, d_in=distance, d_out=asked, T=int)
            measurement = make(threshold)
            # OpenDP gives out counts that equal its threshold, but accounts for those above it alone: about e^(1/scale)
            # times too little (https://github.com/opendp/opendp/issues/2922). So only those above it are released.
            epsilon, delta = measurement.map(distance)
            return Noise(measurement, scale, threshold + 1, epsilon, delta, int(counts.nnz), on_zeros=False)
        except (dp.OpenDPException, ValueError, OverflowError) as error:
            raise InputError(
                f"OpenDP finds no noise for epsilon = {self.epsilon!r}, delta = {self.delta!r}, limit = {self.limit!r}",
                why="so much noise cannot be drawn in 64 bits",
                fix="use a larger epsilon" + (" or a larger delta" if self.delta else ""),
            ) from error


def _public_lists(before: Release) -> tuple[pl.Series, pl.Series]:
    """Return all users of the original and all places that earlier steps list, visited or not.

    Noise hides whether a user was at a listed place only if the row and the column are there in both cases.
    """
    if not before.steps:
        return before.histograms.users, before.histograms.places
    if before.original is None:
        raise InputError(
            f"noise on a release of earlier steps ({first_few([step.name for step in before.steps])})",
            why="these steps may have removed users because of their counts, so the remaining rows show who was where",
            fix="start from the original table and give all steps at once, such as --coarsen and --epsilon",
        )
    lists = [each.places for each in before.guarantees if isinstance(each, OnlyPlaces)]
    return before.original.in_order().users, to_ids(lists[-1], "place") if lists else before.histograms.places


def _likely_threshold(scale: float, n_places: int) -> int:
    """Return the smallest count that noise alone reaches at FALSE_PLACES places of a user, as expected."""
    # P(noise ≥ t) = e^(−t/scale) / (1 + e^(−1/scale)); times the number of places, it is FALSE_PLACES.
    per_user = n_places / (1 + math.exp(-1 / scale))
    return max(1, math.ceil(scale * math.log(per_user / FALSE_PLACES)))


@dataclass(frozen=True)
class Noise:
    """A measurement of OpenDP's, the smallest noisy count released, and the privacy loss by OpenDP's accounting.

    The measurement is of a whole table (`on_zeros`), or of the counts above zero alone.
    """

    measurement: Any
    scale: float
    threshold: int
    epsilon: float
    delta: float
    n_draws: int
    on_zeros: bool

    def draw(self, counts: SparseMatrix, progress: Progress) -> SparseMatrix:
        """Return the noisy counts that reach the threshold, users × places."""
        shape = counts.shape
        draws = np.full(shape[0], shape[1]) if self.on_zeros else np.diff(counts.indptr)
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
        if self.on_zeros:
            dense = np.zeros(counts.shape[0] * n_places, np.int64)
            dense[cells] = counts.data
            values = np.array(self.measurement(dense), np.int64)
            found = np.arange(len(dense))
        else:
            noisy = self.measurement(dict(zip(cells.tolist(), counts.data.tolist(), strict=True)))
            found, values = np.array(list(noisy.keys()), np.int64), np.array(list(noisy.values()), np.int64)
        is_released = values >= self.threshold
        return found[is_released] + first * n_places, values[is_released]


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
            why="OpenDP draws the noise of differential privacy and computes its guarantee",
            fix="install it: pip install 'habitprint[dp]'",
        ) from error
    dp.enable_features("contrib")
    return dp
