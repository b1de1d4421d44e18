"""Verbs take a file, a frame or our own values, and give the same result; what was guessed is said."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import habitprint as hp

WEEKS = hp.ConsecutiveWeeks("2012-04-09")
Frame = Callable[[pl.DataFrame], Any]
FRAMES: dict[str, Frame] = {
    "polars": lambda frame: frame,
    "lazy polars": lambda frame: frame.lazy(),
    "pandas": lambda frame: pd.DataFrame(frame.to_dict(as_series=False)),
    "pyarrow": lambda frame: pa.table(frame.to_dict(as_series=False)),
    "a mapping": lambda frame: frame.to_dict(as_series=False),
}


def as_duckdb(frame: pl.DataFrame) -> Any:
    columns = pa.table(frame.to_dict(as_series=False))
    return duckdb.connect().from_arrow(columns)


class LikeSpark:
    """A frame that hands its rows over as those of Spark do: as a table of pyarrow, when it is asked to."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self._frame = frame

    def toArrow(self) -> pa.Table:  # noqa: N802 - Spark's name
        return pa.table(self._frame.to_dict(as_series=False))


FRAMES["duckdb"] = as_duckdb
FRAMES["like Spark"] = LikeSpark


def visits(names: tuple[str, str, str] = ("user", "time", "place")) -> pl.DataFrame:
    """Return two weeks of twelve people, each with habits of their own."""
    start = datetime(2012, 4, 9, 8)  # noqa: DTZ001  (a clock without a zone)
    rows = [
        (f"person {who}", start + timedelta(days=day, minutes=who), f"place {(who * (1 + day % 3)) % 7}")
        for who in range(12)
        for day in range(14)
    ]
    return pl.DataFrame(rows, schema=list(names), orient="row")


def counts(names: tuple[str, str, str] = ("user", "place", "count")) -> pl.DataFrame:
    table = hp.datasets.town(12, 5)[0].to_table()
    return table.rename(dict(zip(("user", "place", "count"), names, strict=True)))


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_of_events_is_split_like_events(kind: str) -> None:
    wanted = hp.split(hp.events_from_frame(visits()), WEEKS)
    found = hp.split(FRAMES[kind](visits()), WEEKS)
    assert found.released.to_table().equals(wanted.released.to_table())
    assert found.known.to_table().equals(wanted.known.to_table())


@pytest.mark.parametrize("kind", FRAMES)
def test_a_frame_of_counts_is_matched_and_protected_like_histograms(kind: str) -> None:
    released, known = hp.datasets.town(12, 5)
    table = FRAMES[kind](counts())
    assert hp.match(table, known).to_table().equals(hp.match(released, known).to_table())
    assert hp.RoundTo(2)(table).to_frame().equals(hp.RoundTo(2)(released).to_frame())


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_is_read_by_its_name(tmp_path: Path, ending: str) -> None:
    released, known = hp.datasets.town(12, 5)
    files = {name: tmp_path / f"{name}.{ending}" for name in ("released", "known", "calls")}
    for name, frame in (("released", released.to_table()), ("known", known.to_table()), ("calls", visits())):
        getattr(frame, f"write_{ending}")(files[name])
    matching = hp.match(files["released"], str(files["known"]))
    assert matching.to_table().equals(hp.match(released, known).to_table())
    result = hp.evaluate(matching, files["released"], files["known"])
    assert result == hp.evaluate(matching, released, known)
    assert hp.matching_path(files["released"], known).to_table().equals(hp.matching_path(released, known).to_table())
    assert hp.microaggregate(files["released"], k=3).histograms.n_users == 12
    assert hp.chain(hp.RoundTo(2))(files["released"]).to_frame().equals(hp.RoundTo(2)(released).to_frame())
    assert hp.pseudonymise(files["released"])[0].histograms.n_users == 12
    assert hp.split(files["calls"], WEEKS).n_rows == visits().height


@pytest.mark.slow
def test_an_audit_of_files_is_the_audit_of_their_values(tmp_path: Path) -> None:
    released, known = hp.datasets.town(12, 5)
    for name, frame in (("released", released.to_table()), ("known", known.to_table()), ("calls", visits())):
        frame.write_parquet(tmp_path / f"{name}.parquet")
    from_files = hp.audit((tmp_path / "released.parquet", tmp_path / "known.parquet"), noise=False)
    assert from_files.to_json() == hp.audit((released, known), noise=False).to_json()
    of_events = hp.audit(tmp_path / "calls.parquet", noise=False)
    assert of_events.run.source == "calls.parquet"
    named = hp.audit(visits(), noise=False, name="calls.parquet")
    assert replace(named, options=of_events.options).to_json() == of_events.to_json()


