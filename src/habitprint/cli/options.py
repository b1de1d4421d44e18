"""How records of options become options of a command, and the options that most commands have."""

import functools
import inspect
import re
import shlex
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Annotated, TypeGuard, get_args, get_type_hints

import typer
from typer.models import OptionInfo

from habitprint.counts import Duplicates
from habitprint.dialects import Decimal, Format
from habitprint.errors import InputError
from habitprint.histograms import Histograms, read_histograms

# The groups of options in the help of a command.
INPUT, PERIODS, PLACES, ADVERSARY, PROTECTIONS, OUTPUT = (
    *("Input", "Periods", "Places"),
    *("Adversary", "Protections", "Output"),
)
UNITS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}

DuplicatesOption = Annotated[
    Duplicates,
    typer.Option("--duplicates", help="What several rows for one user and place mean.", rich_help_panel=INPUT),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite files that are there.", rich_help_panel=OUTPUT)]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print one JSON object, for machines.", rich_help_panel=OUTPUT)
]


@dataclass(frozen=True)
class Given:
    """Hold an option that was given something else than its default.

    Examples
    --------
    >>> Given("--side", 500.0).words, Given("--by-weekday", True).words, Given("--time", "call start").words
    ('--side 500', '--by-weekday', "--time 'call start'")
    """

    name: str
    value: object

    @property
    def words(self) -> str:
        """Return the option as it is written in a shell."""
        if isinstance(self.value, bool):
            return self.name
        if isinstance(self.value, tuple):  # one option with several values
            return " ".join([self.name, *(shlex.quote(_text(value)) for value in self.value)])
        values = self.value if isinstance(self.value, list) else [self.value]
        return " ".join(f"{self.name} {shlex.quote(_text(value))}" for value in values)


