"""Draw the picture of the README, docs/demo.svg: what ``habitprint demo`` prints."""

import io
from pathlib import Path

from rich.terminal_theme import TerminalTheme

from habitprint.cli.datasets import make_story
from habitprint.cli.screen import Screen

TARGET = Path(__file__).parent.parent / "docs" / "demo.svg"
WIDTH = 84
THEME = TerminalTheme(
    background=(250, 250, 248),
    foreground=(40, 42, 46),
    normal=[
        (40, 42, 46), (176, 58, 46), (46, 125, 80), (168, 120, 20),
        (40, 90, 160), (120, 70, 150), (20, 120, 140), (230, 230, 226),
    ],
    bright=[
        (150, 152, 156), (200, 80, 70), (70, 150, 100), (190, 140, 40),
        (60, 110, 180), (140, 90, 170), (40, 140, 160), (250, 250, 248),
    ],
)  # fmt: skip
# Fonts of the reader's machine: a picture fetches nothing.
FORMAT = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
<rect width="{width}" height="{height}" rx="8" fill="#fafaf8" stroke="#d0d0cc"/>
<g transform="translate(14, 14)" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g>
</svg>
"""


def main() -> None:
    """Write the picture."""
    screen = Screen(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    screen.show(make_story(1000, seed=0)[1])
    TARGET.write_text(screen.export_svg(theme=THEME, code_format=FORMAT, unique_id="demo"))


if __name__ == "__main__":
    main()
