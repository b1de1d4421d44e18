"""Formatting for people: numbers, times and text; values in one line, and in a notebook as a card or a picture.

Text from data cannot move a terminal's cursor. A value knows nothing of pages. `html_of` and `chart_of` are generic
functions. `habitprint/__init__.py` stands above all packages and registers the report's functions for them. It loads
the report when one is called.
"""

import json
import math
import re
import reprlib
import unicodedata
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import singledispatch
from html import escape
from typing import TYPE_CHECKING

import msgspec
import polars as pl

if TYPE_CHECKING:
    import altair as alt

# Kinds of letters that a terminal obeys instead of showing them: controls, directions, halves of letters, separators.
UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
SMALLEST = 0.0005  # a rate below rounds to nothing in a column of percentages with one digit
LONGEST_FIELD = 80  # letters of one field in a line
LONGEST_LINE = 900  # letters of a value in all
FEW = 3  # items of a collection that are shown


def printable(value: object, keep: str = "") -> str:
    r"""Return text with control characters escaped: it cannot move a cursor or reverse a line.

    Examples
    --------
    >>> printable("a\nb"), printable(7), printable("\x1b[2J"), printable("abc\u202edef")
    ('a\\nb', '7', '\\x1b[2J', 'abc\\u202edef')
    """
    text = str(value)
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        repr(letter)[1:-1] if unicodedata.category(letter) in UNSEEN and letter not in keep else letter
        for letter in text
    )


def printable_json(text: str) -> str:
    r"""Return JSON text with terminal control characters escaped; its meaning stays the same.

    Examples
    --------
    >>> printable_json('["a\x9b2J\u202e"]')
    '["a\\u009b2J\\u202e"]'
    """
    return re.sub("[^ -~\n]", _escaped, text)


def _escaped(found: re.Match[str]) -> str:
    letter = found[0]
    return letter if printable(letter) == letter else json.dumps(letter)[1:-1].replace("\x7f", "\\u007f")


def percent(rate: float) -> str:
    """Return a rate as a percentage with enough digits to differ from 0% and 100%.

    Examples
    --------
    >>> percent(0.211), percent(0.00002), percent(0.0), percent(1.0), percent(0.99912)
    ('21.1%', '0.002%', '0%', '100%', '99.91%')
    """
    value = 100 * rate
    if abs(value - round(value)) < 1e-9:  # noqa: PLR2004  (rounding)
        return f"{round(value)}%"
    if value >= 1 and value <= 99.9:  # noqa: PLR2004  (one digit is enough)
        return f"{value:.1f}%"
    shown = float(f"{value:.2g}") if value < 1 else 100 - float(f"{100 - value:.1g}")
    return f"{shown:f}".rstrip("0").rstrip(".") + "%"


def at_most(rate: float) -> str:
    """Return a bound as a percentage, rounded up at one digit: it is within a round target as shown, or not.

    Below a tenth of a percent, which is no such target, it has as many digits as any other percentage.

    Examples
    --------
    >>> at_most(0.0501), at_most(0.05), at_most(0.16304), at_most(0.00045)
    ('5.1%', '5%', '16.4%', '0.045%')
    """
    return percent(rate) if rate < 0.001 else f"{100 * rounded_up(rate):.4g}%"  # noqa: PLR2004


def rounded_up(rate: float) -> float:
    """Return a bound rounded up to the tenth of a percent that is shown.

    Examples
    --------
    >>> rounded_up(0.0501), rounded_up(0.05)
    (0.051, 0.05)
    """
    return math.ceil(1000 * rate - 1e-9) / 1000


def counted(n: int, thing: str) -> str:
    """Return how many things there are, in words that fit one as well as many.

    Examples
    --------
    >>> counted(1, "user"), counted(1200, "user"), counted(2, "person")
    ('1 user', '1,200 users', '2 people')
    """
    many = "people" if thing == "person" else thing + "s"
    return f"{n:,} {thing if n == 1 else many}"


def by_heading(text: str) -> dict[str, tuple[str, ...]]:
    r"""Return the paragraphs of a Markdown text by their heading, each on one line.

    Examples
    --------
    >>> by_heading("# one\n\nFirst\nline.\n\nSecond.\n\n# two\n\nThird.\n")
    {'one': ('First line.', 'Second.'), 'two': ('Third.',)}
    """
    sections = (section.split("\n\n") for section in text.strip().removeprefix("# ").split("\n# "))
    return {name: tuple(" ".join(part.split()) for part in parts if part) for name, *parts in sections}


def in_column(rate: float) -> str:
    """Return a rate as a percentage with one digit, so that those of a column align.

    Examples
    --------
    >>> in_column(0.05), in_column(0.00002), in_column(0.0), in_column(1.0)
    ('5.0%', '< 0.1%', '0.0%', '100.0%')
    """
    return "< 0.1%" if 0 < rate < SMALLEST else f"{100 * rate:.1f}%"


