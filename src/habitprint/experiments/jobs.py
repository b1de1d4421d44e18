"""One unit of work: the request and its result."""

import base64
import hashlib
import zlib
from dataclasses import astuple, dataclass, field, replace
from enum import Enum
from typing import Any, Final, Literal, Self

import msgspec
import numpy as np
import polars as pl

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.attacks import Attack
from habitprint.attacks.attack import PROPOSED as PROPOSED_ATTACK
from habitprint.attacks.suite import one_by_one
from habitprint.errors import InputError, is_whole, require_number, require_option
from habitprint.evaluation import Evaluation
from habitprint.events.spec import DayName
from habitprint.markov import CHAIN_DISTANCES, ChainDistance
from habitprint.periods.dates import DAYS
from habitprint.weighing import WeightName, find_weight

MOST = 10**12  # of anything that is counted: more is a mistake, and no number of polars
ALL: Final = "all"
PROPOSED: Final = "jensen-shannon"

DataName = Literal["calls", "sub-prefectures", "web", "geolife", "events"]
Quantity = Literal["n_users", "n_released", "n_common", "last_day", "n_top", "seen_top", "side", "k"]
OrAll = int | Literal["all"]
NUMBERS: tuple[Quantity, ...] = ("n_users", "n_released", "n_common", "n_top", "seen_top", "k")
OR_ALL: tuple[Quantity, ...] = ("n_users", "n_released", "k")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The preparation of the data before an attack; by default, both periods unchanged.

    Parameters
    ----------
    n_users
        Users drawn at random for both sides, or ``"all"``.
    n_released
        Users drawn for the released side; all the others are known only.
    n_common
        Users on both sides, where each side has `n_users`.
    last_day
        Only the days from Monday to this one, of users who are active on both Mondays.
    n_top
        Only the most popular places, by visits of all users in both periods.
    seen_top
        Only users who were at one of so many most popular places, in either period.
    side
        Of the squares that positions are put into, in metres.
    k
        The least number of users in a group of the micro-aggregated release, or ``"all"`` for one group.

    Examples
    --------
    >>> Setting(n_users=1000, k=10).is_drawn
    True
    """

    n_users: OrAll = ALL
    n_released: OrAll = ALL
    n_common: int | None = None
    last_day: DayName | None = None
    n_top: int | None = None
    seen_top: int | None = None
    side: float | None = None
    k: OrAll | None = None

    def __post_init__(self) -> None:
        for name in NUMBERS:
            value = getattr(self, name)
            is_allowed = value is None or (value == ALL and name in OR_ALL)
            if not is_allowed and not (is_whole(value) and 1 <= value <= MOST):
                words = f', or "{ALL}"' if name in OR_ALL else ""
                raise InputError(
                    f"{name} = {value!r}",
                    why="it is a number of users or places",
                    fix=f"use a whole number of one or more{words}",
                )
        if self.last_day is not None:
            require_option("last_day", self.last_day, DAYS)
        if self.side is not None:
            require_number(
                "side =", self.side, why="it is a length in metres", fix="use 1000, say", above=0, below=MOST
            )
        if self.n_common is not None and (not is_whole(self.n_users) or self.n_common > self.n_users):
            raise InputError(
                f"n_common = {self.n_common!r} with n_users = {self.n_users!r}",
                why="the common users are some of the n_users of each side",
                fix="give n_users as a number that is not smaller",
            )

    @property
    def is_drawn(self) -> bool:
        """Return whether users are drawn at random, so that repeating makes a difference."""
        return self.n_users != ALL or self.n_released != ALL or self.n_common is not None

    def number(self, name: Quantity, n_users: int) -> float:
        """Return one of the settings as a number: of "all" how many that is, of a day which one of the week.

        Examples
        --------
        >>> Setting(k="all").number("k", 60), Setting(last_day="tuesday").number("last_day", 60)
        (60.0, 2.0)
        """
        value = getattr(self, name)
        if name == "last_day":
            return DAYS.index(value) + 1.0
        return float(n_users if value == ALL else value)


AS_IT_IS = Setting()


@dataclass(frozen=True)
class AttackMethod:
    """A method of the paper's tables.

    Parameters
    ----------
    name, words
        Its name for machines and for people.
    attack
        The method for matching histograms by any weight; or the distance by which Markov chains are compared instead.
    """

    name: str
    words: str = field(compare=False, repr=False)
    attack: Attack | ChainDistance = field(compare=False, repr=False)


_FORTH, _BACK = one_by_one([PROPOSED_ATTACK.weight])
JOINT = AttackMethod("joint", "joint (A1)", PROPOSED_ATTACK)
COMMON = AttackMethod("joint-common", "joint (A2)", replace(PROPOSED_ATTACK, is_as_common=True))
ONE_BY_ONE = AttackMethod("one-by-one", "one by one", _FORTH)
FROM_KNOWN = AttackMethod("one-by-one-from-known", "one by one, from known to released", _BACK)
MARKOV = tuple(AttackMethod(f"markov-{kind}", f"Markov chains, {kind}", kind) for kind in CHAIN_DISTANCES)


@dataclass(frozen=True)
class AttackTask:
    """Ask how many users an attack identifies.

    Examples
    --------
    >>> AttackTask("l1").method.words
    'joint (A1)'
    """

    weight: WeightName = PROPOSED
    method: AttackMethod = JOINT

    def __post_init__(self) -> None:
        find_weight(self.weight)


PROPOSED_TASK = AttackTask()


@dataclass(frozen=True)
class TimeTask:
    """Ask how long the joint attack with a weight takes, while nothing else runs."""

    weight: WeightName = PROPOSED


class DataTask(Enum):
    """Ask for a description of the data, to be drawn."""

    POPULARITY = "popularity"
    ANTENNAS = "antennas"
    SQUARES = "squares"
    ACTIVE_WEEKS = "active-weeks"


Task = AttackTask | TimeTask | DataTask


def attacks(*weights: WeightName, methods: tuple[AttackMethod, ...] = (JOINT,)) -> tuple[AttackTask, ...]:
    """Return every combination of methods and weights; without a weight, those of the proposed one.

    Examples
    --------
    >>> [(task.method.name, task.weight) for task in attacks("l1", "dot", methods=(COMMON, JOINT))]
    [('joint-common', 'l1'), ('joint-common', 'dot'), ('joint', 'l1'), ('joint', 'dot')]
    """
    return tuple(AttackTask(weight, method) for method in methods for weight in weights or (PROPOSED,))


@dataclass(frozen=True, kw_only=True)
class Job:
    """Name one unit of work: its result depends on nothing but this, the data and the seed.

    Examples
    --------
    >>> Job(data="calls").key("twin", 0) == Job(data="calls").key("twin", 1)
    False
    """

    data: DataName
    setting: Setting = AS_IT_IS
    task: Task = PROPOSED_TASK
    repeat: int = 0

    def key(self, fingerprint: str, seed: int) -> str:
        """Return the key under which its result is stored."""
        return hashlib.sha256(repr((self, fingerprint, seed)).encode()).hexdigest()[:32]

    @property
    def is_alone(self) -> bool:
        """Return whether nothing else may run meanwhile, because it measures time."""
        return isinstance(self.task, TimeTask)

    @property
    def is_drawn(self) -> bool:
        """Return whether users are drawn: not if each is released alone, one by one, which is the attack on all."""
        is_one_by_one = isinstance(self.task, AttackTask) and self.task.method == ONE_BY_ONE
        return self.setting.is_drawn and not (is_one_by_one and self.setting.n_released == 1)


Plain = str | int | float | None


@dataclass(frozen=True)
class ProtectionEffect:
    """The effect of micro-aggregation on a release: its loss, its groups, and users who were alike before."""

    information_loss: float
    n_groups: int
    n_alike: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcomes:
    """The outcome for each common user, so that attacks can be compared on the same users.

    Parameters
    ----------
    users
        Which ones: their numbers among all users of the data, in the order of ids. No id is kept.
    right
        The chance that the attack is right about each: 0 or 1, except for choices among users with equal shares.
    clustered
        Of a protected release: how likely it names somebody of the same group.
    has_state
        Of Markov chains: who has a state on both sides.
    """

    users: Indices
    right: Floats
    clustered: Floats | None = None
    has_state: Booleans | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outcomes) and all(map(np.array_equal, astuple(self), astuple(other)))

    def __hash__(self) -> int:
        return hash(self.right.tobytes())


class MeasuredAttack(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The sizes of an attack, and how many users it identified.

    Parameters
    ----------
    n_users, n_known
        Users on the released side, and on the known one.
    n_places
        Of both sides together; None where positions are compared.
    found, outcomes
        How many users it identified, and whom.
    unused
        Rows of the data that could not be used or were left out, by reason.
    gap
        Of the proof of a joint matching.
    protected
        What protection did, if there was one.
    """

    n_users: int
    n_known: int
    n_places: int | None
    found: Evaluation
    outcomes: Outcomes
    unused: dict[str, int] = {}
    gap: float | None = None
    protected: ProtectionEffect | None = None


