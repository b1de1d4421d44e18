"""Experiments are data, the paper's and your own: what they ask for can be read off before anything is computed."""

from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small import town_events

import habitprint as hp
from habitprint.experiments import NAMES, PAPER, Experiment, Job, Part, Setting, make_output, reproduce
from habitprint.experiments.claims import Leads
from habitprint.experiments.jobs import Task
from habitprint.experiments.layouts import LAYOUTS
from habitprint.experiments.spec import COLUMNS, FACT_NAMES, FACTS, Layout, read_spec
from habitprint.weighing import PAPER_WEIGHTS

EXPECTED = {
    "table-illustration", "figure-classification", "figure-graph", "figure-user-sets", "table-data",
    "table-week-start", "table-complexity", "table-metrics", "figure-users", "figure-subset",
    "table-overlap", "figure-duration", "table-aggregation",
    "figure-popularity", "figure-top-sites", "figure-map", "figure-active-weeks", "figure-side", "table-markov",
    "table-runtime", "figure-microaggregation",
}  # fmt: skip
ALL_TASKS = [task for kind in get_args(Task) for task in get_args(kind)]
JOBS = st.builds(
    Job,
    data=st.sampled_from(["calls", "web"]),
    setting=st.builds(Setting, n_users=st.sampled_from(["all", 10, 20]), k=st.sampled_from([None, 2, "all"])),
    task=st.sampled_from(ALL_TASKS),
    weight=st.sampled_from(PAPER_WEIGHTS),
    repeat=st.integers(0, 2),
)


def test_every_table_and_figure_of_the_paper_is_there() -> None:
    assert set(NAMES) == EXPECTED
    assert len(NAMES) == len(EXPECTED)


@pytest.mark.parametrize("experiment", PAPER, ids=lambda experiment: experiment.name)
def test_quick_asks_for_no_more_than_the_full_size(experiment: Experiment) -> None:
    def largest(one: Experiment) -> tuple[int, int]:
        jobs = list(one.jobs())
        return len(jobs), max((job.setting.n_users for job in jobs if isinstance(job.setting.n_users, int)), default=0)

    assert largest(experiment.quickly()) <= largest(experiment)
    assert experiment.quickly().quickly() == experiment.quickly()


def test_where_nothing_is_drawn_nothing_is_repeated() -> None:
    part = Part(data="calls", varies="n_users", values=(10, "all"), weights=PAPER_WEIGHTS, repeats=3)
    drawn = [(job.setting.n_users, job.repeat) for job in part.jobs() if job.weight == "l1"]
    assert drawn == [(10, 0), (10, 1), (10, 2), ("all", 0)]


def test_each_user_released_alone_is_everybody_one_by_one_so_nothing_is_repeated() -> None:
    part = Part(data="calls", varies="n_released", values=(1, 2), tasks=("one-by-one", "joint"), repeats=3)
    drawn = [(job.setting.n_released, job.repeat) for job in part.jobs() if job.task == "one-by-one"]
    assert drawn == [(1, 0), (2, 0), (2, 1), (2, 2)]
    assert len(list(part.jobs())) == 4 + 6


@given(st.integers(1, 10**6), st.integers(1, 10**6))
def test_what_varies_has_its_own_number_whatever_else_is_set(n_top: int, n_users: int) -> None:
    setting = Setting(n_top=n_top, k=5, side=100.0, last_day="sunday", n_users="all")
    assert setting.number("n_top", n_users) == n_top
    assert setting.number("k", n_users) == 5
    assert setting.number("last_day", n_users) == 7
    assert setting.number("n_users", n_users) == n_users


def test_the_same_number_is_the_same_job_whatever_its_type() -> None:
    sides: tuple[Any, ...] = (1000, 1000.0, np.int64(1000), np.float64(1000))
    assert len({Job(data="geolife", setting=Setting(side=side)).key("data", 0) for side in sides}) == 1


def test_figures_share_jobs_with_the_table_of_metrics() -> None:
    table, figure = (next(one for one in PAPER if one.name == name) for name in ("table-metrics", "figure-users"))
    calls = set(table.parts[0].jobs())
    assert calls <= set(figure.parts[0].jobs())


@given(JOBS, JOBS)
def test_a_key_tells_jobs_apart(one: Job, other: Job) -> None:
    assert (one.key("data", 0) == other.key("data", 0)) == (one == other)
    assert one.key("data", 0) != one.key("data", 1)
    assert one.key("data", 0) != one.key("other data", 0)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"n_users": 0}, "n_users = 0"),
        ({"n_users": "many"}, "n_users = 'many'"),
        ({"n_top": "all"}, "n_top = 'all'"),
        ({"k": 2.5}, "k = 2.5"),
        ({"side": -1}, "side = -1"),
        ({"side": "wide"}, "side = 'wide'"),
        ({"last_day": "mon"}, "last_day = 'mon'"),
        ({"n_common": 5}, "n_common = 5 with n_users = 'all'"),
        ({"n_common": 5, "n_users": 4}, "n_common = 5 with n_users = 4"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(hp.InputError, match=words):
        Setting(**fields)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"varies": "n_user", "values": (1,)}, "n_user"),
        ({"varies": "n_users", "values": (0,)}, "n_users = 0"),
        ({"repeats": 0}, "repeats 0 is not a whole number"),
    ],
)
def test_a_part_that_makes_no_sense_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(hp.InputError, match=words):
        Part(data="calls", **fields)


