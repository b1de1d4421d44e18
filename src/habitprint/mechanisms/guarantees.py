"""Guarantees of a release, in a form that can be checked on the data itself."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal, Self, get_args, get_origin

import msgspec
import numpy as np
import polars as pl
from msgspec import Meta

from habitprint.errors import InputError, is_whole
from habitprint.formatting import abbreviated, cut
from habitprint.histograms import Histograms
from habitprint.ids import positions, to_ids

Unit = Literal["user", "event"]
ROUNDING = 1e-9
UNIT_ROUNDING = 1e-6  # of one unit: a CSV file holds every digit of a value
SHOWN = 5  # places that break a guarantee
SHOWN_LETTERS = 60  # of a value that is refused
LARGEST = 2**53  # of a parameter: larger whole numbers are not exact
Whole = Annotated[int, Meta(ge=1, le=LARGEST, description="a whole number of 1 or more")]
Positive = (
    Annotated[int, Meta(ge=1, le=LARGEST)]
    | Annotated[float, Meta(gt=0, le=LARGEST, description="a number above 0 and at most 2^53")]
)
Epsilon = Annotated[float, Meta(gt=0, le=LARGEST, description="a number above 0: 0.1 is strict, 1 usual, 10 weak")]
Delta = Annotated[float, Meta(ge=0, lt=1, description="0, or a number far below one over the number of users")]


@dataclass(frozen=True)
class Check:
    """The result of checking a guarantee on some histograms, with the evidence.

    `holds` is None if the data cannot show it, such as how noise was drawn.

    Examples
    --------
    >>> SmallestCount(2).check(Histograms.from_strings({1: "aab"}))
    Check(guarantee=SmallestCount(threshold=2), holds=False, evidence={'smallest': 1})
    """

    guarantee: "Guarantee"
    holds: bool | None
    evidence: Mapping[str, Any] = field(default_factory=dict)


def to_tag(kind: str) -> str:
    """Return the name of a record in files, from that of its class.

    Examples
    --------
    >>> to_tag("KAnonymity"), to_tag("Microaggregate")
    ('k-anonymity', 'microaggregate')
    """
    return re.sub(r"(?<=.)(?=[A-Z])", "-", kind).lower()


class Tagged(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=to_tag, tag_field="name"):
    """A record that files mark with the name of its class; each value fits the type of its field.

    Examples
    --------
    >>> KAnonymity(1)
    Traceback (most recent call last):
    habitprint.errors.InputError: k 1 is not a whole number of 2 or more
      why: with this value, k-anonymity could not keep its promise
      fix: use a whole number of 2 or more
    """

    def __post_init__(self) -> None:
        for each in msgspec.structs.fields(self):
            value = getattr(self, each.name)
            if isinstance(value, np.generic):
                value = value.item()
                msgspec.structs.force_setattr(self, each.name, value)
            try:
                msgspec.convert(value, each.type)
            except msgspec.ValidationError as error:
                allowed, shown = _in_words(each.type), cut(repr(value), SHOWN_LETTERS)
                raise InputError(
                    f"{each.name} {shown} is not {allowed}",
                    why=f"with this value, {self.name} could not keep its promise",
                    fix=f"use {allowed}",
                ) from error

    @property
    def name(self) -> str:
        """Return the name of the record in files."""
        return str(self.__struct_config__.tag)


def _in_words(kind: Any) -> str:
    """Return the values that a type allows, in words."""
    if get_origin(kind) is Literal:
        return f"one of {', '.join(get_args(kind))}"
    notes = [note for each in (kind, *get_args(kind)) for note in getattr(each, "__metadata__", ())]
    return next((note.description for note in notes if note.description), f"a value of the type {kind}")


class Guarantee(Tagged, frozen=True):
    """A guarantee about released histograms, as a record that files can store (`AnyGuarantee`).

    Each kind states its scope. `protects_people`: it bounds re-identification by every attack. `hides_in_groups`: an
    attacker may identify a person's group, but not the person within it. `is_about_counts`: it says nothing about
    shares. A guarantee without meaning, such as a group of one, raises `InputError`.

    Examples
    --------
    >>> KAnonymity(2).check(Histograms.from_strings({1: "ab", 2: "ab"})).holds
    True
    >>> KAnonymity(2).protects_people, SmallestCount(2).protects_people
    (True, False)
    """

    protects_people: ClassVar[bool] = False
    hides_in_groups: ClassVar[bool] = False
    is_about_counts: ClassVar[bool] = False

    def check(self, histograms: Histograms) -> Check:
        """Check whether the guarantee holds."""
        raise NotImplementedError

    def published(self, visible: pl.Series) -> Self:
        """Return the part of the guarantee that may be published with a table that shows these places."""
        del visible  # most promises name no place
        return self

    def _require(self, is_sound: bool, why: str) -> None:
        if not is_sound:
            what = f"{cut(str(self), SHOWN_LETTERS)} guarantees nothing"
            raise InputError(what, why=why, fix="correct its parameters, or leave it out")


class KAnonymity(Guarantee, frozen=True):
    """The guarantee that every user's row is identical to that of at least k − 1 others, total included.

    Examples
    --------
    >>> KAnonymity(2).check(Histograms.from_strings({1: "ab", 2: "ab", 3: "a"})).evidence
    {'smallest': 1, 'n_users': 3}
    """

    protects_people: ClassVar[bool] = True
    hides_in_groups: ClassVar[bool] = True
    k: Annotated[int, Meta(ge=2, le=LARGEST, description="a whole number of 2 or more")]

    def check(self, histograms: Histograms) -> Check:
        """Count the rows that are identical, to the last bit."""
        smallest = int(histograms.identical_rows.min())
        return Check(self, smallest >= self.k, {"smallest": smallest, "n_users": histograms.n_users})


class SmallestCount(Guarantee, frozen=True):
    """The guarantee that no count above zero is below a threshold.

    Examples
    --------
    >>> SmallestCount(2).check(Histograms.from_strings({1: "aab"})).holds
    False
    """

    is_about_counts: ClassVar[bool] = True
    threshold: Positive

    def check(self, histograms: Histograms) -> Check:
        """Check the smallest count."""
        smallest = histograms.counts.data.min().item()
        return Check(self, smallest >= self.threshold, {"smallest": smallest})


class MultiplesOf(Guarantee, frozen=True, tag="multiples"):
    """The guarantee that every count is a multiple of a base.

    Examples
    --------
    >>> MultiplesOf(2).check(Histograms.from_strings({1: "aab"})).evidence
    {'n_wrong': 1, 'n_counts': 2}
    """

    is_about_counts: ClassVar[bool] = True
    base: Positive

    def check(self, histograms: Histograms) -> Check:
        """Divide every count by the base."""
        counts = histograms.counts.data
        n_wrong = int(np.count_nonzero(np.rint(counts / self.base) * self.base != counts))
        return Check(self, n_wrong == 0, {"n_wrong": n_wrong, "n_counts": len(counts)})


class LimitedContribution(Guarantee, frozen=True):
    """The guarantee that no user's counts exceed a limit, in total or at one place.

    Examples
    --------
    >>> LimitedContribution(total=3, per_place=1).check(Histograms.from_strings({1: "aab"})).holds
    False
    """

    is_about_counts: ClassVar[bool] = True
    total: Positive | None
    per_place: Positive | None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require((self.total, self.per_place) != (None, None), "without a limit, any contribution is allowed")

    def check(self, histograms: Histograms) -> Check:
        """Check the largest total and the largest count."""
        total, count = float(histograms.totals.max()), float(histograms.counts.data.max())
        holds = (self.total is None or total <= self.total * (1 + ROUNDING)) and (
            self.per_place is None or count <= self.per_place
        )
        return Check(self, holds, {"largest_total": total, "largest_count": count})


class OnlyPlaces(Guarantee, frozen=True):
    """The guarantee that the table has only the listed places.

    Examples
    --------
    >>> OnlyPlaces(("a",)).check(Histograms.from_strings({1: "aab"})).evidence
    {'n_places': 2, 'n_others': 1, 'others': ['b']}
    """

    places: tuple[str | int, ...]

    __repr__ = abbreviated

    def __post_init__(self) -> None:
        super().__post_init__()
        self._require(are_distinct_places(self.places), "places are listed once each, all as text or all as numbers")

    def check(self, histograms: Histograms) -> Check:
        """Check that every place is listed."""
        occurring = histograms.places.gather(np.unique(histograms.counts.indices))
        others = occurring.filter(positions(occurring, to_ids(self.places, "place")) < 0).to_list()
        return Check(self, not others, {"n_places": len(occurring), "n_others": len(others), "others": others[:SHOWN]})

    def published(self, visible: pl.Series) -> Self:
        """Return the guarantee with only the places that the table shows.

        Examples
        --------
        >>> OnlyPlaces(("a", "b")).published(pl.Series(["b"]))
        OnlyPlaces(places=('b',))
        """
        shown = tuple(visible.filter(positions(visible, to_ids(self.places, "place")) >= 0).to_list())
        return type(self)(shown) if shown else self


class EqualTotals(Guarantee, frozen=True):
    """The guarantee that all rows have the same total, so that no row states its own.

    Totals may still be read off the shares of few events: see `totals_exposure`.

    Examples
    --------
    >>> EqualTotals().check(Histograms.from_strings({1: "aab", 2: "ab"})).evidence
    {'smallest_total': 2.0, 'largest_total': 3.0}
    """

    def check(self, histograms: Histograms) -> Check:
        """Compare the smallest total with the largest."""
        least, most = float(histograms.totals.min()), float(histograms.totals.max())
        return Check(self, most - least <= ROUNDING * most, {"smallest_total": least, "largest_total": most})


class EqualContributions(Guarantee, frozen=True):
    """The guarantee that each person contributes at most `units` whole units, and identical rows are their exact mean.

    A group of m people publishes whole numbers of units out of `units` · m, so all values have the same denominator.
    A member with few events can still be recognised by their number of units at places that only they visit.

    Examples
    --------
    >>> habits = Histograms.from_table({"user": [1, 2], "place": ["a", "a"], "count": [0.35, 0.35]})
    >>> EqualContributions(10).check(habits).holds, EqualContributions(2).check(habits).evidence
    (True, {'n_wrong': 2, 'n_values': 2, 'n_rows_above_one': 0})
    """

    units: Whole

    def check(self, histograms: Histograms) -> Check:
        """Count the units of every value, and of every row."""
        out_of = self.units * histograms.identical_rows.astype(np.float64)
        units = histograms.counts.data * np.repeat(out_of, np.diff(histograms.counts.indptr))
        n_wrong = int(np.count_nonzero(np.abs(units - np.rint(units)) > UNIT_ROUNDING))
        n_over = int(np.count_nonzero(histograms.totals > 1 + ROUNDING))
        evidence = {"n_wrong": n_wrong, "n_values": len(units), "n_rows_above_one": n_over}
        return Check(self, n_wrong == n_over == 0, evidence)


class DifferentialPrivacy(Guarantee, frozen=True):
    """Differential privacy, as OpenDP accounts for it.

    The data cannot show it: the guarantee depends on how the noise was drawn. If `are_places_chosen`, the places were
    chosen from the original without noise (`KeepTopPlaces`). The guarantee does not cover that choice.

    Examples
    --------
    >>> DifferentialPrivacy(1.0, 0.0, "event", None).check(Histograms.from_strings({1: "a"})).holds is None
    True
    """

    protects_people: ClassVar[bool] = True
    epsilon: Epsilon
    delta: Delta
    unit: Unit
    limit: Whole | None
    are_places_chosen: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        is_limited = (self.unit == "user") == (self.limit is not None)
        self._require(is_limited, "all events of a user are hidden up to a limit only, and one event needs no limit")

    def check(self, histograms: Histograms) -> Check:
        """Return that the data cannot show whether the guarantee holds."""
        del histograms  # the data cannot show how the noise was drawn
        return Check(self, None)


AnyGuarantee = (
    KAnonymity
    | SmallestCount
    | MultiplesOf
    | LimitedContribution
    | OnlyPlaces
    | EqualTotals
    | EqualContributions
    | DifferentialPrivacy
)


def are_distinct_places(places: object) -> bool:
    """Return whether these are ids that differ, all text or all whole numbers.

    Examples
    --------
    >>> are_distinct_places(("a", "b")), are_distinct_places(("a", 1)), are_distinct_places(("a", "a"))
    (True, False, False)
    """
    if not isinstance(places, tuple):
        return False
    is_one_kind = all(isinstance(place, str) for place in places) or all(map(is_whole, places))
    return bool(places) and is_one_kind and len(set(places)) == len(places)
