"""Singling out in sentences: how many people some of their places single out, before and after protection."""

from collections.abc import Sequence

from habitprint.auditing.audit import Audit
from habitprint.formatting import counted, in_column, percent
from habitprint.rates import IntervalMethod, Rate
from habitprint.singling_out import MOST_KNOWN, SinglingOut
from habitprint.wording.blocks import Block, Cell, Table, Text, fixed_text, fixed_texts, table
from habitprint.wording.risk import interval

TYPICAL = 4  # places in the one sentence: the number that the literature names


def about_singling_out(audit: Audit) -> str:
    """Say how many people four places single out, in the audited table and with the recommended protection.

    Empty for an audit of an earlier version, which did not measure it.

    Examples
    --------
    >>> import habitprint as hp
    >>> print(about_singling_out(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)))
    An attacker who knows four random places of a person singles out 0% of 12 people (95% interval 0% to 0.038%). If \
they also know the counts there, they single out 100% (95% interval 99.96% to 100%).
    """
    measured = _measured(audit)
    if not measured:
        return ""
    (_, found), *protected = measured
    people, held = f" of {counted(found.n_people, 'person')}", "shares" if audit.data.has_shares else "counts"
    said = f"An attacker who knows four random places of a person singles out {_typical(found.by_places, people)}."
    said += f" If they also know the {held} there, they single out {_typical(found.with_counts)}."
    for _, each in protected:
        places, values = _typical(each.by_places), _typical(each.with_counts)
        apart = "with or without values" if places == values else f"and {values} with values"
        said += f" After the recommended protection, they single out {places}, {apart}."
    return said


def singling_out_table(audit: Audit) -> Table:
    """Return the share of people whom one to five places single out, with and without values there.

    Examples
    --------
    >>> import habitprint as hp
    >>> shown = singling_out_table(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))
    >>> [column.label for column in shown.columns]
    ['Known', 'Unprotected table']
    """
    measured = _measured(audit)
    rows: list[list[object]] = []
    for with_values in (False, True):
        for n_places in range(1, MOST_KNOWN + 1):
            value = f" with {'its value' if n_places == 1 else 'their values'}" if with_values else ""
            rates = (each.with_counts if with_values else each.by_places for _, each in measured)
            rows.append([counted(n_places, "place") + value, *(_cell(each[n_places - 1]) for each in rates)])
    return table("People who are singled out", ["Known", *(name for name, _ in measured)], rows)


def tell_singling_out(audit: Audit) -> list[Block]:
    """Return the blocks about singling out: the answer, the table, and its limits.

    Examples
    --------
    >>> import habitprint as hp
    >>> [block.kind for block in tell_singling_out(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))]
    ['text', 'text', 'table', 'text']
    """
    measured = _measured(audit)
    if not measured:
        return []
    sample = [] if audit.data.scope.whole is None else [fixed_text("singling out of a sample")]
    how, *limits = fixed_texts("singling out")
    return [Text(about_singling_out(audit)), Text(how), singling_out_table(audit), *map(Text, [*limits, *sample])]


def _measured(audit: Audit) -> list[tuple[str, SinglingOut]]:
    """Return the audited table and that of the recommended protection, by name, as far as they were measured."""
    trials = {
        "Audited table" if audit.verdict.is_protected else "Unprotected table": audit.protections.trials[0],
        "Recommended protection": None if audit.verdict.passes else audit.protections.advised,
    }
    return [(name, trial.singling_out) for name, trial in trials.items() if trial and trial.singling_out]


def _typical(rates: Sequence[Rate], people: str = "") -> str:
    rate = rates[TYPICAL - 1]
    return percent(rate.value) + people + (f" ({interval(rate)})" if _is_drawn(rate) else "")


def _cell(rate: Rate) -> Cell:
    return Cell(in_column(rate.value) + (f" ({rate.interval_words})" if _is_drawn(rate) else ""), rate.value)


def _is_drawn(rate: Rate) -> bool:
    return rate.method is not IntervalMethod.EXACT
