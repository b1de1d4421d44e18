"""``habitprint protect`` and ``habitprint check`` as a person or a script meets them."""

import json
import os
import stat
from pathlib import Path

import polars as pl
import pytest

import habitprint as hp
from command_line import run
from habitprint.io.tables import write_table
from habitprint.mechanisms.files import OWNER_NOTE, key_file, owner_file, sidecar


@pytest.fixture
def habits(tmp_path: Path) -> str:
    file = tmp_path / "habits.csv"
    write_table(hp.datasets.town(60, 20, seed=1)[0].to_table(), file)
    return str(file)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_release_is_written_verified_and_checked_again(
    habits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], ending: str
) -> None:
    out = tmp_path / f"safer{ending}"
    options = ["--k", "10", "--loss", "l1", "--keep-ids", "--verbose"]
    assert run(monkeypatch, "protect", habits, *options, "--out", str(out)) == 0
    text = " ".join(capsys.readouterr().out.split())
    for words in (
        "10-anonymity",
        "checked: the smallest anonymity set has 10 of 60 users",
        "information loss",
        "tightest groups first",
        f"safer{ending}.json",
    ):
        assert words in text
    assert hp.read_release(out).guarantees == (hp.KAnonymity(10), hp.EqualContributions(50))
    assert run(monkeypatch, "check", str(out)) == 0
    assert "holds" in capsys.readouterr().out


def test_the_answer_fits_a_screen_and_the_details_are_asked_for(
    habits: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "protect", habits, "--k", "10", "--shares") == 0
    short = capsys.readouterr().out
    assert run(monkeypatch, "protect", habits, "--k", "10", "--shares", "--verbose") == 0
    assert len(short.splitlines()) <= 25 < len(capsys.readouterr().out.splitlines())


