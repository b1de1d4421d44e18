"""The people and reasons behind a release, for the record that an officer signs."""

from datetime import date
from typing import Annotated, Literal, get_args

from habitprint.errors import InputError, require_option
from habitprint.flags import RECORD, Record, flag

Access = Literal["public", "contract", "secure-room"]


def to_date(text: str, option: str) -> date:
    """Return a day such as 2027-01-31.

    Examples
    --------
    >>> to_date("2027-01-31", "--review-on")
    datetime.date(2027, 1, 31)
    """
    try:
        return date.fromisoformat(text.strip())
    except ValueError as error:
        why, fix = "a day is year, month, day", f"write {option} 2027-01-31"
        raise InputError(f"{option} '{text}' is not a day", why=why, fix=fix) from error


words = flag(panel=RECORD, metavar="TEXT")
day = flag(panel=RECORD, metavar="DATE", read=to_date)


class Accountability(Record, frozen=True, kw_only=True):
    """The people and reasons behind a release; None is a blank line in the record, to be filled in by hand.

    The fields are options of ``habitprint audit`` and ``habitprint record``. No result depends on them.

    Parameters
    ----------
    controller
        Organisation that is responsible for the data (controller).
    purpose
        Purpose of the release.
    recipient
        Recipient of the released table.
    access
        Access to the released table: public, contract (by agreement), or secure-room.
    target_by
        Person or body that set the target.
    target_reason
        Reason for the target.
    key_holder
        Holder of the key, the file that tells whose row is whose.
    key_until
        Day until which the key is kept, such as 2027-01-31.
    decided_by
        Person who decides about the release.
    review_on
        Day on which the decision is reviewed, such as 2027-01-31.

    Examples
    --------
    >>> Accountability(recipient="City library", access="contract")
    Accountability(recipient='City library', access='contract')
    """

    controller: Annotated[str | None, words] = None
    purpose: Annotated[str | None, words] = None
    recipient: Annotated[str | None, words] = None
    access: Annotated[Access | None, flag(panel=RECORD)] = None
    target_by: Annotated[str | None, words] = None
    target_reason: Annotated[str | None, words] = None
    key_holder: Annotated[str | None, words] = None
    key_until: Annotated[date | None, day] = None
    decided_by: Annotated[str | None, words] = None
    review_on: Annotated[date | None, day] = None

    def __post_init__(self) -> None:
        if self.access is not None:
            require_option("access", self.access, get_args(Access))
        for name in self.__struct_fields__:
            value, is_day = getattr(self, name), name in {"key_until", "review_on"}
            if value is None or (isinstance(value, date if is_day else str) and _is_encodable(str(value))):
                continue
            fix = "give a date, such as datetime.date(2027, 1, 31)" if is_day else "give text"
            raise InputError(f"{name} = {value!r}", why="the record and report.json hold text and days", fix=fix)


def _is_encodable(text: str) -> bool:
    """Return whether text is Unicode: words of a command line may hold other bytes."""
    return not any("\ud800" <= sign <= "\udfff" for sign in text)


NOBODY = Accountability()
