"""Options that name the backend of a command: this machine, or a Spark cluster."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from habitprint.auditing.data import MOST_SAMPLED
from habitprint.cli.options import Given, Options
from habitprint.errors import InputError
from habitprint.progress import Progress

if TYPE_CHECKING:
    from habitprint.backends.spark import Spark

CLUSTER = "Cluster"
BackendName = Literal["here", "spark"]
SECRET = ("--master", "--conf")  # they tell where a cluster is, and may hold passwords
# Options of files on this machine: tables on Spark are Parquet.
OF_FILES = ("--separator", "--decimal", "--encoding", "--sheet", "--sql", "--duplicates")


@dataclass(frozen=True)
class BackendOptions(Options, panel=CLUSTER):
    """The backend: this machine, or a Spark cluster."""

    backend: Annotated[
        BackendName, typer.Option(help="Where the work is done: on this machine, or on Spark. Its tables are folders.")
    ] = "here"
    master: Annotated[
        str | None,
        typer.Option(
            help="Where Spark runs, such as 'local[*]', spark://host:7077 or yarn; default: as Spark is configured.",
            metavar="URL",
        ),
    ] = None
    conf: Annotated[
        list[str] | None,
        typer.Option(help="A setting of Spark, such as spark.executor.memory=4g; repeatable.", metavar="KEY=VALUE"),
    ] = None

    @property
    def is_spark(self) -> bool:
        """Return whether Spark is asked for; raise `InputError` if it is not, but one of its options is given.

        Examples
        --------
        >>> BackendOptions(backend="spark").is_spark
        True
        """
        others = [given for given in self.given if given.name != "--backend"]
        if self.backend != "spark" and others:
            raise InputError(
                f"{others[0].name} without --backend spark",
                why="it says how Spark runs, and this machine does the work",
                fix=f"add --backend spark, or leave out {others[0].name}",
            )
        return self.backend == "spark"

    @property
    def settings(self) -> dict[str, str]:
        """Return the settings of Spark by name.

        Examples
        --------
        >>> BackendOptions(conf=["spark.executor.memory=4g"]).settings
        {'spark.executor.memory': '4g'}
        """
        pairs = [setting.partition("=") for setting in self.conf or ()]
        for name, sign, _ in pairs:
            if not sign or not name.startswith("spark."):
                raise InputError(
                    f"--conf '{name}{sign}' is no setting of Spark",
                    why="a setting has a name that begins with spark., and a value",
                    fix="write --conf spark.executor.memory=4g",
                )
        return {name: value for name, _, value in pairs}

    @property
    def of_audit(self) -> dict[str, Any]:
        """Return the parameters of `Spark` that only an audit has."""
        return {}

    @contextmanager
    def opened(self, progress: Progress) -> Iterator["Spark | None"]:
        """Provide the backend for the time of the work; None for this machine."""
        if not self.is_spark:
            yield None
            return
        from habitprint.backends.spark import Spark  # noqa: PLC0415 - an extra, and slow to load
        from habitprint.backends.spark.session import connected  # noqa: PLC0415

        progress("starting Spark", 0, 0)
        with connected(self.master, settings=self.settings) as session:
            yield Spark(session, **self.of_audit)


@dataclass(frozen=True)
class AuditBackendOptions(BackendOptions, panel=CLUSTER):
    """The backend of an audit; on Spark, the size of the sample and the precision of the attack on all people."""

    sample: Annotated[
        int,
        typer.Option(min=2, help="With Spark: the most people who are audited on this machine.", metavar="N"),
    ] = MOST_SAMPLED
    epsilon: Annotated[
        float | None,
        typer.Option(help="With Spark: the share of the gain that may be missing in the attack on all, such as 0.01."),
    ] = None

    @property
    def of_audit(self) -> dict[str, Any]:
        """Return the parameters of `Spark` that only an audit has."""
        return {"n_sampled": self.sample, "epsilon": self.epsilon}

    @property
    def told(self) -> list[Given]:
        """Return the options that a report may tell: neither where a cluster is, nor settings that may be secret.

        Examples
        --------
        >>> [option.words for option in AuditBackendOptions("spark", "yarn", ["spark.a.key=1"], sample=9).told]
        ['--backend spark', '--sample 9']
        """
        return [option for option in self.given if option.name not in SECRET]


def refuse_on_spark(given: Sequence[Given], names: Sequence[str], fix: str) -> None:
    """Raise `InputError` if an option was given, or an option with a value, that Spark cannot do.

    Examples
    --------
    >>> refuse_on_spark([Given("--weight", "l1")], ["--weight auto"], "train on one machine")
    >>> refuse_on_spark([Given("--stays", "200m,15min")], ["--stays"], "make them first")
    Traceback (most recent call last):
    habitprint.errors.InputError: --stays does not go with --backend spark
      why: executors see some rows or users at a time, and not all
      fix: make them first
    """
    for option in given:
        for name in {option.name, option.words} & set(names):
            raise InputError(
                f"{name} does not go with --backend spark",
                why="executors see some rows or users at a time, and not all",
                fix=fix,
            )


def refuse_to_count_on_spark(given: Sequence[Given]) -> None:
    """Raise `InputError` if an option about events was given that Spark cannot do.

    Examples
    --------
    >>> refuse_to_count_on_spark([Given("--by-hours", 6)])
    """
    fix = "do this first, on one machine or with Spark, and split what comes of it"
    refuse_on_spark(given, ["--stays", "--sheet", "--sql", "--shared"], fix)
