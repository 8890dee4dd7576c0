"""What preconditioning costs, before it begins: bytes, time, and endurance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kneebench import units
from kneebench.analysis.endurance import endurance_share
from kneebench.analysis.steady import MOST_ROUNDS, ROUNDS, steadiness
from kneebench.analysis.wording import listed
from kneebench.errors import KneebenchError
from kneebench.lab.inventory import identities, named
from kneebench.lab.journal import Journal
from kneebench.lab.permission import WritableDevice
from kneebench.lab.volumes.emulated import limits_of
from kneebench.lab.volumes.fio_on_drives import DriveFio, Points
from kneebench.lab.volumes.sustained_load import WRITTEN_SHARE
from kneebench.plan.study import Study
from kneebench.plan.volume import Preconditioning, Volume
from kneebench.records import Finding, Watch, WholeDrive

EXPECTED_BYTES_PER_S = 500e6
"""A round figure for flash that is written all the time."""


class Cost(NamedTuple):
    """What is written to each drive of a volume, and for how long: about, and without waiting for
    more than the fewest rounds.
    """

    seconds: float
    size_bytes: float


def preconditioning_s(study: Study) -> float:
    """About how long the drives of a plan are written before their volumes are made, and loaded
    before each; 0 where a drive is not here.

    Volumes and storages that share drives share what is written to them.
    """
    found: dict[tuple[object, ...], float] = {}
    for number, volume in enumerate(study.volumes):
        which = (*drives_of(volume, number), volume.precondition)
        found[which] = preconditioning_cost(volume, study.most_restores).seconds
    return sum(found.values())


def preconditioning_cost(volume: Volume, restores: int) -> Cost:
    """Passes, rounds, burn-in, and a drain before each restore; nothing where a drive is not
    here.
    """
    try:
        size = max(drive_sizes(volume))
    except KneebenchError:
        return Cost(0.0, 0.0)
    how, random_per_s = volume.preconditioning, _bytes_per_s(volume, RANDOM_BYTES)
    passes_s = size * how.sequential / _bytes_per_s(volume, SEQUENTIAL_BYTES)
    passes_s += size * how.random / random_per_s
    rounds_s = how.until_steady * ROUNDS * ROUND_S
    loaded_s = volume.burn_in + restores * volume.drain
    written = expected_bytes(how, size) + random_per_s * (rounds_s + WRITTEN_SHARE * loaded_s)
    return Cost(passes_s + rounds_s + loaded_s, written)


def preconditioning_finding(
    name: str, volume: Volume, here: Sequence[WholeDrive], restores: int
) -> Finding:
    """What it writes, how long that may take, and what it costs the drives."""
    how, sizes = volume.preconditioning, drive_sizes(volume)
    cost, passes = preconditioning_cost(volume, restores), [expected_bytes(how, s) for s in sizes]
    rounds = f", then {ROUNDS} to {MOST_ROUNDS} rounds of 1 min" if how.until_steady else ""
    parts = [
        f"{volume.precondition}: {_to_drives(passes)}{rounds}",
        *(f"burn-in {units.time(one)}" for one in (volume.burn_in,) if one),
        *(f"{restores} drains of at most {units.time(one)}" for one in (volume.drain,) if one),
        f"about {units.size(cost.size_bytes)} to {_most_written(sizes)} and"
        f" {units.rough_time(cost.seconds)} in all {_speed(volume)}",
        *_endurance(volume, here, cost),
    ]
    return Finding(
        level="note",
        subject=f"{name}: precondition",
        seen="; ".join(parts),
        writes_bytes=round(cost.size_bytes * len(sizes)),
    )


def _to_drives(amounts: Sequence[float]) -> str:
    """Bytes for each drive of a volume, once if they are equal.

    >>> _to_drives([2**32]), _to_drives([2**32] * 2), _to_drives([2**31, 2**32])
    ('4 GiB to its drive', '4 GiB to each of 2 drives', '2 GiB and 4 GiB to its drives')
    """
    sizes = [units.size(one) for one in amounts]
    if len({*sizes}) > 1:
        return f"{listed(sizes)} to its drives"
    return f"{sizes[0]} to {f'each of {len(sizes)} drives' if len(sizes) > 1 else 'its drive'}"


def _most_written(sizes: Sequence[int]) -> str:
    """The drives that the largest amount is written to."""
    return "the drive" if len(sizes) == 1 else "each" if len({*sizes}) == 1 else "the largest"


def drives_of(volume: Volume, number: int) -> tuple[object, ...]:
    """What tells a volume's drives from others: their names, or its number where all are
    emulated.
    """
    return tuple(sorted(volume.named_drives)) or (number,)


def _bytes_per_s(volume: Volume, block_bytes: int) -> float:
    """Of writes to one drive: at most what its emulated drives, or their layout, allow."""
    classes = [limits_of(one) for one in volume.emulated_devices]
    limits = [limit for one in classes if (limit := one.write_iops or one.total_iops)]
    return min([EXPECTED_BYTES_PER_S, *(limit * block_bytes for limit in limits)])


def _speed(volume: Volume) -> str:
    if volume.named_drives:
        return f"at {units.rate(EXPECTED_BYTES_PER_S)} per drive"
    return "at the limits of the emulated drives"


def _endurance(volume: Volume, here: Sequence[WholeDrive], cost: Cost) -> list[str]:
    """The largest share of the drives' rated endurance, where one reports its wear."""
    drives = [named(here, one) for one in volume.named_drives]
    shares = {one.name: endurance_share(one, round(cost.size_bytes)) for one in drives}
    known = [(share, name) for name, share in shares.items() if share is not None]
    if not known:
        return ["share of the rated endurance unknown"] if drives else []
    share, name = max(known)
    return [f"about {100 * share:.2g}% of the rated endurance of {name}"]


