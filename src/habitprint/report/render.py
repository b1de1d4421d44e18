"""Turn an audit into one HTML file that opens without a network."""

import base64
import hashlib
import os
from functools import cache
from importlib.resources import files
from pathlib import Path

import vl_convert
from jinja2 import Environment, FunctionLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from habitprint.auditing.audit import Audit
from habitprint.formatting import at_most, percent, printable, whole
from habitprint.io.files import check_target, write_text
from habitprint.rates import Rate
from habitprint.report.charts import Bar, rates_picture
from habitprint.report.page import Block, Figure, Number, Numbers, Page, Picture, Record, Text
from habitprint.report.people import map_section, people_section
from habitprint.report.protections import protections_section
from habitprint.report.record import ALMOST_ONE, build_record
from habitprint.report.sections import (
    adversary_section,
    attacks_section,
    curves_section,
    data_section,
    glossary_section,
    key_to_rates,
    reading_section,
    settings_section,
    time_section,
)
from habitprint.report.texts import INTERNAL
from habitprint.wording.data import about_scope, of_sample
from habitprint.wording.findings import written
from habitprint.wording.forecast import forecast_interval
from habitprint.wording.verdict import details, headline


def write_report(audit: Audit, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write the report of an audit to an HTML file, in one piece or not at all.

    Parameters
    ----------
    audit
        What was found.
    path
        Where to write; nothing is overwritten unless `overwrite` is true.

    Examples
    --------
    >>> import tempfile
    >>> import habitprint as hp
    >>> found = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hp.write_report(found, Path(folder) / "report.html")
    ...     (Path(folder) / "report.html").read_text().startswith("<!doctype html>")
    True
    """
    check_target(Path(path), overwrite=overwrite)
    write_text(Path(path), render_report(audit), overwrite=overwrite)


def render_report(audit: Audit) -> str:
    """Return the report of an audit as the text of an HTML file.

    The page asks for nothing: its policy refuses every request, and every script but its own, which are named by their
    hashes. Text from the data is escaped wherever it stands. For a page from a file, read it back:
    ``hp.Audit.from_json(json.load(file))``.

    Examples
    --------
    >>> import habitprint as hp
    >>> found = hp.read_audit(hp.datasets.AUDIT_OF_TOWN)
    >>> hp.render_report(hp.Audit.from_json(found.to_json())) == hp.render_report(found)
    True
    """
    return render_page(build_page(audit))


def build_page(audit: Audit) -> Page:
    """Return the page of an audit: the answer first, then what it rests on.

    Examples
    --------
    >>> import habitprint as hp
    >>> build_page(hp.read_audit(hp.datasets.AUDIT_OF_TOWN)).question
    'Does this meet the target?'
    """
    return Page(
        note=INTERNAL,
        record=build_record(audit),
        source=audit.run.source,
        question="Does this meet the target?",
        answer=headline(audit),
        about="Re-identification audit of",
        opening=tuple(_opening(audit)),
        sections=(
            adversary_section(audit),
            data_section(audit.data),
            attacks_section(audit),
            curves_section(
                audit.curves,
                audit.verdict.target,
                audit.forecast,
                None if audit.on_all is None else audit.on_all.rate,
            ),
            time_section(audit),
            protections_section(audit),
            people_section(audit),
            *map_section(audit),
            reading_section(),
            glossary_section(),
            settings_section(audit),
        ),
        ending=(
            f"Made by habitprint {audit.versions['habitprint']}. The same facts for machines are in report.json. This "
            "page makes no request to any network."
        ),
    )


def _opening(audit: Audit) -> list[Block]:
    """Return what stands right below the answer: its numbers, the sentences that go with it, and a picture of it."""
    target, rate, advised = audit.verdict.target, audit.strongest.rate, audit.protections.advised
    verdict = audit.verdict
    guaranteed = verdict.guaranteed
    is_proof = guaranteed.is_within(min(target, ALMOST_ONE)) or (
        verdict.is_protected and audit.options.decide == "guaranteed"
    )
    bound = f"at most {at_most(guaranteed.average)}" if guaranteed.average < 1 else "none"
    more = audit.knows_more
    # Where there are two adversaries, each number says whose it is.
    label = "Measured" if audit.other_time is None else "Measured, one period known"
    others = [] if more is None else [_number("Measured, all other time known", more.rate)]
    sampled = of_sample(audit.data.scope)
    decides = " decides, with that of all people" if sampled else " decides"
    numbers = Numbers(
        (
            _number(f"{label}{sampled}", rate, f"; by chance {percent(rate.by_chance)}"),
            *others,
            Number("95% interval", rate.interval_words, "for comparison" if is_proof else f"its upper end{decides}"),
            *_among_all(audit),
            Number(f"Guarantee{sampled}", bound, f"of rows pointed at; this{decides}" if is_proof else "about anybody"),
            *_reconstructed(audit),
            Number("Target", percent(target), "at most"),
        )
    )
    bars = [Bar(f"As it is{sampled and ', sample'}", rate)]
    if audit.on_all is not None:
        bars.append(Bar("As it is, all people", audit.on_all.rate))
    if advised is not None:
        bars.append(Bar(f"With “{advised.label}”{sampled and ', sample'}", advised.risk))
    picture = rates_picture(bars, target, "Share of the people identified, against the target.")
    return [
        Text(about_scope(audit.data.scope)),
        *(Text(written(found), warns=True) for found in audit.data.findings if found.is_grave),
        numbers,
        *map(Text, details(audit)),
        *_gate(audit),
        Figure(
            "Share of the people that the strongest attack identifies",
            key_to_rates(target),
            (Picture("answer-picture", picture),),
        ),
    ]


def _reconstructed(audit: Audit) -> list[Number]:
    """Return how many rows can be reconstructed from a table in groups: as it is, or as advised."""
    advised = None if audit.verdict.passes else audit.protections.advised
    found = (advised or audit.protections.trials[0]).reconstruction
    if found is None:
        return []
    where = "" if advised is None else f" with “{advised.label}”"
    return [Number("Rows reconstructed", percent(found.rate.value), f"up to {at_most(found.rate.high)}{where}")]


def _among_all(audit: Audit) -> list[Number]:
    """Return what was measured and what was forecast of all people, where the other numbers are about a sample."""
    on_all, forecast = audit.on_all, audit.forecast
    if on_all is None:
        return []
    rate = on_all.rate
    note = f"{whole(rate.n_correct)} of {rate.n:,} people, by one attack; 95% interval {rate.interval_words}"
    measured = Number("Measured on all", percent(rate.value), note)
    if forecast is None:
        return [measured]
    ahead = (
        f"of {forecast.n:,} people, from the sample; {percent(forecast.level)} interval {forecast_interval(forecast)}"
    )
    return [measured, Number("Forecast", percent(forecast.share), ahead)]


def _number(label: str, rate: Rate, chance: str = "") -> Number:
    return Number(label, percent(rate.value), f"{whole(rate.n_correct)} of {rate.n:,} people{chance}")


def _gate(audit: Audit) -> list[Text]:
    fails, limit = audit.verdict.fails_gate, audit.options.fail_above
    if fails is None or limit is None:
        return []
    result = "fails: the command ended with exit code 1" if fails else "is passed"
    return [Text(f"The gate that was set (fail above {percent(limit)}) {result}.")]


def render_page(page: Page) -> str:
    """Return a page as the text of an HTML file.

    Examples
    --------
    >>> record = Record("Internal.", "Record", "a < b", blocks=(), lines=())
    >>> page = Page("Internal.", record, "a < b", "Is it?", "Yes.", "About", opening=(), sections=(), ending="The end.")
    >>> "a &lt; b" in render_page(page)
    True
    """
    return _render("template.html", (_libraries(), asset("page.js")), page=page)


def render_record(audit: Audit) -> str:
    """Return the record of an audit as the text of an HTML file: one printed page, without any script.

    Examples
    --------
    >>> import habitprint as hp
    >>> "<script" in render_record(hp.read_audit(hp.datasets.AUDIT_OF_TOWN))
    False
    """
    return _render("record.html", (), record=build_record(audit))


def _render(template: str, scripts: tuple[str, ...], **values: Page | Record) -> str:
    style = asset("style.css")
    made = environment().get_template(template)
    text = made.render(style=style, scripts=scripts, policy=_policy(style, scripts), **values)
    # Names of files may hold bytes that are no text at all; a page is always text.
    return text.encode("utf-8", errors="replace").decode("utf-8")


def _policy(style: str, scripts: tuple[str, ...]) -> str:
    """Return what the page may do: draw with its own style and scripts, and nothing else."""
    allowed = " ".join(map(_hash, scripts)) or "'none'"
    return f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _libraries() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, from the package that also draws charts to files."""
    # Without a snippet of ours it is the libraries alone, as names of the window; the stub does not know that.
    text: str = vl_convert.javascript_bundle()  # type: ignore[call-arg]
    assert "</script" not in text.lower()  # noqa: S101  (it would end the script too early)
    assert "<!--" not in text  # noqa: S101  (the same)
    return text


def asset(name: str) -> str:
    """Return the text of a file of this package.

    Examples
    --------
    >>> asset("style.css")[:7]
    '/* Calm'
    """
    return (files("habitprint.report") / name).read_text(encoding="utf-8")


@cache
def environment() -> Environment:
    r"""Return what makes markup of templates: text from the data is escaped wherever it stands, and only shown.

    Examples
    --------
    >>> environment().from_string("{{ name }}").render(name="<b>\u202e")
    '&lt;b&gt;\\u202e'
    """
    environment = Environment(
        autoescape=True,
        loader=FunctionLoader(asset),
        undefined=StrictUndefined,
        trim_blocks=False,
        finalize=_shown,
    )
    environment.filters["as_json"] = htmlsafe_json_dumps
    return environment


def _shown(value: object) -> object:
    """Return text without signs that a browser or a terminal would obey; markup is ours, and stays."""
    return printable(value, keep="\n\t") if isinstance(value, str) and not isinstance(value, Markup) else value
