"""The base image of PostgreSQL: what shapes it, and how it is built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from kneebench.databases.engines.postgres.address import connect
from kneebench.databases.engines.postgres.cluster import configure
from kneebench.databases.engines.postgres.launcher import Launch, make_cluster, running_server
from kneebench.databases.engines.postgres.loading import load
from kneebench.databases.engines.postgres.server_address import DATABASE
from kneebench.databases.engines.postgres.server_settings import loading
from kneebench.databases.managed import base_image
from kneebench.databases.managed.base_image import DATA, BaseImage
from kneebench.databases.tproc_c.recipe import Recipe
from kneebench.lab.folder import Folder
from kneebench.lab.journal import Journal
from kneebench.plan.plan import Workload
from kneebench.records import Watch


def recipe_of(version: str, fixed: Sequence[str], workload: Workload, seed: int) -> Recipe:
    """What shapes the image of a server of that version."""
    return Recipe("postgres", version, list(fixed), workload, seed, Path(__file__).parent)


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

    def fill(place: Folder, data: Path) -> dict[str, str]:
        return _fill(place, data, recipe, launch, settings, journal, watch)

    return base_image.prepare(folder, recipe, launch.account, fill, journal, watch)


def _fill(
    place: Folder,
    data: Path,
    recipe: Recipe,
    launch: Launch,
    settings: Mapping[str, str],
    journal: Journal,
    watch: Watch,
) -> dict[str, str]:
    """The data directory of a server that has loaded the rows and was shut down."""
    make_cluster(launch, data, list(map(str, recipe.fixed)))
    with place.inner(DATA) as made:
        configure(made, loading(settings), launch.account)
    with running_server(launch, data, journal, keep=True) as server:
        with connect(server.address) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}")
        address = server.address.model_copy(update={"database": DATABASE})
        with server.with_crash_report():
            return load(address, recipe.workload, recipe.seed, watch)
