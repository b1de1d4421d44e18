"""Web History Repository: which sites volunteers visited, told by the icon of the site."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args

import polars as pl

from habitprint.errors import InputError, first_few, require_option
from habitprint.events import Events, OnBadRows, read_events
from habitprint.events.read import find_files
from habitprint.io.inputs import reading
from habitprint.io.tables import read_table, require_columns, to_frame

User = Literal["guid", "number"]
VISITS = ("guid", "id", "from_visit", "place_id", "visit_date", "visit_type", "session", "number")
NO_FAVICON = ("", "0")


def web_history(
    visits: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    places: Any,
    *,
    user: User = "guid",
    place: str = "id",
    favicon: str = "favicon_id",
    owner: str | None = None,
    columns: Sequence[str] | None = None,
    time_zone: str = "UTC",
    on_bad_rows: OnBadRows = "fail",
) -> Events:
    r"""Open visits to pages as events at sites; the favicon of a page identifies its site.

    Visits to pages without a favicon (none, or 0) are left out and counted, as in the paper. Visits to pages
    that the table of places does not have are faults of the data.

    Parameters
    ----------
    visits
        CSV files without a header, with the columns of Firefox's ``moz_historyvisits``: the user's GUID, id,
        from_visit, place_id, visit_date (microseconds since 1970), visit_type, session, the user's number.
    places
        The table of pages, Firefox's ``moz_places``: a CSV or Parquet file, or a frame.
    user
        The column that identifies the user: ``"guid"`` or ``"number"``.
    place, favicon
        The columns of `places` with a page's id and that of its favicon.
    owner
        The column of `places` with the user of the page, if page ids are specific to each user.
    columns
        The names of all columns of `places`, if it is a CSV file without a header.
    time_zone
        The time zone in which days and weeks begin.
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
    _require_there(visits)
    events = read_events(
        visits,
        user=user,
        time="visit_date",
        place="place_id",
        columns=VISITS,
        time_format="microseconds",
        time_zone=time_zone,
        on_bad_rows=on_bad_rows,
    )
    sites = _sites(places, place, favicon, owner, columns)
    keys = ["place"] if owner is None else ["place", "user"]
    joined = replace(events, frame=events.frame.join(sites.lazy(), on=keys, how="left", maintain_order="left"))
    has_none = pl.col("site").is_null() | pl.col("site").cast(pl.String).is_in(NO_FAVICON)
    told = joined.refuse(pl.col("is_listed").is_null(), "the page is not in the table of places").leave_out(
        has_none, "the page has no favicon"
    )
    return replace(told, frame=told.frame.select("user", "time", pl.col("site").alias("place"), "reason"))


def _sites(places: Any, place: str, favicon: str, owner: str | None, columns: Sequence[str] | None) -> pl.DataFrame:
    """Return the site of each page: ``place``, perhaps ``user``, ``site`` and ``is_listed``."""
    source = f"the table of places {places}" if isinstance(places, (str, os.PathLike)) else "the table of places"
    frame = _read(places, columns)
    keys = {"place": place} | ({} if owner is None else {"user": owner})
    require_columns(frame, [*keys.values(), favicon], source=source)
    kind = frame[favicon].dtype
    if not (kind.is_integer() or kind == pl.String):
        raise InputError(
            f"{source}: column '{favicon}' holds {kind} values",
            why="the favicon is the id of a site: text or an integer",
            fix=f"convert '{favicon}' to text or to integers first",
        )
    # The ids of visits come from a CSV file, so they are text.
    ids = [pl.col(column).cast(pl.String).alias(name) for name, column in keys.items()]
    site = pl.col(favicon).cast(pl.Int64 if kind.is_integer() else pl.String).alias("site")
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


def _read(places: Any, columns: Sequence[str] | None) -> pl.DataFrame:
    if not isinstance(places, (str, os.PathLike)):
        return to_frame(places)
    if columns is None or not Path(places).is_file():
        return read_table(places)
    with reading(
        places,
        why=f"it should be a CSV file without a header and with the columns {', '.join(columns)}",
        fix="look at its first lines, and name all its columns in order",
    ):
        schema = dict.fromkeys(columns, pl.String)
        return pl.read_csv(Path(places), has_header=False, schema=schema, truncate_ragged_lines=True, glob=False)


def _require_there(visits: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> None:
    try:
        find_files(visits)
    except InputError as error:
        raise InputError(
            error.what,
            why="the Web History Repository (E. Herder, R. Kawase, G. Papadakis, 2011) holds what volunteers gave for "
            "research with a Firefox add-on; it is given by its authors, so it does not come with habitprint",
            fix="name the CSV file of visits and the table of places; without the data, take its twin: "
            "habitprint.datasets.web_twin()",
        ) from error
