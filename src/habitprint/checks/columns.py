"""Checks of columns: users and places swapped, Excel days read as seconds, placeholders instead of ids."""

import re
import shlex
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import polars as pl

from habitprint.checks.finding import GRAVE, MILD, Code, Finding, Kind, graded
from habitprint.events import ReadAs
from habitprint.events.prepare import without_zeros
from habitprint.events.times import EXCEL, EXCEL_DAYS, UNITS
from habitprint.io.tables import USUAL

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
ENOUGH_ROWS = 100  # fewer say nothing
NEARLY_ALL = 0.9  # of the rows: so many users have hardly a row each
FAR_FEWER = 100  # times as many rows as there are places has a user
LONG_TAIL = 50  # times the median has the largest: as popularity of places is spread, and habits of people are not
FEW_ROWS = 10  # of half of the ids of a long tail
MORE_USERS, MORE_ROWS = 2, 3  # times as many users as places, and times as many rows of a place as of a user
ENOUGH_IDS = 20  # of users, and of places: fewer have no spread to speak of
MORE_SPREAD = 10  # times as far above the median is the top hundredth of users as that of places
A_FEW = 3  # users at one place at one time: two may be one person with two devices
TOGETHER = 0.5  # of the rows, and of the pairs at one time: lines of a receipt, no people who meet
APART = 0.05  # of the pairs at one time: hardly any user is at two places at once
Numbers = npt.NDArray[np.integer | np.floating]


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


def check_names(read_as: ReadAs, n_rows: int) -> list[Finding]:
    """Find columns whose names say that users are places and places are users.

    Examples
    --------
    >>> [found.options for found in check_names(ReadAs(user="cell_id", place="CallerId"), 9)]
    ['--user CallerId --place cell_id']
    """
    if (_meaning(read_as.user), _meaning(read_as.place)) != ("place", "user"):
        return []
    options = f"--user {shlex.quote(read_as.place)} --place {shlex.quote(read_as.user)}"
    return [
        Finding("swapped-columns", "stops", n_rows, n_rows, examples=(read_as.user, read_as.place), options=options)
    ]


def check_words(users: pl.Series, places: pl.Series) -> list[Finding]:
    """Find ids that say of themselves that users are places and places are users, such as cell-17 and person-4.

    Examples
    --------
    >>> cells, people = pl.Series(["cell-1", "cell-22"]), pl.Series(["person-1", "person-2"])
    >>> check_words(cells, people)[0].gravity, check_words(people, cells)
    ('stops', [])
    """
    if users.dtype != pl.String or places.dtype != pl.String:
        return []
    words = [ids.str.extract(r"^(\p{L}+)").unique() for ids in (users, places)]
    if [_meaning(str(word.first())) if len(word) == 1 else None for word in words] != ["place", "user"]:
        return []
    return [Finding("swapped-columns", "stops", len(users), len(users), "user")]


def check_moments(rows: pl.DataFrame) -> list[Finding]:
    """Find users who come together as the lines of a receipt do: those at one time are at one place, again and again.

    Parameters
    ----------
    rows
        ``user, time, place`` of every row at some times.

    Examples
    --------
    >>> lines = pl.DataFrame({"user": [*"abcdef"] * 20, "time": np.arange(120) // 6, "place": np.arange(120) // 12})
    >>> check_moments(lines)[0].gravity, check_moments(lines.rename({"user": "place", "place": "user"}))
    ('changes-answer', [])
    """
    seen = rows.unique()
    if seen.height < ENOUGH_ROWS:
        return []
    at_place, of_user, at_once = (
        seen.group_by(by).len()["len"].cast(pl.Float64).to_numpy()
        for by in (["place", "time"], ["user", "time"], ["time"])
    )
    n_pairs = float((at_once * (at_once - 1)).sum())
    if at_place[at_place >= A_FEW].sum() < TOGETHER * seen.height or not n_pairs:
        return []
    meet, divide = (float((n * (n - 1)).sum()) / n_pairs for n in (at_place, of_user))
    by_chance = float(((seen["place"].value_counts()["count"] / seen.height) ** 2).sum())
    is_receipt = meet >= max(TOGETHER, 2 * by_chance) and divide <= APART
    return [Finding("swapped-columns", "changes-answer", seen["user"].n_unique(), seen.height, "user")] * is_receipt


