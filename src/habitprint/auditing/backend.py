"""What an audit asks of a backend: tables that are too large to come here are counted, sampled and attacked there."""

import math
import warnings
from dataclasses import dataclass
from typing import Any, Protocol

from habitprint.attacks import Outcome, Scenario
from habitprint.auditing.data import Whole
from habitprint.errors import NoCommonUserWarning, NoSharedPlaceWarning
from habitprint.matching import MatchOptions, Method
from habitprint.matching.match import MatchBackend
from habitprint.periods.split import CountBackend
from habitprint.progress import Progress
from habitprint.truth import Truth
from habitprint.weighing import Weight

MOST_SAMPLED = 50_000  # people: an audit of so many takes some minutes and 3 GB on one machine


@dataclass(frozen=True, eq=False)
class Sample:
    """The people of two remote tables who are audited on this machine.

    Parameters
    ----------
    scenario
        Both tables, of these people only, and who is whom in them.
    whole
        How many people there are in all; None where these are all.
    """

    scenario: Scenario
    whole: Whole | None


class Backend(CountBackend[Any], MatchBackend[Any], Protocol):
    """A place where tables live: it counts events, attacks two tables, and samples their people.

    This machine is the backend where none is named. `habitprint.Spark` is another one.
    """

    @property
    def epsilon(self) -> float | None:
        """Return the share of the gain that the attack on all people may miss; None for the optimum."""

    def sample(self, released: Any, known: Any, truth: Truth, seed: int, progress: Progress) -> Sample:
        """Return the people who are audited: all, or a sample that the seed draws."""


def attack_all(
    backend: Backend, tables: tuple[Any, Any], truth: Truth, weight: Weight, seed: int, progress: Progress
) -> Outcome:
    """Return the outcome of a joint attack on all people of two remote tables."""
    method: Method = "joint" if backend.epsilon is None else "approximate"
    options = MatchOptions(weight=weight, method=method, epsilon=backend.epsilon, seed=seed, max_memory=math.inf)
    with warnings.catch_warnings():
        # Facts that the rate tells too, as of every attack of an audit.
        warnings.simplefilter("ignore", NoSharedPlaceWarning)
        warnings.simplefilter("ignore", NoCommonUserWarning)
        matching = backend.attack(*tables, options, progress)
        rate = matching.evaluate(truth, progress).accuracy_rate
    matching.unpersist()
    assert rate is not None  # noqa: S101  (a sample of them has people in both tables)
    return Outcome(matching.method, weight.name, rate, matching.gap, matching.n_guesses)
