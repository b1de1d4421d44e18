"""Read the result of a query as a table: of a DuckDB or SQLite file, or of a database at an address."""

import importlib.util
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl

from habitprint.errors import InputError, first_few
from habitprint.io.files import distinct_names, not_installed, reading, require_file

ENDINGS = (".duckdb", ".sqlite", ".sqlite3", ".db")
SQLITE = b"SQLite format 3\x00"
ADDRESS = re.compile(r"[a-z][a-z0-9+.\-]*://", re.IGNORECASE)
HOST = r"(?:[\w.\-]*|\[[0-9a-fA-F:.]+\])(?::\d+)?"
# The public part of an address, after the user: hosts and a database. Any other part may belong to a secret.
PUBLIC = re.compile(rf"{HOST}(?:,{HOST})*(?:/[^?#&=;@:\s]*)?")
PATH = re.compile(r"/[^?#]*")  # of a file, which has no user
USER = re.compile(r"[\w.%+\-]+")
HIDDEN = "…"
PARTS = "[:/@?#;&]"  # the signs between the parts of an address
OF_FILES = ("sqlite", "duckdb")
LONG = 4  # letters: shorter secrets are hidden only where they are whole words, lest every message become dots
CHECK = "check the query and the connection"
# A file from an unknown author may contain a view that reads other files, or the network; a table needs neither.
LOCKED: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
LONGEST_SHOWN = 200  # letters of a text that is not a query
QUERY = re.compile(r"\s*(?:select|with)\b", re.IGNORECASE)
ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
TABLES = "select table_name from information_schema.tables order by table_name"
SQLITE_TABLES = "select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite_%' order by 1"
# The package of a driver or of a dialect, where it has another name.
PACKAGES = {
    "MySQLdb": "mysqlclient",
    "psycopg": "'psycopg[binary]'",
    "psycopg2": "psycopg2-binary",
    "snowflake": "snowflake-sqlalchemy",
    "bigquery": "sqlalchemy-bigquery",
    "redshift": "sqlalchemy-redshift",
    "databricks": "databricks-sqlalchemy",
    "clickhouse": "clickhouse-sqlalchemy",
    "duckdb": "duckdb-engine",
}
# The first statement that makes a transaction read-only. Other databases have none: there, only a rollback helps.
READ_ONLY = {
    "postgresql": "set transaction read only",
    "mysql": "start transaction read only",
    "mariadb": "start transaction read only",
}


def is_address(text: object) -> bool:
    """Return whether a text is the address of a database, and no name of a file.

    Examples
    --------
    >>> is_address("postgresql://me@host/calls"), is_address("calls.csv")
    (True, False)
    """
    return isinstance(text, str) and ADDRESS.match(text) is not None


def without_password(address: str) -> str:
    """Return the public part of an address: scheme, host and database, without the user and the text after ``?``.

    If the end of the password is not clear, only the scheme is shown. The name of a file is returned unchanged.

    Examples
    --------
    >>> without_password("postgresql://me:pa/ss@host/calls?sslpassword=x")
    'postgresql://host/calls'
    >>> without_password("mssql+pyodbc://?odbc_connect=UID%3Dme%3BPWD%3Dsecret")
    'mssql+pyodbc://'
    >>> without_password("mysql://me:p?ss@host/calls")
    'mysql://…'
    >>> without_password("my calls.parquet")
    'my calls.parquet'
    """
    return f"{address.partition('://')[0]}://{_public(address)}" if is_address(address) else address


def with_user(address: str) -> str:
    """Return an address to paste into a command: with its user, and PASSWORD in place of a password.

    The text after ``?`` may hold secrets, so it is left out. The name of a file is returned unchanged.

    Examples
    --------
    >>> with_user("postgresql://me:pa/ss@host/calls?sslpassword=x")
    'postgresql://me:PASSWORD@host/calls'
    >>> with_user("postgresql://me@host/calls"), with_user("my calls.parquet")
    ('postgresql://me@host/calls', 'my calls.parquet')
    """
    public = without_password(address)
    scheme, _, rest = address.partition("://")
    user, at, _ = rest.partition("?")[0].rpartition("@")
    name, colon, _ = user.partition(":")
    if not (is_address(address) and at and USER.fullmatch(name)) or _public(address) == HIDDEN:
        return public
    return f"{scheme}://{name}{':PASSWORD' if colon else ''}@{_public(address)}"


