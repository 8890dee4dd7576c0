"""The table of drives: those under the file systems of the storages, and those that volumes were
made of, with how full they were and whether they had been trimmed before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kneebench import units
from kneebench.analysis.wording import percent
from kneebench.brief.section import Column, Row, Table
from kneebench.brief.view_model import ViewModel
from kneebench.plan.volume import Preconditioning, Volume
from kneebench.records import Campaign, Drive, WholeDrive

COLUMNS = (
    Column(title="Drive", number=False),
    Column(title="Model", number=False),
    Column(title="Size"),
    Column(title="Built on", number=False),
    Column(title="Scheduler", number=False),
)
STATE = (Column(title="Filled", number=False), Column(title="Trimmed before", number=False))
"""Columns that older results have nothing for."""
FILLED = (
    " Filled: used share of the file systems on the drive at the end of a climb, with the database"
    " on it."
)
UNKNOWN = "unknown"


def drive_table(view: ViewModel, whose: str = "") -> Table | None:
    """None where no drive is known. `whose`: the start of the caption."""
    campaign, drives = view.campaign, view.campaign.host.drives
    whole = {one.name: one for one in campaign.drives_before}
    shown = {one.name for one in drives}
    others = [one for one in whole.values() if one.name not in shown]
    if not drives and not others:
        return None
    state = bool(campaign.drive_fills) or any(
        one.accepts_trim is not None for one in whole.values()
    )
    rows = [
        *((_of_file_system(one), whole.get(one.name)) for one in drives),
        *((_of_drive(one), one) for one in others),
    ]
    return Table(
        caption=(
            f"{whose}I/O is counted once, on the underlying physical devices."
            f"{FILLED if state else ''}"
        ),
        columns=(*COLUMNS, *STATE) if state else COLUMNS,
        rows=tuple(
            Row(cells=(*cells, *(_state(view, drive) if state else ()))) for cells, drive in rows
        ),
        narrow=True,
    )


def _of_file_system(drive: Drive) -> tuple[str, ...]:
    return (
        drive.name,
        drive.model or "unnamed",
        units.size(drive.size_bytes),
        " → ".join(drive.stack) or units.NOTHING,
        drive.scheduler or units.NOTHING,
    )


def _of_drive(drive: WholeDrive) -> tuple[str, ...]:
    facts = (drive.name, drive.model or "unnamed", units.size(drive.size_bytes), units.NOTHING)
    return (*facts, drive.scheduler or units.NOTHING)


def _state(view: ViewModel, drive: WholeDrive | None) -> tuple[str, str]:
    """Of a device that is no whole drive, nothing: its drives have rows of their own."""
    if drive is None:
        return units.NOTHING, units.NOTHING
    fill = next((one for one in view.campaign.drive_fills if one.drive == drive.key), None)
    filled = (
        f"{percent(round(fill.share, 2))} of {units.size(fill.size_bytes)}" if fill else UNKNOWN
    )
    return filled, _trimmed(view.campaign, drive, _volumes_of(view.plan.volumes, drive))


def _trimmed(campaign: Campaign, drive: WholeDrive, volumes: Sequence[Volume]) -> str:
    """What is known: kneebench makes its file systems without discard, and writes over what was
    trimmed when it preconditions a drive.
    """
    if any(_discards(volume) for volume in volumes):
        return "by the file system (mount option discard)"
    if any(one.drive == drive.key and _passes(one.how) for one in campaign.preconditioned):
        return "no (written in full by kneebench)"
    if drive.accepts_trim is False:
        return "no (the kernel cannot trim it)"
    by_kneebench = " (not by kneebench)" if volumes else ""
    return "; ".join(drive.trims) or f"{UNKNOWN}{by_kneebench}"


def _volumes_of(volumes: Iterable[Volume], drive: WholeDrive) -> list[Volume]:
    """Those that a drive is part of, by whatever name the plan has for it."""
    names = {drive.name, drive.path, drive.wwid, *drive.by_id} - {""}
    return [one for one in volumes if names & {*one.named_drives}]


def _discards(volume: Volume) -> bool:
    options = volume.file_system.mount_options
    return any(option.partition("=")[0] == "discard" for option in options)


def _passes(how: str) -> int:
    try:
        return Preconditioning.read(how).passes
    except ValueError:  # of another version
        return 0
