"""The image: the loaded database, kept as a data directory of a server that was shut down cleanly.

It is keyed by everything that shapes it, so a plan that asks for the same data finds it again and any other does
not. It is there whole or not at all: built under another name, written out, then renamed.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kneebench.databases.postgres.address import connect
from kneebench.databases.postgres.cluster import DATABASE, configure, own
from kneebench.databases.postgres.copying import cool
from kneebench.databases.postgres.launcher import Launch, make_cluster, running
from kneebench.databases.postgres.loading import ROWS_FORMAT, load
from kneebench.databases.postgres.room import tree_bytes
from kneebench.databases.postgres.settings import loading
from kneebench.errors import PlanError, Refused
from kneebench.lab.journal import Journal
from kneebench.lab.removal import remove
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
        shape = [FORMAT, ROWS_FORMAT, self.version, list(self.options), self.workload.warehouses, self.workload.profile, self.seed, sql_hash()]
        digest = hashlib.sha256(json.dumps(shape).encode()).hexdigest()[:12]
        return f"postgres-{self.version}-{self.workload.warehouses}w-{self.workload.profile}-{digest}"


def sql_hash() -> str:
    """A hash of the schema, the keys and the procedures, comments and all."""
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in sorted(SQL.glob("*.sql")))).hexdigest()


class Image(NamedTuple):
    """A kept image: its directory, and what is known about it."""

    folder: Path
    facts: Mapping[str, str]

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.folder / "data"

    @property
    def size_bytes(self) -> int:
        """Of its files."""
        return int(self.facts["bytes"])


def find(folder: Path, recipe: Recipe) -> Image | None:
    """The kept image, or None; raises Refused where something else has its name, PlanError where it is another user's."""
    kept = folder / recipe.key
    try:
        if not kept.exists():
            return None
        facts = json.loads((kept / "facts.json").read_text())
        next(os.scandir(kept / "data"), None)
    except PermissionError:
        raise PlanError(f"opening the image {kept}", seen="it belongs to another user", do="set database.image_path to a directory of your own") from None
    except FileNotFoundError:
        raise Refused(f"looking for the image {kept}", seen="what is there is no image", do="move it away, or set database.image_path") from None
    return Image(kept, facts)


def prepare(folder: Path, recipe: Recipe, launch: Launch, settings: Mapping[str, str], journal: Journal, watch: Watch) -> Image:
    """The image, found or built. Two runs that want the same one build it once: the second waits."""
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder / f".{recipe.key}.lock", watch):
        if image := find(folder, recipe):
            return Image(image.folder, {**image.facts, "reused": "yes"})
        _clear(folder / f"building-{recipe.key}")
        with journal.directory(folder / f"building-{recipe.key}", "an image being built") as building:
            own(building, launch.account)
            facts = {"key": recipe.key, **_build(building, recipe, launch, settings, journal, watch)}
            (building / "facts.json").write_text(json.dumps(facts, indent=1))
            cool([building])
            building.rename(folder / recipe.key)
    return Image(folder / recipe.key, {**facts, "reused": "no"})


@contextlib.contextmanager
def _alone(lock: Path, watch: Watch) -> Iterator[None]:
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            watch(Event(kind="start", doing="waiting for another kneebench that builds the same image"))
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _clear(left: Path) -> None:
    """Remove what a killed run left of a build (nobody else builds: we hold the lock)."""
    if not remove(left) and left.exists():
        raise Refused(f"building the image in {left}", seen="the directory is there and is not ours", do="move it away, or set database.image_path")


def _build(building: Path, recipe: Recipe, launch: Launch, settings: Mapping[str, str], journal: Journal, watch: Watch) -> dict[str, str]:
    data = building / "data"
    began = time.monotonic()
    watch(Event(kind="start", doing=f"building the database: {recipe.workload.warehouses} warehouses"))
    make_cluster(launch, data, recipe.options)
    configure(data, loading(settings), launch.account)
    with running(launch, data, journal, keep=True) as server:
        with connect(server.address) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}")
        address = server.address.model_copy(update={"database": DATABASE})
        with server.heard():
            loaded = load(address, recipe.workload, recipe.seed, watch)
    seconds = time.monotonic() - began
    watch(Event(kind="end", doing="building the database", share=1.0))
    known = {"server": recipe.version, "warehouses": str(recipe.workload.warehouses), "profile": recipe.workload.profile, "seed": str(recipe.seed)}
    rate = {"build_s": f"{seconds:.1f}", "warehouses_per_min": f"{60 * recipe.workload.warehouses / seconds:.1f}"}
    return {**known, **rate, **loaded, "bytes": str(tree_bytes(data))}
