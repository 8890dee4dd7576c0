"""Runs that write to drives are killed, the owner takes his drive back, `clean` is run: no byte of
the owner's has changed, and his drive does not count as blank.
"""

from __future__ import annotations

import os

import pytest

from kneebench.lab.programs import found
from tests import drive_kills
from tests.loop_devices import needs_emulation
from tests.parameters import some

KILLS, ALWAYS = 60, 6
SEED = 7351

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices and mounts"),
    pytest.mark.skipif(not (found("fio") and found("sfdisk")), reason="needs fio and fdisk"),
    needs_emulation,
]


@pytest.mark.parametrize("number", some(range(KILLS), range(ALWAYS)))
def test_a_drive_that_is_taken_back_after_a_kill_keeps_every_byte(number: int) -> None:
    assert drive_kills.kill(SEED, number)
