"""The site that is made of the documentation: complete, without a network, on a desk and on a phone."""

import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser

import habitprint as hp

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"]
    done = subprocess.run([*command, str(ROOT / "docs"), str(folder)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_and_every_public_name_is_in_it(site: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        assert (site / page.relative_to(ROOT / "docs").with_suffix(".html")).is_file()
    reference = "".join(page.read_text() for page in (site / "reference").glob("*.html"))
    for name in dir(hp):
        assert f'id="habitprint.{name}"' in reference or f'id="module-habitprint.{name}"' in reference, name


@pytest.mark.parametrize("width", [1280, 390], ids=["desk", "phone"])
def test_no_page_is_wider_than_the_screen_or_loads_anything_from_a_network(
    site: Path, browser: Browser, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for file in sorted(site.rglob("*.html")):
        page.goto(file.as_uri(), wait_until="load")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, file.name
    context.close()
    assert asked
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_it_can_be_searched_without_a_network(site: Path, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(f"{(site / 'search.html').as_uri()}?q=training")
    page.locator("#search-results li a").first.wait_for()
    assert page.locator("#search-results li").count() >= 3
    excerpt = page.locator("#search-results li p.context").first
    excerpt.wait_for()
    assert "train" in excerpt.inner_text().lower()
    page.close()


def test_every_page_is_listed_once(site: Path, browser: Browser) -> None:
    page = browser.new_page()
    page.goto((site / "reference" / "index.html").as_uri())
    links = page.locator("article .toctree-wrapper a").all_inner_texts()
    page.close()
    assert "Commands" in links
    assert len(links) == len(set(links))
