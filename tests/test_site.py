"""The documentation as a site: it builds without a warning, every link leads somewhere, and it
needs no network.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from tests.browser import BROWSER, Tab

DOCS = Path(__file__).parent.parent / "docs"
MOST_WORDS = 2500
"""Of a page of the method: more is not read at one sitting."""
FOUND = 'ul.search a[href="method/climb.html"]'
"""What the search for elasticity must show, among others."""
needs_browser = pytest.mark.skipif(not BROWSER, reason="needs Chromium")


class Links(HTMLParser):
    """Where a page's links and sources lead, and the places in it that links may lead to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = set()
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.targets += [found[name] or "" for name in ("href", "src") if found.get(name)]
        self.places.add(found.get("id") or "")


@pytest.fixture(scope="module")
def site(
    tmp_path_factory: pytest.TempPathFactory, blank_drawer: Path, request: pytest.FixtureRequest
) -> Path:
    """The site, built as `make site` builds it; a warning is an error. The samples' figures are
    drawn with --long only.
    """
    out = tmp_path_factory.mktemp("site")
    blank = {} if request.config.getoption("--long") else {"PYTHONPATH": str(blank_drawer)}
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-d", out / "made", DOCS, out / "html"]
    done = subprocess.run(
        command, env={**os.environ, **blank}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return out / "html"


def pages(site: Path) -> dict[Path, Links]:
    return {page: Links(page) for page in site.rglob("*.html")}


def broken(found: dict[Path, Links]) -> Iterator[str]:
    for page, links in found.items():
        for target in links.targets:
            place, at = urldefrag(unquote(target).partition("?")[0])
            if "://" in place or place.startswith(("data:", "mailto:")):
                continue
            there = (page.parent / place).resolve() if place else page
            if not there.exists():
                yield f"{page.name}: {target}"
            elif at and there in found and at not in found[there].places:
                yield f"{page.name}: no {at} in {there.name}"


def test_every_link_of_the_site_leads_to_a_page_and_a_place_in_it(site: Path) -> None:
    found = pages(site)
    assert len(found) > 60
    assert list(broken(found)) == []


def test_every_page_of_the_documentation_is_in_the_contents_beside_the_home_page(
    site: Path,
) -> None:
    listed = {urldefrag(target)[0] for target in Links(site / "index.html").targets}
    written = [page.relative_to(DOCS).with_suffix(".html") for page in DOCS.rglob("*.md")]
    assert [page for page in written if str(page) not in {*listed, "index.html"}] == []


@needs_browser
def test_every_measured_sample_is_a_page_that_needs_no_network_and_a_pdf(
    site: Path, tmp_path: Path
) -> None:
    tab = Tab(tmp_path / "profile", 1200, 900)
    try:
        for archive in (DOCS / "samples").glob("*.kneebench"):
            brief = site / "samples" / f"{archive.stem}.html"
            assert brief.with_suffix(".pdf").read_bytes().startswith(b"%PDF")
            tab.open(brief.as_uri())
            tab.wait_until("document.querySelector('h1') !== null")
        assert tab.requested
        assert [url for url in tab.requested if not url.startswith(("file:", "data:"))] == []
    finally:
        tab.close()


def test_no_page_of_the_site_fetches_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text()
        for fetched in ('src="http', "url(http", "@import", 'rel="stylesheet" href="http'):
            assert fetched not in text, page.name


@needs_browser
def test_the_site_is_read_and_searched_without_a_network(site: Path, tmp_path: Path) -> None:
    tab = Tab(tmp_path / "profile", 1200, 900)
    try:
        tab.open(site.joinpath("index.html").as_uri())
        tab.wait_until("document.readyState === 'complete'")
        assert tab.evaluate("document.images.length > 0 && document.images[0].naturalWidth > 0")
        tab.open(site.joinpath("search.html").as_uri() + "?q=elasticity")
        tab.wait_until(f"document.querySelector('{FOUND}') !== null")
        assert tab.requested
        assert [url for url in tab.requested if not url.startswith(("file:", "data:"))] == []
    finally:
        tab.close()


def test_a_page_of_the_method_is_read_at_one_sitting() -> None:
    long = {
        page.name: words
        for page in (DOCS / "method").glob("*.md")
        if (words := len(page.read_text().split())) > MOST_WORDS
    }
    assert long == {}
