"""``habitprint demo``: the whole story on built-in data."""

from collections.abc import Sequence
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
from habitprint.histograms import Histograms
from habitprint.matching import Matching, Method, match
from habitprint.periods import ConsecutiveWeeks, Split, split
from habitprint.progress import Progress, silent
from habitprint.weighing import PAPER_WEIGHTS, WeightName

BAR = 30  # characters for 100%
METHODS: tuple[Method, ...] = ("joint", "one-by-one")


def demo(
    users: Annotated[
        int, typer.Option(min=10, help="Customers in the twin of the paper's calls.", rich_help_panel=INPUT)
    ] = 1000,
    seed: Annotated[
        int,
        typer.Option(min=0, help="Which customers, and which of equally good matchings.", rich_help_panel=INPUT),
    ] = 0,
    as_json: JsonOption = False,
) -> None:
    """Show what habitprint does on built-in data.

    First four students of the paper's first table,
    then the twin of its call records: made-up customers whose figures are those of the real ones.

    [bold]Example[/bold]

    habitprint demo --users 5000
    """
    with ProgressBar(Screen(stderr=True)) as progress:
        story = make_story(users, seed, progress)
    if as_json:
        print_json(story.to_json())
    else:
        tell(story, Screen())


@dataclass(frozen=True)
class Shown:
    """One attack on the calls and its outcome."""

    weight: WeightName
    method: Method
    result: Evaluation


@dataclass(frozen=True)
class Story:
    """The content of the demo: the students with their matching, and each attack on the calls."""

    students: Histograms
    names: Histograms
    solved: Matching
    calls: Split
    attacks: tuple[Shown, ...]
    seed: int

    def to_json(self) -> dict[str, object]:
        """Return it as the command prints it for machines."""
        attacks = [{"weight": one.weight, "method": one.method, **one.result.to_json()} for one in self.attacks]
        return {
            "illustration": self.solved.to_table().to_dicts(),
            "calls": {
                "source": self.calls.source,
                "periods": self.calls.periods,
                "n_users": self.calls.released.n_users,
                "seed": self.seed,
                "attacks": attacks,
            },
        }


def make_story(n_users: int, seed: int, progress: Progress = silent) -> Story:
    """Compute all that the demo shows.

    Examples
    --------
    >>> len(make_story(50, seed=0).attacks)
    8
    """
    students, names = illustration()
    progress("making customers", 0, 1)
    twin = calls_twin(n_users, seed=seed)
    calls = split(events_from_frame(twin.events, source=twin.source), ConsecutiveWeeks("2012-04-09"))
    released, known = calls
    attacks: list[Shown] = []
    for weight, method in product(PAPER_WEIGHTS, METHODS):
        progress(f"{weight}, {method}", len(attacks), len(PAPER_WEIGHTS) * len(METHODS))
        attack = match(released, known, weight=weight, method=method, seed=seed)
        attacks.append(Shown(weight, method, evaluate(attack, released, known)))
    return Story(students, names, match(students, names), calls, tuple(attacks), seed)


def tell(story: Story, screen: Console) -> None:
    """Print the story.

    Examples
    --------
    >>> import io
    >>> page = io.StringIO()
    >>> tell(make_story(50, seed=0), Console(file=page))
    >>> "Jill" in page.getvalue()
    True
    """
    released = story.calls.released
    screen.print(
        Text.assemble(("1. Four students.", "bold"), " The names are hidden, but somebody knows their habits:\n")
    )
    screen.print(_students(story.students, story.names, story.solved))
    calls = (f"\n2. Calls of {released.n_users:,} customers", "bold")
    screen.print(Text.assemble(calls, f" from {released.n_places:,} antennas."))
    screen.print(Text(f"{story.calls.source}", style="dim"), soft_wrap=True)
    screen.print("One week is released without names, the other is known. Share of the customers identified:\n")
    screen.print(_bars(story.attacks))
    best = story.attacks[0].result.accuracy_rate  # the proposed weight, all at once
    if best is not None:
        screen.print(
            Text.assemble(
                "\nAll at once, ",
                (percent(best.value), "bold"),
                f" of the customers are identified ({percent(best.level)} interval {best.interval_words}).\n",
                ("On your own events: habitprint audit EVENTS --user … --time … --place … --out DIR", "dim"),
            )
        )


def _students(released: Histograms, known: Histograms, matching: Matching) -> Table:
    """Return the paper's first table with the last column filled in."""
    table = Table("released", *released.places.to_list(), "", "is", "known for")
    habits = dict(zip(known.users, known.counts.toarray(), strict=True))
    found = dict(zip(matching.released, matching.known, strict=True))
    for user, counts in zip(released.users, released.counts.toarray(), strict=True):
        theirs = " / ".join(f"{count}" for count in habits[found[user]])
        table.add_row(user, *(f"{count}%" for count in counts), "→", Text(str(found[user]), style="bold"), theirs)
    return table


def _bars(attacks: Sequence[Shown]) -> Table:
    table = Table("weight", "method", "identified", "95% interval", box=None, padding=(0, 2, 0, 0))
    for one in attacks:
        rate, is_joint = one.result.accuracy_rate, one.method == "joint"
        if rate is None:
            continue
        bar = Table.grid(padding=(0, 1))
        colour = "cyan" if is_joint else "bright_black"
        bar.add_row(Bar(1.0, 0.0, rate.value, width=BAR, color=colour), percent(rate.value))
        table.add_row(Text(one.weight if is_joint else ""), one.method, bar, rate.interval_words)
    by_chance = attacks[0].result.accuracy_random
    table.add_row("", "by chance", "" if by_chance is None else percent(by_chance), "")
    return table
