"""Settings, jobs and parts of an experiment, and the results of jobs."""

import base64
import hashlib
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import product
from typing import Annotated, Any, Final, Literal, Self, TypeVar, get_args, get_type_hints

import msgspec
import numpy as np
import polars as pl
from msgspec import Meta

from habitprint.arrays import Booleans, Floats, Indices
from habitprint.errors import InputError, is_whole, require_option, require_whole
from habitprint.evaluation import Evaluation
from habitprint.events.spec import DayName
from habitprint.formatting import printable
from habitprint.periods.day_table import DAYS
from habitprint.weighing import WeightName

MOST = 10**12  # of anything that is counted: more is a mistake, and no number of polars
MOST_JOBS = 100_000  # of one part of an experiment
ALL: Final = "all"

DataName = Literal["illustration", "calls", "sub-prefectures", "web", "geolife", "events"]
Quantity = Literal["n_users", "n_released", "n_common", "last_day", "first_day", "n_top", "seen_top", "side", "k"]
DATES: Final = ("last_day", "first_day")  # quantities that are days of the week
# The attack of a job, by its method; or a joint attack with its seconds; or a description of the data.
HistogramMethod = Literal["joint", "joint-common", "one-by-one", "one-by-one-from-known"]
ChainMethod = Literal["markov-stationary", "markov-proximity", "markov-stat-prox"]
Picture = Literal[
    "facts", "illustration", "classification", "graph", "user-sets", "popularity", "antennas", "squares", "active-weeks"
]
Task = HistogramMethod | ChainMethod | Literal["timing"] | Picture
PROPOSED: Final = "jensen-shannon"
Count = Annotated[int, Meta(ge=1, le=MOST)]
CountOrAll = Count | Literal["all"]
T = TypeVar("T")


def to_record(table: Mapping[str, Any], kind: type[T], where: str) -> T:
    """Return a table of a TOML file as a record; raise `InputError` that names the entry at fault.

    Examples
    --------
    >>> to_record({"n_users": 100}, Setting, "[setting]").n_users
    100
    """
    kinds = get_type_hints(kind, include_extras=True)
    for name in table:
        if name not in kinds:
            raise InputError(
                f"{where} has an unknown entry '{name}'",
                why=f"its entries are {', '.join(kinds)}",
                fix=nearest(name, list(kinds)),
            )
    return kind(**{name: _converted(name, value, kinds[name], where) for name, value in table.items()})


def _converted(name: str, value: object, kind: Any, where: str) -> Any:
    """Return the value of an entry as its type; an entry that is empty or cannot be shown is refused."""
    if isinstance(value, Mapping) and isinstance(kind, type):
        return to_record(value, kind, f"[{name}]")
    value = value.item() if isinstance(value, np.generic) else value
    what, fix = f"{where}: {name} = {value!r}", "look at the table of entries in docs/reproduce.md"
    if value in ("", []):
        raise InputError(what, why="an empty entry has no meaning", fix="give it a value, or remove it")
    if isinstance(value, str) and printable(value, keep="\n\t") != value:
        raise InputError(
            what, why="the text has characters that cannot be printed", fix="use letters, digits and blanks"
        )
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        choices = ", ".join(_choices(kind))
        raise InputError(what, why=str(error), fix=f"use one of {choices}" if choices else fix) from error


def _choices(kind: Any) -> list[str]:
    """Return the words that a type allows."""
    return [kind] if isinstance(kind, str) else [word for part in get_args(kind) for word in _choices(part)]


