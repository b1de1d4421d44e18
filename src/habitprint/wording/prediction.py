"""The prediction in sentences: what redealt events would identify, and how much of the observations is effective."""

from habitprint.formatting import at_most, percent
from habitprint.prediction import Prediction
from habitprint.wording.blocks import Block, Table, Text, fixed_text, table
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
    ['Text', 'Table']
    """
    return [Text(about_prediction(found)), redealt_table(found)]


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
