"""Sheets and tables of databases give the same events as a text file, and are only read."""

import builtins
import os
import re
import sqlite3
import sys
from datetime import UTC, datetime
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import duckdb
import polars as pl
import pytest
import sqlalchemy
import xlsxwriter
from typer.testing import CliRunner, Result

import habitprint as hp
from habitprint.cli.app import app
from habitprint.io import databases
from habitprint.io.databases import query_address, query_file, without_password
from habitprint.io.tables import read_sheet

CALLS = pl.DataFrame(
    {
        "user": ["Jill", "Mike", "Jill"],
        "time": [datetime(2012, 4, day, 8, 30) for day in (9, 10, 16)],  # noqa: DTZ001 - a clock
        "place": [12, 7, 12],
    }
)
EXPECTED = [(user, time.replace(tzinfo=UTC), place) for user, time, place in CALLS.rows()]
QUERY = "select * from calls"


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def with_sqlite(path: Path, *tables: str) -> Path:
    connection = sqlite3.connect(path)
    for table in tables:
        connection.execute(f"create table {table} (user text, time text, place int)")
        connection.executemany(f"insert into {table} values (?, ?, ?)", CALLS.cast({"time": pl.String}).rows())  # noqa: S608
    connection.commit()
    connection.close()
    return path


def with_duckdb(path: Path, *tables: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.register("frame", CALLS)
        for table in tables:
            connection.execute(f"create table {table} as select * from frame")  # noqa: S608
    return path


def with_sheets(path: Path, *sheets: str) -> Path:
    import xlsxwriter  # noqa: PLC0415 - only here

    with xlsxwriter.Workbook(path) as book:
        for sheet in sheets:
            CALLS.write_excel(book, worksheet=sheet)
    return path


MAKERS = {".sqlite": with_sqlite, ".db": with_sqlite, ".duckdb": with_duckdb, ".xlsx": with_sheets}


@pytest.mark.parametrize("ending", MAKERS)
def test_a_store_with_one_table_gives_the_same_events(tmp_path: Path, ending: str) -> None:
    path = MAKERS[ending](tmp_path / f"calls{ending}", "calls")
    assert sorted(hp.read_events(path).usable.collect().rows()) == sorted(EXPECTED)


@pytest.mark.parametrize("ending", MAKERS)
def test_of_several_tables_one_is_named_and_never_guessed(tmp_path: Path, ending: str) -> None:
    path = MAKERS[ending](tmp_path / f"calls{ending}", "calls", "others")
    with pytest.raises(hp.InputError, match="has several") as caught:
        hp.read_events(path)
    assert "calls" in caught.value.what
    assert "others" in caught.value.what
    named = {"sheet": "others"} if ending == ".xlsx" else {"sql": "select * from others where place = 12"}
    n_rows = 3 if ending == ".xlsx" else 2
    assert hp.read_events(path, **named).count_rows() == {0: n_rows}  # type: ignore[arg-type]


def test_a_query_may_name_the_columns_as_they_are_asked_for(tmp_path: Path) -> None:
    path = with_duckdb(tmp_path / "calls.duckdb", "calls")
    sql = "select user as caller, time as start, place as antenna from calls where user = 'Jill'"
    columns = ["--user", "caller", "--time", "start", "--place", "antenna"]
    result = run("inspect", path, "--sql", sql, *columns, "--json")
    assert result.exit_code == 0, result.stderr
    assert '"n_rows": 2' in result.stdout
    out = ["--released", tmp_path / "r.csv", "--known", tmp_path / "k.csv"]
    split = run("split", path, "--sql", sql, *columns, "--weeks", "2012-04-09", *out)
    assert split.exit_code == 0, split.stderr
    assert pl.read_csv(tmp_path / "r.csv").rows() == [("Jill", 12, 1)]


@pytest.mark.parametrize("ending", [".sqlite", ".duckdb"])
@pytest.mark.parametrize(
    "sql",
    [
        *("delete from calls", "drop table calls", "select nothing from calls", "select", "", "x" * 3000),
        *("set threads=1", "pragma table_info(calls)"),
        *("attach 'other' as other", "vacuum into 'other'", "copy calls to 'other'", "export database 'other'"),
    ],
)
def test_a_store_is_only_read_and_a_query_that_fails_says_so(
    tmp_path: Path, ending: str, sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = MAKERS[ending](tmp_path / f"calls{ending}", "calls")
    before = path.read_bytes()
    try:
        query_file(path, sql)
    except hp.InputError as error:
        is_query = sql.startswith("select")
        assert ("cannot read" if is_query else "is not a query") in error.what  # noqa: PT017 - an empty query is that for the only table
    else:
        assert sql == ""
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_several_statements_are_no_query(tmp_path: Path) -> None:
    with pytest.raises(hp.InputError, match="is not a query"):
        query_file(with_duckdb(tmp_path / "calls.duckdb", "calls"), "select 1; set threads=1")
    with pytest.raises(hp.InputError, match="one statement at a time"):
        query_file(with_sqlite(tmp_path / "calls.sqlite", "calls"), "select 1; delete from calls")


def test_a_view_of_a_database_reads_no_other_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("user,time,place\nx,2012-04-09,y\n")
    with duckdb.connect(str(tmp_path / "calls.duckdb")) as connection:
        connection.execute(f"create view calls as select * from read_csv('{secret}')")  # noqa: S608
    with pytest.raises(hp.InputError, match="disabled by configuration"):
        hp.read_events(tmp_path / "calls.duckdb")


def test_columns_of_sqlite_hold_what_they_like(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "mixed.db")
    connection.execute("create table t (a, b, c, d)")
    connection.executemany("insert into t values (?, ?, ?, ?)", [(1, 1, "x", None), (2, 1.5, 7, None)])
    connection.commit()
    connection.close()
    assert query_file(tmp_path / "mixed.db").rows() == [(1, 1.0, "x", None), (2, 1.5, "7", None)]


DELETING = "with x as (select 1) delete from calls returning *"


@pytest.mark.parametrize("scheme", ["sqlite", "SQLite", "sqlite+pysqlite"])
@pytest.mark.parametrize("is_relative", [True, False])
def test_an_address_of_sqlite_is_read_as_its_file_is(
    tmp_path: Path, scheme: str, monkeypatch: pytest.MonkeyPatch, *, is_relative: bool
) -> None:
    path = with_sqlite(tmp_path / "calls.sqlite", "calls")
    before = path.read_bytes()
    monkeypatch.chdir(tmp_path)
    address = f"{scheme}:///{path.name if is_relative else path}"
    assert sorted(hp.read_events(address, sql=QUERY).usable.collect().rows()) == sorted(EXPECTED)
    for sql in (DELETING, "select writefile('other', 'x')", "select load_extension('other')"):
        with pytest.raises(hp.InputError):
            query_address(address, sql)
    with pytest.raises(hp.InputError, match="no such file"):
        query_address(f"{scheme}:///missing.sqlite", QUERY)
    for nowhere in (f"{scheme}://", f"{scheme}:///", f"{scheme}://host/calls.sqlite"):
        with pytest.raises(hp.InputError, match="names no file"):
            query_address(nowhere, QUERY)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def pretend_postgresql(monkeypatch: pytest.MonkeyPatch, path: Path, begin: str) -> None:
    """Open a SQLite file for any address, and begin a transaction as SQLite would."""
    monkeypatch.setattr(databases, "READ_ONLY", {"postgresql": begin, "sqlite": begin})
    create = sqlalchemy.create_engine
    monkeypatch.setattr(sqlalchemy, "create_engine", lambda _: create(f"sqlite:///{path}"))


def test_a_transaction_at_an_address_only_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = with_sqlite(tmp_path / "calls.sqlite", "calls")
    before = path.read_bytes()
    pretend_postgresql(monkeypatch, path, "pragma query_only = on")
    with pytest.raises(hp.InputError, match="readonly"):
        query_address("postgresql://host/calls", DELETING)
    assert path.read_bytes() == before


def test_what_was_done_at_an_address_is_rolled_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = with_sqlite(tmp_path / "calls.sqlite", "calls")
    # A database that knows no such transaction, but begins one.
    pretend_postgresql(monkeypatch, path, "begin")
    assert query_address("postgresql://host/calls", DELETING).height == CALLS.height
    assert query_file(path).height == CALLS.height


def test_an_address_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = with_sqlite(tmp_path / "calls.sqlite", "calls")
    pretend_postgresql(monkeypatch, path, "pragma query_only = on")
    address = "postgresql://me@host/calls"
    assert sorted(hp.read_events(address, sql=QUERY).usable.collect().rows()) == sorted(EXPECTED)
    result = run("inspect", address, "--sql", QUERY)
    assert result.exit_code == 0, result.stderr
    with pytest.raises(hp.InputError, match="without a query"):
        hp.read_events(address)
    with pytest.raises(hp.InputError, match="is not a query"):
        hp.read_events(address, sql="delete from calls")


def test_no_password_is_ever_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> pl.DataFrame:
        raise OSError("cannot connect to postgresql://me:secret@host/calls?password=secret")

    address = "postgresql://me:secret@host/calls?password=secret"
    monkeypatch.setattr(sqlalchemy, "create_engine", fail)
    with pytest.raises(hp.InputError) as caught:
        query_address(address, QUERY)
    assert "secret" not in str(caught.value)
    assert "secret" not in run("inspect", address, "--sql", QUERY).stderr


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql+psycopg://a:s3cr3t:c@host", "postgresql+psycopg://host"),
        ("postgresql://me:pa/s3cr3t@host/calls", "postgresql://host/calls"),
        ("postgresql://me:pa@s3cr3t@host:5432/calls", "postgresql://host:5432/calls"),
        ("postgresql://me:s3cr3t%40x@[::1]:5432/calls?sslmode=require", "postgresql://[::1]:5432/calls"),
        ("postgresql://me:s3cr3t@a:1,b:2/calls", "postgresql://a:1,b:2/calls"),
        ("postgresql://s3cr3t@host", "postgresql://host"),
        ("postgresql:///calls?host=/tmp&user=me&password=s3cr3t", "postgresql:///calls"),
        ("postgresql://host/calls?user=me@x&password=s3cr3t", "postgresql://…"),
        ("mysql://me:p?s3cr3t@host/calls", "mysql://…"),
        ("mysql://me:p#s3cr3t@host/calls", "mysql://…"),
        ("mysql://me:s3cr3t", "mysql://…"),
        ("p://me:s3cr3t@host/calls", "p://host/calls"),
        ("mssql://host;UID=me;PWD=s3cr3t", "mssql://…"),
        ("mssql+pyodbc://?odbc_connect=DRIVER%3DX%3BUID%3Dme%3BPWD%3Ds3cr3t", "mssql+pyodbc://"),
        ("mssql+pyodbc://?odbc_connect=UID%3Dme%3BPWD%3Da@s3cr3t", "mssql+pyodbc://…"),
        ("sqlite:////home/me@work/a=b.db?key=s3cr3t", "sqlite:////home/me@work/a=b.db"),
    ],
)
def test_of_an_address_scheme_host_and_database_are_shown_and_nothing_else(
    address: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert without_password(address) == shown
    if address.startswith("sqlite"):
        return

    def fail(given: str) -> None:
        taken = re.split("[:/@?#;=&]|%3D|%3B|%40", given)  # as a driver does that takes a password for something else
        raise OSError(f"no host in {given}, {unquote(given)}, {taken}; column 'meal' is not known")

    monkeypatch.setattr(sqlalchemy, "create_engine", fail)
    with pytest.raises(hp.InputError, match="column 'meal' is not known") as caught:
        query_address(address, QUERY)
    assert "s3cr3t" not in str(caught.value)
    assert caught.value.what.startswith(f"cannot read {shown}: ")


@pytest.mark.parametrize(
    ("module", "name", "extra"),
    [("fastexcel", "calls.xlsx", "habitprint[excel]"), ("duckdb", "calls.duckdb", "habitprint[sql]")],
)
def test_an_extra_that_is_missing_is_named(
    tmp_path: Path, module: str, name: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = MAKERS[Path(name).suffix](tmp_path / name, "calls")
    real = builtins.__import__

    def without(wanted: str, *others: Any, **more: Any) -> Any:
        if wanted == module:
            raise ModuleNotFoundError(wanted)
        return real(wanted, *others, **more)

    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(hp.InputError, match=f"{module} is not installed") as caught:
        hp.read_events(path)
    assert extra in caught.value.fix


def test_an_address_without_a_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(name: str) -> ModuleSpec | None:
        del name
        return None

    monkeypatch.setattr("importlib.util.find_spec", find_nothing)
    with pytest.raises(hp.InputError, match="SQLAlchemy is not installed") as caught:
        query_address("mysql://me@host/calls", QUERY)
    assert "habitprint[sql]" in caught.value.fix


def test_dates_and_numbers_of_a_sheet_are_what_they_are_and_text_stays_text(tmp_path: Path) -> None:
    import xlsxwriter  # noqa: PLC0415 - only here

    with xlsxwriter.Workbook(tmp_path / "calls.xlsx") as book:
        sheet = book.add_worksheet("calls")
        sheet.write_row(0, 0, ["user", "time", "lat", "lon"])
        sheet.write_row(1, 0, ["007", "31.12.2025 14:05", 47.5, 8])
        sheet.write_row(2, 0, ["7", "30.12.2025 14:05", 47, 8])
    events = hp.read_events(tmp_path / "calls.xlsx", lat="lat", lon="lon")
    assert events.usable.collect()["user"].to_list() == ["007", "7"]
    assert events.read_as.words == "day first"


def test_whole_numbers_of_a_sheet_are_ids(tmp_path: Path) -> None:
    import xlsxwriter  # noqa: PLC0415 - only here

    with xlsxwriter.Workbook(tmp_path / "calls.xlsx") as book:
        sheet = book.add_worksheet("calls")
        for number, row in enumerate([["user", "place", "count"], [7.0, "x", 2.0], [8.0, "x", 3.0]]):
            sheet.write_row(number, 0, row)
    assert read_sheet(tmp_path / "calls.xlsx").rows() == [(7, "x", 2), (8, "x", 3)]
    assert hp.read_histograms(tmp_path / "calls.xlsx").users.to_list() == [7, 8]


@pytest.mark.parametrize("name", ["calls.xlsx", "calls.sqlite", "calls.duckdb", "calls.ods", "calls.db"])
@pytest.mark.parametrize("content", [b"", b"x", b"PK\x03\x04 no", b"SQLite format 3\x00 no", b"PAR1"])
def test_a_store_that_is_none_says_so(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(hp.InputError):
        hp.read_events(tmp_path / name)
    with pytest.raises(hp.InputError):
        hp.read_histograms(tmp_path / name)


def test_times_of_parquet_with_an_offset_are_moments(tmp_path: Path) -> None:
    import pyarrow as pa  # noqa: PLC0415 - only here
    from pyarrow import parquet  # noqa: PLC0415 - the same

    times = pa.array([datetime(2012, 4, 9, 4, 30)], pa.timestamp("us", tz="+05:30"))  # noqa: DTZ001 - in UTC, as stored
    parquet.write_table(pa.table({"user": ["Jo"], "time": times, "place": ["x"]}), tmp_path / "calls.parquet")
    before = dict(os.environ)
    events = hp.read_events(tmp_path / "calls.parquet")
    assert dict(os.environ) == before
    for _ in range(2):
        found = events.usable.collect()["time"].item()
        assert found == datetime.fromisoformat("2012-04-09T10:00:00+05:30")
    assert dict(os.environ) == before


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("calls.csv", "it is a Parquet file, though its name ends in '.csv'"),
        ("calls.xlsx", "it is a Parquet file, though its name ends in '.xlsx'"),
    ],
)
def test_a_file_with_the_ending_of_another_format_is_called_what_it_is(tmp_path: Path, name: str, words: str) -> None:
    CALLS.write_parquet(tmp_path / name)
    for read in (hp.read_events, hp.read_histograms):
        with pytest.raises(hp.InputError, match=words) as caught:
            read(tmp_path / name)
        assert ".parquet" in caught.value.fix


def test_of_two_columns_of_one_name_none_is_taken(tmp_path: Path) -> None:
    book = xlsxwriter.Workbook(tmp_path / "counts.xlsx")
    sheet = book.add_worksheet()
    sheet.write_row(0, 0, ["user", "place", "count", "count"])
    sheet.write_row(1, 0, ["Jill", "library", 1, 2])
    book.close()
    with duckdb.connect(tmp_path / "counts.duckdb") as connection:
        connection.execute("create table t as select 'Jill' as \"user\", 'library' as place, 1 as count, 2 as n")
    with pytest.raises(hp.InputError, match="several columns 'count'"):
        hp.read_histograms(tmp_path / "counts.xlsx")
    twice = query_file(tmp_path / "counts.duckdb", 'select "user", place, count, n as count from t')
    assert twice.columns == ["user", "place", "count", "count_duplicated_0"]


def test_a_number_of_a_sheet_that_may_have_been_rounded_is_no_id_and_no_count(tmp_path: Path) -> None:
    ids = [2**53, 2**53 + 1]  # Excel has one number for both
    pl.DataFrame({"user": ids, "place": ["x", "y"], "count": [1, 2]}).write_excel(tmp_path / "users.xlsx")
    pl.DataFrame({"user": ["a", "b"], "place": ["x", "y"], "count": ids}).write_excel(tmp_path / "counts.xlsx")
    with pytest.raises(hp.InputError, match="'user' holds Float64 values"):
        hp.read_histograms(tmp_path / "users.xlsx")
    with pytest.raises(hp.InputError, match=r"above 2\^53"):
        hp.read_histograms(tmp_path / "counts.xlsx")


@pytest.mark.parametrize(
    ("scheme", "package"), [("mysql", "mysqlclient"), ("snowflake", "snowflake-sqlalchemy"), ("mssql+pyodbc", "pyodbc")]
)
def test_a_missing_driver_is_named_by_its_package(scheme: str, package: str) -> None:
    with pytest.raises(hp.InputError, match="driver is not installed") as error:
        hp.read_events(f"{scheme}://me:secret@host/calls", sql="select 1")
    assert error.value.fix.startswith(f"pip install {package};")
    assert "secret" not in str(error.value)
