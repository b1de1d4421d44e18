"""Sentences about releases: the steps that made them, their guarantees, the checks of these, and their losses."""

from collections.abc import Mapping
from typing import Any, Literal

from habitprint.errors import first_few
from habitprint.formatting import at_most, counted, percent
from habitprint.losses import HALVES_SEED, SCALES
from habitprint.mechanisms import (
    AddNoise,
    Check,
    Coarsen,
    DifferentialPrivacy,
    EqualContributions,
    EqualTotals,
    Guarantee,
    KAnonymity,
    KeepTopPlaces,
    LimitContribution,
    LimitedContribution,
    Losses,
    Mechanism,
    MergeRarePlaces,
    Microaggregate,
    MultiplesOf,
    OnlyPlaces,
    Pseudonymise,
    Release,
    ReleaseShares,
    RoundTo,
    SmallestCount,
    Step,
    SuppressBelow,
)
from habitprint.mechanisms.files import PredictedOn, Stranger, StrangerCode
from habitprint.mechanisms.groups.microaggregation import Method

GROUPING: dict[Method, str] = {
    "best": "the tightest groups first, then exchanges between neighbours",
    "successive": "successive group selection",
    "mdav": "MDAV",
}
PREDICTED_ON: dict[PredictedOn, str] = {
    "other-period": "on the attacker's period",
    "held-out-events": f"on a random half of everybody's events, seed {HALVES_SEED}",
    "not-measured": "no other data was given",
    "no-common-users": "no user is in both periods",
    "no-gain": "people's own rows predict no better than the mean of all",
    "counts-not-whole": "counts are not whole, so events cannot be halved",
    "cannot-be-repeated": "half of the events cannot be protected in the same way",
}
STRANGERS: dict[StrangerCode, str] = {
    "column": "the column {name!r}",
    "order-of-columns": "columns in another order",
    "zero-counts": "rows with a count of zero",
    "metadata": "metadata {name!r}",
    "formatting": "numbers or lines in another format",
    "ids-not-fresh": "user ids that are not the fresh ones of its last step",
}


NoteCode = Literal[
    "original-ids",
    "earlier-ids",
    "key-leads-to-release",
    "other-people",
    "guarantee-above-target",
    "reconstruction-above-target",
    "exact-means",
    "measured-on-original",
    "measured-on-release",
]
NOTES: dict[NoteCode, str] = {
    "original-ids": "the release has the original user ids, because of --keep-ids. Nothing is guaranteed then.",
    "earlier-ids": "the release has the user ids of its input, because of --keep-ids. A reader who has both tables can "
    "join them.",
    "key-leads-to-release": "the key leads to the user ids of the input, which is a release, and not to the original "
    "ids. Give the key to that release: --earlier-key OUT.key.csv.",
    "other-people": "the audit had {n_audited} people in the release; this table has {n_users}. Audit the new file.",
    "guarantee-above-target": "the guarantee of this file is above the target of the audit, {target}: pointing at a "
    "row is right for at most {average} of people on average. Audit the file before you publish it.",
    "reconstruction-above-target": "up to {high} of rows can be reconstructed from this file, above the target of the "
    "audit, {target}. Protect again with --least-members 2, or with larger groups.",
    "exact-means": "exact means of groups can be taken apart. Do not publish this table; leave out --exact-means.",
    "measured-on-original": "the output below was measured on the original: not for publication.",
    "measured-on-release": "the output below was measured on the input, which is a release: not for publication.",
}


def about_note(code: NoteCode, numbers: Mapping[str, float]) -> str:
    """Say a caution about a release, with its numbers; shares are rounded up.

    Examples
    --------
    >>> about_note("other-people", {"n_audited": 1000, "n_users": 900})
    'the audit had 1,000 people in the release; this table has 900. Audit the new file.'
    """
    shown = {name: f"{each:,}" if isinstance(each, int) else at_most(each) for name, each in numbers.items()}
    return NOTES[code].format(**shown)


