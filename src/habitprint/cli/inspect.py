"""``habitprint inspect``: what a table of events holds."""

from dataclasses import asdict

import msgspec
from rich.console import Console
from rich.table import Table

from habitprint.checks import EventsCheck, check_events
from habitprint.cli.open_events import EventFiles, open_files
from habitprint.cli.options import JsonOption, expanded
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import Screen, print_json
from habitprint.events import ReadAs
from habitprint.events.spec import Reading, StaysOption
from habitprint.wording.findings import told

N_SHOWN = 10  # pairs of users with a shared history


@expanded
def inspect(files: EventFiles, reading: Reading, stays: StaysOption = None, as_json: JsonOption = False) -> None:
    """Check a table of events before anything is concluded from it.

    Says how the file was read. Counts rows by what can be done with them, users, places and the span of time.
    Finds what may be wrong: each finding has a code, and says whether it stops an audit.

    [bold]Examples[/bold]

    habitprint inspect 'calls/*.csv.gz' --user caller --time start --place antenna --time-zone Africa/Abidjan

    habitprint inspect calls.duckdb --sql "select caller as user, start as time, antenna as place from calls"
    """
    with ProgressBar(Screen(stderr=True)) as progress:
        opened = open_files(files, msgspec.structs.replace(reading, on_bad_rows="skip"), stays)
        found = check_events(opened, progress=progress)
    if as_json:
        _print_json(found, opened.read_as)
    else:
        _tell(found, opened.read_as, Screen())


def _tell(found: EventsCheck, read_as: ReadAs, screen: Console) -> None:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    if read_as.words:
        table.add_row("read as", read_as.words)
    table.add_row("rows", f"{found.n_rows:,}")
    table.add_row("can be used", f"{found.n_used:,}")
    for reason, n_rows in found.unused.items():
        table.add_row("  not:", f"{n_rows:,} where {reason}")
    table.add_row("users", f"{found.n_users:,}")
    table.add_row("places", "none, but positions" if found.n_places is None else f"{found.n_places:,}")
    table.add_row(
        "first, last", f"{found.first:%Y-%m-%d %H:%M:%S} to {found.last:%Y-%m-%d %H:%M:%S} ({found.time_zone})"
    )
    table.add_row("repeated rows", f"{found.n_repeats:,}")
    table.add_row("shared histories", f"{found.shared.n_users:,} users")
    screen.print(table)
    if found.findings:
        screen.print()
    for finding in found.findings:
        screen.print(told(finding, stops="stops an audit"), soft_wrap=True, markup=False)
    if found.shared.n_users:
        part = "" if found.shared.sampled == 1 else f" (estimated from {found.shared.sampled:.2%} of the moments)"
        screen.print(f"\nUsers who share at least half of their events under different ids{part}:")
        pairs = Table("user", "other", "events in common", "share of the smaller")
        for row in found.shared.pairs.head(N_SHOWN).rows():
            pairs.add_row(str(row[0]), str(row[1]), f"{row[2]:,}", f"{row[3]:.0%}")
        screen.print(pairs)
        if found.shared.pairs.height > N_SHOWN:
            screen.print(f"… and {found.shared.pairs.height - N_SHOWN:,} more pairs (--json lists all)")


def _print_json(found: EventsCheck, read_as: ReadAs) -> None:
    facts = {
        "source": found.source,
        "read_as": {
            "words": read_as.words,
            "dialect": None if read_as.dialect is None else asdict(read_as.dialect),
            "time_formats": read_as.time_formats,
        },
        "n_rows": found.n_rows,
        "n_used": found.n_used,
        "unused": dict(found.unused),
        "n_users": found.n_users,
        "n_places": found.n_places,
        "first": found.first.isoformat(),
        "last": found.last.isoformat(),
        "strays": [{"day": stray.day.isoformat(), "n_rows": stray.n_rows} for stray in found.calendar.strays],
        "time_zone": found.time_zone,
        "n_repeats": found.n_repeats,
        "findings": [asdict(finding) for finding in found.findings],
        "runs": asdict(found.runs),
        "shared_histories": {
            "n_users": found.shared.n_users,
            "sampled": found.shared.sampled,
            "clock": found.shared.clock,
            "pairs": found.shared.pairs.to_dicts(),
        },
    }
    print_json(facts)
