"""The plan's table of a file system: its type, the options of mkfs and of mount."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from kneebench.plan.mkfs_options import read_mkfs
from kneebench.plan.mount_options import read_mount
from kneebench.plan.values import Name, Part, Text


class FileSystem(Part):
    """The file system of a volume. It is made without discard, so drives keep their state."""

    type: Annotated[
        Literal["xfs", "ext4", "btrfs"],
        Field(
            description=(
                "File system. btrfs makes layouts itself; below xfs and ext4 md does, except of"
                " emulated drives, which are one device"
            )
        ),
    ] = "xfs"
    mkfs: Annotated[
        tuple[Text, ...],
        Field(
            max_length=50,
            description=(
                "More options of mkfs, one word per entry; allowed are those listed in docs/plan.md"
            ),
        ),
    ] = ()
    mount: Annotated[
        tuple[Name, ...],
        Field(
            max_length=50,
            description=(
                "Mount options, also listed there; for btrfs, nodatacow is what databases usually"
                " run on"
            ),
        ),
    ] = ("noatime",)

    @field_validator("mkfs")
    @classmethod
    def _mkfs_is_allowed(cls, words: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if kind := info.data.get("type"):
            read_mkfs(kind, words)
        return words

    @field_validator("mount")
    @classmethod
    def _mount_is_allowed(cls, options: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if kind := info.data.get("type"):
            read_mount(kind, options)
        return options

    @property
    def mkfs_options(self) -> dict[str, str]:
        """The options of mkfs by name; empty values are those of options without one."""
        return read_mkfs(self.type, self.mkfs)

    @property
    def mount_options(self) -> list[str]:
        """The mount options, one by one."""
        return read_mount(self.type, self.mount)
