"""Ids that look like one written in several ways are counted, and so are rows that are no visits."""

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import habitprint as hp
from habitprint.cli.app import app
from habitprint.events import find_runs, find_spellings

BASES = ["jo", "ann", "7", "42x"]


def events_of(users: list[str], places: list[object] | None = None) -> hp.Events:
    n = len(users)
    return hp.events_from_frame({"user": users, "time": ["2012-04-09"] * n, "place": places or ["x"] * n})


@given(
    st.lists(
        st.tuples(st.sampled_from(BASES), st.booleans(), st.booleans(), st.integers(0, 2)), min_size=1, max_size=12
    )
)
def test_ids_that_are_one_but_for_blanks_capitals_and_zeros_are_counted(
    spellings: list[tuple[str, bool, bool, int]],
) -> None:
    users = [
        ("0" * zeros if base[0].isdigit() else "") + (base.upper() if capital else base) + (" " if blank else "")
        for base, capital, blank, zeros in spellings
    ]
    groups: dict[str, set[str]] = {}
    for (base, *_), user in zip(spellings, users, strict=True):
        groups.setdefault(base, set()).add(user)
    several = [group for group in groups.values() if len(group) > 1]
    found = find_spellings(events_of(users), "user")
    assert (found.n_ids, found.n_meant) == (sum(map(len, several)), len(several))
    assert bool(found.words) == bool(several)


def test_each_way_is_counted_by_itself() -> None:
    found = find_spellings(events_of(["jo", "jo ", "ann", "Ann", "7", "007", "Bo", "0", "00", "x"]), "user")
    assert (found.by_blanks, found.by_case, found.by_zeros) == (2, 2, 4)
    assert (found.n_ids, found.n_meant) == (8, 4)
    assert find_spellings(events_of(["a"], ["Bar"]), "place").n_ids == 0


def test_integers_are_written_in_one_way() -> None:
    table = {"user": [7, 70], "time": ["2012-04-09"] * 2, "place": [1, 10]}
    assert find_spellings(hp.events_from_frame(table), "user").n_ids == 0


def test_inspect_tells_of_ids_written_twice_and_keeps_them_apart(tmp_path: Path) -> None:
    rows = [("Jo", "Bar"), ("jo ", "bar"), ("Ann", "gym")]
    frame = pl.DataFrame(rows, schema=["user", "place"], orient="row").with_columns(time=pl.lit("2012-04-09"))
    frame.write_csv(tmp_path / "calls.csv")
    result = CliRunner().invoke(app, ["inspect", str(tmp_path / "calls.csv")])
    assert "2 ids of users look like 1 that are written in several ways" in result.stdout
    assert "'Jo' and 'jo '" in result.stdout
    assert "2 ids of places look like 1" in result.stdout
    facts = json.loads(CliRunner().invoke(app, ["inspect", str(tmp_path / "calls.csv"), "--json"]).stdout)
    assert facts["n_users"] == 3
    assert [each["n_ids"] for each in facts["spellings"]] == [2, 2]


@pytest.mark.parametrize("one_in", [1, 2])
def test_runs_are_counted_in_the_order_of_time(one_in: int, monkeypatch: pytest.MonkeyPatch) -> None:
    places = ["a", "b", "b", "b", "a", "a"]
    users = [f"u{n}" for n in range(10)]
    rows = [(user, f"2012-04-09 08:{n:02d}", place) for user in users for n, place in enumerate(places)]
    frame = pl.DataFrame(rows, schema=["user", "time", "place"], orient="row").sample(fraction=1, shuffle=True, seed=2)
    monkeypatch.setattr("habitprint.events.runs.MOST_ROWS", 60 // one_in)
    found = find_runs(hp.events_from_frame(frame))
    assert found.median == 3.0
    assert found.n_users == 10 if one_in == 1 else 0 < found.n_users < 10


def test_inspect_advises_stays_where_rows_are_fixes(tmp_path: Path) -> None:
    n = 1500
    clock = pl.datetime_range(pl.datetime(2012, 4, 9), pl.datetime(2012, 4, 10), interval="30s", eager=True).head(n)
    frame = pl.DataFrame({"user": ["Jo"] * n, "time": clock, "lat": [47.0] * n, "lon": [8.0] * n})
    frame.write_parquet(tmp_path / "fixes.parquet")
    words = ["inspect", str(tmp_path / "fixes.parquet"), "--lat", "lat", "--lon", "lon"]
    assert "--stays 200m,15min" in CliRunner().invoke(app, words).stdout
    with_stays = CliRunner().invoke(app, [*words, "--stays", "200m,15min"])
    assert with_stays.exit_code == 0, with_stays.stderr
    assert "fixes are not visits" not in with_stays.stdout
    assert "1,499 where the fix is a further one of a stay" in with_stays.stdout
