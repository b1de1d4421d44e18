"""The page of a comparison: audits side by side, in the look of a report."""

import os
from pathlib import Path

from habitprint.auditing.compare import Compared, Comparison
from habitprint.formatting import at_most, headed, in_column, percent, rounded_up, sentence
from habitprint.io.files import check_target, write_text
from habitprint.losses import SCALES, Purpose
from habitprint.report.charts import Bar, rates_picture
from habitprint.report.page import Block, Bullets, Cell, Figure, Page, Picture, Section, Table, Term, Terms, Text, table
from habitprint.report.render import render_page
from habitprint.report.sections import key_to_rates, rate_cells
from habitprint.report.texts import INTERNAL
from habitprint.runtime.versions import versions
from habitprint.wording.compare import about_unlike, advice_of, differences, how_to_read, lost_by, warnings, which_pass
from habitprint.wording.data import about_scope
from habitprint.wording.verdict import headline

NONE = "–"
SHARES = (
    "“Share” is what the strongest attack that was made identifies. “Guaranteed”: an attacker who points at a "
    "row is right for at most this share of people; 100% says that nothing is guaranteed."
)


def write_comparison(found: Comparison, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a comparison of audits to an HTML file, in one piece or not at all.

    Parameters
    ----------
    found
        What `habitprint.compare` found.
    path
        Where to write; nothing is overwritten unless `overwrite` is true.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> fewer = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> found = hp.compare([fewer, hp.audit(hp.datasets.town(14, 5), noise=False)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hp.write_comparison(found, Path(folder) / "compared.html")
    ...     (Path(folder) / "compared.html").read_text().startswith("<!doctype html>")
    True
    """
    check_target(Path(path), overwrite=overwrite)
    write_text(Path(path), render_page(build_comparison(found)), overwrite=overwrite)


def build_comparison(found: Comparison) -> Page:
    """Return the page of a comparison.

    Examples
    --------
    >>> import habitprint as hp
    >>> fewer = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> page = build_comparison(hp.compare([fewer, hp.audit(hp.datasets.town(14, 5), noise=False)]))
    >>> page.answer
    'None of the 2 tables meets its target.'
    """
    names = ", ".join(f"“{audit.name}”" for audit in found.audits)
    return Page(
        note=INTERNAL,
        record=None,
        source=names,
        question="How do these releases compare?",
        answer=which_pass(found),
        about="Comparison of re-identification audits:",
        opening=tuple(_opening(found)),
        sections=(_shares(found), _scopes(found), _losses(found), _advice(found), _reading(found)),
        ending=f"Made by habitprint {versions()['habitprint']}. This page makes no request to any network.",
    )


def _opening(found: Comparison) -> list[Block]:
    target = found.first.target
    picture = rates_picture(
        [Bar(audit.name, audit.rate, is_main=audit is not found.first) for audit in found.audits],
        target,
        "Share of the people identified in each audit, with its interval.",
    )
    whose = (
        "" if all(audit.target == target for audit in found.audits) else f" It is the target of “{found.first.name}”."
    )
    return [
        *map(Text, differences(found)),
        Figure(
            "Share of the people that the strongest attack identifies",
            key_to_rates(target) + whose,
            (Picture("comparison-picture", picture),),
        ),
        *(Text(words, warns=True) for words in warnings(found)),
    ]


def _shares(found: Comparison) -> Section:
    heads = [
        "Audit",
        "Right",
        "Of",
        "Share",
        "Lower end",
        "Upper end",
        "By chance",
        "Guaranteed: at most",
        "Target",
        "Meets it",
    ]
    rows = [
        [
            Cell(audit.name),
            *rate_cells(audit.rate),
            Cell(in_column(rounded_up(audit.guaranteed.average)), audit.guaranteed.average),
            Cell(percent(audit.target), audit.target),
            Cell("yes" if audit.passes else "no"),
        ]
        for audit in found.audits
    ]
    differences: list[list[Cell | str]] = [
        [
            other.compared.name,
            *(
                Cell(_points(each), each)
                for each in (other.difference.value, other.difference.low, other.difference.high)
            ),
            "yes" if other.difference.is_clear else "no",
        ]
        for other in found.others
    ]
    against = f"Difference of the share from “{found.first.name}”, in points"
    terms = Terms(
        tuple(
            Term(audit.name, headline(all_of_it)) for audit, all_of_it in zip(found.audits, found.sources, strict=True)
        )
    )
    return Section(
        "shares",
        "The shares, and whether they meet the target",
        (
            table("The audits", heads, rows, note=SHARES),
            table(against, ["Audit", "Difference", "Lower end", "Upper end", "Clear of chance"], differences),
            terms,
            *_other_time(found),
        ),
    )


def _other_time(found: Comparison) -> list[Block]:
    rows: list[list[Cell | str]] = [
        [audit.name, *rate_cells(audit.other_time.rate)] for audit in found.audits if audit.other_time is not None
    ]
    heads = ["Audit", "Right", "Of", "Share", "Lower end", "Upper end", "By chance"]
    return [table("If all other time in the file is known, which finds more", heads, rows)] if rows else []


def _points(difference: float) -> str:
    return f"{100 * difference:+.1f}".replace("-", "−")


def _scopes(found: Comparison) -> Section:
    terms = tuple(Term(audit.name, about_scope(audit.scope)) for audit in found.audits)
    unlike = tuple(
        sentence(f"“{other.compared.name}”, {about_unlike(unlike)}")
        for other in found.others
        for unlike in other.unlike
        if unlike.is_told
    )
    blocks: list[Block] = [Terms(terms)]
    if unlike:
        blocks += [Text(f"What differs from “{found.first.name}” beside the shares:"), Bullets(unlike)]
    return Section("scope", "Whom and which time they are about", tuple(blocks))


def _losses(found: Comparison) -> Section:
    heads = [
        "Audit",
        "Information loss",
        headed(SCALES["prediction"].name),
        "Totals error",
        "Ranking error",
        "People kept",
        "Places kept",
    ]
    rows = [[Cell(audit.name), *_loss_cells(audit)] for audit in found.audits]
    note = "Information loss: 0 if nothing is lost, 1 if everybody looks the same."
    return Section("losses", "What the tables have lost", (table("Against their originals", heads, rows, note=note),))


def _loss_cells(audit: Compared) -> list[Cell]:
    losses = audit.losses
    if losses is None:
        return [Cell(lost_by(audit)), *(Cell(NONE) for _ in range(5))]
    shares: tuple[Purpose, ...] = ("prediction", "totals", "ranking")
    errors = [_share(SCALES[keep].of(losses)) for keep in shares]
    kept = [(losses.n_users_kept, losses.n_users), (losses.n_places_kept, losses.n_places)]
    return [Cell(lost_by(audit), losses.information_loss), *errors, *(Cell(f"{n:,} of {of:,}", n) for n, of in kept)]


def _share(loss: float | None) -> Cell:
    return Cell("not defined") if loss is None else Cell(in_column(loss), loss)


def _advice(found: Comparison) -> Section:
    rows = [[Cell(audit.name), *_advice_cells(audit)] for audit in found.audits]
    heads = [
        "Audit",
        "Advice",
        "Guaranteed: at most",
        "Measured, up to",
        "Information loss",
        headed(SCALES["prediction"].name),
        "Totals error",
        "People left out",
    ]
    made: Table = table("The cheapest protection that meets the target", heads, rows)
    return Section("advice", "What each audit advises", (made,))


def _advice_cells(audit: Compared) -> list[Cell]:
    trial = audit.advised
    if trial is None:
        return [Cell(advice_of(audit)), *(Cell(NONE) for _ in range(6))]
    loss = Cell("not defined") if trial.loss is None else Cell(f"{trial.loss:.2f}", trial.loss)
    return [
        Cell(trial.label),
        Cell(at_most(trial.guaranteed.average), trial.guaranteed.average),
        Cell(at_most(trial.risk.high), trial.risk.high),
        loss,
        _share(trial.loss_for("prediction")),
        _share(trial.loss_for("totals")),
        Cell(f"{trial.n_dropped:,}", trial.n_dropped),
    ]


def _reading(found: Comparison) -> Section:
    return Section("reading", "How to read the differences", (Bullets(how_to_read(found)),))
