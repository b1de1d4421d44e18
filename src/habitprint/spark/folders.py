"""Tables on a cluster as folders of Parquet files: read by name, written beside their place and moved there."""

import posixpath
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import polars as pl
from py4j.java_gateway import JavaObject
from pyspark.sql import DataFrame, SparkSession

from habitprint.errors import InputError
from habitprint.io.count_tables import COLUMNS, advise_names
from habitprint.io.files import already_there, no_parent
from habitprint.io.tables import require_columns
from habitprint.progress import Progress, silent
from habitprint.spark.session import address_of, in_a_moment, run_job

OWNER_ONLY = 0o700
TABLE = "a table on Spark is a Parquet file, or a folder of them"


@dataclass(frozen=True)
class Folder:
    """The path of a file or a folder in any file system that Spark supports: a disk, Hadoop, a cloud.

    Parameters
    ----------
    session
        The session whose settings give the file system of a path without a scheme.
    name
        As it was given.

    Examples
    --------
    >>> import habitprint as hp
    >>> Folder(hp.spark.connect("local[2]"), "/no/such/folder").exists()
    False
    """

    session: SparkSession
    name: str

    @property
    def _path(self) -> JavaObject:
        return self._system.makeQualified(self._as_given)

    @property
    def _as_given(self) -> JavaObject:
        name = address_of(self.session, self.name)
        return self.session._jvm.org.apache.hadoop.fs.Path(name)  # type: ignore[union-attr]  # noqa: SLF001

    @property
    def _system(self) -> JavaObject:
        return self._as_given.getFileSystem(self.session._jsc.hadoopConfiguration())  # noqa: SLF001

    @property
    def address(self) -> str:
        """Return its full name, with the scheme."""
        return str(self._path.toString())

    def beside(self, name: str) -> "Folder":
        """Return another name in the same folder."""
        return Folder(self.session, f"{posixpath.dirname(self.address)}/{name}")

    def within(self, name: str) -> "Folder":
        """Return a name in this folder."""
        return Folder(self.session, f"{self.address}/{name}")

    def exists(self) -> bool:
        """Return whether there is anything of this name."""
        return bool(self._system.exists(self._path))

    def has_parent(self) -> bool:
        """Return whether there is a folder for it to be in."""
        return bool(self._system.exists(self._path.getParent()))

    def make_private(self) -> None:
        """Make it, if it is not there, a folder that only its owner may look into."""
        permission = self.session._jvm.org.apache.hadoop.fs.permission.FsPermission(OWNER_ONLY)  # type: ignore[union-attr]  # noqa: SLF001
        self._system.mkdirs(self._path)
        self._system.setPermission(self._path, permission)

    def move(self, to: "Folder") -> None:
        """Give it another name in the same file system."""
        if not self._system.rename(self._path, to._path):  # noqa: SLF001
            raise InputError(
                f"cannot write {to.name}: the file system refused the name",
                why="somebody else made it meanwhile, or it may not be written there",
                fix="choose another name",
            )

    def remove(self) -> None:
        """Remove it, with all that is in it."""
        self._system.delete(self._path, True)  # noqa: FBT003 - Java knows no names of arguments


def read_counts(session: SparkSession, name: str, columns: Sequence[str], progress: Progress = silent) -> DataFrame:
    """Return a Parquet file, or a folder of them, as a table ``user, place, count``.

    Parameters
    ----------
    session
        Who reads it.
    name
        The file or the folder.
    columns
        What its columns for users, places and counts are called.
    progress
        A function that is called now and then with the progress of the work.
    """
    if not run_job(session, Folder(session, name).exists, "finding files", progress):
        raise InputError(
            f"there is no file {name}",
            why=TABLE,
            fix="check the path; names without a scheme are those of Spark's own file system",
        )
    address = address_of(session, name)
    # Which files there are, Spark says without reading them.
    if not run_job(session, lambda: session.read.text(address).inputFiles(), "finding files", progress):
        raise InputError(
            f"{name} has no files",
            why=TABLE,
            fix="check the path, and that whoever wrote it has ended; names that begin with _ or . are passed over",
        )
    table = run_job(session, lambda: session.read.parquet(address), "finding columns", progress)
    advise = advise_names(*columns, in_python=False)  # where names of folders are given, and not of columns
    require_columns(pl.DataFrame(schema=dict.fromkeys(table.columns, pl.Null)), columns, source=name, advise=advise)
    return table.select(*(table[column].alias(ours) for column, ours in zip(columns, COLUMNS, strict=True)))