# How much a volume holds, before it is made.

FILE_SYSTEM_SHARE = 0.08
"""Of a volume, for the file system's own structures and what it keeps free: ext4 reserves 5% for
root, and has tables of inodes."""


def capacity_bytes(volume: Volume) -> int:
    """What files can take of a volume, about. Raises PlanError for a drive that is not here."""
    sizes = drive_sizes(volume)
    if volume.size and not volume.is_one_device:
        sizes = [min(size, volume.size) for size in sizes]
    return int(usable_bytes(volume, sizes) * (1 - FILE_SYSTEM_SHARE))


def drive_sizes(volume: Volume) -> list[int]:
    """The bytes of each of its drives; several emulated ones that are one device count as one.
    Raises PlanError for one that is not here.
    """
    here = identities() if volume.named_drives else []
    sizes = [named(here, name).size_bytes for name in volume.named_drives]
    return sizes + [device.size for device in volume.emulated_devices]


def usable_bytes(volume: Volume, sizes: list[int]) -> int:
    """The capacity of a volume of drives of these sizes, before its file system: the smallest
    counts for each.

    >>> usable_bytes(Volume(drives=tuple("abcd"), layout="raid10"), [100, 100, 90, 100])
    180
    """
    return min(sizes) * len(sizes) // volume.copies


# Preconditioning: drives are written until they are as fast as they will stay.
#
# New or trimmed flash is faster than flash that has to erase blocks before it writes.

SEQUENTIAL_BYTES, RANDOM_BYTES = 128 * 2**10, 4 * 2**10
SEQUENTIAL = ("--rw=write", f"--bs={SEQUENTIAL_BYTES}", "--iodepth=32", "--end_fsync=1")
RANDOM = ("--rw=randwrite", f"--bs={RANDOM_BYTES}", "--iodepth=32", "--end_fsync=1")
ROUND_S = 60
"""Of random writes, as the specification has it (SNIA SSS PTS 2.0)."""


class DriveWrites(NamedTuple):
    """What was written to a drive, and its speed: (seconds, bytes per second) points; the IOPS of
    its rounds, if any, and whether they are steady.
    """

    written_bytes: int
    speed: Points = ()
    rounds_iops: tuple[float, ...] = ()
    steady: bool | None = None


def write_drives(
    journal: Journal,
    devices: Sequence[WritableDevice],
    how: Preconditioning,
    watch: Watch,
    round_s: int = ROUND_S,
) -> tuple[DriveWrites, ...]:
    """Write all drives as the plan says; what was done to each. Raises OSError where fio fails."""
    fio = DriveFio(journal, devices, watch, "preconditioning")
    for number in range(how.sequential):
        fio.run(f"sequential pass {number + 1} of {how.sequential}", SEQUENTIAL, whole=True)
    for number in range(how.random):
        fio.run(f"random pass {number + 1} of {how.random}", RANDOM, whole=True)
    rounds: list[list[float]] = []
    steady = not how.until_steady
    while not steady and len(rounds) < MOST_ROUNDS:
        part = f"round {len(rounds) + 1} of at most {MOST_ROUNDS}"
        timed = (*RANDOM, "--time_based", f"--runtime={round_s}", f"--randseed={len(rounds)}")
        rounds.append([one.write_iops for one in fio.run(part, timed, limit_s=round_s)])
        steady = all(map(_steady, zip(*rounds, strict=True)))
    iops = list(zip(*rounds, strict=True)) or [()] * len(devices)
    return tuple(
        DriveWrites(size, speed, each, _steady(each) if each else None)
        for (size, speed), each in zip(fio.written(), iops, strict=True)
    )


def expected_bytes(how: Preconditioning, size_bytes: int) -> int:
    """What the full passes write to a drive; rounds come on top."""
    return how.passes * size_bytes


def _steady(iops: Sequence[float]) -> bool:
    found = steadiness(iops)
    return found is not None and found.steady
