"""The paper's own data is used where it is given; a twin stands in where it is not."""

from collections import Counter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from tracks import write_tracks

import habitprint as hp
from habitprint.datasets.tracks import files_fingerprint
from habitprint.experiments import Folders, Job, Setting, find_sources
from habitprint.experiments import sources as sources_module
from habitprint.experiments.jobs import UNCHANGED, DataName, Description, Done, MeasuredAttack
from habitprint.experiments.measure import SharedData, measure

R = TypeVar("R")


def result(kind: type[R], shared: SharedData, job: Job) -> R:
    done = measure(job, shared, seed=0)
    assert isinstance(done.result, kind)
    assert Done.from_text(done.to_text()).to_text() == done.to_text()
    return done.result


def write_d4d(folder: Path, *, has_regions: bool) -> None:
    (folder / "SET2TSV").mkdir(parents=True)
    calls = [f"{user}\t2012-04-{day:02d} 08:30:00\t{user % 3 + 1}" for user in range(1, 7) for day in (9, 11, 16, 20)]
    (folder / "SET2TSV" / "POS_SAMPLE_9.TSV").write_text("\n".join([*calls, "1\t2012-04-09 09:00:00\t-1"]) + "\n")
    (folder / "ANT_POS.TSV").write_text("1\t-4.0\t5.3\n2\t-4.1\t5.3\n3\t-7.0\t9.0\n")
    (folder / "SUBPREF_POS_LONLAT.TSV").write_text("60\t-4.0\t5.3\n61\t-7.0\t9.0\n")
    if has_regions:
        (folder / "SET3TSV").mkdir()
        regions = [line.rpartition("\t")[0] + "\t77" for line in calls]
        (folder / "SET3TSV" / "SUBPREF_POS_SAMPLE_A.TSV").write_text("\n".join(regions) + "\n")


@pytest.mark.parametrize("has_regions", [False, True])
def test_calls_are_read_from_their_folder(tmp_path: Path, *, has_regions: bool) -> None:
    write_d4d(tmp_path / "d4d", has_regions=has_regions)
    sources = find_sources(Folders(d4d=tmp_path / "d4d"))
    assert sources["calls"].kind == sources["sub-prefectures"].kind == "real"
    assert sources["web"].kind == "twin"
    shared = SharedData(sources)
    assert shared.split("calls", UNCHANGED).released.places.to_list() == [1, 2, 3]
    regions = shared.split("sub-prefectures", UNCHANGED).released.places.to_list()
    assert regions == ([77] if has_regions else [60, 61])
    antennas = result(Description, shared, Job(data="calls", task="antennas"))
    assert [row[3] for row in antennas.rows] == [60, 60, 61]


def test_quick_draws_customers_of_real_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources_module, "QUICK_USERS", 4)
    write_d4d(tmp_path / "d4d", has_regions=False)

    def users(seed: int) -> list[Any]:
        sources = find_sources(Folders(d4d=tmp_path / "d4d"), is_quick=True, seed=seed)
        found: list[Any] = SharedData(sources).split("calls", UNCHANGED).released.users.to_list()
        return found

    assert len(users(0)) == 4
    assert users(0) == users(0)
    assert len({tuple(users(seed)) for seed in range(5)}) > 1


def test_as_many_active_users_are_drawn_of_the_other_sample(tmp_path: Path) -> None:
    """Ten users call in both weeks from sub-prefectures, three in one; from antennas, six call in both weeks."""
    write_d4d(tmp_path / "d4d", has_regions=True)
    calls = [
        f"{user}\t2012-04-{day:02d} 08:30:00\t{user % 5}" for user in range(13) for day in (9, 16)[: 1 + (user < 10)]
    ]
    (tmp_path / "d4d" / "SET3TSV" / "SUBPREF_POS_SAMPLE_A.TSV").write_text("\n".join(calls) + "\n")

    def users(name: DataName, seed: int) -> list[Any]:
        split = SharedData(find_sources(Folders(d4d=tmp_path / "d4d"), seed=seed)).split(name, UNCHANGED)
        found: list[Any] = split.released.users.to_list()
        return found

    drawn = [users("sub-prefectures", seed) for seed in range(6)]
    assert {len(each) for each in drawn} == {len(users("calls", 0))} == {6}
    assert len({tuple(each) for each in drawn}) > 1
    assert set().union(*drawn) <= set(range(10))


def test_sub_prefectures_of_synthetic_calls_have_the_same_users() -> None:
    shared = SharedData(find_sources(Folders(), is_quick=True))
    antennas, regions = (shared.split(name, UNCHANGED) for name in ("calls", "sub-prefectures"))
    assert antennas.released.users.equals(regions.released.users)
    assert antennas.known.totals.tolist() == regions.known.totals.tolist()
    assert regions.known.n_places < antennas.known.n_places


