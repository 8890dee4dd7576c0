"""The machine that is measured: what a reader must know to judge or repeat a figure."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import psutil

from kneebench.errors import KneebenchError
from kneebench.lab.drives import drive_of, mount_of
from kneebench.lab.inventory.block_devices import listed_devices
from kneebench.lab.inventory.holders import Holders
from kneebench.lab.inventory.identity import identified
from kneebench.lab.inventory.sources import Sources
from kneebench.lab.memory_modules import memory_modules
from kneebench.lab.topology import listed
from kneebench.records import Drive, Host, SystemDrive
from kneebench.visible import escaped

SETTINGS = {
    "transparent_hugepage": "/sys/kernel/mm/transparent_hugepage/enabled",
    "dirty_ratio": "/proc/sys/vm/dirty_ratio",
    "dirty_background_ratio": "/proc/sys/vm/dirty_background_ratio",
    "dirty_bytes": "/proc/sys/vm/dirty_bytes",
    "dirty_background_bytes": "/proc/sys/vm/dirty_background_bytes",
    "swappiness": "/proc/sys/vm/swappiness",
    "overcommit_memory": "/proc/sys/vm/overcommit_memory",
    "numa_balancing": "/proc/sys/kernel/numa_balancing",
    "cpu_idle_driver": "/sys/devices/system/cpu/cpuidle/current_driver",
    "boost": "/sys/devices/system/cpu/cpufreq/boost",
    "no_turbo": "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "smt": "/sys/devices/system/cpu/smt/active",
    "clocksource": "/sys/devices/system/clocksource/clocksource0/current_clocksource",
    "bios": "/sys/class/dmi/id/bios_version",
    "bios_date": "/sys/class/dmi/id/bios_date",
    "product": "/sys/class/dmi/id/product_name",
}


def kneebench_version() -> str:
    try:
        return version("kneebench")
    except PackageNotFoundError:
        return "0+source"


def _line(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _cpu() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next(
        (line.partition(":")[2].strip() for line in lines if line.startswith("model name")),
        platform.machine(),
    )


def _virtualisation() -> str:
    flags = next(
        (
            line
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("flags")
        ),
        "",
    )
    return (_line("/sys/hypervisor/type") or "hypervisor") if " hypervisor" in flags else ""


def _system() -> str:
    pairs = (line.partition("=") for line in _line("/etc/os-release").splitlines())
    return {key: value.strip('"') for key, _, value in pairs}.get("PRETTY_NAME", platform.system())


def _place(path: Path, drive: Drive | None) -> str:
    """What lies under a path now: the same words after a restart, others when another drive is
    mounted there.
    """
    mount = mount_of(path)
    kind = f"{drive.model}, {drive.size_bytes} bytes" if drive else mount.type
    return f"{path.resolve()} on {mount.source} at {mount.point} ({kind})"


def machine_number() -> str:
    """The machine's own number, or its name without one. It is secret: only hashes leave here."""
    return _line("/etc/machine-id") or platform.node()


def machine_key(host: Host) -> str:
    """What a machine's noise is kept by: the same after a restart or an update of the system,
    another one with other cores or memory. It is a hash, so that /etc/machine-id stays secret.
    """
    facts = f"kneebench/{machine_number()}/{host.cpu}/{host.cores}/{host.memory_bytes}"
    return hashlib.sha256(facts.encode()).hexdigest()[:16]


def host(paths: Iterable[Path] = ()) -> Host:
    """This machine, with the drives and places under `paths`; `cores` are those that this process
    may run on.
    """
    found = {path: drive_of(path) for path in paths}
    drives = {drive.name: drive for drive in found.values() if drive}
    return Host(
        cpu=_cpu(),
        cores=len(os.sched_getaffinity(0)),
        memory_bytes=psutil.virtual_memory().total,
        kernel=platform.release(),
        system=_system(),
        virtualisation=_virtualisation(),
        governor=_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        settings={name: text for name, path in SETTINGS.items() if (text := _line(path))},
        drives=tuple(drives.values()),
        places={str(path): _place(path, drive) for path, drive in found.items()},
    )


