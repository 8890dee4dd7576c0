"""The plan's table of a database whose servers kneebench can start itself (managed)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from kneebench.plan.amounts import Memory
from kneebench.plan.database import ExistingSchemaDatabase
from kneebench.plan.storage import Storage
from kneebench.plan.values import Cores, Directory, wrong

if TYPE_CHECKING:
    from kneebench.records import Configuration


FaultOf = Callable[[Mapping[str, object]], tuple[str, str] | None]
"""The first of some settings that a plan cannot have, and what is allowed in its place."""


class ManagedDatabase(ExistingSchemaDatabase):
    """A database with servers that kneebench starts (managed), or reaches by URL.

    An engine's table says `url_rule` and `fault_of`, and where it has them `cache_setting`,
    `sized_settings`, `temporary_setting` and `huge_pages_setting`.
    """

    huge_pages_setting: ClassVar[str] = ""
    """The server setting for huge pages, which memory limits do not count; empty: it has none."""
    fault_of: ClassVar[FaultOf]
    managed_only: ClassVar[tuple[str, ...]] = ("settings", "cores", "memory", "bin_dir")
    cores: Annotated[
        Cores, Field(description="Cores that the server is pinned to; empty: all")
    ] = ()
    memory: Annotated[
        Memory | None,
        Field(
            description=(
                "Memory limit of each server with its page cache (cgroup); the sizing rules follow"
                " it. Needs root; empty: no limit"
            ),
        ),
    ] = None
    page_cache: Annotated[
        Literal["cold", "warm"],
        Field(
            description=(
                "Page cache after a restore by copy. cold: emptied, so first reads reach the drive."
                " warm: the copied data stay in it, on all storages alike"
            )
        ),
    ] = "cold"
    bin_dir: Annotated[
        Directory | None, Field(description="Directory of the server's programs")
    ] = None
    base_image_path: Annotated[
        Directory,
        Field(
            description="Directory for the base image (the loaded database), kept for the next run"
        ),
    ] = Path(".kneebench/images")

    @property
    def server_cores(self) -> tuple[int, ...]:
        """As `cores` says."""
        return self.cores

    @property
    def restored_cold(self) -> bool:
        """As `page_cache` says."""
        return self.page_cache == "cold"

    @property
    def paths(self) -> tuple[Path, ...]:
        """The base image's directory, and the build's."""
        return (self.base_image_path, *([self.bin_dir] if self.bin_dir else []))

    @model_validator(mode="after")
    def _either_bin_dir_or_url(self) -> Self:
        if self.url and self.bin_dir:
            raise wrong(
                "bin_dir",
                sentence="either bin_dir for a managed server, or the url of an external server",
            )
        return self

    @model_validator(mode="after")
    def _settings_are_allowed(self) -> Self:
        if unfit := type(self).fault_of(self.settings):
            raise wrong("settings", unfit[0], sentence=unfit[1])
        return self

    def check(self, storages: Mapping[str, Storage]) -> None:
        """Every storage has a path, or every one has a URL; the keys are those of such servers."""
        bare = [name for name, one in storages.items() if not (one.url or self.url)]
        for name in bare:
            if not (storages[name].path or storages[name].drives):
                sentence = "a path or drives for the database's files, or the url of a server there"
                raise wrong("storages", name, sentence=sentence)
        if len(bare) < len(storages):
            self._check_external(storages)
            return
        self.check_temporary(storages)
        self._check_restore()
        if self.has_schema:
            sentence = f'"kneebench": "{self.schema_from}" needs a url'
            raise wrong("database", "schema_from", sentence=sentence)

    def check_bare(self, storage: str) -> None:
        """A server that kneebench starts beside one that runs already."""
        raise wrong("storages", storage, sentence="a url for every storage, or for none")

    def _check_external(self, storages: Mapping[str, Storage]) -> None:
        super().check(storages)
        if self.page_cache == "warm":
            sentence = '"cold" together with a url: only a managed server is restored by copy'
            raise wrong("database", "page_cache", sentence=sentence)

    def _check_restore(self) -> None:
        how = self.restored_by({})
        if how not in ("copy", "clone"):
            sentence = f'"copy" or "clone": "{self.restore}" needs a url'
            raise wrong("database", "restore", sentence=sentence)
        if self.page_cache == "warm" and how != "copy":
            sentence = f'"cold": restore = "{self.restore}" leaves nothing in the page cache'
            raise wrong("database", "page_cache", sentence=sentence)
        if self.page_cache == "warm" and self.memory:
            sentence = '"cold": what a copy leaves in the page cache is outside the memory limit'
            raise wrong("database", "page_cache", sentence=sentence)

    def check_constraints(
        self, constraints: Mapping[str, Configuration], urls: Mapping[str, str]
    ) -> None:
        """Only a managed server can be limited, and only its own page cache."""
        super().check_constraints(constraints, urls)
        limited = any(one.memory_bytes for one in constraints.values())
        if limited and self.page_cache == "warm":
            sentence = '"cold": what a copy leaves in the page cache is outside a memory limit'
            raise wrong("database", "page_cache", sentence=sentence)
        if limited and self.settings.get(self.huge_pages_setting, "off") not in ("off", False):
            sentence = '"off": a memory limit does not count huge pages'
            raise wrong("database", "settings", self.huge_pages_setting, sentence=sentence)
