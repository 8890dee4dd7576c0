"""Situations with a known bottleneck, made for real (tests/recorded/situations.py): the verdict
names it, also in those that were held out while the rules were made.
"""

from __future__ import annotations

import pytest

from kneebench.analysis.bottleneck import bottleneck
from tests.recorded.situations import HELD_OUT, HERE, MOST_BYTES, SITUATIONS, kept


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_known_bottleneck_of_a_situation_is_named(name: str) -> None:
    found = bottleneck(kept(name))
    assert found.resource == SITUATIONS[name].answer, found.sentence


@pytest.mark.parametrize("name", [name for name in SITUATIONS if name != "load_generator"])
def test_a_situation_has_the_waits_of_every_class_sampled_ten_times_per_second(name: str) -> None:
    climb = kept(name)
    assert all(6 < (rung.quantity("waits.samples") or 0) < 11 for rung in climb.rungs)
    split = bottleneck(climb).time_split
    assert sum(one.share for one in split.values()) == pytest.approx(1)


def test_the_situations_are_seven_and_small_and_half_of_them_were_held_out() -> None:
    assert len(SITUATIONS) == len({one.answer for one in SITUATIONS.values()}) == 7
    assert len(HELD_OUT) >= len(SITUATIONS) // 2
    assert {*HELD_OUT} <= {*SITUATIONS}
    assert sum(file.stat().st_size for file in HERE.iterdir()) < MOST_BYTES
