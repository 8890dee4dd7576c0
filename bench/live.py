"""What the live page costs while a campaign runs: the CPU of its process with a browser listening,
and that of writing its events in the measuring process.

The campaign is a simulated one. Its events are written again as fast as they would come, one second
of the load per second.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path

import psutil

from bench.brief import large_campaign
from bench.ratio import Ratio, Size, alone, at_most
from kneebench.records import Event
from kneebench.results.event_log import FILE, EventLog, EventReader

NAME = "live"
ABOUT = "the live page: CPU of its process, and of writing its events"
SECONDS, TURNS = 120, 3
AIM = 0.01
WRITES = 2_000


def measure(size: Size) -> list[Ratio]:
    """Cores, of the page's process and of the events of one second."""
    with tempfile.TemporaryDirectory(prefix="bench-live-") as root:
        campaign, rungs = large_campaign(Path(root), size)
        log = Path(root) / "one"
        [events] = log.glob(f"*/{FILE}")
        seconds = int(size.pick(SECONDS, 5))
        pages = [_page(campaign, events, seconds) for _ in range(size.count(TURNS, 1))]
        writes = [_writes(events, Path(root)) for _ in range(size.count(TURNS, 1))]
    return [
        at_most(
            "the live page's process, one browser",
            alone(pages),
            AIM,
            unit="cores",
            note=f"over {seconds} s of a campaign of {rungs} rungs, a rung every 20 s",
        ),
        at_most(
            "writing its events, in the measuring process",
            alone(writes),
            AIM / 10,
            unit="cores",
            note="one line per second of load",
        ),
    ]


def _page(campaign: Path, events: Path, seconds: int) -> float:
    """CPU seconds of the page's process per second, while events come and a browser listens."""
    (campaign / "finished.json").unlink(missing_ok=True)
    lines = events.read_text().splitlines(keepends=True)
    shutil.copyfile(events, campaign / FILE)
    command = [sys.executable, "-m", "kneebench", "live", str(campaign), "--listen", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        url = process.stderr.readline().removeprefix("live page: ").strip()
        threading.Thread(target=_listen, args=(f"{url}events",), daemon=True).start()
        urllib.request.urlopen(f"{url}state").close()  # it has read the campaign
        time.sleep(1)
        page = psutil.Process(process.pid)
        before, began = page.cpu_times(), time.monotonic()
        _write_again(lines, campaign / FILE, seconds)
        after, took_s = page.cpu_times(), time.monotonic() - began
        process.terminate()
    return (after.user + after.system - before.user - before.system) / took_s


def _listen(url: str) -> None:
    with urllib.request.urlopen(url) as events:
        while events.readline():
            pass


def _write_again(lines: Sequence[str], file: Path, seconds: int) -> None:
    """A second of load per second, and a rung every 20 s."""
    parsed = [json.loads(line) for line in lines]
    loads = [line for line, one in zip(lines, parsed, strict=True) if "second" in one["data"]]
    rungs = [line for line, one in zip(lines, parsed, strict=True) if one["kind"] == "rung"]
    for number in range(seconds):
        with file.open("a") as log:
            log.write(loads[number % len(loads)])
            if number % 20 == 19:
                log.write(rungs[number // 20 % len(rungs)])
                (file.parent / "rungs").touch()  # as a file more does: the page reads it again
        time.sleep(1)


def _writes(events: Path, root: Path) -> float:
    """CPU seconds to write the event of one second."""
    load: Event = next(
        one.event for one in EventReader(events.parent).new() if "second" in one.event.data
    )
    log, began = EventLog(root), time.process_time()
    for _ in range(WRITES):
        log.write(load)
    return (time.process_time() - began) / WRITES
