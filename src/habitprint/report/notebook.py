"""Values in a notebook: each one a card of blocks, and some a picture."""

import base64
import json
import math
import re
import textwrap
from collections.abc import Iterable
from functools import cache

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
from habitprint.durations import LengthForecast
from habitprint.errors import InputError
from habitprint.evaluation import Evaluation
from habitprint.events import Events
from habitprint.following import Following
from habitprint.forecasting import Forecast, SizedRate
from habitprint.formatting import counted, cut, headed, number, percent, sentence
from habitprint.histograms import Histograms
from habitprint.losses import measure_losses
from habitprint.matching import Matching, MatchingPath
from habitprint.mechanisms import Losses, Release, check_guarantees, guaranteed_risk
from habitprint.periods import Split
from habitprint.plots import LayerChart, VConcatChart, drawable, offline, plot_prediction
from habitprint.prediction import Prediction
from habitprint.rates import Rate
from habitprint.report import charts
from habitprint.report.render import asset, render_card
from habitprint.training import LikelyPairs, Training
from habitprint.wording import compare, following, people, protections, releases, risk, scope
from habitprint.wording.blocks import (
    Block,
    Card,
    Caution,
    Cell,
    Figure,
    Headline,
    Picture,
    Table,
    Text,
    fixed_text,
    table,
    terms,
)
from habitprint.wording.findings import words_of
from habitprint.wording.prediction import about_lengths, lengths_table, tell_prediction
from habitprint.wording.verdict import first_screen

N_ROWS = 5  # that are shown of a table
LONGEST = 60  # letters of a cell
LINE = 90  # letters of a line below a title
WIDTH = 520  # pixels of a picture that is not in the report
TITLE = {"anchor": "start", "frame": "group", "offset": 24, "fontSize": 14}  # of a picture
HOLDS = {True: "holds", False: "does not hold", None: "cannot be checked on the data"}


def to_html(value: object) -> str:
    """Return a value as a piece of HTML, for a notebook; text from the data is only text.

    Examples
    --------
    >>> import habitprint as hp
    >>> "&lt;b&gt;" in to_html(hp.Histograms.from_strings({"<b>": "a"}))
    True
    """
    return render_card(card_of(value), as_image)


def card_of(value: object) -> Card:
    """Return the card that a notebook shows of a value.

    Examples
    --------
    >>> import habitprint as hp
    >>> card_of(hp.match(*hp.datasets.illustration())).blocks[0].items[0]
    Term(name='Pairs', meaning='4', is_literal=False)
    """
    cards = (of(value) for of in (_card_of_data, _card_of_attack, _card_of_audit))
    return next((card for card in cards if card is not None), _card(type(value).__name__, Text(repr(value))))


def _card_of_data(value: object) -> Card | None:  # noqa: PLR0911  (one case for each kind)
    match value:
        case Histograms():
            cells, total = f"{value.to_frame().height:,}", number(math.fsum(value.totals))
            facts = terms(("Counts above zero", cells), ("In all", total))
            return _card("Histograms", Text(_size(value)), facts, _rows(value.to_frame()))
        case Events():
            facts = terms(("Columns", ", ".join(value.columns)), ("Time zone of days", value.time_zone))
            note = "The first valid rows. The others are read when something is computed."
            return _card("Events", Text(value.origin), facts, _rows(value.usable.head(N_ROWS).collect()), Text(note))
        case EventsCheck():
            grave = (Caution(words_of(found)) for found in value.findings if found.is_grave)
            return _card("Events, checked", Text(value.source), scope.about_check(value), *grave)
        case Split():
            facts = terms(
                ("Released", f"{value.released_span.words}: {counted(value.released.n_users, 'user')}"),
                ("Known", f"{value.known_span.words}: {counted(value.known.n_users, 'user')}"),
                ("In both", counted(value.n_common, "user")),
            )
            return _card("Split", Text(value.source), facts, scope.uses_table(value.accounting, value.n_rows))
        case Release():
            return _card("Release", Text(_size(value.histograms)), *_release(value), _rows(value.to_frame()))
        case Losses():
            return _card("Losses against the original", terms(*_losses(value)))
    return None


