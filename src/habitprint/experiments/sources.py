"""The data of an experiment: the paper's own data if given, otherwise a labelled synthetic twin."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import polars as pl

from habitprint import datasets
from habitprint.datasets.synthetic import twin_words
from habitprint.datasets.tracks import files_fingerprint, user_cache
from habitprint.errors import InputError
from habitprint.events import Events, events_from_frame
from habitprint.experiments.jobs import DataName
from habitprint.flags import Record, flag
from habitprint.periods import BusiestWeeks, ConsecutiveWeeks, HalvesOfActiveWeeks, split
from habitprint.periods.periods import Period
from habitprint.places import Box, PlaceMapping
from habitprint.wording.blocks import fixed_text

FORTNIGHT = ConsecutiveWeeks("2012-04-09")
TUESDAY_WEEKS = HalvesOfActiveWeeks("tuesday")  # in GMT: these give the paper's 154 users and 15.4 weeks
QUICK_USERS = 4000  # customers of the calls, when time matters more than size
WEB_USERS = 123  # of whom 121 or so are active in both weeks

DataKind = Literal["twin", "real", "yours", "none"]  # synthetic; the paper's; events of a spec; not to be had


@dataclass(frozen=True)
class Data:
    """Events, their periods, and facts about their places.

    Parameters
    ----------
    events
        Events with places, or with positions and a `box`.
    period
        The released and the known period.
    antennas
        ``place, lat, lon, region``: where places are, if that is known.
    box
        The area that the squares cover.
    """

    events: Events
    period: Period
    antennas: pl.DataFrame | None = None
    box: Box | None = None


@dataclass(frozen=True)
class DataSource:
    """A description of data that is not opened yet.

    Parameters
    ----------
    name
        The name of the source in experiments.
    words
        The description of the source; if it is missing, how to get it.
    kind
        A synthetic twin takes the place of data that cannot be had.
    fingerprint
        Another one means other data, so that older results are stale.
    open
        Reads or makes its events; None if it has none.
    files
        The files that are read, if they belong to the user.
    """

    name: DataName
    words: str
    kind: DataKind
    fingerprint: str
    open: Callable[[], Data] | None
    files: tuple[Path, ...] = ()


class Folders(Record, frozen=True, kw_only=True):
    """The folders of the paper's data, as far as they are given, and one for a copy of GeoLife's points.

    Parameters
    ----------
    d4d
        Folder of the call records of Ivory Coast; default: a synthetic twin.
    web_history
        Folder with visits*.csv and places.csv of the web histories; default: a synthetic twin.
    geolife
        Folder of GeoLife; default: habitprint skips the experiments on it.
    """

    d4d: Annotated[Path | None, flag()] = None
    web_history: Annotated[Path | None, flag()] = None
    geolife: Annotated[Path | None, flag()] = None
    cache: Path | None = None


def find_sources(folders: Folders, *, seed: int = 0, is_quick: bool = False) -> dict[DataName, DataSource]:
    """Return where each set of data of the paper comes from; nothing is read yet.

    Examples
    --------
    >>> sources = find_sources(Folders(), is_quick=True)
    >>> sources["calls"].words
    'synthetic twin of the calls, 4,000 customers, seed 0 (contains no real person)'
    >>> sources["geolife"].kind
    'none'
    """
    for name in ("d4d", "web_history", "geolife"):
        folder = getattr(folders, name)
        instead = "GeoLife is skipped" if name == "geolife" else "a synthetic twin takes its place"
        if folder is not None and not folder.is_dir():
            raise InputError(
                f"--{name.replace('_', '-')}: there is no folder {folder}",
                why="the files of this data set are read from this folder",
                fix=f"check the path; without the option {instead}",
            )
    n_users = QUICK_USERS if is_quick else 50_000
    calls = _calls_twins(n_users, seed) if folders.d4d is None else _d4d(folders.d4d, n_users, seed, is_quick=is_quick)
    web = _web_twin(seed) if folders.web_history is None else _web_history(folders.web_history)
    geolife = DataSource("geolife", fixed_text("how to get GeoLife"), "none", fingerprint="", open=None)
    if folders.geolife is not None:
        cache = None if user_cache() else folders.cache
        read = partial(datasets.geolife, folders.geolife, cache=cache)
        words, fingerprint = "GeoLife 1.3, users who share files kept as they are", _fingerprint(folders.geolife)
        geolife = DataSource(
            "geolife", words, "real", fingerprint, lambda: Data(read(), TUESDAY_WEEKS, box=datasets.BEIJING)
        )
    table = DataSource("illustration", "four students, an invented example", "real", fingerprint="", open=None)
    return {source.name: source for source in (table, *calls, web, geolife)}


def _calls_twins(n_users: int, seed: int) -> list[DataSource]:
    """Return calls by antenna, and the same calls by sub-prefecture."""

    def calls() -> Data:
        twin = datasets.calls_twin(n_users, seed=seed)
        antennas = twin.antennas.rename({"sub_prefecture": "region"})
        return Data(events_from_frame(twin.events, source=twin.source), FORTNIGHT, antennas)

    def regions() -> Data:
        data = calls()
        return Data(PlaceMapping.from_table(data.antennas, to="region").apply(data.events), FORTNIGHT)

    words, model = twin_words("calls", n_users, seed), datasets.CallsModel()
    return [
        DataSource("calls", words, "twin", f"{words} {model!r}", calls),
        DataSource("sub-prefectures", f"{words}: the same calls", "twin", f"{words} {model!r} regions", regions),
    ]


def _web_twin(seed: int) -> DataSource:
    def make() -> Data:
        twin = datasets.web_twin(WEB_USERS, seed=seed)
        return Data(events_from_frame(twin.events, source=twin.source), BusiestWeeks())

    words = twin_words("web histories", WEB_USERS, seed)
    return DataSource("web", words, "twin", f"{words} {datasets.WebModel()!r}", make)


def _d4d(folder: Path, n_users: int, seed: int, *, is_quick: bool) -> list[DataSource]:
    has_regions = any(folder.glob("**/SUBPREF_POS_SAMPLE_A.TSV*"))

    def calls() -> Data:
        events = datasets.d4d_calls(folder, on_bad_rows="skip")
        regions = datasets.d4d_nearest_sub_prefectures(folder).table.rename({"to": "region"})
        antennas = datasets.d4d_antennas(folder).join(regions, on="place", how="left")
        return Data(_sample(events, n_users, seed) if is_quick else events, FORTNIGHT, antennas)

    def regions() -> Data:
        data = calls()
        if has_regions:  # as many active users, drawn from the other sample
            n_active = split(data.events, FORTNIGHT).released.n_users
            return Data(
                _sample(datasets.d4d_sub_prefecture_calls(folder, on_bad_rows="skip"), n_active, seed), FORTNIGHT
            )
        return replace(data, events=datasets.d4d_nearest_sub_prefectures(folder).apply(data.events))

    what = "as many of another sample" if has_regions else "the same calls, each antenna put into the nearest one"
    words = "D4D, Ivory Coast" + (f", {n_users:,} active customers drawn" if is_quick else "")
    fingerprint = f"{_fingerprint(folder)} {seed} {is_quick}"
    return [
        DataSource("calls", words, "real", fingerprint, calls),
        DataSource("sub-prefectures", f"{words} ({what})", "real", fingerprint, regions),
    ]


def _sample(events: Events, n_users: int, seed: int) -> Events:
    """Return the events of some users who are active in both weeks, drawn by the seed."""
    users = split(events, FORTNIGHT).released.users
    kept = users.gather(np.sort(np.random.default_rng(seed).permutation(users.len())[:n_users]))
    return events.leave_out(~pl.col("user").is_in(kept.implode()), "the user was not drawn")


def _web_history(folder: Path) -> DataSource:
    visits = sorted(folder.glob("visits*.csv"))
    places = next((folder / name for name in ("places.csv", "places.parquet") if (folder / name).is_file()), None)
    if not visits or places is None:
        raise InputError(
            f"--web-history: {folder} lacks {'places.csv' if visits else 'visits.csv'}",
            why="the visits are in visits*.csv (without a header), the favicon of each page in places.csv or .parquet",
            fix="give the files these names; without the option a synthetic twin takes its place",
        )
    read = partial(datasets.web_history, visits, places, on_bad_rows="skip")
    words = "Web History Repository"
    return DataSource("web", words, "real", _fingerprint(folder), lambda: Data(read(), BusiestWeeks()))


def _fingerprint(folder: Path) -> str:
    """Return a text that changes when the files of a folder do; caches of our own do not count."""
    files = (file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("habitprint-"))
    return files_fingerprint(files, folder)
