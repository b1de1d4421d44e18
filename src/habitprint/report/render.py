"""Turn facts into one HTML file that opens without a network."""

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import vl_convert
from jinja2 import Environment, FunctionLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps

from habitprint.audit import Audit
from habitprint.files import check_target, write_whole
from habitprint.report.build import build_page
from habitprint.report.page import Page


def write_report(audit: Audit, path: Path, *, overwrite: bool = False) -> None:
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
    >>> from habitprint.audit import audit
    >>> from habitprint.datasets import town
    >>> found = audit(town(30, 20), noise=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(found, Path(folder) / "report.html")
    ...     (Path(folder) / "report.html").read_text().startswith("<!doctype html>")
    True
    """
    path = Path(path)
    check_target(path, overwrite=overwrite)
    text = render_report(audit.to_json())
    write_whole(path, lambda target: target.write_text(text, encoding="utf-8", newline="\n"), overwrite=overwrite)


def render_report(facts: Mapping[str, Any]) -> str:
    """Return the report as the text of an HTML file, from the facts of an audit (`Audit.to_json`, ``report.json``).

    The page asks for nothing: its policy refuses every request, and every script but its own, which are named by their
    hashes. Text from the data is escaped wherever it stands.

    Examples
    --------
    >>> from habitprint.audit import audit
    >>> from habitprint.datasets import town
    >>> "May we release this?" in render_report(audit(town(30, 20), noise=False).to_json())
    True
    """
    return render_page(build_page(facts))


def render_page(page: Page) -> str:
    """Return a page as the text of an HTML file.

    Examples
    --------
    >>> page = Page("a < b", "May we?", "Yes.", "About", opening=(), sections=(), ending="The end.")
    >>> "a &lt; b" in render_page(page)
    True
    """
    style, scripts = _asset("style.css"), (_libraries(), _asset("page.js"))
    text = (
        _environment()
        .get_template("template.html")
        .render(page=page, style=style, scripts=scripts, policy=_policy(style, scripts))
    )
    # Names of files may hold bytes that are no text at all; a page is always text.
    return text.encode("utf-8", errors="replace").decode("utf-8")


def _policy(style: str, scripts: tuple[str, ...]) -> str:
    """Return what the page may do: draw with its own style and scripts, and nothing else."""
    allowed = " ".join(map(_hash, scripts))
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


def _asset(name: str) -> str:
    return (files("habitprint.report") / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        autoescape=True, loader=FunctionLoader(_asset), undefined=StrictUndefined, trim_blocks=False
    )
    environment.filters["as_json"] = htmlsafe_json_dumps
    return environment
