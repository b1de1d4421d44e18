"""Releases in sentences: their steps, guarantees and checks, their costs, and what is promised about them.

The promises are always three lines: row pointed at, row reconstructed, places attributed. The first is guaranteed by
the number of identical rows. The other two are measured. They stand together wherever people read about a release.
"""

from collections.abc import Mapping

from habitprint import mechanisms
from habitprint.auditing.reconstruction import Attribution, Risks, SensitiveClaims
from habitprint.errors import first_few
from habitprint.formatting import at_most, counted, headed, percent, sentence
from habitprint.losses import HALVES_SEED, SCALES
from habitprint.mechanisms import Check, Guarantee, GuaranteedRisk, Losses, Mechanism, Release, Step, TotalsExposure
from habitprint.mechanisms.files import Stranger
from habitprint.rates import Rate
from habitprint.wording.blocks import fixed_text, fixed_texts

POINTED, RECONSTRUCTED, ATTRIBUTED = "row pointed at", "row reconstructed", "places attributed"
NOT_FRESH = "nothing is guaranteed: the ids are not fresh, so they may tell whose row is whose"
UNIQUE = "nothing is guaranteed: some rows are unique"
NOT_MEASURED = "not measured: habitprint check --original --known measures it, unless the groups changed later"
WHOLE_ROWS = "each row is published whole: an attacker who points at the right row knows all of it"


def about_note(code: str, numbers: Mapping[str, float]) -> str:
    """Say the caution of ``texts.md`` about a release, with its numbers; shares are rounded up.

    Examples
    --------
    >>> about_note("other-people", {"n_audited": 1000, "n_users": 900})
    'the audit had 1,000 people in the release; this table has 900. Audit the new file.'
    """
    shown = {name: f"{each:,}" if isinstance(each, int) else at_most(each) for name, each in numbers.items()}
    return fixed_text(code, **shown)


def about_mechanism(mechanism: Mechanism) -> str:
    """Say what a step with these parameters does, in a sentence or several without the last full stop.

    Examples
    --------
    >>> about_mechanism(mechanisms.KeepTopPlaces(2)), about_mechanism(mechanisms.RoundTo(5))
    ('kept the 2 most popular places, by visits', 'rounded counts to multiples of 5')
    >>> about_mechanism(mechanisms.AddNoise(1.0, limit=20)).partition(" to all")[0]
    'limited each user to 20 counts, then added discrete Laplace noise of scale 40'
    """
    more: dict[str, object] = {}
    match mechanism:
        case mechanisms.Coarsen():
            more["others"] = ", and left out all others" if mechanism.unknown == "leave-out" else ""
        case mechanisms.LimitContribution():
            more["limits"] = _limits(mechanism.total, mechanism.per_place)
        case mechanisms.AddNoise():
            limit, threshold = mechanism.limit, mechanism.threshold
            more["limited"] = f"limited each user to {counted(limit, 'count')}, then " if limit else ""
            more["cells"] = "counts above zero" if mechanism.delta else "all counts, zeros too"
            # Without a δ the threshold follows from the number of places, which is not published.
            more["below"] = "small noisy counts" if threshold is None else f"noisy counts below {threshold:,}"
        case mechanisms.Microaggregate():
            more["average"] = "" if mechanism.mean_k is None else f" and at least {mechanism.mean_k:g} on average"
            more["by"] = "" if mechanism.loss == "l1" else ", by squared distances"
            more["rows"] = _rows_of(mechanism)
    return fixed_text(f"step: {mechanism.name}", step=mechanism, **more).removesuffix(".")


def _rows_of(mechanism: mechanisms.Microaggregate) -> str:
    if mechanism.units is None:
        return "Rows can be reconstructed from these exact means: do not publish them"
    few, seed = mechanism.least_members, mechanism.seed
    source = "" if seed is None else f" with seed {seed}: do not publish them"
    rounded = f"The shares of each member were rounded at random to multiples of 1/{mechanism.units}{source}"
    return rounded if few == 1 else f"{rounded}. A group shows only places that {few} or more of its members visited"


def _limits(total: float | None, per_place: float | None) -> str:
    limits = [(total, "in all"), (per_place, "at one place")]
    return "no user adds more than " + " and ".join(f"{n:g} {where}" for n, where in limits if n is not None)


