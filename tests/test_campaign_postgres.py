"""The main job on the embedded PostgreSQL, small: two storages, killed servers, a killed
kneebench.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from kneebench import load
from kneebench.analysis.outcome import conditions
from kneebench.cli import app
from tests.loaded import shared_images

KNEEBENCH = [sys.executable, "-m", "kneebench"]
PLAN = """
question = "A small campaign for the tests"
[workload]
warehouses = 1
[database]
base_image_path = "IMAGES"
[ladder]
users = [1, 2]
step = 2
climb_again = false
warm_up = "1s"
window = "1s"
final_window = "1s"
fixed_rate_share = 0
checkpoints = 0
rounds = "short"
repeats = 2
[storages]
disk = { path = "disk" }
memory = { path = "memory" }
""".replace("IMAGES", str(shared_images()))
ENDED_EARLY = PLAN.replace("users = [1, 2]", "users = 2").replace("repeats = 2", "repeats = 0")
"""For campaigns that are killed: a fixed load, which has fewer rungs."""
LONG_WINDOWS = PLAN.replace('window = "1s"', 'window = "4s"')
"""For what must happen within one."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with a plan."""
    place = tmp_path_factory.mktemp("bench")
    (place / "disk").mkdir()
    (place / "plan.toml").write_text(PLAN)
    (place / "ended early.toml").write_text(ENDED_EARLY)
    (place / "long windows.toml").write_text(LONG_WINDOWS)
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        Path(memory).chmod(0o755)
        (place / "memory").symlink_to(memory)
        yield place


@pytest.fixture
def started(place: Path, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A campaign under way, in a process of its own."""
    process = start(place, "killed")
    yield process
    process.kill()
    process.wait()
    clean(place)


def environment(place: Path) -> dict[str, str]:
    return {**os.environ, "XDG_STATE_HOME": str(place / "state")}


def kneebench(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*KNEEBENCH, *words],
        cwd=place,
        env=environment(place),
        capture_output=True,
        text=True,
        timeout=280,
    )


def clean(place: Path) -> int:
    """The command in this process."""
    return CliRunner(env=environment(place)).invoke(app, ["clean"]).exit_code


def start(place: Path, out: str, plan: str = "ended early.toml") -> subprocess.Popen[str]:
    command = [*KNEEBENCH, "run", plan, "--json", "--out", out]
    return subprocess.Popen(
        command,
        cwd=place,
        env=environment(place),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_rungs(place: Path, out: str, count: int) -> None:
    deadline = time.monotonic() + 120
    while len(list((place / out).glob("*/rungs/*.json"))) < count:
        assert time.monotonic() < deadline, "no rung was kept in time"
        time.sleep(0.1)


def servers(place: Path) -> list[psutil.Process]:
    """The postmasters that this place's campaigns have running, and nobody else's."""
    here = (str(place), str((place / "memory").resolve()))
    running = psutil.process_iter(["name", "cmdline"])
    lines = (
        (process, " ".join(process.info["cmdline"] or []))
        for process in running
        if process.info["name"] == "postgres"
    )
    return [
        process for process, line in lines if " -D " in line and any(path in line for path in here)
    ]


def test_a_campaign_on_two_storages_ends_with_a_brief(place: Path) -> None:
    done = kneebench(place, "run", "plan.toml", "--json", "--out", "whole")
    assert done.returncode in (0, 3, 4), done.stderr
    folder = next((place / "whole").iterdir())
    page = (folder / "brief.html").read_text()
    assert "not comparable with TPC" in page
    results = load(folder)
    assert results.finished
    assert {climb.configuration.storage for climb in results.climbs} == {"disk", "memory"}
    undisturbed = not any(rung.invalid for climb in results.climbs for rung in climb.rungs)
    for climb in results.climbs:
        asked = [checks for _, checks in conditions(climb)]
        if undisturbed:
            assert climb.knee_users
            final = climb.of("final_run")
            restores = {rung.order.restore for rung in final}
            assert len(final) == 2 * len(restores), "two rounds; and two at a smaller load"
            assert len(asked) == 1 + len(restores), "after the climb, and after each two rounds"
        assert {len(checks) for checks in asked} == {12}
        assert [check for checks in asked for check in checks if not check.passed] == []
        exact = [
            check
            for rung in climb.rungs
            for check in rung.checks
            if check.name in ("identity", "new_orders", "rollbacks")
        ]
        assert len(exact) == 3 * len(climb.rungs)
        assert [check for check in exact if not check.passed] == []
    before, after = results.campaign.drives_before, results.campaign.drives_after
    assert [drive.name for drive in after] == [drive.name for drive in before]
    assert all(
        (a.boot_written_bytes or 0) >= (b.boot_written_bytes or 0)
        for a, b in zip(after, before, strict=True)
    )
    assert servers(place) == []
    assert [p.name for p in (place / "disk").iterdir()] == []


def test_after_kill_9_of_kneebench_clean_leaves_nothing_and_the_next_run_goes_on(
    place: Path, started: subprocess.Popen[str]
) -> None:
    wait_for_rungs(place, "killed", 1)
    time.sleep(1)
    started.send_signal(signal.SIGKILL)
    started.wait()
    kept = {p.name: p.read_bytes() for p in (place / "killed").glob("*/rungs/*.json")}
    assert clean(place) == 0
    assert servers(place) == []
    assert list((place / "disk").iterdir()) == []
    done = kneebench(place, "run", "ended early.toml", "--json", "--no-brief", "--out", "killed")
    assert done.returncode in (0, 3, 4), done.stderr
    assert len(list((place / "killed").glob("*/campaign.json"))) == 1
    for name, content in kept.items():
        assert next((place / "killed").glob(f"*/rungs/{name}")).read_bytes() == content


@pytest.mark.long
def test_a_server_killed_in_mid_rung_is_a_clear_error_and_what_was_measured_stays(
    place: Path,
) -> None:
    process = start(place, "lost", "long windows.toml")
    wait_for_rungs(place, "lost", 1)
    time.sleep(1.5)
    for server in servers(place):
        server.send_signal(signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 3, out + err
    assert "Traceback" not in err
    assert "search on disk" in err
    assert list((place / "lost").glob("*/rungs/*.json"))
    assert servers(place) == []


def test_ctrl_c_ends_cleanly(place: Path) -> None:
    process = start(place, "interrupted")
    wait_for_rungs(place, "interrupted", 1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    assert "Traceback" not in err
    assert servers(place) == []
    assert list((place / "disk").iterdir()) == []
