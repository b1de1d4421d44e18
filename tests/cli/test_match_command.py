"""``habitprint match`` and ``habitprint demo`` as a person or a script meets them."""

import json
from pathlib import Path

import polars as pl
import pytest

import habitprint as hp
from command_line import run


def test_match_says_how_many_are_identified_and_that_it_is_optimal(
    town: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "match", *town, "--truth", "same-id") == 0
    text = capsys.readouterr().out
    for words in ("optimal", "of 50 common users", "95% interval", "by chance 2%", "The smallest weights"):
        assert words in text


def test_without_a_truth_no_accuracy_is_printed(
    town: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "match", *town) == 0
    text = capsys.readouterr().out
    assert "common users" not in text
    assert "give the true pairs with --truth" in text


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_out_holds_the_pairs_that_python_finds(
    town: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    out = tmp_path / f"pairs{ending}"
    assert run(monkeypatch, "match", *town, "--weight", "l1", "--size", "20", "--out", str(out)) == 0
    expected = hp.match(*map(hp.read_histograms, town), weight="l1", size=20).to_table()
    found = pl.read_csv(out) if ending == ".csv" else pl.read_parquet(out)
    assert found.equals(expected)


@pytest.mark.parametrize("method", ["joint", "one-by-one"])
def test_json_is_one_object_with_the_numbers_of_python(
    town: tuple[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], method: str
) -> None:
    assert run(monkeypatch, "match", *town, "--truth", "same-id", "--json", "--method", method) == 0
    summary = json.loads(capsys.readouterr().out)
    released, known = map(hp.read_histograms, town)
    matching = hp.match(released, known, method=method)  # type: ignore[arg-type]
    assert summary["total_weight"] == matching.total_weight
    assert summary["gap"] == matching.gap
    assert summary["evaluation"]["accuracy"] == hp.evaluate(matching, released, known).accuracy
    assert len(summary["pairs"]) == 50


def test_a_truth_table_is_read_and_checked(
    town: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = tmp_path / "truth.csv"
    users = hp.read_histograms(town[0]).users.head(10)
    pl.DataFrame({"released": users, "known": users}).write_csv(truth)
    assert run(monkeypatch, "match", *town, "--truth", str(truth), "--json") == 0
    assert json.loads(capsys.readouterr().out)["evaluation"]["n_common"] == 10
    truth.write_text("released,who\na,b\n")
    assert run(monkeypatch, "match", *town, "--truth", str(truth)) == 2
    assert "no column 'known'" in capsys.readouterr().err


def test_no_shared_place_is_allowed_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = []
    for place in "xy":
        file = tmp_path / f"{place}.csv"
        file.write_text(f"user,place,count\nu,{place},1\n")
        files.append(str(file))
    assert run(monkeypatch, "match", *files) == 0
    shown = capsys.readouterr()
    assert "no place in common" in shown.err
    assert "1, including 1 guess without" in shown.out
    assert "1 pair gain" in shown.out


def test_a_place_without_counts_is_not_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / "r.csv", tmp_path / "k.csv"]
    files[0].write_text("user,place,count\na,x,1\na,z,0\n")
    files[1].write_text("user,place,count\na,y,1\na,x,0\n")
    assert run(monkeypatch, "match", *map(str, files)) == 0
    assert "no place in common" in capsys.readouterr().err


def test_few_shared_places_and_equal_tables_are_said(
    town: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "other.csv"
    table = hp.read_histograms(town[1]).to_table()
    table.with_columns(pl.col("place").str.replace("place-1", "PLACE-1").str.replace("place-0[1-9]", "x")).group_by(
        "user", "place"
    ).sum().write_csv(file)
    assert run(monkeypatch, "match", town[0], str(file)) == 0
    assert "Only 1 of 7 places are in both tables" in capsys.readouterr().err
    assert run(monkeypatch, "match", town[0], town[0]) == 0
    assert "Both tables are the same" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["released,known\n", "released,known\nzoe,zoe\n"])
def test_a_truth_about_nobody_is_refused_and_not_taken_for_safety(
    town: tuple[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    content: str,
) -> None:
    truth = tmp_path / "truth.csv"
    truth.write_text(content)
    assert run(monkeypatch, "match", *town, "--truth", str(truth)) == 2
    assert "no user is in both tables" in capsys.readouterr().err


def test_ignored_rows_of_the_truth_are_counted(
    town: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    truth = tmp_path / "truth.csv"
    truth.write_text("released,known\nzoe,zoe\nperson-01,person-01\n")
    assert run(monkeypatch, "match", *town, "--truth", str(truth)) == 0
    assert "1 true pair ignored" in capsys.readouterr().err


def test_duplicates_are_an_error_unless_summed(
    town: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "twice.csv"
    file.write_text("user,place,count\nann,place-01,1\nann,place-01,2\n")
    assert run(monkeypatch, "match", str(file), town[1]) == 2
    assert "('ann', 'place-01')" in capsys.readouterr().err
    assert run(monkeypatch, "match", str(file), town[1], "--duplicates", "sum") == 0


def test_the_demo_tells_both_stories(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "demo", "--users", "60") == 0
    text = capsys.readouterr().out
    for words in ("Four students", "Jill", "contains no real person", "jensen-shannon", "one-by-one", "by chance"):
        assert words in text
    assert run(monkeypatch, "demo", "--users", "60", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["calls"]["attacks"]) == 8