def _card_of_attack(value: object) -> Card | None:  # noqa: PLR0911  (one case for each kind)
    match value:
        case Matching():
            facts = terms(
                ("Pairs", risk.about_pairs(value.size, value.n_guesses)),
                ("Users", f"{value.n_released:,} released, {value.n_known:,} known"),
                ("Method", f"{value.method}, by {value.weight_name}"),
                ("Total weight", f"{value.total_weight:.6g}"),
                ("Proof", risk.about_proof(value.gap, value.bound, value.size)),
            )
            return _card("Matching", facts, _rows(value.to_frame()))
        case MatchingPath():
            facts = terms(
                ("Sizes", f"1 to {len(value.sizes):,}"),
                ("Users", f"{value.released.n_users:,} released, {value.known.n_users:,} known"),
                ("Weight", value.weight.name),
            )
            return _card("The best matching of every size", facts, figure_of(value), _rows(value.to_frame()))
        case LikelyPairs():
            return _card("Likely pairs", Text(value.words), _rows(value.to_frame()))
        case Evaluation():
            return _card("Evaluation", terms(*risk.about_evaluation(value)), _rows(value.to_frame()))
        case Training():
            return _card("Training", *risk.tell_training(value))
        case Forecast():
            return _card("Forecast", *map(Text, risk.tell_forecast(value)), _rows(value.to_frame()))
        case Prediction():
            return _card("Prediction", *tell_prediction(value))
        case LengthForecast():
            return _card("Forecast", Text(about_lengths(value)), lengths_table(value))
    return None


def _card_of_audit(value: object) -> Card | None:  # noqa: PLR0911  (one case for each kind)
    match value:
        case Audit():
            more = scope.about_scope(value.data.scope), risk.on_all_people(value), risk.among_more(value)
            said = *first_screen(value), figure_of(value), *map(Text, filter(None, more))
            return _card(f"Audit of {value.run.source}", *said)
        case Advice():
            facts = terms(
                ("Protection", value.label),
                ("Target", f"at most {percent(value.target)}, {value.decide}"),
                ("Row pointed at, guaranteed", releases.bound_in_short(value.guaranteed)),
                ("Measured", value.measured.words),
                ("To keep", value.keep),
                *_losses(value.losses),
            )
            return _card("Advice", facts, Text(value.note))
        case Protections():
            recommended = "none" if value.advised is None else value.advised.label
            tried = f"{value.n_tried:,}. {protections.on_whom(value)}"
            facts = terms(("Tried", tried), ("To keep", value.keep), ("Recommended", recommended))
            columns = ("protection", "passes", "guaranteed", f"loss_{value.keep}", "share", "high")
            best = dict.fromkeys([*([] if value.chosen is None else [value.chosen]), *value.frontier])
            frame = value.to_frame().select(columns)[list(best)]
            rows = _rows(frame, most=frame.height)
            return _card("Protections", facts, figure_of(value), rows, Text("The best by loss and risk."))
        case Curve():
            drawn = [figure_of(value)] if value.points else []
            rows = _rows(value.to_frame().drop("dimension"), most=12)
            return _card(risk.TITLES[value.dimension], Text(risk.about_curve(value)), *drawn, rows)
        case Following():
            found = (Text(following.about_survival(each)) for each in value.survivals)
            return _card("People who are followed", *found, *([figure_of(value)] if value.survivals else []))
        case People():
            certain = [] if value.confidence is None else [Text(people.about_certainty(value.confidence))]
            drawn = [figure_of(value)] if value.claims else []
            return _card("Who is at risk?", *certain, *drawn, _rows(value.to_frame()))
        case Comparison():
            headline, *others = compare.which_pass(value), *compare.differences(value)
            said = Headline(headline), *map(Text, others)
            return _card("Comparison", *said, figure_of(value), _rows(value.to_frame()))
        case Explanation():
            facts = terms(
                ("Risk", percent(value.chance)),
                ("Certainty of the attacker", "" if value.probability is None else percent(value.probability)),
                ("Compared", f"by {value.weight}, with the known habits of {value.compared_with!r}"),
                *((f"Protected by “{each.label}”", people.about_shelter(each)) for each in value.protections[1:]),
            )
            person, note = people.about_person(value), "It names people and places: for internal use only."
            parts = facts, figure_of(value), _rows(value.to_frame())
            return _card("Why this person?", Text(person), *parts, Text(note))
    return None


