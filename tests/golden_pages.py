"""The golden pages: the stored audit as each renderer shows it, to be read as a diff."""

import io
import re
from pathlib import Path

import habitprint as hp
from habitprint.cli.screen import Screen
from habitprint.report.render import render_page, to_markdown
from habitprint.wording.blocks import Page, fixed_text
from habitprint.wording.pages import build_record
from habitprint.wording.verdict import first_screen

GOLDEN = Path(__file__).with_name("golden")


def pages() -> dict[str, str]:
    """Return the text of each golden page by its file: first screen as HTML and in a terminal, record as Markdown."""
    found = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    first = Page(fixed_text("internal"), "Re-identification audit", found.run.source, first_screen(found))
    body = re.sub(r"<style>.*?</style>", "<style>…</style>", render_page(first), flags=re.DOTALL)
    screen = Screen()
    screen.file, screen.width = io.StringIO(), 80
    screen.show(first.blocks)
    return {
        "first_screen.html": re.sub(r"sha256-[^']*", "sha256-…", body),
        "first_screen.txt": "".join(f"{line.rstrip()}\n" for line in screen.file.getvalue().splitlines()),
        "record.md": to_markdown(build_record(found)),
    }
