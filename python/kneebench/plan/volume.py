"""The plan's tables of a volume: drives and their layout."""

from __future__ import annotations

import re
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from kneebench import units
from kneebench.plan.file_system import FileSystem
from kneebench.plan.kernel import DriveSettings
from kneebench.plan.values import MONTH_S, Name, Part, Whole, wrong
from kneebench.units import Bytes, Seconds

LEAST_BYTES = 256 * 2**20
"""XFS needs 300 MB, btrfs 109 MiB per drive; smaller emulated drives have no use."""
COPIES = {"single": 1, "mirror": 2, "stripe": 1, "raid10": 2}
"""Of each block, by layout."""
LEAST_DRIVES = {"single": 1, "mirror": 2, "stripe": 2, "raid10": 4}
"""Drives that a layout needs; mirror and raid10 need an even number."""


LongSeconds = Annotated[Seconds, Field(ge=0, le=MONTH_S)]


class EmulatedDrive(Part):
    """A drive that is a file with the limits of a class of drives."""

    emulated: Annotated[
        Literal["sata", "nvme", "nvme-fast", "memory", "cloud", "stream"],
        Field(description="Class of drive: its IOPS or bytes/s; memory: a file in memory"),
    ]
    size: Annotated[Bytes, Field(ge=LEAST_BYTES, description="Its capacity")]
    count: Annotated[Whole, Field(ge=1, le=24, description="Number of such drives")] = 1
    flushes: Annotated[
        Literal["obeyed", "ignored"],
        Field(
            description=(
                "Flushes of the drive, for power cuts of `durability`: ignored ones lose what the"
                " database has flushed"
            )
        ),
    ] = "obeyed"


def can_lose_power(drive: str | EmulatedDrive) -> bool:
    """Whether a power cut of a volume's drive can be emulated: a file in memory has no cache."""
    return isinstance(drive, EmulatedDrive) and drive.emulated != "memory"


class EmulatedDevice(NamedTuple):
    """A device that emulated drives are made as: one drive, or a layout of several with the
    capacity and the limits that it has by its definition.

    `emulated`: the class of its drives; `size`: its capacity in bytes; `copies`: of each block;
    `deaf`: it ignores flushes.
    """

    emulated: str
    size: int
    drives: int = 1
    copies: int = 1
    deaf: bool = False


def _form(drive: object) -> str:
    return "name" if isinstance(drive, str) else "table"


AnyDrive = Annotated[
    Annotated[Name, Tag("name")] | Annotated[EmulatedDrive, Tag("table")], Discriminator(_form)
]


class Preconditioning(NamedTuple):
    """Full passes over a drive, then rounds of random writes until it is steady, if asked for."""

    sequential: int = 0
    random: int = 0
    until_steady: bool = False

    @classmethod
    def read(cls, text: str) -> Preconditioning:
        """Raises ValueError for another form.

        >>> Preconditioning.read("sequential 1, random 2")
        Preconditioning(sequential=1, random=2, until_steady=False)
        >>> Preconditioning.read("snia")
        Preconditioning(sequential=2, random=0, until_steady=True)
        """
        if text == "snia":
            return cls(sequential=2, until_steady=True)
        found = re.fullmatch(r"(?:sequential (\d))?(?:(?:^|(?<=\d), )random (\d))?", text)
        if found is None:
            raise ValueError(text)
        return cls(sequential=int(found[1] or 0), random=int(found[2] or 0))

    @property
    def passes(self) -> int:
        """How often each block is written, before any rounds."""
        return self.sequential + self.random


