"""Places: mappings of places to coarser ones, and grids of squares that turn positions into places."""

import os
import warnings
from dataclasses import dataclass, replace
from math import cos, isclose, radians
from numbers import Real
from pathlib import Path
from typing import Any, Literal, Self, get_args, overload

import msgspec
import numpy as np
import polars as pl

from habitprint.errors import InputError, first_few, is_whole, require_option
from habitprint.events import Events
from habitprint.events.events import require_places, require_positions
from habitprint.formatting import counted
from habitprint.histograms import Histograms
from habitprint.ids import positions, to_ids
from habitprint.io.files import OF_POLARS, reading
from habitprint.io.tables import collect, id_pairs, read_table, require_columns, to_frame

Unknown = Literal["refuse", "leave-out"]
BY_PLACE = "a mapping says which place becomes which"
LEAVE_OUT = "unknown='leave-out' (--unknown-places leave-out on the command line)"
NOT_MAPPED = "the place is not in the mapping"
METRES_PER_DEGREE = radians(1) * 6_371_008.8  # of latitude, on a sphere with the Earth's mean radius
LARGEST_LATITUDE, LARGEST_LONGITUDE = 90, 180
LARGEST_SIDE = 1e8  # metres: more than twice around the Earth
LARGEST_TABLE = 10_000_000  # squares that a table lists
LARGEST_NUMBER = 2**63  # squares that a 64-bit number can count
BOX_ORDER = "give south, west, north, east in this order; a box that crosses 180° must be cut in two"
SIDES = "give the side in metres, such as 100 or 0.5"
OUTSIDE = "the position is outside the box"


class UnknownPlaceWarning(UserWarning):
    """A warning that counts at places outside the mapping were left out, as requested."""


