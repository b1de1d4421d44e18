"""Whatever a file holds, a command ends with a right result or says what, why and how to fix it: nothing else happens.

`make test` looks at the same inputs each time, `make nightly` at more of them, `make fuzz` at thousands of fresh ones:
FUZZ_SEED and FUZZ_INPUTS.
"""

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hostile import KINDS, NO_FILES, READ, case_of, no_file
from laws import faults_of

SEED = int(os.environ.get("FUZZ_SEED", "1"))
N_INPUTS = int(os.environ.get("FUZZ_INPUTS", "500"))
BATCH = 50
BY_DAY = 2  # batches; all of them are run by night
pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(first, marks=pytest.mark.nightly if first >= BY_DAY * BATCH else ())
        for first in range(0, N_INPUTS, BATCH)
    ],
)
def test_no_input_surprises(first: int) -> None:
    bad: list[str] = []
    for number in range(first, min(first + BATCH, N_INPUTS)):
        case = case_of(SEED, number)
        with TemporaryDirectory(prefix="fuzz-") as folder:
            bad += [
                f"{number} ({case.kind}): {' '.join(case.words)[:120]!r}: {fault}"
                for fault in faults_of(case, Path(folder))
            ]
    assert not bad, f"seed {SEED}:\n" + "\n".join(bad)


@pytest.mark.parametrize(("name", "words"), READ, ids=[" ".join(words) for _, words in READ])
def test_nothing_but_a_regular_file_is_read(tmp_path: Path, name: str, words: list[str]) -> None:
    bad: list[str] = []
    for number, make in enumerate(NO_FILES):
        (tmp_path / str(number)).mkdir()
        bad += [f"{make.__name__}: {fault}" for fault in faults_of(no_file(name, words, make), tmp_path / str(number))]
    assert bad == []


def test_every_kind_of_input_is_tried() -> None:
    assert {case_of(1, number).kind for number in range(500)} == set(KINDS)
