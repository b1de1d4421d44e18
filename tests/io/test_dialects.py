"""A table says the same in whatever dialect it is written; what a dialect leaves open is asked, and never guessed."""

import csv
import gzip
import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import habitprint as hp
from habitprint.cli.app import app
from habitprint.io import dialects
from habitprint.io.dialects import Dialect, Expected, Format, find_dialect
from habitprint.io.tables import read_names

SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}
# What each encoding can write; ids of other letters are not tried in it.
ENCODINGS = {"utf-8": "aé€ßжλ", "utf-8-sig": "aé€ßжλ", "cp1252": "aé€ßŒ", "utf-16": "aé€ßжλ", "utf-16-le": "aé"}
TIME_FORMATS = {
    "day": "%d.%m.%Y %H:%M",
    "day/": "%d/%m/%Y %H:%M:%S",
    "month": "%m/%d/%Y %I:%M %p",
    "year": "%Y-%m-%d %H:%M",
    "iso": "%Y-%m-%dT%H:%M:%S",
}


@dataclass(frozen=True)
class Way:
    """Hold one way to write a table."""

    separator: str
    decimal: str
    encoding: str
    time_format: str
    line_end: str
    quoting: int
    says_separator: bool
    is_zipped: bool


@dataclass(frozen=True)
class Row:
    """Hold what a row says."""

    user: str
    time: datetime
    lat: float
    lon: float


ways = st.builds(
    Way,
    st.sampled_from(list(SEPARATORS)),
    st.sampled_from([".", ","]),
    st.sampled_from(list(ENCODINGS)),
    st.sampled_from(list(TIME_FORMATS.values())),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.booleans(),
    st.booleans(),
)


def rows_for(way: Way) -> st.SearchStrategy[list[Row]]:
    # Letters, digits, and what a careless reader would take for a separator, a quote or a number.
    letters = st.sampled_from([*ENCODINGS[way.encoding], *"bc019,;|.'\" -"])
    ids = st.text(letters, min_size=1, max_size=5).filter(lambda text: text.strip() == text and text[0] not in "-'\"")
    moments = st.datetimes(datetime(2000, 1, 1), datetime(2030, 12, 31))  # noqa: DTZ001 - a clock
    minutes = moments.map(lambda moment: moment.replace(second=0, microsecond=0))
    degrees = st.integers(-80_000_000, 80_000_000).map(lambda number: number / 1_000_000)
    telling = datetime(2012, 4, 25, 14, 5)  # noqa: DTZ001 - a clock; day and month cannot be mixed up
    first = st.builds(Row, ids, st.just(telling), st.just(39.984702), degrees)
    return st.lists(st.builds(Row, ids, minutes, degrees, degrees), max_size=6).flatmap(
        lambda rows: first.map(lambda one: [one, *rows])
    )


def written(rows: list[Row], way: Way) -> bytes:
    """Return the table as Python's own writer of such files writes it."""
    text = io.StringIO(newline="")
    if way.says_separator:
        text.write(f"sep={way.separator}{way.line_end}")
    writer = csv.writer(text, delimiter=way.separator, lineterminator=way.line_end, quoting=way.quoting)  # type: ignore[arg-type]
    writer.writerow(["user", "time", "lat", "lon"])
    for row in rows:
        numbers = (f"{degrees:.6f}".replace(".", way.decimal) for degrees in (row.lat, row.lon))
        writer.writerow([row.user, row.time.strftime(way.time_format), *numbers])
    content = text.getvalue().encode(way.encoding)
    return gzip.compress(content, mtime=0) if way.is_zipped else content


@given(st.data())
def test_any_table_in_any_dialect_gives_the_same_events(data: st.DataObject) -> None:
    way = data.draw(ways)
    rows = data.draw(rows_for(way))
    with TemporaryDirectory() as folder:
        path = Path(folder) / ("points.csv.gz" if way.is_zipped else "points.csv")
        path.write_bytes(written(rows, way))
        events = hp.read_events(path, lat="lat", lon="lon")
        found = events.usable.collect().rows()
        words = events.read_as.words
    assert found == [(row.user, row.time.replace(tzinfo=UTC), round(row.lat, 6), round(row.lon, 6)) for row in rows]
    told = [SEPARATORS[way.separator], *(["decimal comma"] if way.decimal == "," else [])]
    assert words.split(", ")[: len(told)] == told
    assert ("decimal" in words) == (way.decimal == ",")
    order = {"%d": "day", "%m": "month", "%Y": "year"}[way.time_format[:2]]
    assert words.endswith(f", {order} first")


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "utf-16"])
@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize("decimal", [".", ","])
def test_any_table_of_counts_in_any_dialect_gives_the_same_histograms(
    tmp_path: Path, separator: str, decimal: str, encoding: str
) -> None:
    path = tmp_path / "week.csv"
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator)
    rows = [("Zoé", "a,b", 1.5), ("Zoé", "café;bar", 2.25), ("7", "x|y", 12.0)]
    writer.writerows([["user", "place", "count"], *([u, p, str(n).replace(".", decimal)] for u, p, n in rows)])
    path.write_bytes(text.getvalue().encode(encoding))
    assert sorted(hp.read_histograms(path).to_table().rows()) == sorted(rows)


