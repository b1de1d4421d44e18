"""``habitprint check`` finds whatever is in a release besides a release, even where the hash fits."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import habitprint as hp
from command_line import run
from habitprint.conversion import sha256_of
from habitprint.io.tables import read_table, write_table
from habitprint.mechanisms.files import find_strangers, sidecar


def rehashed(file: Path) -> None:
    """Write the hash of a table into its sidecar, as somebody would who wants to be believed."""
    told = json.loads(sidecar(file).read_text())
    told["sha256"] = sha256_of(file)
    sidecar(file).write_text(json.dumps(told))


def with_names(file: Path) -> None:
    table = read_table(file)
    write_table(table.with_columns(name=pl.lit("Jill")), file, overwrite=True)


def with_zeros(file: Path) -> None:
    table = read_table(file)
    more = table.head(1).with_columns(place=pl.lit("Jill lives here"), count=pl.lit(0).cast(table["count"].dtype))
    write_table(pl.concat([table, more]), file, overwrite=True)


def with_other_ids(file: Path) -> None:
    table = read_table(file)
    write_table(table.with_columns(user="Jill " + pl.col("user")), file, overwrite=True)


def with_metadata(file: Path) -> None:
    pl.read_parquet(file).write_parquet(file, metadata={"who": "Jill"})


def with_odd_numbers(file: Path) -> None:
    file.write_text(file.read_text().replace("\n", "0\n").replace("count0", "count"))


@pytest.mark.parametrize(
    ("ending", "change", "words"),
    [
        (".csv", with_names, "the column 'name'"),
        (".parquet", with_names, "the column 'name'"),
        (".csv", with_zeros, "a count of zero"),
        (".parquet", with_zeros, "a count of zero"),
        (".csv", with_other_ids, "not the fresh ones"),
        (".parquet", with_other_ids, "not the fresh ones"),
        (".parquet", with_metadata, "metadata 'who'"),
        (".csv", with_odd_numbers, "in another format"),
    ],
)
def test_what_is_in_a_release_besides_it_is_found_although_the_hash_fits(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    ending: str,
    change: Callable[[Path], None],
    words: str,
) -> None:
    file = tmp_path / f"safer{ending}"
    release, key = hp.pseudonymise(hp.ReleaseShares()(hp.microaggregate(hp.datasets.town(40, 12)[0], k=4)))
    hp.write_release(release, file, key=key)
    assert find_strangers(file) == []
    assert run(monkeypatch, "check", file) == 0
    assert "nothing is guaranteed" not in capsys.readouterr().out
    change(file)
    rehashed(file)
    assert run(monkeypatch, "check", file) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert words in shown
    assert "nothing is guaranteed" in shown
    assert "unchanged since its .json was written" in shown


def test_a_promise_that_no_file_can_show_is_listed_as_such(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("opendp", reason="OpenDP is not installed (extra 'dp')")
    file = tmp_path / "safer.csv"
    hp.write_release(hp.AddNoise(9.0, "event")(hp.datasets.town(40, 12)[0]), file)
    assert run(monkeypatch, "check", file) == 0
    assert "not checked" in capsys.readouterr().out
