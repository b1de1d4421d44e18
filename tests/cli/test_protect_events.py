"""``habitprint protect --advice AUDIT EVENTS``: the events themselves, read and counted as the audit had them."""

import shlex
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import polars as pl
import pytest

import habitprint as hp
from audits import only_groups
from command_line import run
from habitprint.auditing.preparation import Scope
from habitprint.mechanisms.recipe import to_text
from habitprint.periods import Span
from habitprint.wording.releases import about_losses

WEEKS = date(2012, 4, 9), date(2012, 4, 15), date(2012, 4, 16), date(2012, 4, 22)
SCOPE = Scope(60, 57, 57, 55, Span.between(*WEEKS[:2]), Span.between(*WEEKS[2:]), 1.0)
Advise = Callable[..., Path]


@pytest.fixture(scope="module")
def twin() -> pl.DataFrame:
    made = hp.datasets.calls_twin(60)
    return made.events.join(made.antennas.select("place", "lat", "lon"), on="place")


@pytest.fixture(scope="module")
def any_advice() -> hp.Advice:
    with only_groups():
        found = hp.audit(hp.datasets.town(12, 5), target=0.5, noise=False).advice
    assert found is not None
    return found


@pytest.fixture
def advise(any_advice: hp.Advice, tmp_path: Path) -> Advise:
    """Return what writes the advice of an audit of such events."""

    def write(asked: hp.EventSpec | None, scope: Scope = SCOPE, decide: str = "guaranteed", k: int = 5) -> Path:
        file = tmp_path / "advice.json"
        recipe = (hp.Microaggregate(k, units=None),)
        told = replace(any_advice, target=0.3, recipe=recipe, events=asked, scope=scope, decide=decide)  # type: ignore[arg-type]
        file.write_text(to_text(told))
        return file

    return write


def in_two_steps(
    monkeypatch: pytest.MonkeyPatch, events: Path, options: list[str], advice: Path, folder: Path
) -> tuple[Path, Path, Path]:
    """Return the protected table, and the two that it was made of, as ``split`` and then ``protect`` make them."""
    released, known, safer = (folder / f"{name}.parquet" for name in ("released", "known", "two-steps"))
    parts = ("--users", "all", "--released", released, "--known", known)
    assert run(monkeypatch, "split", events, *options, *parts) == 0
    assert run(monkeypatch, "protect", released, "--advice", advice, "--keep-ids", "--out", safer) == 0
    return safer, released, known


