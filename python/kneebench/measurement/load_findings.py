"""Findings on the present load of a machine: who would be measured too if a run began now."""

from __future__ import annotations

import os
from collections.abc import Iterator

from kneebench import units
from kneebench.analysis.disturbance import OTHERS_BUSY, STEAL
from kneebench.measurement.present_load import PresentLoad
from kneebench.records import Finding

QUIETER = "stop these processes or run at a quieter time: a run now would measure them too"


def load_findings(seen: PresentLoad, cores: int) -> tuple[Finding, ...]:
    """On so many cores, and on each drive that was looked at."""
    return (machine_load(seen, cores), *drive_loads(seen))


def drive_loads(seen: PresentLoad) -> Iterator[Finding]:
    """On each drive: a warning if it is busy, with the processes that cause most I/O."""
    by = ", ".join(f"{name} {units.rate(rate)}" for name, rate in seen.largest_io)
    whose = "processes" if os.geteuid() == 0 else "this user's processes"
    for name, busy in seen.drives:
        sentence = f"{name} is busy {100 * busy:.0f}% of the time now"
        sentence += f" ({whose} on all drives: {by})" if by else ""
        if busy <= OTHERS_BUSY:
            yield Finding(level="ok", subject="drive load", seen=sentence)
        else:
            limit = f"{sentence}; limit {100 * OTHERS_BUSY:.0f}%"
            yield Finding(level="warning", subject="drive load", seen=limit, do=QUIETER)


def machine_load(seen: PresentLoad, cores: int) -> Finding:
    """On the cores: a warning if others, or the hypervisor, use more than a rung allows."""
    names = ", ".join(f"{name} {100 * used:.0f}% of one" for name, used in seen.largest)
    sentence = (
        f"processes use {100 * seen.busy:.0f}% of {cores} core{'' if cores == 1 else 's'} now"
        + (f" ({names})" if names else "")
    )
    sentence += f"; the hypervisor takes {100 * seen.stolen:.0f}%"
    if seen.busy <= OTHERS_BUSY and seen.stolen <= STEAL:
        return Finding(level="ok", subject="load", seen=sentence)
    limits = f"limits {100 * OTHERS_BUSY:.0f}% and {100 * STEAL:.0f}%"
    return Finding(level="warning", subject="load", seen=f"{sentence} ({limits})", do=QUIETER)
