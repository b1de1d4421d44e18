"""Pages as HTML that opens without a network, as Markdown, and as pieces for a notebook."""

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files

import vl_convert
from jinja2 import Environment, FunctionLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from habitprint.formatting import printable
from habitprint.wording import blocks
from habitprint.wording.blocks import Block, Page

UNWRITABLE = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]"  # in HTML and XML


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
    allowed = " ".join(map(_hash, scripts)) or "'none'"
    policy = f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"
    return _rendered("page.html", page=page, style=style, scripts=scripts, policy=policy)


def render_card(card: blocks.Card, as_image: Callable[[blocks.Figure], str]) -> str:
    """Return a card as a piece of HTML, for a notebook; `as_image` returns the address of the image of a figure.

    Examples
    --------
    >>> "<strong>a &lt; b</strong>" in render_card(blocks.Card("a < b", ()), str)
    True
    """
    return re.sub(UNWRITABLE, "\ufffd", _rendered("notebook.html", card=card, as_image=as_image))


def _rendered(template: str, **values: object) -> str:
    """Return text that can be written: the name of a file may hold bytes that are no text at all."""
    made = environment().get_template(template).render(**values)
    return made.encode("utf-8", errors="replace").decode("utf-8")


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
    r"""Return the environment for templates, which escapes all text from the data.

    Examples
    --------
    >>> environment().from_string("{{ name }}").render(name="<b>\u202e")
    '&lt;b&gt;\\u202e'
    """
    loader = FunctionLoader(asset)
    environment = Environment(autoescape=True, loader=loader, undefined=StrictUndefined, finalize=_shown)
    environment.filters["as_json"] = htmlsafe_json_dumps
    return environment


def _shown(value: object) -> object:
    """Return text without signs that a browser or a terminal would obey; markup is ours, and stays."""
    return printable(value, keep="\n\t") if isinstance(value, str) and not isinstance(value, Markup) else value


def to_markdown(page: Page) -> str:
    r"""Return a page as Markdown, with text from the data escaped; tables stand for pictures.

    Examples
    --------
    >>> parts = blocks.terms(("Seed", "0")), blocks.Lines((blocks.Term("Name", ""),))
    >>> print(to_markdown(Page("Internal.", "Record", "a_b.csv", parts)))
    Internal.
    <BLANKLINE>
    # Record: a\_b.csv
    <BLANKLINE>
    **Seed.** 0
    <BLANKLINE>
    Name: ______________________________
    <BLANKLINE>
    """
    parts = [_plain(page.note), f"# {_plain(page.title)}: {_plain(page.source)}", *_paragraphs(page.blocks)]
    for section in page.sections:
        parts += [f"## {_plain(section.heading)}", *_paragraphs(section.blocks)]
    return "\n\n".join(filter(None, [*parts, _plain(page.ending)])) + "\n"


def _paragraphs(shown: Sequence[Block]) -> list[str]:
    return [part for block in shown for part in _markdown(block)]


def _markdown(block: Block) -> list[str]:  # noqa: C901, PLR0911  (one case for each kind)
    match block:
        case blocks.Headline():
            return [f"**{_plain(f'{block.mark} {block.text}'.strip())}**"]
        case blocks.Text():
            return [_plain(block.text)]
        case blocks.Caution():
            return [f"**Caution.** {_plain(block.text)}"]
        case blocks.Heading():
            return [f"### {_plain(block.text)}"]
        case blocks.Bullets():
            return ["\n".join(f"- {_plain(item)}" for item in block.items)]
        case blocks.Command():
            return [f"**{_plain(block.aim)}.** {_code(block.command)}"]
        case blocks.Terms():
            shown = [(_plain(term.name), (_code if term.is_literal else _plain)(term.meaning)) for term in block.items]
            return [f"**{name}.** {meaning}" for name, meaning in shown]
        case blocks.Tiles():
            return ["\n".join(f"- {_plain(f'{tile.label}: {tile.value} {tile.note}')}" for tile in block.items)]
        case blocks.Table():
            rows = [[_plain(column.label) for column in block.columns], ["---"] * len(block.columns)]
            notes = {cell: f" ({cell.note})" if cell.note else "" for row in block.rows for cell in row.cells}
            rows += [[_plain(cell.text + notes[cell]) for cell in row.cells] for row in block.rows]
            return ["\n".join(f"| {' | '.join(row)} |" for row in rows), *([_plain(block.note)] if block.note else [])]
        case blocks.Figure():
            return [_plain(f"{block.title}. {block.caption}"), *_paragraphs(block.tables)]
        case blocks.Card():
            return [f"### {_plain(block.title)}", *_paragraphs(block.blocks)]
        case blocks.Lines():
            return [f"{_plain(line.name)}: {_plain(line.meaning) or '_' * 30}" for line in block.items]
    raise TypeError(block.kind)


def _plain(text: str) -> str:
    """Return text with all markup escaped."""
    return re.sub(r"([\\`*_\[\]<>#|~$&!])", r"\\\1", printable(" ".join(text.split())))


def _code(text: str) -> str:
    """Return text as typed: between more backticks than it holds in a row."""
    line = printable(" ".join(text.split()))
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    return f"{fence} {line} {fence}" if line.startswith("`") or line.endswith("`") else f"{fence}{line}{fence}"