TWO_WEEKS = ["--ranges", "2012-04-09..2012-04-15,2012-04-16..2012-04-22"]
CASES: dict[str, tuple[hp.EventSpec, list[str]]] = {
    "chosen by the audit": (hp.EventSpec(), TWO_WEEKS),
    "weeks": (hp.EventSpec(weeks="2012-04-09", by_hours=12), ["--weeks", "2012-04-09", "--by-hours", "12"]),
    "days of the week, in a zone": (
        hp.EventSpec(days="monday..friday", time_zone="Asia/Tokyo"),
        [*TWO_WEEKS, "--days", "monday..friday", "--time-zone", "Asia/Tokyo"],
    ),
    "halves": (hp.EventSpec(halves=True, active=3), ["--halves", "--active", "3"]),
    "squares": (
        hp.EventSpec(lat="lat", lon="lon", side=5000.0, box="4,-9,11,-2", weeks="2012-04-09"),
        ["--lat", "lat", "--lon", "lon", "--side", "5000", "--box", "4,-9,11,-2", "--weeks", "2012-04-09"],
    ),
    "all other time": (
        hp.EventSpec(release_span="2012-04-10..2012-04-12"),
        ["--release-span", "2012-04-10..2012-04-12"],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_one_step_makes_the_table_of_two(
    case: str, twin: pl.DataFrame, advise: Advise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, options = CASES[case]
    events, once = tmp_path / "calls.parquet", tmp_path / "one-step.parquet"
    (twin.drop("place") if case == "squares" else twin.drop("lat", "lon")).write_parquet(events)
    advice = advise(asked)
    twice, _, _ = in_two_steps(monkeypatch, events, options, advice, tmp_path)
    assert run(monkeypatch, "protect", events, "--advice", advice, "--keep-ids", "--out", once) == 0
    assert once.read_bytes() == twice.read_bytes()


def test_what_is_known_in_the_audit_attacks_the_release_as_the_known_table_does(
    twin: pl.DataFrame,
    advise: Advise,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    twin.write_parquet(events := tmp_path / "calls.parquet")
    advice = advise(hp.EventSpec(weeks="2012-04-09"))
    _, released, known = in_two_steps(monkeypatch, events, ["--weeks", "2012-04-09"], advice, tmp_path)
    capsys.readouterr()
    said = []
    for words in ((events,), (released, "--known", known)):
        assert run(monkeypatch, "protect", *words, "--advice", advice, "--json") == 0
        out = capsys.readouterr().out
        said.append(pl.read_json(out.encode())["measured"].to_list())
    assert said[0] == said[1]
    assert said[0][0]["n"] > 40


@pytest.mark.parametrize("release", ["2012-04-09..2012-04-16", "2012-04-20..2012-04-21", "2012-04-01..2012-04-30"])
def test_days_that_the_attacker_knows_are_released_only_where_a_proof_decides(
    release: str,
    twin: pl.DataFrame,
    advise: Advise,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    twin.write_parquet(events := tmp_path / "calls.parquet")
    words = ("--release-span", release, "--keep-ids", "--out", tmp_path / "safer.parquet")
    assert run(monkeypatch, "protect", events, "--advice", advise(hp.EventSpec(), decide="measured"), *words) == 2
    assert "overlaps the days that the attacker knows" in capsys.readouterr().err
    assert not (tmp_path / "safer.parquet").exists()
    assert run(monkeypatch, "protect", events, "--advice", advise(hp.EventSpec()), *words) == 0
    first, last = (date.fromisoformat(day) for day in release.split(".."))
    inside = twin.filter(pl.col("time").dt.date().is_between(first, last))
    assert set(pl.read_parquet(tmp_path / "safer.parquet")["user"]) == set(inside["user"])


def test_other_days_are_released_if_the_attacker_does_not_know_them(
    twin: pl.DataFrame, advise: Advise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin.write_parquet(events := tmp_path / "calls.parquet")
    options = ["--ranges", "2012-04-11..2012-04-13,2012-04-16..2012-04-22"]
    advice = advise(hp.EventSpec(weeks="2012-04-09"), decide="measured")
    twice, _, _ = in_two_steps(monkeypatch, events, options, advice, tmp_path)
    words = ("--release-span", "2012-04-11..2012-04-13", "--keep-ids", "--out", tmp_path / "once.parquet")
    assert run(monkeypatch, "protect", events, "--advice", advice, *words) == 0
    assert (tmp_path / "once.parquet").read_bytes() == twice.read_bytes()


def test_a_target_that_is_not_met_on_this_file_is_a_warning(
    twin: pl.DataFrame,
    advise: Advise,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    twin.write_parquet(events := tmp_path / "calls.parquet")
    for k, is_warned in ((2, True), (5, False)):
        assert run(monkeypatch, "protect", events, "--advice", advise(hp.EventSpec(), k=k)) == 0
        assert (
            "the guarantee of this file misses the target" in " ".join(capsys.readouterr().err.split())
        ) == is_warned


def test_days_are_asked_of_events_only(
    advise: Advise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    hp.datasets.town(12, 5)[0].to_table().write_csv(table := tmp_path / "week1.csv")
    for asked in (None, hp.EventSpec()):
        words = ("--advice", advise(asked), "--release-span", "2012-04-09..2012-04-15")
        assert run(monkeypatch, "protect", table, *words) == 2
        assert "--release-span does not go with a table" in capsys.readouterr().err


@pytest.mark.slow
def test_the_printed_command_runs_with_blanks_in_all_names_and_leads_to_the_promised_verdict(
    twin: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    twin.drop("lat", "lon").rename({"user": "the caller"}).write_parquet("my calls.parquet")
    words = ("--user", "the caller", "--by-hours", "12", "--target", "20%", "--no-noise", "--out", "my audit")
    assert run(monkeypatch, "audit", "my calls.parquet", *words) == 0
    lines = [line.partition(": ")[2] for line in capsys.readouterr().out.splitlines() if ": habitprint " in line]
    assert [line.split()[1] for line in lines] == ["release"]
    assert run(monkeypatch, *shlex.split(lines[0])[1:]) == 0
    first, again = hp.read_audit("my audit"), hp.read_audit(Path("my audit-release", "internal"))
    assert not first.verdict.passes
    assert again.verdict.passes
    promised = hp.read_advice("my audit")
    assert again.verdict.guaranteed.average == pytest.approx(promised.guaranteed.average)
    (owner,) = Path("my audit-release", "internal").glob("*.owner.json")
    record = hp.read_owner_record(Path("my audit-release", "publish", "my audit-release.parquet"), owner)
    assert again.data.losses == record.losses
    assert record.losses is not None
    assert f"{record.losses.information_loss:.0%} of individual patterns are lost" in about_losses(again.data.losses)
