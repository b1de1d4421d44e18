"""Options of commands that start from two tables of histograms, and what they mean."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import polars as pl
import typer

from habitprint.arguments import is_release
from habitprint.checks import Finding
from habitprint.cli.options import Options
from habitprint.errors import InputError
from habitprint.flags import ATTACKER, INPUT
from habitprint.histograms import Histograms, TableSpec, read_histograms
from habitprint.io.tables import read_table
from habitprint.mechanisms import OwnerRecord, Release
from habitprint.mechanisms.files import find_owner_record, open_release, sidecar
from habitprint.mechanisms.traces import looks_protected
from habitprint.progress import Progress, silent
from habitprint.truth import SAME_ID, common_users

ReleasedFile = Annotated[
    Path,
    typer.Argument(help="Table of counts that you publish: CSV, Parquet, Excel, DuckDB or SQLite.", metavar="RELEASED"),
]
KnownFile = Annotated[
    Path, typer.Argument(help="Table of counts that the attacker has, with real ids.", metavar="KNOWN")
]


@dataclass(frozen=True)
class Tables:
    """Two tables that were read, the truth if it is known, and the attacker's transformation, in words.

    ``copied`` is None if nothing beside the release tells of it, or nobody wants to know. ``release`` is the released
    table with the steps that were copied, for more `views` than the fullest copy; ``unchanged`` is what they are views
    of, the known table as it came. ``owner`` is what the owner's file tells of this very table; None
    for whoever may not read it.
    """

    released: Histograms
    known: Histograms
    truth: str | pl.DataFrame | None
    copied: tuple[str, ...] | None
    release: Release
    unchanged: Histograms
    owner: OwnerRecord | None

    @property
    def findings(self) -> list[Finding]:
        """Return what to know before believing that an attacker could copy no more."""
        traces = () if self.release.steps else looks_protected(self.released)
        n_unknown = len(self.release.steps_not_copied)
        return [*traces, *([Finding("unknown-mapping", "changes-answer", n_unknown)] if n_unknown else [])]


@dataclass(frozen=True)
class TableOptions(Options, panel=INPUT):
    """Options for reading two tables of histograms, the known one as an attacker would have it."""

    truth: Annotated[
        str | None,
        typer.Option(
            help="True pairs, for counting who is re-identified: a table with the columns released, known; "
            "or same-id, where a user has the same id in both tables.",
            metavar="FILE|same-id",
        ),
    ] = None
    as_is: Annotated[
        bool,
        typer.Option(
            "--as-is",
            help="Attack with KNOWN unchanged, even if the .json beside RELEASED says how it was protected.",
            rich_help_panel=ATTACKER,
        ),
    ] = False

    @property
    def truth_file(self) -> Path | None:
        """Return the file that says who is whom; None where ids do."""
        return None if self.truth in (None, SAME_ID) else Path(str(self.truth))

    def read(
        self,
        released_file: Path,
        known_file: Path,
        spec: TableSpec | None = None,
        progress: Progress = silent,
    ) -> Tables:
        r"""Read both tables, what anyone can copy of the release, and the truth.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder) / "week.csv"
        ...     _ = file.write_text("user,place,count\nJo,dorm,1\n")
        ...     tables = TableOptions(truth="same-id").read(file, file)
        >>> tables.known, tables.truth, tables.copied
        (Histograms(1 users × 1 places, 1 counts above zero), 'same-id', None)
        """
        progress("reading", 0, 2)
        released = read_histograms(released_file, spec)
        progress("reading", 1, 2)
        unchanged = read_histograms(known_file, spec)
        release, known, copied, owner = Release(released), unchanged, None, None
        if not self.as_is:
            with _or_as_is():
                refuse_protected(known_file)
                # The key may lie where the owner's file is, and the table elsewhere.
                if is_release(released_file) or find_owner_record(released_file, self.truth_file) is not None:
                    opened = open_release(released_file, released, key=self.truth_file)
                    release, owner = opened.release, opened.owner
                    known = release.public(unchanged)
                    copied = tuple(step.words for step in release.steps if step.copied is not None)
        truth = None if self.truth is None else _read_truth(self.truth, released, known)
        return Tables(released, known, truth, copied, release, unchanged, owner)


def refuse_protected(known_file: Path) -> None:
    """Raise `InputError` if the table that an attacker knows was protected: they know people as they are.

    Examples
    --------
    >>> refuse_protected(Path("week2.csv"))
    """
    if is_release(known_file):
        raise InputError(
            f"{known_file} is a release: {sidecar(known_file).name} tells how it was made",
            why="an attacker who knows a protected table only identifies fewer people, so the answer looks too safe",
            fix="give the original of another period, the protected table before it",
        )


@contextmanager
def _or_as_is() -> Iterator[None]:
    """Say of files beside a release that cannot be believed how to do without them."""
    try:
        yield
    except InputError as error:
        fix = f"{error.fix}; or --as-is, which leaves the known side alone"
        raise InputError(error.what, why=error.why, fix=fix) from error


def _read_truth(truth: str, released: Histograms, known: Histograms) -> str | pl.DataFrame:
    """Return the truth as `evaluate` takes it; read and check it before the long work."""
    if truth == SAME_ID:
        require_common(common_users(truth, released.users, known.users).n, "equal ids")
        return truth
    try:
        table = read_table(truth)
        common = common_users(table, released.users, known.users)
    except InputError as error:
        fix = f"{error.fix}; or --truth {SAME_ID}, where ids agree"
        raise InputError(f"--truth: {error.what}", why=error.why, fix=fix) from error
    require_common(common.n, f"{truth} ({table.height:,} rows)")
    return table


def require_common(n_common: int, source: str) -> None:
    """Raise `InputError` rather than say "nobody is identified" when in truth nothing could be counted.

    Examples
    --------
    >>> require_common(3, "equal ids")
    """
    if n_common == 0:
        raise InputError(
            f"--truth: according to {source}, no user is in both tables",
            why="then nobody could be identified, however good the attack",
            fix="check that the truth spells ids as the tables do (case, leading zeros), released before known; for a "
            "table with fresh ids, give its key: --truth OUT.key.csv",
        )
