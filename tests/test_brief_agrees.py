"""The brief against its own figures: one thing has one number, and what bears on a comparison is
said beside it.
"""

from __future__ import annotations

import json
import re
from functools import partial
from statistics import geometric_mean

import pytest

from kneebench.analysis.bottleneck import bottleneck
from kneebench.analysis.configuration_summary import configuration_summaries
from kneebench.brief import Brief
from kneebench.brief.sections.over_time import _Read
from kneebench.records import Results, Rung, Series
from tests.recordings import (
    each,
    metered,
    recorded,
    section,
    with_latency,
    with_order,
    with_rungs,
    with_share_of_new_orders,
    with_tally,
)


@pytest.fixture(scope="module")
def results() -> Results:
    return recorded()


def cautions(results: Results) -> str:
    return " ".join(section(Brief(results), "cautions").sentences)


def test_the_log_write_at_the_knee_is_one_number_wherever_it_stands(results: Results) -> None:
    took = iter((0.001, 0.004, 0.004))
    rungs = tuple(
        metered(r, log__write_latency=next(took)) if r.order.phase == "final_run" else r
        for r in results.climbs[0].rungs
    )
    results = with_rungs(results, 0, rungs)
    brief = Brief(results)
    said = "2.52 ms"  # the geometric mean, as of throughput
    (table, *_), (figure,) = section(brief, "glance").tables, section(brief, "log-writes").figures
    assert table.rows[0].cells[6] == said
    assert f"disk {said}" in figure.caption
    assert f"a log write took {said}" in " ".join(bottleneck(results.climbs[0]).evidence)
    told = configuration_summaries(results)[0].log_write_s
    assert told
    assert told.value == pytest.approx(0.00252, rel=0.01)


def test_the_mean_latency_at_the_knee_is_one_number_wherever_it_stands(results: Results) -> None:
    took = iter((0.002, 0.008, 0.008))
    rungs = tuple(
        with_latency(r, mean_s=next(took)) if r.order.phase == "final_run" else r
        for r in results.climbs[0].rungs
    )
    brief = Brief(with_rungs(results, 0, rungs))
    said = "5.04 ms"  # the geometric mean, as of throughput
    (table, *_), (figure, *_) = section(brief, "glance").tables, section(brief, "relative").figures
    assert table.rows[0].cells[4].startswith(f"{said}\n(")
    assert f"disk {said}" in figure.caption
    (split,) = section(brief, "evidence").figures
    assert f'"whole": "{said}"' in json.dumps(split.spec)


def test_the_commits_per_flush_at_the_knee_are_one_number_wherever_they_stand(
    results: Results,
) -> None:
    shared = iter((1.0, 4.0, 4.0))
    rungs = tuple(
        metered(r, log__commits_per_flush=next(shared)) if r.order.phase == "final_run" else r
        for r in results.climbs[0].rungs
    )
    brief = Brief(with_rungs(results, 0, rungs))
    said = "2.52 commits per flush"
    (figure,) = section(brief, "log-writes").figures
    assert said in figure.caption
    disk = section(brief, "evidence").tables[0]
    [log] = [row for row in disk.rows if row.cells[0] == "Log"]
    assert said in " ".join(log.cells)


def test_a_single_user_is_never_several(results: Results) -> None:
    for climb in range(2):
        results = each(results, climb, lambda rung: with_order(rung, users=1))
    climbs = (one.model_copy(update={"knee_users": 1}) for one in results.climbs)
    brief = Brief(results.model_copy(update={"climbs": tuple(climbs)}))
    said = " ".join(section.model_dump_json() for section in brief.sections)
    assert "at 1 user" in said
    assert not re.findall(r".{40}\b1 users.{20}", f"{brief.title} {brief.subtitle} {said}")


def test_the_rate_for_latency_is_told_as_a_share_of_the_knee_that_the_page_shows(
    results: Results,
) -> None:
    brief = Brief(results)
    mean, _ = section(brief, "latency").figures
    rate = next(rung.order.rate_per_s for rung in results.climbs[0].of("fixed_rate"))
    assert rate
    told = re.search(r", (\d+)% of the throughput of (\w+) at its knee", mean.caption)
    assert told
    knees = {
        climb.id: geometric_mean(r.tpm for r in climb.of("final_run")) for climb in results.climbs
    }
    slowest = min(knees, key=lambda configuration: knees[configuration])
    assert told[2] == slowest
    assert int(told[1]) == pytest.approx(100 * 60 * rate / knees[slowest], abs=1)


