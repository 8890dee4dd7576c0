"""Facts about the machine: each from its source, absent where that reports nothing."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from kneebench.brief import Brief
from kneebench.brief.host_facts import host_facts
from kneebench.lab import memory_modules as modules_room
from kneebench.lab import programs
from kneebench.lab.host import Processor, described, firmware_profiles, host, processor
from kneebench.lab.inventory import Sources, drive_fills
from kneebench.lab.inventory.block_devices import listed_devices
from kneebench.lab.inventory.file_systems import trims
from kneebench.lab.memory_modules import Slots, memory_modules, modules_in
from kneebench.records import (
    DriveFill,
    Host,
    MemoryModule,
    Preconditioned,
    Setting,
    SystemDrive,
    WholeDrive,
)
from kneebench.results.campaign_differences import differences
from tests.loop_devices import loop_device
from tests.recordings import recorded, recorded_host, section, with_campaign, with_plan

PRINTED = """\
# dmidecode 3.4
Getting SMBIOS data from sysfs.
SMBIOS 3.3.0 present.

Handle 0x1100, DMI type 17, 92 bytes
Memory Device
\tTotal Width: 80 bits
\tSize: 32 GB
\tLocator: A1
\tType: DDR5
\tSpeed: 5600 MT/s
\tManufacturer: Example
\tSerial Number: 80CE012345
\tAsset Tag: 01234567
\tPart Number: EX-32-5600
\tConfigured Memory Speed: 4800 MT/s

Handle 0x1101, DMI type 17, 92 bytes
Memory Device
\tSize: No Module Installed
\tType: Unknown
\tSpeed: Unknown

Handle 0x1102, DMI type 17, 40 bytes
Memory Device
\tSize: 8192 MB
\tType: DDR4
\tSpeed: 2400 MHz
\tManufacturer: Not Specified
\tSerial Number: 12303315
\tPart Number: NOT AVAILABLE
\tConfigured Clock Speed: 2133 MHz
"""
"""As dmidecode 3.4 and, at the end, 3.0 write them; the modules are made up."""


# --- memory modules -------------------------------------------------------------------------------


def test_modules_are_read_without_their_serial_numbers() -> None:
    one, empty, other = modules_in(PRINTED)
    assert empty is None
    assert one == MemoryModule(
        size_bytes=32 * 2**30,
        kind="DDR5",
        rated_mt_s=5600,
        configured_mt_s=4800,
        maker="Example",
        part="EX-32-5600",
    )
    assert other == MemoryModule(
        size_bytes=8 * 2**30, kind="DDR4", rated_mt_s=2400, configured_mt_s=2133
    )
    kept = "".join(module.model_dump_json() for module in (one, other) if module)
    assert not [number for number in ("80CE012345", "01234567", "12303315") if number in kept]


@pytest.fixture
def dmidecode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for a program of that name, on a machine with an SMBIOS table, seen by root."""
    monkeypatch.setattr(programs, "PATHS", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(modules_room.os, "geteuid", lambda: 0)
    table = tmp_path / "sys" / modules_room.TABLE
    table.parent.mkdir(parents=True)
    table.touch()
    return tmp_path / "dmidecode"


def read(program: Path, script: str) -> Slots:
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return memory_modules(Sources(sys=program.parent / "sys"))


def test_slots_are_counted_with_empty_ones(dmidecode: Path) -> None:
    found = read(dmidecode, f"cat <<'END'\n{PRINTED}END")
    assert (len(found.modules), found.slots, found.unknown) == (2, 3, "")


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo '# No SMBIOS nor DMI entry point found, sorry.'", "dmidecode reports none"),
        ("echo 'Permission denied' >&2; exit 1", "dmidecode: Permission denied"),
    ],
)
def test_modules_that_cannot_be_read_are_absent_with_the_reason(
    dmidecode: Path, script: str, why: str
) -> None:
    found = read(dmidecode, script)
    assert (found.modules, found.unknown) == ((), why)


def test_a_dmidecode_that_hangs_is_ended(dmidecode: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules_room, "LIMIT_S", 0.3)
    began_s = time.monotonic()
    assert read(dmidecode, "exec sleep 60").unknown.startswith("dmidecode has not ended")
    assert time.monotonic() - began_s < 20


