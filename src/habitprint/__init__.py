"""Tell how identifiable people are from the statistics of their habits.

>>> import habitprint as hp
>>> released, known = hp.datasets.illustration()
>>> matching = hp.match(released, known)
>>> dict(zip(matching.released, matching.known))
{'?1': 'Jill', '?2': 'John', '?3': 'Mike', '?4': 'Mary'}
"""

import importlib as _importlib
import typing as _typing

from habitprint import datasets, markov
from habitprint import display as _display
from habitprint.attacks import AttackResult
from habitprint.auditing.advice import Advice, read_advice
from habitprint.auditing.attribution import Attribution
from habitprint.auditing.audit import Audit, audit, read_audit
from habitprint.auditing.compare import Comparison, compare
from habitprint.auditing.data import Preparation
from habitprint.auditing.explanation import Explanation
from habitprint.auditing.options import AuditOptions
from habitprint.auditing.risks import Risks, measure_risks
from habitprint.auditing.unmixing import Reconstruction
from habitprint.checks import EventsCheck, Finding, check_events
from habitprint.errors import (
    GuessedColumnsWarning,
    HabitprintError,
    InputError,
    MissingColumnsError,
    NoCommonUserWarning,
    NoSharedPlaceWarning,
    WideTableWarning,
)
from habitprint.evaluation import Evaluation, evaluate
from habitprint.events import (
    Events,
    EventSpec,
    SharedHistories,
    by_hours,
    by_weekday,
    events_from_frame,
    find_shared,
    plain_ids,
    read_events,
    resolve_shared,
    until_next,
    without_ids,
    without_repeats,
)
from habitprint.forecasting import Forecast, Measured, PeopleNeeded, forecast, people_for
from habitprint.grids import Box, Grid
from habitprint.histograms import Histograms, align, read_histograms
from habitprint.losses import measure_losses
from habitprint.mappings import PlaceMapping, UnknownPlaceWarning, read_place_mapping
from habitprint.matching import Matching, MatchingPath, MatchOptions, match, matching_path, pair_margins
from habitprint.matching.rivals import Impostors, count_impostors
from habitprint.mechanisms import (
    AddNoise,
    Check,
    Coarsen,
    DifferentialPrivacy,
    EqualContributions,
    EqualTotals,
    Guarantee,
    GuaranteedRisk,
    InputFile,
    KAnonymity,
    KeepTopPlaces,
    LimitContribution,
    LimitedContribution,
    Losses,
    Mechanism,
    MergeRarePlaces,
    Microaggregate,
    MultiplesOf,
    OnlyPlaces,
    OwnerRecord,
    Pseudonymise,
    Release,
    ReleaseShares,
    RoundTo,
    SmallestCount,
    Step,
    SuppressBelow,
    TotalsExposure,
    Transformed,
    add_noise,
    chain,
    check_guarantees,
    coarsen,
    guaranteed_risk,
    keep_top_places,
    limit_contribution,
    merge_rare_places,
    microaggregate,
    pseudonymise,
    read_owner_record,
    read_release,
    release_shares,
    round_to,
    suppress_below,
    to_flags,
    totals_exposure,
    write_release,
)
from habitprint.periods import (
    AllOtherTime,
    BusiestWeeks,
    ConsecutiveWeeks,
    DateRanges,
    HalvesOfActiveWeeks,
    HalvesOfRows,
    KnownInHalves,
    OnDays,
    Split,
    split,
)
from habitprint.rates import Difference, Rate, wilson_interval
from habitprint.training import TrainedWeight, Training, train
from habitprint.training.calibration import Calibration, LikelyPairs
from habitprint.weighing import WEIGHTS, Term, Weight, read_weight, weights, write_weight

if _typing.TYPE_CHECKING:
    import altair as alt

    from habitprint.auditing.audit import Pictured as _Pictured
    from habitprint.backends.spark import Spark as Spark
    from habitprint.plots import plot_forecast, plot_path, save_chart
    from habitprint.report import render_report, write_audit, write_comparison, write_report
