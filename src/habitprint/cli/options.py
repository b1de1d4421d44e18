"""How records of options become options of a command, and the options that most commands have."""

import functools
import inspect
import shlex
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, TypeGuard, get_args, get_origin, get_type_hints

import msgspec
import typer
from typer.models import OptionInfo

from habitprint.errors import InputError
from habitprint.flags import OUTPUT, Record
from habitprint.io.dialects import Format

NONE: frozenset[str] = frozenset()

ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite existing files.", rich_help_panel=OUTPUT)]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.", rich_help_panel=OUTPUT)]


@dataclass(frozen=True)
class Given:
    """An option whose value is not its default.

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
    ... class Columns(Options, panel="Input"):
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
        return given(self)


def given(record: Options | Record) -> list[Given]:
    """Return a record as flags: the fields that are not at their defaults, in their order.

    Examples
    --------
    >>> from habitprint.events import EventSpec
    >>> [option.words for option in given(EventSpec(time_zone="Asia/Tokyo", without_user=("NULL", "0"), side=500))]
    ['--time-zone Asia/Tokyo', '--without-user NULL --without-user 0', '--side 500']
    """
    found = []
    for each in _fields(type(record)):
        value = getattr(record, each.name)
        if value != each.default:
            found.append(Given(_name(each.parameter, value), each.shown(value)))
    return found


def expanded(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the records among its parameters spelled out, so that typer sees every single option.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Columns(Options, panel="Input"):
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
    own = [
        _plain(parameter.replace(annotation=kinds[name], kind=inspect.Parameter.KEYWORD_ONLY))
        for name, parameter in inspect.signature(command).parameters.items()
    ]
    taken = {_name(each.parameter, None) for each in own if each.is_option}
    parameters: list[inspect.Parameter] = []
    for each in own:
        of_record = _fields(each.kind, taken) if _is_record(each.kind) else [each]
        parameters += [field.parameter for field in of_record]

    @functools.wraps(command)
    def run(**values: object) -> None:
        command(
            **{
                each.name: each.kind(**{field.name: field.read(values[field.name]) for field in _fields(each.kind)})
                if _is_record(each.kind)
                else each.read(values[each.name])
                for each in own
            }
        )

    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__dict__["__signature__"] = inspect.Signature(parameters)
    return run


@dataclass(frozen=True)
class _Field:
    """A field of a record, or a parameter of a command, as typer sees it."""

    name: str
    kind: Any
    default: object
    parameter: inspect.Parameter
    flag: msgspec.Meta | None = None

    @property
    def _reader(self) -> Callable[[str, str], object] | None:
        return None if self.flag is None else (self.flag.extra or {})["read"]

    @property
    def is_option(self) -> bool:
        return any(isinstance(one, OptionInfo) for one in get_args(self.parameter.annotation)[1:])

    def read(self, value: Any) -> object:
        """Return the value of the field from what the command line gave."""
        if self._reader is not None:
            return self.default if value is None else self._reader(value, _name(self.parameter, value))
        return tuple(value or ()) if self.flag is not None and get_origin(self.kind) is tuple else value

    def shown(self, value: Any) -> object:
        """Return a value as the command line takes it."""
        if self._reader is not None and not isinstance(value, (str, float)):
            return ",".join(value)
        return list(value) if self.flag is not None and get_origin(self.kind) is tuple else value


def _plain(parameter: inspect.Parameter) -> _Field:
    kind, *told = get_args(parameter.annotation) or (parameter.annotation,)
    flag = next((one for one in told if isinstance(one, msgspec.Meta)), None)
    if flag is not None:
        return _flagged(parameter.name, kind, parameter.default, flag)
    return _Field(parameter.name, kind, parameter.default, parameter)


def _flagged(name: str, kind: Any, default: object, flag: msgspec.Meta, taken: AbstractSet[str] = NONE) -> _Field:
    """Return what typer is told about a field with a flag: the text of what is read, a list for several values."""
    told = flag.extra or {}
    is_many = get_origin(kind) is tuple
    shown = str | None if told["read"] else list[str] | None if is_many else kind
    option = typer.Option(
        *(each for each in told["names"] or (f"--{name.replace('_', '-')}",) if each not in taken),
        help=flag.description,
        metavar=told["metavar"],
        min=told["least"],
        rich_help_panel=told["panel"],
    )
    parameter = inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None if is_many or told["read"] else default,
        annotation=Annotated[shown, option],
    )
    return _Field(name, kind, default, parameter, flag)


def _is_record(kind: object) -> TypeGuard[type[Options | Record]]:
    return isinstance(kind, type) and issubclass(kind, (Options, Record))


def _fields(record: type[Options | Record], taken: AbstractSet[str] = NONE) -> list[_Field]:
    """Return the fields of a record that are options of a command, without names that the command itself uses."""
    if issubclass(record, Record):
        # How a file is written, which is found as a rule, stands after its columns.
        ordered = sorted(msgspec.structs.fields(record), key=lambda field: field.name in Format.__struct_fields__)
        found = [(field, *get_args(field.type)) for field in ordered]
        return [
            _flagged(field.name, kind[0], field.default, kind[1], taken)
            for field, *kind in found
            if len(kind) > 1 and isinstance(kind[1], msgspec.Meta)
        ]
    kinds = get_type_hints(record, include_extras=True)
    return [
        _plain(
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.default is MISSING else field.default,
                annotation=kinds[field.name],
            )
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
