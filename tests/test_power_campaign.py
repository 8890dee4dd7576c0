"""A campaign on the embedded PostgreSQL with a meter that is a program, which models power from CPU
and disk activity and counts it itself.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from pathlib import Path
from statistics import geometric_mean

import pytest

from kneebench import Brief, compare, run
from kneebench.analysis.power import at_the_knee
from kneebench.plan import Plan
from kneebench.records import Climb, PowerWindow

MODEL = Path(__file__).with_name("modelled_power.py")
CLOSE = 0.05
"""A line of the program may arrive late on a busy machine; windows are short."""


class Truth:
    """The energy that the program counted, by the machine's clock."""

    def __init__(self, file: Path) -> None:
        rows = [line.split() for line in file.read_text().splitlines()[:-1]]
        self._at = [float(at) for at, _ in rows]
        self._joules = [float(joules) for _, joules in rows]

    def watts(self, window: PowerWindow) -> float:
        return (self._until(window.ended_at) - self._until(window.began_at)) / window.seconds

    def _until(self, at: float) -> float:
        n = bisect_right(self._at, at) - 1
        share = (at - self._at[n]) / (self._at[n + 1] - self._at[n])
        return self._joules[n] + share * (self._joules[n + 1] - self._joules[n])


def own_value(climb: Climb, truth: Truth) -> float:
    """mW/NOPM of the final runs by the program's own count."""
    rungs = [rung for rung in climb.of("final_run") if rung.power and not rung.invalid]
    return geometric_mean([1000 * truth.watts(r.power) / r.tally.nopm for r in rungs if r.power])


def plan_of(place: Path, counted: Path) -> Plan:
    meter = {
        "name": "model",
        "type": "command",
        "scope": "wall",
        "unit": "J",
        "command": [sys.executable, str(MODEL), str(counted), "J"],
        "covers": ["this machine"],
        "accuracy": "0.5%",
    }
    return Plan.model_validate(
        {
            "question": "Which of two directories takes less?",
            "workload": {"warehouses": 1},
            "database": {"base_image_path": str(place / "image")},
            "power": {"idle": "5s", "load_step": False, "meters": [meter]},
            "ladder": {
                "users": 2,
                "warm_up": "2s",
                "final_window": "8s",
                "checkpoints": 0,
                "rounds": "short",
                "restore_every": 4,
                "repeats": 4,
                "fixed_rate_share": 0,
            },
            "storages": {"one": {"path": "one"}, "two": {"path": "two"}},
        }
    )


@pytest.mark.long
@pytest.mark.timeout(600)
def test_the_brief_has_the_power_per_nopm_of_two_storages(own_place: Path) -> None:
    counted = own_place / "counted"
    for name in ("one", "two"):
        (own_place / name).mkdir()
    results = run(plan_of(own_place, counted), own_place / "out")
    truth, power = Truth(counted), results.campaign.power
    assert power is not None
    for climb in results.climbs:
        for rung in climb.rungs:
            assert rung.power
            [one] = rung.power.meters
            assert one.watts == pytest.approx(truth.watts(rung.power), rel=CLOSE), one
        found = at_the_knee(climb, power)
        assert found is not None
        assert found.mw_per_nopm.low <= own_value(climb, truth) <= found.mw_per_nopm.high
    first, second = (own_value(climb, truth) for climb in results.climbs)
    [ratio] = [c.ratio for c in compare(results) if c.quantity == "power.per_nopm"]
    assert ratio.low <= second / first <= ratio.high
    for window in power.idle.values():
        assert window.system_w == pytest.approx(truth.watts(window), rel=CLOSE)
    assert power.lags == {}  # beside other tests a load of two users may not be seen
    assert 0 < power.cost["model"] < 0.2
    sections = {one.name: one for one in Brief(results).sections}
    caption = sections["power"].figures[0].caption
    assert "at the wall, of this machine" in caption
    assert "±0.5%" in caption
    said = sections["power"].sentences[0]
    assert re.search(r"Power without load was measured for 5(\.\d+)? s only", said), said
