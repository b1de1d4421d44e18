"""Figures of an audit: pictures as Vega-Lite specs, with a caption and the same numbers as tables.

``theme.json`` gives styles by name. Their colours are names too (``var(…)``): the browser resolves them in light, in
dark and on paper. A picture has one description, so its dots are not read out.
"""

import json
import math
import textwrap
from collections.abc import Callable, Iterable, Sequence
from importlib.resources import files
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from scipy.spatial import ConvexHull

from habitprint.attacks import strongest_of_each
from habitprint.auditing.audit import Audit, Pictured
from habitprint.auditing.compare import Comparison
from habitprint.auditing.curves import Curve, Point
from habitprint.auditing.explanation import Explanation
from habitprint.auditing.people import Order, People, PlaceMap, kilometres
from habitprint.auditing.trials import Protections
from habitprint.durations import LengthForecast, LengthPoint
from habitprint.evaluation import Evaluation
from habitprint.following import Following
from habitprint.forecasting import FanPoint, Forecast, Measured, SizedRate
from habitprint.formatting import at_most, counted, headed, number, percent, rounded_up
from habitprint.losses import SCALES
from habitprint.matching import MatchingPath
from habitprint.rates import Rate
from habitprint.wording.blocks import Cell, Figure, Picture, Table, fixed_text, fixed_texts, table
from habitprint.wording.following import following_table
from habitprint.wording.people import about_shelter
from habitprint.wording.prediction import about_lengths
from habitprint.wording.risk import (
    RATE_HEADS,
    TITLES,
    about_curve,
    about_forecast,
    about_needed,
    attacks_table,
    rate_cells,
)

Spec = dict[str, Any]  # Vega-Lite's: JSON for the page
Channel = Callable[[str], Any]  # from the name of a column to its place on an axis

THEME: Spec = json.loads((files("habitprint.report") / "theme.json").read_text(encoding="utf-8"))
LINE = 16  # height of a line of a name
DOT = 28  # height of a rate below its name, with room to the next name
NARROW = 290  # pixels of a picture on a phone
LETTER = 7  # pixels of a letter, rather more than less
PANEL, HEIGHT, MAP, BAR = 190, 260, 360, 24  # heights: a panel among others, a picture, a map, a row of bars
MILLION = 1_000_000  # from here on, a number on an axis is written short
WIDE = 8  # from the least to the largest: from here on, an axis is logarithmic
ROOM = 2.2  # factor on a logarithmic axis, for a name to the right of a line
FAINTEST = 0.12  # opacity of a place without evidence
POINTS = 16  # radii of a place without a size, in the bar of a map
FEW = 12  # ticks of an axis, one for each pair
MOST_STEPS = 1000  # between the points of a line: more say nothing more
N_DRAWN = 8  # attacks in the picture; the table has all
MOST_MAPPED = 10  # places in the table below a map
SQUARE = np.array([(-1.0, -1.0), (-1.0, 1.0), (1.0, 1.0), (1.0, -1.0)])
CIRCLE = np.array([(math.cos(turn), math.sin(turn)) for turn in np.linspace(0, math.tau, 16, endpoint=False)])
HIGH = 0.8  # of the scale: no room above a line
LABEL = 0.15  # of a panel's width, for the label of a tick
RIGHT = "share of these claims that are right"
ORDERS: dict[Order, tuple[str, str]] = {
    "margin": ("by margin", "Most confident claims by margin"),
    "size": ("best matching of that size", "Best matching of that size"),
}


def figures_of(audit: Audit) -> dict[Pictured, Figure | None]:
    """Return all pictures of an audit; None where the data has none of that name.

    Examples
    --------
    >>> import habitprint as hp
    >>> figures_of(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))["attacks"].pictures[0].name
    'attacks-picture'
    """
    answer = protections_figure(audit.protections, audit.verdict.target)
    return {
        "answer": answer,
        "attacks": attacks_figure(audit),
        "curves": curves_figure(audit),
        "pairs": pairs_figure(audit),
        "following": None if audit.following is None else following_figure(audit.following),
        "protections": answer,
        "frontier": answer,
        "claims": claims_figure(audit.people, audit.options.confident_target),
        "reliability": reliability_figure(audit),
        "map": map_figure(audit.place_map),
    }


