"""Tables that are too large to come here: all their people are attacked where they are, and a sample is audited."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from habitprint.attacks import Outcome, Scenario
from habitprint.auditing.data import NOT_TOLD, Whole
from habitprint.checks import Finding
from habitprint.periods import Span
from habitprint.progress import Progress
from habitprint.weighing import Weight

MOST_SAMPLED = 50_000  # people: an audit of so many takes some minutes and 3 GB on one machine


@dataclass(frozen=True, eq=False)
class RemoteSample:
    """The people who are audited, and what is known of the remote tables that they are from.

    Parameters
    ----------
    scenario
        Both tables, of these people only, and who is whom in them.
    whole
        How many people there are in all; None where these are all.
    periods, spans
        Which time the tables cover, in words and as spans, where that is known.
    told
        What may be wrong with the whole tables.
    """

    scenario: Scenario
    whole: Whole | None
    periods: str | None = None
    spans: tuple[Span, Span] = (NOT_TOLD, NOT_TOLD)
    told: Sequence[Finding] = ()


class Elsewhere(ABC):
    """Two tables of counts that stay where they are, such as on a cluster: what an audit asks for of them."""

    @abstractmethod
    def draw(self, seed: int, progress: Progress) -> RemoteSample:
        """Return the people who are audited: all, or a sample that the seed draws."""

    @abstractmethod
    def attack(self, weight: Weight, seed: int, progress: Progress) -> Outcome:
        """Return what an attack on all people at once, by a weight, achieves."""
