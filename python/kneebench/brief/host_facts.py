"""The machine in facts for a table: name and value; what was not reported is not there."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kneebench import units
from kneebench.analysis.machine_settings import machine_settings, modules_in_words
from kneebench.analysis.wording import plural
from kneebench.records import Host

NAMES = {
    "transparent_hugepage": "Transparent huge pages",
    "cpu_idle_driver": "CPU idle driver",
    "smt": "SMT active",
    "boost": "Boost",
    "no_turbo": "Turbo switched off",
    "clocksource": "Clock source",
    "bios": "BIOS",
    "bios_date": "BIOS date",
    "product": "Product",
    "platform_profile": "Firmware profile",
}
"""Of settings, where they have no name that a plan would use."""


def host_facts(host: Host, but: Collection[str] = ()) -> Iterator[tuple[str, str]]:
    """All facts that are known; of the settings not those that are said elsewhere, `but`."""
    yield "Processor", f"{host.cpu}, {plural(host.cores, 'core')}"
    yield "Sockets", "" if host.sockets is None else str(host.sockets)
    threads = host.threads_per_core
    yield "Threads per core", "" if threads is None else str(threads)
    yield "Clock", ", ".join(_clock(host))
    yield "Memory", units.size(host.memory_bytes)
    yield "Memory modules", modules_in_words(host)
    yield "System", f"{host.system}, kernel {host.kernel}"
    yield "System drives", "; ".join(_system_drives(host))
    yield "Virtualisation", host.virtualisation or "none detected"
    yield "Governor", host.governor
    for name, value in (*host.firmware.items(), *machine_settings(host.settings).items()):
        if name not in but:
            yield NAMES.get(name, name if name not in host.firmware else f"Firmware: {name}"), value


def _clock(host: Host) -> Iterator[str]:
    for what, clock_hz in (
        ("{}", host.clock_hz),
        ("base {}", host.clock_base_hz),
        ("at most {}", host.clock_most_hz),
        ("limited to {}", host.clock_limit_hz),
    ):
        if clock_hz is not None:
            yield what.format(f"{units.rounded(clock_hz / 1e9)} GHz")


def _system_drives(host: Host) -> Iterator[str]:
    """Each with its model and size, and whether a storage is on it, too."""
    of_storages = {name for drive in host.drives for name in (drive.name, *drive.real)}
    for one in host.system_drives:
        facts = (one.model, units.size(one.size_bytes) if one.size_bytes else "", one.transport)
        shared = "also holds a storage" if one.name in of_storages else ""
        yield f"{one.name} ({', '.join(filter(None, (*facts, shared)))})"