def nearest(name: str, names: Sequence[str]) -> str:
    """Return the name that may have been meant, as advice.

    Examples
    --------
    >>> nearest("figure-user", ["figure-users", "table-metrics"])
    "did you mean 'figure-users'?"
    >>> nearest("xyz", ["figure-users"])
    'use one of these'
    """
    found = get_close_matches(name, names, n=1, cutoff=0.5)
    return f"did you mean '{found[0]}'?" if found else "use one of these"


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
    first_day
        The first day of weeks, where the period finds its own weeks.
    n_top
        Only the most popular places, by visits of all users in both periods.
    seen_top
        Only users who were at one of so many most popular places, in both periods.
    side
        The side of the squares for positions, in metres.
    k
        The least number of users in a group of the micro-aggregated release, or ``"all"`` for one group.

    Examples
    --------
    >>> Setting(n_users=1000, k=10).is_drawn
    True
    """

    n_users: CountOrAll = ALL
    n_released: CountOrAll = ALL
    n_common: Count | None = None
    last_day: DayName | None = None
    first_day: DayName | None = None
    n_top: Count | None = None
    seen_top: Count | None = None
    side: Annotated[float, Meta(gt=0, le=MOST)] | None = None
    k: CountOrAll | None = None

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(Setting, include_extras=True).items():
            # 1000 and 1000.0 are the same side, and so the same job.
            object.__setattr__(self, name, _converted(name, getattr(self, name), kind, "setting"))
        if self.n_common is not None and (not is_whole(self.n_users) or self.n_common > self.n_users):
            raise InputError(
                f"n_common = {self.n_common!r} with n_users = {self.n_users!r}",
                why="common users are part of the n_users of each side",
                fix="give n_users as a number, at least n_common",
            )

    @property
    def is_drawn(self) -> bool:
        """Return whether users are drawn at random, so that repeating makes a difference."""
        return self.n_users != ALL or self.n_released != ALL or self.n_common is not None

    @property
    def of_periods(self) -> "Setting":
        """Return the settings that decide the two periods; all others choose among their users and places."""
        return Setting(last_day=self.last_day, first_day=self.first_day, side=self.side)

    def number(self, name: Quantity, n_users: int) -> float:
        """Return one of the settings as a number: of "all" how many that is, of a day which one of the week.

        Examples
        --------
        >>> Setting(k="all").number("k", 60), Setting(last_day="tuesday").number("last_day", 60)
        (60.0, 2.0)
        """
        value = getattr(self, name)
        if name in DATES:
            return DAYS.index(value) + 1.0
        return float(n_users if value == ALL else value)


UNCHANGED = Setting()


@dataclass(frozen=True, kw_only=True)
class Job:
    """One unit of work: its result depends on nothing but this, the data and the seed.

    Examples
    --------
    >>> Job(data="calls").key("twin", 0) == Job(data="calls").key("twin", 1)
    False
    """

    data: DataName
    setting: Setting = UNCHANGED
    task: Task = "joint"
    weight: WeightName = PROPOSED
    repeat: int = 0

    def key(self, fingerprint: str, seed: int) -> str:
        """Return the key under which its result is stored."""
        return hashlib.sha256(repr((self, fingerprint, seed)).encode()).hexdigest()[:32]

    @property
    def is_drawn(self) -> bool:
        """Return whether users are drawn: not if each is released alone, one by one, which is the attack on all."""
        return self.setting.is_drawn and not (self.task == "one-by-one" and self.setting.n_released == 1)


@dataclass(frozen=True, kw_only=True)
class Part:
    """The work on one set of data: one curve of a figure, or some rows of a table.

    Parameters
    ----------
    data
        The name of the data.
    label
        The label of the part; by default, that of the data.
    setting
        The settings that stay the same.
    varies, values
        The field of `setting` that varies, and its values.
    tasks, weights
        The computations on the same users: each task with each weight.
    repeats
        The number of draws of users; one if nothing is drawn.
    quick_setting, quick_values
        The replacements of `setting` and `values` for a quick run.

    Examples
    --------
    >>> part = Part(data="calls", varies="n_users", values=(100, "all"), repeats=2)
    >>> [(job.setting.n_users, job.repeat) for job in part.jobs()]
    [(100, 0), (100, 1), ('all', 0)]
    """

    data: DataName
    label: str = ""
    setting: Setting = UNCHANGED
    varies: Quantity | None = None
    values: tuple[int | float | str, ...] = ()
    tasks: tuple[Task, ...] = ("joint",)
    weights: tuple[WeightName, ...] = (PROPOSED,)
    repeats: int = 1
    quick_setting: Setting | None = None
    quick_values: tuple[int | float | str, ...] = ()

    def __post_init__(self) -> None:
        if self.varies is not None:
            require_option("quantity to vary", self.varies, get_args(Quantity))
            for value in (*self.values, *self.quick_values):
                _ = self.at(value)
        require_whole("repeats", self.repeats, 1, why="users are drawn at least once", fix="use 1, 2, 3, …")
        if max(1, len(self.values)) * self.repeats * len(self.tasks) * len(self.weights) > MOST_JOBS:
            raise InputError(
                f"more than {MOST_JOBS:,} attacks",
                why="values, repeats, methods and weights multiply, so the run would take days",
                fix="use fewer repeats, or fewer values",
            )

    @property
    def name(self) -> str:
        """Return the name."""
        return self.label or self.data

    def at(self, value: float | str | None) -> Setting:
        """Return the setting at one of the values."""
        return self.setting if self.varies is None else replace(self.setting, **{self.varies: value})  # type: ignore[arg-type]

    def jobs(self) -> Iterator[Job]:
        """Yield all units of work, in the order of tables."""
        settings = [self.at(value) for value in self.values or (None,)]
        for setting, repeat, task, weight in product(settings, range(self.repeats), self.tasks, self.weights):
            job = Job(data=self.data, setting=setting, task=task, weight=weight, repeat=repeat)
            if repeat == 0 or job.is_drawn:
                yield job

    def quickly(self) -> "Part":
        """Return the same at a smaller size."""
        smaller = replace(self, setting=self.quick_setting or self.setting, values=self.quick_values or self.values)
        return replace(smaller, quick_setting=None, quick_values=())


Plain = str | int | float | None
Stage = Literal["weights", "matching", "proof"]


@dataclass(frozen=True)
class ProtectionEffect:
    """The effect of micro-aggregation on a release: its loss, its groups, and users who were identical before."""

    information_loss: float
    n_groups: int
    n_identical: int


class MeasuredAttack(msgspec.Struct, frozen=True, kw_only=True, tag=True, eq=False):
    """The sizes of an attack, and which common users it identified: so attacks are compared on the same users.

    Parameters
    ----------
    n_users, n_known
        Users on the released side, and on the known one.
    n_places
        The number of places of both sides together; None if positions are compared.
    found
        The number of identified users, in expectation over users with equal shares.
    n_right
        The same number for the matching of this run, with its choices among equals.
    users
        The common users: their numbers among all users of the data, in the order of ids. No id is kept.
    right
        The chance that the attack is right about each: 0 or 1, except for choices among users with equal shares.
    clustered
        For a protected release: the probability that the attack claims a member of the right group.
    has_state
        For Markov chains: whether each user has a state on both sides.
    unused
        Rows of the data that could not be used or were left out, by reason.
    protected
        The effect of the protection, if there was one.
    seconds
        The seconds of the stages, where time is measured: weights, matching, proof.
    """

    n_users: int
    n_known: int
    n_places: int | None = None
    found: Evaluation
    n_right: int
    users: Indices
    right: Floats
    clustered: Floats | None = None
    has_state: Booleans | None = None
    unused: dict[str, int] = {}
    protected: ProtectionEffect | None = None
    seconds: dict[Stage, float] = {}


class Description(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """A table that a picture is drawn from, with the number of places where these are not its rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Plain, ...], ...]
    n_places: int = 0

    @classmethod
    def of(cls, table: pl.DataFrame, n_places: int = 0) -> Self:
        """Return the rows of a table."""
        return cls(columns=tuple(table.columns), rows=tuple(table.rows()), n_places=n_places)

    @property
    def table(self) -> pl.DataFrame:
        """Return the rows as a table."""
        return pl.DataFrame(self.rows, schema=self.columns, orient="row")


