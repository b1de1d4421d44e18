"""Facts to report, harmless and hostile."""

from pathlib import Path
from typing import Any

import pytest

import habitprint as hp

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><!--<script>"
NAMES_OF_KINDS = {
    "schema",
    "method",
    "weight",
    "direction",
    "dimension",
    "axis",
    "how",
    "missing",
    "on",
    "periods_how",
    "reason",
    "order",
    "kind",
    "decide",
    "predicted_on",
    "keep",
    "first",
    "last",
    "ranges",
    "made_on",
    "code",
    "gravity",
}  # ours, not the data's


@pytest.fixture(scope="session")
def harmless(found: hp.Audit) -> str:
    return hp.render_report(found)


@pytest.fixture(scope="session")
def hostile(found: hp.Audit) -> str:
    """Return the report of the same facts, with markup before every text that could come from the data."""
    return hp.render_report(hp.Audit.from_json(with_markup(found.to_json())))


@pytest.fixture(scope="session")
def report(harmless: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(harmless, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def hostile_report(hostile: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    path.write_text(hostile, encoding="utf-8")
    return path


RECORDS = {"recipe", "guarantees"}  # of names and parameters that we define


def with_markup(value: Any, name: str = "") -> Any:
    if name in RECORDS:
        return value
    if isinstance(value, dict):
        return {key: with_markup(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [with_markup(item, name) for item in value]
    return HOSTILE + value if isinstance(value, str) and name not in NAMES_OF_KINDS else value
