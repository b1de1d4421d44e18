"""A full disk, a folder that cannot be written to, two runs at once: a clear message, and nothing half done."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from disturbed import COMMANDS, TOGETHER, drafts_in, end, faults_of_outputs, make_inputs, start

import habitprint as hp
from command_line import run

MOUNT, UNMOUNT = (shutil.which(name) or name for name in ("mount", "umount"))
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("few_protections")]


@contextmanager
def disk(folder: Path, *options: str) -> Iterator[None]:
    """Mount a small disk of its own; where that is not allowed, the test is left out."""
    mounted = subprocess.run(
        [MOUNT, "-t", "tmpfs", *options, "tmpfs", str(folder)], check=False, capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run([UNMOUNT, "-l", str(folder)], check=True)


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """Return a folder of inputs, with an empty folder in it for outputs."""
    make_inputs(tmp_path)
    (tmp_path / "disk").mkdir()
    return tmp_path


def moved(name: str) -> list[str]:
    """Return a command with its outputs on the disk."""
    outputs = {file.split("/")[0] for file in TOGETHER[name]}
    return [f"disk/{word}" if word in outputs else word for word in COMMANDS[name]]


# By day one size for each command, and two for those that write several files; by night all sizes.
BY_DAY = {(name, 24) for name in COMMANDS} | {("split", 8), ("protect", 8)}


@pytest.mark.parametrize(
    ("name", "room"),
    [
        pytest.param(name, room, marks=() if (name, room) in BY_DAY else pytest.mark.nightly)
        for name in COMMANDS
        for room in (4, 8, 16, 24)
    ],
)
def test_a_full_disk_leaves_nothing_behind(
    inputs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str, room: int
) -> None:
    monkeypatch.chdir(inputs)
    with disk(inputs / "disk", "-o", f"size={room}k"):
        code = run(monkeypatch, *moved(name))
        left = sorted(path.name for path in (inputs / "disk").rglob("*") if path.is_file())
        if code == 0:
            assert faults_of_outputs(name, inputs / "disk") == []
            return
        assert code == 2
        shown = capsys.readouterr().err
        assert "why: " in shown
        assert "fix: " in shown
        assert ".habitprint-" not in shown  # nobody knows the names of drafts
        # Results that are complete are kept for the next run, in a folder that says so; nothing else is left.
        assert [
            file for file in left if not (name == "reproduce" and len(file) > 30) and file != "what-this-is.txt"
        ] == []
        assert drafts_in(inputs / "disk") == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_disk_that_cannot_be_written_to_is_noticed_before_the_work(
    inputs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.chdir(inputs)
    for work in (
        "habitprint.cli.audit.audit_subject",
        "habitprint.match",
        "habitprint.matching_path",
        "habitprint.train",
        "habitprint.datasets.calls_twin",
        "habitprint.cli.reproduce.run",
    ):
        monkeypatch.setattr(work, lambda *_args, **_options: pytest.fail("the work was begun"))
    with disk(inputs / "disk", "-o", "ro"):
        assert run(monkeypatch, *moved(name)) == 2
    assert "no permission to write" in capsys.readouterr().err


def test_a_folder_that_is_a_disk_of_its_own_takes_an_audit(inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(inputs)
    words = ["audit", "a.csv", "b.csv", "--no-noise", "--out", "disk"]
    with disk(inputs / "disk"):
        assert run(monkeypatch, *words) == 0
        assert run(monkeypatch, *words) == 2
        assert run(monkeypatch, *words, "--force") == 0
        assert (inputs / "disk" / "report.html").is_file()
        assert drafts_in(inputs / "disk") == []


@pytest.mark.parametrize("name", ["protect", pytest.param("audit", marks=pytest.mark.nightly)])
def test_two_runs_into_one_place_are_one_result(inputs: Path, name: str) -> None:
    processes = [start(COMMANDS[name], inputs) for _ in range(2)]
    ended = [end(process, 0.0) for process in processes]
    assert sorted(one.code for one in ended) == [0, 2]
    assert faults_of_outputs(name, inputs) == []
    assert all((inputs / file).exists() for file in TOGETHER[name])
    assert drafts_in(inputs) == []


def test_a_read_only_package_without_a_home_works(tmp_path: Path) -> None:
    make_inputs(tmp_path)
    (tmp_path / "package").mkdir()
    environment = {name: value for name, value in os.environ.items() if name not in {"HOME", "NUMBA_CACHE_DIR"}}
    environment |= {"HOME": "/nonexistent", "XDG_CACHE_HOME": "/nonexistent", "PYTHONPATH": str(tmp_path / "package")}
    with disk(tmp_path / "package"):
        source = Path(hp.__file__).parent
        shutil.copytree(source, tmp_path / "package" / "habitprint", ignore=shutil.ignore_patterns("__pycache__"))
        subprocess.run([MOUNT, "-o", "remount,ro", str(tmp_path / "package")], check=True)
        command = [sys.executable, "-m", "habitprint", "inspect", "e.csv"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, check=False, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
