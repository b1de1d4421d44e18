"""Audits side by side."""

from collections.abc import Sequence

from habitprint.auditing.compare import Against, Compared, Comparison, Unlike
from habitprint.formatting import counted, percent
from habitprint.rates import Rate
from habitprint.wording.data import of_sample

SAMPLE_MEETS = "none selected: the sample meets the target, but all people may not"
INDEPENDENT = (
    "The interval of a difference is Newcombe’s hybrid score interval. It treats the people of two audits as different "
    "people, because a report names no person."
)
IN_BOTH = (
    "If the same people are in both audits and are at risk in both, the interval is too wide: a clear difference stays "
    "clear. If people at risk in one were safe in the other, it would be too narrow."
)


def which_pass(found: Comparison) -> str:
    """Say which audits meet their targets.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import habitprint as hp
    >>> strict = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> lenient = replace(strict, verdict=replace(strict.verdict, target=0.2))
    >>> which_pass(hp.compare([strict, lenient]))
    'None of the 2 tables meets its target.'
    """
    passing = [audit.name for audit in found.audits if audit.passes]
    n = len(found.audits)
    if not passing:
        return f"None of the {n} tables meets its target."
    if len(passing) == n:
        return f"All {n} tables meet their targets."
    named = _listed([f"“{name}”" for name in passing])
    return f"Of {n} tables, {len(passing)} {'meets its target' if len(passing) == 1 else 'meet theirs'}: {named}."


def differences(found: Comparison) -> tuple[str, ...]:
    """Say of each audit how its measured share stands to the first.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import habitprint as hp
    >>> strict = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> lenient = replace(strict, verdict=replace(strict.verdict, target=0.2))
    >>> differences(hp.compare([strict, lenient], ["a", "b"]))[0][:62]
    '“b” against “a”: 100% of 12 people are re-identified instead o'
    """

    def stands(other: Against) -> str:
        clear = "" if other.difference.is_clear else "; this may be chance"
        return (
            f"“{other.compared.name}” against “{found.first.name}”: {_share(other.compared.rate)} are "
            f"re-identified instead of {_share(found.first.rate)}, {other.difference.words}{clear}."
        )

    return tuple(map(stands, found.others))


def about_unlike(unlike: Unlike) -> str:
    """Say in what two audits differ, as a clause.

    Examples
    --------
    >>> about_unlike(Unlike("target", "5%", "10%"))
    'target: 10%, not 5%'
    """
    told = f"{unlike.here}, not {unlike.first}" if unlike.is_told else "not known of both"
    return f"{unlike.aspect}: {told}"


def warnings(found: Comparison) -> tuple[str, ...]:
    """Say what else differs, and whether results can differ because of it.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import habitprint as hp
    >>> strict = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> lenient = replace(strict, verdict=replace(strict.verdict, target=0.2))
    >>> warnings(hp.compare([strict, lenient], ["a", "b"]))[0][:43]
    '“b” and “a” differ in target: 20%, not 5%. '
    """
    return tuple(
        f"“{other.compared.name}” and “{found.first.name}” differ in {'; '.join(told)}. {consequence}"
        for other in found.others
        for is_goal, consequence in (
            (False, "The risks may differ for any of these reasons."),
            (True, "The risks do not depend on this. The verdict and the recommendation do."),
        )
        if (
            told := [
                about_unlike(unlike)
                for unlike in other.unlike
                if unlike.is_told and not unlike.is_finding and unlike.is_goal is is_goal
            ]
        )
    )


def how_to_read(found: Comparison) -> tuple[str, ...]:
    """Say what cannot be compared, and what the intervals assume about people who are in two audits.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import habitprint as hp
    >>> strict = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> lenient = replace(strict, verdict=replace(strict.verdict, target=0.2))
    >>> how_to_read(hp.compare([strict, lenient]))[0] == INDEPENDENT
    True
    """
    unknown = (
        f"“{other.compared.name}” and “{found.first.name}” may differ in {_listed(untold)}: this is not known."
        for other in found.others
        if (untold := [unlike.aspect for unlike in other.unlike if not unlike.is_told])
    )
    shared = (
        f"“{other.compared.name}” and “{found.first.name}” were made from the same "
        f"{'file' if len(other.shared_inputs) == 1 else 'files'} {_listed(other.shared_inputs)}: people are in both."
        for other in found.others
        if other.shared_inputs
    )
    return (*unknown, INDEPENDENT, IN_BOTH, *shared)


def people_of(audit: Compared) -> str:
    """Say how many people were tested.

    Examples
    --------
    >>> import habitprint as hp
    >>> people_of(Compared.of(hp.read_audit(hp.datasets.AUDIT_OF_TOWN), "town"))
    '12 people'
    """
    return counted(audit.rate.n, "person", "people") + of_sample(audit.scope)


def verdict_of(audit: Compared) -> str:
    """Say whether the target is met, and by what.

    Examples
    --------
    >>> import habitprint as hp
    >>> verdict_of(Compared.of(hp.read_audit(hp.datasets.AUDIT_OF_TOWN), "town"))
    'misses the target of 5%'
    """
    how = "guaranteed" if audit.guaranteed.is_within(audit.target) else "measured"
    target = f"the target of {percent(audit.target)}"
    if audit.advice == "sample meets the target":
        return f"is not shown to meet {target}"
    return f"meets {target}, {how}" if audit.passes else f"misses {target}"


def lost_by(audit: Compared) -> str:
    """Say what the table itself has lost.

    Examples
    --------
    >>> import habitprint as hp
    >>> lost_by(Compared.of(hp.read_audit(hp.datasets.AUDIT_OF_TOWN), "town"))
    'nothing: it is unprotected'
    """
    if not audit.is_protected:
        return "nothing: it is unprotected"
    if audit.losses is None:
        return "not known: the owner’s file is missing"
    loss = audit.losses.information_loss
    return "not defined" if loss is None else f"{loss:.2f}"


def advice_of(audit: Compared) -> str:
    """Say which protection is recommended, or why none is.

    Examples
    --------
    >>> import habitprint as hp
    >>> advice_of(Compared.of(hp.read_audit(hp.datasets.AUDIT_OF_TOWN), "town"))
    'none that was tried meets the target'
    """
    if audit.advised is not None:
        return audit.advised.label
    if audit.advice == "none is needed":
        return "none is needed"
    return SAMPLE_MEETS if audit.advice == "sample meets the target" else "none that was tried meets the target"


def _share(rate: Rate) -> str:
    return f"{percent(rate.value)} of {counted(rate.n, 'person', 'people')}"


def _listed(things: Sequence[str]) -> str:
    *some, last = things
    return f"{', '.join(some)} and {last}" if some else last
