"""The plan's table of a storage: where the database's files go."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, model_validator

from kneebench.plan.values import Directory, Part, Text, wrong


class Storage(Part):
    """One storage configuration: where the database's files go.

    One table per storage, with a name of your choice.
    """

    path: Annotated[
        Directory | None,
        Field(description="Directory for data (and log), relative to where kneebench is started"),
    ] = None
    log_path: Annotated[Directory | None, Field(description="Separate directory for the log")] = (
        None
    )
    url: Annotated[
        Text, Field(description="External server on this storage; overrides database.url")
    ] = ""

    @model_validator(mode="after")
    def _place_is_clear(self) -> Self:
        if self.url and (self.path or self.log_path):
            raise wrong(
                "url",
                sentence="either a path for a managed server, or the url of an external server",
            )
        if self.log_path and not self.path:
            raise wrong("log_path", sentence="a log_path only together with a path for the data")
        return self

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
