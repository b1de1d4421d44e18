"""Starting a command must not wait for what it does not use."""

import subprocess
import sys


def test_commands_start_without_loading_what_draws() -> None:
    code = "import sys, habitprint.cli; print('altair' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
