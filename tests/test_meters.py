"""The meters read this machine's own kernel, and cost next to nothing."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from types import SimpleNamespace

import pytest

from kneebench.errors import UnknownPart
from kneebench.lab.drives import drive_of, whole_devices
from kneebench.measurement import meters
from kneebench.measurement.derived_metrics import database_others
from kneebench.measurement.meters.cores import Cores
from kneebench.measurement.meters.devices import Devices
from kneebench.measurement.meters.meter import Meter, MeterContext, PartialMeter
from kneebench.measurement.meters.pressure import Pressure
from kneebench.measurement.meters.process_io import ProcessIo
from kneebench.measurement.meters.processes import Processes
from kneebench.measurement.quantities import READ
from kneebench.measurement.sampler import not_measured
from kneebench.measurement.summaries import Window
from kneebench.plan import Plan
from kneebench.shelf import METERS

HOST_METERS = (
    "cores",
    "devices",
    "pressure",
    "processes",
    "process_io",
    "threads",
    "scheduler",
    "network",
    "group",
    "thermal",
)


def context(
    paths: tuple[Path, ...] = (),
    measures: frozenset[str] = frozenset(),
    cores: tuple[int, ...] = (0,),
) -> MeterContext:
    """What the meters may look at: the part of a server that they ask."""
    server = SimpleNamespace(
        cores=cores,
        measures=measures,
        processes=lambda: [os.getpid()],
        readings=lambda name: {f"log.flushes|{name}": 7.0},
    )
    return MeterContext(server, paths)


def says_why(meter: Meter) -> bool:
    """True if a meter names something that it cannot read."""
    return bool(meter.notes or (isinstance(meter, PartialMeter) and meter.absent))


def by_source(readings: dict[str, float], quantity: str) -> dict[str, float]:
    return {
        key.partition("|")[2]: value
        for key, value in readings.items()
        if key.partition("|")[0] == quantity
    }


def spin(cpu_s: float) -> None:
    until_s = time.process_time() + cpu_s
    while time.process_time() < until_s:
        pass


@pytest.mark.parametrize("name", METERS.names())
def test_every_meter_of_the_shelf_names_known_quantities_and_reads_only_those(
    name: str, tmp_path: Path
) -> None:
    (meter,) = meters.open_meters([name], context((tmp_path,)))
    assert meter.name == name
    assert set(meter.quantities) <= READ.keys()
    assert {key.partition("|")[0] for key in meter.read()} <= set(meter.quantities)


def test_the_shelf_holds_the_meters_of_the_default_plan() -> None:
    assert set(Plan.model_fields["meters"].default) <= set(METERS.names())


def test_an_unknown_meter_is_an_error_that_lists_the_names() -> None:
    with pytest.raises(UnknownPart, match=r"meter 'wattage'.*cores, devices"):
        meters.open_meters(["wattage"], context())


def test_what_the_server_answers_is_asked_of_the_server() -> None:
    log, cores = meters.open_meters(
        ["log_writes", "cores"], context(measures=frozenset({"log_writes", "cores"}))
    )
    assert log.read() == {"log.flushes|log_writes": 7.0}
    assert cores.read() == {"log.flushes|cores": 7.0}


def test_what_the_server_does_not_answer_is_absent_and_noted() -> None:
    (meter,) = meters.open_meters(["log_writes"], context())
    assert meter.read() == {}
    assert isinstance(meter, PartialMeter)
    assert not_measured(meter.absent) == ("not measured: log_writes (not reported by this server)",)


def test_beside_a_simulated_server_this_machine_is_not_measured() -> None:
    opened = meters.open_meters(HOST_METERS, context(), real_hardware=False)
    assert all(meter.read() == {} and says_why(meter) for meter in opened)


def test_a_core_kept_busy_reads_busy() -> None:
    meter, own = Cores(), os.sched_getaffinity(0)
    core = min(own)

    def busy_share() -> float:
        before, began = meter.read(), time.monotonic()
        spin(0.5)
        after, took = meter.read(), time.monotonic() - began
        return (after[f"cores.busy|{core}"] - before[f"cores.busy|{core}"]) / took

    try:
        os.sched_setaffinity(0, {core})
        # a hypervisor may run another machine on it meanwhile
        assert any(0.85 < busy_share() < 1.1 for _ in range(5))
    finally:
        os.sched_setaffinity(0, own)


def test_busy_leaves_out_idle_and_waiting_and_guest_which_user_time_holds_already(
    tmp_path: Path,
) -> None:
    stat = tmp_path / "stat"
    stat.write_text(
        "cpu  99 99 99 99 99 99 99 99 99 99\ncpu12 100 200 300 4000 500 60 70 80 100 0\nintr 1 2"
        " 3\ncpufreq 1\n"
    )
    readings = Cores(stat).read()
    assert readings == pytest.approx(
        {
            "cores.busy|12": 8.1,
            "cores.user|12": 3.0,
            "cores.system|12": 3.0,
            "cores.irq|12": 1.3,
            "cores.iowait|12": 5.0,
            "cores.steal|12": 0.8,
        }
    )


def test_cores_beside_a_server_elsewhere_say_whose_they_are() -> None:
    (meter,) = meters.open_meters(["cores"], context(cores=()))
    assert "load generator" in meter.notes[0].words


DISKSTATS = """\
 254       0 vda 100 5 2048 400 50 6 4096 700 3 900 1100 1 2 3 4 25 60
 254       1 vda1 90 5 2000 390 50 6 4096 700 3 900 1090 1 2 3 4
   8       0 sda 1 0 8 1 0 0 0 0 0 1 1
