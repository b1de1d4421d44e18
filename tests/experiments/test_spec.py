"""Experiments are data: what they ask for can be read off before anything is computed."""

from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import habitprint as hp
from habitprint.experiments import NAMES, PAPER, Experiment, Job, Part, Setting
from habitprint.experiments.claims import Leads
from habitprint.experiments.jobs import Task
from habitprint.experiments.layouts import LAYOUTS
from habitprint.experiments.spec import Layout
from habitprint.weighing import PAPER_WEIGHTS

EXPECTED = {
    "table-metrics", "figure-users", "figure-subset", "table-overlap", "figure-duration", "table-aggregation",
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
        ({"varies": "n_users", "values": ()}, "0 values"),
        ({"values": (1,)}, "None varies over 1"),
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
    calls = by_name["table-metrics"].find_published("calls")
    assert calls is not None
    assert calls.number == round(9927 / 46_986, 3)
    precisions = {one.task: one.number for one in by_name["table-overlap"].published}
    assert precisions == {"joint-common": round(1340 / 3750, 2), "joint": round(1672 / 5000, 2)}
    coarse = by_name["table-aggregation"].find_published("sub-prefectures")
    assert coarse is not None
    assert coarse.number == round(2070 / 46_986, 3)


def test_what_the_papers_source_has_commented_out_is_not_what_it_says() -> None:
    """There are two such lines: 9.5% one by one, and that the proposed weight leads for sides above 100 m."""
    assert 0.095 not in {one.number for experiment in PAPER for one in experiment.published}
    (side,) = (experiment for experiment in PAPER if experiment.name == "figure-side")
    assert not any(isinstance(claim, Leads) for claim in side.claims)


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
        assert one.value is None or any(one.value in part.values for part in parts)


@pytest.mark.parametrize("experiment", PAPER, ids=lambda experiment: experiment.name)
def test_no_two_published_numbers_are_of_the_same_row(experiment: Experiment) -> None:
    rows = [(one.part, one.task, one.weight, one.value, one.measure) for one in experiment.published]
    assert len(set(rows)) == len(rows)


def test_every_layout_has_its_function() -> None:
    assert set(LAYOUTS) == set(get_args(Layout))
