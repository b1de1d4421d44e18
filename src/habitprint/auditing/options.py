"""The options of an audit: one record from keywords and flags to ``report.json``."""

import re
from functools import partial
from typing import Annotated, get_args

from habitprint.auditing.accountability import NOBODY, Accountability
from habitprint.auditing.goal import PRESETS, Decide, Goal, TargetPreset
from habitprint.checks import Code
from habitprint.errors import InputError, require_option, require_seed
from habitprint.flags import ATTACKER, MAIN, OUTPUT, PROTECTIONS, Record, flag
from habitprint.forecasting import require_population
from habitprint.losses import UtilityMetric
from habitprint.wording.findings import to_codes

DEFAULT_TARGET = 0.05  # our default; it comes from no law
PERCENT = "such as 5% or 0.05"
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


rate = partial(flag, metavar="RATE", read=to_share)


class AuditOptions(Record, frozen=True, kw_only=True):
    """The options of an audit; None means not requested. Rates are shares of one.

    The fields are keywords of `habitprint.audit`, which explains them, and options of ``habitprint audit``.

    Examples
    --------
    >>> AuditOptions(target=0.01, keep="totals")
    AuditOptions(target=0.01, keep='totals')
    """

    overlap: Annotated[
        float | None, rate("Share of the released people whom the attacker knows, such as 50%; default: all.", ATTACKER)
    ] = None
    population: Annotated[
        int | None,
        flag(
            "Number of people for whom the risk is forecast; default: ten times the people tested, or all "
            "people if a sample is tested.",
            ATTACKER,
            metavar="N",
            least=1,
        ),
    ] = None
    seed: Annotated[
        int, flag("Seed of all random choices, except protective noise and pseudonyms.", ATTACKER, least=0)
    ] = 0
    target: Annotated[
        float | None, rate(f"Largest share of people who may be re-identified, {PERCENT}; default: 5%.", MAIN)
    ] = None
    target_preset: Annotated[
        TargetPreset | None,
        flag(
            "Target for the highest risk of any person, in place of --target: cell-11 asks for groups of 11 or more "
            "(at most 1/11); ema is EMA policy 0070 (0.09, 1/11). Only the guarantee can meet it.",
            PROTECTIONS,
        ),
    ] = None
    decide: Annotated[
        Decide,
        flag(
            "Risk of a protected table that must meet the target: guaranteed (bound against every attack), or measured "
            "(strongest attack that was run).",
            PROTECTIONS,
        ),
    ] = "guaranteed"
    keep: Annotated[
        UtilityMetric,
        flag(
            "Utility that the protection should keep: totals of places, ranking of places, patterns of each person, "
            "prediction (predictive value), or number of people.",
            MAIN,
        ),
    ] = "patterns"
    confident_target: Annotated[
        float | None,
        rate(
            "Largest precision of the attacker's most confident claims (the top 5%, at least 50 claims).", PROTECTIONS
        ),
    ] = None
    person_target: Annotated[
        float | None,
        rate(
            "Highest risk of any person, such as 10%: the probability that an attacker points at their row. With "
            "--decide measured, the precision of the top 10% most confident claims (at least 50) must be within it.",
            PROTECTIONS,
        ),
    ] = None
    counts: Annotated[
        bool,
        flag(
            "Also try protections that publish counts. By default only shares are published, because a person's total "
            "can identify them.",
            PROTECTIONS,
        ),
    ] = False
    noise: Annotated[
        bool,
        flag(
            "Also try noise (differential privacy), if OpenDP is installed. Results vary, because noise has no seed.",
            PROTECTIONS,
            names=("--noise/--no-noise",),
        ),
    ] = True
    name: Annotated[
        str | None, flag("Name of the data in the report and the record; default: the name of its file.", OUTPUT)
    ] = None
    fail_above: Annotated[
        float | None,
        rate(
            "Largest risk of the audited table, such as 5%. Above it, the exit code is 1. The risk is the upper end of "
            "the 95% interval; of a protected table, it is the guarantee.",
            MAIN,
        ),
    ] = None
    accept: Annotated[
        tuple[Code, ...],
        flag(
            "Code of a finding that stops the audit, such as future-dates. The audit continues and records the code. "
            "May be repeated.",
            OUTPUT,
            metavar="CODE",
        ),
    ] = ()
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
