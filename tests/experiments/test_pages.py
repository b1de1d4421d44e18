"""What is written says where it comes from, and stands beside the paper's numbers."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import polars as pl
import pytest
from small import town_source
from tracks import HEADER, write_tracks

import habitprint as hp
from habitprint.experiments import (
    NAMES,
    PAPER,
    Experiment,
    Folders,
    Part,
    Reproduction,
    Setting,
    find_sources,
    make_output,
    reproduce,
)
from habitprint.experiments import sources as sources_module
from habitprint.experiments.claims import Leads
from habitprint.experiments.jobs import MeasuredAttack
from habitprint.experiments.layouts import LAYOUTS, Evidence
from habitprint.experiments.measure import SharedData, measure
from habitprint.experiments.run import judge, mark, read_index
from habitprint.experiments.spec import SIGNS

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("experiments")]  # all look at the same folder

GEOLIFE = {"figure-side", "figure-active-weeks", "table-markov", "table-week-start"}
ILLUSTRATED = {"table-illustration", "figure-classification", "figure-graph", "figure-user-sets"}
TWINS = [name for name in NAMES if name not in GEOLIFE | ILLUSTRATED]


def small(experiment: Experiment) -> Experiment:
    """Return an experiment at a size that a small twin has room for."""
    quick = experiment.quickly().repeated(2)
    if experiment.name != "table-overlap":
        return quick
    return replace(quick, parts=tuple(replace(one, setting=Setting(n_users=80, n_common=60)) for one in quick.parts))


SMALL = [small(experiment) for experiment in PAPER]


@pytest.fixture(scope="module")
def monkeymodule() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, monkeymodule: pytest.MonkeyPatch) -> tuple[Path, Reproduction]:
    """Return the folder of everything that can be made from small twins and a few made-up tracks."""
    monkeymodule.setattr(sources_module, "QUICK_USERS", 260)
    monkeymodule.setattr(sources_module, "WEB_USERS", 40)
    folder = tmp_path_factory.mktemp("made")
    write_tracks(folder / "geolife", n_users=8, n_moving=1)
    flaw = "\n".join([*HEADER, "400.17,116.3,0,-777,39448,2008-01-01,00:00:00"])
    (folder / "geolife" / "Data" / "000" / "Trajectory" / "20080101000000.plt").write_text(flaw)
    out = folder / "paper"
    sources = find_sources(Folders(geolife=folder / "geolife"), is_quick=True)
    return out, reproduce(SMALL, sources, make_output(out), out)


@pytest.fixture(scope="module")
def without_geolife(made: tuple[Path, Reproduction]) -> tuple[Path, Reproduction]:
    """Return the same without the tracks; most results are there already."""
    out, _ = made
    sources = find_sources(Folders(), is_quick=True)
    other = out.parent / "without"
    store = make_output(other)
    store.folder.mkdir(parents=True)
    for file in make_output(out).folder.glob("*.json"):
        (store.folder / file.name).write_bytes(file.read_bytes())
    some = [one for one in SMALL if one.name in GEOLIFE or one.name == "table-metrics"]
    return other, reproduce(some, sources, store, other)


@pytest.mark.parametrize("name", NAMES)
def test_every_table_and_figure_is_written(made: tuple[Path, Reproduction], name: str) -> None:
    out, reproduction = made
    (report,) = (one for one in reproduction.reports if one.name == name)
    kinds = {Path(file).suffix for file in report.files}
    assert kinds == ({".csv", ".svg", ".png", ".md"} if name.startswith("figure") else {".csv", ".md"})
    assert all((out / file).stat().st_size > 0 for file in report.files)
    assert pl.read_csv(out / f"{name}.csv").height > 0


@pytest.mark.parametrize("name", TWINS)
def test_every_output_from_a_twin_says_so(made: tuple[Path, Reproduction], name: str) -> None:
    out, _ = made
    assert "twin" in (out / f"{name}.md").read_text()
    assert any(source.startswith("twin") for source in pl.read_csv(out / f"{name}.csv")["source"])
    if name.startswith("figure"):
        assert "contains no real person" in (out / f"{name}.svg").read_text()


def test_a_figure_of_fewer_users_than_the_papers_says_so_and_no_other_does(made: tuple[Path, Reproduction]) -> None:
    out, _ = made
    is_smaller = {name: "smaller: " in (out / f"{name}.md").read_text() for name in NAMES}
    assert not any(is_smaller[name] for name in (*ILLUSTRATED, "table-data", "figure-popularity", "figure-map"))
    assert all(is_smaller[name] for name in ("table-metrics", "figure-users", "figure-side", "figure-top-sites"))
    assert "smaller: 40 users, 121 in the paper (web)" in (out / "table-metrics.md").read_text()
    svg = (out / "figure-users.svg").read_text()
    assert re.search(r"smaller: 2\d\d users, 46,986 in the paper", svg)


@pytest.mark.parametrize(("data", "kind"), [("web", "(✓, fitted)"), ("geolife", "✓")])
def test_a_verdict_on_a_twin_that_is_fitted_to_the_figure_has_another_mark(data: str, kind: str) -> None:
    claim, twin = Leads(), town_source(60)
    source = replace(twin, name=data, kind="real" if data == "geolife" else "twin")  # type: ignore[arg-type]
    part = Part(data=data, weights=("jensen-shannon", "dot"))  # type: ignore[arg-type]
    experiment = Experiment(name="x", title="x", parts=(part,), claims=(claim,), fitted=("web",))
    shared = SharedData({data: source})  # type: ignore[dict-item]
    done = {job: measure(job, shared, seed=0) for job in part.jobs()}
    runs = Evidence(experiment, done, shared.sources).runs
    (finding,) = judge(experiment, runs, shared.sources)
    assert mark(finding).strip("()") == kind.replace("✓", SIGNS[finding.verdict]).strip("()")
    assert ("(" in mark(finding)) == (data == "web")


def test_real_and_synthetic_data_are_judged_apart(made: tuple[Path, Reproduction]) -> None:
    _, reproduction = made
    (report,) = (one for one in reproduction.reports if one.name == "table-metrics")
    assert [finding.basis for finding in report.findings] == ["fitted", "real"]
    names = [{one.where.partition(",")[0] for one in finding.comparisons} for finding in report.findings]
    assert names == [{"calls", "web"}, {"geolife"}]


def test_the_interval_that_is_drawn_is_named_by_its_own_method(made: tuple[Path, Reproduction]) -> None:
    out, _ = made
    for name in ("figure-top-sites", "figure-side"):
        svg, table = (out / f"{name}.svg").read_text(), pl.read_csv(out / f"{name}.csv")
        assert set(table["interval"]) == {hp.rates.IntervalMethod.JOINT.value}
        assert "with the variance of chances in a joint matching" in svg
    assert "Student" in (out / "figure-users.svg").read_text()


def test_the_papers_first_table_has_its_rows_and_the_weights_of_its_pairs(made: tuple[Path, Reproduction]) -> None:
    out, _ = made
    table = pl.read_csv(out / "table-illustration.csv")
    released, known = hp.datasets.illustration()
    weights = hp.weights(released, known)
    for row in table.rows(named=True):
        at = released.users.to_list().index(row["released"]), known.users.to_list().index(row["known"])
        assert row["weight"] == pytest.approx(weights[at])
        for side, name in ((released, "released"), (known, "known")):
            counts = dict(side.select(users=[row[name]]).to_table().select("place", "count").rows())
            assert counts == {place: row[f"{name}_{place}"] for place in counts}
    assert dict(table.select("released", "known").rows()) == {"?1": "Jill", "?2": "John", "?3": "Mike", "?4": "Mary"}


def test_schematic_figures_have_all_edges_and_as_many_pairs_as_the_paper_says(made: tuple[Path, Reproduction]) -> None:
    out, _ = made
    sizes = {}
    for name in ILLUSTRATED - {"table-illustration"}:
        for panel, rows in pl.read_csv(out / f"{name}.csv").group_by("panel", maintain_order=True):
            n, m = rows["released"].n_unique(), rows["known"].n_unique()
            assert rows.height == n * m
            sizes[name, str(panel[0])[:3]] = (n, m, rows["is_matched"].sum())
    assert sizes == {
        ("figure-classification", "(a)"): (1, 4, 1),
        ("figure-classification", "(b)"): (4, 4, 4),
        ("figure-graph", "eve"): (4, 4, 4),
        ("figure-user-sets", "(a)"): (2, 4, 2),
        ("figure-user-sets", "(b)"): (3, 3, 2),
    }


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("figure")])
def test_both_axes_of_every_picture_are_named(made: tuple[Path, Reproduction], name: str) -> None:
    out, _ = made
    svg = (out / f"{name}.svg").read_text()
    described = re.findall(r'aria-label="([XY])-axis titled ([^"]+?)(?: for a|")', svg)
    assert {axis for axis, _ in described} == {"X", "Y"}


def test_the_papers_numbers_stand_beside_ours(made: tuple[Path, Reproduction]) -> None:
    out, _ = made
    table = pl.read_csv(out / "table-metrics.csv")
    web = dict(table.filter(pl.col("data") == "web").select("weight", "paper").rows())
    assert web == {"jensen-shannon": 0.9, "l1": 0.811, "cosine": 0.727, "dot": 0.644}
    assert "90.0%" in (out / "table-metrics.md").read_text()
    assert "83,219" in (out / "table-metrics.md").read_text()


def test_a_bound_of_the_paper_is_drawn_as_one_and_the_papers_signs_are_explained(
    made: tuple[Path, Reproduction],
) -> None:
    out, _ = made
    svg = (out / "figure-top-sites.svg").read_text()
    assert "paper: more than 50.0%" in svg
    assert ">more than this<" in svg
    assert ">this number<" not in svg
    assert "| more than 50.0% |" in (out / "figure-top-sites.md").read_text()


def test_growth_is_the_power_of_the_number_of_users() -> None:
    """Seconds that grow with the square, with the number itself, and with its cube."""
    parts = Part(data="calls", varies="n_users", values=(10, 20, 40), tasks=("timing",))
    experiment = Experiment(name="x", title="x", parts=(parts,), layout="growth", columns=("users", "weights_s"))
    sources = {"calls": town_source(60, name="calls")}
    shared, done = SharedData(sources), {}  # type: ignore[arg-type]
    for job in parts.jobs():
        one = measure(job, shared, seed=0)
        assert isinstance(one.result, MeasuredAttack)
        assert one.result.seconds.keys() == {"weights", "matching", "proof"}
        n = float(one.result.n_users)
        timed = msgspec.structs.replace(one.result, seconds={"weights": n * n / 100, "matching": n, "proof": n**3})
        done[job] = msgspec.structs.replace(one, result=timed)
    page = "\n".join(LAYOUTS["growth"](Evidence(experiment, done, sources)).markdown)  # type: ignore[arg-type]
    assert re.findall(r"\| (\w+) \|.* N to the power (-?[\d.]+) \|", page) == [
        ("weights", "2.00"),
        ("matching", "1.00"),
        ("proof", "3.00"),
    ]


def test_no_local_path_is_in_any_output(made: tuple[Path, Reproduction]) -> None:
    out, reproduction = made
    for report in reproduction.reports:
        for file in (*report.files, "index.md", "index.json"):
            assert str(out.parent).encode() not in (out / file).read_bytes()


def test_rows_that_are_not_used_are_told_by_reason(made: tuple[Path, Reproduction]) -> None:
    out, reproduction = made
    (report,) = (one for one in reproduction.reports if one.name == "table-markov")
    assert report.sources[0].unused == {"the position is out of range": 1}
    assert "rows not used: 1 where the position is out of range" in (out / "table-markov.md").read_text()


def test_rates_of_chains_are_also_among_users_who_have_a_state(made: tuple[Path, Reproduction]) -> None:
    """Of seven users with several weeks, one is always on the move."""
    out, _ = made
    page = (out / "table-markov.md").read_text()
    assert "1 of 7 users have no state" in page
    assert "among the 6 who have one on both sides" in page
    table = pl.read_csv(out / "table-markov.csv")
    assert set(table["n_with_state"]) == {6}
    assert table.filter(pl.col("value_with_state") < pl.col("low_with_state")).is_empty()
    chains = table.filter(pl.col("part") == "Markov chains")
    found, among = (chains[name].to_numpy() for name in ("expected_correct", "value_with_state"))
    assert among * 6 + 1 / 7 == pytest.approx(found)  # and the seventh is a guess
    assert all(f"{rate:.1%} of 6" in page for rate in among)


def test_a_rate_is_within_its_interval(made: tuple[Path, Reproduction]) -> None:
    out, _ = made
    for name in ("table-metrics", "figure-users", "figure-subset", "figure-duration", "figure-top-sites"):
        table = pl.read_csv(out / f"{name}.csv")
        assert (
            table.select((pl.col("low") <= pl.col("accuracy")) & (pl.col("accuracy") <= pl.col("high")))
            .to_series()
            .all()
        )


def test_what_needs_more_users_than_there_are_is_said(made: tuple[Path, Reproduction]) -> None:
    out, _ = made
    page = (out / "figure-users.md").read_text()
    assert "500 users are needed" in page


def test_every_claim_has_a_verdict_in_words(made: tuple[Path, Reproduction]) -> None:
    out, reproduction = made
    for report in reproduction.reports:
        page = (out / f"{report.name}.md").read_text()
        for finding in report.findings:
            assert f"{finding.claim}: **{report.verdict_words(finding)}**" in page
            if finding.verdict == "leans":
                assert report.verdict_words(finding) == "in the paper's direction, within the noise"


def test_without_geolife_its_parts_are_left_out_with_a_word_on_how_to_get_it(
    without_geolife: tuple[Path, Reproduction],
) -> None:
    out, reproduction = without_geolife
    for report in reproduction.reports:
        is_geolife_only = report.name in GEOLIFE
        assert (report.n_results == 0) == is_geolife_only
        assert is_geolife_only == (not (out / f"{report.name}.csv").exists())
        if is_geolife_only:
            assert "Microsoft Research" in (out / f"{report.name}.md").read_text()
    assert "--geolife DIR" in (out / "index.md").read_text()


def test_the_index_tells_all(made: tuple[Path, Reproduction]) -> None:
    out, reproduction = made
    facts = json.loads((out / "index.json").read_text())
    assert [one["name"] for one in facts["experiments"]] == list(NAMES)
    assert facts["versions"].keys() >= {"habitprint", "numpy", "python"}
    assert tuple(read_index(out)) == reproduction.reports
    page = (out / "index.md").read_text()
    for link in re.findall(r"\]\(([^)]+)\)", page):
        assert (out / link).exists()
    assert len(re.findall(r"^\| \[", page, re.MULTILINE)) == len(NAMES)


def test_a_second_run_computes_nothing_and_keeps_what_it_does_not_make(made: tuple[Path, Reproduction]) -> None:
    out, first = made
    sources = find_sources(Folders(geolife=out.parent / "geolife"), is_quick=True)
    (table,) = (one for one in SMALL if one.name == "table-metrics")
    before = (out / "table-metrics.csv").read_bytes()
    again = reproduce([table], sources, make_output(out), out)
    assert again.reports[0].n_computed == 0
    assert again.reports[0].findings == next(one for one in first.reports if one.name == "table-metrics").findings
    assert (out / "table-metrics.csv").read_bytes() == before
    assert {report.name for report in read_index(out)} == set(NAMES)


def test_an_experiment_of_several_parts_is_drawn_part_by_part(made: tuple[Path, Reproduction]) -> None:
    out, _ = made
    curve = Part(data="web", varies="n_top", values=(10, 100))
    experiment = Experiment(
        name="two",
        title="Two",
        parts=(curve, Part(data="web", label="again", varies="n_top", values=(10, 50))),
        layout="lines",
    )
    sources = find_sources(Folders(), is_quick=True)
    report = reproduce([experiment], sources, make_output(out), out).reports[0]
    assert "two.svg" in report.files
    assert ">again<" in (out / "two.svg").read_text()
