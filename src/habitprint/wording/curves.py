"""On what the risk depends, whether repeated releases can be linked, and what would be enough, in sentences."""

import math
from collections.abc import Sequence
from datetime import date

from habitprint.auditing.audit import Audit
from habitprint.auditing.candidates import group_needed
from habitprint.auditing.curves import FEWEST_USERS, Curve, Dimension, Measure, Point, Trend, change_of, trend_of
from habitprint.auditing.remedies import Remedy, claims_among
from habitprint.auditing.times import Linkage
from habitprint.auditing.verdict import users_needed
from habitprint.formatting import at_most, counted, headed, percent
from habitprint.rates import LEVEL, Rate, wilson_interval
from habitprint.wording.attacks import of_people
from habitprint.wording.forecast import about_needed

TITLES: dict[Dimension, str] = {
    "users": "How many people there are",
    "duration": "How long they are watched",
    "counts": "How much is counted",
    "resolution": "How finely places are told apart",
    "pairs": "Which periods are taken",
    "distance": "How far apart the two periods are",
}
TOO_SHORT = f"No two periods could be taken in which at least {FEWEST_USERS} people are in both."
NO_TIMES = "Two tables were given, without times: other periods can be tried with events only."
HOW: dict[Measure, str] = {
    "random groups": "The people were cut at random into groups, and each group was attacked as if there were no "
    "others.",
    "too few people": f"There are too few people to make groups of at least {FEWEST_USERS}.",
    "thinned counts": "Each count of both tables was kept with the same probability, as if people had been watched for "
    "a part of the time only.",
    "no whole counts": "The tables hold shares or fractions, of which no part can be drawn.",
    "larger squares": "Squares were put together into larger ones, on both sides.",
    "places put together": "Places were put together as the mapping says, on both sides.",
    "rare places merged": "All but the most popular places were made one, on both sides.",
    "too few places": "There are too few places to put any together.",
    "first days": "Only the first days of both periods were kept{longer}, of the same people.",
    "first days of each": "Only the first days on which each user was seen of both periods were kept{longer}, of the "
    "same people.",
    "pairs of periods": "Of each pair the first period was released, the second known; who is in both counts.",
    "distances": "Released: {released}. Known: {days}, sooner or later after these; who is in both counts.",
    "no times": NO_TIMES,
    "too short": TOO_SHORT,
}
# What a curve teaches, said only where it goes that way.
LESSONS: dict[tuple[Dimension, Trend], str] = {
    ("users", "falls"): "among more people, each is harder to tell apart",
    ("duration", "rises"): "more days tell more about habits",
    ("counts", "rises"): "more counts tell more about habits",
    ("distance", "falls"): "habits change, and what is known of another time tells less",
    ("distance", "no clear change"): "the risk does not clearly fade in that time",
}


def about_curve(curve: Curve, on_all: Rate | None = None) -> str:
    """Say how a curve was measured and what it shows, or why it was not; `on_all` is one more point, of all people.

    Examples
    --------
    >>> few, more = Rate.of(9, 100, by_chance=0.01), Rate.of(55, 100, by_chance=0.01)
    >>> points = Point(2, "2 days", few, 100), Point(7, "7 days", more, 100)
    >>> about_curve(Curve("duration", "days in each period", "first days", points))  # doctest: +NORMALIZE_WHITESPACE
    'Only the first days of both periods were kept, of the same people. From 2 days to 7 days, the share identified
    rises from 9% to 55%: more days tell more about habits.'
    """
    audited = max((point.x for point in curve.points if point.is_as_released), default=math.inf)
    days = 0 if curve.released is None or curve.released.one_range is None else _n_days(curve.released.one_range)
    said = [
        HOW[curve.how].format(
            longer=", or both were made longer" if any(point.x > audited for point in curve.points) else "",
            released="" if curve.released is None else curve.released.words,
            days=counted(days, "day"),
        )
    ]
    if curve.n_sampled is not None and curve.n_in_all is not None:
        some = f"a random {curve.n_sampled:,} of {curve.n_in_all:,} people"
        said.append(f"Done with {some}, to save time: among fewer, risks are higher.")
    elif curve.n_sampled is not None:
        said.append(f"Of each, a random {curve.n_sampled:,} people were taken at most, to save time.")
    if shown := _shown_by(curve.dimension, curve.points):
        said.append(shown)
    if on_all is not None:
        said.append(f"The last point is all {on_all.n:,} people, attacked all at once where they are.")
    return " ".join(said)


