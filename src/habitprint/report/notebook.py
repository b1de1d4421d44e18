"""Values in a notebook: each one a card of blocks, and some a picture."""

import base64
import math
import re
import textwrap
from functools import cache, singledispatch
from typing import Any

import altair as alt
import polars as pl
import vl_convert

from habitprint.auditing.audit import Audit, Pictured
from habitprint.auditing.compare import Comparison
from habitprint.auditing.curves import Curve
from habitprint.auditing.explanation import Explanation
from habitprint.auditing.people import People
from habitprint.auditing.trials import Protections
from habitprint.auditing.verdict import Advice
from habitprint.checks import EventsCheck
from habitprint.display import cut
from habitprint.errors import InputError
from habitprint.evaluation import Evaluation
from habitprint.events import Events
from habitprint.forecasting import Forecast
from habitprint.formatting import counted, in_column, moment, number, percent, sentence
from habitprint.histograms import Histograms
from habitprint.losses import measure_losses
from habitprint.matching import Matching, MatchingPath
from habitprint.mechanisms import Losses, Release, check_guarantees, guaranteed_risk
from habitprint.periods import Split
from habitprint.plots import drawable, plot_path
from habitprint.report.charts import CONFIG, Spec, common_end, curve_picture, explanation_pictures
from habitprint.report.compare import comparison_figure
from habitprint.report.html import asset, render_card
from habitprint.report.sections import claims_figure, figure_of_audit, protections_figure
from habitprint.training import Training
from habitprint.training.calibration import LikelyPairs
from habitprint.wording.attacks import about_evidence, about_guesses, about_proof, among_more, on_all_people
from habitprint.wording.compare import differences, which_pass
from habitprint.wording.curves import TITLES, about_curve
from habitprint.wording.data import about_scope, loss_terms
from habitprint.wording.findings import words_of
from habitprint.wording.forecast import about_forecast, about_law, about_needed
from habitprint.wording.page import (
    Block,
    Card,
    Caution,
    Cell,
    Figure,
    Headline,
    Picture,
    Table,
    Terms,
    Text,
    table,
    terms,
)
from habitprint.wording.people import about_certainty, about_person, about_shelter
from habitprint.wording.protections import on_whom
from habitprint.wording.releases import about_check, about_guarantee, about_step
from habitprint.wording.risks import bound_in_short, tell_bound
from habitprint.wording.verdict import first_screen

N_ROWS = 5  # that are shown of a table
LONGEST = 60  # letters of a cell
LINE = 90  # letters of a line below a title
WIDTH = 520  # pixels of a picture that is not in the report


def to_html(value: object) -> str:
    """Return a value as a piece of HTML, for a notebook; text from the data is only text.

    Examples
    --------
    >>> import habitprint as hp
    >>> "&lt;b&gt;" in to_html(hp.Histograms.from_strings({"<b>": "a"}))
    True
    """
    return render_card(card_of(value), as_image)


@singledispatch
def card_of(value: object) -> Card:
    """Return the card that a notebook shows of a value.

    Examples
    --------
    >>> import habitprint as hp
    >>> card_of(hp.match(*hp.datasets.illustration())).blocks[0].items[0]
    Term(name='Pairs', meaning='4', is_literal=False)
    """
    return Card(type(value).__name__, (Text(repr(value)),))


@card_of.register
def _(value: Histograms) -> Card:
    frame = value.to_frame()
    facts = terms(("Counts above zero", f"{frame.height:,}"), ("In all", number(math.fsum(value.totals))))
    return Card("Histograms", (Text(_size(value)), facts, _rows(frame)))


def _size(value: Histograms) -> str:
    return f"{counted(value.n_users, 'user')} × {counted(value.n_places, 'place')}"


@card_of.register
def _(value: Events) -> Card:
    facts = terms(("Columns", ", ".join(value.columns)), ("Time zone of days", value.time_zone))
    note = "The first valid rows. The others are read when something is computed."
    first = value.usable.head(N_ROWS).collect()
    return Card("Events", (Text(value.source), facts, _rows(first), Text(note)))


