"""Options of commands: made from records of options, shared by many commands, or refused."""

import functools
import inspect
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeGuard, get_args, get_origin, get_type_hints

import msgspec
import typer
from rich.markup import escape

from habitprint.errors import InputError
from habitprint.flags import ATTACKER, CLUSTER, OUTPUT, Record, flag
from habitprint.io.dialects import Format
from habitprint.io.files import real_path
from habitprint.io.tables import check_writable
from habitprint.progress import Progress

if TYPE_CHECKING:
    from habitprint.backends.spark import Spark

ForceOption = Annotated[bool, flag("Overwrite existing files.", OUTPUT)]
JsonOption = Annotated[bool, flag("Print the results as one JSON object.", OUTPUT, names=("--json",))]
SeedOption = Annotated[int, flag("Seed of every random choice.", ATTACKER, least=0)]
OtherReleases = Annotated[
    tuple[Path, ...],
    flag(
        "File of another release of the same people, which the attacker also has. May be repeated.",
        ATTACKER,
        metavar="RELEASE",
    ),
]
SensitivePlaces = Annotated[
    Path | None,
    flag("File with the column place: sensitive places. Claims about them are also measured on their own.", ATTACKER),
]
PlotOption = Annotated[Path | None, flag("File for a chart: .svg, .png, .html, or .json for Vega-Lite.", OUTPUT)]

# Options of files on this machine: tables on Spark are Parquet.
OF_FILES = ("--separator", "--decimal", "--encoding", "--sheet", "--sql", "--duplicates")
# Options about events that need all rows at once.
OF_ALL_ROWS = ("--stays", "--sheet", "--sql", "--shared")
# The section of a docstring that describes parameters or fields; and an entry of it: names, and lines of text.
PARAMETERS = "Parameters\n----------\n"
DESCRIBED = re.compile(r"^(\S.*)\n((?: .*\n?)+)", re.MULTILINE)


class Given(NamedTuple):
    """An option whose value is not its default.

    Examples
    --------
    >>> Given("--side", 500.0).words, Given("--by-weekday", True).words, Given("--time", "call start").words
    ('--side 500', '--by-weekday', "--time 'call start'")
    """

    name: str
    value: object

    @property
    def arguments(self) -> list[str]:
        """Return the option as a program takes it."""
        if isinstance(self.value, bool):
            return [self.name]
        if isinstance(self.value, tuple):  # one option with several values
            return [self.name, *map(str, self.value)]
        if isinstance(self.value, float):
            return [self.name, str(self.value).removesuffix(".0")]
        values = self.value if isinstance(self.value, list) else [self.value]
        return [word for value in values for word in (self.name, str(value))]

    @property
    def words(self) -> str:
        """Return the option as text for a shell."""
        return shlex.join(self.arguments)


