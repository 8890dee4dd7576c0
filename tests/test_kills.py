"""Campaigns killed at random moments: nothing is lost, nothing left, the brief is written (`python
-m tests.kills` does many more).
"""

from __future__ import annotations

import pytest

from tests.kills import kill


@pytest.mark.timeout(900)
def test_kills_at_random_moments_lose_nothing_and_leave_nothing(
    request: pytest.FixtureRequest,
) -> None:
    count = 20 if request.config.getoption("--long") else 2
    assert kill(count, seed=9300) >= count
