"""A release on disk: it comes back whole, tells nothing of the original, and is found out when it was changed."""

import json
from pathlib import Path
from threading import Thread
from typing import Any, get_args

import polars as pl
import pytest

import habitprint as hp
from habitprint.io import files
from habitprint.mechanisms.files import read_sidecar, sidecar
from habitprint.mechanisms.recipe import AnyMechanism


def told_of(mechanism: object, **more: object) -> str:
    """Return a sidecar with one step."""
    step = {"mechanism": mechanism, **more}
    return json.dumps({"schema": "habitprint-release/3", "sha256": "", "steps": [step], "guarantees": []})


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_release_comes_back_from_disk_with_all_that_it_knows(tmp_path: Path, ending: str) -> None:
    released, known = hp.datasets.town(60, 20)
    districts = {place: f"district {int(place[-2:]) // 2}" for place in released.places}
    release = hp.chain(hp.Coarsen(districts), hp.KeepTopPlaces(7), hp.Microaggregate(5))(released)
    file = tmp_path / f"safer{ending}"
    hp.write_release(release, file)
    again = hp.read_release(file)
    assert again.guarantees == release.published().guarantees
    assert all(check.holds for check in hp.check_guarantees(again))
    published = [step.mechanism.published for step in release.steps]
    assert [step.mechanism.published for step in again.steps] == published
    assert [step.mechanism for step in read_sidecar(file).steps] == published
    assert again.histograms.to_table().equals(release.histograms.to_table())
    record = hp.read_owner_record(file)
    for step, written in zip(release.steps, record.steps, strict=True):
        assert written.mechanism.published == step.mechanism.published
        assert written.findings == step.findings
    theirs = hp.Release(again.histograms, record.steps).public(known)
    assert theirs.to_table().equals(release.public(known).to_table())


