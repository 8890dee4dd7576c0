"""The devices of a storage: each apart and their sum once, over the window and second by second."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from kneebench.analysis.devices import (
    OPS,
    TIMES,
    Courses,
    device_loads,
    name_of,
    odd_devices,
    volume_load,
    volumes,
)
from kneebench.analysis.knee_readings import KneeReadings
from kneebench.brief import Brief
from kneebench.brief.chart_theme import ALARM
from kneebench.lab.drives import counted_devices, drive_of, is_rotational
from kneebench.measurement.meters.devices import Devices
from kneebench.measurement.sampler import RawSeries
from kneebench.measurement.summaries import by_second, series, summaries, window
from kneebench.records import CountedDevice, Results, Role, Rung, Series
from tests.loop_devices import done, loop_device
from tests.recordings import each, recorded, section, with_tally

SECONDS = 10
NORMAL = {
    "device.reads": 200.0,
    "device.read_time": 0.4,
    "device.writes": 100.0,
    "device.write_time": 0.3,
    "device.flushes": 40.0,
    "device.flush_time": 0.02,
    "device.read_bytes": 2e6,
    "device.write_bytes": 1e6,
    "device.queue_depth": 0.72,
    "device.busy": 0.4,
}
"""What a device does in a second: 2 ms per read, 3 ms per write, 0.5 ms per flush."""

Raised = dict[str, dict[str, float]]


def raw_series(names: Sequence[str], raised: Raised, first: int = 0) -> RawSeries:
    """Counters of devices; each does the same, but from second `first` on these quantities of these
    devices are so many times as large.
    """
    count: dict[str, float] = {f"{quantity}|{name}": 0.0 for quantity in NORMAL for name in names}
    values = [dict(count)]
    for second in range(SECONDS):
        for key in count:
            quantity, _, name = key.partition("|")
            factor = raised.get(name, {}).get(quantity, 1.0) if second >= first else 1.0
            count[key] += NORMAL[quantity] * factor
        values.append(dict(count))
    return RawSeries("devices", [float(at) for at in range(SECONDS + 1)], values)


def measured(
    names: Sequence[str], raised: Raised | None = None, first: int = 0, directory: int = 0
) -> tuple[Rung, tuple[Series, ...]]:
    """A rung on one volume, with its series: as the sampler and the summaries make them."""
    raw = raw_series(names, raised or {}, first)
    seconds = by_second([raw], 0, SECONDS)
    rung = (
        recorded()
        .climbs[0]
        .rungs[0]
        .model_copy(
            update={
                "quantities": summaries(window([raw], 0, SECONDS, seconds)),
                "devices": tuple(CountedDevice(name=n, directories=(directory,)) for n in names),
                "warm_up_s": 0.0,
            }
        )
    )
    return rung, series(raw.at_s[1:], seconds)


def odd(
    names: Sequence[str], raised: Raised, first: int = 0, seconds: int = SECONDS
) -> dict[str, str]:
    """The sentences on devices that differ, by device."""
    rung, kept = measured(names, raised, first)
    [volume] = volumes(rung)
    found = odd_devices(Courses(kept), device_loads(KneeReadings([rung]), volume), (0.0, seconds))
    return {one.device: one.sentence for one in found}


FOUR = ("sda", "sdb", "sdc", "sdd")
SLOW = {"sdc": {TIMES["write"]: 4.0}}


# --- the window -----------------------------------------------------------------------------------


def test_a_volume_adds_up_its_devices_and_weighs_their_awaits_by_their_operations() -> None:
    busier = {"sdb": {OPS["read"]: 3.0, TIMES["read"]: 6.0}}
    rung, _ = measured(("sda", "sdb"), busier)
    [volume] = volumes(rung)
    first, second = device_loads(KneeReadings([rung]), volume)
    both = volume_load(KneeReadings([rung]), volume)
    assert (first.read_await_s, second.read_await_s) == pytest.approx((0.002, 0.004))
    assert both.read_await_s == pytest.approx((0.4 + 2.4) / (200 + 600))
    assert both.reads_per_s == pytest.approx(800) == pytest.approx(rung.quantity("device.reads"))
    assert both.queue_depth == pytest.approx(1.44)
    assert both.busy == pytest.approx(0.4), "of a volume the mean of its devices"
    assert (both.devices, both.flushes_per_s) == (2, pytest.approx(80))


def test_what_a_device_did_is_the_mean_of_all_windows_with_its_await_over_all_operations() -> None:
    rung, _ = measured(("sda",))
    busier, _ = measured(("sda",), {"sda": {OPS["read"]: 3.0, TIMES["read"]: 6.0}})
    [load] = device_loads(KneeReadings([rung, busier]), volumes(rung)[0])
    assert load.reads_per_s == pytest.approx(400)
    assert load.read_await_s == pytest.approx((0.4 + 2.4) / (200 + 600))


def test_a_device_without_an_operation_has_no_await_and_its_rates_are_nought() -> None:
    idle = {"sda": dict.fromkeys((OPS["flush"], TIMES["flush"]), 0.0)}
    rung, _ = measured(("sda",), idle)
    [load] = device_loads(KneeReadings([rung]), volumes(rung)[0])
    assert (load.flush_await_s, load.flushes_per_s) == (None, 0.0)


def test_devices_of_one_directory_are_a_volume_and_those_of_a_model_are_one_each() -> None:
    rung, _ = measured(FOUR)
    log = rung.devices[1].model_copy(update={"directories": (1,)})
    apart = rung.model_copy(update={"devices": (log, *rung.devices[2:], rung.devices[0])})
    names = [[device.name for device in volume] for volume in volumes(apart)]
    assert names == [["sda", "sdc", "sdd"], ["sdb"]]
    old = rung.model_copy(update={"devices": ()})
    assert [[device.name for device in volume] for volume in volumes(old)] == [[n] for n in FOUR]


Held = tuple[int, Role]
DATA: Held = (0, "data")
LOG: Held = (1, "log")


def holding(**held: Sequence[Held]) -> Rung:
    """A rung whose devices have these directories of the server, each with its role."""
    rung, _ = measured([*held])
    devices = tuple(
        CountedDevice(name=name, directories=tuple(dict(on)), roles=tuple(dict(on).values()))
        for name, on in held.items()
    )
    return rung.model_copy(update={"devices": devices})


def named(rung: Rung) -> dict[str, list[str]]:
    """The devices of a rung's volumes by their names."""
    found = volumes(rung)
    return {name_of(one, found): [device.name for device in one] for one in found}