def test_a_percentile_at_the_knee_with_too_few_samples_says_so(results: Results) -> None:
    disk, memory = results.climbs
    assert sum(rung.tally.latency.n for rung in disk.of("final_run")) < 100_000
    runs = memory.of("final_run")
    enough = 100_000 // sum(rung.tally.latency.n for rung in runs) + 1
    more = (with_order(run, repeat=run.order.repeat + 3 * n) for n in range(enough) for run in runs)
    table, *_ = section(Brief(with_rungs(results, 1, (*memory.rungs, *more))), "glance").tables
    assert table.rows[0].cells[5].endswith("\n(n too small)")
    assert "n too small" not in table.rows[1].cells[5]


def test_seconds_in_which_the_database_told_of_nothing_are_no_seconds_without_log(
    results: Results,
) -> None:
    def course(quantity: str, *values: float) -> Series:
        return Series(
            quantity=quantity, source="", unit="", at_s=(1.0, 2.0, 3.0, 4.0), value=values
        )

    given = [
        course("log.bytes", 3e6, 0.0, 3e6, 0.0),
        course("database.commits", 9.0, 0.0, 9.0, 0.0),
        course("load.transactions", 9.0, 9.0, 9.0, 0.0),
    ]
    read = _Read(results.climbs[0].rungs[0], given)
    assert [(point["at"], point["value"]) for point in read.traffic if point["kind"] == "log"] == [
        (1, 3.0),
        (3, 3.0),
        (4, 0.0),
    ]


def test_the_logs_traffic_is_what_a_transaction_logged_times_the_transactions_of_the_window(
    results: Results,
) -> None:
    def lags(rung: Rung) -> Rung:
        each_logged = 1e6 / rung.tally.throughput_per_s
        return metered(rung, log__bytes=1.0, log__bytes_per_transaction=each_logged)

    lagging = each(results, 0, lags, "final_run")
    figure = section(Brief(lagging), "over-time").figures[0]
    assert figure.title.endswith(" and 1.00 MB/s log")


def as_in_the_climb(results: Results) -> Results:
    """The results with the climb's own tally of its knee in the final runs, and of its first rung
    in the drift check.
    """
    for number, climb in enumerate(results.climbs):
        searched = {rung.users: rung.tally for rung in climb.of("search", "bisection")}
        results = each(
            results,
            number,
            lambda rung, tallies=searched: rung.model_copy(update={"tally": tallies[rung.users]}),
            "final_run",
            "drift_check",
        )
    return results


def half_as_fast(rung: Rung) -> Rung:
    return with_tally(rung, window_s=2 * rung.tally.window_s)


def test_a_ratio_that_the_climbs_do_not_confirm_has_theirs_beside_it(results: Results) -> None:
    results = as_in_the_climb(results)
    assert "climbs gave" not in cautions(results)
    doubled = partial(with_share_of_new_orders, share=2.0)
    apart = cautions(each(results, 1, doubled, "final_run"))
    found = re.search(r"Memory: the climbs gave (.+)x at the knees, the final runs (.+)x \(", apart)
    assert found and float(found[2]) == pytest.approx(2 * float(found[1]), rel=0.05)
    both = each(each(results, 0, doubled, "final_run"), 1, doubled, "final_run")
    assert "climbs gave" not in cautions(both)


def test_a_report_that_does_not_find_the_climbs_knee_again_says_so(results: Results) -> None:
    results = as_in_the_climb(results)
    assert "is from the climb" not in cautions(results)
    halved = partial(with_share_of_new_orders, share=0.5)
    knee = results.climbs[0].knee_users
    assert re.search(
        rf"less than the best search rung: 50(\.\d)?% \([\d,]+ NOPM at {knee} users\) on disk",
        cautions(each(results, 0, halved, "final_run")),
    )
    doubled = partial(with_share_of_new_orders, share=2.0)
    assert re.search(
        rf"Disk: the final runs had [\d.]+% more NOPM than the climb \([\d,]+ at {knee} users\)",
        cautions(each(results, 0, doubled, "final_run")),
    )
    assert "Drift" not in cautions(results)
    first = results.climbs[0].of("search")[0].users
    assert f"Disk: Drift: the first rung ({first} users), repeated last, was 50% slower" in (
        cautions(each(results, 0, half_as_fast, "drift_check"))
    )