def file_of(folder: Path, *lines: str, encoding: str = "utf-8") -> Path:
    path = folder / "calls.csv"
    path.write_bytes("".join(f"{line}\n" for line in lines).encode(encoding))
    return path


def test_the_separator_is_the_one_that_makes_the_columns_that_are_asked_for(tmp_path: Path) -> None:
    path = file_of(tmp_path, "id,with,commas;user;time;place", "1,2,3;Jo;2012-04-09;x", "4,5,6;Jo;2012-04-09;y")
    assert hp.read_events(path).usable.collect()["place"].to_list() == ["x", "y"]


def test_a_file_without_a_header_is_read_by_the_number_of_its_columns(tmp_path: Path) -> None:
    path = file_of(tmp_path, "Jo;2012-04-09;a,b", "Jo;2012-04-10;c,d")
    events = hp.read_events(path, columns=["user", "time", "place"])
    assert events.usable.collect()["place"].to_list() == ["a,b", "c,d"]


def test_what_is_said_counts_and_not_what_is_found(tmp_path: Path) -> None:
    path = file_of(tmp_path, "user;time;place,user;time", "Jo;2012-04-09;x,Ann;2012-04-10")
    assert find_dialect(path, Format(separator="|")).separator == "|"
    with pytest.raises(hp.InputError, match="no separator ':'"):
        Format(separator=":")


@pytest.mark.parametrize(
    ("values", "fault"),
    [
        (["1,234", "12,500"], "'1,234' could mean 1.234 or 1234"),
        (["1.234", "12.500"], "'1.234' could mean 1.234 or 1234"),
        (["1,5", "2.5"], "numbers with a point and numbers with a comma: '2.5' and '1,5'"),
    ],
)
def test_a_sign_that_may_be_of_thousands_is_asked_for(tmp_path: Path, values: list[str], fault: str) -> None:
    path = file_of(tmp_path, "user;place;count", *(f"u;p{n};{value}" for n, value in enumerate(values)))
    with pytest.raises(hp.InputError, match=fault) as caught:
        hp.read_histograms(path)
    assert "--decimal" in caught.value.fix
    sign = "," if "," in values[0] else "."
    if "could mean" in fault:
        assert hp.read_histograms(path, decimal=sign).to_table()["count"].to_list() == [1.234, 12.5]  # type: ignore[arg-type]


def test_degrees_are_never_thousands(tmp_path: Path) -> None:
    path = file_of(tmp_path, "user;time;lat;lon", "Jo;2012-04-09;39,984;116,318")
    assert hp.read_events(path, lat="lat", lon="lon").usable.collect()["lat"].to_list() == [39.984]


def test_a_number_with_the_other_sign_is_a_bad_row_wherever_it_comes(tmp_path: Path) -> None:
    lines = [f"Jo;2012-04-09 10:{n % 60:02d};39,98;8,1" for n in range(3000)]
    path = file_of(tmp_path, "user;time;lat;lon", *lines, "Jo;2012-04-09 12:00;39.98;8,1")
    found = hp.check_events(hp.read_events(path, lat="lat", lon="lon"))
    assert (found.n_used, found.unused) == (3000, {"a number with a decimal point; --decimal .": 1})
    beyond = file_of(tmp_path, "user,time,lat,lon", *["Jo,2012-04-09,39,8.1"] * 3000, 'Jo,2012-04-09,"39,98",8')
    found = hp.check_events(hp.read_events(beyond, lat="lat", lon="lon"))
    assert (found.n_used, found.unused) == (3000, {"a number with a decimal comma; --decimal ,": 1})


@pytest.mark.slow
@pytest.mark.parametrize("n_whole", [2000, 150_000])
def test_the_decimal_sign_is_seen_wherever_in_the_sample_it_first_comes(tmp_path: Path, n_whole: int) -> None:
    whole, others = ["Jo;2012-04-09 10:00;39;116"] * n_whole, ["Jo;2012-04-09 10:00;39,98;116,3"] * 2000
    path = file_of(tmp_path, "user;time;lat;lon", *whole, *others)
    events = hp.read_events(path, lat="lat", lon="lon")
    assert events.read_as.words.startswith("semicolon, decimal comma")
    assert events.count_rows() == {0: n_whole + 2000}


