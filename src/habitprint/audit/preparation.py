"""What was done to the data before an audit saw it: told by whoever did it, so that the report can say so."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Preparation:
    """Hold how the data was prepared; None, false or empty for what was not done, or is not known.

    Parameters
    ----------
    by_hours, by_weekday
        Whether places were split by blocks of so many hours, and by the day of the week.
    shared
        What was done with users who share their events with another id.
    first_day
        On which day weeks begin.
    side, box
        Of the squares that positions were turned into, where these are no longer the places.
    coarsen
        The files of the mappings to coarser places.
    copied
        What was done to the known table because anyone can copy it of a protected release, in words.

    Examples
    --------
    >>> Preparation(by_hours=6).by_hours
    6
    """

    by_hours: int | None = None
    by_weekday: bool | None = None
    shared: str | None = None
    first_day: str | None = None
    side: float | None = None
    box: str | None = None
    coarsen: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()


NOTHING = Preparation()
