"""Share of the raw storage: a real short profile of a directory, and the shares computed from
one.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kneebench.analysis.knee_readings import KneeReadings
from kneebench.analysis.raw_share import RawShare, raw_shares
from kneebench.errors import PlanError
from kneebench.lab.drives import IN_MEMORY, file_system_of
from kneebench.measurement.profile.storage_profile import storage_profile
from kneebench.plan.volume import Volume
from kneebench.records import (
    CountedDevice,
    Event,
    Order,
    RawProfile,
    RawRow,
    RawStorage,
    Rung,
)
from tests.curves import rung
from tests.loop_devices import MIB, done, loop_device

needs_fio = pytest.mark.skipif(not shutil.which("fio"), reason="needs fio")
KNEE = Order(configuration="a", phase="final_run", users=8)


def row(kind: str, depth: int, iops: float, mean_s: float, invalid: str = "") -> RawRow:
    facts = {"name": kind, "kind": kind, "block_bytes": 8192, "depth": depth, "iops": iops}
    return RawRow.model_validate({**facts, "mean_s": mean_s, "invalid": invalid})


PROFILE = RawProfile(
    rows=(
        row("read", 1, 5_000, 0.0002),
        row("read", 64, 20_000, 0.0032),
        row("read", 16, 90_000, 0.0001, invalid="it does not add up"),
        row("write", 16, 3_000, 0.005),
        row("log", 1, 1_000, 0.001),
    ),
    seconds=2,
    file_bytes=2**27,
)
RAW = RawStorage(profile=PROFILE)
MIRROR = RawStorage(profile=PROFILE, copies=2)
LOG_APART = RawStorage(profile=PROFILE, log_apart=True)


def shares_at(seen: Rung, raw: RawStorage) -> tuple[RawShare, ...]:
    """Those of a knee of one rung."""
    return raw_shares(KneeReadings([seen]), raw)


def test_reads_are_compared_with_the_most_that_valid_rows_gave() -> None:
    seen = rung(KNEE, 100, device__reads=4_000, device__read_await=0.0003)
    [reads] = shares_at(seen, RAW)
    assert (reads.what, reads.share, reads.near) == ("reads", 0.2, False)
    assert reads.depth == pytest.approx(1.2)
    assert 0.0002 < reads.raw_mean_s < 0.0003, "hardly more than at a depth of 1"


def test_the_shares_are_of_the_means_of_all_final_runs() -> None:
    runs = [rung(KNEE, 100, device__reads=reads, device__read_await=0.0003) for reads in (3e3, 5e3)]
    [reads] = raw_shares(KneeReadings(runs), RAW)
    assert (reads.per_s, reads.share) == (4_000, 0.2)


def test_times_are_compared_at_the_depth_that_the_database_had_outstanding() -> None:
    """Halfway between two rows, a drive that does what it can is not slower than raw; nor beyond
    the deepest row, where its I/Os wait for each other.
    """
    for per_s, await_s in ((20_000, 0.0016), (20_000, 0.0128), (3_000, 0.02)):
        kind = "read" if per_s > 3_000 else "write"
        quantities = {f"device__{kind}s": per_s, f"device__{kind}_await": await_s}
        [found] = shares_at(rung(KNEE, 100, **quantities), RAW)
        assert found.slowed is None


def test_the_depth_of_writes_is_that_of_the_file_not_of_its_copies() -> None:
    quantities = {"device__writes": 6_000, "device__write_await": 0.0053}
    [writes] = shares_at(rung(KNEE, 100, **quantities), MIRROR)
    assert writes.depth == pytest.approx(15.9)


def test_reads_that_take_far_longer_than_alone_are_slowed_by_other_io() -> None:
    times = {
        await_s: shares_at(rung(KNEE, 100, device__reads=720, device__read_await=await_s), RAW)[
            0
        ].slowed
        for await_s in (0.0003, 0.0005)
    }
    assert times == {0.0003: None, 0.0005: pytest.approx(2.5)}


def test_writes_to_a_mirror_count_both_copies() -> None:
    seen = rung(KNEE, 100, device__writes=5_400, device__write_await=0.003)
    for layout, share in (("mirror", 0.9), ("raid10", 0.9), ("stripe", 1.8), ("single", 1.8)):
        copies = Volume.model_validate({"layout": layout}).copies
        [writes] = shares_at(seen, RawStorage(profile=PROFILE, copies=copies))
        assert writes.share == pytest.approx(share)
        assert writes.near


def test_log_writes_are_compared_with_their_own_row_and_what_was_not_measured_is_left_out() -> None:
    seen = rung(KNEE, 100, log__flushes=790, log__write_latency=0.002)
    [log] = shares_at(seen, RAW)
    assert (log.what, log.near, log.await_s) == ("log writes", False, 0.002)
    assert shares_at(rung(KNEE, 100), RAW) == ()


@needs_fio
def test_a_storage_is_profiled_in_its_directory_and_nothing_is_left(tmp_path: Path) -> None:
    if file_system_of(tmp_path) in IN_MEMORY:
        pytest.skip("needs a directory on a drive")
    events: list[Event] = []
    data, log = tmp_path / "data", tmp_path / "log"
    data.mkdir()
    log.mkdir()
    found = storage_profile([data, log], "profiling", events.append, seconds=1)
    assert found is not None
    assert [(one.kind, one.depth) for one in found.rows] == [
        ("read", 1),
        ("read", 4),
        ("read", 16),
        ("read", 64),
        ("write", 1),
        ("write", 4),
        ("write", 16),
        ("scan", 8),
        ("log", 1),
    ]
    assert all(one.iops > 0 and one.mean_s > 0 for one in found.rows)
    assert [event.kind for event in events] == ["start", "end"]
    assert [*data.iterdir(), *log.iterdir()] == []


@needs_fio
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_storage_that_is_nearly_full_is_profiled_with_a_smaller_file(tmp_path: Path) -> None:
    with small_file_system(tmp_path, 128 * MIB) as place:
        found = storage_profile([place], "profiling", lambda event: None, seconds=1)
        assert found is not None
        assert 32 * MIB < found.file_bytes < 64 * MIB
        assert {one.kind for one in found.rows if one.iops} == {"read", "write", "log", "scan"}
        (place / "data").write_bytes(bytes(100 * MIB))
        with pytest.raises(PlanError, match=r"32 MiB needed, .* free"):
            storage_profile([place], "profiling", lambda event: None)


@contextlib.contextmanager
def small_file_system(tmp_path: Path, size: int) -> Iterator[Path]:
    """A mounted ext4 of this size on a loop device."""
    with loop_device(tmp_path / "image", size) as device:
        done("mkfs.ext4", "-q", "-m", "0", "-J", "size=4", device)
        place = tmp_path / "mounted"
        place.mkdir()
        done("mount", device, place)
        try:
            yield place
        finally:
            done("umount", place)


def test_flushes_are_not_counted_as_writes() -> None:
    """A thousand writes with a sync after each: the kernel counts two thousand."""
    counted = rung(KNEE, 100, device__writes=2_000, device__flushes=1_000)
    [writes] = shares_at(counted, RAW)
    assert writes.per_s == 1_000
    assert shares_at(rung(KNEE, 100, device__flushes=1_000), RAW) == ()


def test_a_storage_in_memory_has_no_raw_profile() -> None:
    assert storage_profile([Path("/dev/shm")], "profiling", lambda event: None) is None


def test_writes_of_the_data_are_told_apart_from_those_of_a_log_on_other_drives() -> None:
    quantities = {"device__writes": 3_700, "device__busy": 1.5, "device__reads": 4_000}
    seen = rung(KNEE, 100, **quantities)
    by_drive = {
        "device.writes": (1_500, 2_200),
        "device.reads": (4_000, 0),
        "device.busy": (1, 0.5),
    }
    for name, (data, log) in by_drive.items():
        sources = {"sda": float(data), "sdb": float(log)}
        seen.quantities[name] = seen.quantities[name].model_copy(update={"sources": sources})
    assert [one.what for one in shares_at(seen, LOG_APART)] == ["reads"]
    devices = (
        CountedDevice(name="sda", directories=(0,)),
        CountedDevice(name="sdb", directories=(1,)),
    )
    known = seen.model_copy(update={"devices": devices})
    shares = {one.what: one.share for one in shares_at(known, LOG_APART)}
    assert shares == {"reads": 0.2, "writes": 0.5}


def on_a_mirror(*directories: tuple[int, ...]) -> dict[str, float]:
    """The shares of a storage whose drives, from sda on, have these directories; each reads 1,000
    and writes 1,500 times per second.
    """
    names = [f"sd{letter}" for letter, _ in zip("abc", directories, strict=False)]
    seen = rung(KNEE, 100, device__writes=4_500, device__busy=1.5, device__reads=3_000)
    for name, each in (("writes", 1_500.0), ("reads", 1_000.0), ("busy", 0.5)):
        sources = {"sources": dict.fromkeys(names, each)}
        quantity = f"device.{name}"
        seen.quantities[quantity] = seen.quantities[quantity].model_copy(update=sources)
    devices = tuple(
        CountedDevice(name=name, directories=held)
        for name, held in zip(names, directories, strict=True)
    )
    known = seen.model_copy(update={"devices": devices})
    raw = LOG_APART.model_copy(update={"copies": 2})
    return {one.what: one.share for one in shares_at(known, raw)}


def test_all_drives_of_the_data_count_and_writes_only_if_the_log_is_on_all_or_none() -> None:
    assert on_a_mirror((0,), (0,), (1,)) == {"reads": 0.1, "writes": 0.5}
    assert on_a_mirror((0, 1), (0, 1)) == {"reads": 0.1, "writes": 0.5}
    assert on_a_mirror((0,), (0, 1)) == {"reads": 0.1}
    assert on_a_mirror((0,), (0, 1), (1,)) == {"reads": 0.1}
