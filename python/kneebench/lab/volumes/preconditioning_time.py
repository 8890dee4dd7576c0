"""What preconditioning costs, before it begins: bytes, time, and endurance."""

from __future__ import annotations

from collections.abc import Sequence

from kneebench import units
from kneebench.analysis.endurance import endurance_share
from kneebench.analysis.steady_state import ROUNDS
from kneebench.errors import KneebenchError
from kneebench.lab.inventory import named
from kneebench.lab.volumes.capacity import drive_sizes
from kneebench.lab.volumes.emulated import drive_classes
from kneebench.lab.volumes.preconditioning import (
    RANDOM_BYTES,
    ROUND_S,
    SEQUENTIAL_BYTES,
    expected_bytes,
)
from kneebench.plan import Plan
from kneebench.plan.volume import Volume
from kneebench.records import Finding, WholeDrive

EXPECTED_BYTES_PER_S = 500e6
"""A round figure for flash that is written all the time."""


def preconditioning_s(plan: Plan) -> float:
    """About how long the drives of a plan are written before their volumes are made, and loaded
    before each; 0 where a drive is not here.

    Rounds of random writes are taken for the fewest that can be steady. Drives that several
    storages share are written once.
    """
    once: dict[tuple[object, ...], float] = {}
    drained_s = 0.0
    restores = 1 + plan.ladder.most_restores
    for number, volume in enumerate(plan.volumes):
        which = volume.named_drives or (number,)
        once[(*which, volume.precondition)] = _volume_s(volume)
        drained_s += volume.drain * restores
    return sum(once.values()) + drained_s


def preconditioning_finding(name: str, volume: Volume, here: Sequence[WholeDrive]) -> Finding:
    """What it writes, how long that may take, and what it costs the drives."""
    how, sizes = volume.preconditioning, drive_sizes(volume)
    most = expected_bytes(how, max(sizes))
    rounds = ", then rounds of 1 min, at most 25" if how.until_steady else ""
    parts = [
        f"{volume.precondition}: {units.size(most)} to each of {len(sizes)} drives{rounds}",
        f"{units.rough_time(_passes_s(volume))} {_speed(volume)}",
        *(f"burn-in {units.time(one)}" for one in (volume.burn_in,) if one),
        *(f"drain at most {units.time(one)} per restore" for one in (volume.drain,) if one),
        *_endurance(volume, here),
    ]
    total = sum(expected_bytes(how, one) for one in sizes)
    subject = f"{name}: precondition"
    return Finding(level="note", subject=subject, seen="; ".join(parts), writes_bytes=total)


def _volume_s(volume: Volume) -> float:
    try:
        passes_s = _passes_s(volume)
    except KneebenchError:
        return 0.0
    return passes_s + volume.preconditioning.until_steady * ROUNDS * ROUND_S + volume.burn_in


def _passes_s(volume: Volume) -> float:
    """Of all full passes: at the limit of the class of emulated drives."""
    how, size = volume.preconditioning, max(drive_sizes(volume))
    iops = _iops_limit(volume)
    per_s = {
        block: min(EXPECTED_BYTES_PER_S, iops * block if iops else EXPECTED_BYTES_PER_S)
        for block in (SEQUENTIAL_BYTES, RANDOM_BYTES)
    }
    return size * (how.sequential / per_s[SEQUENTIAL_BYTES] + how.random / per_s[RANDOM_BYTES])


def _iops_limit(volume: Volume) -> int:
    """The fewest writes per second of the emulated drives; 0 where nothing limits them."""
    classes = [drive_classes()[one.emulated] for one in volume.emulated_drives]
    return min((limit for one in classes if (limit := one.write_iops or one.total_iops)), default=0)


def _speed(volume: Volume) -> str:
    if volume.named_drives:
        return f"at {units.rate(EXPECTED_BYTES_PER_S)} per drive"
    return "at the limits of the emulated drives"


def _endurance(volume: Volume, here: Sequence[WholeDrive]) -> list[str]:
    """The largest share of the drives' rated endurance, where one reports its wear."""
    drives = [named(here, one) for one in volume.named_drives]
    found = [
        (share, drive.name)
        for drive in drives
        if (
            share := endurance_share(
                drive, expected_bytes(volume.preconditioning, drive.size_bytes)
            )
        )
    ]
    if not found:
        return ["share of the rated endurance unknown"] if drives else []
    share, name = max(found)
    return [f"about {100 * share:.2g}% of the rated endurance of {name}"]
