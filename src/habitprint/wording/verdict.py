"""The answer of an audit in sentences: does the table meet the target, and if not, what would help."""

from habitprint.auditing.audit import Audit
from habitprint.auditing.goal import OPEN, PASS, judge
from habitprint.auditing.trials import Trial
from habitprint.formatting import at_most, counted, headed, percent, whole
from habitprint.losses import SCALES, cost_words, leaves_little
from habitprint.rates import wilson_interval
from habitprint.wording.attacks import name_adversary
from habitprint.wording.data import about_losses, of_sample
from habitprint.wording.people import found_how_surely
from habitprint.wording.risks import bound_in_short, rows_reconstructed, tell_risks

SURE = 0.95  # claims of such a precision are called sure
UNSEEN = "What the protection makes of the whole table was not seen: check or audit that."
SAMPLE_DOES = "none was chosen: the sample meets the target as it is; of all people that is not shown"


def headline(audit: Audit) -> str:
    """Return the answer, and which adversary it is about where there are two.

    Examples
    --------
    >>> import habitprint as hp
    >>> headline(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))[:74]
    'The table misses the target of 5% as it is: 12 of 12 people are identified'
    """
    return f"{answer(audit)} {name_adversary(audit)}".strip()


def answer(audit: Audit) -> str:
    """Say whether the target is met, what would help, and what was measured on all people if the rest is a sample.

    Examples
    --------
    >>> import habitprint as hp
    >>> answer(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))[-39:]
    'No protection that was tried is enough.'
    """
    return " ".join([_about_table(audit), *_about_all(audit)])


def _subject(audit: Audit) -> str:
    return "table" if audit.data.scope.whole is None else "sample"


def _measured(audit: Audit) -> str:
    rate = audit.strongest.rate
    return (
        f"{whole(rate.n_correct)} of {counted(rate.n, 'person', 'people')} are identified "
        f"({percent(rate.value)}, up to {at_most(rate.high)})"
    )


def _about_chance(audit: Audit) -> str:
    n, end = audit.strongest.rate.n, percent(audit.verdict.chance_end)
    return f"with {n:,} people, even pairs drawn at random leave {end} possible"


def _about_table(audit: Audit) -> str:  # noqa: C901  (one case for each reason)
    """Say whether the table meets the target as it is, and what would help."""
    verdict, target, subject = audit.verdict, percent(audit.verdict.target), _subject(audit)
    table, protection, goal = audit.protections.trials[0], audit.protections.advised, audit.options.goal
    unshown = f"It cannot be shown that the {subject} meets the target of {target}"
    match verdict.reason:
        case "guaranteed":
            return f"The {subject} meets the target of {target}. {tell_risks(table.risks)}"
        case "measured":
            return (
                f"As far as was measured, the {subject} meets the target of {target} as it is: {_measured(audit)}. "
                "Nothing is guaranteed about attacks that were not made."
            )
        case "person target":
            misses = f"The {subject} misses its target for each person: {_each_person(audit)}"
        case "surest target":
            misses = f"The {subject} misses its target for the surest claims: {_surest(audit)}"
        case "reconstruction not measured" | "rows reconstructed":
            taken = f"{unshown}: whether own rows can be reconstructed was not measured (--original)"
            if table.reconstruction is not None:
                rate = table.reconstruction.rate
                misses = f"The {subject} misses the target of {target}" if rate.value > verdict.target else unshown
                taken = f"{misses}: {rows_reconstructed(rate)}"
            misses = f"{taken}. {tell_risks(table.risks).rstrip('.')}"
        case "not guaranteed":
            bound = bound_in_short(verdict.guaranteed)
            misses = f"It is not guaranteed that the {subject} meets the target of {target}: {bound}"
        case "above target":
            misses = f"The {subject} misses the target of {target} as it is: {_measured(audit)}"
        case "too few people":
            n, least = audit.strongest.rate.n, percent(verdict.least_end)
            misses = f"{unshown} as it is: with {n:,} people, even an attack that finds nobody leaves {least} possible"
        case "chance above target":
            misses = f"{unshown} as it is: {_about_chance(audit)}"
        case "interval too wide":
            misses = f"{unshown} as it is: {_measured(audit)}"
    if protection is None:
        return f"{misses}. No protection that was tried is enough."
    left = f"; little is left of the {SCALES[goal.keep].kept}" if leaves_little(goal.keep, protection.losses) else ""
    is_guaranteed = protection.guaranteed.is_within(goal.target)
    how = "" if is_guaranteed else f", but only in our tests: measured up to {at_most(protection.risk.high)}"
    person = goal.person_target
    each = "" if person is None else f", and that of {percent(person)} for pointing at the row of each person"
    helps = f"Protected by “{protection.label}” it meets the target{each}{how}"
    return f"{misses}. {helps}. {tell_risks(protection.risks)} Cost: {cost_words(protection.losses)}{left}."