@pytest.mark.slow
def test_an_audit_of_a_file_that_was_protected_knows_how(tmp_path: Path) -> None:
    released, known = hp.datasets.town(12, 5)
    hp.write_release(hp.microaggregate(released, k=3), tmp_path / "safer.parquet")
    found = hp.audit((tmp_path / "safer.parquet", known), noise=False)
    assert found.verdict.is_protected


def test_a_file_that_was_protected_is_not_taken_for_a_plain_table(tmp_path: Path) -> None:
    released, known = hp.datasets.town(12, 5)
    hp.write_release(hp.KeepTopPlaces(3)(released), tmp_path / "safer.parquet")
    with pytest.raises(hp.InputError, match="is a release") as error:
        hp.match(tmp_path / "safer.parquet", known)
    assert "hp.read_release" in error.value.fix


def test_columns_with_other_names_are_guessed_and_that_is_said() -> None:
    with pytest.warns(hp.GuessedColumnsWarning, match="user='user_id', time='timestamp', place='antenna'") as told:
        found = hp.split(visits(("user_id", "timestamp", "antenna")), WEEKS)
    assert found.released.to_table().equals(hp.split(visits(), WEEKS).released.to_table())
    assert Path(told[0].filename).name == Path(__file__).name
    with pytest.warns(hp.GuessedColumnsWarning, match="user='customer', count='visits'"):
        hp.match(counts(("customer", "place", "visits")), hp.datasets.town(12, 5)[1])


def test_positions_are_guessed_too_and_a_grid_makes_places_of_them() -> None:
    frame = visits().with_columns(Latitude=pl.lit(39.95), Longitude=pl.lit(116.35)).drop("place")
    with (
        pytest.warns(hp.GuessedColumnsWarning, match="lat='Latitude', lon='Longitude'"),
        pytest.raises(hp.InputError, match="positions, but no places"),
    ):
        hp.split(frame, WEEKS)


def test_what_is_suggested_is_what_is_guessed() -> None:
    with pytest.raises(hp.MissingColumnsError) as error:
        hp.events_from_frame(visits(("caller", "time", "cell")))
    assert error.value.meant == {"user": "caller", "place": "cell"}
    assert "'caller' and 'cell'" in error.value.fix


@pytest.mark.parametrize(
    ("columns", "meant"),
    [
        (["msisdn", "ts", "cell_id"], ["msisdn", "ts", "cell_id"]),
        (["caller", "when", "tower"], ["caller", "when", "tower"]),
        (["imsi", "start", "lac_ci"], ["imsi", "start", "lac_ci"]),
        (["customer_id", "start_time", "end_time", "store"], ["customer_id", "start_time", "store"]),
        (["imei", "called", "site"], ["imei", None, "site"]),  # although 'imei' and 'site' are spelled like 'time'
        (["CustomerID", "StartTime", "CellID"], ["CustomerID", "StartTime", "CellID"]),
        (["user_site"], ["user_site", None, None]),
        (["cell", "site"], [None, None, None]),  # two that mean the same
        (["caller", "callee", "when", "where"], ["caller", "when", "where"]),
    ],
)
def test_usual_names_are_known_and_none_is_proposed_twice(columns: list[str], meant: list[str | None]) -> None:
    with pytest.raises(hp.MissingColumnsError) as error:
        hp.events_from_frame({column: ["1"] for column in columns})
    assert [error.value.meant[role] for role in ("user", "time", "place")] == meant


@pytest.mark.slow
def test_an_audit_reads_a_frame_by_the_names_of_its_columns_and_a_target_may_be_text() -> None:
    whole = hp.audit(visits(), target=0.05, noise=False, name="calls")
    frame = as_duckdb(visits(("caller", "when", "cell")))
    found = hp.audit(frame, user="caller", time="when", place="cell", target="5%", noise=False, name="calls")
    assert found.to_json() == whole.to_json()


def test_what_an_audit_cannot_read_is_refused_before_any_work() -> None:
    frame = visits(("caller", "time", "place"))
    with pytest.raises(hp.InputError, match="is not a rate"):
        hp.audit(frame, user="caller", target="five")
    with pytest.raises(hp.InputError, match="user=… is given"):
        hp.audit(hp.datasets.town(12, 5), user="caller")
    with pytest.raises(hp.MissingColumnsError, match="'callr'"):  # a name that was given is not guessed
        hp.audit(frame, user="callr")


def test_what_cannot_be_guessed_is_asked_for(tmp_path: Path) -> None:
    frame = visits(("a", "b", "c"))
    with pytest.raises(hp.InputError, match="has no column 'user'"):
        hp.split(frame, WEEKS)
    frame.write_csv(tmp_path / "odd.csv")
    with pytest.raises(hp.MissingColumnsError, match=r"odd\.csv"):
        hp.match(tmp_path / "odd.csv", hp.datasets.town(12, 5)[1])


def test_nothing_is_said_where_nothing_was_guessed() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hp.split(visits(), WEEKS)
        hp.match(counts(), hp.datasets.town(12, 5)[1])
