"""Ids that look like one written in several ways are counted, and so are rows that are no visits."""

import json
import re
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import habitprint as hp
from habitprint.cli.app import app
from habitprint.events import longest_run


def events_of(users: list[str], places: list[object] | None = None) -> hp.Events:
    n = len(users)
    return hp.events_from_frame({"user": users, "time": ["2012-04-09"] * n, "place": places or ["x"] * n})


def test_inspect_tells_of_ids_written_twice_and_keeps_them_apart(tmp_path: Path) -> None:
    rows = [("Jo", "Bar"), ("jo ", "bar"), ("Ann", "gym")]
    frame = pl.DataFrame(rows, schema=["user", "place"], orient="row").with_columns(time=pl.lit("2012-04-09"))
    frame.write_csv(tmp_path / "calls.csv")
    result = CliRunner().invoke(app, ["inspect", str(tmp_path / "calls.csv")])
    assert "2 of 3 user ids differ from another only by capital letters, such as 'Jo', 'jo '." in result.stdout
    assert "2 of 3 place ids" in result.stdout
    facts = json.loads(CliRunner().invoke(app, ["inspect", str(tmp_path / "calls.csv"), "--json"]).stdout)
    assert facts["n_users"] == 3
    written = [each for each in facts["findings"] if each["code"] == "ids-in-capitals"]
    assert [(each["kind"], each["count"]) for each in written] == [("user", 2), ("place", 2)]


@pytest.mark.parametrize("one_in", [1, 2])
def test_runs_are_counted_in_the_order_of_time(one_in: int, monkeypatch: pytest.MonkeyPatch) -> None:
    places = ["a", "b", "b", "b", "a", "a"]
    users = [f"u{n}" for n in range(10)]
    rows = [(user, f"2012-04-09 08:{n:02d}", place) for user in users for n, place in enumerate(places)]
    frame = pl.DataFrame(rows, schema=["user", "time", "place"], orient="row").sample(fraction=1, shuffle=True, seed=2)
    monkeypatch.setattr("habitprint.events.prepare.MOST_ROWS", 60 // one_in)
    assert longest_run(hp.events_from_frame(frame)) == 3.0


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
    assert re.search(r"the fix is a further one.* 1,499", with_stays.stdout)
