"""The meters of cores, threads, network, cgroup and temperature, on made-up trees and on this
machine's own kernel.
"""

from __future__ import annotations

import os
import subprocess
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from kneebench.lab.limits import controller
from kneebench.measurement import meters
from kneebench.measurement.meters import group, network, thermal
from kneebench.measurement.meters.cores import TICK_S
from kneebench.measurement.meters.meter import Absent, MeterContext, PartialMeter
from kneebench.measurement.meters.network import Network
from kneebench.measurement.meters.scheduler import Scheduler
from kneebench.measurement.meters.thermal import Thermal
from kneebench.measurement.meters.threads import MOST_KEPT, Threads
from kneebench.measurement.sampler import Sampler, not_measured

PID = 4711
NEW = ("threads", "scheduler", "network", "group", "thermal")


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def server(*processes: int, cores: tuple[int, ...] = (0,)) -> SimpleNamespace:
    """The part of a server that these meters ask."""
    return SimpleNamespace(cores=cores, measures=frozenset(), processes=lambda: processes)


# what is absent


def test_all_that_is_absent_is_one_note_grouped_by_reason() -> None:
    there = "the server runs on another machine"
    absent = [Absent("threads", there), Absent("CPU frequency", "no cpufreq in sysfs")]
    absent += [Absent("run queue", there)]
    assert not_measured(absent) == (
        f"not measured: threads, run queue ({there}), CPU frequency (no cpufreq in sysfs)",
    )
    assert not_measured([]) == ()


def test_a_sampler_has_one_note_for_all_its_meters_lack() -> None:
    opened = meters.open_meters(NEW, MeterContext(server(), ()), real_hardware=False)
    (note,) = Sampler(opened, time.monotonic).remarks
    assert note.words == f"not measured: {', '.join(NEW)} (not reported by this server)"


def test_meters_of_the_servers_machine_read_nothing_of_another() -> None:
    for name in ("threads", "scheduler", "group", "thermal"):
        (meter,) = meters.open_meters([name], MeterContext(server(cores=()), ()))
        assert meter.read() == {}
        assert isinstance(meter, PartialMeter) and meter.absent


# run queue and context switches


def test_the_thread_that_reads_the_run_queue_is_not_in_it(tmp_path: Path) -> None:
    write(tmp_path / "stat", "cpu 1\nintr 5 0 0\nctxt 900\nbtime 1\nprocs_running 4\nsoftirq 1\n")
    assert Scheduler(tmp_path / "stat").read() == {
        "run_queue.length|machine": 3.0,
        "context_switches.rate|machine": 900.0,
    }


def test_this_kernel_counts_the_switches_of_a_thread_that_sleeps() -> None:
    meter, key = Scheduler(), "context_switches.rate|machine"
    before = meter.read()[key]
    for _ in range(50):
        time.sleep(0.0005)
    assert meter.read()[key] - before >= 50


# threads


