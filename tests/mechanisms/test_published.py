"""What is published beside a table follows from the table and the options alone, and names nobody and nothing else."""

import json
from collections import defaultdict
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import habitprint as hp
from habitprint.io.files import move_into_place
from habitprint.mechanisms.files import owner_file, sidecar
from habitprint.mechanisms.recipe import to_text
from habitprint.wording.releases import tell_release
from instances import fewer_examples

# Rows that differ in what most protections hide: many originals become the same table.
ROWS = ["aaab", "aaac", "aaacd", "aaabb", "aaaddd", "b", None]
PLACES, USERS = [f"place-{letter}" for letter in "abcd"], ["user-1", "user-2"]
DISTRICTS = dict(zip(PLACES, ["place-a", "district-1", "district-1", "district-2"], strict=True))
STEPS = [
    hp.KeepTopPlaces(1),
    hp.KeepTopPlaces(3, by="users"),
    hp.MergeRarePlaces(1),
    hp.MergeRarePlaces(2),
    hp.Coarsen(DISTRICTS, unknown="leave-out"),
    hp.Coarsen(dict.fromkeys(PLACES, "place-b") | {"place-a": "place-a"}, unknown="leave-out"),
    hp.LimitContribution(total=4),
    hp.LimitContribution(per_place=2),
    hp.SuppressBelow(2),
    hp.SuppressBelow(3),
    hp.RoundTo(2),
    hp.RoundTo(3),
    hp.Microaggregate(1),
    hp.Microaggregate(2),
    hp.ReleaseShares(),
]
CHAINS = [
    [hp.KeepTopPlaces(3), hp.SuppressBelow(2)],
    [hp.KeepTopPlaces(2), hp.SuppressBelow(2), hp.KeepTopPlaces(2)],
    [hp.MergeRarePlaces(2), hp.SuppressBelow(2)],
    [hp.KeepTopPlaces(2), hp.Coarsen(DISTRICTS, unknown="leave-out"), hp.SuppressBelow(2)],
    [hp.SuppressBelow(3), hp.LimitContribution(total=4), hp.SuppressBelow(2.5), hp.RoundTo(3)],
    [hp.RoundTo(3), hp.Microaggregate(2), hp.ReleaseShares()],
]


def habits(first: str | None, second: str | None) -> hp.Histograms:
    rows = zip(USERS, (first, second), strict=True)
    return hp.Histograms.from_strings({user: [f"place-{x}" for x in row] for user, row in rows if row is not None})


ORIGINALS = [habits(*rows) for rows in product(ROWS, ROWS) if any(rows)]


def told(release: hp.Release) -> str:
    """Return all that a release tells beside its table, as it would be written."""
    shown = release.published()
    return to_text([tell_release(shown), shown.steps, shown.guarantees])


@pytest.mark.slow
@fewer_examples
@given(chain=st.lists(st.sampled_from(STEPS), min_size=1, max_size=4))
def test_originals_that_become_the_same_table_by_the_same_steps_tell_the_same(chain: list[hp.Mechanism]) -> None:
    told_beside: dict[str, set[str]] = defaultdict(set)
    for original in ORIGINALS:
        try:
            release = hp.chain(*chain)(original)
        except hp.InputError:
            continue  # nothing would be left, or too few
        told_beside[release.histograms.to_table().write_csv()].add(told(release))
    assert all(len(texts) == 1 for texts in told_beside.values())


