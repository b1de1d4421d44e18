"""The first screen of an audit: headline, tiles, recommendation and cautions."""

from habitprint.auditing.audit import Audit
from habitprint.auditing.goal import Goal
from habitprint.auditing.trials import Trial
from habitprint.formatting import at_most, counted, headed, percent, printable
from habitprint.losses import leaves_little, loses_much
from habitprint.periods.day_table import in_words as day_in_words
from habitprint.rates import Rate, wilson_interval
from habitprint.wording.blocks import (
    Block,
    Card,
    Caution,
    Headline,
    Sign,
    Terms,
    Text,
    Tile,
    Tiles,
    fixed_text,
    sentences,
    terms,
)
from habitprint.wording.findings import what_of
from habitprint.wording.people import about_certainty
from habitprint.wording.protections import (
    about_alternatives,
    about_protections,
    enough_alone,
    guarantee_of,
    measured_on,
)
from habitprint.wording.releases import (
    about_costs,
    about_losses,
    bound_in_cell,
    bound_in_short,
    rows_reconstructed,
    tell_bound,
)
from habitprint.wording.risk import about_strongest, if_more_is_known, interval
from habitprint.wording.scope import of_sample

LIKELY = 0.95  # claims with at least this precision are reported
WHOLE = 0.1  # from here on, a headline has whole percents
UNSEEN = "The protection was tested on a sample. Check or audit the protected file before release."


def first_screen(audit: Audit) -> tuple[Block, ...]:
    """Return the first screen of an audit: headline, tiles, recommendation and caution.

    Examples
    --------
    >>> import habitprint as hp
    >>> [block.kind for block in first_screen(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))]
    ['headline', 'tiles', 'card', 'caution']
    """
    said = cautions(audit)
    return headline(audit), tiles(audit), recommendation(audit), *([Caution(" ".join(said))] if said else [])


def summary(audit: Audit) -> str:
    """Return the first screen as a few lines of text.

    Examples
    --------
    >>> import habitprint as hp
    >>> print(summary(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)).partition(chr(10))[0])
    ✗ 100% of people can be re-identified. Target: 5%.
    """
    lines = "\n".join(sentences(first_screen(audit)))
    return printable(f"{headline(audit).mark} {lines}", keep="\n")


def headline(audit: Audit) -> Headline:  # noqa: PLR0911  (one for each reason)
    """Return the result and the target, in at most twelve words.

    Examples
    --------
    >>> import habitprint as hp
    >>> headline(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)).text
    '100% of people can be re-identified. Target: 5%.'
    """
    verdict, rate, table = audit.verdict, audit.strongest.rate, audit.protections.trials[0]
    target, rows_target = verdict.target, audit.options.goal.rows_target
    people = "people" if audit.data.scope.whole is None else "sampled people"
    if verdict.reason in {"guaranteed", "measured"} and not verdict.passes and audit.on_all is not None:
        return _share(target, audit.on_all.rate, "of all people can be re-identified")
    match verdict.reason:
        case "guaranteed":
            return _with_target(target, f"Guaranteed: {_bound(audit)}.", "met")
        case "measured" | "above target" | "interval too wide":
            return _share(target, rate, f"of {people} can be re-identified")
        case "rows reconstructed" if table.reconstruction is not None:
            return _share(rows_target, table.reconstruction.rate, "of rows can be reconstructed")
        case "rows reconstructed" | "reconstruction not measured":
            return _with_target(rows_target, "Reconstruction of rows was not measured.", "open")
        case "not guaranteed":
            return _with_target(target, f"Guarantee: {_bound(audit)}.", "open")
        case "too few people" | "chance above target":
            return Headline(f"{rate.n:,} people are too few to show a risk within {percent(target)}.", "open")
        case "person target":
            limit = percent(audit.options.goal.person_target or 0.0)
            return Headline(f"Some people exceed the limit per person of {limit}.", "missed")
        case "most confident target":
            limit = percent(audit.options.confident_target or 0.0)
            return Headline(f"The most confident claims are right too often. Limit: {limit}.", "missed")