def about_mechanism(mechanism: Mechanism) -> str:
    """Say what a step with these parameters does; the words end a line that names the step.

    Examples
    --------
    >>> about_mechanism(KeepTopPlaces(2)), about_mechanism(RoundTo(5))
    ('kept the 2 most popular places, by visits', 'rounded counts to multiples of 5')
    >>> about_mechanism(AddNoise(1.0, limit=20)).partition(" to all")[0]
    'limited each user to 20 counts, then added discrete Laplace noise of scale 40'
    """
    match mechanism:
        case Coarsen():
            others = ", and left out all others" if mechanism.unknown == "leave-out" else ""
            words = f"merged places by a mapping{others}"
        case MergeRarePlaces() | KeepTopPlaces():
            rest = ", and merged all others into one" if isinstance(mechanism, MergeRarePlaces) else ""
            words = f"kept the {counted(mechanism.n, 'most popular place')}, by {mechanism.by}{rest}"
        case LimitContribution():
            words = f"limited counts: {_limits(mechanism.total, mechanism.per_place)}"
        case AddNoise():
            limited = f"limited each user to {counted(mechanism.limit, 'count')}, then " if mechanism.limit else ""
            cells = "counts above zero" if mechanism.delta else "all counts, zeros too"
            # Without a δ the threshold follows from the number of places, which is not published.
            below = "small ones" if mechanism.threshold is None else f"noisy counts below {mechanism.threshold:,}"
            words = (
                f"{limited}added discrete Laplace noise of scale {mechanism.scale:.4g} to {cells} (OpenDP's secure "
                f"source, no seed), and left out {below}"
            )
        case SuppressBelow():
            words = f"left out counts below {mechanism.threshold:g}"
        case RoundTo():
            words = f"rounded counts to multiples of {mechanism.base:g}"
        case Microaggregate():
            on_average = "" if mechanism.mean_k is None else f" and at least {mechanism.mean_k:g} on average"
            group = f"a group of at least {counted(mechanism.k, 'user')}{on_average}"
            words = f"replaced each user's shares by the mean of {group} ({mechanism.loss} loss); {_rows_of(mechanism)}"
        case ReleaseShares():
            words = "divided each row by its total"
        case Pseudonymise():
            words = "gave every user a fresh random id (secure source, no seed) and ordered the rows by it"
        case _:
            words = mechanism.name
    return words


def _rows_of(mechanism: Microaggregate) -> str:
    if mechanism.units is None:
        return "exact means, which can be taken apart: not for publication"
    few = "" if mechanism.least_members == 1 else f"; only places of {mechanism.least_members} members or more stay"
    source = "secure source, no seed" if mechanism.seed is None else f"seed {mechanism.seed}: not for publication"
    return f"every member contributes {counted(mechanism.units, 'unit')}, rounded at random ({source}){few}"


def _limits(total: float | None, per_place: float | None) -> str:
    limits = [(total, "in all"), (per_place, "at one place")]
    return "no user adds more than " + " and ".join(f"{n:g} {where}" for n, where in limits if n is not None)


def about_findings(step: Step) -> str:
    """Say what a step did to the original: for its owner alone. Empty where it found nothing.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_findings(hp.suppress_below(hp.Histograms.from_strings({"Jill": "aab"}), 2).steps[0])
    '1 of 2 counts was left out; 0 of 1 user were removed'
    """
    if not step.findings:
        return ""
    n = step.findings
    said: list[str] = []
    match step.mechanism:
        case Coarsen():
            said = [
                f"the mapping leads from {n['n_places_listed']:,} to {counted(n['n_targets'], 'place')}",
                f"{counted(n['n_places_before'], 'place')} became {n['n_places']:,}",
            ]
            if step.mechanism.unknown == "leave-out":
                said.append(f"{counted(n['n_places_left_out'], 'place')} left out")
        case MergeRarePlaces() | KeepTopPlaces():
            said = [f"there {'was' if n['n_places_before'] == 1 else 'were'} {counted(n['n_places_before'], 'place')}"]
        case LimitContribution():
            said = [f"{n['n_users_limited']:,} of {counted(n['n_users'], 'user')} had more"]
        case AddNoise():
            said = [f"noise was drawn for {counted(n['n_draws'], 'count')}", f"the threshold was {n['threshold']:,}"]
        case SuppressBelow():
            said = [_of(n["n_counts_suppressed"], n["n_counts"], "count", "left out")]
        case Microaggregate():
            smallest, largest = n["smallest_group"], n["largest_group"]
            each = counted(smallest, "user") if smallest == largest else f"{smallest:,} to {largest:,} users"
            said = [f"{counted(n['n_groups'], 'group')} of {each}, by {GROUPING[step.mechanism.method]}"]
    if "n_users_discarded" in n:
        said.append(_of(n["n_users_discarded"], n["n_users"], "user", "removed"))
    return "; ".join(said)


def _of(n: int, of: int, what: str, done: str) -> str:
    return f"{n:,} of {counted(of, what)} {'was' if n == 1 else 'were'} {done}"


def about_step(step: Step) -> str:
    """Say what a step did, and what it found in the original: for its owner alone.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_step(hp.keep_top_places(hp.Histograms.from_strings({"Jill": "aab"}), 1).steps[0])
    'kept the 1 most popular place, by visits; there were 2 places; 0 of 1 user were removed'
    """
    return "; ".join(filter(None, (about_mechanism(step.mechanism), about_findings(step))))


