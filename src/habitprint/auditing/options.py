"""The options of an audit: one record from keywords and flags to ``report.json``.

Beside them stand the people and reasons behind a release, for the record that an officer signs.
"""

import re
from datetime import date
from functools import partial
from typing import Annotated, Literal, get_args

from habitprint.auditing.goal import PRESETS, Decide, Goal, TargetPreset
from habitprint.checks import Code
from habitprint.errors import InputError, require_option, require_seed
from habitprint.flags import ATTACKER, MAIN, OUTPUT, PROTECTIONS, RECORD, Record, flag
from habitprint.forecasting import require_population
from habitprint.losses import UtilityMetric
from habitprint.wording.findings import to_codes

DEFAULT_TARGET = 0.05  # our default; it comes from no law
Access = Literal["public", "contract", "secure-room"]
RATES = ("target", "fail_above", "confident_target", "person_target", "overlap")


def to_share(text: str, option: str) -> float:
    """Return a rate such as 5% or 0.05 as a share of one.

    Examples
    --------
    >>> to_share("5%", "--target"), to_share("0.05", "--target")
    (0.05, 0.05)
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(%?)\s*", text)
    value = float(found[1]) / (100 if found[2] else 1) if found else 0.0
    if not 0 < value <= 1:
        why, fix = "a rate is above 0% and at most 100%", f"write {option} 5%, or {option} 0.05"
        raise InputError(f"{option} '{text}' is not a rate", why=why, fix=fix)
    return value


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


rate = partial(flag, metavar="RATE", read=to_share)
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


class AuditOptions(Record, frozen=True, kw_only=True):
    """The options of an audit; None means not requested. Rates are shares of one.

    The fields are keywords of `habitprint.audit`, which explains them, and options of ``habitprint audit``.

    Parameters
    ----------
    overlap
        Share of the released people whom the attacker knows, such as 50%; default: all.
    population
        Number of people for whom the risk is forecast; default: ten times the people tested, or all people if a sample
        is tested.
    seed
        Seed of all random choices, except protective noise and pseudonyms.
    target
        Largest share of people who may be re-identified, such as 5% or 0.05; default: 5%.
    target_preset
        Target for the highest risk of any person, in place of --target: cell-11 asks for groups of 11 or more (at most
        1/11); ema is EMA policy 0070 (0.09, 1/11). Only the guarantee can meet it.
    decide
        Risk of a protected table that must meet the target: guaranteed (bound for every attack that points at a row),
        or measured (strongest attack that was run).
    keep
        Utility that the protection should keep: totals of places, ranking of places, patterns of each person,
        prediction (predictive value), or number of people.
    confident_target
        Largest precision of the attacker's most confident claims (the top 5%, at least 50 claims).
    person_target
        Highest risk of any person, such as 10%: the probability that an attacker points at their row. The share of
        reconstructed rows must be within it, too. With --decide measured, it limits the precision of the top 10% most
        confident claims (at least 50).
    counts
        Also try protections that publish counts. By default only shares are published, because a person's total can
        identify them.
    noise
        Also try noise (differential privacy), if OpenDP is installed. Results vary, because noise has no seed.
    name
        Name of the data in the report and the record; default: the name of its file.
    fail_above
        Largest risk of the audited table, such as 5%. Above it, the exit code is 1. The upper end of the
        95% interval decides; for a protected table, the guarantee decides.
    accept
        Code of a finding that stops the audit, such as future-dates. The audit continues and records the code. May be
        repeated.

    Examples
    --------
    >>> AuditOptions(target=0.01, keep="totals")
    AuditOptions(target=0.01, keep='totals')
    """

    overlap: Annotated[float | None, rate(panel=ATTACKER)] = None
    population: Annotated[int | None, flag(panel=ATTACKER, metavar="N", least=1)] = None
    seed: Annotated[int, flag(panel=ATTACKER, least=0)] = 0
    target: Annotated[float | None, rate(panel=MAIN)] = None
    target_preset: Annotated[TargetPreset | None, flag(panel=PROTECTIONS)] = None
    decide: Annotated[Decide, flag(panel=PROTECTIONS)] = "guaranteed"
    keep: Annotated[UtilityMetric, flag(panel=MAIN)] = "patterns"
    confident_target: Annotated[float | None, rate(panel=PROTECTIONS)] = None
    person_target: Annotated[float | None, rate(panel=PROTECTIONS)] = None
    counts: Annotated[bool, flag(panel=PROTECTIONS)] = False
    noise: Annotated[bool, flag(panel=PROTECTIONS, names=("--noise/--no-noise",))] = True
    name: Annotated[str | None, flag(panel=OUTPUT)] = None
    fail_above: Annotated[float | None, rate(panel=MAIN)] = None
    accept: Annotated[tuple[Code, ...], flag(panel=OUTPUT, metavar="CODE")] = ()
    accountability: Accountability = NOBODY

    def __post_init__(self) -> None:
        require_seed(self.seed)
        require_option("decide", self.decide, get_args(Decide))
        require_option("keep", self.keep, get_args(UtilityMetric))
        if self.target_preset is not None:
            require_option("target_preset", self.target_preset, get_args(TargetPreset))
            others = {"target": self.target, "person_target": self.person_target, "decide": self.decide == "measured"}
            if beside := [f"--{name.replace('_', '-')}" for name, is_given in others.items() if is_given]:
                why = "a preset sets the target for every person, and only the guarantee can meet it"
                fix = f"leave out {' and '.join(beside)}, or the preset"
                raise InputError(f"--target-preset does not go with {beside[0]}", why=why, fix=fix)
        to_codes(self.accept)
        if self.population is not None:
            require_population("population", self.population)
        for name in RATES:
            value = getattr(self, name)
            if value is not None and not (isinstance(value, (int, float)) and 0 < value <= 1):
                fix = "write 0.05 for 5% (command line: 5% also works)"
                raise InputError(f"{name} = {value!r}", why="a rate is above 0 and at most 1", fix=fix)

    @property
    def goal(self) -> Goal:
        """Return the goal that a protection must reach."""
        target, person = DEFAULT_TARGET if self.target is None else self.target, self.person_target
        if self.target_preset is not None:
            target = person = PRESETS[self.target_preset]
        return Goal(target, self.decide, self.confident_target, self.seed, self.keep, person, self.target_preset)


DEFAULTS = AuditOptions()
