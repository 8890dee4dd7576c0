"""The drives of this machine, for the terminal and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from kneebench import units
from kneebench.brief.section import Row, Section, Table, Tone, columns
from kneebench.brief.terminal import Fitted, parts
from kneebench.lab.inventory.erasable import State, content, drive_state
from kneebench.records import DriveHealth, Host, WholeDrive

UNKNOWN = "unknown"
VOLATILE = {
    None: "",
    False: "none: acknowledged writes survive a power loss",
    True: "yes: writes survive a power loss only after a flush, unless the drive is protected",
}
WARNS = {None: "", False: "none", True: "yes: the drive reports itself at risk"}
TONES: dict[State, Tone] = {
    "in use": "doubt",
    "contains data": "doubt",
    "blank": "good",
    "read-only": "alarm",
    "unknown": "alarm",
}
MEANS = (
    "in use: kneebench never writes to it; contains data: it must be erased first; blank: nothing"
    " was found on it. used: share of the rated endurance, as the drive reports it."
)


def printed(drives: Sequence[WholeDrive], machine: Host) -> Iterator[RenderableType]:
    """All drives, one per row, with what the states mean; then the host."""
    titles = columns("drive", "state", "model", ">size", "transport", ">used", ">temp", "why")
    yield Fitted(Table(caption=MEANS, columns=titles, rows=tuple(map(_row, drives))))
    yield Text(f"\n{_host(machine)}", style="dim")


def _row(drive: WholeDrive) -> Row:
    found, health = drive_state(drive), drive.health
    cells = (
        drive.name,
        found.state,
        drive.model or UNKNOWN,
        units.size(drive.size_bytes),
        drive.transport or UNKNOWN,
        _shown(health.percentage_used, "{:g}%"),
        _shown(health.temperature_c, "{:g} °C"),
        found.why,
    )
    return Row(cells=cells, tone=TONES[found.state])


def detailed(drives: Sequence[WholeDrive], machine: Host) -> Iterator[RenderableType]:
    """All facts of some drives."""
    for drive in drives:
        yield from parts([Section(name=drive.name, title=drive.path, tables=(_facts(drive),))])
    yield Text(f"\n{_host(machine)}", style="dim")


def document(drives: Sequence[WholeDrive], machine: Host) -> dict[str, Any]:
    """The same for programs: null is unknown, never 0."""
    return {
        "host": machine.model_dump(mode="json"),
        "drives": [_unknown_as_null(drive) for drive in drives],
    }


def _unknown_as_null(drive: WholeDrive) -> dict[str, Any]:
    facts, found = drive.model_dump(mode="json"), drive_state(drive)
    known = {**facts, "health": _with_nulls(facts["health"])}
    return {**_with_nulls(known), "state": found.state, "why": found.why}


def _with_nulls(facts: dict[str, Any]) -> dict[str, Any]:
    return {key: None if value == "" else value for key, value in facts.items()}


def _facts(drive: WholeDrive) -> Table:
    facts = {**_identity(drive), **_health(drive.health)}
    rows = (
        Row(cells=(name, text or UNKNOWN))
        for name, text in facts.items()
        if text or name != "content"
    )
    return Table(columns=columns("", ""), rows=tuple(rows))


def _identity(drive: WholeDrive) -> dict[str, str]:
    found = drive_state(drive)
    most = f" (drive: {drive.link_most})" if drive.link_most else ""
    blocks = (
        f"{drive.logical_block_bytes} bytes logical, {drive.physical_block_bytes} physical"
        if drive.logical_block_bytes and drive.physical_block_bytes
        else ""
    )
    return {
        "state": f"{found.state}: {found.why}",
        "content": ", ".join(map(content, drive.signatures or ())),
        "model": drive.model,
        "serial": drive.serial,
        "WWID": drive.wwid,
        "by id": "\n".join(drive.by_id),
        "firmware": drive.firmware,
        "capacity": f"{drive.size_bytes:,} bytes ({units.size(drive.size_bytes)})",
        "blocks": blocks,
        "transport": drive.transport,
        "Link": f"{drive.link}{most}",
        "NUMA node": _shown(drive.numa_node, "{}"),
        "scheduler": drive.scheduler,
        "read-ahead": "" if drive.read_ahead_bytes is None else units.size(drive.read_ahead_bytes),
        "write cache": drive.write_cache,
        "volatile write cache": VOLATILE[drive.volatile_write_cache],
    }


def _health(health: DriveHealth) -> dict[str, str]:
    return {
        "temperature": _shown(health.temperature_c, "{:g} °C"),
        "too hot": _shown(health.too_hot_min, "{:,} min"),
        "throttled": _shown(health.throttled, "{:,} times"),
        "media errors": _shown(health.media_errors, "{:,}"),
        "endurance used": _shown(health.percentage_used, "{:g}%"),
        "available spare": _shown(health.available_spare, "{:g}%"),
        "critical warning": WARNS[health.critical_warning],
        "written": "" if health.written_bytes is None else units.size(health.written_bytes),
        "powered on": _shown(health.powered_on_h, "{:,} h"),
        "health from": health.source,
    }


def _shown(value: float | None, form: str) -> str:
    return UNKNOWN if value is None else form.format(value)


def _host(machine: Host) -> str:
    known = {
        "": machine.settings.get("product", ""),
        "BIOS ": machine.settings.get("bios", ""),
        "kernel ": machine.kernel,
        "virtualised: ": machine.virtualisation,
    }
    return "Host: " + ", ".join(f"{name}{text}" for name, text in known.items() if text)
