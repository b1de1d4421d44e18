"""What an experiment is: data that says what varies, over which values, how often and with which weights."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, get_args

from habitprint.errors import InputError, is_whole, require_option
from habitprint.experiments.claims import Claim
from habitprint.markov import CHAIN_DISTANCES
from habitprint.periods.dates import DAYS
from habitprint.weights import WEIGHTS, find_weight

DataName = Literal["calls", "sub-prefectures", "web", "geolife", "events"]
Task = Literal["attack", "time", "popularity", "antennas", "squares", "active-weeks"]
Layout = Literal[
    "lines", "table", "metrics", "overlap", "aggregation", "markov", "runtime", "subset", "protection",
    "popularity", "map", "active-weeks",
]  # fmt: skip
ALL = "all"
PROPOSED = "jensen-shannon"
JOINT, COMMON, ONE_BY_ONE, FROM_KNOWN = "joint", "joint-common", "one-by-one", "one-by-one-from-known"
MARKOV = tuple(f"markov-{kind}" for kind in CHAIN_DISTANCES)
METHODS = (JOINT, COMMON, ONE_BY_ONE, FROM_KNOWN, *MARKOV)
NUMBERS = ("n_users", "n_released", "n_common", "n_top", "seen_top", "k")
OR_ALL = ("n_users", "n_released", "k")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Say what is made of the data before an attack; without a word, both periods as they are.

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

    n_users: int | str = ALL
    n_released: int | str = ALL
    n_common: int | None = None
    last_day: str | None = None
    n_top: int | None = None
    seen_top: int | None = None
    side: float | None = None
    k: int | str | None = None

    def __post_init__(self) -> None:
        for name in NUMBERS:
            value = getattr(self, name)
            is_allowed = value is None or (value == ALL and name in OR_ALL)
            if not is_allowed and not (is_whole(value) and value >= 1):
                words = f', or "{ALL}"' if name in OR_ALL else ""
                raise InputError(
                    f"{name} = {value!r}",
                    why="it is a number of users or places",
                    fix=f"use a whole number of one or more{words}",
                )
        if self.last_day is not None:
            require_option("last_day", self.last_day, DAYS)
        if self.side is not None and not (not isinstance(self.side, (str, bool)) and self.side > 0):
            raise InputError(f"side = {self.side!r}", why="it is a length in metres", fix="use 1000, say")
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


@dataclass(frozen=True, kw_only=True)
class Cell:
    """Name one unit of work: its result depends on nothing but this, the data and the seed.

    Examples
    --------
    >>> Cell(data="calls", setting=Setting()).key("twin", 0) == Cell(data="calls", setting=Setting()).key("twin", 1)
    False
    """

    data: DataName
    setting: Setting
    weight: str = PROPOSED
    method: str = JOINT
    task: Task = "attack"
    repeat: int = 0

    def key(self, fingerprint: str, seed: int) -> str:
        """Return what its result is kept under."""
        what = json.dumps([asdict(self), fingerprint, seed], sort_keys=True)
        return hashlib.sha256(what.encode()).hexdigest()[:32]

    @property
    def is_alone(self) -> bool:
        """Return whether nothing else may run meanwhile, because it measures time."""
        return self.task == "time"


@dataclass(frozen=True, kw_only=True)
class Part:
    """Say what is done with one set of data: one curve of a figure, or some rows of a table.

    Parameters
    ----------
    data
        Which data.
    label
        What to call it.
    setting
        What stays the same.
    varies, values
        The field of `setting` that varies, and its values.
    weights, methods
        Every combination is computed, on the same users.
    repeats
        How often users are drawn; one if nothing is drawn.
    task
        What is computed: an attack, its time, or a description of the data.
    quick
        What is different when time matters more than size.

    Examples
    --------
    >>> part = Part(data="calls", varies="n_users", values=(100, "all"), weights=("l1",), repeats=2)
    >>> [(cell.setting.n_users, cell.repeat) for cell in part.cells()]
    [(100, 0), (100, 1), ('all', 0)]
    """

    data: DataName
    label: str = ""
    setting: Setting = field(default_factory=Setting)
    varies: str | None = None
    values: tuple[int | float | str, ...] = ()
    weights: tuple[str, ...] = (PROPOSED,)
    methods: tuple[str, ...] = (JOINT,)
    repeats: int = 1
    task: Task = "attack"
    quick: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.label:
            object.__setattr__(self, "label", self.data)
        names = [one.name for one in fields(Setting)]
        if self.varies is not None:
            require_option("quantity to vary", self.varies, names)
            for value in self.values:
                _ = self.at(value)
        if bool(self.values) != (self.varies is not None):
            raise InputError(
                f"{self.varies} varies over {len(self.values)} values",
                why="what varies has values, and values belong to what varies",
                fix="give both or none",
            )
        for weight in self.weights:
            find_weight(weight)
        for method in self.methods:
            require_option("method", method, METHODS)
        if not is_whole(self.repeats) or self.repeats < 1:
            raise InputError(f"{self.repeats!r} repeats", why="users are drawn at least once", fix="use 1, 2, 3, …")

    def at(self, value: float | str | None) -> Setting:
        """Return the setting at one of the values."""
        return self.setting if self.varies is None else replace(self.setting, **{self.varies: value})  # type: ignore[arg-type]

    def cells(self) -> Iterator[Cell]:
        """Yield all units of work, in the order of tables."""
        for value in self.values or (None,):
            setting = self.at(value)
            for repeat in range(self.repeats if setting.is_drawn else 1):
                for method in self.methods:
                    for weight in self.weights:
                        yield Cell(
                            data=self.data,
                            setting=setting,
                            weight=weight,
                            method=method,
                            task=self.task,
                            repeat=repeat,
                        )

    def quickly(self) -> "Part":
        """Return the same at a smaller size."""
        return replace(self, **self.quick, quick={}) if self.quick else self


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Describe one table or figure.

    Parameters
    ----------
    name, title
        What it is called, by machines and by people.
    about
        What it shows, in a sentence.
    parts
        What is computed.
    layout
        How results become a table or a picture.
    claims
        What is said to hold, and is checked on the result.
    x
        The name of the horizontal axis, with its unit.
    is_log
        Whether that axis is logarithmic.

    Examples
    --------
    >>> Experiment(name="mine", title="Mine", parts=(Part(data="web"),)).is_figure
    False
    """

    name: str
    title: str
    parts: tuple[Part, ...]
    about: str = ""
    layout: Layout = "table"
    claims: tuple[Claim, ...] = ()
    x: str = ""
    is_log: bool = False

    def __post_init__(self) -> None:
        require_option("layout", self.layout, get_args(Layout))

    @property
    def is_figure(self) -> bool:
        """Return whether a picture is drawn."""
        return self.layout in {"lines", "subset", "protection", "popularity", "map", "active-weeks"}

    def quickly(self) -> "Experiment":
        """Return the same at a smaller size."""
        return replace(self, parts=tuple(part.quickly() for part in self.parts))

    def repeated(self, repeats: int) -> "Experiment":
        """Return the same with another number of repeats, where users are drawn more than once."""
        return replace(
            self,
            parts=tuple(replace(part, repeats=repeats) if part.repeats > 1 else part for part in self.parts),
        )


ALL_WEIGHTS = tuple(WEIGHTS)
