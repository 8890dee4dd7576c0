"""The plan's stop limits hold for the analysis too: for the interval of the knee's users and for
the bottleneck.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kneebench.analysis.bottleneck import bottleneck
from kneebench.analysis.knee import knee
from kneebench.plan.study import Study
from kneebench.records import Climb, Limits
from kneebench.results import campaign_reader, load
from tests.recorded.record import unpack
from tests.recordings import (
    PLATEAU,
    metered,
    recorded,
    recorded_plan,
    resolve_document,
    with_throughput,
)


def asked(folder: Path, **stops: dict[str, object]) -> Climb:
    """The recorded climb on disk, as if its plan had named these limits."""
    head = folder / "campaign.json"
    document = json.loads(head.read_text())
    document["plan"]["ladder"]["stops"] = {**document["plan"]["ladder"]["stops"], **stops}
    document["resolved"] = resolve_document(document["plan"]).model_dump(mode="json")
    head.write_text(json.dumps(document))
    return load(folder).climbs[0]


def bent(climb: Climb) -> Climb:
    """The climb with throughput that grows by 23% per doubling up to 4 users, its knee, and by 1%
    beyond.
    """

    def throughput(users: float) -> float:
        return 1000 * min(users / 4, 1) ** 0.3 * max(users / 4, 1) ** 0.014

    rungs = tuple(with_throughput(rung, throughput(rung.users)) for rung in climb.rungs)
    return climb.model_copy(update={"rungs": rungs, "knee_users": 4, "bracket": (4, 4)})


def slow_log(climb: Climb) -> Climb:
    """The climb with log writes of 2 ms, for which its users hardly wait."""
    rungs = (metered(rung, log__write_latency=0.002, waits__log=0.01) for rung in climb.rungs)
    return climb.model_copy(update={"rungs": tuple(rungs)})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return unpack(PLATEAU, tmp_path)


def test_the_defaults_are_those_of_a_plan_that_names_no_limit() -> None:
    configuration = recorded().climbs[0].configuration
    storages = Study(recorded_plan(ladder={})).resolved.storages
    assert storages[configuration.storage].limits == Limits()


def test_the_interval_of_the_knee_s_users_follows_the_plan_s_elasticity(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The climb was measured under another elasticity, so its rungs would give another knee."""
    monkeypatch.setattr(campaign_reader, "require_climbs", lambda *judged: None)
    usual, strict, lax = (
        knee(bent(asked(folder, plateau={"elasticity": limit, "steps": 2})))
        for limit in (0.07, 0.005, 0.5)
    )
    assert usual and strict and lax
    assert strict.users.high >= usual.users.high, "growth of 0.5% counts, too"
    assert lax.users.high < usual.users.high, "only growth above 50% counts, so it is at fewer"


def test_the_bottleneck_judges_the_log_by_the_plan_s_limit_and_prints_it(folder: Path) -> None:
    within, beyond = (
        bottleneck(slow_log(asked(folder, log_latency={"limit": limit})))
        for limit in ("2.1ms", "1.9ms")
    )
    told = [next(line for line in found.evidence if " log: " in line) for found in (within, beyond)]
    assert told[0].startswith("against") and told[1].startswith("for")
    assert "2 ms (mean of the window, limit 2.1 ms)" in told[0]
    assert "2 ms (mean of the window, limit 1.9 ms)" in told[1]


def test_the_bottleneck_judges_the_cores_by_the_plan_s_limit_and_prints_it(folder: Path) -> None:
    found = bottleneck(asked(folder, saturation={"busy": 0.42, "elasticity": 0.1}))
    assert any("(limit 42%)" in line for line in found.evidence), found.evidence