def _text(value: object) -> str:
    return str(value).removesuffix(".0") if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Options:
    """Base of records of options: each field is an option of a command, annotated for typer, with its default.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Columns(Options, panel=INPUT):
    ...     user: Annotated[str, typer.Option("--user")] = "user"
    ...     time_zone: Annotated[str, typer.Option(help="Where days begin.")] = "UTC"
    >>> Columns(time_zone="Europe/Zurich").given
    [Given(name='--time-zone', value='Europe/Zurich')]
    """

    def __init_subclass__(cls, panel: str) -> None:
        """Put the options of a record into a group of the help, except for those that name another."""
        for kind in get_type_hints(cls, include_extras=True).values():
            option = _option(kind)
            option.rich_help_panel = option.rich_help_panel or panel

    @property
    def given(self) -> list[Given]:
        """Return the options that are not at their defaults, in the order of the fields."""
        values = [(parameter, getattr(self, parameter.name)) for parameter in _parameters(type(self))]
        return [Given(_name(parameter, value), value) for parameter, value in values if value != parameter.default]


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the records among its parameters spelled out, so that typer sees every single option.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Columns(Options, panel=INPUT):
    ...     user: Annotated[str, typer.Option(help="Who.")] = "user"
    >>> @expanded
    ... def show(file: str, columns: Columns) -> None:
    ...     print(file, columns)
    >>> list(inspect.signature(show).parameters)
    ['file', 'user']
    >>> show(file="calls.csv", user="caller")
    calls.csv Columns(user='caller')
    """
    kinds = get_type_hints(command, include_extras=True)
    kinds.pop("return", None)
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        kind = kinds[name]
        own = parameter.replace(annotation=kind, kind=inspect.Parameter.KEYWORD_ONLY)
        parameters += _parameters(kind) if _is_record(kind) else [own]

    @functools.wraps(command)
    def run(**values: object) -> None:
        command(
            **{
                name: kind(**{field.name: values[field.name] for field in fields(kind)})
                if _is_record(kind)
                else values[name]
                for name, kind in kinds.items()
            }
        )

    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__dict__["__signature__"] = inspect.Signature(parameters)
    return run


def _is_record(kind: object) -> TypeGuard[type[Options]]:
    return isinstance(kind, type) and issubclass(kind, Options)


def _parameters(record: type[Options]) -> list[inspect.Parameter]:
    """Return the fields of a record as parameters of a command."""
    kinds = get_type_hints(record, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=kinds[field.name],
        )
        for field in fields(record)
    ]


def _option(kind: object) -> OptionInfo:
    """Return what typer is told of an option, from its annotation."""
    (option,) = (one for one in get_args(kind)[1:] if isinstance(one, OptionInfo))
    return option


def _name(parameter: inspect.Parameter, value: object) -> str:
    """Return the name on the command line of an option that has this value."""
    option = _option(parameter.annotation)
    # Within `Annotated`, typer keeps the first name that was given where the default would be.
    names = [name for name in (option.default, *(option.param_decls or ())) if isinstance(name, str)]
    name, _, opposite = next(iter(names), f"--{parameter.name.replace('_', '-')}").partition("/")
    return opposite if value is False and opposite else name


@dataclass(frozen=True)
class FileOptions(Options, panel=INPUT):
    """Hold how files are written, where that is not left to be found; whichever command reads them."""

    separator: Annotated[
        str | None,
        typer.Option(
            help="What separates the columns of a text file; default: found from it.",
            metavar="comma|semicolon|tab|pipe",
        ),
    ] = None
    decimal: Annotated[
        Decimal | None, typer.Option(help="The sign before a fraction in a text file; default: found from it.")
    ] = None
    encoding: Annotated[
        str | None, typer.Option(help="Of a text file, such as utf-8, cp1252 or utf-16; default: found from it.")
    ] = None
    sheet: Annotated[str | None, typer.Option(help="The sheet of an Excel file; default: the only one.")] = None
    sql: Annotated[
        str | None,
        typer.Option(
            help="The query that makes the table, of a DuckDB or SQLite file or an address; default: the only table.",
            metavar="QUERY",
        ),
    ] = None

    @property
    def format(self) -> Format:
        """Return what is said about files, as whoever reads them takes it.

        Examples
        --------
        >>> FileOptions(separator="semicolon").format.separator
        ';'
        """
        return Format(self.separator, self.decimal, self.encoding, self.sheet, self.sql)


@dataclass(frozen=True)
class TableColumns(Options, panel=INPUT):
    """Hold which columns of a table of histograms say who, where and how often."""

    user: Annotated[str, typer.Option(help="The column that says who.")] = "user"
    place: Annotated[str, typer.Option(help="The column that says where.")] = "place"
    count: Annotated[str, typer.Option(help="The column that says how often.")] = "count"

    def read(self, file: Path, files: FileOptions, duplicates: Duplicates) -> Histograms:
        """Read a table of histograms."""
        written = files.format
        return read_histograms(
            file,
            user=self.user,
            place=self.place,
            count=self.count,
            duplicates=duplicates,
            separator=written.separator,
            decimal=written.decimal,
            encoding=written.encoding,
            sheet=written.sheet,
            sql=written.sql,
        )


AS_THEY_ARE, USUAL_COLUMNS = FileOptions(), TableColumns()


@dataclass(frozen=True)
class AttackOptions(Options, panel=ADVERSARY):
    """Hold how people are matched, by whichever command does it."""

    seed: Annotated[int, typer.Option(min=0, help="Decides among equally good matchings.")] = 0
    max_memory: Annotated[str, typer.Option(help="What the joint matching may use, such as 4GB or 500MB.")] = "4GB"

    @property
    def max_bytes(self) -> float:
        """Return the memory allowed as a number of bytes.

        Examples
        --------
        >>> AttackOptions(max_memory="4GB").max_bytes, AttackOptions(max_memory="1.5 m").max_bytes
        (4000000000.0, 1500000.0)
        """
        return to_bytes(self.max_memory)


def to_bytes(text: str) -> float:
    """Return an amount of memory as a number of bytes.

    Examples
    --------
    >>> to_bytes("500MB")
    500000000.0
    """
    found = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,15})?)\s*([KMGT]?)i?B?\s*", text, re.IGNORECASE | re.ASCII)
    if found is None:
        raise InputError(
            f"--max-memory '{text}' is not an amount of memory",
            why="it says how many bytes the matching may use",
            fix="give a number and a unit: 4GB, 500MB",
        )
    return float(found[1]) * UNITS[found[2].upper()]


def refuse_inputs(target: Path, *inputs: Path | str | None) -> None:
    """Raise `InputError` if the file to be written is one of those that are read, whatever it is called here.

    Examples
    --------
    >>> refuse_inputs(Path("pairs.csv"), Path("week1.csv"), "same-id", None)
    >>> refuse_inputs(Path(__file__), __file__)
    Traceback (most recent call last):
    habitprint.errors.InputError: cannot write ...options.py: it is one of the inputs
      why: the input would be lost
      fix: choose another name
    """
    for path in inputs:
        if path is not None and Path(path).exists() and target.exists() and target.samefile(path):
            raise InputError(
                f"cannot write {target}: it is one of the inputs",
                why="the input would be lost",
                fix="choose another name",
            )