def about_findings(step: Step) -> str:
    """Say what a step did to the original: for its owner alone. Empty where it found nothing.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_findings(hp.SuppressBelow(2)(hp.Histograms.from_strings({"Jill": "aab"})).steps[0])
    '1 of 2 counts was left out. 0 of 1 user were removed'
    """
    if not step.findings:
        return ""
    n = step.findings
    said: list[str] = []
    match step.mechanism:
        case mechanisms.Coarsen():
            said = [
                f"the mapping leads from {n['n_places_listed']:,} to {counted(n['n_targets'], 'place')}",
                f"{counted(n['n_places_before'], 'place')} became {n['n_places']:,}",
            ]
            if step.mechanism.unknown == "leave-out":
                said.append(f"{counted(n['n_places_left_out'], 'place')} left out")
        case mechanisms.MergeRarePlaces() | mechanisms.KeepTopPlaces():
            said = [f"there {'was' if n['n_places_before'] == 1 else 'were'} {counted(n['n_places_before'], 'place')}"]
        case mechanisms.LimitContribution():
            said = [f"{n['n_users_limited']:,} of {counted(n['n_users'], 'user')} had more"]
        case mechanisms.AddNoise():
            said = [f"noise was drawn for {counted(n['n_draws'], 'count')}", f"the threshold was {n['threshold']:,}"]
        case mechanisms.SuppressBelow():
            said = [_of(n["n_counts_suppressed"], n["n_counts"], "count", "left out")]
        case mechanisms.Microaggregate():
            smallest, largest = n["smallest_group"], n["largest_group"]
            each = counted(smallest, "user") if smallest == largest else f"{smallest:,} to {largest:,} users"
            method = fixed_text(f"method: {step.mechanism.method}")
            said = [f"{counted(n['n_groups'], 'group')} of {each} (method: {method})"]
    if "n_users_discarded" in n:
        said.append(_of(n["n_users_discarded"], n["n_users"], "user", "removed"))
    return ". ".join(map(headed, said))


def _of(n: int, of: int, what: str, done: str) -> str:
    return f"{n:,} of {counted(of, what)} {'was' if n == 1 else 'were'} {done}"


def about_step(step: Step) -> str:
    """Say what a step did, and what it found in the original: for its owner alone.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_step(hp.KeepTopPlaces(1)(hp.Histograms.from_strings({"Jill": "aab"})).steps[0])
    'kept the 1 most popular place, by visits. There were 2 places. 0 of 1 user were removed'
    """
    return ". ".join(filter(None, (about_mechanism(step.mechanism), about_findings(step))))


def about_guarantee(guarantee: Guarantee) -> str:
    """Say what a guarantee promises.

    Examples
    --------
    >>> about_guarantee(mechanisms.KAnonymity(5)), about_guarantee(mechanisms.SmallestCount(3))
    ('5-anonymity: every row is identical to at least 4 others', 'no count is below 3')
    """
    more: dict[str, object] = {}
    match guarantee:
        case mechanisms.KAnonymity():
            more["n_others"] = guarantee.k - 1
        case mechanisms.LimitedContribution():
            more["limits"] = _limits(guarantee.total, guarantee.per_place)
        case mechanisms.OnlyPlaces():
            more["n_places"] = len(guarantee.places)
        case mechanisms.DifferentialPrivacy():
            limit, is_chosen = guarantee.limit, guarantee.are_places_chosen
            more["hidden"] = "one event" if limit is None else f"one user with up to {counted(limit, 'count')}"
            more["delta"] = f", δ = {guarantee.delta:g}" if guarantee.delta else ""
            more["chosen"] = "; the list of places was chosen without noise and is not covered" if is_chosen else ""
    return fixed_text(f"guarantee: {guarantee.name}", promise=guarantee, **more).removesuffix(".")


def about_check(check: Check) -> str:
    """Say what was seen in the data when a guarantee was checked.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_check(mechanisms.KAnonymity(5).check(hp.Histograms.from_strings({1: "ab", 2: "ab"})))
    'the smallest anonymity set has 2 of 2 users'
    """
    seen = check.evidence
    match check.guarantee:
        case mechanisms.MultiplesOf():
            return _of(seen["n_wrong"], seen["n_counts"], "count", "not such a multiple")
        case mechanisms.OnlyPlaces() if seen["n_others"]:
            return f"{_of(seen['n_others'], seen['n_places'], 'place', 'not listed')}: {first_few(seen['others'])}"
        case mechanisms.EqualTotals() if not check.holds:
            return f"totals are {seen['smallest_total']:g} to {seen['largest_total']:g}"
        case mechanisms.EqualContributions():
            above = f"; {counted(seen['n_rows_above_one'], 'row')} above one" if seen["n_rows_above_one"] else ""
            return f"{_of(seen['n_wrong'], seen['n_values'], 'value', 'not a whole number of units')}{above}"
    return fixed_text(f"check: {check.guarantee.name}", seen=seen)


def about_stranger(found: Stranger) -> str:
    """Name content of a file that no release has.

    Examples
    --------
    >>> about_stranger(Stranger("column", "name"))
    "the column 'name'"
    """
    return fixed_text(f"stranger: {found.code}", name=found.name)