def rates_figure(
    picture: str,
    title: str,
    rates: Sequence[tuple[str, Rate, bool]],
    target: float,
    *,
    before: str = "",
    tables: tuple[Table, ...] = (),
) -> Figure:
    """Draw rates one below the other: a dot with its interval, chance, and the target across.

    Parameters
    ----------
    picture, title
        The address of the picture, and the title of the figure.
    rates
        Each with its label, and whether it stands out.
    target
        The most that is allowed.
    before, tables
        The text of the caption before the key, and the numbers.

    Examples
    --------
    >>> figure = rates_figure("one", "One", [("unprotected", Rate.of(50, 100, by_chance=0.01), True)], 0.05)
    >>> figure.pictures[0].spec["width"], figure.pictures[0].spec["height"]
    ('container', 44)
    """
    end = axis_end(max(target, *(rate.high for _, rate, _ in rates)))
    data, height = [], 0
    for label, rate, is_main in rates:
        lines = lines_at(rate.value / end, f"{percent(rate.value)} {label}")
        below = height + LINE * len(lines)
        place = {"top": height, "y": below + 10, "is_left": rate.value <= end / 2}
        data.append(_flat(rate, name=label, is_main=is_main, text="\n".join(lines), **place))
        height = below + DOT
    x = _shares(alt.X, end, "share of people re-identified", grid=True, tickCount=6)
    down = alt.Scale(domain=[0, height], range=[0, height], nice=False)
    rows, tips = _rows(data), _rate_tips()
    base = rows.encode(y=alt.Y("y:Q", axis=None, scale=down), tooltip=tips)
    sides = {True: {"align": "left", "dx": -6}, False: {"align": "right", "dx": 6}}  # a name is where there is room
    words = _target(target).encode(x=x("target"), y=alt.value(-3), text="words:N")
    layers = [_rule(target, x=x("target")), *_words(words, baseline="bottom", **sides[target <= end / 2])]
    for part, style in _main_and_other(base):
        layers += [
            part.mark_rule(style=style, strokeWidth=4, opacity=0.45).encode(x=x("low"), x2="high:Q"),
            part.mark_point(style=style, filled=True, size=90, opacity=1).encode(x="value:Q"),
        ]
    layers.append(base.mark_tick(style="other", height=14, thickness=2, orient="vertical").encode(x="by_chance:Q"))
    for is_left, side in sides.items():
        named = rows.transform_filter(alt.datum.is_left == is_left).encode(
            x=x("value"), y=alt.Y("top:Q", axis=None, scale=down), text="text:N"
        )
        layers += _words(named, baseline="top", lineBreak="\n", lineHeight=LINE, **side)
    key = f"Dot: measured risk. Bar: 95% interval. Upright tick: by chance. Dashed line: target, {percent(target)}."
    about = f"{title}: share of people re-identified, with its interval."
    return Figure(title, f"{before} {key}".strip(), (Picture(picture, _spec(layers, height, about)),), tables)


def lines_at(place: float, name: str) -> list[str]:
    """Return a name in lines that fit beside a dot on a phone, on the side that has more room.

    Parameters
    ----------
    place
        The position of the dot, from 0 at the left to 1 at the right.
    name
        The name of the dot.

    Examples
    --------
    >>> lines_at(0.5, "81% unprotected"), lines_at(0.5, "4% with “groups of 24 people”")
    (['81% unprotected'], ['4% with “groups of', '24 people”'])
    """
    return textwrap.wrap(name, int(NARROW * max(place, 1 - place) / LETTER))


def attacks_figure(audit: Audit) -> Figure:
    """Draw the rates of the strongest attacks.

    Examples
    --------
    >>> import habitprint as hp
    >>> attacks_figure(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)).title
    'Measured risk by the strongest attacks'
    """
    ways = strongest_of_each(audit.attacks)
    # The strongest, in the order of the table; pairs at random are always there.
    highest = sorted((attack.rate.high for attack in ways), reverse=True)[:N_DRAWN][-1]
    drawn = [attack for attack in ways if attack.rate.high >= highest or attack.method == "random"]
    rates = [(attack.title, attack.rate, attack is audit.strongest) for attack in drawn]
    numbers = attacks_table("All attacks", audit.attacks, explained=True)
    title = "Measured risk by the strongest attacks"
    return rates_figure("attacks-picture", title, rates, audit.verdict.target, tables=(numbers,))


def comparison_figure(found: Comparison) -> Figure:
    """Draw the measured risk of each audit.

    Examples
    --------
    >>> import habitprint as hp
    >>> fewer = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> comparison_figure(hp.compare([fewer, hp.audit(hp.datasets.town(14, 5), noise=False)])).title
    'Measured risk by the strongest attack'
    """
    rates = [(audit.name, audit.rate, audit is not found.first) for audit in found.audits]
    is_common = all(audit.target == found.first.target for audit in found.audits)
    whose = "" if is_common else f"The target is that of “{found.first.name}”."
    title = "Measured risk by the strongest attack"
    return rates_figure("comparison-picture", title, rates, found.first.target, before=whose)


def curves_figure(audit: Audit) -> Figure | None:
    """Draw how the risk depends on each dimension; None where no curve could be measured.

    Examples
    --------
    >>> import habitprint as hp
    >>> len(curves_figure(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)).pictures)
    3
    """
    target = audit.verdict.target
    on_all = None if audit.on_all is None or audit.data.scope.whole is None else audit.on_all.rate
    measured = [curve for curve in audit.curves if curve.points and curve.dimension != "pairs"]
    if not measured:
        return None
    end = axis_end(max([target, *(point.rate.high for curve in measured for point in curve.points)]))
    pictures, tables = [], []
    for at, curve in enumerate(measured):
        ahead, further = (audit.forecast, on_all) if curve.dimension == "users" else (None, None)
        drawn, title = curve if further is None else curve.and_on_all(further), TITLES[curve.dimension]
        spec = curve_picture(drawn, target, end, ahead)
        pictures.append(Picture(f"curve-{at}", spec, title, about_curve(curve, further)))
        tables.append(_curve_table(drawn, ahead))
    fan = "" if audit.forecast is None else " Broken line and fan: forecast for more people."
    return Figure("Measured risk", fixed_text("key: curves", target=target, fan=fan), tuple(pictures), tuple(tables))