def test_a_release_that_breaks_its_promise_exits_with_1(
    habits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "safer.csv"
    assert run(monkeypatch, "protect", habits, "--k", "10", "--out", str(out)) == 0
    table = pl.read_csv(out)
    table.filter(pl.int_range(pl.len()) != 4).write_csv(out)
    capsys.readouterr()
    assert run(monkeypatch, "check", str(out)) == 1
    assert "BROKEN" in capsys.readouterr().out
    assert run(monkeypatch, "check", str(out), "--json") == 1
    assert json.loads(capsys.readouterr().out)["guarantees"][0]["holds"] is False


def test_steps_are_applied_in_the_documented_order(
    habits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mapping = tmp_path / "districts.csv"
    places = hp.read_histograms(habits).places
    pl.DataFrame({"place": places, "to": [f"d{int(place[-2:]) // 2}" for place in places]}).write_csv(mapping)
    places_first = ["--top-places", "8", "--merge-rare", "9"]
    counts = ["--round-to", "2", "--suppress-below", "2", "--limit-contribution", "20", *places_first]
    words = ["--shares", *counts, "--k", "3", "--method", "mdav"]
    assert run(monkeypatch, "protect", habits, *words, "--coarsen", str(mapping), "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert [step["mechanism"]["name"] for step in summary["steps"]] == [
        "coarsen",
        "merge-rare-places",
        "keep-top-places",
        "limit-contribution",
        "suppress-below",
        "round-to",
        "microaggregate",
        "release-shares",
        "pseudonymise",
    ]
    assert summary["out"] is None
    assert summary["verified_on"] == "this release"
    assert {guarantee["name"] for guarantee in summary["guarantees"]} >= {"only-places", "k-anonymity"}
    assert 0 < summary["losses"]["information_loss"] < 1


def test_json_has_the_losses_of_python(
    habits: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "protect", habits, "--suppress-below", "3", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    original = hp.read_histograms(habits)
    losses = hp.measure_losses(original, hp.SuppressBelow(3)(original))
    assert summary["losses"]["information_loss"] == losses.information_loss
    assert summary["losses"]["n_users_kept"] == losses.n_users_kept
    assert summary["guarantees"][0]["holds"] is True
    assert summary["totals_exposure"]["bits"] > 0


def test_noise_states_its_accounting_and_that_it_has_no_seed(
    habits: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("opendp", reason="OpenDP is not installed (extra 'dp')")
    assert run(monkeypatch, "protect", habits, "--epsilon", "2", "--unit", "event", "--delta", "1e-6", "--verbose") == 0
    shown = capsys.readouterr()
    text = " ".join(shown.out.split())
    assert "ε = 2, δ = " in text
    assert "without a seed" in text
    assert "the file cannot show this guarantee" in text
    assert "a person’s total alone leaves about" in text
    assert "Do not publish them." in shown.err
    words = ["--epsilon", "5", "--limit-contribution", "10", "--json"]
    assert run(monkeypatch, "protect", habits, *words) == 0
    summary = json.loads(capsys.readouterr().out)
    promise = summary["guarantees"][-1]
    assert [step["mechanism"]["name"] for step in summary["steps"]] == [
        "add-noise",
        "pseudonymise",
    ]  # noise limits by itself
    assert summary["steps"][0]["findings"]["n_draws"] == 60 * 20  # also places where nobody is left by the limit
    assert (promise["unit"], promise["limit"], promise["holds"]) == ("user", 10, None)


def test_pseudonyms_go_into_the_release_and_their_key_into_a_private_file(
    habits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, key = tmp_path / "safer.parquet", tmp_path / "key.csv"
    words = ["--suppress-below", "2", "--pseudonyms", str(key), "--out", str(out)]
    assert run(monkeypatch, "protect", habits, *words) == 0
    assert "keep it apart" in capsys.readouterr().out
    original, release = hp.read_histograms(habits), hp.read_release(out)
    assert not set(release.histograms.users) & set(original.users)
    table = pl.read_csv(key)
    assert set(table["released"]) == set(release.histograms.users)
    assert set(table["known"]) <= set(original.users)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert "key" not in sidecar(out).read_text()
    known = tmp_path / "known.csv"
    write_table(hp.datasets.town(60, 20, seed=1)[1].to_table(), known)
    assert run(monkeypatch, "match", str(out), str(known), "--truth", str(key)) == 0
    assert "common users" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "no protection is given"),
        (["--k", "61"], "k = 61 with 60 users"),
        (["--k", "0"], "k 0 is not a whole number"),
        (["--epsilon", "0", "--unit", "event"], "epsilon 0.0 is not a number above 0"),
        (["--epsilon", "1", "--unit", "event", "--limit-contribution", "9"], "limit = 9 for the unit 'event'"),
        (["--unknown-places", "leave-out", "--k", "3"], "--unknown-places without --coarsen"),
        (["--epsilon", "1"], "--limit-contribution 20"),
        (["--delta", "0.1", "--k", "3"], "--delta without --epsilon"),
        (["--second-phase", "--k", "3"], "--second-phase was removed"),
        (["--decide", "proven"], "--decide proven is now --decide guaranteed"),
        (["--mean-k", "4", "--round-to", "2"], "--mean-k without --k"),
        (["--suppress-below", "100000"], "no count reaches the threshold"),
        (["--pseudonyms", "key.csv"], "--pseudonyms does not go with"),
        (["--keep-ids"], "no protection is given"),
        (["--k", "3", "--keep-ids", "--pseudonyms", "key.csv", "--out", "safer.csv"], "--pseudonyms does not go with"),
        (["--merge-rare", "0"], "n 0 is not a whole number"),
        (["--coarsen", "nowhere.csv"], "cannot read nowhere.csv"),
    ],
)
def test_bad_options_exit_with_2_and_a_fix(
    habits: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
) -> None:
    assert run(monkeypatch, "protect", habits, *words) == 2
    text = capsys.readouterr().err
    assert message in text
    assert "fix:" in text


def test_unknown_places_are_listed(
    habits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    mapping = tmp_path / "districts.csv"
    mapping.write_text("place,to\nplace-00,A\n")
    assert run(monkeypatch, "protect", habits, "--coarsen", str(mapping)) == 2
    text = capsys.readouterr().err
    assert "'place-01', 'place-02'" in text
    assert "--unknown-places leave-out" in text
    words = ["--coarsen", str(mapping), "--unknown-places", "leave-out", "--json"]
    assert run(monkeypatch, "protect", habits, *words) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["release"]["n_places"] == 1
    assert summary["steps"][0]["findings"]["n_places_left_out"] == 19


def test_no_file_is_overwritten_without_force_and_none_is_used_twice(
    habits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "safer.csv"
    words = ["protect", habits, "--k", "5", "--out", str(out)]
    assert run(monkeypatch, *words) == 0
    before = out.read_text()
    assert run(monkeypatch, *words[:3], "6", *words[4:]) == 2
    assert "exists already" in capsys.readouterr().err
    assert out.read_text() == before
    assert run(monkeypatch, *words[:3], "6", *words[4:], "--force") == 0
    assert "difference of two files" in " ".join(capsys.readouterr().err.split())
    assert out.read_text() != before
    for same in ([*words, "--pseudonyms", str(out)], ["protect", habits, "--k", "5", "--out", habits]):
        assert run(monkeypatch, *same, "--force") == 2
        assert "cannot write" in capsys.readouterr().err


def test_a_release_without_promises_or_without_its_sidecar_cannot_be_checked(
    habits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, key = tmp_path / "safer.csv", tmp_path / "key.csv"
    assert run(monkeypatch, "protect", habits, "--pseudonyms", str(key), "--out", str(out)) == 0
    assert "none" in capsys.readouterr().out
    assert run(monkeypatch, "check", str(out)) == 2
    assert "has no guarantee" in capsys.readouterr().err
    sidecar(out).unlink()
    assert run(monkeypatch, "check", str(out)) == 2
    assert "safer.csv.json" in capsys.readouterr().err


def test_ids_are_fresh_unless_the_original_ones_are_asked_for_and_then_a_note_says_so(
    habits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    original = set(hp.read_histograms(habits).users)
    for name, words in (("fresh", []), ("original", ["--keep-ids"])):
        out = tmp_path / f"{name}.csv"
        assert run(monkeypatch, "protect", habits, "--k", "5", "--out", str(out), "--json", *words) == 0
        shown = capsys.readouterr()
        found = json.loads(shown.out)
        assert found["user_ids"] == name
        assert ("original user ids" in shown.err) == (name == "original")
        assert bool(set(hp.read_release(out).histograms.users) & original) == (name == "original")
        assert (found["key"] == str(key_file(out))) == key_file(out).exists() == (name == "fresh")
    assert set(pl.read_csv(key_file(tmp_path / "fresh.csv"))["known"]) == original


@pytest.mark.parametrize("key", [None, "elsewhere/key.parquet"])
def test_what_is_the_owner_s_alone_nobody_else_can_read(
    habits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str | None
) -> None:
    out = tmp_path / "safer.csv"
    (tmp_path / "elsewhere").mkdir()
    words = [] if key is None else ["--pseudonyms", str(tmp_path / key)]
    before = os.umask(0)
    try:
        assert run(monkeypatch, "protect", habits, "--k", "5", "--out", str(out), *words) == 0
    finally:
        os.umask(before)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.rglob("*safer*") if file.is_file()}
    keys = {} if key is None else {"key.parquet": stat.S_IMODE((tmp_path / key).stat().st_mode)}
    private = {"safer.csv.owner.json": 0o600, **({"safer.csv.key.csv": 0o600} if key is None else {})}
    assert modes == {"safer.csv": 0o666, "safer.csv.json": 0o666, **private}
    assert set(keys.values()) <= {0o600}


def test_the_owner_s_file_says_that_it_is_internal_and_holds_losses_findings_and_inputs(
    habits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "safer.csv"
    assert run(monkeypatch, "protect", habits, "--suppress-below", "3", "--out", str(out)) == 0
    assert next(iter(json.loads(owner_file(out).read_text()).items())) == ("internal", OWNER_NOTE)
    record = hp.read_owner_record(out)
    original = hp.read_histograms(habits)
    without = hp.SuppressBelow(3)
    assert record.losses == hp.measure_losses(original, without(original), mechanism=without)
    assert record.losses.predicted_on == "held-out-events"
    assert record.inputs == (hp.InputFile.of(habits),)
    assert record.steps[0].findings == hp.SuppressBelow(3)(original).steps[0].findings
    assert record.is_of(out)


def test_an_owner_s_file_without_predictive_value_is_read_and_one_without_another_loss_is_not(
    habits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "safer.csv"
    assert run(monkeypatch, "protect", habits, "--k", "5", "--out", str(out)) == 0
    told = json.loads(owner_file(out).read_text())
    del told["losses"]["predictive_value"], told["losses"]["predicted_on"]
    owner_file(out).write_text(json.dumps(told))
    losses = hp.read_owner_record(out).losses
    assert losses is not None
    assert (losses.predictive_value, losses.predicted_on) == (None, "not-measured")
    del told["losses"]["totals_error"]
    owner_file(out).write_text(json.dumps(told))
    with pytest.raises(hp.InputError, match="totals_error"):
        hp.read_owner_record(out)


def test_with_another_period_the_predictive_value_is_measured_on_it(
    habits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    original, later = hp.read_histograms(habits), tmp_path / "later.csv"
    original.to_table().write_csv(later)
    assert run(monkeypatch, "protect", habits, "--k", "5", "--exact-means", "--known", str(later), "--json") == 0
    losses = json.loads(capsys.readouterr().out)["losses"]
    expected = hp.measure_losses(original, hp.microaggregate(original, k=5, units=None), later=original)
    assert (losses["predictive_value"], losses["predicted_on"]) == (expected.predictive_value, "other-period")


def test_claims_about_sensitive_places_are_measured_on_their_own_and_need_the_data_for_it(
    habits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    known, places, others, out = (tmp_path / name for name in ("known.csv", "places.csv", "others.csv", "safer.csv"))
    write_table(hp.datasets.town(60, 20, seed=1)[1].to_table(), known)
    places.write_text("place\nplace-00\nplace-01\n")
    others.write_text("place\nplace-00\nnowhere\n")
    words = ["protect", habits, "--k", "5", "--sensitive"]
    assert run(monkeypatch, *words, str(places)) == 2
    assert "--known" in capsys.readouterr().err
    assert run(monkeypatch, *words, str(others), "--known", str(known)) == 2
    assert "'nowhere'" in capsys.readouterr().err
    assert run(monkeypatch, *words, str(places), "--known", str(known), "--out", str(out), "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    check = ["check", str(out), "--original", habits, "--known", str(known), "--sensitive", str(places), "--json"]
    assert run(monkeypatch, *check) == 0
    checked = json.loads(capsys.readouterr().out)
    for found in summary, checked:
        assert found["attribution"]["sensitive"]["n_places"] == 2
    assert summary["attribution"]["sensitive"] == checked["attribution"]["sensitive"]


def test_protect_and_check_print_what_nobody_can_exceed_only_where_ids_are_fresh(
    habits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, words in (("fresh", []), ("original", ["--keep-ids"])):
        out = tmp_path / f"{name}.csv"
        assert run(monkeypatch, "protect", habits, "--k", "7", "--shares", "--out", str(out), "--json", *words) == 0
        promised = json.loads(capsys.readouterr().out)["guaranteed"]
        assert run(monkeypatch, "check", str(out), "--json") == 0
        guaranteed = json.loads(capsys.readouterr().out)["guaranteed"]
        assert guaranteed == promised
        assert run(monkeypatch, "check", str(out)) == 0
        text = " ".join(capsys.readouterr().out.split())
        if name == "original":
            assert guaranteed is None
            assert "nothing is guaranteed" in text
        else:
            assert guaranteed["average"] <= guaranteed["highest"] == 1 / 7
            assert "right at most 13.4% of the time on average, at most 14.3% for any person" in text


def test_findings_are_printed_but_not_published(
    habits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "safer.csv"
    assert run(monkeypatch, "protect", habits, "--suppress-below", "3", "--out", str(out), "--verbose") == 0
    assert "1 of 60 users was removed" in " ".join(capsys.readouterr().out.split())
    assert "60" not in str(json.loads(sidecar(out).read_text())["steps"])


def test_another_table_under_the_same_name_exits_with_1(
    habits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = tmp_path / "one.csv", tmp_path / "other.csv"
    for out, k in ((one, "5"), (other, "10")):
        assert run(monkeypatch, "protect", habits, "--k", k, "--out", str(out)) == 0
    one.write_bytes(other.read_bytes())
    capsys.readouterr()
    assert run(monkeypatch, "check", str(one)) == 1
    assert "BROKEN" in capsys.readouterr().out
    assert run(monkeypatch, "check", str(one), "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert found["is_as_written"] is False
    assert found["guarantees"][0]["holds"] is True


def test_an_edited_sidecar_exits_with_2(
    habits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "safer.csv"
    assert run(monkeypatch, "protect", habits, "--k", "5", "--out", str(out)) == 0
    text = sidecar(out).read_text()
    for k in ("NaN", "0", "2.5", "[1]", "1e999"):
        sidecar(out).write_text(text.replace('"k": 5\n', f'"k": {k}\n'))  # of the guarantee; the step has more
        assert sidecar(out).read_text() != text
        assert run(monkeypatch, "check", str(out)) == 2
        assert "cannot read" in capsys.readouterr().err


def test_a_release_that_fails_its_own_check_leaves_neither_itself_nor_a_key(
    habits: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, key = tmp_path / "safer.csv", tmp_path / "key.csv"
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr("habitprint.mechanisms.guarantees.SmallestCount.check", fails_once_written)
    assert (
        run(monkeypatch, "protect", habits, "--suppress-below", "2", "--pseudonyms", str(key), "--out", str(out)) == 3
    )
    assert sorted(tmp_path.iterdir()) == before


def fails_once_written(guarantee: hp.SmallestCount, histograms: hp.Histograms) -> hp.Check:
    """Find a broken promise in whatever has fresh ids."""
    is_original = str(histograms.users[0]) in {str(user) for user in hp.datasets.town(60, 20, seed=1)[0].users}
    return hp.Check(guarantee, is_original)
