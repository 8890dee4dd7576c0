"""Campaigns killed at random moments: nothing is lost, nothing left, the brief is written (`python
-m tests.kills` does many more).
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.kills import kill


@pytest.mark.timeout(900)
def test_kills_at_random_moments_lose_nothing_and_leave_nothing(
    seeds: Callable[[int], range],
) -> None:
    count = len(seeds(20))
    assert kill(count, seed=9300) >= count
