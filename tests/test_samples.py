"""The samples of the documentation: short plans, what was measured with them, and how that is made
again.
"""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import kneebench
from kneebench.analysis.answers import caveats
from kneebench.brief import Brief
from kneebench.brief.markdown import markdown
from kneebench.plan import Plan
from kneebench.plan.duration import expected
from kneebench.plan.study import Study
from kneebench.records import Host
from tests.browser import BROWSER, Tab

needs_browser = pytest.mark.skipif(not BROWSER, reason="needs Chromium")

SAMPLES = Path(__file__).parent.parent / "docs" / "samples"
PLANS = sorted(SAMPLES.glob("*.toml"))
WIDEST_TEXT = (
    "Math.max(...[...document.querySelectorAll('text')].map(t => t.getBoundingClientRect().right))"
)
MOST_S, MOST_BYTES = 1200, 3 << 20
HOST = Host(cpu="any", cores=2, memory_bytes=24 << 30, kernel="6", system="any")


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_a_sample_is_measured_in_minutes(path: Path) -> None:
    plan = kneebench.read_plan(path)
    assert expected(Study(plan).databases, HOST).total_s < MOST_S


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_a_sample_that_was_measured_is_small_and_of_its_plan(path: Path) -> None:
    archive = path.with_suffix(".kneebench")
    assert archive.stat().st_size < MOST_BYTES
    kept = Plan.model_validate(kneebench.load(archive).campaign.plan)  # with keys of today
    measured, plan = (Study(one).document for one in (kept, kneebench.read_plan(path)))
    for key in ("question", "ladder", "workload", "constraints"):
        assert measured[key] == plan[key], f"{key} has changed: make samples SAMPLES={path.stem}"
    assert {*measured["storages"]} == {*plan["storages"]}


def test_a_sample_is_measured_again_in_place_of_what_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    here = tmp_path / "samples"
    here.mkdir()
    here.joinpath("simulated.toml").write_text(SAMPLES.joinpath("simulated.toml").read_text())
    archive = here / "simulated.kneebench"
    archive.write_bytes(b"the one before")
    measuring = runpy.run_path(str(SAMPLES / "measure.py"))["main"]
    measuring.__globals__["HERE"] = here
    assert measuring(["simulated"]) == 0
    assert kneebench.load(archive).finished
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith("samples-")] == []
    assert measuring(["nosuch"]) == 2


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_a_sample_begins_with_what_it_is_for_the_gallery(path: Path) -> None:
    about = runpy.run_path(str(SAMPLES / "gallery.py"))["about"]
    assert about(path.read_text()).startswith(path.read_text().splitlines()[0].removeprefix("# "))
    assert (
        about("# Two drives.\n#\n# Needs root.\n\nseed = 1 # any") == "Two drives.\n\nNeeds root."
    )


@needs_browser
def test_what_the_page_on_reading_quotes_is_in_the_sample() -> None:
    page = (SAMPLES.parent / "reading.md").read_text()
    quotes = [line.removeprefix("> ") for line in page.splitlines() if line.startswith("> ")]
    said = markdown(Brief(kneebench.load(SAMPLES / "default.kneebench")))
    assert quotes
    assert [quote for quote in quotes if quote not in said] == []


@pytest.mark.parametrize(("name", "said"), [("default", 1), ("drives", 0)])
def test_a_difference_that_is_mostly_cpu_time_on_busy_cores_is_a_caveat(
    name: str, said: int
) -> None:
    """459 µs with 18 users on disk, 307 µs with 2 in memory; the cores of `drives` are not busy."""
    found = caveats(kneebench.load(SAMPLES / f"{name}.kneebench"), ("cpu_time",))
    assert len(found) == said
    assert all(
        "CPU time per transaction: 459 µs on disk with 18 users" in one.words for one in found
    )


def test_few_warehouses_per_user_are_said_from_the_fewest_to_the_most() -> None:
    """8 warehouses, and knees of 4 and 8 users."""
    said = markdown(Brief(kneebench.load(SAMPLES / "engines.kneebench")))
    assert "Only 1 to 2 warehouses per user at the knee (all storages)." in said


def test_a_latency_that_is_higher_at_the_lower_rate_is_explained_below_its_table() -> None:
    """Memory takes 1.06 ms at a third of its knee's rate, and 303 µs at its knee."""
    said = markdown(Brief(kneebench.load(SAMPLES / "default.kneebench")))
    assert "On memory, mean latency is higher here than at the knee: arrivals are random" in said
    assert "On disk, mean latency is higher" not in said


def test_no_text_of_a_figure_is_wider_than_the_figure(tmp_path: Path) -> None:
    """With its title and what it says: a narrow figure has them in more lines."""
    figures = Brief(kneebench.load(SAMPLES / "memory.kneebench")).figures(tmp_path, ("svg",))
    tab = Tab(tmp_path / "profile", 1200, 900)
    try:
        widths = set()
        for figure in figures:
            tab.open(figure.as_uri())
            tab.wait_until("document.querySelectorAll('text').length > 0")
            wide = tab.evaluate("document.documentElement.getBoundingClientRect().right")
            assert tab.evaluate(WIDEST_TEXT) <= wide, figure.name
            widths.add(wide)
        assert len(figures) > 10 and min(widths) < 360 and max(widths) <= 400
    finally:
        tab.close()
