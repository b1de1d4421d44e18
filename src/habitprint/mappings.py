"""Mappings of places: antennas to districts, products to categories, small squares to large ones."""

import os
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self, get_args, overload

import msgspec
import polars as pl

from habitprint.errors import InputError, first_few, require_option
from habitprint.events import Events
from habitprint.events.events import require_places
from habitprint.histograms import Histograms
from habitprint.ids import positions, to_ids
from habitprint.io.inputs import OF_POLARS, reading
from habitprint.io.tables import collect, read_table, require_columns, to_frame

Unknown = Literal["refuse", "leave-out"]
BY_PLACE = "a mapping says which place becomes which"
LEAVE_OUT = "unknown='leave-out' (--unknown-places leave-out on the command line)"
NOT_MAPPED = "the place is not in the mapping"


class UnknownPlaceWarning(UserWarning):
    """Say that counts at places that are not in the mapping were left out, as asked."""


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
        require_columns(self.table, ["place", "to"], source="the mapping")
        table = pl.DataFrame({name: to_ids(self.table[name], name) for name in ("place", "to")}).unique()
        if table.is_empty():
            raise InputError(
                "the mapping is empty",
                why="it would remove every place",
                fix="check how the table was made; it needs at least one row",
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
            Any frame that speaks Arrow, a mapping of columns, or a dictionary from place to place.
        place, to
            The names of its columns.

        Examples
        --------
        >>> PlaceMapping.from_table({"antenna": [1, 2], "district": ["A", "A"]}, place="antenna", to="district")
        PlaceMapping(2 places to 1)
        >>> PlaceMapping.from_table({1: "A", 2: "B"})
        PlaceMapping(2 places to 2)
        """
        if isinstance(table, Mapping) and (not table or any(isinstance(to, (str, int)) for to in table.values())):
            return cls(pl.DataFrame({"place": to_ids(table.keys(), "place"), "to": to_ids(table.values(), "to")}))
        frame = to_frame(table)
        require_columns(frame, [place, to], source="the mapping")
        return cls(pl.DataFrame({"place": to_ids(frame[place], place), "to": to_ids(frame[to], to)}))

    @overload
    def apply(self, to: Events, *, unknown: Unknown = "refuse") -> Events: ...

    @overload
    def apply(self, to: Histograms, *, unknown: Unknown = "refuse") -> Histograms: ...

    def apply(self, to: Events | Histograms, *, unknown: Unknown = "refuse") -> Events | Histograms:
        """Return events, or histograms, at the places where the mapping sends them; counts are added up.

        Parameters
        ----------
        to
            Events (which stay lazy) or histograms (whose users keep their order).
        unknown
            The treatment of places that are not in the mapping. ``"refuse"``: events there are faults of the data;
            histograms with such places raise `InputError`. ``"leave-out"``: events there are left out and counted;
            counts there are left out with a warning that says how many, and so are users who were nowhere else.
            `find_unknown` lists them.

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
        """Return the mapping that does this one first and the other one after it.

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
        """Return histograms at the places where the mapping sends them; counts may be left out without a warning.

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
            mapping = PlaceMapping.from_table(table, place=place, to=to)
            return PlaceMapping(mapping.table, Path(path).name)
    except InputError as error:
        raise InputError(f"{os.fspath(path)}: {error.what}", why=error.why, fix=error.fix) from error


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
