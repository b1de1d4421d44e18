"""Tables of counts may name their columns as they like, or have a column for each place; and it is said."""

import warnings
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

import habitprint as hp
from habitprint.cli.app import app
from habitprint.io.tables import write_table

pytestmark = pytest.mark.usefixtures("few_protections")

LONG = [("a", "bar", 1), ("a", "gym", 2), ("b", "gym", 5), ("b", "zoo", 3)]


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def wide(tmp_path: Path) -> Path:
    path = tmp_path / "wide.csv"
    path.write_text("user;gym;bar;zoo\na;2;1;\nb;5;0;3\n")
    return path


def test_a_wide_table_gives_the_same_histograms_and_says_so(wide: Path) -> None:
    with pytest.warns(hp.WideTableWarning, match="a column for each of 3 places"):
        read = hp.read_histograms(wide)
    assert read.to_table().rows() == LONG


def test_a_user_who_is_absent_from_a_wide_table_is_left_out_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("user;gym;bar;zoo\na;2;1;\nnobody;0;;0\nb;5;0;3\n")
    with pytest.warns(hp.WideTableWarning, match="left out: 1 row with zeros only"):
        assert hp.read_histograms(path).to_table().rows() == LONG
    path.write_text("user;gym;bar;zoo\na;2;1;\nb;-5;0;0\n")
    with pytest.raises(hp.InputError, match="negative"), pytest.warns(hp.WideTableWarning):
        hp.read_histograms(path)


