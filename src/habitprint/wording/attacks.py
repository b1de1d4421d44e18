"""What attacks do, what they find, and how they were trained, in sentences."""

from collections.abc import Sequence

from habitprint.attacks import Outcome
from habitprint.attacks.attack import EPSILON, AttackMethod
from habitprint.auditing.audit import AttackerTraining, Audit
from habitprint.formatting import counted, headed, in_column, percent, rounded_up, whole
from habitprint.matching.matching import EXACT, gap_and_share
from habitprint.rates import Rate
from habitprint.training import FEWEST_PEOPLE, Evidence, Training
from habitprint.weighing.definitions import KindName
from habitprint.wording.forecast import about_forecast, forecast_interval
from habitprint.wording.page import Cell, Table, table

METHODS: dict[AttackMethod, str] = {
    "joint": "All people are matched together, with the smallest total weight. The optimum is proven.",
    "approximate": f"All people are matched together, with at least {1 - EPSILON:.1%} of the best gain, proven.",
    "one-by-one": "Each person gets the nearest row of the other table, even if others get the same row.",
    "random": "Pairs are drawn at random. Every other rate must be compared with this one.",
}
CROSS_FITTED = (
    " The weight was trained on the truth about one half of the people and used on the other half. No attacker can do "
    "that."
)
# What two users have in common, by the kind of a term of a trained weight.
EVIDENCE: dict[KindName, str] = {
    "logarithm": "spending similar shares of time at the same{} places",
    "minimum": "having large shares in common at the same{} places",
    "product": "having large shares at the same{} places",
    "fourth-root": "visiting the same{} places",
    "likelihood": "visiting{} places that are likely for the other",
}
RATE_HEADS = ("Right", "Of", "Share", "Lower end", "Upper end", "By chance")


def about_attack(attack: Outcome) -> str:
    """Say what an attack does.

    Examples
    --------
    >>> about_attack(Outcome("one-by-one", "l1", Rate.of(5, 40, 1 / 40), None, 0))
    'Each person gets the nearest row of the other table, even if others get the same row.'
    """
    copied = "" if attack.transform is None else f" The attacker transforms their own data too: {attack.transform}."
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
    people = f"{whole(rate.n_correct)} of {counted(rate.n, 'person', 'people')}{sampled}"
    return f"The strongest attack is {name}. It re-identifies {people}."


def attacks_table(caption: str, attacks: Sequence[Outcome], *, explained: bool) -> Table:
    """Return attacks with their rates as a table; explained, with what each does.

    Examples
    --------
    >>> made = [Outcome("joint", "l1", Rate.of(50, 100, by_chance=0.01), 0.0, 0)]
    >>> [cell.text for cell in attacks_table("One", made, explained=False).rows[0].cells]
    ['Joint matching, l1', '50.0', '100', '50.0%', '40.4%', '59.7%', '1.0%', 'optimal']
    """
    rows = [
        [
            Cell(attack.title, note=about_attack(attack) if explained else ""),
            *rate_cells(attack.rate),
            Cell(about_gap(attack.gap)),
        ]
        for attack in attacks
    ]
    return table(caption, ["Attack", *RATE_HEADS, "Proof"], rows)


def rate_cells(rate: Rate) -> list[Cell]:
    """Return the cells of a rate: correct, of how many, share, both ends of the interval, by chance.

    Examples
    --------
    >>> [cell.text for cell in rate_cells(Rate.of(50, 100, by_chance=0.01))]
    ['50.0', '100', '50.0%', '40.4%', '59.7%', '1.0%']
    """
    ends = (rate.value, rate.low, rounded_up(rate.high), rate.by_chance)  # an upper end is rounded up everywhere
    shares = [Cell(in_column(share), share) for share in ends]
    return [Cell(f"{rate.n_correct:,.1f}", rate.n_correct), Cell(f"{rate.n:,}", rate.n), *shares]


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
    made = f"One attack ran on all {rate.n:,} people: {audit.on_all.name} ({proof})."
    found = f"{made} It re-identifies {rate.words}."
    if forecast is None or forecast.n != rate.n or forecast.n_measured >= rate.n:
        return found
    is_within = forecast.low <= rate.value <= forecast.high
    agrees = "The measurement is within this interval." if is_within else "The measurement is outside, and counts."
    ahead = f"{percent(forecast.share)} ({percent(forecast.level)} interval {forecast_interval(forecast)})"
    return f"{found} The forecast from the sample was {ahead}. {agrees}"


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


def about_evidence(evidence: Sequence[Evidence]) -> str:
    """Say which evidence counts in a trained weight.

    Examples
    --------
    >>> about_evidence([Evidence("logarithm", 0.25), Evidence("fourth-root", 0.75, is_rarer=True)])
    'Visiting the same rare places is the strongest evidence (75%); spending similar shares of time at the same places \
adds 25%.'
    """

    def named(each: Evidence) -> str:
        return EVIDENCE[each.kind].format(" rare" if each.is_rarer else "")

    first, *rest = sorted(evidence, key=lambda each: -each.share)
    others = "".join(f"; {named(each)} adds {percent(each.share)}" for each in rest)
    return f"{headed(named(first))} is the strongest evidence ({percent(first.share)}){others}."


def about_training(trained: AttackerTraining) -> str:
    """Say how the attacker of an audit trained, and which evidence counts; or why they could not.

    Examples
    --------
    >>> import habitprint as hp
    >>> about_training(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).training)
    'The attacker could not train: two tables hold no times.'
    """
    match trained.missing:
        case "times":
            return "The attacker could not train: two tables hold no times."
        case "people":
            return f"The attacker could not train: that needs at least {FEWEST_PEOPLE} people in both tables."
    own = "their own data: the first and second half of what they know about"
    source = own if trained.on == "own data" else "two earlier tables of"
    people = counted(trained.n_people, "person", "people")
    return f"The attacker trained on {source} {people}. {about_evidence(trained.evidence)}"


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
