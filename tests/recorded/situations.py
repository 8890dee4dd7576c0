"""Makes seven situations with a known bottleneck on the embedded PostgreSQL, and keeps what the
verdict reads of each: `python tests/recorded/situations.py [NAME ...]`, as root, with Debian's
qemu-utils. With `--prove` nothing is kept: what is known to be short is relieved, and in one
situation what is not.

Each takes less than a minute on 2 cores once the first ones have loaded the database. The load is
fixed: what is known is which resource that load has too little of. Half of them were held out while
the rules were made (`HELD_OUT`).
"""

from __future__ import annotations

import contextlib
import lzma
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from kneebench import run
from kneebench.analysis.bottleneck import BY_KEY, bottleneck
from kneebench.analysis.proof import bottlenecks
from kneebench.lab.volumes import emulated
from kneebench.measurement.meters.processes import children_of_this_process
from kneebench.plan import Plan
from kneebench.plan.drive_class import DriveClass
from kneebench.plan.reader import parse_plan
from kneebench.plan.volume import EmulatedDevice
from kneebench.records import Climb, Event, Results, Rung

HERE = Path(__file__).parent / "situations"
TRIES, MOST_OTHERS = 8, 0.3
"""A run is made again if other processes used more cores."""
MOST_BYTES = 100_000
"""Of all that is kept."""
PLAN = """
question = "A known bottleneck"
emulated_path = "drives"
[workload]
warehouses = {warehouses}
load_generator_threads = 1
load_generator_cores = [{load_generator_core}]
[database]
base_image_path = "images"
cores = [{database_cores}]
{cache}
[ladder]
users = {users}
warm_up = "4s"
final_window = "6s"
checkpoints = 0
repeats = 0
[storages.one]
{storage}
"""
SMALL = 'memory = "256MiB"'
"""Less than the data."""
MEMORY = 'path = "memory"\nlog_path = "memory-log"'
CACHED = "cache.direct=off,cache.no-flush=on"
SECRET = "secret,id=key,data=known"
_CREATE = f"qemu-img create -q -f luks --object {SECRET} -o key-secret=key,cipher-alg=serpent-256"
TWICE_ENCRYPTED = f"""
until {_CREATE},iter-time=10 image {{size}}; do sleep 0.1; done
until {_CREATE},iter-time=10 inner {{inner_size}}; do sleep 0.1; done
head -c 4M inner > header
qemu-io --object {SECRET} --image-opts driver=luks,key-secret=key,file.filename=image \\
    -c "write -q -s header 0 4M"
rm inner header
"""
"""An image in an image; on a busy machine a key may fail to be made in the time it is given."""
COMMIT_MS = DriveClass(read_iops=20000, write_iops=2000)
"""Locks are held until a commit is written: shorter, and one core would be all busy first."""
READ_HEAVY, WRITE_HEAVY, LOG_HEAVY = (
    DriveClass(read_iops=1500),
    DriveClass(read_iops=20000, write_iops=300),
    DriveClass(read_iops=20000, write_iops=500),
)


class Situation(NamedTuple):
    """A fixed load, and the resource that it has too little of."""

    answer: str
    storage: str
    warehouses: int = 6
    users: int = 8
    database_cores: str = "0"
    load_generator_core: int = 1
    cache: str = 'page_cache = "warm"'
    drives: dict[str, DriveClass] = {}  # noqa: RUF012
    """Limits of the classes of emulated drives, in place of their own."""
    daemon: bool = False
    """Whether the programs of drives are pinned to core 1, and encrypt a drive of class nvme; its
    file is cached, so that nothing but that core is in their way.
    """
    hogs: int = 0
    """Processes that compute all the time on the load generator's core."""

    @property
    def plan(self) -> Plan:
        """The plan that is run."""
        return parse_plan(PLAN.format(**self._asdict()))


def drives(data: str, log: str = "nvme-fast") -> str:
    """A storage on two emulated drives of these classes."""
    data, log = (f'[{{ emulated = "{one}", size = "2GiB" }}]' for one in (data, log))
    return f"drives = {data}\nlog = {{ drives = {log} }}"


SITUATIONS = {
    "log": Situation(
        "log",
        drives("nvme-fast", "sata"),
        drives={"sata": LOG_HEAVY},
    ),
    "data_reads": Situation("data reads", drives("sata"), cache=SMALL, drives={"sata": READ_HEAVY}),
    "data_writes": Situation(
        "data writes", drives("sata"), cache=SMALL, drives={"sata": WRITE_HEAVY}
    ),
    "cpu": Situation("cpu", MEMORY),
    "one_core": Situation(
        "one core",
        'drives = [{ emulated = "nvme", size = "4GiB" }]',
        cache=SMALL,
        users=16,
        drives={"nvme": DriveClass()},
        load_generator_core=0,
        daemon=True,
    ),
    "locks": Situation(
        "locks",
        drives("nvme-fast", "nvme"),
        warehouses=1,
        users=32,
        drives={"nvme": COMMIT_MS},
    ),
    "load_generator": Situation("load generator", MEMORY, users=4, hogs=12),
}
HELD_OUT = ("data_reads", "data_writes", "load_generator")
"""Made and judged only once the rules were complete."""


def make(name: str, reliefs: Sequence[str] | None = None) -> Results:
    """Measure a situation; its results. `reliefs`: those to prove it with."""
    situation = SITUATIONS[name]
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.chdir(_directories(stack)))
        stack.enter_context(_drives(situation))
        stack.enter_context(_hogs(situation))
        return run(situation.plan, "campaigns", watch=_printed, fresh=True, reliefs=reliefs)


