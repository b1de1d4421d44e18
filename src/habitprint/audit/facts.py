"""What the stages of an audit find, as values."""

from dataclasses import dataclass
from typing import Literal

from habitprint.rates import Rate

Dimension = Literal["users", "duration", "counts", "resolution"]
Order = Literal["margin", "size"]


@dataclass(frozen=True)
class Unused:
    """Hold how many rows were not used for one reason."""

    reason: str
    n_rows: int


@dataclass(frozen=True)
class SharedFacts:
    """Hold how many users share their history with another id, and which share of the moments was looked at."""

    n_users: int
    sampled: float


@dataclass(frozen=True)
class Side:
    """Hold the size of one side: users, places, and the median of the users' counts and of their places."""

    n_users: int
    n_places: int
    median_counts: float
    median_places: float


@dataclass(frozen=True)
class DataFacts:
    """Hold what the data is, and how it was split; what only events tell is None for two tables of histograms.

    Parameters
    ----------
    n_rows, n_used, n_outside, n_of_others, unused
        Rows in all; counted; outside both periods; of users not in both; not used, by reason.
    n_users_seen
        Users with a row within the periods.
    first, last, time_zone
        The span of the events, and where days begin.
    n_repeats, shared
        Rows that say the same as another; users who share their history with another id.
    periods, periods_how
        Which days are in which part, in words; and how they were chosen.
    released, known
        The two sides that are matched.
    n_common, n_shared_places
        Users and places on both sides.
    n_unique
        Released users whose shares nobody else has.
    cautions
        Sentences that a reader should know before believing the numbers.
    totals
        What totals alone would give away if counts are released, in words.
    periods_command
        Options of ``habitprint split`` that make the same periods, where these were chosen here.
    """

    n_rows: int | None
    n_used: int | None
    n_outside: int | None
    n_of_others: int | None
    unused: tuple[Unused, ...]
    n_users_seen: int | None
    first: str | None
    last: str | None
    time_zone: str | None
    n_repeats: int | None
    shared: SharedFacts | None
    periods: str
    periods_how: str
    released: Side
    known: Side
    n_common: int
    n_shared_places: int
    n_unique: int
    cautions: tuple[str, ...]
    totals: str
    periods_command: str | None


@dataclass(frozen=True)
class Attack:
    """Hold what one attack achieved on the common users; `gap` (0: proven optimal) is None where there is no proof."""

    name: str
    words: str
    method: str
    weight: str
    rate: Rate
    gap: float | None
    n_guesses: int
    is_strongest: bool


@dataclass(frozen=True)
class Point:
    """Hold the risk at one value: `x` for an axis, `label` for people; in groups of `n_users`, matched apart."""

    x: float
    label: str
    rate: Rate
    n_users: int
    n_groups: int
    is_as_released: bool


@dataclass(frozen=True)
class Curve:
    """Hold how the risk depends on something; points in ascending order of `x`, none where `words` say why not."""

    dimension: Dimension
    title: str
    axis: str
    words: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Trial:
    """Hold what one protection does: its risk, and its cost on one scale for all.

    Parameters
    ----------
    name, strength, label
        The protection (``"micro-aggregation"``), its number (k), and both in a few words (``"groups of 10"``).
    words, guarantees
        What was done, step by step, and what holds for sure then, as sentences.
    command
        Options of ``habitprint protect`` that do the same; the file ``coarser.csv`` is written for the chosen one.
    attack, risk
        The stronger of the joint and the one-by-one attack, and its correct claims among users who are still released.
    loss
        The paper's L: 0 nothing lost, 1 everybody is released as the mean of all. None where it is not defined.
    totals_error, ranking_error
        Of the totals per place; of the ranking of the most popular places.
    n_users, n_users_kept, n_places, n_places_kept
        Before and after.
    surest
        Precision of the surest claims by margin, if a target is set on it and the protection passes otherwise.
    passes
        Whether the upper end of the interval is within the target, in all attacks that were made; and for the surest.
    is_on_frontier
        Whether no other protection costs less at a lower risk.
    confirmed
        For protections that passed, from the cheapest on until one holds: all attacks but blind chance; else empty.
    """

    name: str
    strength: float | None
    label: str
    words: tuple[str, ...]
    guarantees: tuple[str, ...]
    command: str
    attack: str
    risk: Rate
    loss: float | None
    totals_error: float
    ranking_error: float
    n_users: int
    n_users_kept: int
    n_places: int
    n_places_kept: int
    surest: Rate | None
    passes: bool
    is_on_frontier: bool
    confirmed: tuple[Attack, ...]


@dataclass(frozen=True)
class NotTried:
    """Hold which protection was not tried, and why."""

    label: str
    why: str


@dataclass(frozen=True)
class Protections:
    """Hold the protections that were tried; `chosen` is the number of the cheapest that passes, in `trials`, or None.

    The first trial is the release as it is. With many users, every protection was `screened` with only `n_users` of
    the `n_users_in_all`, and `trials` are those that might be the cheapest, with all; else nothing was screened.
    """

    trials: tuple[Trial, ...]
    screened: tuple[Trial, ...]
    chosen: int | None
    not_tried: tuple[NotTried, ...]
    n_users: int
    n_users_in_all: int
    words: str

    @property
    def n_tried(self) -> int:
        """Return how many protections were tried, on all users or on some."""
        return len({trial.label for trial in (*self.trials, *self.screened)}) - 1


@dataclass(frozen=True)
class Claims:
    """Hold the precision of the surest claims: the first by margin, or the best matching of that size."""

    order: Order
    n_claims: int
    precision: Rate


@dataclass(frozen=True)
class SureClaims:
    """Hold how many claims, from the largest margin on, have a precision of at least `level`; zero for none."""

    level: float
    n_claims: int


@dataclass(frozen=True)
class MarginClass:
    """Hold users whose margin lies from `low` up to `high`, as a share of the most that a pair can gain."""

    low: float
    high: float
    n_users: int
    precision: Rate | None


@dataclass(frozen=True)
class Alike:
    """Hold how many users share their histogram with so many others: from `low` to `high` (None: or more) others."""

    low: int
    high: int | None
    n_users: int


@dataclass(frozen=True)
class People:
    """Hold who is at risk, without a name: the surest claims, and how margins and look-alikes are distributed."""

    claims: tuple[Claims, ...]
    sure: tuple[SureClaims, ...]
    margins: tuple[MarginClass, ...]
    alike: tuple[Alike, ...]
    surest_share: float
    surest: Rate | None