def test_another_number_of_repeats_is_for_what_is_drawn_several_times() -> None:
    drawn = Part(data="calls", varies="n_users", values=(10,), repeats=5)
    once = replace(drawn, repeats=1)
    repeated = Experiment(name="x", title="x", parts=(drawn, once)).repeated(3)
    assert [part.repeats for part in repeated.parts] == [3, 1]


def test_published_numbers_agree_with_each_other() -> None:
    """The paper prints some of its rates as counts as well."""
    by_name = {experiment.name: experiment for experiment in PAPER}
    calls = by_name["table-metrics"].printed["calls", "joint", "jensen-shannon", None, "accuracy"]
    assert calls.number == round(9927 / 46_986, 3)
    overlap = {(one.task, one.measure): one.number for one in by_name["table-overlap"].published}
    sizes: dict[Task, int] = {"joint-common": 3750, "joint": 5000}
    for task, size in sizes.items():
        assert overlap[task, "precision"] == round(overlap[task, "expected_correct"] / size, 2)
    coarse = by_name["table-aggregation"].printed["sub-prefectures", "joint", "jensen-shannon", None, "accuracy"]
    assert coarse.number == round(2070 / 46_986, 3)


def test_what_the_papers_source_has_commented_out_is_not_what_it_says() -> None:
    """There are two such lines: 9.5% one by one, and that the proposed weight leads for sides above 100 m."""
    assert 0.095 not in {one.number for experiment in PAPER for one in experiment.published}
    (side,) = (experiment for experiment in PAPER if experiment.name == "figure-side")
    (leads,) = (claim for claim in side.claims if isinstance(claim, Leads))
    assert "100 m" not in leads.claim  # the paper says "under various settings": at every side


@pytest.mark.parametrize("experiment", PAPER, ids=lambda experiment: experiment.name)
def test_every_published_number_belongs_to_a_job(experiment: Experiment) -> None:
    for one in experiment.published:
        task = "timing" if one.measure.startswith("seconds") else one.task
        parts = [
            part
            for part in experiment.parts
            if part.name == one.part and task in part.tasks and one.weight in part.weights
        ]
        assert parts
        values = {part.at(value).number(part.varies, 0) for part in parts if part.varies for value in part.values}
        assert one.value is None or one.value in values


@pytest.mark.parametrize("experiment", PAPER, ids=lambda experiment: experiment.name)
def test_no_two_published_numbers_are_of_the_same_row(experiment: Experiment) -> None:
    rows = [(one.part, one.task, one.weight, one.value, one.measure) for one in experiment.published]
    assert len(set(rows)) == len(rows)


def test_every_column_of_a_table_is_there() -> None:
    assert {name for experiment in PAPER for name in experiment.columns} <= set(COLUMNS)


def test_facts_of_the_data_are_the_papers() -> None:
    """Section IV of the paper, and the means that follow from each other."""
    calls = FACTS["calls"]
    assert (calls["n_users"], calls["n_on_both_mondays"], calls["events_on_second_day"]) == (46_986, 30_937, 1.9)
    assert (calls["events_per_user"], calls["places_per_user"]) == (101.2, 6.7)
    assert calls["events_per_day"] == round(calls["events_per_user"] / 14, 1)
    assert calls["by_chance"] == round(1 / calls["n_users"], 5)
    assert set(FACT_NAMES) == {fact for facts in FACTS.values() for fact in facts}
    assert max(one.n_paper(part.data) or 0 for one in PAPER for part in one.parts) == 46_986


def test_every_layout_has_its_function() -> None:
    assert set(LAYOUTS) == set(get_args(Layout))


EXAMPLE = (Path(__file__).parents[2] / "docs" / "reproduce.md").read_text().split("```toml\n")[1].split("```")[0]
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
        ('weeks = "2012-04-09"', 'weeks = "April"', "'April' cannot be read as a day"),
        ('weeks = "2012-04-09"', "ranges = [1]", "ranges = [1]"),
        ('weeks = "2012-04-09"', 'week = "2012-04-09"', "did you mean 'weeks'"),
        ("n_users = [", "n_user = [", "there is no quantity to vary 'n_user'"),
        ('n_users = [10, 20, "all"]', "n_users = 10", "Expected `array`"),
        ("n_users = [10", "n_users = [0", "n_users = 0"),
        ("n_users = [", "k = [1]\nn_users = [", "an experiment varies one quantity"),
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