class PlaceMapping(msgspec.Struct, frozen=True, eq=False, forbid_unknown_fields=True):
    """A mapping of places: each place has one target, and several places may have the same target.

    Parameters
    ----------
    table
        Columns ``place`` and ``to``: ids, each place once. An integer and its decimal text are the same id.
    source
        The file that it was read from, for messages; None if there is none.

    Examples
    --------
    >>> districts = PlaceMapping.from_table({"dorm": "campus", "library": "campus", "bar": "town"})
    >>> districts
    PlaceMapping(3 places to 2)
    >>> habits = Histograms.from_strings({"Jill": ["dorm", "library", "bar"]})
    >>> districts.apply(habits).to_table().rows()
    [('Jill', 'campus', 2), ('Jill', 'town', 1)]
    """

    table: pl.DataFrame
    source: str | None = None

    def __post_init__(self) -> None:
        table = id_pairs(self.table, ("place", "to"), source="the mapping")
        if table.is_empty():
            raise InputError(
                "the mapping is empty",
                why="it would remove every place",
                fix="give a table with at least one row, and the columns place and to",
            )
        repeated = table["place"].filter(table["place"].is_duplicated()).unique().sort().to_list()
        if repeated:
            raise InputError(
                f"the mapping sends {first_few(repeated, 3)} to several places",
                why="a count belongs to one place",
                fix="keep one row for each place",
            )
        msgspec.structs.force_setattr(self, "table", table.sort("place"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PlaceMapping) and self.table.equals(other.table)

    def __hash__(self) -> int:
        return hash(self.table.height)

    def __repr__(self) -> str:
        return f"PlaceMapping({self.table.height} places to {self.table['to'].n_unique()})"

    @classmethod
    def from_table(cls, table: Any, *, place: str = "place", to: str = "to") -> Self:
        """Make a mapping from a table with one row per place, or from a dictionary of places.

        Parameters
        ----------
        table
            Any frame that supports Arrow, a dictionary of columns, or a dictionary from place to place.
        place, to
            The names of its columns.

        Examples
        --------
        >>> PlaceMapping.from_table({"antenna": [1, 2], "district": ["A", "A"]}, place="antenna", to="district")
        PlaceMapping(2 places to 1)
        >>> PlaceMapping.from_table({1: "A", 2: "B"})
        PlaceMapping(2 places to 2)
        """
        pairs = id_pairs(table, (place, to), source="the mapping")
        return cls(pairs.rename({place: "place", to: "to"}))

    @overload
    def apply(self, to: Events, *, unknown: Unknown = "refuse") -> Events: ...

    @overload
    def apply(self, to: Histograms, *, unknown: Unknown = "refuse") -> Histograms: ...

    def apply(self, to: Events | Histograms, *, unknown: Unknown = "refuse") -> Events | Histograms:
        """Return events or histograms with mapped places; counts of the same target are added up.

        Parameters
        ----------
        to
            Events (which stay lazy) or histograms (whose users keep their order).
        unknown
            The treatment of places that are not in the mapping. ``"refuse"``: events there are invalid, and histograms
            with such places raise `InputError`. ``"leave-out"``: events there are counted and left out. Counts there
            are left out with a warning, and so are users without any other place. `find_unknown` lists such places.

        Examples
        --------
        >>> import habitprint as hp
        >>> calls = hp.events_from_frame({"user": ["Jill"], "time": ["2012-04-09"], "place": [12]})
        >>> PlaceMapping.from_table({"12": "Abidjan"}).apply(calls).usable.collect()["place"].to_list()
        ['Abidjan']
        """
        require_option("unknown", unknown, get_args(Unknown))
        if isinstance(to, Events):
            return self._move(to, unknown)
        lost = self.find_unknown(to)
        added = self.add_up(to, unknown)
        if lost.height:
            warnings.warn(
                f"{lost.height:,} places with counts of {lost['count'].sum():,} in all are not in the mapping and were "
                f"left out, and so were {to.n_users - added.n_users:,} users who were nowhere else",
                UnknownPlaceWarning,
                stacklevel=2,
            )
        return added

    def then(self, other: "PlaceMapping") -> "PlaceMapping":
        """Return the mapping that applies this one first, then the other one.

        Examples
        --------
        >>> antennas, districts = PlaceMapping.from_table({1: 10, 2: 20}), PlaceMapping.from_table({10: "A", 20: "A"})
        >>> antennas.then(districts).table.rows()
        [(1, 'A'), (2, 'A')]
        """
        found = positions(self.table["to"], other.table["place"])
        lost = self.table["to"].filter(found < 0).unique().sort().to_list()
        if lost:
            raise InputError(
                f"the second mapping has no row for {first_few(lost)}",
                why="every target of the first mapping needs a target in the second",
                fix="add these places to the second mapping",
            )
        return PlaceMapping(pl.DataFrame({"place": self.table["place"], "to": other.table["to"].gather(found)}))

    def find_unknown(self, of: Events | Histograms) -> pl.DataFrame:
        """Return the places that are not in the mapping, with their number of usable events or their counts.

        Examples
        --------
        >>> habits = Histograms.from_strings({"Jill": ["dorm", "moon", "moon"]})
        >>> PlaceMapping.from_table({"dorm": "campus"}).find_unknown(habits).rows()
        [('moon', 2)]
        """
        if isinstance(of, Events):
            require_places(of, BY_PLACE)
            (counted,) = collect([of.usable.group_by("place").agg(count=pl.len()).sort("place")], of.source)
        else:
            counted = of.to_table().sort("place", "count").group_by("place", maintain_order=True).agg(pl.sum("count"))
        return counted.filter(positions(counted["place"], self.table["place"]) < 0)

    def _move(self, events: Events, unknown: Unknown) -> Events:
        require_places(events, BY_PLACE)
        schema = events.frame.collect_schema()
        table = _with_places_of_kind(self.table, schema["place"])
        # The order is kept: it is not for a mapping to change it.
        joined = replace(events, frame=events.frame.join(table.lazy(), on="place", how="left", maintain_order="left"))
        is_unknown = pl.col("to").is_null()
        moved = (joined.refuse if unknown == "refuse" else joined.leave_out)(is_unknown, NOT_MAPPED)
        columns = [pl.col("to").alias("place") if name == "place" else pl.col(name) for name in schema.names()]
        return replace(moved, frame=moved.frame.select(columns))

    def add_up(self, histograms: Histograms, unknown: Unknown) -> Histograms:
        """Return histograms with mapped places; counts may be left out without a warning.

        Examples
        --------
        >>> habits = Histograms.from_strings({"Jill": ["dorm", "moon"]})
        >>> PlaceMapping.from_table({"dorm": "campus"}).add_up(habits, "leave-out").to_table().rows()
        [('Jill', 'campus', 1)]
        """
        lost = self.find_unknown(histograms)
        table = histograms.to_table()
        found = positions(table["place"], self.table["place"])
        kept = table.filter(found >= 0).with_columns(place=self.table["to"].gather(found[found >= 0]))
        if kept.is_empty() or (lost.height and unknown == "refuse"):
            raise InputError(
                f"the mapping has no row for {first_few(lost['place'].to_list())}",
                why=f"{'all' if kept.is_empty() else 'their'} counts would be lost",
                fix="add these places to the mapping"
                + ("" if kept.is_empty() else f", or leave them out: {LEAVE_OUT}"),
            )
        added = Histograms.from_table(kept, duplicates="sum")
        # In the order in which the users came, for it is not for a mapping to change it.
        return added.select(users=histograms.users.filter(positions(histograms.users, added.users) >= 0))


def read_place_mapping(path: str | os.PathLike[str], *, place: str = "place", to: str = "to") -> PlaceMapping:
    r"""Read a mapping from a CSV or Parquet file with the columns ``place, to``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("antenna,district\n1,A\n2,A\n")
    ...     _ = file.seek(0)
    ...     read_place_mapping(file.name, place="antenna", to="district")
    PlaceMapping(2 places to 1)
    """
    table = read_table(path)
    try:
        with reading(path, why="its columns hold something else", fix="ids are text or integers", faults=OF_POLARS):
            return msgspec.structs.replace(PlaceMapping.from_table(table, place=place, to=to), source=Path(path).name)
    except InputError as error:
        raise error.of(os.fspath(path)) from error


def _with_places_of_kind(table: pl.DataFrame, kind: pl.DataType) -> pl.DataFrame:
    """Return the table with its places as ids of one kind, without those that no id of that kind can equal.

    The table is converted to the type of the events, not the other way round, because there are far more events.
    """
    ids = table["place"]
    if ids.dtype == kind:
        return table
    turned = ids.cast(kind, strict=False)
    is_same = (turned.cast(pl.String) == ids.cast(pl.String)).fill_null(value=False)
    return table.with_columns(place=turned).filter(is_same)


@dataclass(frozen=True)
class Box:
    """The part of the map that is used: from south to north and from west to east, in degrees.

    The southern and the western edge belong to it, the others do not.

    Examples
    --------
    >>> Box(south=39.75, west=116.15, north=40.10, east=116.60)
    Box(south=39.75, west=116.15, north=40.1, east=116.6)
    """

    south: float
    west: float
    north: float
    east: float

    def __post_init__(self) -> None:
        is_number = all(isinstance(edge, Real) for edge in (self.south, self.west, self.north, self.east))
        is_rising = is_number and self.south < self.north and self.west < self.east
        is_on_earth = is_number and self.south >= -LARGEST_LATITUDE and self.north <= LARGEST_LATITUDE
        if not (is_rising and is_on_earth and self.west >= -LARGEST_LONGITUDE and self.east <= LARGEST_LONGITUDE):
            raise InputError(
                f"no box spans {self.south!r} to {self.north!r} north and {self.west!r} to {self.east!r} east",
                why="latitudes rise from −90 to 90 and longitudes from −180 to 180",
                fix=BOX_ORDER,
            )

    def holds(self, lat: pl.Expr, lon: pl.Expr) -> pl.Expr:
        """Return whether positions lie in the box.

        Examples
        --------
        >>> corners = pl.DataFrame({"lat": [0.0, 1.0, 0.0, 1.0], "lon": [0.0, 0.0, 1.0, 1.0]})
        >>> corners.filter(Box(0, 0, 1, 1).holds(pl.col("lat"), pl.col("lon"))).rows()
        [(0.0, 0.0)]
        """
        return (lat >= self.south) & (lat < self.north) & (lon >= self.west) & (lon < self.east)

    @property
    def middle(self) -> float:
        """Return the latitude halfway between south and north."""
        return (self.south + self.north) / 2


@dataclass(frozen=True)
class Grid:
    """A grid of squares over a box, which turns positions into places.

    A place is the number of its square: ``row * n_columns + column``, counted from zero. Rows count from the south,
    columns from the west. The last row and the last column may extend beyond the box.

    Positions are projected by the equirectangular projection at the box's middle latitude, on a sphere of 6,371,008.8
    m. So squares are not exact. We measured a box of 40 km at 40° north on the WGS 84 ellipsoid. Squares of 1,000 m are
    998.5 m high. They are 1,005 m wide in the south and 1,000 m in the north. Two properties are exact: a position has
    one square, and squares of a coarser grid consist of whole squares.

    Parameters
    ----------
    side
        The side of the squares in metres; a whole number of millimetres.
    box
        The part of the map that the squares cover. Events outside are counted and left out.

    Examples
    --------
    >>> grid = Grid(1000, Box(39.75, 116.15, 40.10, 116.60))
    >>> grid.n_rows, grid.n_columns
    (39, 39)
    >>> import habitprint as hp
    >>> points = {"user": ["000"], "time": ["2008-10-23 02:53:04"], "lat": [39.984702], "lon": [116.318417]}
    >>> grid.place(hp.events_from_frame(points, lat="lat", lon="lon")).usable.collect()["place"].to_list()
    [1028]
    """

    side: float
    box: Box

    def __post_init__(self) -> None:
        if not isinstance(self.box, Box):
            raise InputError(
                f"{self.box!r} is not a box", why="a grid covers a box", fix="use hp.Box(south, west, north, east)"
            )
        given: object = self.side
        is_size = isinstance(given, Real) and 0 < self.side <= LARGEST_SIDE
        # A side such as 0.1 is not exact in a float; its millimetres are meant to be.
        if not is_size or self._side < 1 or not isclose(self.side * 1000, self._side, rel_tol=1e-9):
            raise InputError(
                f"a square cannot have a side of {self.side!r} metres",
                why="sides are whole numbers of millimetres above zero, so that squares fit exactly into larger ones",
                fix=SIDES,
            )
        if self.n_rows * self.n_columns >= LARGEST_NUMBER:
            raise InputError(
                f"a grid cannot have {self.n_rows:,} times {self.n_columns:,} squares",
                why="their numbers do not fit into 64 bits",
                fix="use larger squares or a smaller box",
            )

    @property
    def n_rows(self) -> int:
        """Return the number of rows from south to north."""
        return -(-_millimetres(self.box.north - self.box.south, 0) // self._side)

    @property
    def n_columns(self) -> int:
        """Return the number of columns from west to east."""
        return -(-_millimetres(self.box.east - self.box.west, self.box.middle) // self._side)

    @property
    def _side(self) -> int:
        return round(self.side * 1000)

    def place(self, events: Events) -> Events:
        """Return events at places instead of positions; events outside the box are left out and counted.

        Nothing is computed yet: the events stay lazy.

        Examples
        --------
        >>> import habitprint as hp
        >>> points = {"user": [1, 1], "time": ["2008-10-23"] * 2, "lat": [0.5, 7], "lon": [0.5, 0.5]}
        >>> events = Grid(100_000, Box(0, 0, 1, 1)).place(hp.events_from_frame(points, lat="lat", lon="lon"))
        >>> events.usable.collect()["place"].to_list()
        [0]
        """
        require_positions(events, "a grid turns latitude and longitude into places")
        box, lat, lon = self.box, pl.col("lat"), pl.col("lon")
        is_inside = box.holds(lat, lon)
        row = self._number(lat - box.south, 0, self.n_rows)
        column = self._number(lon - box.west, box.middle, self.n_columns)
        placed = events.leave_out(~is_inside, OUTSIDE)
        cell = pl.when(is_inside).then(row * self.n_columns + column).alias("place")
        kept = [cell if name == "lat" else name for name in (*events.columns, "reason") if name != "lon"]
        return replace(placed, frame=placed.frame.select(kept))

    def _number(self, degrees: pl.Expr, latitude: float, n: int) -> pl.Expr:
        """Return the number of the row or the column, in whole millimetres so that coarser grids agree exactly."""
        millimetres = (degrees * _scale(latitude)).floor().cast(pl.Int64, strict=False)
        # A position just inside the box may be rounded onto its edge.
        return (millimetres // self._side).clip(0, n - 1)

    def coarsen(self, side: float) -> "Grid":
        """Return the grid of larger squares over the same box; each consists of whole squares of this one.

        Examples
        --------
        >>> Grid(100, Box(0, 0, 1, 1)).coarsen(500).side
        500
        """
        coarser = Grid(side, self.box)
        self._factor(coarser)
        return coarser

    def mapping(self, coarser: "Grid") -> PlaceMapping:
        """Return the mapping from each square to the square of a coarser grid that contains it.

        Examples
        --------
        >>> fine = Grid(50_000, Box(0, 0, 1, 1))
        >>> fine.mapping(fine.coarsen(100_000)).table["to"].to_list()
        [0, 0, 1, 0, 0, 1, 2, 2, 3]
        """
        factor = self._factor(coarser)
        cells = self._cells()
        to = (cells["row"] // factor) * coarser.n_columns + cells["column"] // factor
        return PlaceMapping(pl.DataFrame({"place": cells["place"], "to": to}))

    def _factor(self, coarser: "Grid") -> int:
        if coarser.box != self.box:
            raise InputError(
                f"the two grids cover different boxes: {self.box} and {coarser.box}",
                why="their squares do not lie over each other",
                fix="make the coarser grid with grid.coarsen(side)",
            )
        factor, rest = divmod(coarser._side, self._side)  # noqa: SLF001
        if rest:
            multiples = f"{self.side * max(factor, 1):g} or {self.side * (factor + 1):g}"
            raise InputError(
                f"squares of {self.side:g} m do not make up squares of {coarser.side:g} m",
                why="a coarser square is made up of whole finer ones, so its side is a multiple of theirs",
                fix=f"use a multiple of {self.side:g}, such as {multiples}; or place the positions anew",
            )
        return factor

    def centre(self, place: int) -> tuple[float, float]:
        """Return latitude and longitude of the middle of a square.

        Examples
        --------
        >>> lat, lon = Grid(1000, Box(39.75, 116.15, 40.10, 116.60)).centre(1028)
        >>> round(lat, 3), round(lon, 3)
        (39.988, 116.32)
        """
        if not is_whole(place) or not 0 <= place < self.n_rows * self.n_columns:
            raise InputError(
                f"there is no square {place!r}",
                why=f"the squares of this grid are 0 to {self.n_rows * self.n_columns - 1}",
                fix="use a place of this grid",
            )
        row, column = divmod(place, self.n_columns)
        lat = self.box.south + (row + 0.5) * self._side / _scale(0)
        lon = self.box.west + (column + 0.5) * self._side / _scale(self.box.middle)
        return lat, lon

    def centres(self) -> pl.DataFrame:
        """Return the table of all squares, for maps: ``place, row, column, lat, lon`` of their middles.

        Examples
        --------
        >>> Grid(100_000, Box(0, 0, 1, 1)).centres().select("place", "row", "column").rows()
        [(0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1)]
        """
        return self._cells().with_columns(
            lat=self.box.south + (pl.col("row") + 0.5) * self._side / _scale(0),
            lon=self.box.west + (pl.col("column") + 0.5) * self._side / _scale(self.box.middle),
        )

    def _cells(self) -> pl.DataFrame:
        n = self.n_rows * self.n_columns
        if n > LARGEST_TABLE:
            raise InputError(
                f"a table cannot have {n:,} squares",
                why=f"tables of squares have at most {LARGEST_TABLE:,} rows",
                fix="place the positions on the coarser grid directly, or use larger squares or a smaller box",
            )
        place = np.arange(n)
        return pl.DataFrame({"place": place, "row": place // self.n_columns, "column": place % self.n_columns})


def _scale(latitude: float) -> float:
    """Return the millimetres of one degree: of latitude (0), or of longitude at a latitude."""
    return METRES_PER_DEGREE * 1000 * cos(radians(latitude))


def _millimetres(degrees: float, latitude: float) -> int:
    """Return how many millimetres some degrees are, at least one."""
    return max(1, int(degrees * _scale(latitude)))


def read_positions(source: Any) -> pl.DataFrame:
    """Read where places are: a file or a frame with the columns ``place, lat, lon``, in degrees.

    Examples
    --------
    >>> read_positions({"place": ["dorm"], "lat": ["39.98"], "lon": ["116.3"]}).row(0)
    ('dorm', 39.98, 116.3)
    """
    frame, called = _read_places(source, ("place", "lat", "lon"), "the table of positions")
    degrees = frame.select(pl.col("lat", "lon").cast(pl.Float64, strict=False))
    table = degrees.select(to_ids(frame["place"], "place").alias("place"), "lat", "lon")
    is_inside = pl.col("lat").is_between(-90, 90) & pl.col("lon").is_between(-180, 180)
    wrong, twice = table.filter(~is_inside.fill_null(value=False)), table.filter(pl.col("place").is_duplicated())
    if wrong.height:
        what = f"{counted(wrong.height, 'position')} cannot be used, such as that of {wrong['place'][0]!r}"
        why = "latitude and longitude are degrees: −90 to 90 and −180 to 180"
        raise InputError(f"{called}: {what}", why=why, fix="correct these positions or remove their rows")
    if twice.height:
        what, why = f"place {twice['place'][0]!r} has several positions", "a place can be drawn at one position only"
        raise InputError(f"{called}: {what}", why=why, fix="keep one row for each place")
    return table


def read_sensitive(source: Any) -> pl.Series:
    """Read a list of sensitive places: a file or a frame with the column ``place``, or the ids themselves.

    Examples
    --------
    >>> read_sensitive({"place": ["clinic", "church", "clinic"]}).to_list()
    ['church', 'clinic']
    >>> read_sensitive([12, 7]).to_list()
    [7, 12]
    """
    called = "the list of sensitive places"
    if isinstance(source, (list, tuple, pl.Series)):
        ids = to_ids(source, "place")
    else:
        frame, called = _read_places(source, ("place",), called)
        ids = to_ids(frame["place"], "place")
    if ids.is_empty():
        why, fix = "then there is nothing to measure", "name a place in each row, or leave the list out"
        raise InputError(f"{called} is empty", why=why, fix=fix)
    return ids.unique().sort()


def require_sensitive(sensitive: pl.Series | None, *tables: Histograms) -> None:
    """Raise `InputError` if no table has one of the sensitive places.

    Examples
    --------
    >>> import habitprint as hp
    >>> require_sensitive(pl.Series(["clinic"]), hp.Histograms.from_strings({1: ["dorm", "library"]}))
    Traceback (most recent call last):
    habitprint.errors.InputError: the tables have no place 'clinic', which the list of sensitive places names
      why: nobody visits it in either period, so no claim about it can be right, and the risk would look low
      fix: write places as in the data, such as 'dorm', 'library'; or remove them from the list
    """
    if sensitive is None:
        return
    is_there = np.any([positions(sensitive, table.places) >= 0 for table in tables], axis=0)
    if is_there.all():
        return
    raise InputError(
        f"the tables have no place {first_few(sensitive.filter(~is_there).to_list())}, which the list of sensitive "
        "places names",
        why="nobody visits it in either period, so no claim about it can be right, and the risk would look low",
        fix=f"write places as in the data, such as {first_few(tables[0].places.head(2).to_list())}; or remove them "
        "from the list",
    )


def _read_places(source: Any, columns: tuple[str, ...], called: str) -> tuple[pl.DataFrame, str]:
    """Return a table of places with its required columns, and the name by which messages call it."""
    if isinstance(source, (str, os.PathLike)):
        frame, called = read_table(source), os.fspath(source)
    else:
        frame = to_frame(source)
    require_columns(frame, columns, source=called)
    return frame, called
