"""The brief of a large campaign: 300 rungs with the series and seconds of 5-minute windows, read
and drawn by a process of its own.

The campaign is a simulated one, measured by the product on its simulated clock; its one climb is
then kept again under the names of further storages, each a thousandth slower than the one before,
so that nothing is the same twice. The process finds its modules compiled, as an installed kneebench
does. Its memory is that of all its processes together, looked at 50 times a second.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import psutil

from bench.ratio import Ratio, Size, alone, at_most
from kneebench import run
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Climb, Configuration
from kneebench.results.formats import KeptClimb, KeptRung, read_kept, write_kept
from kneebench.results.store import Store

NAME = "brief"
ABOUT = "the brief of a campaign of 300 rungs: seconds and memory"
RUNGS = 300
SECONDS_AIM, MB_AIM = 2.0, 300.0
LOOK_S = 0.02
"""Between two looks at the memory of a process and its children."""
LADDER = {
    "users": [4, 128],
    "step": 1.15,
    "window": "30s",
    "final_window": "300s",
    "checkpoints": 0,
    "repeats": 5,
    "warm_up_limit": "20s",
}
QUICK = {**LADDER, "step": 1.5, "final_window": "30s", "repeats": 2}
MODEL = {"cores": 8, "cpu_per_transaction": "40ms", "read_latency": "2ms", "log_latency": "5ms"}
"""Slow, so that a window of 5 minutes is quickly simulated."""
PAGE = (
    "from pathlib import Path; from kneebench.brief import Brief; from"
    " kneebench.results.campaign_reader import load; Brief(load(Path({!r}))).write(Path({!r}))"
)


def measure(size: Size) -> list[Ratio]:
    """Seconds and megabytes, of the brief alone and of the command."""
    with tempfile.TemporaryDirectory(prefix="bench-brief-") as folder:
        campaign, rungs = large_campaign(Path(folder), size)
        page = Path(folder) / "page.html"
        alone_ = [sys.executable, "-c", PAGE.format(str(campaign), str(page))]
        command = [sys.executable, "-m", "kneebench", "brief", str(campaign)]
        turns, modules = size.count(5, 1), None if size.quick else Path(folder) / "modules"
        return [
            *_rows(f"brief of {rungs} rungs", alone_, modules, turns),
            *_rows("`kneebench brief`, the same", command, modules, turns),
        ]


def _rows(name: str, command: Sequence[str], modules: Path | None, turns: int) -> list[Ratio]:
    if modules:
        _child(command, modules)  # compiles the modules
    children = [_child(command, modules) for _ in range(turns)]
    seconds, megabytes = [s for s, _, _ in children], [mb for _, _, mb in children]
    cpu_s = median([cpu for _, cpu, _ in children])
    return [
        at_most(
            f"{name}: time",
            alone(seconds),
            SECONDS_AIM,
            unit="s",
            note="a process from its start to its end",
            cpu_s=cpu_s,
        ),
        at_most(
            f"{name}: memory",
            alone(megabytes),
            MB_AIM,
            unit="MB",
            note="peak resident size of its processes together",
        ),
    ]


def _child(command: Sequence[str], modules: Path | None) -> tuple[float, float, float]:
    """(wall seconds, CPU seconds, peak resident megabytes) of a process.

    `modules`: the directory of compiled modules; None for where Python keeps them.
    """
    began = time.monotonic()
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    prefix = {"PYTHONPYCACHEPREFIX": str(modules)} if modules else {}
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**kept, **prefix})
    peak = 0
    while not _has_ended(child.pid):
        peak = max(peak, _resident(child.pid))
        time.sleep(LOOK_S)
    took = time.monotonic() - began
    _, status, used = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise subprocess.CalledProcessError(os.waitstatus_to_exitcode(status), command)
    return took, used.ru_utime + used.ru_stime, peak / 1e6


def _has_ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _resident(pid: int) -> int:
    """Bytes of a process and its children; 0 for those that ended meanwhile.

    The kernel's list of children: to search all processes for them takes a core.
    """
    total = 0
    with contextlib.suppress(OSError, psutil.NoSuchProcess):
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for one in (pid, *map(int, children)):
            total += psutil.Process(one).memory_info().rss
    return total


# --- the campaign ---------------------------------------------------------------------------------


def large_campaign(root: Path, size: Size) -> tuple[Path, int]:
    """(folder, rungs) of a finished campaign of at least so many rungs."""
    ladder = QUICK if size.quick else LADDER
    one = run(_plan(["storage 1"], ladder), root / "one")
    (climb,) = one.climbs
    names = [
        f"storage {n}" for n in range(1, 1 + math.ceil(size.count(RUNGS, 16) / len(climb.rungs)))
    ]
    with Store.create(root, Study(_plan(names, ladder)), one.campaign.host) as store:
        store.put_base_image(one.campaign.base_image)
        for place, name in enumerate(names):
            store.put_settings(
                Configuration(id=name, storage=name), next(iter(one.campaign.settings.values()))
            )
            _keep_again(one.folder or root, store.folder, climb, name, place)
        found = store.finish()
    return store.folder, sum(len(climb.rungs) for climb in found.climbs)


def _plan(names: Sequence[str], ladder: dict[str, object]) -> Plan:
    storages = {name: {"simulated": MODEL} for name in names}
    return Plan.model_validate(
        {
            "database": {"engine": "simulated"},
            "workload": {"warehouses": 400},
            "ladder": ladder,
            "storages": storages,
        }
    )


def _keep_again(source: Path, target: Path, climb: Climb, name: str, place: int) -> None:
    """A climb's files under another storage's name."""
    configuration = Configuration(id=name, storage=name)
    write_kept(
        target / "climbs" / f"{configuration.id}.json",
        KeptClimb(climb=climb.model_copy(update={"configuration": configuration, "rungs": ()})),
    )
    for rung in climb.rungs:
        kept = rung.model_copy(
            update={"order": rung.order.model_copy(update={"configuration": configuration.id})}
        )
        number = read_kept(source / "rungs" / f"{rung.order.key}.json", KeptRung).number
        write_kept(
            target / "rungs" / f"{kept.order.key}.json",
            KeptRung(number=number + place * len(climb.rungs), rung=kept),
        )
        for kind in ("series", "seconds"):
            (target / kind).mkdir(exist_ok=True)
            shutil.copyfile(
                source / kind / f"{rung.order.key}.parquet",
                target / kind / f"{kept.order.key}.parquet",
            )
