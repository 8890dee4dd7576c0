"""The plan's table of a storage: where the database's files go."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Annotated, NamedTuple, Self

from pydantic import Field, model_validator

from kneebench import units
from kneebench.plan.stops import StorageStops
from kneebench.plan.values import Directory, Part, Text, wrong
from kneebench.plan.volume import Volume
from kneebench.records import Role

FOR_DRIVES = (
    *("size", "layout", "file_system", "drive_settings", "log", "temporary"),
    *("precondition", "burn_in", "drain"),
)
"""Keys that mean nothing to a directory."""
FOR_WHOLE_DRIVES = ("drive_settings", "precondition", "burn_in", "drain")
"""Keys of a volume that apply to all of its drives, also where it has only a partition of them."""


class RoleNames(NamedTuple):
    """The names of one role of a storage's volumes. `holds`: the role in words; `key`: the plan's
    key of its volume; `drives`: how the results call the drives under it.
    """

    holds: Role
    key: str
    drives: str


ROLES = {
    "path": RoleNames("data", "drives", "drives"),
    "log_path": RoleNames("log", "log", "log drives"),
    "temporary_path": RoleNames("temporary files", "temporary", "drives of temporary files"),
}
"""The roles by the plan's key of the directory, in the order of a server's directories."""


class Storage(Volume):
    """One storage configuration: where the database's files go.

    One table per storage, with a name of your choice. It names a directory, drives of which
    kneebench makes a volume for each restore, or a server's URL.
    """

    path: Annotated[
        Directory | None,
        Field(description="Directory for data (and log), relative to where kneebench is started"),
    ] = None
    log_path: Annotated[Directory | None, Field(description="Separate directory for the log")] = (
        None
    )
    temporary_path: Annotated[
        Directory | None,
        Field(description="Separate directory for temporary files (sorts and hashes that spill)"),
    ] = None
    log: Annotated[
        Volume | None, Field(description="Separate volume for the log; only with drives")
    ] = None
    temporary: Annotated[
        Volume | None, Field(description="Separate volume for temporary files; only with drives")
    ] = None
    url: Annotated[
        Text, Field(description="External server on this storage; overrides database.url")
    ] = ""
    stops: StorageStops = StorageStops()

    @model_validator(mode="after")
    def _place_is_clear(self) -> Self:
        if self.url and (self.paths or self.drives):
            raise wrong(
                "url",
                sentence="either a path for a managed server, or the url of an external server",
            )
        if self.drives and self.path:
            raise wrong("drives", sentence="either drives for a volume, or a path")
        for key in ("log_path", "temporary_path"):
            if getattr(self, key) and not self.path:
                raise wrong(key, sentence=f"a {key} only together with a path for the data")
        return self

    @model_validator(mode="after")
    def _volumes_are_clear(self) -> Self:
        fields = type(self).model_fields
        needing = [one for one in FOR_DRIVES if getattr(self, one) != fields[one].get_default()]
        if needing and not self.drives:
            raise wrong("drives", sentence=f"drives, which {needing[0]} needs")
        for key in ("log", "temporary"):
            volume: Volume | None = getattr(self, key)
            if volume and not volume.drives:
                raise wrong(key, "drives", sentence="at least one drive")
        return self

    @model_validator(mode="after")
    def _shared_drives_are_divided(self) -> Self:
        for (_, one), (key, other) in combinations(self.volumes_by_path.items(), 2):
            shared, named = ROLES[key].key, {*one.named_drives} & {*other.named_drives}
            alike = bool(one.emulated_drives) and one.emulated_drives == other.emulated_drives
            sizes = [volume for volume in (one, other) if volume.size]
            if len(sizes) < 2 and (named or (alike and sizes)):
                sentence = "other drives, or a size in each volume that shares drives"
                raise wrong(shared, sentence=sentence)
            if not (named or share_emulated_drives(one, other)):
                continue
            if differs := differing_key(one, other):
                sentence = f"the same {differs} in volumes that share drives"
                raise wrong(shared, sentence=sentence)
            if not named and one.layout != other.layout:
                sentence = "the same layout in volumes that share emulated drives"
                raise wrong(shared, "layout", sentence=sentence)
        return self

    @model_validator(mode="after")
    def _parts_fit_emulated_drives(self) -> Self:
        for keys in self.on_emulated_drives:
            parts = [self.volumes_by_path[key] for key in keys]
            size = min(drive.size for drive in parts[0].emulated_drives)
            if sum(one.size or 0 for one in parts) > size:
                sentence = f"parts that fit their drives of {units.size(size)} together"
                raise wrong(ROLES[keys[-1]].key, "size", sentence=sentence)
        return self

    @property
    def volumes(self) -> tuple[Volume, ...]:
        """The volumes to be made, the data's first; none where the plan names directories."""
        return tuple(self.volumes_by_path.values())

    @property
    def volumes_by_path(self) -> dict[str, Volume]:
        """The volumes by the key of the directory that each stands for (`ROLES`)."""
        every = zip(ROLES, (self, self.log, self.temporary), strict=True)
        return {key: volume for key, volume in every if volume and volume.drives}

    @property
    def on_emulated_drives(self) -> tuple[tuple[str, ...], ...]:
        """The keys of volumes on emulated drives, those that share drives together."""
        volumes, found = self.volumes_by_path, list[tuple[str, ...]]()
        for key, volume in volumes.items():
            if volume.emulated_drives and not any(key in keys for keys in found):
                sharing = (
                    other for other in volumes if share_emulated_drives(volume, volumes[other])
                )
                found.append(tuple(dict.fromkeys((key, *sharing))))
        return tuple(found)

    @property
    def shares_emulated_drives(self) -> bool:
        """Whether several of its volumes share emulated drives, and their limits."""
        return any(len(keys) > 1 for keys in self.on_emulated_drives)

    @property
    def number_of_drives(self) -> int:
        """Drives of all its volumes, each counted once."""
        named = {name for volume in self.volumes for name in volume.named_drives}
        firsts = [self.volumes_by_path[keys[0]] for keys in self.on_emulated_drives]
        return len(named) + sum(len(one.emulated_drives) for one in firsts)

    @property
    def paths(self) -> tuple[Path, ...]:
        """Its directories, the data's first; none of a server by URL."""
        return tuple(self.paths_by_role.values())

    @property
    def paths_by_role(self) -> dict[Role, Path]:
        """The same by what each holds."""
        every = {role.holds: getattr(self, key) for key, role in ROLES.items()}
        return {role: path for role, path in every.items() if path}

    @property
    def log_apart(self) -> bool:
        """Whether the log has a directory or a volume of its own."""
        return bool(self.log or self.log_path)

    def own_table(self, engine: str) -> Part | None:
        """The engine's own table of this storage, by the engine's name; None where there is
        none.
        """
        found: Part | None = getattr(self, engine, None)
        return found


def share_emulated_drives(one: Volume, other: Volume) -> bool:
    """Whether two volumes of a storage have parts of the same emulated drives: they name the same
    ones, each with a size.
    """
    both = bool(one.size and other.size and one.emulated_drives)
    return both and one.emulated_drives == other.emulated_drives


def differing_key(one: Volume, other: Volume) -> str:
    """The first key by which two volumes want their drives different; empty for none."""
    wanted = (key for key in FOR_WHOLE_DRIVES if getattr(one, key) != getattr(other, key))
    return next(wanted, "")
