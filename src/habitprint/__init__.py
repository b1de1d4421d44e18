"""Tell how identifiable people are from the statistics of their habits.

>>> import habitprint as hp
>>> released, known = hp.datasets.illustration()
>>> matching = hp.match(released, known)
>>> dict(zip(matching.released, matching.known))
{'?1': 'Jill', '?2': 'John', '?3': 'Mike', '?4': 'Mary'}
"""

from habitprint import datasets
from habitprint.charts import plot_path, save_chart
from habitprint.errors import HabitprintError, InputError, NoCommonUserWarning, NoSharedPlaceWarning
from habitprint.evaluation import Evaluation, evaluate, wilson_interval
from habitprint.histograms import Histograms, align, read_histograms
from habitprint.matching import Matching, MatchingPath, match, matching_path
from habitprint.weights import WEIGHTS, Weight, weights

__version__ = "0.1.0"

__all__ = [
    "WEIGHTS",
    "Evaluation",
    "HabitprintError",
    "Histograms",
    "InputError",
    "Matching",
    "MatchingPath",
    "NoCommonUserWarning",
    "NoSharedPlaceWarning",
    "Weight",
    "align",
    "datasets",
    "evaluate",
    "match",
    "matching_path",
    "plot_path",
    "read_histograms",
    "save_chart",
    "weights",
    "wilson_interval",
]
