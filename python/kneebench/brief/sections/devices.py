"""What each device of a storage did at the knee: rates, traffic, await, queue and utilization."""

from __future__ import annotations

from kneebench import units
from kneebench.analysis.devices import DeviceLoad
from kneebench.analysis.wording import percent
from kneebench.brief.knee_devices import KneeDevices, SeenVolume, knee_devices
from kneebench.brief.section import Column, Row, Section, Table, Tone
from kneebench.brief.view_model import ViewModel

COLUMNS = (
    Column(title="Storage", number=False),
    Column(title="Device", number=False),
    Column(title="Reads/s"),
    Column(title="Writes/s"),
    Column(title="With data, about"),
    Column(title="Flushes/s"),
    Column(title="Read"),
    Column(title="Written"),
    Column(title="Read await"),
    Column(title="Write await"),
    Column(title="Flush await"),
    Column(title="Queue depth"),
    Column(title="Utilization"),
)


def section(view: ViewModel) -> Section | None:
    """A row for each device, and one for all of a volume."""
    seen = {climb.id: found for climb in view.climbs if (found := knee_devices(view, climb))}
    rows = tuple(
        row for configuration, one in seen.items() for row in _rows(view.name(configuration), one)
    )
    if not rows:
        return None
    caption = (
        f"Means over the windows at the {view.point}. The row of a volume counts each"
        " I/O once: rates and queues are sums, an await is the mean over all its I/Os, utilization"
        " the mean of its drives. The kernel counts a flush as a write, too: writes with data are"
        " writes less flushes, and the write await is the mean of both. A device"
        " counts every flush that reaches it, also those of the file system; the database counts"
        " those that it asked for."
    )
    return Section(
        name="devices",
        title="Devices",
        sentences=tuple(
            f"{view.name(configuration)}: {odd.sentence}"
            for configuration, one in seen.items()
            for volume in one.volumes
            for odd in volume.odd
        ),
        tables=(Table(caption=caption, columns=COLUMNS, rows=rows),),
        part="appendix",
    )


def _rows(storage: str, devices: KneeDevices) -> list[Row]:
    return [row for volume in devices.volumes for row in _volume_rows(storage, volume)]


def _volume_rows(storage: str, volume: SeenVolume) -> list[Row]:
    """All of a volume first, then each of its devices; one row where it is a single device."""
    if len(volume.loads) == 1:
        device = volume.loads[0].device
        name = device if volume.name == device else f"{device} ({volume.name})"
        return [_row(storage, name, volume.whole, "strong")]
    odd = {one.device for one in volume.odd}
    return [
        _row(storage, f"{volume.name} ({len(volume.loads)})", volume.whole, "strong"),
        *(
            _row(storage, load.device, load, "alarm" if load.device in odd else "plain")
            for load in volume.loads
        ),
    ]


def _row(storage: str, device: str, load: DeviceLoad, tone: Tone) -> Row:
    return Row(
        cells=(
            storage,
            device,
            units.count(load.reads_per_s),
            units.count(load.writes_per_s),
            units.count(load.data_writes_per_s),
            units.count(load.flushes_per_s),
            units.rate(load.read_bytes_per_s),
            units.rate(load.write_bytes_per_s),
            units.time(load.read_await_s),
            units.time(load.write_await_s),
            units.time(load.flush_await_s),
            units.count(load.queue_depth),
            percent(load.busy),
        ),
        tone=tone,
    )
