"""What the risk depends on, whether repeated releases can be linked, and the alternatives to a protection."""

import math
from collections.abc import Sequence
from datetime import date

from habitprint.auditing.audit import Audit
from habitprint.auditing.candidates import group_needed
from habitprint.auditing.curves import (
    FEWEST_USERS,
    Curve,
    Dimension,
    Linkage,
    Measure,
    Point,
    Trend,
    change_of,
    trend_of,
)
from habitprint.auditing.verdict import Alternative, claims_among, users_needed
from habitprint.formatting import at_most, counted, headed, percent
from habitprint.rates import LEVEL, Rate, wilson_interval
from habitprint.wording.attacks import of_people
from habitprint.wording.forecast import about_needed

TITLES: dict[Dimension, str] = {
    "users": "Number of people",
    "duration": "Length of the periods",
    "counts": "Number of counts",
    "resolution": "Resolution of places",
    "pairs": "Choice of periods",
    "distance": "Time between the periods",
}
TOO_SHORT = f"No two periods have at least {FEWEST_USERS} people in common."
NO_TIMES = "Two tables were given, without times. Other periods need events."
HOW: dict[Measure, str] = {
    "random groups": "The people were split at random into groups, and each group was attacked alone.",
    "too few people": f"There are too few people for groups of at least {FEWEST_USERS}.",
    "thinned counts": "Each count of both tables was kept with the same probability, as in a shorter period.",
    "no whole counts": "The tables hold shares or fractions; no part of them can be drawn.",
    "larger squares": "Squares were merged into larger ones, on both sides.",
    "places put together": "Places were merged by the mapping, on both sides.",
    "rare places merged": "All but the most popular places were merged into one, on both sides.",
    "too few places": "There are too few places to merge any.",
    "first days": "Only the first days of both periods were kept{longer}, for the same people.",
    "first days of each": "Only the first days of each person in both periods were kept{longer}, for the same people.",
    "pairs of periods": "Of each pair, the first period was released and the second known.",
    "distances": "Released: {released}. Known: {days}, sooner or later after these.",
    "no times": NO_TIMES,
    "too short": TOO_SHORT,
}
UNMEASURED = "What totals reveal was not measured."
# What a curve shows, said only where it goes that way.
MEANINGS: dict[tuple[Dimension, Trend], str] = {
    ("users", "falls"): "among more people, each is harder to re-identify",
    ("duration", "rises"): "more days reveal more about habits",
    ("counts", "rises"): "more counts reveal more about habits",
    ("distance", "falls"): "habits change, so data from another time reveals less",
    ("distance", "no clear change"): "the risk does not clearly fall in that time",
}


def about_curve(curve: Curve, on_all: Rate | None = None) -> str:
    """Say how a curve was measured and what it shows, or why it was not; `on_all` is one more point, of all people.

    Examples
    --------
    >>> few, more = Rate.of(9, 100, by_chance=0.01), Rate.of(55, 100, by_chance=0.01)
    >>> points = Point(2, "2 days", few, 100), Point(7, "7 days", more, 100)
    >>> about_curve(Curve("duration", "days in each period", "first days", points))  # doctest: +NORMALIZE_WHITESPACE
    'Only the first days of both periods were kept, for the same people. From 2 days to 7 days, the risk
    rises from 9% to 55%: more days reveal more about habits.'
    """
    audited = max((point.x for point in curve.points if point.is_as_released), default=math.inf)
    days = 0 if curve.released is None or curve.released.one_range is None else _n_days(curve.released.one_range)
    said = [
        HOW[curve.how].format(
            longer=", or both were extended" if any(point.x > audited for point in curve.points) else "",
            released="" if curve.released is None else curve.released.words,
            days=counted(days, "day"),
        )
    ]
    if curve.n_sampled is not None and curve.n_in_all is not None:
        some = f"a random {curve.n_sampled:,} of {curve.n_in_all:,} people"
        said.append(f"This used {some} to save time. Among fewer people, risks are higher.")
    elif curve.n_sampled is not None:
        said.append(f"Each used at most {curve.n_sampled:,} people, drawn at random, to save time.")
    if shown := _shown_by(curve.dimension, curve.points):
        said.append(shown)
    if on_all is not None:
        said.append(f"The last point is the attack on all {on_all.n:,} people.")
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
    between = f"From {first.label} to {last.label}, the risk"
    lesson = MEANINGS.get((dimension, trend))
    why = "" if lesson is None else f": {lesson}"
    if trend == "no clear change":
        shares = f"{_with_interval(first.rate)}, then {_with_interval(last.rate)}"
        told = f" {headed(lesson)}." if lesson else ""
        return f"{between} does not clearly change: {shares}.{told}"
    return f"{between} {trend} from {percent(first.rate.value)} to {percent(last.rate.value)}{why}."


def _differences(points: Sequence[Point]) -> str:
    in_order = sorted(points, key=lambda point: point.rate.value)
    least, most = in_order[0], in_order[-1]
    ends = f"lowest for {least.label}, {_with_interval(least.rate)}, and highest for {most.label}"
    # The two were picked out of all, so the difference is clear only where intervals are apart that all hold at once.
    level = 1 - (1 - LEVEL) / len(points)
    is_clear = change_of(least.rate.at(level), most.rate.at(level)) == "rises"
    conclusion = f"the difference is {'clear' if is_clear else 'not clear'}"
    return f"The risk is {ends}, {_with_interval(most.rate)}: {conclusion}."


def _with_interval(rate: Rate) -> str:
    return f"{percent(rate.value)} ({rate.interval_words})"


