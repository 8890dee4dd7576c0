"""Files of sysctls: below /proc/sys, and some of the scheduler's in debugfs since Linux 5.13.

Source: kernel/sched/debug.c. Linux 6.6 renamed min_granularity_ns to base_slice_ns and removed
latency_ns and wakeup_granularity_ns. Only root reads debugfs, and a locked-down kernel refuses even
that (kernel_lockdown(7)).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

PROC_SYS = Path("/proc/sys")
DEBUGFS = Path("/sys/kernel/debug")
"""Where it is mounted, if it is; the directory is empty otherwise."""
MOUNT = f"mount -t debugfs none {DEBUGFS}"
MOVED: Mapping[str, tuple[str, ...]] = {
    "kernel.sched_latency_ns": ("latency_ns",),
    "kernel.sched_min_granularity_ns": ("min_granularity_ns", "base_slice_ns"),
    "kernel.sched_idle_min_granularity_ns": ("idle_min_granularity_ns",),
    "kernel.sched_base_slice_ns": ("base_slice_ns",),
    "kernel.sched_wakeup_granularity_ns": ("wakeup_granularity_ns",),
    "kernel.sched_migration_cost_ns": ("migration_cost_ns",),
    "kernel.sched_nr_migrate": ("nr_migrate",),
    "kernel.sched_tunable_scaling": ("tunable_scaling",),
}
"""Names of the files in debugfs by sysctl, the oldest first."""


def sysctl_file(name: str) -> Path:
    """The file of a sysctl on this kernel; where it has none, the file that it would be.

    >>> str(sysctl_file("vm.swappiness"))
    '/proc/sys/vm/swappiness'
    """
    file = PROC_SYS.joinpath(*name.split("."))
    if name not in MOVED or file.exists():
        return file
    found = [DEBUGFS / "sched" / one for one in MOVED[name]]
    return next((one for one in found if one.exists()), found[0])


def is_hidden(file: Path) -> bool:
    """Whether a file belongs to debugfs, which is not mounted now."""
    return file.is_relative_to(DEBUGFS) and not (DEBUGFS.is_dir() and any(DEBUGFS.iterdir()))


def renamed(name: str, file: Path) -> str:
    """The name of a sysctl's file where it differs from the sysctl's own; empty otherwise.

    >>> renamed("kernel.sched_min_granularity_ns", DEBUGFS / "sched/base_slice_ns")
    'base_slice_ns'
    """
    own = name.rpartition(".")[2].removeprefix("sched_")
    return file.name if name in MOVED and file.name.removeprefix("sched_") != own else ""
