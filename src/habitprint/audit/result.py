"""What an audit found in all: the facts of a report, under one documented schema."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import polars as pl

from habitprint.audit.facts import Attack, Curve, DataFacts, People, Protections

SCHEMA = "habitprint-audit/1"  # a change of meaning or of a name makes it /2; new names do not
NOT_IN_JSON = ("users", "mapping")  # who is at risk by name is for internal use only

Kind = Literal["events", "histograms"]


@dataclass(frozen=True)
class Settings:
    """Hold what was asked for: rates are shares of one, None is not asked for, or not known.

    What only the command line knows, such as `by_hours`, is None in an audit of events that were prepared before.
    """

    source: str
    kind: Kind
    target: float
    fail_above: float | None
    surest_target: float | None
    overlap: float | None
    seed: int
    weight: str
    noise: bool
    active: int | None = None
    count: str | None = None
    side: float | None = None
    box: str | None = None
    by_hours: int | None = None
    by_weekday: bool | None = None
    shared: str | None = None
    first_day: str | None = None
    coarsen: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """Hold the answer.

    Parameters
    ----------
    answer
        One sentence: may this be released?
    details
        A few more, in the order in which they should be read.
    upper_end, target, passes
        Of the strongest attack on the unprotected data, and whether the first is not above the second.
    can_pass_at_all, n_users_needed
        Whether no correct claim at all would pass with so few users, and how many it takes.
    surest_passes
        The same for the surest claims; None without a target on them.
    fails_gate
        Whether `upper_end` exceeds `fail_above`; None without one.
    protection
        The label of the cheapest protection that passes; None if none is needed or none does.
    """

    answer: str
    details: tuple[str, ...]
    upper_end: float
    target: float
    passes: bool
    can_pass_at_all: bool
    n_users_needed: int
    surest_passes: bool | None
    fails_gate: bool | None
    protection: str | None


@dataclass(frozen=True, eq=False)
class Audit:
    """Hold all that an audit found. Made by `habitprint.audit`.

    Parameters
    ----------
    settings, versions
        What was asked for, and with which software.
    data, attacks, curves, protections, people, verdict
        One for each stage.
    users
        Who is at risk, by id: for internal use only, and not part of the report.
    mapping
        To coarser places, if the chosen protection needs one: ``place, to``; not part of the report.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(40, 10), target=1.0, noise=False)
    >>> found.to_json()["schema"], found.verdict.passes
    ('habitprint-audit/1', True)
    """

    settings: Settings
    versions: Mapping[str, str]
    data: DataFacts
    attacks: tuple[Attack, ...]
    curves: tuple[Curve, ...]
    protections: Protections
    people: People
    verdict: Verdict
    users: pl.DataFrame
    mapping: pl.DataFrame | None = None

    def __repr__(self) -> str:
        return f"Audit({self.verdict.answer})"

    @property
    def strongest(self) -> Attack:
        """Return the attack with the highest upper end."""
        return next(attack for attack in self.attacks if attack.is_strongest)

    def to_json(self) -> dict[str, Any]:
        """Return all facts but names of users, as a dictionary that is JSON; `docs/audit.md` tells its fields."""
        parts = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in NOT_IN_JSON}
        return {"schema": SCHEMA} | {name: _plain(value) for name, value in parts.items()}


def _plain(value: Any) -> Any:
    """Return dataclasses as dictionaries and tuples as lists."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return dict(value)
    return _lists(asdict(value))


def _lists(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _lists(item) for name, item in value.items()}
    return [_lists(item) for item in value] if isinstance(value, (tuple, list)) else value
