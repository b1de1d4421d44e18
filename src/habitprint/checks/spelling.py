"""Ids that are no ids: one id written in several ways, a word for a missing value, the total of a table."""

import re
import shlex

import polars as pl

from habitprint.checks.finding import GRAVE, MILD, Code, Finding, Kind, graded
from habitprint.events.plain import without_zeros

N_EXAMPLES = 4
# What stands for a missing value, in small letters; an id of blanks only is empty.
MISSING = r"""
- -- --- ? ?? . null (null) <null> \n none nan <na> na n/a n.a. #n/a #null! #value! nil unknown (unknown) undefined
missing empty anonymous unset unbekannt k.a. inconnu desconocido sconosciuto
"""
PLACEHOLDERS = frozenset((*MISSING.split(), "", "not set", "(not set)", "keine angabe"))
NUMBERS = r"-1|0+|9{3,}"  # that stand for a missing value where far more rows have them than any other id
FAR_MORE = 10  # times the rows of half of the users
TOTALS = re.compile(
    "(grand|sub|overall)?[ _-]?(totals?|totale|totaal|sum|summe|gesamt|insgesamt|gesamtsumme|somme|suma|итого|合计)",
    re.IGNORECASE,
)


def check_ids(ids: pl.DataFrame, kind: Kind) -> list[Finding]:
    """Find ids of users or of places that look wrong, from a table ``id, n`` with the rows of each.

    Nothing is changed: `007` and `7` may well be two people.

    Examples
    --------
    >>> ids = pl.DataFrame({"id": ["Jo", "jo ", "007", "7", "NULL", "Total"], "n": [9, 9, 9, 9, 1, 1]})
    >>> [(found.code, found.gravity, found.count) for found in check_ids(ids, "user")]  # doctest: +NORMALIZE_WHITESPACE
    [('ids-zero-padded', 'stops', 2), ('ids-in-capitals', 'changes-answer', 2),
     ('placeholder-ids', 'changes-answer', 1), ('total-row', 'changes-answer', 1)]
    """
    return [*_spellings(ids, kind), *_words(ids, kind)]


def is_total(name: object) -> bool:
    """Return whether an id is a word for a total.

    Examples
    --------
    >>> is_total(" Grand total"), is_total("Gesamt"), is_total("Totaltown")
    (True, True, False)
    """
    return TOTALS.fullmatch(str(name).strip()) is not None


def _spellings(ids: pl.DataFrame, kind: Kind) -> list[Finding]:
    """Count ids that are the same as another without blanks; then without zeros too; then in small letters too."""
    if ids["id"].dtype != pl.String:  # an integer is written in one way
        return []
    text = pl.col("text")
    ways: dict[Code, pl.Expr] = {
        "ids-with-spaces": text.str.strip_chars(),
        "ids-zero-padded": without_zeros(text),
        "ids-in-capitals": text.str.to_lowercase(),
    }
    found, now = [], ids.select("id", text="id")
    for code, way in ways.items():
        after = now.with_columns(before=text, text=way)
        if not (after["text"] == after["before"]).all():
            same = after.filter(pl.col("before").n_unique().over("text") > 1).sort("text", "id")
            if same.height:
                is_doubtful = code == "ids-in-capitals"
                gravity = graded(same.height, ids.height, MILD if is_doubtful else GRAVE)
                shown = tuple(same["id"].head(N_EXAMPLES))
                options = "" if is_doubtful else "--plain-ids"
                found.append(Finding(code, gravity, same.height, ids.height, kind, shown, options))
        now = after.select("id", "text")
    return found


def _words(ids: pl.DataFrame, kind: Kind) -> list[Finding]:
    """Count the rows of ids that are words for a missing value or for a total."""
    n_rows, rows = int(ids["n"].sum()), pl.col("n")
    text = pl.col("id").cast(pl.String).str.strip_chars()
    small = ids.with_columns(text=text.str.to_lowercase())
    is_placeholder = pl.col("text").is_in(PLACEHOLDERS)
    if kind == "user" and ids.height > 1:
        is_far_more = (rows >= rows.max()) & (rows > FAR_MORE * rows.median())
        is_placeholder |= is_far_more & pl.col("text").str.contains(f"^({NUMBERS})$")
    missing = small.filter(is_placeholder)
    totals = small.filter(pl.col("text").str.contains("(?i)tota|sum|som|gesamt|итого|合计"))
    totals = totals.filter([is_total(name) for name in totals["text"]])
    concerned: dict[Code, pl.DataFrame] = {"placeholder-ids": missing, "total-row": totals}
    found = []
    for code, table in concerned.items():
        if table.height:
            n, is_mild = int(table["n"].sum()), kind == "place" and code == "placeholder-ids"
            names = list(map(str, table.sort("n", "text", descending=[True, False])["id"]))
            options = " ".join(f"--without-{kind} {shlex.quote(name)}" for name in names)
            gravity = graded(n, n_rows, MILD if is_mild else GRAVE)
            found.append(Finding(code, gravity, n, n_rows, kind, tuple(names[:N_EXAMPLES]), options))
    return found