@dataclass(frozen=True)
class _Option:
    """One option: a field of a record, or a parameter of a command."""

    name: str
    kind: Any
    default: object
    told: flag

    @property
    def names(self) -> tuple[str, ...]:
        return self.told.names or (f"--{self.name.replace('_', '-')}",)

    @property
    def is_many(self) -> bool:
        """Return whether the option may be repeated."""
        origins = {get_origin(kind) for kind in self.kinds if get_args(kind)[-1:] == (...,) or str in self.kinds}
        return bool(origins & {tuple, Sequence})

    @property
    def kinds(self) -> set[object]:
        return {self.kind, *get_args(self.kind)}

    @property
    def choices(self) -> tuple[str, ...]:
        return next((get_args(kind) for kind in self.kinds if get_origin(kind) is Literal), ())

    @property
    def is_checked(self) -> bool:
        """Return whether the value is a choice or a number: in typer's words, an error names neither value nor fix."""
        return bool(self.choices or {int, float} & self.kinds)

    def named(self, value: object) -> str:
        """Return the name of this value."""
        name, _, opposite = self.names[0].partition("/")
        return opposite if value is False and opposite else name

    def read(self, value: Any) -> object:
        """Return the value from the text of the command line."""
        if self.told.read is not None:
            return self.default if value is None or value == [] else self.told.read(value, self.named(value))
        if isinstance(value, str) and self.is_checked:
            return self._checked(value)
        return tuple(value or ()) if self.is_many else value

    def _checked(self, text: str) -> object:
        """Return a choice or a number, or raise `InputError`."""
        least, most, whole = self.told.least, self.told.most, "whole " if int in self.kinds else ""
        value: float | None = None
        if not self.choices:
            with suppress(ValueError):
                value = int(text) if whole else float(text)
        if text in self.choices or (value is not None and (least or value) <= value <= (most or value)):
            return text if value is None else value
        limits = f"{'' if least is None else f' of {least} or more'}{'' if most is None else f', at most {most:,}'}"
        wanted = f"one of {', '.join(self.choices)}" if self.choices else f"a {whole}number{limits}"
        name, usual = self.names[0], self.default not in (None, inspect.Parameter.empty)
        example = self.default if usual else next(iter(self.choices), max(least or 0, 10))
        why = self.told.text[:1].lower() + self.told.text[1:].rstrip(".")
        raise InputError(f"{name} {text!r} is not {wanted}", why=why, fix=f"write {name} {example}")

    def shown(self, value: Any) -> object:
        """Return the value as the command line takes it."""
        if self.is_many:
            return [value] if isinstance(value, str) else list(value)
        if self.told.read is not None and isinstance(value, (list, tuple)):
            return ",".join(value)
        return value

    def parameter(self, taken: Collection[str] = ()) -> inspect.Parameter:
        """Return the parameter for typer, without names that are in use."""
        shown, default, metavar = self.kind, self.default, self.told.metavar
        if self.told.read or self.is_many:
            each = Path if get_args(self.kind)[:1] == (Path,) else str
            shown, default = list[each] | None if self.is_many else str | None, None  # type: ignore[valid-type]
        elif self.is_checked:
            shown, metavar = str | None, metavar or "|".join(self.choices) or "N"
            default = default if default in (None, inspect.Parameter.empty) else str(default)
        option = typer.Option(
            *(name for name in self.names if name not in taken),
            help=self.told.text,
            metavar=metavar,
            rich_help_panel=self.told.panel,
        )
        return inspect.Parameter(
            self.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[shown, option]
        )


def _option(name: str, annotation: object, default: object, described: Mapping[str, str] = {}) -> _Option | None:
    """Return the option that an annotation describes by its `flag`; None if it has none."""
    kind, *told = get_args(annotation) or (annotation,)
    flags = [one for one in told if isinstance(one, flag)]
    if not flags:
        return None
    is_asked_for = default is msgspec.NODEFAULT
    complete = replace(flags[0], text=flags[0].text or described.get(name, ""))
    return _Option(name, kind, inspect.Parameter.empty if is_asked_for else default, complete)


def _options(record: type[Record]) -> list[_Option]:
    """Return the options of a record; the format of a file comes after its columns."""
    ordered = sorted(msgspec.structs.fields(record), key=lambda field: field.name in Format.__struct_fields__)
    described = _described(*(kind.__doc__ for kind in reversed(record.__mro__)))
    found = (_option(field.name, field.type, field.default, described) for field in ordered)
    return [option for option in found if option is not None]


def _described(*docstrings: str | None) -> dict[str, str]:
    """Return the description of each parameter or field, by its name; later docstrings come before earlier ones."""
    texts: dict[str, str] = {}
    for docstring in docstrings:
        _, _, section = inspect.cleandoc(docstring or "").partition(PARAMETERS)
        for names, text in DESCRIBED.findall(section.partition("\n\n")[0]):
            texts |= dict.fromkeys(names.split(", "), escape(" ".join(text.split())))
    return texts