@given(chain=st.lists(st.sampled_from(STEPS), min_size=1, max_size=4), original=st.sampled_from(ORIGINALS))
def test_no_user_and_no_place_is_named_that_the_table_does_not_show(
    chain: list[hp.Mechanism], original: hp.Histograms
) -> None:
    try:
        release = hp.chain(*chain)(original)
    except hp.InputError:
        return
    text, shown = told(release), set(release.histograms.to_table()["place"])
    for name in [*USERS, *({*PLACES, *DISTRICTS.values()} - shown)]:
        assert name not in text


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".csv", pytest.param(".parquet", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("chain", CHAINS, ids=str)
def test_equal_tables_have_equal_sidecars_byte_for_byte(tmp_path: Path, chain: list[hp.Mechanism], ending: str) -> None:
    sidecars: dict[bytes, set[bytes]] = defaultdict(set)
    n_written = 0
    for original in ORIGINALS:
        try:
            release = hp.chain(*chain)(original)
        except hp.InputError:
            continue
        n_written += 1
        hp.write_release(release, tmp_path / f"safer{ending}", overwrite=True)
        sidecars[(tmp_path / f"safer{ending}").read_bytes()].add(sidecar(tmp_path / f"safer{ending}").read_bytes())
    assert len(sidecars) < n_written  # or nothing was compared
    assert all(len(texts) == 1 for texts in sidecars.values())


def test_a_csv_file_of_numbers_and_one_of_texts_that_are_equal_have_equal_sidecars(tmp_path: Path) -> None:
    for name, places in (("x", [1, 2, 1]), ("y", ["1", "2", "1"])):
        table = {"user": ["u", "u", "v"], "place": places, "count": [3, 3, 3]}
        hp.write_release(hp.KeepTopPlaces(2)(hp.Histograms.from_table(table)), tmp_path / f"{name}.csv")
    assert (tmp_path / "x.csv").read_bytes() == (tmp_path / "y.csv").read_bytes()
    assert (tmp_path / "x.csv.json").read_bytes() == (tmp_path / "y.csv.json").read_bytes()


def test_noise_tells_no_number_of_places() -> None:
    pytest.importorskip("opendp", reason="OpenDP is not installed (extra 'dp')")
    few, many = (
        hp.AddNoise(1.0, "event")(hp.Histograms.from_table({"user": [1] * n, "place": range(n), "count": [99] * n}))
        for n in (2, 200)
    )
    assert few.steps[0].findings["threshold"] < many.steps[0].findings["threshold"]
    assert told(few).split("only-places")[0] == told(many).split("only-places")[0]


def test_the_mapping_is_in_the_owner_s_file_and_nowhere_else(tmp_path: Path) -> None:
    habits = hp.Histograms.from_strings({"Jill": ["dorm", "cabin", "bar"], "Mike": ["bar", "bar"]})
    mapping = {"dorm": "campus", "cabin": "woods", "bar": "town", "moon": "space"}
    release = hp.chain(hp.Coarsen(mapping), hp.KeepTopPlaces(1))(habits)
    hp.write_release(release, tmp_path / "safer.csv")
    public, private = sidecar(tmp_path / "safer.csv").read_text(), owner_file(tmp_path / "safer.csv").read_text()
    assert "town" in public
    for hidden in ("dorm", "cabin", "bar", "moon", "campus", "woods", "space", "Jill", "Mike"):
        assert hidden not in public
        assert (hidden in private) == (hidden in {*mapping, *mapping.values()})


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("n_moved", [0, 1, 2, 3])
def test_all_files_appear_together_or_none_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_moved: int, overwrite: bool
) -> None:
    release, key = hp.pseudonymise(hp.microaggregate(hp.datasets.town(60, 20)[0], k=5))
    if overwrite:
        hp.write_release(release, tmp_path / "safer.csv", key=key)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    moved: list[Path] = []

    def fails_in_the_end(made: Path, path: Path, *, overwrite: bool) -> None:
        if len(moved) == n_moved:
            raise OSError("the disk is full")
        moved.append(path)
        move_into_place(made, path, overwrite=overwrite)

    monkeypatch.setattr("habitprint.io.files.move_into_place", fails_in_the_end)
    other, other_key = hp.pseudonymise(hp.microaggregate(hp.datasets.town(60, 20)[0], k=6))
    with pytest.raises(hp.InputError, match="the disk is full"):
        hp.write_release(other, tmp_path / "safer.csv", key=other_key, overwrite=overwrite)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": "habitprint-owner/2"}, "its schema is 'habitprint-owner/2'"),
        ({"steps": 3}, r"Expected `array`, got `int` - at `\$.steps`"),
        ({"inputs": [{"name": "week1.csv"}]}, "missing required field `sha256`"),
        ({"losses": {"information_loss": 1}}, "missing required field `totals_error`"),
        ({"sha256": None}, r"Expected `str`, got `null` - at `\$.sha256`"),
        ({"more": 1}, "unknown field `more`"),
    ],
)
def test_an_unreadable_owner_s_file_is_refused(tmp_path: Path, change: dict[str, object], words: str) -> None:
    file = tmp_path / "safer.csv"
    hp.write_release(hp.SuppressBelow(2)(hp.datasets.town(60, 20)[0]), file)
    record = json.loads(owner_file(file).read_text())
    owner_file(file).write_text(json.dumps(record | change))
    with pytest.raises(hp.InputError, match=words):
        hp.read_owner_record(file)


def test_a_key_is_a_truth_that_leads_back_to_the_owner_s_users(tmp_path: Path) -> None:
    released, known = hp.datasets.town(60, 20)
    release, key = hp.pseudonymise(hp.RoundTo(2)(released))
    hp.write_release(release, tmp_path / "safer.csv", key=key)
    truth = pl.read_csv(tmp_path / "safer.csv.key.csv")
    assert truth.equals(key)
    histograms = hp.read_histograms(tmp_path / "safer.csv")
    found = hp.evaluate(hp.match(histograms, known), histograms, known, truth=truth)
    assert found.n_common == 60
