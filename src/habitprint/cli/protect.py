"""``habitprint protect``: make a safer release, and say what it guarantees and what it costs."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console, RenderableType

from habitprint.cli.options import OUTPUT, PROTECTIONS, DuplicatesOption, ForceOption, JsonOption, Options, expanded
from habitprint.cli.progress import ProgressBar
from habitprint.cli.say import facts
from habitprint.errors import InputError
from habitprint.histograms import Histograms, read_histograms
from habitprint.losses import Losses, measure_losses
from habitprint.mappings import Unknown
from habitprint.mechanisms import (
    AddNoise,
    Check,
    Coarsen,
    KeepTopPlaces,
    LimitContribution,
    Mechanism,
    Microaggregate,
    Release,
    RoundTo,
    Step,
    SuppressBelow,
    chain,
    check_guarantees,
    pseudonymise,
    totals_exposure,
)
from habitprint.mechanisms.files import check_release_target, sidecar, write_checked
from habitprint.mechanisms.groups.grouping import Loss
from habitprint.mechanisms.groups.microaggregation import Grouping
from habitprint.mechanisms.guarantees import Unit
from habitprint.tables import check_writable, write_table
from habitprint.words import counted, percent

# Options that say how another one is done, after that one.
DETAILS = (
    ("--coarsen", {"--unknown-places"}),
    ("--epsilon", {"--unit", "--delta"}),
    ("--k", {"--loss", "--method", "--second-phase"}),
)


@dataclass(frozen=True)
class ProtectionOptions(Options, panel=PROTECTIONS):
    """Hold what is done to a table before it is released, in the order of the numbers."""

    coarsen: Annotated[
        Path | None, typer.Option(help="1. Put places together: a table with the columns place, to.")
    ] = None
    unknown_places: Annotated[
        Unknown, typer.Option(help="Coarsening only: refuse places that are not in the table, or leave them out.")
    ] = "refuse"
    top_places: Annotated[int | None, typer.Option(help="2. Keep only so many places, the most popular.")] = None
    limit_contribution: Annotated[int | None, typer.Option(help="3. Let each user add at most so many counts.")] = None
    epsilon: Annotated[
        float | None, typer.Option(help="4. Add noise for differential privacy with this ε (needs the extra dp).")
    ] = None
    unit: Annotated[
        Unit, typer.Option(help="Noise only: hide one event, or all of a user (then limit the contribution).")
    ] = "user"
    delta: Annotated[float, typer.Option(help="Noise only: the probability that the promise fails.")] = 0.0
    suppress_below: Annotated[float | None, typer.Option(help="5. Leave out counts below this.")] = None
    round_to: Annotated[float | None, typer.Option(help="6. Round counts to multiples of this.")] = None
    k: Annotated[int | None, typer.Option(help="7. Micro-aggregate: groups of at least so many users.")] = None
    loss: Annotated[Loss, typer.Option(help="Micro-aggregation only: which loss to keep small.")] = "l1"
    method: Annotated[Grouping, typer.Option(help="Micro-aggregation only: how to find groups.")] = "auto"
    second_phase: Annotated[
        bool, typer.Option("--second-phase", help="Micro-aggregation only: dissolve groups where that lowers the loss.")
    ] = False
    key: Annotated[
        Path | None,
        typer.Option(
            "--pseudonyms", help="8. Give out fresh random ids, and write their key to this file.", metavar="KEY"
        ),
    ] = None

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Return what is applied, in its order; fresh ids come last and by themselves.

        Examples
        --------
        >>> ProtectionOptions(k=10, round_to=5.0).mechanisms
        (RoundTo(base=5), Microaggregate(k=10, loss='l1', method='auto', second_phase=False))
        """
        given = {option.name for option in self.given}
        for needed, details in DETAILS:
            # Whoever gives an option that would do nothing believes that it does.
            if needed not in given and details & given:
                raise InputError(
                    f"{' and '.join(sorted(details & given))} without {needed}",
                    why=f"they say how {needed} is done, so alone they protect nothing",
                    fix=f"add {needed}, or leave them out",
                )
        limit, epsilon = self.limit_contribution, self.epsilon
        steps: tuple[Mechanism | None, ...] = (
            None if self.coarsen is None else Coarsen(self.coarsen, self.unknown_places),
            None if self.top_places is None else KeepTopPlaces(self.top_places),
            # Noise for each user limits by itself.
            None if limit is None or epsilon is not None else LimitContribution(total=limit),
            None if epsilon is None else AddNoise(epsilon, self.unit, self.delta, limit),
            None if self.suppress_below is None else SuppressBelow(_whole_if_it_is(self.suppress_below)),
            None if self.round_to is None else RoundTo(_whole_if_it_is(self.round_to)),
            None if self.k is None else Microaggregate(self.k, self.loss, self.method, self.second_phase),
        )
        return tuple(step for step in steps if step is not None)


