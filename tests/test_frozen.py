"""A load generator that is stopped (SIGSTOP, as a paused virtual machine is) in the middle of a
window, on real servers.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kneebench import load
from kneebench.records import Rung
from tests import leftovers
from tests.loaded import shared_images
from tests.stand_in import BIN, GENERATOR, Postgres

FROZEN_S, WINDOW_S = 4.0, 2
PLAN = f"""
question = "What does a frozen load generator measure?"
meters = ["log_writes"]
[workload]
warehouses = 1
[database]
base_image_path = "{{images}}"
[ladder]
users = 2
warm_up = "1s"
window = "{WINDOW_S}s"
final_window = "{WINDOW_S}s"
checkpoints = 0
repeats = 0
[storages]
disk = {{{{ path = "disk" }}}}
"""
SCRIPT = f"""{GENERATOR}import time
for number in range(6):
    if number == 1:
        time.sleep(2.5)
    print(generator.tick()["late_s"], flush=True)
generator.stop()
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("frozen")
    (place / "disk").mkdir()
    (place / "plan.toml").write_text(PLAN.format(images=shared_images()))
    return place


def campaign(place: Path, out: str, freezes: int) -> tuple[int, list[dict[str, Any]], Rung]:
    """A campaign whose kneebench is stopped for some seconds in so many windows of its first rung:
    exit code, events, that rung.
    """
    command = [
        sys.executable,
        "-m",
        "kneebench",
        "run",
        "plan.toml",
        "--json",
        "--no-brief",
        "--out",
        out,
    ]
    environment = {**os.environ, "XDG_STATE_HOME": str(place / "state")}
    with subprocess.Popen(
        command,
        cwd=place,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            events = list(watched(process, freezes))
        finally:
            process.send_signal(signal.SIGCONT)
            process.send_signal(signal.SIGINT)
    (folder,) = (place / out).iterdir()
    return process.returncode, events, load(folder).climbs[0].of("fixed_load")[0]


def watched(process: subprocess.Popen[str], freezes: int) -> Iterator[dict[str, Any]]:
    """Its events to the end; frozen once in each window until it was so often enough."""
    measuring = False
    assert process.stdout
    for line in process.stdout:
        event = json.loads(line)
        began = not measuring and "fixed" in event["doing"] and event["doing"].endswith("measuring")
        measuring = event["doing"].endswith("measuring")
        if began and freezes:
            freezes -= 1
            process.send_signal(signal.SIGSTOP)
            time.sleep(FROZEN_S)
            process.send_signal(signal.SIGCONT)
        yield event


def warnings(events: list[dict[str, Any]]) -> list[str]:
    return [event["doing"] for event in events if event["kind"] == "warning"]


def test_a_window_in_which_kneebench_was_stopped_is_measured_again(place: Path) -> None:
    code, events, rung = campaign(place, "once", 1)
    first = (
        "fixed load on disk, 2 users: attempt 1 of 3 is invalid: the load generator stalled for "
    )
    assert any(first in warning for warning in warnings(events))
    assert "stalled" not in rung.invalid, (
        "another disturbance of the machine may still make it invalid"
    )
    assert rung.tally.window_s < WINDOW_S + FROZEN_S / 2
    assert [note for note in rung.notes if note.startswith("attempt 1 of ")]
    assert code in (0, 3, 4), "3 or 4 on a disturbed machine"


@pytest.mark.long
def test_a_rung_that_is_stopped_in_every_try_stays_invalid_and_the_exit_code_says_so(
    place: Path,
) -> None:
    code, events, rung = campaign(place, "always", 3)
    assert len(warnings(events)) == 2
    assert "the load generator stalled for " in rung.invalid
    assert code in (3, 4)


@pytest.mark.postgres15
@pytest.mark.skipif(not BIN.exists(), reason="needs Debian's PostgreSQL 15")
def test_the_load_generators_clock_is_late_when_it_was_stopped_and_not_when_nobody_ticks() -> None:
    folder = Path(leftovers.folder("frozen"))
    folder.chmod(0o755)
    server = Postgres(folder)
    command = [sys.executable, "-c", SCRIPT, json.dumps(server.values())]
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            late_s = [float(process.stdout.readline()) for _ in range(3)]
            process.send_signal(signal.SIGSTOP)
            began_s = time.monotonic()
            time.sleep(FROZEN_S)
            process.send_signal(signal.SIGCONT)
            frozen_s = time.monotonic() - began_s
            late_s += [float(line) for line in process.stdout]
    finally:
        server.stop()
        shutil.rmtree(folder)
    assert max(late_s[:3]) < 2, "the second tick was asked for 2.5 s late"
    assert max(late_s[3:]) == pytest.approx(frozen_s, abs=1.5)
