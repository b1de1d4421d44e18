"""Measured risk in sentences: attacks and their training, what the risk depends on, and forecasts for more people."""

import math
from collections.abc import Sequence
from datetime import date

from scipy.special import ndtri

from habitprint.attacks import EPSILON, Outcome, strongest_of_each
from habitprint.auditing.audit import AttackerTraining, Audit
from habitprint.auditing.curves import (
    FEWEST_USERS,
    Curve,
    Dimension,
    Point,
    Trend,
    change_of,
    trend_of,
)
from habitprint.evaluation import Evaluation
from habitprint.forecasting import STEEP, Forecast, Law, PeopleNeeded
from habitprint.formatting import at_most, counted, headed, in_column, number, percent, rounded_up, whole
from habitprint.matching.matching import EXACT, gap_and_share
from habitprint.rates import LEVEL, IntervalMethod, Rate
from habitprint.singling_out import MOST_KNOWN, SinglingOut
from habitprint.training import FEWEST_PEOPLE, EvidenceShare, Training
from habitprint.wording.blocks import Block, Cell, Table, Text, fixed_text, fixed_texts, table
from habitprint.wording.following import about_following

N_ATTACKS = 8  # in a narrow table
RATE_HEADS = ("Right", "Of", "Share", "Lower end", "Upper end", "By chance")
TITLES: dict[Dimension, str] = {
    "users": "Number of people",
    "duration": "Length of the periods",
    "counts": "Number of counts",
    "resolution": "Resolution of places",
    "pairs": "Choice of periods",
    "distance": "Time between the periods",
}
TYPICAL = 4  # places in the one sentence about singling out: the number that the literature names
# The sentence about a curve, used only if the curve goes that way.
MEANINGS: dict[tuple[Dimension, Trend], str] = {
    ("users", "falls"): "among more people, each is harder to re-identify",
    ("duration", "rises"): "more days reveal more about habits",
    ("counts", "rises"): "more counts reveal more about habits",
    ("distance", "falls"): "habits change, so data from another time reveals less",
}
ALL, NOTHING = 0.9995, 0.0005  # shares that would be shown as all, and as nothing


def about_attack(attack: Outcome) -> str:
    """Say what an attack does.

    Examples
    --------
    >>> about_attack(Outcome("one-by-one", "l1", Rate.of(5, 40, 1 / 40), None, 0))
    'Each person gets the nearest row of the other table, even if others get the same row.'
    """
    said = [fixed_text(f"attack: {attack.method}", share=1 - EPSILON)]
    if attack.is_cross_fitted:
        said.append(fixed_text("attack: cross-fitted"))
    if attack.transform is not None:
        said.append(f"The attacker transforms their own data too: {attack.transform}.")
    return " ".join(said)


def about_gap(gap: float | None) -> str:
    """Say what is proven of a matching, in a few words.

    Examples
    --------
    >>> about_gap(0.0), about_gap(0.1), about_gap(None)
    ('optimal', 'at least 89% of the best gain', 'none')
    """
    if gap is None:
        return "none"
    return "optimal" if gap <= EXACT else f"at least {gap_and_share(gap)[1]} of the best gain"


def about_proof(gap: float | None, bound: float | None, size: int) -> str:
    """Say what is proven of a matching, with the bound.

    Examples
    --------
    >>> about_proof(0.0, 3.5, 4)
    'optimal: 4 pairs gain at most 3.5 (gap 0)'
    """
    if gap is None or bound is None:
        return "none: one by one optimises no total"
    return f"{about_gap(gap)}: {counted(size, 'pair')} gain at most {bound:.10g} (gap {gap_and_share(gap)[0]})"


def about_pairs(n: int, n_guesses: int) -> str:
    """Return the number of pairs, and how many of them are guesses.

    Examples
    --------
    >>> about_pairs(40, 3)
    '40, including 3 guesses without a shared place'
    """
    guesses = "guess" if n_guesses == 1 else "guesses"
    return f"{n:,}{f', including {n_guesses:,} {guesses} without a shared place' if n_guesses else ''}"


def about_evaluation(found: Evaluation) -> list[tuple[str, str]]:
    """Return how many users a matching re-identifies: their number, and each rate with its name.

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(20, 6)
    >>> [name for name, _ in about_evaluation(hp.evaluate(hp.match(released, known), released, known))]
    ['re-identified', 'accuracy', 'precision', 'cluster accuracy']
    """
    rates = {
        "accuracy": found.accuracy_rate,
        "precision": found.precision_rate,
        "cluster accuracy": found.cluster_rate,
    }
    return [
        ("re-identified", f"{number(found.expected_correct)} of {counted(found.n_common, 'common user')}"),
        *((name, "not defined" if rate is None else rate.words) for name, rate in rates.items()),
    ]


