"""Experiments are data: what they ask for can be read off before anything is computed."""

from dataclasses import replace
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import habitprint as hp
from habitprint.experiments import NAMES, PAPER, Cell, Experiment, Part, Setting
from habitprint.experiments.layouts import LAYOUTS
from habitprint.experiments.published import METRICS, PUBLISHED
from habitprint.experiments.spec import ALL_WEIGHTS, Layout

EXPECTED = {
    "table-metrics", "figure-users", "figure-subset", "table-overlap", "figure-duration", "table-aggregation",
    "figure-popularity", "figure-top-sites", "figure-map", "figure-active-weeks", "figure-side", "table-markov",
    "table-runtime", "figure-microaggregation",
}  # fmt: skip
CELLS = st.builds(
    Cell,
    data=st.sampled_from(["calls", "web"]),
    setting=st.builds(Setting, n_users=st.sampled_from(["all", 10, 20]), k=st.sampled_from([None, 2, "all"])),
    weight=st.sampled_from(ALL_WEIGHTS),
    method=st.sampled_from(["joint", "one-by-one"]),
    repeat=st.integers(0, 2),
)


def test_every_table_and_figure_of_the_paper_is_there() -> None:
    assert set(NAMES) == EXPECTED
    assert len(NAMES) == len(EXPECTED)


@pytest.mark.parametrize("experiment", PAPER, ids=lambda experiment: experiment.name)
def test_quick_asks_for_no_more_than_the_full_size(experiment: Experiment) -> None:
    def largest(one: Experiment) -> tuple[int, int]:
        cells = [cell for part in one.parts for cell in part.cells()]
        return len(cells), max(
            (cell.setting.n_users for cell in cells if isinstance(cell.setting.n_users, int)), default=0
        )

    assert largest(experiment.quickly()) <= largest(experiment)
    assert experiment.quickly().quickly() == experiment.quickly()


def test_where_nothing_is_drawn_nothing_is_repeated() -> None:
    part = Part(data="calls", varies="n_users", values=(10, "all"), weights=ALL_WEIGHTS, repeats=3)
    drawn = [(cell.setting.n_users, cell.repeat) for cell in part.cells() if cell.weight == "l1"]
    assert drawn == [(10, 0), (10, 1), (10, 2), ("all", 0)]


def test_figures_share_cells_with_the_table_of_metrics() -> None:
    table, figure = (next(one for one in PAPER if one.name == name) for name in ("table-metrics", "figure-users"))
    calls = set(table.parts[0].cells())
    assert calls <= set(figure.parts[0].cells())


@given(CELLS, CELLS)
def test_a_key_tells_cells_apart(one: Cell, other: Cell) -> None:
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
        ({"last_day": "mon"}, "last_day 'mon'"),
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
        ({"weights": ("l2",)}, "no weight 'l2'"),
        ({"methods": ("magic",)}, "no method 'magic'"),
        ({"repeats": 0}, "0 repeats"),
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
    assert METRICS["calls"]["jensen-shannon"] == round(9927 / 46_986, 3)
    precisions = {one.method: one.number for one in PUBLISHED if one.experiment == "table-overlap"}
    assert precisions == {"joint-common": round(1340 / 3750, 2), "joint": round(1672 / 5000, 2)}
    (coarse,) = (one.number for one in PUBLISHED if one.part == "sub-prefectures")
    assert coarse == round(2070 / 46_986, 3)


def test_every_published_number_belongs_to_a_cell() -> None:
    for one in PUBLISHED:
        experiment = next(experiment for experiment in PAPER if experiment.name == one.experiment)
        part = [part for part in experiment.parts if part.label == one.part and one.method in part.methods]
        assert any(one.weight in found.weights for found in part)
        assert one.value is None or any(one.value in found.values for found in part)


def test_every_layout_has_its_function() -> None:
    assert set(LAYOUTS) == set(get_args(Layout))
