"""Compiled code that is kept is only ever a saving: damaged it is made again; where it cannot be kept, it is not."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import pytest

from habitprint import compiled
from habitprint.compiled import kernel

SOURCE = """
from habitprint.compiled import kernel
@kernel
def double(x):
    return 2 * x
"""


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of a kernel, which keeps its code beside it."""
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    file = tmp_path / "small.py"
    file.write_text(SOURCE)
    return file


def loaded(file: Path) -> Any:
    """Return the kernel of a file, as a new process would have it."""
    found = importlib.util.spec_from_file_location("small", file)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module.double


def code_of(file: Path) -> list[Path]:
    return sorted((file.parent / "__pycache__").glob("*.nb[ic]"))


def empty(file: Path) -> None:
    file.write_bytes(b"")


def halve(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def flip(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-20] ^= 4
    file.write_bytes(content)


@pytest.mark.parametrize("damage", [empty, halve, flip])
@pytest.mark.parametrize("which", [".nbi", ".nbc"])
def test_damaged_code_is_thrown_away_and_compiled_again(kept: Path, which: str, damage: Any) -> None:
    assert loaded(kept)(2) == 4
    (file,) = (file for file in code_of(kept) if file.suffix == which)
    damage(file)
    again = loaded(kept)
    assert again(2) == 4
    fresh = loaded(kept)
    assert fresh(2) == 4
    assert sum(fresh.stats.cache_hits.values()) == 1  # kept anew


def test_where_nothing_can_be_kept_everything_is_compiled_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr("habitprint.compiled._Kept", refuse)
    compiled = kernel(triple)
    assert compiled(2) == 6
    assert compiled._cache.cache_path is None  # noqa: SLF001 - numba has no public way to ask


def triple(x: float) -> float:
    return 3 * x


def test_a_full_disk_is_no_reason_to_fail(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("habitprint.compiled._Sealed._save_data", refuse)
    assert loaded(kept)(2) == 4


@pytest.mark.slow
def test_two_processes_may_compile_at_once(kept: Path) -> None:
    program = "import small; print(small.double(2))"
    environment = {**os.environ, "PYTHONPATH": f"{os.environ.get('PYTHONPATH', '')}:{kept.parent}"}
    command = [sys.executable, "-c", program]
    processes = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate()[0] for process in processes] == ["4\n", "4\n"]
    assert loaded(kept)(2) == 4


@pytest.mark.parametrize("is_tried", [False, True])
def test_kernels_compute_the_same_with_a_numba_that_was_not_tried(
    monkeypatch: pytest.MonkeyPatch, *, is_tried: bool
) -> None:
    monkeypatch.setattr(compiled, "IS_TRIED", is_tried)

    def add(total: float, k: int) -> float:
        return total + k

    part = compiled.inner(add)

    def add_up(n: int) -> float:
        total = 0.0
        for k in range(n):
            total = part(total, k)
        return total

    run: Any = numba.njit(add_up)
    assert run(5) == 10.0
    assert kernel(triple)(2) == 6
