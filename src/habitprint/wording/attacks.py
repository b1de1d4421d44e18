"""What attacks do, what they find, and how they were trained, in sentences."""

from collections.abc import Sequence

from habitprint.attacks import Outcome
from habitprint.attacks.attack import EPSILON, AttackMethod
from habitprint.auditing.audit import AttackerTraining, Audit
from habitprint.formatting import counted, headed, percent
from habitprint.matching.proof import EXACT, gap_and_share
from habitprint.rates import Rate
from habitprint.training import FEWEST_PEOPLE, Evidence, Training
from habitprint.weighing.definitions import KINDS
from habitprint.wording.forecast import about_forecast, forecast_interval

METHODS: dict[AttackMethod, str] = {
    "joint": "All people are matched at once, by the smallest total weight there is, with a proof.",
    "approximate": f"All people are matched at once, with at least {1 - EPSILON:.1%} of the best gain, with a proof.",
    "one-by-one": "Each person takes the nearest of the other table, whoever else takes the same.",
    "random": "Pairs are drawn blindly: what every other rate must be compared with.",
}
CROSS_FITTED = (
    " The weight was trained on who really is whom in one half of the people, and used on the other half: more than an "
    "attacker can do."
)


def about_attack(attack: Outcome) -> str:
    """Say what an attack does.

    Examples
    --------
    >>> about_attack(Outcome("one-by-one", "l1", Rate.of(5, 40, 1 / 40), None, 0))
    'Each person takes the nearest of the other table, whoever else takes the same.'
    """
    copied = "" if attack.transform is None else f" The attacker has changed their table too: {attack.transform}."
    return METHODS[attack.method] + (CROSS_FITTED if attack.is_cross_fitted else "") + copied


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
    'optimal: no 4 pairs can gain more than 3.5 (gap 0)'
    """
    if gap is None or bound is None:
        return "none: one by one optimises no total"
    return f"{about_gap(gap)}: no {counted(size, 'pair')} can gain more than {bound:.10g} (gap {gap_and_share(gap)[0]})"


def about_guesses(n_guesses: int) -> str:
    """Say how many pairs are guesses, after their number; nothing where none is.

    Examples
    --------
    >>> about_guesses(3)
    ', 3 of them without a shared place: guesses'
    """
    return f", {n_guesses:,} of them without a shared place: guesses" if n_guesses else ""


def on_all_people(audit: Audit) -> str:
    """Say what the attack on all people of remote tables found, beside the forecast; nothing for tables here.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import habitprint as hp
    >>> attack = Outcome("joint", "l1", Rate.of(50, 1000, by_chance=0.001), 0.0, 0)
    >>> audit = replace(hp.read_audit(hp.datasets.AUDIT_OF_TOWN), on_all=attack)
    >>> on_all_people(audit)  # doctest: +NORMALIZE_WHITESPACE
    'On all 1,000 people in both tables, the attack “All at once, l1” was made, proven optimal: it identifies 5% (95%
    interval 3.8% to 6.6%; by chance 0.1%).'
    """
    if audit.on_all is None:
        return ""
    rate, gap, forecast = audit.on_all.rate, audit.on_all.gap or 0.0, audit.forecast
    proof = "proven optimal" if gap <= EXACT else f"with {about_gap(gap)}"
    made = f"On all {rate.n:,} people in both tables, the attack “{audit.on_all.title}” was made, {proof}"
    found = f"{made}: it identifies {rate.words}."
    if forecast is None or forecast.n != rate.n or forecast.n_measured >= rate.n:
        return found
    is_within = forecast.low <= rate.value <= forecast.high
    agrees = "what was measured is within that" if is_within else "what was measured is not within that, and counts"
    ahead = f"{percent(forecast.share)} ({percent(forecast.level)} interval {forecast_interval(forecast)})"
    return f"{found} From the sample alone {ahead} was forecast: {agrees}."


def among_more(audit: Audit) -> str:
    """Say what is forecast for more people; nothing where `on_all_people` says it.

    Examples
    --------
    >>> import habitprint as hp
    >>> among_more(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))
    ''
    """
    on_all, forecast = audit.on_all, audit.forecast
    is_said = forecast is None or (on_all is not None and on_all.rate.n == forecast.n)
    return "" if forecast is None or is_said else about_forecast(forecast)


def of_people(rate: Rate) -> str:
    """Return a rate with its interval, and of how many people it is.

    Examples
    --------
    >>> of_people(Rate.of(80, 100, 0.01))
    '80% of 100 people (95% interval 71.1% to 86.7%)'
    """
    people = counted(rate.n, "person", "people")
    return f"{percent(rate.value)} of {people} ({percent(rate.level)} interval {rate.interval_words})"


def with_other_time(other: Rate, known: Rate) -> str:
    r"""Say what an adversary achieves who knows all other time in the file, beside the one who knows one period.

    Examples
    --------
    >>> print(with_other_time(Rate.of(80, 100, 0.01), Rate.of(40, 100, 0.01)).replace("; ", ";\n"))
    An adversary who knows all other time in the file identifies 80% of 100 people (95% interval 71.1% to 86.7%);
    one who knows the known period alone, 40% of 100 people (95% interval 30.9% to 49.8%).
    """
    return (
        f"An adversary who knows all other time in the file identifies {of_people(other)}; one who knows the known "
        f"period alone, {of_people(known)}."
    )


def name_adversary(audit: Audit) -> str:
    """Say which adversary the measured share is about, and what the other one reaches; nothing if there is one.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import habitprint as hp
    >>> audit = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> name_adversary(audit)
    ''
    >>> other = Outcome("joint", "l1", Rate.of(12, 12, 0.1), 0.0, 0)
    >>> name_adversary(replace(audit, other_time=other))[-46:]
    'all other time in the file identifies no more.'
    """
    if audit.other_time is None:
        return ""
    rate, other = audit.strongest.rate, audit.other_time.rate
    said = (
        f"The share of {percent(rate.value)} is that of an adversary who knows "
        f"{audit.data.scope.known.words or 'the known table'}; one who knows all other time in the file identifies"
    )
    if other.high <= rate.high:
        return f"{said} no more."
    is_above = audit.verdict.passes and other.high > audit.verdict.target
    return f"{said} more, {of_people(other)}{', which is not within the target' if is_above else ''}."


def about_evidence(evidence: Sequence[Evidence]) -> str:
    """Say which evidence counts in a trained weight.

    Examples
    --------
    >>> about_evidence([Evidence("logarithm", 0.25), Evidence("fourth-root", 0.75, is_rarer=True)])
    'Having been there at all, the more the rarer the place, is 75% of the evidence for a true pair; how alike shares \
are 25%.'
    """

    def named(each: Evidence) -> str:
        return KINDS[each.kind].words + (", the more the rarer the place," if each.is_rarer else "")

    first, *rest = sorted(evidence, key=lambda each: -each.share)
    others = "".join(f"; {named(each)} {percent(each.share)}" for each in rest)
    return f"{headed(named(first))} is {percent(first.share)} of the evidence for a true pair{others}."


def about_training(trained: AttackerTraining) -> str:
    """Say how the attacker of an audit trained, and which evidence counts; or why they could not.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_training(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).training)
    'The attacker could not train: two tables do not tell when somebody was where.'
    """
    match trained.missing:
        case "times":
            return "The attacker could not train: two tables do not tell when somebody was where."
        case "people":
            return f"The attacker could not train: fewer than {FEWEST_PEOPLE} people are in both tables to train on."
    own = trained.on == "own data"
    source = "their own data, cut in two in time" if own else "two tables of people whom they know"
    people = counted(trained.n_people, "person", "people")
    return f"The attacker trained on {source} ({people}). {about_evidence(trained.evidence)}"


def chosen_in_training(found: Training) -> str:
    """Say which attack was chosen in training, and why.

    Examples
    --------
    >>> import habitprint as hp
    >>> chosen_in_training(hp.train(*hp.datasets.town(80, 30)))[:62]
    'Trained on 80 people: no attack identified more than the paper'
    """
    paper = f"the paper's ({found.paper.outcome.name}: {percent(found.paper.rate.value)})"
    more = "no attack identified more"
    if found.best is not found.paper:
        more = f"{found.best.outcome.name}, identified {percent(found.best.rate.value)}, more"
    return f"Trained on {found.trained.n_people:,} people: {more} than {paper} by more than noise."