def test_a_wide_table_with_another_name_for_the_user_asks_for_this_name_only(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text("customer_id;gym;bar;zoo\na;2;1;\nb;5;0;3\n")
    with pytest.raises(hp.MissingColumnsError, match="Then add --user customer_id \\(") as caught:
        hp.read_histograms(path)
    assert caught.value.meant == {"user": "customer_id"}
    with pytest.warns(hp.WideTableWarning):
        assert hp.read_histograms(path, user="customer_id").to_table().rows() == LONG


@pytest.mark.parametrize("separator", [";", "\t", ","])
def test_a_wide_table_has_its_own_decimal_sign(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "wide.csv"
    rows = [["user", "gym", "bar", "zoo"], ["a", '"2,5"', "1", ""], ["1.5", '"5,25"', "0", '"3,5"']]
    path.write_text("".join(separator.join(row) + "\n" for row in rows))
    with pytest.warns(hp.WideTableWarning):
        read = hp.read_histograms(path)
    assert read.to_table().rows() == [("1.5", "gym", 5.25), ("1.5", "zoo", 3.5), ("a", "bar", 1.0), ("a", "gym", 2.5)]
    path.write_text("user;gym;bar;zoo\na;1,234;1;2\n")
    with pytest.raises(hp.InputError, match="could mean"):
        hp.read_histograms(path)
    path.write_text("user;place;visits;of\na;1.5;2,5;x\n")
    with pytest.raises(hp.InputError, match="no column 'count'"):
        hp.read_histograms(path)


@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=5), min_size=1, max_size=5))
def test_wide_and_long_are_the_same_whatever_they_count(rows: list[list[int]]) -> None:
    width = min(map(len, rows))
    counts = {f"u{n}": [max(row[0], 1), *row[1:width]] for n, row in enumerate(rows)}
    table = pl.DataFrame({"user": list(counts)} | {f"p{k}": [row[k] for row in counts.values()] for k in range(width)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", hp.WideTableWarning)
        found = hp.Histograms.from_table(table).to_table().rows()
    assert found == [(user, f"p{k}", row[k]) for user, row in counts.items() for k in range(width) if row[k]]


@pytest.mark.parametrize(
    "columns",
    [
        {"user": ["a", "a"], "x": [1, 2], "y": [1, 2], "z": [1, 2]},  # a user has one row
        {"user": ["a", "b"], "x": [1, 2], "y": [1, 2]},  # antenna and number, perhaps
        {"user": ["a", "b"], "x": ["1", "home"], "y": [1, 2], "z": [1, 2]},  # no number
        {"user": ["a", "b"], "place": [1, 2], "y": [1, 2], "z": [1, 2]},  # long, with another name
        {"who": ["a", "b"], "x": [1, 2], "y": [1, 2], "z": [1, 2]},
    ],
)
def test_what_may_be_something_else_is_not_taken_for_wide(columns: dict[str, list[object]]) -> None:
    with pytest.raises(hp.InputError, match="no column"):
        hp.Histograms.from_table(columns)


def test_other_columns_are_suggested_as_they_are_named_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "week.csv").write_text("users,places,counts\na,x,1\n")
    with pytest.raises(hp.InputError, match="no column 'user'") as caught:
        hp.read_histograms(tmp_path / "week.csv")
    assert "--user users --place places --count counts" in caught.value.fix


def with_other_names(folder: Path) -> tuple[Path, Path, list[str]]:
    files = folder / "released.csv", folder / "known.csv"
    for file, side in zip(files, hp.datasets.town(24, 5, seed=1), strict=True):
        side.to_table().rename({"user": "who", "place": "cell", "count": "n"}).write_csv(file, separator=";")
    return *files, ["--user", "who", "--place", "cell", "--count", "n"]


@pytest.mark.parametrize("command", ["match", "path", "train"])
def test_two_tables_with_other_columns_are_read_by_every_command(tmp_path: Path, command: str) -> None:
    released, known, names = with_other_names(tmp_path)
    found = run(command, released, known, *names, "--json")
    assert found.exit_code == 0, found.stderr
    write_table(hp.datasets.town(24, 5, seed=1)[0].to_table(), tmp_path / "r.csv")
    write_table(hp.datasets.town(24, 5, seed=1)[1].to_table(), tmp_path / "k.csv")
    assert found.stdout == run(command, tmp_path / "r.csv", tmp_path / "k.csv", "--json").stdout


def test_protect_reads_other_columns_and_what_it_writes_goes_with_them(tmp_path: Path) -> None:
    released, known, names = with_other_names(tmp_path)
    out = tmp_path / "safer.csv"
    made = run("protect", released, *names, "--known", known, "--k", 3, "--out", out)
    assert made.exit_code == 0, made.stderr
    # One table has the columns that are named, the other those that habitprint writes.
    matched = run("match", out, known, *names, "--truth", tmp_path / "safer.csv.key.csv")
    assert matched.exit_code == 0, matched.stderr


def test_a_wide_table_is_said_on_the_command_line(wide: Path, tmp_path: Path) -> None:
    (tmp_path / "known.csv").write_text("user,place,count\na,gym,1\nb,zoo,1\n")
    found = run("match", wide, tmp_path / "known.csv", "--truth", "same-id")
    assert found.exit_code == 0, found.stderr
    assert "note: read as a wide table: a row for each user, and a column for each of 3 places" in found.stderr


@pytest.mark.slow
def test_an_audit_of_two_tables_with_other_columns_prints_commands_that_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shlex  # noqa: PLC0415 - only here

    monkeypatch.chdir(tmp_path)
    released, known, names = with_other_names(tmp_path)
    found = run("audit", released.name, known.name, *names, "--target", "50%", "--no-noise", "--out", "audit")
    assert found.exit_code == 0, found.stderr
    lines = [line.partition(": ")[2] for line in found.stdout.splitlines() if ": habitprint " in line]
    assert [line.split()[1] for line in lines] == ["release"]
    for line in lines:
        result = run(*shlex.split(line)[1:])
        assert result.exit_code == 0, (line, result.stderr)


def test_counts_of_events_are_visits_or_seconds(tmp_path: Path) -> None:
    (tmp_path / "calls.csv").write_text("user,time,place\nJo,2012-04-09,x\n")
    found = run(
        "split",
        tmp_path / "calls.csv",
        "--count",
        "kisses",
        "--released",
        tmp_path / "r.csv",
        "--known",
        tmp_path / "k.csv",
    )
    assert (found.exit_code, "--count visits or --count seconds" in found.stderr) == (2, True)