"""


def test_all_seventeen_fields_of_a_device_and_of_no_other(tmp_path: Path) -> None:
    file = tmp_path / "diskstats"
    file.write_text(DISKSTATS)
    assert Devices(["vda"], file).read() == pytest.approx(
        {
            "device.reads|vda": 100,
            "device.read_bytes|vda": 2048 * 512,
            "device.read_time|vda": 0.4,
            "device.writes|vda": 50,
            "device.write_bytes|vda": 4096 * 512,
            "device.write_time|vda": 0.7,
            "device.busy|vda": 0.9,
            "device.queue_depth|vda": 1.1,
            "device.flushes|vda": 25,
            "device.flush_time|vda": 0.06,
        }
    )


def test_a_kernel_that_does_not_count_flushes_has_none_rather_than_zero(tmp_path: Path) -> None:
    file = tmp_path / "diskstats"
    file.write_text(DISKSTATS)
    assert by_source(Devices(["vda1"], file).read(), "device.flushes") == {}
    assert Devices(["vda1"], file).read()["device.reads|vda1"] == 90


def test_data_and_log_on_one_device_count_it_once(tmp_path: Path) -> None:
    drive = drive_of(tmp_path)
    if drive is None:
        pytest.skip("the temporary directory is on no block device")
    assert whole_devices((tmp_path, tmp_path / "log")) == drive.real


def test_bytes_written_and_synced_arrive_at_the_device(tmp_path: Path) -> None:
    if drive_of(tmp_path) is None:
        pytest.skip("the temporary directory is on no block device")
    (meter,) = meters.open_meters(["devices"], context((tmp_path,)))
    written = [written_beside(meter, tmp_path / "data") for _ in range(5)]
    assert all(n >= 8 << 20 for one in written for n in one)
    assert all(n < 64 << 20 for n in min(written)), "once at least nobody else writes as much"


def written_beside(meter: Meter, file: Path) -> list[float]:
    """Bytes written to each device while 8 MiB are written and synced; others write too."""
    before = by_source(meter.read(), "device.write_bytes")
    with file.open("wb") as out:
        out.write(os.urandom(8 << 20))
        out.flush()
        os.fsync(out.fileno())
    after = by_source(meter.read(), "device.write_bytes")
    return [count - before[device] for device, count in after.items()]


def test_memory_backed_storage_has_no_device_and_a_note(tmp_path: Path) -> None:
    (meter,) = meters.open_meters(["devices"], context((Path("/dev/shm"),)))
    assert meter.read() == {}
    (note,) = meter.notes
    assert note.words == "memory-backed storage (tmpfs): no device under it"
    assert note.kind == "memory_backed"


def test_storage_elsewhere_is_said_to_be_unmeasured() -> None:
    (meter,) = meters.open_meters(["devices"], context((), cores=()))
    assert "not on this machine" in meter.notes[0].words


def test_pressure_is_read_in_seconds_of_both_scopes() -> None:
    if not Path("/proc/pressure/cpu").exists():
        pytest.skip("this kernel tells no pressure")
    readings = Pressure().read()
    assert set(by_source(readings, "pressure.io")) == {"some", "full"}
    assert all(value >= 0 for value in readings.values())


def test_a_kernel_without_pressure_has_no_such_meter(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="pressure"):
        Pressure(tmp_path / "pressure")


PARENT = """
import os, sys, time
def spin(s):
    t = time.process_time()
    while time.process_time() - t < s: pass
if os.fork() == 0:
    spin(0.3); os._exit(0)
os.wait()
if os.fork() == 0:
    spin(0.2); print("ready", flush=True); sys.stdin.read(); os._exit(0)
os.wait()
"""


@pytest.fixture
def family() -> Iterator[int]:
    """A process with one child that has ended (0.3 s of CPU) and one that runs (0.2 s)."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stdin
        process.stdout.readline()
        yield process.pid
        process.stdin.close()


def test_a_servers_cpu_is_that_of_its_children_alive_and_ended(family: int) -> None:
    used_s = Processes([family]).read()["processes.cpu|server"]
    assert 0.48 <= used_s < 0.95


def test_a_server_that_is_gone_does_not_count_backwards(family: int) -> None:
    meter = Processes([family])
    before = meter.read()["processes.cpu|server"]
    os.kill(family, 9)
    time.sleep(0.1)
    assert meter.read()["processes.cpu|server"] >= before


