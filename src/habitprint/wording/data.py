"""What the data is, whom and which time an audit is about, and what a table has lost, in sentences."""

from datetime import date

from habitprint.auditing.data import DataFacts, Scope
from habitprint.formatting import counted, percent
from habitprint.losses import cost_words
from habitprint.mechanisms import Losses, TotalsExposure
from habitprint.periods.dates import in_words as day_in_words

SAMPLED = (
    "One attack was made on all people. Everything else was done with the sample, also where “the table” is said: the "
    "other attacks, what the risk depends on, the protections, and who is at risk. Among fewer people each is easier "
    "to find, so what is measured in the sample is, as a rule, above what it would be among all. What is guaranteed or "
    "measured of a protection is about the sample under it: protect the whole table in the same way, and check or "
    "audit what comes of it, before anything is published."
)


def about_scope(scope: Scope) -> str:
    """Say whom and which time an audit is about.

    Examples
    --------
    >>> from habitprint.periods import Span
    >>> week, next_week = Span("the first week"), Span("the second week")
    >>> about_scope(Scope(7115, 412, 431, 397, week, next_week, 0.123))[:82]
    '397 of the 7,115 people in the file are in the release and known to the adversary.'
    >>> from habitprint.auditing.data import Whole
    >>> about_scope(Scope(500, 450, 450, 400, week, next_week, None, Whole(9000, 8100, 8100, 7200)))[:75]
    'This is a sample of 500 of the 9,000 people in the two tables, drawn at ran'
    """
    released, known = (scope.released.words or "the released table", scope.known.words or "the known table")
    if (all_people := scope.whole) is not None:

        def people(n: int, n_all: int) -> str:
            return f"{counted(n, 'person', 'people')} in the sample, {n_all:,} in all"

        return (
            f"This is a sample of {scope.n_in_file:,} of the {all_people.n_in_file:,} people in the two tables, drawn "
            f"at random. In the release and known to the adversary: {people(scope.n_attacked, all_people.n_attacked)}. "
            f"Released: {released}, {people(scope.n_released, all_people.n_released)}. "
            f"Known: {known}, {people(scope.n_known, all_people.n_known)}. {SAMPLED}"
        )
    in_file = f"{scope.n_in_file:,} people in the {'two tables' if scope.share_of_rows is None else 'file'}"
    who = f"All {in_file}" if scope.n_attacked == scope.n_in_file else f"{scope.n_attacked:,} of the {in_file}"
    rows = "" if scope.share_of_rows is None else f" {percent(scope.share_of_rows)} of the rows are used."
    return (
        f"{who} are in the release and known to the adversary. "
        f"Released: {released}, {counted(scope.n_released, 'person', 'people')}. "
        f"Known: {known}, {counted(scope.n_known, 'person', 'people')}.{rows}"
    )


def of_sample(scope: Scope) -> str:
    """Return what a number of people is to be followed by: that they are a sample, if they are.

    Examples
    --------
    >>> from habitprint.auditing.data import Whole
    >>> from habitprint.periods import Span
    >>> of_sample(Scope(9, 9, 9, 9, Span("May"), Span("June"), None, Whole(90, 90, 90, 90)))
    ' in the sample'
    """
    return "" if scope.whole is None else " in the sample"


def adversary_of_sample(scope: Scope) -> str:
    """Say how little the adversary has wherever a sample is attacked, after a blank; nothing where everybody is.

    Examples
    --------
    >>> from habitprint.auditing.data import Whole
    >>> from habitprint.periods import Span
    >>> adversary_of_sample(Scope(9, 9, 8, 9, Span("May"), Span("June"), None, Whole(90, 90, 90, 90)))[-35:]
    'sample: 9 people released, 8 known.'
    """
    if scope.whole is None:
        return ""
    return (
        " So it is in the attack on all people; in all others, both tables are those of the sample: "
        f"{scope.n_released:,} people released, {scope.n_known:,} known."
    )


def how_chosen(data: DataFacts) -> str:
    """Say how the periods were chosen.

    Examples
    --------
    >>> import habitprint as hp
    >>> how_chosen(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).data)[:72]
    'Two tables were given; which periods they cover is not known here. They '
    """
    match data.periods_how:
        case "given":
            return "The periods were given."
        case "not told":
            return "Two tables were given; which periods they cover is not known here. They must not overlap."
        case "counted remotely":
            return "The events were counted in these two periods, where they are."
        case "halves of rows":
            return (
                f"No periods were given, so the file was cut at the day that halves its rows, "
                f"{day_in_words(data.scope.known.ranges[0][0] or date.min)}: the days before it are released, those "
                "from it on are known. No other pair of periods is longer."
            )


def about_losses(losses: Losses | None) -> str:
    """Say what a table that was protected has lost against its original, and what further losses are of.

    Examples
    --------
    >>> about_losses(None)
    'What the table has lost against its original is not known here. Losses of protections are of what was left.'
    >>> about_losses(Losses(0.25, 0.031, None, 0.0, 0.0, 20, 100, 98, 40, 10)).partition(";")[0][-47:]
    'error 3.1%, ranking error 0%, 2 people left out'
    """
    left = "Losses of protections are of what was left."
    if losses is None:
        return f"What the table has lost against its original is not known here. {left}"
    return (
        f"What the table has lost against its original: {cost_words(losses)}; {losses.n_places_kept:,} of "
        f"{counted(losses.n_places, 'place')} are kept. {left}"
    )


def about_totals(found: TotalsExposure) -> str:
    """Say what totals alone tell, as the end of a sentence.

    Examples
    --------
    >>> about_totals(TotalsExposure(100, 1.5, 60, 6.2))
    'totals are visible: alone they leave about 1.5 of 100 candidates, and single out 60 people'
    >>> about_totals(TotalsExposure(100, 100.0, 0, 0.0))
    'no total is visible'
    """
    if found.has_exact_means:
        return "no total is stated, but exact means of groups show the total of a member who alone visited a place"
    if found.bits == 0:
        return "no total is visible"
    people = counted(found.n_read_off, "person", "people")
    seen = f"no total is stated, but the shares of {people} show it, or a divisor of it (1/7 is one of seven)"
    return (
        f"{seen if found.n_read_off else 'totals are visible'}: alone they leave about "
        f"{found.expected_candidates:,.1f} of {found.n_users:,} candidates, and single out "
        f"{counted(found.n_unique, 'person', 'people')}"
    )
