"""The public names are what they seem, and starting a command does not wait for what it does not use."""

import importlib.util
import subprocess
import sys

import pytest

import habitprint as hp


@pytest.mark.slow
def test_commands_start_without_loading_what_draws_or_works_on_a_cluster() -> None:
    code = "import sys, habitprint.cli; print({'altair', 'pyspark'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_a_look_around_shows_the_public_names_and_nothing_else() -> None:
    names: list[str] = vars(hp)["__all__"]
    assert dir(hp) == sorted([*names, "Spark"])  # which is an extra: `import *` does without
    assert {"Histograms", "match", "write_report", "datasets"} < set(names)
    assert not {"attacks", "importlib", "typing"} & set(names)


@pytest.mark.slow
def test_without_spark_its_package_says_how_to_get_it() -> None:
    code = "import sys; sys.modules['pyspark'] = None; import habitprint; habitprint.Spark"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pyspark is not installed" in done.stderr
    assert "pip install 'habitprint[spark]'" in done.stderr


@pytest.mark.parametrize("name", sorted(set(dir(hp)) - {"datasets", "markov"}))  # packages that are public
def test_no_public_name_hides_a_module_of_the_same_name(name: str) -> None:
    assert importlib.util.find_spec(f"habitprint.{name}") is None
