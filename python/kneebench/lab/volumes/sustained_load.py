"""A load on whole drives for a long time: to burn new drives in, and to use up burst credits.

Random reads and writes of 4 KiB; after each interval the drives' health is read. fio ends with the
first I/O error, and the campaign with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from kneebench import units
from kneebench.analysis.sustained_load import has_fallen
from kneebench.lab.inventory import drives_called
from kneebench.lab.journal import Journal
from kneebench.lab.permission import WritableDevice
from kneebench.lab.volumes.fio_on_drives import DriveFio, DriveSpeed
from kneebench.records import DriveHealth, DriveLoad, LoadInterval, Watch, WholeDrive

WRITTEN_SHARE = 0.3
MIX = (
    "--rw=randrw",
    f"--rwmixwrite={WRITTEN_SHARE * 100:.0f}",
    "--bs=4k",
    "--iodepth=32",
    "--lat_percentiles=0",
)
LONGEST_S, INTERVALS = 300.0, 60


class Sustained(NamedTuple):
    """The plan's words: `kind` of load, for how long at most."""

    kind: Literal["burn-in", "drain"]
    limit_s: float

    @property
    def interval_s(self) -> int:
        """Of one call of fio, in whole seconds: a sixtieth of the time, at most 5 minutes."""
        return max(1, round(min(LONGEST_S, self.limit_s / INTERVALS)))


def load_drives(
    journal: Journal, devices: Sequence[WritableDevice], how: Sustained, watch: Watch
) -> tuple[DriveLoad, ...]:
    """Put the load on all drives; a drain ends as soon as all have fallen to a lower level.

    Raises OSError where fio fails, as it does on an I/O error.
    """
    fio, seen = DriveFio(journal, devices, watch, how.kind), list[list[LoadInterval]]()
    paths = [device.path for device in devices]
    before = after = drives_called(paths)
    for number in range(max(1, round(how.limit_s / how.interval_s))):
        so_far = units.time(number * how.interval_s)
        part = f"{so_far} of {'at most ' * (how.kind == 'drain')}{units.time(how.limit_s)}"
        words = (*MIX, "--time_based", f"--runtime={how.interval_s}", f"--randseed={number}")
        done = fio.run(part, words, limit_s=how.interval_s)
        after = drives_called(paths)
        seen.append([_interval(*one) for one in zip(done, after, strict=True)])
        if how.kind == "drain" and all(map(_has_fallen, zip(*seen, strict=True))):
            break
    return tuple(
        _load(how, drive, last, intervals)
        for drive, last, intervals in zip(before, after, zip(*seen, strict=True), strict=True)
    )


def _has_fallen(intervals: Sequence[LoadInterval]) -> bool:
    return has_fallen([one.iops for one in intervals])


def _interval(done: DriveSpeed, drive: WholeDrive) -> LoadInterval:
    return LoadInterval(**done._asdict(), temperature_c=drive.health.temperature_c)


def _load(
    how: Sustained, drive: WholeDrive, last: WholeDrive, intervals: Sequence[LoadInterval]
) -> DriveLoad:
    before, after = drive.health, last.health
    return DriveLoad(
        device=drive.path,
        drive=drive.key,
        kind=how.kind,
        interval_s=how.interval_s,
        intervals=tuple(intervals),
        throttled=_more(before, after, "throttled"),
        media_errors=_more(before, after, "media_errors"),
    )


def _more(before: DriveHealth, after: DriveHealth, name: str) -> int | None:
    """By how much a counter of the drive's health has grown; None if there is none."""
    first, last = getattr(before, name), getattr(after, name)
    return None if first is None or last is None else last - first
