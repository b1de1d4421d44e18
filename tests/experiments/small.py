"""Data so small that experiments on it take a moment."""

from collections.abc import Sequence

import habitprint as hp
from habitprint.experiments import Data, DataSource
from habitprint.experiments.jobs import DataName


def town_source(
    n_users: int = 60,
    seed: int = 0,
    *,
    name: DataName = "events",
    fingerprint: str = "town",
    opened: list[str] | None = None,
) -> DataSource:
    """Return two weeks of a made-up town, noting in `opened` when it is opened."""

    def make() -> Data:
        if opened is not None:
            opened.append(name)
        return Data(town_events(n_users, seed), hp.ConsecutiveWeeks("2012-04-09"))

    return DataSource(
        name, f"a town of {n_users}", kind="twin", fingerprint=f"{fingerprint} {n_users} {seed}", open=make
    )


def town_events(n_users: int = 60, seed: int = 0) -> hp.Events:
    """Return the visits of a made-up town: each count is as many events, spread over the days of its week."""
    users: list[str] = []
    times: list[str] = []
    places: list[str] = []
    for week, histograms in enumerate(hp.datasets.town(n_users, 30, seed=seed)):
        for user, place, count in histograms.to_table().rows():
            for k in range(count):
                users.append(user)
                times.append(f"2012-04-{9 + 7 * week + (hash_of(user, place) + k) % 7:02d} 12:00:00")
                places.append(place)
    return hp.events_from_frame({"user": users, "time": times, "place": places}, source="a town")


def hash_of(*texts: Sequence[str]) -> int:
    return sum(ord(letter) for text in texts for letter in text)
