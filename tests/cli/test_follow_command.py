"""``habitprint follow`` as a person or a script meets it."""

import json
from pathlib import Path

import pytest

import habitprint as hp
from command_line import run


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    path = tmp_path / "calls.csv"
    rows = [f"{user},2012-04-{day:02d},home {user % 20}" for user in range(30) for day in range(9, 16)]
    path.write_text("\n".join(["user,time,place", *rows]))
    return path


def test_people_are_told_who_is_followed_and_get_a_picture(
    calls: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plot = calls.with_suffix(".svg")
    assert run(monkeypatch, "follow", calls, "--every", "2d", "--every", "5", "--plot", plot) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "With new pseudonyms every 2 days" in text
    assert "fewer than three releases of 5 days" in text
    assert plot.read_text().startswith("<svg")
    assert run(monkeypatch, "follow", calls, "--every", "2d", "--plot", plot) == 2  # the picture is there already


def test_machines_get_the_same_facts_as_python(
    calls: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "follow", calls, "--every", "1d", "--json") == 0
    (survival,) = json.loads(capsys.readouterr().out)["survivals"]
    (found,) = hp.follow(hp.read_events(calls), every=1).survivals
    assert [step["everybody"]["value"] for step in survival["followed"]] == [
        step.everybody.value for step in found.followed
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--every", "weekly"), "is not a number of days"),
        (("--every", "9d"), "the events cover 7 days"),
        (("--weeks", "2012-04-09"), "does not go with habitprint follow"),
        (("--most-releases", "2"), "--most-releases"),
    ],
)
def test_what_cannot_be_followed_is_refused_in_words(
    calls: Path,
    words: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(monkeypatch, "follow", calls, *words) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "why:" in told
    assert "fix:" in told
