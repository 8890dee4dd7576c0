"""The image: the loaded database, kept as a data directory of a server that was shut down cleanly.

It is keyed by everything that shapes it, so a plan that asks for the same data finds it again and any other does
not. It is there whole or not at all: built under another name, written out, then renamed. It belongs to whoever
started kneebench: the server's account can change it only while it is built.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kneebench.databases.postgres.address import connect
from kneebench.databases.postgres.cluster import DATABASE, configure
from kneebench.databases.postgres.copying import drop_caches
from kneebench.databases.postgres.disk_space import tree_bytes
from kneebench.databases.postgres.launcher import Launch, make_cluster, running_server
from kneebench.databases.postgres.loading import ROWS_FORMAT, load
from kneebench.databases.postgres.ownership import close, home, take_back
from kneebench.databases.postgres.server_settings import loading
from kneebench.errors import PlanError, Refused
from kneebench.lab.folder import Folder, require_ours
from kneebench.lab.journal import Journal
from kneebench.lab.removal import ours, remove
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

    def opened(self, until: contextlib.ExitStack) -> Folder:
        """Its data directory, open until then; raises Refused where another directory is in its place."""
        return until.enter_context(until.enter_context(ours(self.folder)).inner("data"))

    @property
    def size_bytes(self) -> int:
        """Of its files."""
        return int(self.facts["bytes"])


def find(folder: Path, recipe: Recipe) -> Image | None:
    """The kept image, or None; raises Refused where something else has its name or another user may change it, PlanError where that
    user's files are closed to us."""
    kept = folder / recipe.key
    if not os.path.lexists(kept):
        return None
    again = f"remove it (rm -r {shlex.quote(str(kept))}) and run again to rebuild the base image, or set database.base_image_path"
    try:
        with Folder.at(kept) as there:
            require_ours(there.handle, kept, again)
            with there.inner("data") as data:
                require_ours(data.handle, data.path, again)
            return Image(kept, _facts(there, again))
    except PermissionError:
        raise PlanError(
            f"opening the base image {kept}", seen="it belongs to another user", do="set database.base_image_path to a directory of your own"
        ) from None
    except (FileNotFoundError, NotADirectoryError):
        raise Refused(f"using {kept}", seen="it is not a base image", do="move it away, or set database.base_image_path") from None


def _facts(image: Folder, again: str) -> dict[str, str]:
    """What was written down when the image was built; raises PlanError where it no longer reads."""
    try:
        facts = json.loads(image.text("facts.json"))
        int(facts["bytes"])
    except (ValueError, KeyError, TypeError):
        raise PlanError(f"reading {image.path / 'facts.json'}", seen="the file is damaged", do=again) from None
    return {name: str(value) for name, value in facts.items()}


def prepare(folder: Path, recipe: Recipe, launch: Launch, settings: Mapping[str, str], journal: Journal, watch: Watch) -> Image:
    """The image, found or built. Two runs that want the same one build it once: the second waits."""
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder / f".{recipe.key}.lock", watch):
        if image := find(folder, recipe):
            return Image(image.folder, {**image.facts, "reused": "yes"})
        _clear(folder / f"building-{recipe.key}")
        with journal.directory(folder / f"building-{recipe.key}", "a base image being built") as building, ours(building) as place:
            facts = {"key": recipe.key, **_build(place, recipe, launch, settings, journal, watch)}
            place.put("facts.json", json.dumps(facts, indent=1))
            drop_caches([place])
            building.rename(folder / recipe.key)
    return Image(folder / recipe.key, {**facts, "reused": "no"})


@contextlib.contextmanager
def _alone(lock: Path, watch: Watch) -> Iterator[None]:
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError as error:
        do = "set database.base_image_path to a directory that only you can write to"
        raise PlanError(f"opening the lock of a base image, {lock}", seen=error.strerror or str(error), do=do) from error
    with os.fdopen(handle) as file:
        require_ours(handle, lock)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            watch(Event(kind="start", doing="waiting for another kneebench run that builds the same base image"))
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _clear(left: Path) -> None:
    """Remove what a killed run left of a build (nobody else builds: we hold the lock)."""
    if not remove(left) and left.exists():
        raise Refused(
            f"building the base image in {left}",
            seen="the directory exists and was not created by kneebench",
            do="move it away, or set database.base_image_path",
        )


def _build(building: Folder, recipe: Recipe, launch: Launch, settings: Mapping[str, str], journal: Journal, watch: Watch) -> dict[str, str]:
    data = home(building.path, "data", launch.account)
    began = time.monotonic()
    watch(Event(kind="start", doing=f"building the database: {recipe.workload.warehouses} warehouses"))
    make_cluster(launch, data, recipe.options)
    with building.inner("data") as made:
        configure(made, loading(settings), launch.account)
    with running_server(launch, data, journal, keep=True) as server:
        with connect(server.address) as connection:
            connection.execute(f"CREATE DATABASE {DATABASE}")
        address = server.address.model_copy(update={"database": DATABASE})
        with server.with_crash_report():
            loaded = load(address, recipe.workload, recipe.seed, watch)
    close(building, launch.account)
    with building.inner("data") as loaded_data:
        take_back(loaded_data, launch.account)
    seconds = time.monotonic() - began
    watch(Event(kind="end", doing="building the database", share=1.0))
    known = {"server": recipe.version, "warehouses": str(recipe.workload.warehouses), "profile": recipe.workload.profile, "seed": str(recipe.seed)}
    rate = {"build_s": f"{seconds:.1f}", "warehouses_per_min": f"{60 * recipe.workload.warehouses / seconds:.1f}"}
    return {**known, **rate, **loaded, "bytes": str(tree_bytes(data))}
