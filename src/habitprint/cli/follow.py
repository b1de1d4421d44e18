"""``habitprint follow``: the people who are followed through releases that are repeated under new pseudonyms."""

from collections.abc import Sequence
from typing import Annotated

import habitprint as hp
from habitprint.auditing.options import DEFAULT_TARGET, to_share
from habitprint.cli import events as of_events
from habitprint.cli.events import EventFiles
from habitprint.cli.options import ForceOption, JsonOption, PlotOption, SeedOption, check_outputs, given, refuse
from habitprint.cli.screen import tell, written
from habitprint.errors import InputError
from habitprint.flags import ATTACKER, MAIN, Record, flag
from habitprint.following import MOST_RELEASES, ROTATIONS
from habitprint.progress import ProgressBar
from habitprint.wording.following import about_following, following_table

OF_PERIODS = ("--release-span", "--known-span", "--weeks", "--ranges", "--halves", "--days", "--active")


def to_intervals(texts: Sequence[str], option: str) -> tuple[int, ...]:
    """Return rotation intervals in days.

    Examples
    --------
    >>> to_intervals(["7d", "14"], "--every")
    (7, 14)
    """
    for text in texts:
        if not text.removesuffix("d").isdecimal():
            raise InputError(
                f"{option} {text!r} is not a number of days",
                why="pseudonyms change after whole days",
                fix=f"write {option} 7d",
            )
    return tuple(int(text.removesuffix("d")) for text in texts)


class FollowOptions(Record, frozen=True, kw_only=True):
    """The options of a series of releases.

    Parameters
    ----------
    every
        Days after which pseudonyms change, such as 7d. May be repeated. Default: 1, 3, 7, 14 and 28 days.
    most_releases
        Largest number of releases in a series.
    most_people
        Follow a random sample of so many people. Default: everybody.
    target
        Highest share of people who may be followed, such as 5% or 0.05.
    """

    every: Annotated[tuple[int, ...], flag(panel=MAIN, metavar="DAYS", read=to_intervals)] = ()
    target: Annotated[float, flag(panel=MAIN, metavar="RATE", read=to_share)] = DEFAULT_TARGET
    most_releases: Annotated[int, flag(panel=ATTACKER, least=3)] = MOST_RELEASES
    most_people: Annotated[int | None, flag(panel=ATTACKER, least=2)] = None
    seed: SeedOption = 0


def follow(
    files: EventFiles,
    spec: hp.EventSpec,
    options: FollowOptions,
    plot: PlotOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Measure how long an attacker can follow people if you publish again and again under new pseudonyms.

    [bold]Examples[/bold]

    habitprint follow calls.parquet --user caller --time start --place antenna

    habitprint follow calls.parquet --every 7d --every 14d --target 10% --plot followed.svg

    [bold]What it does[/bold]

    It cuts the file into releases of equal length, each with new pseudonyms. The attacker has no names. They match each
    release with the rows that they gathered from earlier ones. habitprint prints the share of people who are still in
    the right chain of rows, for each interval at which pseudonyms change.
    """
    why = "a series of releases covers all days of the file"
    refuse(given(spec), OF_PERIODS, "habitprint follow", why=why, fix="leave it out, and give --every")
    check_outputs(*of_events.files_of(files), force=force, chart=plot)
    with ProgressBar() as progress:
        found = hp.follow(
            of_events.open_events(files, spec).events,
            every=options.every or ROTATIONS,
            count=of_events.counted_as(spec),
            most_people=options.most_people,
            most_releases=options.most_releases,
            seed=options.seed,
            progress=progress,
        )
        if plot is not None:
            hp.save_chart(found.plot(), plot, overwrite=force)
    answer, *notes = about_following(found, options.target)
    blocks = [answer, following_table(found), *notes, *written(plot)]
    tell({**vars(found), "target": options.target, "plot": plot}, blocks, as_json=as_json)
