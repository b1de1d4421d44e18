"""``habitprint split`` and ``habitprint match`` on Spark, as a person or a script meets them."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import polars as pl
import pytest

import habitprint as hp
from command_line import run

TWICE = ("counts.parquet", "counts.parquet")
COUNTS = ("--user", "caller", "--place", "antenna", "--count", "when")
NAMES = ("--user", "caller", "--time", "when", "--place", "antenna")


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    """Return a folder of events of twenty people in two weeks."""
    folder = tmp_path / "calls"
    folder.mkdir()
    days = [f"2012-04-{day:02}" for day in range(9, 23)]
    rows = [
        (user, f"{day} 10:00", (user * 7 + number % 3) % 11) for user in range(20) for number, day in enumerate(days)
    ]
    frame = pl.DataFrame(rows, schema=["caller", "when", "antenna"], orient="row")
    for part in range(2):
        frame[part::2].write_parquet(folder / f"part-{part}.parquet")
    pl.DataFrame({"user": [1, 2], "place": ["a", "b"], "count": [1, 1]}).write_parquet(tmp_path / "counts.parquet")
    (tmp_path / "nobody.csv").write_text("released,known\nnobody,nobody\n")
    return folder


def test_a_folder_is_split_and_matched_as_on_one_machine(
    calls: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(calls.parent)
    spark = ("--backend", "spark")
    assert run(monkeypatch, "split", "calls", *NAMES, *spark, "--released", "a", "--known", "b", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert run(monkeypatch, "split", "calls/*", *NAMES, "--released", "a.csv", "--known", "b.csv", "--json") == 0
    here = json.loads(capsys.readouterr().out)
    assert told | {"source": "", "released": "", "known": ""} == here | {"source": "", "released": "", "known": ""}

    weight = hp.train(*map(hp.read_histograms, ("a.csv", "b.csv"))).trained
    assert weight is not None
    hp.write_weight(weight.weight, "weight.json")
    options = ("--truth", "same-id", "--weight", "weight.json", "--json")
    assert run(monkeypatch, "match", "a", "b", *spark, *options, "--out", "pairs") == 0
    told = json.loads(capsys.readouterr().out)
    assert run(monkeypatch, "match", "a.csv", "b.csv", *options) == 0
    here = json.loads(capsys.readouterr().out)
    assert told["total_weight"] == pytest.approx(here["total_weight"], rel=1e-9)
    assert told["evaluation"] == here["evaluation"]
    assert told["is_exact"]
    assert pl.read_parquet("pairs/*.parquet").height == told["size"] == 20
    assert Path("pairs").stat().st_mode & 0o077 == 0  # who is who is nobody else's business
    assert not list(calls.parent.glob(".habitprint-*"))

    assert run(monkeypatch, "match", "a", "b", *spark, "--out", "pairs") == 2
    assert "pairs exists already" in capsys.readouterr().err
    assert run(monkeypatch, "match", "a", "b", *spark, "--out", "pairs", "--force", "--size", "3") == 0
    assert pl.read_parquet("pairs/*.parquet").height == 3
    assert "3 pairs written to: pairs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("split", "calls", "--released", "a", "--known", "b"), "has no column 'user'"),
        (("split", "nothing", *NAMES, "--released", "a", "--known", "b"), "path does not exist"),
        (("split", "calls", *NAMES, "--released", "calls", "--known", "b", "--force"), "it is one of the inputs"),
        (("split", "calls", *NAMES, "--released", "no/a", "--known", "b"), "does not exist"),
        (("split", "calls", *NAMES, "--released", "a", "--known", "b", "--stays", "200m,15min"), "--stays does not go"),
        (
            ("split", "calls", *NAMES, "--released", "a", "--known", "b", "--side", "500"),
            "--side is given without --box",
        ),
        (("split", "calls", *NAMES, "--released", "a", "--known", "b", "--master", "yarn"), "not on yarn"),
        (
            ("split", "calls", *NAMES, "--released", "a", "--known", "b", "--conf", "memory=4g"),
            "not a setting of Spark",
        ),
        (("match", "calls", "calls"), "has no column 'user'"),
        (("match", "nothing", "calls"), "nothing: Spark: path does not exist"),
        (("match", "calls", "calls", "--method", "one-by-one"), "does not go with --backend spark"),
        (("match", "calls", "calls", *COUNTS, "--method", "approximate"), "the approximate method needs epsilon"),
        (("match", "calls", "calls", "--weight", "auto"), "--weight auto does not go"),
        (("match", *TWICE, "--truth", "nobody.csv", "--out", "others"), "--truth nobody.csv: no user is in both"),
    ],
)
def test_what_cannot_be_done_is_said(
    calls: Path,
    words: tuple[str, ...],
    fault: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(calls.parent)
    assert run(monkeypatch, *words, "--backend", "spark") == 2
    shown = capsys.readouterr()
    assert fault in shown.err
    assert "fix:" in shown.err
    assert shown.out == ""
    assert not Path("others").exists()


def run_apart(calls: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "habitprint", "split", str(calls), *NAMES, "--backend", "spark", *words]
    outs = ("--released", str(calls.parent / "a"), "--known", str(calls.parent / "b"))
    return subprocess.run(
        [*command, *outs], capture_output=True, text=True, check=False, env={**os.environ, **environment}, timeout=300
    )


def test_without_java_it_is_said_how_to_get_it(calls: Path) -> None:
    done = run_apart(calls, "--master", "local[1]", PATH="/nowhere")
    assert done.returncode == 2
    assert done.stderr.startswith("error: Java is not installed, does not start")
    assert "openjdk-17-jre-headless" in done.stderr


def test_an_old_java_is_refused(calls: Path, tmp_path: Path) -> None:
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_392\"' >&2\n")
    java.chmod(0o755)
    done = run_apart(calls, "--master", "local[1]", JAVA_HOME=str(tmp_path))
    assert done.returncode == 2
    assert "error: Java is not installed, does not start, or is too old" in done.stderr
    assert "Spark 4 runs on Java 17 or newer" in done.stderr


@pytest.mark.nightly
def test_an_interrupt_ends_spark_too_and_leaves_nothing(calls: Path) -> None:
    mark = f"habitprint-test-{uuid4().hex}"
    command = [sys.executable, "-m", "habitprint", "split", str(calls), *NAMES, "--backend", "spark"]
    words = ("--master", "local[1]", "--released", str(calls.parent / "a"), "--known", str(calls.parent / "b"))
    environment = {**os.environ, "HABITPRINT_TEST": mark}
    process = subprocess.Popen([*command, *words], stderr=subprocess.PIPE, text=True, env=environment)
    while process.poll() is None and not any("pyspark.daemon" in told for told in _marked(mark)):
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped" in err
    assert "Traceback" not in err
    end = time.monotonic() + 60
    while time.monotonic() < end and _marked(mark):
        time.sleep(0.1)
    assert not _marked(mark)
    assert {path.name for path in calls.parent.iterdir()} == {"calls", "counts.parquet", "nobody.csv"}


def _marked(mark: str) -> list[str]:
    """Return the command lines of all processes that inherited a mark."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (process / "environ").read_bytes():
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return found
