"""The paper's tables: ours and the paper's numbers, side by side."""

import polars as pl

from habitprint.experiments.drawing import METHOD_NAMES, WEIGHT_NAMES
from habitprint.experiments.published import PAPER_N_PLACES, PAPER_N_USERS, find_published
from habitprint.experiments.rendering import (
    DATA_NAMES,
    NOT_GIVEN,
    Outcome,
    Rendered,
    interval,
    markdown_table,
    paper_rate,
    plain_columns,
    rate,
)
from habitprint.experiments.spec import ALL_WEIGHTS


def metrics(outcome: Outcome) -> Rendered:
    """Lay out one row for each set of data, with a column for each weight."""
    rows = []
    for (part,), group in outcome.summary.group_by("part", maintain_order=True):
        first = group.row(0, named=True)
        by_weight = {row["weight"]: row for row in group.iter_rows(named=True)}
        name, data = DATA_NAMES[first["data"]], first["data"]
        accuracy = [f"**{rate(by_weight[w]['accuracy'])}**" if w in by_weight else NOT_GIVEN for w in ALL_WEIGHTS]
        spread = [interval(by_weight[w]["low"], by_weight[w]["high"]) if w in by_weight else "" for w in ALL_WEIGHTS]
        printed = [rate(by_weight[w]["paper"]) if w in by_weight else NOT_GIVEN for w in ALL_WEIGHTS]
        rows.append([name, first["source"], f"{first['n_users']:,}", f"{first['n_places']:,}", *accuracy])
        rows.append(["", "90% interval", "", "", *spread])
        if part in PAPER_N_USERS:
            rows.append(["", "paper", f"{PAPER_N_USERS[data]:,}", f"{PAPER_N_PLACES[data]:,}", *printed])
    header = ["data", "", "users (N)", "places (K)", *(WEIGHT_NAMES[weight] for weight in ALL_WEIGHTS)]
    return Rendered(plain_columns(outcome.summary), markdown_table(header, rows))


def overlap(outcome: Outcome) -> Rendered:
    """Lay out one row for each algorithm."""
    rows = [
        [
            METHOD_NAMES[row["method"]],
            f"{row['n_users']:,} + {row['n_known']:,}, {row['n_common']:,} in common",
            f"{row['size']:,}",
            f"{row['expected_correct']:,.0f}",
            f"{row['size'] - row['expected_correct']:,.0f}",
            rate(row["precision"]),
            paper_rate(row, "paper_precision"),
        ]
        for row in outcome.summary.iter_rows(named=True)
    ]
    header = ["algorithm", "users", "pairs given out", "correct", "incorrect", "precision", "paper's precision"]
    return Rendered(plain_columns(outcome.summary), markdown_table(header, rows))


def aggregation(outcome: Outcome) -> Rendered:
    """Lay out one row for each kind of place."""
    rows = [
        [
            row["part"],
            row["source"],
            f"{row['n_users']:,}",
            f"{row['n_places']:,}",
            f"{row['expected_correct']:,.0f}",
            rate(row["accuracy"]),
            interval(row["low"], row["high"]),
            paper_rate(row),
        ]
        for row in outcome.summary.iter_rows(named=True)
    ]
    header = ["places", "data", "users", "places (K)", "correct", "accuracy", "90% interval", "paper"]
    return Rendered(plain_columns(outcome.summary), markdown_table(header, rows))


def rows_of_points(outcome: Outcome) -> Rendered:
    """Lay out one row for each point: the layout of what has no other."""
    has_paper = bool(outcome.summary["paper"].is_not_null().any())
    rows = [
        [
            row["part"] + (f", {row['label']}" if row["label"] else ""),
            METHOD_NAMES[row["method"]],
            WEIGHT_NAMES[row["weight"]] if not row["method"].startswith("markov") else NOT_GIVEN,
            f"{row['n_users']:,}",
            f"{row['repeats']}",
            rate(row["accuracy"]),
            interval(row["low"], row["high"]),
            *([paper_rate(row)] if has_paper else []),
        ]
        for row in outcome.summary.iter_rows(named=True)
    ]
    header = [
        "what",
        "attack",
        "weight",
        "users",
        "draws",
        "accuracy",
        "90% interval",
        *(["paper"] if has_paper else []),
    ]
    return Rendered(plain_columns(outcome.summary), markdown_table(header, rows))


def runtime(outcome: Outcome) -> Rendered:
    """Lay out one row for each set of data: ours and the paper's seconds."""
    rows, printed = [], []
    for row in outcome.summary.iter_rows(named=True):
        paper = {}
        for measure in ("seconds_weights", "seconds_matching"):
            key = {"weight": row["weight"], "method": row["method"], "value": None, "measure": measure}
            found = find_published(outcome.experiment.name, row["part"], **key)
            paper[f"paper_{measure}"] = None if found is None else found.number
        printed.append(paper)
        cells = [*(row[name] for name in ("seconds_weights", "seconds_matching", "seconds_proof")), *paper.values()]
        rows.append(
            [
                DATA_NAMES[row["data"]],
                row["source"],
                f"{row['n_users']:,}",
                f"{row['n_places']:,}",
                *map(_seconds, cells),
            ]
        )
    ours, theirs = ["weights (s)", "matching (s)", "proof (s)"], ["paper: weights (s)", "paper: matching (s)"]
    header = ["data", "", "users", "places", *ours, *theirs]
    table = plain_columns(outcome.summary)
    schema = dict.fromkeys(("paper_seconds_weights", "paper_seconds_matching"), pl.Float64)
    note = "The paper's machine: a laptop with an i7 at 2.67 GHz and 8 GB, with MATLAB; a matching without a proof."
    return Rendered(
        pl.concat([table, pl.DataFrame(printed, schema=schema)], how="horizontal"),
        [*markdown_table(header, rows), "", note],
    )


def _seconds(seconds: float | None) -> str:
    if seconds is None:
        return NOT_GIVEN
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"  # noqa: PLR2004
