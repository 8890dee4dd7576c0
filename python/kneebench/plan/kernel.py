"""The plan's settings of the kernel: sysctls for the campaign, and those of a volume's drives."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import Field, field_validator

from kneebench.plan.allowed import LARGEST, read_allowed
from kneebench.plan.values import Name, Part, Text, Whole, wrong
from kneebench.units import Bytes

# Sysctls that a plan may set, and the values that they may have: ranges and reasons are in
# plan/allowed.toml.

ALLOWED = (
    "vm.*",
    "fs.aio-max-nr",
    "net.core.*",
    "net.ipv4.tcp_*",
    "kernel.sched_*",
    "kernel.numa_balancing",
)
"""Sysctls that a plan may set; the rest has no bearing on storage, or can stop a machine."""
PAIRS = (
    ("vm.dirty_bytes", "vm.dirty_ratio"),
    ("vm.dirty_background_bytes", "vm.dirty_background_ratio"),
)
"""The kernel sets one of a pair to 0 when the other is written."""
ONE_FILE = ("kernel.sched_min_granularity_ns", "kernel.sched_base_slice_ns")
"""The second is the first's name since Linux 6.6."""
BACKGROUND = {
    "vm.dirty_background_bytes": "vm.dirty_bytes",
    "vm.dirty_background_ratio": "vm.dirty_ratio",
}
"""Where writing in the background begins, which is below where writers wait: the kernel halves one
that is not (`domain_dirty_limits`)."""
COUNTS = {"net.ipv4.tcp_rmem": 3, "net.ipv4.tcp_wmem": 3}
"""Numbers that a setting consists of, none smaller than the one before; 1 for all others."""
WORDS = {
    "net.core.default_qdisc": r"[a-z0-9_]+",
    "net.ipv4.tcp_congestion_control": r"[a-z0-9_]+",
    "net.core.flow_limit_cpu_bitmap": r"[0-9a-f,]+",
    "net.core.rps_default_mask": r"[0-9a-f,]+",
    "vm.numa_zonelist_order": r"[A-Za-z]+",
}
"""Settings that are no numbers, and their form: names, and sets of CPUs in hexadecimal."""


def why_not(given: Mapping[str, int | str]) -> Iterator[tuple[str, str]]:
    """What of these sysctls a plan may not set: the name, and what is allowed in its place.

    >>> dict(why_not({"vm.swappiness": 300, "vm.laptop_mode": 5}))
    {'vm.swappiness': 'a whole number from 0 to 200'}
    >>> dict(why_not({"vm.panic_on_oom": 0}))["vm.panic_on_oom"]
    'sysctls other than this one: it can stop the machine, or the programs on it'
    """
    for name, value in given.items():
        if reason := _why_refused(name) or _why_not_value(name, value):
            yield name, reason
    for one, other in PAIRS:
        if one in given and other in given:
            yield other, f"one of {one} and {other}: each sets the other to 0"
    if {*ONE_FILE} <= {*given}:
        yield ONE_FILE[1], f"one of {ONE_FILE[0]} and {ONE_FILE[1]}: they can be the same setting"
    for low, high in BACKGROUND.items():
        if low in given and high in given and _number(given[low]) >= _number(given[high]):
            yield low, f"less than {high}, where programs that write begin to wait"


def _why_refused(name: str) -> str:
    for does, names in read_allowed().refused_sysctls.items():
        if any(fnmatchcase(name, one) for one in names):
            return f"sysctls other than this one: it {does}"
    well_formed = re.fullmatch(r"[a-z0-9_-]+(\.[a-z0-9_-]+)+", name)
    if well_formed and any(fnmatchcase(name, one) for one in ALLOWED):
        return ""
    return f"a name among {', '.join(ALLOWED)}"


def _why_not_value(name: str, value: int | str) -> str:
    if form := WORDS.get(name):
        return "" if re.fullmatch(form, str(value)) else "one word, as the kernel writes it"
    (least, most), count = (
        read_allowed().sysctls.get(name, (0, LARGEST["long"])),
        COUNTS.get(name, 1),
    )
    numbers = str(value).split()
    if len(numbers) == count and all(re.fullmatch(r"-?[0-9]{1,19}", one) for one in numbers):
        found = [int(one) for one in numbers]
        if found == sorted(found) and all(least <= one <= most for one in found):
            return ""
    bounds = f"from {least} to {most}" if most < LARGEST["int"] else f"of at least {least}"
    if count > 1:
        return f"{count} whole numbers {bounds}, none smaller than the one before"
    return f"a whole number {bounds}"


def _number(value: int | str) -> int:
    """-1 for what is none, which has an error of its own."""
    text = str(value).strip()
    return int(text) if re.fullmatch(r"[0-9]{1,19}", text) else -1


PAGE_BYTES = 4096


class Kernel(Part):
    """Settings of the kernel for the whole campaign; restored when it ends. Needs root."""

    sysctl: dict[Name, Whole | Text] = Field(
        default={}, max_length=100, description=f"By name: {', '.join(ALLOWED)}"
    )

    @field_validator("sysctl")
    @classmethod
    def _are_allowed(cls, given: dict[str, int | str]) -> dict[str, int | str]:
        for name, instead in why_not(given):
            raise wrong(name, sentence=instead)
        return given


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
