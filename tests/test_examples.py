"""The notebooks of the examples run, show what they hold, and tell nothing of whoever ran them."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))
NAMES = [path.stem for path in NOTEBOOKS]
ADDRESSES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}  # names of formats: nobody goes there
PERSONAL = re.compile(r"(?<![\w.<])/(?:tmp|root|home|Users|work|usr|var|opt)/|[A-Z]:\\\\|ipykernel_\d+|object at 0x")


def cells(path: Path, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in found if cell["cell_type"] == kind]


def code(path: Path) -> str:
    return "\n\n".join("".join(cell["source"]) for cell in cells(path, "code")) + "\n"


def test_there_are_three() -> None:
    assert NAMES == ["attack_on_two_tables", "choosing_a_protection", "first_audit"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_every_cell_was_run_in_order_and_none_failed_or_warned(path: Path) -> None:
    made = cells(path, "code")
    assert [cell["execution_count"] for cell in made] == list(range(1, len(made) + 1))
    kinds = {output["output_type"] for cell in made for output in cell["outputs"]}
    assert kinds <= {"execute_result", "display_data"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_what_is_stored_tells_nothing_of_a_machine_and_asks_no_network(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not PERSONAL.findall(text)
    assert set(re.findall(r"https?://[^\s\"\\<>]+", text)) <= ADDRESSES
    assert "<script" not in text


@pytest.mark.parametrize("path", NOTEBOOKS, ids=NAMES)
def test_every_notebook_shows_a_picture_and_a_table(path: Path) -> None:
    shown = [output["data"] for cell in cells(path, "code") for output in cell["outputs"]]
    pages = ["".join(data.get("text/html", "")) for data in shown]
    assert any("image/svg+xml" in data for data in shown) or any("data:image/svg+xml" in page for page in pages)
    assert any("<table" in page for page in pages)


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs(name: str) -> None:
    for module in ("nbclient", "ipykernel"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: it runs notebooks (dependency group test)")
    command = [
        sys.executable,
        str(ROOT / "scripts" / "notebooks.py"),
        "--check",
        name,
    ]  # groups are rounded at random, so what is shown may differ
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    # Groups are rounded at random, so what is shown may differ from run to run.
    assert done.returncode == 0 or "shows something else" in done.stderr, done.stderr


@pytest.mark.nightly
def test_whoever_checks_types_strictly_can_write_the_same(tmp_path: Path) -> None:
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed (dependency group lint)")
    for path in NOTEBOOKS:
        (tmp_path / f"{path.stem}.py").write_text(code(path), encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, *map(str, tmp_path.glob("*.py"))]
    follow = ["--follow-imports", "silent", "--cache-dir", str(tmp_path / "cache"), "--ignore-missing-imports"]
    environment = os.environ | {"MYPYPATH": str(ROOT / "src")}
    done = subprocess.run(
        [*command, *follow], capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout + done.stderr