def tell_training(found: Training) -> list[Block]:
    """Return the strongest attacks of a training, that of the paper and the chosen one; the choice; and the evidence.

    Examples
    --------
    >>> import habitprint as hp
    >>> [block.kind for block in tell_training(hp.train(*hp.datasets.town(80, 30)))]
    ['table', 'text', 'text']
    """
    ordered = sorted(found.attacks, key=lambda attack: -attack.rate.value)
    shown = dict.fromkeys([*ordered[:N_ATTACKS], found.paper, found.best])
    marks = {True: " (chosen)", False: ""}
    rates = [(f"{each.outcome.name}{marks[each is found.best]}", each.rate, each is found.best) for each in shown]
    evidence = about_evidence(found.trained.by_kind)
    return [
        shares_table("Attack in training", rates),
        Text(chosen_in_training(found)),
        Text(f"In the trained weight: {evidence[:1].lower()}{evidence[1:]}"),
    ]


def about_strongest(audit: Audit) -> str:
    """Say which attack is the strongest, and how many people it re-identifies.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_strongest(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))
    'The strongest attack is joint matching, rarity-half. It re-identifies 12 of 12 people.'
    """
    rate, name = audit.strongest.rate, audit.strongest.name
    sampled = "" if audit.data.scope.whole is None else " of the sample"
    people = f"{whole(rate.n_correct)} of {counted(rate.n, 'person')}{sampled}"
    # Identical rows are assigned by luck, so another run of the attack may re-identify more people, or fewer.
    does = "On average, it re-identifies" if audit.verdict.is_protected else "It re-identifies"
    return f"The strongest attack is {name}. {does} {people}."


def repeated_attack(audit: Audit) -> Outcome | None:
    """Return the attack that is repeated on parts of the data, and whose matches are looked into; None if not stored.

    Examples
    --------
    >>> import habitprint as hp
    >>> repeated_attack(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)).name
    'joint matching, rarity-half'
    """
    joint = [
        each
        for each in audit.attacks
        if each.method == "joint" and each.weight == audit.weight and not each.uses_totals and not each.is_cross_fitted
    ]
    return max(joint, key=lambda each: each.rate.high, default=None)


def about_repeated(audit: Audit) -> str:
    """Say which attack is repeated on parts of the data, and how far it is from the strongest one.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_repeated(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))
    'The strongest attack, joint matching, rarity-half, was repeated on parts of the data.'
    """
    repeated, strongest = repeated_attack(audit), audit.strongest
    if repeated is None:
        return "One attack was repeated on parts of the data."
    if repeated.rate == strongest.rate:
        return f"The strongest attack, {repeated.name}, was repeated on parts of the data."
    return fixed_text("repeated attack", repeated=repeated, strongest=strongest)


def attacks_table(caption: str, attacks: Sequence[Outcome], *, explained: bool) -> Table:
    """Return attacks with their rates as a table; explained, with what each does.

    Examples
    --------
    >>> made = [Outcome("joint", "l1", Rate.of(50, 100, by_chance=0.01), 0.0, 0)]
    >>> [cell.text for cell in attacks_table("One", made, explained=False).rows[0].cells]
    ['Joint matching, l1', '50.0', '100', '50.0%', '40.4%', '59.7%', '1.0%', 'optimal']
    """
    rows = []
    for attack in attacks:
        name = Cell(attack.title, note=about_attack(attack) if explained else "")
        rows.append([name, *rate_cells(attack.rate), about_gap(attack.gap)])
    return table(caption, ["Attack", *RATE_HEADS, "Proof"], rows)


def strongest_table(attacks: Sequence[Outcome]) -> Table:
    """Return the strongest attacks with their rates as a narrow table; pairs at random are always there.

    Examples
    --------
    >>> strongest_table([Outcome("joint", "l1", Rate.of(50, 100, by_chance=0.01), 0.0, 0)]).rows[0].cells[0].text
    'joint matching, l1'
    """
    ways = sorted(strongest_of_each(attacks), key=lambda attack: -attack.rate.high)
    shown = [*ways[:N_ATTACKS], *(each for each in ways[N_ATTACKS:] if each.method == "random")]
    return shares_table("Strongest attacks", [(each.name, each.rate, False) for each in shown])