def pairs_figure(audit: Audit) -> Figure | None:
    """Draw other pairs of periods, one below the other; None where there are none.

    Examples
    --------
    >>> import habitprint as hp
    >>> pairs_figure(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)) is None
    True
    """
    for curve in audit.curves:
        if curve.points and curve.dimension == "pairs":
            rates = [(headed(point.label), point.rate, point.is_as_released) for point in curve.points]
            title, said, numbers = TITLES["pairs"], about_curve(curve), _curve_table(curve)
            target = audit.verdict.target
            return rates_figure("pairs-picture", title, rates, target, before=said, tables=(numbers,))
    return None


def _curve_table(curve: Curve, forecast: Forecast | None = None) -> Table:
    rows = [[point.label, *rate_cells(point.rate)] for point in curve.points]
    if forecast is not None and forecast.n > forecast.n_measured:
        shares = forecast.share, forecast.low, rounded_up(forecast.high), forecast.by_chance
        rows.append([f"{forecast.n:,} people: forecast", "", forecast.n, *shares])
    return table(TITLES[curve.dimension], [headed(curve.axis), *RATE_HEADS], rows)


def curve_picture(
    curve: Curve, target: float | None, end: float, forecast: Forecast | LengthForecast | None = None
) -> Spec:
    """Draw how the risk depends on something: a line with a band for the interval, and a fan for what is forecast.

    Parameters
    ----------
    curve
        The curve to draw.
    target
        The most that is allowed; None to draw no line.
    end
        The end of the scale of risks, the same for all panels.
    forecast
        The forecast beyond the last point; None if there is none.

    Examples
    --------
    >>> from habitprint.auditing.curves import Point
    >>> points = tuple(Point(days, f"{days} days", Rate.of(9 * days, 100, 0.01), 100) for days in (1, 7))
    >>> curve = Curve("duration", "days in each period", "", points)
    >>> curve_picture(curve, 0.05, 1.0)["layer"][0]["encoding"]["x"]["title"]
    'days in each period'
    """
    data = [_flat(point.rate, at=point.x, name=point.label, here=point.is_as_released) for point in curve.points]
    fan = [] if forecast is None else _ahead(forecast)
    places = sorted({point.x for point in curve.points} | {at["at"] for at in fan[-1:]})
    is_wide = min(places) > 0 and max(places) >= WIDE * min(places)
    kind = {"type": "log"} if is_wide else {"zero": False}
    shown = "~%" if max(places) <= 1 else ",~f" if max(places) < MILLION else "~s"
    x = alt.X(
        "at:Q",
        title=curve.axis,
        scale=alt.Scale(nice=False, padding=10, **kind),
        axis=alt.Axis(values=ticks_with_room(places, is_log=is_wide), format=shown),
    )
    y = _shares(alt.Y, end, "share re-identified")
    base = _rows(data).encode(x=x)
    line = base.encode(y=y("value"), tooltip=_rate_tips())
    ahead = _rows(fan).encode(x=x, tooltip=_tips(name=" ", rate="forecast", range="95% interval"))
    layers = [
        base.mark_area(style="band").encode(y=y("low"), y2="high:Q"),
        *([ahead.mark_area(style="fan").encode(y=y("low"), y2="high:Q")] if len(fan) > 1 else []),
        *([] if target is None else [_rule(target, y=y("target"))]),
        base.mark_line(style="chance").encode(y="by_chance:Q"),
        line.mark_line(style="main-line"),
        _dots(line, 50),
    ]
    if any(point.is_as_released for point in curve.points):  # of nothing, the extent would be infinite
        layers.append(_ring(line.transform_filter("datum.here"), 170))
    if len(fan) > 1:
        layers += [
            ahead.mark_line(style="ahead-line").encode(y=y("value")),
            ahead.mark_point(filled=True, size=60, opacity=0).encode(y=y("value")),
        ]
    return _spec(layers, PANEL, f"{TITLES[curve.dimension]}: risk against {curve.axis}.")


def _ahead(forecast: Forecast | LengthForecast) -> list[Spec]:
    """Return what is forecast beyond the last measured value."""
    points: Iterable[tuple[str, float, FanPoint | LengthPoint]]
    if isinstance(forecast, Forecast):
        points = ((f"{each.n:,} people", each.n, each) for each in forecast.fan if each.n >= forecast.n_measured)
    else:
        points = ((f"{each.days:,.0f} days", each.days, each) for each in forecast.fan)
    return [
        {"at": float(at), "value": each.share, "low": each.low, "high": each.high, "name": name}
        | {"rate": percent(each.share), "range": f"{percent(each.low)} to {at_most(each.high)}"}
        for name, at, each in points
    ]


