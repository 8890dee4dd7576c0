"""The front of a sweep on several storages: its answer first, the configurations behind it."""

from __future__ import annotations

import re

from kneebench.analysis.outcome import weight_checks
from kneebench.analysis.sweep import sweeps
from kneebench.brief import Brief
from kneebench.brief.markdown import markdown
from kneebench.records import Results
from tests.recordings import section, with_campaign
from tests.swept import swept

FOURTEEN = tuple(n * 64 * 2**20 for n in range(2, 16))
MOST_WORDS = 1960


def many() -> Results:
    return swept(sizes=FOURTEEN, storages=2)


def test_the_title_is_of_the_better_storage_and_the_subtitle_of_both_and_their_ratio() -> None:
    brief = Brief(many())
    assert brief.title == "Memory: more memory stops paying at 512 MiB (data cached)"
    assert re.search(
        r"\. Memory: 2\.\d\dx to 2\.\d\dx disk's NOPM at each of 14 sizes \(95% CIs within"
        r" 1\.\d\dx to 2\.\d\dx, n=3\)\. ",
        brief.subtitle,
    )
    assert "(confidence " in brief.subtitle
    for one in sweeps(brief.view.results):
        assert re.search(rf"{one.name.capitalize()}: more memory stops paying", brief.subtitle)


def test_the_sweep_comes_first_and_what_each_configuration_did_is_behind_it() -> None:
    brief = Brief(many())
    front = [one for one in brief.sections if one.part == "front"]
    assert [one.name for one in front][:2] == ["glance", "sweep"]
    assert [one.says.rpartition(", ")[2] for one in front[0].numbers] == 2 * [
        "on disk",
        "on memory",
    ]
    assert {one.name for one in front}.isdisjoint(("relative", "curve", "latency", "log-writes"))
    assert section(brief, "each-configuration").part == "appendix"
    assert front[1].figures[0].spec["layer"][1]["encoding"]["y"]["title"] == "NOPM"
    captions = " ".join(f"{one.title} {one.caption}" for one in front[1].figures)
    assert len(f"{markdown(brief)} {captions}".split()) < MOST_WORDS


def test_with_a_reference_the_ratio_is_still_of_all_sizes_and_the_page_is_written() -> None:
    brief = Brief(swept(reference=True))
    assert "x disk's NOPM at each of 6 sizes" in brief.subtitle
    assert "no limit" in brief.html()


def test_where_the_ratio_of_some_sizes_is_not_shown_the_subtitle_says_at_how_many_it_is() -> None:
    brief = Brief(swept(scatter=0.25, seed=3))
    assert "n=3; a difference shown at 4 of them)" in brief.subtitle


def test_with_a_target_the_title_is_of_the_better_storage_and_the_line_below_of_the_other() -> None:
    results = swept()
    resolved = results.campaign.resolved.model_copy(update={"target": 150_000})
    brief = Brief(with_campaign(results, resolved=resolved))
    assert brief.title.startswith("Memory: 150,000 NOPM need 205 MiB of memory")
    assert "Disk: 150,000 NOPM need more than 1 GiB (the most measured). Memory: " in brief.subtitle


def test_where_no_sweep_says_anything_the_title_compares_the_storages() -> None:
    brief = Brief(swept(lambda size: 1.0, scatter=0.25, seed=3))
    assert brief.title.startswith("Memory (")


def test_what_is_the_same_on_every_size_is_said_once() -> None:
    said = " ".join(section(Brief(many()), "cautions").sentences)
    assert "14 configurations of disk" in said
    assert said.count("disk (128 MiB)") <= 2


def test_only_configurations_that_are_compared_must_have_equally_heavy_transactions() -> None:
    (check,) = weight_checks(many())
    assert check.passed
