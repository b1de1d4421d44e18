"""Checks of a table of events: its content, and possible faults of its rows, ids, days and columns."""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import numpy as np
import numpy.typing as npt
import polars as pl

from habitprint.checks.finding import GRAVE, MILD, Code, Finding, Kind, graded, in_order
from habitprint.errors import InputError
from habitprint.events import Events, ReadAs, SharedHistories, find_shared, longest_run
from habitprint.events.events import require_events
from habitprint.events.prepare import row_columns, without_zeros
from habitprint.events.times import EXCEL, EXCEL_DAYS, UNITS
from habitprint.formatting import Shown, abbreviated
from habitprint.io.tables import USUAL, collect
from habitprint.periods import Calendar, DateRanges, DayRows, DayTable, HalvesOfRows, Span, count_days
from habitprint.progress import Progress, silent

N_EXAMPLES, N_DAYS = 4, 3  # ids and days that a finding names
# Words for a missing value, in small letters; an id of blanks only is empty.
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
NEARLY_ALL = 0.9  # with so many users as a share of the rows, a user has hardly more than one row
FAR_FEWER = 100  # a user has so many times as many rows as there are places
LONG_TAIL = 50  # times the median has the largest: as popularity of places is spread, and habits of people are not
FEW_ROWS = 10  # of half of the ids of a long tail
MORE_USERS, MORE_ROWS = 2, 3  # ratio of users to places, and of rows per place to rows per user
ENOUGH_IDS = 20  # least number of users, and of places: fewer have no meaningful spread
MORE_SPREAD = 10  # times as far above the median is the top hundredth of users as that of places
A_FEW = 3  # users at one place at one time: two may be one person with two devices
TOGETHER = 0.5  # of the rows, and of the pairs at one time: lines of a receipt, no people who meet
APART = 0.05  # of the pairs at one time: hardly any user is at two places at once
Numbers = npt.NDArray[np.integer | np.floating]

MANY_ROWS = 1000  # at one place, one after the other: no person makes them, but a device does
MOST_ROWS = 1_000_000  # more are looked at by some of their times
COARSE = ("day", "hour")  # clocks by which people meet by chance
AHEAD = timedelta(days=2)  # how far a clock or a time zone may be ahead
DAY_CODES: tuple[Code, ...] = ("future-dates", "sentinel-dates", "stray-dates")
ALONE = timedelta(days=30)  # a stand-in has no other day so near
# Dates that programs write for a missing date: the zero of Unix, Excel, Windows, GPS and SQL, also one time zone away.
SENTINELS = frozenset(
    day + timedelta(days=shift)
    for day in (date(1970, 1, 1), date(1900, 1, 1), date(1899, 12, 30), date(1601, 1, 1), date(1753, 1, 1))
    for shift in (-1, 0, 1)
) | {date(1980, 1, 6), date(2038, 1, 19)}


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
    """Find columns whose names show that users and places are swapped.

    Examples
    --------
    >>> [found.options for found in check_names(ReadAs(user="cell_id", place="CallerId"), 9)]
    ['--user CallerId --place cell_id']
    """
    if (_meaning(read_as.user), _meaning(read_as.place)) != ("place", "user"):
        return []
    options = f"--user {shlex.quote(read_as.place)} --place {shlex.quote(read_as.user)}"
    names = (read_as.user, read_as.place)
    return [Finding("swapped-columns", "stops", n_rows, n_rows, examples=names, options=options)]


def check_words(users: pl.Series, places: pl.Series) -> list[Finding]:
    """Find ids whose words show that users and places are swapped, such as cell-17 and person-4.

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
    """Find "users" that are lines of a receipt: all of them are at one place at one time, again and again.

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

    Nearly as many users as rows stop an audit. There may be other reasons if a user has far fewer places than rows. The
    same holds for users who are spread like places (`check_tail`), or are far more than places.

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
    of_user, of_place = (float(np.quantile(n, 0.99) / np.median(n)) for n in (users, places))
    has_few_places = 1 < len(places) <= float(np.median(users)) / FAR_FEWER
    if has_few_places or (min(len(users), len(places)) >= ENOUGH_IDS and of_user >= MORE_SPREAD * of_place):
        return [Finding("swapped-columns", "changes-answer", len(users), n_rows, "user")]
    return check_tail(users, places)