def refuse_outputs(session: SparkSession, outputs: Sequence[str], inputs: Sequence[str], *, overwrite: bool) -> None:
    """Raise `InputError` unless folders could be written: worth knowing before long work."""

    def look() -> None:
        read = [Folder(session, name).address for name in inputs]
        for output in outputs:
            folder = Folder(session, output)
            for other in read:
                if f"{other}/".startswith(f"{folder.address}/") or f"{folder.address}/".startswith(f"{other}/"):
                    raise InputError(
                        f"cannot write {output}: it is one of the inputs, or within one",
                        why="the input would be lost",
                        fix="choose another name",
                    )
            if folder.exists() and not overwrite:
                raise already_there(output)
            if not folder.has_parent():
                raise no_parent(output, posixpath.dirname(folder.address))

    run_job(session, look, "finding files")


def write_folders(
    tables: Sequence[tuple[DataFrame, str]],
    *,
    overwrite: bool = False,
    is_private: bool = False,
    progress: Progress = silent,
) -> None:
    """Write tables as folders of Parquet files, all of them or none: beside their places first, then moved there.

    Parameters
    ----------
    tables
        Each with the name of its folder.
    overwrite
        Whether what is there already is replaced.
    is_private
        Whether only their owner may look into them, because they say who is who.
    progress
        A function that is called now and then with the progress of the work.

    Examples
    --------
    >>> import os, tempfile
    >>> import habitprint as hp
    >>> numbers = hp.spark.connect("local[2]").range(3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_folders([(numbers, f"{folder}/numbers")])
    ...     os.listdir(folder)
    ['numbers']
    """
    session = tables[0][0].sparkSession
    drafts: list[Folder] = []
    try:
        for table, name in tables:
            # Spark, and we, pass over names that begin with a point.
            draft = Folder(session, name).beside(f".habitprint-{secrets.token_hex(8)}")
            drafts.append(draft)
            run_job(session, draft.make_private, "writing", progress)
            # As many files as there is to write, and not as there were tasks.
            writer = table.hint("rebalance").write
            run_job(session, partial(writer.parquet, draft.within("table").address), "writing", progress)
            if is_private:
                run_job(session, draft.within("table").make_private, "writing", progress)
        run_job(session, lambda: _move(session, drafts, [name for _, name in tables], overwrite=overwrite), "writing")
    finally:
        for draft in drafts:
            in_a_moment(draft.remove)


def _move(session: SparkSession, drafts: Sequence[Folder], names: Sequence[str], *, overwrite: bool) -> None:
    """Give complete folders their names; old ones leave first, and come back if something fails."""
    targets = [Folder(session, name) for name in names]
    there = [target for target in targets if target.exists()]
    if there and not overwrite:
        raise already_there(there[0].name)
    before: list[tuple[Folder, Folder]] = []
    done: list[Folder] = []
    try:
        for draft, target in zip(drafts, targets, strict=True):
            if target in there:
                target.move(draft.within("before"))
                before.append((draft.within("before"), target))
        for draft, target in zip(drafts, targets, strict=True):
            draft.within("table").move(target)
            done.append(target)
    except BaseException:
        for target in done:
            target.remove()
        for aside, target in before:
            aside.move(target)
        raise