def test_a_missing_dmidecode_and_another_user_than_root_are_said(
    dmidecode: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = Sources(sys=dmidecode.parent / "sys")
    monkeypatch.setattr(programs, "PATHS", str(dmidecode.parent / "nothing"))
    assert memory_modules(sources).unknown == "dmidecode is missing"
    monkeypatch.setattr(modules_room.os, "geteuid", lambda: 1000)
    assert memory_modules(sources).unknown == "only root can read them"
    assert memory_modules(Sources(sys=dmidecode)).unknown == "the firmware has no SMBIOS table"


# --- processor, firmware, system drives -----------------------------------------------------------


def files(root: Path, **texts: str) -> Path:
    for name, text in texts.items():
        file = root / name.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    return root


def test_sockets_threads_and_clock_are_those_of_all_cores(tmp_path: Path) -> None:
    root = files(tmp_path / "sys/devices/system/cpu", online="0-3")
    for core, siblings in enumerate(("0,2", "1,3", "0,2", "1,3")):
        files(
            root / f"cpu{core}",
            topology__physical_package_id=str(core % 2),
            topology__thread_siblings_list=siblings,
            cpufreq__base_frequency="2100000",
            cpufreq__cpuinfo_max_freq=str(3_700_000 - core),
            cpufreq__scaling_max_freq="3000000",
        )
    assert processor(Sources(sys=tmp_path / "sys", proc=tmp_path)) == Processor(
        sockets=2,
        threads_per_core=2,
        clock_hz=None,
        clock_base_hz=2.1e9,
        clock_most_hz=3.7e9,
        clock_limit_hz=3.0e9,
    )


def test_a_processor_that_reports_nothing_has_no_facts(tmp_path: Path) -> None:
    root = files(tmp_path / "sys/devices/system/cpu", online="0")
    files(root / "cpu0", topology__physical_package_id="-1")
    assert processor(Sources(sys=tmp_path / "sys", proc=tmp_path)) == Processor()


def test_profiles_of_the_firmware_are_named_as_it_names_them(tmp_path: Path) -> None:
    files(tmp_path / "firmware/acpi", platform_profile="performance")
    root = tmp_path / "class/firmware-attributes/vendor/attributes"
    files(root / "SystemProfile", current_value="PerfOptimized")
    files(root / "AssetTag", current_value="1234567")
    found = firmware_profiles(Sources(sys=tmp_path))
    assert found == {"platform_profile": "performance", "SystemProfile": "PerfOptimized"}
    assert firmware_profiles(Sources(sys=tmp_path / "class")) == {}


def test_this_machine_is_described_without_its_serial_number_and_uuid() -> None:
    machine = described(host())
    assert machine.cores <= (os.cpu_count() or machine.cores)
    assert machine.sockets is None or machine.sockets >= 1
    text = machine.model_dump_json()
    for name in ("product_serial", "product_uuid", "board_serial", "chassis_serial"):
        file = Path("/sys/class/dmi/id") / name
        secret = file.read_text().strip() if os.access(file, os.R_OK) else ""
        assert len(secret) < 6 or secret not in text


# --- drives ---------------------------------------------------------------------------------------


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it mounts a loop device")
def test_how_full_a_drive_is_and_what_trims_it_comes_from_its_mounted_file_systems(
    tmp_path: Path,
) -> None:
    with loop_device(tmp_path / "drive.img") as drive:
        device = next(one for one in listed_devices(Sources()) if one.path == str(drive))
        assert trims(Sources(), device, tmp_path / "no-timer") == ()
        programs.run_program("mkfs.ext4", "-q", "-E", "nodiscard", str(drive))
        (point := tmp_path / "mounted").mkdir()
        programs.run_program("mount", "-o", "discard", str(drive), str(point))
        try:
            (point / "file").write_bytes(bytes(20 * 2**20))
            os.sync()
            seen = os.statvfs(point)
            device = next(one for one in listed_devices(Sources()) if one.path == str(drive))
            trimmed = trims(Sources(), device, tmp_path / "no-timer")
            (stamp := tmp_path / "stamp").touch()
            os.utime(stamp, (0, 1_700_000_000))
            by_timer = trims(Sources(), device, stamp)
        finally:
            programs.run_program("umount", str(point))
    assert seen.f_blocks - seen.f_bfree >= 20 * 2**20 // seen.f_frsize
    assert trimmed == (f"mount option discard ({point})",)
    assert by_timer == (*trimmed, "fstrim.timer (last on 2023-11-14)")


def test_the_drive_under_a_directory_is_as_full_as_its_file_systems(tmp_path: Path) -> None:
    for fill in drive_fills([tmp_path]):
        assert 0 < fill.used_bytes <= fill.size_bytes
    assert drive_fills([]) == ()


def drive(**facts: object) -> WholeDrive:
    return WholeDrive.model_validate({"name": "sda", "path": "/dev/sda", "wwid": "w", **facts})


def configurations_of(*drives: WholeDrive, **campaign: object) -> list[tuple[str, ...]]:
    """What the table of drives says of these."""
    host = recorded_host().model_copy(update={"drives": ()})
    results = with_campaign(recorded(), host=host, drives_before=drives, **campaign)
    return [row.cells for row in section(Brief(results), "machine").tables[-1].rows]


def test_the_brief_says_how_full_a_drive_was_and_what_is_known_of_trims() -> None:
    fill = DriveFill(drive="w", size_bytes=400 * 2**30, used_bytes=100 * 2**30)
    by_option = drive(accepts_trim=True, trims=("mount option discard (/)",))
    [known] = configurations_of(by_option, drive_fills=(fill,))
    assert known[-2:] == ("25% of 400 GiB", "mount option discard (/)")
    [unknown] = configurations_of(drive(accepts_trim=True))
    assert unknown[-2:] == ("unknown", "unknown")
    [never] = configurations_of(drive(accepts_trim=False))
    assert never[-1] == "no (the kernel cannot trim it)"
    done = Preconditioned(device="/dev/sda", drive="w", how="sequential 1, random 2")
    [written] = configurations_of(drive(accepts_trim=True), preconditioned=(done,))
    assert written[-1] == "no (written in full by kneebench)"


def test_a_table_of_older_results_has_no_columns_for_what_they_do_not_say() -> None:
    [configurations] = configurations_of(drive())
    assert len(configurations) == 5


# --- in the brief ---------------------------------------------------------------------------------

MACHINE = Host(
    cpu="Example CPU",
    cores=64,
    memory_bytes=64 * 2**30,
    kernel="6.1",
    system="Linux",
    sockets=2,
    threads_per_core=2,
    clock_base_hz=2.1e9,
    clock_most_hz=3.7e9,
    memory_modules=tuple(one for one in modules_in(PRINTED) if one),
    memory_slots=3,
    firmware={"SystemProfile": "PerfOptimized"},
    system_drives=(SystemDrive(name="sda", model="Example", size_bytes=480 * 10**9),),
)


def test_facts_of_a_machine_in_words() -> None:
    facts = dict(host_facts(MACHINE))
    assert facts["Sockets"] == "2"
    assert facts["Threads per core"] == "2"
    assert facts["Clock"] == "base 2.1 GHz, at most 3.7 GHz"
    assert facts["Memory modules"] == (
        "1 x 32 GiB DDR5, 4800 MT/s (made for 5600 MT/s), Example EX-32-5600; 1 x 8 GiB DDR4, 2133"
        " MT/s (made for 2400 MT/s); 1 slot empty"
    )
    assert facts["System drives"] == "sda (Example, 447 GiB)"
    assert facts["Firmware: SystemProfile"] == "PerfOptimized"


def test_facts_that_are_not_reported_are_no_rows_and_why_is_said_once() -> None:
    sentence = "Memory modules are unknown: dmidecode is missing."
    bare = recorded_host().model_copy(update={"unknown": (sentence,)})
    found = section(Brief(with_campaign(recorded(), host=bare)), "machine")
    assert found.sentences.count(sentence) == 1
    names = {row.cells[0] for row in found.tables[0].rows}
    assert not names & {"Sockets", "Clock", "Memory modules", "System drives", "Governor"}


def test_a_kernel_setting_of_the_plan_is_said_once_with_the_value_that_was_in_force() -> None:
    machine = recorded_host()
    assert machine.settings["dirty_ratio"] == "20"
    setting = Setting(name="vm.dirty_bytes", value="1048576", source="plan; before: 0")
    results = with_plan(recorded(), kernel={"sysctl": {"vm.dirty_bytes": 1048576}})
    settings = {
        configuration: (*some, setting) for configuration, some in results.campaign.settings.items()
    }
    brief = Brief(with_campaign(results, settings=settings))
    machine_rows = {row.cells[0] for row in section(brief, "machine").tables[0].rows}
    assert not {name for name in machine_rows if "dirty_ratio" in name or "dirty_bytes" in name}
    rows = [row.cells for row in section(brief, "settings").tables[0].rows]
    assert [row[:2] for row in rows if "dirty" in row[0]] == [("vm.dirty_bytes", "1048576")]


def test_a_kernel_setting_that_another_campaign_has_by_its_plan_does_not_differ() -> None:
    """The machine of the one has by itself what the plan of the other sets."""
    machine = recorded_host()
    own = machine.model_copy(update={"settings": {**machine.settings, "dirty_ratio": "5"}})
    by_plan = with_plan(recorded(), kernel={"sysctl": {"vm.dirty_ratio": 5}})
    assert differences(with_campaign(recorded(), host=own), by_plan) == []
    [sentence] = differences(recorded(), by_plan)
    assert sentence.startswith("vm.dirty_ratio is 20 in ")
    assert " and 5 in " in sentence
