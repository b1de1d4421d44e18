"""What values look like in a notebook: each one a card of plain values, from which one template makes the markup."""

import base64
import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, singledispatch

import altair as alt
import polars as pl
import vl_convert

from habitprint.auditing.advice import Advice
from habitprint.auditing.audit import Audit
from habitprint.auditing.compare import Comparison
from habitprint.auditing.curves import Curve
from habitprint.auditing.explanation import Explanation
from habitprint.auditing.people import People
from habitprint.auditing.trials import Protections
from habitprint.checks import EventsCheck
from habitprint.errors import InputError
from habitprint.evaluation import Evaluation
from habitprint.events import Events
from habitprint.forecasting import Forecast
from habitprint.formatting import counted, headed, in_column, moment, number, percent, sentence
from habitprint.histograms import Histograms
from habitprint.losses import SCALES, measure_losses
from habitprint.matching import Matching, MatchingPath
from habitprint.mechanisms import Losses, Release, check_guarantees, guaranteed_risk
from habitprint.periods import Split
from habitprint.plots import drawable, plot_path
from habitprint.report.charts import (
    CONFIG,
    Spec,
    claims_picture,
    common_end,
    curve_picture,
    frontier_picture,
    rivals_picture,
    shelters_picture,
    waterfall_picture,
)
from habitprint.report.compare import build_comparison
from habitprint.report.page import Column, Figure, Page, Picture, Term
from habitprint.report.render import asset, build_page, environment
from habitprint.showing import cut
from habitprint.training import Training
from habitprint.training.calibration import LikelyPairs
from habitprint.wording.attacks import about_evidence, about_guesses, about_proof, among_more, on_all_people
from habitprint.wording.compare import differences, which_pass
from habitprint.wording.curves import TITLES, about_curve
from habitprint.wording.data import about_scope
from habitprint.wording.findings import words_of
from habitprint.wording.forecast import about_forecast, about_law, about_needed
from habitprint.wording.people import about_person, about_shelter, found_how_surely
from habitprint.wording.releases import about_check, about_guarantee, about_step
from habitprint.wording.risks import bound_in_short, tell_bound
from habitprint.wording.verdict import headline

N_ROWS = 5  # that are shown of a table
LONGEST = 60  # letters of a cell
LINE = 90  # letters of a line below a title
WIDTH = 520  # pixels of a picture that is not in the report
ENDINGS = {"protections": "frontier-picture", "curves": "curve-"}  # where a name of ours differs from the page's


@dataclass(frozen=True)
class Card:
    """The card that a notebook shows of a value: plain text and numbers, no markup.

    Parameters
    ----------
    title, answer
        What it is; and the sentence that matters most, if there is one.
    facts
        What is known of it, each with a name.
    columns, rows
        The first rows of a table.
    picture, picture_words
        A picture as an address that holds its own data, and what it shows.
    note
        What else to know.
    """

    title: str
    answer: str = ""
    facts: tuple[Term, ...] = ()
    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    picture: str = ""
    picture_words: str = ""
    note: str = ""


def to_html(value: object) -> str:
    """Return a value as a piece of HTML, for a notebook; text from the data is only text.

    Examples
    --------
    >>> import habitprint as hp
    >>> "&lt;b&gt;" in to_html(hp.Histograms.from_strings({"<b>": "a"}))
    True
    """
    text = environment().get_template("notebook.html").render(card=card_of(value))
    # An id may hold letters that are no text at all, or that no markup may hold; a page is always text.
    return _unwritable().sub("\ufffd", text.encode("utf-8", errors="replace").decode("utf-8"))


@cache
def _unwritable() -> re.Pattern[str]:
    """Return the letters that no HTML or XML may hold."""
    return re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]")


@singledispatch
def card_of(value: object) -> Card:
    """Return what a notebook shows of a value: its words, facts and first rows.

    Examples
    --------
    >>> import habitprint as hp
    >>> card_of(hp.match(*hp.datasets.illustration())).facts[0]
    Term(name='Pairs', meaning='4', is_literal=False)
    """
    return Card(type(value).__name__, repr(value))


