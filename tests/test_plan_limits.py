"""The plan's stop limits hold for the analysis too: for the interval of the knee's users and for
the bottleneck.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from recorded import make

from kneebench.analysis.bottleneck import bottleneck
from kneebench.analysis.knee import final_rungs, knee
from kneebench.plan import Plan
from kneebench.records import Climb, Limits
from kneebench.results import load
from kneebench.results.campaign_reader import _limits


def asked(folder: Path, **stops: dict[str, object]) -> Climb:
    """The recorded climb on disk, as if its plan had named these limits."""
    head = folder / "campaign.json"
    document = json.loads(head.read_text())
    document["plan"]["ladder"]["stops"] = {**document["plan"]["ladder"]["stops"], **stops}
    head.write_text(json.dumps(document))
    return load(folder).climbs[0]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make.copied(tmp_path)


def test_the_defaults_are_those_of_a_plan_that_names_no_limit() -> None:
    assert _limits(Plan.model_validate(make.PLAN)) == Limits()


def test_the_interval_of_the_knee_s_users_follows_the_plan_s_elasticity(folder: Path) -> None:
    usual, strict, lax = (
        knee(asked(folder, plateau={"elasticity": limit, "steps": 2}))
        for limit in (0.07, 0.005, 0.5)
    )
    assert usual and strict and lax
    assert strict.users.high >= usual.users.high, "growth of 0.5% counts, too"
    assert lax.users.low < usual.users.low, "only growth above 50% counts, so it may be at fewer"


def test_the_bottleneck_judges_the_log_by_the_plan_s_limit_and_prints_it(folder: Path) -> None:
    took_s = final_rungs(load(folder).climbs[0])[0].quantities["log.write_latency"].value
    within, beyond = (
        bottleneck(asked(folder, log_latency={"limit": share * took_s})) for share in (2.0, 0.5)
    )
    told = [next(line for line in found.evidence if " log: " in line) for found in (within, beyond)]
    assert told[0].startswith("against") and told[1].startswith("for")
    assert "limit 5 ms" not in " ".join(told)


def test_the_bottleneck_judges_the_cores_by_the_plan_s_limit_and_prints_it(folder: Path) -> None:
    found = bottleneck(asked(folder, saturation={"busy": 0.42, "elasticity": 0.1}))
    assert any("(limit 42%)" in line for line in found.evidence), found.evidence
