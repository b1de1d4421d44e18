"""The protection that an audit advises, with its evidence: a file that ``habitprint protect --advice`` applies."""

import os
from dataclasses import dataclass
from pathlib import Path

from habitprint.auditing.candidates import Candidate
from habitprint.auditing.data import Scope
from habitprint.auditing.goal import Decide, Goal
from habitprint.auditing.trials import Trial
from habitprint.display import Shown, abbreviated
from habitprint.errors import InputError
from habitprint.events import EventSpec
from habitprint.io.inputs import read_text
from habitprint.losses import UtilityMetric
from habitprint.mechanisms import GuaranteedRisk, Losses, Mechanism, Recipe, chain, with_seed
from habitprint.mechanisms.recipe import from_text, to_text
from habitprint.rates import Rate

FILE, SCHEMA = "advice.json", "habitprint-advice/3"
INTERNAL = "Internal: it may name places that the release hides. Do not publish it."


@dataclass(frozen=True)
class Advice(Shown):
    """A protection for the table that will be published, and why it is enough.

    Parameters
    ----------
    note
        That it is internal.
    schema
        Of the file.
    label, recipe
        What to do: in words, and as mechanisms in their order.
    target, decide
        What it reaches, and by what: guaranteed, or only measured.
    guaranteed, measured
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
    >>> advice.decide, advice.recipe[0].k, advice.keep
    ('guaranteed', 6, 'patterns')
    """

    note: str
    schema: str
    label: str
    recipe: Recipe
    target: float
    decide: Decide
    guaranteed: GuaranteedRisk
    measured: Rate
    keep: UtilityMetric
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
        return cls(
            INTERNAL,
            SCHEMA,
            candidate.label,
            candidate.recipe,
            goal.target,
            "guaranteed" if trial.guaranteed.is_within(goal.target) else "measured",
            trial.guaranteed,
            trial.risk,
            goal.keep,
            trial.losses,
            scope,
            events,
        )

    @property
    def mechanism(self) -> Mechanism:
        """Return what does it, with rounding that nobody can repeat."""
        return chain(*with_seed(self.recipe, None))

    def to_text(self) -> str:
        """Return it as the text of a file."""
        return to_text(self)


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
    >>> advice == found.advice, advice.guaranteed.is_within(0.2)
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
        return from_text(text, Advice, SCHEMA)
    except ValueError as error:
        raise InputError(
            f"{file} is not the advice of an audit: {error}",
            why="an advice is applied exactly as an audit wrote it",
            fix="audit again with this version",
        ) from error