def test_a_volume_is_named_by_what_it_holds_wherever_the_log_is() -> None:
    assert named(holding(sda=[DATA], sdb=[(1, "temporary files")])) == {
        "data": ["sda"],
        "temporary files": ["sdb"],
    }
    every = holding(sda=[DATA], sdb=[LOG], sdc=[(2, "temporary files")])
    assert [*named(every)] == ["data", "log", "temporary files"]
    assert [*named(holding(sda=[DATA, LOG], sdb=[(2, "temporary files")]))] == [
        "data and log",
        "temporary files",
    ]


def test_a_name_that_two_volumes_would_have_is_that_of_the_device() -> None:
    assert [*named(holding(sda=[DATA], sdb=[(1, "data")]))] == ["sda", "sdb"]


def test_devices_without_roles_name_no_more_than_the_data() -> None:
    rung, _ = measured(("sda", "sdb"))
    log = rung.devices[1].model_copy(update={"directories": (1,)})
    old = rung.model_copy(update={"devices": (rung.devices[0], log)})
    assert named(old) == {"data": ["sda"], "sdb": ["sdb"]}


def test_a_mirror_with_the_log_on_one_of_its_drives_is_one_volume_of_two() -> None:
    assert named(holding(sda=[DATA], sdb=[DATA, LOG])) == {"data and log": ["sda", "sdb"]}
    assert named(holding(sda=[DATA], sdb=[LOG], sdc=[DATA, LOG])) == {
        "data and log": ["sda", "sdb", "sdc"]
    }
    rung = holding(sda=[DATA], sdb=[DATA, LOG], sdc=[(2, "temporary files")])
    [both, _] = volumes(rung)
    whole = volume_load(KneeReadings([rung]), both)
    assert (whole.directories, whole.roles) == ((0, 1), ("data", "log"))
    assert whole.writes_per_s == pytest.approx(200)


# --- second by second -----------------------------------------------------------------------------


