"""The plan's table of the database: the engine, and how its servers are provided."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from kneebench.plan.allowed_settings import fault
from kneebench.plan.values import Cores, Directory, Name, Number, Part, Shell, Switch, Text, Whole, check_url, wrong


class Database(Part):
    """Database engine and how it is provided: the embedded server, your own build (`bin_dir`), or an external server (`url`)."""

    engine: Annotated[Name, Field(description="Database engine: postgres or simulated")] = "postgres"
    bin_dir: Annotated[Directory | None, Field(description="Binary directory of your build; without it and url, the embedded PostgreSQL 18 runs")] = None
    url: Annotated[
        Text, Field(description="External server, postgresql://user@host/database?sslmode=verify-full; the password comes from PGPASSWORD or a passfile")
    ] = ""
    settings: dict[Name, Text | Switch | Whole | Number] = Field(default={}, description="Server settings by name; they override the sizing rules")
    restore: Annotated[
        Literal["auto", "copy", "clone", "template", "command", "none"],
        Field(
            description='Source of each climb\'s fresh database. auto: copy, or template with a url; required with schema_from = "hammerdb". '
            "copy and clone (reflink; the run includes its copy-on-write) need a managed server, the others a url"
        ),
    ] = "auto"
    restore_command: Annotated[
        Shell, Field(description='Shell command that restores the database, with restore = "command". Its secrets belong in the environment or in a file')
    ] = ""
    schema_from: Annotated[
        Literal["kneebench", "hammerdb"],
        Field(description='Origin of the schema. hammerdb: the TPROC-C schema found at url; restore = "template" measures a copy, "none" changes it'),
    ] = "kneebench"
    cores: Annotated[Cores, Field(description="Cores that the server is pinned to; empty: all")] = ()
    base_image_path: Annotated[Directory, Field(description="Directory for the base image (the loaded database), kept for the next run")] = Path(
        ".kneebench/images"
    )

    @model_validator(mode="after")
    def _way_is_clear(self) -> Self:
        if self.url:
            check_url(self.url)
        if self.url and self.bin_dir:
            raise wrong("bin_dir", sentence="either bin_dir for a managed server, or the url of an external server")
        if (self.restore == "command") != bool(self.restore_command):
            raise wrong("restore_command", sentence='restore = "command" and restore_command, both or neither')
        if unfit := fault(self.settings):
            raise wrong("settings", unfit[0], sentence=unfit[1])
        return self
