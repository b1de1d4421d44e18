"""A spec of your own runs on your own events, and says what is wrong with it."""

from pathlib import Path

import polars as pl
import pytest
from small import town_events

import habitprint as hp
from habitprint.experiments import make_output, reproduce
from habitprint.experiments.spec import EXAMPLE, read_spec

SPEC = EXAMPLE.replace("100, 1000", "10, 20")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    events = town_events(40).usable.collect().rename({"user": "user_id", "time": "datetime", "place": "antenna"})
    events.write_parquet(tmp_path / "calls.parquet")
    return tmp_path


def write(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text)
    return path


def test_the_example_of_the_documentation_runs_and_gives_what_doing_it_by_hand_gives(folder: Path) -> None:
    experiment, source = read_spec(write(folder, SPEC))
    out = folder / "out"
    report = reproduce([experiment], {"events": source}, make_output(out), out).reports[0]
    assert report.files == ("our-users.csv", "our-users.svg", "our-users.png", "our-users.md")
    table = pl.read_csv(out / "our-users.csv")
    assert sorted(set(table["value"])) == [10, 20, 40]
    assert set(table["repeats"]) == {5, 1}
    assert report.findings[0].claim == "accuracy falls along what varies"
    assert "twin" not in (out / "our-users.md").read_text()
    events = hp.read_events(str(folder / "calls.parquet"), user="user_id", time="datetime", place="antenna")
    released, known = hp.split(events, hp.ConsecutiveWeeks("2012-04-09"))
    expected = hp.evaluate(hp.match(released, known, weight="l1"), released, known).accuracy
    all_by_l1 = table.filter((pl.col("value") == 40) & (pl.col("weight") == "l1"))
    assert all_by_l1["accuracy"].to_list() == [expected]


def test_options_take_the_place_of_what_the_spec_says(folder: Path) -> None:
    path = write(folder, SPEC.replace('user = "user_id"', 'user = "nobody"'))
    other = folder / "other.parquet"
    other.write_bytes((folder / "calls.parquet").read_bytes())
    _, source = read_spec(path, {"file": str(other), "user": "user_id"})
    assert source.words == "other.parquet"  # without the folder, for this is shown
    assert source.open is not None
    assert source.open().events.columns == ["user", "time", "place"]


def test_without_values_to_vary_there_is_a_table(folder: Path) -> None:
    text = SPEC.partition("[vary]")[0].replace('["falls", "leads"]', '["leads"]')
    text += "[setting]\nn_users = 20\nn_common = 10\n"
    experiment, _ = read_spec(write(folder, 'methods = ["joint", "one-by-one"]\n' + text))
    assert experiment.layout == "points"
    assert len(list(experiment.jobs())) == 2 * 2 * 5


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("repeats = 5", "repeat = 5", "did you mean 'repeats'"),
        ("repeats = 5", 'repeats = "5"', "Expected `int`"),
        ("repeats = 5", "repeats = true", "Expected `int`"),
        ("repeats = 5", "repeats = 0", "repeats 0 is not a whole number"),
        ('"l1"]', '"l2"]', "use one of jensen-shannon, l1"),
        ('"l1"]', "1]", "Expected `str`"),
        ("[vary]", "[periods.first_day]\n[vary]", "first_day"),
        ('"falls"', '"rises"', "use one of leads, falls, grows"),
        ('name = "our-users"', 'name = "../our"', "name = '../our'"),
        ("repeats = 5", 'methods = ["markov-stationary"]', "use one of joint, joint-common, one-by-one"),
        ('user = "user_id"', 'users = "user_id"', "did you mean 'user'"),
        ('file = "calls.parquet"', "", "does not say where the events are"),
        ('file = "calls.parquet"', 'file = "gone.parquet"', "there is no such file"),
        ('weeks = "2012-04-09"', 'weeks = "2012-04-09"\nhalves = true', "weeks and halves"),
        ('weeks = "2012-04-09"', 'weeks = "April"', "'April' is not a date"),
        ('weeks = "2012-04-09"', "ranges = [1]", "ranges = [1]"),
        ('weeks = "2012-04-09"', 'week = "2012-04-09"', "did you mean 'weeks'"),
        ("n_users = [", "n_user = [", "there is no quantity to vary 'n_user'"),
        ('n_users = [10, 20, "all"]', "n_users = 10", "Expected `array`"),
        ("n_users = [10", "n_users = [0", "n_users = 0"),
        ("n_users = [", "k = [1]\nn_users = [", "one thing varies at a time"),
        ('place = "antenna"', 'lat = "lat"\nlon = "lon"', "lat and lon without box"),
        ('place = "antenna"', 'lat = "lat"\nlon = "lon"\nbox = [1, 2]', "box = [1, 2]"),
        ("[vary]", "[vary", "an experiment is a TOML file"),
    ],
)
def test_a_fault_is_named_with_how_to_fix_it(folder: Path, old: str, new: str, words: str) -> None:
    assert old in SPEC
    with pytest.raises(hp.InputError) as error:
        read_spec(write(folder, SPEC.replace(old, new)))
    assert words in str(error.value)


def test_a_spec_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(hp.InputError, match="there is no such file"):
        read_spec(tmp_path / "gone.toml")


def test_positions_become_squares(tmp_path: Path) -> None:
    rows = [(user, f"2012-04-{day:02d}", 40.0 + user / 100, 116.3) for user in range(4) for day in (9, 16)]
    pl.DataFrame(rows, schema=["user", "time", "lat", "lon"], orient="row").write_csv(tmp_path / "points.csv")
    text = """
weights = ["l1"]
[events]
file = "points.csv"
lat = "lat"
lon = "lon"
box = [39.9, 116.2, 40.1, 116.4]
[periods]
ranges = [["2012-04-09", "2012-04-15"], ["2012-04-16", "2012-04-22"]]
[vary]
side = [500, 5000]
"""
    experiment, source = read_spec(write(tmp_path, text))
    out = tmp_path / "out"
    reproduce([experiment], {"events": source}, make_output(out), out)
    rates = dict(pl.read_csv(out / "mine.csv").select("value", "accuracy").rows())
    assert rates[500] == 1.0  # everybody in a square of their own
    assert rates[5000] < 1.0


def test_the_documentation_shows_the_same_example() -> None:
    page = Path(__file__).parents[2] / "docs" / "reproduce.md"
    assert f"```toml\n{EXAMPLE}```" in page.read_text()
