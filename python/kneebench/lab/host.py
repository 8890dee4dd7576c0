"""The machine that is measured: what a reader must know to judge or repeat a figure."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

from kneebench.lab.drives import drive_of, mount_of
from kneebench.lab.firmware import firmware_profiles
from kneebench.lab.inventory.sources import Sources
from kneebench.lab.inventory.system_drives import system_drives
from kneebench.lab.memory_modules import memory_modules
from kneebench.lab.processor import processor
from kneebench.records import Drive, Host

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
    """The kneebench that measures."""
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
