"""However a command is ended, what it leaves is whole or nothing; and after Ctrl-C and SIGTERM, nothing else."""

import os
import random
import signal
from pathlib import Path

import pytest
from disturbed import (
    COMMANDS,
    KILLED_BETWEEN_MOVES,
    TOGETHER,
    Ended,
    drafts_in,
    faults_of_outputs,
    make_inputs,
    run,
    run_and_signal,
)

import habitprint as hp
from nights import by_night

SEED = int(os.environ.get("FUZZ_SEED", "1"))
N_KILLS = int(os.environ.get("FUZZ_KILLS", "20"))
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
CODES = {signal.SIGINT: {0, 130}, signal.SIGTERM: {0, 143, -signal.SIGTERM}, signal.SIGKILL: {0, -signal.SIGKILL}}
BY_DAY = (1, 2, 3)  # each signal once, and what writes two files, four files and a folder; the others by night
LONGEST = 4.0  # seconds of a command on an idle machine; the moments are spread over them
pytestmark = pytest.mark.slow


def moment(number: int) -> tuple[str, signal.Signals, float]:
    """Return which command is ended, how and when: the same for the same seed and number."""
    rng = random.Random(f"{SEED}-{number}")  # noqa: S311 - no secret
    names = list(COMMANDS)
    # The two have no common divisor, so that every command meets every signal.
    return names[number % len(names)], SIGNALS[number % len(SIGNALS)], rng.uniform(0.05, LONGEST)


def faults_of(name: str, folder: Path, ended: Ended, inputs: dict[str, bytes]) -> list[str]:
    """Return what is wrong after a command was stopped."""
    faults = faults_of_outputs(name, folder)
    faults += [f"{file} changed" for file, content in inputs.items() if (folder / file).read_bytes() != content]
    faults += [f"it shows a {word}" for word in ("Traceback", "Exception ignored", "panicked") if word in ended.err]
    return faults


@pytest.mark.parametrize(
    "number",
    [pytest.param(number, marks=() if number in BY_DAY else pytest.mark.nightly) for number in range(N_KILLS)],
)
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


@pytest.mark.parametrize("n_moves", [4, *by_night(1, 2, 3)])
def test_at_no_moment_between_two_moves_is_a_table_without_its_key(tmp_path: Path, n_moves: int) -> None:
    make_inputs(tmp_path)
    inputs = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    ended = run(COMMANDS["protect"], tmp_path, "-c", KILLED_BETWEEN_MOVES, str(n_moves))
    assert ended.code == -signal.SIGKILL
    assert faults_of("protect", tmp_path, ended, inputs) == []
    assert not (tmp_path / "safer.csv").exists()


@pytest.mark.parametrize("n_moves", [8, *by_night(*range(1, 8))])
def test_at_no_moment_does_an_old_table_stand_beside_a_new_key_and_the_next_run_tidies_up(
    tmp_path: Path, n_moves: int
) -> None:
    make_inputs(tmp_path)
    inputs = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    release, key = hp.pseudonymise(hp.microaggregate(hp.read_histograms(tmp_path / "a.csv"), k=4))
    hp.write_release(release, tmp_path / "safer.csv", key=key)
    old = {name: (tmp_path / name).read_bytes() for name in TOGETHER["protect"]}
    ended = run([*COMMANDS["protect"], "--force"], tmp_path, "-c", KILLED_BETWEEN_MOVES, str(n_moves))
    assert ended.code == -signal.SIGKILL
    assert faults_of("protect", tmp_path, ended, inputs) == []
    there = {name: (tmp_path / name).read_bytes() for name in old if (tmp_path / name).exists()}
    assert len({content == old[name] for name, content in there.items()}) <= 1  # all old, or all new
    hp.write_release(release, tmp_path / "safer.csv", key=key, overwrite=True)
    assert drafts_in(tmp_path) == []


@pytest.mark.nightly
def test_a_reproduction_that_was_killed_goes_on_to_the_same_result(tmp_path: Path) -> None:
    results = []
    for name in ("undisturbed", "killed"):
        (tmp_path / name).mkdir()
        make_inputs(tmp_path / name)
        if name == "killed":
            run(COMMANDS["reproduce"], tmp_path / name, "-c", KILLED_BETWEEN_MOVES, "3")
        assert run(COMMANDS["reproduce"], tmp_path / name).code == 0
        assert drafts_in(tmp_path / name) == []
        results.append((tmp_path / name / "paper" / "mine.csv").read_bytes())
    assert results[0] == results[1]
