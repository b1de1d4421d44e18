"""``habitprint demo``: the whole story on built-in data."""

import json
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Any

import typer
from rich.bar import Bar
from rich.console import Console
from rich.table import Table
from rich.text import Text

from habitprint.cli.progress import ProgressBar
from habitprint.datasets import calls_twin, illustration
from habitprint.evaluation import Evaluation, evaluate
from habitprint.events import events_from_frame
from habitprint.histograms import Histograms
from habitprint.matching import Matching, Method, match
from habitprint.periods import ConsecutiveWeeks, Split, split
from habitprint.progress import Progress, silent
from habitprint.weights import WEIGHTS
from habitprint.words import percent

BAR = 30  # characters for 100%
METHODS: tuple[Method, ...] = ("joint", "one-by-one")


def demo(
    users: Annotated[int, typer.Option(min=10, help="Customers in the twin of the paper's calls.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Which customers, and which of equally good matchings.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")] = False,
) -> None:
    """Show what habitprint does on built-in data.

    First four students of the paper's first table,
    then the twin of its call records: made-up customers whose figures are those of the real ones.

    [bold]Example[/bold]

    habitprint demo --users 5000
    """
    with ProgressBar(Console(stderr=True, highlight=False)) as progress:
        story = make_story(users, seed, progress)
    if as_json:
        typer.echo(json.dumps(_summary(story)))
    else:
        tell(story, Console(highlight=False))


@dataclass(frozen=True)
class Story:
    """Hold what the demo shows: the students with their matching, and each attack on the calls."""

    students: Histograms
    names: Histograms
    solved: Matching
    calls: Split
    attacks: dict[tuple[str, Method], Evaluation]
    seed: int


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
    attacks: dict[tuple[str, Method], Evaluation] = {}
    for weight, method in product(WEIGHTS.values(), METHODS):
        progress(f"{weight.name}, {method}", len(attacks), len(WEIGHTS) * len(METHODS))
        attack = match(released, known, weight=weight.name, method=method, seed=seed)
        attacks[weight.name, method] = evaluate(attack, released, known)
    return Story(students, names, match(students, names), calls, attacks, seed)


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
    screen.print("[bold]1. Four students.[/bold] The names are hidden, but somebody knows their habits:\n")
    screen.print(_students(story.students, story.names, story.solved))
    screen.print(f"\n[bold]2. Calls of {released.n_users:,} customers[/bold] from {released.n_places:,} antennas.")
    screen.print(f"[dim]{story.calls.source}[/dim]", soft_wrap=True)
    screen.print("One week is released without names, the other is known. Share of the customers identified:\n")
    screen.print(_bars(story.attacks))
    best = story.attacks["jensen-shannon", "joint"]
    if best.accuracy is not None and best.accuracy_interval is not None:
        low, high = map(percent, best.accuracy_interval)
        screen.print(
            f"\nAll at once, [bold]{percent(best.accuracy)}[/bold] of the customers are identified "
            f"(95% interval {low} to {high}).\n"
            "[dim]On your own events: habitprint audit EVENTS --user … --time … --place … --out DIR[/dim]"
        )


def _students(released: Histograms, known: Histograms, matching: Matching) -> Table:
    """Return the paper's first table with the last column filled in."""
    table = Table("released", *released.places.to_list(), "", "is", "known for")
    habits = dict(zip(known.users, known.counts.toarray(), strict=True))
    found = dict(zip(matching.released, matching.known, strict=True))
    for user, counts in zip(released.users, released.counts.toarray(), strict=True):
        theirs = " / ".join(f"{count}" for count in habits[found[user]])
        table.add_row(user, *(f"{count}%" for count in counts), "→", f"[bold]{found[user]}[/bold]", theirs)
    return table


def _bars(results: dict[tuple[str, Method], Evaluation]) -> Table:
    table = Table("weight", "method", "identified", "95% interval", box=None, padding=(0, 2, 0, 0))
    for (weight, method), result in results.items():
        if result.accuracy is None or result.accuracy_interval is None:
            continue
        style = "cyan" if method == "joint" else "bright_black"
        bar = Table.grid(padding=(0, 1))
        bar.add_row(Bar(1.0, 0.0, result.accuracy, width=BAR, color=style), percent(result.accuracy))
        low, high = map(percent, result.accuracy_interval)
        table.add_row(Text(weight if method == "joint" else ""), method, bar, f"{low} to {high}")
    by_chance = next(iter(results.values())).accuracy_random
    table.add_row("", "by chance", "" if by_chance is None else percent(by_chance), "")
    return table


def _summary(story: Story) -> dict[str, Any]:
    attacks = [
        {"weight": weight, "method": method, **result.to_json()} for (weight, method), result in story.attacks.items()
    ]
    return {
        "illustration": story.solved.to_table().to_dicts(),
        "calls": {
            "source": story.calls.source,
            "periods": story.calls.periods,
            "n_users": story.calls.released.n_users,
            "seed": story.seed,
            "attacks": attacks,
        },
    }