def test_every_kind_of_step_comes_back_from_disk_as_what_it_is(tmp_path: Path) -> None:
    pytest.importorskip("opendp", reason="OpenDP is not installed (extra 'dp')")
    released, _ = hp.datasets.town(60, 20)
    districts = {place: int(place[-2:]) // 2 for place in released.places}
    release, _ = hp.pseudonymise(
        hp.chain(
            hp.Coarsen(districts),
            hp.MergeRarePlaces(8),
            hp.KeepTopPlaces(7),
            hp.LimitContribution(total=40, per_place=9),
            hp.AddNoise(9.0, limit=30),
            hp.SuppressBelow(2),
            hp.RoundTo(2),
            hp.Microaggregate(5),
            hp.ReleaseShares(),
        )(released)
    )
    assert {type(step.mechanism) for step in release.steps} == {*get_args(AnyMechanism), hp.Pseudonymise}
    hp.write_release(release, tmp_path / "safer.parquet")
    again = read_sidecar(tmp_path / "safer.parquet")
    assert [step.mechanism for step in again.steps] == [step.mechanism.published for step in release.steps]


def test_noise_does_not_follow_a_release_from_disk_whose_left_out_users_are_unknown(tmp_path: Path) -> None:
    pytest.importorskip("opendp", reason="OpenDP is not installed (extra 'dp')")
    released, _ = hp.datasets.town(60, 20)
    for protect, refusal in ((hp.KeepTopPlaces(7), "noise on a release"), (hp.RoundTo(1), "after the step 'round-to'")):
        file = tmp_path / f"{protect}.parquet"
        hp.write_release(protect(released), file)
        with pytest.raises(hp.InputError, match=refusal):
            hp.AddNoise(1.0, "event")(hp.read_release(file))
    assert hp.chain(hp.KeepTopPlaces(7), hp.AddNoise(1.0, "event"))(released).guarantees[-1].are_places_chosen  # type: ignore[union-attr]


def test_a_release_that_a_seed_can_repeat_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(hp.InputError, match="drawn with a seed"):
        hp.write_release(hp.microaggregate(hp.datasets.town(60, 20)[0], k=5, seed=1), tmp_path / "safer.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_changed_is_found_out(tmp_path: Path) -> None:
    file = tmp_path / "safer.csv"
    hp.write_release(hp.microaggregate(hp.datasets.town(60, 20)[0], k=5), file)
    table = pl.read_csv(file)
    table.with_columns(count=pl.when(pl.int_range(pl.len()) == 3).then(0.9).otherwise("count")).write_csv(file)
    assert [check.holds for check in hp.check_guarantees(hp.read_release(file))] == [False, False]


def test_nothing_is_overwritten_without_being_asked(tmp_path: Path) -> None:
    release = hp.SuppressBelow(2)(hp.datasets.town(60, 20)[0])
    (tmp_path / "safer.csv.json").write_text("mine")
    with pytest.raises(hp.InputError, match=r"safer\.csv\.json exists already"):
        hp.write_release(release, tmp_path / "safer.csv")
    assert not (tmp_path / "safer.csv").exists()
    hp.write_release(release, tmp_path / "safer.csv", overwrite=True)
    assert hp.read_release(tmp_path / "safer.csv").guarantees == (hp.SmallestCount(2),)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "truncated"),
        ("[]", "Expected `object`, got `array`"),
        ("[" * 100_000, "recursion|Expected `object`"),
        ('{"steps": [], "guarantees": [], "sha256": ""}', "its schema is None, and this version reads"),
        ('{"schema": "habitprint-release/3", "steps": [], "guarantees": []}', "missing required field `sha256`"),
        (
            '{"schema": "habitprint-release/3", "sha256": "\\ud800", "steps": [], "guarantees": []}',
            "malformed|truncated|invalid",
        ),
        (told_of(3), "Expected `object`, got `int`"),
        (told_of({"name": "dance"}), "Invalid value 'dance'"),
        (told_of({"name": "round-to"}), "missing required field `base`"),
        (told_of({"name": "round-to", "base": 2, "more": 1}), "unknown field `more`"),
        (told_of({"name": "round-to", "base": 2}, more=1), "unknown field `more`"),
        (told_of({"name": "round-to", "base": [2]}), r"Expected `int \| float`, got `array`"),
        (told_of({"name": "round-to", "base": -2}), "Expected `int` >= 1"),
        (told_of({"name": "round-to", "base": 10**400}), "Expected `int` <= 9007199254740992|Number out of range"),
        (told_of({"name": "round-to", "base": float("nan")}), "malformed"),
        (told_of({"name": "microaggregate", "k": "five"}), "Expected `int`, got `str`"),
        (told_of({"name": "round-to", "base": 2}, findings={"n": 2.5}), "Expected `int`, got `float`"),
        (told_of({"name": "coarsen", "mapping": "/etc/passwd"}), r"Expected `object \| null`, got `str`"),
    ],
)
def test_an_unreadable_sidecar_is_refused(tmp_path: Path, content: str, words: str) -> None:
    file = tmp_path / "safer.csv"
    hp.write_release(hp.SuppressBelow(2)(hp.datasets.town(60, 20)[0]), file)
    sidecar(file).write_text(content)
    with pytest.raises(hp.InputError, match=words):
        hp.read_release(file)
    sidecar(file).unlink()
    with pytest.raises(hp.InputError, match=r"cannot read .*safer\.csv\.json"):
        hp.read_release(file)


@pytest.mark.parametrize(
    ("step", "is_given"),
    [
        ({"name": "add-noise", "epsilon": 1, "unit": "event", "delta": 0.1}, True),
        ({"name": "add-noise", "epsilon": 2, "unit": "event", "delta": 0.1}, False),
        ({"name": "add-noise", "epsilon": 1, "unit": "event", "delta": 0.001}, False),
        ({"name": "add-noise", "epsilon": 1, "delta": 0.1, "limit": 3}, False),
        ({"name": "round-to", "base": 2}, False),
    ],
    ids=str,
)
def test_a_promise_about_noise_is_believed_only_with_a_step_that_gives_it(
    tmp_path: Path, step: dict[str, object], is_given: bool
) -> None:
    file = tmp_path / "safer.csv"
    hp.write_release(hp.SuppressBelow(2)(hp.datasets.town(60, 20)[0]), file)
    promise = {"name": "differential-privacy", "epsilon": 1.0, "delta": 0.05, "unit": "event", "limit": None}
    sidecar(file).write_text(json.dumps(json.loads(told_of(step)) | {"guarantees": [promise]}))
    if is_given:
        assert read_sidecar(file).guarantees == (hp.DifferentialPrivacy(1.0, 0.05, "event", None),)
    else:
        with pytest.raises(hp.InputError, match="no step gives the guarantee"):
            read_sidecar(file)


