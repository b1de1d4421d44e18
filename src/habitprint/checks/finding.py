"""One possible fault of the data: its code, its numbers and its gravity. `wording/findings.py` has its sentences."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

Gravity = Literal["note", "changes-answer", "stops"]
Kind = Literal["row", "user", "place"]
Code = Literal[
    "repeated-rows",
    "unused-rows",
    "shared-histories",
    "coarse-clock",
    "fixes-not-visits",
    "ids-with-spaces",
    "ids-zero-padded",
    "ids-in-capitals",
    "placeholder-ids",
    "total-row",
    "future-dates",
    "sentinel-dates",
    "stray-dates",
    "excel-serial-dates",
    "swapped-columns",
    "same-tables",
    "no-shared-places",
    "few-shared-places",
    "one-place",
    "totals-identify",
    "shares-show-totals",
    "identical-rows",
    "shares-not-counts",
    "merged-place",
    "multiples",
    "no-small-counts",
    "unknown-mapping",
    "nothing-copied",
]
CODES: tuple[Code, ...] = get_args(Code)
GRAVITIES: tuple[Gravity, ...] = get_args(Gravity)
MILD: tuple[Gravity, Gravity] = ("note", "changes-answer")  # of few, and of many
GRAVE: tuple[Gravity, Gravity] = ("changes-answer", "stops")
MANY = 0.05  # from this share of the rows, or of the people, on, a fault may change the answer


@dataclass(frozen=True)
class Finding:
    """One possible fault of the data: a code with numbers. `habitprint.wording.findings` makes the sentence.

    Parameters
    ----------
    code
        The kind of fault; `accept` takes this code.
    gravity
        ``"note"``: a footnote. ``"changes-answer"``: it may change the answer, and is shown beside it. ``"stops"``: it
        makes the answer wrong, and stops an audit that does not accept it.
    count, of
        The number of rows, users or places concerned, and of all of them; None if there is no such whole.
    kind
        The kind of thing that is counted: rows, users or places.
    examples
        A few values: ids, days as ISO dates, or reasons.
    options
        Options of the command line that fix it; empty if there are none.
    in_sample
        Whether it was found in a sample of the people.

    Examples
    --------
    >>> found = Finding("placeholder-ids", "stops", 54, 900, "user", ("NULL",), "--without-user NULL")
    >>> found.is_grave, found.anonymous.examples
    (True, ())
    """

    code: Code
    gravity: Gravity
    count: int
    of: int | None = None
    kind: Kind = "row"
    examples: tuple[str, ...] = ()
    options: str = ""
    in_sample: bool = False

    @property
    def is_grave(self) -> bool:
        """Return whether the finding may change the answer."""
        return self.gravity != "note"

    @property
    def anonymous(self) -> "Finding":
        """Return the finding without values that may name a person or a place, for reports."""
        if self.kind == "row":
            return self
        return replace(self, examples=(), options="" if "--without-" in self.options else self.options)


def graded(count: float, of: float, grades: tuple[Gravity, Gravity]) -> Gravity:
    """Return how grave it is: the first if few are concerned, the second if 5% or more of all are.

    Examples
    --------
    >>> graded(4, 100, MILD), graded(5, 100, MILD)
    ('note', 'changes-answer')
    """
    return grades[count >= MANY * of]


def in_order(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings with the graver first.

    Examples
    --------
    >>> [each.gravity for each in in_order([Finding("repeated-rows", "note", 1), Finding("total-row", "stops", 1)])]
    ['stops', 'note']
    """
    return tuple(sorted(found, key=lambda each: -GRAVITIES.index(each.gravity)))
