"""Each option is spelled once, in a record, and the record knows how it was given."""

import inspect
import re
import shlex
from pathlib import Path
from typing import TypeVar

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from habitprint.cli.app import app
from habitprint.cli.audit import AdversaryOptions, ProtectionOptions
from habitprint.cli.event_options import CountOptions, EventOptions, IdColumns, PeriodOptions, PlaceOptions, RowOptions
from habitprint.cli.match_options import MatchOptions
from habitprint.cli.options import AttackOptions, FileOptions, Options, TableColumns, expanded
from habitprint.cli.table_options import TableOptions
from habitprint.cli.train import WeightOptions

Record = TypeVar("Record", bound=Options)
RECORDS = [
    *(IdColumns, EventOptions, RowOptions, PlaceOptions, PeriodOptions, CountOptions, TableOptions),
    *(FileOptions, TableColumns, AttackOptions, MatchOptions, WeightOptions, AdversaryOptions, ProtectionOptions),
]
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(lambda text: text[0] != "-")


def read_back(kind: type[Record], words: list[str]) -> Record:
    """Return what a command with such options is called with."""
    found: list[Record] = []

    def command(options: Options) -> None:
        assert isinstance(options, kind)
        found.append(options)

    command.__annotations__["options"] = kind
    shell = typer.Typer(add_completion=False)
    shell.command()(expanded(command))
    result = CliRunner().invoke(shell, words)
    assert result.exit_code == 0, result.output
    return found[0]


@pytest.mark.parametrize("kind", RECORDS)
def test_without_a_word_a_record_has_its_defaults_and_nothing_was_given(kind: type[Options]) -> None:
    options = read_back(kind, [])
    assert options == kind()
    assert options.given == []


@given(
    time=TEXT,
    lat=st.none() | TEXT,
    side=st.floats(min_value=0.001, max_value=1e9),
    by_hours=st.none() | st.integers(1, 24),
    by_weekday=st.booleans(),
    noise=st.booleans(),
)
def test_what_was_given_is_read_back_from_the_words_of_a_shell(
    time: str, lat: str | None, side: float, by_hours: int | None, by_weekday: bool, noise: bool
) -> None:
    events = EventOptions(time=time, lat=lat)
    places = PlaceOptions(side=side, mapping=Path("my map.csv"), by_hours=by_hours, by_weekday=by_weekday)
    protections = ProtectionOptions(coarsen=[Path("a.csv"), Path("b c.csv")], noise=noise)
    weight = WeightOptions(weight="auto", train=(Path("a.csv"), Path("b c.csv")))
    for options in (events, places, protections, weight):
        words = shlex.split(" ".join(option.words for option in options.given))
        assert read_back(type(options), words) == options


def test_an_option_without_a_default_is_asked_for() -> None:
    def command(options: PlaceOptions, out: Path) -> None:
        raise AssertionError(options, out)

    flat = inspect.signature(expanded(command)).parameters
    assert flat["out"].default is inspect.Parameter.empty
    assert flat["side"].default is None


@pytest.mark.parametrize(
    ("command", "groups"),
    [
        ("audit", ["Input", "Periods", "Places", "Adversary", "Protections", "Cluster", "Output"]),
        ("split", ["Input", "Periods", "Places", "Cluster", "Output"]),
        ("inspect", ["Input", "Output"]),
        ("match", ["Input", "Adversary", "Cluster", "Output"]),
        ("path", ["Input", "Adversary", "Output"]),
        ("train", ["Input", "Adversary", "Output"]),
    ],
)
def test_help_comes_in_groups(command: str, groups: list[str]) -> None:
    text = CliRunner().invoke(app, [command, "--help"]).output
    assert re.findall(r"╭─ (\w+) ─", text)[2:] == groups  # after the arguments, and --help
