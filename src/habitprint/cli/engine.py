"""Options of commands that can work on a Spark cluster, and the session that they ask for."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from habitprint.cli.options import Given, Options
from habitprint.errors import InputError
from habitprint.progress import Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLUSTER = "Cluster"
Engine = Literal["here", "spark"]


@dataclass(frozen=True)
class EngineOptions(Options, panel=CLUSTER):
    """The place of the work: this machine, or a Spark cluster."""

    engine: Annotated[
        Engine, typer.Option(help="Who does the work: this machine, or Spark, of whose tables each is a folder.")
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
        """Return whether Spark is asked for; raise `InputError` if it is not, but where it runs is said.

        Examples
        --------
        >>> EngineOptions(engine="spark").is_spark
        True
        """
        others = [given for given in self.given if given.name != "--engine"]
        if self.engine != "spark" and others:
            raise InputError(
                f"{others[0].name} without --engine spark",
                why="it says how Spark runs, and this machine does the work",
                fix=f"add --engine spark, or leave out {others[0].name}",
            )
        return self.engine == "spark"

    @property
    def settings(self) -> dict[str, str]:
        """Return the settings of Spark by name.

        Examples
        --------
        >>> EngineOptions(conf=["spark.executor.memory=4g"]).settings
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

    @contextmanager
    def connected(self, progress: Progress) -> Iterator["SparkSession"]:
        """Open the Spark session for the time of the work."""
        from habitprint.spark.session import connected  # noqa: PLC0415 - an extra, and slow to load

        progress("starting Spark", 0, 0)
        with connected(self.master, settings=self.settings) as session:
            yield session


def refuse_on_spark(given: Sequence[Given], names: Sequence[str], fix: str) -> None:
    """Raise `InputError` if an option was given that Spark cannot do.

    Examples
    --------
    >>> refuse_on_spark([Given("--stays", "200m,15min")], ["--stays"], "make them first")
    Traceback (most recent call last):
    habitprint.errors.InputError: --stays does not go with --engine spark
      why: executors see some rows or users at a time, and not all
      fix: make them first
    """
    for option in given:
        if option.name in names:
            raise InputError(
                f"{option.name} does not go with --engine spark",
                why="executors see some rows or users at a time, and not all",
                fix=fix,
            )
