"""The report in a real browser: drawn, silent, offline, sortable, readable on a phone, at night and on paper."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, Page, expect

import habitprint as hp
from audits import audit_of_town
from habitprint.checks import Finding
from habitprint.mechanisms import InputFile
from habitprint.report.render import render_page
from habitprint.wording.pages import build_record

pytestmark = pytest.mark.slow

Scheme = Literal["light", "dark"]
SIZES = {"phone": (360, 740), "desktop": (1280, 900)}
SCHEMES: tuple[Scheme, ...] = ("light", "dark")
READ_CONTRAST = """() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("main *, nav *")) {
    const words = [...element.childNodes].filter((node) => node.nodeType === 3 && node.textContent.trim());
    if (!words.length || !element.getClientRects().length) continue;
    const style = getComputedStyle(element), isDrawn = element instanceof SVGElement;
    if (isDrawn && style.stroke !== "none") continue; // the brush behind words
    const [one, other] = [parse(isDrawn ? style.fill : style.color), behind(element)].map(luminance);
    found.push([(Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05), element.textContent.slice(0, 40)]);
  }
  return found.sort((a, b) => a[0] - b[0]);
}"""


@dataclass(frozen=True)
class Visit:
    """Hold an open page, and all that it said and asked for."""

    page: Page
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


def visit(browser: Browser, path: Path, size: str = "desktop", scheme: Scheme = "light") -> Visit:
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce", offline=True
    )
    found = Visit(context.new_page())
    found.page.on("console", lambda message: found.said.append(message.text))
    found.page.on("pageerror", lambda error: found.said.append(str(error)))
    found.page.on("request", lambda request: found.asked.append(request.url))
    found.page.add_init_script(
        "addEventListener('securitypolicyviolation', (event) => console.error('refused', event.violatedDirective))"
    )
    found.page.goto(path.as_uri())
    found.page.wait_for_function("document.querySelectorAll('[data-chart]:not([data-drawn])').length === 0")
    return found


def printed(found: Visit, folder: Path) -> list[str]:
    """Return the text of each page on paper."""
    file = folder / "printed.pdf"
    file.write_bytes(found.page.pdf(prefer_css_page_size=True))
    reader = shutil.which("pdftotext")
    if reader is None:
        pytest.skip("pdftotext is not installed: install poppler-utils")
    text = subprocess.run([reader, "-layout", file, "-"], capture_output=True, check=True, text=True).stdout
    return [page.strip() for page in text.rstrip("\f").split("\f")]


@pytest.fixture(params=[(size, scheme) for size in SIZES for scheme in SCHEMES], ids="-".join)
def anywhere(request: pytest.FixtureRequest, browser: Browser, report: Path) -> Iterator[Visit]:
    size, scheme = request.param
    found = visit(browser, report, size, scheme)
    yield found
    found.page.context.close()


@pytest.fixture(params=SIZES)
def sized(request: pytest.FixtureRequest, browser: Browser, report: Path) -> Iterator[Visit]:
    found = visit(browser, report, request.param)
    yield found
    found.page.context.close()


@pytest.fixture
def desk(browser: Browser, report: Path) -> Iterator[Visit]:
    found = visit(browser, report)
    yield found
    found.page.context.close()


def test_every_picture_is_drawn_and_nothing_is_said_or_asked_for(anywhere: Visit, report: Path) -> None:
    pictures = anywhere.page.locator("[data-chart]")
    assert pictures.count() >= 6
    for picture in pictures.all():
        expect(picture.locator("svg")).to_be_visible()
        assert picture.locator("svg .mark-symbol path, svg .mark-line path").count() >= 1
        assert picture.locator("svg .role-axis-label text").count() >= 2
    assert anywhere.said == []
    assert anywhere.asked == [report.as_uri()]


def test_the_page_never_scrolls_sideways(sized: Visit) -> None:
    widths = sized.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1]


def test_text_has_enough_contrast(anywhere: Visit) -> None:
    anywhere.page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    contrasts = anywhere.page.evaluate(READ_CONTRAST)
    assert len(contrasts) > 200
    assert contrasts[0][0] >= 4.5, contrasts[:3]


def test_pictures_follow_the_colour_scheme(desk: Visit) -> None:
    def colours() -> Any:
        return desk.page.evaluate(
            "[getComputedStyle(document.body).backgroundColor,"
            " getComputedStyle(document.querySelector('svg .mark-text.role-mark:last-child text')).fill]"
        )

    light = colours()
    desk.page.emulate_media(color_scheme="dark")
    dark = colours()
    assert light[0] == dark[0].replace("20, 24, 27", "255, 255, 255")
    assert light[1] != dark[1]
    desk.page.emulate_media(color_scheme="dark", media="print")
    assert colours() == light  # paper is always light


def test_tooltips_show_what_a_dot_means(sized: Visit, found: hp.Audit) -> None:
    dot = sized.page.locator("#answer-picture svg .mark-symbol path").first
    dot.scroll_into_view_if_needed()
    dot.hover(force=True)  # another dot may lie on it
    tooltip = sized.page.locator("#vg-tooltip-element")
    expect(tooltip).to_be_visible()
    assert any(trial.label in tooltip.inner_text() for trial in found.protections.trials)
    assert "95% interval" in tooltip.inner_text()


@pytest.mark.parametrize("head", ["Re-identified", "Row pointed at, guaranteed", "Totals error"])
def test_tables_sort_by_a_column_both_ways(desk: Visit, head: str) -> None:
    button = desk.page.get_by_role("button", name=head, exact=True)
    header = desk.page.locator("th", has=button)
    column = header.evaluate("(th) => th.cellIndex + 1")
    cells = desk.page.locator(f"table.sortable tbody tr :nth-child({column})")

    def keys() -> list[float]:
        return [float(cell.get_attribute("data-sort") or "nan") for cell in cells.all()]

    before = keys()
    assert len(set(before)) > 1
    for order, falling in (("ascending", False), ("descending", True)):
        button.click()
        assert header.get_attribute("aria-sort") == order
        assert keys() == sorted(before, reverse=falling)
    assert desk.page.locator("th[aria-sort]").count() == 1


def test_protections_come_in_order_of_loss_and_one_that_passes_is_marked(desk: Visit) -> None:
    assert desk.page.locator("th[aria-sort=ascending]").inner_text().strip() == "Information loss"
    passing = desk.page.locator("table.sortable tbody tr", has=desk.page.get_by_role("cell", name="yes", exact=True))
    assert passing.and_(desk.page.locator("tr.marked")).count() == 1  # which of those that are alike: by other losses
    assert desk.page.locator("table.sortable tr.marked").count() == 1


def test_what_a_row_is_about_stays_in_sight_where_its_table_is_scrolled(sized: Visit) -> None:
    table = sized.page.locator(".scroll:has(.sortable)").first
    name = table.locator("tbody tr th").first
    before = name.bounding_box()
    assert table.evaluate("(each) => { each.scrollLeft = 200; return each.scrollLeft; }") > 0
    after = name.bounding_box()
    assert before is not None
    assert after is not None
    assert after["x"] == pytest.approx(before["x"], abs=1)


def test_tables_sort_with_the_keyboard_alone(desk: Visit) -> None:
    button = desk.page.get_by_role("button", name="Protection", exact=True)
    button.focus()
    desk.page.keyboard.press("Enter")
    assert desk.page.locator("th[aria-sort]").inner_text().strip() == "Protection"
    assert button.evaluate("(element) => element === document.activeElement")
    labels = desk.page.locator("table.sortable tbody th").evaluate_all(
        "(cells) => cells.map((cell) => cell.textContent.trim())"
    )
    places = desk.page.evaluate("(all) => [...all].sort((a, b) => a.localeCompare(b, 'en', {numeric: true}))", labels)
    assert labels == places


def test_the_first_tab_offers_to_skip_to_the_answer(sized: Visit) -> None:
    sized.page.keyboard.press("Tab")
    link = sized.page.get_by_role("link", name="Skip to the answer")
    expect(link).to_be_focused()
    expect(link).to_be_in_viewport()
    outline = link.evaluate("(element) => getComputedStyle(element).outlineStyle")
    assert outline == "solid"
    sized.page.keyboard.press("Enter")
    expect(sized.page.locator("#answer")).to_be_focused()


def test_headings_go_down_one_level_at_a_time(desk: Visit) -> None:
    levels = desk.page.locator("h1, h2, h3, h4").evaluate_all("(all) => all.map((each) => Number(each.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_every_link_leads_to_a_part_of_the_page(desk: Visit) -> None:
    targets = desk.page.locator("a").evaluate_all("(all) => all.map((each) => each.getAttribute('href'))")
    assert len(targets) > 9
    for target in targets:
        assert desk.page.locator(target).count() == 1


def test_every_picture_has_words_and_numbers_beside_it(desk: Visit) -> None:
    for figure in desk.page.locator("figure").all():
        assert figure.locator("figcaption").inner_text()
        for picture in figure.locator("[data-chart]").all():
            assert picture.get_attribute("aria-label")
            assert picture.locator(".mark-symbol path[aria-label]").count() == 0  # the table is there to be read out
    assert desk.page.locator("figure details table").count() >= 4


def test_paper_shows_every_table_and_the_screen_gets_its_own_back(desk: Visit) -> None:
    closed = desk.page.locator("details:not([open])")
    before = closed.count()
    assert before >= 3
    desk.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert closed.count() == 0
    desk.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert closed.count() == before
    assert desk.page.pdf(format="A4").startswith(b"%PDF")


def test_every_page_of_a_table_on_paper_starts_with_its_head(desk: Visit, tmp_path: Path) -> None:
    pages = printed(desk, tmp_path)
    starts_with_numbers = [text for text in pages if re.match(r"[^\n]*\d\.\d%[^\n]*\d\.\d%", text)]
    assert starts_with_numbers == []
    assert sum("Ranking" in text for text in pages) > 1


def test_on_paper_the_first_screen_comes_first_then_the_record_with_its_annex(desk: Visit, tmp_path: Path) -> None:
    first, second, *others = printed(desk, tmp_path)
    assert "Target missed" in first
    assert "Recommended protection" in first
    assert "What else should you know?" in first
    assert "Record of a re-identification audit" in second[:300]
    appendix = next(at for at, text in enumerate(others) if text.startswith("Which protections were tried?"))
    assert appendix <= 1  # pages of the record after its first one: the signature and the annex
    assert "Signature" in "".join([second, *others[:appendix]])
    assert not desk.page.locator(".record").is_visible()  # the screen has the answer


@pytest.mark.parametrize("is_advised", [True, False])
def test_a_record_with_all_that_may_stand_in_it_is_three_pages_with_its_annex(
    browser: Browser, found: hp.Audit, tmp_path: Path, is_advised: bool
) -> None:
    if not is_advised:
        found = audit_of_town(12, 5, target=0.02)
        assert found.alternatives
    inputs = tuple(InputFile(f"calls of the year 2012, part {part}.parquet", "a1" * 32, 10**9) for part in range(40))
    grave = (Finding("repeated-rows", "changes-answer", 1_000_000, 2_000_000),) * 2
    full = replace(
        found,
        run=replace(found.run, inputs=inputs, command="habitprint audit " + "--coarsen places.csv " * 15),
        data=replace(found.data, findings=grave),
    )
    path = tmp_path / "record.html"
    path.write_text(render_page(build_record(full)), encoding="utf-8")
    paper = visit(browser, path)
    assert len(printed(paper, tmp_path)) <= 3
    assert paper.said == []
    assert paper.asked == [path.as_uri()]
    assert "And 36 more files" in paper.page.locator("main").inner_text()
    paper.page.context.close()


@pytest.mark.parametrize("size", SIZES)
def test_a_comparison_is_drawn_in_silence_and_never_scrolls_sideways(
    browser: Browser, found: hp.Audit, tmp_path: Path, size: str
) -> None:
    fewer = replace(found, attacks=(replace(found.attacks[0], rate=hp.Rate.of(3, 100, 0.01)),))
    names = ["as it is now, with all of its places and a rather long name", "another"]
    hp.write_comparison(hp.compare([found, fewer], names), tmp_path / "compared.html")
    page = visit(browser, tmp_path / "compared.html", size)
    expect(page.page.locator("#comparison-picture svg")).to_be_visible()
    assert page.page.locator("#comparison-picture svg .mark-symbol path").count() >= 2
    widths = page.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1]
    assert page.said == []
    assert page.asked == [(tmp_path / "compared.html").as_uri()]
    page.page.context.close()


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("picture", ["attacks-picture"])
def test_names_stand_at_their_dots_and_are_not_cut(browser: Browser, report: Path, size: str, picture: str) -> None:
    found = visit(browser, report, size)
    dots = found.page.locator(f"#{picture} .mark-symbol.role-mark path").all()
    names = [
        text
        for text in found.page.locator(f"#{picture} .mark-text.role-mark text").all()
        if not (text.text_content() or "").startswith("target")
        and text.evaluate("(each) => getComputedStyle(each).stroke") == "none"
    ]
    assert len(names) == len(dots) > 1
    for name in names:
        assert "…" not in (name.text_content() or "")
        box = name.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= SIZES[size][0]
        middles = [
            (dot_box["x"] + dot_box["width"] / 2, dot_box["y"]) for dot in dots if (dot_box := dot.bounding_box())
        ]
        below = min((middle for middle in middles if middle[1] > box["y"]), key=lambda middle: middle[1])
        assert min(abs(box["x"] - below[0]), abs(box["x"] + box["width"] - below[0])) < 12
    found.page.context.close()


def test_hostile_text_is_shown_and_never_run(browser: Browser, hostile_report: Path) -> None:
    for size in SIZES:
        found = visit(browser, hostile_report, size)
        expect(found.page.locator("p.about")).to_contain_text("</script><img src=x")
        assert found.page.locator("img").count() == 0
        dot = found.page.locator("#answer-picture svg .mark-symbol path").first
        dot.scroll_into_view_if_needed()
        dot.hover(force=True)  # another dot may lie on it
        expect(found.page.locator("#vg-tooltip-element")).to_contain_text("</script><img src=x")
        assert found.page.locator("img").count() == 0
        assert "Re-identification audit" in found.page.title()
        assert found.said == []
        assert found.asked == [hostile_report.as_uri()]
        widths = found.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert widths[0] <= widths[1]
        found.page.context.close()


def test_whatever_got_into_the_page_could_neither_run_nor_ask(browser: Browser, report: Path) -> None:
    found = visit(browser, report)
    found.page.evaluate(
        """() => {
          const box = document.createElement("div");
          box.innerHTML = '<img src="https://example.org/x.png" onerror="document.title = 1"><p style="color: red">';
          document.body.append(box);
          const script = document.createElement("script");
          script.textContent = "document.title = 'owned'";
          document.body.append(script);
          return fetch("https://example.org/").catch(() => null);
        }"""
    )
    assert "Re-identification audit" in found.page.title()
    refused = {line.removeprefix("refused ") for line in found.said if line.startswith("refused ")}
    assert refused >= {"img-src", "script-src-elem", "connect-src", "style-src-attr"}
    found.page.context.close()