@card_of.register
def _(value: EventsCheck) -> Card:
    facts = terms(
        ("Rows", f"{value.n_rows:,}, of which {value.n_used:,} are valid"),
        *((f"Invalid: {reason}", f"{n:,}") for reason, n in value.unused.items()),
        ("Users", f"{value.n_users:,}"),
        ("Places", "" if value.n_places is None else f"{value.n_places:,}"),
        ("From, to", f"{moment(value.first)} to {moment(value.last)} ({value.time_zone})"),
        ("Repeated rows", f"{value.n_repeats:,}"),
        ("Users who share their history", f"{value.shared.n_users:,}"),
    )
    grave = (Caution(words_of(found)) for found in value.findings if found.is_grave)
    return Card("Events, checked", (Text(value.source), facts, *grave))


@card_of.register
def _(value: Split) -> Card:
    sides = terms(
        ("Released", f"{value.released_span.words}: {counted(value.released.n_users, 'user')}"),
        ("Known", f"{value.known_span.words}: {counted(value.known.n_users, 'user')}"),
        ("In both", counted(value.n_common, "user")),
    )
    fates = [*value.to_frame().iter_rows(), ("all rows", value.n_rows)]
    shown = [[fate, Cell(f"{n:,}", n), Cell(in_column(n / max(value.n_rows, 1)), n)] for fate, n in fates]
    return Card("Split", (Text(value.source), sides, table("", ["rows by use", "rows", "share"], shown)))


@card_of.register
def _(value: Matching) -> Card:
    facts = terms(
        ("Pairs", f"{value.size:,}{about_guesses(value.n_guesses)}"),
        ("Users", f"{value.n_released:,} released, {value.n_known:,} known"),
        ("Method", f"{value.method}, by {value.weight_name}"),
        ("Total weight", f"{value.total_weight:.6g}"),
        ("Proof", about_proof(value.gap, value.bound, value.size)),
    )
    return Card("Matching", (facts, _rows(value.to_frame())))


@card_of.register
def _(value: MatchingPath) -> Card:
    facts = terms(
        ("Sizes", f"1 to {len(value.sizes):,}"),
        ("Users", f"{value.released.n_users:,} released, {value.known.n_users:,} known"),
        ("Weight", value.weight.name),
    )
    return Card("The best matching of every size", (facts, figure_of(value), _rows(value.to_frame())))


@card_of.register
def _(value: LikelyPairs) -> Card:
    return Card("Likely pairs", (Text(value.words), _rows(value.to_frame())))


@card_of.register
def _(value: Evaluation) -> Card:
    facts = terms(
        ("Correct", f"{number(value.expected_correct)} of {counted(value.size, 'pair')}"),
        ("Users on both sides", f"{value.n_common:,}"),
        ("Guesses", f"{value.n_guesses:,}"),
    )
    return Card("Evaluation", (facts, _rows(value.to_frame())))


@card_of.register
def _(value: Release) -> Card:
    checks = check_guarantees(value)
    verdicts = {True: "holds", False: "does not hold", None: "cannot be checked on the data"}
    facts = terms(
        *((f"Step {at}", sentence(about_step(step))) for at, step in enumerate(value.steps, start=1)),
        *(
            (f"Guarantee {at}", f"{about_guarantee(check.guarantee)}: {verdicts[check.holds]} ({about_check(check)})")
            for at, check in enumerate(checks, start=1)
        ),
        ("Guarantees", "" if checks else "none"),
        ("Row pointed at, guaranteed", tell_bound(guaranteed_risk(value.histograms))),
    )
    lost: list[Block] = []
    if value.original is not None:
        note = "Losses are for the owner of the original. No published file contains them."
        lost = [Terms(tuple(loss_terms(measure_losses(value.original, value)))), Text(note)]
    return Card("Release", (Text(_size(value.histograms)), facts, *lost, _rows(value.to_frame())))


@card_of.register
def _(value: Losses) -> Card:
    return Card("Losses against the original", (Terms(tuple(loss_terms(value))),))


@card_of.register
def _(value: Training) -> Card:
    facts = terms(
        ("Best attack", f"{value.best.outcome.name}: {value.best.rate.words}"),
        ("People", f"{value.trained.n_people:,}"),
        ("Evidence", about_evidence(value.trained.by_kind)),
    )
    frame = value.to_frame().sort("share", descending=True, maintain_order=True).drop("is_best")
    return Card("Training", (facts, _rows(frame)))


