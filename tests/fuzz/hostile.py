"""Make inputs that nobody should ever have to read: every format, damaged, nested, swollen, mistaken, hostile."""

import datetime as dt
import gzip
import hashlib
import json
import os
import random
import sqlite3
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import polars as pl

import habitprint as hp
from habitprint.io.tables import write_table
from habitprint.weighing import WEIGHTS, write_weight

Random = random.Random
CONTROLS = [
    "\x1b[2J",
    "\x1b]0;evil\x07",
    "\u202eabc",
    "\x9b2J",
    "\x00",
    "\x08\x08",
    "\x7f",
    "\u2028",
    "\ufeff",
    "\ufffd",
]
IDS = [
    "[/]x",
    "[bold]",
    "[link=x]y",
    ":smile:",
    "=1+1",
    "+x",
    "-x",
    "@x",
    "'=x",
    "''",
    "\tx",
    "a\rb",
    "a\nb",
    "a,b",
    'a"b',
    " ",
    "é",
    "007",
    "7",
    "-5",
    "1e3",
    "nan",
    "null",
    "None",
    "true",
    "x" * 3000,
    "%s%n",
    "${HOME}",
    "../../x",
    "<script>",
    *CONTROLS,
]
NUMBERS = [
    "",
    "0",
    "-1",
    "1.5",
    "1e400",
    "-0",
    "NaN",
    "inf",
    "9" * 40,
    "9007199254740993",
    "0x10",
    "1_000",
    "1,5",
    "٣",
    "1e-320",
]
TIMES = [
    "",
    "2012-13-45",
    "0000-00-00",
    "9999-12-31 23:59:59",
    "12/04/2012",
    "1333965600",
    "now",
    "2012-04-09T10:00:00+05:30",
    "2012-02-30",
    "-2012-04-09",
    "10000-01-01",
    "2012-04-09 24:00:00",
    "2012-04-09 10:00:00 Z",
]
VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2,
    1.5,
    -0.0,
    1e308,
    10**30,
    2**53 + 1,
    -(10**18),
    "",
    "x",
    "all",
    "nan",
    "\x1b[2J",
    "[/]",
    [],
    [[]],
    {},
    {"x": 1},
    [1, "a"],
    ["a", "a"],
    "x" * 5000,
]
OPTIONS = [
    "1" + "0" * 400,
    "-1",
    "0",
    "1e400",
    "nan",
    "inf",
    "",
    " ",
    "[/]x",
    "\x1b[2J",
    "é",
    "1.5",
    "2",
    "x" * 5000,
    "--",
    "-",
    "9" * 25,
    "../x",
    "∞",
]
SECRET = "s3cr3t-word"  # noqa: S105 - of an address that is nowhere: it is never shown
KEYS = ["name", "steps", "sha256", "facts", "words", "copied", "k", "__class__", "", "\x1b[2J", "é"]


@dataclass(frozen=True)
class Case:
    """Hold a command, and the folder that it is run in: files by name, and what makes others, such as pipes."""

    kind: str
    words: list[str]
    files: dict[str, bytes]
    make: list[Callable[[Path], object]] = field(default_factory=list)


def case_of(seed: int, number: int) -> Case:
    """Return one case: the same for the same seed and number."""
    rng = Random(f"{seed}-{number}")
    (kind,) = rng.choices(list(KINDS), [weight for _, weight in KINDS.values()])
    return replace(KINDS[kind][0](rng), kind=kind)