@card_of.register
def _(value: Histograms) -> Card:
    size = f"{counted(value.n_users, 'user')} × {counted(value.n_places, 'place')}"
    frame = value.to_frame()
    facts = (Term("Counts above zero", f"{frame.height:,}"), Term("In all", number(math.fsum(value.totals))))
    return _with_rows(Card("Histograms", size, facts), frame)


@card_of.register
def _(value: Events) -> Card:
    first = value.usable.head(N_ROWS).collect()
    return _with_rows(
        Card(
            "Events",
            value.source,
            (Term("Columns", ", ".join(value.columns)), Term("Days begin in", value.time_zone)),
            note="The first rows that can be used; the others are read when something is computed.",
        ),
        first,
        is_all=True,
    )


@card_of.register
def _(value: EventsCheck) -> Card:
    places = [] if value.n_places is None else [Term("Places", f"{value.n_places:,}")]
    facts = (
        Term("Rows", f"{value.n_rows:,}, of which {value.n_used:,} can be used"),
        *(Term(f"Not used: {reason}", f"{n:,}") for reason, n in value.unused.items()),
        Term("Users", f"{value.n_users:,}"),
        *places,
        Term("From, to", f"{moment(value.first)} to {moment(value.last)} ({value.time_zone})"),
        Term("Repeated rows", f"{value.n_repeats:,}"),
        Term("Users who share their history", f"{value.shared.n_users:,}"),
        *(Term("Caution", words_of(found)) for found in value.findings if found.is_grave),
    )
    return Card("Events, checked", value.source, facts)


@card_of.register
def _(value: Split) -> Card:
    sides = (
        Term("Released", f"{value.released_span.words}: {counted(value.released.n_users, 'user')}"),
        Term("Known", f"{value.known_span.words}: {counted(value.known.n_users, 'user')}"),
        Term("In both", counted(value.n_common, "user")),
    )
    frame = value.to_frame().with_columns(share=pl.col("n_rows") / max(value.n_rows, 1))
    rows = tuple((fate, f"{n:,}", in_column(share)) for fate, n, share in frame.iter_rows())
    whole = ("all rows", f"{value.n_rows:,}", in_column(1.0))
    heads = (Column("what became of the rows"), Column("rows", is_number=True), Column("share", is_number=True))
    return Card("Split", value.source, sides, heads, (*rows, whole))


@card_of.register
def _(value: Matching) -> Card:
    facts = (
        Term("Pairs", f"{value.size:,}{about_guesses(value.n_guesses)}"),
        Term("Users", f"{value.n_released:,} released, {value.n_known:,} known"),
        Term("Method", f"{value.method}, by {value.weight_name}"),
        Term("Total weight", f"{value.total_weight:.6g}"),
        Term("Proof", about_proof(value.gap, value.bound, value.size)),
    )
    return _with_rows(Card("Matching", "", facts), value.to_frame())


@card_of.register
def _(value: MatchingPath) -> Card:
    facts = (
        Term("Sizes", f"1 to {len(value.sizes):,}"),
        Term("Users", f"{value.released.n_users:,} released, {value.known.n_users:,} known"),
        Term("Weight", value.weight.name),
    )
    card = _with_rows(Card("The best matching of every size", "", facts), value.to_frame())
    return _with_picture(card, draw(value), "What each further pair adds, and the total weight, against the size.")


@card_of.register
def _(value: LikelyPairs) -> Card:
    return _with_rows(Card("Likely pairs", value.words), value.to_frame())


@card_of.register
def _(value: Evaluation) -> Card:
    facts = (
        Term("Correct", f"{number(value.expected_correct)} of {counted(value.size, 'pair')}"),
        Term("Users on both sides", f"{value.n_common:,}"),
        Term("Guesses", f"{value.n_guesses:,}"),
    )
    return _with_rows(Card("Evaluation", "", facts), value.to_frame())


