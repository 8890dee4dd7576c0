"""The preset of emulated drives gives the answers that are known beforehand, as it was measured."""

from __future__ import annotations

import pytest

from kneebench import preset
from kneebench.analysis.bottleneck import bottleneck
from kneebench.analysis.comparison import compare
from kneebench.plan import Plan
from kneebench.plan.drive_class import class_limits
from kneebench.records import Results
from tests.recordings import recorded

FOUR, EIGHT, WITH_LOG = "4 drives", "8 drives", "2 drives, with the log"


@pytest.fixture(scope="module")
def results() -> Results:
    return recorded("emulated")


def test_the_recording_is_of_the_preset_as_it_is(results: Results) -> None:
    measured = Plan.model_validate(results.campaign.plan)
    by_the_campaign = {"database": {"restore"}}
    assert measured.model_dump(exclude=by_the_campaign) == preset("emulated").model_dump(
        exclude=by_the_campaign
    )
    assert results.finished


def test_four_more_drives_buy_what_their_limits_say(results: Results) -> None:
    """Writes limit both: far below what two cores do, and below what four drives read."""
    storages = preset("emulated").storages
    known = class_limits(storages[EIGHT])["write"] / class_limits(storages[FOUR])["write"]
    assert known == 2
    names = {climb.id: climb.configuration.storage for climb in results.climbs}
    [found] = [
        one
        for one in compare(results)
        if one.quantity == "nopm" and names[one.configuration] == EIGHT
    ]
    assert names[found.baseline] == FOUR
    assert found.differs
    assert found.ratio.value == pytest.approx(known, rel=0.05)
    assert found.ratio.high / found.ratio.low < 1.05


def test_throughput_stops_growing_and_a_log_that_is_kept_with_the_data_stops_its_climb(
    results: Results,
) -> None:
    stopped = {climb.configuration.storage: climb.stopped_by for climb in results.climbs}
    assert stopped == {FOUR: "plateau", EIGHT: "plateau", WITH_LOG: "log_latency"}


def test_writes_limit_all_three_though_users_wait_for_reads_behind_them(results: Results) -> None:
    found = {climb.configuration.storage: bottleneck(climb) for climb in results.climbs}
    assert {name: one.resource for name, one in found.items()} == dict.fromkeys(
        (FOUR, EIGHT, WITH_LOG), "data writes"
    )
    assert "of its raw writes (limit 80%)" in found[FOUR].sentence
    assert "also over its limit" not in found[FOUR].sentence


def test_both_stripes_write_as_much_as_their_limits_allow(results: Results) -> None:
    """So the ratio is that of the limits: the data's device is the one that writes more."""
    for climb in results.climbs:
        if climb.configuration.storage == WITH_LOG:
            continue
        limit = class_limits(preset("emulated").storages[climb.configuration.storage])["write"]
        for rung in climb.of("final_run"):
            written = max(rung.quantities["device.writes"].sources.values())
            assert written == pytest.approx(limit, rel=0.02)
