"""The page in a real browser: it renders, complains of nothing, and does not overflow a telephone."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from recorded import make

from kneebench.brief import Brief
from kneebench.results import load

BROWSER = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), "")
pytestmark = [pytest.mark.browser, pytest.mark.skipif(not BROWSER, reason="Chromium is not installed")]
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync")
MEASURE = """<script>
const beyond = [...document.querySelectorAll("svg text")].filter(text => {
  const [drawn, frame] = [text.getBoundingClientRect(), text.ownerSVGElement.getBoundingClientRect()];
  return drawn.left < frame.left - 1 || drawn.right > frame.right + 1;
});
document.title = [document.documentElement.scrollWidth, innerWidth, document.querySelectorAll("svg").length, beyond.length].join(" ");
</script>"""


def browse(tmp_path: Path, page: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [BROWSER, "--headless", *QUIET, f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr", *arguments, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)


@pytest.fixture
def page(tmp_path: Path) -> Path:
    return Brief(load(make.HERE / make.NAME)).write(tmp_path / "brief.html")


def test_the_page_renders_without_a_word_on_the_console(tmp_path: Path, page: Path) -> None:
    picture = tmp_path / "page.png"
    seen = browse(tmp_path, page, f"--screenshot={picture}", "--window-size=1280,2400")
    assert "CONSOLE" not in seen.stderr
    assert picture.stat().st_size > 100_000


@pytest.mark.parametrize("width", [1280, 600])
def test_nothing_is_wider_than_the_window_and_no_text_leaves_its_figure(tmp_path: Path, page: Path, width: int) -> None:
    page.write_text(page.read_text().replace("</body>", f"{MEASURE}</body>"))
    seen = browse(tmp_path, page, "--dump-dom", f"--window-size={width},1000")
    whole, window, drawn, beyond = map(int, seen.stdout.partition("<title>")[2].partition("</title>")[0].split())
    assert whole <= window
    assert (drawn, beyond) == (7, 0)


def test_the_page_prints(tmp_path: Path, page: Path) -> None:
    printed = tmp_path / "brief.pdf"
    browse(tmp_path, page, f"--print-to-pdf={printed}", "--no-pdf-header-footer")
    assert printed.read_bytes().startswith(b"%PDF")