def following_figure(found: Following) -> Figure | None:
    """Draw the share of people who are still followed against the days, a line for each rotation interval.

    None if nobody is in two releases.

    Examples
    --------
    >>> import habitprint as hp
    >>> following_figure(hp.follow(hp.datasets.calls_twin(60).events, every=[1, 3])).title
    'People who are followed'
    """
    if not found.survivals:
        return None
    data = [
        _flat(step.everybody, at=step.n_days, name=f"every {counted(each.every, 'day')}", is_end=step == each.last)
        for each in found.survivals
        for step in each.followed
    ]
    y = _shares(alt.Y, axis_end(max(row["high"] for row in data)), "share of people still followed")
    ends = [min(row["at"] for row in data), ROOM * max(row["at"] for row in data)]
    x = alt.X("at:Q", title="days since the first release", scale=alt.Scale(type="log", nice=False, domain=ends))
    base = _rows(data).encode(x=x.axis(format=",~f", tickCount=5), y=y("value"), detail="name:N")
    names = base.transform_filter("datum.is_end").encode(text="name:N")
    layers = [
        base.mark_line(style="main-line"),
        _dots(base.encode(tooltip=_tips(name="new pseudonyms", at="days") + _rate_tips()[1:]), 50),
        *_words(names, align="left", dx=10),
    ]
    spec = _spec(layers, HEIGHT, "Share of people who are still followed, against days; a line for each interval.")
    shown = following_table(found)
    return Figure(shown.caption, fixed_text("key: following"), (Picture("following", spec),), (shown,))


def protections_figure(found: Protections, target: float | None) -> Figure:
    """Draw every protection by its loss and risk, the frontier of the best ones, and a ring around the recommended one.

    The unprotected table and the recommendation have their names beside them. Where nothing is recommended, there is
    no ring.

    Examples
    --------
    >>> import habitprint as hp
    >>> protections_figure(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections, 0.05).title
    'Risk against utility'
    """
    keep, advised = SCALES[found.keep], found.advised
    losses = [(at, trial, trial.loss_for(found.keep)) for at, trial in enumerate(found.trials)]
    drawn = [(at, trial, loss) for at, trial, loss in losses if loss is not None]
    end = axis_end(max(target or 0.0, *(trial.risk.high for _, trial, _ in drawn)))
    widest = max(keep.worst, *(loss for _, _, loss in drawn))
    data = [
        _flat(trial.risk, name=trial.label, loss=loss, is_best=at in found.frontier, is_advised=trial is advised)
        | {"passes": "yes" if trial.passes else "no"}
        for at, trial, loss in drawn
    ]
    x = alt.X(
        "loss:Q",
        title=f"utility lost: {keep.name}",
        scale=alt.Scale(domain=[0, widest], nice=False),
        axis=alt.Axis(format="%" if keep.is_share else ".1f", tickCount=6),
    )
    y = _shares(alt.Y, end, "measured risk, up to")
    tips = [
        *_rate_tips(),
        alt.Tooltip("loss:Q", title=keep.name, format=".1%" if keep.is_share else ".2f"),
        alt.Tooltip("passes:N", title="meets the target"),
    ]
    base = _rows(data).encode(x=x, y=y("high"), tooltip=tips)
    best = base.transform_filter("datum.is_best")
    # The words of the target's line stand on the side without the recommendation.
    is_left = next((loss for _, trial, loss in drawn if trial is advised), 0.0) > widest / 2
    layers: list[alt.Chart] = []
    if target is not None:
        place = {"baseline": "top", "dy": 5} if target > HIGH * end else {"baseline": "bottom", "dy": -4}
        place |= {"align": "left", "dx": 6} if is_left else {"align": "right", "dx": -6}
        side: Any = alt.value(0 if is_left else "width")
        words = _target(target).encode(x=side, y=y("target"), text="words:N")
        layers = [_rule(target, y=y("target")), *_words(words, **place)]
    layers += [
        # A step: for a loss that one can bear, the least risk among the protections that were tried.
        best.mark_line(style="main-line", interpolate="step-after", opacity=0.55).encode(order="loss:Q"),
        base.transform_filter("!datum.is_best").mark_point(style="other", filled=True, size=45, opacity=0.75),
        _dots(best, 60),
        _ring(base.transform_filter("datum.is_advised"), 260),
    ]
    for at, trial, loss in drawn:
        if (at == 0 and not trial.taken.is_grouped) or trial is advised:
            begins = loss < widest / 2
            side = {"align": "left", "dx": 10} if begins else {"align": "right", "dx": -10}
            line = HEIGHT * (1 - target / end) if target is not None and begins == is_left else None
            text = "recommended" if at else "unprotected"
            name = _rows([{"loss": loss, "high": trial.risk.high, "text": text}])
            down = room_beside(HEIGHT * (1 - trial.risk.high / end), line)
            layers += _words(name.encode(x=x, y=y("high"), text="text:N"), dy=down, **side)
    n_missing = len(losses) - len(drawn)
    caption = fixed_text(
        "key: protections",
        ring="" if advised is None else " Ring: recommended.",
        line="" if target is None else " Dashed line: target.",
        missing=f" {n_missing} without a defined loss: not drawn." if n_missing else "",
        loss=f"{headed(keep.name)}: {fixed_texts(f'loss: {keep.name}')[1]}",
    )
    spec = _spec(layers, HEIGHT, f"Measured risk against {keep.name} of {counted(len(drawn), 'protection')}.")
    return Figure("Risk against utility", caption, (Picture("answer-picture", spec),))


