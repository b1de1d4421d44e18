"""What is stored for examples is what would be made now: `make golden` writes it anew."""

from collections.abc import Iterator
from datetime import date

import pytest

import habitprint as hp
from audits import audit_of_town
from golden_pages import GOLDEN, pages


def leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from leaves(item, f"{path}.{name}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from leaves(item, f"{path}[{number}]")
    else:
        yield path, value


def test_the_stored_audit_of_a_town_is_the_one_that_is_made() -> None:
    stored, made = (
        dict(leaves(facts.to_json() | {"versions": None}))
        for facts in (hp.read_audit(hp.datasets.AUDIT_OF_TOWN), audit_of_town(12, 5))
    )
    assert stored.keys() == made.keys(), "make golden"
    days = [date.fromisoformat(str(each.pop(".run.made_on"))) for each in (stored, made)]
    assert days == sorted(days)  # the day of the audit is not that of the test
    for path, value in made.items():  # the last digits depend on the machine
        expected = pytest.approx(value, rel=1e-9, abs=1e-12) if isinstance(value, float) else value
        assert stored[path] == expected, f"{path}: make golden"


@pytest.mark.parametrize("name", ["first_screen.html", "first_screen.txt", "record.md"])
def test_each_renderer_makes_its_golden_page(name: str) -> None:
    assert pages()[name] == (GOLDEN / name).read_text(encoding="utf-8"), "make golden"