def undisturbed(name: str) -> Results:
    """A run of a situation that other processes left alone. Raises SystemExit if there was none."""
    for _ in range(TRIES):
        results = make(name)
        if SITUATIONS[name].hogs or (others := others_cores(results)) < MOST_OTHERS:
            return results
        print(f"{name}: other processes used {others:.2f} cores, once more", flush=True)
    raise SystemExit(f"{name}: not kept, as this machine has other work")


def others_cores(results: Results) -> float:
    """Cores that neither the measured processes nor the load generator kept busy: other processes,
    and the kernel's own threads.
    """
    (rung,) = results.climbs[0].of("fixed_load")
    busy, own = rung.quantities["cores.busy"].sources, rung.quantities["processes.cpu"].sources
    return sum(busy.values()) - sum(own.values())


def keep(name: str, results: Results) -> Path:
    """What the verdict reads of a situation, beside this script."""
    (climb,) = results.climbs
    kept = climb.model_copy(update={"rungs": tuple(_without_histograms(r) for r in climb.rungs)})
    file = HERE / f"{name}.json.xz"
    file.write_bytes(lzma.compress(kept.model_dump_json().encode(), preset=9))
    return file


def kept(name: str) -> Climb:
    """The climb of a kept situation."""
    return Climb.model_validate_json(lzma.decompress((HERE / f"{name}.json.xz").read_bytes()))


def _without_histograms(rung: Rung) -> Rung:
    tally = rung.tally
    transactions = {
        name: one.model_copy(update={"latency": None, "wait": None})
        for name, one in tally.transactions.items()
    }
    bare = {
        name: found.model_copy(update={"histogram": ""})
        for name in ("latency", "wait", "delay")
        if (found := getattr(tally, name))
    }
    return rung.model_copy(
        update={
            "tally": tally.model_copy(update={**bare, "transactions": transactions}),
            "checks": (),
            "log_histogram": None,
        }
    )


def _printed(event: Event) -> None:
    if event.kind in ("rung", "warning"):
        print(event.doing, flush=True)


def _directories(stack: contextlib.ExitStack) -> Path:
    """The directory of all situations, which keeps the loaded database, with places in memory."""
    place = Path(tempfile.gettempdir()) / "kneebench-situations"
    for name in ("disk", "drives", "images"):
        (place / name).mkdir(parents=True, exist_ok=True)
    for name in ("memory", "memory-log"):
        folder = stack.enter_context(tempfile.TemporaryDirectory(dir="/dev/shm"))
        Path(folder).chmod(0o755)
        (place / name).unlink(missing_ok=True)
        (place / name).symlink_to(folder)
    return place


@contextlib.contextmanager
def _drives(situation: Situation) -> Iterator[None]:
    """Emulated drives with the situation's limits; with a daemon their programs on core 1."""
    plain, start = emulated._export, emulated._start

    def encrypted(drive: EmulatedDevice) -> list[str]:
        command = [one.replace("cache.direct=on", CACHED) for one in plain(drive)]
        if drive.emulated != "nvme":
            return command
        at = command.index("--blockdev") + 2
        command[at:at] = [
            *("--object", SECRET),
            *("--blockdev", "driver=luks,node-name=outer,file=image,key-secret=key"),
            *("--blockdev", "driver=luks,node-name=inner,file=outer,key-secret=key"),
        ]
        served = " ".join(command).replace("file=image --nbd", "file=inner --nbd")
        sizes = {"size": drive.size - 2**24, "inner_size": drive.size - 2**25}
        return ["sh", "-c", f"{TWICE_ENCRYPTED.format(**sizes)}exec {served}"]

    def pinned(*arguments: object) -> None:
        start(*arguments)
        for pid in children_of_this_process():
            name = Path(f"/proc/{pid}/comm").read_text()
            if name.startswith(("qemu", "nbdfuse")):
                subprocess.run(["taskset", "-acp", "1", str(pid)], check=True, capture_output=True)

    with contextlib.ExitStack() as stack:
        classes = {**emulated.drive_classes(), **situation.drives}
        stack.enter_context(mock.patch.object(emulated, "drive_classes", lambda: classes))
        if situation.daemon:
            stack.enter_context(mock.patch.object(emulated, "_export", encrypted))
            stack.enter_context(mock.patch.object(emulated, "_start", pinned))
        yield


@contextlib.contextmanager
def _hogs(situation: Situation) -> Iterator[None]:
    core = str(situation.load_generator_core)
    code = ["taskset", "-c", core, sys.executable, "-c", "while True: pass"]
    hogs = [subprocess.Popen(code) for _ in range(situation.hogs)]
    try:
        yield
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()


def prove(name: str, relief: str) -> str:
    """What relieving a resource gains in a situation, or why that is impossible."""
    results = make(name, [relief])
    [proof] = results.campaign.proofs.values()
    said = [one.sentence for one in proof.relieved] or [f"{proof.impossible}"]
    [found] = bottlenecks(results).values()
    return f"{name}: {found.resource}, {found.verdict}. {' '.join(said)}"


if __name__ == "__main__":
    if "--prove" in sys.argv:
        for wanted in [name for name in sys.argv[1:] if name in SITUATIONS] or SITUATIONS:
            print(prove(wanted, BY_KEY[SITUATIONS[wanted].answer].reliefs[0]), flush=True)
        print(f"assumed wrongly: {prove('data_reads', 'log in memory')}")
        raise SystemExit
    for wanted in sys.argv[1:] or SITUATIONS:
        made = keep(wanted, undisturbed(wanted))
        found = bottleneck(kept(wanted))
        known = SITUATIONS[wanted].answer
        print(f"{made.name}: {made.stat().st_size} bytes; known: {known}; {found.sentence}")
    if (total := sum(file.stat().st_size for file in HERE.iterdir())) > MOST_BYTES:
        raise SystemExit(f"{total} bytes in {HERE}, more than {MOST_BYTES}")
