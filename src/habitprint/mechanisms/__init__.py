"""Mechanisms that protect a release, their guarantees, and the information that the release still reveals."""

from habitprint.mechanisms.counts import (
    LimitContribution,
    ReleaseShares,
    RoundTo,
    SuppressBelow,
    limit_contribution,
    release_shares,
    round_to,
    suppress_below,
)
from habitprint.mechanisms.exposure import GuaranteedRisk, TotalsExposure, guaranteed_risk, totals_exposure
from habitprint.mechanisms.fewer_places import (
    Coarsen,
    KeepTopPlaces,
    MergeRarePlaces,
    coarsen,
    keep_top_places,
    merge_rare_places,
)
from habitprint.mechanisms.files import OwnerRecord, read_owner_record, read_release, write_release
from habitprint.mechanisms.groups.microaggregation import Microaggregate, microaggregate
from habitprint.mechanisms.guarantees import (
    Check,
    DifferentialPrivacy,
    EqualContributions,
    EqualTotals,
    Guarantee,
    KAnonymity,
    LimitedContribution,
    MultiplesOf,
    OnlyPlaces,
    SmallestCount,
)
from habitprint.mechanisms.noise import AddNoise, add_noise
from habitprint.mechanisms.owner import InputFile, Losses
from habitprint.mechanisms.pseudonyms import Pseudonymise, pseudonymise
from habitprint.mechanisms.recipe import Recipe, from_flags, to_flags, with_seed
from habitprint.mechanisms.release import Mechanism, Release, Step, Transformed, chain, check_guarantees

__all__ = [
    "AddNoise",
    "Check",
    "Coarsen",
    "DifferentialPrivacy",
    "EqualContributions",
    "EqualTotals",
    "Guarantee",
    "GuaranteedRisk",
    "InputFile",
    "KAnonymity",
    "KeepTopPlaces",
    "LimitContribution",
    "LimitedContribution",
    "Losses",
    "Mechanism",
    "MergeRarePlaces",
    "Microaggregate",
    "MultiplesOf",
    "OnlyPlaces",
    "OwnerRecord",
    "Pseudonymise",
    "Recipe",
    "Release",
    "ReleaseShares",
    "RoundTo",
    "SmallestCount",
    "Step",
    "SuppressBelow",
    "TotalsExposure",
    "Transformed",
    "add_noise",
    "chain",
    "check_guarantees",
    "coarsen",
    "from_flags",
    "guaranteed_risk",
    "keep_top_places",
    "limit_contribution",
    "merge_rare_places",
    "microaggregate",
    "pseudonymise",
    "read_owner_record",
    "read_release",
    "release_shares",
    "round_to",
    "suppress_below",
    "to_flags",
    "totals_exposure",
    "with_seed",
    "write_release",
]
