"""``habitprint audit``: whether statistics of habits may be released."""

import re
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from habitprint.audit.audit import FACTS, MAPPING, REPORT, USERS, Audit
from habitprint.audit.audit import audit as audit_source
from habitprint.audit.data import Preparation
from habitprint.cli.advice import commands_to_protect
from habitprint.cli.event_options import (
    ActiveOption,
    BadRowsOption,
    BoxOption,
    ByHoursOption,
    ByWeekdayOption,
    ColumnNames,
    DaysOption,
    FirstDayOption,
    HalvesOption,
    LatColumn,
    LonColumn,
    MapOption,
    PlaceColumn,
    RangesOption,
    SecondsColumn,
    SharedOption,
    SideOption,
    Source,
    TimeColumn,
    TimeFormatOption,
    TimeZoneOption,
    UserColumn,
    WeeksOption,
    box_around,
    resolve,
    to_box,
    to_period,
    with_places,
)
from habitprint.cli.match import AsIsOption, as_the_adversary
from habitprint.cli.options import DuplicatesOption, JsonOption, TruthOption, read_truth, refuse_inputs
from habitprint.cli.progress import ProgressBar
from habitprint.errors import InputError
from habitprint.events import Events
from habitprint.events.read import find_files
from habitprint.files import check_folder
from habitprint.grids import Grid
from habitprint.histograms import Histograms, read_histograms
from habitprint.mappings import read_place_mapping
from habitprint.periods.split import CountedAs
from habitprint.truth import SAME_ID
from habitprint.words import percent

GATE_FAILED = 1
PERCENT = "such as 5% or 0.05"


