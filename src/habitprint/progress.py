"""Progress of long work, reported to any listener; for people, a bar in a terminal or a line in a notebook."""

from threading import Timer
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from habitprint.formatting import printable

if TYPE_CHECKING:
    from IPython.display import DisplayHandle

PATIENCE = 1.0  # seconds before progress appears; in a notebook, also between two changes


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


class ProgressBar:
    """Show the current stage, how much of it is done, and the time left, once work has lasted; erase it in the end.

    A notebook shows a line of text. Nothing appears where standard error is neither a terminal nor a notebook.

    Examples
    --------
    >>> with ProgressBar() as progress:
    ...     progress("gains", 1, 2)
    """

    def __init__(self, console: Console | None = None) -> None:
        console = console or Console(stderr=True)
        self._bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
            transient=True,
            disable=console.is_jupyter or not console.is_terminal,  # in a notebook, rich needs one more package
        )
        self._task = self._bar.add_task("starting", total=None, note="")
        self._stage = ""
        self._is_notebook, self._told = console.is_jupyter, monotonic()
        self._line: DisplayHandle | None = None
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
        if self._line is not None:
            self._line.update({"text/plain": ""}, raw=True)  # type: ignore[no-untyped-call]

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        """Take note that `done` of `total` units of `stage` are done."""
        stage, note = printable(stage), printable(note)  # they may hold names from the data
        if stage != self._stage:
            self._stage = stage
            self._bar.reset(self._task, description=stage, total=total or None)
        self._bar.update(self._task, completed=done, note=note)
        if self._is_notebook and monotonic() - self._told >= PATIENCE:
            self._told = monotonic()
            self._tell(f"{stage}  {done}/{total}  {note}" if total else f"{stage}  {note}")

    def _tell(self, line: str) -> None:
        from IPython.display import display  # noqa: PLC0415  (a notebook has it)

        if self._line is None:
            self._line = display(display_id=True)  # type: ignore[no-untyped-call]
        self._line.update({"text/plain": line.rstrip()}, raw=True)