def test_a_course_has_no_await_in_seconds_in_which_no_operation_ended() -> None:
    none = {"sda": dict.fromkeys((OPS["read"], TIMES["read"]), 0.0)}
    courses = Courses(measured(("sda", "sdb"), none, first=4)[1])
    waits = [courses.wait_s("read", ["sda"], seconds) for seconds in courses.parts(SECONDS)]
    assert waits == [pytest.approx(0.002)] * 4 + [None] * 6
    assert courses.wait_s("read", ["sda", "sdb"], [5]) == pytest.approx(0.002)
    assert courses.queue(["sda", "sdb"], [1, 2]) == pytest.approx(1.44)
    assert courses.busy(["sda", "sdb"], [1, 2]) == pytest.approx(0.4)
    assert courses.parts(4) == [[1, 2, 3], [4, 5, 6], [7, 8, 9], [10]]


def test_a_drive_that_is_slower_than_the_others_of_its_volume_is_named_with_both_figures() -> None:
    assert odd(FOUR, SLOW) == {
        "sdc": "sdc differs from the other 3 drives of its volume: write await 12 ms vs. 3 ms"
        " (median)."
    }
    of_two = odd(("sda", "sdb"), {"sdb": {TIMES["flush"]: 3.0}})
    assert of_two["sdb"].startswith("sdb differs from the other drive of its volume: flush await")


def test_a_busier_drive_is_named_with_the_operations_that_it_had() -> None:
    busy = {"sdb": {"device.busy": 2.4, OPS["read"]: 2.0, TIMES["read"]: 2.0}}
    assert odd(FOUR, busy)["sdb"].endswith(": utilization 96% vs. 40% at 500 vs. 300 I/Os per s.")


@pytest.mark.parametrize(
    ("names", "raised", "first", "seconds"),
    [
        (FOUR, {}, 0, SECONDS),
        (FOUR, {"sdc": {TIMES["write"]: 1.9}}, 0, SECONDS),
        (FOUR, {"sdc": {TIMES["write"]: 40.0}}, 6, SECONDS),
        (FOUR, SLOW, 0, 4),
        (("sda",), {"sda": {TIMES["write"]: 40.0}}, 0, SECONDS),
        (FOUR, {n: {TIMES["write"]: 4.0} for n in FOUR}, 0, SECONDS),
        (FOUR, {"sdc": {OPS["write"]: 0.1, TIMES["write"]: 0.4}}, 0, SECONDS),
        (FOUR, {n: {"device.busy": 0.4 if n == "sda" else 0.1} for n in FOUR}, 0, SECONDS),
    ],
    ids=["alike", "19x", "4 of 10 s", "4 s", "alone", "all slow", "few writes", "idle"],
)
def test_no_drive_is_named_without_a_clear_difference_for_most_of_the_window(
    names: Sequence[str], raised: Raised, first: int, seconds: int
) -> None:
    assert odd(names, raised, first, seconds) == {}


def test_a_drive_is_compared_with_those_that_hold_the_same_only() -> None:
    slow, kept = measured(FOUR, SLOW)

    def odd_of(rung: Rung) -> list[str]:
        [volume] = volumes(rung)
        loads = device_loads(
            KneeReadings([rung.model_copy(update={"quantities": slow.quantities})]), volume
        )
        return [one.sentence for one in odd_devices(Courses(kept), loads, (0.0, SECONDS))]

    assert odd_of(holding(sda=[DATA], sdb=[DATA], sdc=[DATA, LOG], sdd=[DATA])) == []
    assert odd_of(holding(sda=[DATA], sdb=[DATA], sdc=[DATA], sdd=[DATA, LOG])) == [
        "sdc differs from the other 2 drives of its volume with the same contents: write await"
        " 12 ms vs. 3 ms (median)."
    ]


def test_a_difference_within_a_step_of_the_kernels_counter_names_no_drive() -> None:
    fast = {name: {OPS["read"]: 0.25, TIMES["read"]: 0.0025} for name in FOUR}
    slower = {**fast, "sdc": {OPS["read"]: 0.25, TIMES["read"]: 0.0075}}
    assert odd(FOUR, slower) == {}, "50 reads in 3 ms and in 1 ms, which may have been 2"
    slow = {**fast, "sdc": {OPS["read"]: 0.25, TIMES["read"]: 0.025}}
    assert list(odd(FOUR, slow)) == ["sdc"]


# --- the brief ------------------------------------------------------------------------------------