def check_sizes(users: Numbers, places: Numbers, n_rows: int) -> list[Finding]:
    """Find signs that users are places, from the rows of each user and of each place.

    Nearly as many users as rows stop an audit. Far fewer places than a user has rows may have another reason, and so
    may users who are spread as places are (`check_tail`), or far more than places.

    Examples
    --------
    >>> check_sizes(np.ones(990), np.full(10, 99), 990)[0].gravity
    'stops'
    >>> check_sizes(np.full(40, 900), np.full(3, 12_000), 36_000)[0].gravity
    'changes-answer'
    """
    if n_rows < ENOUGH_ROWS:
        return []
    if len(users) >= NEARLY_ALL * n_rows:
        return [Finding("swapped-columns", "stops", len(users), n_rows, "user")]
    if 1 < len(places) <= float(np.median(users)) / FAR_FEWER:
        return [Finding("swapped-columns", "changes-answer", len(users), n_rows, "user")]
    if min(len(users), len(places)) >= ENOUGH_IDS:
        of_user, of_place = (float(np.quantile(n, 0.99) / np.median(n)) for n in (users, places))
        if of_user >= MORE_SPREAD * of_place:
            return [Finding("swapped-columns", "changes-answer", len(users), n_rows, "user")]
    return check_tail(users, places)


def check_tail(users: Numbers, places: Numbers) -> list[Finding]:
    """Find users who are spread as places are, half of them with a few rows and some with very many, unlike places.

    Examples
    --------
    >>> tail = np.append(np.full(500, 2), np.full(20, 400))
    >>> check_tail(tail, np.full(100, 90))[0].gravity, check_tail(np.full(100, 90), tail)
    ('changes-answer', [])
    """
    n_rows = int(users.sum())
    if n_rows < ENOUGH_ROWS or len(users) < MORE_USERS * len(places):
        return []
    of_user, of_place = float(np.median(users)), float(np.median(places))
    is_tail = of_user <= FEW_ROWS and users.max() >= LONG_TAIL * of_user and of_place >= MORE_ROWS * of_user
    return [Finding("swapped-columns", "changes-answer", len(users), n_rows, "user")] if is_tail else []


def check_excel(read_as: ReadAs, first: datetime, last: datetime, n_rows: int) -> list[Finding]:
    """Find numbers that were read as time since 1970, and are days as Excel counts them.

    Examples
    --------
    >>> morning, noon = (datetime(1970, 1, 1, hour, 30, tzinfo=UTC) for hour in (11, 12))
    >>> check_excel(ReadAs(time_formats=("seconds",)), morning, noon, 9)[0].options
    '--time-format excel'
    """
    unit = next(iter(read_as.time_formats), "")
    if unit not in UNITS or unit == EXCEL:
        return []
    least, most = EXCEL_DAYS
    zero = datetime(1970, 1, 1, tzinfo=UTC)
    numbers = [(time - zero).total_seconds() * 1_000_000 / UNITS[unit] for time in (first, last)]
    if not least <= numbers[0] <= numbers[1] <= most:
        return []
    shown = tuple(f"{number:g}" for number in dict.fromkeys(numbers))
    return [Finding("excel-serial-dates", "stops", n_rows, n_rows, examples=shown, options=f"--time-format {EXCEL}")]


def _meaning(name: str) -> str | None:
    """Return which part of an event a column's name means, if it is one."""
    words = {word.lower() for word in re.findall("[A-Z]?[a-z]+|[A-Z]+", name)} | {name.lower()}
    meant = [part for part in ("user", "place") if words & {part, *USUAL[part]}]
    return meant[0] if len(meant) == 1 else None
