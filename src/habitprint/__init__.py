"""Measure how identifiable people are from the statistics of their habits.

>>> import habitprint as hp
>>> released, known = hp.datasets.illustration()
>>> matching = hp.match(released, known)
>>> dict(zip(matching.released, matching.known))
{'?1': 'Jill', '?2': 'John', '?3': 'Mike', '?4': 'Mary'}
"""

import importlib as _importlib
import inspect as _inspect
import typing as _typing

from habitprint import streams as _streams  # noqa: F401  (before any library opens a file)

# isort: split
from habitprint import datasets as datasets
from habitprint import formatting as _formatting
from habitprint import markov as markov
from habitprint.attacks import AttackResult as AttackResult
from habitprint.auditing.audit import Audit as Audit
from habitprint.auditing.audit import audit as audit
from habitprint.auditing.audit import read_audit as read_audit
from habitprint.auditing.compare import Comparison as Comparison
from habitprint.auditing.compare import compare as compare
from habitprint.auditing.explanation import Explanation as Explanation
from habitprint.auditing.options import Accountability as Accountability
from habitprint.auditing.options import AuditOptions as AuditOptions
from habitprint.auditing.preparation import Preparation as Preparation
from habitprint.auditing.reconstruction import Attribution as Attribution
from habitprint.auditing.reconstruction import Reconstruction as Reconstruction
from habitprint.auditing.reconstruction import Risks as Risks
from habitprint.auditing.reconstruction import SensitiveClaims as SensitiveClaims
from habitprint.auditing.reconstruction import measure_risks as measure_risks
from habitprint.auditing.verdict import Advice as Advice
from habitprint.auditing.verdict import read_advice as read_advice
from habitprint.checks import EventsCheck as EventsCheck
from habitprint.checks import Finding as Finding
from habitprint.checks import check_events as check_events
from habitprint.durations import LengthForecast as LengthForecast
from habitprint.durations import forecast_length as forecast_length
from habitprint.errors import GuessedColumnsWarning as GuessedColumnsWarning
from habitprint.errors import HabitprintError as HabitprintError
from habitprint.errors import InputError as InputError
from habitprint.errors import MissingColumnsError as MissingColumnsError
from habitprint.errors import NoCommonUserWarning as NoCommonUserWarning
from habitprint.errors import NoSharedPlaceWarning as NoSharedPlaceWarning
from habitprint.errors import WideTableWarning as WideTableWarning
from habitprint.evaluation import Evaluation as Evaluation
from habitprint.evaluation import evaluate as evaluate
from habitprint.events import Events as Events
from habitprint.events import EventSpec as EventSpec
from habitprint.events import SharedHistories as SharedHistories
from habitprint.events import by_hours as by_hours
from habitprint.events import by_weekday as by_weekday
from habitprint.events import events_from_frame as events_from_frame
from habitprint.events import find_shared as find_shared
from habitprint.events import plain_ids as plain_ids
from habitprint.events import read_events as read_events
from habitprint.events import resolve_shared as resolve_shared
from habitprint.events import until_next as until_next
from habitprint.events import without_ids as without_ids
from habitprint.events import without_repeats as without_repeats
from habitprint.following import Following as Following
from habitprint.following import follow as follow
from habitprint.forecasting import Forecast as Forecast
from habitprint.forecasting import Measured as Measured
from habitprint.forecasting import PeopleNeeded as PeopleNeeded
from habitprint.forecasting import forecast as forecast
from habitprint.forecasting import people_for as people_for
from habitprint.histograms import Histograms as Histograms
from habitprint.histograms import align as align
from habitprint.histograms import read_histograms as read_histograms
from habitprint.losses import measure_losses as measure_losses
from habitprint.matching import Likelihood as Likelihood
from habitprint.matching import Matching as Matching
from habitprint.matching import MatchingPath as MatchingPath
from habitprint.matching import MatchOptions as MatchOptions
from habitprint.matching import log_likelihood as log_likelihood
from habitprint.matching import match as match
from habitprint.matching import matching_path as matching_path
from habitprint.matching import pair_margins as pair_margins
from habitprint.matching.one_by_one import Impostors as Impostors
from habitprint.matching.one_by_one import count_impostors as count_impostors
from habitprint.mechanisms.exposure import GuaranteedRisk as GuaranteedRisk
from habitprint.mechanisms.exposure import TotalsExposure as TotalsExposure
from habitprint.mechanisms.exposure import guaranteed_risk as guaranteed_risk
from habitprint.mechanisms.exposure import totals_exposure as totals_exposure
from habitprint.mechanisms.files import InputFile as InputFile
from habitprint.mechanisms.files import Losses as Losses
from habitprint.mechanisms.files import OwnerRecord as OwnerRecord
from habitprint.mechanisms.files import read_owner_record as read_owner_record
from habitprint.mechanisms.files import read_release as read_release
from habitprint.mechanisms.files import write_release as write_release
from habitprint.mechanisms.groups.microaggregation import Microaggregate as Microaggregate
from habitprint.mechanisms.groups.microaggregation import microaggregate as microaggregate
from habitprint.mechanisms.guarantees import Check as Check
from habitprint.mechanisms.guarantees import DifferentialPrivacy as DifferentialPrivacy
from habitprint.mechanisms.guarantees import EqualContributions as EqualContributions
from habitprint.mechanisms.guarantees import EqualTotals as EqualTotals
from habitprint.mechanisms.guarantees import Guarantee as Guarantee
from habitprint.mechanisms.guarantees import KAnonymity as KAnonymity
from habitprint.mechanisms.guarantees import LimitedContribution as LimitedContribution
from habitprint.mechanisms.guarantees import MultiplesOf as MultiplesOf
from habitprint.mechanisms.guarantees import OnlyPlaces as OnlyPlaces
from habitprint.mechanisms.guarantees import SmallestCount as SmallestCount
from habitprint.mechanisms.noise import AddNoise as AddNoise
from habitprint.mechanisms.recipe import to_flags as to_flags
from habitprint.mechanisms.recoding import Coarsen as Coarsen
from habitprint.mechanisms.recoding import KeepTopPlaces as KeepTopPlaces
from habitprint.mechanisms.recoding import LimitContribution as LimitContribution
from habitprint.mechanisms.recoding import MergeRarePlaces as MergeRarePlaces
from habitprint.mechanisms.recoding import Pseudonymise as Pseudonymise
from habitprint.mechanisms.recoding import ReleaseShares as ReleaseShares
from habitprint.mechanisms.recoding import RoundTo as RoundTo
from habitprint.mechanisms.recoding import SuppressBelow as SuppressBelow
from habitprint.mechanisms.recoding import pseudonymise as pseudonymise
from habitprint.mechanisms.release import Mechanism as Mechanism
from habitprint.mechanisms.release import Release as Release
from habitprint.mechanisms.release import Step as Step
from habitprint.mechanisms.release import Transformed as Transformed
from habitprint.mechanisms.release import chain as chain
from habitprint.mechanisms.release import check_guarantees as check_guarantees
from habitprint.periods import AllOtherTime as AllOtherTime
from habitprint.periods import BusiestWeeks as BusiestWeeks
from habitprint.periods import ConsecutiveWeeks as ConsecutiveWeeks
from habitprint.periods import DateRanges as DateRanges
from habitprint.periods import HalvesOfActiveWeeks as HalvesOfActiveWeeks
from habitprint.periods import HalvesOfRows as HalvesOfRows
from habitprint.periods import KnownInHalves as KnownInHalves
from habitprint.periods import OnDays as OnDays
from habitprint.periods import Split as Split
from habitprint.periods import split as split
from habitprint.places import Box as Box
from habitprint.places import Grid as Grid
from habitprint.places import PlaceMapping as PlaceMapping
from habitprint.places import UnknownPlaceWarning as UnknownPlaceWarning
from habitprint.places import read_place_mapping as read_place_mapping
from habitprint.prediction import EffectiveShare as EffectiveShare
from habitprint.prediction import Prediction as Prediction
from habitprint.prediction import predict as predict
from habitprint.rates import Difference as Difference
from habitprint.rates import Rate as Rate
from habitprint.rates import wilson_interval as wilson_interval
from habitprint.singling_out import SinglingOut as SinglingOut
from habitprint.singling_out import measure_singling_out as measure_singling_out
from habitprint.training import Calibration as Calibration
from habitprint.training import LikelyPairs as LikelyPairs
from habitprint.training import TrainedWeight as TrainedWeight
from habitprint.training import Training as Training
from habitprint.training import train as train
from habitprint.weighing import WEIGHTS as WEIGHTS
from habitprint.weighing import Term as Term
from habitprint.weighing import Weight as Weight
from habitprint.weighing import read_weight as read_weight
from habitprint.weighing import weights as weights
from habitprint.weighing import write_weight as write_weight