@pytest.mark.slow
@pytest.mark.parametrize("n_whole", [400, 4000])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-8", "cp1252"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_pieces_of_a_long_file_are_read_in_its_encoding(
    tmp_path: Path, n_whole: int, encoding: str, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"HEAD": 1 << 12, "PIECE": 1 << 10, "N_PIECES": 12}.items():
        monkeypatch.setattr(dialects, name, value)
    # Letters with the bytes of the end of a line in them, and lines of an odd number of letters and an even one.
    ids = ["Ċa", "\u0a0ab"] if encoding.startswith("utf") else ["é", "ßa"]
    rows = [f"{ids[n % 2]};2012-04-09 10:00;39{',98' if n > n_whole else ''};116" for n in range(2 * n_whole)]
    path = tmp_path / "calls.csv"
    path.write_bytes(
        ("" if encoding == "cp1252" else mark).encode(encoding)
        + b"".join(f"{line}\n".encode(encoding) for line in ["user;time;lat;lon", *rows])
    )
    is_found = "32" not in encoding and (mark or not encoding.endswith("be"))
    found = find_dialect(
        path,
        Format() if is_found else Format(encoding=encoding),
        Expected(columns=("user", "time", "lat"), numbers=("lat",), degrees=("lat",)),
    )
    assert (found.separator, found.decimal) == (";", ",")
    asked = None if is_found else encoding
    events = hp.read_events(path, lat="lat", lon="lon", encoding=asked)
    assert events.usable.collect()["user"].unique().sort().to_list() == sorted(ids)
    assert events.count_rows() == {0: 2 * n_whole}


def test_two_signs_that_are_both_common_are_asked_about_wherever_they_come(tmp_path: Path) -> None:
    commas, points = ["Jo;2012-04-09 10:00;39,98;116,3"] * 3000, ["Jo;2012-04-09 10:00;39.98;116.3"] * 100
    path = file_of(tmp_path, "user;time;lat;lon", *commas, *points)
    with pytest.raises(hp.InputError, match=r"numbers with a comma: '39\.98' and '39,98'"):
        hp.read_events(path, lat="lat", lon="lon")


def test_the_encoding_is_seen_wherever_the_first_letter_comes(tmp_path: Path) -> None:
    lines = [f"u{n};2012-04-09 10:00;place {n % 7}" for n in range(120_000)]
    path = file_of(tmp_path, "user;time;place", *lines, "José;2012-04-09 10:00;x", encoding="cp1252")
    assert path.stat().st_size > 3 << 20  # longer than the beginning that is looked at
    events = hp.read_events(path)
    assert events.read_as.dialect == Dialect(";", ".", "cp1252")
    assert events.count_rows() == {0: 120_001}
    assert events.usable.select(pl.col("user").last()).collect().item() == "José"


def test_files_of_one_pattern_may_have_their_own_encodings_but_one_separator(tmp_path: Path) -> None:
    header, row = "user;time;place\n", "José;2012-04-09;x\n"
    (tmp_path / "a.csv").write_bytes((header + row).encode("cp1252"))
    (tmp_path / "b.csv").write_bytes((header + row).encode())
    (tmp_path / "c.csv").write_bytes((header + "Jo;2012-04-09;x\n").encode())
    events = hp.read_events(tmp_path / "?.csv")
    assert events.usable.collect()["user"].to_list() == ["José", "José", "Jo"]
    assert "cp1252 and utf-8" in events.read_as.words
    (tmp_path / "d.csv").write_text("user,time,place\nJo,2012-04-09,x\n")
    with pytest.raises(hp.InputError, match="have different formats"):
        hp.read_events(tmp_path / "?.csv")


def test_day_and_month_are_told_apart_by_any_row_of_the_whole_file(tmp_path: Path) -> None:
    path = file_of(tmp_path, "user,time,place", *["Jo,03/04/2012 10:00,x"] * 5000, "Jo,13/04/2012 10:00,x")
    events = hp.read_events(path)
    assert events.read_as.time_formats == ("%d/%m/%Y %H:%M",)
    assert events.usable.select(pl.col("time").first()).collect().item() == datetime(2012, 4, 3, 10, tzinfo=UTC)


def test_where_no_row_tells_day_from_month_both_readings_are_shown_and_asked(tmp_path: Path) -> None:
    path = file_of(tmp_path, "user,time,place", *["Jo,03/04/2012 10:00,x"] * 5000)
    with pytest.raises(hp.InputError, match="can be read in two ways") as caught:
        hp.read_events(path)
    assert "3 April 2012" in caught.value.what
    assert "4 March 2012" in caught.value.what
    assert "--time-format '%d/%m/%Y %H:%M'" in caught.value.fix
    assert "--time-format '%m/%d/%Y %H:%M'" in caught.value.fix


