"""From the results of single cells to one row per point of a curve, with its interval and the paper's number."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from habitprint.experiments.claims import mean_interval
from habitprint.experiments.measure import Result
from habitprint.experiments.published import find_published
from habitprint.experiments.sources import Source
from habitprint.experiments.spec import ALL, ONE_BY_ONE, Cell, DataName, Experiment, Part

SECONDS = ("seconds_weights", "seconds_matching", "seconds_proof")
MEANS = ("expected_correct", "precision", "cluster_accuracy", "accuracy_random", "information_loss", "groups_share")
PLAIN = ("n_users", "n_known", "n_places", "n_common", "size", "n_groups", "n_alike", *SECONDS)
SCHEMA: dict[str, Any] = {
    "part": pl.String,
    "data": pl.String,
    "source": pl.String,
    "varies": pl.String,
    "value": pl.Float64,
    "label": pl.String,
    "is_all": pl.Boolean,
    "weight": pl.String,
    "method": pl.String,
    "repeat": pl.Int64,
    **dict.fromkeys(("n_users", "n_known", "n_places", "n_common", "size", "n_groups", "n_alike"), pl.Int64),
    **dict.fromkeys((*SECONDS, "accuracy", *MEANS), pl.Float64),
}


def collect_runs(
    experiment: Experiment, results: Mapping[Cell, Result], sources: Mapping[DataName, Source]
) -> pl.DataFrame:
    """Return one row for each cell of an experiment that has a result.

    Examples
    --------
    >>> collect_runs(Experiment(name="mine", title="", parts=(Part(data="web"),)), {}, {}).height
    0
    """
    rows = [
        _row(part, cell, results[cell], sources[cell.data])
        for part in experiment.parts
        for cell in part.cells()
        if cell in results and not {"rows", "left_out"} & results[cell].keys()
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


def _row(part: Part, cell: Cell, result: Result, source: Source) -> dict[str, Any]:
    n_groups = result.get("n_groups")
    given = None if part.varies is None else getattr(cell.setting, part.varies)
    varies = part.varies
    value = None if varies is None else result.get("value")
    if varies is None and cell.setting.n_released == 1:
        varies, value, given = "n_released", 1.0, 1
    return {name: result.get(name) for name in SCHEMA} | {
        "part": part.label,
        "data": cell.data,
        "source": source.kind,
        "varies": varies,
        "value": value,
        "label": _label(varies, value, given),
        "is_all": given == ALL,
        "weight": cell.weight,
        "method": cell.method,
        "repeat": cell.repeat,
        "groups_share": None if n_groups is None else n_groups / result["n_users"],
    }


def _label(varies: str | None, value: float | None, given: object) -> str:
    if varies is None or value is None:
        return ""
    if varies == "last_day":
        last = str(given).title()[:3]
        return "Mon" if last == "Mon" else f"Mon–{last}"
    unit = {"side": " m"}.get(varies, "")
    sign = {"k": "k = "}.get(varies, "")
    return f"{sign}{value:,.0f}{unit}" if value == int(value) else f"{sign}{value:g}{unit}"


def summarise(experiment: Experiment, runs: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each part, value, method and weight: means over repeats, 90% interval, paper's number.

    Examples
    --------
    >>> experiment = Experiment(name="mine", title="", parts=(Part(data="web"),))
    >>> summarise(experiment, pl.DataFrame(schema=SCHEMA)).is_empty()
    True
    """
    by = ("part", "data", "source", "varies", "value", "label", "is_all", "weight", "method")
    rows = []
    for key, group in runs.group_by(*by, maintain_order=True):
        row: dict[str, Any] = dict(zip(by, key, strict=True))
        row["repeats"] = group.height
        row |= {name: group[name][0] for name in PLAIN}
        row |= {name: group[name].mean() for name in MEANS}
        accuracy = group["accuracy"].drop_nulls().to_list()
        n_common = group["n_common"][0]
        row["accuracy"], row["low"], row["high"] = mean_interval(accuracy, n_common) if accuracy else (None, None, None)
        is_whole = row["varies"] in {"n_users", "n_released"} and (row["is_all"] or row["method"] == ONE_BY_ONE)
        value = None if is_whole else row["value"]
        for measure, column in (("accuracy", "paper"), ("precision", "paper_precision")):
            found = find_published(
                experiment.name, row["part"], weight=row["weight"], method=row["method"], value=value, measure=measure
            )
            row[column] = None if found is None else found.number
            if measure == "accuracy" or found is not None:
                row["paper_note"] = "" if found is None else found.note
        rows.append(row)
    names = (*by, "repeats", *PLAIN, "accuracy", "low", "high", *MEANS, "paper", "paper_precision", "paper_note")
    kinds = {name: SCHEMA.get(name, pl.Float64) for name in names} | {"repeats": pl.Int64, "paper_note": pl.String}
    return pl.DataFrame(rows, schema=kinds).select(names)
