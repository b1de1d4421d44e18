"""Where people are given away: places that have positions, with how much they tell about those who were there."""

import math
import os
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from habitprint.arguments import is_path
from habitprint.arrays import Floats
from habitprint.attacks import AttackResult
from habitprint.display import abbreviated
from habitprint.errors import InputError
from habitprint.formatting import counted
from habitprint.grids import Grid
from habitprint.histograms import align
from habitprint.ids import positions as rows_of
from habitprint.ids import to_ids
from habitprint.io.tables import read_table, require_columns, to_frame
from habitprint.weighing import Sides, place_gains

FEWEST_PEOPLE = 5  # at a place for it to be drawn: fewer would be pointed at
MOST_PLACES = 2_000  # that are drawn: those that give away most
COLUMNS = ("place", "lat", "lon")


@dataclass(frozen=True)
class MappedPlace:
    """A place on a map.

    Parameters
    ----------
    lat, lon
        Where it is; of a square, its middle.
    n_people
        How many people were there, in both tables.
    gives_away
        Of what gives one of them away, the share that is this place, on average.
    """

    lat: float
    lon: float
    n_people: int
    gives_away: float


@dataclass(frozen=True)
class PlaceMap:
    """The places that can be drawn, without their names.

    Parameters
    ----------
    places
        Those at which enough people were, the ones that give away most first.
    side
        Of squares, in metres; None where places are points.
    n_few
        Places that are not drawn, because too few people were there.
    n_nowhere
        Places that are not drawn, because nobody told where they are.
    n_left_out
        Places that are not drawn, because others give away more.
    """

    places: tuple[MappedPlace, ...]
    side: float | None
    n_few: int
    n_nowhere: int
    n_left_out: int

    def __repr__(self) -> str:
        return abbreviated(self)


def read_positions(source: Any) -> pl.DataFrame:
    """Read where places are: a file or a frame with the columns ``place, lat, lon``, in degrees.

    Examples
    --------
    >>> read_positions({"place": ["dorm"], "lat": ["39.98"], "lon": ["116.3"]}).row(0)
    ('dorm', 39.98, 116.3)
    """
    called = os.fspath(source) if is_path(source) else "the table of positions"
    frame = read_table(source) if is_path(source) else to_frame(source)
    require_columns(frame, COLUMNS, source=called)
    table = pl.DataFrame(
        {
            "place": to_ids(frame["place"], "place"),
            **{name: frame[name].cast(pl.Float64, strict=False) for name in ("lat", "lon")},
        }
    )
    is_inside = pl.col("lat").is_between(-90, 90) & pl.col("lon").is_between(-180, 180)
    wrong = table.filter(~is_inside.fill_null(value=False))
    if wrong.height:
        raise InputError(
            f"{called}: {counted(wrong.height, 'position')} cannot be used, such as that of {wrong['place'][0]!r}",
            why="latitude and longitude are degrees: −90 to 90 and −180 to 180",
            fix="correct these positions or remove their rows",
        )
    if table["place"].is_duplicated().any():
        twice = table.filter(pl.col("place").is_duplicated())["place"][0]
        raise InputError(
            f"{called}: place {twice!r} has several positions",
            why="a place can be drawn at one position only",
            fix="keep one row for each place",
        )
    return table


def draw_map(joint: AttackResult, positions: pl.DataFrame | None, grid: Grid | None) -> PlaceMap | None:
    """Return the map of the places of an attack; None where nobody told where any of them is.

    Of each person whom the attacker knows, the places of both tables are weighed as in `find_give_aways`: by what they
    add to the gain of the true pair, times the share of known people who were never there. A place counts by its mean
    share of that, over the people who were there.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.attacks import Scenario, run_attack
    >>> joint = run_attack(Scenario(*hp.datasets.town(60, 5), truth="same-id"))
    >>> names = joint.scenario.known.places
    >>> somewhere = pl.DataFrame({"place": names, "lat": [0.0] * len(names), "lon": range(len(names))})
    >>> draw_map(joint, somewhere, None).n_nowhere
    0
    """
    tables = joint.scenario.applied
    released, known = align(tables.released, tables.known)
    sides = Sides.of(released, known, joint.matching.weight)
    added = place_gains(sides, tables.common.released, tables.common.known)
    visited_by = np.bincount(known.counts.indices, minlength=known.n_places) / known.n_users
    scores = added.data * (1 - visited_by[added.indices])
    person = np.repeat(np.arange(added.shape[0]), np.diff(added.indptr))
    of_person = np.bincount(person, weights=scores, minlength=added.shape[0])[person]
    shares = np.divide(scores, of_person, out=np.zeros(len(scores)), where=of_person > 0)
    n_people = np.bincount(added.indices, minlength=known.n_places)
    gives_away = np.bincount(added.indices, weights=shares, minlength=known.n_places) / np.maximum(n_people, 1)
    where = _where(known.places, positions, grid)
    if where is None:
        return None
    is_told, is_visited = ~np.isnan(where[:, 0]), n_people > 0
    enough = np.flatnonzero(is_told & (n_people >= FEWEST_PEOPLE))
    order = enough[np.lexsort((enough, -gives_away[enough]))]
    drawn = order[:MOST_PLACES]
    return PlaceMap(
        places=tuple(
            MappedPlace(float(where[at, 0]), float(where[at, 1]), int(n_people[at]), float(gives_away[at]))
            for at in drawn
        ),
        side=None if grid is None or positions is not None else float(grid.side),
        n_few=int(np.count_nonzero(is_told & is_visited & (n_people < FEWEST_PEOPLE))),
        n_nowhere=int(np.count_nonzero(is_visited & ~is_told)),
        n_left_out=len(order) - len(drawn),
    )


def _where(places: pl.Series, positions: pl.DataFrame | None, grid: Grid | None) -> Floats | None:
    """Return latitude and longitude of each place, NaN where they are not known; None where none are."""
    found = np.full((len(places), 2), np.nan)
    if positions is not None:
        rows = rows_of(places, positions["place"])
        is_told = rows >= 0
        found[is_told] = positions.select("lat", "lon").to_numpy()[rows[is_told]]
        if not is_told.any():
            raise InputError(
                "no place has a position",
                why="the table of positions and the data have no place in common",
                fix="use the same place names in both tables",
            )
        return found
    if grid is None or not places.dtype.is_integer():
        return None
    n_squares = grid.n_rows * grid.n_columns
    for at, place in enumerate(places.to_list()):
        if 0 <= place < n_squares:
            found[at] = grid.centre(place)
    return found


def kilometres(where: Floats, middle: float) -> Floats:
    """Return positions as kilometres to the east and to the north, on a plain map around a latitude.

    Examples
    --------
    >>> kilometres(np.array([[1.0, 1.0]]), 0.0).round(1).tolist()
    [[111.2, 111.2]]
    """
    degree = math.radians(1) * 6371.0088
    return np.column_stack([where[:, 1] * math.cos(math.radians(middle)), where[:, 0]]) * degree