class Processes:
    """A made-up /proc with stat files."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.now_s = folder, 0.0
        self.core_ticks(0, 0)
        self.meter = Threads(frozenset(), folder, lambda: self.now_s)

    def core_ticks(self, *ticks: int) -> None:
        """User time of each core."""
        lines = [f"cpu{core} {n} 0 0 0 0 0 0 0 0 0" for core, n in enumerate(ticks)]
        write(self.folder / "stat", "\n".join(("cpu 0 0 0 0 0 0 0 0 0 0", *lines, "intr 0\n")))

    def put(self, path: str, name: str, ticks: int, core: int, threads: int = 1) -> None:
        """A stat file: `path` is PID, or PID/task/TID."""
        fields = ["0"] * 50
        fields[0], fields[11], fields[17], fields[19] = "R", f"{ticks}", f"{threads}", "77"
        fields[36] = f"{core}"
        number = path.rpartition("/")[2]
        write(self.folder / path / "stat", f"{number} ({name}) {' '.join(fields)}\n")

    def read(self) -> dict[str, float]:
        """A reading two seconds after the last."""
        self.now_s += 2
        found = self.meter.read()
        return {key.removeprefix("threads.cpu|"): round(share, 6) for key, share in found.items()}


@pytest.fixture
def processes(tmp_path: Path) -> Processes:
    return Processes(tmp_path)


def test_single_threads_of_one_name_on_one_core_are_added_up(processes: Processes) -> None:
    for pid, core in ((1, 0), (2, 0), (3, 1)):
        processes.put(f"{pid}", "postgres", 50, core)
    assert processes.read() == {}
    for pid, core, ticks in ((1, 0, 80), (2, 0, 70), (3, 1, 60)):
        processes.put(f"{pid}", "postgres", ticks, core)
    processes.put("4", "new (and odd)", 5, 1)
    assert processes.read() == {
        "postgres@0": pytest.approx(50 * TICK_S / 2),
        "postgres@1": pytest.approx(10 * TICK_S / 2),
        "new (and odd)@1": pytest.approx(5 * TICK_S / 2),
    }


def test_a_second_after_the_last_look_its_figures_stand(processes: Processes) -> None:
    for ticks in (0, 80):
        processes.put("1", "postgres", ticks, 0)
        before = processes.read()
    processes.put("1", "postgres", 999, 0)
    processes.now_s -= 1
    assert processes.read() == before != {}


def test_a_busy_process_is_read_by_thread_from_then_on(processes: Processes) -> None:
    def put(main: int, worker: int) -> None:
        processes.put("9", "server", main + worker, 0, threads=2)
        processes.put("9/task/9", "server", main, 0, threads=2)
        processes.put("9/task/10", "log writer", worker, 1, threads=2)

    put(0, 0)
    processes.read()
    put(10, 40)
    assert processes.read() == {"server@0": pytest.approx(50 * TICK_S / 2)}
    put(20, 110)
    assert processes.read() == {
        "server@0": pytest.approx(10 * TICK_S / 2),
        "log writer@1": pytest.approx(70 * TICK_S / 2),
    }


def test_who_ran_on_the_busiest_core_is_named_even_if_others_used_more(
    processes: Processes,
) -> None:
    def put(ticks: int) -> None:
        for pid in range(6):
            processes.put(f"{pid + 1}", f"user {pid}", 60 * ticks, pid)
        processes.put("7", "md0_raid1", 30 * ticks, 6)
        processes.put("8", "kworker/6:1H-kblockd", 20 * ticks, 6)
        processes.core_ticks(*[60 * ticks] * 6, 99 * ticks)

    put(0)
    processes.read()
    put(1)
    found = processes.read()
    assert {"md0_raid1@6", "kworker@6"} < found.keys()
    assert len(found) == 6


def test_a_name_once_among_the_busiest_is_kept_but_not_without_end(processes: Processes) -> None:
    processes.put("1", "early", 0, 0)
    processes.read()
    processes.put("1", "early", 50, 0)
    processes.read()
    names = []
    for number in range(MOST_KEPT + 8):
        processes.put("2", f"late {number}", 50 * (number + 1), 1)
        names.append(processes.read())
    assert names[-1]["early@0"] == 0.0
    assert len(names[-1]) == MOST_KEPT + 1


@pytest.fixture
def pinned() -> Iterator[int]:
    """A core with a program that keeps it busy."""
    core = max(os.sched_getaffinity(0))
    command = ["taskset", "-c", f"{core}", "dd", "if=/dev/zero", "of=/dev/null", "bs=64k"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as program:
        yield core
        program.kill()


def test_a_program_pinned_to_a_core_is_named_with_it(pinned: int) -> None:
    (meter,) = meters.open_meters(["threads"], MeterContext(server(os.getpid()), ()))
    key, until_s = f"threads.cpu|dd@{pinned}", time.monotonic() + 20
    assert meter.read() == {}
    while not (share := meter.read().get(key)) and time.monotonic() < until_s:
        time.sleep(0.5)
    assert share


# network

NET_DEV = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes ...
    lo: 9 9 0 0 0 0 0 0 9 9 0 0 0 0 0 0
  eth0: {} 10 1 2 0 0 0 0 {} 20 3 4 0 0 0 0
"""


def test_the_busier_direction_is_set_against_the_line_rate(tmp_path: Path) -> None:
    write(tmp_path / "dev", NET_DEV.format(1000, 5000))
    meter = Network({"eth0": 1000.0}, tmp_path / "dev")
    assert meter.read()["network.busy|eth0"] == 0.0
    write(tmp_path / "dev", NET_DEV.format(1500, 5100))
    write(tmp_path / "snmp", "Tcp: OutSegs RetransSegs\nTcp: 90 4\n")
    meter = Network({"eth0": 1000.0}, tmp_path / "dev", tmp_path / "snmp")
    meter.read()
    (tmp_path / "dev").write_text(NET_DEV.format(1700, 5200))
    assert meter.read() == {
        "network.received|eth0": 1700,
        "network.sent|eth0": 5200,
        "network.packets|eth0": 30,
        "network.errors|eth0": 10,
        "network.retransmitted|tcp": 4,
        "network.busy|eth0": pytest.approx(0.2),
    }


def test_an_unknown_line_rate_is_absent_with_its_reason(tmp_path: Path) -> None:
    write(tmp_path / "dev", NET_DEV.format(1, 2))
    meter = Network({"eth0": None}, tmp_path / "dev")
    assert "network.busy|eth0" not in meter.read()
    assert meter.absent == (Absent("line rate of eth0", "its driver reports none"),)


