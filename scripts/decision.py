"""Run the commands of ``docs/decision.md`` and write what they print: ``python scripts/decision.py``.

Groups are rounded at random from a secure source, so some numbers differ from run to run. A test runs the commands.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

PAGE = Path(__file__).parents[1] / "docs" / "decision.md"
LEFT_OUT = "…"
CONSOLE = re.compile(r"(?<=^```console\n)(.*?)(?=^```$)", re.MULTILINE | re.DOTALL)
ATTACKS = re.compile(r"(?<=95% interval\n)(.*?)(?=^by chance)", re.MULTILINE | re.DOTALL)


def sessions(block: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a block with what the page shows of its output."""
    for session in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, printed = session.partition("\n")
        yield command, printed


def run(command: str, folder: Path) -> str:
    """Return what a command prints."""
    words = shlex.split(command)
    if words[0] == "cat":
        return (folder / words[1]).read_text()
    program = [sys.executable, "-m", *words] if words[0] == "habitprint" else words
    done = subprocess.run(  # noqa: S603  (commands of our own page)
        program, cwd=folder, capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "120"}
    )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"


def told(block: str, folder: Path) -> str:
    """Return a block with what its commands print now; what was left out stays so."""
    shown = []
    for command, before in sessions(block):
        printed = ATTACKS.sub(f"{LEFT_OUT}\n", run(command, folder))
        shown.append(f"$ {command}\n{before if before.strip() == LEFT_OUT else printed}")
    return "".join(shown)


def main() -> None:
    """Rewrite the page."""
    with TemporaryDirectory() as folder:
        PAGE.write_text(CONSOLE.sub(lambda found: told(found[1], Path(folder)), PAGE.read_text()))


if __name__ == "__main__":
    main()
