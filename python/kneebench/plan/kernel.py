"""The plan's settings of the kernel: sysctls for the campaign, and those of a volume's drives."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field, field_validator

from kneebench.plan.values import Name, Part, Text, Whole, wrong
from kneebench.units import Bytes

ALLOWED = (
    "vm.*",
    "fs.aio-max-nr",
    "net.core.*",
    "net.ipv4.tcp_*",
    "kernel.sched_*",
    "kernel.numa_balancing",
)
"""Sysctls that a plan may set; the rest has no bearing on storage, or can stop a machine."""
REFUSED = (
    *("vm.panic_on_oom", "vm.memory_failure_recovery"),
    *("vm.min_free_kbytes", "vm.lowmem_reserve_ratio", "vm.nr_hugepages"),
    *("vm.nr_hugepages_mempolicy", "vm.max_map_count"),
    *("vm.overcommit_memory", "vm.overcommit_ratio", "vm.overcommit_kbytes"),
    *("vm.drop_caches", "vm.compact_memory", "vm.stat_refresh"),
    *("vm.mmap_min_addr", "vm.unprivileged_userfaultfd"),
)
"""Among those: what panics, what leaves all programs without memory, what acts once instead of
being set, or what protects the kernel."""
PAIRS = (
    ("vm.dirty_bytes", "vm.dirty_ratio"),
    ("vm.dirty_background_bytes", "vm.dirty_background_ratio"),
)
"""The kernel sets one of a pair to 0 when the other is written."""
PAGE_BYTES = 4096


class Kernel(Part):
    """Settings of the kernel for the whole campaign; restored when it ends. Needs root."""

    sysctl: dict[Name, Whole | Text] = Field(
        default={}, max_length=100, description=f"By name: {', '.join(ALLOWED)}"
    )

    @field_validator("sysctl")
    @classmethod
    def _are_allowed(cls, given: dict[str, int | str]) -> dict[str, int | str]:
        for name in given:
            if name in REFUSED:
                raise wrong(name, sentence=f"a sysctl other than {', '.join(REFUSED)}")
            if not is_allowed(name):
                raise wrong(name, sentence=f"a name among {', '.join(ALLOWED)}")
        for one, other in PAIRS:
            if one in given and other in given:
                raise wrong(other, sentence=f"one of {one} and {other}: each sets the other to 0")
        return given


def is_allowed(name: str) -> bool:
    """Whether a plan may set this sysctl.

    >>> is_allowed("vm.swappiness"), is_allowed("vm.panic_on_oom"), is_allowed("kernel.panic")
    (True, False, False)
    """
    if name in REFUSED or not re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9_-]+)+", name):
        return False
    return any(name.startswith(one[:-1]) if one.endswith("*") else name == one for one in ALLOWED)


class DriveSettings(Part):
    """Kernel settings of a volume's drives; restored when it is taken apart."""

    scheduler: Annotated[
        Name, Field(description="I/O scheduler of each drive, such as none; empty: as it is")
    ] = ""
    nr_requests: Annotated[
        Whole | None,
        Field(ge=4, le=65536, description="Length of each drive's request queue; empty: as it is"),
    ] = None
    read_ahead: Annotated[
        Bytes | None,
        Field(
            ge=0,
            le=2**30,
            description="Read-ahead of each drive, and of md or btrfs on them; empty: as it is",
        ),
    ] = None

    @field_validator("scheduler")
    @classmethod
    def _is_a_name(cls, name: str) -> str:
        if not re.fullmatch(r"[a-z0-9_-]*", name):
            raise wrong(sentence="the name of an I/O scheduler, such as none or mq-deadline")
        return name

    @field_validator("read_ahead")
    @classmethod
    def _is_of_pages(cls, size: int | None) -> int | None:
        if size and size % PAGE_BYTES:
            raise wrong(sentence="a multiple of 4 KiB")
        return size
