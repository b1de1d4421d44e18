"""Audits that many tests begin with: each is made once, and shared, since its values are frozen."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import pytest

import habitprint as hp
from habitprint.attacks import SuiteResult, run_suite
from habitprint.auditing import search
from habitprint.auditing.candidates import UNPROTECTED, Candidate, list_candidates
from habitprint.auditing.goal import Goal
from habitprint.auditing.options import DEFAULTS
from habitprint.auditing.preparation import Prepared, Subject, prepare
from habitprint.auditing.trials import Trial, make_trial
from habitprint.periods import Period

Canonical = Literal["town", "small town", "calls", "release"]


@cache
def audit_of_town(n_users: int, n_places: int, *, seed: int = 0, **options: Any) -> hp.Audit:
    """Return the audit of two tables of a town, with who is at risk: made once by each worker."""
    assert vars(search)["list_candidates"] is list_candidates, "shared audits try all protections"
    return hp.audit(hp.datasets.town(n_users, n_places, seed=seed), noise=False, **options)


@cache
def canonical(name: Canonical) -> hp.Audit:
    """Return one of four audits, with who is at risk: made once by each worker."""
    assert vars(search)["list_candidates"] is list_candidates, "shared audits try all protections"
    if name == "calls":
        return hp.audit(hp.events_from_frame(hp.datasets.calls_twin(40).events), noise=False)
    if name == "release":
        released, known = hp.datasets.town(40, 10)
        return hp.audit((hp.microaggregate(released, k=5), known), noise=False, population=1000)
    if name == "town":
        return audit_of_town(150, 25, seed=4, target=0.1)
    return audit_of_town(30, 8, target=0.2)


def prepare_events(events: hp.Events, period: Period | None = None, options: hp.AuditOptions = DEFAULTS) -> Prepared:
    """Check events and split them into two periods."""
    return prepare(Subject(events, period), options)


def asked(goal: Goal, **others: Any) -> hp.AuditOptions:
    """Return the options of an audit with a goal, without noise."""
    return hp.AuditOptions(**vars(goal), noise=False, **others)


@contextmanager
def only_groups() -> Iterator[None]:
    """Let audits try plain groups only: half their work, for tests that are not about the choice of a protection."""

    def list_groups(*arguments: Any, **options: Any) -> list[Candidate]:
        listed = list_candidates(*arguments, **options)
        return [each for each in listed if each.name in {"none", "micro-aggregation"}]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "list_candidates", list_groups)
        yield


def run_trial(base: SuiteResult, candidate: Candidate, goal: Goal) -> Trial:
    """Protect, run the full suite, and measure what is lost; unprotected, the attacks were made before."""
    release, tables = base.scenario.protected_by(candidate.mechanism)
    attacked = base
    if candidate != UNPROTECTED:
        attacked = run_suite(tables, base.suite_for_protected, seed=goal.seed)
    return make_trial(base.scenario, candidate, release, attacked, goal)


def read_canonical(name: Canonical, folder: Path) -> hp.Audit:
    """Return the facts of one of them, which name nobody: made once a run, by whoever comes first."""
    file = folder / f"{name}.json"
    with _alone(folder / "lock"):
        if not file.exists():
            file.write_text(canonical(name).to_text(), encoding="utf-8")
    return hp.read_audit(file)


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


NAMES: tuple[Canonical, ...] = get_args(Canonical)
