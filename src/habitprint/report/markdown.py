"""Pages as Markdown, in which text from the data is only text."""

import re

from habitprint.formatting import printable
from habitprint.wording.page import (
    Block,
    Bullets,
    Card,
    Caution,
    Command,
    Figure,
    Heading,
    Headline,
    Lines,
    Page,
    Table,
    Terms,
    Text,
    Tiles,
)


def to_markdown(page: Page) -> str:
    r"""Return a page as Markdown; pictures are told by their tables.

    Examples
    --------
    >>> from habitprint.wording.page import terms
    >>> print(to_markdown(Page("Internal.", "Record", "a_b.csv", (terms(("Seed", "0")), Lines(("Name",))))))
    Internal.
    <BLANKLINE>
    # Record: a\_b.csv
    <BLANKLINE>
    **Seed.** 0
    <BLANKLINE>
    Name: ______________________________
    <BLANKLINE>
    """
    parts = [_plain(page.note), f"# {_plain(page.title)}: {_plain(page.source)}", *_parts(page.blocks)]
    for section in page.sections:
        parts += [f"## {_plain(section.heading)}", *_parts(section.blocks)]
    return "\n\n".join(filter(None, [*parts, _plain(page.ending)])) + "\n"


def _parts(blocks: tuple[Block, ...]) -> list[str]:
    return [part for block in blocks for part in _of(block)]


def _of(block: Block) -> list[str]:  # noqa: C901, PLR0911  (one case for each kind)
    match block:
        case Headline():
            return [f"**{_plain(f'{block.mark} {block.text}'.strip())}**"]
        case Text():
            return [_plain(block.text)]
        case Caution():
            return [f"**Caution.** {_plain(block.text)}"]
        case Heading():
            return [f"### {_plain(block.text)}"]
        case Bullets():
            return ["\n".join(f"- {_plain(item)}" for item in block.items)]
        case Command():
            return [f"**{_plain(block.aim)}.** {_code(block.command)}"]
        case Terms():
            return [
                f"**{_plain(term.name)}.** {(_code if term.is_literal else _plain)(term.meaning)}"
                for term in block.items
            ]
        case Tiles():
            return ["\n".join(f"- {_plain(f'{tile.label}: {tile.value} {tile.note}')}" for tile in block.items)]
        case Table():
            return [_rows(block), *([_plain(block.note)] if block.note else [])]
        case Figure():
            return [_plain(f"{block.title}. {block.caption}"), *_parts(block.tables)]
        case Card():
            return [f"### {_plain(block.title)}", *_parts(block.blocks)]
        case Lines():
            return [f"{_plain(line)}: {'_' * 30}" for line in block.items]
    raise TypeError(block.kind)


def _rows(block: Table) -> str:
    heads = [_plain(column.label) for column in block.columns]
    rows = [[_plain(cell.text) for cell in row.cells] for row in block.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, ["---"] * len(heads), *rows))


def _plain(text: str) -> str:
    """Return text in which nothing is markup."""
    return re.sub(r"([\\`*_\[\]<>#|~$&!])", r"\\\1", printable(" ".join(text.split())))


def _code(text: str) -> str:
    """Return text as typed: between more backticks than it holds in a row."""
    line = printable(" ".join(text.split()))
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    return f"{fence} {line} {fence}" if line.startswith("`") or line.endswith("`") else f"{fence}{line}{fence}"
