"""Standard streams that are closed, and readers that leave: no command waits for ever, and none looks like a gate."""

import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = f"{sys.executable} -m habitprint match a.csv b.csv --truth same-id"


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-"])
def test_a_closed_stream_changes_neither_the_work_nor_the_exit_code(closed: str, tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("user,place,count\na,x,1\nb,y,2\n")
    done = subprocess.run(f"{COMMAND} --out pairs.csv {closed}", shell=True, cwd=tmp_path, timeout=100, check=False)  # noqa: S602
    assert done.returncode == 0
    assert (tmp_path / "pairs.csv").exists()


@pytest.mark.slow
def test_a_reader_who_leaves_is_no_failed_gate() -> None:
    shell = f"set -o pipefail; {sys.executable} -m habitprint audit --help | true"
    assert subprocess.run(["bash", "-c", shell], check=False, timeout=100).returncode in (0, 141)  # noqa: S607