@card_of.register
def _(value: Release) -> Card:
    checks = check_guarantees(value)
    verdicts = {True: "holds", False: "does not hold", None: "cannot be checked on the data"}
    facts = (
        *(Term(f"Step {at}", sentence(about_step(step))) for at, step in enumerate(value.steps, start=1)),
        *(
            Term(
                f"Guarantee {at}",
                f"{about_guarantee(check.guarantee)}: {verdicts[check.holds]} ({about_check(check)})",
            )
            for at, check in enumerate(checks, start=1)
        ),
        *([] if checks else [Term("Guarantees", "none")]),
        Term("Row pointed at, guaranteed", tell_bound(guaranteed_risk(value.histograms))),
        *([] if value.original is None else _losses(measure_losses(value.original, value))),
    )
    size = f"{counted(value.histograms.n_users, 'user')} × {counted(value.histograms.n_places, 'place')}"
    note = "Losses are for the owner of the original: no file that is published with the release tells them."
    card = Card("Release", size, facts, note="" if value.original is None else note)
    return _with_rows(card, value.to_frame())


@card_of.register
def _(value: Losses) -> Card:
    return Card("Losses", "against the original", tuple(_losses(value)))


def _losses(losses: Losses) -> list[Term]:
    loss = losses.information_loss
    told = "not defined" if loss is None else f"{loss:.3f} (0: nothing is lost, 1: everybody looks the same)"
    counts, prediction = losses.count_totals_error, SCALES["prediction"]
    return [
        Term("Information loss", told),
        Term(headed(prediction.name), f"{prediction.in_words(prediction.of(losses))} ({losses.predicted_on})"),
        Term("Totals per place are off by", percent(losses.totals_error)),
        *([] if counts is None else [Term("Totals of counts are off by", percent(counts))]),
        Term("Popular places ranked the other way", percent(losses.ranking_error)),
        Term("Users kept", f"{losses.n_users_kept:,} of {losses.n_users:,}"),
        Term("Places kept", f"{losses.n_places_kept:,} of {losses.n_places:,}"),
    ]


@card_of.register
def _(value: Training) -> Card:
    facts = (
        Term("Attack to make", f"{value.best.outcome.name}: {value.best.rate.words}"),
        Term("People", f"{value.trained.n_people:,}"),
        Term("Evidence that counts", about_evidence(value.trained.by_kind)),
    )
    frame = value.to_frame().sort("share", descending=True, maintain_order=True).drop("is_best")
    return _with_rows(Card("Training", "", facts), frame)


@card_of.register
def _(value: Audit) -> Card:
    rate, advised = value.strongest.rate, value.protections.advised
    facts = (
        Term("Scope", about_scope(value.data.scope)),
        *(Term("Caution", words_of(found)) for found in value.data.findings if found.is_grave),
        Term("Measured", f"{value.strongest.title}: {rate.words}"),
        Term("Row pointed at, guaranteed", tell_bound(value.verdict.guaranteed)),
        Term("Target", f"at most {percent(value.verdict.target)}"),
        Term("Advice", "none" if advised is None else f"{advised.label}: {advised.risk.words}"),
        *([Term("Measured on all", on_all)] if (on_all := on_all_people(value)) else []),
        *([Term("Forecast", more)] if (more := among_more(value)) else []),
    )
    picture = _pictures(build_page(value))["answer-picture"]
    card = Card(f"Audit of {value.run.source}", headline(value), facts)
    return _with_picture(card, _chart([picture]), str(picture.spec["description"]))


@card_of.register
def _(value: Forecast) -> Card:
    needed = [] if value.needed is None else [Term("People needed", about_needed(value.needed))]
    facts = (*needed, Term("How", about_law(value)))
    return _with_rows(Card("Forecast", about_forecast(value), facts), value.to_frame())


@card_of.register
def _(value: Advice) -> Card:
    facts = (
        Term("Protection", value.label),
        Term("Target", f"at most {percent(value.target)}, {value.decide}"),
        Term("Row pointed at, guaranteed", bound_in_short(value.guaranteed)),
        Term("Measured", value.measured.words),
        Term("To keep", value.keep),
        *_losses(value.losses),
    )
    return Card("Advice", "", facts, note=value.note)


@card_of.register
def _(value: Protections) -> Card:
    advised = "none" if value.advised is None else value.advised.label
    facts = (
        Term("Tried", f"{value.n_tried:,}. {value.words}"),
        Term("To keep", value.keep),
        Term("Advised", advised),
    )
    columns = ("protection", "passes", "guaranteed", f"loss_{value.keep}", "share", "high")
    frame = value.to_frame().select(columns)
    front = [at for at in value.frontier if at != value.chosen]
    shown = frame[([] if value.chosen is None else [value.chosen]) + front]
    card = _with_rows(Card("Protections", "", facts, note="The best by loss and risk."), shown, is_all=True)
    return _with_picture(card, draw(value), "Protections by loss and risk.")