def _public(address: str) -> str:
    """Return host and database of an address; if they are not clear, the mark for hidden text."""
    scheme, _, rest = address.partition("://")
    if scheme.lower().partition("+")[0] in OF_FILES and (path := PATH.match(rest)):
        return path[0]
    user, at, after = rest.rpartition("@")
    shown = re.split("[?#]", after)[0]
    is_clear = PUBLIC.fullmatch(shown) and not (at and re.search("[?#]", user))
    return shown if is_clear else HIDDEN


def _hidden(text: str, address: str) -> str:
    """Return the message of a driver without the secret parts of an address.

    A driver may mistake a part of a password for the host or a port, and quote it in an error. So parts count too.

    Examples
    --------
    >>> _hidden("no port 'pa' at host", "postgresql://me:pa/ss@host/calls")
    "no port '…' at host"
    >>> _hidden("wrong password: calls", "postgresql://me:calls@host/calls")
    'wrong password: …'
    """
    user, _, query = address.partition("://")[2].rpartition(_public(address) or HIDDEN)
    parts = {part for text in (user, query, unquote(user), unquote(query)) for part in re.split(PARTS, text)}
    # The name before a value is none: 'password' may be said.
    parts |= {part.partition("=")[2] for part in parts}
    text = text.replace(address, without_password(address))
    for secret in sorted(parts - {""}, key=len, reverse=True):
        exact = re.escape(secret)
        text = re.sub(exact if len(secret) >= LONG else rf"(?<!\w){exact}(?!\w)", HIDDEN, text)
    return text


def query_file(path: Path, sql: str | None = None) -> pl.DataFrame:
    """Return the result of a query on a DuckDB or SQLite file, which is only read; without one, its only table.

    The first bytes of the file tell which of the two it is.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "calls.sqlite"
    ...     with sqlite3.connect(file) as connection:
    ...         _ = connection.execute("create table calls (user text, place int)")
    ...         _ = connection.execute("insert into calls values ('Jill', 7)")
    ...     connection.close()
    ...     query_file(file).rows()
    [('Jill', 7)]
    """
    if sql and QUERY.match(sql) is None:
        raise _no_query(sql)
    with path.open("rb") as content:
        is_sqlite = content.read(len(SQLITE)) == SQLITE
    kind, connect, listing, run = (
        ("SQLite", _connect_sqlite, SQLITE_TABLES, _run_sqlite)
        if is_sqlite
        else ("DuckDB", _connect_duckdb, TABLES, _run_duckdb)
    )
    why = f"it is not a complete {kind} file, or another program writes to it"
    fix = "close programs that write to it, or copy the file again"
    with reading(path, why=why, fix=fix), closing(connect(path)) as connection:
        tables = [name for (name,) in connection.execute(listing).fetchall()]
        query = sql or _only(path, tables)
        with reading(path, why=f"the query was {query!r}", fix=CHECK):
            return run(connection, query)


def query_address(address: str, sql: str | None) -> pl.DataFrame:
    """Return the result of a query on a database at an address, by SQLAlchemy.

    A SQLite file is read as by `query_file`. In any other database the transaction is read-only, if the database
    supports that (see `READ_ONLY`), and nothing is ever committed.

    Examples
    --------
    >>> query_address("postgresql://me@host/calls", None)
    Traceback (most recent call last):
    habitprint.errors.InputError: postgresql://host/calls is given without a query
      why: an address names a database, and a query selects a table from it
      fix: add --sql "select user, time, place from calls" (sql='…' in Python)
    """
    shown = without_password(address)
    if sql is None:
        raise InputError(
            f"{shown} is given without a query",
            why="an address names a database, and a query selects a table from it",
            fix="add --sql \"select user, time, place from calls\" (sql='…' in Python)",
        )
    if QUERY.match(sql) is None:
        raise _no_query(sql)
    if address.lower().startswith(("sqlite:", "sqlite+")):
        return query_file(_sqlite_file(address), sql)
    if importlib.util.find_spec("sqlalchemy") is None:
        raise not_installed(shown, "SQLAlchemy", "sql")
    try:
        with reading(shown, why=f"the query was {sql!r}", fix=CHECK):
            return _query(address, sql)
    except InputError as error:
        begin = f"cannot read {shown}: "
        what = begin + _hidden(error.what.removeprefix(begin), address)
        raise InputError(what, why=error.why, fix=error.fix) from None


