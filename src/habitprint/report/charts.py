"""Pictures of an audit, as Vega-Lite specs that take their colours from the style sheet of the page."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
from scipy.spatial import ConvexHull

from habitprint.auditing.curves import Curve
from habitprint.auditing.explanation import Explanation
from habitprint.auditing.people import Claims, Order, PlaceMap, kilometres
from habitprint.auditing.trials import Protections
from habitprint.forecasting import FanPoint, Forecast
from habitprint.formatting import at_most, counted, number, percent
from habitprint.losses import SCALES
from habitprint.rates import Rate
from habitprint.training.calibration import Reliability
from habitprint.wording.page import Picture
from habitprint.wording.people import about_shelter

Spec = dict[str, Any]  # Vega-Lite's: JSON for the page

LINE = 16  # height of a line of a name
DOT = 28  # height of a rate below its name, with room to the next name
NARROW = 290  # pixels of a picture on a phone
LETTER = 7  # pixels of a letter, rather more than less
PANEL = 190  # height of a panel among others
MILLION = 1_000_000  # from here on, a number on an axis is written short
WIDE = 8  # from the least to the largest: from here on, an axis is logarithmic
HEIGHT = 260
MAP = 360  # height of a map
FAINTEST = 0.12  # opacity of a place without evidence
POINTS = 16  # radii of a place without a size, in the bar of a map
N_CORNERS = 16  # of a circle
BAR = 24  # height of a row of bars
TITLE = 480  # pixels of the title of an axis below bars
WHO = {True: "the same person", False: "another person"}
HIGH = 0.8  # of the scale: no room above a line
LABEL = 0.15  # of a panel's width, for the label of a tick
IN_ORDER: dict[Order, str] = {"margin": "by margin", "size": "best matching of that size"}
FONT = '"Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif'
SIZE = 13  # of letters
# Names of styles, not colours: `var(…)` is resolved by the browser, in light, in dark and on paper.
STYLES = {
    "main": {"color": "var(--accent)"},
    "other": {"color": "var(--quiet)"},
    "main-line": {"color": "var(--accent)", "strokeWidth": 2},
    "other-line": {"color": "var(--quiet)", "strokeWidth": 1.5, "strokeDash": [5, 3]},
    "band": {"color": "var(--accent)", "fillOpacity": 0.16},
    "fan": {"color": "var(--accent)", "fillOpacity": 0.09},
    "ahead-line": {"color": "var(--accent)", "strokeWidth": 2, "strokeDash": [2, 3]},
    "target": {"color": "var(--ink)", "strokeDash": [6, 4], "strokeWidth": 1.5},
    "chance": {"color": "var(--quiet)", "strokeDash": [1, 3], "strokeWidth": 1.5},
    "ground": {"color": "var(--wash)", "stroke": "var(--rule)", "strokeWidth": 1},
    "words": {"color": "var(--ink)", "font": FONT, "fontSize": SIZE},
    # Behind words that may stand on a line: the same words, as wide as a brush, in the colour of the paper.
    "paper-words": {"color": "var(--paper)", "stroke": "var(--paper)", "strokeWidth": 5, "strokeJoin": "round"}
    | {"font": FONT, "fontSize": SIZE},
}
CONFIG: Spec = {
    "background": "transparent",
    "font": FONT,
    "view": {"stroke": None},
    "mark": {"aria": False},  # a picture has one description, and a table with its numbers: dots need not be read out
    "style": STYLES,
    "axis": {
        "labelColor": "var(--quiet)",
        "titleColor": "var(--quiet)",
        "titleFontWeight": "normal",
        "titleFontSize": SIZE,
        "labelFontSize": SIZE,
        "gridColor": "var(--rule)",
        "tickColor": "var(--rule)",
        "domainColor": "var(--quiet)",
        "tickSize": 4,
        "labelFlush": False,
        "titlePadding": 8,
        "titleLimit": 220,
    },
    # The title of the vertical axis stands above it, to be read without turning one's head.
    "axisY": {
        "domain": False,
        "ticks": False,
        "titleAngle": 0,
        "titleAlign": "left",
        "titleAnchor": "start",
        "titleBaseline": "bottom",
        "titleX": 0,
        "titleY": -8,
        "tickCount": 5,
    },
    "axisX": {"grid": False},
}


@dataclass(frozen=True)
class Bar:
    """A rate to be drawn, its name, and whether it stands out."""

    label: str
    rate: Rate
    is_main: bool = True


def rates_picture(bars: Sequence[Bar], target: float, description: str) -> Spec:
    """Draw rates one below the other: a dot with its interval, chance, and the target across.

    Parameters
    ----------
    bars
        What is drawn.
    target
        The most that is allowed.
    description
        What the picture shows, for those who do not see it.

    Examples
    --------
    >>> spec = rates_picture([Bar("unprotected", Rate.of(50, 100, by_chance=0.01))], 0.05, "one rate")
    >>> spec["width"], spec["height"]
    ('container', 44)
    """
    largest = axis_end(max(target, *(bar.rate.high for bar in bars)))
    data, height = [], 0
    for bar in bars:
        lines = lines_at(bar.rate.value / largest, f"{percent(bar.rate.value)} {bar.label}")
        drawn = {"name": bar.label, "is_main": bar.is_main, "text": "\n".join(lines)}
        places = {"top": height, "y": height + LINE * len(lines) + 10, "is_left": bar.rate.value <= largest / 2}
        data.append(_flat(bar.rate) | drawn | places)
        height += LINE * len(lines) + DOT
    scale = alt.Scale(domain=[0, largest], nice=False)
    axis = alt.Axis(format="%", title="share of people re-identified", grid=True, tickCount=6)
    down = alt.Scale(domain=[0, height], range=[0, height], nice=False)
    rows = alt.Chart(alt.InlineData(values=data))
    base = rows.encode(y=alt.Y("y:Q", axis=None, scale=down))
    tips = _tips("name:N")
    layers: list[alt.Chart] = [_rule_at(target, "x", scale, axis)]
    is_left = target <= largest / 2
    words = _target_words(target).encode(x=alt.X("target:Q", scale=scale, axis=axis), y=alt.value(-3))
    layers += _words(words, "words", align="left" if is_left else "right", baseline="bottom", dx=-6 if is_left else 6)
    for is_main, style in ((True, "main"), (False, "other")):
        part = base.transform_filter(alt.datum.is_main == is_main)
        layers += [
            part.mark_rule(style=style, strokeWidth=4, opacity=0.45).encode(
                x=alt.X("low:Q", scale=scale, axis=axis), x2="high:Q", tooltip=tips
            ),
            part.mark_point(style=style, filled=True, size=90, opacity=1).encode(x="value:Q", tooltip=tips),
        ]
    layers += [
        base.mark_tick(style="other", height=14, thickness=2, orient="vertical").encode(x="by_chance:Q", tooltip=tips),
    ]
    for is_left in (True, False):  # a name starts or ends at its dot, on the side that has room
        named = rows.transform_filter(alt.datum.is_left == is_left).encode(
            x=alt.X("value:Q", scale=scale, axis=axis), y=alt.Y("top:Q", axis=None, scale=down), text="text:N"
        )
        side = {"align": "left", "dx": -6} if is_left else {"align": "right", "dx": 6}
        layers += _words(named, "words", baseline="top", lineBreak="\n", lineHeight=LINE, **side)
    return _spec(alt.layer(*layers).properties(width="container", height=height), description)


def lines_at(place: float, name: str) -> list[str]:
    """Return a name in lines that fit beside a dot on a phone, on the side that has more room.

    Parameters
    ----------
    place
        Where the dot is, from 0 at the left to 1 at the right.
    name
        Of the dot.

    Examples
    --------
    >>> lines_at(0.5, "81% unprotected"), lines_at(0.5, "4% with “groups of 24 people”")
    (['81% unprotected'], ['4% with “groups of', '24 people”'])
    """
    return textwrap.wrap(name, int(NARROW * max(place, 1 - place) / LETTER))


def curve_picture(
    curve: Curve, target: float | None, largest: float, description: str, forecast: Forecast | None = None
) -> Spec:
    """Draw how the risk depends on something: a line with a band for the interval, and a fan for what is forecast.

    Parameters
    ----------
    curve
        What is drawn.
    target
        The most that is allowed; None to draw no line.
    largest
        The end of the scale of risks, the same for all panels.
    description
        What the picture shows, for those who do not see it.
    forecast
        What is to be expected beyond the last point; None if nothing is.

    Examples
    --------
    >>> from habitprint.auditing.curves import Point
    >>> points = tuple(Point(days, f"{days} days", Rate.of(9 * days, 100, 0.01), 100) for days in (1, 7))
    >>> curve = Curve("duration", "days in each period", "", points)
    >>> curve_picture(curve, 0.05, 1.0, "risk by days")["layer"][0]["encoding"]["x"]["title"]
    'days in each period'
    """
    data = [
        _flat(point.rate) | {"at": point.x, "name": point.label, "here": point.is_as_released} for point in curve.points
    ]
    fan = [] if forecast is None else [point for point in forecast.fan if point.n >= forecast.n_measured]
    places = sorted({point.x for point in curve.points} | {float(point.n) for point in fan[-1:]})
    is_wide = min(places) > 0 and max(places) >= WIDE * min(places)
    x = alt.X(
        "at:Q",
        title=curve.axis,
        scale=alt.Scale(type="log", nice=False, padding=10)
        if is_wide
        else alt.Scale(zero=False, nice=False, padding=10),
        axis=alt.Axis(values=ticks_with_room(places, is_log=is_wide), format=_axis_format(max(places))),
    )
    scale, axis = alt.Scale(domain=[0, largest], nice=False), alt.Axis(format="%", title="share re-identified")
    base, tips = alt.Chart(alt.InlineData(values=data)).encode(x=x), _tips("name:N")
    line = base.encode(y=alt.Y("value:Q", scale=scale, axis=axis))
    layers = [
        base.mark_area(style="band").encode(y=alt.Y("low:Q", scale=scale, axis=axis), y2="high:Q"),
        *([] if target is None else [_rule_at(target, "y", scale, axis)]),
        base.mark_line(style="chance").encode(y="by_chance:Q"),
        line.mark_line(style="main-line"),
        line.mark_point(style="main", filled=True, size=50, opacity=1).encode(tooltip=tips),
    ]
    if any(point.is_as_released for point in curve.points):  # of nothing, the extent would be infinite
        ring = line.transform_filter("datum.here").mark_point(
            style="main", filled=False, strokeWidth=2, size=170, opacity=1
        )
        layers.append(ring.encode(tooltip=tips))
    if len(fan) > 1:
        ahead = alt.Chart(alt.InlineData(values=[_flat_ahead(point) for point in fan])).encode(x=x)
        layers[1:1] = [ahead.mark_area(style="fan").encode(y=alt.Y("low:Q", scale=scale, axis=axis), y2="high:Q")]
        layers += [
            ahead.mark_line(style="ahead-line").encode(y=alt.Y("value:Q", scale=scale, axis=axis)),
            ahead.mark_point(filled=True, size=60, opacity=0).encode(
                y=alt.Y("value:Q", scale=scale, axis=axis), tooltip=_ahead_tips()
            ),
        ]
    return _spec(alt.layer(*layers).properties(width="container", height=PANEL), description)


def _axis_format(largest: float) -> str:
    if largest <= 1:
        return "~%"
    return ",~f" if largest < MILLION else "~s"


def _flat_ahead(point: FanPoint) -> Spec:
    """Return a point of a forecast as columns, with words for a tooltip."""
    return {
        "at": point.n,
        "value": point.share,
        "low": point.low,
        "high": point.high,
        "name": f"{point.n:,} people",
        "rate": percent(point.share),
        "range": f"{percent(point.low)} to {at_most(point.high)}",
    }


def _ahead_tips() -> list[alt.Tooltip]:
    columns = (("name", " "), ("rate", "forecast"), ("range", "95% interval"))
    return [alt.Tooltip(f"{column}:N", title=title) for column, title in columns]


def frontier_picture(protections: Protections, target: float | None, description: str) -> Spec:
    """Draw every protection by its loss and risk, the frontier of the best ones, and a ring around the recommended one.

    The unprotected table and the recommendation have their names beside them. Where nothing is recommended, there is
    no ring.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> frontier_picture(found.protections, 0.05, "risk against loss")["description"]
    'risk against loss'
    """
    front, keep = set(protections.frontier), SCALES[protections.keep]
    losses = [(at, trial, keep.of(trial.losses)) for at, trial in enumerate(protections.trials)]
    drawn = [(at, trial, loss) for at, trial, loss in losses if loss is not None]
    largest = axis_end(max(target or 0.0, *(trial.risk.high for _, trial, _ in drawn)))
    widest = max(keep.worst, *(loss for _, _, loss in drawn))
    advised = next((loss for _, trial, loss in drawn if trial is protections.advised), 0.0)
    is_left = advised > widest / 2  # where the words of the target's line stand
    line = None if target is None else HEIGHT * (1 - target / largest)
    data = [
        _flat(trial.risk)
        | {"name": trial.label, "loss": loss, "is_best": at in front, "is_advised": trial is protections.advised}
        | {"passes": "yes" if trial.passes else "no"}
        for at, trial, loss in drawn
    ]
    named = [
        (loss, trial.risk.high, "unprotected" if at == 0 else "recommended")
        for at, trial, loss in drawn
        if (at == 0 and not trial.taken.is_grouped) or trial is protections.advised
    ]
    scale = alt.Scale(domain=[0, largest], nice=False)
    axis = alt.Axis(format="%", title="measured risk, up to")
    x = alt.X(
        "loss:Q",
        title=f"utility lost: {keep.name}",
        scale=alt.Scale(domain=[0, widest], nice=False),
        axis=alt.Axis(format="%" if keep.is_share else ".1f", tickCount=6),
    )
    y = alt.Y("high:Q", scale=scale, axis=axis)
    base = alt.Chart(alt.InlineData(values=data)).encode(x=x, y=y)
    tips = [
        *_tips("name:N"),
        alt.Tooltip("loss:Q", title=keep.name, format=".1%" if keep.is_share else ".2f"),
        alt.Tooltip("passes:N", title="meets the target"),
    ]
    best = base.transform_filter("datum.is_best")
    layers: list[alt.Chart] = []
    if target is not None:
        end: Any = alt.value(0 if is_left else "width")
        words = _target_words(target).encode(x=end, y=alt.Y("target:Q", scale=scale, axis=axis))
        place = {"baseline": "top", "dy": 5} if target > HIGH * largest else {"baseline": "bottom", "dy": -4}
        place |= {"align": "left", "dx": 6} if is_left else {"align": "right", "dx": -6}
        layers = [_rule_at(target, "y", scale, axis), *_words(words, "words", **place)]
    layers += [
        # A step: for a loss that one can bear, the least risk among the protections that were tried.
        best.mark_line(style="main-line", interpolate="step-after", opacity=0.55).encode(order="loss:Q"),
        base.transform_filter("!datum.is_best")
        .mark_point(style="other", filled=True, size=45, opacity=0.75)
        .encode(tooltip=tips),
        best.mark_point(style="main", filled=True, size=60, opacity=1).encode(tooltip=tips),
        base.transform_filter("datum.is_advised")
        .mark_point(style="main", filled=False, strokeWidth=2, size=260, opacity=1)
        .encode(tooltip=tips),
    ]
    for loss, high, text in named:
        begins = loss < widest / 2
        side = {"align": "left", "dx": 10} if begins else {"align": "right", "dx": -10}
        down = room_beside(HEIGHT * (1 - high / largest), line if begins == is_left else None)
        name = alt.Chart(alt.InlineData(values=[{"loss": loss, "high": high, "text": text}])).encode(
            x=x, y=y, text="text:N"
        )
        layers += _words(name, "words", dy=down, **side)
    return _spec(alt.layer(*layers).properties(width="container", height=HEIGHT), description)


def claims_picture(claims: Sequence[Claims], target: float | None, description: str) -> Spec:
    """Draw the precision of the most confident claims against their number.

    Examples
    --------
    >>> claims = [Claims("margin", 100, Rate.of(50, 100, by_chance=0.01))]
    >>> claims_picture(claims, None, "claims")["layer"][0]["encoding"]["x"]["scale"]["domain"]
    [0, 100]
    """
    data = [
        _flat(each.precision) | {"size": each.n_claims, "order": each.order, "name": IN_ORDER[each.order]}
        for each in claims
    ]
    scale = alt.Scale(domain=[0, 1], nice=False)
    axis = alt.Axis(format="%", title="share of these claims that are right")
    x = alt.X(
        "size:Q",
        title="claims made, most confident first",
        scale=alt.Scale(domain=[0, max(each.n_claims for each in claims)], nice=False),
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


def reliability_picture(reliability: Reliability, description: str) -> Spec:
    """Draw how often matches are right against their probability, with the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> found = Reliability.of(np.array([0.9, 0.2]), np.array([1.0, 0.0]), by_chance=0.5)
    >>> reliability_picture(found, "claims")["layer"][0]["mark"]["style"]
    'target'
    """
    data = [
        _flat(each.right) | {"said": each.probability, "name": percent(each.probability)} for each in reliability.bins
    ]
    scale = alt.Scale(domain=[0, 1], nice=False)
    axis = alt.Axis(format="%", title="share of these claims that are right")
    x_axis = alt.Axis(format="%", title="mean calibrated probability", tickCount=6)
    x = alt.X("said:Q", scale=scale, axis=x_axis)
    diagonal = alt.Chart(alt.InlineData(values=[{"said": at, "value": at} for at in (0, 1)]))
    base = alt.Chart(alt.InlineData(values=data)).encode(x=x)
    tips = _tips("name:N", named="probability")
    layers = [
        diagonal.mark_line(style="target").encode(x=x, y=alt.Y("value:Q", scale=scale, axis=axis)),
        base.mark_rule(style="main", strokeWidth=4, opacity=0.45).encode(
            y=alt.Y("low:Q", scale=scale, axis=axis), y2="high:Q", tooltip=tips
        ),
        base.mark_point(style="main", filled=True, size=50, opacity=1).encode(
            y=alt.Y("value:Q", scale=scale, axis=axis), tooltip=tips
        ),
    ]
    return _spec(alt.layer(*layers).properties(width="container", height=HEIGHT), description)


def waterfall_picture(explained: Explanation, description: str) -> Spec:
    """Draw what each place adds to the gain of a pair, one after the other, up to the gain of the pair.

    A dashed line stands where the nearest rival ends.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(12, 5), noise=False)
    >>> waterfall_picture(found.explain(found.users["user"][0]), "places")["description"]
    'places'
    """
    rows: list[Spec] = []
    start = 0.0
    for place in explained.places:
        told = {"visited": percent(place.visited_by), "here": percent(place.released_share)}
        rows.append({"name": str(place.place), "from": start, "to": start + place.gain, "gain": place.gain} | told)
        start += place.gain
    if explained.n_more_places:
        more = {"name": f"+ {counted(explained.n_more_places, 'more place')}", "gain": explained.more_gain}
        rows.append(more | {"from": start, "to": start + explained.more_gain, "visited": "–", "here": "–"})
    total = {"name": "= all together", "from": 0.0, "to": explained.gain, "gain": explained.gain, "is_total": True}
    rows.append(total | {"visited": "–", "here": "–"})
    x = alt.X("from:Q", title="evidence that it is the same person (gain)", axis=_BARS)
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, x2="to:Q", y=_named_rows(rows))
    tips = [
        alt.Tooltip("name:N", title="place"),
        alt.Tooltip("gain:Q", title="adds", format=".4f"),
        alt.Tooltip("here:N", title="of the person's counts"),
        alt.Tooltip("visited:N", title="of all known people were there"),
    ]
    layers = [
        base.transform_filter("!datum.is_total").mark_bar(style="main", height=14).encode(tooltip=tips),
        base.transform_filter("datum.is_total").mark_bar(style="other", height=14).encode(tooltip=tips),
    ]
    others = [rival for rival in explained.rivals if not rival.is_same_person]
    if others:
        rule = alt.Chart(alt.InlineData(values=[{"at": others[0].gain, "name": str(others[0].user)}]))
        words = [alt.Tooltip("name:N", title="nearest rival"), alt.Tooltip("at:Q", title="gain", format=".4f")]
        layers.append(rule.mark_rule(style="target").encode(x=alt.X("at:Q"), tooltip=words))
    return _spec(alt.layer(*layers).properties(width="container", height=BAR * len(rows)), description)


def rivals_picture(explained: Explanation, description: str) -> Spec:
    """Draw how much speaks for each of the nearest known people; the person themselves stands out.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(12, 5), noise=False)
    >>> rivals_picture(found.explain(found.users["user"][0]), "rivals")["description"]
    'rivals'
    """
    rows: list[Spec] = [
        {"name": str(rival.user), "gain": rival.gain, "is_main": rival.is_same_person, "who": WHO[rival.is_same_person]}
        | {"named": "yes" if rival.is_named else "no"}
        for rival in explained.rivals
    ]
    x = alt.X("gain:Q", title="evidence that it is the same person (gain)", axis=_BARS, scale=alt.Scale(zero=True))
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=x, y=_named_rows(rows))
    tips = [
        alt.Tooltip("name:N", title="known person"),
        alt.Tooltip("who:N", title=" "),
        alt.Tooltip("gain:Q", format=".4f"),
        alt.Tooltip("named:N", title="named by the attack"),
    ]
    layers = [
        base.transform_filter(alt.datum.is_main == is_main).mark_bar(style=style, height=14).encode(tooltip=tips)
        for is_main, style in ((True, "main"), (False, "other"))
    ]
    return _spec(alt.layer(*layers).properties(width="container", height=BAR * len(rows)), description)


def shelters_picture(explained: Explanation, description: str) -> Spec:
    """Draw the risk of a person under each protection, with the guarantee as a tick.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(12, 5), noise=False)
    >>> shelters_picture(found.explain(found.users["user"][0]), "protections")["description"]
    'protections'
    """
    rows: list[Spec] = [
        {"name": each.label, "chance": each.chance, "is_main": each.is_advised, "words": about_shelter(each)}
        | {"most": 0.0 if each.n_identical is None else 1 / each.n_identical}
        for each in explained.protections
    ]
    scale = alt.Scale(domain=[0, 1], nice=False)
    axis = alt.Axis(format="%", grid=True, tickCount=6, titleLimit=TITLE)
    x = alt.X("chance:Q", title="risk of this person", scale=scale, axis=axis)
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=_named_rows(rows))
    tips = [alt.Tooltip("name:N", title="protection"), alt.Tooltip("words:N", title="then")]
    layers = [
        base.transform_filter(alt.datum.is_main == is_main).mark_bar(style=style, height=14).encode(x=x, tooltip=tips)
        for is_main, style in ((True, "main"), (False, "other"))
    ]
    ticks = base.mark_tick(style="target", height=18, thickness=2, orient="vertical", strokeDash=[1, 0])
    layers.append(ticks.encode(x=alt.X("most:Q", scale=scale), tooltip=tips))
    return _spec(alt.layer(*layers).properties(width="container", height=BAR * len(rows)), description)


def explanation_pictures(explained: Explanation) -> tuple[Picture, ...]:
    """Draw why a person is re-identified: the places, the nearest known people, and each protection.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(12, 5), noise=False)
    >>> [picture.name for picture in explanation_pictures(found.explain(found.users["user"][0]))]
    ['places', 'rivals', 'protections']
    """
    others = [rival for rival in explained.rivals if not rival.is_same_person]
    line = f"Dashed line: the evidence for the nearest rival, {others[0].user}." if others else ""
    ticks = "Ticks: the guarantee. Blue: recommended."
    places = waterfall_picture(explained, "Evidence from each place.")
    rivals = rivals_picture(explained, "Evidence for each known person.")
    protections = shelters_picture(explained, "Risk of this person.")
    return (
        Picture("places", places, "The places that identify the person", line),
        Picture("rivals", rivals, "The nearest known people"),
        Picture("protections", protections, "The effect of each protection", ticks),
    )


_BARS = alt.Axis(grid=True, tickCount=6, titleLimit=TITLE)


def map_picture(drawn: PlaceMap, description: str) -> Spec:
    """Draw places at their positions, over a plain outline: a fuller colour means more evidence.

    Nothing is asked of any network. North is up; the scale is the same in both directions, and a bar shows it.

    Examples
    --------
    >>> from habitprint.auditing.people import MappedPlace, PlaceMap
    >>> town = PlaceMap((MappedPlace(46.5, 6.6, 7, 0.4),), 1000.0, 0, 0, 0)
    >>> map_picture(town, "a map")["description"]
    'a map'
    """
    where = np.array([(place.lat, place.lon) for place in drawn.places])
    spots, bar = kilometres(where, float(where[:, 0].mean())), map_bar(drawn)
    half = bar / POINTS if drawn.side is None else drawn.side / 2000
    largest = max(place.gives_away for place in drawn.places) or 1.0
    squares: list[Spec] = []
    for (x, y), place in zip(spots.tolist(), drawn.places, strict=True):
        told = {"share": percent(place.gives_away), "people": f"{place.n_people:,}"}
        fill = FAINTEST + (1 - FAINTEST) * place.gives_away / largest
        shape = _circle(x, y, half) if drawn.side is None else _corners(x, y, half)
        squares.append(_feature(_polygon(shape), told | {"fill": fill}))
    around = np.array([corner for x, y in spots.tolist() for corner in _corners(x, y, half + bar / 8)])
    outline = [_feature(_polygon(around[ConvexHull(around).vertices].tolist()), {})]
    left, bottom = float(around[:, 0].min()), float(around[:, 1].min()) - bar / 8
    line = [_feature({"type": "LineString", "coordinates": [[left, bottom], [left + bar, bottom]]}, {})]
    tips = [
        alt.Tooltip("properties.share:N", title="of the evidence about its visitors"),
        alt.Tooltip("properties.people:N", title="people were there"),
    ]
    opacity = alt.FillOpacity("properties.fill:Q", scale=None)
    layers = [
        alt.Chart(alt.InlineData(values=outline)).mark_geoshape(style="ground"),
        alt.Chart(alt.InlineData(values=squares)).mark_geoshape(style="main").encode(fillOpacity=opacity, tooltip=tips),
        alt.Chart(alt.InlineData(values=line)).mark_geoshape(style="words", filled=False, strokeWidth=3),
    ]
    chart = alt.layer(*layers).project(type="identity", reflectY=True)
    return _spec(chart.properties(width="container", height=MAP), description)


def map_bar(drawn: PlaceMap) -> float:
    """Return how long the bar of a map is, in kilometres.

    Examples
    --------
    >>> from habitprint.auditing.people import MappedPlace, PlaceMap
    >>> ends = tuple(MappedPlace(0.0, lon, 7, 0.4) for lon in (0.0, 0.2))
    >>> map_bar(PlaceMap(ends, None, 0, 0, 0))
    5.0
    """
    where = np.array([(place.lat, place.lon) for place in drawn.places])
    spots = kilometres(where, float(where[:, 0].mean()))
    return scale_bar(float(np.ptp(spots, axis=0).max()) + (drawn.side or 0.0) / 1000)


def scale_bar(width: float) -> float:
    """Return a round length for a bar, at most a quarter of the width of a map, in kilometres.

    Examples
    --------
    >>> scale_bar(43.0), scale_bar(0.5)
    (10.0, 0.1)
    """
    most = max(width / 4, 0.01)
    power = 10.0 ** math.floor(math.log10(most))
    return max(round(step * power, 10) for step in (1, 2, 5) if step * power <= most)


def _corners(x: float, y: float, half: float) -> list[list[float]]:
    return [[x - half, y - half], [x - half, y + half], [x + half, y + half], [x + half, y - half]]


def _circle(x: float, y: float, radius: float) -> list[list[float]]:
    turns = [math.tau * step / N_CORNERS for step in range(N_CORNERS)]
    return [[x + radius * math.cos(turn), y + radius * math.sin(turn)] for turn in turns]


def _polygon(corners: list[list[float]]) -> Spec:
    return {"type": "Polygon", "coordinates": [[*corners, corners[0]]]}


def _feature(geometry: Spec, properties: Spec) -> Spec:
    return {"type": "Feature", "geometry": geometry, "properties": properties}


def _named_rows(rows: Sequence[Spec]) -> alt.Y:
    """Return the axis of rows that have a name each, from top to bottom as they come."""
    names = list(dict.fromkeys(row["name"] for row in rows))
    axis = alt.Axis(title=None, labelLimit=280, labelColor="var(--ink)", grid=False)
    return alt.Y("name:N", sort=names, axis=axis)


def common_end(rates: Sequence[Rate], target: float) -> float:
    """Return where the scale of risks ends so that all rates and the target are on it.

    Examples
    --------
    >>> common_end([Rate.of(31, 100, 0.01)], 0.05)
    0.5
    """
    return axis_end(max([target, *(rate.high for rate in rates)]))


def _flat(rate: Rate) -> Spec:
    """Return a rate as columns, with words for a tooltip."""
    return {
        "value": rate.value,
        "low": rate.low,
        "high": rate.high,
        "by_chance": rate.by_chance,
        "of": f"{number(rate.n_correct)} of {rate.n:,}",
        "rate": percent(rate.value),
        "range": rate.interval_words,
        "chance": percent(rate.by_chance),
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


def _spec(chart: alt.LayerChart | alt.FacetChart, description: str) -> Spec:
    """Return the chart as a spec without colours and without addresses."""
    spec: Spec = chart.to_dict()
    del spec["$schema"]
    return spec | {"config": CONFIG, "description": description, "autosize": {"type": "fit-x", "contains": "padding"}}


def axis_end(largest: float) -> float:
    """Return a round number above, at most one.

    Examples
    --------
    >>> axis_end(0.41), axis_end(0.0031)
    (0.5, 0.004)
    """
    if largest <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(largest))
    above = [step * power for step in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if step * power >= largest]
    return min(1.0, *above)


def room_beside(dot: float, line: float | None) -> int:
    """Return how far below a dot its name has room: within the picture, off the words of the target's line.

    Examples
    --------
    >>> room_beside(100, 200), room_beside(100, 95), room_beside(5, None)
    (-12, 14, 14)
    """
    for down in (-12, 14, 30, -30):
        if 9 <= dot + down <= HEIGHT - 9 and (line is None or not line - 32 < dot + down < line + 13):  # noqa: PLR2004
            return down
    return 14


def ticks_with_room(places: Sequence[float], *, is_log: bool) -> list[float]:
    """Return the places that have room for a label each; the last, which is as released, before all others.

    Examples
    --------
    >>> ticks_with_room([1, 2, 50, 100], is_log=False)
    [2, 50, 100]
    """
    spot = [math.log(place) for place in places] if is_log else list(places)
    room = LABEL * (spot[-1] - spot[0])
    kept = [len(spot) - 1]
    for at in range(len(spot) - 2, -1, -1):
        if spot[kept[-1]] - spot[at] >= room:
            kept.append(at)
    return [places[at] for at in reversed(kept)]
