"""Too little memory: a message, whatever it is that does not get any."""

import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from disturbed import KILLED_BETWEEN_MOVES, PATIENCE

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


@pytest.mark.parametrize("how", [signal.SIGABRT, signal.SIGSEGV, signal.SIGKILL])
def test_of_a_process_that_dies_while_it_writes_nothing_is_left_where_it_is_watched(
    tmp_path: Path, how: signal.Signals
) -> None:
    for name, side in zip("ab", hp.datasets.town(40, 12, seed=1), strict=True):
        hp.tables.write_table(side.to_table(), tmp_path / f"{name}.csv")
    program = KILLED_BETWEEN_MOVES.replace("signal.SIGKILL", f"signal.{how.name}")
    command = [sys.executable, "-c", f"import sys; sys.argv[0] = 'habitprint'\n{program}", "2"]
    done = subprocess.run(
        [*command, "protect", str(tmp_path / "a.csv"), "--k", "4", "--out", str(tmp_path / "safer.csv")],
        capture_output=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (16_000 * MEGABYTE,) * 2),
    )
    assert done.returncode == (128 + how if how == signal.SIGKILL else 2)
    assert not any(path.name.startswith(".habitprint-") for path in tmp_path.iterdir())


def children_of(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def is_at_work(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with the one that started it")
@pytest.mark.parametrize("is_writing", [False, True])
def test_nothing_goes_on_where_the_process_that_watches_is_killed(tmp_path: Path, *, is_writing: bool) -> None:
    command = [sys.executable, "-m", "habitprint", "datasets", "make", "cdr", "--out", str(tmp_path / "calls.csv")]
    limit = 16_000 * MEGABYTE
    watching = subprocess.Popen(
        command,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),  # noqa: PLW1509 - no threads here
    )
    wait_until(lambda: any(tmp_path.glob(".habitprint-*/*")) if is_writing else bool(children_of(watching.pid)))
    (worker,) = children_of(watching.pid)
    watching.kill()
    watching.wait()
    wait_until(lambda: not is_at_work(worker))
    assert list(tmp_path.iterdir()) == []


def wait_until(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_within_a_limit_that_suffices_nothing_is_different(tmp_path: Path, calls: Path) -> None:
    assert (
        run_within(
            16_000 * MEGABYTE, "split", calls, "--released", tmp_path / "a.csv", "--known", tmp_path / "b.csv"
        ).returncode
        == 0
    )
    assert run_within(16_000 * MEGABYTE, "match", tmp_path / "a.csv", tmp_path / "none.csv").returncode == 2
    assert "habitprint" in run_within(16_000 * MEGABYTE, "--version").stdout