def test_interfaces_with_a_device_count_and_those_on_top_do_not(tmp_path: Path) -> None:
    for name, state in (("lo", "unknown"), ("bond0", "up"), ("eth0", "up"), ("eth1", "down")):
        write(tmp_path / name / "operstate", state)
    assert network.interfaces(tmp_path) == {"bond0": None, "eth0": None}, "a container's"
    for name in ("eth0", "eth1"):
        (tmp_path / name / "device").mkdir()
    write(tmp_path / "eth0/speed", "10000\n")
    assert network.interfaces(tmp_path) == {"eth0": 1.25e9}


# the database's cgroup


def proc_of(folder: Path, own: str, its: str, *mounts: str) -> Path:
    """A made-up /proc of this process and of the server."""
    write(folder / "self/cgroup", own)
    write(folder / f"{PID}/cgroup", its)
    lines = (
        f"{n} 1 0:{n} {mount} - {kind}"
        for n, line in enumerate(mounts, 30)
        for mount, kind in [line.split(" - ")]
    )
    write(folder / "self/mountinfo", "".join(f"{line}\n" for line in lines))
    return folder


def pressure_files(folder: Path) -> None:
    for name in ("cpu", "io", "memory"):
        write(
            folder / f"{name}.pressure",
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=2000000\n"
            "full avg10=0.00 avg60=0.00 avg300=0.00 total=1000000\n",
        )


def v1_memory(folder: Path) -> None:
    write(folder / "memory.usage_in_bytes", "5000\n")
    write(folder / "memory.failcnt", "7\n")
    write(folder / "memory.stat", "cache 1\nshmem 1\ntotal_cache 4000\ntotal_shmem 1000\n")


MEMORY_OF_5000 = {
    "group.memory|database": 5000,
    "group.page_cache|database": 3000,
    "group.limit_hits|database": 7,
}


def test_a_cgroup_of_version_2_has_memory_and_pressure(tmp_path: Path) -> None:
    proc = proc_of(
        tmp_path / "proc",
        "0::/user.slice\n",
        "0::/system.slice/db.service\n",
        f"/ {tmp_path}/cgroup rw - cgroup2 cgroup2 rw",
    )
    its = tmp_path / "cgroup/system.slice/db.service"
    write(its / "memory.current", "5000\n")
    write(its / "memory.events", "low 0\nhigh 0\nmax 7\noom 0\n")
    write(its / "memory.stat", "anon 900\nfile 4000\nshmem 1000\n")
    pressure_files(its)
    meter = group.open_group(server(PID), proc)
    assert meter.absent == ()
    assert meter.read() == MEMORY_OF_5000 | {
        f"group_pressure.{name}|{scope}": seconds
        for name in ("cpu", "io", "memory")
        for scope, seconds in (("some", 2.0), ("full", 1.0))
    }


def test_a_cgroup_of_version_1_has_no_pressure_and_says_so(tmp_path: Path) -> None:
    proc = proc_of(
        tmp_path / "proc",
        "4:memory:/\n0::/\n",
        "4:memory:/container/db\n0::/\n",
        f"/ {tmp_path}/unified rw - cgroup2 cgroup2 rw",
        f"/container {tmp_path}/memory rw - cgroup cgroup rw,memory",
    )
    v1_memory(tmp_path / "memory/db")
    meter = group.open_group(server(PID), proc)
    assert meter.read() == MEMORY_OF_5000
    assert meter.absent == (Absent("cgroup pressure", "cgroup v1 has none"),)


def test_pressure_comes_from_the_tree_beside_version_1_where_it_has_the_database(
    tmp_path: Path,
) -> None:
    proc = proc_of(
        tmp_path / "proc",
        "4:memory:/\n0::/\n",
        "4:memory:/db\n0::/db\n",
        f"/ {tmp_path}/unified rw - cgroup2 cgroup2 rw",
        f"/ {tmp_path}/memory rw - cgroup cgroup rw,memory",
    )
    v1_memory(tmp_path / "memory/db")
    pressure_files(tmp_path / "unified/db")
    meter = group.open_group(server(PID), proc)
    assert meter.absent == ()
    assert meter.read()["group_pressure.io|full"] == 1.0


UNIFIED_MOUNT = "/ {} rw - cgroup2 cgroup2 rw"