def tell_release(release: Release) -> tuple[str, ...]:
    """Return what was done and what is guaranteed, one sentence each, for the file that is published with a release.

    Examples
    --------
    >>> import habitprint as hp
    >>> tell_release(hp.RoundTo(2)(hp.Histograms.from_strings({"Jill": "aab"})))
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
    information loss: 0.2500 (0 means that nothing is lost, 1 means that everybody looks the same)
    predictive value: not measured (no other data was given)
    totals per place: off by 3.1%, every user counting once
    top 20 places: 0% missed; 0% of their pairs swapped
    """
    value = "not defined" if losses.information_loss is None else f"{losses.information_loss:.4f}"
    counts = "" if losses.count_totals_error is None else f"; of counts {percent(losses.count_totals_error)}"
    kept = "not measured" if losses.predictive_value is None else f"{percent(losses.predictive_value)} kept"
    missed, swapped = percent(losses.top_places_missed), percent(losses.ranking_error)
    return [
        ("information loss", f"{value} ({fixed_texts('loss: information loss')[1].removesuffix('.')})"),
        ("predictive value", f"{kept} ({fixed_text(f'predicted on: {losses.predicted_on}', seed=HALVES_SEED)})"),
        ("totals per place", f"off by {percent(losses.totals_error)}, every user counting once{counts}"),
        (f"top {counted(losses.n_top, 'place')}", f"{missed} missed; {swapped} of their pairs swapped"),
    ]


def about_costs(losses: Losses) -> str:
    """State every loss, in three sentences.

    Examples
    --------
    >>> import habitprint as hp
    >>> april, may = hp.datasets.town(60, 20)
    >>> about_costs(hp.measure_losses(april, hp.microaggregate(april, k=20, units=None), later=may))
    '72.6% of predictive value and 86% of individual patterns are lost. Totals and ranking are kept. Nobody is \
removed.'
    """
    lost = {keep: scale.of(losses) for keep, scale in SCALES.items()}
    shown = {keep: None if loss is None else percent(SCALES[keep].shown(loss)) for keep, loss in lost.items()}
    rows = {"predictive value": shown["prediction"], "individual patterns": shown["patterns"]}
    said = " and ".join(f"{loss} of {what}" for what, loss in rows.items() if loss is not None)
    totals, ranking = (
        "kept" if shown[each] in {None, "0%"} else f"off by {shown[each]}" for each in ("totals", "ranking")
    )
    kept = f"Totals are {totals}, the ranking {ranking.removeprefix('off ') if totals != 'kept' else f'is {ranking}'}."
    n_out = losses.n_users - losses.n_users_kept
    return " ".join(
        [
            f"{said} are lost." if said else "",
            *(f"{headed(what)}: not measured." for what, loss in rows.items() if loss is None),
            "Totals and ranking are kept." if totals == ranking == "kept" else kept,
            f"{counted(n_out, 'person')} {'is' if n_out == 1 else 'are'} removed." if n_out else "Nobody is removed.",
        ]
    ).strip()


def about_losses(losses: Losses | None) -> str:
    """Say what a protected table has lost against its original.

    Examples
    --------
    >>> about_losses(None)
    'The losses of this table against its original are not known. Further losses are measured against this table.'
    """
    further = "Further losses are measured against this table."
    if losses is None:
        return f"The losses of this table against its original are not known. {further}"
    kept = f"{losses.n_places_kept:,} of {counted(losses.n_places, 'place')} are kept"
    return f"Losses of this table against its original: {about_costs(losses)} {kept}. {further}"


def about_totals(found: TotalsExposure) -> str:
    """Say what totals alone tell, as the end of a sentence.

    Examples
    --------
    >>> about_totals(TotalsExposure(100, 1.5, 60, 6.2))
    'a person’s total alone leaves about 1.5 of 100 candidates and singles out 60 people'
    >>> about_totals(TotalsExposure(100, 100.0, 0, 0.0))
    'no total is visible'
    """
    if found.has_exact_means:
        return "no total is stated, but exact means of groups show the total of a member who alone visited a place"
    if found.bits == 0:
        return "no total is visible"
    seen = fixed_text("totals read off", n=found.n_read_off) if found.n_read_off else ""
    return f"{seen} {fixed_text('totals alone', found=found)}".strip()