def _bound(audit: Audit) -> str:
    """Return the guarantee that the target is about: the average, or for a preset the highest risk."""
    guaranteed = audit.verdict.guaranteed
    if guaranteed.stated >= 1:
        return "none"
    if audit.options.target_preset:
        return f"the highest risk of any person is {at_most(guaranteed.highest)}"
    return f"at most {at_most(guaranteed.stated)} of rows are pointed at correctly"


def _with_target(target: float, text: str, sign: Sign) -> Headline:
    return Headline(f"{text} Target: {percent(target)}.", sign)


def _share(target: float, rate: Rate, what: str) -> Headline:
    """Tell a measured share; where only the upper end of its interval is above the target, that end."""
    if rate.low <= target < rate.high:
        return _with_target(target, f"Up to {at_most(rate.high)} {what}.", "open")
    rounded = round(rate.value, 2)  # whole percents, unless they would show another result
    is_whole = rate.value >= WHOLE and rounded < 1 and (rounded > target) == (rate.low > target)
    share = f"{rate.value:.0%}" if is_whole else percent(rate.value)
    return _with_target(target, f"{share} {what}.", "missed" if rate.low > target else "met")


def tiles(audit: Audit) -> Tiles:
    """Return the four numbers that the answer rests on; where a sample was audited, those of all people too.

    Examples
    --------
    >>> import habitprint as hp
    >>> [tile.label for tile in tiles(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)).items]
    ['Measured risk', 'Guarantee', 'Rows reconstructed', 'People tested']
    """
    rate, guaranteed, scope = audit.strongest.rate, audit.verdict.guaranteed, audit.data.scope
    taken, sampled = audit.protections.trials[0].taken, of_sample(scope)
    rows = ("not measured", "needs the original table") if taken.is_grouped else ("–", "each row is published whole")
    if taken.found is not None:
        rows = percent(taken.found.rate.value), interval(taken.found.rate)
    where = "in both tables" if scope.share_of_rows is None else f"of {scope.n_in_file:,} in the file"
    bound = bound_in_cell(guaranteed), "pointing at a row" if guaranteed.stated < 1 else ""
    if audit.options.target_preset and guaranteed.stated < 1:
        bound = (f"at most {at_most(guaranteed.highest)}", "highest risk of any person")
    return Tiles(
        (
            Tile(f"Measured risk{sampled}", percent(rate.value), interval(rate)),
            *_on_all(audit),
            Tile(f"Guarantee{sampled}", *bound),
            Tile("Rows reconstructed", *rows),
            Tile("People tested", f"{rate.n:,}", where if scope.whole is None else "drawn at random"),
        )
    )


def _on_all(audit: Audit) -> list[Tile]:
    on_all, forecast = audit.on_all, audit.forecast
    if on_all is None or audit.data.scope.whole is None:
        return []
    measured = Tile(f"One attack on all {on_all.rate.n:,} people", percent(on_all.rate.value), interval(on_all.rate))
    if forecast is None:
        return [measured]
    return [measured, Tile(f"Forecast for {forecast.n:,} people", percent(forecast.share), interval(forecast))]


def recommendation(audit: Audit) -> Card:
    """Return the recommended protection with its guarantee and all of its costs, or why there is none.

    Examples
    --------
    >>> import habitprint as hp
    >>> recommendation(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)).title
    'No protection meets the target'
    """
    found, goal = audit.protections, audit.options.goal
    if audit.release is not None:
        return Card(f"Protected: {audit.release.protection}", (about_release(audit),))
    if audit.verdict.passes:
        return Card("No further protection is needed", (Text("The table meets the target."),))
    if found.chosen == 0:
        return Card("No protection was selected", (Text("The sample meets the target, but all people may not."),))
    advised = found.advised
    if advised is None:
        tried = f"None of {counted(found.n_tried, 'protection')} tried meets the target."
        return Card("No protection meets the target", (Text(f"{tried} {about_alternatives(audit)}".strip()),))
    facts = (
        ("Guarantee", _guarantee(advised)),
        ("Measured", _measured(advised, goal)),
        ("Cost", about_costs(advised.losses)),
    )
    if loses_much(goal.keep, advised.losses):
        cost = "Little utility is left" if leaves_little(goal.keep, advised.losses) else "Costly protection"
        advice = (
            f"consider {' or '.join(enough)}" if (enough := enough_alone(audit)) else "no alternative is enough alone"
        )
        return Card(f"{cost}: {advice}", (terms(("Recommended", advised.label), *facts),))
    return Card(f"Recommended protection: {advised.label}", (terms(*facts),))