@dataclass(frozen=True)
class Protected:
    """Hold what was protected, what came of it, what that costs, and where it was written."""

    original: Histograms
    release: Release
    losses: Losses
    checks: list[Check]
    out: Path | None
    key: Path | None

    @property
    def n_places(self) -> int:
        """Return how many places a reader of the release sees: those that nobody visits any more are not written."""
        return len(np.unique(self.release.histograms.counts.indices))


@expanded
def protect(
    histograms_file: Annotated[
        Path, typer.Argument(help="What is to be protected: CSV or Parquet.", metavar="HISTOGRAMS")
    ],
    *,
    duplicates: DuplicatesOption = "error",
    options: ProtectionOptions,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the release to this .csv or .parquet file, and a .json file beside it.", rich_help_panel=OUTPUT
        ),
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Protect a table of histograms before it is released.

    Whatever is asked for is applied in the order of the numbers.
    The guarantees are checked on the file that was written, and again at any time by [bold]habitprint check[/bold].

    [bold]Examples[/bold]

    habitprint protect week1.csv --k 10 --loss l1 --out safer.parquet

    habitprint protect week1.csv --coarsen districts.csv --suppress-below 3 --pseudonyms key.csv --out safer.csv
    """
    mechanism = chain(*_asked_for(options, out))
    _check_files(options.key, out, histograms_file, options.coarsen, force=force)
    notes = Console(stderr=True, highlight=False)
    with ProgressBar(notes) as progress:
        progress("reading", 0, 1)
        original = read_histograms(histograms_file, duplicates=duplicates)
        release = mechanism(original, progress=progress)
        progress("measuring the loss", 0, 1)
        losses = measure_losses(original, release)
        renamed, table = (release, None) if options.key is None else pseudonymise(release)
        # What counts is what was written, not what was meant.
        checks = check_guarantees(renamed) if out is None else write_checked(renamed, out, overwrite=force)
        if options.key is not None and table is not None:
            with _private_files():
                write_table(table, options.key, overwrite=force)
    done = Protected(original, renamed, losses, checks, out, options.key)
    if options.key is None:
        notes.print("[yellow]note:[/yellow] the release has the original user ids: --pseudonyms gives out fresh ones.")
    if options.epsilon is not None:
        notes.print("[yellow]note:[/yellow] the losses below were measured on the original: not for publication.")
    if as_json:
        typer.echo(json.dumps(_to_json(done), ensure_ascii=False))
    else:
        _tell(done, Console(highlight=False))


def _whole_if_it_is(value: float) -> float:
    return int(value) if value.is_integer() else value


def _asked_for(options: ProtectionOptions, out: Path | None) -> tuple[Mechanism, ...]:
    """Return what was asked for, and refuse what makes no sense, before the long work."""
    mechanisms = options.mechanisms
    if not mechanisms and options.key is None:
        raise InputError(
            "no protection was asked for",
            why="the release would be the original",
            fix="give at least one, such as --k 10 or --suppress-below 3; habitprint protect --help lists them",
        )
    if out is None and options.key is not None:
        raise InputError(
            "--pseudonyms without --out",
            why="a key belongs to the release that was written with it",
            fix="say where to write the release: --out safer.parquet",
        )
    return mechanisms


def _check_files(key: Path | None, out: Path | None, *inputs: Path | None, force: bool) -> None:
    """Refuse files that cannot be written, or that would be lost."""
    outputs = [] if out is None else [out, sidecar(out)]
    if out is not None:
        check_release_target(out, overwrite=force)
    if key is not None:
        check_writable(key, overwrite=force)
        outputs.append(key)
    taken = {path.resolve() for path in inputs if path is not None}
    for path in outputs:
        if path.resolve() in taken:
            raise InputError(
                f"{path} is used twice",
                why="one of the two files would be lost",
                fix="choose another name",
            )
        taken.add(path.resolve())


@contextmanager
def _private_files() -> Iterator[None]:
    """Let new files be readable by their owner only."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)


