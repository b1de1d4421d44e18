"""What every command holds to, whatever it is given."""

import csv
import io
import json
import re
import unicodedata
from pathlib import Path

from hostile import SECRET, Case
from in_process import PATIENCE, Outcome, run
from tally import add

GATE = 1
UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
STORE = ".habitprint"


def faults_of(case: Case, folder: Path) -> list[str]:
    """Run a case in an empty folder, and return what is wrong with how it ended."""
    for name, content in case.files.items():
        (folder / name).write_bytes(content)
    for make in case.make:
        make(folder)
    before = _state(folder)
    outcome = run(case.words, folder)
    after = _state(folder)
    add(case.kind, outcome.code)
    new = {name: content for name, content in after.items() if name not in before}
    return [
        *_ending(outcome, case),
        *_terminal(outcome),
        *_files(before, after, outcome),
        *_texts(new),
        *_result(case, outcome),
    ]


def _ending(outcome: Outcome, case: Case) -> list[str]:
    faults = []
    if outcome.code is None or outcome.seconds > PATIENCE:
        faults.append(f"it takes longer than {PATIENCE:.0f} s")
    elif outcome.code not in {0, 2, GATE} or (outcome.code == GATE and case.words[0] not in {"check", "audit"}):
        faults.append(f"it ends with {outcome.code}")
    if outcome.code == 2 and not ("why: " in outcome.err and "fix: " in outcome.err) and "Usage: " not in outcome.err:
        faults.append("it does not say why, and how to fix it")
    faults += [f"it shows a {word}" for word in ("Traceback", "panicked", "stack backtrace") if word in outcome.err]
    return faults


def _terminal(outcome: Outcome) -> list[str]:
    text = outcome.out + outcome.err
    obeyed = {letter for letter in text if unicodedata.category(letter) in UNSEEN and letter != "\n"}
    faults = [f"a terminal would obey {sorted(obeyed)!r}"] if obeyed else []
    return [*faults, *(["it shows a secret"] if SECRET in text else [])]


def _texts(new: dict[str, object]) -> list[str]:
    """Return what is wrong with files for people, who may look at them on a terminal, or in a browser."""
    faults = []
    for name, content in new.items():
        if isinstance(content, bytes) and name.endswith((".html", ".md", ".svg", ".json")):
            text = content.decode()
            obeyed = {letter for letter in text if unicodedata.category(letter) in UNSEEN and letter not in "\n\t"}
            faults += [f"{name} holds {sorted(obeyed)!r}"] if obeyed else []
    return faults


def _state(folder: Path) -> dict[str, object]:
    """Return what is in a folder: files with their content, other things with their kind."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        if path.is_file() and not path.is_symlink()
        else path.lstat().st_mode
        for path in sorted(folder.rglob("*"))
    }


def _files(before: dict[str, object], after: dict[str, object], outcome: Outcome) -> list[str]:
    faults = [
        f"{name} was changed or removed"
        for name, was in before.items()
        if after.get(name) != was and not _is_ours(name)
    ]
    new = [name for name in after if name not in before]
    faults += [f"{name} is left behind" for name in new if ".habitprint-" in name]
    if outcome.code != 0 and any(not name.startswith(f"out/{STORE}") and name != "out" for name in new):
        faults.append(f"it fails, and leaves {new} behind")
    return faults


def _is_ours(name: str) -> bool:
    return name.startswith("out/")  # of an experiment that goes on where it was


def _result(case: Case, outcome: Outcome) -> list[str]:
    """Return how a result differs from what Python's own reader of CSV files sees."""
    words = case.words
    if (
        outcome.code != 0
        or "--json" not in words
        or "bad.csv" not in case.files
        or words[:2] not in (["match", "bad.csv"], ["inspect", "bad.csv"])
    ):
        return []
    facts = json.loads(outcome.out)
    content = case.files["bad.csv"]
    if words[0] == "inspect":  # it says how it was read, and that is how Python reads it, too
        dialect = facts["read_as"]["dialect"]
        header, *rows = _rows(content, dialect["encoding"], dialect["separator"], dialect["n_before"])
    else:
        encoding = "utf-8" if _is_utf8(content) else "cp1252"
        ways = (_rows(content, encoding, separator, 0) for separator in ",;\t|")
        header, *rows = next(way for way in ways if way and "user" in way[0])
    if words[0] == "match":
        users = {row[header.index("user")] for row in rows}
        return (
            []
            if len(users) == facts["released"]["n_users"]
            else [f"{facts['released']['n_users']} users, of {len(users)}"]
        )
    n_rows = facts["n_rows"] - facts["unused"].get("the line is empty", 0)
    return [] if len(rows) == n_rows else [f"{n_rows} rows, of {len(rows)}"]


def _rows(content: bytes, encoding: str, separator: str, n_before: int) -> list[list[str]]:
    """Return what Python's own reader of CSV files sees in a file, without lines that have nothing in them."""
    text = content.decode(encoding, "replace").removeprefix("\ufeff")
    text = re.sub("\r(?!\n)", " ", text)  # alone it ends no line for us, and is refused where it matters
    lines = text.split("\n", n_before)[-1]
    return [row for row in csv.reader(io.StringIO(lines, newline=""), delimiter=separator, strict=False) if any(row)]


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True
