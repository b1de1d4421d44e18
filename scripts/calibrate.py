"""Fit the parameters of the synthetic twins to the paper's figures, and print what they give.

    python scripts/calibrate.py calls --steps 4     # start at the defaults; some minutes a step
    python scripts/calibrate.py web --steps 6       # a minute or two a step
    python scripts/calibrate.py calls --steps 0 --seeds 0 1 2    # only measure

A step of the search (Gauss–Newton with damping): measure all figures at full size; find by small changes, on a smaller
twin, how each figure answers to each parameter; move the parameters to where the loss should be least; keep the move if
it is less. The loss of a figure is the square of error / tolerance, and grows only linearly beyond the tolerance
(Huber), so that a figure that cannot be met does not drag the others away.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl

import habitprint as hp
from habitprint.datasets.synthetic import CALLS_START, WEB_START, CallsModel, WebModel, calls_twin, web_twin

WEIGHTS = ("jensen-shannon", "l1", "cosine", "dot")
Figures = dict[str, float]


@dataclass(frozen=True)
class Target:
    """A published figure, and its allowed distance."""

    value: float
    tolerance: float
    at_least: bool = False

    def error(self, figure: float) -> float:
        """Return the error in tolerances: within −1 and 1 is near enough."""
        error = (figure - self.value) / self.tolerance
        return min(error, 0.0) if self.at_least else error


CALLS = {
    "active in both weeks": Target(46_986, 470),
    "antennas used": Target(1211, 12.1),
    "calls per user": Target(101.2, 3.0),
    "antennas per user": Target(6.7, 0.2),
    "active on both Mondays": Target(30_937, 1547),
    "calls on 10 April": Target(1.9, 0.095),
    "calls per day": Target(7.2, 0.36),
    "jensen-shannon": Target(21.1, 2.0),
    "l1": Target(18.6, 2.0),
    "cosine": Target(16.4, 2.0),
    "dot": Target(13.3, 2.0),
    "at 1,000 users": Target(78.0, 5.0),
    "overlap, A2": Target(36.0, 4.0),
    "overlap, A1": Target(33.0, 4.0),
    "sub-prefectures": Target(4.4, 1.5),
}
WEB = {
    "users": Target(121, 3.6),
    "sites": Target(83_219, 2497),
    "sites of one user": Target(77_935, 2338),
    "jensen-shannon": Target(90.0, 4.0),
    "l1": Target(81.1, 4.0),
    "cosine": Target(72.7, 4.0),
    "dot": Target(64.4, 4.0),
    "top 60 sites": Target(55.0, 4.0, at_least=True),  # published: above 50
}


def weekly(events: pl.DataFrame, middle: datetime) -> pl.DataFrame:
    """Return ``user, place, is_second, count`` of the users active in both weeks."""
    counts = events.group_by("user", "place", (pl.col("time") >= middle).alias("is_second")).len("count")
    return counts.filter(pl.col("is_second").n_unique().over("user") == 2)  # noqa: PLR2004


def histograms(counts: pl.DataFrame) -> tuple[hp.Histograms, hp.Histograms]:
    """Return the first week, released, and the second, known."""
    first, second = (
        hp.Histograms.from_table(counts.filter(pl.col("is_second") == week).select("user", "place", "count"))
        for week in (False, True)
    )
    return first, second


def percent(released: hp.Histograms, known: hp.Histograms, **options: Any) -> float:
    """Return correct / common users, or correct / pairs where users are not the same on both sides."""
    result = hp.evaluate(hp.match(released, known, **options), released, known)
    is_overlap = result.n_common < released.n_users
    rate = result.precision if is_overlap else result.accuracy
    return 100 * (rate or 0.0)


def calls_figures(n_users: int, seed: int, model: CallsModel) -> Figures:
    """Measure every figure of the synthetic calls."""
    events = calls_twin(n_users, seed=seed, model=model).events
    middle = CALLS_START + timedelta(days=7)
    counts = weekly(events, middle)
    users = counts["user"].unique().sort().to_numpy()
    theirs = events.filter(pl.col("user").is_in(users))
    day = pl.col("time").dt.date()
    mondays = events.filter(day.is_in([date(2012, 4, 9), date(2012, 4, 16)]))
    figures: Figures = {
        "active in both weeks": len(users),
        "antennas used": counts["place"].n_unique(),
        "calls per user": theirs.height / len(users),
        "antennas per user": counts.select("user", "place").unique().height / len(users),
        "active on both Mondays": mondays.group_by("user").agg(day.n_unique()).filter(pl.col("time") == 2).height,  # noqa: PLR2004
        "calls on 10 April": theirs.filter(day == date(2012, 4, 10)).height / len(users),
        "calls per day": theirs.height / len(users) / 14,
    }
    released, known = histograms(counts)
    order = np.random.default_rng(seed).permutation(users)
    for weight in WEIGHTS:
        figures[weight] = percent(released, known, weight=weight)
    samples = [order[k : k + 1000] for k in range(0, min(len(order), 10_000) - 999, 1000)]
    figures["at 1,000 users"] = np.mean(
        [percent(released.select(users=some), known.select(users=some)) for some in samples]
    ).item()
    pairs = [
        (released.select(users=some[:5000]), known.select(users=some[1250:]))
        for some in (order[k : k + 6250] for k in range(0, min(len(order), 18_750) - 6249, 6250))
    ]
    figures["overlap, A2"] = np.mean([percent(*pair, size=3750) for pair in pairs]).item()
    figures["overlap, A1"] = np.mean([percent(*pair) for pair in pairs]).item()
    # Another sample of as many people, as in the paper: other customers of the same country.
    other = calls_twin(n_users, seed=seed + 1000, model=model)
    parts = other.events.join(other.antennas.select("place", "sub_prefecture"), on="place", maintain_order="left")
    parts = parts.select("user", "time", place="sub_prefecture")
    figures["sub-prefectures"] = percent(*histograms(weekly(parts, middle)))
    return figures


def web_figures(n_users: int, seed: int, model: WebModel) -> Figures:
    """Measure every figure of the synthetic web histories."""
    events = web_twin(n_users, seed=seed, model=model).events
    counts = weekly(events, WEB_START + timedelta(days=7))
    sites = counts.group_by("place").agg(pl.col("user").n_unique(), pl.col("count").sum())
    figures: Figures = {
        "users": counts["user"].n_unique(),
        "sites": sites.height,
        "sites of one user": sites.filter(pl.col("user") == 1).height,
    }
    released, known = histograms(counts)
    for weight in WEIGHTS:
        figures[weight] = percent(released, known, weight=weight)
    top = sites.sort(["count", "place"], descending=[True, False])["place"]
    of_top = counts.filter(pl.col("place").is_in(top.head(5).to_list()))
    fans = of_top.filter(pl.col("is_second").n_unique().over("user") == 2)["user"].unique().to_list()  # noqa: PLR2004
    figures["users of the top 5 sites"] = len(fans)
    kept = counts.filter(pl.col("place").is_in(top.head(60).to_list()), pl.col("user").is_in(fans))
    figures["top 60 sites"] = percent(*histograms(kept))
    return figures


@dataclass(frozen=True)
class Twin:
    """A synthetic twin as the search needs it."""

    figures: Callable[[int, int, Any], Figures]
    targets: dict[str, Target]
    model: Any
    n_users: int
    n_small: int
    seeds: tuple[int, ...]  # averaged over
    free: tuple[str, ...]  # parameters; "country.…" belong to the country


TWINS = {
    "calls": Twin(
        calls_figures, CALLS, CallsModel(), 50_000, 13_400, (0,),
        (
            "calls_per_day", "rate_spread", "burst", "quiet_day", "n_others", "mobility_spread", "home", "reach_km",
            "far", "hand_over", "drift", "home_drift", "one_offs", "country.popularity_spread", "country.capital_share",
        ),
    ),
    "web": Twin(
        web_figures, WEB, WebModel(), 122, 122, (0, 1, 2, 3, 4, 5),
        (
            "sessions", "sessions_spread", "pages", "pages_spread", "habit", "n_favourites", "fall", "drift", "taste",
            "popularity", "head", "n_sites",
        ),
    ),
}  # fmt: skip


def get(model: Any, name: str) -> float:
    """Return a parameter of a model or of its country."""
    for part in name.split("."):
        model = getattr(model, part)
    return float(model)


def put(model: Any, values: dict[str, float]) -> Any:
    """Return the model with other parameters, rounded to three digits so that they can be written down."""
    inner = {name.removeprefix("country."): value for name, value in values.items() if name.startswith("country.")}
    outer = {name: value for name, value in values.items() if not name.startswith("country.")}
    if inner:
        outer["country"] = put(model.country, inner)
    whole = {field.name for field in fields(model) if isinstance(getattr(model, field.name), int)}
    rounded = {
        name: value if name == "country" else round(value) if name in whole else float(f"{value:.3g}")
        for name, value in outer.items()
    }
    return replace(model, **rounded)


def measure(twin: Twin, n_users: int, model: Any, seeds: tuple[int, ...]) -> Figures:
    """Return the figures, averaged over seeds."""
    each = [twin.figures(n_users, seed, model) for seed in seeds]
    return {name: float(np.mean([figures[name] for figures in each])) for name in each[0]}


def loss(twin: Twin, figures: Figures) -> float:
    """Return the sum over figures of the square of error / tolerance, linear beyond one."""
    errors = (abs(target.error(figures[name])) for name, target in twin.targets.items())
    return sum(error**2 if error <= 1 else 2 * error - 1 for error in errors)


def slopes(twin: Twin, model: Any, at_full: Figures, step: float) -> np.ndarray:
    """Return how the errors answer to the logarithm of each parameter: figures × parameters.

    Measured on small twins, and scaled to full size: relative changes are about the same at both sizes.
    """
    base = measure(twin, twin.n_small, model, twin.seeds)
    columns = []
    for name in twin.free:
        near = put(model, {name: get(model, name) * np.exp(step)})
        moved = measure(twin, twin.n_small, near, twin.seeds)
        change = np.log(get(near, name) / get(model, name))
        columns.append([
            np.log(max(moved[figure], 0.01) / max(base[figure], 0.01)) / change * at_full[figure] / target.tolerance
            for figure, target in twin.targets.items()
        ])  # fmt: skip
    return np.array(columns).T


def search(twin: Twin, n_steps: int) -> Any:
    """Return the model with the least loss found."""
    model, figures = twin.model, measure(twin, twin.n_users, twin.model, twin.seeds)
    show(twin, figures)
    damping = 3.0
    for number in range(n_steps):
        errors = np.array([target.error(figures[name]) for name, target in twin.targets.items()])
        emphasis = 1 / np.sqrt(np.maximum(1, abs(errors)))
        slope = slopes(twin, model, figures, 0.15) * emphasis[:, None]
        errors *= emphasis
        for _ in range(3):
            move = np.linalg.solve(slope.T @ slope + damping * np.eye(len(twin.free)), -slope.T @ errors).clip(
                -0.5, 0.5
            )
            moved = put(model, {name: get(model, name) * np.exp(by) for name, by in zip(twin.free, move, strict=True)})
            found = measure(twin, twin.n_users, moved, twin.seeds)
            is_better = loss(twin, found) < loss(twin, figures)
            print(f"step {number}, damping {damping:g}: loss {loss(twin, found):.2f}", flush=True)
            damping = damping / 3 if is_better else damping * 5
            if is_better:
                model, figures = moved, found
                print(model)
                show(twin, figures)
                break
    return model


def show(twin: Twin, figures: Figures) -> None:
    """Print published and measured figures, and which are near enough."""
    for name, figure in figures.items():
        target = twin.targets.get(name)
        note = (
            "" if target is None else f"published {target.value:10,.1f}  error / tolerance {target.error(figure):6.2f}"
        )
        print(f"  {name:26} {figure:10,.2f}  {note}")
    print(f"  loss {loss(twin, figures):.2f}", flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("twin", choices=list(TWINS))
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1])
    chosen = parser.parse_args()
    twin = TWINS[chosen.twin]
    model = search(twin, chosen.steps) if chosen.steps else twin.model
    for seed in chosen.seeds:
        print(f"seed {seed}")
        show(twin, twin.figures(twin.n_users, seed, model))


if __name__ == "__main__":
    main()
