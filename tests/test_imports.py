"""The public names are what they seem, and starting a command does not wait for what it does not use."""

import importlib.util
import subprocess
import sys

import pytest

import habitprint as hp


def test_commands_start_without_loading_what_draws() -> None:
    code = "import sys, habitprint.cli; print('altair' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_look_around_shows_the_public_names_and_nothing_else() -> None:
    assert sorted(dir(hp)) == sorted(hp.__all__)


@pytest.mark.parametrize("name", sorted(set(hp.__all__) - {"datasets", "markov"}))  # packages that are public
def test_no_public_name_hides_a_module_of_the_same_name(name: str) -> None:
    assert importlib.util.find_spec(f"habitprint.{name}") is None
