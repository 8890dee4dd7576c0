"""The machine, its drives, and the loaded image: what a reader needs to judge a figure."""

from __future__ import annotations

from kneebench.brief import words
from kneebench.brief.reading import Reading
from kneebench.brief.section import Column, Row, Section, Table
from kneebench.records import Drive

PLACE = 120


def section(reading: Reading) -> Section:
    """Host, drives and image."""
    host, image = reading.campaign.host, reading.campaign.image
    facts = {
        "Processor": f"{host.cpu}, {words.plural(host.cores, 'core')}",
        "Memory": words.size(host.memory_bytes),
        "System": f"{host.system}, kernel {host.kernel}",
        "Virtualisation": host.virtualisation or "none seen",
        "Governor": host.governor or "not readable",
        **host.settings,
        **{f"image: {name}": value for name, value in image.items()},
        "kneebench": reading.campaign.kneebench,
        "Started": reading.campaign.started_at,
    }
    tables = [_facts(facts)]
    if host.drives:
        tables.append(_drives(host.drives))
    return Section(name="machine", title="Machine and drives", tables=tuple(tables))


def _facts(facts: dict[str, str]) -> Table:
    columns = (Column(title="Fact", number=False), Column(title="Value", number=False))
    return Table(columns=columns, rows=tuple(Row(cells=(name, value)) for name, value in facts.items() if value), narrow=True)


def _drives(drives: tuple[Drive, ...]) -> Table:
    columns = (
        Column(title="Drive", number=False),
        Column(title="Model", number=False),
        Column(title="Size"),
        Column(title="Stands on", number=False),
        Column(title="Scheduler", number=False),
    )
    rows = (
        Row(cells=(d.name, d.model or "not named", words.size(d.size_bytes), " → ".join(d.stack) or words.NOTHING, d.scheduler or words.NOTHING))
        for d in drives
    )
    return Table(caption="Traffic is counted on the whole devices at the bottom, once.", columns=columns, rows=tuple(rows), narrow=True)
