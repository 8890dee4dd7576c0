"""The answer table: the latency of a line belongs to its NOPM; that at the fixed rate has a block
of its own, with its rate and share.
"""

from __future__ import annotations

import re
from statistics import geometric_mean

import pytest

from kneebench.analysis.configuration_summary import configuration_summaries
from kneebench.analysis.fixed_rate import fixed_rate_latency
from kneebench.analysis.knee import knee
from kneebench.brief.terminal import Fitted
from kneebench.records import Results
from kneebench.screen.tables import configuration_summaries as tables
from kneebench.units import time
from tests.recordings import recorded
from tests.terminal import drawn


@pytest.fixture(scope="module", params=["plateau", "log_bound", "saturated"])
def results(request: pytest.FixtureRequest) -> Results:
    return recorded(request.param)


def rate_of(results: Results) -> float:
    """Transactions per second at the fixed rate."""
    (rate,) = {r.order.rate_per_s for climb in results.climbs for r in climb.of("fixed_rate")}
    assert rate
    return rate


def test_the_latency_below_a_nopm_is_that_of_the_same_rungs(results: Results) -> None:
    rate = f"{rate_of(results):,.0f}/s"
    text = drawn(Fitted(tables(configuration_summaries(results))))
    above, heading, below = text.partition(f"fixed rate, {rate}")
    assert heading
    mean = next(line for line in above.splitlines() if line.startswith("mean latency"))
    for climb in results.climbs:
        found = knee(climb)
        assert found and time(found.latency_s.value) in mean
    assert rate not in above
    assert "NOPM" not in below


def test_the_latency_at_the_fixed_rate_stands_apart_with_its_rate_and_its_share_of_each_knee(
    results: Results,
) -> None:
    text = drawn(Fitted(tables(configuration_summaries(results))))
    rate = f"{rate_of(results):,.0f}/s"
    shares = [
        f"{60 * rate_of(results) / geometric_mean(r.tpm for r in climb.of('final_run')):.0%}"
        for climb in results.climbs
    ]
    of_knees = " +".join(f"{share} of its knee" for share in shares)
    assert re.search(rf"\n +\nfixed rate, {rate} +{of_knees} +\n", text), text
    means = " .*".join(
        time(geometric_mean(r.tally.latency.mean_s for r in climb.of("fixed_rate")))
        for climb in results.climbs
    )
    assert re.search(rf"\nmean latency at {rate} +{means} .*\nP99\.9 latency at {rate} ", text), (
        text
    )


def test_an_answer_for_programs_keeps_the_two_latencies_apart_too(results: Results) -> None:
    for summary, climb in zip(configuration_summaries(results), results.climbs, strict=True):
        found, rate = knee(climb), fixed_rate_latency(climb)
        assert found and rate and rate.share and summary.fixed_rate
        assert (summary.mean_s, summary.p999_s) == (found.latency_s, found.p999_s)
        assert (summary.fixed_rate.mean_s, summary.fixed_rate.share) == (rate.mean_s, rate.share)
        assert rate.share == pytest.approx(60 * rate.rate_per_s / found.tpm.value)


def test_without_a_fixed_rate_there_is_no_block_for_it(results: Results) -> None:
    climbs = tuple(
        climb.model_copy(
            update={"rungs": tuple(r for r in climb.rungs if r.order.phase != "fixed_rate")}
        )
        for climb in results.climbs
    )
    assert "fixed rate" not in drawn(
        Fitted(tables(configuration_summaries(results.model_copy(update={"climbs": climbs}))))
    )
