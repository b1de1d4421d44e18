"""An executor that is killed costs time, and nothing else: the pairs and the proof are the same to the last bit."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parent / "killing.py"


def test_an_executor_killed_while_scoring_or_pricing_changes_no_bit() -> None:
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(run["when"], run["n_killed"]) for run in runs] == [("never", 0), ("scoring", 1), ("pricing", 1)]
    assert len({run["found"] for run in runs}) == 1