def _about_all(audit: Audit) -> list[str]:
    """Say what holds for all people, where the rest is about a sample of them; nothing where it is about all."""
    if audit.on_all is None:
        return []
    rate, target = audit.on_all.rate, audit.verdict.target
    than = "is within" if rate.high <= target else "may be above" if rate.low <= target else "is above"
    others = "" if rate.low > target else "; other attacks were not made there"
    found = f"{percent(rate.value)}, up to {at_most(rate.high)}"
    attack = f"One attack was made on all {rate.n:,} people in both tables, {audit.on_all.name}"
    unseen = [] if audit.protections.advised is None else [UNSEEN]
    return [f"{attack}: it identifies {found}, which {than} the target{others}.", *unseen]


def _surest(audit: Audit) -> str:
    surest, allowed = audit.people.surest, audit.options.surest_target or 0.0
    least = wilson_interval(0, surest.n)[1]
    if least > allowed:
        return (
            f"of {surest.n:,} surest claims, even none that is right leaves {percent(least)} possible, above "
            f"{percent(allowed)}"
        )
    return (
        f"of the {surest.n:,} surest claims {percent(surest.value)} are right (up to {at_most(surest.high)}), where "
        f"{percent(allowed)} are allowed"
    )


def _each_person(audit: Audit) -> str:
    """Say how surely people may be found, and are."""
    allowed, confidence = percent(audit.options.person_target or 0.0), audit.people.confidence
    if audit.verdict.is_protected and audit.options.decide == "guaranteed":
        largest = at_most(audit.verdict.guaranteed.highest)
        return f"what is guaranteed is that nobody is found with a chance above {largest}, where {allowed} is allowed"
    if confidence is None:
        return f"{allowed} is allowed, and there are too few people to learn how surely each is found"
    surest = confidence.surest
    return (
        f"of the {surest.n:,} people who are found most surely {percent(surest.value)} are (up to "
        f"{at_most(surest.high)}), where {allowed} is allowed"
    )


def _only_pointed(table: Trial) -> str:
    """Say what the target for each person does not cover, and what was measured of that."""
    about = "That target is about pointing at a row, not about reconstructing one"
    if table.reconstruction is not None:
        rate = table.reconstruction.rate
        return f"{about}: own rows of {percent(rate.value)} of people can be (up to {at_most(rate.high)})."
    return f"{about}{', which was not measured' if table.taken.is_grouped else ''}."


def details(audit: Audit) -> list[str]:
    """Return what to know beside the answer, in the order in which it should be read.

    Examples
    --------
    >>> import habitprint as hp
    >>> details(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))[1]
    'With fewer than 73 people no measured result can be within 5%: the interval is too wide. Groups need one, too: \
even if no row is reconstructed, 24.2% is possible.'
    """
    verdict, options, people, found = audit.verdict, audit.options, audit.people, audit.protections
    passes, target = found.trials[0].passes, percent(verdict.target)
    on_sample = "" if audit.data.scope.whole is None else " on the sample"
    said = [f"The strongest attack{on_sample} ({audit.strongest.name}) identifies {audit.strongest.rate.words}."]
    if not verdict.can_pass_at_all:
        said.append(
            f"With fewer than {verdict.n_users_needed:,} people no measured result can be within {target}: the "
            "interval is too wide. Groups need one, too: even if no row is reconstructed, "
            f"{percent(verdict.least_end)} is possible."
        )
    elif not passes and verdict.chance_end > verdict.target:
        said.append(
            f"There are few people: {_about_chance(audit)}. Only a result below chance is measured to be within "
            f"{target}."
        )
    if n_sure := people.n_sure(SURE):
        said.append(
            f"Some claims are sure, and an adversary can tell which: of the {n_sure:,} surest, at least "
            f"{percent(SURE)} are right."
        )
    if people.confidence is not None:
        safer = None if found.advised is None else found.advised.confidence
        as_advised = "" if safer is None else f"; as advised, {found_how_surely(safer)}"
        said.append(f"How surely people are found: {found_how_surely(people.confidence)}{as_advised}.")
    if options.surest_target is not None:
        said.append(f"{headed(_surest(audit))}.")
    if options.person_target is not None:
        meets = f"The {_subject(audit)} {'meets' if verdict.person_passes else 'misses'} the target for each person"
        said.append(f"{meets}: {_each_person(audit)}. {_only_pointed(found.trials[0])}")
    if not passes:
        said.append(about_protections(audit))
    if options.overlap is not None:
        said.append(f"The adversary was taken to know {percent(options.overlap)} of the people; rates are among these.")
    return [*said, *([about_losses(audit.data.losses)] if verdict.is_protected else [])]