def about_release(audit: Audit) -> Terms:
    """Return the cost of the protection of a release, and the risk before it.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_release(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)).items
    ()
    """
    release, losses = audit.release, audit.data.losses
    if release is None:
        return terms()
    rate, more = release.strongest.rate, release.knows_more
    before = f"{percent(rate.value)} of {counted(rate.n, 'person')} could be re-identified"
    if more is not None:
        before += f"; {percent(more.rate.value)} of {more.rate.n:,} if the attacker knew all other time in the file"
    return terms(
        ("Cost", "" if losses is None else about_costs(losses)),
        ("Before protection", f"{before} (audit of {day_in_words(release.advised_on)})."),
        ("Other figures", fixed_text("drawn again")),
    )


def _guarantee(trial: Trial) -> str:
    return "None." if trial.guaranteed.stated >= 1 else tell_bound(trial.guaranteed)


def _measured(trial: Trial, goal: Goal) -> str:
    """Say what attacks achieve on a protected table, as far as the guarantee does not say it."""
    rows = trial.reconstruction
    people = measured_on(trial) if rows is None or goal.decide == "measured" else ""
    if rows is None:
        return people
    told = f"{percent(rows.rate.value)} of rows are reconstructed (up to {at_most(rows.rate.high)})."
    return f"{people} {told}".strip()


def cautions(audit: Audit) -> tuple[str, ...]:
    """Return the cautions about the answer: findings about the data, then the gravest other one.

    Examples
    --------
    >>> import habitprint as hp
    >>> cautions(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))
    ('To show a risk within 5%, an audit needs at least 73 people.',)
    """
    found, verdict, target = audit.protections, audit.verdict, percent(audit.verdict.target)
    advised, more = found.advised, audit.knows_more
    accepted = {True: " You accepted this.", False: ""}
    data = [
        f"{what_of(each)} [{each.code}]{accepted[each.gravity == 'stops']}"
        for each in audit.data.findings
        if each.is_grave
    ]
    others = []
    if more is not None:
        exceeds = verdict.passes and more.rate.high > verdict.target
        others.append(f"{if_more_is_known(audit)}{' That is above the target.' if exceeds else ''}")
    if audit.data.scope.whole is not None and advised is not None:
        others.append(UNSEEN)
    if advised is not None and not advised.guaranteed.is_within(verdict.target):
        others.append(f"The protection is within {target} only in our tests; {guarantee_of(advised)}.")
    if not verdict.can_pass_at_all and verdict.reason != "guaranteed":
        others.append(f"To show a risk within {target}, an audit needs at least {verdict.n_users_needed:,} people.")
    if audit.options.overlap is not None:
        others.append(_overlap(audit.options.overlap))
    if verdict.reason == "measured":
        others.append("Nothing is guaranteed: attacks that were not run may re-identify more people.")
    return *data, *others[:1]


def details(audit: Audit) -> list[str]:
    """Return what to know beside the answer, in the order in which it should be read.

    Examples
    --------
    >>> import habitprint as hp
    >>> details(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))[0]
    'The strongest attack is joint matching, rarity-half. It re-identifies 12 of 12 people.'
    """
    verdict, options, people, found = audit.verdict, audit.options, audit.people, audit.protections
    said = [about_strongest(audit), *_about_reason(audit)]
    if audit.other_time is not None:
        said.append(if_more_is_known(audit))
    if n_likely := people.n_confident(LIKELY):
        said.append(fixed_text("likely matches", n=n_likely, level=LIKELY))
    if people.confidence is not None:
        said.append(about_certainty(people.confidence))
    if found.advised is not None and found.advised.confidence is not None:
        said.append(about_certainty(found.advised.confidence, "with the recommended protection"))
    if options.confident_target is not None:
        said.append(about_most_confident(audit))
    if options.goal.person_target is not None:
        said += [about_each_person(audit), _only_pointed(found.trials[0])]
    if not found.trials[0].passes:
        said.append(about_protections(audit))
    if options.overlap is not None:
        said.append(f"{_overlap(options.overlap)} Risks count only these.")
    return [*said, *([about_losses(audit.data.losses)] if verdict.is_protected and audit.release is None else [])]