def described(machine: Host, sources: Sources | None = None) -> Host:
    """The machine with what takes longer to read: a few hundredths of a second, and as root."""
    sources = sources or Sources()
    memory = memory_modules(sources)
    unknown = f"Memory modules are unknown: {memory.unknown}." if memory.unknown else ""
    found = {
        **processor(sources)._asdict(),
        "memory_modules": memory.modules,
        "memory_slots": memory.slots,
        "firmware": firmware_profiles(sources),
        "system_drives": system_drives(sources),
        "unknown": (unknown,) if unknown else (),
    }
    return machine.model_copy(update=found)


# Profiles of performance of the firmware, where it reports them to the kernel.
#
# Most servers report them to their BMC only; then the plan's `[brief.machine]` says it.
# Sources: Documentation/ABI/testing/sysfs-platform_profile and sysfs-class-firmware-attributes.

PROFILE = re.compile(r"profile|operating_?mode", re.IGNORECASE)
"""In the name of an attribute."""
MOST, LONGEST = 10, 100


def firmware_profiles(sources: Sources) -> dict[str, str]:
    """Profiles by name; empty where the firmware reports none, or only root may read them."""
    found = {"platform_profile": sources.line(sources.sys, "firmware/acpi/platform_profile")}
    for folder in sorted((sources.sys / "class/firmware-attributes").glob("*/attributes/*")):
        if PROFILE.search(folder.name):
            found[folder.name] = sources.line(folder, "current_value")
    told = {escaped(name): escaped(text)[:LONGEST] for name, text in found.items() if text}
    return dict(list(told.items())[:MOST])


# The processor: sockets, threads per core and clock, from /sys and /proc.

KHZ, MHZ = 1e3, 1e6


class Processor(NamedTuple):
    """What the kernel reports of all cores that are online; None: it does not.

    `threads_per_core`: the most, where cores differ; `clock_base_hz`, `clock_most_hz`: base and
    highest clock; `clock_limit_hz`: a limit below that; `clock_hz`: the clock of a processor that
    has no frequency scaling, such as a virtual one.
    """

    sockets: int | None = None
    threads_per_core: int | None = None
    clock_hz: float | None = None
    clock_base_hz: float | None = None
    clock_most_hz: float | None = None
    clock_limit_hz: float | None = None


def processor(sources: Sources) -> Processor:
    """The processor of this machine."""
    root = sources.sys / "devices" / "system" / "cpu"
    folders = [root / f"cpu{core}" for core in listed(sources.line(root, "online"))]
    sockets = {*_numbers(sources, folders, "topology/physical_package_id")}
    siblings = [listed(sources.line(one, "topology/thread_siblings_list")) for one in folders]
    most = _highest(_numbers(sources, folders, "cpufreq/cpuinfo_max_freq"), KHZ)
    limit = _highest(_numbers(sources, folders, "cpufreq/scaling_max_freq"), KHZ)
    return Processor(
        sockets=len(sockets) or None,
        threads_per_core=max(map(len, siblings), default=0) or None,
        clock_hz=None if most else _clock_hz(sources),
        clock_base_hz=_highest(_numbers(sources, folders, "cpufreq/base_frequency"), KHZ),
        clock_most_hz=most,
        clock_limit_hz=limit if limit and most and limit < most else None,
    )


def _numbers(sources: Sources, folders: Iterable[Path], name: str) -> Iterator[int]:
    """Those of all cores that have one; a socket of -1 is unknown."""
    found = (sources.number(folder, name) for folder in folders)
    return (one for one in found if one is not None and one >= 0)


def _highest(values: Iterable[int], unit: float) -> float | None:
    return max(values, default=0) * unit or None


def _clock_hz(sources: Sources) -> float | None:
    """The mean of all cores, as /proc/cpuinfo has it."""
    lines = sources.line(sources.proc, "cpuinfo").splitlines()
    clocks = [float(line.partition(":")[2]) for line in lines if line.startswith("cpu MHz")]
    return fmean(clocks) * MHZ if clocks else None


# The drives that this machine runs from: its own directories are on them, or its swap is.


def system_drives(sources: Sources) -> tuple[SystemDrive, ...]:
    """Each with its model and size, none of them opened. Empty without lsblk, and in a container,
    which does not see them.
    """
    holders = Holders(sources)
    with contextlib.suppress(KneebenchError):
        devices = filter(holders.runs_the_system, listed_devices(sources))
        found = [identified(sources, device) for device in devices]
        return tuple(
            SystemDrive(
                name=one.name, model=one.model, size_bytes=one.size_bytes, transport=one.transport
            )
            for one in found
        )
    return ()