def shares_table(caption: str, rates: Sequence[tuple[str, Rate, bool]]) -> Table:
    """Return shares of people re-identified with their intervals as a narrow table; some rows are marked.

    Examples
    --------
    >>> shares_table("Attack", [("l1", Rate.of(50, 100, by_chance=0.01), True)]).rows[0].cells[1].text
    '50.0%'
    """
    rows = [[name, rate.value, rate.interval_words] for name, rate, _ in rates]
    marked = [is_marked for _, _, is_marked in rates]
    return table(caption, [caption, "Re-identified", "95% interval"], rows, marked=marked)


def about_all(audit: Audit) -> list[Block]:
    """Say which attack is the strongest, how attacks are named, how the attacker trained, and what ran on all people.

    Examples
    --------
    >>> import habitprint as hp
    >>> [block.kind for block in about_all(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))]
    ['text', 'text', 'text']
    """
    said: list[Block] = [Text(about_strongest(audit)), Text(fixed_text("attacks"))]
    said.append(Text(about_training(audit.training)))
    if audit.on_all is not None:
        said.append(Text(on_all_people(audit)))
        said.append(attacks_table("The attack on all people", [audit.on_all], explained=False))
    return said


def rate_cells(rate: Rate) -> list[object]:
    """Return the cells of a rate: correct, of how many, share, both ends of the interval, by chance.

    Examples
    --------
    >>> rate_cells(Rate.of(50, 100, by_chance=0.01))[1:4]
    [100, 0.5, 0.4038315303659956]
    """
    correct = Cell(f"{rate.n_correct:,.1f}", rate.n_correct)
    return [correct, rate.n, rate.value, rate.low, rounded_up(rate.high), rate.by_chance]


def on_all_people(audit: Audit) -> str:
    """Say what the attack on all people of remote tables found, beside the forecast; nothing for tables here.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import habitprint as hp
    >>> attack = Outcome("joint", "l1", Rate.of(50, 1000, by_chance=0.001), 0.0, 0)
    >>> on_all_people(replace(hp.read_audit(hp.datasets.AUDIT_OF_TOWN), on_all=attack))
    'One attack ran on all 1,000 people: joint matching, l1 (proven optimal). It re-identifies 5% (95% interval 3.8% \
to 6.6%; by chance 0.1%).'
    """
    if audit.on_all is None:
        return ""
    rate, gap, forecast = audit.on_all.rate, audit.on_all.gap or 0.0, audit.forecast
    proof = "proven optimal" if gap <= EXACT else f"proven: {about_gap(gap)}"
    found = f"One attack ran on all {rate.n:,} people: {audit.on_all.name} ({proof}). It re-identifies {rate.words}."
    if forecast is None or forecast.n != rate.n or forecast.n_measured >= rate.n:
        return found
    is_within = forecast.low <= rate.value <= forecast.high
    agrees = f"The measured risk is {'within' if is_within else 'outside'} this interval."
    return f"{found} The forecast from the sample was {percent(forecast.share)} ({interval(forecast)}). {agrees}"


def among_more(audit: Audit) -> str:
    """Say what is forecast for more people, and for which attack; nothing where `on_all_people` says it.

    Examples
    --------
    >>> import habitprint as hp
    >>> among_more(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))
    ''
    """
    on_all, forecast = audit.on_all, audit.forecast
    if forecast is None or (on_all is not None and on_all.rate.n == forecast.n):
        return ""
    repeated, strongest = repeated_attack(audit), audit.strongest
    if repeated is None or percent(repeated.rate.value) == percent(strongest.rate.value):
        return about_forecast(forecast)
    followed = about_forecast(forecast, f"The attack {repeated.name}")
    return f"{followed} The strongest attack re-identifies {percent(strongest.rate.value)}."


def interval(found: Rate | Forecast) -> str:
    """Return the interval of a share, with its level; the upper end is rounded up.

    Examples
    --------
    >>> interval(Rate.of(80, 100, 0.01))
    '95% interval 71.1% to 86.7%'
    """
    return f"{percent(found.level)} interval {percent(found.low)} to {at_most(found.high)}"


def of_people(rate: Rate) -> str:
    """Return a rate with its interval, and of how many people it is.

    Examples
    --------
    >>> of_people(Rate.of(80, 100, 0.01))
    '80% of 100 people (95% interval 71.1% to 86.7%)'
    """
    return f"{percent(rate.value)} of {counted(rate.n, 'person')} ({interval(rate)})"


