"""May we release this? All stages of an audit, one after the other."""

from collections.abc import Iterable
from dataclasses import astuple
from typing import Any

from habitprint.audit.attack import run_attacks
from habitprint.audit.check import Prepared, check_pair, check_source
from habitprint.audit.coarser import coarser_places
from habitprint.audit.dependence import duration_curve, resolution_curve, users_curve
from habitprint.audit.facts import Attack
from habitprint.audit.people import assess_people
from habitprint.audit.preparation import NOTHING, Preparation
from habitprint.audit.protect import try_protections
from habitprint.audit.result import Audit, Settings
from habitprint.audit.trial import Goal
from habitprint.audit.verdict import reach_verdict
from habitprint.errors import InputError, require_seed
from habitprint.events import Events
from habitprint.grids import Grid
from habitprint.histograms import Histograms
from habitprint.mappings import PlaceMapping
from habitprint.periods import Period, Split
from habitprint.periods.split import CountedAs
from habitprint.progress import Progress, silent
from habitprint.truth import SAME_ID
from habitprint.versions import versions
from habitprint.weights import WeightName


def audit(
    source: Events | Split | tuple[Histograms, Histograms],
    *,
    period: Period | None = None,
    target: float = 0.05,
    fail_above: float | None = None,
    surest_target: float | None = None,
    overlap: float | None = None,
    grid: Grid | None = None,
    coarser: Iterable[PlaceMapping] = (),
    truth: Any = SAME_ID,
    active: int = 1,
    count: CountedAs = "visits",
    noise: bool = True,
    name: str | None = None,
    preparation: Preparation = NOTHING,
    seed: int = 0,
    progress: Progress = silent,
) -> Audit:
    """Find out whether statistics of habits may be released, and if not, which protection would make them safe enough.

    Parameters
    ----------
    source
        Events; or two sets of histograms, released and known.
    period
        Which events are released and which are known; None chooses the two busiest consecutive weeks, or two halves.
    target
        The share of people that may be identified: the upper end of the 95% interval must not be above it.
    fail_above
        A gate for scripts: `verdict.fails_gate` says whether the unprotected data exceeds it.
    surest_target
        The precision that the surest claims may have: 5% of all claims, at least 50.
    overlap
        The share of the people whom the adversary knows; None for all.
    grid
        The grid whose squares the places are, or that turns positions into places; larger squares are tried.
    coarser
        Mappings to coarser places, to be tried.
    truth
        For two sets of histograms: who really is whom, as for `habitprint.evaluate`.
    active, count
        For events: as for `habitprint.split`.
    noise
        Whether to try noise, if OpenDP is installed. It has no seed, so its trials differ from run to run.
    name
        What the data is called in the report; None for what its source says.
    preparation
        What was done to the data before, for the report.
    seed
        Decides all other random choices.
    progress
        Told now and then how far the work has come.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.audit(hp.datasets.town(200, 30), target=0.1, noise=False)
    >>> found.strongest.rate.high > 0.5, found.verdict.passes, found.verdict.protection is not None
    (True, False, True)
    """
    _check_options(target, fail_above, surest_target, overlap, seed)
    progress("checking the data", 0, 1)
    mappings = list(coarser)
    prepared = _prepare(
        source, period, grid, truth, overlap, seed, preparation, active=active, count=count, progress=progress
    )
    sides = prepared.sides
    attacks = run_attacks(sides, seed=seed, progress=progress)
    joint = _strongest_joint(attacks)
    weight: WeightName = joint.weight  # type: ignore[assignment]  # it names one of the weights
    steps = coarser_places(sides.released, grid, mappings)
    side = None if grid is None else grid.side
    curves = (
        users_curve(sides, joint.rate, weight, seed, progress),
        duration_curve(prepared, joint.rate, weight, seed, count=count, progress=progress),
        resolution_curve(sides, joint.rate, steps, weight, seed, side=side, progress=progress),
    )
    goal = Goal(target, surest_target, weight, seed)
    protections, mapping = try_protections(sides, steps, goal, noise=noise, progress=progress)
    people, users = assess_people(sides, weight, seed, progress)
    settings = Settings(
        source=name or (source.source if isinstance(source, (Events, Split)) else "two sets of histograms"),
        kind="events" if isinstance(source, Events) else "histograms",
        target=target,
        fail_above=fail_above,
        surest_target=surest_target,
        overlap=overlap,
        seed=seed,
        weight=weight,
        noise=noise,
        active=active if isinstance(source, Events) else None,
        count=count if isinstance(source, Events) else None,
        side=preparation.side if side is None else side,
        box=preparation.box if grid is None else ",".join(f"{edge:g}" for edge in astuple(grid.box)),
        by_hours=preparation.by_hours,
        by_weekday=preparation.by_weekday,
        shared=preparation.shared,
        first_day=preparation.first_day,
        coarsen=preparation.coarsen,
    )
    strongest = next(attack for attack in attacks if attack.is_strongest)
    return Audit(
        settings=settings,
        versions=versions(),
        data=prepared.facts,
        attacks=tuple(attacks),
        curves=curves,
        protections=protections,
        people=people,
        verdict=reach_verdict(settings, strongest, protections, people),
        users=users,
        mapping=None if mapping is None else mapping.table,
    )


def _check_options(
    target: float, fail_above: float | None, surest_target: float | None, overlap: float | None, seed: int
) -> None:
    require_seed(seed)
    shares: dict[str, Any] = {
        "target": target,
        "fail_above": fail_above,
        "surest_target": surest_target,
        "overlap": overlap,
    }
    for name, value in shares.items():
        if value is not None and not (isinstance(value, (int, float)) and 0 < value <= 1):
            raise InputError(
                f"{name} = {value!r}",
                why="it is a share of people or of claims, above 0 and at most 1",
                fix="write 0.05 for 5% (on the command line also 5%)",
            )


def _prepare(
    source: Any,
    period: Period | None,
    grid: Grid | None,
    truth: Any,
    overlap: float | None,
    seed: int,
    preparation: Preparation,
    *,
    active: int,
    count: CountedAs,
    progress: Progress,
) -> Prepared:
    if isinstance(source, Events):
        events = source if grid is None or "place" in source.columns else grid.place(source)
        return check_source(events, period, overlap, seed, active=active, count=count, progress=progress)
    pair = tuple(source) if isinstance(source, (Split, tuple, list)) else ()
    if len(pair) != 2 or not all(isinstance(side, Histograms) for side in pair):  # noqa: PLR2004
        raise InputError(
            f"this {type(source).__name__} cannot be audited",
            why="an audit starts from events, or from two sets of histograms: released and known",
            fix="read them with hp.read_events(path), or give (released, known) from hp.read_histograms(path)",
        )
    if period is not None:
        raise InputError(
            "a period for two sets of histograms",
            why="their counts are of two periods already",
            fix="leave it out, or give the events",
        )
    periods = source.periods if isinstance(source, Split) else None
    return check_pair(*pair, truth, overlap, seed, periods, preparation.copied)


def _strongest_joint(attacks: list[Attack]) -> Attack:
    """Return the joint attack with the highest upper end: the one that all further stages repeat."""
    return max((attack for attack in attacks if attack.method == "joint"), key=lambda attack: attack.rate.high)
