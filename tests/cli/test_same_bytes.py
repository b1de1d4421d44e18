"""The same input gives the same bytes, whatever the order of rows, the threads and the hash seed; and on a re-run."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

import habitprint as hp
from habitprint.io.tables import write_table
from nights import by_night

# All commands, one after the other, in one process; the day of an audit is fixed, since it stands in the report.
PROGRAM = """
import os
import sys
os.cpu_count = lambda: int(os.environ["OMP_NUM_THREADS"])
from datetime import datetime as clock
from habitprint.auditing import audit
from habitprint.cli import main

class Fixed(clock):
    @classmethod
    def now(cls, zone=None):
        return clock(2026, 1, 2, tzinfo=zone)

audit.datetime = Fixed
for words in (
    "match a.csv b.csv --truth same-id --out pairs.csv",
    "match a.csv b.csv --method one-by-one --json",
    "path a.csv b.csv --out path.csv --plot path.svg",
    "split e.csv --released r.parquet --known k.csv",
    "inspect e.csv --json",
    "protect a.csv --k 4 --exact-means --keep-ids --out safer.csv",
    "protect a.csv --merge-rare 3 --suppress-below 2 --keep-ids --out merged.parquet",
    "audit a.csv b.csv --target 20% --no-noise --out audit",
    "audit e.csv --weeks 2012-04-09 --no-noise --out audit-of-events",
    "reproduce mine.toml --out paper",
):
    sys.argv = ["habitprint", *words.split()]
    try:
        main()
    except SystemExit as end:
        assert end.code in (None, 0, 1), (words, end.code)
"""
# What tells how long something took is another each time; and of a folder, names.
NOT_COMPARED = {"mine.md", "index.md", "index.json", "what-this-is.txt"}
FIRST = ("0", "2", None)
AGAIN = ("1", "1", None)  # with another hash seed and one thread
SHUFFLED = ("2", "1", 7)  # and with rows in another order


def made_by(folder: Path, hash_seed: str, threads: str, shuffled_by: int | None) -> dict[str, bytes]:
    """Return all that the commands write and print, by name."""
    folder.mkdir()
    tables = {f"{name}.csv": side.to_table() for name, side in zip("ab", hp.datasets.town(12, 5, seed=1), strict=True)}
    for name, table in tables.items():
        write_table(table, folder / name)
    events = [
        f"u{user},2012-04-{9 + day:02d} 10:{user:02d}:00,p{(user * 3 + day * turn) % 5}\n"
        for user in range(9)
        for day in range(14)
        for turn in range(2)
    ]
    (folder / "e.csv").write_text("user,time,place\n" + "".join(events))
    (folder / "mine.toml").write_text('name = "mine"\n[events]\nfile = "e.csv"\n[vary]\nn_users = [3, 5]\n')
    if shuffled_by is not None:
        for name in ("a.csv", "b.csv", "e.csv"):
            header, *rows = (folder / name).read_text().splitlines(keepends=True)
            random.Random(shuffled_by).shuffle(rows)  # noqa: S311 - no secret
            (folder / name).write_text("".join([header, *rows]))
    inputs = {path.name for path in folder.iterdir()}
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "POLARS_MAX_THREADS": threads, "OMP_NUM_THREADS": threads}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    lines = [line for line in done.stdout.splitlines() if " s; written to" not in line]
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in inputs | NOT_COMPARED and ".habitprint" not in path.parts
    }
    return {**files, "printed": "\n".join(lines).encode()}


@pytest.mark.slow
@pytest.mark.parametrize("variant", [SHUFFLED, *by_night(AGAIN)])
def test_all_commands_give_the_same_bytes_each_time(tmp_path: Path, variant: tuple[str, str, int | None]) -> None:
    expected, files = (made_by(tmp_path / f"{i}", *how) for i, how in enumerate((FIRST, variant)))
    assert len(expected) > 20
    differing = [file for file in expected if files.get(file) != expected[file]]
    # The hash of an input tells which file it was, and so differs if its rows are in another order.
    hashes = {"safer.csv.owner.json", "merged.parquet.owner.json"}
    hashes |= {f"{audit}/{file}" for audit in ("audit", "audit-of-events") for file in REPORTS}
    assert set(differing) <= (hashes if variant == SHUFFLED else set())
    assert files.keys() == expected.keys()
    for file in set(differing) & hashes:
        assert without_hashes(files[file]) == without_hashes(expected[file]), file


REPORTS = ("report.html", "report.json", "record.html", "record.md", "advice.json")


def without_hashes(content: bytes) -> bytes:
    """Return text without hashes of inputs, and of the parts of a page that tell them."""
    return re.sub(rb"sha256-[A-Za-z0-9+/=]+|\b[0-9a-f]{64}\b", b"", content)