def brief_of(names: Sequence[str], raised: Raised | None = None) -> Brief:
    """The recording, whose disk is now a volume of these drives."""
    rung, kept = measured(names, raised)
    fields = {name: getattr(rung, name) for name in ("quantities", "devices", "warm_up_s")}

    def on_them(rung: Rung) -> Rung:
        return with_tally(rung.model_copy(update=fields), window_s=float(SECONDS))

    results: Results = each(recorded(), 0, on_them, "final_run")
    brief = Brief(results)
    recorded_series = brief.view.series
    brief.view.series = lambda rung, *wanted: (  # type: ignore[method-assign]
        kept if rung.devices == fields["devices"] else recorded_series(rung, *wanted)
    )
    return brief


def lines(spec: object) -> Iterator[dict[str, object]]:
    """All rows of a chart."""
    if isinstance(spec, dict):
        yield from spec["values"] if "values" in spec and "line" in str(spec["values"]) else ()
        for one in spec.values():
            yield from lines(one)
    elif isinstance(spec, list):
        for one in spec:
            yield from lines(one)


def test_the_figure_has_a_line_for_each_device_and_one_for_the_volume() -> None:
    figure = section(brief_of(FOUR), "device-times").figures[0]
    panels = figure.spec["vconcat"]
    assert [panel["layer"][1]["encoding"]["y"]["title"] for panel in panels] == [
        "Read await, ms",
        "Write await, ms",
        "Flush await, ms",
        "Queue depth",
        "Utilization",
    ]
    expected = ((2, 2), (3, 3), (0.5, 0.5), (2.88, 0.72), (0.4, 0.4))
    for panel, (thick, thin) in zip(panels, expected, strict=True):
        rows = [row for row in lines(panel) if "value" in row]
        assert len({row["line"] for row in rows}) == 5
        assert all(
            row["value"] == pytest.approx(thick if row["width"] == "thick" else thin)
            for row in rows
        )
    assert figure.title.startswith("Disk at 4 users: all drives 40% busy, read await 2 ms, queue")
    assert len(figure.title) < 90


def test_the_one_bad_drive_is_in_the_title_the_caption_the_table_and_the_json() -> None:
    brief = brief_of(FOUR, SLOW)
    sentence = (
        "sdc differs from the other 3 drives of its volume: write await 12 ms vs. 3 ms (median)."
    )
    figure = section(brief, "device-times").figures[0]
    assert "sdc write await 12 ms vs. 3 ms" in figure.title
    assert "Sdc" not in figure.caption
    assert sentence in figure.caption
    assert ALARM in json.dumps(figure.spec)
    table = section(brief, "devices")
    assert table.sentences == (f"disk: {sentence}",)
    assert [row.cells[1] for row in table.tables[0].rows if row.tone == "alarm"] == ["sdc"]
    [volume] = brief.document()["devices"]["disk"]["volumes"]
    assert volume["differ"] == [sentence]
    assert [one["write_await_s"] for one in volume["each"]] == pytest.approx(
        [0.003, 0.003, 0.012, 0.003]
    )


def test_the_table_and_the_json_count_each_device_once() -> None:
    brief = brief_of(FOUR)
    rows = section(brief, "devices").tables[0].rows
    assert [row.cells[1] for row in rows] == ["all drives (4)", *FOUR]
    assert [row.cells[2] for row in rows] == ["800", "200", "200", "200", "200"]
    [volume] = brief.document()["devices"]["disk"]["volumes"]
    assert volume["reads_per_s"] == sum(one["reads_per_s"] for one in volume["each"])
    assert set(volume["each"][0]) >= {
        "reads_per_s",
        "writes_per_s",
        "read_bytes_per_s",
        "write_bytes_per_s",
        "read_await_s",
        "write_await_s",
        "flush_await_s",
        "queue_depth",
        "busy",
    }


def test_the_table_and_the_json_name_the_volume_of_temporary_files() -> None:
    rung = holding(sda=[DATA], sdb=[(1, "temporary files")])
    fields = {name: getattr(rung, name) for name in ("quantities", "devices")}
    brief = Brief(each(recorded(), 0, lambda one: one.model_copy(update=fields), "final_run"))
    rows = section(brief, "devices").tables[0].rows
    assert [row.cells[1] for row in rows[:2]] == ["sda (data)", "sdb (temporary files)"]
    names = [one["name"] for one in brief.document()["devices"]["disk"]["volumes"]]
    assert names == ["data", "temporary files"]


