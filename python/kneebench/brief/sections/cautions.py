"""What these figures cannot show, and what may have shaped them: to be read before they are quoted."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench.brief import words
from kneebench.brief.reading import Reading
from kneebench.brief.section import Section

PLACE = 15
WAREHOUSES_A_USER = 4
"""With fewer, users wait for each other's rows instead of the storage (methods: sizing advice)."""


def section(reading: Reading) -> Section | None:
    """Warnings; nothing where there are none."""
    sentences = tuple(_cautions(reading))
    return Section(name="cautions", title="To be read with care", sentences=sentences, tone="note") if sentences else None


def _cautions(reading: Reading) -> Iterator[str]:
    ladder, warehouses = reading.plan.ladder, reading.plan.workload.warehouses
    users = {cell: knee.users.value for cell, knee in reading.knees.items()}
    crowded = [cell for cell, number in users.items() if warehouses < WAREHOUSES_A_USER * number]
    if crowded:
        fewest = warehouses / max(users.values())
        yield (
            f"{fewest:.1f} warehouses a user at the {reading.point} ({reading.some(crowded)}); "
            f"below {WAREHOUSES_A_USER} users wait for each other's rows, and storage shows less."
        )
    if ladder.quick:
        yield (
            f"Quick plan: windows of {words.time(ladder.report_window)} need not hold a whole checkpoint cycle. "
            "They cannot show the storm of full-page images after a checkpoint, how vacuum keeps up, "
            "a drive's steady state after its cache is full, or how a figure holds over hours."
        )
    if reading.plan.database.restore == "clone":
        yield "Restored by reflink clones: copy-on-write of shared blocks is charged to the runs, on the log as well."
    memory = [reading.name(climb.cell.id) for climb in reading.climbs if reading.memory_backed(climb)]
    if memory:
        yield (
            f"{words.listed(memory)} is memory-backed storage (tmpfs): an estimate of what faster storage could buy, not a bound. "
            "It takes memory, copies on the same cores and changes how commits share a flush."
        )
