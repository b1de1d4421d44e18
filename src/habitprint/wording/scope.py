"""Sentences about the data of an audit: people, time, rows, and losses."""

from collections.abc import Mapping
from datetime import date

from habitprint.auditing.preparation import DataFacts, EventsFacts, Scope
from habitprint.checks import EventsCheck
from habitprint.formatting import counted, headed, moment, number, percent, sentence
from habitprint.periods.day_table import in_words as day_in_words
from habitprint.wording.blocks import Block, Bullets, Cell, Heading, Table, Terms, Text, fixed_text, table, terms
from habitprint.wording.findings import written


def about_scope(scope: Scope) -> str:
    """Say which people and which time an audit is about.

    Examples
    --------
    >>> from habitprint.periods import Span
    >>> week, next_week = Span("the first week"), Span("the second week")
    >>> about_scope(Scope(7115, 412, 431, 397, week, next_week, 0.123))[:73]
    '397 of 7,115 people in the file are in both tables: the released table an'
    >>> from habitprint.auditing.preparation import Whole
    >>> about_scope(Scope(500, 450, 450, 400, week, next_week, None, Whole(9000, 8100, 8100, 7200)))[:66]
    'A random sample of 500 of 9,000 people was audited. In both tables'
    """
    released, known = (f"{span.words}, " if span.words else "" for span in (scope.released, scope.known))
    if (everybody := scope.whole) is not None:
        return fixed_text("scope of a sample", scope=scope, everybody=everybody, released=released, known=known)
    in_file = f"{scope.n_in_file:,} people{'' if scope.share_of_rows is None else ' in the file'}"
    before, left = scope.unprotected, ""
    n_attacked = scope.n_attacked if before is None else before.n_attacked
    who = f"All {in_file}" if n_attacked == scope.n_in_file else f"{n_attacked:,} of {in_file}"
    if before is not None and (n_removed := before.n_released - scope.n_released):
        removed = f"{n_removed:,} of {counted(before.n_released, 'person')}"
        left = f" The protection removes {removed} from the release. {scope.n_attacked:,} are left in both tables."
    rows = "" if scope.share_of_rows is None else f" {percent(scope.share_of_rows)} of the rows are used."
    return fixed_text("scope", who=who, left=left, scope=scope, released=released, known=known, rows=rows)


def of_sample(scope: Scope) -> str:
    """Return the words that follow a number of people: that they are a sample, if they are.

    Examples
    --------
    >>> from habitprint.auditing.preparation import Whole
    >>> from habitprint.periods import Span
    >>> of_sample(Scope(9, 9, 9, 9, Span("May"), Span("June"), None, Whole(90, 90, 90, 90)))
    ' in the sample'
    """
    return "" if scope.whole is None else " in the sample"


def attacker_of_sample(scope: Scope) -> str:
    """Say which people the attacker knows where a sample is attacked, after a blank; nothing where everybody is.

    Examples
    --------
    >>> from habitprint.auditing.preparation import Whole
    >>> from habitprint.periods import Span
    >>> attacker_of_sample(Scope(9, 9, 8, 9, Span("May"), Span("June"), None, Whole(90, 90, 90, 90)))
    ' In all attacks but one, both tables hold only the sample: 9 people released, 8 known.'
    """
    n = {"n_released": scope.n_released, "n_known": scope.n_known}
    return "" if scope.whole is None else f" {fixed_text('attacker of a sample', **n)}"


def how_chosen(data: DataFacts) -> str:
    """Say how the periods were chosen.

    Examples
    --------
    >>> import habitprint as hp
    >>> how_chosen(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).data)
    'Two tables were given, without their periods. Make sure that the periods do not overlap.'
    """
    (first, _), *_ = data.scope.known.ranges or [(None, None)]
    return fixed_text(f"periods: {data.periods_how}", day=day_in_words(first or date.min))


