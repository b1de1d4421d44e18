"""Protecting in several runs: every run knows what the runs before it did, or refuses."""

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import habitprint as hp
from command_line import run
from habitprint.io.tables import write_table
from habitprint.mechanisms.files import key_file, open_release, owner_file, sidecar

pytestmark = pytest.mark.usefixtures("few_protections")

GATE = ("--decide", "measured", "--target", "20%", "--fail-above", "20%", "--no-noise")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with an original, what is known, and a mapping to coarser places."""
    released, known = hp.datasets.town(60, 20, seed=1)
    write_table(released.to_table(), tmp_path / "r.csv")
    write_table(known.to_table(), tmp_path / "k.csv")
    halves = [f"district {int(place[-2:]) // 2}" for place in released.places]
    pl.DataFrame({"place": released.places, "to": halves}).write_csv(tmp_path / "half.csv")
    return tmp_path


@pytest.fixture
def protect(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., dict[str, Any]]:
    """Return ``habitprint protect``, which answers in JSON."""

    monkeypatch.chdir(folder)

    def protect_in(*words: object) -> dict[str, Any]:
        capsys.readouterr()
        assert run(monkeypatch, "protect", *words, "--json") == 0
        facts: dict[str, Any] = json.loads(capsys.readouterr().out)
        return facts

    return protect_in


Protect = Callable[..., dict[str, Any]]


def names(path: str | Path) -> list[str]:
    return [step.name for step in open_release(path)[0].steps]


def test_two_runs_write_the_table_and_the_sidecar_of_one(protect: Protect) -> None:
    protect("r.csv", "--coarsen", "half.csv", "--keep-ids", "--out", "c1.csv")
    protect("c1.csv", "--k", "5", "--exact-means", "--keep-ids", "--out", "c2.csv")
    protect("r.csv", "--coarsen", "half.csv", "--k", "5", "--exact-means", "--keep-ids", "--out", "one.csv")
    assert Path("c2.csv").read_bytes() == Path("one.csv").read_bytes()
    assert sidecar("c2.csv").read_bytes() == sidecar("one.csv").read_bytes()
    records = [hp.read_owner_record(name) for name in ("c2.csv", "one.csv")]
    assert records[0].losses is not None
    assert records[1].losses is not None
    assert records[0].losses.predicted_on == "not-measured"  # earlier steps cannot be done again on half of the events
    assert records[0].losses.information_loss == records[1].losses.information_loss
    assert [step.findings for step in records[0].steps] == [step.findings for step in records[1].steps]
    assert [file.name for file in records[0].inputs] == ["r.csv", "half.csv", "c1.csv"]


@pytest.mark.slow
def test_protecting_in_two_runs_is_audited_like_protecting_in_one(
    protect: Protect, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    protect("r.csv", "--coarsen", "half.csv", "--keep-ids", "--out", "c1.csv")
    protect("c1.csv", "--round-to", "1", "--keep-ids", "--out", "c2.csv")
    assert Path("c1.csv").read_bytes() == Path("c2.csv").read_bytes()
    answers = []
    for name in ("c1", "c2"):
        capsys.readouterr()
        code = run(monkeypatch, "audit", f"{name}.csv", "k.csv", *GATE, "--json", "--out", f"audit-{name}")
        found = json.loads(capsys.readouterr().out)
        answers.append((code, found["verdict"], [attack["rate"] for attack in found["attacks"]]))
    assert answers[0] == answers[1]
    assert answers[0][0] == 1
    # Neither does Python forget what a file beside the table tells.
    found_here = hp.audit(("c2.csv", "k.csv"), target=0.2, decide="measured", fail_above=0.2, noise=False)
    assert found_here.verdict.upper_end == answers[0][1]["upper_end"]


def test_the_key_and_the_losses_lead_to_the_original(protect: Protect) -> None:
    protect("r.csv", "--coarsen", "half.csv", "--out", "c1.csv")
    groups = ["--k", "5", "--exact-means", "--known", "k.csv"]
    done = protect("c1.csv", *groups, "--out", "c2.csv")
    once = protect("r.csv", "--coarsen", "half.csv", *groups, "--out", "one.csv")
    assert (done["key_leads_to"], done["losses_against"], done["user_ids"]) == ("original", "original", "fresh")
    assert done["losses"] == once["losses"]
    assert done["measured"] == once["measured"]
    assert done["guaranteed"] == once["guaranteed"]
    assert names("c2.csv") == ["coarsen", "pseudonymise", "microaggregate", "pseudonymise"]
    rows = {}
    for name in ("c2.csv", "one.csv"):
        key = pl.read_csv(key_file(name))
        rows[name] = (
            pl.read_csv(name).join(key, left_on="user", right_on="released").drop("user").sort("known", "place")
        )
    assert rows["c2.csv"].equals(rows["one.csv"])


def test_without_the_earlier_key_the_new_one_leads_to_the_release_and_so_does_every_later_one(protect: Protect) -> None:
    protect("r.csv", "--round-to", "2", "--out", "c1.csv")
    key_file("c1.csv").rename("elsewhere.csv")
    done = protect("c1.csv", "--k", "5", "--out", "c2.csv")
    assert (done["key_leads_to"], done["losses_against"]) == ("release", "release")
    assert set(pl.read_csv(key_file("c2.csv"))["known"]) == set(pl.read_csv("c1.csv")["user"])
    assert hp.read_owner_record("c2.csv").losses is None
    later = protect("c2.csv", "--shares", "--out", "c3.csv")
    assert (later["key_leads_to"], later["losses_against"]) == ("release", "release")
    given = protect("c1.csv", "--k", "5", "--earlier-key", "elsewhere.csv", "--out", "c4.csv")
    assert (given["key_leads_to"], given["losses_against"]) == ("original", "original")


def test_without_the_original_losses_are_against_the_release(protect: Protect) -> None:
    protect("r.csv", "--coarsen", "half.csv", "--keep-ids", "--out", "c1.csv")
    Path("r.csv").write_text("user,place,count\nsomebody,else,1\n")
    done = protect("c1.csv", "--round-to", "1", "--keep-ids", "--out", "c2.csv")
    assert (done["losses_against"], done["losses"]["information_loss"]) == ("release", 0.0)
    assert hp.read_owner_record("c2.csv").losses is None


def test_ids_that_were_fresh_before_are_not_fresh_after_a_further_step(protect: Protect) -> None:
    protect("r.csv", "--round-to", "2", "--out", "c1.csv")
    done = protect("c1.csv", "--k", "5", "--keep-ids", "--out", "c2.csv")
    assert (done["user_ids"], done["guaranteed"]) == ("earlier", None)
    assert set(pl.read_csv("c2.csv")["user"]) <= set(pl.read_csv("c1.csv")["user"])
    assert hp.read_owner_record("c2.csv").keys == ("c1.csv.key.csv",)
    assert protect("c2.csv", "--shares", "--out", "c3.csv")["key_leads_to"] == "original"
    assert set(pl.read_csv(key_file("c3.csv"))["known"]) <= set(pl.read_csv("r.csv")["user"])


def test_guarantees_that_still_hold_are_kept_and_others_are_not(protect: Protect) -> None:
    protect("r.csv", "--suppress-below", "2", "--round-to", "2", "--keep-ids", "--out", "c1.csv")
    done = protect("c1.csv", "--round-to", "3", "--keep-ids", "--out", "c2.csv")
    assert [promise["name"] for promise in done["guarantees"]] == ["smallest-count", "multiples"]
    assert done["guarantees"][1]["base"] == 3


def test_a_release_without_its_owner_s_file_is_protected_further_and_its_mapping_stays_unknown(
    protect: Protect, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    protect("r.csv", "--coarsen", "half.csv", "--keep-ids", "--out", "c1.csv")
    owner_file("c1.csv").unlink()
    protect("c1.csv", "--round-to", "1", "--keep-ids", "--out", "c2.csv")
    assert names("c2.csv") == ["coarsen", "round-to"]
    assert not hp.read_owner_record("c2.csv").leads_to_original
    for name in ("c1.csv", "c2.csv"):  # an attacker may know the mapping: no audit says "safe" without it
        assert run(monkeypatch, "audit", name, "k.csv", "--out", "audit") == 2
        with pytest.raises(hp.InputError, match="mapping of the step 'coarsen'"):
            hp.audit((name, "k.csv"))
    capsys.readouterr()
    assert run(monkeypatch, "match", "c1.csv", "k.csv") == 0
    assert "warning" in capsys.readouterr().err


def remove_step(file: Path) -> None:
    told = json.loads(file.read_text())
    file.write_text(json.dumps(told | {"steps": told["steps"][1:]}))


def add_promise(file: Path) -> None:
    told = json.loads(file.read_text())
    file.write_text(json.dumps(told | {"guarantees": [{"name": "k-anonymity", "k": 5}]}))


def add_noise(file: Path) -> None:
    told = json.loads(file.read_text())
    noise = {"name": "differential-privacy", "epsilon": 0.1, "delta": 0.0, "unit": "event", "limit": None}
    file.write_text(json.dumps(told | {"guarantees": [{**noise, "are_places_chosen": False}]}))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda: remove_step(sidecar("c1.csv")),
        lambda: remove_step(owner_file("c1.csv")),
        lambda: add_promise(sidecar("c1.csv")),
        lambda: add_noise(sidecar("c1.csv")),
        lambda: sidecar("c1.csv").unlink(),
        lambda: Path("c1.csv").write_text(Path("c1.csv").read_text().replace(",1\n", ",2\n", 1)),
        lambda: shutil.copy(sidecar("c0.csv"), sidecar("c1.csv")),
        lambda: shutil.copy(owner_file("c0.csv"), owner_file("c1.csv")),
        lambda: shutil.copy("c0.csv", "c1.csv"),
    ],
    ids=[
        "step removed",
        "step removed for the owner",
        "promise added",
        "noise promised",
        "sidecar lost",
        "table edited",
        "sidecar of another",
        "owner's file of another",
        "another table",
    ],
)
def test_a_release_that_was_changed_by_hand_is_neither_protected_further_nor_attacked(
    protect: Protect, spoil: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    protect("r.csv", "--coarsen", "half.csv", "--suppress-below", "2", "--keep-ids", "--out", "c0.csv")
    protect("r.csv", "--coarsen", "half.csv", "--keep-ids", "--out", "c1.csv")
    spoil()
    assert run(monkeypatch, "protect", "c1.csv", "--round-to", "1", "--out", "c2.csv") == 2
    assert not Path("c2.csv").exists()
    for command in (("match",), ("path",), ("forecast", "--population", 1_000), ("audit", "--out", "audit")):
        assert run(monkeypatch, *command, "c1.csv", "k.csv") == 2
    with pytest.raises(hp.InputError):
        hp.audit(("c1.csv", "k.csv"))
    with pytest.raises(hp.InputError):
        hp.RoundTo(2)("c1.csv")


def test_a_copy_of_a_release_is_refused_and_an_original_that_a_release_equals_is_not(
    protect: Protect, monkeypatch: pytest.MonkeyPatch
) -> None:
    protect("r.csv", "--coarsen", "half.csv", "--keep-ids", "--out", "c1.csv")
    shutil.copy("c1.csv", "copy.csv")
    assert run(monkeypatch, "protect", "copy.csv", "--round-to", "1", "--out", "c2.csv") == 2
    assert run(monkeypatch, "match", "copy.csv", "k.csv") == 2
    with pytest.raises(hp.InputError, match="is a copy of a release"):
        hp.match("copy.csv", "k.csv")
    protect("r.csv", "--round-to", "1", "--keep-ids", "--out", "same.csv")
    assert Path("same.csv").read_bytes() == Path("r.csv").read_bytes()
    assert protect("r.csv", "--k", "5")["goes_on_from"] is None


def test_a_release_in_another_format_is_refused(protect: Protect, monkeypatch: pytest.MonkeyPatch) -> None:
    protect("r.csv", "--coarsen", "half.csv", "--keep-ids", "--out", "c1.csv")
    pl.read_csv("c1.csv").write_parquet("c1.parquet")
    Path("c1.csv.gz").write_bytes(gzip.compress(Path("c1.csv").read_bytes()))
    (other := Path("other")).mkdir()
    (other / "link.csv").symlink_to(Path("c1.csv").resolve())
    copies = (Path("c1.parquet"), Path("c1.csv.gz"), other / "link.csv")
    assert [run(monkeypatch, "match", copy, "k.csv") for copy in copies] == [2, 2, 2]
    Path("c1.csv").unlink()
    assert [run(monkeypatch, "match", copy, "k.csv") for copy in copies] == [2, 2, 2]
    protect("r.csv", "--k", "5", "--out", "r.parquet")  # a release may have the name of its original
    assert protect("r.csv", "--k", "6")["goes_on_from"] is None


def test_a_sidecar_that_tells_other_steps_than_the_owner_s_file_fails_the_check(
    protect: Protect, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    protect("r.csv", "--coarsen", "half.csv", "--round-to", "2", "--out", "c1.csv")
    assert run(monkeypatch, "check", "c1.csv") == 0
    remove_step(sidecar("c1.csv"))
    capsys.readouterr()
    assert run(monkeypatch, "check", "c1.csv", "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["is_told_as_by_owner"], found["is_as_written"], found["guaranteed"]) == (False, True, None)


@pytest.mark.parametrize("command", ["match", "path", "audit", "protect"])
def test_what_an_attacker_knows_is_no_release(protect: Protect, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    protect("k.csv", "--coarsen", "half.csv", "--keep-ids", "--out", "c1.csv")
    tables = ("r.csv", "--known", "c1.csv", "--k", "5") if command == "protect" else ("r.csv", "c1.csv")
    assert run(monkeypatch, command, *tables, *(("--out", "audit") if command == "audit" else ())) == 2


def test_nothing_that_is_read_is_overwritten(protect: Protect, monkeypatch: pytest.MonkeyPatch) -> None:
    protect("r.csv", "--round-to", "2", "--out", "c1.csv")
    before = {file.name: file.read_bytes() for file in Path().iterdir()}
    further = ("protect", "c1.csv", "--k", "5", "--force")
    assert run(monkeypatch, *further, "--out", "c1.csv") == 2
    assert run(monkeypatch, *further, "--out", "c2.csv", "--pseudonyms", "c1.csv.key.csv") == 2
    assert {file.name: file.read_bytes() for file in Path().iterdir()} == before


def test_noise_after_steps_that_forbid_it_and_a_key_of_another_release_are_refused(
    protect: Protect, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opendp", reason="OpenDP is not installed (extra 'dp')")
    protect("r.csv", "--round-to", "2", "--out", "c1.csv")
    protect("r.csv", "--round-to", "2", "--out", "other.csv")
    assert run(monkeypatch, "protect", "c1.csv", "--epsilon", "1", "--unit", "event", "--out", "c2.csv") == 2
    key = ("--earlier-key", "other.csv.key.csv")
    assert run(monkeypatch, "protect", "c1.csv", "--k", "5", *key, "--out", "c2.csv") == 2
    assert run(monkeypatch, "protect", "r.csv", "--k", "5", *key, "--out", "c2.csv") == 2


def test_a_release_that_lost_its_json_is_refused_with_and_without_its_key(
    protect: Protect, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    protect("r.csv", "--round-to", "2", "--out", "c1.csv")
    Path("c1.csv.json").rename("elsewhere.json")
    Path("c1.csv.owner.json").rename("owner.json")
    for key in [(), ("--earlier-key", "c1.csv.key.csv")]:
        assert run(monkeypatch, "protect", "c1.csv", "--k", "5", *key, "--out", "c2.csv") == 2
        assert "put c1.csv.json back" in " ".join(capsys.readouterr().err.split())
    Path("elsewhere.json").rename("c1.csv.json")
    assert run(monkeypatch, "protect", "c1.csv", "--k", "5", "--out", "c2.csv") == 0


@pytest.mark.slow
def test_an_audit_that_leaves_the_known_side_alone_says_so_beside_its_answer(
    protect: Protect, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    protect("r.csv", "--coarsen", "half.csv", "--keep-ids", "--out", "c1.csv")
    run(
        monkeypatch,
        "audit",
        "c1.csv",
        "k.csv",
        *GATE,
        "--as-is",
        "--accept",
        "no-shared-places",
        "--json",
        "--out",
        "audit",
    )
    findings = json.loads(capsys.readouterr().out)["data"]["findings"]
    assert ("nothing-copied", "changes-answer") in [(found["code"], found["gravity"]) for found in findings]


def test_python_goes_on_from_a_release_with_its_whole_steps(protect: Protect) -> None:
    protect("r.csv", "--coarsen", "half.csv", "--out", "c1.csv")
    release, key = hp.pseudonymise(hp.RoundTo(1)(hp.read_release("c1.csv")))
    hp.write_release(release, "c2.csv", key=key)
    assert not open_release("c2.csv")[0].steps_not_copied
    assert protect("c2.csv", "--k", "5", "--out", "c3.csv")["key_leads_to"] == "release"


def test_whole_numbers_as_ids_lead_back_through_two_formats(protect: Protect) -> None:
    numbered = pl.read_csv("r.csv").with_columns(user=pl.col("user").str.slice(-2).cast(int))
    numbered.write_parquet("n.parquet")
    protect("n.parquet", "--round-to", "2", "--out", "n1.csv")
    done = protect("n1.csv", "--shares", "--out", "n2.parquet")
    assert (done["key_leads_to"], done["losses_against"]) == ("original", "original")
    key = pl.read_csv(key_file("n2.parquet"))
    assert set(key["known"].cast(int)) <= set(numbered["user"])


def test_an_owner_s_file_beside_the_key_tells_that_a_table_elsewhere_is_a_release(
    protect: Protect, monkeypatch: pytest.MonkeyPatch
) -> None:
    protect("r.csv", "--coarsen", "half.csv", "--out", "c1.csv")
    (elsewhere := Path("elsewhere")).mkdir()
    shutil.copy("c1.csv", elsewhere)
    words = ("match", elsewhere / "c1.csv", "k.csv", "--truth", key_file("c1.csv"))
    assert run(monkeypatch, *words) == 2
    shutil.copy(sidecar("c1.csv"), elsewhere)
    assert run(monkeypatch, *words) == 0