def about_guarantee(guarantee: Guarantee) -> str:
    """Say what a guarantee promises.

    Examples
    --------
    >>> about_guarantee(KAnonymity(5)), about_guarantee(SmallestCount(3))
    ('5-anonymity: every row is identical to at least 4 others', 'no count is below 3')
    """
    match guarantee:
        case KAnonymity():
            words = f"{guarantee.k}-anonymity: every row is identical to at least {counted(guarantee.k - 1, 'other')}"
        case SmallestCount():
            words = f"no count is below {guarantee.threshold:g}"
        case MultiplesOf():
            words = f"every count is a multiple of {guarantee.base:g}"
        case LimitedContribution():
            words = _limits(guarantee.total, guarantee.per_place)
        case OnlyPlaces():
            words = f"the table has no place but {counted(len(guarantee.places), 'listed one')}"
        case EqualTotals():
            words = "all rows have the same total, so no total is stated"
        case EqualContributions():
            units = counted(guarantee.units, "unit")
            words = (
                f"every person contributes at most {units}: m people publish whole units out of {guarantee.units} · m"
            )
        case DifferentialPrivacy():
            words = _differential_privacy(guarantee)
        case _:
            words = str(guarantee)
    return words


def _differential_privacy(guarantee: DifferentialPrivacy) -> str:
    hidden = "one event" if guarantee.limit is None else f"one user with up to {counted(guarantee.limit, 'count')}"
    delta = f", δ = {guarantee.delta:g}" if guarantee.delta else ""
    chosen = "; the list of places was chosen without noise and is not covered" if guarantee.are_places_chosen else ""
    return (
        f"differential privacy with ε = {guarantee.epsilon:g}{delta}: the release hides {hidden}; the lists of users "
        f"and places count as public{chosen}"
    )


def about_check(check: Check) -> str:
    """Say what was seen in the data when a guarantee was checked.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_check(KAnonymity(5).check(hp.Histograms.from_strings({1: "ab", 2: "ab"})))
    'the smallest anonymity set has 2 of 2 users'
    """
    seen = check.evidence
    match check.guarantee:
        case KAnonymity():
            words = f"the smallest anonymity set has {seen['smallest']:,} of {counted(seen['n_users'], 'user')}"
        case SmallestCount():
            words = f"the smallest count is {seen['smallest']:g}"
        case MultiplesOf():
            words = _of(seen["n_wrong"], seen["n_counts"], "count", "no multiple")
        case LimitedContribution():
            words = f"the largest total is {seen['largest_total']:g}, the largest count {seen['largest_count']:g}"
        case OnlyPlaces():
            words = _listed(seen)
        case EqualTotals():
            least, most = seen["smallest_total"], seen["largest_total"]
            words = f"all totals are {most:g}" if check.holds else f"totals are {least:g} to {most:g}"
        case EqualContributions():
            above = f"; {counted(seen['n_rows_above_one'], 'row')} above one" if seen["n_rows_above_one"] else ""
            words = f"{_of(seen['n_wrong'], seen['n_values'], 'value', 'no whole number of units')}{above}"
        case _:
            words = "the data cannot show it: it rests on OpenDP's noise and accounting"
    return words


def _listed(seen: Mapping[str, Any]) -> str:
    if not seen["n_others"]:
        return f"all {counted(seen['n_places'], 'place')} are listed"
    return f"{_of(seen['n_others'], seen['n_places'], 'place', 'not listed')}: {first_few(seen['others'])}"


def about_stranger(found: Stranger) -> str:
    """Name content of a file that no release has.

    Examples
    --------
    >>> about_stranger(Stranger("column", "name"))
    "the column 'name'"
    """
    return STRANGERS[found.code].format(name=found.name)


def tell_release(release: Release) -> tuple[str, ...]:
    """Return what was done and what is guaranteed, one sentence each, for the file that is published with a release.

    Examples
    --------
    >>> import habitprint as hp
    >>> tell_release(hp.round_to(hp.Histograms.from_strings({"Jill": "aab"}), 2))
    ('rounded counts to multiples of 2', 'every count is a multiple of 2')
    """
    done = (about_mechanism(step.mechanism) for step in release.steps)
    return (*done, *map(about_guarantee, release.guarantees))


def loss_lines(losses: Losses) -> list[tuple[str, str]]:
    """Return every loss with its name.

    Examples
    --------
    >>> for line in loss_lines(Losses(0.25, 0.031, None, 0.0, 0.0, 20, 100, 98, 40, 10)):
    ...     print(*line, sep=": ")
    information loss: 0.2500 (0: nothing is lost, 1: everybody looks the same)
    predictive value: not measured (no other data was given)
    totals per place: off by 3.1%, every user counting once
    top 20 places: 0% missed; 0% of their pairs swapped
    """
    value = "not defined" if losses.information_loss is None else f"{losses.information_loss:.4f}"
    counts = "" if losses.count_totals_error is None else f"; of counts {percent(losses.count_totals_error)}"
    kept = "not measured" if losses.predictive_value is None else f"{percent(losses.predictive_value)} kept"
    missed, swapped = percent(losses.top_places_missed), percent(losses.ranking_error)
    return [
        ("information loss", f"{value} ({SCALES['patterns'].ends})"),
        ("predictive value", f"{kept} ({PREDICTED_ON[losses.predicted_on]})"),
        ("totals per place", f"off by {percent(losses.totals_error)}, every user counting once{counts}"),
        (f"top {counted(losses.n_top, 'place')}", f"{missed} missed; {swapped} of their pairs swapped"),
    ]
