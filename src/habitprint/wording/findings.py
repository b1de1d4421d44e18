"""Sentences about faults of the data: the fault, why it matters, and how to fix it."""

from collections.abc import Iterable, Sequence
from datetime import date
from importlib.resources import files

from habitprint.checks import CODES, Code, Finding
from habitprint.checks.check import DAY_CODES
from habitprint.errors import InputError, first_few, require_option
from habitprint.formatting import by_heading, counted, percent
from habitprint.periods.day_table import in_words as day_in_words

# The texts of each code: what was found, why it matters, and how to fix it if no option of the command line does. In
# braces: {n} of {of} with their {share}, {kind}s, and values {such as these}.
TEXTS = by_heading((files("habitprint.wording") / "findings.md").read_text(encoding="utf-8"))


def words_of(finding: Finding) -> str:
    """Return a finding in sentences: what was found, why it matters, and the options that fix it.

    Examples
    --------
    >>> found = Finding("ids-with-spaces", "stops", 40, 200, "user", ("1", "1 "), "--plain-ids")
    >>> words_of(found)  # doctest: +NORMALIZE_WHITESPACE
    "40 of 200 user ids differ from another only by blanks around them, such as '1', '1 '. habitprint would count
    one user as several, and the risk would look too small. To fix it: --plain-ids."
    """
    fix = f" To fix it: {finding.options}." if finding.options else ""
    return f"{what_of(finding)} {why_of(finding)}{fix}"


def what_of(finding: Finding) -> str:
    """Return what was found, as a sentence.

    Examples
    --------
    >>> what_of(Finding("future-dates", "stops", 1, 900, examples=("2099-12-31",)))
    '1 of 900 rows (0.11%) are dated in the future: 31 December 2099.'
    """
    of = finding.of or finding.count
    is_named = finding.code == "swapped-columns" and finding.examples  # names of columns show a swap
    first, second, *_ = (*map(repr, finding.examples), "", "")
    said = TEXTS["swapped-columns-by-name" if is_named else finding.code][0].format(
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
    """Return a day as people write it; other text is unchanged."""
    try:
        return day_in_words(date.fromisoformat(text))
    except ValueError:
        return text


def why_of(finding: Finding) -> str:
    """Return why a finding matters, in sentences.

    Examples
    --------
    >>> why_of(Finding("placeholder-ids", "stops", 1, kind="user"))
    'habitprint would count several users as one user.'
    """
    values = "; ".join(finding.examples)
    return TEXTS[finding.code][1].format(kind=finding.kind, values=values, looks_protected=TEXTS["looks-protected"][0])


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
      why: habitprint would count several users as one user.
      fix: add --without-user NULL; or if the data is right, --accept placeholder-ids (in Python: accept=[…])
    """
    wrong = [each for each in found if each.gravity == "stops" and each.code not in accept]
    if not wrong:
        return
    options = " ".join(dict.fromkeys(each.options for each in wrong if each.options))
    others = dict.fromkeys(TEXTS[each.code][2] for each in wrong if not each.options)
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
    '--accept future-dates has no effect: no finding with this code stops this audit. The record does not list it.'
    """
    return f"--accept {code} has no effect: no finding with this code stops this audit. The record does not list it."
