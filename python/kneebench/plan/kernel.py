"""The plan's settings of the kernel: sysctls for the campaign, and those of a volume's drives."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import Field, field_validator

from kneebench.plan.sysctls import ALLOWED, why_not
from kneebench.plan.values import Name, Part, Text, Whole, wrong
from kneebench.units import Bytes

PAGE_BYTES = 4096


class Kernel(Part):
    """Settings of the kernel for the whole campaign; restored when it ends. Needs root."""

    sysctl: dict[Name, Whole | Text] = Field(
        default={}, max_length=100, description=f"By name: {', '.join(ALLOWED)}"
    )

    @field_validator("sysctl")
    @classmethod
    def _are_allowed(cls, given: dict[str, int | str]) -> dict[str, int | str]:
        for name, allowed in why_not(given):
            raise wrong(name, sentence=allowed)
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