def coarsen(place: object, to: object) -> dict[str, object]:
    return {"name": "coarsen", "mapping": {"table": {"place": place, "to": to}}}


KEEP, MERGE = {"name": "keep-top-places", "n": 2}, {"name": "merge-rare-places", "n": 2}


@pytest.mark.parametrize(
    ("mechanism", "places"),
    [
        (coarsen("a", "b"), None),
        (coarsen(["a", "a"], ["b", "c"]), None),
        (coarsen(["a"], []), None),
        (coarsen([1.5], ["b"]), None),
        (coarsen(["a", 1], ["b", "c"]), None),
        (coarsen([2**80], ["b"]), None),
        (coarsen([], []), None),
        (coarsen(["a"], ["b"]) | {"mapping": {"table": {"place": ["a"], "to": ["b"], "more": ["c"]}}}, None),
        (coarsen(["a"], ["b"]) | {"mapping": {"table": {"place": ["a"]}}}, None),
        (coarsen(["a"], ["b"]) | {"mapping": {"table": {"place": ["a"], "to": ["b"]}, "more": 1}}, None),
        (coarsen(["a"], ["b"]), ["b"]),
        ({"name": "round-to", "base": 2}, ["a"]),
        (KEEP, "abc"),
        (KEEP, []),
        (KEEP, ["a", "a"]),
        (KEEP, ["a", 1]),
        (KEEP, [True]),
        (MERGE, ["a", "a"]),
    ],
    ids=str,
)
def test_what_cannot_be_copied_from_a_sidecar_is_refused(tmp_path: Path, mechanism: object, places: object) -> None:
    file = tmp_path / "safer.csv"
    hp.write_release(hp.SuppressBelow(2)(hp.datasets.town(60, 20)[0]), file)
    sidecar(file).write_text(told_of(mechanism, places=places))
    with pytest.raises(hp.InputError, match=r"cannot read .*safer\.csv\.json"):
        hp.read_release(file)


def texts_and_numbers(value: Any) -> list[Any]:
    """Return all that a JSON value holds, names of fields included."""
    if isinstance(value, dict):
        return [found for name, item in value.items() for found in (name, *texts_and_numbers(item))]
    if isinstance(value, list):
        return [found for item in value for found in texts_and_numbers(item)]
    return [value]


def test_the_sidecar_is_the_same_for_two_originals_that_give_the_same_release(tmp_path: Path) -> None:
    visits = {1: "aaab", 2: "aaab", 3: "aabbb"}
    more = {1: "aaabd", 2: "aaabdd", 3: "aabbbd", 4: "d", 5: "de"}
    protect = hp.chain(
        hp.Coarsen({"a": "A", "b": "B"}, unknown="leave-out"),
        hp.LimitContribution(total=4),
        hp.KeepTopPlaces(2),
        hp.SuppressBelow(2),
        hp.RoundTo(2),
    )
    releases = [protect(hp.Histograms.from_strings(habits)) for habits in (visits, more)]
    for name, release in zip("xy", releases, strict=True):
        hp.write_release(release, tmp_path / f"{name}.csv")
    # The second original has more users, places and counts; whoever reads the sidecar cannot tell.
    assert [step.findings for step in releases[0].steps] != [step.findings for step in releases[1].steps]
    assert (tmp_path / "x.csv.json").read_text() == (tmp_path / "y.csv.json").read_text()


