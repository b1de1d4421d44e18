"""Run commands in processes of their own, and disturb them."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import habitprint as hp
from habitprint.io.tables import write_table

PATIENCE = 300.0  # seconds; a machine may be busy with others
# A process that kills itself before the n-th move of a file.
KILLED_BETWEEN_MOVES = """
import os, signal, sys
from habitprint.cli import main
moment, done = int(sys.argv.pop(1)), 0
def look(event, arguments):
    global done
    if event in ("os.rename", "os.link") and ".habitprint-" in str(arguments):
        done += 1
        if done == moment:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(look)
main()
"""
# A command that says when it is loaded: before, Ctrl-C is an affair of Python's, and none of ours.
BEGUN = """
import os
from habitprint.cli import main
os.write(1, b"!")
main()
"""


@dataclass(frozen=True)
class Ended:
    """Hold how a process ended: by its exit code, or by a signal as a negative one; and what it said."""

    code: int
    err: str
    seconds: float


def make_inputs(folder: Path) -> None:
    """Write tables and events that commands can be run on."""
    for name, side in zip("ab", hp.datasets.town(20, 8, seed=1), strict=True):
        write_table(side.to_table(), folder / f"{name}.csv")
    lines = (
        f"u{user},2012-04-{9 + day:02d} 10:{user:02d}:00,p{(user * 3 + day * turn) % 5}\n"
        for user in range(9)
        for day in range(14)
        for turn in range(2)
    )
    (folder / "e.csv").write_text("user,time,place\n" + "".join(lines))
    (folder / "mine.toml").write_text('name = "mine"\n[events]\nfile = "e.csv"\n[vary]\nn_users = [3, 5]\n')


COMMANDS = {
    "match": ["match", "a.csv", "b.csv", "--out", "pairs.csv"],
    "split": ["split", "e.csv", "--released", "r.csv", "--known", "k.csv"],
    "protect": ["protect", "a.csv", "--k", "4", "--out", "safer.csv"],
    "audit": ["audit", "a.csv", "b.csv", "--no-noise", "--out", "found"],
    "reproduce": ["reproduce", "mine.toml", "--out", "paper"],
    "path": ["path", "a.csv", "b.csv", "--plot", "path.svg", "--out", "path.csv"],
    "train": ["train", "a.csv", "b.csv", "--out", "weight.json"],
    "datasets": ["datasets", "make", "cdr", "--users", "100", "--out", "calls.csv", "--antennas", "antennas.csv"],
}
# What belongs together, in the order in which it appears: whoever sees the last sees all.
TOGETHER = {
    "match": ["pairs.csv"],
    "split": ["r.csv", "k.csv"],
    "protect": ["safer.csv.key.csv", "safer.csv.owner.json", "safer.csv.json", "safer.csv"],
    "audit": ["found/report.html", "found/record.html", "found/record.md", "found/report.json", "found/users.parquet"],
    "reproduce": ["paper/mine.csv", "paper/mine.svg", "paper/mine.png", "paper/mine.md"],
    "path": ["path.svg", "path.csv"],
    "train": ["weight.json"],
    "datasets": ["calls.csv", "antennas.csv"],
}


def start(words: list[str], folder: Path, *program: str) -> "subprocess.Popen[str]":
    """Start ``habitprint`` with these words."""
    command = [sys.executable, *(program or ("-c", BEGUN)), *words]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(process: "subprocess.Popen[str]", began: float) -> Ended:
    """Wait for the end."""
    _, err = process.communicate(timeout=PATIENCE)
    return Ended(process.returncode, err, time.perf_counter() - began)


def run(words: list[str], folder: Path, *program: str) -> Ended:
    """Run a command undisturbed."""
    began = time.perf_counter()
    return end(start(words, folder, *program), began)


def run_and_signal(words: list[str], folder: Path, number: signal.Signals, moment: float) -> Ended:
    """Run a command, and send it a signal some seconds after it began."""
    process = start(words, folder)
    assert process.stdout is not None
    assert process.stdout.read(1) == "!"
    began = time.perf_counter()
    time.sleep(moment)
    os.kill(process.pid, number)
    return end(process, began)


def drafts_in(folder: Path) -> list[str]:
    """Return what is left of files in the making."""
    return [path.name for path in folder.rglob(".habitprint-*")]


def faults_of_outputs(name: str, folder: Path) -> list[str]:
    """Return what is wrong with the outputs of a command that was stopped: all are there, or the last is not."""
    files = TOGETHER[name]
    there = [file for file in files if (folder / file).exists()]
    if name == "audit" and there and there != files:
        return [f"a part of the folder: {there}"]
    if files[-1] in there and there != files:
        return [f"{files[-1]} without {sorted(set(files) - set(there))}"]
    if name == "protect" and there == files:
        checks = hp.check_guarantees(hp.read_release(folder / "safer.csv"))
        return [] if all(check.holds for check in checks) else ["the release breaks its guarantee"]
    return []