def test_web_histories_are_read_from_their_folder(tmp_path: Path) -> None:
    day = 86_400_000_000
    start = 1_333_929_600_000_000  # Monday 9 April 2012
    lines = [
        f"{{u{user}}},{week},0,{page},{start + week * 7 * day},1,5,{user}"
        for user in range(3)
        for week in (0, 1)
        for page in (10, 11, 12)
    ]
    (tmp_path / "visits-1.csv").write_text("\n".join(lines) + "\n")
    with pytest.raises(hp.InputError, match=r"lacks places\.csv"):
        find_sources(Folders(web_history=tmp_path))
    (tmp_path / "places.csv").write_text("id,favicon_id\n10,7\n11,7\n12,0\n")
    sources = find_sources(Folders(web_history=tmp_path))
    assert sources["web"].kind == "real"
    released, _ = SharedData(sources).split("web", UNCHANGED)
    assert (released.n_users, released.places.to_list(), released.totals.tolist()) == (3, ["7"], [2, 2, 2])


def test_tracks_become_squares_weeks_and_chains(tmp_path: Path) -> None:
    write_tracks(tmp_path / "geolife", n_users=6)
    shared = SharedData(find_sources(Folders(geolife=tmp_path / "geolife")))
    released, known = shared.split("geolife", Setting(side=1000.0))
    assert released.n_users == 5  # one has a single week
    chains = shared.chains("geolife", Setting(side=1000.0))
    assert [side.users.to_list() for side in chains] == [released.users.to_list(), known.users.to_list()]
    assert all(side.n_without_state == 0 for side in chains)
    setting = Setting(side=1000.0)
    rate = result(
        MeasuredAttack, shared, Job(data="geolife", setting=setting, task="markov-stationary")
    ).found.accuracy_rate
    assert rate is not None
    assert rate.n == 5
    assert rate.value > rate.by_chance
    few = [
        result(
            MeasuredAttack, shared, Job(data="geolife", setting=Setting(side=1000.0, n_users=3), task=task, repeat=1)
        )
        for task in ("joint", "markov-stationary", "markov-stat-prox")
    ]
    assert [one.found.n_common for one in few] == [3, 3, 3]
    assert len({tuple(one.users) for one in few}) == 1  # histograms and chains of the same users
    weeks = result(Description, shared, Job(data="geolife", task="active-weeks"))
    assert len({user for user, _ in weeks.rows}) == 6
    assert sorted(Counter(user for user, _ in weeks.rows).values())[1:] == [4, 4, 4, 4, 4]


def test_squares_are_drawn_where_positions_are(tmp_path: Path) -> None:
    write_tracks(tmp_path / "geolife", n_users=3)
    shared = SharedData(find_sources(Folders(geolife=tmp_path / "geolife")))
    job = Job(data="geolife", setting=Setting(side=100.0), task="squares")
    squares = result(Description, shared, job)
    west, east, south, north = np.array(squares.rows).T
    points = shared.data("geolife").events.usable.collect().select("lat", "lon").rows()
    assert all(
        ((west - 1e-6 <= lon) & (lon <= east + 1e-6) & (south - 1e-6 <= lat) & (lat <= north + 1e-6)).any()
        for lat, lon in points
    )
    widths = east - west
    assert squares.n_places == pytest.approx(widths.sum() / widths.min(), rel=1e-3)


@pytest.mark.parametrize("name", ["d4d", "web_history", "geolife"])
def test_a_folder_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(hp.InputError, match=f"--{name.replace('_', '-')}: there is no folder"):
        find_sources(Folders(**{name: tmp_path / "nowhere"}))


def test_twins_follow_the_seed() -> None:
    one, other = (find_sources(Folders(), is_quick=True, seed=seed) for seed in (0, 1))
    assert one["calls"].fingerprint != other["calls"].fingerprint
    assert one["calls"].fingerprint != find_sources(Folders())["calls"].fingerprint
    assert "seed 1" in other["calls"].words
    assert hp.datasets.calls_twin(4000, seed=1).source in other["calls"].words


def test_a_changed_file_changes_the_fingerprint(tmp_path: Path) -> None:
    file = tmp_path / "visits.csv"
    file.write_text("1")
    (tmp_path / "places.csv").write_text("id,favicon_id\n1,2\n")

    def fingerprints() -> tuple[str, str]:
        return find_sources(Folders(web_history=tmp_path))["web"].fingerprint, files_fingerprint([file])

    before = fingerprints()
    (tmp_path / "habitprint-geolife.parquet").write_text("a cache of ours")
    assert fingerprints() == before
    file.write_text("22")
    assert all(new != old for new, old in zip(fingerprints(), before, strict=True))