def check_tail(users: Numbers, places: Numbers) -> list[Finding]:
    """Find users whose numbers of rows are spread like those of places: half have a few rows, some have very many.

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


@dataclass(frozen=True)
class EventsCheck(Shown):
    """The content of a table of events, and its possible faults.

    Parameters
    ----------
    source, time_zone
        The source of the events, and the time zone in which days begin.
    n_rows, n_used
        The number of all rows, and of rows that can be used.
    unused
        The number of invalid rows, and of rows left out, by reason.
    n_users
        Distinct users.
    n_places
        Distinct places; None if events have positions.
    first, last
        The first and the last time, in the time zone.
    n_repeats
        Rows that repeat another one: same user, time and place (or position), as in `without_repeats`.
    shared
        Users who share their history with another user.
    longest_run
        The median over users of their longest run of rows at one place.
    calendar
        The rows on each day.
    findings
        Possible faults of the data, the graver first.

    Examples
    --------
    >>> import habitprint as hp
    >>> events = hp.events_from_frame({"user": [1, 1], "time": ["2012-04-09"] * 2, "place": [7, 7]})
    >>> found = hp.check_events(events)
    >>> found.n_users, found.n_repeats, found.shared.n_users
    (1, 1, 0)
    >>> [(each.code, each.gravity, each.count) for each in found.findings]
    [('repeated-rows', 'changes-answer', 1), ('coarse-clock', 'note', 2)]
    """

    source: str
    time_zone: str
    n_rows: int
    n_used: int
    unused: Mapping[str, int]
    n_users: int
    n_places: int | None
    first: datetime
    last: datetime
    n_repeats: int
    shared: SharedHistories
    longest_run: float
    calendar: Calendar
    findings: tuple[Finding, ...]

    __repr__ = abbreviated


def check_events(events: Events | DayTable, *, progress: Progress = silent) -> EventsCheck:
    """Count the rows, users and places of a table of events, and look for faults of the data.

    Invalid rows are only counted, for any value of `on_bad_rows`. Repeats are counted by 64-bit hashes of the rows. The
    source is read once. It is not read if its day table is given and its rows are kept.

    Examples
    --------
    >>> import habitprint as hp
    >>> events = hp.events_from_frame({"user": [1, None], "time": ["2012-04-09"] * 2, "place": [7, 8]})
    >>> hp.check_events(events).unused
    {'the user is missing': 1}
    """
    progress("counting rows", 0, 3)
    if not isinstance(events, DayTable):
        require_events(events)
        events = DayTable.of(events.read_once())
    table = events.counted()
    events = table.events
    counts = events.count_rows()
    events.refuse_no_rows(counts)
    progress("counting users and places", 1, 3)
    columns = [column for column in ("user", "place") if column in events.columns]
    # Users and places with their rows: for their numbers and their spellings.
    ids = [table.count_ids(column) for column in columns]
    calendar = count_days(table)
    time = pl.col("time").dt.convert_time_zone(events.time_zone)
    (ends,) = collect([events.usable.select(first=time.min(), last=time.max())], events.source)
    first, last = ends.row(0)
    progress("looking for shared histories", 2, 3)
    unused = events.in_reasons(counts)
    n_rows, n_used, n_repeats = sum(counts.values()), counts[0], _count_repeats(events)
    shared, longest = find_shared(events, n_used), longest_run(events)
    found = [
        *check_unused(unused, n_rows),
        *_check_rows(n_repeats, n_used, shared, longest, ids[0].height, has_places=len(ids) > 1),
        *(each for kind, table in zip(columns, ids, strict=True) for each in check_ids(table, kind)),
        *check_days(calendar),
        *check_excel(events.read_as, first, last, n_used),
        *_check_swapped(events, ids, n_used),
    ]
    return EventsCheck(
        source=events.origin,
        time_zone=events.time_zone,
        n_rows=n_rows,
        n_used=n_used,
        unused=unused,
        n_users=ids[0].height,
        n_places=ids[1].height if len(ids) > 1 else None,
        first=first,
        last=last,
        n_repeats=n_repeats,
        shared=shared,
        longest_run=longest,
        calendar=calendar,
        findings=in_order(found),
    )


def check_unused(unused: Mapping[str, int], n_rows: int) -> list[Finding]:
    """Find rows that were not used, by reason.

    Examples
    --------
    >>> check_unused({"the user is missing": 6}, 100)[0].gravity, check_unused({}, 100)
    ('changes-answer', [])
    """
    n = sum(unused.values())
    gravity = graded(n, n_rows, MILD)
    return [Finding("unused-rows", gravity, n, n_rows, examples=tuple(unused))] if n else []


def _check_rows(
    n_repeats: int, n_used: int, shared: SharedHistories, longest: float, n_users: int, *, has_places: bool
) -> list[Finding]:
    """Find repeated rows, shared histories, clocks too coarse to detect them, and fixes of a device."""
    found = []
    if n_repeats:
        found.append(Finding("repeated-rows", graded(n_repeats, n_used, MILD), n_repeats, n_used))
    if n := shared.n_users:
        pair = tuple(map(str, shared.pairs.select("user", "other").row(0)))
        found.append(Finding("shared-histories", graded(n, n_users, MILD), n, n_users, "user", pair, "--shared merge"))
    if shared.clock in COARSE:
        found.append(Finding("coarse-clock", "note", n_used, n_used, examples=(shared.clock,)))
    if longest >= MANY_ROWS:
        options = "--count seconds" if has_places else "--stays 200m,15min"
        found.append(Finding("fixes-not-visits", "changes-answer", int(longest), options=options))
    return found


def _check_swapped(events: Events, ids: list[pl.DataFrame], n_used: int) -> list[Finding]:
    if "place" not in events.columns:
        return []
    is_told = check_names(events.read_as, n_used) or check_words(*(table["id"] for table in ids))
    if is_told:
        return is_told
    users, places = (table["n"].to_numpy() for table in ids)
    is_some = pl.col("time").hash(seed=0) % (n_used // MOST_ROWS + 1) == 0
    return check_sizes(users, places, n_used) or check_moments(
        collect([events.usable.filter(is_some).select("user", "time", "place")], events.source)[0]
    )


def _count_repeats(events: Events) -> int:
    (hashes,) = collect([events.usable.select(hash=pl.struct(row_columns(events)).hash(seed=0))], events.source)
    ordered = np.sort(hashes["hash"].to_numpy())
    return int(np.count_nonzero(ordered[1:] == ordered[:-1]))


def check_days(calendar: Calendar, spans: Sequence[Span] | None = None, today: date | None = None) -> list[Finding]:
    """Find days in the future, stand-ins for missing dates, and days that are years from all others.

    Parameters
    ----------
    calendar
        The rows on each day.
    spans
        The periods of an audit; None before there are any: then strays are outside, and all other days are inside.
    today
        None for the day on which it runs.

    Examples
    --------
    >>> days = (DayRows(date(1970, 1, 1), 9), DayRows(date(2012, 4, 9), 50), DayRows(date(2012, 4, 10), 50))
    >>> [(found.code, found.gravity, found.count) for found in check_days(Calendar(days))]
    [('sentinel-dates', 'stops', 9)]
    """
    last = (today or datetime.now(UTC).date()) + AHEAD
    future = [day for day in calendar.days if day.day > last]
    sentinels = [day for day in calendar.days if day.day in SENTINELS and _is_alone(day.day, calendar)]
    wrong = {day.day for day in (*future, *sentinels)}
    strays = [day for day in calendar.strays if day.day not in wrong]
    usual = Calendar(tuple(day for day in calendar.days if day.day not in wrong), calendar.source)
    kinds = dict(zip(DAY_CODES, (future, sentinels, strays), strict=True))
    n_rows = sum(day.n_rows for day in calendar.days)
    return [
        Finding(
            code,
            "stops" if code != "stray-dates" and any(_is_used(day, calendar, spans) for day in days) else "note",
            sum(day.n_rows for day in days),
            n_rows,
            examples=tuple(day.day.isoformat() for day in days[:N_DAYS]),
            options="" if code == "stray-dates" else _ranges_without(usual),
        )
        for code, days in kinds.items()
        if days
    ]


def ranges_option(period: DateRanges) -> str:
    """Return the option that names two periods.

    Examples
    --------
    >>> ranges_option(DateRanges(("2012-04-09", "2012-04-15"), ("2012-04-16", "2012-04-22")))
    '--ranges 2012-04-09..2012-04-15,2012-04-16..2012-04-22'
    """
    return "--ranges " + ",".join(f"{first}..{last}" for first, last in period.ranges)


def _is_alone(day: date, calendar: Calendar) -> bool:
    others = (other.day for other in calendar.days if other.day not in SENTINELS)
    return not any(abs(other - day) <= ALONE for other in others)


def _is_used(day: DayRows, calendar: Calendar, spans: Sequence[Span] | None) -> bool:
    if spans is None:
        return day not in calendar.strays
    # Where days differ from user to user, any may be used.
    return any(
        not span.ranges or any((first or day.day) <= day.day <= (last or day.day) for first, last in span.ranges)
        for span in spans
    )


def _ranges_without(usual: Calendar) -> str:
    """Return the option that names the periods which the other days allow; empty if they allow none."""
    try:
        return ranges_option(HalvesOfRows().cut(usual)) if usual.days else ""
    except InputError:
        return ""