def if_more_is_known(audit: Audit) -> str:
    """Say what an attacker achieves who knows all other time in the file; nothing if none was tried.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import habitprint as hp
    >>> audit = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> if_more_is_known(audit)
    ''
    >>> if_more_is_known(replace(audit, other_time=Outcome("joint", "l1", Rate.of(9, 12, 0.1), 0.0, 0)))
    'An attacker who knows all other time in the file re-identifies 75% of 12 people (95% interval 46.8% to 91.2%).'
    """
    if audit.other_time is None:
        return ""
    return f"An attacker who knows all other time in the file re-identifies {of_people(audit.other_time.rate)}."


def about_evidence(evidence: Sequence[EvidenceShare]) -> str:
    """Say which evidence counts in a trained weight.

    Examples
    --------
    >>> about_evidence([EvidenceShare("logarithm", 0.25), EvidenceShare("fourth-root", 0.75, is_rarer=True)])
    'Visiting the same rare places is the strongest evidence (75%). Spending similar shares of time at the same places \
adds 25%.'
    """

    def named(each: EvidenceShare) -> str:
        return fixed_text(f"evidence: {each.kind}", rare=" rare" if each.is_rarer else "")

    first, *rest = sorted(evidence, key=lambda each: -each.share)
    others = "".join(f" {headed(named(each))} adds {percent(each.share)}." for each in rest)
    return f"{headed(named(first))} is the strongest evidence ({percent(first.share)}).{others}"


def about_training(trained: AttackerTraining) -> str:
    """Say how the attacker of an audit trained, and which evidence counts; or why they could not.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_training(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).training)
    'The attacker could not train: two tables hold no times.'
    """
    evidence = "" if trained.missing is not None else about_evidence(trained.evidence)
    return f"{how_trained(trained)} {evidence}".strip()


def how_trained(trained: AttackerTraining) -> str:
    """Say on which data the attacker of an audit trained, or why they could not."""
    if trained.missing is not None:
        people = f"that needs at least {FEWEST_PEOPLE} people in both tables"
        return f"The attacker could not train: {people if trained.missing == 'people' else 'two tables hold no times'}."
    own = "their own data: they compared its first half with its second half, for"
    source = own if trained.on == "own data" else "two earlier tables of"
    return f"The attacker trained on {source} {counted(trained.n_people, 'person')}."


def chosen_in_training(found: Training) -> str:
    """Say which weight was chosen in training, and why.

    Examples
    --------
    >>> import habitprint as hp
    >>> chosen_in_training(hp.train(*hp.datasets.town(80, 30)))[:58]
    'Training on 80 people keeps the paper’s weight, jensen-sha'
    """
    paper = found.scores[0]
    other = found.chosen
    if other is paper:
        other = max(found.scores[1:], key=lambda each: each.advantage)
    times, low, high = other.times
    told = {"found": found, "paper": paper.weight.name, "other": other.weight.name}
    name = "weight kept" if found.chosen is paper else "weight chosen"
    return fixed_text(name, **told, times=times, low=low, high=high)


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
    longer = ", or both were extended" if any(point.x > audited for point in curve.points) else ""
    first, last = (curve.released and curve.released.one_range) or (date.min, date.min)
    released = "" if curve.released is None else curve.released.words
    days = counted((last - first).days + 1, "day")
    told = {"longer": longer, "released": released, "days": days, "fewest": FEWEST_USERS}
    said = [fixed_text(f"curve: {curve.how}", **told)]
    if curve.n_sampled is not None:
        of_whom = "some people" if curve.n_in_all is None else "a sample"
        said.append(fixed_text(f"curve of {of_whom}", curve=curve))
    if shown := _shown_by(curve.dimension, curve.points):
        said.append(shown)
    if on_all is not None:
        said.append(f"The last point is the attack on all {on_all.n:,} people.")
    return " ".join(said)


def _shown_by(dimension: Dimension, points: Sequence[Point]) -> str:
    """Say what a curve shows; nothing for fewer than two points.

    For a curve, the first and the last point are compared. Pairs of periods have no order: there the lowest and the
    highest risk are compared.
    """
    trend = trend_of(points)
    if trend is None:
        return ""
    if dimension == "pairs":
        return _differences(points)
    first, last = points[0], points[-1]
    start, end = (f"“{label}”" if ", " in label else label for label in (first.label, last.label))
    between, meaning = f"From {start} to {end}, the risk", MEANINGS.get((dimension, trend))
    if trend == "no clear change":
        shares = f"It is {_with_interval(first.rate)} at the first and {_with_interval(last.rate)} at the last"
        return f"{between} does not clearly change. {shares}."
    why = f": {meaning}" if meaning else ""
    return f"{between} {trend} from {percent(first.rate.value)} to {percent(last.rate.value)}{why}."