def given(*records: Record) -> list[Given]:
    """Return records as flags: the fields that are not at their defaults, in their order.

    Examples
    --------
    >>> from habitprint.events import EventSpec
    >>> [option.words for option in given(EventSpec(time_zone="Asia/Tokyo", without_user=("NULL", "0"), side=500))]
    ['--time-zone Asia/Tokyo', '--without-user NULL --without-user 0', '--side 500']
    """
    return [
        Given(each.named(value), each.shown(value))
        for record in records
        for each in _options(type(record))
        if (value := getattr(record, each.name)) != each.default
    ]


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the records among its parameters spelled out, so that typer sees every single option.

    The help of an option or an argument is its description in the docstring of the command, or of the record.

    Examples
    --------
    >>> class Columns(Record, frozen=True, kw_only=True):
    ...     user: Annotated[str, flag("Column that holds the user id.")] = "user"
    >>> @expanded
    ... def show(file: str, columns: Columns) -> None:
    ...     print(file, columns)
    >>> list(inspect.signature(show).parameters)
    ['file', 'user']
    >>> show(file="calls.csv", user="caller")
    calls.csv Columns(user='caller')
    """
    kinds = get_type_hints(command, include_extras=True)
    own = inspect.signature(command).parameters
    described = _described(command.__doc__)
    options = {name: _option(name, kinds[name], each.default, described) for name, each in own.items()}
    taken = {option.named(None) for option in options.values() if option is not None}
    parameters: list[inspect.Parameter] = []
    for name, each in own.items():
        option = options[name]
        if _is_record(kinds[name]):
            parameters += [one.parameter(taken) for one in _options(kinds[name])]
        elif option is not None:
            parameters.append(option.parameter())
        else:
            shown = _with_help(kinds[name], described.get(name))
            parameters.append(each.replace(annotation=shown, kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def run(**values: object) -> None:
        read: dict[str, object] = {}
        for name, option in options.items():
            if _is_record(kinds[name]):
                read[name] = kinds[name](**{one.name: one.read(values[one.name]) for one in _options(kinds[name])})
            else:
                read[name] = values[name] if option is None else option.read(values[name])
        command(**read)

    told = inspect.cleandoc(command.__doc__ or "").partition(PARAMETERS)[0]
    run.__doc__ = re.sub(r"(?<!\n)\n(?!\n)", " ", told)  # the terminal breaks the lines of a paragraph
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__dict__["__signature__"] = inspect.Signature(parameters)
    return run


def _with_help(annotation: Any, text: str | None) -> Any:
    """Return the annotation of an argument with its help."""
    kind, *arguments = get_args(annotation) or (annotation,)
    if not arguments:
        return annotation
    told = copy(arguments[0])
    told.help = told.help or text
    return Annotated[kind, told]


def _is_record(kind: object) -> TypeGuard[type[Record]]:
    return isinstance(kind, type) and issubclass(kind, Record)


class BackendOptions(Record, frozen=True, kw_only=True):
    """The backend: this machine, or a Spark cluster.

    Parameters
    ----------
    backend
        Place where habitprint computes: here (this machine) or spark, which reads and writes folders.
    master
        Address of Spark, such as 'local[*]', spark://host:7077 or yarn; default: Spark's own configuration.
    conf
        Setting of Spark, such as spark.executor.memory=4g. May be repeated.
    """

    backend: Annotated[Literal["here", "spark"], flag(panel=CLUSTER)] = "here"
    master: Annotated[str | None, flag(panel=CLUSTER, metavar="URL")] = None
    conf: Annotated[tuple[str, ...], flag(panel=CLUSTER, metavar="KEY=VALUE")] = ()

    @property
    def is_spark(self) -> bool:
        """Return whether Spark is requested; raise `InputError` for options of Spark without it.

        Examples
        --------
        >>> BackendOptions(backend="spark").is_spark
        True
        """
        if self.backend != "spark":
            why = "it says how Spark runs, and this machine does the work"
            refuse(given(self), None, "--backend here", why=why, fix="add --backend spark, or leave it out")
        return self.backend == "spark"

    @contextmanager
    def opened(self, progress: Progress, **of_audit: Any) -> Iterator["Spark | None"]:
        """Provide the backend for the time of the work, with parameters of `Spark`; None for this machine."""
        if not self.is_spark:
            yield None
            return
        from habitprint.backends.spark import Spark  # noqa: PLC0415 - an extra, and slow to load
        from habitprint.backends.spark.session import connected  # noqa: PLC0415

        settings = {name: value for name, _, value in (setting.partition("=") for setting in self.conf)}
        for setting in self.conf:
            if "=" not in setting or not setting.startswith("spark."):
                raise InputError(
                    f"--conf '{setting.partition('=')[0]}' is not a setting of Spark",
                    why="a setting has a name that begins with spark., and a value",
                    fix="write --conf spark.executor.memory=4g",
                )
        progress("starting Spark", 0, 0)
        with connected(self.master, settings=settings) as session:
            yield Spark(session, **of_audit)


def refuse(options: Iterable[Given], names: Collection[str] | None, beside: str, *, why: str, fix: str = "") -> None:
    """Raise `InputError` if an option was given, or an option with a value, that does not go with something else.

    Parameters
    ----------
    options, names
        The options that were given, and those to refuse; None for all.
    beside
        The thing with which they do not go.
    why, fix
        Parts of the message; the default fix is to leave the options out.

    Examples
    --------
    >>> refuse([Given("--weight", "l1")], ["--weight auto"], "Spark", why="it sees some users at a time")
    >>> refuse([Given("--stays", "200m,15min")], None, "tracks", why="they have no stays")
    Traceback (most recent call last):
    habitprint.errors.InputError: --stays does not go with tracks
      why: they have no stays
      fix: leave out --stays
    """
    found = [
        name
        for option in options
        for name in ([option.name] if names is None else {option.name, option.words} & set(names))
    ]
    if found:
        raise InputError(
            f"{found[0]} does not go with {beside}", why=why, fix=fix or f"leave out {' and '.join(found)}"
        )


def refuse_on_spark(options: Iterable[Given], names: Collection[str], fix: str) -> None:
    """Raise `InputError` if an option was given, or an option with a value, that Spark cannot do.

    Examples
    --------
    >>> refuse_on_spark([Given("--by-hours", 6)], OF_ALL_ROWS, "make them first")
    """
    refuse(options, names, "--backend spark", why="executors see some rows or users at a time, and not all", fix=fix)


def refuse_lost(outputs: Iterable[Path | str | None], inputs: Iterable[Path | str | None]) -> None:
    """Raise `InputError` if an output is one of the inputs or another output, even under another path.

    Examples
    --------
    >>> refuse_lost([Path("pairs.csv"), None], ["week1.csv", "same-id"])
    >>> refuse_lost([__file__], [Path(__file__)])
    Traceback (most recent call last):
    habitprint.errors.InputError: cannot write ...options.py: it is one of the inputs
      why: the input would be lost
      fix: choose another name
    """
    read, written = ([Path(each) for each in files if each is not None] for files in (inputs, outputs))
    for at, path in enumerate(written):
        if any(_is_same(path, each) for each in read):
            what, why = "it is one of the inputs", "the input would be lost"
        elif any(_is_same(path, each) for each in written[:at]):
            what, why = "two outputs have this name", "the second file would replace the first"
        else:
            continue
        raise InputError(f"cannot write {path}: {what}", why=why, fix="choose another name")


def _is_same(one: Path, other: Path) -> bool:
    return real_path(one) == real_path(other) or (one.exists() and other.exists() and one.samefile(other))


def check_outputs(
    *inputs: Path | str | None, force: bool, table: Path | str | None = None, chart: Path | None = None
) -> None:
    """Raise `InputError` unless a table and a chart can be written, and are none of the inputs.

    Examples
    --------
    >>> check_outputs("week1.csv", force=False, table="pairs.csv")
    """
    if table is not None:
        check_writable(table, overwrite=force)
    if chart is not None:
        from habitprint.plots import check_chart_target  # noqa: PLC0415  (takes a second: only if needed)

        check_chart_target(chart, overwrite=force)
    refuse_lost((table, chart), inputs)
