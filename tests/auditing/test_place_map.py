"""A map shows where people are given away: places at their positions, no names, and nobody is pointed at."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import habitprint as hp
from command_line import run
from habitprint.attacks import Attack, AttackResult, Scenario, run_attack
from habitprint.auditing.people import FEWEST_PEOPLE, draw_map, read_positions
from habitprint.report.charts import map_figure


def attempt(n_users: int = 40, n_places: int = 12) -> AttackResult:
    return run_attack(Scenario(*hp.datasets.town(n_users, n_places), truth="same-id"), Attack(hp.WEIGHTS["l1"]))


def somewhere(joint: AttackResult) -> pl.DataFrame:
    names = sorted({*joint.scenario.released.places.to_list(), *joint.scenario.known.places.to_list()})
    at = np.arange(len(names))
    return pl.DataFrame({"place": names, "lat": 46.5 + at // 4 / 100, "lon": 6.6 + at % 4 / 100})


def slowly(joint: AttackResult) -> dict[str, tuple[int, float]]:
    """Return for each place how many people were there in both tables, and how much it gives away, by definition."""
    released, known = hp.align(joint.scenario.released, joint.scenario.known)
    visited = {place: known.counts[:, [at]].nnz / known.n_users for at, place in enumerate(known.places)}
    shares: dict[str, list[float]] = {}
    for user in released.users:
        rows = [
            dict(zip(side.places, side.shares[[side.users.to_list().index(user)]].toarray()[0], strict=True))
            for side in (released, known)
        ]
        both = {place: 2 * min(rows[0][place], rows[1][place]) for place in rows[0] if rows[0][place] * rows[1][place]}
        scores = {place: gain * (1 - visited[place]) for place, gain in both.items()}
        for place, score in scores.items():
            shares.setdefault(place, []).append(score / sum(scores.values()) if sum(scores.values()) else 0.0)
    return {place: (len(each), sum(each) / len(each)) for place, each in shares.items()}


def test_a_place_counts_by_its_mean_share_of_what_gives_its_visitors_away() -> None:
    joint = attempt()
    where, wanted = somewhere(joint), slowly(joint)
    found = draw_map(joint, where, None)
    assert found is not None
    names = {(lat, lon): place for place, lat, lon in where.iter_rows()}
    told = {names[place.lat, place.lon]: (place.n_people, place.gives_away) for place in found.places}
    assert told.keys() == {place for place, (n, _) in wanted.items() if n >= FEWEST_PEOPLE}
    for place, (n_people, gives_away) in told.items():
        assert n_people == wanted[place][0]
        assert gives_away == pytest.approx(wanted[place][1], abs=1e-12)
    assert found.n_few == sum(n < FEWEST_PEOPLE for n, _ in wanted.values())


def test_places_stand_in_the_order_of_what_they_give_away() -> None:
    joint = attempt()
    found = draw_map(joint, somewhere(joint), None)
    assert found is not None
    shares = [place.gives_away for place in found.places]
    assert shares == sorted(shares, reverse=True)


def test_places_that_nobody_told_of_are_counted() -> None:
    joint = attempt()
    found = draw_map(joint, somewhere(joint).head(5), None)
    assert found is not None
    assert found.n_nowhere == len(slowly(joint)) - sum(
        place in slowly(joint) for place in somewhere(joint).head(5)["place"]
    )


def test_without_positions_there_is_no_map() -> None:
    assert draw_map(attempt(), None, None) is None
    assert draw_map(attempt(), None, hp.Grid(1000, hp.Box(46, 6, 47, 7))) is None  # places are no squares


def test_squares_of_a_grid_are_drawn_where_they_are() -> None:
    grid = hp.Grid(1000, hp.Box(46.5, 6.5, 46.6, 6.6))
    sides = [
        hp.Histograms(side.counts, side.users, pl.Series(range(side.n_places))) for side in hp.datasets.town(40, 6)
    ]
    found = draw_map(run_attack(Scenario(sides[0], sides[1], truth="same-id")), None, grid)
    assert found is not None
    assert found.side == 1000
    assert {(place.lat, place.lon) for place in found.places} <= {grid.centre(at) for at in range(6)}


def test_a_map_is_as_high_as_wide_and_holds_every_place() -> None:
    joint = attempt()
    found = draw_map(joint, somewhere(joint), None)
    assert found is not None
    figure = map_figure(found)
    assert figure is not None
    spec = figure.pictures[0].spec
    projections = [spec.get("projection"), *(layer.get("projection") for layer in spec["layer"])]
    assert {"type": "identity", "reflectY": True} in projections
    assert max(len(rows) for rows in spec["datasets"].values()) == len(found.places)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"place": ["a"], "lat": [91.0], "lon": [0.0]}, "cannot be used"),
        ({"place": ["a"], "lat": ["north"], "lon": [0.0]}, "cannot be used"),
        ({"place": ["a", "a"], "lat": [1.0, 2.0], "lon": [0.0, 0.0]}, "several positions"),
        ({"place": ["a"], "lat": [1.0]}, "no column 'lon'"),
        ({"place": [None], "lat": [1.0], "lon": [1.0]}, "place"),
    ],
)
def test_positions_that_cannot_be_used_are_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(hp.InputError, match=message):
        read_positions(table)


def test_positions_of_other_places_are_refused() -> None:
    elsewhere = read_positions({"place": ["elsewhere"], "lat": [1.0], "lon": [1.0]})
    with pytest.raises(hp.InputError, match="no place has a position"):
        draw_map(attempt(), elsewhere, None)


@pytest.mark.slow
def test_a_report_has_a_map_that_names_no_place_and_reads_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    joint = attempt(24, 8)
    tables, where = joint.scenario, somewhere(joint)
    found = hp.audit((tables.released, tables.known), positions=where, noise=False)
    assert found.place_map is not None
    page = hp.render_report(found)
    assert 'id="map-picture"' in page
    assert not [place for place in where["place"] if place in page]
    assert hp.Audit.from_json(found.to_json()).place_map == found.place_map
    assert "var(--" not in found.plot("map").to_json()
    for name, frame in (("a", tables.released.to_table()), ("b", tables.known.to_table()), ("where", where)):
        frame.write_csv(tmp_path / f"{name}.csv")
    files = [str(tmp_path / f"{name}.csv") for name in ("a", "b", "where")]
    words = ("--positions", files[2], "--no-noise", "--out", tmp_path / "audit")
    assert run(monkeypatch, "audit", *files[:2], *words) == 0
    assert hp.read_audit(tmp_path / "audit").place_map == found.place_map
