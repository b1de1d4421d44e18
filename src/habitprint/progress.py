"""Progress of long work, reported to any listener."""

from typing import Protocol


class Progress(Protocol):
    """A listener for the progress of a stage.

    Slow functions call it now and then with the name of the stage, the units done, and the units in all.
    It is called from the thread that started the work, and may raise (``KeyboardInterrupt``, say) to stop it.
    """

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        """Report that `done` of `total` units of `stage` are done, with an optional remark."""


def silent(stage: str, done: int, total: int, note: str = "") -> None:
    """Ignore all reports: the default of library calls.

    Examples
    --------
    >>> silent("gains", 1, 10)
    """


def nested(progress: Progress, outer: str, n_done: int, n_total: int, label: str = "") -> Progress:
    """Return a progress function for work within one unit of an outer stage.

    Examples
    --------
    >>> told = []
    >>> nested(lambda *facts: told.append(facts), "protections", 2, 9, "k = 5")("gains", 1, 4)
    >>> told
    [('protections', 2, 9, 'k = 5'), ('protections', 2, 9, 'k = 5: gains 25%')]
    """
    progress(outer, n_done, n_total, label)

    def tell(stage: str, done: int, total: int, note: str = "") -> None:
        share = f" {done / total:.0%}" if total else ""
        progress(outer, n_done, n_total, ": ".join(text for text in (label, stage + share, note) if text))

    return tell
