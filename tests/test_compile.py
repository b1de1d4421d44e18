"""The kernels are compiled at set-up, all of them, so that no later command waits for the compiler."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import habitprint as hp

SOURCE = Path(hp.__file__).parent


def decorated_kernels() -> set[str]:
    """Return the names of the functions that are kernels, with their folder and file, from the text of all files."""
    return {
        f"{file.parent.name}/{file.stem}.{node.name}"
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(mark, ast.Name) and mark.id == "kernel" for mark in node.decorator_list)
    }


@pytest.mark.nightly
def test_every_kernel_is_compiled_at_set_up(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-m", "habitprint.compile"], check=True, env=environment)
    # Numba names the folder after that of the source, with a number behind it.
    found = {f"{file.parent.name.rpartition('_')[0]}/{file.name.split('-')[0]}" for file in tmp_path.rglob("*.nbi")}
    assert found == decorated_kernels()
