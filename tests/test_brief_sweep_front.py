"""The front of a sweep on several storages: its answer first, the configurations behind it."""

from __future__ import annotations

import re

from kneebench.analysis.outcome import weight_checks
from kneebench.analysis.sweep import sweeps
from kneebench.brief import Brief
from kneebench.brief.markdown import markdown
from kneebench.records import Results
from tests.recordings import section
from tests.swept import swept

FOURTEEN = tuple(n * 64 * 2**20 for n in range(2, 16))
MOST_WORDS = 1800


def many() -> Results:
    return swept(sizes=FOURTEEN, storages=2)


def test_the_title_has_the_range_over_all_sizes_and_the_subtitle_where_more_stops_paying() -> None:
    brief = Brief(many())
    assert re.match(r"Memory: 2\.\d\dx to 2\.\d\dx disk's NOPM at each of 14 sizes", brief.title)
    assert re.match(
        r"NOPM of memory over disk: 95% CIs within 1\.\d\dx to 2\.\d\dx, n=3\. ", brief.subtitle
    )
    assert "(confidence " in brief.subtitle
    for one in sweeps(brief.view.results):
        assert re.search(rf"{one.name.capitalize()}: more memory stops paying", brief.subtitle)


def test_the_sweep_comes_first_and_what_each_configuration_did_is_behind_it() -> None:
    brief = Brief(many())
    front = [one for one in brief.sections if one.part == "front"]
    assert [one.name for one in front][:2] == ["glance", "sweep"]
    assert "NOPM on disk with 128 MiB in place of 960 MiB" in front[0].numbers[0].says
    assert {one.name for one in front}.isdisjoint(("relative", "curve", "latency", "log-writes"))
    assert section(brief, "each-configuration").part == "appendix"
    assert front[1].figures[0].spec["layer"][1]["encoding"]["y"]["title"] == "NOPM"
    captions = " ".join(f"{one.title} {one.caption}" for one in front[1].figures)
    assert len(f"{markdown(brief)} {captions}".split()) < MOST_WORDS


def test_with_a_reference_the_title_is_still_of_all_sizes_and_the_page_is_written() -> None:
    brief = Brief(swept(reference=True))
    assert re.match(r"Memory: 2\.\d\dx to 2\.\d\dx disk's NOPM at each of 6 sizes", brief.title)
    assert "no limit" in brief.html()


def test_a_ratio_that_scatters_has_its_interval_before_the_answers() -> None:
    brief = Brief(swept(scatter=0.25, seed=3))
    assert "at each of" not in brief.title
    assert re.search(r"95% CI [\d.]+x to .*\. Disk: ", brief.subtitle)


def test_what_is_the_same_on_every_size_is_said_once() -> None:
    said = " ".join(section(Brief(many()), "cautions").sentences)
    assert "14 configurations of disk" in said
    assert said.count("disk (128 MiB)") <= 2


def test_only_configurations_that_are_compared_must_have_equally_heavy_transactions() -> None:
    (check,) = weight_checks(many())
    assert check.passed
