"""What may be wrong with data, in sentences: what was found, why it matters, and what to do about it."""

from collections.abc import Iterable, Sequence
from datetime import date

from habitprint.checks import CODES, Code, Finding
from habitprint.checks.check import DAY_CODES
from habitprint.errors import InputError, first_few, require_option
from habitprint.formatting import counted, percent
from habitprint.periods.dates import in_words as day_in_words

# What was found: {n} of {of} with their {share}, {kind}s, and values {such as these}.
WHAT: dict[Code, str] = {
    "repeated-rows": "{n_rows} ({share}) repeat another row and count again.",
    "unused-rows": "{n_rows} ({share}) are not used: {values}.",
    "shared-histories": "{n} of {of} users share at least half of their events with another id.",
    "coarse-clock": "Times are given to the {values} only.",
    "fixes-not-visits": "Half of the users have {n} or more consecutive rows at one place: no visits.",
    "ids-with-spaces": "{n} of {of} {kind} ids differ from another only by blanks around them{such}.",
    "ids-zero-padded": "{n} of {of} {kind} ids differ from another only by leading zeros{such}.",
    "ids-in-capitals": "{n} of {of} {kind} ids differ from another only by capital letters{such}.",
    "placeholder-ids": "{n_rows} ({share}) have a placeholder for a missing {kind}{such}.",
    "total-row": "The table holds a {kind} that looks like the total of all others{such}.",
    "future-dates": "{n_rows} ({share}) are dated in the future: {days}.",
    "sentinel-dates": "{n_rows} ({share}) have a placeholder for a missing date: {days}.",
    "stray-dates": "{n_rows} ({share}) are years away from all other rows: {days}.",
    "excel-serial-dates": "All {n_rows} have times that look like days as Excel counts them{such}.",
    "swapped-columns": "The columns of users and places may be swapped.",
    "same-tables": "Both tables are the same.",
    "no-shared-places": "The two tables have no place in common.",
    "few-shared-places": "Only {n} of {of} places are in both tables.",
    "one-place": "There is only one place, so everybody has the same shares.",
    "totals-identify": "Totals differ from person to person: they are unique for {n} of {of} people.",
    "shares-show-totals": "The shares of {n} of {of} people show their number of events: 1/7 shows 7 or 14.",
    "identical-rows": "{n} of {of} rows with several places are identical to another row.",
    "shares-not-counts": "Every row adds up to one.",
    "merged-place": "{n} of {of} users have counts at a place that stands for all other places.",
    "multiples": "Every count is a multiple of {n}.",
    "no-small-counts": "No count is below {n}.",
    "unknown-mapping": "The release renamed places, and the mapping is not available here.",
    "nothing-copied": "With --as-is the attacker does not apply the protection to their own data.",
}
LOOKS_PROTECTED = (
    "So the table looks protected, but no .json file beside it says how. An attacker may apply the same protection to "
    "their own data. habitprint cannot do so here, so the real risk may be higher. If habitprint protect wrote the "
    "table, keep its files together."
)
NAMED = "The columns look swapped: users are read from {first}, and places from {second}."  # where names tell of a swap
# Why it matters.
WHY: dict[Code, str] = {
    "repeated-rows": "A visit that counts twice weighs more than it should.",
    "unused-rows": "The habits in these rows are missing from the answer.",
    "shared-histories": "Such users are re-identified because of shared events, not because of their habits.",
    "coarse-clock": "Many people are at one place at such a time by chance. So few shared histories can be detected.",
    "fixes-not-visits": "The counts would show how long a device was on, not how often a person was there.",
    "ids-with-spaces": "One {kind} would be taken for several, and the risk would look smaller than it is.",
    "ids-zero-padded": "One {kind} would be taken for several, and the risk would look smaller than it is.",
    "ids-in-capitals": "One {kind} may be taken for several.",
    "placeholder-ids": "Rows of several {kind}s would be taken for one {kind}.",
    "total-row": "It would be counted as a {kind}, and every sum would be twice as large.",
    "future-dates": "A period would include days that have not come yet.",
    "sentinel-dates": "A period would include days on which nothing happened.",
    "stray-dates": "An audit leaves these rows out when it chooses the periods itself.",
    "excel-serial-dates": "Read as time since 1970, all of them fall on one day.",
    "swapped-columns": "The answer would be about places, not about people.",
    "same-tables": "The attacker is assumed to know another period. This comparison says nothing about them.",
    "no-shared-places": "Every pair is a guess. Check that both use the same names for places.",
    "few-shared-places": "Check that both use the same names for places.",
    "one-place": "Shares cannot tell people apart. Totals may still differ from person to person.",
    "totals-identify": "Release shares instead of counts.",
    "shares-show-totals": "An attacker who knows a person's number of events can use it. Groups in units hide it.",
    "identical-rows": LOOKS_PROTECTED,
    "shares-not-counts": LOOKS_PROTECTED,
    "merged-place": LOOKS_PROTECTED,
    "multiples": LOOKS_PROTECTED,
    "no-small-counts": LOOKS_PROTECTED,
    "unknown-mapping": "An attacker who has the mapping re-identifies as many people or more.",
    "nothing-copied": "An attacker who does so re-identifies as many people or more.",
}
# What to do where no option of the command line mends it.
OTHERWISE: dict[Code, str] = {
    "no-shared-places": "use the same place names in both tables; if protect merged places, keep its files together",
    "ids-with-spaces": "write each id in one way in both tables",
    "ids-zero-padded": "write each id in one way in both tables",
    "placeholder-ids": "remove these rows from the file",
    "total-row": "remove it from the table",
    "future-dates": "check the dates, and how they are read: --time-format",
    "sentinel-dates": "check the dates, and how they are read: --time-format",
    "swapped-columns": "name the columns: --user …, --place …",
}