def _tell(done: Protected, screen: Console) -> None:
    screen.print(_describe(done))
    if done.out is not None:
        written = f"release written to {done.out}, what was done to {sidecar(done.out)}"
        screen.print(written, soft_wrap=True, markup=False)
    if done.key is not None:
        screen.print(f"key written to {done.key}: keep it apart from the release", soft_wrap=True, markup=False)


def _describe(done: Protected) -> RenderableType:
    original, losses = done.original, done.losses
    where = "this release" if done.out is None else f"{done.out.name} as written"
    rows = [("original", f"{counted(original.n_users, 'user')}, {counted(original.n_places, 'place')}")]
    rows += [(f"step {number}", step.in_full) for number, step in enumerate(done.release.steps, 1)]
    n_users = f"{losses.n_users_kept:,} of {counted(losses.n_users, 'user')}"
    rows.append(("release", f"{n_users}, {counted(done.n_places, 'place')}"))
    for check in done.checks:
        rows.append(("guarantee", check.guarantee.words))
        rows.append(("", f"verified on {where}: {check.words}" if check.holds else check.words))
    if not done.checks:
        rows.append(("guarantee", "none"))
    rows += _describe_losses(losses)
    rows.append(("totals", totals_exposure(done.release).words))
    return facts(rows)


def _describe_losses(losses: Losses) -> list[tuple[str, str]]:
    scale = "0: nothing is lost; 1: everybody looks like the mean"
    value = "not defined" if losses.information_loss is None else f"{losses.information_loss:.4f}"
    counts = "" if losses.count_totals_error is None else f"; of counts {percent(losses.count_totals_error)}"
    return [
        ("information loss", f"{value}  ({scale})"),
        ("totals per place", f"off by {percent(losses.totals_error)}, every user counting once{counts}"),
        (
            f"top {counted(losses.n_top, 'place')}",
            f"{percent(losses.top_places_missed)} missed; {percent(losses.ranking_error)} of their pairs swapped",
        ),
    ]


def _to_json(done: Protected) -> dict[str, Any]:
    return {
        "original": {"n_users": done.original.n_users, "n_places": done.original.n_places},
        "release": {"n_users": done.release.histograms.n_users, "n_places": done.n_places},
        "user_ids": "original" if done.key is None else "fresh",
        "steps": [_step_to_json(step) for step in done.release.steps],
        "guarantees": checks_to_json(done.checks),
        "verified_on": "this release" if done.out is None else str(done.out),
        "losses": asdict(done.losses),
        "totals_exposure": asdict(totals_exposure(done.release)),
        "out": None if done.out is None else str(done.out),
        "sidecar": None if done.out is None else str(sidecar(done.out)),
        "key": None if done.key is None else str(done.key),
    }


def _step_to_json(step: Step) -> dict[str, Any]:
    return {
        "name": step.name,
        "words": step.words,
        "facts": step.facts.to_json(),
        "found": step.found,
        "findings": dict(step.findings),
    }


def checks_to_json(checks: list[Check]) -> list[dict[str, Any]]:
    """Return guarantees, whether they hold and how that was found out.

    Examples
    --------
    >>> from habitprint.mechanisms import SmallestCount
    >>> checks_to_json(check_guarantees(Histograms.from_strings({1: "a"}), [SmallestCount(1)]))[0]["holds"]
    True
    """
    return [
        {
            **check.guarantee.to_json(),
            "words": check.guarantee.words,
            "holds": check.holds,
            "verified_by": check.words,
        }
        for check in checks
    ]