def _n_days(days: tuple[date, date]) -> int:
    return (days[1] - days[0]).days + 1


def _shown_by(dimension: Dimension, points: Sequence[Point]) -> str:
    """Say what a curve shows; nothing for fewer than two points.

    Of a curve, its first and its last point are compared; of pairs of periods, which are in no order, the one with the
    least risk and the one with the most.
    """
    trend = trend_of(points)
    if trend is None:
        return ""
    if dimension == "pairs":
        return _differences(points)
    first, last = points[0], points[-1]
    between = f"From {first.label} to {last.label}, the share identified"
    lesson = LESSONS.get((dimension, trend))
    why = "" if lesson is None else f": {lesson}"
    if trend == "no clear change":
        shares = f"{_with_interval(first.rate)}, then {_with_interval(last.rate)}"
        told = f" {headed(lesson)}." if lesson else ""
        return f"{between} does not clearly change: {shares}.{told}"
    return f"{between} {trend} from {percent(first.rate.value)} to {percent(last.rate.value)}{why}."


def _differences(points: Sequence[Point]) -> str:
    in_order = sorted(points, key=lambda point: point.rate.value)
    least, most = in_order[0], in_order[-1]
    ends = f"least with {least.label}, {_with_interval(least.rate)}, and most with {most.label}"
    # The two were picked out of all, so the difference is clear only where intervals are apart that all hold at once.
    level = 1 - (1 - LEVEL) / len(points)
    is_clear = change_of(least.rate.at(level), most.rate.at(level)) == "rises"
    conclusion = f"the difference is {'clear' if is_clear else 'not clear'}"
    return f"The share identified is {ends}, {_with_interval(most.rate)}: {conclusion}."


def _with_interval(rate: Rate) -> str:
    return f"{percent(rate.value)} ({rate.interval_words})"


def about_linkage(linkage: Linkage) -> str:
    """Say whether people could be followed through releases that are repeated, or why that was not measured.

    Examples
    --------
    >>> about_linkage(Linkage(2, None, None, 7, "fewer than three periods"))
    'The file does not hold three periods as long as the release (7 days), so nothing is repeated in it.'
    """
    every = counted(linkage.n_days or 0, "day")
    match linkage.missing:
        case "no times":
            return NO_TIMES
        case "too short":
            return TOO_SHORT
        case "several runs of days":
            return "The release is not one run of days, so it is not tried how to repeat it."
        case "fewer than three periods":
            return (
                f"The file does not hold three periods as long as the release ({every}), so nothing is repeated in it."
            )
    told = [
        f"{of_people(rate)} {whom}"
        for rate, whom in (
            (linkage.consecutive, "who are in a release and in the next one"),
            (linkage.first_to_last, f"who are in the first and in the last of {linkage.n_periods:,}"),
        )
        if rate is not None
    ]
    released = f"If such a table were released every {every}, each time under new pseudonyms"
    return f"{released}, the same attack would link {', and '.join(told)}."


def about_remedy(remedy: Remedy, audit: Audit) -> str:
    """Say what would be enough where no protection is, and why.

    Examples
    --------
    >>> import habitprint as hp
    >>> audit = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> about_remedy(audit.remedies[2], audit)[:91]
    'The target of 5% needs groups of 20: at least 20 people in the table, 8 more than there are'
    """
    curves = {curve.dimension: curve for curve in audit.curves}
    match remedy.kind:
        case "fewer places":
            return _along(remedy, curves["resolution"], audit.verdict.target)
        case "shorter span":
            curve = curves["duration"] if "duration" in curves else curves["counts"]
            return _along(remedy, curve, audit.verdict.target)
        case "more people":
            return _more_people(audit)
        case "larger groups":
            return _larger_groups(int(remedy.number or 0), audit)
        case "aggregates only":
            return _totals_only(remedy.number, audit)