def words_of(finding: Finding) -> str:
    """Return a finding in sentences: what was found, why it matters, and the options that mend it.

    Examples
    --------
    >>> found = Finding("ids-with-spaces", "stops", 40, 200, "user", ("1", "1 "), "--plain-ids")
    >>> words_of(found)  # doctest: +NORMALIZE_WHITESPACE
    "40 of 200 user ids differ from another only by blanks around them, such as '1', '1 '. One user would be taken for
    several, and the risk would look smaller than it is. To mend it: --plain-ids."
    """
    mend = f" To mend it: {finding.options}." if finding.options else ""
    return f"{what_of(finding)} {why_of(finding)}{mend}"


def what_of(finding: Finding) -> str:
    """Return what was found, as a sentence.

    Examples
    --------
    >>> what_of(Finding("future-dates", "stops", 1, 900, examples=("2099-12-31",)))
    '1 of 900 rows (0.11%) are dated in the future: 31 December 2099.'
    """
    of = finding.of or finding.count
    is_named = finding.code == "swapped-columns" and finding.examples
    first, second, *_ = (*map(repr, finding.examples), "", "")
    said = (NAMED if is_named else WHAT[finding.code]).format(
        n=f"{finding.count:,}",
        of=f"{of:,}",
        n_rows=counted(of, "row") if finding.count == of else f"{finding.count:,} of {counted(of, 'row')}",
        share=percent(finding.count / of) if of else "0%",
        kind=finding.kind,
        such=f", such as {first_few(finding.examples)}" if finding.examples else "",
        first=first,
        second=second,
        values="; ".join(finding.examples),
        days=", ".join(map(_day, finding.examples)) if finding.code in DAY_CODES else "",
    )
    return f"In the sample: {said[:1].lower()}{said[1:]}" if finding.in_sample else said


def _day(text: str) -> str:
    """Return a day as people write it; whatever else a file says as it is."""
    try:
        return day_in_words(date.fromisoformat(text))
    except ValueError:
        return text


def why_of(finding: Finding) -> str:
    """Return why a finding matters, in sentences.

    Examples
    --------
    >>> why_of(Finding("placeholder-ids", "stops", 1, kind="user"))
    'Rows of several users would be taken for one user.'
    """
    return WHY[finding.code].format(kind=finding.kind)


def written(finding: Finding) -> str:
    """Return a finding for a report: its sentences and its code, and whether it was accepted.

    Examples
    --------
    >>> written(Finding("few-shared-places", "note", 1, 6, "place"))
    'Only 1 of 6 places are in both tables. Check that both use the same names for places. [few-shared-places]'
    """
    return f"{'Accepted: ' if finding.gravity == 'stops' else ''}{words_of(finding)} [{finding.code}]"


def told(finding: Finding, stops: str = "accepted") -> str:
    """Return a finding for a terminal: how grave it is, its code, and its sentences; `stops` marks the gravest.

    Examples
    --------
    >>> told(Finding("few-shared-places", "note", 1, 6, "place"))
    'note [few-shared-places]: Only 1 of 6 places are in both tables. Check that both use the same names for places.'
    """
    mark = {"note": "note", "changes-answer": "warning", "stops": stops}[finding.gravity]
    return f"{mark} [{finding.code}]: {words_of(finding)}"


def refuse(found: Iterable[Finding], accept: Sequence[Code], source: str) -> None:
    """Raise `InputError` if a finding makes the answer wrong, and is not accepted by its code.

    Examples
    --------
    >>> found = [Finding("placeholder-ids", "stops", 90, 900, "user", ("NULL",), "--without-user NULL")]
    >>> refuse(found, ["placeholder-ids"], "calls.csv")
    >>> refuse(found, [], "calls.csv")
    Traceback (most recent call last):
    habitprint.errors.InputError: calls.csv: 90 of 900 rows (10%) have a placeholder for a missing user, such as 'NULL'
      why: Rows of several users would be taken for one user.
      fix: add --without-user NULL; or if the data is right, --accept placeholder-ids (in Python: accept=[…])
    """
    wrong = [each for each in found if each.gravity == "stops" and each.code not in accept]
    if not wrong:
        return
    options = " ".join(dict.fromkeys(each.options for each in wrong if each.options))
    others = dict.fromkeys(OTHERWISE[each.code] for each in wrong if not each.options)
    codes = dict.fromkeys(each.code for each in wrong)
    raise InputError(
        f"{source}: {' '.join(map(what_of, wrong)).removesuffix('.')}",
        why=" ".join(dict.fromkeys(map(why_of, wrong))),
        fix=f"{'; '.join((*([f'add {options}'] if options else []), *others))}; or if the data is right, "
        f"{' '.join(f'--accept {code}' for code in codes)} (in Python: accept=[…])",
    )


def to_codes(accept: Sequence[str]) -> tuple[Code, ...]:
    """Return what is accepted as codes of findings, or raise `InputError` for one that does not exist.

    Examples
    --------
    >>> to_codes(["future-dates"])
    ('future-dates',)
    """
    for code in accept:
        require_option("accept", code, CODES)
    return tuple(code for code in CODES if code in accept)


def not_accepted(code: Code) -> str:
    """Return that a finding was accepted in vain: it was not made, or does not stop an audit.

    Examples
    --------
    >>> not_accepted("future-dates")
    '--accept future-dates has no effect: no finding with this code stops this audit. It is not recorded.'
    """
    return f"--accept {code} has no effect: no finding with this code stops this audit. It is not recorded."
