"""The display of values: in one short line, and in a notebook as a card, a frame or a picture.

A value knows nothing of pages. `html_of` and `chart_of` are generic functions; `habitprint/__init__.py`, which stands
above all packages, registers the report's functions for them, and loads the report when one is called.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from functools import singledispatch
from html import escape
from typing import TYPE_CHECKING, Protocol

import msgspec
import polars as pl

if TYPE_CHECKING:
    import altair as alt

LONGEST_FIELD = 80  # letters of one field in a line
LONGEST_LINE = 900  # letters of a value in all
FEW = 3  # items of a collection that are shown


class Shown:
    """A value with an HTML form, which a notebook asks for.

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
        """Return its picture, an Altair chart: show it in a notebook, or write it with `habitprint.save_chart`."""
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


class _Table(Protocol):
    def to_table(self) -> pl.DataFrame: ...


class Framed:
    """A value that is a table, with a frame: the rows of the file that holds it.

    Examples
    --------
    >>> import habitprint as hp
    >>> hp.Histograms.from_strings({7: "aab"}).to_frame().rows()
    [(7, 'a', 2), (7, 'b', 1)]
    """

    def to_frame(self: _Table) -> pl.DataFrame:
        """Return its rows as a frame, the same as `to_table`: everything that has rows has a `to_frame`."""
        return self.to_table()


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
    "Trip(name='to work', stops=(0, 1, 2, … 100 in all))"
    """
    if isinstance(value, msgspec.Struct):
        names: Iterable[str] = value.__struct_fields__
    else:
        assert is_dataclass(value)  # noqa: S101  (our own records only)
        names = (field.name for field in fields(value) if field.repr)
    shown = (f"{name}={_short(getattr(value, name))}" for name in names)
    return cut(f"{type(value).__name__}({', '.join(shown)})", LONGEST_LINE)


def _short(value: object) -> str:
    if isinstance(value, (tuple, list)):
        if len(value) <= FEW:
            inner = ", ".join(map(_short, value)) + ("," if len(value) == 1 and isinstance(value, tuple) else "")
        else:
            inner = f"{', '.join(map(_short, value[:FEW]))}, … {len(value):,} in all"
        return f"({cut(inner, LONGEST_FIELD)})" if isinstance(value, tuple) else f"[{cut(inner, LONGEST_FIELD)}]"
    if isinstance(value, Mapping):
        first = ", ".join(f"{_short(key)}: {_short(item)}" for key, item in list(value.items())[:FEW])
        return f"{{{cut(first, LONGEST_FIELD)}{f', … {len(value):,} in all' if len(value) > FEW else ''}}}"
    if isinstance(value, pl.DataFrame):
        return f"{value.height:,} rows × {value.width} columns"
    if isinstance(value, float):
        return f"{value:.4g}"
    return cut(repr(value), LONGEST_FIELD)


def cut(text: str, most: int) -> str:
    """Return a text in one line, cut where it gets too long.

    Examples
    --------
    >>> cut("one two three", 8)
    'one two…'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
