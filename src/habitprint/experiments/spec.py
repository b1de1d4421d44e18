"""The definition of an experiment as data: the field that varies, its values, the repeats, and the tasks."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, get_args

from habitprint.errors import InputError, require_option, require_whole
from habitprint.experiments.jobs import (
    AS_IT_IS,
    PROPOSED_TASK,
    AttackTask,
    DataName,
    Job,
    Quantity,
    Run,
    Setting,
    Task,
)

MOST_JOBS = 100_000  # of one part of an experiment

Judgement = Literal["holds", "leans", "undecided", "does not hold", "not tested"]
Bound = Literal["", "more than", "up to"]
Measure = Literal["accuracy", "precision", "seconds_weights", "seconds_matching"]


Tabled = Literal["points", "metrics", "overlap", "aggregation", "runtime"]
Drawn = Literal["lines", "subset", "protection", "popularity", "map", "active-weeks"]
Layout = Literal[Tabled, Drawn]  # how results become a table or a picture


@dataclass(frozen=True)
class Finding:
    """The verdict on a claim, and the numbers that say so, in words.

    It leans if the difference is as claimed but within the noise, and is undecided if it is within the noise otherwise.
    """

    claim: str
    verdict: Judgement
    words: str

    def verdict_words(self, whose: str) -> str:
        """Return the verdict for people, who are told whose claim it is.

        Examples
        --------
        >>> Finding("the proposed weight leads", "leans", "14.7% against 14.6%").verdict_words("the paper's")
        "in the paper's direction, within the noise"
        """
        if self.verdict == "leans":
            return f"in {whose} direction, within the noise"
        return "within the noise" if self.verdict == "undecided" else self.verdict


class Claim(Protocol):
    """Judge results: one run for each job."""

    def judge(self, runs: Sequence[Run]) -> Finding:
        """Return whether the claim holds."""


@dataclass(frozen=True)
class Published:
    """One number of the paper: a rate, or seconds, and what it belongs to.

    Parameters
    ----------
    part, task
        The row of the table, or the curve; seconds are of the attack that is measured.
    value
        Of what varies; None for all users, or where nothing varies.
    number
        What the paper prints.
    measure
        Of which number of ours it is the counterpart.
    bound
        Whether the paper says more, or no more, than that it is this number.
    note
        What to know about it.
    """

    part: str
    number: float
    task: AttackTask = PROPOSED_TASK
    value: float | None = None
    measure: Measure = "accuracy"
    bound: Bound = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Part:
    """The work on one set of data: one curve of a figure, or some rows of a table.

    Parameters
    ----------
    data
        Which data.
    label
        What to call it; without a word, as the data.
    setting
        What stays the same.
    varies, values
        The field of `setting` that varies, and its values.
    tasks
        What is computed, on the same users: see `attacks`.
    repeats
        How often users are drawn; one if nothing is drawn.
    quick_setting, quick_values
        What takes the place of `setting` and `values` when time matters more than size.

    Examples
    --------
    >>> part = Part(data="calls", varies="n_users", values=(100, "all"), repeats=2)
    >>> [(job.setting.n_users, job.repeat) for job in part.jobs()]
    [(100, 0), (100, 1), ('all', 0)]
    """

    data: DataName
    label: str = ""
    setting: Setting = AS_IT_IS
    varies: Quantity | None = None
    values: tuple[int | float | str, ...] = ()
    tasks: tuple[Task, ...] = (PROPOSED_TASK,)
    repeats: int = 1
    quick_setting: Setting | None = None
    quick_values: tuple[int | float | str, ...] = ()

    def __post_init__(self) -> None:
        if self.varies is not None:
            require_option("quantity to vary", self.varies, get_args(Quantity))
            for value in (*self.values, *self.quick_values):
                _ = self.at(value)
        if bool(self.values) != (self.varies is not None):
            raise InputError(
                f"{self.varies} varies over {len(self.values)} values",
                why="what varies has values, and values belong to what varies",
                fix="give both or none",
            )
        require_whole("repeats", self.repeats, 1, why="users are drawn at least once", fix="use 1, 2, 3, …")
        n_jobs = max(1, len(self.values)) * self.repeats * len(self.tasks)
        if n_jobs > MOST_JOBS:
            raise InputError(
                f"{n_jobs:,} attacks" if n_jobs < sys.maxsize else "attacks without end",
                why=f"values, repeats and attacks multiply, and more than {MOST_JOBS:,} would take for ever",
                fix="use fewer repeats, or fewer values",
            )

    @property
    def name(self) -> str:
        """Return what it is called."""
        return self.label or self.data

    def at(self, value: float | str | None) -> Setting:
        """Return the setting at one of the values."""
        return self.setting if self.varies is None else replace(self.setting, **{self.varies: value})  # type: ignore[arg-type]

    def jobs(self) -> Iterator[Job]:
        """Yield all units of work, in the order of tables."""
        for value in self.values or (None,):
            setting = self.at(value)
            for repeat in range(self.repeats):
                for task in self.tasks:
                    job = Job(data=self.data, setting=setting, task=task, repeat=repeat)
                    if repeat == 0 or job.is_drawn:
                        yield job

    def quickly(self) -> "Part":
        """Return the same at a smaller size."""
        return replace(
            self,
            setting=self.quick_setting or self.setting,
            values=self.quick_values or self.values,
            quick_setting=None,
            quick_values=(),
        )


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One table or figure.

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
    published
        The numbers that the paper prints, to stand beside ours.
    n_published
        How many users these are of, where the paper draws some of the users.

    Examples
    --------
    >>> few = Part(data="web", varies="n_users", values=(10, 20), repeats=2)
    >>> len(list(Experiment(name="mine", title="Mine", parts=(few, Part(data="web"))).jobs()))
    5
    """

    name: str
    title: str
    parts: tuple[Part, ...]
    about: str = ""
    layout: Layout = "points"
    claims: tuple[Claim, ...] = ()
    x: str = ""
    is_log: bool = False
    published: tuple[Published, ...] = ()
    n_published: int | None = None

    def jobs(self) -> Iterator[Job]:
        """Yield the units of work of all parts."""
        for part in self.parts:
            yield from part.jobs()

    def find_published(
        self, part: str, task: AttackTask = PROPOSED_TASK, value: float | None = None, measure: Measure = "accuracy"
    ) -> Published | None:
        """Return the paper's number for a row of ours, if it prints one.

        Examples
        --------
        >>> printed = Published("calls", 0.78, value=1000)
        >>> figure = Experiment(name="mine", title="Mine", parts=(Part(data="calls"),), published=(printed,))
        >>> figure.find_published("calls", value=1000).number, figure.find_published("calls")
        (0.78, None)
        """
        wanted = (part, task, value, measure)
        return next((one for one in self.published if (one.part, one.task, one.value, one.measure) == wanted), None)

    def quickly(self) -> "Experiment":
        """Return the same at a smaller size."""
        return replace(self, parts=tuple(part.quickly() for part in self.parts))

    def repeated(self, repeats: int) -> "Experiment":
        """Return the same with another number of repeats, where users are drawn more than once."""
        return replace(
            self,
            parts=tuple(replace(part, repeats=repeats) if part.repeats > 1 else part for part in self.parts),
        )