@pytest.mark.parametrize(
    ("its", "mount", "memory", "pressure"),
    [
        ("0::/user.slice", UNIFIED_MOUNT, group.SHARED, group.SHARED),
        ("0::/../other", UNIFIED_MOUNT, group.OUTSIDE, group.OUTSIDE),
        ("0::/db", "/ / rw - ext4 /dev/vda rw", group.NO_TREE, group.NO_TREE),
        ("0::/db", UNIFIED_MOUNT, group.NO_CONTROLLER, group.KERNEL_WITHOUT),
    ],
)
def test_a_database_without_readable_cgroup_says_why(
    tmp_path: Path, its: str, mount: str, memory: str, pressure: str
) -> None:
    proc = proc_of(tmp_path / "proc", "0::/user.slice", its, mount.format(tmp_path))
    meter = group.open_group(server(PID), proc)
    assert meter.read() == {}
    assert [one.why for one in meter.absent] == [memory, pressure]


@pytest.mark.root
def test_this_kernel_counts_the_page_cache_and_the_limit_of_a_cgroup(tmp_path: Path) -> None:
    if not (there := controller()):
        pytest.skip("there is no memory controller")
    made = there.root / f"kneebench-test-{uuid.uuid4().hex[:8]}"
    made.mkdir()
    command = f"echo $$ > {made}/cgroup.procs; dd if=/dev/zero of={tmp_path}/f bs=1M count=32; cat"
    try:
        (made / there.limit).write_text(f"{16 << 20}")
        with subprocess.Popen(
            ["sh", "-c", command], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as program:
            until_s = time.monotonic() + 10
            while not _finished(tmp_path / "f") and time.monotonic() < until_s:
                time.sleep(0.05)
            found = group.open_group(server(program.pid)).read()
            program.communicate()
    finally:
        made.rmdir()
    assert 1 << 20 < found["group.page_cache|database"] <= found["group.memory|database"]
    assert found["group.memory|database"] <= 17 << 20
    assert found["group.limit_hits|database"] > 0


def _finished(file: Path) -> bool:
    return file.exists() and file.stat().st_size == 32 << 20


# temperature, frequency, throttling


def test_a_machine_without_sensors_says_so_for_each_quantity(tmp_path: Path) -> None:
    meter = Thermal(thermal.sources(tmp_path))
    assert meter.read() == {}
    assert not_measured(meter.absent) == (
        "not measured: CPU frequency (no cpufreq in sysfs), CPU throttling (no thermal_throttle in"
        " sysfs), CPU temperature (no sensor in sysfs)",
    )


def test_frequency_throttling_and_the_sensors_of_packages_are_read(tmp_path: Path) -> None:
    for core in (0, 1):
        folder = tmp_path / f"devices/system/cpu/cpu{core}"
        write(folder / "cpufreq/scaling_cur_freq", "2600000\n")
        write(folder / "thermal_throttle/core_throttle_count", f"{core}\n")
        write(folder / "thermal_throttle/package_throttle_count", "5\n")
        write(folder / "topology/physical_package_id", "0\n")
    for number, name in enumerate(("coretemp", "coretemp", "nvme")):
        chip = tmp_path / f"class/hwmon/hwmon{number}"
        write(chip / "name", f"{name}\n")
        write(chip / "temp1_input", f"{50 + number}000\n")
        write(chip / "temp1_label", f"Package id {number}\n")
        write(chip / "temp2_input", "99000\n")
        write(chip / "temp2_label", "Core 0\n")
    meter = Thermal(thermal.sources(tmp_path))
    assert meter.absent == ()
    assert meter.read() == {
        "cpu.frequency|0": 2.6e9,
        "cpu.frequency|1": 2.6e9,
        "cpu.throttled|0": 0.0,
        "cpu.throttled|1": 1.0,
        "cpu.throttled|package 0": 5.0,
        "temperature.cpu|coretemp Package id 0": 50.0,
        "temperature.cpu|coretemp Package id 1": 51.0,
    }


def test_thermal_zones_stand_in_for_sensors_and_equal_ones_are_numbered(tmp_path: Path) -> None:
    for number, kind in enumerate(("acpitz", "x86_pkg_temp", "x86_pkg_temp")):
        zone = tmp_path / f"class/thermal/thermal_zone{number}"
        write(zone / "type", f"{kind}\n")
        write(zone / "temp", f"{40 + number}500\n")
    assert Thermal(thermal.sources(tmp_path)).read() == {
        "temperature.cpu|x86_pkg_temp #1": 41.5,
        "temperature.cpu|x86_pkg_temp #2": 42.5,
    }


def test_a_sensor_that_stops_answering_is_left_out_and_never_zero(tmp_path: Path) -> None:
    zone = tmp_path / "class/thermal/thermal_zone0"
    write(zone / "type", "cpu-thermal\n")
    write(zone / "temp", "40000\n")
    meter = Thermal(thermal.sources(tmp_path))
    (zone / "temp").write_text("")
    assert meter.read() == {}
