"""D4D: the calls of mobile-phone customers in Ivory Coast, and where antennas and sub-prefectures are."""

import os
from pathlib import Path

import numpy as np
import polars as pl

from habitprint.errors import InputError, first_few, require_option
from habitprint.events import Events, OnBadRows
from habitprint.events.events import Reason
from habitprint.events.frame import SURPLUS, to_events
from habitprint.events.read import EMPTY, TOO_LONG
from habitprint.events.spec import Reading
from habitprint.ids import to_ids
from habitprint.io.tables import collect
from habitprint.mappings import PlaceMapping

TIME_ZONE = "Africa/Abidjan"
TIME_FORMAT = "%Y-%m-%d %H:%M:%S"
UNKNOWN = -1
CALLS = ("user", "time", "place")
IDS = ("user", "place")
POSITIONS = ("place", "lon", "lat")


def d4d_calls(folder: str | os.PathLike[str], sample: int = 9, *, on_bad_rows: OnBadRows = "fail") -> Events:
    r"""Open a two-week sample of calls by antenna (``SET2TSV/POS_SAMPLE_n.TSV``), 50,000 customers each.

    Calls at an unknown antenna (−1) and empty lines are left out and counted; lines with too many or too few fields are
    faults. A header, which some copies have, is skipped.

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
    path = _find(folder, "SET2TSV", f"POS_SAMPLE_{sample}.TSV")
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
    path = _find(folder, "SET3TSV", f"SUBPREF_POS_SAMPLE_{sample}.TSV")
    return _calls(path, "the sub-prefecture is unknown (−1)", on_bad_rows)


def d4d_antennas(folder: str | os.PathLike[str]) -> pl.DataFrame:
    r"""Read where the antennas are: ``place, lat, lon``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "ANT_POS.TSV").write_text("1\t-4.14\t5.34\n")
    ...     d4d_antennas(folder).rows()
    [(1, 5.34, -4.14)]
    """
    return _positions(_find(folder, "", "ANT_POS.TSV"))


def d4d_sub_prefectures(folder: str | os.PathLike[str]) -> pl.DataFrame:
    r"""Read where the sub-prefectures are: ``place, lat, lon``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "SUBPREF_POS_LONLAT.TSV").write_text("60\t-4.03\t5.35\n")
    ...     d4d_sub_prefectures(folder).rows()
    [(60, 5.35, -4.03)]
    """
    return _positions(_find(folder, "", "SUBPREF_POS_LONLAT.TSV"))


def d4d_nearest_sub_prefectures(folder: str | os.PathLike[str]) -> PlaceMapping:
    r"""Send each antenna to the nearest sub-prefecture along the globe; of equally near ones, to the lowest id.

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


def _directions(positions: pl.DataFrame) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Return unit vectors from the middle of the Earth, shape (n, 3)."""
    lat, lon = np.radians(positions["lat"].to_numpy()), np.radians(positions["lon"].to_numpy())
    return np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def _calls(path: Path, unknown: str, on_bad_rows: OnBadRows) -> Events:
    lines = _open(path, (*CALLS, SURPLUS))
    # Told before ids that are no numbers become nothing.
    is_empty, is_too_long = pl.all_horizontal(pl.all().is_null()), pl.col(SURPLUS).is_not_null()
    numbers = {name: pl.col(name).cast(pl.Int64, strict=False) for name in IDS}
    is_odd = {f"odd_{name}": pl.col(name).is_not_null() & number.is_null() for name, number in numbers.items()}
    calls = lines.with_columns(**numbers, **is_odd, is_empty=is_empty)
    against = (
        (pl.col("is_empty"), EMPTY),
        (is_too_long, TOO_LONG),
        *((pl.col(f"odd_{name}"), Reason(f"the {name} is not a whole number", is_fault=True)) for name in IDS),
    )
    reading = Reading(time_zone=TIME_ZONE, time_format=TIME_FORMAT, on_bad_rows=on_bad_rows)
    return to_events(calls, reading, path.name, against).leave_out(pl.col("place") == UNKNOWN, unknown)


def _positions(path: Path) -> pl.DataFrame:
    (text,) = collect([_open(path, POSITIONS).filter(~pl.all_horizontal(pl.all().is_null()))], str(path))
    if text.is_empty():
        raise _holds_nothing(path, POSITIONS)
    numbers = text.select(
        pl.col("place").cast(pl.Int64, strict=False), pl.col("lat", "lon").cast(pl.Float64, strict=False)
    )
    is_position = pl.col("lat").is_between(-90, 90) & pl.col("lon").is_between(-180, 180)
    is_wrong = numbers.select((is_position & pl.col("place").is_not_null()).not_().fill_null(value=True)).to_series()
    if is_wrong.any():
        raise InputError(
            f"{path}: {first_few(text.filter(is_wrong).rows(), 3)} is no position",
            why="each line has an id, a longitude and a latitude in degrees, with tabs between them",
            fix="correct these lines",
        )
    repeated = numbers["place"].filter(numbers["place"].is_duplicated()).unique().sort().to_list()
    if repeated:
        raise InputError(
            f"{path}: {first_few(repeated)} has several positions",
            why="it is not said which of them counts",
            fix="keep one line for each id",
        )
    return numbers.with_columns(to_ids(numbers["place"], "place")).sort("place")


def _open(path: Path, columns: tuple[str, ...]) -> pl.LazyFrame:
    """Open a file without a header, or skip the one that it has: a first line of words, without any number."""
    rows = pl.scan_csv(
        path,
        separator="\t",
        has_header=False,
        schema=dict.fromkeys(columns, pl.String),
        quote_char=None,
        encoding="utf8-lossy",
        truncate_ragged_lines=True,
        missing_columns="insert",  # a first line that is longer or shorter is a bad row, not another format
        extra_columns="ignore",
        glob=False,
    ).with_columns(pl.col(columns).str.strip_chars().replace("", None))
    (first,) = collect([rows.head(1)], str(path))
    if first.is_empty():
        raise _holds_nothing(path, columns)
    is_word = pl.all().is_not_null() & pl.all().cast(pl.Float64, strict=False).is_null()
    is_header = first.select(columns[0], columns[2]).select(pl.all_horizontal(is_word)).item()
    return rows.slice(1) if is_header else rows


def _holds_nothing(path: Path, columns: tuple[str, ...]) -> InputError:
    return InputError(
        f"{path} is empty",
        why=f"each line has {', '.join(columns[:3])}, with tabs between them",
        fix="copy it again from where it came",
    )


def _find(folder: str | os.PathLike[str], within: str, name: str) -> Path:
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
