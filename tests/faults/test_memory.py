"""Too little memory: a message, whatever it is that does not get any."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

import habitprint as hp

pytestmark = pytest.mark.slow
MEGABYTE = 2**20


def run_within(limit: int, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "habitprint", *map(str, arguments)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )


@pytest.fixture(scope="module")
def calls(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("calls") / "calls.csv"
    hp.datasets.calls_twin(8000).events.write_csv(file)
    return file


@pytest.mark.parametrize("limit", [300, 1300, 1750, 1850, 2000])
def test_a_limit_that_is_too_low_is_called_so_and_leaves_nothing_behind(
    calls: Path, tmp_path: Path, limit: int
) -> None:
    outputs = tmp_path / "week1.csv", tmp_path / "week2.csv"
    done = run_within(limit * MEGABYTE, "split", calls, "--released", outputs[0], "--known", outputs[1])
    if done.returncode == 0:
        assert all(output.is_file() for output in outputs)
        return
    assert done.returncode == 2
    assert "error: there is not enough memory" in done.stderr
    assert "fix:" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_within_a_limit_that_suffices_nothing_is_different(tmp_path: Path, calls: Path) -> None:
    assert (
        run_within(
            16_000 * MEGABYTE, "split", calls, "--released", tmp_path / "a.csv", "--known", tmp_path / "b.csv"
        ).returncode
        == 0
    )
    assert run_within(16_000 * MEGABYTE, "match", tmp_path / "a.csv", tmp_path / "none.csv").returncode == 2
    assert "habitprint" in run_within(16_000 * MEGABYTE, "--version").stdout
