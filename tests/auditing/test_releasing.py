"""A release and its final record: one command leads from the advice to both, and they agree with the audit."""

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import polars as pl
import pytest

import habitprint as hp
from audits import audit_of_town, only_groups
from habitprint.auditing import releasing
from habitprint.auditing.releasing import ToRelease
from habitprint.report.charts import figures_of
from habitprint.wording.pages import build_page, build_record
from habitprint.wording.scope import about_scope

pytestmark = pytest.mark.slow

TARGET = 0.2


def events_of_town() -> hp.Events:
    """Return a town's habits in two weeks as events, on all days of both."""
    rows = [
        (user, place, date(2012, 4, 9) + timedelta(days=7 * week + at % 7))
        for week, table in enumerate(hp.datasets.town(60, 8))
        for user, place, count in table.to_table().iter_rows()
        for at in range(count)
    ]
    return hp.events_from_frame(pl.DataFrame(rows, ["user", "place", "time"], orient="row"))


@pytest.fixture(scope="module")
def first() -> hp.Audit:
    """Return the audit of events whose recommendation is a protection."""
    with only_groups():
        return hp.audit(events_of_town(), target=TARGET, noise=False, name="Calls, April", seed=3)


@pytest.fixture(scope="module")
def folder(first: hp.Audit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of its release."""
    out = tmp_path_factory.mktemp("release") / "april"
    hp.release(first, out)
    return out


@pytest.fixture(scope="module")
def final(folder: Path) -> hp.Audit:
    return hp.read_audit(folder / "internal")


def test_the_folder_holds_what_may_be_published_apart_from_all_else(folder: Path) -> None:
    assert {file.name for file in folder.iterdir()} == {"publish", "internal"}
    assert {file.name for file in (folder / "publish").iterdir()} == {"april.parquet", "april.parquet.json"}
    kept = {file.name for file in (folder / "internal").iterdir()}
    assert kept == {
        "april.parquet.key.csv",
        "april.parquet.owner.json",
        "compared.html",
        "record.html",
        "record.md",
        "report.html",
        "report.json",
        "users.parquet",
    }
    assert (folder / "internal").stat().st_mode & 0o077 == 0


def test_the_final_record_agrees_with_the_audit(first: hp.Audit, final: hp.Audit) -> None:
    before, after = first.data, final.data
    assert final.options == first.options
    assert final.verdict.target == first.verdict.target
    assert final.run == replace(first.run, made_on=final.run.made_on, command=final.run.command)
    for same in ("n_in_file", "n_known", "released", "known", "share_of_rows"):
        assert getattr(after.scope, same) == getattr(before.scope, same)
    assert (after.events, after.periods, after.periods_how) == (before.events, before.periods, before.periods_how)
    assert after.scope.unprotected is not None
    assert after.scope.unprotected.n_attacked == first.strongest.rate.n
    assert after.losses is not None
    n_removed = after.losses.n_users - after.losses.n_users_kept
    assert after.scope.unprotected.n_released - after.scope.n_released == n_removed
    assert final.training.missing is None
    assert final.training == first.training
    assert final.verdict.passes
    assert final.verdict.is_protected


def test_the_final_audit_is_about_the_written_file(folder: Path, final: hp.Audit) -> None:
    table = folder / "publish" / "april.parquet"
    assert final.release is not None
    assert final.release.file == hp.InputFile.of(table)
    release = hp.read_release(table)
    assert all(check.holds for check in hp.check_guarantees(release))
    assert hp.guaranteed_risk(release) == final.verdict.guaranteed


def test_each_released_person_has_one_row_whether_named_or_not(folder: Path, final: hp.Audit) -> None:
    users = pl.read_parquet(folder / "internal" / "users.parquet")
    released = hp.read_release(folder / "publish" / "april.parquet").histograms.users
    assert sorted(users["user"]) == sorted(released)
    assert users["expected_correct"].null_count() == 0
    assert users["realised_correct"].count() == final.data.n_common


def test_record_and_report_say_what_was_released_and_from_what(first: hp.Audit, final: hp.Audit) -> None:
    terms = {term.name: term.meaning for term in build_record(final).blocks[2].items}  # type: ignore[attr-defined]
    assert final.release is not None
    assert final.release.file.sha256 in terms["Released file"]
    assert f"{first.strongest.rate.n} people" in terms["Before protection"]
    assert terms["Scope"] == about_scope(final.data.scope)
    assert "20%" in terms["Target"]
    assert build_page(final, figures_of(final)).sections[1].name == "release"


def test_the_truth_of_two_tables_is_followed(tmp_path: Path) -> None:
    released, known = hp.datasets.town(60, 8)
    names = {str(user): f"k{user}" for user in known.users.to_list()}
    theirs = hp.Histograms(known.counts, pl.Series([names[str(user)] for user in known.users]), known.places)
    ours = hp.Histograms(released.counts, released.users.cast(pl.String), released.places)
    with only_groups():
        # As in the audit of the written file, the draw is new, and of 60 people one more row matters.
        before = hp.audit((ours, theirs), truth=names, noise=False, target=1.5 * TARGET)
        final = hp.release(before, tmp_path / "out")
    assert final.data.scope.n_attacked == final.strongest.rate.n == final.data.scope.n_released


@pytest.mark.parametrize("error", [KeyboardInterrupt, hp.InputError("no", why="no", fix="none")])
def test_a_failure_leaves_nothing(
    error: type[BaseException] | BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(releasing, "audit_prepared", fail)
    with pytest.raises(error if isinstance(error, type) else type(error)):
        hp.release(audit_of_town(30, 8, target=TARGET), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_an_earlier_release_is_replaced_only_if_asked_and_other_files_never(first: hp.Audit, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / "publish").mkdir(parents=True)
    with pytest.raises(hp.InputError, match="is not empty"):
        hp.release(first, out)
    (out / "mine.txt").write_text("mine")
    with pytest.raises(hp.InputError, match="other files"):
        hp.release(first, out, overwrite=True)
    assert {file.name for file in out.iterdir()} == {"publish", "mine.txt"}


def test_what_needs_no_protection_or_was_protected_is_refused() -> None:
    released, known = hp.datasets.town(40, 10)
    with pytest.raises(hp.InputError, match="recommends no protection"):
        ToRelease.of(hp.audit((released, known), target=1.0, noise=False))
    with only_groups():
        protected = hp.audit((hp.RoundTo(2)(released), known), target=TARGET, noise=False)
    with pytest.raises(hp.InputError, match="release already"):
        ToRelease.of(protected)
