"""An audit on Spark: all people are attacked there, and whatever the partitions, the same sample is audited here."""

import json
from pathlib import Path

import polars as pl
import pytest
from pyspark.sql import SparkSession
from test_spark_matching import on_spark

import habitprint as hp
from audits import prepare_events
from command_line import run
from habitprint.attacks import Scenario
from habitprint.auditing.options import AuditOptions
from habitprint.auditing.preparation import Whole, attack_all
from habitprint.checks.check import DAY_CODES
from habitprint.progress import silent

N, N_SAMPLE = 60, 30
RELEASED, KNOWN = hp.datasets.town(N, 20, seed=3)
SPARK = ("--backend", "spark")


def drawn(
    session: SparkSession, *sides: hp.Histograms, n_parts: int, sample: int, seed: int = 0, truth: object = "same-id"
) -> tuple[Scenario, Whole | None]:
    """Return the sample of two tables whose rows are shuffled into so many partitions."""
    frames = (
        session.createDataFrame(side.to_table().sample(fraction=1, shuffle=True, seed=n_parts).to_arrow())
        for side in sides
    )
    released, known = (frame.repartition(n_parts) for frame in frames)
    return hp.Spark(session, n_sampled=sample).sample(released, known, truth, seed)


@pytest.fixture(scope="module")
def sampled(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> hp.Audit:
    """Return the audit of a sample of two tables, which are folders."""
    released, known = (tmp_path_factory.mktemp("tables") / name for name in ("released", "known"))
    for side, folder in ((RELEASED, released), (KNOWN, known)):
        on_spark(spark, side).write.parquet(str(folder))
    return hp.audit((released, known), target=0.1, noise=False, backend=hp.Spark(spark, n_sampled=N_SAMPLE))


def test_the_attack_on_all_is_that_of_one_machine(spark: SparkSession) -> None:
    users = RELEASED.users.to_list()
    known = KNOWN.select(users=users[10:])
    weight = hp.WEIGHTS["jensen-shannon"]  # by which no two matchings are equally good here
    tables = on_spark(spark, RELEASED), on_spark(spark, known)
    found = attack_all(hp.Spark(spark), tables, "same-id", weight, seed=0, progress=silent)
    matching = hp.match(RELEASED, known, weight=weight)
    assert found.rate == hp.evaluate(matching, RELEASED, known).accuracy_rate
    assert (found.method, found.weight, found.n_guesses) == ("joint", "jensen-shannon", matching.n_guesses)
    assert found.gap == pytest.approx(0, abs=1e-10)


@pytest.mark.nightly
def test_the_rest_is_an_audit_of_the_sample_and_the_scope_says_so(spark: SparkSession, sampled: hp.Audit) -> None:
    sample, whole = drawn(spark, RELEASED, KNOWN, n_parts=1, sample=N_SAMPLE)
    here = hp.audit((sample.released, sample.known), target=0.1, noise=False, population=N)
    assert sampled.attacks == here.attacks
    assert sampled.protections == here.protections
    assert sampled.forecast == here.forecast
    assert sampled.on_all is not None
    assert (sampled.on_all.weight, sampled.on_all.rate.n) == (here.weight, N)
    scope = sampled.data.scope
    assert (scope.n_in_file, scope.whole) == (N_SAMPLE, whole)


def test_the_sample_depends_on_the_seed_and_neither_on_partitions_nor_on_the_order_of_rows(spark: SparkSession) -> None:
    one, other = (drawn(spark, RELEASED, KNOWN, n_parts=n_parts, sample=20)[0] for n_parts in (1, 5))
    assert one.released.to_table().equals(other.released.to_table())
    assert one.known.to_table().equals(other.known.to_table())
    seeded, _ = drawn(spark, RELEASED, KNOWN, n_parts=1, sample=20, seed=1)
    assert set(seeded.released.users) != set(one.released.users)
    assert one.released.to_table().equals(RELEASED.select(users=one.released.users.to_list()).in_order().to_table())


def test_people_of_one_table_only_are_drawn_like_all_others(spark: SparkSession) -> None:
    users = RELEASED.users.to_list()
    released, known = RELEASED.select(users=users[:40]), KNOWN.select(users=users[20:])
    sample, whole = drawn(spark, released, known, n_parts=2, sample=30)
    assert whole is not None
    assert (whole.n_in_file, whole.n_released, whole.n_known) == (60, 40, 40)
    assert whole.n_attacked == 20
    people = set(sample.released.users) | set(sample.known.users)
    assert len(people) == 30
    # Whoever is drawn is there with all that the whole tables have of him.
    assert set(sample.released.users) == people & set(users[:40])
    assert set(sample.known.users) == people & set(users[20:])
    n_only_released = len(people - set(users[20:]))
    assert 5 <= n_only_released <= 15  # of 20 of 60 people, 10 are to be expected


def test_a_truth_that_names_people_keeps_them_together(spark: SparkSession) -> None:
    users = RELEASED.users.to_list()
    # Pseudonyms that are somebody else's known id: only the truth says who is who.
    truth = pl.DataFrame({"released": users[1:] + users[:1], "known": users})[: N // 2]
    sample, whole = drawn(spark, RELEASED, KNOWN, n_parts=2, sample=30, truth=truth)
    assert whole is not None
    assert (whole.n_in_file, whole.n_attacked) == (3 * N // 2, N // 2)
    pairs = set(truth.rows())
    assert isinstance(sample.truth, pl.DataFrame)
    assert set(sample.truth.rows()) <= pairs
    for released, known in pairs:
        is_there = (released in set(sample.released.users), known in set(sample.known.users))
        assert is_there in {(True, True), (False, False)}
        assert ((released, known) in set(sample.truth.rows())) == all(is_there)


def test_wrong_dates_are_found_in_all_rows_as_on_one_machine(spark: SparkSession) -> None:
    days = [*["2012-04-09", "2012-04-16"] * 10, *["1970-01-01"] * 3, "2012-04-30", "2999-01-01"]
    rows = pl.DataFrame({"user": [n % 4 for n in range(25)], "time": days, "place": ["a"] * 25})
    period = hp.AllOtherTime(released=("2012-04-09", "2012-04-15"))
    here = prepare_events(hp.events_from_frame(rows), period, AuditOptions(accept=DAY_CODES)).facts.findings
    parts = hp.split(spark.createDataFrame(rows.to_arrow()), period, users="all", backend=hp.Spark(spark))
    assert [each for each in here if each.code in DAY_CODES] == list(parts.findings)
    assert [each.gravity for each in parts.findings] == ["stops", "stops"]
    with pytest.raises(hp.InputError, match="--accept future-dates --accept sentinel-dates"):
        hp.audit(parts, backend=hp.Spark(spark))
    parts.forget()


def test_days_of_excel_that_are_read_as_seconds_are_refused(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a", 41008.5, "x"), ("b", 41015.5, "x")], ["user", "time", "place"])
    events = hp.Spark(spark).read_events(frame, time_format="seconds")
    with pytest.raises(hp.InputError, match="--time-format excel"):
        hp.split(events, hp.HalvesOfRows(), backend=hp.Spark(spark))


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of calls of thirty people in two weeks, with a row that is of no use, in the folder of work."""
    monkeypatch.chdir(tmp_path)
    rows = [
        (user, f"2012-04-{day:02} 10:00", str((user * 7 + day % 3) % 11)) for user in range(30) for day in range(9, 23)
    ]
    frame = pl.DataFrame([*rows, (7, "2012-04-09 10:00", None)], schema=["caller", "when", "antenna"], orient="row")
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "counts.csv").write_text("user,place,count\nJill,7,3\n")
    (tmp_path / "calls").mkdir()
    for part in range(2):
        frame[part::2].write_parquet(tmp_path / "calls" / f"part-{part}.parquet")
    return tmp_path / "calls"


NAMES = ("--user", "caller", "--time", "when", "--place", "antenna", "--weeks", "2012-04-09")


@pytest.mark.usefixtures("calls")
def test_events_are_counted_attacked_and_audited_from_the_shell(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = (
        *NAMES,
        "--active",
        "2",
        *SPARK,
        "--conf",
        "spark.some.secret=hush",
        "--sample",
        "20",
        "--target",
        "20%",
        "--no-noise",
    )
    assert run(monkeypatch, "audit", "calls", *asked, "--out", "audit", "--fail-above", "5%") == 1
    printed = capsys.readouterr().out
    found = hp.read_audit("audit")
    assert found.data.scope.whole is not None
    assert (found.data.scope.n_in_file, found.data.scope.whole.n_in_file) == (20, 30)
    assert found.data.scope.released.words == "9 April 2012 to 15 April 2012"
    assert ("unused-rows", 1, 421) in [(each.code, each.count, each.of) for each in found.data.findings]
    assert "One attack on all 30 people" in printed
    assert "habitprint protect RELEASED --known KNOWN --advice audit" in printed
    columns = "--user caller --place antenna --time when --weeks 2012-04-09 --active 2"
    rest = "--target 0.2 --no-noise --fail-above 0.05 --backend spark --sample 20 --out audit"
    assert found.run.command == f"habitprint audit calls {columns} {rest}"
    assert "hush" not in "".join(path.read_text() for path in Path("audit").iterdir() if path.suffix != ".parquet")
    assert pl.read_parquet("audit/users.parquet").height == found.data.scope.n_released

    assert run(monkeypatch, "audit", "calls", *asked, "--out", "audit") == 2
    assert "audit" in capsys.readouterr().err


@pytest.mark.nightly
@pytest.mark.usefixtures("calls")
def test_two_folders_whose_people_all_fit_are_audited_as_on_one_machine(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    town = hp.datasets.town(24, 8, seed=5)
    for side, name in zip(town, "ab", strict=True):
        Path(name).mkdir()
        side.to_table().rename({"user": "who"}).write_parquet(f"{name}/part.parquet")
    words = ("--user", "who", "--target", "100%", "--no-noise", "--epsilon", "0.1", "--json")
    assert run(monkeypatch, "audit", "a", "b", *SPARK, *words, "--out", "audit") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["data"]["scope"]["whole"] is None
    assert told["on_all"] is None
    assert told["run"]["inputs"] == []
    here = hp.audit(town, target=1.0, noise=False).to_json()
    own = {"options": None, "run": None, "text": None}
    assert told | own == here | own


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (("calls",), "has no column 'user'"),
        (("nothing", *NAMES), "path does not exist"),
        (("calls", *NAMES, "--overlap", "50%"), "--overlap does not go with --backend spark"),
        (("calls", *NAMES, "--shared", "merge"), "--shared does not go with --backend spark"),
        (("calls", *NAMES, "--side", "500"), "--side is given without --box"),
        (("calls", *NAMES, "--epsilon", "7"), "epsilon 7.0 is not a number above 0"),
        (("calls", *NAMES, "--truth", "same-id"), "--truth does not go with events"),
        (("calls", "calls"), "--user caller --place antenna --count …"),
        (("nothing", "calls"), "nothing: Spark: path does not exist"),
        (("empty", "calls"), "empty: Spark: unable to infer schema"),
        (("text", "calls"), "text/counts.csv"),
        (("calls", "calls", "--duplicates", "sum"), "--duplicates does not go with --backend spark"),
    ],
)
@pytest.mark.usefixtures("calls")
def test_what_cannot_be_done_is_said(
    words: tuple[str, ...], fault: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "audit", *words, *SPARK, "--out", "audit") == 2
    shown = capsys.readouterr()
    assert fault in shown.err
    assert "fix:" in shown.err
    assert shown.out == ""
    assert not Path("audit").exists()


@pytest.mark.usefixtures("calls")
def test_where_a_report_cannot_be_written_is_said_before_any_work(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def start(*_: object, **__: object) -> None:
        pytest.fail("Spark was asked for")

    monkeypatch.setattr("habitprint.cli.options.BackendOptions.opened", start)
    Path("audit").mkdir()
    Path("audit/notes.txt").write_text("mine")
    assert run(monkeypatch, "audit", "calls", *NAMES, *SPARK, "--out", "audit") == 2
    assert "audit" in capsys.readouterr().err
    assert run(monkeypatch, "audit", "calls", *NAMES, *SPARK, "--out", "calls/audit") == 2
    assert "it is within calls, one of the inputs" in capsys.readouterr().err
    assert run(monkeypatch, "audit", "calls", *NAMES, "--sample", "30", "--out", "other") == 2
    assert "--sample does not go with --backend here" in capsys.readouterr().err
    Path("calls.json").touch()
    assert run(monkeypatch, "audit", "calls", "calls", *SPARK, "--out", "other") == 2
    assert "is a release (calls.json), which --backend spark cannot read" in capsys.readouterr().err
