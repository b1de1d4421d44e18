"""The risk among more people."""

import math

from scipy.special import ndtri

from habitprint.forecasting import STEEP, Forecast, Law, PeopleNeeded
from habitprint.formatting import at_most, percent

ALL, NOTHING = 0.9995, 0.0005  # shares that would be shown as all, and as nothing


def about_forecast(found: Forecast) -> str:
    """Say what risk is forecast.

    Examples
    --------
    >>> from habitprint.forecasting import Measured, forecast
    >>> from habitprint.rates import Rate
    >>> halves, whole = (Measured(n, Rate.of(right, 100, 1 / n)) for n, right in ((50, 80), (100, 60)))
    >>> about_forecast(forecast([halves, whole], 1_000))[:19]
    'Forecast for 1,000 '
    """
    interval = f"{percent(found.level)} interval {forecast_interval(found)}; by chance {percent(found.by_chance)}"
    if found.n <= found.n_measured:
        return f"Among {_people(found.n)} of these people, the risk would be {percent(found.share)} ({interval})."
    return (
        f"Forecast for {_people(found.n)} similar people: {percent(found.share)} ({interval}). Measured on "
        f"{_people(found.n_measured)} people: {percent(found.measured.value)}."
        f"{' The forecast is vague: test more people.' if found.is_vague else ''}"
    )


def forecast_interval(found: Forecast) -> str:
    """Return both ends of the interval for people; the upper one is rounded up.

    Examples
    --------
    >>> from habitprint.forecasting import Measured, forecast
    >>> from habitprint.rates import Rate
    >>> halves, whole = (Measured(n, Rate.of(right, 100, 1 / n)) for n, right in ((50, 80), (100, 60)))
    >>> " to " in forecast_interval(forecast([halves, whole], 1_000))
    True
    """
    return f"{percent(found.low)} to {at_most(found.high)}"


def tell_forecast(found: Forecast) -> tuple[str, ...]:
    """Return all that there is to say: what is to be expected, how many people it would take, and by which law.

    Examples
    --------
    >>> from habitprint.forecasting import Measured, forecast
    >>> from habitprint.rates import Rate
    >>> halves, whole = (Measured(n, Rate.of(right, 100, 1 / n)) for n, right in ((50, 80), (100, 60)))
    >>> len(tell_forecast(forecast([halves, whole], 1_000)))
    2
    """
    needed = () if found.needed is None else (about_needed(found.needed),)
    return (about_forecast(found), *needed, about_law(found))


def about_needed(needed: PeopleNeeded) -> str:
    """Say how many people a release must have.

    Examples
    --------
    >>> print(about_needed(PeopleNeeded(0.05, 120_000, 40_000, None, 5_000)))
    For a risk within 5% without protection, a release needs about 120,000 people (at least 40,000; perhaps no \
population is large enough).
    """
    start = f"For a risk within {percent(needed.target)} without protection"
    if needed.low is None:
        return f"No realistic population brings the unprotected table below {percent(needed.target)}."
    if needed.n is None:
        return f"{start}, probably no population is large enough; at least {_people(needed.low)} are needed."
    if needed.high is not None and needed.high <= needed.n_measured:
        return f"{start}, {_people(needed.high)} people are enough."
    sure = "perhaps no population is large enough"
    if needed.high is not None:
        sure = f"at most {_people(needed.high)}"
    return f"{start}, a release needs about {_people(needed.n)} people (at least {_people(needed.low)}; {sure})."


def about_law(found: Forecast) -> str:
    """Say which curve fits best, and how far it is trusted.

    Examples
    --------
    >>> from habitprint.forecasting import Measured, forecast
    >>> from habitprint.rates import Rate
    >>> halves, whole = (Measured(n, Rate.of(right, 100, 1 / n)) for n, right in ((50, 80), (100, 60)))
    >>> about_law(forecast([halves, whole], 1_000))[:30]
    'The curve that fits best gives'
    """
    steeper = math.exp(float(ndtri(0.5 + found.level / 2)) * found.discrepancy)
    return (
        f"The curve that fits best gives {percent(found.law.share(found.n))}: {_meaning(found.law)}. The forecast is "
        f"the median of all curves that fit. The interval allows a fall {steeper:.2g} times as steep or as flat."
    )


def _meaning(law: Law) -> str:
    start = max(round(law.b), 1)
    falls = f"from about {start:,} people on, each doubling leaves {percent(2**-law.a)}"
    if law.a > STEEP:
        falls = f"about every {max(round(math.log(2) * law.b / law.a), 1):,} more people halve the share"
    if law.always >= ALL:
        return "all are re-identified among any number of people"
    if law.always < NOTHING:
        return f"nobody is re-identified among very many people, and {falls}{'' if law.a > STEEP else ' of the share'}"
    return f"{percent(law.always)} are re-identified among any number of people; of the others, {falls}"


def _people(n: int) -> str:
    """Return a number of people to three figures; a small one as it is."""
    if n < 10_000:  # noqa: PLR2004
        return f"{n:,}"
    digits = len(str(n)) - 3
    rounded = round(n / 10**digits) * 10**digits
    for unit, word in ((10**9, "billion"), (10**6, "million")):
        if rounded >= unit:
            return f"{rounded / unit:.3g} {word}"
    return f"{rounded:,}"
