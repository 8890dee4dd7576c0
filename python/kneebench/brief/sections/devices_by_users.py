"""What the devices of each storage did as users were added: rates, traffic, times, queue."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench.analysis.knee import rungs_by_users
from kneebench.brief.section import Column, Row, Section, Table, Tone, searched
from kneebench.brief.view_model import ViewModel
from kneebench.records import Climb, Rung
from kneebench.units import NOTHING, count, rounded, size, time

COLUMNS = (
    "Storage",
    "Users",
    "Reads/s",
    "Writes/s",
    "Flushes/s",
    "Read/s",
    "Written/s",
    "Read await",
    "Write await",
    "Queue depth",
    "Utilization",
    "Log write",
)
READ = ("device.reads", "device.writes", "device.flushes")
TRAFFIC = ("device.read_bytes", "device.write_bytes")
TIMES = ("device.read_await", "device.write_await")


def section(view: ViewModel) -> Section | None:
    """A row for each search rung; nothing where no device was measured."""
    rows = tuple(row for climb in view.climbs for row in _rows(view, climb))
    if not rows:
        return None
    caption = (
        f"All devices of a storage together, each row {searched(view.campaign)}. Bold: as"
        f" many users as at the {view.point}. Rates and traffic are sums, utilization is that of"
        " the busiest device."
    )
    columns = tuple(Column(title=title, number=n > 0) for n, title in enumerate(COLUMNS))
    return Section(
        name="devices-by-users",
        title="Devices as users were added",
        tables=(Table(caption=caption, columns=columns, rows=rows),),
        part="appendix",
    )


def _rows(view: ViewModel, climb: Climb) -> Iterator[Row]:
    for rung in rungs_by_users(climb):
        if rung.quantity("device.writes") is not None:
            tone: Tone = "strong" if rung.users == climb.knee_users else "plain"
            yield Row(cells=(view.name(climb.id), f"{rung.users:,}", *_cells(rung)), tone=tone)


def _cells(rung: Rung) -> Iterator[str]:
    value = rung.quantity
    yield from (count(value(name)) for name in READ)
    yield from (size(value(name)) for name in TRAFFIC)
    yield from (time(value(name)) for name in TIMES)
    queue, busy = value("device.queue_depth"), value("device.busy")
    yield rounded(queue) if queue is not None else NOTHING
    yield f"{100 * busy:.0f}%" if busy is not None else NOTHING
    yield time(value("log.write_latency"))
