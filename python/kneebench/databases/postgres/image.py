"""The base image of PostgreSQL: what shapes it, and how it is built."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kneebench.databases.managed import base_image
from kneebench.databases.managed.base_image import DATA, BaseImage
from kneebench.databases.managed.disk_space import tree_bytes
from kneebench.databases.managed.ownership import close, home, take_back
from kneebench.databases.postgres.address import connect
from kneebench.databases.postgres.cluster import DATABASE, configure
from kneebench.databases.postgres.launcher import Launch, make_cluster, running_server
from kneebench.databases.postgres.loading import ROWS_FORMAT, load
from kneebench.databases.postgres.server_settings import loading
from kneebench.lab.folder import Folder
from kneebench.lab.journal import Journal
from kneebench.plan.plan import Workload
from kneebench.records import Event, Watch

FORMAT = 1
SQL = Path(__file__).parent


class Recipe(NamedTuple):
    """All that shapes an image."""

    version: str
    options: Sequence[str]
    workload: Workload
    seed: int

    @property
    def key(self) -> str:
        """The image's name: readable, and a hash of everything."""
        shape = [
            FORMAT,
            ROWS_FORMAT,
            self.version,
            list(self.options),
            self.workload.warehouses,
            self.workload.profile,
            self.seed,
            sql_hash(),
        ]
        digest = hashlib.sha256(json.dumps(shape).encode()).hexdigest()[:12]
        return (
            f"postgres-{self.version}-{self.workload.warehouses}w-{self.workload.profile}-{digest}"
        )


def sql_hash() -> str:
    """A hash of the schema, the keys and the procedures, comments and all."""
    return hashlib.sha256(
        b"\0".join(file.read_bytes() for file in sorted(SQL.glob("*.sql")))
    ).hexdigest()


def find(folder: Path, recipe: Recipe) -> BaseImage | None:
    """The kept image, or None; raises as `base_image.find` does."""
    return base_image.find(folder / recipe.key)


def prepare(
    folder: Path,
    recipe: Recipe,
    launch: Launch,
    settings: Mapping[str, str],
    journal: Journal,
    watch: Watch,
) -> BaseImage:
    """The image, found or built."""

    def build(place: Folder) -> dict[str, str]:
        return _build(place, recipe, launch, settings, journal, watch)

    return base_image.prepare(folder, recipe.key, build, journal, watch)


def _build(
    building: Folder,
    recipe: Recipe,
    launch: Launch,
    settings: Mapping[str, str],
    journal: Journal,
    watch: Watch,
) -> dict[str, str]:
    data = home(building.path, DATA, launch.account)
    began = time.monotonic()
    watch(
        Event(kind="start", doing=f"building the database: {recipe.workload.warehouses} warehouses")
    )
    make_cluster(launch, data, recipe.options)
    with building.inner(DATA) as made:
        configure(made, loading(settings), launch.account)
    with running_server(launch, data, journal, keep=True) as server:
        with connect(server.address) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}")
        address = server.address.model_copy(update={"database": DATABASE})
        with server.with_crash_report():
            loaded = load(address, recipe.workload, recipe.seed, watch)
    close(building, launch.account)
    with building.inner(DATA) as loaded_data:
        take_back(loaded_data, launch.account)
    seconds = time.monotonic() - began
    watch(Event(kind="end", doing="building the database", share=1.0))
    known = {
        "server": recipe.version,
        "warehouses": str(recipe.workload.warehouses),
        "profile": recipe.workload.profile,
        "seed": str(recipe.seed),
    }
    rate = {
        "build_s": f"{seconds:.1f}",
        "warehouses_per_min": f"{60 * recipe.workload.warehouses / seconds:.1f}",
    }
    return {**known, **rate, **loaded, "bytes": str(tree_bytes(data))}
