"""Work is done once, in any order and on any number of threads, and a stop loses nothing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from small import town_source

import habitprint as hp
from habitprint.experiments import DataSource, Job, Setting, Store, make_output, run_jobs
from habitprint.experiments import run as run_module
from habitprint.experiments.jobs import DataName, Done, LeftOut
from habitprint.experiments.measure import SharedData
from habitprint.weighing import PAPER_WEIGHTS

SOURCES: Mapping[DataName, DataSource] = {"events": town_source(40)}
JOBS = [
    Job(data="events", setting=Setting(n_users=n_users), weight=weight, repeat=repeat)
    for n_users in (10, 20)
    for repeat in (0, 1)
    for weight in PAPER_WEIGHTS[::3]
]


def without_time(results: dict[Job, Done]) -> dict[Job, str]:
    return {job: msgspec.structs.replace(done, seconds=0.0).to_text() for job, done in results.items()}


def run(jobs: list[Job], store: Store, **options: Any) -> dict[Job, Done]:
    return {job: done for job, (done, _) in run_jobs(jobs, SharedData(SOURCES), store, **options).items()}


def are_new(
    jobs: list[Job], store: Store, sources: Mapping[DataName, DataSource] = SOURCES, seed: int = 0
) -> list[bool]:
    return [is_new for _, is_new in run_jobs(jobs, SharedData(sources), store, seed=seed).values()]


def test_results_depend_neither_on_the_order_nor_on_the_number_of_threads(tmp_path: Path) -> None:
    one = run(JOBS, Store(tmp_path / "a"), n_workers=1)
    other = run(JOBS[::-1], Store(tmp_path / "b"), n_workers=3)
    assert without_time(one) == without_time(other)
    assert set(one) == set(JOBS)


def test_what_is_there_is_not_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run(JOBS, Store(tmp_path))
    monkeypatch.setattr(run_module, "measure", lambda *_, **__: pytest.fail("computed again"))
    assert without_time(run(JOBS, Store(tmp_path))) == without_time(first)


@pytest.mark.parametrize("change", [{"seed": 1}, {"sources": {"events": town_source(40, fingerprint="other data")}}])
def test_another_seed_or_other_data_makes_results_stale(tmp_path: Path, change: dict[str, Any]) -> None:
    run(JOBS[:1], Store(tmp_path))
    assert are_new(JOBS[:1], Store(tmp_path), **change) == [True]


def test_another_schema_makes_results_stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(JOBS[:1], Store(tmp_path))
    monkeypatch.setattr(run_module, "SCHEMA", run_module.SCHEMA + 1)
    assert are_new(JOBS[:1], Store(tmp_path)) == [True]


def test_a_stop_loses_nothing_that_is_complete(tmp_path: Path) -> None:
    def stop(stage: str, done: int, total: int, note: str = "") -> None:
        del stage, total, note
        if done >= 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(JOBS, Store(tmp_path), progress=stop)
    again = are_new(JOBS, Store(tmp_path))
    assert len(again) == len(JOBS)
    assert again.count(False) >= 3


def test_a_stop_reaches_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that would go on for ever ends at its next report."""

    def for_ever(job: Job, shared: object, seed: int, *, max_memory: float, progress: Any) -> Done:
        del job, shared, seed, max_memory
        while True:
            progress("matching", 0, 1)

    def stop(stage: str, done: int, total: int, note: str = "") -> None:
        del stage, done, total, note
        raise KeyboardInterrupt

    monkeypatch.setattr(run_module, "measure", for_ever)
    with pytest.raises(KeyboardInterrupt):
        run(JOBS, Store(tmp_path), progress=stop)


def test_an_error_of_one_cell_is_passed_on(tmp_path: Path) -> None:
    wrong = Job(data="events", setting=Setting(side=100.0))
    with pytest.raises(hp.InputError, match="without positions"):
        run([*JOBS, wrong], Store(tmp_path))


def test_a_broken_file_of_a_result_is_computed_anew(tmp_path: Path) -> None:
    store = Store(tmp_path)
    first = run(JOBS[:1], store)
    for file in store.folder.glob("*.json"):
        file.write_text("{")
    assert without_time(run(JOBS[:1], store)) == without_time(first)


def test_time_is_measured_last_and_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running: list[Job] = []
    seen: list[tuple[Job, int]] = []

    def note(job: Job, *_: object, **__: object) -> Done:
        running.append(job)
        seen.append((job, len(running)))
        running.remove(job)
        return Done(LeftOut("not computed"), 0.0)

    monkeypatch.setattr(run_module, "measure", note)
    timed = [Job(data="events", setting=Setting(n_users=n), task="timing") for n in (5, 6)]
    run([*timed, *JOBS], Store(tmp_path), n_workers=3)
    assert {job for job, _ in seen[:-2]} == set(JOBS)
    assert seen[-2:] == [(job, 1) for job in timed]


def test_repeated_cells_are_done_once(tmp_path: Path) -> None:
    assert are_new(JOBS[:2] * 3, Store(tmp_path)) == [True, True]


def test_a_folder_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(hp.InputError, match="did not write"):
        make_output(tmp_path)
    make_output(tmp_path, force=True).make()
    make_output(tmp_path)
    with pytest.raises(hp.InputError, match="it is a file"):
        make_output(tmp_path / "thesis.tex")
    with pytest.raises(hp.InputError, match="does not exist"):
        make_output(tmp_path / "a" / "b")