def about_protections(audit: Audit) -> str:
    """Say what came of the protections.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_protections(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))[:90]
    'Of 22 protections that were tried, 0 are guaranteed to be within 5%, and 0 more are measur'
    """
    found, target = audit.protections, audit.verdict.target
    if found.trials[0].passes:
        more = " The protections show what more would cost." if found.n_tried else ""
        return f"The {_subject(audit)} meets the target of {percent(target)} as it is.{more}"
    if not found.n_tried:
        return "No protection could be tried."
    with_most = f", {found.n_on_all} of them on {found.n_users_in_all:,} people" if found.screened else ""
    tried = f"Of {counted(found.n_tried, 'protection')} that {'was' if found.n_tried == 1 else 'were'} tried{with_most}"
    n_guaranteed, n_measured = len(found.within(target, "guaranteed")), len(found.within(target, "measured"))
    # On protections that are dearer than the answer only screening attacks ran.
    n_maybe = len(found.within(target, "measured", OPEN)) - n_measured
    maybe = f", {n_maybe:,} more by screening attacks alone" if n_maybe else ""
    only = f"{n_measured - n_guaranteed:,} more {'is' if n_measured - n_guaranteed == 1 else 'are'}"
    are = f"{n_guaranteed:,} {'is' if n_guaranteed == 1 else 'are'}"
    said = f"{tried}, {are} guaranteed to be within {percent(target)}, and {only} measured to be{maybe}."
    return said + _about_advised(found.advised) + _about_only_measured(found.only_measured) + _why_none(audit)


def _cost(trial: Trial) -> str:
    return f"; cost: {cost_words(trial.losses)}"


def _about_advised(advised: Trial | None) -> str:
    if advised is None:
        return ""
    measured = f"{percent(advised.risk.value)} of people are identified, up to {at_most(advised.risk.high)}"
    return f" The cheapest is “{advised.label}”. Measured on it: {measured}{_cost(advised)}."


def _about_only_measured(only: Trial | None) -> str:
    if only is None:
        return ""
    attacks = f"by the strongest of {only.n_attacks} attacks"
    return (
        f" The cheapest that is only measured to be is “{only.label}”: up to {at_most(only.risk.high)} {attacks}"
        f"{_cost(only)}; it was chosen with one half of the people and confirmed with the other, and attacks "
        f"that were not made may reach up to {at_most(only.guaranteed.average)}."
    )


def _why_none(audit: Audit) -> str:
    """Say how near the protections come if none is enough."""
    found, goal = audit.protections, audit.options.goal
    if found.advised is not None:
        return ""
    within = found.within(goal.target, goal.decide)
    is_safe = [judge(goal, trial.evidence(), criteria=("person",)) is PASS for trial in within]
    if within and goal.person_target is not None and not any(is_safe):
        return f" In all of them somebody may be found with more than {percent(goal.person_target)}."
    if within and goal.surest_target is not None:
        ends = [trial.surest.high for trial in within if trial.surest is not None]
        if not ends:
            return " How often their surest claims are right was not measured."
        return (
            f" Their surest claims are right too often wherever that was measured: for {len(ends)} of them, at best up "
            f"to {at_most(min(ends))}, where {percent(goal.surest_target)} is allowed."
        )
    # Beyond the worst, knowing nothing, or only the mean of all, would say more than what is released.
    scale = SCALES[goal.keep]
    losses = [(trial.loss_for(goal.keep), trial) for trial in found.trials[1:]]
    useful = [(loss, trial) for loss, trial in losses if loss is not None and loss <= scale.worst]
    if within or not useful:
        return ""
    _, least = min(useful, key=lambda one: (one[1].guaranteed.average, one[1].risk.high, one[0]))
    bound = f" The lowest bound at {scale.one} of at most {scale.limit} is that of “{least.label}”"
    return f"{bound}: {bound_in_short(least.guaranteed)}{_cost(least)}."


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
    guaranteed = f", guaranteed{sampled} {bound_in_short(verdict.guaranteed)}" if verdict.guaranteed.average < 1 else ""
    rows = ", rows reconstructed: not measured" if taken.is_grouped else ""
    if taken.found is not None:
        rows = f", rows reconstructed up to {at_most(taken.found.rate.high)}"
    word = "exceeds" if verdict.fails_gate else "does not exceed"
    return f"the table {word} {percent(limit)}: measured up to {at_most(verdict.upper_end)}{of_both}{guaranteed}{rows}"