def number(value: float) -> str:
    """Return a number with separators, and with one digit behind the point only if that says something.

    Examples
    --------
    >>> number(12345.6), number(241.0), number(156.5)
    ('12,346', '241', '156.5')
    """
    is_round = value >= 1000 or abs(value - round(value)) < 0.05  # noqa: PLR2004  (one digit is enough)
    return f"{value:,.0f}" if is_round else f"{value:,.1f}"


def whole(value: float) -> str:
    """Return an expected number of people as a whole one, for a headline.

    Examples
    --------
    >>> whole(105.4), whole(0.3), whole(0.0), whole(1200.5)
    ('105', 'fewer than 1', '0', '1,200')
    """
    return "fewer than 1" if 0 < value < 0.5 else f"{value:,.0f}"  # noqa: PLR2004  (it would round to nobody)


def moment(time: datetime) -> str:
    """Return a time as people write it.

    Examples
    --------
    >>> moment(datetime(2012, 4, 9, 0, 4, 11))
    '9 April 2012, 00:04'
    """
    return f"{time.day} {time:%B %Y, %H:%M}"


def headed(text: str) -> str:
    """Return text with a capital letter first, to head a line.

    Examples
    --------
    >>> headed("days in each period")
    'Days in each period'
    """
    return text[:1].upper() + text[1:]


def sentence(text: str) -> str:
    """Return text with a capital letter first and a full stop at the end.

    Examples
    --------
    >>> sentence("replaced the shares"), sentence("Why?")
    ('Replaced the shares.', 'Why?')
    """
    text = headed(text.strip())
    return text + ("" if text.endswith((".", "!", "?", ":")) else ".")


class Shown:
    """A value with an HTML form for notebooks.

    Examples
    --------
    >>> import habitprint as hp
    >>> "2 users" in hp.Histograms.from_strings({1: "aab", 2: "b"})._repr_html_()
    True
    """

    def _repr_html_(self) -> str:
        return html_of(self)


class Drawn(Shown):
    """A value with an HTML form and a picture.

    Examples
    --------
    >>> import habitprint as hp
    >>> type(hp.matching_path(*hp.datasets.illustration()).plot()).__name__
    'VConcatChart'
    """

    def plot(self) -> "alt.TopLevelMixin":
        """Return the picture as an Altair chart, for a notebook or for `habitprint.save_chart`."""
        return chart_of(self)


@singledispatch
def html_of(value: object) -> str:
    """Return a value as a piece of HTML, for a notebook.

    Examples
    --------
    >>> html_of("<b>")
    '<pre>&#x27;&lt;b&gt;&#x27;</pre>'
    """
    return f"<pre>{escape(repr(value))}</pre>"


@singledispatch
def chart_of(value: object, picture: str | None = None) -> "alt.TopLevelMixin":
    """Return the picture of a value as a chart; of a value with several pictures, the one with this name."""
    raise NotImplementedError(type(value).__name__, picture)


@singledispatch
def summary_of(value: object) -> str:
    """Return a value in a few lines of text."""
    raise NotImplementedError(type(value).__name__)


class Framed:
    """A value that is a table, with a frame: the rows of the file that holds it.

    Examples
    --------
    >>> import habitprint as hp
    >>> hp.Histograms.from_strings({7: "aab"}).to_frame().rows()
    [(7, 'a', 2), (7, 'b', 1)]
    """

    def to_table(self) -> pl.DataFrame:
        """Return the rows as a table."""
        raise NotImplementedError

    def to_frame(self) -> pl.DataFrame:
        """Return the rows as a frame, the same as `to_table`."""
        return self.to_table()


class _InShort(reprlib.Repr):
    """Values of any size in a few words: the first items of a collection, and the size of a table."""

    def __init__(self) -> None:
        super().__init__()
        self.fillvalue = "…"
        self.maxtuple = self.maxlist = self.maxdict = FEW
        self.maxstring = self.maxother = LONGEST_FIELD

    def repr_DataFrame(self, value: pl.DataFrame, _: int) -> str:  # noqa: N802  (named after the type)
        return f"{value.height:,} rows × {value.width} columns"

    def repr_float(self, value: float, _: int) -> str:
        return f"{value:.4g}"


def abbreviated(value: object) -> str:
    """Return a value as one short line, for the ``repr`` of a record of any size.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Trip:
    ...     name: str
    ...     stops: tuple[int, ...]
    >>> abbreviated(Trip("to work", tuple(range(100))))
    "Trip(name='to work', stops=(0, 1, 2, …))"
    """
    if isinstance(value, msgspec.Struct):
        names: Iterable[str] = value.__struct_fields__
    else:
        assert is_dataclass(value)  # noqa: S101  (our own records only)
        names = (field.name for field in fields(value) if field.repr)
    shown = (f"{name}={_InShort().repr(getattr(value, name))}" for name in names)
    return cut(f"{type(value).__name__}({', '.join(shown)})", LONGEST_LINE)


def cut(text: str, most: int) -> str:
    """Return a text in one line, cut where it gets too long.

    Examples
    --------
    >>> cut("one two three", 8)
    'one two…'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