def about_linkage(linkage: Linkage) -> str:
    """Say whether people could be followed through releases that are repeated, or why that was not measured.

    Examples
    --------
    >>> about_linkage(Linkage(2, None, None, 7, "fewer than three periods"))
    'The file does not hold three periods as long as the release (7 days), so no repetition was tested.'
    """
    every = counted(linkage.n_days or 0, "day")
    match linkage.missing:
        case "no times":
            return NO_TIMES
        case "too short":
            return TOO_SHORT
        case "several runs of days":
            return "The release is not one run of days, so no repetition was tested."
        case "fewer than three periods":
            return (
                f"The file does not hold three periods as long as the release ({every}), so no repetition was tested."
            )
    told = [
        f"{of_people(rate)} {whom}"
        for rate, whom in (
            (linkage.consecutive, "who are in a release and in the next one"),
            (linkage.first_to_last, f"who are in the first and in the last of {linkage.n_periods:,}"),
        )
        if rate is not None
    ]
    released = f"If such a table were released every {every} with new pseudonyms"
    return f"{released}, the same attack would link {', and '.join(told)}."


def about_alternatives(audit: Audit) -> str:
    """Say in short which alternatives would meet the target where no protection does.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_alternatives(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))
    'Enough: more people (at least 73). Not enough alone: fewer places, shorter span, aggregates only.'
    """
    n = {"more people": "at least {:,.0f}", "larger groups": "of {:,.0f}"}
    enough = [
        f"{each.kind}{f' ({n[each.kind].format(each.number)})' if each.kind in n else ''}"
        for each in audit.alternatives
        if each.number
    ]
    others = [each.kind for each in audit.alternatives if not each.number]
    parts: dict[str, Sequence[str]] = {"Enough": enough, "Not enough alone": others}
    return " ".join(f"{name}: {', '.join(kinds)}." for name, kinds in parts.items() if kinds)


def about_alternative(alternative: Alternative, audit: Audit) -> str:
    """Say whether an alternative would meet the target where no protection does, and why.

    Examples
    --------
    >>> import habitprint as hp
    >>> audit = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> about_alternative(audit.alternatives[2], audit)[:86]
    'The target of 5% needs groups of 20: at least 20 people in the table, 8 more than now.'
    """
    curves = {curve.dimension: curve for curve in audit.curves}
    match alternative.kind:
        case "fewer places":
            return _along(alternative, curves["resolution"], audit.verdict.target)
        case "shorter span":
            curve = curves["duration"] if "duration" in curves else curves["counts"]
            return _along(alternative, curve, audit.verdict.target)
        case "more people":
            return _more_people(audit)
        case "larger groups":
            return _larger_groups(int(alternative.number or 0), audit)
        case "aggregates only":
            return _totals_only(alternative.number, audit)


def _along(alternative: Alternative, curve: Curve, target: float) -> str:
    if alternative.point is None:
        return f"Not measured. {about_curve(curve)}"
    label, rate = alternative.point.label, alternative.point.rate
    if alternative.number is not None:
        found = f"{percent(rate.value)}, up to {at_most(rate.high)}"
        return (
            f"With {label}, the repeated attack re-identifies {found}. That is within the target. Audit such a table "
            "to run the other attacks."
        )
    least, people = wilson_interval(0, rate.n)[1], counted(rate.n, "person", "people")
    why = f" With {people}, no risk below {at_most(least)} can be shown." if least > target else ""
    found = f"{percent(rate.value)} of people are re-identified, up to {at_most(rate.high)}"
    return f"Not enough alone. At best, with {label}, {found}.{why}"


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
        said.append(f"A limit of {most} per person needs groups of {alone:,}{_more_than(alone, n)}.")
    if table.risk.n < (shown := users_needed(goal.target)):
        said.append(f"To show that no row of a group is reconstructed takes {shown:,} people in both tables.")
    if table.most_confident is not None and goal.confident_target is not None:
        claims = counted(users_needed(goal.confident_target), "claim")
        said.append(
            f"A limit of {percent(goal.confident_target)} for the most confident claims needs "
            f"{claims}{_more_than(claims_among(goal.confident_target), n)}."
        )
    if table.risk.high > goal.target:
        needed = None if audit.forecast is None else audit.forecast.needed
        said.append("Without groups, no number can be given." if needed is None else about_needed(needed))
    return " ".join(said)


def _more_than(needed: int, n: int) -> str:
    if needed <= n:
        return f", and there are {counted(n, 'person', 'people')}"
    return f": at least {needed:,} people in the table, {needed - n:,} more than now"


def _larger_groups(k: int, audit: Audit) -> str:
    n, allowed = _n_released(audit), percent(audit.options.confident_target or 0.0)
    people = f"needs at least {k:,} people" if k > n else f"can be made of {counted(n, 'person', 'people')}"
    return (
        f"In groups of {k:,}, each claim is right with probability at most 1/{k:,}, so at most {allowed} of the most "
        f"confident ones are. This {people}."
    )


def _totals_only(n_safe: float | None, audit: Audit) -> str:
    n, k = audit.data.released.n_places, group_needed(audit.verdict.target)
    no_row = "over all people contain no row of a person"
    if n_safe is None:
        return (
            f"Totals of places {no_row}. Remove places of fewer than {k:,} people; the sample does not show which. "
            f"{UNMEASURED}"
        )
    n_few = n - int(n_safe)
    if n_few == n:
        care = f"All of them have fewer than {k:,} people: too few even for totals"
    elif n_few:
        care = f"{n_few:,} of them have fewer than {k:,} people: remove these"
    else:
        care = f"All of them have {k:,} people or more"
    return f"Totals of {counted(n, 'place')} {no_row}. {care}. {UNMEASURED}"