else:
    _LATER = {
        **dict.fromkeys(("plot_forecast", "plot_path", "save_chart"), "plots"),
        **dict.fromkeys(("render_report", "write_audit", "write_comparison", "write_report"), "report"),
        "Spark": "backends.spark",  # an extra, and so not in `__all__`
    }

    def __getattr__(name: str) -> object:
        """Import plots and the cluster backend on first use: they take a second to load, and few programs need them."""
        if name in _LATER:
            return getattr(_importlib.import_module(f"habitprint.{_LATER[name]}"), name)
        renamed = {"spark": "Spark", "rehearse": "train", "Rehearsal": "Training", "Lesson": "TrainedWeight"}
        now = f"; it is now {renamed[name]!r}" if name in renamed else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{now}")


@_display.html_of.register(_display.Shown)
def _html_of(value: _display.Shown) -> str:
    from habitprint.report.notebook import to_html  # noqa: PLC0415  (takes a second to load)

    return to_html(value)


@_display.chart_of.register(_display.Shown)
def _chart_of(value: _display.Shown, picture: "_Pictured | None" = None) -> "alt.TopLevelMixin":
    from habitprint.report.notebook import draw  # noqa: PLC0415  (the same)

    return draw(value, picture)


def __dir__() -> list[str]:
    """Return the public names, and no module that happens to be loaded."""
    return [*__all__, "Spark"]


__version__ = "0.1.0"

__all__ = [
    "WEIGHTS",
    "AddNoise",
    "Advice",
    "AllOtherTime",
    "AttackResult",
    "Attribution",
    "Audit",
    "AuditOptions",
    "Box",
    "BusiestWeeks",
    "Calibration",
    "Check",
    "Coarsen",
    "Comparison",
    "ConsecutiveWeeks",
    "DateRanges",
    "Difference",
    "DifferentialPrivacy",
    "EqualContributions",
    "EqualTotals",
    "Evaluation",
    "EventSpec",
    "Events",
    "EventsCheck",
    "Explanation",
    "Finding",
    "Forecast",
    "Grid",
    "Guarantee",
    "GuaranteedRisk",
    "GuessedColumnsWarning",
    "HabitprintError",
    "HalvesOfActiveWeeks",
    "HalvesOfRows",
    "Histograms",
    "Impostors",
    "InputError",
    "InputFile",
    "KAnonymity",
    "KeepTopPlaces",
    "KnownInHalves",
    "LikelyPairs",
    "LimitContribution",
    "LimitedContribution",
    "Losses",
    "MatchOptions",
    "Matching",
    "MatchingPath",
    "Measured",
    "Mechanism",
    "MergeRarePlaces",
    "Microaggregate",
    "MissingColumnsError",
    "MultiplesOf",
    "NoCommonUserWarning",
    "NoSharedPlaceWarning",
    "OnDays",
    "OnlyPlaces",
    "OwnerRecord",
    "PeopleNeeded",
    "PlaceMapping",
    "Preparation",
    "Pseudonymise",
    "Rate",
    "Reconstruction",
    "Release",
    "ReleaseShares",
    "Risks",
    "RoundTo",
    "SharedHistories",
    "SmallestCount",
    "Split",
    "Step",
    "SuppressBelow",
    "Term",
    "TotalsExposure",
    "TrainedWeight",
    "Training",
    "Transformed",
    "UnknownPlaceWarning",
    "Weight",
    "WideTableWarning",
    "add_noise",
    "align",
    "audit",
    "by_hours",
    "by_weekday",
    "chain",
    "check_events",
    "check_guarantees",
    "coarsen",
    "compare",
    "count_impostors",
    "datasets",
    "evaluate",
    "events_from_frame",
    "find_shared",
    "forecast",
    "guaranteed_risk",
    "keep_top_places",
    "limit_contribution",
    "markov",
    "match",
    "matching_path",
    "measure_losses",
    "measure_risks",
    "merge_rare_places",
    "microaggregate",
    "pair_margins",
    "people_for",
    "plain_ids",
    "plot_forecast",
    "plot_path",
    "pseudonymise",
    "read_advice",
    "read_audit",
    "read_events",
    "read_histograms",
    "read_owner_record",
    "read_place_mapping",
    "read_release",
    "read_weight",
    "release_shares",
    "render_report",
    "resolve_shared",
    "round_to",
    "save_chart",
    "split",
    "suppress_below",
    "to_flags",
    "totals_exposure",
    "train",
    "until_next",
    "weights",
    "wilson_interval",
    "without_ids",
    "without_repeats",
    "write_audit",
    "write_comparison",
    "write_release",
    "write_report",
    "write_weight",
]