def claims_figure(people: People, target: float | None) -> Figure | None:
    """Draw the precision of the most confident claims against their number; None where there are no claims.

    Examples
    --------
    >>> import habitprint as hp
    >>> claims_figure(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).people, None).title
    'Precision of the most confident claims'
    """
    if not people.claims:
        return None
    claims = [(ORDERS[each.order][0], each.n_claims, each.precision) for each in people.claims]
    largest = max(each.n_claims for each in people.claims)
    spec = _precision_picture(claims, _sizes("claims made, most confident first", largest), target)
    line = "" if target is None else f" Dashed level: limit, {percent(target)}."
    caption = fixed_text("key: claims", line=line)
    tables = tuple(
        _rates_table(title, "Claims", [(each.n_claims, each.precision) for each in people.claims if each.order == name])
        for name, (_, title) in ORDERS.items()
    )
    return Figure("Precision of the most confident claims", caption, (Picture("claims-picture", spec),), tables)


def _precision_picture(claims: Sequence[tuple[str, int, Rate]], x: alt.X, target: float | None = None) -> Spec:
    """Draw how many of some numbers of claims are right, in one order or in two; the first one stands out."""
    data = [_flat(rate, size=size, name=order) for order, size, rate in claims]
    y = _shares(alt.Y, 1, RIGHT)
    base = _rows(data).encode(x=x)
    tips = [alt.Tooltip("size:Q", title="claims", format=",d"), *_rate_tips("in order")]
    is_first = alt.datum.name == claims[0][0]
    main, other = (base.transform_filter(each).encode(y=y("value"), tooltip=tips) for each in (is_first, ~is_first))
    layers = [
        base.transform_filter(is_first).mark_area(style="band").encode(y=y("low"), y2="high:Q"),
        *([] if target is None else [_rule(target, y=y("target"))]),
        base.mark_line(style="chance").encode(y="max(by_chance):Q"),
        other.mark_line(style="other-line"),
        other.mark_point(style="other", filled=True, size=35, opacity=1),
        main.mark_line(style="main-line"),
        _dots(main, 50),
    ]
    return _spec(layers, HEIGHT, "Share of claims that are right against the number of claims.")


def _sizes(title: str, largest: int) -> alt.X:
    """Return the axis of numbers of pairs or claims; few of them have a tick each, and there are no half ones."""
    ticks = {"values": list(range(largest + 1))} if largest <= FEW else {"tickCount": 6}
    scale = alt.Scale(domain=[0, largest], nice=False)
    return alt.X("size:Q", title=title, scale=scale, axis=alt.Axis(format=",d", **ticks))


