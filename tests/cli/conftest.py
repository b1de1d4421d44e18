"""Files that several tests of the command line begin with."""

from pathlib import Path

import pytest

import habitprint as hp


@pytest.fixture
def town(tmp_path: Path) -> tuple[str, str]:
    files = tmp_path / "released.csv", tmp_path / "known.parquet"
    for file, side in zip(files, hp.datasets.town(50, 15, seed=1), strict=True):
        hp.tables.write_table(side.to_table(), file)
    return str(files[0]), str(files[1])
