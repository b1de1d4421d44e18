"""Records of options: each field is a keyword in Python, an option of a command, and an entry in a JSON file."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass

import msgspec

# The groups of options in the help of a command.
MAIN, INPUT, PERIODS, PLACES = "Most needed", "Input", "Periods", "Places"
ATTACKER, PROTECTIONS, RECORD, OUTPUT, CLUSTER = "Attacker", "Protections", "Record", "Output", "Cluster"


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, repr_omit_defaults=True):
    """Base of records of options: a field with a `flag` is an option of the commands that take the record.

    The help of an option is the description of its field in the docstring of the record.

    Examples
    --------
    >>> class Columns(Record, frozen=True, kw_only=True):
    ...     user: str = "user"
    ...     time_zone: str = "UTC"
    >>> Columns(time_zone="Europe/Zurich")
    Columns(time_zone='Europe/Zurich')
    """


@dataclass(frozen=True)
class flag:  # noqa: N801  (an annotation that reads like a word)
    """The option of the command line that a field becomes.

    Parameters
    ----------
    text
        The help: it describes the value. Empty for a field that is described in the docstring of its record.
    panel
        The group of options in which it stands.
    names
        The names of the option, if it is not named after the field; the first is the one that is printed.
    metavar
        The placeholder for the value in the help.
    least, most
        The smallest and the largest number allowed.
    read
        The function that makes the value from the text and the name of the option; None to take the text itself.

    Examples
    --------
    >>> flag("Column that holds the user id.").panel
    'Input'
    """

    text: str = ""
    panel: str = INPUT
    _: KW_ONLY
    names: tuple[str, ...] = ()
    metavar: str | None = None
    least: int | None = None
    most: int | None = None
    read: Callable[[str, str], object] | None = None
