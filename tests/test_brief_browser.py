"""The page in a real browser: it renders, complains of nothing, and does not overflow a
telephone.
"""

from __future__ import annotations

import functools
import json
import subprocess
from collections.abc import Iterator
from functools import partial
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from kneebench.brief import Brief
from kneebench.brief.profile import ProfilePage, TogetherPage
from kneebench.records import Climb, Configuration, Results
from tests.browser import BROWSER, QUIET, Tab
from tests.profiles import made_up_profile, made_up_together
from tests.recordings import recorded, with_order, with_plan
from tests.swept import swept

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not BROWSER, reason="Chromium is not installed"),
]
MEASURE = """<script>
for (const folded of document.querySelectorAll("details")) folded.open = true;
const box = element => element.getBoundingClientRect();
const near = (a, b) => Math.abs(a - b) < 1;
const slanted = text => /rotate\\((-40|320)/.test(text.getAttribute("transform"));
const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
  && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
const same = (a, b) => a.textContent === b.textContent
  && near(box(a).left, box(b).left) && near(box(a).top, box(b).top);
const seen = text => text.textContent.trim() && getComputedStyle(text).opacity !== "0";
const page = document.documentElement.scrollWidth - innerWidth;
const found = {page, figures: 0, beyond: [], covered: [], clipped: []};
for (const svg of document.querySelectorAll("svg")) {
  found.figures += 1;
  const shown = [...svg.querySelectorAll("text")].filter(seen);
  const frame = box(svg);
  const leaves = text => box(text).left < frame.left - 1 || box(text).right > frame.right + 1;
  found.beyond.push(...shown.filter(leaves).map(text => text.textContent));
  shown.forEach((one, n) => shown.slice(0, n).forEach(other => {
    if (!same(one, other) && !slanted(one) && meet(box(one), box(other)))
      found.covered.push(one.textContent + " on " + other.textContent);
  }));
}
for (const scroll of document.querySelectorAll(".scroll"))
  if (scroll.scrollWidth > scroll.clientWidth + 1) found.clipped.push(scroll.closest("section").id);
document.title = JSON.stringify(found);
</script>"""
"""What of the page cannot be read, as the browser has laid it out: pixels that the page is too
wide, texts that leave their figure, texts that cover each other, tables that are cut off."""
NAMES = {
    2: ("disk", "memory"),
    3: ("one SATA SSD", "memory", "two NVMe drives in RAID 0"),
    4: ("SATA SSD", "memory", "SATA SSD two", "memory two"),
    5: (
        "a network volume of the general purpose kind",
        "local NVMe drive with a cache",
        "provisioned-iops-ssd-volume-1",
        "memory",
        "tape",
    ),
}
"""Names of a campaign's storages, by how many there are. Each is one of the two that were recorded,
so that many knees are in one place."""
LAID_OUT = [
    pytest.param(str(count), marks=[] if count in (3, 5) else [pytest.mark.long]) for count in NAMES
]


