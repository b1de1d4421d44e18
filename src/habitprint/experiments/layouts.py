"""Which function lays out which kind of experiment."""

from collections.abc import Callable, Mapping

from habitprint.experiments.curve_layouts import lines, protection, subset
from habitprint.experiments.picture_layouts import active_weeks, popularity, positions
from habitprint.experiments.rendering import Outcome, Rendered
from habitprint.experiments.table_layouts import aggregation, metrics, overlap, rows_of_points, runtime

LAYOUTS: Mapping[str, Callable[[Outcome], Rendered]] = {
    "lines": lines,
    "table": rows_of_points,
    "metrics": metrics,
    "overlap": overlap,
    "aggregation": aggregation,
    "markov": rows_of_points,
    "runtime": runtime,
    "subset": subset,
    "protection": protection,
    "popularity": popularity,
    "map": positions,
    "active-weeks": active_weeks,
}