if _typing.TYPE_CHECKING:
    import altair as alt

    from habitprint.auditing.audit import Pictured as _Pictured
    from habitprint.backends.spark import Spark as Spark
    from habitprint.plots import plot_prediction as plot_prediction
    from habitprint.plots import save_chart as save_chart
    from habitprint.report import release as release
    from habitprint.report import render_report as render_report
    from habitprint.report import write_audit as write_audit
    from habitprint.report import write_comparison as write_comparison
    from habitprint.report import write_record as write_record
    from habitprint.report import write_report as write_report
    from habitprint.report.notebook import plot_forecast as plot_forecast
    from habitprint.report.notebook import plot_lengths as plot_lengths
    from habitprint.report.notebook import plot_path as plot_path
else:
    _LATER = {
        **dict.fromkeys(("plot_forecast", "plot_lengths", "plot_path"), "report.notebook"),
        **dict.fromkeys(("plot_prediction", "save_chart"), "plots"),
        **dict.fromkeys(("release", "render_report", "write_audit", "write_comparison", "write_report"), "report"),
        "write_record": "report",
        "Spark": "backends.spark",  # an extra, and so not in `__all__`
    }
    _public = {name for name, value in globals().items() if name[0] != "_" and not _inspect.ismodule(value)}
    __all__ = [name for name in sorted(_public | set(_LATER) | {"datasets", "markov"}) if name != "Spark"]

    def __dir__() -> list[str]:
        """Return the public names."""
        return [*__all__, "Spark"]

    def __getattr__(name: str) -> object:
        """Import plots and the cluster backend on first use: they take a second to load, and few programs need them."""
        if name in _LATER:
            return getattr(_importlib.import_module(f"habitprint.{_LATER[name]}"), name)
        renamed = {"spark": "Spark", "rehearse": "train", "Rehearsal": "Training", "Lesson": "TrainedWeight"}
        name_now = renamed.get(
            name, name.title().replace("_", "")
        )  # a mechanism is its class: `RoundTo`, not `round_to`
        now = f"; it is now {name_now!r}" if name_now in globals() else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{now}")


@_formatting.html_of.register(_formatting.Shown)
def _html_of(value: _formatting.Shown) -> str:
    from habitprint.report.notebook import to_html  # noqa: PLC0415  (takes a second to load)

    return to_html(value)


@_formatting.summary_of.register(Audit)
def _summary_of(value: Audit) -> str:
    from habitprint.wording.verdict import summary  # noqa: PLC0415  (the same)

    return summary(value)


@_formatting.chart_of.register(_formatting.Shown)
def _chart_of(value: _formatting.Shown, picture: "_Pictured | None" = None) -> "alt.TopLevelMixin":
    from habitprint.report.notebook import draw  # noqa: PLC0415  (the same)

    return draw(value, picture)


__version__ = "0.1.0"
