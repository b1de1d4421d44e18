"""``habitprint train``, and weights that come from it, on the command line."""

import json
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

import habitprint as hp
from command_line import run
from habitprint.wording.risk import chosen_in_training


@dataclass(frozen=True)
class Told:
    """What a command said, and how it ended."""

    exit_code: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Shell:
    """Run the command line in this process."""

    monkeypatch: pytest.MonkeyPatch
    capture: pytest.CaptureFixture[str]

    def __call__(self, *words: str) -> Told:
        exit_code = run(self.monkeypatch, *words)
        return Told(exit_code, *self.capture.readouterr())


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(monkeypatch, capsys)


@pytest.fixture
def weeks(tmp_path: Path) -> list[str]:
    """Write four weeks of a town: two to train on, two to attack."""
    files = []
    for number, table in enumerate([*hp.datasets.town(60, 20, seed=1), *hp.datasets.town(60, 20, seed=2)]):
        files.append(str(tmp_path / f"week{number}.csv"))
        table.to_table().write_csv(files[-1])
    return files


def test_training_says_what_it_chose_and_the_weight_can_be_used(shell: Shell, weeks: list[str], tmp_path: Path) -> None:
    file = tmp_path / "weight.json"
    told = shell("train", weeks[0], weeks[1], "--out", str(file))
    assert told.exit_code == 0
    assert "60 people" in told.stdout.replace("\n", " ")
    assert "is the strongest evidence" in told.stdout.replace("\n", " ")
    used = json.loads(shell("match", weeks[2], weeks[3], "--weight", str(file), "--json").stdout)
    assert used["weight"] == hp.read_weight(file).name
    again = shell("train", weeks[0], weeks[1], "--out", str(file))
    assert again.exit_code == 2  # habitprint overwrites nothing unless you ask it to


def test_auto_trains_first_and_says_why(shell: Shell, weeks: list[str]) -> None:
    found = json.loads(
        shell("match", weeks[2], weeks[3], "--weight", "auto", "--train", weeks[0], weeks[1], "--json").stdout
    )
    expected = hp.train(*(hp.read_histograms(file) for file in weeks[:2]))
    assert found["weight"] == expected.weight.name
    assert found["chosen"].startswith(chosen_in_training(expected))


def test_auto_without_tables_to_train_on_says_so_and_takes_the_paper_s_weight(shell: Shell, weeks: list[str]) -> None:
    found = shell("match", weeks[2], weeks[3], "--weight", "auto", "--json")
    assert json.loads(found.stdout)["weight"] == "jensen-shannon"
    assert "nothing to train on" in found.stderr.replace("\n", " ")


def test_training_and_a_weight_do_not_go_together(shell: Shell, weeks: list[str]) -> None:
    found = shell("match", weeks[2], weeks[3], "--weight", "l1", "--train", weeks[0], weeks[1])
    assert found.exit_code == 2
    assert "--train does not go with --weight l1" in found.stderr


def test_a_weight_that_does_not_exist_is_refused_with_the_names_of_all(shell: Shell, weeks: list[str]) -> None:
    found = shell("path", weeks[2], weeks[3], "--weight", "euclid")
    assert found.exit_code == 2
    assert "jensen-shannon, l1, cosine, dot, rarity-half, rarity, likelihood" in found.stderr


def test_a_protected_table_is_trained_on_with_what_anyone_can_copy_of_it(
    shell: Shell, weeks: list[str], tmp_path: Path
) -> None:
    safer = str(tmp_path / "safer.csv")
    assert shell("protect", weeks[0], "--top-places", "5", "--keep-ids", "--out", safer).exit_code == 0
    told = shell("train", safer, weeks[1], "--json")
    assert told.exit_code == 0, told.stderr
    assert "--as-is" in told.stderr
    assert json.loads(told.stdout)["n_people"] <= 60


def test_the_table_that_is_attacked_teaches_nobody(shell: Shell, weeks: list[str], tmp_path: Path) -> None:
    for command in (["match"], ["path"], ["audit", "--out", str(tmp_path / "audit")]):
        own = ["--train", weeks[2], weeks[1]] + ([] if command[0] == "audit" else ["--weight", "auto"])
        found = shell(command[0], weeks[2], weeks[3], *command[1:], *own)
        assert found.exit_code == 2
        assert "names the released table itself" in found.stderr.replace("\n", " ")


@pytest.mark.slow
def test_with_training_a_match_says_how_likely_each_pair_is_right(
    shell: Shell, weeks: list[str], tmp_path: Path
) -> None:
    trained = ["--weight", "auto", "--train", weeks[0], weeks[1]]
    out = tmp_path / "pairs.csv"
    told = shell("match", weeks[2], weeks[3], *trained, "--out", str(out))
    assert "all users of the smaller table are also in the other table" in told.stderr.replace("\n", " ")
    found = json.loads(shell("match", weeks[2], weeks[3], *trained, "--json").stdout)
    one, other, released, known = (hp.read_histograms(file) for file in weeks)
    training = hp.train(one, other)
    matching = hp.match(released, known, weight=training.weight)
    said = training.for_tables(released, known).probabilities(matching, released, known)
    assert [pair["probability"] for pair in found["pairs"]] == said.tolist()
    assert pl.read_csv(out)["probability"].to_list() == pytest.approx(said.tolist())


@pytest.mark.slow
def test_pairs_that_were_not_trained_like_that_have_no_probability(shell: Shell, weeks: list[str]) -> None:
    for options in (["--size", "10"], ["--method", "one-by-one"]):
        words = ["match", weeks[2], weeks[3], "--weight", "auto", "--train", weeks[0], weeks[1], "--json", *options]
        found = json.loads(shell(*words).stdout)
        assert "probability" not in found["pairs"][0]


@pytest.mark.slow
def test_with_training_a_path_counts_the_likeliest_pairs_beside_the_best_of_each_size(
    shell: Shell, weeks: list[str], tmp_path: Path
) -> None:
    plot = tmp_path / "path.json"
    words = ["path", weeks[2], weeks[3], "--weight", "auto", "--train", weeks[0], weeks[1], "--truth", "same-id"]
    told = shell(*words, "--plot", str(plot)).stdout
    assert "most confident pairs" in told.replace("\n", " ")
    assert "the likeliest pairs" in plot.read_text()
    found = json.loads(shell(*words, "--json").stdout)
    assert [rate["n"] for rate in found["most_confident"]] == [result["size"] for result in found["evaluations"]]
    assert found["most_confident"][-1]["value"] == pytest.approx(
        found["evaluations"][-1]["precision"]
    )  # all, in any order
    assert (
        json.loads(shell("path", weeks[2], weeks[3], "--truth", "same-id", "--json").stdout)["most_confident"] is None
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["rehearse", "a.csv", "b.csv"], "rehearse is now train"),
        (["audit", "a.csv", "--release", "2012-04-09..2012-04-15"], "--release is now --release-span"),
        (["audit", "a.csv", "--known=2012-04-09..2012-04-15"], "audit --known is now --known-span"),
        (["match", "a.csv", "b.csv", "--weight", "auto", "--rehearse", "c.csv", "d.csv"], "--rehearse is now --train"),
    ],
)
def test_the_old_names_answer_with_the_new_ones(shell: Shell, words: list[str], message: str) -> None:
    found = shell(*words)
    assert found.exit_code == 2
    assert message in found.stderr
    with pytest.raises(AttributeError, match="it is now 'train'"):
        getattr(hp, "rehearse")  # noqa: B009
