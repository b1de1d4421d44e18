"""``habitprint inspect``: what a table of events holds."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from habitprint.cli.event_options import EventFiles, EventOptions, IdColumns
from habitprint.cli.options import JsonOption, expanded
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import Screen, print_json
from habitprint.events import EventsCheck, check_events
from habitprint.periods import DayRows, count_days
from habitprint.words import counted

N_SHOWN = 10  # pairs of users with a shared history


@expanded
def inspect(files: EventFiles, ids: IdColumns, events: EventOptions, as_json: JsonOption = False) -> None:
    """Check a table of events before anything is concluded from it.

    Counts rows by what can be done with them, users, places and the span of time,
    repeated rows, days that are years from all others, and users who share their events under different ids.

    [bold]Example[/bold]

    habitprint inspect 'calls/*.csv.gz' --user caller --time start --place antenna --time-zone Africa/Abidjan
    """
    with ProgressBar(Screen(stderr=True)) as progress:
        opened = events.open(files, ids, on_bad_rows="skip")
        found = check_events(opened, progress=progress)
        strays = count_days(opened).strays
    if as_json:
        _print_json(found, strays)
    else:
        _tell(found, strays, Screen())


def _tell(found: EventsCheck, strays: Sequence[DayRows], screen: Console) -> None:
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
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


def _print_json(found: EventsCheck, strays: Sequence[DayRows]) -> None:
    facts = {
        "source": found.source,
        "n_rows": found.n_rows,
        "n_used": found.n_used,
        "unused": dict(found.unused),
        "n_users": found.n_users,
        "n_places": found.n_places,
        "first": found.first.isoformat(),
        "last": found.last.isoformat(),
        "strays": [{"day": stray.day.isoformat(), "n_rows": stray.n_rows} for stray in strays],
        "time_zone": found.time_zone,
        "n_repeats": found.n_repeats,
        "shared_histories": {
            "n_users": found.shared.n_users,
            "sampled": found.shared.sampled,
            "clock": found.shared.clock,
            "pairs": found.shared.pairs.to_dicts(),
        },
    }
    print_json(facts)