class Volume(Part):
    """A volume that kneebench makes of drives, and removes again."""

    drives: Annotated[
        tuple[AnyDrive, ...],
        Field(
            max_length=100,
            description=(
                "Whole drives: by name, path or WWID (kneebench drives), or emulated:"
                ' { emulated = "sata", size = "4GiB", count = 4 }'
            ),
        ),
    ] = ()
    size: Annotated[
        Bytes | None,
        Field(
            ge=LEAST_BYTES,
            description=(
                "Size of its part of each of its drives, which data, log and temporary files can"
                " share; empty: whole drives"
            ),
        ),
    ] = None
    layout: Annotated[
        Literal["single", "mirror", "stripe", "raid10"],
        Field(
            description=(
                "Layout. single: one drive; mirror: each block on two drives; stripe: each"
                " block once; raid10: as mirror, of at least 4 drives"
            )
        ),
    ] = "single"
    file_system: FileSystem = FileSystem()
    drive_settings: DriveSettings = DriveSettings()
    precondition: Annotated[
        Name,
        Field(
            description=(
                "Writes to each drive, once per campaign. sequential 1, random 2:"
                " full passes; snia: two sequential passes, then rounds of random writes until they"
                " are steady; empty: nothing. Needs fio"
            )
        ),
    ] = ""

    burn_in: Annotated[
        LongSeconds,
        Field(
            description=(
                "Time under a mixed load, once per drive, after precondition: for new drives."
                " Speed, temperature, throttling and errors are watched"
            )
        ),
    ] = 0.0
    drain: Annotated[
        LongSeconds,
        Field(
            description=(
                "Longest time under a mixed load before each volume is made. It ends when the"
                " drives have fallen to a lower, steady level: for volumes with burst credits"
            )
        ),
    ] = 0.0

    @field_validator("precondition")
    @classmethod
    def _is_a_preconditioning(cls, text: str) -> str:
        try:
            Preconditioning.read(text)
        except ValueError:
            raise wrong(sentence='"sequential 1, random 2" (at most 9 passes) or "snia"') from None
        return text

    @property
    def preconditioning(self) -> Preconditioning:
        """What is written to each drive first."""
        return Preconditioning.read(self.precondition)

    @property
    def named_drives(self) -> tuple[str, ...]:
        """The drives of this machine, as the plan names them."""
        return tuple(drive for drive in self.drives if isinstance(drive, str))

    @property
    def emulated_drives(self) -> tuple[EmulatedDrive, ...]:
        """The emulated drives, each with a count of 1."""
        return tuple(
            drive.model_copy(update={"count": 1})
            for drive in self.drives
            if isinstance(drive, EmulatedDrive)
            for _ in range(drive.count)
        )

    @property
    def emulated_devices(self) -> tuple[EmulatedDevice, ...]:
        """What its emulated drives are made as. btrfs lays out drives by itself; below the other
        file systems the layout is one device.

        >>> sata = {"emulated": "sata", "size": "4GiB", "count": 8}
        >>> Volume.model_validate({"drives": [sata], "layout": "raid10"}).emulated_devices
        (EmulatedDevice(emulated='sata', size=17179869184, drives=8, copies=2, deaf=False),)
        """
        drives, count = self.emulated_drives, len(self.emulated_drives)
        if not drives or self.file_system.type == "btrfs":
            return tuple(
                EmulatedDevice(one.emulated, self.size or one.size, deaf=one.flushes == "ignored")
                for one in drives
            )
        copies = COPIES[self.layout]
        size = (self.size or drives[0].size) * count // copies
        ignored = any(one.flushes == "ignored" for one in drives)
        return (EmulatedDevice(drives[0].emulated, size, count, copies, ignored),)

    @property
    def drive_count(self) -> int:
        """Drives of this machine and emulated ones."""
        return len(self.named_drives) + len(self.emulated_drives)

    @property
    def is_one_device(self) -> bool:
        """Whether several emulated drives are made as one device."""
        return any(one.drives > 1 for one in self.emulated_devices)

    @property
    def copies(self) -> int:
        """Of each block, as its devices count them."""
        return 1 if self.is_one_device else COPIES[self.layout]

    @property
    def words(self) -> str:
        """What it is made of, in words.

        >>> sata = {"emulated": "sata", "size": "4GiB", "count": 8}
        >>> Volume.model_validate({"drives": [sata], "layout": "raid10"}).words
        '8 emulated drives (sata, 4 GiB), raid10 as one device, xfs (noatime)'
        """
        names, file_system = list(self.named_drives), self.file_system
        for drive in self.drives:
            if isinstance(drive, EmulatedDrive):
                what = "emulated drive" if drive.count == 1 else f"{drive.count} emulated drives"
                names.append(f"{what} ({drive.emulated}, {units.size(drive.size)})")
        mounted = f" ({', '.join(file_system.mount)})" if file_system.mount else ""
        parts = f"{units.size(self.size)} of each of " if self.size else ""
        layout = f"{self.layout} as one device" if self.is_one_device else self.layout
        return f"{parts}{' + '.join(names)}, {layout}, {file_system.type}{mounted}"

    @model_validator(mode="after")
    def _blocks_are_written_first(self) -> Self:
        for name in ("burn_in", "drain"):
            if getattr(self, name) and not self.preconditioning.sequential:
                sentence = 'a precondition with "sequential 1" or more: it writes every block first'
                raise wrong(name, sentence=sentence)
        return self

    @model_validator(mode="after")
    def _emulated_drives_are_one_device(self) -> Self:
        drives, type = self.emulated_drives, self.file_system.type
        if not drives:
            return self
        if self.named_drives and (self.size or type != "btrfs"):
            sentence = "named or emulated drives, both only with btrfs and without a size"
            raise wrong("drives", sentence=sentence)
        if type != "btrfs" and len(set(drives)) > 1:
            sentence = f"emulated drives of one class and size below {type}, or btrfs"
            raise wrong("drives", sentence=sentence)
        if self.size and ((type == "btrfs" and len(drives) > 1) or self.burn_in or self.drain):
            sentence = "whole emulated drives for a burn_in, a drain, or several below btrfs"
            raise wrong("size", sentence=sentence)
        if self.size and self.size > (each := min(one.size for one in drives)):
            raise wrong("size", sentence=f"no more than each drive has, {units.size(each)}")
        return self

    @model_validator(mode="after")
    def _drives_fit_the_layout(self) -> Self:
        if not self.drives:
            return self
        if self.size and self.size % 2**20:
            raise wrong("size", sentence="whole MiB")
        count, least = self.drive_count, LEAST_DRIVES[self.layout]
        if len(set(self.named_drives)) < len(self.named_drives):
            raise wrong("drives", sentence="each drive once")
        if self.layout == "single" and count != 1:
            sentence = 'one drive, or a layout of "mirror", "stripe" or "raid10"'
            raise wrong("drives", sentence=sentence)
        if count < least:
            raise wrong("drives", sentence=f"at least {least} drives for a {self.layout}")
        if self.layout in ("mirror", "raid10") and count % 2:
            raise wrong("drives", sentence=f"an even number of drives for a {self.layout}")
        return self
