"""Draw what groups cost and what they hide, by each method of grouping: docs/frontier.svg (some minutes).

Against the loss: the average risk that is guaranteed, and the risk that the stronger of two attacks reaches (measured).
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import altair as alt
import polars as pl

import habitprint as hp
from habitprint.attacks import Scenario, run_screening, run_suite, strongest_of
from habitprint.plots import save_chart

TARGET = Path(__file__).parent.parent / "docs" / "frontier.svg"
SIZES = (3, 5, 10, 20, 50)
METHODS: Mapping[str, Callable[[int], hp.Mechanism]] = {
    "MDAV": lambda k: hp.Microaggregate(k, method="mdav"),
    "successive group selection": lambda k: hp.Microaggregate(k, method="successive"),
    "best": hp.Microaggregate,
    "at least k/2, k on average": lambda k: hp.Microaggregate((k + 1) // 2, mean_k=k),
}


def tables() -> dict[str, Scenario]:
    """Return the data: a synthetic twin of the calls, and real purchases by category."""
    twin = hp.datasets.calls_twin(2_000)
    calls = hp.split(hp.events_from_frame(twin.events), hp.HalvesOfRows(), users="all")
    bought = hp.split(hp.datasets.complete_journey("category"), hp.BusiestWeeks(), users="all")
    return {
        f"{name}, {parts.released.n_users:,} people": Scenario(parts.released, parts.known, "same-id")
        for name, parts in (("synthetic twin of the calls", calls), ("purchases by category", bought))
    }


def points() -> Iterator[dict[str, object]]:
    """Yield a point for each table, method, size of groups, and kind of risk."""
    for name, both in tables().items():
        ways = run_suite(both).screening
        for method, groups in METHODS.items():
            for k in SIZES:
                release, protected = both.protected_by(groups(k))
                risks = {
                    "guaranteed": hp.GuaranteedRisk.of(protected.anonymity_sets).average,
                    "measured": strongest_of(run_screening(protected, ways).outcomes).rate.value,
                }
                loss = hp.measure_losses(both.released, release).information_loss
                print(f"{name}: {method}, k = {k}: loss {loss:.3f}, {risks}", flush=True)
                for kind, risk in risks.items():
                    yield {"data": name, "method": method, "k": k, "loss": loss, "kind": kind, "risk": risk}


def main() -> None:
    """Measure, and draw."""
    data = pl.DataFrame(list(points()))
    lines = (
        alt.Chart(data)
        .mark_line(point=True)
        .encode(
            x=alt.X("loss:Q", title="information loss", scale=alt.Scale(zero=False)),
            y=alt.Y("risk:Q", title="share identified", scale=alt.Scale(type="log"), axis=alt.Axis(format="%")),
            color=alt.Color("method:N", title="groups of k", sort=list(METHODS), legend=alt.Legend(labelLimit=300)),
            order="k:Q",
        )
        .properties(width=260, height=200)
    )
    chart = lines.facet(
        row=alt.Row("kind:N", title=None, sort=["guaranteed", "measured"]), column=alt.Column("data:N", title=None)
    )
    save_chart(chart, TARGET, overwrite=True)
    print("written to", TARGET)


if __name__ == "__main__":
    main()