@card_of.register
def _(value: Audit) -> Card:
    more = (Text(said) for said in (about_scope(value.data.scope), on_all_people(value), among_more(value)) if said)
    figure = figure_of_audit(value, "answer")
    return Card(f"Audit of {value.run.source}", (*first_screen(value), figure, *more))


@card_of.register
def _(value: Forecast) -> Card:
    needed = "" if value.needed is None else about_needed(value.needed)
    facts = terms(("People needed", needed), ("Method", about_law(value)))
    return Card("Forecast", (Text(about_forecast(value)), facts, _rows(value.to_frame())))


@card_of.register
def _(value: Advice) -> Card:
    facts = terms(
        ("Protection", value.label),
        ("Target", f"at most {percent(value.target)}, {value.decide}"),
        ("Row pointed at, guaranteed", bound_in_short(value.guaranteed)),
        ("Measured", value.measured.words),
        ("To keep", value.keep),
    )
    return Card("Advice", (Terms((*facts.items, *loss_terms(value.losses))), Text(value.note)))


@card_of.register
def _(value: Protections) -> Card:
    recommended = "none" if value.advised is None else value.advised.label
    facts = terms(
        ("Tried", f"{value.n_tried:,}. {on_whom(value)}"), ("To keep", value.keep), ("Recommended", recommended)
    )
    columns = ("protection", "passes", "guaranteed", f"loss_{value.keep}", "share", "high")
    front = [at for at in value.frontier if at != value.chosen]
    shown = value.to_frame().select(columns)[([] if value.chosen is None else [value.chosen]) + front]
    blocks = (facts, figure_of(value), _rows(shown, most=shown.height), Text("The best by loss and risk."))
    return Card("Protections", blocks)


@card_of.register
def _(value: Curve) -> Card:
    drawn = [figure_of(value)] if value.points else []
    rows = _rows(value.to_frame().drop("dimension"), most=12)
    return Card(TITLES[value.dimension], (Text(about_curve(value)), *drawn, rows))


@card_of.register
def _(value: People) -> Card:
    certain = [] if value.confidence is None else [Text(about_certainty(value.confidence))]
    drawn = [figure_of(value)] if value.claims else []
    return Card("Who is at risk?", (*certain, *drawn, _rows(value.to_frame())))


@card_of.register
def _(value: Comparison) -> Card:
    blocks = (Headline(which_pass(value)), *map(Text, differences(value)), figure_of(value), _rows(value.to_frame()))
    return Card("Comparison", blocks)


@card_of.register
def _(value: Explanation) -> Card:
    facts = terms(
        ("Risk", percent(value.chance)),
        ("Certainty of the attacker", "" if value.probability is None else percent(value.probability)),
        ("Compared", f"by {value.weight}, with the known habits of {value.compared_with!r}"),
        *((f"Protected by “{each.label}”", about_shelter(each)) for each in value.protections[1:]),
    )
    note = Text("It names people and places: for internal use only.")
    blocks = (Text(about_person(value)), facts, figure_of(value), _rows(value.to_frame()), note)
    return Card("Why this person?", blocks)


@singledispatch
def figure_of(value: object) -> Figure:
    """Return the picture of a value.

    Examples
    --------
    >>> import habitprint as hp
    >>> figure_of(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections).title
    'Risk against utility'
    """
    raise InputError(f"a {type(value).__name__} has no picture", why="no report draws one", fix="use its to_frame()")


@figure_of.register
def _(value: MatchingPath) -> Figure:
    title = "Gain of each further pair, and total weight, against the size"
    return Figure(title, "", (Picture("path", plot_path(value).to_dict()),))


@figure_of.register
def _(value: Curve) -> Figure:
    if not value.points:
        raise InputError(f"there is no curve by {value.dimension}", why=about_curve(value), fix="use another curve")
    end = common_end([point.rate for point in value.points], 0.0)
    return Figure(TITLES[value.dimension], "", (Picture("curve", curve_picture(value, None, end, "")),))


@figure_of.register
def _(value: Protections) -> Figure:
    return protections_figure(value, None)


