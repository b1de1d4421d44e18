"""Show progress to a person, once the work has lasted for a second."""

from threading import Timer
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

PATIENCE = 1.0  # seconds


class ProgressBar:
    """Show the current stage, how much of it is done, and the time left; erase it all in the end.

    Nothing appears on a console that is not a terminal.

    Examples
    --------
    >>> from rich.console import Console
    >>> with ProgressBar(Console(stderr=True, highlight=False)) as progress:
    ...     progress("gains", 1, 2)
    """

    def __init__(self, console: Console) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=None, note="")
        self._stage = ""
        # A timer, because the stage that is slow may not report for a while.
        self._timer = Timer(PATIENCE, self._bar.start)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        self._timer.join()
        self._bar.stop()

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        """Take note that `done` of `total` units of `stage` are done."""
        if stage != self._stage:
            self._stage = stage
            self._bar.reset(self._task, description=stage, total=total or None)
        self._bar.update(self._task, completed=done, note=note)
