"""The address of a database where a file is expected: refused, and no message shows its password."""

import shlex
from pathlib import Path

import pytest

from command_line import run

ADDRESS = "postgresql://me:SECRET@host/db"


@pytest.mark.parametrize(
    "words",
    [
        f"match {ADDRESS} t.csv",
        f"match t.csv {ADDRESS}",
        f"match t.csv t.csv --truth {ADDRESS}",
        f"match t.csv t.csv --weight {ADDRESS}",
        f"match t.csv t.csv --truth same-id --out {ADDRESS}",
        f"path {ADDRESS} t.csv",
        f"train t.csv {ADDRESS} --out w.json",
        f"forecast {ADDRESS} t.csv --population 100",
        f"predict {ADDRESS} t.csv",
        f"protect {ADDRESS} --k 2 --out o.csv",
        f"protect t.csv --coarsen {ADDRESS} --out o.csv",
        f"protect t.csv --k 2 --out {ADDRESS}",
        f"audit {ADDRESS} t.csv --out o",
        f"audit t.csv {ADDRESS} --out o",
        f"audit t.csv t.csv --out {ADDRESS}",
        f"compare {ADDRESS} t.csv",
        f"check {ADDRESS}",
        f"check t.csv --known {ADDRESS}",
        f"record {ADDRESS} --out x.html",
        f"split {ADDRESS} --released a.csv --known b.csv",
        f"inspect {ADDRESS}",
        f"release {ADDRESS} --advice o --out p",
        f"follow {ADDRESS}",
        f"follow t.csv --plot {ADDRESS}",
    ],
)
def test_no_message_shows_a_password(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("user,place,count\na,x,1\nb,y,2\n")
    assert run(monkeypatch, *shlex.split(words)) == 2
    told = "".join(capsys.readouterr())
    assert "SECRET" not in told
    assert "fix:" in told
