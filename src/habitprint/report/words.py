"""Say numbers in words that a person can read."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from habitprint.words import percent

SMALLEST = 0.0005  # a rate below rounds to nothing in a column of percentages with one digit

Facts = Mapping[str, Any]  # a part of what `Audit.to_json` returns


def in_column(rate: float) -> str:
    """Return a rate as a percentage with one digit, so that those of a column align.

    Examples
    --------
    >>> in_column(0.05), in_column(0.00002), in_column(0.0), in_column(1.0)
    ('5.0%', '< 0.1%', '0.0%', '100.0%')
    """
    return "< 0.1%" if 0 < rate < SMALLEST else f"{100 * rate:.1f}%"


def interval(rate: Facts) -> str:
    """Return the ends of the 95% interval of a rate.

    Examples
    --------
    >>> interval({"low": 0.25, "high": 0.755})
    '25% to 75.5%'
    """
    return f"{percent(rate['low'])} to {percent(rate['high'])}"


def number(value: float) -> str:
    """Return a number with separators, and with one digit behind the point only if that says something.

    Examples
    --------
    >>> number(12345.6), number(241.0), number(156.5)
    ('12,346', '241', '156.5')
    """
    is_round = value >= 1000 or abs(value - round(value)) < 0.05  # noqa: PLR2004  (one digit is enough)
    return f"{value:,.0f}" if is_round else f"{value:,.1f}"


def moment(text: str) -> str:
    """Return a time as people write it, or as it stands if it is none.

    Examples
    --------
    >>> moment("2012-04-09T00:04:11+00:00"), moment("long ago")
    ('9 April 2012, 00:04', 'long ago')
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return text
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


def stanzas(text: str) -> tuple[str, ...]:
    r"""Return the parts of a text that stand between empty lines, each on one line.

    Examples
    --------
    >>> stanzas("One and\na half.\n\nTwo.")
    ('One and a half.', 'Two.')
    """
    return tuple(" ".join(part.split()) for part in text.strip().split("\n\n"))