def about_data(data: DataFacts) -> list[Block]:
    """Return what the data is, the fate of its rows, and the findings that do not change the answer.

    Examples
    --------
    >>> import habitprint as hp
    >>> [block.kind for block in about_data(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).data)]
    ['text', 'terms', 'table', 'heading', 'bullets']
    """
    grave, notes = (
        tuple(written(each) for each in data.findings if each.is_grave is is_grave) for is_grave in (True, False)
    )
    sampled, events, span, shared = of_sample(data.scope), data.events, "", ""
    if events is not None:
        span = f"{moment(events.first)} to {moment(events.last)} ({events.time_zone})"
        shared = _shared(events)
    rows = counted(data.released.n_users, "released row")
    unique = f"{data.n_unique:,} of {rows}{sampled} have shares that no other row has."
    facts = terms(
        ("Periods", sentence(data.periods or "two tables of histograms")),
        ("Choice of periods", how_chosen(data)),
        ("Time of the events", span),
        ("People in both tables", f"{data.n_common:,}{sampled}"),
        ("Places in both tables", f"{data.n_shared_places:,}{sampled}"),
        ("Unique rows", unique),
        ("Shared histories", shared),
    )
    return [
        *([Heading("Which findings may change the answer?"), Bullets(grave)] if grave else []),
        Text(about_scope(data.scope)),
        facts,
        _tables(data),
        *([] if events is None else [_rows(events)]),
        *([Heading("What else was found?"), Bullets(notes)] if notes else []),
    ]


def _shared(events: EventsFacts) -> str:
    part = events.moments_looked_at
    how = "" if part >= 1 else f" {percent(part)} of the moments were checked."
    n = events.n_users_shared
    who = f"{counted(n, 'person')} {'shares' if n == 1 else 'share'}" if n else "Nobody shares"
    return f"{who} at least half of their events with another id.{how}"


def _tables(data: DataFacts) -> Table:
    ours, theirs = data.released, data.known
    measures = {
        "People": (ours.n_users, theirs.n_users),
        "Places": (ours.n_places, theirs.n_places),
        "Counts of a typical (median) person": (ours.median_counts, theirs.median_counts),
        "Places of a typical (median) person": (ours.median_places, theirs.median_places),
    }
    rows = [[name, *(Cell(number(n), n) for n in both)] for name, both in measures.items()]
    if data.has_shares:
        rows[2][1] = "shares"
    return table(f"The two tables{of_sample(data.scope)}", ["", "Released", "Known"], rows)


def _rows(events: EventsFacts) -> Table:
    uses = {
        "counted": events.n_used,
        "outside both periods": events.n_outside,
        "of people with too few events": events.n_of_others,
        **{f"invalid: {unused.reason}": unused.n_rows for unused in events.unused},
    }
    repeats = events.n_repeats
    note = f"{counted(repeats, 'row')} repeat another row: same person, time and place." if repeats else ""
    return uses_table(uses, events.n_rows, note)


def uses_table(uses: Mapping[str, int], n_rows: int, note: str = "") -> Table:
    """Return the number of rows by their use, and the share of all rows.

    Examples
    --------
    >>> [cell.text for cell in uses_table({"counted": 3}, 4).rows[0].cells]
    ['Counted', '3', '75.0%']
    """
    rows = [[headed(use), n, n / n_rows if n_rows else None] for use, n in {**uses, "all rows": n_rows}.items()]
    return table("Rows by use", ["", "Rows", "Share"], rows, note=note)


def about_check(found: EventsCheck) -> Terms:
    """Return what a check of events counted: valid and invalid rows, users, places, and time.

    Examples
    --------
    >>> import habitprint as hp
    >>> events = hp.events_from_frame({"user": [1, 1], "time": ["2012-04-09"] * 2, "place": [7, 7]})
    >>> about_check(hp.check_events(events)).items[0].meaning
    '2, of which 2 are valid'
    """
    return terms(
        ("Rows", f"{found.n_rows:,}, of which {found.n_used:,} are valid"),
        *((f"Invalid: {reason}", f"{n_rows:,}") for reason, n_rows in found.unused.items()),
        ("Users", f"{found.n_users:,}"),
        ("Places", "none, but positions" if found.n_places is None else f"{found.n_places:,}"),
        ("First, last", f"{moment(found.first)} to {moment(found.last)} ({found.time_zone})"),
        ("Repeated rows", f"{found.n_repeats:,}"),
        ("Users who share their history", f"{found.shared.n_users:,}"),
    )