def _card(title: str, *parts: Block) -> Card:
    return Card(title, parts)


def _size(value: Histograms) -> str:
    return f"{counted(value.n_users, 'user')} × {counted(value.n_places, 'place')}"


def _release(value: Release) -> list[Block]:
    checks = check_guarantees(value)
    facts = terms(
        *((f"Step {at}", sentence(releases.about_step(step))) for at, step in enumerate(value.steps, start=1)),
        *(
            (f"Guarantee {at}", f"{releases.about_guarantee(check.guarantee)}: {HOLDS[check.holds]} ({seen})")
            for at, check in enumerate(checks, start=1)
            for seen in (releases.about_check(check),)
        ),
        ("Guarantees", "" if checks else "none"),
        ("Row pointed at, guaranteed", releases.tell_bound(guaranteed_risk(value.histograms))),
    )
    if value.original is None:
        return [facts]
    note = "Losses are for the owner of the original. No published file contains them."
    return [facts, terms(*_losses(measure_losses(value.original, value))), Text(note)]


def _losses(losses: Losses) -> list[tuple[str, str]]:
    return [
        *((headed(name), words) for name, words in releases.loss_lines(losses)),
        ("Users kept", f"{losses.n_users_kept:,} of {losses.n_users:,}"),
        ("Places kept", f"{losses.n_places_kept:,} of {losses.n_places:,}"),
    ]


def figure_of(value: object, picture: Pictured = "answer") -> Figure:  # noqa: C901  (one case for each kind)
    """Return the picture of a value; of an audit, the one with this name.

    Examples
    --------
    >>> import habitprint as hp
    >>> figure_of(hp.read_audit(hp.datasets.AUDIT_OF_TOWN).protections).title
    'Risk against utility'
    """
    figure = None
    match value:
        case Audit():
            figure = charts.figures_of(value)[picture]
        case MatchingPath():
            figure = charts.path_figure(value)
        case Prediction():
            title = "Share re-identified if these events fell at random"
            spec, key = plot_prediction(value).to_dict(), fixed_text("key to predictions")
            figure = Figure(title, "", (Picture("prediction", spec, caption=key),))
        case LengthForecast():
            figure = charts.lengths_figure(value)
        case Curve() if value.points:
            end = charts.axis_end(max(point.rate.high for point in value.points))
            figure = Figure(
                risk.TITLES[value.dimension], "", (Picture("curve", charts.curve_picture(value, None, end)),)
            )
        case Protections():
            figure = charts.protections_figure(value, None)
        case Following():
            figure = charts.following_figure(value)
        case People():
            figure = charts.claims_figure(value, None)
        case Comparison():
            figure = charts.comparison_figure(value)
        case Explanation():
            figure = charts.explanation_figure(value)
    if figure is not None:
        return figure
    if isinstance(value, Audit):
        there = [name for name, each in charts.figures_of(value).items() if each is not None]
        raise InputError(
            f"this audit has no picture {picture!r}",
            why="a map needs positions, probabilities need enough people, and pairs need events",
            fix=f"use one of {', '.join(there)}",
        )
    why = risk.about_curve(value) if isinstance(value, Curve) else "there is nothing to draw"
    raise InputError(f"this {type(value).__name__} has no picture", why=why, fix="use its to_frame()")


def draw(value: object, picture: Pictured | None = None) -> alt.TopLevelMixin:
    """Return the picture of a value as a chart; of an audit, the one with this name.

    Examples
    --------
    >>> import habitprint as hp
    >>> type(draw(hp.read_audit(hp.datasets.AUDIT_OF_TOWN), "attacks")).__name__
    'LayerChart'
    """
    return _chart(figure_of(value, picture or "answer"))


