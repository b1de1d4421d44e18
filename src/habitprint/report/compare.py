"""The page of a comparison: audits side by side, in the look of a report."""

from habitprint.auditing.compare import Compared, Comparison
from habitprint.formatting import headed, in_column, percent, rounded_up, sentence
from habitprint.losses import SCALES, UtilityMetric
from habitprint.mechanisms import Losses
from habitprint.rates import Difference
from habitprint.report.charts import Bar, rates_picture
from habitprint.report.sections import key_to_rates
from habitprint.runtime.versions import versions
from habitprint.wording.attacks import RATE_HEADS, rate_cells
from habitprint.wording.compare import about_unlike, advice_of, differences, how_to_read, lost_by, warnings, which_pass
from habitprint.wording.data import about_scope
from habitprint.wording.page import (
    Block,
    Bullets,
    Caution,
    Cell,
    Figure,
    Headline,
    Page,
    Picture,
    Section,
    Table,
    Text,
    table,
    terms,
)
from habitprint.wording.texts import INTERNAL
from habitprint.wording.verdict import cautions, headline

NONE = Cell("–")
LOSSES: tuple[UtilityMetric, ...] = ("patterns", "prediction", "totals", "ranking")
SHARES = (
    "“Share” is the measured risk. “Guaranteed”: an attacker who points at a row is right for at most this share of "
    "people; 100% means no guarantee."
)


def build_comparison(found: Comparison) -> Page:
    """Return the page of a comparison.

    Examples
    --------
    >>> import habitprint as hp
    >>> fewer = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> page = build_comparison(hp.compare([fewer, hp.audit(hp.datasets.town(14, 5), noise=False)]))
    >>> page.blocks[0].text
    'None of the 2 tables meets its target.'
    """
    unlike = tuple(
        sentence(f"“{other.compared.name}”, {about_unlike(unlike)}")
        for other in found.others
        for unlike in other.unlike
        if unlike.is_told
    )
    scopes: list[Block] = [terms(*((audit.name, about_scope(audit.scope)) for audit in found.audits))]
    scopes += [Text(f"Other differences from “{found.first.name}”:"), Bullets(unlike)] if unlike else []
    return Page(
        note=INTERNAL,
        title="Comparison of re-identification audits",
        source=", ".join(f"“{audit.name}”" for audit in found.audits),
        blocks=(
            Headline(which_pass(found)),
            *map(Text, differences(found)),
            comparison_figure(found),
            *map(Caution, warnings(found)),
        ),
        sections=(
            Section("shares", "Which tables meet their target?", tuple(_shares(found))),
            Section("scope", "Which people and which time do they cover?", tuple(scopes)),
            Section("losses", "What have the tables lost?", (_losses(found),)),
            Section("advice", "What does each audit recommend?", (_advice(found),)),
            Section("reading", "How are the differences read?", (Bullets(how_to_read(found)),)),
        ),
        ending=f"Made by habitprint {versions()['habitprint']}. This page makes no request to any network.",
    )


def comparison_figure(found: Comparison) -> Figure:
    """Draw the measured risk of each audit.

    Examples
    --------
    >>> import habitprint as hp
    >>> fewer = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> comparison_figure(hp.compare([fewer, hp.audit(hp.datasets.town(14, 5), noise=False)])).title
    'Measured risk by the strongest attack'
    """
    target = found.first.target
    bars = [Bar(audit.name, audit.rate, is_main=audit is not found.first) for audit in found.audits]
    picture = rates_picture(bars, target, "Share of people re-identified in each audit, with its interval.")
    is_common = all(audit.target == target for audit in found.audits)
    whose = "" if is_common else f" It is the target of “{found.first.name}”."
    title = "Measured risk by the strongest attack"
    return Figure(title, key_to_rates(target) + whose, (Picture("comparison-picture", picture),))


def _shares(found: Comparison) -> list[Block]:
    rows = [
        [
            Cell(audit.name),
            *rate_cells(audit.rate),
            _share(audit.guaranteed.average, is_bound=True),
            Cell(percent(audit.target), audit.target),
            Cell("yes" if audit.passes else "no"),
        ]
        for audit in found.audits
    ]
    apart: list[list[Cell | str]] = [
        [
            other.compared.name,
            *(Cell(f"{100 * each:+.1f}".replace("-", "−"), each) for each in _ends(other.difference)),
            "yes" if other.difference.is_clear else "no",
        ]
        for other in found.others
    ]
    more: list[list[Cell | str]] = [
        [audit.name, *rate_cells(audit.other_time.rate)] for audit in found.audits if audit.other_time is not None
    ]
    answers = ((audit.name, all_of_it) for audit, all_of_it in zip(found.audits, found.sources, strict=True))
    return [
        table("The audits", ["Audit", *RATE_HEADS, "Guaranteed: at most", "Target", "Meets it"], rows, note=SHARES),
        table(
            f"Difference of the share from “{found.first.name}”, in points",
            ["Audit", "Difference", "Lower end", "Upper end", "Clear of chance"],
            apart,
        ),
        terms(*((name, " ".join((headline(each).text, *cautions(each)))) for name, each in answers)),
        *([table("If the attacker knows all other time in the file", ["Audit", *RATE_HEADS], more)] if more else []),
    ]


def _ends(difference: Difference) -> tuple[float, float, float]:
    return difference.value, difference.low, difference.high


def _losses(found: Comparison) -> Table:
    heads = ["Audit", *(headed(SCALES[keep].name) for keep in LOSSES), "People kept", "Places kept"]
    rows = [[Cell(audit.name), *_loss_cells(audit)] for audit in found.audits]
    note = "Information loss: 0 if nothing is lost, 1 if everybody looks the same."
    return table("Losses against the originals", heads, rows, note=note)


def _loss_cells(audit: Compared) -> list[Cell]:
    losses = audit.losses
    if losses is None:
        return [Cell(lost_by(audit)), *[NONE] * (len(LOSSES) + 1)]
    kept = [(losses.n_users_kept, losses.n_users), (losses.n_places_kept, losses.n_places)]
    return [*_costs(losses), *(Cell(f"{n:,} of {of:,}", n) for n, of in kept)]


def _costs(losses: Losses) -> list[Cell]:
    scales = [(SCALES[keep], SCALES[keep].of(losses)) for keep in LOSSES]
    return [
        Cell(f"{loss:.2f}", loss) if loss is not None and not scale.is_share else _share(loss) for scale, loss in scales
    ]


def _share(share: float | None, *, is_bound: bool = False) -> Cell:
    if share is None:
        return Cell("not defined")
    return Cell(in_column(rounded_up(share) if is_bound else share), share)


def _advice(found: Comparison) -> Table:
    heads = ["Audit", "Recommended", "Guaranteed: at most", "Measured, up to"]
    heads += [*(headed(SCALES[keep].name) for keep in LOSSES), "People removed"]
    rows = [[Cell(audit.name), *_advice_cells(audit)] for audit in found.audits]
    return table("Recommended protections", heads, rows)


def _advice_cells(audit: Compared) -> list[Cell]:
    trial = audit.advised
    if trial is None:
        return [Cell(advice_of(audit)), *[NONE] * (len(LOSSES) + 3)]
    bounds = (_share(end, is_bound=True) for end in (trial.guaranteed.average, trial.risk.high))
    return [Cell(trial.label), *bounds, *_costs(trial.losses), Cell(f"{trial.n_dropped:,}", trial.n_dropped)]