def path_figure(
    path: MatchingPath, evaluations: Iterable[Evaluation] = (), most_confident: Iterable[Rate] = ()
) -> Figure:
    """Draw the gain of each further pair, the total weight of the best matching, and the precision, against the size.

    Parameters
    ----------
    path
        The best matching of every size.
    evaluations
        Evaluations of the matchings of some sizes: their precision is drawn, with its interval.
    most_confident
        The precision of some numbers of the likeliest pairs, drawn beside it (`habitprint.training.confident_rates`).

    Examples
    --------
    >>> import habitprint as hp
    >>> len(path_figure(hp.matching_path(*hp.datasets.town(50, 20))).pictures)
    2
    """
    made, x = path.to_table(), _sizes("pairs given out", len(path.sizes))
    # Enough points to draw it, from no pair at all to the last.
    nothing = made.head(1).with_columns(size=pl.lit(0, pl.Int64), total_weight=0.0, total_gain=0.0)
    some = pl.concat([nothing, made]).gather_every(-(-made.height // MOST_STEPS))
    line = _rows(pl.concat([some, made.tail(1)]).unique("size").sort("size").to_dicts()).encode(x=x)
    gain = alt.Y("price:Q", title="gain added by one more pair", scale=alt.Scale(domain=[0, path.highest_gain]))
    total = alt.Y("total_weight:Q", title="total weight")
    pair = alt.Tooltip("size:Q", title="pairs", format=",d")
    gains = line.mark_line(style="main-line", interpolate="step-before").encode(
        y=gain, tooltip=[pair, alt.Tooltip("price:Q", title="gain", format=".4f")]
    )
    totals = line.mark_line(style="main-line").encode(
        y=total, tooltip=[pair, alt.Tooltip("total_weight:Q", title="total weight", format=".4f")]
    )
    users = f"users: {path.released.n_users:,} released, {path.known.n_users:,} known; weight: {path.weight.name}"
    most = f"{users}; a pair can add at most {path.highest_gain:.4g}"
    pictures = [
        Picture("gain", _spec([gains], PANEL, "Gain of each further pair."), "The best matching of every size", most),
        Picture("total", _spec([totals], PANEL, "Total weight against the size."), "Total weight"),
    ]
    claims = [("the likeliest pairs", rate.n, rate) for rate in most_confident]
    rates = [(each.size, each.precision_rate) for each in sorted(evaluations, key=lambda each: each.size)]
    claims += [("the best matching of that size", size, rate) for size, rate in rates if rate is not None]
    if claims:
        lines = ". Broken line: ".join(dict.fromkeys(order for order, _, _ in claims))
        key = f"Line with its 95% interval: {lines}. Dotted: by chance."
        pictures.append(Picture("precision", _precision_picture(claims, x), "Precision", key))
    return Figure("The best matching of every size", "", tuple(pictures))


def forecast_figure(forecast: Forecast, sizes: Iterable[SizedRate] = ()) -> Figure:
    """Draw the share re-identified against the number of people: measured, and as a fan for the forecast.

    Parameters
    ----------
    forecast
        Made by `habitprint.forecast`.
    sizes
        The measured shares; without them, that of all people.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.forecast(hp.count_impostors(*hp.datasets.town(100, 20)), 1_000)
    >>> forecast_figure(found).pictures[0].name
    'forecast'
    """
    measured = list(sizes) or [Measured(forecast.n_measured, forecast.measured)]
    points = (Point(each.n_users, f"{each.n_users:,} people", each.rate, each.rate.n) for each in measured)
    curve = Curve("users", "people", "random groups", tuple(points))
    end = axis_end(max([each.rate.high for each in measured] + [each.high for each in forecast.fan]))
    said = [about_forecast(forecast), "" if forecast.needed is None else about_needed(forecast.needed)]
    picture = Picture("forecast", curve_picture(curve, None, end, forecast), caption=" ".join(said).strip())
    return Figure("Share re-identified among more people", "", (picture,))


def lengths_figure(forecast: LengthForecast) -> Figure:
    """Draw the share re-identified against the days in each period: measured, and as a fan for the forecast.

    Examples
    --------
    >>> curve = [Point(days, "", Rate.of(n, 100, 0.01), 100) for days, n in ((2, 20), (4, 35), (7, 50))]
    >>> from habitprint.durations import forecast_length
    >>> lengths_figure(forecast_length(curve, 28)).pictures[0].name
    'lengths'
    """
    points = (Point(days, f"{days:g} days", rate, rate.n) for days, rate in forecast.measured)
    curve = Curve("duration", "days in each period", "first days", tuple(points))
    end = axis_end(max([rate.high for _, rate in forecast.measured] + [each.high for each in forecast.fan]))
    picture = Picture("lengths", curve_picture(curve, None, end, forecast), caption=about_lengths(forecast))
    return Figure("Share re-identified from longer periods", "", (picture,))


def _rates_table(caption: str, head: str, rates: Sequence[tuple[object, Rate]]) -> Table:
    """Return rates beside a number of claims, or beside a probability."""
    return table(caption, [head, *RATE_HEADS], [[at, *rate_cells(rate)] for at, rate in rates])


def _in_full(share: float) -> Cell:
    return Cell(percent(share), share)


def reliability_figure(audit: Audit) -> Figure | None:
    """Draw how often matches are right against their probability, with the diagonal; None where none was calibrated.

    Examples
    --------
    >>> import habitprint as hp
    >>> reliability_figure(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)) is None
    True
    """
    if audit.people.confidence is None:
        return None
    bins = audit.people.confidence.reliability.bins
    data = [_flat(each.right, said=each.probability, name=percent(each.probability)) for each in bins]
    x, y = _shares(alt.X, 1, "mean calibrated probability", tickCount=6), _shares(alt.Y, 1, RIGHT)
    base = _rows(data).encode(x=x("said"), tooltip=_rate_tips("probability"))
    diagonal = _rows([{"said": at, "value": at} for at in (0, 1)]).encode(x=x("said"), y=y("value"))
    layers = [
        diagonal.mark_line(style="target"),
        base.mark_rule(style="main", strokeWidth=4, opacity=0.45).encode(y=y("low"), y2="high:Q"),
        _dots(base.encode(y=y("value")), 50),
    ]
    spec = _spec(layers, HEIGHT, "Share of matches that are right against their probability.")
    rates = [(_in_full(each.probability), each.right) for each in bins]
    numbers = _rates_table("Matches by probability", "Probability", rates)
    caption = "Each dot is a tenth of the matches, with its 95% interval. On the dashed line, probabilities are right."
    return Figure("Are the probabilities right?", caption, (Picture("reliability-picture", spec),), (numbers,))


def explanation_figure(explained: Explanation) -> Figure:
    """Draw why a person is re-identified: the places, the nearest known people, and each protection.

    The places add up, one after the other, to the evidence for the pair; a dashed line stands where the nearest rival
    ends. Among the known people, the person themselves stands out. The risk under a protection has its guarantee as a
    tick.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(12, 5), noise=False)
    >>> [picture.name for picture in explanation_figure(found.explain(found.users["user"][0])).pictures]
    ['places', 'rivals', 'protections']
    """
    axis = alt.Axis(grid=True, tickCount=6, titleLimit=480)
    evidence = "evidence that it is the same person (gain)"
    added = [
        (str(place.place), place.gain, percent(place.released_share), percent(place.visited_by))
        for place in explained.places
    ]
    if explained.n_more_places:
        added.append((f"+ {counted(explained.n_more_places, 'more place')}", explained.more_gain, "–", "–"))
    starts = np.cumsum([0.0, *(gain for _, gain, _, _ in added)]).tolist()
    places: list[Spec] = [
        {"name": name, "from": start, "to": start + gain, "gain": gain, "here": here, "visited": visited}
        | {"is_main": True}
        for start, (name, gain, here, visited) in zip(starts, added, strict=False)
    ]
    total = {"name": "= all together", "from": 0.0, "to": explained.gain, "gain": explained.gain, "is_main": False}
    places.append(total | {"here": "–", "visited": "–"})
    tips = _tips(name="place", gain="adds", here="of the person's counts", visited="of all known people were there")
    waterfall = _bars(places, tips, x=alt.X("from:Q", title=evidence, axis=axis), x2="to:Q")
    others = [rival for rival in explained.rivals if not rival.is_same_person]
    if others:
        rule = _rows([{"at": others[0].gain, "name": str(others[0].user)}]).mark_rule(style="target")
        waterfall.append(rule.encode(x=alt.X("at:Q"), tooltip=_tips(name="nearest rival", at="gain")))
    rivals: list[Spec] = [
        {"name": str(rival.user), "gain": rival.gain, "is_main": rival.is_same_person}
        | {"who": "the same person" if rival.is_same_person else "another person"}
        | {"named": "yes" if rival.is_named else "no"}
        for rival in explained.rivals
    ]
    tips = _tips(name="known person", who=" ", gain="gain", named="named by the attack")
    x = alt.X("gain:Q", title=evidence, axis=axis, scale=alt.Scale(zero=True))
    known = _bars(rivals, tips, x=x)
    shelters: list[Spec] = [
        {"name": each.label, "chance": each.chance, "is_main": each.is_advised, "words": about_shelter(each)}
        | {"most": 0.0 if each.n_identical is None else 1 / each.n_identical}
        for each in explained.protections
    ]
    share = _shares(alt.X, 1, "risk of this person", grid=True, tickCount=6, titleLimit=480)
    tips = _tips(name="protection", words="then")
    protected = _bars(shelters, tips, x=share("chance"))
    ticks = _rows(shelters).encode(y=_names(shelters), x=share("most"), tooltip=tips)
    protected.append(ticks.mark_tick(style="target", height=18, thickness=2, orient="vertical", strokeDash=[1, 0]))
    line = f"Dashed line: the evidence for the nearest rival, {others[0].user}." if others else ""
    ticks_key = "Ticks: the guarantee. Blue: recommended."
    panels = [
        ("places", "The places that identify the person", line, places, waterfall),
        ("rivals", "The nearest known people", "", rivals, known),
        ("protections", "The effect of each protection", ticks_key, shelters, protected),
    ]
    pictures = tuple(
        Picture(name, _spec(layers, BAR * len(rows), f"{title}."), title, caption)
        for name, title, caption, rows, layers in panels
    )
    return Figure("Places, rivals and protections of a person", "", pictures)


def _bars(rows: Sequence[Spec], tips: list[alt.Tooltip], **ends: Any) -> list[alt.Chart]:
    """Return a bar for each row, one below the other."""
    base = _rows(rows).encode(y=_names(rows), tooltip=tips, **ends)
    return [part.mark_bar(style=style, height=14) for part, style in _main_and_other(base)]


def _names(rows: Sequence[Spec]) -> alt.Y:
    """Return the axis of rows that have a name each, from top to bottom as they come."""
    names = list(dict.fromkeys(row["name"] for row in rows))
    axis = alt.Axis(title=None, labelLimit=280, labelColor="var(--ink)", grid=False)
    return alt.Y("name:N", sort=names, axis=axis)


def map_figure(drawn: PlaceMap | None) -> Figure | None:
    """Draw places at their positions, over a plain outline; None where their positions are not known.

    The picture makes no request to any network. North is up; the scale is the same in both directions, and a bar shows
    it.

    Examples
    --------
    >>> from habitprint.auditing.people import MappedPlace
    >>> map_figure(PlaceMap((MappedPlace(46.5, 6.6, 7, 0.4),), 1000.0, 0, 0, 0)).pictures[0].name
    'map-picture'
    """
    if drawn is None or not drawn.places:
        return None
    where = np.array([(place.lat, place.lon) for place in drawn.places])
    spots = kilometres(where, float(where[:, 0].mean()))
    bar = scale_bar(float(np.ptp(spots, axis=0).max()) + (drawn.side or 0.0) / 1000)
    shape, half = (CIRCLE, bar / POINTS) if drawn.side is None else (SQUARE, drawn.side / 2000)
    most = drawn.places[0].gives_away or 1.0
    squares = [
        _feature(
            "Polygon",
            spot + half * shape,
            share=percent(place.gives_away),
            people=f"{place.n_people:,}",
            fill=FAINTEST + (1 - FAINTEST) * place.gives_away / most,
        )
        for spot, place in zip(spots, drawn.places, strict=True)
    ]
    around = np.concatenate([spot + (half + bar / 8) * SQUARE for spot in spots])
    left, bottom = around.min(axis=0) - (0, bar / 8)
    tips = _tips(**{"properties.share": "of the evidence about its visitors", "properties.people": "people were there"})
    opacity = alt.FillOpacity("properties.fill:Q", scale=None)
    line = _feature("LineString", np.array([(left, bottom), (left + bar, bottom)]))
    layers = [
        _rows([_feature("Polygon", around[ConvexHull(around).vertices])]).mark_geoshape(style="ground"),
        _rows(squares).mark_geoshape(style="main").encode(fillOpacity=opacity, tooltip=tips),
        _rows([line]).mark_geoshape(style="words", filled=False, strokeWidth=3),
    ]
    north = alt.Projection(type="identity", reflectY=True)
    spec = _spec(layers, MAP, "A map of places by their share of the evidence.", projection=north)
    heads = ["Latitude", "Longitude", "People", "Share of evidence"]
    rows = [
        [*(Cell(f"{at:.4f}", at) for at in (place.lat, place.lon)), place.n_people, _in_full(place.gives_away)]
        for place in drawn.places[:MOST_MAPPED]
    ]
    numbers = table("Places with the most evidence", heads, rows)
    kind = "point" if drawn.side is None else f"square of {drawn.side:,g} m"
    caption = fixed_text("key: map", kind=kind, most=drawn.places[0].gives_away, bar=bar)
    return Figure("Places by their share of the evidence", caption, (Picture("map-picture", spec),), (numbers,))


def _feature(kind: str, points: Any, **properties: Any) -> Spec:
    """Return a shape of a map; a polygon ends where it began."""
    shape = [[*points.tolist(), points[0].tolist()]] if kind == "Polygon" else points.tolist()
    return {"type": "Feature", "geometry": {"type": kind, "coordinates": shape}, "properties": properties}


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
    spot = dict(zip(places, map(math.log, places) if is_log else places, strict=True))
    room = LABEL * (spot[places[-1]] - spot[places[0]])
    kept = [places[-1]]
    for place in reversed(places[:-1]):
        if spot[kept[0]] - spot[place] >= room:
            kept.insert(0, place)
    return kept


def _rows(values: Sequence[Spec]) -> alt.Chart:
    return alt.Chart(alt.InlineData(values=list(values)))


def _shares(kind: type[alt.X | alt.Y], end: float, title: str, **axis: Any) -> Channel:
    """Return the axis of shares from nothing to `end`, for any column."""
    scale = alt.Scale(domain=[0, end], nice=False)
    return lambda column: kind(f"{column}:Q", scale=scale, axis=alt.Axis(format="%", title=title, **axis))


def _flat(rate: Rate, **more: Any) -> Spec:
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
    } | more


def _rate_tips(named: str = " ") -> list[alt.Tooltip]:
    return _tips(name=named, rate="right", of="that is", range="95% interval", chance="by chance")


def _tips(**titles: str) -> list[alt.Tooltip]:
    """Return a tooltip that shows columns under titles; evidence has four digits."""
    return [
        alt.Tooltip(f"{column}:Q", title=title, format=".4f")
        if column in {"gain", "at"}
        else alt.Tooltip(f"{column}:N", title=title)
        for column, title in titles.items()
    ]


def _main_and_other(base: alt.Chart) -> list[tuple[alt.Chart, str]]:
    """Return the rows that stand out and all others, each with its style."""
    styles = {True: "main", False: "other"}
    return [(base.transform_filter(alt.datum.is_main == is_main), style) for is_main, style in styles.items()]


def _dots(base: alt.Chart, size: int) -> alt.Chart:
    dots: alt.Chart = base.mark_point(style="main", filled=True, size=size, opacity=1)
    return dots


def _ring(base: alt.Chart, size: int) -> alt.Chart:
    ring: alt.Chart = base.mark_point(style="main", filled=False, strokeWidth=2, size=size, opacity=1)
    return ring


def _words(base: alt.Chart, **place: Any) -> list[alt.Chart]:
    """Return words that can be read on top of lines: below them stand the same words, broad, in the paper's colour."""
    return [base.mark_text(style=style, **place) for style in ("paper-words", "words")]


def _target(target: float) -> alt.Chart:
    return _rows([{"target": target, "percent": percent(target), "words": f"target {percent(target)}"}])


def _rule(target: float, **channel: Any) -> alt.Chart:
    """Return a dashed line at the target, across the picture."""
    rule: alt.Chart = _target(target).mark_rule(style="target")
    return rule.encode(tooltip=_tips(percent="target: at most"), **channel)


def _spec(layers: Sequence[alt.Chart], height: int, description: str, **more: Any) -> Spec:
    """Return layers as a spec without addresses, as wide as its place on the page."""
    spec: Spec = alt.layer(*layers).properties(width="container", height=height, **more).to_dict()
    del spec["$schema"]
    return spec | {"config": THEME, "description": description, "autosize": {"type": "fit-x", "contains": "padding"}}
