"""The machine, its drives, and the loaded image: what a reader needs to judge a figure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kneebench import units
from kneebench.analysis.endurance import written
from kneebench.analysis.machine_settings import settings_of_the_plan
from kneebench.analysis.wording import listed, percent
from kneebench.brief import server_provenance
from kneebench.brief.host_facts import host_facts
from kneebench.brief.section import Column, Row, Section, Table
from kneebench.brief.view_model import ViewModel
from kneebench.engine_properties import engine_properties
from kneebench.plan.storage import ROLES
from kneebench.plan.volume import Preconditioning, Volume
from kneebench.records import Campaign, Drive, WholeDrive, image_fact
from kneebench.shelf import ENGINES

TOLD = ("key", "restored_by", "schema_from", "server")
"""Facts about a base image: its name, and whose tables it has; not how many rows, bytes and seconds
it took."""
WORDS = tuple(Column(title=title, number=False) for title in ("Note", "In the author's words"))


def section(view: ViewModel) -> Section:
    host, campaign = view.campaign.host, view.campaign
    kinds = server_provenance.kinds(view.plan)
    facts = {
        **dict(host_facts(host, settings_of_the_plan(view.campaign))),
        **{
            f"Base image: {image_fact(database, name)}": value
            for database in campaign.engines
            for name, value in campaign.image_of(database).items()
            if name in TOLD
        },
        **_volumes(view),
        **_database_settings(view),
        "kneebench": view.campaign.kneebench,
        "Started": view.campaign.started_at,
    }
    tables = [_facts(facts)]
    elsewhere = "url" in kinds and not server_provenance.is_here(view.campaign)
    whose = "Drives of the load generator's machine. " if elsewhere else ""
    if drives := drive_table(view, whose):
        tables.append(drives)
    if words := _authors_words(view):
        tables.append(words)
    return Section(
        name="machine",
        title="Machine and drives",
        sentences=(*_whose(view), *host.unknown, *_written(view)),
        tables=tuple(tables),
        part="configuration",
    )


def _volumes(view: ViewModel) -> dict[str, str]:
    """What the volumes of each storage were made of; nothing for directories."""
    return {
        f"Storage: {name}": "; ".join(
            volume.words if volume is storage else f"{ROLES[key].holds}: {volume.words}"
            for key, volume in storage.volumes_by_path.items()
        )
        for name, storage in view.plan.storages.items()
        if storage.volumes
    }


def _database_settings(view: ViewModel) -> dict[str, str]:
    """The settings that decide most, of each database; those that its configurations share."""
    found = {}
    for database, engine in view.campaign.engines.items():
        climbs = [one for one in view.climbs if one.configuration.database == database]
        each = [some for one in climbs if (some := view.campaign.settings.get(one.id))]
        pairs = [{(one.name, one.value) for one in some} for some in each]
        values = dict(set.intersection(*pairs)) if pairs else {}
        names = engine_properties(engine).named_settings if engine in ENGINES.names() else ()
        told = ", ".join(f"{name} = {values[name]}" for name in names if name in values)
        found[f"Settings of {database}" if database else "Database settings"] = told
    return found


def _whose(view: ViewModel) -> Iterator[str]:
    """What the facts are of, where it is not simply the machine that was measured."""
    kinds = server_provenance.kinds(view.plan)
    if "simulated" in kinds:
        yield (
            "The simulation ran on this machine; the database, its cores and its drives were a"
            " model."
        )
    if view.plan.hosts.database.ssh:
        called = view.plan.hosts.database.called
        yield f"Processor, memory, system and drives are those of database host {called}."
        return
    if "url" not in kinds:
        return
    if server_provenance.is_here(view.campaign):
        yield "Server and load generator ran on this machine."
        return
    sentence = "Processor, memory, system and drives describe the load generator's machine"
    where = server_provenance.hosts(view.plan)
    names = {climb.id: climb.configuration.name for climb in view.climbs}
    if apart := server_provenance.elsewhere(view.campaign, names):
        yield f"{sentence}; the server's machine is not described here ({listed(apart)})."
    elif elsewhere := [host for host in where if host not in server_provenance.HERE]:
        yield f"{sentence}; the server at {listed(elsewhere)} is not described here."
    else:
        yield (
            f"{sentence}; the server was reached at {listed(where)} and ran there too, unless that"
            " address is forwarded."
        )


def _written(view: ViewModel) -> Iterator[str]:
    """What the campaign cost the drives."""
    found = list(written(view.campaign))
    yield from (one.sentence for one in found)
    if found:
        yield "Every write counts, from the campaign's start to its end, whichever program made it."


def _authors_words(view: ViewModel) -> Table | None:
    """What the plan's author says of the storages and of the machine; None for nothing."""
    brief = view.plan.brief
    rows = {**{f"Storage: {name}": said for name, said in brief.storages.items()}, **brief.machine}
    if not rows:
        return None
    return Table(
        caption="Written by the author of the plan. kneebench did not check them.",
        columns=WORDS,
        rows=tuple(Row(cells=one) for one in rows.items()),
        narrow=True,
    )


def _facts(facts: dict[str, str]) -> Table:
    columns = (Column(title="Fact", number=False), Column(title="Value", number=False))
    return Table(
        columns=columns,
        rows=tuple(Row(cells=(name, value)) for name, value in facts.items() if value),
        narrow=True,
    )


# The table of drives: those under the file systems of the storages, and those that volumes were
# made of, with how full they were and whether they had been trimmed before.

COLUMNS = (
    Column(title="Drive", number=False),
    Column(title="Model", number=False),
    Column(title="Size"),
    Column(title="Built on", number=False),
    Column(title="Scheduler", number=False),
)
STATE = (Column(title="Filled", number=False), Column(title="Trimmed before", number=False))
"""Columns that are left out where nothing is known."""
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