def _no_query(sql: str) -> InputError:
    shown = sql if len(sql) <= LONGEST_SHOWN else f"{sql[:LONGEST_SHOWN]}…"
    return InputError(
        f"--sql {shown!r} is not a query",
        why="habitprint never changes a database: a query is one statement that begins with select or with",
        fix="write --sql \"select user, time, place from calls\" (sql='…' in Python)",
    )


def _sqlite_file(address: str) -> Path:
    """Return the path in an address of SQLite.

    A driver that opened the address itself would create a missing file, and could write to it.
    """
    host, _, name = address.partition("://")[2].partition("?")[0].partition("/")
    if host or not name:
        raise InputError(
            f"{without_password(address)} names no file",
            why="a database of SQLite is a file",
            fix="write sqlite:///calls.sqlite, or sqlite:////data/calls.sqlite from the root; or give the file's name",
        )
    return require_file(name, why="habitprint reads a database of SQLite from a file")


def _query(address: str, sql: str) -> pl.DataFrame:
    """Return the result of a query; when the connection is closed, its transaction is rolled back."""
    engine = _engine(address)
    try:
        with engine.connect() as connection:
            begin = READ_ONLY.get(connection.dialect.name)
            if begin is not None:
                connection.exec_driver_sql(begin)
            return pl.read_database(sql, connection, infer_schema_length=None)
    finally:
        engine.dispose()


def _engine(address: str) -> Any:
    """Return SQLAlchemy's engine for an address; if its driver is missing, the error names the package."""
    import sqlalchemy  # noqa: PLC0415 - an extra

    scheme = address.partition("://")[0].lower()
    try:
        return sqlalchemy.create_engine(address)
    except sqlalchemy.exc.NoSuchModuleError:
        driver = scheme.partition("+")[0]
    except ModuleNotFoundError as error:
        driver = str(error.name)
    package = PACKAGES.get(driver, driver)
    raise InputError(
        f"cannot read {without_password(address)}: its driver is not installed",
        why=f"SQLAlchemy reads {scheme} with the package {package}",
        fix=f"pip install {package}; or export the table as CSV or Parquet",
    )


def _only(path: Path, tables: list[str]) -> str:
    """Return the query for the only table of a file."""
    if len(tables) != 1:
        listed = f"several tables: {first_few(tables)}" if tables else "no table"
        example = f'--sql "select * from {tables[0]}"' if tables else "another file"  # noqa: S608 - only shown
        raise InputError(
            f"{path} has {listed}", why="habitprint reads one table, or the result of a query", fix=f"give {example}"
        )
    return 'select * from "' + tables[0].replace('"', '""') + '"'  # noqa: S608 - quoted


def _connect_sqlite(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    connection.execute("pragma trusted_schema = off")
    # A query on a file that is only read could still create another file.
    connection.set_authorizer(_authorize)
    return connection


def _authorize(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in ALLOWED else sqlite3.SQLITE_DENY


def _run_sqlite(connection: sqlite3.Connection, query: str) -> pl.DataFrame:
    """Return the rows of a query on SQLite; a column that mixes numbers and text becomes text."""
    cursor = connection.execute(query)
    names = distinct_names([name for name, *_ in cursor.description or ()])
    columns = zip(*rows, strict=True) if (rows := cursor.fetchall()) else [()] * len(names)
    return pl.DataFrame([pl.Series(name, values, strict=False) for name, values in zip(names, columns, strict=True)])


def _connect_duckdb(path: Path) -> Any:
    try:
        import duckdb  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise not_installed(path, "duckdb", "sql") from error
    return duckdb.connect(str(path), read_only=True, config=LOCKED)


def _run_duckdb(connection: Any, query: str) -> pl.DataFrame:
    if len(connection.extract_statements(query)) != 1:
        raise _no_query(query)
    relation = connection.sql(query)
    table: pl.DataFrame = relation.pl()
    table.columns = distinct_names(relation.columns)  # DuckDB calls the second of two columns `count` `count_1`
    return table
