"""Campaigns of one storage whose knees are at different numbers of users: what that explains by
itself is no difference.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import kneebench
from kneebench.analysis.comparison import compared_users
from kneebench.records import Climb, Configuration
from kneebench.results.cross_campaign import notes

SLOW = "slow drive"


def measured(folder: Path, seed: int, **changed: object) -> kneebench.Results:
    """The slow drive of the preset alone."""
    document = kneebench.preset("simulated").model_dump(mode="json", exclude_unset=True)
    model = {**document["storages"][SLOW]["simulated"], **changed}
    storages = {SLOW: {"simulated": model}}
    plan = kneebench.Plan.model_validate({**document, "seed": seed, "storages": storages})
    return kneebench.run(plan, folder / f"{seed}-{len(changed)}")


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> dict[int, kneebench.Results]:
    """The same model with three seeds; all three have the same id, in folders of their own."""
    folder = tmp_path_factory.mktemp("apart")
    return {seed: measured(folder, seed) for seed in (1, 3, 13)}


def test_the_same_storage_does_not_differ_where_its_knee_moved(
    campaigns: dict[int, kneebench.Results],
) -> None:
    one, other = campaigns[1], campaigns[13]
    assert (one.climbs[0].knee_users, other.climbs[0].knee_users) == (18, 12)
    compared = kneebench.compare(one, other)
    _, row = compared.rows
    assert row.against and row.latency_against
    assert row.against.ratio.high < 1 and not row.against.differs
    assert row.latency_against.ratio.high < 0.8 and not row.latency_against.differs
    assert "the knees are at different numbers of users (12 vs. 18)" in row.sentence
    said = "Cannot say: the knees are at different numbers of users (12 vs. 18)."
    assert [*notes(compared.rows)].count(said) == 1
    points = [point.against for trend in compared.trends for point in trend.points]
    assert [against.differs for against in points if against] == [False]


def test_knees_at_the_same_users_are_compared_as_before(
    campaigns: dict[int, kneebench.Results],
) -> None:
    _, row = kneebench.compare(campaigns[1], campaigns[3]).rows
    assert row.against and row.latency_against
    assert (row.against.doubt, row.latency_against.doubt) == ("", "")
    assert row.sentence.startswith("No difference shown in NOPM at the knee")


def test_a_large_difference_is_one_wherever_the_knees_are(
    campaigns: dict[int, kneebench.Results], tmp_path: Path
) -> None:
    faster = measured(tmp_path, 1, read_latency="400us", read_channels=16, log_latency="200us")
    assert faster.climbs[0].knee_users != campaigns[1].climbs[0].knee_users
    _, row = kneebench.compare(campaigns[1], faster).rows
    assert row.against and row.against.differs and row.against.ratio.low > 1.2


def knee(users: int, low: int, high: int) -> Climb:
    """A knee between two numbers of users."""
    drive = Configuration(id="drive", storage="drive")
    bracket = {"knee_users": users, "bracket": (low, high), "stopped_by": "log_write_latency"}
    return Climb(configuration=drive, rungs=(), **bracket)


def test_knees_do_not_contradict_each_other_if_the_interval_of_either_contains_the_other() -> None:
    wide, apart = knee(4, 3, 9), knee(20, 18, 22)
    narrow = knee(8, 7, 10)
    assert compared_users(wide, narrow) == 8
    assert compared_users(narrow, wide) == 4
    assert compared_users(narrow, apart) is compared_users(narrow, narrow) is None