def _along(remedy: Remedy, curve: Curve, target: float) -> str:
    if remedy.point is None:
        return f"That cannot be told. {about_curve(curve)}"
    label, rate = remedy.point.label, remedy.point.rate
    if remedy.number is not None:
        found = f"{percent(rate.value)}, up to {at_most(rate.high)}"
        return (
            f"With {label}, the attack that was repeated identifies {found}, within the target of {percent(target)}. "
            "Other attacks were not made there: audit such a table to know."
        )
    least, people = wilson_interval(0, rate.n)[1], counted(rate.n, "person", "people")
    why = f", and with {people} nothing below {at_most(least)} can be measured" if least > target else ""
    return (
        f"Not enough alone, as far as was measured: at best, with {label}, {percent(rate.value)} are "
        f"identified, up to {at_most(rate.high)}{why}."
    )


def _n_released(audit: Audit) -> int:
    everybody = audit.data.scope.whole
    return audit.data.released.n_users if everybody is None else everybody.n_released


def _more_people(audit: Audit) -> str:
    goal, n, table = audit.options.goal, _n_released(audit), audit.protections.trials[0]
    k = group_needed(goal.target)
    said = [f"The target of {percent(goal.target)} needs groups of {k:,}{_more_than(k, n)}."]
    if goal.person_target is not None and goal.person_target < goal.target:
        alone = group_needed(goal.person_target)
        most = percent(goal.person_target)
        said.append(f"That nobody is found with more than {most} needs groups of {alone:,}{_more_than(alone, n)}.")
    if table.surest is not None and goal.surest_target is not None:
        claims = counted(users_needed(goal.surest_target), "claim")
        said.append(
            f"That {percent(goal.surest_target)} of the surest claims are right at most can only be measured with "
            f"{claims}{_more_than(claims_among(goal.surest_target), n)}."
        )
    if table.risk.high > goal.target:
        needed = None if audit.forecast is None else audit.forecast.needed
        said.append("Without groups, that cannot be told." if needed is None else about_needed(needed))
    return " ".join(said)


def _more_than(needed: int, n: int) -> str:
    if needed <= n:
        return f", and there are {counted(n, 'person', 'people')}"
    return f": at least {needed:,} people in the table, {needed - n:,} more than there are"


def _larger_groups(k: int, audit: Audit) -> str:
    n, allowed = _n_released(audit), percent(audit.options.surest_target or 0.0)
    people = f"needs at least {k:,} people" if k > n else f"can be made of {counted(n, 'person', 'people')}"
    return (
        f"In groups of {k:,}, no claim is right with a chance above one in {k:,}: at most {allowed} of the surest are. "
        f"That {people}."
    )


def _totals_only(n_safe: float | None, audit: Audit) -> str:
    n, k = audit.data.released.n_places, group_needed(audit.verdict.target)
    no_row = "over all people hold no row of anybody, so that there is no row to be found"
    if n_safe is None:
        return (
            f"Totals of places {no_row}. Leave out places of fewer than {k:,} people, which tell about these; the "
            "sample does not say which they are. What totals tell was not measured."
        )
    n_few = n - int(n_safe)
    if n_few == n:
        care = f"All of them are of fewer than {k:,} people and tell about these: too few even for totals"
    elif n_few:
        care = f"{n_few:,} of them are of fewer than {k:,} people and tell about these: leave them out"
    else:
        care = f"All of them are of {k:,} people or more"
    return f"Totals of {counted(n, 'place')} {no_row}. {care}. What totals tell was not measured."
