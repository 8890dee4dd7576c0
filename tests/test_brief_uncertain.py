"""What the front of the brief says where figures are uncertain: it claims no less doubt than there
is.
"""

from __future__ import annotations

from math import exp, fsum, log
from statistics import fmean

import pytest

from kneebench.analysis.comparison import compare
from kneebench.analysis.fixed_rate import fixed_rate_latency, ratio_without_wait
from kneebench.analysis.headline import headline, subtitle
from kneebench.analysis.quantity_ratio import P999, paired_rungs
from kneebench.brief import Brief
from kneebench.records import Results, Rung
from tests.recordings import each, recorded, section, with_campaign, with_equal_repeats

SETTINGS = "Database settings"


def without_waits(results: Results) -> Results:
    """The recording as it is where users are always free."""

    def free(rung: Rung) -> Rung:
        if not rung.tally.wait:
            return rung
        none = rung.tally.wait.model_copy(update={"mean_s": 0.0})
        return rung.model_copy(update={"tally": rung.tally.model_copy(update={"wait": none})})

    for climb in range(len(results.climbs)):
        results = each(results, climb, free, "fixed_rate")
    return results


def test_a_latency_that_is_mostly_a_wait_for_a_user_is_not_in_the_title() -> None:
    results = recorded()
    disk, memory = results.climbs
    ratio = ratio_without_wait(memory, disk)
    assert ratio
    assert "latency" not in headline(results)
    words = f"{ratio:.2f}x without the wait for a free user"
    assert words in subtitle(results)
    assert words in " ".join(one.sure for one in section(Brief(results), "glance").numbers)
    assert Brief(results).document()["caveat_figures"]["without_wait"] == {memory.id: ratio}
    free = without_waits(with_equal_repeats(results))
    assert ratio_without_wait(*free.climbs) is None
    assert headline(free).endswith("its mean latency at a fixed rate (data cached)")
    assert "without the wait" not in subtitle(free)


def test_where_only_the_latency_differs_the_title_is_about_it_with_or_without_waits() -> None:
    results = recorded()
    disk = results.climbs[0]
    tallies = {rung.order.repeat: rung.tally for rung in disk.of("final_run")}

    def as_disk(rung: Rung) -> Rung:
        return rung.model_copy(update={"tally": tallies[rung.order.repeat]})

    alike = each(results, 1, as_disk, "final_run")
    assert headline(alike).startswith("Memory cuts mean latency to 0.38x of disk's")


def test_with_shared_connections_the_wait_is_for_one_of_them() -> None:
    resolved = recorded().campaign.resolved.model_copy(update={"connections": 4})
    results = with_campaign(recorded(), resolved=resolved)
    words = "without the wait for one of 4 shared connections"
    assert words in subtitle(results)
    assert words in " ".join(one.sure for one in section(Brief(results), "glance").numbers)
    assert words.capitalize() in section(Brief(results), "latency").figures[0].caption


def test_a_campaign_that_was_interrupted_has_the_settings_that_are_known() -> None:
    tables = section(Brief(recorded("interrupted")), "machine").tables
    assert any("synchronous_commit" in row.cells[1] for row in tables[0].rows)


def test_the_mean_without_the_wait_is_that_of_each_run() -> None:
    for climb in recorded().climbs:
        found = fixed_rate_latency(climb)
        assert found and found.without_wait_s
        tallies = [rung.tally for rung in climb.of("fixed_rate")]
        each_run = [
            log(one.latency.mean_s - one.wait.mean_s * one.wait.n / one.latency.n)
            for one in tallies
            if one.latency and one.wait
        ]
        assert found.without_wait_s.value == pytest.approx(exp(fmean(each_run)))


def test_a_percentile_whose_repeats_differ_by_far_is_no_difference() -> None:
    results = recorded("emulated")
    base, _, slow = results.climbs
    found = next(
        one
        for one in compare(results)
        if (one.quantity, one.configuration) == ("latency.p999", slow.id)
    )
    ratios = [
        one.tally.latency.p999_s / two.tally.latency.p999_s
        for one, two in paired_rungs(slow, base, P999)
        if one.tally.latency and two.tally.latency
    ]
    assert found.ratio.low < min(ratios) < max(ratios) < found.ratio.high
    middle = exp(fsum(map(log, ratios)) / len(ratios))
    assert found.ratio.low < 1 < middle and not found.differs


def test_figures_and_cards_speak_of_the_pair_of_the_title_and_say_what_is_too_uncertain() -> None:
    brief = Brief(recorded("emulated"))
    cards = {one.says: one.value for one in section(brief, "glance").numbers}
    pair = "2 drives, with the log vs. 4 drives"
    assert cards[f"to compare mean latency at the fixed rate, {pair}"] == "Too uncertain"
    assert "too uncertain to compare mean latency at 121 transactions/s" in brief.subtitle
    mean, p999 = section(brief, "latency").figures
    assert mean.title.startswith("Mean latency, too uncertain: 2 drives, with the log 4.2x")
    assert p999.title == "Too few transactions to compare P99.9"


def test_one_storage_whose_runs_differ_by_far_has_a_range_in_the_title() -> None:
    results = recorded("log_bound")
    assert headline(results) == "Disk: 7,380 to 206,000 NOPM at 8 users, not precise enough"
    said = " ".join(section(Brief(results), "cautions").sentences)
    assert "the final runs had 45% less NOPM" in said


def test_the_settings_that_decide_what_a_commit_costs_are_with_the_machine() -> None:
    table = section(Brief(recorded()), "machine").tables[0]
    [said] = [value for name, value in (row.cells for row in table.rows) if name == SETTINGS]
    assert said.startswith("shared_buffers = 240MB, max_wal_size = ")
    assert "synchronous_commit = on" in said and "full_page_writes = on" in said