def audit(
    files: Annotated[
        list[str],
        typer.Argument(
            help="One table of events (a pattern reads many files), or two tables of histograms: released, known.",
            metavar="EVENTS | RELEASED KNOWN",
        ),
    ],
    out: Annotated[Path, typer.Option(help="The folder for the report; it must not be there, or be empty.")],
    target: Annotated[
        str, typer.Option(help=f"The share of people that may be identified, {PERCENT}.", metavar="RATE")
    ] = "5%",
    fail_above: Annotated[
        str | None,
        typer.Option(
            help="Exit with 1 if the upper end of the 95% interval of the strongest attack on the unprotected data "
            "exceeds this.",
            metavar="RATE",
        ),
    ] = None,
    surest_target: Annotated[
        str | None,
        typer.Option(help="How often the surest claims may be right: 5% of all claims, at least 50.", metavar="RATE"),
    ] = None,
    overlap: Annotated[
        str | None,
        typer.Option(help="The adversary knows only this share of the people, such as 50%.", metavar="RATE"),
    ] = None,
    coarser: Annotated[
        list[Path] | None,
        typer.Option("--coarsen", help="A table with the columns place, to: coarser places to try. May be repeated."),
    ] = None,
    truth: TruthOption = None,
    user: UserColumn = "user",
    time: TimeColumn = "time",
    place: PlaceColumn = None,
    lat: LatColumn = None,
    lon: LonColumn = None,
    seconds: SecondsColumn = None,
    columns: ColumnNames = None,
    time_zone: TimeZoneOption = "UTC",
    time_format: TimeFormatOption = None,
    on_bad_rows: BadRowsOption = "fail",
    side: SideOption = None,
    box: BoxOption = None,
    mapping: MapOption = None,
    hours: ByHoursOption = None,
    weekday: ByWeekdayOption = False,
    shared: SharedOption = "keep",
    weeks: WeeksOption = None,
    ranges: RangesOption = None,
    halves: HalvesOption = False,
    days: DaysOption = None,
    first_day: FirstDayOption = "monday",
    active: ActiveOption = 1,
    count: Annotated[CountedAs, typer.Option(help="What a count is.")] = "visits",
    duplicates: DuplicatesOption = "error",
    as_is: AsIsOption = False,
    noise: Annotated[
        bool, typer.Option("--noise/--no-noise", help="Try noise too, if OpenDP is installed; it has no seed.")
    ] = True,
    seed: Annotated[int, typer.Option(min=0, help="Decides all random choices but noise.")] = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the files of an earlier audit in that folder.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Find out whether statistics of habits may be released.

    Attacks the data as an adversary would who knows the same people from another period,
    tries protections against the same attacks, and finds the cheapest that keeps the risk within the target.
    Writes a report (report.html, report.json: no names) and, for internal use only, who is at risk (users.parquet).

    [bold]Examples[/bold]

    habitprint audit calls.parquet --user caller --time start --place antenna --out audit

    habitprint audit 'gps/*.csv' --lat lat --lon lon --side 500 --halves --out audit --fail-above 5%

    habitprint audit week1.csv week2.csv --target 1% --out audit
    """
    shares = {
        "target": to_share(target, "--target"),
        "fail_above": to_share(fail_above, "--fail-above"),
        "surest_target": to_share(surest_target, "--surest-target"),
        "overlap": to_share(overlap, "--overlap"),
    }
    is_events = _is_events(files)
    inputs = [*(find_files(files[0]) if is_events else map(Path, files)), mapping, *(coarser or [])]
    check_folder(out, overwrite=force)
    for name in (REPORT, FACTS, USERS, MAPPING):
        refuse_inputs(out / name, *inputs)
    for_events: dict[str, Any] = {
        "--lat": lat, "--lon": lon, "--seconds": seconds, "--columns": columns, "--side": side, "--box": box,
        "--map": mapping, "--by-hours": hours, "--by-weekday": weekday or None, "--weeks": weeks, "--ranges": ranges,
        "--halves": halves or None, "--days": days, "--time": _given(time, "time"), "--active": _given(active, 1),
        "--time-zone": _given(time_zone, "UTC"), "--time-format": time_format, "--count": _given(count, "visits"),
        "--on-bad-rows": _given(on_bad_rows, "fail"), "--shared": _given(shared, "keep"),
        "--first-day": _given(first_day, "monday"),
    }  # fmt: skip
    options: dict[str, Any] = {"noise": noise, "seed": seed}
    asked: dict[str, Any] = {"coarsen": tuple(map(str, coarser or []))}
    with ProgressBar(Console(stderr=True, highlight=False)) as progress:
        options["coarser"] = [read_place_mapping(path) for path in coarser or []]
        source: Events | tuple[Histograms, Histograms]
        copied: list[str] | None = None
        if is_events:
            for_tables = {"--truth": truth, "--duplicates": _given(duplicates, "error"), "--as-is": as_is or None}
            _refuse(for_tables, "events", "a user has the same id in both periods, and all their rows are counted")
            described = Source(
                files[0], user, time, place, lat, lon, seconds, columns, time_zone, time_format, on_bad_rows
            )
            source, options["grid"] = _place(resolve(described.open(), shared), side, box, mapping, hours, weekday)
            if any(option is not None for option in (weeks, ranges, days)) or halves or first_day != "monday":
                options["period"] = to_period(weeks, ranges, halves=halves, days=days, first_day=first_day)
            options |= {"active": active, "count": count}
            asked |= {"by_hours": hours, "by_weekday": weekday, "shared": shared, "first_day": first_day}
            if side is not None and options["grid"] is None:
                asked |= {"side": side, "box": box}
        else:
            _refuse(for_events, "two tables of histograms", "they are counts already, of two periods")
            names = {"user": user, "place": place or "place"}
            released, known = (read_histograms(file, **names, duplicates=duplicates) for file in files)
            known, copied = as_the_adversary(Path(files[0]), known, as_is)
            options["truth"] = read_truth(truth or SAME_ID, released, known)
            options["name"] = " and ".join(files)
            source = released, known
        preparation = Preparation(**asked, copied=tuple(copied or ()))
        found = audit_source(source, **shares, **options, preparation=preparation, progress=progress)
        progress("writing", 0, 1)
        from habitprint.report import write_audit  # noqa: PLC0415  (what draws is loaded only when it is needed)

        written = write_audit(found, out, overwrite=force)
    if as_json:
        typer.echo(found.to_text())
    else:
        for_events |= {"--user": _given(user, "user"), "--place": place}
        _tell(found, written, commands_to_protect(found, files, out, for_events), Console(highlight=False))
    if found.verdict.fails_gate:
        raise SystemExit(GATE_FAILED)


def to_share(text: str | None, option: str) -> Any:
    """Return a rate such as 5% or 0.05 as a share of one.

    Examples
    --------
    >>> to_share("5%", "--target"), to_share("0.05", "--target"), to_share(None, "--overlap")
    (0.05, 0.05, None)
    """
    if text is None:
        return None
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*", text)
    value = float(found[1]) / (100 if found[2] else 1) if found else 0.0
    if not 0 < value <= 1:
        raise InputError(
            f"{option} '{text}' is not a rate",
            why="it is a share above nothing and at most all",
            fix=f"write {option} 5%, or {option} 0.05",
        )
    return value


def _given(value: Any, default: Any) -> Any:
    return None if value == default else value


def _is_events(files: list[str]) -> bool:
    if len(files) > 2:  # noqa: PLR2004
        raise InputError(
            f"{len(files)} files",
            why="one table of events is audited, or two tables of histograms: released, known",
            fix="for events in many files, give one pattern in quotes: 'calls/*.csv'",
        )
    return len(files) == 1


def _refuse(options: dict[str, Any], source: str, why: str) -> None:
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise InputError(f"{given[0]} does not go with {source}", why=why, fix=f"leave out {' and '.join(given)}")


def _place(
    events: Events, side: float | None, box: str | None, mapping: Path | None, hours: int | None, weekday: bool
) -> tuple[Events, Grid | None]:
    """Return the events at their places, and the grid if the places are its squares."""
    if side is None:
        return with_places(events, side, box, mapping, hours, weekday=weekday), None
    grid = Grid(side, to_box(box) if box else box_around(events))
    placed = with_places(grid.place(events), None, None, mapping, hours, weekday=weekday)
    return placed, grid if mapping is None and hours is None and not weekday else None


def _tell(found: Audit, written: list[Path], commands: list[str], screen: Console) -> None:
    verdict = found.verdict
    screen.print(Text(verdict.answer, style="bold"))
    screen.print()
    for detail in verdict.details:
        screen.print(f"· {detail}", markup=False)
    screen.print()
    screen.print(found.data.periods, markup=False)
    for caution in found.data.cautions:
        screen.print(f"note: {caution}", markup=False)
    table = Table("attack", "identified", "95% interval", box=None, padding=(0, 2, 0, 0), header_style="bold")
    for attack in found.attacks:
        rate = attack.rate
        table.add_row(attack.name, percent(rate.value), f"{percent(rate.low)} to {percent(rate.high)}")
    screen.print()
    screen.print(table)
    screen.print()
    for number, command in enumerate(commands):
        screen.print(f"{'then' if number else 'to protect it'}: {command}", soft_wrap=True, markup=False)
    for file in written:
        use = " (names people at risk: internal use only)" if file.name == USERS else ""
        screen.print(f"written to {file}{use}", soft_wrap=True, markup=False)
    if verdict.fails_gate is not None:
        allowed = percent(found.settings.fail_above or 0.0)
        word = "exceeds" if verdict.fails_gate else "does not exceed"
        screen.print(f"gate: the upper end of {percent(verdict.upper_end)} {word} {allowed}", markup=False)
