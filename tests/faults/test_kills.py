"""However a command is ended, what it leaves is whole or nothing; and after Ctrl-C and SIGTERM, nothing else."""

import os
import random
import signal
from pathlib import Path

import pytest
from disturbed import (
    COMMANDS,
    KILLED_BETWEEN_MOVES,
    Ended,
    drafts_in,
    faults_of_outputs,
    make_inputs,
    run,
    run_and_signal,
)

SEED = int(os.environ.get("FUZZ_SEED", "1"))
N_KILLS = int(os.environ.get("FUZZ_KILLS", "20"))
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
CODES = {signal.SIGINT: {0, 130}, signal.SIGTERM: {0, 143, -signal.SIGTERM}, signal.SIGKILL: {0, -signal.SIGKILL}}
LONGEST = 4.0  # seconds of a command on an idle machine; the moments are spread over them
pytestmark = pytest.mark.slow


def moment(number: int) -> tuple[str, signal.Signals, float]:
    """Return which command is ended, how and when: the same for the same seed and number."""
    rng = random.Random(f"{SEED}-{number}")  # noqa: S311 - no secret
    names = list(COMMANDS)
    return names[number % len(names)], SIGNALS[number // len(names) % len(SIGNALS)], rng.uniform(0.05, LONGEST)


def faults_of(name: str, folder: Path, ended: Ended, inputs: dict[str, bytes]) -> list[str]:
    """Return what is wrong after a command was stopped."""
    faults = faults_of_outputs(name, folder)
    faults += [f"{file} changed" for file, content in inputs.items() if (folder / file).read_bytes() != content]
    faults += [f"it shows a {word}" for word in ("Traceback", "Exception ignored", "panicked") if word in ended.err]
    return faults


@pytest.mark.parametrize("number", range(N_KILLS))
def test_a_command_that_is_stopped_leaves_nothing_half_done(tmp_path: Path, number: int) -> None:
    name, how, when = moment(number)
    make_inputs(tmp_path)
    inputs = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    ended = run_and_signal(COMMANDS[name], tmp_path, how, when)
    faults = faults_of(name, tmp_path, ended, inputs)
    if ended.code not in CODES[how]:
        faults.append(f"it ends with {ended.code}: {ended.err[-300:]}")
    if how != signal.SIGKILL:
        faults += [f"{draft} is left behind" for draft in drafts_in(tmp_path)]
    assert not faults, f"{name}, {how.name} after {when:.2f} s: {faults}"


@pytest.mark.parametrize("n_moves", range(1, 9))
def test_no_moment_between_two_moves_misleads_and_the_next_run_tidies_up(tmp_path: Path, n_moves: int) -> None:
    make_inputs(tmp_path)
    inputs = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    program = ("-c", KILLED_BETWEEN_MOVES, str(n_moves))
    ended = run(COMMANDS["protect"], tmp_path, *program)
    assert faults_of("protect", tmp_path, ended, inputs) == []
    # A release is replaced in the same way: never does a table of one stand beside the key of the other.
    assert run([*COMMANDS["protect"], "--force"], tmp_path).code == 0
    assert drafts_in(tmp_path) == []
    ended = run([*COMMANDS["protect"], "--force"], tmp_path, *program)
    assert faults_of("protect", tmp_path, ended, inputs) == []


def test_a_reproduction_that_was_killed_goes_on_to_the_same_result(tmp_path: Path) -> None:
    results = []
    for name in ("undisturbed", "killed"):
        (tmp_path / name).mkdir()
        make_inputs(tmp_path / name)
        if name == "killed":
            run(COMMANDS["reproduce"], tmp_path / name, "-c", KILLED_BETWEEN_MOVES, "9")
        assert run(COMMANDS["reproduce"], tmp_path / name).code == 0
        assert drafts_in(tmp_path / name) == []
        results.append((tmp_path / name / "paper" / "mine.csv").read_bytes())
    assert results[0] == results[1]
