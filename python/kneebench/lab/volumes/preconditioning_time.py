"""What preconditioning costs, before it begins: bytes, time, and endurance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kneebench import units
from kneebench.analysis.endurance import endurance_share
from kneebench.analysis.steady_state import MOST_ROUNDS, ROUNDS
from kneebench.analysis.wording import listed
from kneebench.errors import KneebenchError
from kneebench.lab.inventory import named
from kneebench.lab.volumes.capacity import drive_sizes
from kneebench.lab.volumes.emulated import limits_of
from kneebench.lab.volumes.preconditioning import (
    RANDOM_BYTES,
    ROUND_S,
    SEQUENTIAL_BYTES,
    expected_bytes,
)
from kneebench.lab.volumes.sustained_load import WRITTEN_SHARE
from kneebench.plan import Plan
from kneebench.plan.volume import Volume
from kneebench.records import Finding, WholeDrive

EXPECTED_BYTES_PER_S = 500e6
"""A round figure for flash that is written all the time."""


class Cost(NamedTuple):
    """What is written to each drive of a volume, and for how long: about, and without waiting for
    more than the fewest rounds.
    """

    seconds: float
    size_bytes: float


def preconditioning_s(plan: Plan) -> float:
    """About how long the drives of a plan are written before their volumes are made, and loaded
    before each; 0 where a drive is not here.

    Volumes and storages that share drives share what is written to them.
    """
    found: dict[tuple[object, ...], float] = {}
    for number, volume in enumerate(plan.volumes):
        which = (*drives_of(volume, number), volume.precondition)
        found[which] = preconditioning_cost(volume, plan.most_restores).seconds
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