class LeftOut(msgspec.Struct, frozen=True, tag=True):
    """A missing result: the setting needs more users than there are."""

    why: str


Result = MeasuredAttack | Description | LeftOut


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
        """Return the text of the result's file."""
        return msgspec.json.encode(self, enc_hook=_pack).decode()

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the result from the text of its file; raise `msgspec.MsgspecError` for other text."""
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
class Run:
    """An attack that ran: its part, its job and its result."""

    part: Part
    job: Job
    result: MeasuredAttack

    @property
    def is_all(self) -> bool:
        """Return whether the varied setting has no limit here."""
        return self.part.varies is not None and getattr(self.job.setting, self.part.varies) == ALL

    @property
    def value(self) -> float | None:
        """Return the value of the varied setting as a number; None if nothing varies."""
        return None if self.part.varies is None else self.job.setting.number(self.part.varies, self.result.n_users)

    @property
    def label(self) -> str:
        """Return the value of the varied setting in words."""
        value = self.value
        if value is None:
            return ""
        if self.part.varies in DATES:
            day = DAYS[int(value) - 1].title()
            return day if self.part.varies == "first_day" else day[:3] if value == 1 else f"Mon–{day[:3]}"
        number = f"{value:,.0f}" if value == int(value) else f"{value:g}"
        return {"side": f"{number} m", "k": f"k = {number}"}.get(self.part.varies or "", number)
