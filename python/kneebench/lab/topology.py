"""The cores of this machine: which share a physical core, which are on which NUMA node, and which
of them a constraint means.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

CPUS = Path("/sys/devices/system/cpu")
NODES = Path("/sys/devices/system/node")


def listed(text: str) -> tuple[int, ...]:
    """The numbers of a list as the kernel writes it (cpuset(7), list format).

    >>> listed("0-2,8\\n"), listed("")
    ((0, 1, 2, 8), ())
    """
    parts = [part.partition("-") for part in text.strip().split(",") if part]
    return tuple(n for low, _, high in parts for n in range(int(low), int(high or low) + 1))


def as_list(numbers: Iterable[int]) -> str:
    """Numbers as the kernel writes them.

    >>> as_list([8, 0, 1, 2]), as_list([3])
    ('0-2,8', '3')
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if run[1:] else str(run[0]) for run in runs)


def siblings_of(core: int) -> tuple[int, ...]:
    """The cores that share a physical core with this one, itself among them."""
    file = CPUS / f"cpu{core}" / "topology" / "thread_siblings_list"
    return listed(file.read_text()) if file.exists() else (core,)


def cores_of_node(node: int) -> tuple[int, ...]:
    """The cores of a NUMA node; none where there is no such node."""
    file = NODES / f"node{node}" / "cpulist"
    return listed(file.read_text()) if file.exists() else ()


def chosen(
    number: int | None, among: Sequence[int], *, siblings: bool = True, node: int | None = None
) -> tuple[int, ...]:
    """The first so many (None: all) of these cores, physical core by physical core; fewer where
    there are fewer. Without `siblings` one of each physical core; with `node` those of that node.
    """
    there = [core for core in among if node is None or core in cores_of_node(node)]
    found: list[int] = []
    for core in there:
        family = [one for one in siblings_of(core) if one in there]
        found += [one for one in family[: None if siblings else 1] if one not in found]
    return tuple(sorted(found[:number]))


def others(cores: Sequence[int], among: Sequence[int]) -> tuple[int, ...]:
    """The cores for the load generator: those of physical cores that the database has no part of,
    else those beside its own; none where it has all.
    """
    beside = {one for core in cores for one in siblings_of(core)}
    apart = tuple(core for core in among if core not in beside)
    return apart or tuple(core for core in among if core not in cores)
