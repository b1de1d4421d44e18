"""A release as its audit recommends: protected, written, checked on the file, and audited as it was written."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from habitprint.attacks import Scenario
from habitprint.auditing.audit import INTERNAL, PUBLISH, Audit, ReleasedFile, audit_prepared
from habitprint.auditing.curves import count_other_time
from habitprint.auditing.preparation import DataFacts, Preparation, Prepared, Subject, Unprotected, prepare
from habitprint.auditing.protecting import ToProtect, protect
from habitprint.auditing.verdict import Advice
from habitprint.checks import CODES
from habitprint.checks.finding import in_order
from habitprint.errors import InputError
from habitprint.formatting import at_most, percent
from habitprint.histograms import Histograms
from habitprint.ids import positions
from habitprint.io.files import real_path
from habitprint.mechanisms import InputFile, OnlyPlaces, Release
from habitprint.mechanisms.files import key_file, open_release, owner_file, sidecar
from habitprint.progress import Progress, silent

# Findings about tables are those of the release; findings about rows and ids stay those of the audit.
OF_TABLES = frozenset(CODES[CODES.index("same-tables") :])


@dataclass(frozen=True, eq=False)
class ToRelease:
    """A table to release: its audit, the recommended protection, and the tables that were audited.

    Parameters
    ----------
    audit, advice
        The audit of the unprotected table, and its recommendation.
    prepared
        The audited tables, and those that the attacker trained on.

    Examples
    --------
    >>> import habitprint as hp
    >>> start = ToRelease.of(hp.audit(hp.datasets.town(40, 6), target=0.2, noise=False))
    >>> start.advice.label, start.prepared.tables.common.n
    ('groups of 5', 40)
    """

    audit: Audit
    advice: Advice
    prepared: Prepared

    def __post_init__(self) -> None:
        if self.audit.verdict.is_protected:
            raise InputError(
                "the audited table is a release already",
                why="one record cannot cover two protections with two keys",
                fix="audit and release the original; or do the single steps: habitprint protect --advice AUDIT, then "
                "habitprint audit",
            )
        if self.audit.data.scope.whole is not None:
            raise InputError(
                "the audit tested a sample of the people",
                why="its record would not agree with the record of a release of all people",
                fix="audit the whole tables on one machine; or do the single steps: habitprint protect --advice AUDIT, "
                "then habitprint audit",
            )
        found = self.prepared.facts.scope
        if found != self.audit.data.scope:
            raise InputError(
                f"the data has {found.n_released:,} people to release and {found.n_known:,} known ones; the audit had "
                f"{self.audit.data.scope.n_released:,} and {self.audit.data.scope.n_known:,}",
                why="the final record must agree with the audit that it rests on",
                fix="give the data that was audited; or audit this data first",
            )

    @classmethod
    def of(cls, audit: Audit) -> "ToRelease":
        """Return the table of an audit that was made in this process; raise `InputError` if it recommends nothing."""
        internal = audit.require_internal()
        if internal.advice is None:
            raise InputError(
                "the audit recommends no protection",
                why="a table that meets its target needs none, and a table that no protection helps must not be "
                "published",
                fix="read the report of the audit: its first line says whether the table meets the target",
            )
        return cls(audit, internal.advice, internal.prepared)

    @classmethod
    def of_prepared(
        cls,
        audit: Audit,
        advice: Advice,
        prepared: Prepared,
        training: tuple[Histograms, Histograms] | None = None,
        progress: Progress = silent,
    ) -> "ToRelease":
        """Return the table of an audit that was read back, with its data prepared again as for the audit.

        Parameters
        ----------
        audit, advice
            The audit, and its recommendation.
        prepared, training
            The prepared data, and the tables on which the attacker trained, if they were given.
        """
        options, halves = audit.options, training
        other_time = count_other_time(prepared, options.overlap, options.seed)
        if audit.training.on == "own data" and audit.training.missing is None:
            halves = prepared.halves_of_known(progress)
        return cls(audit, advice, replace(prepared, source=None, halves=halves, other_time=other_time))


@dataclass(frozen=True)
class ReleaseFolder:
    """The paths in the folder of a release.

    Parameters
    ----------
    table, beside
        The table and the JSON file beside it: these two may be published.
    key, owner
        The key to the fresh ids, and the owner's file.
    internal
        The folder of these two, and of report, record and comparison.

    Examples
    --------
    >>> ReleaseFolder.of(Path("april")).table.as_posix()
    'april/publish/april.parquet'
    """

    table: Path
    beside: Path
    key: Path
    owner: Path
    internal: Path

    @classmethod
    def of(cls, folder: Path) -> "ReleaseFolder":
        """Return the paths: the table has the name of the folder."""
        table, internal = folder / PUBLISH / f"{real_path(folder).name}.parquet", folder / INTERNAL
        key, owner = (internal / file(table).name for file in (key_file, owner_file))
        return cls(table, sidecar(table), key, owner, internal)


def release_table(
    start: ToRelease,
    table: Path,
    key: Path,
    *,
    command: str | None = None,
    tell: Callable[[Release], Iterable[str]] = lambda _: (),
    progress: Progress = silent,
) -> Audit:
    """Protect a table, write it with its key, check its guarantees on the file, and return the audit of this file.

    The attacker is that of the first audit. They have the same data, train on the same tables, and know the same share
    of the people. All options are those of the first audit.

    Parameters
    ----------
    start
        The table.
    table, key
        The file that may be published, and the key. The owner's file lies beside the key.
    command
        The command line that made the release, without folders.
    tell
        Returns sentences about the published part of the release, for the file beside the table.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> start = ToRelease.of(hp.audit(hp.datasets.town(40, 6), target=0.5, noise=False))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     final = release_table(start, Path(folder) / "safer.csv", Path(folder) / "key.csv")
    >>> final.verdict.passes, final.data.scope.n_known
    (True, 40)
    """
    before, tables = start.audit, start.prepared.tables
    original = ToProtect.of(tables.released)
    done = protect(original, start.advice.mechanism, later=tables.held_out, progress=progress)
    done.write(table, key, before.run.inputs, tell=tell)
    owner_file(table).rename(key.parent / owner_file(table).name)
    release, _ = open_release(table, key=key)
    assert done.key is not None  # noqa: S101  (users have fresh ids)
    is_own = before.training.on == "own data"
    subject = Subject(
        (release, tables.known),
        truth=_true_pairs(done.key, tables),
        original=_own_rows(tables),
        others=tables.others,
        sensitive=tables.sensitive,
        training=None if is_own else start.prepared.halves,
        preparation=Preparation(losses=done.losses),
    )
    # The known table holds only the share of the people that the attacker knows.
    prepared = prepare(subject, msgspec.structs.replace(before.options, overlap=None), progress)
    written = ReleasedFile(
        file=InputFile.of(table),
        protection=start.advice.label,
        guarantees=tuple(each for each in release.guarantees if not isinstance(each, OnlyPlaces)),
        advised_on=before.run.made_on,
        strongest=before.strongest,
        knows_more=before.knows_more,
    )
    final = audit_prepared(
        replace(
            prepared,
            facts=_facts_of_release(prepared.facts, before.data),
            halves=start.prepared.halves if is_own else None,
            other_time=start.prepared.other_time,
        ),
        subject,
        before.options,
        replace(before.run, made_on=datetime.now(UTC).date(), command=command),
        progress,
        written,
        before.examples,
    )
    if not final.verdict.passes:
        measured, rows = f"up to {at_most(final.verdict.upper_end)} of people are re-identified", ""
        if (found := final.protections.trials[0].reconstruction) is not None:
            rows = f", up to {at_most(found.rate.high)} of rows are reconstructed"
        goal = before.options.goal
        target = goal.rows_target if final.verdict.reason == "rows reconstructed" else goal.target
        raise InputError(
            f"the written table misses the target of {percent(target)}: {measured}{rows}",
            why="the protection is random, and this draw protects less than those of the audit",
            fix="audit with a lower target, and give the folder of the new audit; nothing was written",
        )
    return final


def _true_pairs(key: pl.DataFrame, tables: Scenario) -> pl.DataFrame:
    """Return the true pairs of fresh ids and known ids: the key, followed by the truth of the audit."""
    if tables.has_same_ids:
        return key
    known_of = np.full(tables.released.n_users, -1)
    known_of[tables.common.released] = tables.common.known
    column = known_of[positions(key["known"], tables.released.users)]
    is_common = column >= 0
    return pl.DataFrame(
        {"released": key["released"].filter(is_common), "known": tables.known.users.gather(column[is_common])}
    )


def _own_rows(tables: Scenario) -> Histograms:
    """Return the unprotected rows of the people in both tables, with their known ids."""
    if tables.has_same_ids:
        return tables.released
    released, common = tables.released, tables.common
    return Histograms(released.counts[common.released], tables.known.users.gather(common.known), released.places)


def _facts_of_release(found: DataFacts, before: DataFacts) -> DataFacts:
    """Return the facts about a release, with the periods, rows and people of the audit that recommended it."""
    stays = [each for each in before.findings if each.code not in OF_TABLES]
    codes = {each.code for each in stays}
    unprotected = Unprotected(before.scope.n_released, before.scope.n_attacked)
    return replace(
        found,
        scope=replace(
            before.scope,
            n_released=found.scope.n_released,
            n_attacked=found.scope.n_attacked,
            unprotected=unprotected,
        ),
        events=before.events,
        periods=before.periods,
        periods_how=before.periods_how,
        findings=in_order([*stays, *(each for each in found.findings if each.code not in codes)]),
    )