def test_a_file_in_which_some_rows_are_day_first_and_some_month_first_is_refused(tmp_path: Path) -> None:
    mixed = ["Jo,13/04/2012 10:00,x", "Jo,04/13/2012 10:00,x"]
    path = file_of(tmp_path, "user,time,place", *["Jo,03/04/2012 10:00,x"] * 5000, *mixed)
    with pytest.raises(hp.InputError, match="several formats") as caught:
        hp.read_events(path)
    assert "'13/04/2012 10:00'" in caught.value.what
    assert "'04/13/2012 10:00'" in caught.value.what


def test_inspect_says_how_a_file_was_read(tmp_path: Path) -> None:
    lines = [f"José;{day}.12.2025 14:05;47,{day};8,5" for day in (1, 13, 31)]
    path = file_of(tmp_path, "user;time;lat;lon", *lines, encoding="cp1252")
    words = ["inspect", str(path), "--lat", "lat", "--lon", "lon"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0
    assert "semicolon, decimal comma, cp1252, day first" in result.stdout
    facts = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert facts["read_as"]["dialect"] == {"separator": ";", "decimal": ",", "encoding": "cp1252", "n_before": 0}
    given = CliRunner().invoke(app, [*words, "--separator", "semicolon", "--decimal", ",", "--encoding", "latin-1"])
    assert "semicolon, decimal comma, latin-1, day first" in given.stdout
    wrong = CliRunner().invoke(app, [*words, "--separator", "comma"])
    assert (wrong.exit_code, "--separator" in wrong.stderr) == (2, True)


@pytest.mark.parametrize("encoding", ["zlib", "hex", "rot13", "no-such", "", "\x00"])
def test_what_is_no_encoding_of_text_is_refused(encoding: str) -> None:
    with pytest.raises(hp.InputError, match="is unknown"):
        Format(encoding=encoding)


@pytest.mark.parametrize("name", ["UTF-8", "utf8", "U8", "utf_8"])
def test_utf_8_is_read_without_a_copy_by_whatever_name(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = file_of(tmp_path, "user,time,place", "José,2012-04-09,x")
    monkeypatch.setattr("habitprint.io.dialects.as_utf8", None)
    events = hp.read_events(path, encoding=name)
    assert events.usable.collect()["user"].to_list() == ["José"]
    assert "UTF-8" in events.read_as.words


def test_what_is_looked_at_leaves_the_settings_of_others_alone(tmp_path: Path) -> None:
    before = csv.field_size_limit(100_000)
    try:
        path = file_of(tmp_path, "user,time,place", f"Jo,2012-04-09,{'x' * 200_000}")
        assert hp.read_events(path).count_rows() == {0: 1}
        assert csv.field_size_limit() == 100_000
    finally:
        csv.field_size_limit(before)


@pytest.mark.parametrize("before", ["", "\n", "sep=,\n", "\ufeff"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("read", [hp.read_histograms, hp.read_events, read_names])
def test_a_header_of_too_many_columns_is_refused_at_once_wherever_it_stands(
    tmp_path: Path, before: str, encoding: str, read: Callable[[Path], object]
) -> None:
    header = ",".join(f"c{number}" for number in range(10_001))
    (tmp_path / "wide.csv").write_bytes(f"{before}{header}\n".encode(encoding))
    with pytest.raises(hp.InputError, match="10,001 columns or more"):
        read(tmp_path / "wide.csv")


def test_lines_of_too_many_fields_are_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "wide.ndjson").write_text(json.dumps({f"c{number}": 1 for number in range(10_001)}) + "\n")
    with pytest.raises(hp.InputError, match="10,001 columns or more"):
        hp.read_events(tmp_path / "wide.ndjson")


def test_a_message_names_some_columns_and_not_thousands(tmp_path: Path) -> None:
    pl.DataFrame({f"c{number}": [1] for number in range(1000)}).write_parquet(tmp_path / "wide.parquet")
    for read in (hp.read_histograms, hp.read_events):
        with pytest.raises(hp.InputError, match=r"\(1000 in all\)") as caught:
            read(tmp_path / "wide.parquet")
        assert len(str(caught.value)) < 2000


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_a_quotation_mark_within_a_cell_swallows_no_lines_unseen(tmp_path: Path, separator: str) -> None:
    lines = [separator.join(("user", "time", "place"))]
    lines += [separator.join((f"u{n % 3}", f'"2012-04-{9 + n % 9:02d}"', f'"p{n}"')) for n in range(20)]
    for at in (5, 15):
        lines[at] = lines[at].replace('"p', '"p"', 1)
    (tmp_path / "calls.csv").write_text("\n".join(lines) + "\n")
    events = hp.read_events(tmp_path / "calls.csv", on_bad_rows="skip")
    with pytest.raises(hp.InputError, match="a cell holds whole lines"):
        hp.check_events(events)
    with pytest.raises(hp.InputError, match="a cell holds whole lines"):
        hp.split(events, hp.ConsecutiveWeeks("2012-04-09"))
