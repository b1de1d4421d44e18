"""The protection that an audit advises, with its evidence: a file that ``habitprint protect --advice`` applies."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec
import polars as pl

from habitprint.auditing.candidates import Candidate
from habitprint.auditing.data import Scope
from habitprint.auditing.search import Decide, Goal, Trial
from habitprint.errors import InputError
from habitprint.events import EventSpec
from habitprint.inputs import read_text
from habitprint.losses import Purpose
from habitprint.mappings import PlaceMapping
from habitprint.mechanisms import Mechanism, ProvenShare, Recipe
from habitprint.mechanisms.owner import Losses
from habitprint.rates import Rate
from habitprint.showing import Shown, abbreviated
from habitprint.words import printable_json

FILE = "advice.json"
INTERNAL = "Internal: it may name places that the release hides. Do not publish it."


@dataclass(frozen=True)
class Advice(Shown):
    """Hold what to do to the table that will be published, and why that is enough.

    Parameters
    ----------
    note
        That it is internal.
    schema
        Of the file.
    label, recipe, mapping
        What to do: in words; as a value; and which place goes where, if places are put together.
    target, decide
        What it reaches, and by what: proven, or only measured.
    proven, measured
        What anybody could reach, and what the strongest attack that was made reached.
    keep, losses
        What the release is for, and what is lost: no other that is enough was found to lose less for that purpose.
    scope
        Whom and which time that was measured on.
    events
        How the events were read and cut; None where two tables of counts were audited, or nobody told.

    Examples
    --------
    >>> import habitprint as hp
    >>> advice = hp.audit(hp.datasets.town(20, 6), target=0.2, noise=False).advice
    >>> advice.decide, advice.recipe.k, advice.keep
    ('proven', 5, 'patterns')
    """

    note: str
    schema: Literal["habitprint-advice/1"]
    label: str
    recipe: Recipe
    mapping: tuple[tuple[str, str], ...]
    target: float
    decide: Decide
    proven: ProvenShare
    measured: Rate
    keep: Purpose
    losses: Losses
    scope: Scope
    events: EventSpec | None = None

    def __repr__(self) -> str:
        return abbreviated(self)

    @classmethod
    def of(
        cls, candidate: Candidate, trial: Trial, goal: Goal, scope: Scope, events: EventSpec | None = None
    ) -> "Advice":
        """Return the advice to protect a table like this."""
        table = pl.DataFrame({"place": [], "to": []}) if candidate.mapping is None else candidate.mapping.table
        pairs: Sequence[tuple[str, str]] = table.select(pl.col("place", "to").cast(pl.String)).rows()
        return cls(
            INTERNAL,
            "habitprint-advice/1",
            candidate.label,
            candidate.recipe,
            tuple(pairs),
            goal.target,
            "proven" if trial.proven.is_within(goal.target) else "measured",
            trial.proven,
            trial.risk,
            goal.keep,
            trial.losses,
            scope,
            events,
        )

    @property
    def mechanism(self) -> Mechanism:
        """Return what does it."""
        if not self.recipe.is_mapped:
            return self.recipe.mechanism()
        places, to = zip(*self.mapping, strict=True)
        return self.recipe.mechanism(PlaceMapping(pl.DataFrame({"place": places, "to": to})))

    def to_text(self) -> str:
        """Return it as the text of a file."""
        return printable_json(msgspec.json.format(msgspec.json.encode(self), indent=1).decode()) + "\n"


def read_advice(path: str | os.PathLike[str]) -> Advice:
    """Read the advice of an audit, from its folder or its file.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(20, 6), target=0.2, noise=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = hp.write_audit(found, Path(folder) / "audit")
    ...     advice = hp.read_advice(Path(folder) / "audit")
    >>> advice == found.advice, advice.proven.is_within(0.2)
    (True, True)
    """
    path = Path(path)
    file = path / FILE if path.is_dir() else path
    text = read_text(
        file,
        why="an audit writes its advice there, if a protection is needed and one is enough",
        fix="give the folder of the audit; read its report to see whether it advises anything",
    )
    try:
        return msgspec.json.decode(text, type=Advice)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise InputError(
            f"{file} is not the advice of an audit: {error}",
            why="it is applied as it was written",
            fix="audit again with this version",
        ) from error
