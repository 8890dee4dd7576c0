"""Recordings of real campaigns are read and made into briefs, with the noise that they have."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from kneebench.analysis.comparison import compare
from kneebench.analysis.configuration_summary import configuration_summaries
from kneebench.brief import Brief
from kneebench.records import Results
from tests.recorded.record import RECORDINGS, why_not
from tests.recordings import PLATEAU, recorded


@pytest.fixture(scope="module", params=RECORDINGS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def results(name: str) -> Results:
    return recorded(name)


def test_a_recording_is_read_and_is_an_example_of_what_its_name_says(
    name: str, results: Results
) -> None:
    assert why_not(RECORDINGS[name], results) == ""
    assert not results.campaign.simulated
    assert all(
        rung.quantity("cores.busy") and rung.tally.window.completed
        for climb in results.climbs
        for rung in climb.rungs
    )


def test_the_counts_of_a_real_rung_agree_with_the_database(results: Results) -> None:
    """Those of the database and those of the users: on a busy machine too, other than times."""
    failed = {
        check.name
        for climb in results.climbs
        for rung in climb.rungs
        for check in rung.checks
        if not check.passed
    }
    assert failed <= {"little"}


def test_the_brief_of_a_real_campaign_agrees_with_its_summaries(results: Results) -> None:
    brief = Brief(results)
    assert brief.title
    assert len(brief.html()) > 20_000
    for found in configuration_summaries(results):
        assert found.nopm is None or found.nopm.low <= found.nopm.value <= found.nopm.high


def test_the_ratio_of_two_recorded_storages_is_that_of_their_paired_runs() -> None:
    """Mean and Student's t of the logarithms."""
    results = recorded(PLATEAU)
    disk, memory = (
        np.log([rung.tally.nopm for rung in climb.of("final_run")]) for climb in results.climbs
    )
    logs = memory - disk
    error = stats.t.ppf(0.975, len(logs) - 1) * stats.sem(logs)
    found = compare(results)[0].ratio
    assert (found.low, found.value, found.high) == pytest.approx(
        tuple(np.exp(logs.mean() + side * error) for side in (-1, 0, 1)), rel=1e-3
    )
    more = f"{100 * (found.value - 1):.0f}% more"
    assert f"{found.value:.2f}x, {more} (95% CI {found.low:.2f}x to {found.high:.2f}x, n=3)" in (
        Brief(results).subtitle
    )