@card_of.register
def _(value: Curve) -> Card:
    card = _with_rows(Card(TITLES[value.dimension], about_curve(value)), value.to_frame().drop("dimension"), most=12)
    return _with_picture(card, draw(value), f"Share identified against {value.axis}.") if value.points else card


@card_of.register
def _(value: People) -> Card:
    sure = () if value.confidence is None else (Term("Found how surely", found_how_surely(value.confidence)),)
    card = _with_rows(Card("Who is at risk", "", sure), value.to_frame())
    return _with_picture(card, draw(value), "Share of claims that are right against their number.")


@card_of.register
def _(value: Comparison) -> Card:
    facts = tuple(Term("Difference", words) for words in differences(value))
    card = _with_rows(Card("Comparison", which_pass(value), facts), value.to_frame())
    return _with_picture(card, draw(value), "Share identified in each audit.")


@card_of.register
def _(value: Explanation) -> Card:
    facts = (
        Term("Found with a chance of", percent(value.chance)),
        *([] if value.probability is None else [Term("The adversary’s probability", percent(value.probability))]),
        Term("Compared", f"by {value.weight}, with the known habits of {value.compared_with!r}"),
        *(Term(f"Protected by “{each.label}”", about_shelter(each)) for each in value.protections[1:]),
    )
    card = Card(
        "Why this person?", about_person(value), facts, note="It names people and places: for internal use only."
    )
    return _with_picture(_with_rows(card, value.to_frame()), draw(value), "Places, rivals and protections of a person.")


@singledispatch
def draw(value: object) -> alt.TopLevelMixin:
    """Return the picture of a value as a chart.

    Examples
    --------
    >>> import habitprint as hp
    >>> type(draw(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections)).__name__
    'LayerChart'
    """
    raise InputError(
        f"a {type(value).__name__} has no picture", why="nothing in a report is drawn of it", fix="take its to_frame()"
    )


@draw.register
def _(value: MatchingPath) -> alt.TopLevelMixin:
    return plot_path(value)


@draw.register
def _(value: Curve) -> alt.TopLevelMixin:
    if not value.points:
        raise InputError(
            f"there is no curve by {value.dimension}", why=about_curve(value), fix="take another of the curves"
        )
    end = common_end([point.rate for point in value.points], 0.0)
    return _chart([Picture("curve", curve_picture(value, None, end, ""), TITLES[value.dimension])])


@draw.register
def _(value: Protections) -> alt.TopLevelMixin:
    return _chart([Picture("frontier", frontier_picture(value, None, ""), "Risk against loss")])


@draw.register
def _(value: People) -> alt.TopLevelMixin:
    return _chart([Picture("claims", claims_picture(value.claims, None, ""), "Precision of the surest claims")])


@draw.register
def _(value: Comparison) -> alt.TopLevelMixin:
    return _chart([_pictures(build_comparison(value))["comparison-picture"]])


@draw.register
def _(value: Explanation) -> alt.TopLevelMixin:
    others = [rival for rival in value.rivals if not rival.is_same_person]
    line = f"Dashed line: what speaks for the nearest rival, {others[0].user}." if others else ""
    ticks = "Ticks: how many rows anybody could point at, at most. Blue: what is advised."
    drawn = [
        Picture(
            "places", waterfall_picture(value, "What each place adds."), "The places that give the person away", line
        ),
        Picture("rivals", rivals_picture(value, "What speaks for each known person."), "The nearest known people"),
        Picture(
            "protections", shelters_picture(value, "Chance to be found."), "What each protection does to them", ticks
        ),
    ]
    return _chart(drawn)


@draw.register
def _(value: Audit) -> alt.TopLevelMixin:
    return draw_named(value, "answer")


