"""The plan's table of a storage: where the database's files go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from kneebench.plan.values import Directory, Part, Text, wrong
from kneebench.plan.volume import Volume


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
    log: Annotated[
        Volume | None, Field(description="Separate volume for the log; only with drives")
    ] = None
    url: Annotated[
        Text, Field(description="External server on this storage; overrides database.url")
    ] = ""

    @model_validator(mode="after")
    def _place_is_clear(self) -> Self:
        if self.url and (self.path or self.log_path or self.drives):
            raise wrong(
                "url",
                sentence="either a path for a managed server, or the url of an external server",
            )
        if self.drives and self.path:
            raise wrong("drives", sentence="either drives for a volume, or a path")
        if self.log_path and not self.path:
            raise wrong("log_path", sentence="a log_path only together with a path for the data")
        return self

    @model_validator(mode="after")
    def _volumes_are_clear(self) -> Self:
        bare = Volume()
        wants_drives = self.log or any(
            getattr(self, key) != getattr(bare, key)
            for key in ("layout", "file_system", "drive_settings")
        )
        if wants_drives and not self.drives:
            sentence = "drives, which layout, file_system, drive_settings and log need"
            raise wrong("drives", sentence=sentence)
        if self.log and not self.log.drives:
            raise wrong("log", "drives", sentence="at least one drive")
        if self.log and set(self.log.named_drives) & set(self.named_drives):
            raise wrong("log", "drives", sentence="other drives than the data's")
        return self

    @property
    def volumes(self) -> tuple[Volume, ...]:
        """The volumes to be made, the data's first; none where the plan names directories."""
        return tuple(self.volumes_by_path.values())

    @property
    def volumes_by_path(self) -> dict[str, Volume]:
        """The volumes by the key of the directory that each stands for."""
        every = {"path": self, "log_path": self.log}
        return {key: volume for key, volume in every.items() if volume and volume.drives}

    @property
    def paths(self) -> tuple[Path, ...]:
        """Its directories, the data's first; none of a server by URL."""
        return tuple(path for path in (self.path, self.log_path) if path)

    def own_table(self, engine: str) -> Part | None:
        """The engine's own table of this storage, by the engine's name; None where there is
        none.
        """
        found: Part | None = getattr(self, engine, None)
        return found
