"""Each option is spelled once, in a record, and the record knows how it was given."""

import inspect
import re
import shlex
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import TypeVar, get_type_hints

import hypothesis
import msgspec
import pytest
import typer
from hypothesis import strategies as st
from typer.testing import CliRunner

import habitprint as hp
from habitprint.auditing.audit import AuditKeywords
from habitprint.auditing.preparation import Subject
from habitprint.cli.app import app
from habitprint.cli.options import expanded, given
from habitprint.cli.tables import AttackOptions, TableOptions
from habitprint.events.spec import Reading, ReadingKeywords
from habitprint.flags import Record
from habitprint.histograms import TableKeywords, TableSpec
from habitprint.io.dialects import Format, FormatKeywords
from habitprint.matching.match import MatchKeywords, SolverOptions

AnyRecord = TypeVar("AnyRecord", bound=Record)
RECORDS = [Format, Reading, hp.EventSpec, TableSpec, SolverOptions, hp.MatchOptions, hp.AuditOptions, hp.Accountability]
KEYWORDS = [
    (Format, FormatKeywords),
    (Reading, ReadingKeywords),
    (TableSpec, TableKeywords),
    (hp.MatchOptions, MatchKeywords),
]
TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(lambda text: text[0] != "-")


def read_back(kind: type[AnyRecord], words: list[str]) -> AnyRecord:
    """Return what a command with such options is called with."""
    found: list[AnyRecord] = []

    def command(options: Record) -> None:
        assert isinstance(options, kind)
        found.append(options)

    command.__annotations__["options"] = kind
    shell = typer.Typer(add_completion=False)
    shell.command()(expanded(command))
    result = CliRunner().invoke(shell, words)
    assert result.exit_code == 0, result.output
    return found[0]


@pytest.mark.parametrize("kind", [*RECORDS, TableOptions, AttackOptions])
def test_without_a_word_a_record_has_its_defaults_and_nothing_was_given(kind: type[Record]) -> None:
    options = read_back(kind, [])
    assert options == kind()
    assert given(options) == []


@pytest.mark.parametrize("kind", RECORDS)
def test_a_record_is_read_back_from_json_which_knows_no_other_field(kind: type[Record]) -> None:
    assert msgspec.json.decode(msgspec.json.encode(kind()), type=kind) == kind()
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.json.decode(b'{"no such option": 1}', type=kind)


@pytest.mark.parametrize(("kind", "keywords"), KEYWORDS)
def test_keywords_are_the_fields_of_their_record(kind: type[Record], keywords: type) -> None:
    assert set(get_type_hints(keywords)) == set(kind.__struct_fields__)


def test_keywords_of_an_audit_are_its_options_and_what_is_given_beside_the_data() -> None:
    beside = {field.name for field in fields(Subject)} - {"source"} | set(Reading.__struct_fields__)
    assert set(get_type_hints(AuditKeywords)) == beside | set(hp.AuditOptions.__struct_fields__)


@hypothesis.given(
    time=TEXT,
    lat=st.none() | TEXT,
    side=st.floats(min_value=0.001, max_value=1e9),
    by_hours=st.none() | st.integers(1, 24),
    by_weekday=st.booleans(),
    noise=st.booleans(),
    share=st.floats(min_value=1e-4, max_value=1),
)
def test_what_was_given_is_read_back_from_the_words_of_a_shell(
    time: str, lat: str | None, side: float, by_hours: int | None, by_weekday: bool, noise: bool, share: float
) -> None:
    events = hp.EventSpec(
        time=time,
        lat=lat,
        lon=lat,
        columns=["user", "when"],
        without_user=("NULL", "n/a"),
        mapping="my map.csv",
        side=side,
        by_hours=by_hours,
        by_weekday=by_weekday,
    )
    audit = hp.AuditOptions(target=share, accept=("future-dates", "no-shared-places"), noise=noise)
    match = hp.MatchOptions(max_memory=5e8, size=3)
    weight = AttackOptions(weight="auto", train=(Path("a.csv"), Path("b c.csv")))
    behind = hp.Accountability(controller=time, access="secure-room", key_until=date(2027, 1, 31))
    for options in (events, audit, match, weight, behind):
        words = shlex.split(" ".join(option.words for option in given(options)))
        assert read_back(type(options), words) == options


def test_an_option_without_a_default_is_asked_for() -> None:
    def command(options: hp.EventSpec, out: Path) -> None:
        raise AssertionError(options, out)

    flat = inspect.signature(expanded(command)).parameters
    assert flat["out"].default is inspect.Parameter.empty
    assert flat["side"].default is None


@pytest.mark.parametrize(
    ("command", "groups"),
    [
        (
            "audit",
            ["Most needed", "Input", "Periods", "Places", "Attacker", "Protections", "Output", "Record", "Cluster"],
        ),
        ("split", ["Most needed", "Input", "Periods", "Places", "Cluster", "Output"]),
        ("inspect", ["Most needed", "Input", "Output"]),
        ("match", ["Input", "Attacker", "Cluster", "Output"]),
        ("path", ["Input", "Attacker", "Output"]),
        ("train", ["Input", "Attacker", "Output"]),
    ],
)
def test_help_comes_in_groups(command: str, groups: list[str]) -> None:
    text = CliRunner().invoke(app, [command, "--help"]).output
    assert re.findall(r"╭─ ([\w ]+) ─", text)[2:] == groups  # after the arguments, and --help


def test_every_option_and_argument_has_a_help_text() -> None:
    commands = {"": typer.main.get_command(app)}
    commands |= vars(commands[""])["commands"]
    commands |= {f"datasets {name}": one for name, one in vars(commands["datasets"])["commands"].items()}
    texts = {(name, each.name): getattr(each, "help", None) for name, one in commands.items() for each in one.params}
    assert len(texts) > 150
    assert not [where for where, text in texts.items() if not text or text != " ".join(text.split())]


def test_the_help_of_a_command_leaves_out_its_parameters() -> None:
    text = CliRunner().invoke(app, ["split", "--help"]).output
    assert "Parameters" not in text
    assert "released_out" not in text


def test_an_option_with_one_value_is_given_once_and_a_flag_may_be_repeated() -> None:
    for twice in (["--target", "5%", "--target=6%"], ["--name", "a", "--out", "b", "--name", "a"]):
        done = CliRunner().invoke(app, ["audit", "a.csv", "b.csv", *twice])
        assert done.exit_code == 2
        assert f"{twice[0]} is given twice" in done.output
    done = CliRunner().invoke(app, ["match", "absent.csv", "b.csv", "--json", "--json"])
    assert "twice" not in done.output
    done = CliRunner().invoke(app, ["inspect", "absent.csv", "--time-format", "%Y", "--time-format", "%d.%m.%Y"])
    assert "absent.csv: there is no such file" in done.output
