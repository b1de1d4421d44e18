"""``habitprint demo``: two attacks on built-in data."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Annotated

import typer
from rich.bar import Bar
from rich.console import Console
from rich.table import Table
from rich.text import Text

from habitprint.cli.options import JsonOption
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import Screen, print_json
from habitprint.datasets import calls_twin, illustration
from habitprint.evaluation import Evaluation, evaluate
from habitprint.events import events_from_frame
from habitprint.flags import INPUT
from habitprint.formatting import percent
from habitprint.matching import Matching, Method, match
from habitprint.periods import ConsecutiveWeeks, Split, split
from habitprint.progress import Progress, silent
from habitprint.weighing import PAPER_WEIGHTS, WeightName

BAR = 30  # characters for 100%
METHODS: tuple[Method, ...] = ("joint", "one-by-one")


def demo(
    users: Annotated[int, typer.Option(min=10, help="Number of made-up customers.", rich_help_panel=INPUT)] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of every random choice.", rich_help_panel=INPUT)] = 0,
    as_json: JsonOption = False,
) -> None:
    """Re-identify people in built-in data.

    [bold]Example[/bold]

    habitprint demo --users 5000

    Part 1 is the first table of the paper: four students.
    Part 2 is the synthetic twin of its call records: made-up customers who call as the real ones did.
    """
    with ProgressBar(Screen(stderr=True)) as progress:
        story = make_story(users, seed, progress)
    if as_json:
        print_json(story.to_json())
    else:
        tell(story, Screen())


@dataclass(frozen=True)
class Story:
    """The content of the demo: the matching of the four students, and each attack on the calls."""

    students: Matching
    calls: Split
    attacks: dict[tuple[WeightName, Method], Evaluation]
    seed: int

    def to_json(self) -> dict[str, object]:
        """Return the numbers as the command prints them for machines."""
        attacks = [
            {"weight": weight, "method": method, **found.to_json()} for (weight, method), found in self.attacks.items()
        ]
        calls = {
            "source": self.calls.source,
            "periods": self.calls.periods,
            "n_users": self.calls.released.n_users,
            "seed": self.seed,
            "attacks": attacks,
        }
        return {"illustration": self.students.to_table().to_dicts(), "calls": calls}


def make_story(n_users: int, seed: int, progress: Progress = silent) -> Story:
    """Compute the numbers that the demo shows.

    Examples
    --------
    >>> len(make_story(60, seed=0).attacks)
    8
    """
    progress("making customers", 0, 1)
    twin = calls_twin(n_users, seed=seed)
    calls = split(events_from_frame(twin.events, source=twin.source), ConsecutiveWeeks("2012-04-09"))
    released, known = calls
    attacks: dict[tuple[WeightName, Method], Evaluation] = {}
    for weight, method in product(PAPER_WEIGHTS, METHODS):
        progress(f"{weight}, {method}", len(attacks), len(PAPER_WEIGHTS) * len(METHODS))
        matching = match(released, known, weight=weight, method=method, seed=seed)
        attacks[weight, method] = evaluate(matching, released, known)
    return Story(match(*illustration()), calls, attacks, seed)


def tell(story: Story, screen: Console) -> None:
    """Print the story.

    Examples
    --------
    >>> import io
    >>> page = io.StringIO()
    >>> tell(make_story(60, seed=0), Console(file=page))
    >>> "Jill" in page.getvalue()
    True
    """
    released = story.calls.released
    screen.print(Text("1. Four students", style="bold"))
    screen.print("Their names are hidden. The attacker knows the habits of four people.\n")
    screen.print(_students(story.students))
    screen.print(
        Text(f"\n2. Calls of {released.n_users:,} customers from {released.n_places:,} antennas", style="bold")
    )
    screen.print(Text(f"{story.calls.source}", style="dim"), soft_wrap=True)
    screen.print("One week is released without names. The attacker knows the other week. Share re-identified:\n")
    screen.print(_bars(story.attacks))
    best = story.attacks["jensen-shannon", "joint"].accuracy_rate
    if best is not None:
        screen.print(f"\nJoint matching re-identifies {best.words}.")
        screen.print(Text("On your own events: habitprint audit EVENTS --out DIR", style="dim"))


def _students(matching: Matching) -> Table:
    """Return the paper's first table with the last column filled in."""
    released, known = illustration()
    table = Table("released", *released.places.to_list(), "", "is", "known for")
    habits = dict(zip(known.users, known.counts.toarray(), strict=True))
    found = dict(zip(matching.released, matching.known, strict=True))
    for user, counts in zip(released.users, released.counts.toarray(), strict=True):
        theirs = " / ".join(f"{count}" for count in habits[found[user]])
        table.add_row(user, *(f"{count}%" for count in counts), "→", Text(str(found[user]), style="bold"), theirs)
    return table


def _bars(attacks: Mapping[tuple[WeightName, Method], Evaluation]) -> Table:
    table = Table("weight", "method", "re-identified", "", "95% interval", box=None, padding=(0, 2, 0, 0))
    rates = {attack: found.accuracy_rate for attack, found in attacks.items() if found.accuracy_rate is not None}
    for (weight, method), rate in rates.items():
        is_joint = method == "joint"
        bar = Bar(1.0, 0.0, rate.value, width=BAR, color="cyan" if is_joint else "bright_black")
        table.add_row(weight if is_joint else "", method, bar, percent(rate.value), rate.interval_words)
    for rate in list(rates.values())[:1]:
        table.add_row("", "by chance", "", percent(rate.by_chance))
    return table
