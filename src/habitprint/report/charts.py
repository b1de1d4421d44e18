"""Pictures of an audit, as Vega-Lite specs that take their colours from the style sheet of the page."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from habitprint.report.layout import HEIGHT, axis_end, room_beside, ticks_with_room
from habitprint.report.theme import CONFIG
from habitprint.report.words import Facts
from habitprint.words import percent

ROW = 46  # height of a rate with its name above
PANEL = 190  # height of a panel among others
WIDE = 8  # from the least to the largest: from here on, an axis is logarithmic


def rates_picture(rows: Sequence[Facts], target: float, description: str) -> dict[str, Any]:
    """Draw rates one below the other: a dot with its interval, chance, and the target across.

    Parameters
    ----------
    rows
        With ``label``, ``rate`` (the facts of a rate) and ``is_main`` (drawn in the accent colour).
    target
        The most that is allowed.
    description
        What the picture shows, for those who do not see it.

    Examples
    --------
    >>> rate = {"value": 0.5, "low": 0.4, "high": 0.6, "by_chance": 0.01, "n_correct": 50.0, "n": 100}
    >>> spec = rates_picture([{"label": "as it is", "rate": rate, "is_main": True}], 0.05, "one rate")
    >>> spec["width"], spec["height"]
    ('container', 46)
    """
    data = [
        _flat(row["rate"]) | {"row": number, "name": row["label"], "is_main": bool(row["is_main"])}
        | {"text": f"{percent(row['rate']['value'])}  {row['label']}"}
        for number, row in enumerate(rows)
    ]  # fmt: skip
    largest = axis_end(max(target, *(row["high"] for row in data)))
    scale = alt.Scale(domain=[0, largest], nice=False)
    axis = alt.Axis(format="%", title="share of the people identified", grid=True, tickCount=6)
    base = alt.Chart(alt.InlineData(values=data)).encode(y=alt.Y("row:O", axis=None, scale=alt.Scale(padding=0)))
    down, tips = 10, _tips("name:N")
    layers: list[alt.Chart] = [_rule_at(target, "x", scale, axis)]
    is_left = target <= largest / 2
    words = _target_words(target).encode(x=alt.X("target:Q", scale=scale, axis=axis), y=alt.value(-3))
    layers += _words(words, "words", align="left" if is_left else "right", baseline="bottom", dx=-6 if is_left else 6)
    for is_main, style in ((True, "main"), (False, "other")):
        part = base.transform_filter(alt.datum.is_main == is_main)
        layers += [
            part.mark_rule(style=style, strokeWidth=4, yOffset=down, opacity=0.45).encode(
                x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q", tooltip=tips
            ),
            part.mark_point(style=style, filled=True, size=90, yOffset=down, opacity=1).encode(
                x="value:Q", tooltip=tips
            ),
        ]
    layers += [
        base.mark_tick(style="other", height=14, thickness=2, yOffset=down).encode(x="by_chance:Q", tooltip=tips),
        *_words(base.encode(x=alt.value(0), text="text:N"), "words", align="left", dy=-8, limit=alt.expr("width")),
    ]
    return _spec(alt.layer(*layers).properties(width="container", height=ROW * len(data)), description)


def curve_picture(curve: Facts, target: float, largest: float, description: str) -> dict[str, Any]:
    """Draw how the risk depends on something: a line with a band for the interval.

    Parameters
    ----------
    curve
        With ``axis`` and ``points``.
    target
        The most that is allowed.
    largest
        The end of the scale of risks, the same for all panels.
    description
        What the picture shows, for those who do not see it.

    Examples
    --------
    >>> rate = {"value": 0.5, "low": 0.4, "high": 0.6, "by_chance": 0.01, "n_correct": 50.0, "n": 100}
    >>> points = [{"x": x, "label": f"{x} days", "rate": rate, "is_as_released": x == 7} for x in (1, 7)]
    >>> curve_picture({"axis": "days", "points": points}, 0.05, 1.0, "risk by days")["height"]
    190
    """
    data = [
        _flat(point["rate"]) | {"at": point["x"], "name": point["label"], "here": point["is_as_released"]}
        for point in curve["points"]
    ]
    places = [row["at"] for row in data]
    is_wide = min(places) > 0 and max(places) >= WIDE * min(places)
    x = alt.X(
        "at:Q",
        title=curve["axis"],
        scale=alt.Scale(type="log", nice=False, padding=10)
        if is_wide
        else alt.Scale(zero=False, nice=False, padding=10),
        axis=alt.Axis(values=ticks_with_room(places, is_log=is_wide), format="~%" if max(places) <= 1 else ",~f"),
    )
    scale, axis = alt.Scale(domain=[0, largest], nice=False), alt.Axis(format="%", title="share identified")
    base, tips = alt.Chart(alt.InlineData(values=data)).encode(x=x), _tips("name:N")
    line = base.encode(y=alt.Y("value:Q", scale=scale, axis=axis))
    layers = [
        base.mark_area(style="band").encode(y=alt.Y("low:Q", scale=scale, axis=axis), y2="high:Q"),
        _rule_at(target, "y", scale, axis),
        base.mark_line(style="chance").encode(y="by_chance:Q"),
        line.mark_line(style="main-line"),
        line.mark_point(style="main", filled=True, size=50, opacity=1).encode(tooltip=tips),
        line.transform_filter("datum.here")
        .mark_point(style="main", filled=False, strokeWidth=2, size=170, opacity=1)
        .encode(tooltip=tips),
    ]
    return _spec(alt.layer(*layers).properties(width="container", height=PANEL), description)


def frontier_picture(trials: Sequence[Facts], chosen: int | None, target: float, description: str) -> dict[str, Any]:
    """Draw every protection by its loss and risk, the frontier of the best ones, and the cheapest that passes.

    Examples
    --------
    >>> rate = {"value": 0.5, "low": 0.4, "high": 0.6, "by_chance": 0.01, "n_correct": 50.0, "n": 100}
    >>> trial = {"label": "as it is", "risk": rate, "loss": 0.0, "is_on_frontier": True, "passes": False}
    >>> frontier_picture([trial], None, 0.05, "protections")["height"]
    260
    """
    data = [
        _flat(trial["risk"])
        | {"name": trial["label"], "loss": trial["loss"], "is_best": trial["is_on_frontier"], "is_chosen": at == chosen}
        | {"passes": "yes" if trial["passes"] else "no", "is_first": at == 0, "order": at}
        for at, trial in enumerate(trials)
        if trial["loss"] is not None
    ]
    largest = axis_end(max(target, *(row["high"] for row in data)))
    scale = alt.Scale(domain=[0, largest], nice=False)
    axis = alt.Axis(format="%", title="share identified, at most")
    widest = max(1.0, *(row["loss"] for row in data))
    x = alt.X(
        "loss:Q",
        title="information loss",
        scale=alt.Scale(domain=[0, widest], nice=False),
        axis=alt.Axis(format=".1f", tickCount=6),
    )
    base = alt.Chart(alt.InlineData(values=data)).encode(x=x, y=alt.Y("high:Q", scale=scale, axis=axis))
    tips = [
        *_tips("name:N"),
        alt.Tooltip("loss:Q", title="information loss", format=".2f"),
        alt.Tooltip("passes:N", title="meets the target"),
    ]
    best = base.transform_filter("datum.is_best")
    is_high = target > 0.8 * largest  # no room above the line
    words = _target_words(target).encode(x=alt.value(0), y=alt.Y("target:Q", scale=scale, axis=axis))
    first = next((row["high"] for row in data if row["is_first"]), 0.0)
    down = room_beside(HEIGHT * (1 - first / largest), HEIGHT * (1 - target / largest), is_high=is_high)
    layers = [
        _rule_at(target, "y", scale, axis),
        *_words(words, "words", align="left", baseline="top" if is_high else "bottom", dx=6, dy=5 if is_high else -4),
        # A step: for a loss that one can bear, the least risk among the protections that were tried.
        best.mark_line(style="main-line", interpolate="step-after", opacity=0.55).encode(order="loss:Q"),
        *_words(base.transform_filter("datum.is_first").encode(text="name:N"), "words", align="left", dx=8, dy=down),
        base.transform_filter("!datum.is_best")
        .mark_point(style="other", filled=True, size=45, opacity=0.75)
        .encode(tooltip=tips),
        best.mark_point(style="main", filled=True, size=60, opacity=1).encode(tooltip=tips),
        base.transform_filter("datum.is_chosen")
        .mark_point(style="main", filled=False, strokeWidth=2, size=260, opacity=1)
        .encode(tooltip=tips),
    ]
    return _spec(alt.layer(*layers).properties(width="container", height=HEIGHT), description)


def claims_picture(claims: Sequence[Facts], target: float | None, description: str) -> dict[str, Any]:
    """Draw the precision of the surest claims against their number.

    Examples
    --------
    >>> rate = {"value": 0.5, "low": 0.4, "high": 0.6, "by_chance": 0.01, "n_correct": 50.0, "n": 100}
    >>> claims_picture([{"order": "margin", "n_claims": 100, "precision": rate}], None, "claims")["height"]
    260
    """
    orders = {"margin": "by margin", "size": "best matching of that size"}
    data = [
        _flat(claim["precision"])
        | {"size": claim["n_claims"], "order": claim["order"], "name": orders.get(claim["order"], claim["order"])}
        for claim in claims
    ]
    scale = alt.Scale(domain=[0, 1], nice=False)
    axis = alt.Axis(format="%", title="share of these claims that are right")
    x = alt.X(
        "size:Q",
        title="claims made, surest first",
        scale=alt.Scale(domain=[0, max(row["size"] for row in data)], nice=False),
        axis=alt.Axis(format=",d", tickCount=6),
    )
    base = alt.Chart(alt.InlineData(values=data)).encode(x=x)
    tips = [alt.Tooltip("size:Q", title="claims", format=",d"), *_tips("name:N", named="in order")]
    by_margin = base.transform_filter(alt.datum.order == "margin")
    by_size = base.transform_filter(alt.datum.order == "size")
    y = alt.Y("value:Q", scale=scale, axis=axis)
    layers = [
        by_margin.mark_area(style="band").encode(y=alt.Y("low:Q", scale=scale, axis=axis), y2="high:Q"),
        base.mark_line(style="chance").encode(y="max(by_chance):Q"),
        by_size.mark_line(style="other-line").encode(y=y),
        by_size.mark_point(style="other", filled=True, size=35, opacity=1).encode(y=y, tooltip=tips),
        by_margin.mark_line(style="main-line").encode(y=y),
        by_margin.mark_point(style="main", filled=True, size=50, opacity=1).encode(y=y, tooltip=tips),
    ]
    if target is not None:
        layers.insert(1, _rule_at(target, "y", scale, axis))
    return _spec(alt.layer(*layers).properties(width="container", height=HEIGHT), description)


def common_end(rates: Sequence[Facts], target: float) -> float:
    """Return where the scale of risks ends so that all rates and the target are on it.

    Examples
    --------
    >>> common_end([{"high": 0.41}], 0.05), common_end([{"high": 0.003}], 0.04)
    (0.5, 0.04)
    """
    return axis_end(max([target, *(rate["high"] for rate in rates)]))


def _flat(rate: Facts) -> dict[str, Any]:
    """Return a rate as columns, with words for a tooltip."""
    numbers = {name: rate[name] for name in ("value", "low", "high", "by_chance")}
    return numbers | {
        "of": f"{rate['n_correct']:,.1f}".removesuffix(".0") + f" of {rate['n']:,}",
        "rate": percent(rate["value"]),
        "range": f"{percent(rate['low'])} to {percent(rate['high'])}",
        "chance": percent(rate["by_chance"]),
    }


def _tips(name: str, named: str = " ") -> list[alt.Tooltip]:
    columns = (("rate", "right"), ("of", "that is"), ("range", "95% interval"), ("chance", "by chance"))
    return [alt.Tooltip(name, title=named), *(alt.Tooltip(f"{column}:N", title=title) for column, title in columns)]


def _words(base: alt.Chart, style: str, **place: Any) -> list[alt.Chart]:
    """Return words that can be read on top of lines."""
    return [base.mark_text(style=each, **place) for each in ("paper-words", style)]


def _rule_at(target: float, channel: str, scale: alt.Scale, axis: alt.Axis) -> alt.Chart:
    """Return a dashed line at the target, across the picture."""
    position: Any = (alt.X if channel == "x" else alt.Y)("target:Q", scale=scale, axis=axis)
    tips = [alt.Tooltip("percent:N", title="target: at most")]
    rule: alt.Chart = _target_data(target).mark_rule(style="target").encode(tooltip=tips, **{channel: position})
    return rule


def _target_words(target: float) -> alt.Chart:
    chart: alt.Chart = _target_data(target).encode(text="words:N")
    return chart


def _target_data(target: float) -> alt.Chart:
    data = [{"target": target, "percent": percent(target), "words": f"target {percent(target)}"}]
    return alt.Chart(alt.InlineData(values=data))


def _spec(chart: alt.LayerChart | alt.FacetChart, description: str) -> dict[str, Any]:
    """Return the chart as a spec without colours and without addresses."""
    spec: dict[str, Any] = chart.to_dict()
    del spec["$schema"]
    return spec | {"config": CONFIG, "description": description, "autosize": {"type": "fit-x", "contains": "padding"}}
