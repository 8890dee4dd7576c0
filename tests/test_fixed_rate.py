"""A fixed rate that the plan sets: measured as ordered, with a caveat where it exceeds a knee."""

from __future__ import annotations

from pathlib import Path

import pytest

from kneebench import run
from kneebench.analysis.fixed_rate import fixed_rate_latency, rate_caveats
from kneebench.plan.preset import preset_text
from kneebench.plan.reader import parse_plan
from kneebench.records import Event, Results
from kneebench.screen.summary import printed
from tests.terminal import drawn

SHORT = preset_text("simulated").replace("[1, 256]", "[4, 64]").replace('"60s"', '"10s"')


def measured(root: Path, rate: str) -> tuple[Results, list[str]]:
    text = SHORT.replace("repeats ", f'latency_rate = "{rate}"\nrepeats ', 1)
    warnings = []

    def watch(event: Event) -> None:
        warnings.extend([event.doing] if event.kind == "warning" else [])

    return run(parse_plan(text), root, watch=watch), warnings


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_every_storage_is_measured_at_the_rate_of_the_plan(tmp_path: Path) -> None:
    results, warnings = measured(tmp_path, "24000/min")
    rates = [found.rate_per_s for climb in results.climbs if (found := fixed_rate_latency(climb))]
    assert rates == [400.0, 400.0]
    assert (warnings, rate_caveats(results.climbs)) == ([], ())


def test_a_rate_beyond_a_knee_is_a_warning_and_a_caveat(tmp_path: Path) -> None:
    results, warnings = measured(tmp_path, "1600/s")
    (caveat,) = rate_caveats(results.climbs)
    assert "1,600 transactions/s saturates slow drive" in caveat
    assert any("saturates slow drive" in warning for warning in warnings)
    assert "CAVEAT  The fixed rate of 1,600" in drawn(*printed(results), width=200)