class TimeResult(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """The seconds of the stages of a joint attack."""

    n_users: int
    n_known: int
    n_places: int
    seconds_weights: float
    seconds_matching: float
    seconds_proof: float


class Description(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A table that a picture is drawn from, with the number of users and places where these are not its rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Plain, ...], ...]
    n_users: int = 0
    n_places: int = 0
    n_places_of_one_user: int = 0

    @property
    def table(self) -> pl.DataFrame:
        """Return the rows as a table."""
        return pl.DataFrame(self.rows, schema=self.columns, orient="row")


class LeftOut(msgspec.Struct, frozen=True, tag=True):
    """Say why there is no result: the setting asks for more users than there are."""

    why: str


Result = MeasuredAttack | TimeResult | Description | LeftOut


class Done(msgspec.Struct, frozen=True):
    """The result of a job, and how many seconds it took.

    Examples
    --------
    >>> done = Done(LeftOut("70 users are needed"), 0.5)
    >>> done.to_text()
    '{"result":{"type":"LeftOut","why":"70 users are needed"},"seconds":0.5}'
    >>> Done.from_text(done.to_text()) == done
    True
    """

    result: Result
    seconds: float

    def to_text(self) -> str:
        """Return it as it is kept in a file."""
        return msgspec.json.encode(self, enc_hook=_pack).decode()

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return what was kept; raise `msgspec.MsgspecError` if it is none of ours."""
        return msgspec.json.decode(text, type=cls, dec_hook=_unpack)


def _pack(array: Any) -> str:
    """Return an array as text that is far shorter than its numbers would be."""
    return f"{array.dtype.str} {base64.b64encode(zlib.compress(array.tobytes())).decode()}"


def _unpack(kind: type, packed: object) -> Any:
    del kind
    if not isinstance(packed, str):
        raise TypeError(packed)
    dtype, _, content = packed.partition(" ")
    return np.frombuffer(zlib.decompress(base64.b64decode(content)), dtype)


@dataclass(frozen=True)
class Spot:
    """The position of a result in a table or on a curve.

    Parameters
    ----------
    part, data, source
        Of the experiment; which data; and whether it is a twin.
    varies, value, label, is_all
        What varies along the curve, with its value as a number and in words, and whether that is all there are.
    task
        The weight and the method.
    """

    part: str
    data: DataName
    source: str
    varies: Quantity | None
    value: float | None
    label: str
    is_all: bool
    task: AttackTask


@dataclass(frozen=True)
class Run:
    """An attack that was made: one row for each job."""

    spot: Spot
    repeat: int
    result: MeasuredAttack
