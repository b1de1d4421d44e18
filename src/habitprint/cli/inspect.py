"""``habitprint inspect``: what a table of events holds."""

from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table

from habitprint.cli.event_options import EventFiles, EventOptions, IdColumns
from habitprint.cli.options import FileOptions, JsonOption, expanded
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import Screen, print_json
from habitprint.events import EventsCheck, ReadAs, Runs, Spellings, check_events, find_runs, find_spellings
from habitprint.periods import DayRows, count_days
from habitprint.words import counted

N_SHOWN = 10  # pairs of users with a shared history


@expanded
def inspect(
    files: EventFiles, ids: IdColumns, events: EventOptions, written: FileOptions, as_json: JsonOption = False
) -> None:
    """Check a table of events before anything is concluded from it.

    Says how the file was read. Counts rows by what can be done with them, users, places and the span of time,
    repeated rows, days that are years from all others, users who share their events under different ids,
    and ids that look like one that is written in several ways.

    [bold]Examples[/bold]

    habitprint inspect 'calls/*.csv.gz' --user caller --time start --place antenna --time-zone Africa/Abidjan

    habitprint inspect calls.duckdb --sql "select caller as user, start as time, antenna as place from calls"
    """
    with ProgressBar(Screen(stderr=True)) as progress:
        opened = events.open(files, ids, written, on_bad_rows="skip")
        found = Inspected(
            check_events(opened, progress=progress),
            tuple(count_days(opened).strays),
            opened.read_as,
            tuple(find_spellings(opened, kind) for kind in ("user", "place")),
            find_runs(opened),
        )
    if as_json:
        _print_json(found)
    else:
        _tell(found, Screen())


@dataclass(frozen=True)
class Inspected:
    """Hold what is told about a table of events."""

    check: EventsCheck
    strays: tuple[DayRows, ...]
    read_as: ReadAs
    spellings: tuple[Spellings, ...]
    runs: Runs

    @property
    def advice(self) -> str:
        """Return what to do about fixes of a device; nothing where rows are visits."""
        if not self.runs.are_fixes:
            return ""
        so_far = (
            f"Half of the users have {self.runs.median:,.0f} rows or more at one place in a row: fixes are not visits."
        )
        how = (
            "Make stays of them: --stays 200m,15min."
            if self.check.n_places is None
            else "Count stays instead, where there are positions (--lat, --lon, --stays 200m,15min), or the time spent "
            "(--count seconds)."
        )
        return f"{so_far} {how}"


def _tell(inspected: Inspected, screen: Console) -> None:
    found, strays = inspected.check, inspected.strays
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    if inspected.read_as.words:
        table.add_row("read as", inspected.read_as.words)
    table.add_row("rows", f"{found.n_rows:,}")
    table.add_row("can be used", f"{found.n_used:,}")
    for reason, n_rows in found.unused.items():
        table.add_row("  not:", f"{n_rows:,} where {reason}")
    table.add_row("users", f"{found.n_users:,}")
    table.add_row("places", "none, but positions" if found.n_places is None else f"{found.n_places:,}")
    table.add_row(
        "first, last", f"{found.first:%Y-%m-%d %H:%M:%S} to {found.last:%Y-%m-%d %H:%M:%S} ({found.time_zone})"
    )
    for stray in strays:
        table.add_row("  years from all others", f"{counted(stray.n_rows, 'row')} on {stray.day}")
    table.add_row("repeated rows", f"{found.n_repeats:,}")
    table.add_row("shared histories", f"{found.shared.n_users:,} users")
    screen.print(table)
    for words in (*(each.words for each in inspected.spellings), inspected.advice):
        if words:
            screen.print(f"\n{words}", soft_wrap=True)
    if found.shared.clock in {"day", "hour"}:
        screen.print(
            f"\nTimes name the {found.shared.clock}: people meet by chance, so few shared histories can be found."
        )
    if found.shared.n_users:
        part = "" if found.shared.sampled == 1 else f" (estimated from {found.shared.sampled:.2%} of the moments)"
        screen.print(f"\nUsers who share at least half of their events under different ids{part}:")
        pairs = Table("user", "other", "events in common", "share of the smaller")
        for row in found.shared.pairs.head(N_SHOWN).rows():
            pairs.add_row(str(row[0]), str(row[1]), f"{row[2]:,}", f"{row[3]:.0%}")
        screen.print(pairs)
        if found.shared.pairs.height > N_SHOWN:
            screen.print(f"… and {found.shared.pairs.height - N_SHOWN:,} more pairs (--json lists all)")
        screen.print("They would be identified by themselves. Split with --shared merge, or --shared drop.")


def _print_json(inspected: Inspected) -> None:
    found = inspected.check
    facts = {
        "source": found.source,
        "read_as": {
            "words": inspected.read_as.words,
            "dialect": None if inspected.read_as.dialect is None else asdict(inspected.read_as.dialect),
            "time_formats": inspected.read_as.time_formats,
        },
        "n_rows": found.n_rows,
        "n_used": found.n_used,
        "unused": dict(found.unused),
        "n_users": found.n_users,
        "n_places": found.n_places,
        "first": found.first.isoformat(),
        "last": found.last.isoformat(),
        "strays": [{"day": stray.day.isoformat(), "n_rows": stray.n_rows} for stray in inspected.strays],
        "time_zone": found.time_zone,
        "n_repeats": found.n_repeats,
        "spellings": [asdict(each) for each in inspected.spellings],
        "runs": {
            "median": inspected.runs.median,
            "n_users": inspected.runs.n_users,
            "advice": inspected.advice or None,
        },
        "shared_histories": {
            "n_users": found.shared.n_users,
            "sampled": found.shared.sampled,
            "clock": found.shared.clock,
            "pairs": found.shared.pairs.to_dicts(),
        },
    }
    print_json(facts)