@cache
def good() -> dict[str, bytes]:
    """Return files that are as they should be; what is hostile begins as one of them."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        _write_events(folder)
        _write_tracks(folder)
        _write_tables(folder)
        _write_results(folder)
        return {file.name: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def _write_events(folder: Path) -> None:
    events = "user,time,place\n" + "".join(
        f"u{user},2012-04-{9 + day:02d} 10:{user:02d}:00,p{(user * 3 + day * turn) % 5}\n"
        for user in range(6)
        for day in range(14)
        for turn in range(2)
    )
    (folder / "e.csv").write_text(events)
    (folder / "e.tsv").write_text(events.replace(",", "\t"))
    (folder / "e.csv.gz").write_bytes(gzip.compress(events.encode(), mtime=0))
    frame = pl.read_csv(folder / "e.csv", try_parse_dates=True)
    frame.write_parquet(folder / "e.parquet")
    text = frame.with_columns(pl.col("time").cast(pl.String))
    text.write_ndjson(folder / "e.ndjson")
    frame.write_excel(folder / "e.xlsx", worksheet="calls")
    connection = sqlite3.connect(folder / "e.sqlite")
    connection.execute("create table calls (user text, time text, place text)")
    connection.executemany("insert into calls values (?, ?, ?)", text.rows())
    connection.commit()
    connection.close()
    with duckdb.connect(str(folder / "e.duckdb")) as database:
        database.execute("create table calls as select * from frame")
    (folder / "users.csv").write_text("user\nu0\nu1\nu2\n")
    (folder / "mine.toml").write_text(
        'name = "mine"\ntitle = "Mine"\nweights = ["l1"]\nrepeats = 1\nclaims = ["falls"]\n[events]\n'
        'file = "e.csv"\nuser = "user"\n[periods]\nweeks = "2012-04-09"\n[vary]\nn_users = [3]\n'
        "[setting]\nn_top = 4\n"
    )
    (folder / "visits.csv").write_text(
        "".join(f"{{{n % 3}f}},{n},0,{n % 5},{1262304000000000 + n * 10**10},1,5,3\n" for n in range(120))
    )
    (folder / "places.csv").write_text("id,favicon_id\n" + "".join(f"{n},{n % 3}\n" for n in range(5)))
    calls = (f"{n % 9}\t2012-04-{9 + n % 14:02d} 08:{n % 60:02d}:00\t{n * n % 7 + 1}\n" for n in range(180))
    (folder / "POS_SAMPLE_9.TSV").write_text("".join(calls))
    (folder / "ANT_POS.TSV").write_text("".join(f"{n}\t-4.{n}\t5.{n}\n" for n in range(1, 8)))
    (folder / "SUBPREF_POS_LONLAT.TSV").write_text("".join(f"{n}\t-4.{n}\t5.{n}\n" for n in range(60, 63)))


def _write_tracks(folder: Path) -> None:
    fixes = [
        (47 + day % 2 / 100, 8.0, f"2012-04-{9 + day:02d}T10:{minute:02d}:00Z")
        for day in range(14)
        for minute in (0, 5, 10, 15)
    ]
    points = "".join(f'<trkpt lat="{y}" lon="{x}"><time>{t}</time></trkpt>' for y, x, t in fixes)
    (folder / "t.gpx").write_text(f"<?xml version='1.0'?><gpx><trk><trkseg>{points}</trkseg></trk></gpx>")
    line = {"type": "LineString", "coordinates": [[x, y] for y, x, _ in fixes]}
    feature = {"type": "Feature", "properties": {"coordTimes": [t for *_, t in fixes]}, "geometry": line}
    (folder / "t.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    plt = "".join(f"{y},{x},0,492,39744.12,{t[:10]},{t[11:19]}\n" for y, x, t in fixes)
    (folder / "t.plt").write_text("Geolife trajectory\n" + 5 * "-\n" + plt)


def _write_tables(folder: Path) -> None:
    released, known = hp.datasets.town(24, 5, seed=1)  # enough to train and to forecast with
    counts = released.to_table()
    write_table(counts, folder / "a.csv")
    write_table(known.to_table(), folder / "b.csv")
    write_table(counts, folder / "a.parquet")
    counts.write_excel(folder / "a.xlsx")
    with duckdb.connect(str(folder / "a.duckdb")) as database:
        database.execute("create table counts as select * from counts")
    (folder / "wide.csv").write_text("user;p0;p1;p2;p3\n" + "".join(f"u{n};{n};1,5;;3\n" for n in range(6)))
    places = sorted({*released.places, *known.places, *(f"p{n}" for n in range(5))})
    (folder / "map.csv").write_text("place,to\n" + "".join(f"{place},d{i % 2}\n" for i, place in enumerate(places)))
    (folder / "positions.csv").write_text(
        "place,lat,lon\n" + "".join(f"{place},{40 + i},{8 + i}\n" for i, place in enumerate(places))
    )
    (folder / "truth.csv").write_text("released,known\n" + "".join(f"{user},{user}\n" for user in released.users))
    coarser = hp.Coarsen(hp.read_place_mapping(folder / "map.csv"))(released)
    hp.write_release(hp.microaggregate(coarser, k=2), folder / "safer.csv")


def _write_results(folder: Path) -> None:
    two_tables = hp.read_histograms(folder / "a.csv"), hp.read_histograms(folder / "b.csv")
    hp.write_audit(hp.audit(two_tables, target=0.2, noise=False), folder / "audit")
    (folder / "advice.json").write_bytes((folder / "audit" / "advice.json").read_bytes())
    (folder / "report.json").write_bytes((folder / "audit" / "report.json").read_bytes())
    _run(["audit", "e.csv", "--target", "70%", "--decide", "measured", "--no-noise", "--out", "events"], folder)
    (folder / "of-events.json").write_bytes((folder / "events" / "advice.json").read_bytes())
    write_weight(WEIGHTS["l1"], folder / "weight.json")
    write_weight(hp.train(*two_tables).trained.weight, folder / "learned.json")


def _run(words: list[str], folder: Path) -> None:
    from in_process import run  # noqa: PLC0415 - the command line is loaded where a case needs a run before the run

    run(words, folder)


def damaged(rng: Random, content: bytes) -> bytes:
    """Return bytes with something done to them."""
    damaged = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at = rng.randrange(len(damaged) + 1)
        match rng.randrange(6):
            case 0 if damaged:
                damaged[at % len(damaged)] ^= 1 << rng.randrange(8)
            case 1:
                del damaged[at:]
            case 2:
                del damaged[at : at + rng.randrange(1, 30)]
            case 3:
                damaged[at:at] = rng.randbytes(rng.randrange(1, 20))
            case 4:
                damaged[at:at] = rng.choice(
                    [b"\x00", b"\r", b"\n\n", b'"', b",", b"\xff\xfe", b"\x1b[2J", b"'", b"\t", b"\xc3"]
                )
            case _:
                damaged[at:at] = damaged[at : at + rng.randrange(1, 200)]
    return bytes(damaged)


def _cells(rng: Random, text: str, separator: str) -> bytes:
    """Return a text table with some cells that somebody should not have written; quoted as they should be, or not."""
    rows = [line.split(separator) for line in text.splitlines()]
    for _ in range(rng.choice([1, 1, 2, 8])):
        row = rng.choice(rows)
        value = rng.choice(rng.choice([IDS, NUMBERS, TIMES]))
        row[rng.randrange(len(row))] = (
            json.dumps(value, ensure_ascii=False).replace('\\"', '""') if rng.random() < 0.3 else value
        )
    match rng.randrange(8):
        case 0:
            rng.choice(rows).append("more")
        case 1:
            rng.choice(rows).pop()
        case 2:
            rows.insert(rng.randrange(len(rows)), [""])
        case 3:
            rows[0] = rows[0] + rows[0]
        case _:
            pass
    end = rng.choice(["\n", "\n", "\n", "\r\n", "\r"])
    return end.join(separator.join(row) for row in rows).encode("utf-8", "surrogatepass") + end.encode()


def _hostile_ids(rng: Random, text: str) -> bytes:
    """Return a table of text with well-quoted ids that would do something on a terminal or in a spreadsheet."""
    chosen = {f"{kind}{n}": rng.choice(IDS) for kind in ("u", "p", "user", "place") for n in range(6)}
    lines = [line.split(",") for line in text.splitlines()]
    quoted = [[_quoted(chosen.get(cell, cell)) for cell in line] for line in lines[1:]]
    return "\n".join(",".join(line) for line in [lines[0], *quoted]).encode() + b"\n"


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if set(cell) & set(',"\r\n') else cell


def _nodes(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in list(items):
        found.append((value, key))
        _nodes(child, found)
    return found


def _mistaken(rng: Random, value: Any) -> Any:
    """Return a structure with values where others belong."""
    value = json.loads(json.dumps(value))
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        nodes = _nodes(value, [])
        if not nodes:
            return value
        parent, key = rng.choice(nodes)
        match rng.randrange(8):
            case 0:
                del parent[key]
            case 1 if isinstance(parent, dict):
                parent[rng.choice(KEYS)] = deepcopy(rng.choice(VALUES))
            case 2 if isinstance(parent, list):
                parent.insert(key, deepcopy(rng.choice(parent)))
            case 3:
                parent[key] = deepcopy(rng.choice(nodes)[0])
            case _:
                parent[key] = deepcopy(rng.choice(VALUES))
    return value


def _json(rng: Random, content: bytes) -> bytes:
    """Return JSON that is damaged or mistaken."""
    match rng.randrange(10):
        case 0 | 1 | 2:
            return damaged(rng, content)
        case 3:
            depth = rng.choice([900, 5_000, 100_000])
            return b"[" * depth + b"]" * depth if rng.random() < 0.5 else b'{"steps":' * depth + b"1" + b"}" * depth
        case 4:
            text = content.decode()
            for name in rng.sample(["0", "2", '"', "true", "null"], 2):
                text = text.replace(name, rng.choice(["NaN", "1e999", "9" * 5000, '"\\ud800"', "-Infinity", '""']), 1)
            return text.encode()
        case _:
            return json.dumps(_mistaken(rng, json.loads(content))).encode()


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml_value(child)}" for key, child in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    return '""' if value is None else json.dumps(value)


TOML_VALUES = [
    "1979-05-27",
    "1979-05-27T07:32:00Z",
    "07:32:00",
    "inf",
    "nan",
    "-1",
    "0",
    "1e400",
    "9" * 30,
    "9" * 5000,
    "[]",
    "[[1]]",
    "{}",
    '""',
    "true",
    '"x"',
    '["a", "a"]',
    "[1, 2]",
    "1000000000",
    '"\\u0000"',
    '"\\u001b[2J"',
    '"[/]"',
    '"index"',
    '"../x"',
    "[" * 2000 + "]" * 2000,
    '["joint", "one-by-one"]',
    '["l1", "dot"]',
    '"2012-04-10"',
    '[["2012-04-09", "2012-04-12"], ["2012-04-13", "2012-04-20"]]',
]
TOML_NAMES = [
    "name",
    "title",
    "about",
    "x",
    "weights",
    "methods",
    "claims",
    "repeats",
    "log",
    "file",
    "user",
    "time",
    "place",
    "lat",
    "lon",
    "time_zone",
    "time_format",
    "on_bad_rows",
    "box",
    "weeks",
    "ranges",
    "halves",
    "busiest",
    "first_day",
    "n_users",
    "n_released",
    "n_common",
    "last_day",
    "n_top",
    "seen_top",
    "side",
    "k",
    "events",
    "periods",
    "vary",
    "setting",
    "oops",
]


def _toml(rng: Random) -> Case:
    content = good()["mine.toml"]
    if rng.random() < 0.3:
        content = damaged(rng, content)
    else:
        lines = content.decode().splitlines()
        for _ in range(rng.choice([1, 1, 2, 3])):
            at = rng.randrange(len(lines) + 1)
            line = f"{rng.choice(TOML_NAMES)} = {rng.choice(TOML_VALUES)}"
            if rng.random() < 0.5 and at < len(lines):
                name = lines[at].partition(" =")[0]
                lines[at] = f"{name} = {rng.choice(TOML_VALUES)}"
            else:
                lines.insert(at, line)
        content = "\n".join(lines).encode()
    return Case(
        "experiment", ["reproduce", "bad.toml", "--out", "out"], {"bad.toml": content, "e.csv": good()["e.csv"]}
    )


def _stored(rng: Random) -> Case:
    """Return a folder of results in which one is damaged: it is computed again."""
    files = {"mine.toml": good()["mine.toml"], "e.csv": good()["e.csv"]}

    def spoil(folder: Path) -> None:
        _run(["reproduce", "mine.toml", "--out", "out"], folder)
        for file in sorted((folder / "out").rglob("*.json")):
            content = file.read_bytes()
            if rng.random() < 0.3:
                file.write_bytes(damaged(rng, content))
            elif file.name == "index.json":
                file.write_bytes(_json(rng, content))
            else:  # with a hash that fits, as somebody would write it who wants to be believed
                body = _json(rng, content.partition(b"\n")[2])
                file.write_bytes(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)

    return Case("stored result", ["reproduce", "mine.toml", "--out", "out"], files, [spoil])


def _events(rng: Random) -> Case:
    name = rng.choice(["e.csv", "e.csv", "e.tsv", "e.ndjson", "e.parquet", "e.csv.gz"])
    content = good()[name]
    if name in {"e.csv", "e.tsv"} and rng.random() < 0.6:
        content = _cells(rng, content.decode(), "," if name == "e.csv" else "\t")
    elif name == "e.ndjson" and rng.random() < 0.7:
        lines = content.decode().splitlines()
        for at in rng.sample(range(len(lines)), rng.choice([1, 3])):
            depth = rng.choice([900, 20_000])
            nested = '{"user":"a","time":"2012-04-09","place":"x","z":' + "[" * depth + "]" * depth + "}"
            lines[at] = rng.choice([json.dumps(_mistaken(rng, json.loads(lines[at]))), nested, "[]", "7", ""])
        content = "\n".join(lines).encode()
    elif name == "e.csv.gz" and rng.random() < 0.4:
        content = gzip.compress(damaged(rng, good()["e.csv"]), mtime=0)
    else:
        content = damaged(rng, content)
    bad = "bad" + name[1:]
    more = rng.choice([[], [], ["--on-bad-rows", "fail"], ["--halves"], ["--by-hours", "6"], ["--users", "all"]])
    split = ["split", bad, "--released", "r.csv", "--known", "k.parquet", *more]
    words = rng.choice([["inspect", bad], ["inspect", bad, "--json"], split])
    return Case(f"events {name[1:]}", words, {bad: content})


def _dialect(rng: Random) -> Case:
    """Return events in some dialect, as somebody in Europe would have them, damaged or with cells that lie about it."""
    separator, encoding = rng.choice(",;\t|"), rng.choice(["utf-8", "cp1252", "utf-16", "utf-8-sig"])
    lines = [
        [f"u{n % 5}é", f"{1 + n % 28:02d}.04.2012 10:{n % 60:02d}", f"47,{n:03d}", "8,5", f"1,{n:03d}"]
        for n in range(60)
    ]
    for _ in range(rng.choice([0, 1, 5])):
        row = rng.choice(lines)
        row[rng.randrange(5)] = rng.choice(["47.5", "1.234,5", "1,2,3", "04/05/2012", "13/14/2012", *IDS, *TIMES])
    body = [["user", "time", "lat", "lon", "s"], *lines]
    text = "".join(separator.join(map(_quoted, row)) + rng.choice(["\n", "\r\n"]) for row in body)
    if rng.random() < 0.2:
        text = f"sep={rng.choice(',;|x')}\n{text}"
    content = text.encode(encoding, "replace")
    if rng.random() < 0.4:
        content = damaged(rng, content)
    columns = ["--lat", "lat", "--lon", "lon", *rng.choice([[], ["--seconds", "s"]])]
    asked = rng.choice([[], [], ["--separator", "semicolon"], ["--decimal", ","], ["--encoding", "utf-16"]])
    more = rng.choice([[], ["--json"], ["--stays", "200m,15min"]])
    return Case("dialect", ["inspect", "bad.csv", *columns, *asked, *more], {"bad.csv": content})


def _stored_table(rng: Random) -> Case:
    """Return an Excel, SQLite or DuckDB file that is damaged, or a query that somebody should not have written."""
    is_counts = rng.random() < 0.4
    name = rng.choice(["a.xlsx", "a.duckdb"] if is_counts else ["e.xlsx", "e.sqlite", "e.duckdb"])
    content = damaged(rng, good()[name]) if rng.random() < 0.6 else good()[name]
    queries = ["delete from calls", "select", "select * from 'x'", "\x1b[2J", "attach 'x' as y", "pragma x", "select 1"]
    asked = rng.choice([[], ["--sql", rng.choice(queries)], ["--sheet", rng.choice(["calls", "x", "\x1b[2J"])]])
    bad = "bad" + rng.choice([name[1:], name[1:], name[1:], ".xls", ".ods", ".db", ".sqlite3"])
    split = ["split", bad, "--released", "r.csv", "--known", "k.csv"]
    words = ["match", bad, "b.csv"] if is_counts else rng.choice([["inspect", bad], split])
    return Case("file of tables", [*words, *asked], {bad: content, "b.csv": good()["b.csv"]})


def _address(rng: Random) -> Case:
    """Return addresses of databases that are nowhere, or queries that somebody should not have written."""
    hosts = ["127.0.0.1:1", "[::1]:1", "127.0.0.1:99999", "", "a b", "é:x"]
    elsewhere = (
        f"{rng.choice(['postgresql', 'mysql', 'mssql+pyodbc', 'xy', 'sqlite'])}://me:{SECRET}@{rng.choice(hosts)}/c"
    )
    address = rng.choice(["sqlite:///e.sqlite", "sqlite:///bad.sqlite", "sqlite:///nowhere", "duckdb:///x", elsewhere])
    queries = [
        "select * from calls",
        "select user, time, place from calls; drop table calls",
        "with x as (select 1) select * from x",
        "select randomblob(9) as user, 1 as time, 2 as place",
        "select 'a' as user, 9e999 as time, null as place",
        "select * from calls order by",
        "attach 'x.sqlite' as x",
        "select load_extension('x')",
        "\x1b[2J",
        "",
    ]
    split = ["split", address, "--released", "r.csv", "--known", "k.csv"]
    words = rng.choice([["inspect", address], ["inspect", address, "--json"], split])
    files = {"e.sqlite": good()["e.sqlite"], "bad.sqlite": damaged(rng, good()["e.sqlite"])}
    return Case("address", [*words, "--sql", rng.choice(queries)], files)


ENTITIES = b'<!DOCTYPE gpx [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'


def _tracks(rng: Random) -> Case:
    """Return a folder of tracks of which one is damaged, mistaken or hostile."""
    name = rng.choice(["t.gpx", "t.geojson", "t.plt"])
    content = good()[name]
    if name == "t.geojson" and rng.random() < 0.7:
        content = _json(rng, content)
    elif name == "t.gpx" and rng.random() < 0.3:
        content = content.replace(b"<gpx>", ENTITIES + b"<gpx>", 1)
    elif name == "t.gpx" and rng.random() < 0.3:
        depth = rng.choice([1000, 100_000])
        content = b"<gpx>" + b"<trk>" * depth + b"</trk>" * depth + b"</gpx>"
    elif name == "t.plt" and rng.random() < 0.5:
        content = _cells(rng, content.decode(), ",")
    else:
        content = damaged(rng, content)

    def into_folder(folder: Path) -> None:
        (folder / "tracks").mkdir()
        (folder / "tracks" / f"Jo{name[1:]}").write_bytes(content)
        (folder / "tracks" / f"Ann{name[1:]}").write_bytes(good()[name])

    more = rng.choice([[], ["--json"], ["--stays", "100m,5min"]])
    halves = ["--halves", "--released", "r.csv", "--known", "k.csv"]
    words = rng.choice(
        [["inspect", "tracks", *more], ["split", "tracks", "--stays", "100m,5min", "--side", "500", *halves]]
    )
    return Case("tracks", words, {}, [into_folder])


D4D = ["SET2TSV/POS_SAMPLE_9.TSV", "ANT_POS.TSV", "SUBPREF_POS_LONLAT.TSV"]


def _paper(rng: Random) -> Case:
    """Return data of the paper, as they come, of which one file is damaged."""
    data, shows, separator, files = rng.choice(
        [
            ("web-history", "figure-popularity", ",", ["visits.csv", "places.csv"]),
            ("geolife", "figure-active-weeks", ",", ["Data/000/Trajectory/t.plt"]),
            ("d4d", rng.choice(["table-aggregation", "figure-map"]), "\t", D4D),
        ]
    )
    bad = rng.choice(files)
    contents = {file: good()[Path(file).name] for file in files}
    good_one = contents[bad]
    contents[bad] = _cells(rng, good_one.decode(), separator) if rng.random() < 0.5 else damaged(rng, good_one)

    def into_folder(folder: Path) -> None:
        for name, content in contents.items():
            (folder / "data" / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / "data" / name).write_bytes(content)

    return Case("data of the paper", ["reproduce", shows, f"--{data}", "data", "--out", "out"], {}, [into_folder])


def _wide(rng: Random) -> Case:
    text = good()["wide.csv"].decode()
    content = _cells(rng, text, ";") if rng.random() < 0.6 else damaged(rng, text.encode())
    words = rng.choice([["match", "bad.csv", "b.csv"], ["protect", "bad.csv", "--top-places", "2", "--out", "o.csv"]])
    return Case("wide table", words, {"bad.csv": content, "b.csv": good()["b.csv"]})


def _odd_parquet(rng: Random) -> Case:
    """Return Parquet files with columns of types that have no business there."""
    n = 6
    day = dt.date(2012, 4, 9)
    odd: list[Any] = [
        [[1]] * n,
        [{"a": 1}] * n,
        [b"\xff"] * n,
        [Decimal("1.5")] * n,
        [dt.timedelta(1)] * n,
        [dt.time(1)] * n,
        [True] * n,
        [day] * n,
        [None] * n,
        [1.5] * n,
        [float("nan")] * n,
        pl.Series([12_726_000] * n, dtype=pl.Int32).cast(pl.Date),
        [2**60] * n,
        pl.Series([2**63] * n, dtype=pl.UInt64),
        pl.Series(["a"] * n, dtype=pl.Categorical),
        [""] * n,
        [rng.choice(IDS)] * n,
        pl.Series([2**62] * n).cast(pl.Datetime("us")),
        pl.Series([1] * n, dtype=pl.Int8),
        [[]] * n,
        [dt.datetime(1, 1, 1, tzinfo=dt.UTC)] * n,
        pl.Series([2**53 + 1] * n),
        pl.Series([-(2**63)] * n),
        [[["x"]]] * n,
    ]
    columns: dict[str, Any] = {
        "user": [f"u{i % 3}" for i in range(n)],
        "place": [f"p{i}" for i in range(n)],
        "count": list(range(1, n + 1)),
        "time": [dt.datetime(2012, 4, 9 + i, tzinfo=dt.UTC) for i in range(n)],
    }
    for column in rng.sample(list(columns), rng.choice([1, 1, 2])):
        columns[column] = rng.choice(odd)
    words = rng.choice(
        [
            ["inspect", "bad.parquet"],
            ["match", "bad.parquet", "b.csv"],
            ["match", "a.csv", "b.csv", "--truth", "bad.parquet"],
            ["protect", "bad.parquet", "--suppress-below", "2", "--out", "o.parquet"],
            ["split", "bad.parquet", "--released", "r.csv", "--known", "k.csv"],
            ["inspect", "bad.parquet", "--time-format", "seconds", "--seconds", "count"],
        ]
    )

    def write(folder: Path) -> None:
        pl.DataFrame(columns).write_parquet(folder / "bad.parquet")

    return Case("odd parquet", words, {name: good()[name] for name in ("a.csv", "b.csv")}, [write])


def _table(rng: Random) -> Case:
    name = rng.choice(["a.csv", "a.csv", "a.parquet"])
    content = good()[name]
    content = _cells(rng, content.decode(), ",") if name == "a.csv" and rng.random() < 0.6 else damaged(rng, content)
    bad = "bad" + name[1:]
    words = rng.choice(
        [
            ["match", bad, "b.csv", "--json"],
            ["match", "b.csv", bad, "--truth", "same-id"],
            ["match", bad, "b.csv", "--out", "o.csv", "--duplicates", "sum"],
            ["path", bad, "b.csv", "--out", "o.csv"],
            ["protect", bad, "--k", "2", "--out", "o.csv"],
            ["protect", bad, "--round-to", "2", "--out", "o.parquet", "--known", "b.csv"],
            ["train", bad, "b.csv", "--out", "w.json"],
            ["match", "a.csv", "b.csv", "--weight", "auto", "--train", bad, "b.csv"],
            ["forecast", bad, "b.csv", "--population", "1000"],
            ["predict", bad, "b.csv", "--draws", "2"],
        ]
    )
    return Case(f"table {name[1:]}", words, {bad: content, **_tables()})


def _tables() -> dict[str, bytes]:
    return {name: good()[name] for name in ("a.csv", "b.csv")}


def _beside(rng: Random) -> Case:
    """Return tables that are read beside others: truths, mappings, lists of users."""
    name, words = rng.choice(
        [
            ("truth.csv", ["match", "a.csv", "b.csv", "--truth", "bad.csv"]),
            ("map.csv", ["protect", "a.csv", "--coarsen", "bad.csv", "--out", "o.csv"]),
            ("users.csv", ["split", "e.csv", "--users", "bad.csv", "--released", "r.csv", "--known", "k.csv"]),
            ("map.csv", ["split", "e.csv", "--map", "bad.csv", "--released", "r.csv", "--known", "k.csv"]),
        ]
    )
    content = good()[name]
    content = _cells(rng, content.decode(), ",") if rng.random() < 0.6 else damaged(rng, content)
    return Case(
        f"beside {name}", words, {"bad.csv": content, **{file: good()[file] for file in ("a.csv", "b.csv", "e.csv")}}
    )


def _sidecar(rng: Random) -> Case:
    names = ["safer.csv", "safer.csv.json", "safer.csv.owner.json"]
    files = {name: good()[name] for name in (*names, "b.csv")}
    bad = rng.choice(names)
    files[bad] = _json(rng, files[bad]) if bad.endswith(".json") else damaged(rng, files[bad])
    words = rng.choice([["check", "safer.csv"], ["check", "safer.csv", "--json"], ["match", "safer.csv", "b.csv"]])
    return Case("sidecar", words, files)


def _advice(rng: Random) -> Case:
    told, data = rng.choice([("advice.json", "a.csv"), ("of-events.json", "e.csv")])
    files = {told: _json(rng, good()[told]), data: good()[data]}
    if rng.random() < 0.3:
        files = {told: good()[told], data: _cells(rng, good()[data].decode(), ",")}
    return Case("advice", ["protect", data, "--advice", told, "--out", "o.csv"], files)


def _ids(rng: Random) -> Case:
    files = {name: _hostile_ids(rng, good()[name].decode()) for name in ("a.csv", "b.csv", "e.csv")}
    files["of-events.json"] = good()["of-events.json"]
    words = rng.choice(
        [
            ["match", "a.csv", "b.csv"],
            ["match", "a.csv", "b.csv", "--json", "--truth", "same-id"],
            ["match", "a.csv", "b.csv", "--out", "o.csv"],
            ["inspect", "e.csv"],
            ["inspect", "e.csv", "--json"],
            ["split", "e.csv", "--released", "r.csv", "--known", "k.csv"],
            ["protect", "a.csv", "--top-places", "2", "--out", "o.csv", "--keep-ids"],
            ["protect", "a.csv", "--merge-rare", "2", "--out", "o.csv", "--known", "b.csv", "--json"],
            ["protect", "e.csv", "--advice", "of-events.json", "--out", "o.csv"],
            ["train", "a.csv", "b.csv", "--truth", "same-id"],
            ["forecast", "a.csv", "b.csv", "--population", "100"],
            ["predict", "a.csv", "b.csv", "--draws", "2", "--json"],
        ]
    )
    return Case("hostile ids", words, files)


def _audit(rng: Random) -> Case:
    """Return audits of tables with cells that somebody should not have written, or of hostile ids and names."""
    name, more = rng.choice(
        [
            ("a.csv", []),
            ("map.csv", ["--coarsen", "map.csv"]),
            ("positions.csv", ["--positions", "positions.csv"]),
            ("", ["--name", rng.choice(CONTROLS[:4])]),
        ]
    )
    files = {file: good()[file] for file in ("a.csv", "b.csv", "map.csv", "positions.csv")}
    if name:
        files[name] = _cells(rng, files[name].decode(), ",")
        return Case("audit", [*AUDIT, *more], files)
    hostile = {file: _hostile_ids(rng, good()[file].decode()) for file in ("a.csv", "b.csv", "e.csv")}
    data = rng.choice([["a.csv", "b.csv"], ["e.csv"]])
    return Case("audit", ["audit", *data, "--no-noise", "--out", "found", *more], hostile)


def _columns(rng: Random) -> Case:
    hostile = rng.choice(IDS)
    name, rest = rng.choice([("e.csv", ["inspect", "bad.csv"]), ("a.csv", ["match", "bad.csv", "b.csv"])])
    content = good()[name].decode().replace(rng.choice(["user", "place", "time", "count"]), _quoted(hostile), 1)
    more = ["--user", hostile] if name == "e.csv" and rng.random() < 0.5 and "\x00" not in hostile else []
    return Case("hostile columns", [*rest, *more], {"bad.csv": content.encode(), "b.csv": good()["b.csv"]})


def _options(rng: Random) -> Case:
    command, options = rng.choice(
        [
            (
                ["match", "a.csv", "b.csv"],
                ["--size", "--seed", "--max-memory", "--epsilon", "--weight", "--method", "--truth", "--out"],
            ),
            (["path", "a.csv", "b.csv"], ["--seed", "--max-memory", "--weight", "--truth", "--out", "--plot"]),
            (
                ["protect", "a.csv", "--out", "o.csv"],
                [
                    "--k",
                    "--top-places",
                    "--merge-rare",
                    "--suppress-below",
                    "--round-to",
                    "--limit-contribution",
                    "--coarsen",
                    "--pseudonyms",
                ],
            ),
            (
                ["split", "e.csv", "--released", "r.csv", "--known", "k.csv"],
                [
                    "--active",
                    "--by-hours",
                    "--side",
                    "--box",
                    "--weeks",
                    "--ranges",
                    "--days",
                    "--time-zone",
                    "--time-format",
                    "--columns",
                    "--users",
                    "--map",
                    "--release-span",
                    "--user",
                    "--place",
                    "--lat",
                    "--seconds",
                    "--encoding",
                    "--count",
                ],
            ),
            (
                ["inspect", "e.csv"],
                [
                    "--time-zone",
                    "--time-format",
                    "--columns",
                    "--user",
                    "--lat",
                    "--seconds",
                    "--separator",
                    "--decimal",
                    "--encoding",
                    "--stays",
                    "--sheet",
                    "--sql",
                ],
            ),
            (["check", "safer.csv"], ["--json"]),
            (["reproduce", "mine.toml", "--out", "out"], ["--seed", "--events", "--user", "--lat", "--max-memory"]),
            (["train", "a.csv", "b.csv"], ["--seed", "--weight", "--truth", "--out", "--user", "--count"]),
            (["predict", "a.csv", "b.csv"], ["--days", "--draws", "--seed", "--weight", "--plot", "--truth"]),
            (
                ["forecast", "a.csv", "b.csv"],
                ["--population", "--seed", "--weight", "--target", "--method", "--plot", "--truth"],
            ),
            (
                ["audit", "a.csv", "b.csv", "--no-noise", "--out", "found"],
                [
                    "--target",
                    "--fail-above",
                    "--confident-target",
                    "--person-target",
                    "--overlap",
                    "--decide",
                    "--keep",
                    "--population",
                    "--positions",
                    "--coarsen",
                    "--seed",
                    "--name",
                    "--truth",
                    "--counts",
                ],
            ),
            (["compare", "safer.csv.json"], ["--out"]),
            (["datasets", "make", "cdr", "--out", "o.csv", "--users", "20"], ["--seed", "--antennas"]),
        ]
    )
    option = rng.choice(options)
    files = {name: good()[name] for name in ("a.csv", "b.csv", "e.csv", "safer.csv", "safer.csv.json", "mine.toml")}
    words = [*command, option, *([] if option == "--json" else [rng.choice(OPTIONS)])]
    return Case("option", words, files)


SPLIT = ["--released", "r.csv", "--known", "k.csv"]
AUDIT = ["audit", "a.csv", "b.csv", "--no-noise", "--out", "found"]
# Every way in which a command is given the name of a file, and what it is called there.
READ: list[tuple[str, list[str]]] = [
    ("a.csv", ["match", "a.csv", "b.csv"]),
    ("b.csv", ["match", "a.csv", "b.csv"]),
    ("truth.csv", ["match", "a.csv", "b.csv", "--truth", "truth.csv"]),
    ("weight.json", ["match", "a.csv", "b.csv", "--weight", "weight.json"]),
    ("other.csv", ["match", "a.csv", "b.csv", "--weight", "auto", "--train", "other.csv", "b.csv"]),
    ("truth.csv", ["path", "a.csv", "b.csv", "--truth", "truth.csv"]),
    ("a.csv", ["train", "a.csv", "b.csv", "--out", "w.json"]),
    ("a.csv", ["forecast", "a.csv", "b.csv", "--population", "100"]),
    ("report.json", ["forecast", "report.json", "--population", "100"]),
    ("report.json", ["predict", "report.json", "--days", "100"]),
    ("other.json", ["compare", "other.json", "report.json"]),
    ("e.csv", ["inspect", "e.csv"]),
    ("e.csv.gz", ["inspect", "e.csv.gz"]),
    ("e.ndjson", ["inspect", "e.ndjson"]),
    ("e.xlsx", ["inspect", "e.xlsx"]),
    ("e.sqlite", ["inspect", "e.sqlite"]),
    ("e.duckdb", ["inspect", "e.duckdb"]),
    ("e.sqlite", ["inspect", "sqlite:///e.sqlite", "--sql", "select * from calls"]),
    ("t.gpx", ["inspect", "t.gpx"]),
    ("tracks/Jo.gpx", ["inspect", "tracks"]),
    ("tracks/Jo.geojson", ["inspect", "tracks"]),
    ("data/Data/000/Trajectory/Jo.plt", ["inspect", "data"]),
    ("data/Data/000/Trajectory/Jo.plt", ["reproduce", "figure-active-weeks", "--geolife", "data", "--out", "out"]),
    ("e.parquet", ["split", "e.parquet", *SPLIT]),
    ("users.csv", ["split", "e.csv", "--users", "users.csv", *SPLIT]),
    ("map.csv", ["split", "e.csv", "--map", "map.csv", *SPLIT]),
    ("mine.toml", ["reproduce", "mine.toml", "--out", "out"]),
    ("e.csv", ["reproduce", "mine.toml", "--out", "out"]),
    ("safer.csv", ["check", "safer.csv"]),
    ("safer.csv.json", ["check", "safer.csv"]),
    ("safer.csv.json", ["match", "safer.csv", "b.csv"]),
    ("safer.csv.owner.json", ["match", "safer.csv", "b.csv"]),
    ("advice.json", ["protect", "a.csv", "--advice", "advice.json", "--out", "o.csv"]),
    ("e.csv", ["protect", "e.csv", "--advice", "of-events.json", "--out", "o.csv"]),
    ("b.csv", ["protect", "a.csv", "--k", "2", "--known", "b.csv", "--out", "o.csv"]),
    ("map.csv", ["protect", "a.csv", "--coarsen", "map.csv", "--out", "o.csv"]),
    ("a.csv", AUDIT),
    ("truth.csv", [*AUDIT, "--truth", "truth.csv"]),
    ("map.csv", [*AUDIT, "--coarsen", "map.csv"]),
    ("positions.csv", [*AUDIT, "--positions", "positions.csv"]),
    ("other.csv", [*AUDIT, "--train", "other.csv", "b.csv"]),
    ("map.csv", ["audit", "e.csv", "--map", "map.csv", "--no-noise", "--out", "found"]),
]


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


NO_FILES: list[Callable[[Path], object]] = [os.mkfifo, _loop, _dangling, _device, Path.mkdir]


def no_file(name: str, words: list[str], make: Callable[[Path], object]) -> Case:
    """Return a command, and something else where one of its files should be: a pipe, a link, a folder, a device."""

    def put(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        make(folder / name)

    return Case("no regular file", words, {file: content for file, content in good().items() if file != name}, [put])


def _places(rng: Random) -> Case:
    return no_file(*rng.choice(READ), rng.choice(NO_FILES))


def _outputs(rng: Random) -> Case:
    """Return outputs that cannot be written, or must not be."""
    name = rng.choice(["o.csv", "o.csv.json", "o.csv.key.csv", "o.csv.owner.json", "r.csv", "k.csv", "out", "o.svg"])

    def folder_in_the_way(path: Path) -> None:
        path.mkdir()
        (path / "x").touch()

    def link(path: Path) -> None:
        path.symlink_to("nowhere/x")

    makers: list[Callable[[Path], object]] = [folder_in_the_way, link, Path.touch, os.mkfifo]
    make = rng.choice(makers)
    words = {
        "r.csv": ["split", "e.csv", "--released", "r.csv", "--known", "k.csv"],
        "k.csv": ["split", "e.csv", "--released", "r.csv", "--known", "k.csv"],
        "out": rng.choice(
            [["audit", "a.csv", "b.csv", "--no-noise", "--out", "out"], ["reproduce", "mine.toml", "--out", "out"]]
        ),
        "o.svg": ["path", "a.csv", "b.csv", "--plot", "o.svg", "--out", "o.csv"],
    }.get(name, ["protect", "a.csv", "--k", "2", "--out", "o.csv"])
    if name not in {"r.csv", "k.csv", "out", "o.svg"} and rng.random() < 0.3:
        words = ["match", "a.csv", "b.csv", "--out", name if name.endswith(".csv") else "o.csv"]
    return Case("output in the way", words, dict(good()), [lambda folder: make(folder / name)])


def _weight(rng: Random) -> Case:
    files = {"weight.json": _json(rng, good()[rng.choice(["weight.json", "learned.json"])]), **_tables()}
    words = rng.choice([["match", "a.csv", "b.csv"], ["path", "a.csv", "b.csv", "--out", "o.csv"]])
    return Case("weight", [*words, "--weight", "weight.json"], files)


def _report(rng: Random) -> Case:
    more = rng.choice([[], ["--json"], ["--out", "page.html"]])
    files = {"bad.json": _json(rng, good()["report.json"]), "report.json": good()["report.json"]}
    forecast = ["forecast", "bad.json", "--population", "1000", *rng.choice([[], ["--json"]])]
    return Case("stored audit", rng.choice([["compare", "report.json", "bad.json", *more], forecast]), files)


KINDS: dict[str, tuple[Callable[[Random], Case], float]] = {
    "events": (_events, 25),
    "table": (_table, 20),
    "dialect": (_dialect, 12),
    "file of tables": (_stored_table, 10),
    "address": (_address, 5),
    "tracks": (_tracks, 8),
    "data of the paper": (_paper, 1),
    "wide table": (_wide, 5),
    "odd parquet": (_odd_parquet, 12),
    "beside": (_beside, 10),
    "sidecar": (_sidecar, 12),
    "advice": (_advice, 6),
    "weight": (_weight, 5),
    "experiment": (_toml, 8),
    "stored result": (_stored, 1),
    "hostile ids": (_ids, 8),
    "hostile columns": (_columns, 5),
    "audit": (_audit, 2),
    "option": (_options, 10),
    "no regular file": (_places, 6),
    "output in the way": (_outputs, 4),
    "stored audit": (_report, 4),
}
