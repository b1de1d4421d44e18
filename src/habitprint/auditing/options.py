"""What is asked of an audit: one record from keywords and flags to ``report.json``."""

import re
from typing import Annotated, get_args

from habitprint.auditing.goal import Decide, Goal
from habitprint.checks import Code
from habitprint.errors import InputError, require_option, require_seed, require_whole
from habitprint.flags import ADVERSARY, OUTPUT, PROTECTIONS, Record, flag
from habitprint.forecasting import MOST_PEOPLE
from habitprint.losses import Purpose
from habitprint.wording.findings import to_codes

DEFAULT_TARGET = 0.05  # ours, and nobody's law
PERCENT = "such as 5% or 0.05"


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
        raise InputError(
            f"{option} '{text}' is not a rate",
            why="it is a share above nothing and at most all",
            fix=f"write {option} 5%, or {option} 0.05",
        )
    return value


class AuditOptions(Record, frozen=True, kw_only=True):
    """What is asked of an audit; None is not asked for. Rates are shares of one.

    The fields are keywords of `habitprint.audit`, which explains them, and options of ``habitprint audit``.

    Examples
    --------
    >>> AuditOptions(target=0.01, keep="totals")
    AuditOptions(target=0.01, keep='totals')
    """

    overlap: Annotated[
        float | None,
        flag(
            "The adversary knows only this share of the people, such as 50%.", ADVERSARY, metavar="RATE", read=to_share
        ),
    ] = None
    population: Annotated[
        int | None,
        flag(
            "Forecast how many would be identified among so many people; default: ten times those attacked, or of a "
            "sample, all.",
            ADVERSARY,
            metavar="N",
            least=1,
        ),
    ] = None
    seed: Annotated[int, flag("Decides all random choices but noise.", ADVERSARY, least=0)] = 0
    target: Annotated[
        float | None,
        flag(
            f"The largest share of people identified that you accept, {PERCENT}; default: 5%.",
            PROTECTIONS,
            metavar="RATE",
            read=to_share,
        ),
    ] = None
    decide: Annotated[
        Decide,
        flag(
            "What must be within the target once the table is protected: what is proven about anybody, or what the "
            "strongest attack was measured to reach.",
            PROTECTIONS,
        ),
    ] = "proven"
    keep: Annotated[
        Purpose,
        flag(
            "What the release is for; which loss makes a protection cheap: totals of places, their ranking, patterns "
            "of each person, their predictive value, or as many people as possible.",
            PROTECTIONS,
        ),
    ] = "patterns"
    surest_target: Annotated[
        float | None,
        flag(
            "How often the surest claims may be right: 5% of all claims, at least 50.",
            PROTECTIONS,
            metavar="RATE",
            read=to_share,
        ),
    ] = None
    person_target: Annotated[
        float | None,
        flag(
            "The highest probability of pointing at anybody's row: guaranteed for each, or with --decide measured, the "
            "upper end for the surest tenth of the people, at least 50. Not about rows reconstructed.",
            PROTECTIONS,
            metavar="RATE",
            read=to_share,
        ),
    ] = None
    counts: Annotated[
        bool,
        flag("Let what is advised keep counts, and so totals, where it can: groups are always shares.", PROTECTIONS),
    ] = False
    noise: Annotated[
        bool,
        flag("Try noise too, if OpenDP is installed; it has no seed.", PROTECTIONS, names=("--noise/--no-noise",)),
    ] = True
    name: Annotated[
        str | None, flag("What the data is called in report and record; default: the name of its file.", OUTPUT)
    ] = None
    fail_above: Annotated[
        float | None,
        flag(
            "Exit with 1 if the table exceeds this: by the upper end of the 95% interval of the strongest attack, "
            "unless it is proven of a protected table that nobody could reach more.",
            OUTPUT,
            metavar="RATE",
            read=to_share,
        ),
    ] = None
    accept: Annotated[
        tuple[Code, ...],
        flag(
            "Code of a finding that stops the audit because it makes the answer wrong: go on. May be repeated.",
            OUTPUT,
            metavar="CODE",
        ),
    ] = ()

    def __post_init__(self) -> None:
        require_seed(self.seed)
        require_option("decide", self.decide, get_args(Decide))
        require_option("keep", self.keep, get_args(Purpose))
        to_codes(self.accept)
        if self.population is not None:
            why, fix = "it is a number of people", f"give how many people there would be, at most {MOST_PEOPLE:,}"
            require_whole("population", self.population, 1, why=why, fix=fix)
            if self.population > MOST_PEOPLE:
                raise InputError(f"population = {self.population:,}", why="no population is that large", fix=fix)
        for name in ("target", "fail_above", "surest_target", "person_target", "overlap"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, (int, float)) and 0 < value <= 1):
                raise InputError(
                    f"{name} = {value!r}",
                    why="it is a share of people or of claims, above 0 and at most 1",
                    fix="write 0.05 for 5% (on the command line also 5%)",
                )

    @property
    def goal(self) -> Goal:
        """Return what a protection must reach."""
        target = DEFAULT_TARGET if self.target is None else self.target
        return Goal(target, self.decide, self.surest_target, self.seed, self.keep, self.person_target)


DEFAULTS = AuditOptions()
