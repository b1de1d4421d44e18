"""Settings of the site (`make docs`). Each build makes the reference from the code, and pages from the notebooks."""

import inspect
import json
import re
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import typer
import typer.cli
from sphinx.application import Sphinx

import habitprint as hp
from habitprint.cli.app import app as commands

HERE = Path(__file__).parent
ARTICLE = re.compile(r'<article role="main".*?</article>', re.DOTALL)

project = "habitprint"
author = "The habitprint developers"
project_copyright = "The habitprint developers, MIT licence"
version = release = hp.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_block", "colon_fence", "html_image"]
default_role = "code"  # docstrings name things in single backquotes
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # signatures stay short: the parameters show types
napoleon_google_docstring = False
napoleon_use_param = False  # names that share a description stand in one line
highlight_language = "none"  # blocks without a language are commands and their output
html_theme = "furo"  # brings its own styles: it loads nothing from the network
html_title = f"habitprint {version}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False

# The page of the reference that describes a public name, by the package or module of the name.
PARTS = {
    "audit": ("Audits", ["auditing", "report"]),
    "matching": ("Matching", ["matching", "evaluation", "rates", "plots"]),
    "forecasts": ("Predictions and forecasts", ["prediction", "forecasting", "durations"]),
    "weights": ("Weights and training", ["weighing", "attacks", "training"]),
    "protection": ("Protection", ["mechanisms", "losses"]),
    "data": ("Data", ["events", "checks", "periods", "histograms", "places", "datasets", "markov"]),
    "spark": ("On Spark", ["backends"]),
    "errors": ("Errors and warnings", ["errors"]),
}


def part_of(name: str) -> str:
    """Return the page of the reference that describes a public name."""
    value = getattr(hp, name)
    module = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", "habitprint.weighing")
    package = module.split(".")[1]
    return next((part for part, (_, packages) in PARTS.items() if package in packages), "more")


def describe(name: str) -> str:
    """Return the directive that shows a public name with its docstring."""
    value = getattr(hp, name)
    if inspect.ismodule(value):
        members = sorted(each for each, of in vars(value).items() if each[0] != "_" and not inspect.ismodule(of))
        lines = [f".. automodule:: habitprint.{name}", f"   :members: {', '.join(members)}", ""]
    elif inspect.isclass(value):
        lines = [f".. autoclass:: habitprint.{name}", "   :members:", ""]
    elif callable(value):
        lines = [f".. autofunction:: habitprint.{name}", ""]
    else:  # a table of values, whose own type says nothing about it
        lines = [f".. py:data:: habitprint.{name}", "", f"   {', '.join(f'`{each}`' for each in value)}", ""]
    return "\n".join(lines)


def write_python_reference(folder: Path) -> None:
    """Write a page for each part of the public names."""
    parts: dict[str, list[str]] = defaultdict(list)
    for name in dir(hp):
        parts[part_of(name)].append(name)
    for page in folder.glob("*.rst"):  # of an earlier build, whose parts may have had other names
        page.unlink()
    titles = {part: title for part, (title, _) in PARTS.items()} | {"more": "More"}
    for part, title in titles.items():
        if names := parts.get(part):
            body = "\n".join(describe(name) for name in sorted(names, key=str.lower))
            (folder / f"{part}.rst").write_text(f"{title}\n{'=' * len(title)}\n\n{body}")


def write_command_reference(page: Path) -> None:
    """Write the help of every command as a page."""
    command = typer.main.get_group(commands)
    text = typer.cli.get_docs_for_click(obj=command, ctx=typer.Context(command), name="habitprint")
    text = re.sub(r"\[bold\](.*?)\[/bold\]", r"**\1**", text)
    text = re.sub(rf"^(habitprint ({'|'.join(command.commands)})\b.*)$", r"`\1`", text, flags=re.MULTILINE)
    # The list of commands is dropped: it cuts descriptions short, and the sections of the commands follow.
    text = re.sub(r"\*\*Commands\*\*:\n\n(\* .*\n)+", "", text, count=1)
    page.write_text(text.replace("# `habitprint`", "# Commands", 1))


def fenced(kind: str, text: str) -> str:
    """Return a block of text in a fence that is longer than any in it."""
    return f"````{kind}\n{text}\n````\n"


def output_of_cell(output: dict[str, Any]) -> str:
    """Return the output of a cell: a card or a picture, else text."""
    data = output.get("data", {"text/plain": output.get("text", "")})
    for kind in ("text/html", "image/svg+xml"):
        if kind in data:
            return fenced("{raw} html", f'<div class="shown">{"".join(data[kind])}</div>')
    return fenced("text", "".join(data["text/plain"]))


def write_notebook(notebook: Path, page: Path) -> None:
    """Write a notebook as a page, with its output."""
    parts = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        parts.append(text if cell["cell_type"] == "markdown" else fenced("python", text))
        parts += map(output_of_cell, cell.get("outputs", ()))
    page.write_text("\n\n".join(parts), encoding="utf-8")


def write_pages(_: Sphinx) -> None:
    """Write the pages from code and notebooks."""
    folder = HERE / "reference"
    write_python_reference(folder)
    write_command_reference(folder / "commands.md")
    for notebook in (HERE.parent / "examples").glob("*.ipynb"):
        write_notebook(notebook, HERE / "notebooks" / f"{notebook.stem}.md")


def add_gallery(app: Sphinx, error: Exception | None) -> None:
    """Copy the reports of the gallery into the site, and no file that is for internal use only."""
    del error
    for page in ("report.html", "record.html"):
        for made in (HERE.parent / "gallery").glob(f"*/{page}"):
            (folder := Path(app.outdir) / made.parent.name).mkdir(exist_ok=True)
            shutil.copyfile(made, folder / page)


def load_excerpts(app: Sphinx, pagename: str, *_: object) -> None:
    """Let the page of the search show excerpts also when it is opened from a disk."""
    if pagename == "search":
        app.add_js_file("search_from_file.js")


def write_excerpts(app: Sphinx, error: Exception | None) -> None:
    """Write the text of all pages into one script, which a page that was opened from a disk may load."""
    del error
    folder = Path(app.outdir)
    texts = {}
    for name in sorted(app.env.found_docs):
        page = f"{name}.html"
        if article := ARTICLE.search((folder / page).read_text(encoding="utf-8")):
            texts[page] = article[0]
    (folder / "_static" / "pages.js").write_text(f"window.PAGES = {json.dumps(texts)};", encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Connect the steps before and after a build."""
    app.connect("builder-inited", write_pages)
    app.connect("html-page-context", load_excerpts)
    app.connect("build-finished", write_excerpts)
    app.connect("build-finished", add_gallery)