def plot_path(
    path: MatchingPath, evaluations: Iterable[Evaluation] = (), most_confident: Iterable[Rate] = ()
) -> LayerChart | VConcatChart:
    """Draw the gain of each further pair, and the total weight of the best matching, against the size.

    Parameters
    ----------
    path
        The best matching of every size.
    evaluations
        Evaluations of the matchings of some sizes: their precision is drawn below, with its interval.
    most_confident
        The precision of some numbers of the most confident claims, drawn beside it
        (`habitprint.training.confident_rates`).

    Examples
    --------
    >>> import habitprint as hp
    >>> released, known = hp.datasets.town(50, 20)
    >>> path = hp.matching_path(released, known)
    >>> results = [hp.evaluate(path.matching(size), released, known) for size in (10, 30, 50)]
    >>> len(hp.plot_path(path).vconcat), len(hp.plot_path(path, results).vconcat)
    (2, 3)
    """
    return _chart(charts.path_figure(path, evaluations, most_confident))


def plot_forecast(forecast: Forecast, sizes: Iterable[SizedRate] = ()) -> LayerChart | VConcatChart:
    """Draw the share re-identified against the number of people: measured, and as a fan for the forecast.

    Parameters
    ----------
    forecast
        Made by `habitprint.forecast`.
    sizes
        The measured shares, drawn as dots with their intervals.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.forecast(hp.count_impostors(*hp.datasets.town(100, 20)), 1_000)
    >>> type(plot_forecast(found)).__name__
    'LayerChart'
    """
    return _chart(charts.forecast_figure(forecast, sizes))


def plot_lengths(forecast: LengthForecast) -> LayerChart | VConcatChart:
    """Draw the share re-identified against the days in each period: measured, and as a fan for the forecast.

    Parameters
    ----------
    forecast
        Made by `habitprint.forecast_length`.

    Examples
    --------
    >>> import habitprint as hp
    >>> from habitprint.auditing.curves import Point
    >>> curve = [Point(days, "", hp.Rate.of(n, 100, 0.01), 100) for days, n in ((2, 20), (4, 35), (7, 50))]
    >>> type(plot_lengths(hp.forecast_length(curve, 28))).__name__
    'LayerChart'
    """
    return _chart(charts.lengths_figure(forecast))


def _chart(figure: Figure) -> LayerChart | VConcatChart:
    """Return a figure as one chart: with the colours of the page on paper, and a width of its own."""
    panels: list[charts.Spec] = []
    datasets: charts.Spec = {}
    for picture in figure.pictures:
        title = {"text": picture.title or figure.title} | TITLE
        if picture.caption:
            title |= {"subtitle": textwrap.wrap(picture.caption, LINE), "subtitlePadding": 6}
        kept = {name: part for name, part in picture.spec.items() if name not in {"config", "autosize", "datasets"}}
        panels.append(kept | {"width": WIDTH, "title": title})
        datasets |= picture.spec["datasets"]  # they stand at the top of a chart only
    whole = panels[0] if len(panels) == 1 else {"vconcat": panels}
    theme = charts.THEME | {"background": "var(--paper)"}
    text = json.dumps(whole | {"datasets": datasets, "config": theme})
    return offline(json.loads(re.sub(r"var\((--[a-z]+)\)", lambda name: _palette().get(name[1], name[0]), text)))


@cache
def _palette() -> dict[str, str]:
    """Return the colours of the page on paper, by name."""
    return dict(re.findall(r"(--[a-z]+): (#[0-9a-f]{6});", asset("style.css").split("}")[0]))


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
    match value:
        case None:
            return Cell("–")
        case bool():
            return Cell("yes" if value else "no")
        case int() | float():
            return Cell(f"{value:.4g}" if isinstance(value, float) else str(value), value)
    return Cell(cut(str(value), LONGEST))
