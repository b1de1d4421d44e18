"""Imports flow in one direction and never in a circle, and every public name shows an example."""

import ast
import inspect
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import habitprint as hp

SOURCE = Path(hp.__file__).parent
# From the ground up: a part (a package, or a module that is in none) imports from itself and the lines above it only.
LAYERS = """
    streams
    formatting
    errors progress arrays
    runtime
    rates ids flags
    io
    histograms events
    places truth conversion
    periods
    checks singling_out
    wording.findings
    datasets mechanisms weighing
    losses matching
    evaluation
    attacks
    separation information
    training forecasting durations following prediction
    markov
    auditing
    wording
    plots
    experiments report backends
    __init__ compile
    cli
    __main__
"""
LAYER_OF = {name: number for number, line in enumerate(LAYERS.strip().splitlines()) for name in line.split()}
FILES = {
    ".".join(file.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__"): file
    for file in sorted(SOURCE.rglob("*.py"))
}


def imported_modules(file: Path) -> set[str]:
    """Return the modules of ours that a file imports, at its top or within a function."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports relatively"
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                found.add(submodule if submodule in FILES else str(node.module))
    return found & set(FILES)


def part_of(module: str) -> str:
    """Return the part that a module belongs to; what words findings stands below all that refuses data with them."""
    if module == "habitprint.wording.findings":
        return "wording.findings"
    return module.split(".")[1] if "." in module else "__init__"


@cache
def imports() -> dict[str, set[str]]:
    return {module: imported_modules(file) for module, file in FILES.items()}


def test_every_part_has_its_layer() -> None:
    assert set(map(part_of, FILES)) == set(LAYER_OF)


@pytest.mark.parametrize("module", FILES)
def test_no_module_imports_from_beside_or_below_its_part(module: str) -> None:
    for target in imports()[module]:
        part, other = part_of(module), part_of(target)
        assert part == other or LAYER_OF[other] < LAYER_OF[part], f"{module} imports {target}"


def test_no_modules_import_each_other_in_a_circle() -> None:
    order = list(TopologicalSorter(imports()).static_order())  # raises CycleError, which names the circle
    assert set(order) == set(FILES)


@pytest.mark.parametrize("name", [name for name in dir(hp) if callable(getattr(hp, name))])
def test_every_public_name_has_a_docstring_with_an_example(name: str) -> None:
    value = getattr(hp, name)
    is_plain_signal = isinstance(value, type) and issubclass(value, (hp.HabitprintError, Warning))
    assert inspect.getdoc(value)
    assert is_plain_signal or ">>>" in (value.__doc__ or "")
