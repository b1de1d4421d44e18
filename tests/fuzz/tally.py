"""Count how inputs ended, by kind, and show it as the table of docs/reliability.md.

Several processes of tests write into one file, a line for each input; ``make fuzz`` shows what is in it.
"""

import os
import sys
from collections import Counter
from pathlib import Path

ALL = "all"
CODES = {0: "0: a right result", 1: "1: a gate", 2: "2: what, why, fix"}


def add(kind: str, code: int | None) -> None:
    """Count an input, if FUZZ_TALLY names a file for that."""
    name = os.environ.get("FUZZ_TALLY")
    if name:
        with Path(name).open("a") as file:  # a line that is so short is written in one piece
            file.write(f"{kind}\t{code}\n")


def table(text: str) -> str:
    """Return what was counted, as Markdown."""
    ended = [line.split("\t") for line in text.splitlines()]
    lines = [f"| kind | inputs | {' | '.join(CODES.values())} | anything else |", "|---|" + "---|" * (len(CODES) + 2)]
    for kind in [*sorted({kind for kind, _ in ended}), ALL]:
        codes = Counter(code for one, code in ended if kind in {one, ALL})
        known = [codes[str(code)] for code in CODES]
        numbers = [codes.total(), *known, codes.total() - sum(known)]
        lines.append(f"| {kind} | {' | '.join(f'{number:,}' for number in numbers)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(Path(sys.argv[1]).read_text()))  # noqa: T201 - whoever runs it wants to see it
