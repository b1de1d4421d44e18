"""``habitprint demo``: the whole story on built-in data."""

import json
from dataclasses import asdict
from typing import Annotated, Any

import typer
from rich.bar import Bar
from rich.console import Console
from rich.table import Table
from rich.text import Text

from habitprint.cli.describe import percent
from habitprint.cli.progress import ProgressBar
from habitprint.datasets import illustration, town
from habitprint.evaluation import Evaluation, evaluate
from habitprint.histograms import Histograms
from habitprint.matching import Matching, Method, match
from habitprint.weights import WEIGHTS

BAR = 30  # characters for 100%


def demo(
    users: Annotated[int, typer.Option(min=2, help="People in the made-up town.")] = 300,
    seed: Annotated[int, typer.Option(min=0, help="Which town, and which of equally good matchings.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object, for machines.")] = False,
) -> None:
    """Show what habitprint does on built-in data.

    First four students of the paper's first table, then a small made-up town in which nobody exists.

    [bold]Example[/bold]

    habitprint demo --users 1000
    """
    screen = Console()
    students, names = illustration()
    solved = match(students, names)
    with ProgressBar(Console(stderr=True)) as progress:
        progress("building the town", 0, 1)
        released, known = town(users, max(users // 5, 20), seed=seed)
        results: dict[tuple[str, Method], Evaluation] = {}
        methods: tuple[Method, ...] = ("joint", "one-by-one")
        for weight in WEIGHTS.values():
            for method in methods:
                progress(f"{weight.name}, {method}", len(results), len(WEIGHTS) * len(methods))
                attack = match(released, known, weight=weight.name, method=method, seed=seed)
                results[weight.name, method] = evaluate(attack, released, known)
    if as_json:
        typer.echo(json.dumps(_summary(solved, results, users, seed)))
        return
    screen.print("[bold]1. Four students.[/bold] The release hides the names; somebody knows last week's habits.\n")
    screen.print(_students(students, names, solved))
    screen.print("\n[bold]2. A made-up town[/bold] of", f"{users} people and {released.n_places} places (seed {seed}).")
    screen.print("One week is released, the other known. Share of the people that are identified:\n")
    screen.print(_bars(results))
    best = results["jensen-shannon", "joint"]
    if best.accuracy is not None and best.accuracy_interval is not None:
        low, high = map(percent, best.accuracy_interval)
        screen.print(
            f"\nMatching all at once identifies [bold]{percent(best.accuracy)}[/bold] of them "
            f"(95% interval {low} to {high}), though no name was released.\n"
            "[dim]On your own data: habitprint match RELEASED KNOWN --truth same-id[/dim]"
        )


def _students(released: Histograms, known: Histograms, matching: Matching) -> Table:
    """Return the paper's first table with the last column filled in."""
    table = Table("released", *released.places.to_list(), "", "is", "known for", title_justify="left")
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


def _summary(solved: Matching, results: dict[tuple[str, Method], Evaluation], users: int, seed: int) -> dict[str, Any]:
    return {
        "illustration": solved.to_table().to_dicts(),
        "town": {
            "n_users": users,
            "seed": seed,
            "attacks": [
                {"weight": weight, "method": method, **asdict(result)} for (weight, method), result in results.items()
            ],
        },
    }
