"""Tables that are too large to come here: all their people are attacked where they are, and a sample is audited."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from habitprint.attacks import Outcome, Scenario
from habitprint.auditing.data import TWO_TABLES, Whole
from habitprint.checks import Finding
from habitprint.forecasting import Forecast
from habitprint.matching.proof import EXACT, gap_and_share
from habitprint.periods import Span
from habitprint.progress import Progress
from habitprint.weighing import Weight
from habitprint.words import percent

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
    spans: tuple[Span, Span] = TWO_TABLES
    told: Sequence[Finding] = ()


class Elsewhere(ABC):
    """Two tables of counts that stay where they are, such as on a cluster: what an audit asks for of them."""

    @abstractmethod
    def draw(self, seed: int, progress: Progress) -> RemoteSample:
        """Return the people who are audited: all, or a sample that the seed draws."""

    @abstractmethod
    def attack(self, weight: Weight, seed: int, progress: Progress) -> Outcome:
        """Return what an attack on all people at once, by a weight, achieves."""


def words_on_all(attack: Outcome, forecast: Forecast | None) -> str:
    """Say what the attack on all people found, and beside it what was forecast for as many.

    Examples
    --------
    >>> from habitprint.rates import Rate
    >>> words_on_all(Outcome("joint", "l1", Rate.of(50, 1000, by_chance=0.001), 0.0, 0), None)
    'On all 1,000 people in both tables, the attack “All at once, l1” was made, proven optimal: it identifies 5% (95% \
interval 3.8% to 6.6%; by chance 0.1%).'
    """
    rate, gap = attack.rate, attack.gap or 0.0
    proof = "proven optimal" if gap <= EXACT else f"with at least {gap_and_share(gap)[1]} of the best gain"
    made = f"On all {rate.n:,} people in both tables, the attack “{attack.title}” was made, {proof}"
    found = f"{made}: it identifies {rate.words}."
    if forecast is None or forecast.n != rate.n or forecast.n_measured >= rate.n:
        return found
    is_within = forecast.low <= rate.value <= forecast.high
    agrees = "what was measured is within that" if is_within else "what was measured is not within that, and counts"
    ahead = f"{percent(forecast.share)} ({percent(forecast.level)} interval {forecast.interval_words})"
    return f"{found} From the sample alone {ahead} was forecast: {agrees}."