def _about_reason(audit: Audit) -> list[str]:
    """Say more about a result that the headline cannot explain in twelve words."""
    verdict, rate, target = audit.verdict, audit.strongest.rate, percent(audit.verdict.target)
    people, least, by_chance = f"With {rate.n:,} people", percent(verdict.least_end), percent(verdict.chance_end)
    if not verdict.can_pass_at_all:
        return [f"{people}, the risk may still be {least} if no attack succeeds."]
    if not audit.protections.trials[0].passes and verdict.chance_end > verdict.target:
        at_random = f"{people}, the risk may still be {by_chance} if attacks only guess."
        return [f"{at_random} Only a result below chance would be within {target}."]
    return []


def about_most_confident(audit: Audit) -> str:
    """Say how often the most confident claims are right, and how often they may be.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import msgspec
    >>> import habitprint as hp
    >>> from habitprint.rates import Rate
    >>> found = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> people = replace(found.people, most_confident=Rate.of(46, 50, 0.02))
    >>> options = msgspec.structs.replace(found.options, confident_target=0.5)
    >>> about_most_confident(replace(found, people=people, options=options))[:52]
    'Of the 50 most confident claims, 92% are right (up t'
    """
    rate, allowed = audit.people.most_confident, audit.options.confident_target or 0.0
    least = wilson_interval(0, rate.n)[1]
    name = "too few claims" if least > allowed else "most confident claims"
    return fixed_text(name, rate=rate, allowed=allowed, least=least)


def _overlap(overlap: float) -> str:
    return f"The attacker is assumed to know {percent(overlap)} of the people."


def about_each_person(audit: Audit) -> str:
    """Say whether the limit per person is met, and by which numbers.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import msgspec
    >>> import habitprint as hp
    >>> from habitprint.attacks import Scenario, run_attack
    >>> from habitprint.auditing.people import look_closer
    >>> found = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> _, confidence = look_closer(run_attack(Scenario(*hp.datasets.town(60, 20), truth="same-id")))
    >>> people = replace(found.people, confidence=confidence)
    >>> options = msgspec.structs.replace(found.options, person_target=0.5)
    >>> about_each_person(replace(found, people=people, options=options))[:51]
    'The table misses the limit of 50% per person. Of th'
    """
    goal, confidence, verdict = audit.options.goal, audit.people.confidence, audit.verdict
    allowed = percent(goal.person_target or 0.0)
    meets = f"The table {'meets' if verdict.person_passes else 'misses'} the limit of {allowed} per person."
    if goal.of_original(is_protected=verdict.is_protected).decide == "guaranteed":
        return f"{meets} The guaranteed highest risk of any person is {at_most(verdict.guaranteed.highest)}."
    if confidence is None:
        return f"{meets} There are too few people to estimate the risk of each."
    return f"{meets} {fixed_text('most certain matches', rate=confidence.most_confident)}"


def _only_pointed(table: Trial) -> str:
    about = "The limit per person is about pointing at a row, not about reconstructing one."
    if table.reconstruction is not None:
        return f"{about} {headed(rows_reconstructed(table.reconstruction.rate))}."
    return f"{about}{' Reconstruction was not measured.' if table.taken.is_grouped else ''}"


def about_gate(audit: Audit) -> str:
    """Say what the gate decided, and by which numbers; nothing where none was set.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_gate(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))
    ''
    """
    verdict, limit = audit.verdict, audit.options.fail_above
    if verdict.fails_gate is None or limit is None:
        return ""
    sampled, taken = of_sample(audit.data.scope), audit.protections.trials[0].taken
    of_both = ", in the sample or on all people" if sampled else ""
    bound = f"; guaranteed{sampled}: {bound_in_short(verdict.guaranteed)}" if verdict.guaranteed.stated < 1 else ""
    rows = "; rows reconstructed: not measured" if taken.is_grouped else ""
    if taken.found is not None:
        rows = f"; rows reconstructed: up to {at_most(taken.found.rate.high)}"
    word = "exceeds" if verdict.fails_gate else "does not exceed"
    return f"The table {word} {percent(limit)}. Measured: up to {at_most(verdict.upper_end)}{of_both}{bound}{rows}."
