"""The display of values: in one short line, and in a notebook as a card, a frame or a picture."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import polars as pl

if TYPE_CHECKING:
    import altair as alt

LONGEST_FIELD = 80  # letters of one field in a line
LONGEST_LINE = 900  # letters of a value in all
FEW = 3  # items of a collection that are shown


class Shown:
    """Give a value an HTML form, which a notebook asks for. What makes it is loaded only then.

    Examples
    --------
    >>> import habitprint as hp
    >>> "2 users" in hp.Histograms.from_strings({1: "aab", 2: "b"})._repr_html_()
    True
    """

    def _repr_html_(self) -> str:
        from habitprint.report.notebook import to_html  # noqa: PLC0415 - takes a second, and stands above all values

        return to_html(self)


class Drawn(Shown):
    """Give a value a picture too.

    Examples
    --------
    >>> import habitprint as hp
    >>> type(hp.matching_path(*hp.datasets.illustration()).plot()).__name__
    'VConcatChart'
    """

    def plot(self) -> "alt.TopLevelMixin":
        """Return its picture, an Altair chart: show it in a notebook, or write it with `habitprint.save_chart`."""
        from habitprint.report.notebook import draw  # noqa: PLC0415 - the same

        return draw(self)


def draw_picture(value: Any, picture: str) -> "alt.TopLevelMixin":
    """Return one of the pictures of a value that has several, by its name.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> draw_picture(found, "answer").to_dict()["width"]
    520
    """
    from habitprint.report.notebook import draw_named  # noqa: PLC0415 - the same

    return draw_named(value, picture)


class _Table(Protocol):
    def to_table(self) -> pl.DataFrame: ...


class Framed:
    """Give a value that is a table a frame: the rows of the file that holds it.

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