def _differences(points: Sequence[Point]) -> str:
    least, *_, most = sorted(points, key=lambda point: point.rate.value)
    # The two were picked out of all, so the difference is clear only where intervals are apart that all hold at once.
    level = 1 - (1 - LEVEL) / len(points)
    is_clear = change_of(least.rate.at(level), most.rate.at(level)) == "rises"
    return fixed_text("pairs of periods", least=least, most=most, clear="clear" if is_clear else "not clear")


def _with_interval(rate: Rate) -> str:
    return f"{percent(rate.value)} ({rate.interval_words})"


def about_time(audit: Audit) -> list[Block]:
    """Say what is at risk beyond two periods: from all other time, and if the release is repeated.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_time(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))[0].text[:30]
    'Two tables were given, without'
    """
    other = audit.other_time
    more: list[Block] = [Text(said)] if (said := if_more_is_known(audit)) else []
    if other is not None:
        sides = {"The known period": audit.strongest.rate, "All other time in the file": other.rate}
        rows = [[name, *rate_cells(rate)] for name, rate in sides.items()]
        more.append(table("What the attacker knows", ["", *RATE_HEADS], rows))
    if audit.following is not None:
        return [*more, *about_following(audit.following, audit.verdict.target)]
    why = "no times" if audit.run.kind == "histograms" else "too short" if audit.release is None else "release"
    return [*more, Text(fixed_text(f"following: {why}"))]


def about_forecast(found: Forecast, attack: str = "The same attack") -> str:
    """Say what risk is forecast, and how many people the attack re-identified.

    Examples
    --------
    >>> from habitprint.forecasting import Measured, forecast
    >>> from habitprint.rates import Rate
    >>> halves, whole = (Measured(n, Rate.of(right, 100, 1 / n)) for n, right in ((50, 80), (100, 60)))
    >>> about_forecast(forecast([halves, whole], 1_000))[:19]
    'Forecast for 1,000 '
    """
    share = f"{percent(found.share)} ({interval(found)}; by chance {percent(found.by_chance)})"
    if found.n <= found.n_measured:
        return f"Among {_people(found.n)} of these people, the risk would be {share}."
    return (
        f"Forecast for {_people(found.n)} similar people: {share}. {attack} re-identifies "
        f"{percent(found.measured.value)} of the {_people(found.n_measured)} people measured."
        f"{' The forecast is uncertain: test more people.' if found.is_vague else ''}"
    )


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
    Without protection, a release needs about 120,000 people for a risk within 5%. The forecast is uncertain: 40,000 \
people may be enough, or no number of people.
    """
    start, within = "Without protection, a release", f"for a risk within {percent(needed.target)}"
    if needed.low is None:
        return f"No realistic population brings the unprotected table below {percent(needed.target)}."
    if needed.n is None:
        least = f"{start} needs at least {_people(needed.low)} people {within}."
        return f"{least} Probably no number of people is enough."
    if needed.high is not None and needed.high <= needed.n_measured:
        return f"{start} of {_people(needed.high)} people is large enough {within}."
    low, about = _people(needed.low), f"{start} needs about {_people(needed.n)} people {within}."
    if needed.high is None:
        return f"{about} The forecast is uncertain: {low} people may be enough, or no number of people."
    return f"{about} The 95% interval is {low} to {_people(needed.high)} people."


def about_law(found: Forecast) -> str:
    """Say which curve fits best, and how far it is trusted.

    Examples
    --------
    >>> from habitprint.forecasting import Measured, forecast
    >>> from habitprint.rates import Rate
    >>> halves, whole = (Measured(n, Rate.of(right, 100, 1 / n)) for n, right in ((50, 80), (100, 60)))
    >>> about_law(forecast([halves, whole], 1_000))[:34]
    'The curve that fits best forecasts'
    """
    steeper = math.exp(float(ndtri(0.5 + found.level / 2)) * found.discrepancy)
    return fixed_text("law", share=found.law.share(found.n), meaning=_meaning(found.law), steeper=steeper)


def _meaning(law: Law) -> str:
    start = max(round(law.b), 1)
    falls = f"above about {start:,} people, each doubling of the number leaves {percent(2**-law.a)} of the share"
    if law.a > STEEP:
        falls = f"about every {max(round(math.log(2) * law.b / law.a), 1):,} more people halve the share"
    if law.always >= ALL:
        return "everybody is re-identified among any number of people"
    if law.always < NOTHING:
        return f"the share falls towards zero: {falls}"
    return f"{percent(law.always)} of people are re-identified among any number of people; for the others, {falls}"


def _people(n: int) -> str:
    """Return a number of people, rounded to three figures if it is large."""
    if n < 10_000:  # noqa: PLR2004
        return f"{n:,}"
    digits = len(str(n)) - 3
    rounded = round(n / 10**digits) * 10**digits
    for unit, word in ((10**9, "billion"), (10**6, "million")):
        if rounded >= unit:
            return f"{rounded / unit:.3g} {word}"
    return f"{rounded:,}"


def about_singling_out(audit: Audit) -> str:
    """Say how many people four places single out, in the audited table and with the recommended protection.

    Empty for an audit of an earlier version, which did not measure it.

    Examples
    --------
    >>> import habitprint as hp
    >>> print(about_singling_out(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)))
    An attacker who knows four random places of a person singles out 0% of 12 people (95% interval 0% to 0.038%). If \
