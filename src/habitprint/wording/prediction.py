"""The prediction in sentences: what redealt events would identify, and how much of the observations is effective."""

import math

import numpy as np

from habitprint.durations import TESTED, LengthForecast
from habitprint.formatting import at_most, percent
from habitprint.information import COUNTRY, Information
from habitprint.prediction import Prediction
from habitprint.wording.blocks import Block, Cell, Table, Text, fixed_text, table
from habitprint.wording.risk import RATE_HEADS, rate_cells


def about_prediction(found: Prediction) -> str:
    """Say what was measured, what redealt events would give, and how many of the observations are effective.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_prediction(hp.predict(*hp.datasets.town(200, 40)))[-60:]
    'These events look like independent draws from stable habits.'
    """
    measured, predicted, effective = found.measured, found.predicted, found.effective
    case = "as predicted" if found.is_random else "above" if measured.value > predicted.value else "below"
    low, high = percent(effective.low), at_most(effective.high)
    told = {"measured": measured, "predicted": predicted, "effective": effective, "low": low, "high": high}
    return " ".join((fixed_text("prediction", **told), fixed_text(f"prediction: {case}", **told)))


def tell_prediction(found: Prediction) -> list[Block]:
    """Return all that there is to say: the answer, and the rates with shares of the redealt events.

    Examples
    --------
    >>> import habitprint as hp
    >>> [type(block).__name__ for block in tell_prediction(hp.predict(*hp.datasets.town(60, 20)))]
    ['Text', 'Table', 'Text', 'Table', 'Text']
    """
    bits = Text(about_bits(found.information))
    return [Text(about_prediction(found)), redealt_table(found), Text(about_needed(found)), growth_table(found), bits]


def about_bits(found: Information) -> str:
    """Say how many people have more evidence than the crowd, and which limit that sets to attacks one by one.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_bits(hp.predict(*hp.datasets.town(60, 20)).information)[:43]
    'Among 60 people, a person stands out with 5'
    """
    n, country = found.n_crowd, COUNTRY
    shares = {"above": found.share_above(n), "in_country": found.share_above(country), "bound": found.bound(n)}
    said = fixed_text("bits", n=n, crowd=math.log2(n), bits_of_country=math.log2(country), found=found, **shares)
    return f"{said} {fixed_text('bits: exceeded')}" if found.is_exceeded else said


def about_needed(found: Prediction) -> str:
    """Say with how many observations people are identifiable, and what that assumes.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_needed(hp.predict(*hp.datasets.town(60, 20)))[:37]
    'A person is identifiable if their hab'
    """
    have = float(np.median(found.separation.observations))
    few, half, most = (
        "no number of" if each.observations is None else f"{each.observations:,.0f}" for each in found.needed
    )
    said = fixed_text("observations needed", have=f"{have:,.0f}", few=few, half=half, most=most)
    return f"{said} {fixed_text('observations needed: saturated')}" if found.is_saturated else said


def about_lengths(found: LengthForecast) -> str:
    """Say what share is forecast from longer periods, and what was measured.

    Examples
    --------
    >>> from habitprint.auditing.curves import Point
    >>> from habitprint.durations import forecast_length
    >>> from habitprint.rates import Rate
    >>> curve = [Point(days, "", Rate.of(n, 100, 0.01), 100) for days, n in ((2, 20), (4, 35), (7, 50))]
    >>> about_lengths(forecast_length(curve, 28))[:43]
    'Forecast for 28 days in each period: 82.0% '
    """
    last, rate = found.measured[-1]
    said = fixed_text("longer periods", found=found, high=at_most(found.high), last=last, rate=rate)
    times = found.days / last
    return said if times <= TESTED else f"{said} {fixed_text('longer periods: far', times=times, tested=TESTED)}"


def lengths_table(found: LengthForecast) -> Table:
    """Return the measured rates, and the forecast, by the days in each period.

    Examples
    --------
    >>> from habitprint.auditing.curves import Point
    >>> from habitprint.durations import forecast_length
    >>> from habitprint.rates import Rate
    >>> curve = [Point(days, "", Rate.of(n, 100, 0.01), 100) for days, n in ((2, 20), (4, 35), (7, 50))]
    >>> len(lengths_table(forecast_length(curve, 28)).rows)
    4
    """
    rows: list[list[object]] = [
        [f"{days:g}", Cell(percent(rate.value), rate.value), rate.interval_words, "measured"]
        for days, rate in found.measured
    ]
    ahead = f"{percent(found.low)} to {at_most(found.high)}"
    rows.append([f"{found.days:g}", Cell(percent(found.share), found.share), ahead, "forecast"])
    return table("Length of the periods", ["days", "re-identified", "95% interval", ""], rows)


def growth_table(found: Prediction) -> Table:
    """Return the share of people expected with some multiples of the observations.

    Examples
    --------
    >>> import habitprint as hp
    >>> growth_table(hp.predict(*hp.datasets.town(60, 20))).rows[0].cells[0].text
    '12.5% of these observations'
    """
    rows = [[_times(each.times), each.share] for each in found.growth]
    return table("Expected, if each observation stays worth the same", ["", "Share of people"], rows)


def _times(times: float) -> str:
    if times < 1:
        return f"{percent(times)} of these observations"
    return "these observations" if times == 1 else f"{times:g} times as many"


def redealt_table(found: Prediction) -> Table:
    """Return the measured rate, and the rates with shares of the redealt events.

    Examples
    --------
    >>> import habitprint as hp
    >>> redealt_table(hp.predict(*hp.datasets.town(60, 20))).rows[0].cells[0].text
    'Real events'
    """
    rows = [["Real events", *rate_cells(found.measured)]]
    for point in found.redealt[::-1]:
        which = "Redealt events" if point.share == 1 else f"{percent(point.share)} of the redealt events"
        rows.append([which, *rate_cells(point.rate)])
    return table("Measured and predicted", ["", *RATE_HEADS], rows)