def browse(tmp_path: Path, page: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [
        BROWSER,
        "--headless",
        *QUIET,
        f"--user-data-dir={tmp_path / 'profile'}",
        "--enable-logging=stderr",
        *arguments,
        page.as_uri(),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)


def called(climb: Climb, name: str) -> Climb:
    rungs = tuple(with_order(rung, configuration=name) for rung in climb.rungs)
    return climb.model_copy(
        update={"configuration": Configuration(id=name, storage=name), "rungs": rungs}
    )


def with_storages(names: tuple[str, ...]) -> Results:
    """The recording of two storages with so many."""
    results = recorded()
    climbs = tuple(called(results.climbs[n % 2], name) for n, name in enumerate(names))
    return with_plan(
        results.model_copy(update={"climbs": climbs}),
        baseline=names[0],
        storages={name: {"path": f"{n}"} for n, name in enumerate(names)},
    )


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    """One browser for all pages."""
    tab = Tab(tmp_path_factory.mktemp("browser") / "profile", 1200, 1000)
    try:
        yield tab
    finally:
        tab.close()


@functools.cache
def page_of(name: str) -> str:
    """The brief of a campaign by its name: a recording, or one of those made here."""
    made = {
        **LARGE,
        **{str(count): partial(with_storages, names) for count, names in NAMES.items()},
    }
    return Brief(made[name]() if name in made else recorded(name)).html()


def laid_out(tab: Tab, tmp_path: Path, page: str, width: int) -> dict[str, Any]:
    """What MEASURE found of a page in a window of so many pixels."""
    file = tmp_path / f"{width}.html"
    file.write_text(page.replace("</body>", f"{MEASURE}</body>"))
    tab.resize(width, 1000)
    tab.open(file.as_uri())
    tab.wait_until(f"location.href === '{file.as_uri()}' && document.title[0] === '{{'", 120)
    found: dict[str, Any] = json.loads(tab.evaluate("document.title"))
    return found


def test_the_page_renders_without_a_word_on_the_console(tmp_path: Path) -> None:
    page = Brief(recorded("saturated")).write(tmp_path / "brief.html")
    picture = tmp_path / "page.png"
    seen = browse(tmp_path, page, f"--screenshot={picture}", "--window-size=1280,2400")
    assert "CONSOLE" not in seen.stderr
    assert picture.stat().st_size > 100_000


FIGURES = 11


@pytest.mark.parametrize(("name", "width"), [("noisy", 1280), ("log_bound", 600)])
def test_nothing_is_wider_than_the_window_and_no_text_leaves_its_figure(
    tab: Tab, tmp_path: Path, name: str, width: int
) -> None:
    found = laid_out(tab, tmp_path, page_of(name), width)
    assert found["page"] <= 0
    assert (found["figures"], found["beyond"]) == (FIGURES, [])


FOURTEEN = tuple(n * 64 * 2**20 for n in range(2, 16))
LARGE = {
    "a sweep of fourteen sizes on two storages": lambda: swept(sizes=FOURTEEN, storages=2),
    "eight storages": lambda: with_storages(tuple(f"storage {n}" for n in range(1, 9))),
}


@pytest.mark.parametrize("width", [390, pytest.param(800, marks=pytest.mark.long), 1280])
@pytest.mark.parametrize("name", LARGE)
def test_a_large_campaign_fits_every_screen_and_no_text_covers_another(
    tab: Tab, tmp_path: Path, name: str, width: int
) -> None:
    found = laid_out(tab, tmp_path, page_of(name), width)
    assert found["page"] <= 0
    assert (found["beyond"], found["covered"]) == ([], [])
    assert found["clipped"] == [] or width == 800


@pytest.mark.parametrize("count", LAID_OUT)
def test_at_1200_pixels_no_table_is_cut_off_and_no_text_of_a_figure_covers_another_or_leaves_it(
    tab: Tab, tmp_path: Path, count: str
) -> None:
    found = laid_out(tab, tmp_path, page_of(count), 1200)
    assert {key: value for key, value in found.items() if key != "figures"} == {
        "page": found["page"],
        "beyond": [],
        "covered": [],
        "clipped": [],
    }
    assert found["page"] <= 0


@pytest.mark.parametrize("count", LAID_OUT[1:3])
def test_at_800_pixels_the_tables_at_a_glance_are_whole(
    tab: Tab, tmp_path: Path, count: str
) -> None:
    assert "glance" not in laid_out(tab, tmp_path, page_of(count), 800)["clipped"]


def test_the_page_of_several_drives_fits_a_wide_and_a_narrow_window(
    tab: Tab, tmp_path: Path
) -> None:
    page = TogetherPage(made_up_together()).html()
    for width in (1200, 600):
        found = laid_out(tab, tmp_path, page, width)
        assert found["page"] <= 0
        assert (found["beyond"], found["covered"]) == ([], [])


@pytest.mark.parametrize("width", [1200, 600])
def test_the_page_of_a_profile_is_as_wide_as_the_window_and_no_text_covers_another(
    tab: Tab, tmp_path: Path, width: int
) -> None:
    found = laid_out(tab, tmp_path, ProfilePage(made_up_profile()).html(), width)
    assert found["page"] <= 0
    assert (found["beyond"], found["covered"]) == ([], [])
    assert found["clipped"] == ([] if width != 800 else ["rows"])


def test_the_style_says_each_thing_once_for_each_medium() -> None:
    style = (files("kneebench.brief") / "page.css").read_text(encoding="utf-8")
    narrow = style.partition("@media screen and (max-width")[2].partition("@media print")[0]
    within = ("  ", "@media screen", "}", "/* ")
    assert all(line.startswith(within) for line in narrow.splitlines()[1:-1]), (
        "a rule for every width stands within those for narrow ones"
    )


def test_a_printed_page_has_at_most_eight_sheets_and_names_the_pdf(
    tab: Tab, tmp_path: Path
) -> None:
    page = Brief(recorded("emulated")).write(tmp_path / "brief.html")
    tab.open(page.as_uri())
    tab.wait_until("document.querySelector('h1') !== null")
    sheets = [sheet.extract_text() for sheet in PdfReader(BytesIO(tab.printed())).pages]
    assert len(sheets) <= 8
    assert "kneebench brief --pdf" in " ".join(sheets[0].split())