def draw_named(value: Audit, name: str) -> alt.TopLevelMixin:
    """Return a picture of the report of an audit as a chart.

    Examples
    --------
    >>> import habitprint as hp
    >>> type(draw_named(hp.read_audit(hp.datasets.AUDIT_OF_TOWN), "attacks")).__name__
    'LayerChart'
    """
    drawn = _pictures(build_page(value))
    start = ENDINGS.get(name, f"{name}-picture")
    found = [picture for each, picture in drawn.items() if each.startswith(start)]
    if not found:
        there = [each.removesuffix("-picture") for each in drawn if each.endswith("-picture")]
        raise InputError(
            f"the report of this audit has no picture {name!r}",
            why="which pictures there are depends on the data: a map needs positions, probabilities enough people",
            fix=f"take one of {', '.join(there)}",
        )
    return _chart(found)


def _pictures(page: Page) -> dict[str, Picture]:
    """Return the pictures of a page by their name; those without a title have that of their figure."""
    blocks = [*page.opening, *(block for section in page.sections for block in section.blocks)]
    return {
        picture.name: Picture(picture.name, picture.spec, picture.title or block.title)
        for block in blocks
        if isinstance(block, Figure)
        for picture in block.pictures
    }


def _chart(pictures: Sequence[Picture]) -> alt.TopLevelMixin:
    """Return pictures of a report as one chart: with the colours of the page on paper, and a width of its own."""
    specs = list(map(_spec, pictures))
    if len(specs) == 1:
        one: alt.TopLevelMixin = alt.LayerChart.from_dict(specs[0]).configure(**_colours(CONFIG))
        return one
    # Data stand at the top of a chart only.
    datasets = {name: rows for spec in specs for name, rows in spec.pop("datasets", {}).items()}
    chart = alt.VConcatChart.from_dict({"vconcat": specs, "datasets": datasets})
    several: alt.TopLevelMixin = chart.configure(**_colours(CONFIG))
    return several


def _spec(picture: Picture) -> Spec:
    left_out = {"config", "autosize"} | (set() if picture.spec["description"] else {"description"})
    title = {"text": picture.title, "anchor": "start", "frame": "group", "offset": 24, "fontSize": 14}
    if picture.caption:
        title |= {"subtitle": textwrap.wrap(picture.caption, LINE), "subtitlePadding": 6}
    kept = {name: part for name, part in picture.spec.items() if name not in left_out}
    return {name: _resolved(part, _palette()) for name, part in kept.items()} | {"width": WIDTH, "title": title}


def _colours(config: Spec) -> Spec:
    """Return the settings of pictures with colours in place of the names that only a page can resolve."""
    colours = _palette()
    return {name: _resolved(part, colours) for name, part in config.items()} | {"background": colours["--paper"]}


@cache
def _palette() -> dict[str, str]:
    """Return the colours of the page on paper, by name."""
    return dict(re.findall(r"(--[a-z]+): (#[0-9a-f]{6});", asset("style.css").split("}")[0]))


def _resolved(part: object, colours: dict[str, str]) -> object:
    if isinstance(part, dict):
        return {name: _resolved(each, colours) for name, each in part.items()}
    if isinstance(part, list):
        return [_resolved(each, colours) for each in part]
    name = part.removeprefix("var(").removesuffix(")") if isinstance(part, str) else ""
    return colours.get(name, part) if f"var({name})" == part else part


def _with_picture(card: Card, chart: alt.TopLevelMixin, words: str) -> Card:
    """Return a card with a picture, as an image: in it nothing can run."""
    svg = vl_convert.vegalite_to_svg(drawable(chart).to_json())
    address = f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
    return replace(card, picture=address, picture_words=words)


def _with_rows(card: Card, frame: pl.DataFrame, *, is_all: bool = False, most: int = N_ROWS) -> Card:
    """Return a card with the first rows of a frame."""
    shown = frame if is_all else frame.head(most)
    columns = tuple(Column(cut(name, LONGEST), is_number=kind.is_numeric()) for name, kind in frame.schema.items())
    rows = tuple(tuple(map(_cell, row)) for row in shown.iter_rows())
    left = frame.height - shown.height
    more = f"And {counted(left, 'more row')}: to_frame() has them all." if left else ""
    return replace(card, columns=columns, rows=rows, note=f"{more} {card.note}".strip())


def _cell(value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return cut(str(value), LONGEST)
