"""Imports flow in one direction, files stay short, and every public name shows an example."""

import ast
import inspect
from pathlib import Path

import pytest

import habitprint as hp

SOURCE = Path(hp.__file__).parent
# From left to right: no module imports one of a later layer.
LAYERS = [
    {"errors", "words", "arrays", "progress", "compiled", "versions"},
    {"files", "rates"},
    {"ids", "tables", "blocks"},
    {"counts"},
    {"histograms"},
    {"events"},
    {"mappings"},
    {"periods", "grids"},
    {"ties", "truth", "datasets"},
    {"mechanisms"},
    {"losses"},
    {"weights"},
    {"matching"},
    {"expectation"},
    {"evaluation", "charts"},
    {"markov"},
    {"experiments"},
    {"audit"},
    {"report"},
    {"__init__", "compile"},
    {"cli"},
    {"__main__"},
]
# Within a package of several files, in the same sense.
PACKAGES = {
    "events": [
        "stream", "labels", "clocks", "formats", "times", "columns", "table", "frames", "openers", "files", "combine",
        "sharing", "check",
    ],
    "periods": ["dates", "values", "packing", "tally", "split"],
    "mechanisms": [
        "guarantees", "release", "reference", "distances", "kernel", "grouping", "coarsening", "top_places",
        "suppression", "rounding", "contribution", "microaggregation", "measurement", "noise", "pseudonyms", "exposure",
        "sample", "days", "files",
    ],
    "weights": ["definitions", "reference", "index", "kernel", "pairs"],
    "matching": [
        "reference", "certificate", "queue", "state", "waiting", "lists", "scan", "flow", "kernel",
        "sides", "joint", "approximate", "one_by_one", "result", "match", "path", "detours", "margins",
    ],
    "datasets": [
        "illustration", "town", "twin_draws", "country", "calls_twin", "web_twin",
        "d4d", "web_history", "geolife", "complete_journey",
    ],
    "markov": ["model", "sphere", "reference", "kernel", "points", "chains", "distances", "match"],
    "experiments": [
        "claims", "more_claims", "spec", "paper", "published", "sources", "prepare", "measure", "store", "runner",
        "summary", "drawing", "rendering", "table_layouts", "curve_layouts", "picture_layouts", "layouts",
        "output", "index", "reproduce", "own",
    ],
    "audit": [
        "preparation", "facts", "sides", "attack", "check", "coarser", "candidates", "trial", "narrow", "give_aways",
        "people", "choose", "protect", "dependence", "result", "verdict", "run", "files",
    ],
    "report": [
        "words", "page", "theme", "layout", "charts", "glossary", "explain", "findings", "protections", "people",
        "build", "render", "folder",
    ],
    "cli": [
        "options", "event_options", "progress", "describe", "ending", "advice", "match", "path", "inspect", "split",
        "protect", "check", "reproduce", "audit", "datasets", "demo", "app",
    ],
}  # fmt: skip
FILES = sorted(SOURCE.rglob("*.py"))


def layer_of(module: str) -> int:
    name = module.split(".")[1] if "." in module else "__init__"
    return next(number for number, names in enumerate(LAYERS) if name in names)


def imported_modules(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                submodule = SOURCE.parent / Path(*node.module.split("."), alias.name)
                is_module = submodule.with_suffix(".py").exists() or submodule.is_dir()
                found.add(f"{node.module}.{alias.name}" if is_module else node.module)
    return {name for name in found if name.split(".")[0] == "habitprint"}


def name_of(file: Path) -> str:
    parts = ["habitprint", *file.relative_to(SOURCE).with_suffix("").parts]
    return ".".join(parts)


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_no_module_imports_one_to_its_right(file: Path) -> None:
    module = name_of(file)
    package, _, name = module.removeprefix("habitprint.").partition(".")
    for target in imported_modules(file):
        assert layer_of(target) <= layer_of(module), f"{module} imports {target}"
        target_package, _, target_name = target.removeprefix("habitprint.").partition(".")
        if package == target_package and name not in ("", "__init__") and target_name:
            order = PACKAGES[package]
            assert order.index(target_name) < order.index(name), f"{module} imports {target}"


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_files_stay_under_300_lines(file: Path) -> None:
    assert len(file.read_text().splitlines()) < 300


@pytest.mark.parametrize("name", [name for name in hp.__all__ if callable(getattr(hp, name))])
def test_every_public_name_has_a_docstring_with_an_example(name: str) -> None:
    value = getattr(hp, name)
    is_plain_signal = isinstance(value, type) and issubclass(value, (hp.HabitprintError, Warning))
    assert inspect.getdoc(value)
    assert is_plain_signal or ">>>" in (value.__doc__ or "")