def risk_lines(risks: Risks) -> tuple[tuple[str, str], ...]:
    """Return the three lines, each with its name.

    Examples
    --------
    >>> for line in risk_lines(Risks(GuaranteedRisk(0.05, 0.05), is_grouped=True)):
    ...     print(*line, sep=": ")
    row pointed at: guaranteed: an attacker who points at a person’s row is right at most 5% of the time
    row reconstructed: not measured: habitprint check --original --known measures it, unless the groups changed later
    places attributed: not measured: habitprint check --original --known measures it, unless the groups changed later
    """
    pointed = NOT_FRESH
    if (guaranteed := risks.guaranteed) is not None:
        pointed = f"guaranteed: {bound_in_short(guaranteed)}" if guaranteed.stated < 1 else UNIQUE
    rows = places = NOT_MEASURED if risks.is_grouped else WHOLE_ROWS
    if (found := risks.reconstruction) is not None:
        few = found.few_places
        apart = (
            f" Of people with one or two places, it is {percent(few.value)}."
            if few is not None and few.n_correct
            else ""
        )
        draws = "" if risks.n_draws == 1 else f" This is the worst of {risks.n_draws} random draws."
        rows = fixed_text("rows reconstructed", rate=found.rate, draws=draws, apart=apart)
    if risks.attribution is not None:
        places = _attributed(risks.attribution)
    return (POINTED, pointed), (RECONSTRUCTED, rows), (ATTRIBUTED, places)


def bound_in_cell(guaranteed: GuaranteedRisk) -> str:
    """Return the share of rows that are pointed at correctly, as guaranteed, for a cell of a table.

    Examples
    --------
    >>> bound_in_cell(GuaranteedRisk(0.0501, 0.1)), bound_in_cell(GuaranteedRisk(1.0, 1.0))
    ('at most 5.1%', 'none')
    """
    return f"at most {at_most(guaranteed.stated)}" if guaranteed.stated < 1 else "none"


def bound_in_short(guaranteed: GuaranteedRisk) -> str:
    """Return what is guaranteed about pointing at rows, as a clause; bounds are rounded up.

    Examples
    --------
    >>> bound_in_short(GuaranteedRisk(0.0501, 0.1))
    'an attacker who points at a person’s row is right at most 5.1% of the time on average, at most 10% for any \
person'
    """
    mean, largest = at_most(guaranteed.stated), at_most(guaranteed.highest)
    most = "" if mean == largest else f" on average, at most {largest} for any person"
    return f"an attacker who points at a person’s row is right at most {mean} of the time{most}"


def tell_bound(guaranteed: GuaranteedRisk) -> str:
    """Say what is guaranteed about pointing at rows of a table, as a sentence.

    Examples
    --------
    >>> tell_bound(GuaranteedRisk(0.2, 0.2))
    'An attacker who points at a person’s row is right at most 20% of the time.'
    """
    if guaranteed.stated >= 1:
        return "None. Some rows are unique, so attacks that were not run may re-identify more people."
    return sentence(bound_in_short(guaranteed))


def rows_reconstructed(rate: Rate) -> str:
    """Say how many people's own rows can be reconstructed.

    Examples
    --------
    >>> rows_reconstructed(Rate.of(3, 1000, 0.0))
    'own rows of 0.3% of people can be reconstructed (up to 0.9%)'
    """
    return f"own rows of {percent(rate.value)} of people can be reconstructed (up to {at_most(rate.high)})"


def _attributed(found: Attribution) -> str:
    claims = {
        "They then claim places that they did not know of a person: {} of these claims are right (base rate: {} for a "
        "random member)": found.new_places,
        "If they know a place of only one member and the group shows it, this member still visits it in {} of cases "
        "(base rate: {} of all such places, shown or not)": found.still_visited,
    }
    told = "".join(
        f". {words.format(percent(rate.value), percent(rate.by_chance))}"
        for words, rate in claims.items()
        if rate is not None
    )
    told += "" if found.sensitive is None else f". {about_sensitive(found.sensitive)}"
    group = percent(found.right_group.value)
    return f"measured: the attacker finds the right group for {group} of people, but all rows in it are identical{told}"


def about_sensitive(found: SensitiveClaims) -> str:
    """Say how often claims about sensitive places are right, beside the base rate; or why that is not measured.

    Examples
    --------
    >>> print(about_sensitive(SensitiveClaims(3, 2, 200, Rate.of(40, 200, by_chance=0.05))))
    Of 200 claims about sensitive places, 20% are right (95% interval 15.0% to 26.1%; 5% without the release)
    >>> about_sensitive(SensitiveClaims(3, 2, 4, None))
    'Sensitive places: not measured, because only 4 claims can be made'
    >>> about_sensitive(SensitiveClaims(3, 0, 0, None))
    'Sensitive places: not measured, because no group shows one'
    """
    if found.rate is None:
        few = f"only {counted(found.n_claims, 'claim')} can be made" if found.n_shown else "no group shows one"
        return f"Sensitive places: not measured, because {few}"
    return fixed_text("sensitive places", found=found)
