"""``match`` and ``path`` do to the known side what anyone can copy of a protected release."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import habitprint as hp
from command_line import run
from habitprint.cli.tables import TableOptions
from habitprint.io.tables import write_table
from habitprint.mechanisms.files import owner_file, sidecar
from habitprint.report.render import render_page
from habitprint.wording.pages import build_record
from habitprint.wording.releases import about_costs, about_losses
from habitprint.wording.verdict import details
from outline import Outline, text_of

pytestmark = pytest.mark.usefixtures("few_protections")


@pytest.fixture
def coarse(tmp_path: Path) -> tuple[Path, Path, float]:
    """Return a coarse release, what is known, and how many Python identifies."""
    released, known = hp.datasets.town(100, 40, seed=2)
    release = hp.chain(
        hp.Coarsen({place: f"district {int(place[-2:]) // 4}" for place in released.places}), hp.KeepTopPlaces(9)
    )(released)
    hp.write_release(release, tmp_path / "safer.csv")
    write_table(known.to_table(), tmp_path / "known.csv")
    theirs = release.public(known)
    accuracy = hp.evaluate(hp.match(release.histograms, theirs), release.histograms, theirs).accuracy
    assert accuracy is not None
    return tmp_path / "safer.csv", tmp_path / "known.csv", accuracy


def summary(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[Any, str]:
    assert run(monkeypatch, *map(str, words), "--truth", "same-id", "--json") == 0
    shown = capsys.readouterr()
    return json.loads(shown.out), " ".join(shown.err.split())


def test_a_coarse_release_is_matched_as_an_attacker_does(
    coarse: tuple[Path, Path, float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    released, known, accuracy = coarse
    found, notes = summary(monkeypatch, capsys, "match", released, known)
    assert found["evaluation"]["accuracy"] == pytest.approx(accuracy)
    assert accuracy > 0.2
    assert found["copied"] == [
        "merged places by a mapping",
        "kept the 9 most popular places, by visits",
    ]
    assert found["copied"][0] in notes


def test_the_path_ends_where_the_matching_of_an_attacker_is(
    coarse: tuple[Path, Path, float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    released, known, accuracy = coarse
    found, notes = summary(monkeypatch, capsys, "path", released, known)
    assert found["evaluations"][-1]["accuracy"] == pytest.approx(accuracy)
    assert len(found["copied"]) == 2
    assert "--as-is" in notes


@pytest.mark.slow
def test_an_audit_of_a_protected_table_attacks_it_as_an_attacker_does(
    coarse: tuple[Path, Path, float],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    released, known, accuracy = coarse
    found, _ = summary(monkeypatch, capsys, "audit", released, known, "--no-noise", "--out", tmp_path / "audit")
    rates = [
        attack["rate"]["value"]
        for attack in found["attacks"]
        if (attack["method"], attack["weight"], attack["uses_totals"]) == ("joint", "jensen-shannon", False)
    ]
    assert any(rate == pytest.approx(accuracy) for rate in rates)
    assert {attack["transform"] for attack in found["attacks"]} > {None}
    assert "no-shared-places" not in [each["code"] for each in found["data"]["findings"]]


@pytest.mark.parametrize("command", ["match", "path"])
def test_as_is_leaves_the_known_side_alone(
    coarse: tuple[Path, Path, float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    released, known, _ = coarse
    found, notes = summary(monkeypatch, capsys, command, released, known, "--as-is")
    assert found["copied"] is None
    assert found["n_shared_places"] == 0
    assert "anyone can copy" not in notes


def test_without_any_file_beside_it_nothing_is_copied(
    coarse: tuple[Path, Path, float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    released, known, _ = coarse
    sidecar(released).unlink()
    assert run(monkeypatch, "match", released, known) == 2  # the owner's file tells that one is missing
    owner_file(released).unlink()
    capsys.readouterr()
    assert summary(monkeypatch, capsys, "match", released, known)[0]["copied"] is None


def test_without_the_owner_s_file_the_mapping_is_not_known_and_a_caveat_says_what_that_means(
    coarse: tuple[Path, Path, float], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    released, known, _ = coarse
    owner_file(released).unlink()
    assert run(monkeypatch, "match", str(released), str(known), "--as-is", "--json") == 0
    assert "no place in common" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("command", ["match", "path"])
def test_places_put_into_all_others_are_copied_from_what_is_published_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    released, known = hp.datasets.town(60, 20, seed=2)
    release = hp.MergeRarePlaces(5)(released)
    hp.write_release(release, tmp_path / "safer.csv")
    owner_file(tmp_path / "safer.csv").unlink()
    write_table(known.to_table(), tmp_path / "known.csv")
    theirs = release.public(known)
    accuracy = hp.evaluate(hp.match(release.histograms, theirs), release.histograms, theirs).accuracy
    found, _ = summary(monkeypatch, capsys, command, tmp_path / "safer.csv", tmp_path / "known.csv")
    result = found["evaluation"] if command == "match" else found["evaluations"][-1]
    assert result["accuracy"] == pytest.approx(accuracy)


@pytest.mark.parametrize("name", [sidecar, owner_file], ids=["published", "owner"])
@pytest.mark.parametrize("command", ["match", "path"])
def test_what_was_written_for_another_table_is_not_believed(
    coarse: tuple[Path, Path, float],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    command: str,
    name: Callable[[Path], Path],
) -> None:
    released, known, _ = coarse
    beside = name(released)
    beside.write_text(beside.read_text().replace('"sha256": "', '"sha256": "0'))
    assert run(monkeypatch, command, str(released), str(known)) == 2
    text = capsys.readouterr().err
    assert f"is not the file that {beside.name} was written for" in text
    assert "--as-is" in text


def test_what_was_read_is_transformed_as_the_release_itself(tmp_path: Path) -> None:
    released, known = hp.datasets.town(60, 20, seed=2)
    districts = {place: f"district {int(place[-2:]) // 4}" for place in released.places[:-1]}
    release = hp.chain(hp.Coarsen(districts, unknown="leave-out"), hp.KeepTopPlaces(3))(released)
    hp.write_release(release, tmp_path / "safer.csv")
    write_table(known.to_table(), tmp_path / "known.csv")
    found = TableOptions().read(tmp_path / "safer.csv", tmp_path / "known.csv")
    assert found.unchanged.to_table().equals(known.to_table())
    tables = [(each.names, each.histograms.to_table()) for each in release.transformed(known)]
    again = [(each.names, each.histograms.to_table()) for each in found.release.transformed(found.unchanged)]
    assert [names for names, _ in again] == [names for names, _ in tables]
    assert all(one.equals(other) for (_, one), (_, other) in zip(again, tables, strict=True))
    assert len(tables) == 4


def owners(released: Path, key: Path | None = None) -> hp.OwnerRecord | None:
    truth = "same-id" if key is None else str(key)
    return TableOptions(truth=truth).read(released, released.parent / "known.csv").owner


def test_what_a_file_has_lost_is_found_beside_it_or_beside_its_key_if_it_is_that_very_file(tmp_path: Path) -> None:
    original, known = hp.datasets.town(30, 8)
    write_table(known.to_table(), tmp_path / "known.csv")
    release = hp.microaggregate(original, k=5)
    losses = hp.measure_losses(original, release)
    fresh, key = hp.pseudonymise(release)
    safer, house = tmp_path / "safer.csv", tmp_path / "house"
    hp.write_release(fresh, safer, key=key, losses=losses)
    at_home = house / "safer.csv.key.csv"
    found = owners(safer, tmp_path / "safer.csv.key.csv")
    assert found is not None
    assert found.losses == losses
    house.mkdir()
    for name in ("safer.csv.key.csv", "safer.csv.owner.json"):  # as whoever publishes the rest would do
        (tmp_path / name).rename(house / name)
    assert owners(safer, at_home) == found
    known_of_it = owner_file(house / "safer.csv")
    known_of_it.write_text(known_of_it.read_text().replace('"sha256": "', '"sha256": "0', 1))
    assert owners(safer, at_home) is None
    known_of_it.unlink()
    assert owners(safer, at_home) is None


@pytest.mark.slow
def test_an_audit_of_a_protected_table_tells_what_it_has_lost_against_its_original_or_that_nobody_knows() -> None:
    original, known = hp.datasets.town(12, 5)
    release = hp.microaggregate(original, k=3)
    losses = hp.measure_losses(original, release)
    told = hp.audit((release, known), noise=False, preparation=hp.Preparation(losses=losses))
    assert about_costs(losses) in about_losses(told.data.losses)
    assert told.data.has_shares
    unknown = replace(told, data=replace(told.data, losses=None))
    for each in (told, unknown):
        read_back = hp.Audit.from_json(each.to_json())
        lost = about_losses(read_back.data.losses)
        assert lost in text_of(each)
        assert lost in Outline(render_page(build_record(each))).text
    assert "pseudonyms, places and shares, but no names" in text_of(told)
    as_counts = replace(told, data=replace(told.data, has_shares=False))
    assert "pseudonyms, places and counts, but no names" in text_of(as_counts)
    never = replace(told, verdict=replace(told.verdict, is_protected=False))
    assert about_losses(told.data.losses) not in details(never)
