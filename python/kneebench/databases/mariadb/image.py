"""The base image of MariaDB: what shapes it, and how it is built."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kneebench.databases.managed import base_image
from kneebench.databases.managed.base_image import DATA, BaseImage
from kneebench.databases.managed.disk_space import tree_bytes
from kneebench.databases.managed.ownership import close, home, take_back
from kneebench.databases.mariadb.cluster import DATABASE, configure, make_cluster
from kneebench.databases.mariadb.launcher import Files, Launch, run_bootstrap, running_server
from kneebench.databases.mariadb.loading import ROWS_FORMAT, load
from kneebench.databases.mariadb.server_settings import IMAGE_LOG_BYTES, loading
from kneebench.lab.folder import Folder
from kneebench.lab.journal import Journal
from kneebench.plan.plan import Workload
from kneebench.records import Event, Watch

FORMAT = 1
SQL = Path(__file__).parent


class Recipe(NamedTuple):
    """All that shapes an image: of the settings, those that are fixed when it is made."""

    version: str
    fixed: Mapping[str, str]
    workload: Workload
    seed: int

    @property
    def key(self) -> str:
        """The image's name: readable, and a hash of everything."""
        workload = self.workload
        shape = [
            *(FORMAT, ROWS_FORMAT, self.version, dict(self.fixed), workload.warehouses),
            *(workload.profile, self.seed, sql_hash()),
        ]
        digest = hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()[:12]
        return f"mariadb-{self.version}-{workload.warehouses}w-{workload.profile}-{digest}"


def sql_hash() -> str:
    """A hash of the schema, the keys and the procedures, comments and all."""
    return hashlib.sha256(
        b"\0".join(file.read_bytes() for file in sorted(SQL.glob("*.sql")))
    ).hexdigest()


FIXED = (
    *("innodb_page_size", "innodb_checksum_algorithm", "innodb_undo_tablespaces"),
    *("innodb_compression_default", "innodb_encrypt_tables", "innodb_file_per_table"),
    *("innodb_default_row_format", "innodb_compression_algorithm", "innodb_fill_factor"),
)
"""Settings that the files keep from the moment when they are made."""


def fixed(settings: Mapping[str, str]) -> dict[str, str]:
    """Those of a plan's settings that shape the image."""
    return {name: value for name, value in settings.items() if name in FIXED}


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
    warehouses, began = recipe.workload.warehouses, time.monotonic()
    watch(Event(kind="start", doing=f"building the database: {warehouses} warehouses"))
    files, hurried = Files.within(data), loading(settings)
    with building.inner(DATA) as made:
        configure(made, hurried, launch.account)
        make_cluster(launch, made)
        with running_server(launch, files, journal, keep=True) as server:
            address = server.address.model_copy(update={"database": DATABASE})
            with server.with_crash_report():
                loaded = load(address, recipe.workload, recipe.seed, watch)
        small = {**hurried, "innodb_log_file_size": str(IMAGE_LOG_BYTES)}
        configure(made, small, launch.account)
        run_bootstrap(launch, files, "", "making the log of the base image")
    close(building, launch.account)
    with building.inner(DATA) as loaded_data:
        take_back(loaded_data, launch.account)
    seconds = time.monotonic() - began
    watch(Event(kind="end", doing="building the database", share=1.0))
    known = {
        "server": recipe.version,
        "warehouses": str(warehouses),
        "profile": recipe.workload.profile,
        "seed": str(recipe.seed),
        "build_s": f"{seconds:.1f}",
        "warehouses_per_min": f"{60 * warehouses / seconds:.1f}",
    }
    return {**known, **loaded, "bytes": str(tree_bytes(data))}