def test_a_recording_without_the_directories_of_its_devices_has_figure_and_table() -> None:
    brief = Brief(recorded())
    figure = section(brief, "device-times").figures[0]
    assert ": vda " in figure.title
    assert "Thin" not in figure.caption, "one device is its own volume"
    assert section(brief, "devices").tables[0].rows[0].cells[1] == "vda"


def test_many_drives_make_no_heavier_figure_than_a_few() -> None:
    def points(count: int) -> int:
        figure = section(brief_of([f"sd{n}" for n in range(count)]), "device-times").figures[0]
        return sum(1 for row in lines(figure.spec["vconcat"][0]) if "value" in row)

    assert points(24) == 25 * SECONDS
    assert points(240) <= 241 * SECONDS


# --- real devices ---------------------------------------------------------------------------------


@contextlib.contextmanager
def mirror_and_log(tmp_path: Path) -> Iterator[tuple[Path, Path, list[str]]]:
    """A btrfs of two loop devices, an ext4 of a third, and the devices' names."""
    data, log = tmp_path / "data", tmp_path / "log"
    with contextlib.ExitStack() as stack:
        a, b, c = (stack.enter_context(loop_device(tmp_path / name)) for name in "abc")
        done("mkfs.btrfs", "-q", "-m", "raid1", "-d", "raid1", a, b)
        done("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", c)
        for device, point in ((a, data), (c, log)):
            point.mkdir()
            done("mount", device, point)
            stack.callback(done, "umount", point)
        yield data, log, [one.name for one in (a, b, c)]


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_each_drive_of_a_real_mirror_is_counted_apart_and_the_log_is_another_volume(
    tmp_path: Path,
) -> None:
    with mirror_and_log(tmp_path) as (data, log, names):
        found_here = counted_devices((data, log), ("data", "temporary files"))
        counted = [device.directories for device in found_here]
        assert {role for device in found_here for role in device.roles} <= {
            "data",
            "temporary files",
        }
        assert all(len(device.roles) == len(device.directories) for device in found_here)
        below = drive_of(tmp_path)  # a loop counts as the disk under its file, if there is one
        assert counted == ([(0, 1)] * len(below.real) if below else [(0,), (0,), (1,)])
        meter = Devices(names)
        samples = [meter.read()]
        with (data / "file").open("wb") as out:
            out.write(os.urandom(8 << 20))
            os.fsync(out.fileno())
        samples.append(meter.read())
    found = summaries(window([RawSeries("devices", [0.0, 1.0], samples)], 0, 1))
    devices = tuple(
        CountedDevice(name=name, directories=held)
        for name, held in zip(names, ((0,), (0,), (1,)), strict=True)
    )
    changes = {"quantities": found, "devices": devices}
    rung = recorded().climbs[0].rungs[0].model_copy(update=changes)
    mirror, single = volumes(rung)
    one, other = device_loads(KneeReadings([rung]), mirror)
    assert min(one.write_bytes_per_s, other.write_bytes_per_s) >= 8 << 20
    both = volume_load(KneeReadings([rung]), mirror)
    assert both.write_bytes_per_s == one.write_bytes_per_s + other.write_bytes_per_s
    assert (both.write_await_s or 0) > 0
    assert volume_load(KneeReadings([rung]), single).write_bytes_per_s < 8 << 20


@pytest.mark.parametrize(
    ("name", "flag", "flags", "rotational"),
    [
        ("sda", "1", "fpu sse2", True),
        ("sda", "1", "fpu hypervisor sse2", None),
        ("vda", "1", "fpu sse2", None),
        ("loop0", "1", "fpu sse2", None),
        ("nvme0n1", "0", "fpu sse2", False),
        ("nbd0", "", "fpu sse2", None),
    ],
)
def test_a_disk_rotates_only_where_the_kernel_really_knows(
    name: str, flag: str, flags: str, rotational: bool | None, tmp_path: Path
) -> None:
    folder, cpu = tmp_path / name, tmp_path / "cpuinfo"
    (folder / "queue").mkdir(parents=True)
    (folder / "queue/rotational").write_text(f"{flag}\n")
    cpu.write_text(f"processor\t: 0\nflags\t\t: {flags}\n")
    assert is_rotational(folder, cpu) is rotational
