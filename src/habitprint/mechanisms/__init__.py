"""What a release can be protected with, what that guarantees, and what it gives away all the same."""

from habitprint.mechanisms.coarsening import Coarsen, coarsen
from habitprint.mechanisms.counts import (
    LimitContribution,
    RoundTo,
    SuppressBelow,
    limit_contribution,
    round_to,
    suppress_below,
)
from habitprint.mechanisms.exposure import TotalsExposure, totals_exposure
from habitprint.mechanisms.files import read_release, write_release
from habitprint.mechanisms.groups.microaggregation import Microaggregate, microaggregate
from habitprint.mechanisms.guarantees import (
    Check,
    DifferentialPrivacy,
    Guarantee,
    KAnonymity,
    LimitedContribution,
    MultiplesOf,
    OnlyPlaces,
    SmallestCount,
)
from habitprint.mechanisms.noise import AddNoise, add_noise
from habitprint.mechanisms.pseudonyms import pseudonymise
from habitprint.mechanisms.release import Mechanism, Release, Step, View, chain, check_guarantees
from habitprint.mechanisms.top_places import KeepTopPlaces, keep_top_places

__all__ = [
    "AddNoise",
    "Check",
    "Coarsen",
    "DifferentialPrivacy",
    "Guarantee",
    "KAnonymity",
    "KeepTopPlaces",
    "LimitContribution",
    "LimitedContribution",
    "Mechanism",
    "Microaggregate",
    "MultiplesOf",
    "OnlyPlaces",
    "Release",
    "RoundTo",
    "SmallestCount",
    "Step",
    "SuppressBelow",
    "TotalsExposure",
    "View",
    "add_noise",
    "chain",
    "check_guarantees",
    "coarsen",
    "keep_top_places",
    "limit_contribution",
    "microaggregate",
    "pseudonymise",
    "read_release",
    "round_to",
    "suppress_below",
    "totals_exposure",
    "write_release",
]
