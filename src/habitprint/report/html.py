"""Pages as HTML files that open without a network, and values as pieces of HTML for a notebook."""

import base64
import hashlib
import re
from collections.abc import Callable
from functools import cache
from importlib.resources import files

import vl_convert
from jinja2 import Environment, FunctionLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from habitprint.formatting import printable
from habitprint.wording.page import Card, Figure, Page


def render_page(page: Page) -> str:
    """Return a page as the text of an HTML file.

    The page asks for nothing: its policy refuses every request, and every script but its own, which are named by their
    hashes. A page without pictures has no script. Text from the data is escaped wherever it stands.

    Examples
    --------
    >>> "a &lt; b" in render_page(Page("Internal.", "Record", "a < b", ()))
    True
    """
    scripts = (_libraries(), asset("page.js")) if page.pictures else ()
    style = asset("style.css")
    made = environment().get_template("page.html")
    return _as_text(made.render(page=page, style=style, scripts=scripts, policy=_policy(style, scripts)))


def render_card(card: Card, as_image: Callable[[Figure], str]) -> str:
    """Return a card as a piece of HTML, for a notebook; `as_image` returns the address of the image of a figure.

    Examples
    --------
    >>> "<strong>a &lt; b</strong>" in render_card(Card("a < b", ()), str)
    True
    """
    # An id may hold letters that no HTML or XML may hold.
    made = environment().get_template("notebook.html").render(card=card, as_image=as_image)
    return _unwritable().sub("\ufffd", _as_text(made))


def _as_text(made: str) -> str:
    """Return text that can be written: the name of a file may hold bytes that are no text at all."""
    return made.encode("utf-8", errors="replace").decode("utf-8")


@cache
def _unwritable() -> re.Pattern[str]:
    return re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]")


def _policy(style: str, scripts: tuple[str, ...]) -> str:
    """Return what the page may do: draw with its own style and scripts, and nothing else."""
    allowed = " ".join(map(_hash, scripts)) or "'none'"
    return f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _libraries() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, from the package that also draws charts to files."""
    # Without a snippet of ours it is the libraries alone, as names of the window; the stub does not know that.
    text: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    assert "</script" not in text.lower()  # noqa: S101  (it would end the script too early)
    assert "<!--" not in text  # noqa: S101  (the same)
    return text


def asset(name: str) -> str:
    """Return the text of a file of this package.

    Examples
    --------
    >>> asset("style.css")[:7]
    '/* Calm'
    """
    return (files("habitprint.report") / name).read_text(encoding="utf-8")


@cache
def environment() -> Environment:
    r"""Return what makes markup of templates: text from the data is escaped wherever it stands, and only shown.

    Examples
    --------
    >>> environment().from_string("{{ name }}").render(name="<b>\u202e")
    '&lt;b&gt;\\u202e'
    """
    environment = Environment(
        autoescape=True,
        loader=FunctionLoader(asset),
        undefined=StrictUndefined,
        trim_blocks=False,
        finalize=_shown,
    )
    environment.filters["as_json"] = htmlsafe_json_dumps
    return environment


def _shown(value: object) -> object:
    """Return text without signs that a browser or a terminal would obey; markup is ours, and stays."""
    return printable(value, keep="\n\t") if isinstance(value, str) and not isinstance(value, Markup) else value