def test_the_client_is_this_process() -> None:
    meter = Processes()
    before = meter.read()
    spin(0.3)
    after = meter.read()
    assert "processes.cpu|server" not in after
    assert (
        0.2 < after["processes.cpu|load_generator"] - before["processes.cpu|load_generator"] < 0.45
    )


def test_the_programs_of_this_process_are_neither_the_server_nor_others() -> None:
    with subprocess.Popen(["sh", "-c", "while :; do :; done"]) as program:
        meter = Processes()
        began_s, before = time.monotonic(), meter.read()["processes.cpu|programs"]
        server = Processes([program.pid]).read()
        grown_s, until_s = 0.0, time.monotonic() + 20
        while grown_s <= 0.1 and time.monotonic() < until_s:
            time.sleep(0.1)
            grown_s = meter.read()["processes.cpu|programs"] - before
        took_s = time.monotonic() - began_s
        program.kill()
    assert 0.1 < grown_s < took_s + 0.1
    assert server["processes.cpu|server"] >= 0


def test_the_cpu_of_own_programs_is_not_that_of_other_processes() -> None:
    busy = {"cores.busy": {"0": 0.9, "1": 0.9}}
    used = {"server": 0.6, "load_generator": 0.3}

    def others(**more: float) -> float:
        values = {**busy, "processes.cpu": {**used, **more}}
        window = Window([], 0, 1, values, [values])
        found = database_others(window, (0, 1), ())
        assert found
        return found.value

    assert others() == pytest.approx(0.45)
    assert others(programs=0.7) == pytest.approx(0.1)


def test_all_host_meters_together_take_less_than_two_percent_of_a_core_at_one_look_a_second(
    tmp_path: Path,
) -> None:
    opened: tuple[Meter, ...] = meters.open_meters(HOST_METERS, context((tmp_path,)))
    used_s = []
    for _ in range(50):
        before_s = time.process_time()
        for meter in opened:
            meter.read()
        used_s.append(time.process_time() - before_s)
    assert median(used_s) < 0.02


WRITER = """import sys
input()
with open(sys.argv[1], "wb") as file:
    file.write(bytes(8 << 20))
    file.flush()
    input()
"""


@pytest.mark.parametrize("whose", ["others", "server"])
def test_what_a_process_writes_is_the_servers_or_that_of_others(tmp_path: Path, whose: str) -> None:
    if drive_of(tmp_path) is None:
        pytest.skip("a memory-backed file counts for nobody")
    child_of_a_child = ["sh", "-c", '"$@"; true', "sh"]  # its own children are kneebench's
    command = [*child_of_a_child, sys.executable, "-c", WRITER, tmp_path / "written"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, text=True) as writer:
        assert writer.stdin
        meter = ProcessIo(frozenset([writer.pid] if whose == "server" else []))
        before = by_source(meter.read(), "processes.io")[whose]
        writer.stdin.write("\n")
        writer.stdin.flush()
        until_s = time.monotonic() + 10
        while (written := by_source(meter.read(), "processes.io")[whose] - before) < 8 << 20:
            assert time.monotonic() < until_s, written
            time.sleep(0.05)
        writer.stdin.close()


def test_the_time_in_which_a_thread_of_a_server_was_ready_for_a_core_is_counted() -> None:
    """Its first thread only waits for the two others, which share a core."""
    core = str(min(os.sched_getaffinity(0)))
    work = "threading.Thread(target=hashlib.pbkdf2_hmac, args=('sha1', b'', b'', 1 << 30)).start()"
    program = [sys.executable, "-c", f"import hashlib, threading\n{work}\n{work}"]
    with subprocess.Popen(["taskset", "-c", core, *program]) as server:
        meter, until_s, delay_s = Processes([server.pid]), time.monotonic() + 20, 0.0
        while delay_s <= 0.3 and time.monotonic() < until_s:
            time.sleep(0.2)
            delay_s = meter.read().get("processes.run_delay|server", 0.0)
        server.kill()
    assert delay_s > 0.3


def test_the_time_in_which_a_server_was_ready_for_a_core_is_counted() -> None:
    """Two processes on one core: each is ready for half of the time."""
    core = str(min(os.sched_getaffinity(0)))
    loop = ["taskset", "-c", core, "sh", "-c", "while :; do :; done"]
    with subprocess.Popen(loop) as server, subprocess.Popen(loop) as other:
        time.sleep(0.2)
        meter = Processes([server.pid])
        began, before = time.monotonic(), meter.read()["processes.run_delay|server"]
        grown_s = 0.0
        while grown_s <= 0.1 and time.monotonic() < began + 20:
            time.sleep(0.5)
            grown_s = meter.read()["processes.run_delay|server"] - before
        took_s = time.monotonic() - began
        server.kill()
        other.kill()
    assert 0.1 < grown_s < took_s + 0.1
