"""How long work tells about itself without knowing who listens."""

from typing import Protocol


class Progress(Protocol):
    """Receive how far a stage has come.

    Slow functions call it now and then with the name of the stage, the units done, and the units in all.
    It is called from the thread that started the work, and may raise (``KeyboardInterrupt``, say) to stop it.
    """

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        """Take note that `done` of `total` units of `stage` are done, and what else there is to say."""


def silent(stage: str, done: int, total: int, note: str = "") -> None:
    """Take no note: what library calls do unless told otherwise.

    Examples
    --------
    >>> silent("gains", 1, 10)
    """