def test_no_sign_that_a_terminal_obeys_is_written_beside_a_release_and_all_of_it_comes_back(tmp_path: Path) -> None:
    habits = hp.Histograms.from_strings({"Jill": ["a\x9b2J", "a\x9b2J", "b\u202e"], "Mike": ["a\x9b2J", "b\u202e"]})
    hp.write_release(hp.KeepTopPlaces(1)(habits), tmp_path / "safer.csv")
    for name in ("safer.csv.json", "safer.csv.owner.json"):
        text = (tmp_path / name).read_text()
        assert "\\u009b" in text
        assert not {"\x9b", "\u202e"} & set(text)
    assert hp.read_release(tmp_path / "safer.csv").steps[0].places == ("a\x9b2J",)


@pytest.mark.slow
def test_two_runs_at_once_leave_the_table_of_one_beside_its_own_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    habits = hp.datasets.town(20, 5)[0]
    (first, first_key), (second, second_key) = (hp.pseudonymise(hp.microaggregate(habits, k=5)) for _ in range(2))
    other = Thread(
        target=hp.write_release, args=(second, tmp_path / "safer.csv"), kwargs={"key": second_key, "overwrite": True}
    )
    move = files.move_into_place

    def move_and_wait(made: Path, path: Path, *, overwrite: bool) -> None:
        move(made, path, overwrite=overwrite)
        if not other.ident:  # after the first file of the first run, the other one begins
            other.start()
            other.join(1.0)

    monkeypatch.setattr(files, "move_into_place", move_and_wait)
    hp.write_release(first, tmp_path / "safer.csv", key=first_key, overwrite=True)
    other.join()
    users = set(hp.read_histograms(tmp_path / "safer.csv").users)
    assert set(pl.read_csv(tmp_path / "safer.csv.key.csv")["released"]) == users


def test_no_finding_is_written(tmp_path: Path) -> None:
    released, _ = hp.datasets.town(60, 20)
    release = hp.chain(hp.KeepTopPlaces(7), hp.SuppressBelow(3), hp.RoundTo(2), hp.Microaggregate(5))(released)
    hp.write_release(release, tmp_path / "safer.csv")
    written = texts_and_numbers(json.loads(sidecar(tmp_path / "safer.csv").read_text()))
    found = {name for step in release.steps for name in step.findings}
    assert found
    assert not found & {item for item in written if isinstance(item, str)}
    assert not any(step.findings for step in read_sidecar(tmp_path / "safer.csv").steps)


def test_a_swapped_table_is_told_from_the_one_that_was_written(tmp_path: Path) -> None:
    released, _ = hp.datasets.town(60, 20)
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    hp.write_release(hp.microaggregate(released, k=5), one)
    hp.write_release(hp.microaggregate(released, k=10), other)
    assert read_sidecar(one).is_of(one)
    one.write_bytes(other.read_bytes())
    assert all(check.holds for check in hp.check_guarantees(hp.read_release(one)))  # its own promises do not tell
    assert not read_sidecar(one).is_of(one)


def test_a_csv_and_a_parquet_file_of_the_same_name_have_each_their_own_sidecar(tmp_path: Path) -> None:
    released, _ = hp.datasets.town(60, 20)
    hp.write_release(hp.SuppressBelow(2)(released), tmp_path / "safer.csv")
    hp.write_release(hp.microaggregate(released, k=5), tmp_path / "safer.parquet")
    assert hp.read_release(tmp_path / "safer.csv").guarantees == (hp.SmallestCount(2),)
    assert hp.read_release(tmp_path / "safer.parquet").guarantees == (hp.KAnonymity(5), hp.EqualContributions(50))


def test_a_release_that_breaks_its_promise_is_not_left_behind(tmp_path: Path) -> None:
    release = hp.Release(hp.datasets.town(60, 20)[0], (), (hp.KAnonymity(5),))
    (tmp_path / "safer.csv").write_text("mine")
    with pytest.raises(RuntimeError, match="breaks a guarantee"):
        hp.write_release(release, tmp_path / "safer.csv", overwrite=True)
    assert [file.name for file in tmp_path.iterdir()] == ["safer.csv"]
    assert (tmp_path / "safer.csv").read_text() == "mine"
