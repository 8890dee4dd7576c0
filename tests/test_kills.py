"""Campaigns killed at random moments: nothing is lost, nothing left, the brief is written (`python
tests/kills.py` does many more).
"""

from __future__ import annotations

import pytest
from kills import kill


@pytest.mark.timeout(900)
def test_thirty_kills_at_random_moments_lose_nothing_and_leave_nothing() -> None:
    assert kill(30, seed=9300) >= 30
