"""Work is done once, in any order and on any number of threads, and a stop loses nothing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from small import town_source

import habitprint as hp
from habitprint.experiments import Cell, Setting, Source, Store, make_output, run_cells
from habitprint.experiments import runner as runner_module
from habitprint.experiments.spec import DataName

SOURCES: Mapping[DataName, Source] = {"events": town_source(40)}
CELLS = [
    Cell(data="events", setting=Setting(n_users=n_users), weight=weight, repeat=repeat)
    for n_users in (10, 20)
    for repeat in (0, 1)
    for weight in ("jensen-shannon", "dot")
]


def without_time(results: dict[Cell, dict[str, Any]]) -> dict[Cell, dict[str, Any]]:
    return {
        cell: {name: value for name, value in result.items() if "seconds" not in name}
        for cell, result in results.items()
    }


def run(cells: list[Cell], store: Store, **options: Any) -> dict[Cell, dict[str, Any]]:
    sources = options.pop("sources", SOURCES)
    return {cell: result for cell, result, _ in run_cells(cells, sources, store, **options)}


def test_results_depend_neither_on_the_order_nor_on_the_number_of_threads(tmp_path: Path) -> None:
    one = run(CELLS, Store(tmp_path / "a"), n_workers=1)
    other = run(CELLS[::-1], Store(tmp_path / "b"), n_workers=3)
    assert without_time(one) == without_time(other)
    assert set(one) == set(CELLS)


def test_what_is_there_is_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(CELLS, Store(tmp_path))
    monkeypatch.setattr(runner_module, "measure", lambda *_, **__: pytest.fail("computed again"))
    assert run(CELLS, Store(tmp_path)) == first


@pytest.mark.parametrize("change", [{"seed": 1}, {"sources": {"events": town_source(40, fingerprint="other data")}}])
def test_another_seed_or_other_data_makes_results_stale(tmp_path: Path, change: dict[str, Any]) -> None:
    run(CELLS[:1], Store(tmp_path))
    ((_, _, is_new),) = run_cells(
        CELLS[:1], change.get("sources", SOURCES), Store(tmp_path), seed=change.get("seed", 0)
    )
    assert is_new


def test_a_stop_loses_nothing_that_is_complete(tmp_path: Path) -> None:
    def stop(stage: str, done: int, total: int, note: str = "") -> None:
        del stage, total, note
        if done >= 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(CELLS, Store(tmp_path), progress=stop)
    again = list(run_cells(CELLS, SOURCES, Store(tmp_path)))
    assert {cell for cell, _, _ in again} == set(CELLS)
    assert sum(not is_new for _, _, is_new in again) >= 3


def test_a_stop_reaches_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that would go on for ever ends at its next report."""

    def for_ever(cell: Cell, workshop: object, seed: int, *, max_memory: float, progress: Any) -> dict[str, Any]:
        del cell, workshop, seed, max_memory
        while True:
            progress("matching", 0, 1)

    def stop(stage: str, done: int, total: int, note: str = "") -> None:
        del stage, done, total, note
        raise KeyboardInterrupt

    monkeypatch.setattr(runner_module, "measure", for_ever)
    with pytest.raises(KeyboardInterrupt):
        run(CELLS, Store(tmp_path), progress=stop)


def test_an_error_of_one_cell_is_passed_on(tmp_path: Path) -> None:
    wrong = Cell(data="events", setting=Setting(side=100.0))
    with pytest.raises(hp.InputError, match="without positions"):
        run([*CELLS, wrong], Store(tmp_path))


def test_a_broken_file_of_a_result_is_computed_anew(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = run(CELLS[:1], store)
    for file in store.folder.glob("*.json"):
        file.write_text("{")
    assert without_time(run(CELLS[:1], store)) == without_time(first)


def test_time_is_measured_last_and_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running: list[str] = []
    seen: list[tuple[str, int]] = []

    def note(cell: Cell, *_: object, **__: object) -> dict[str, Any]:
        running.append(cell.task)
        seen.append((cell.task, len(running)))
        running.remove(cell.task)
        return {"seconds": 0.0}

    monkeypatch.setattr(runner_module, "measure", note)
    timed = [Cell(data="events", setting=Setting(n_users=n), task="time") for n in (5, 6)]
    run([*timed, *CELLS], Store(tmp_path), n_workers=3)
    assert [task for task, _ in seen] == ["attack"] * len(CELLS) + ["time"] * 2
    assert [n for task, n in seen if task == "time"] == [1, 1]


def test_repeated_cells_are_done_once(tmp_path: Path) -> None:
    assert len(list(run_cells(CELLS[:2] * 3, SOURCES, Store(tmp_path)))) == 2


def test_a_folder_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(hp.InputError, match="not from here"):
        make_output(tmp_path)
    make_output(tmp_path, force=True)
    make_output(tmp_path)
    with pytest.raises(hp.InputError, match="is a file"):
        make_output(tmp_path / "thesis.tex")
    with pytest.raises(hp.InputError, match="does not exist"):
        make_output(tmp_path / "a" / "b")