they also know the counts there, they single out 100% (95% interval 99.96% to 100%).
    """
    measured = _measured(audit)
    if not measured:
        return ""
    (_, found), *protected = measured
    people, held = f" of {counted(found.n_people, 'person')}", "shares" if audit.data.has_shares else "counts"
    said = f"An attacker who knows four random places of a person singles out {_typical(found.by_places, people)}."
    said += f" If they also know the {held} there, they single out {_typical(found.with_counts)}."
    for _, each in protected:
        places, values = _typical(each.by_places), _typical(each.with_counts)
        apart = "with or without values" if places == values else f"and {values} with values"
        said += f" After the recommended protection, they single out {places}, {apart}."
    return said


def singling_out_table(audit: Audit) -> Table:
    """Return the share of people whom one to five places single out, with and without values there.

    Examples
    --------
    >>> import habitprint as hp
    >>> shown = singling_out_table(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))
    >>> [column.label for column in shown.columns]
    ['Known', 'Unprotected table']
    """
    measured = _measured(audit)
    rows: list[list[object]] = []
    for with_values in (False, True):
        for n_places in range(1, MOST_KNOWN + 1):
            value = f" with {'its value' if n_places == 1 else 'their values'}" if with_values else ""
            rates = (each.with_counts if with_values else each.by_places for _, each in measured)
            rows.append([counted(n_places, "place") + value, *(_cell(each[n_places - 1]) for each in rates)])
    return table("People who are singled out", ["Known", *(name for name, _ in measured)], rows)


def tell_singling_out(audit: Audit) -> list[Block]:
    """Return the blocks about singling out: the answer, the table, and its limits.

    Examples
    --------
    >>> import habitprint as hp
    >>> [block.kind for block in tell_singling_out(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))]
    ['text', 'text', 'table', 'text']
    """
    measured = _measured(audit)
    if not measured:
        return []
    sample = [] if audit.data.scope.whole is None else [fixed_text("singling out of a sample")]
    how, *limits = fixed_texts("singling out")
    return [Text(about_singling_out(audit)), Text(how), singling_out_table(audit), *map(Text, [*limits, *sample])]


def _measured(audit: Audit) -> list[tuple[str, SinglingOut]]:
    """Return the audited table and that of the recommended protection, by name, as far as they were measured."""
    trials = {
        "Audited table" if audit.verdict.is_protected else "Unprotected table": audit.protections.trials[0],
        "Recommended protection": None if audit.verdict.passes else audit.protections.advised,
    }
    return [(name, trial.singling_out) for name, trial in trials.items() if trial and trial.singling_out]


def _typical(rates: Sequence[Rate], people: str = "") -> str:
    rate = rates[TYPICAL - 1]
    return percent(rate.value) + people + (f" ({interval(rate)})" if _is_drawn(rate) else "")


def _cell(rate: Rate) -> Cell:
    return Cell(in_column(rate.value) + (f" ({rate.interval_words})" if _is_drawn(rate) else ""), rate.value)


def _is_drawn(rate: Rate) -> bool:
    return rate.method is not IntervalMethod.EXACT