@figure_of.register
def _(value: People) -> Figure:
    figure = claims_figure(value, None)
    if figure is None:
        raise InputError("there are no claims to draw", why="no pair was matched", fix="use its to_frame()")
    return figure


@figure_of.register
def _(value: Comparison) -> Figure:
    return comparison_figure(value)


@figure_of.register
def _(value: Explanation) -> Figure:
    return Figure("Places, rivals and protections of a person", "", explanation_pictures(value))


def draw(value: object, picture: Pictured | None = None) -> alt.TopLevelMixin:
    """Return the picture of a value as a chart; of an audit, the one with this name.

    Examples
    --------
    >>> import habitprint as hp
    >>> type(draw(hp.read_audit(hp.datasets.AUDIT_OF_TOWN), "attacks")).__name__
    'LayerChart'
    """
    return _chart(figure_of_audit(value, picture or "answer") if isinstance(value, Audit) else figure_of(value))


def _chart(figure: Figure) -> alt.TopLevelMixin:
    """Return a figure as one chart: with the colours of the page on paper, and a width of its own."""
    first, *others = (each.spec for each in figure.pictures)
    if "vconcat" in first:  # several panels, complete already
        return alt.VConcatChart.from_dict(first)
    specs = [_spec(each, each.title or figure.title) for each in figure.pictures]
    # Data stand at the top of a chart only.
    datasets = {name: rows for spec in specs if others for name, rows in spec.pop("datasets", {}).items()}
    chart = (
        alt.VConcatChart.from_dict({"vconcat": specs, "datasets": datasets})
        if others
        else alt.LayerChart.from_dict(specs[0])
    )
    colours = _palette()
    config = {name: _resolved(part, colours) for name, part in CONFIG.items()} | {"background": colours["--paper"]}
    made: alt.TopLevelMixin = chart.configure(**config)
    return made


def _spec(picture: Picture, name: str) -> Spec:
    left_out = {"config", "autosize"} | (set() if picture.spec["description"] else {"description"})
    title = {"text": name, "anchor": "start", "frame": "group", "offset": 24, "fontSize": 14}
    if picture.caption:
        title |= {"subtitle": textwrap.wrap(picture.caption, LINE), "subtitlePadding": 6}
    kept = {name: part for name, part in picture.spec.items() if name not in left_out}
    return {name: _resolved(part, _palette()) for name, part in kept.items()} | {"width": WIDTH, "title": title}


@cache
def _palette() -> dict[str, str]:
    """Return the colours of the page on paper, by name."""
    return dict(re.findall(r"(--[a-z]+): (#[0-9a-f]{6});", asset("style.css").split("}")[0]))


def _resolved(part: Any, colours: dict[str, str]) -> Any:
    """Return part of a spec with colours in place of the names that only a page can resolve."""
    if isinstance(part, dict):
        return {name: _resolved(each, colours) for name, each in part.items()}
    if isinstance(part, list):
        return [_resolved(each, colours) for each in part]
    name = part.removeprefix("var(").removesuffix(")") if isinstance(part, str) else ""
    return colours.get(name, part) if f"var({name})" == part else part


def as_image(figure: Figure) -> str:
    """Return a figure as the address of an image that holds its own data: in it nothing can run.

    Examples
    --------
    >>> import habitprint as hp
    >>> as_image(figure_of(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections))[:18]
    'data:image/svg+xml'
    """
    svg = vl_convert.vegalite_to_svg(drawable(_chart(figure)).to_json())
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


def _rows(frame: pl.DataFrame, most: int = N_ROWS) -> Table:
    """Return the first rows of a frame."""
    shown = frame.head(most)
    heads = [cut(name, LONGEST) for name in frame.columns]
    left = frame.height - shown.height
    more = f"And {counted(left, 'more row')}: to_frame() has them all." if left else ""
    return table("", heads, [[_cell(each) for each in row] for row in shown.iter_rows()], note=more)


def _cell(value: object) -> Cell:
    if value is None:
        return Cell("–")
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    if isinstance(value, (int, float)):
        return Cell(f"{value:.4g}" if isinstance(value, float) else str(value), value)
    return Cell(cut(str(value), LONGEST))
