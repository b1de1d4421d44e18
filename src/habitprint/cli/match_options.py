"""How many pairs a matching gives out, and how they are found."""

from dataclasses import dataclass
from typing import Annotated

import typer

from habitprint.cli.options import ADVERSARY, Options
from habitprint.matching import Direction, Method


@dataclass(frozen=True)
class MatchOptions(Options, panel=ADVERSARY):
    """Hold how many pairs are given out, and how they are found."""

    size: Annotated[
        int | None, typer.Option(help="Give out exactly this many pairs; without it, as many as there can be.")
    ] = None
    method: Annotated[
        Method, typer.Option(help="All users at once, exactly or approximately (needs --epsilon), or each on its own.")
    ] = "joint"
    epsilon: Annotated[
        float | None, typer.Option(help="Approximate only: the share of the gain that may be missing, such as 0.01.")
    ] = None
    direction: Annotated[Direction, typer.Option(help="One by one only: who looks for whom.")] = "released-to-known"
