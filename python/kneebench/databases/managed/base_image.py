"""The base image: the loaded database, kept as the data directory of a server that was shut down
cleanly.

It is keyed by everything that shapes it, so a plan that asks for the same data finds it again and
any other does not. It is there whole or not at all: built under another name, written out, then
renamed. It belongs to whoever started kneebench: the server's account can change it only while it
is built.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kneebench.databases.loading import Recipe
from kneebench.databases.managed.account import Account
from kneebench.databases.managed.copying import drop_caches
from kneebench.databases.managed.disk_space import tree_bytes
from kneebench.databases.managed.ownership import close, home, take_back
from kneebench.directories import make_directory
from kneebench.errors import PlanError, Refused
from kneebench.lab.folder import Folder, require_ours
from kneebench.lab.journal import Journal
from kneebench.lab.removal import ours, remove
from kneebench.records import Event, Watch

DATA = "data"
"""The data directory, in the image's own."""


class BaseImage(NamedTuple):
    """A kept image: its directory, and what is known about it."""

    folder: Path
    facts: Mapping[str, str]

    def opened(self, until: contextlib.ExitStack) -> Folder:
        """Its data directory, open until then; raises Refused where another directory is in its
        place.
        """
        return until.enter_context(until.enter_context(ours(self.folder)).inner(DATA))

    @property
    def size_bytes(self) -> int:
        return int(self.facts["bytes"])


def _building(
    place: Folder,
    recipe: Recipe,
    account: Account | None,
    fill: Callable[[Folder, Path], dict[str, str]],
    watch: Watch,
) -> dict[str, str]:
    """Build an image in its place; its facts."""
    workload, began = recipe.workload, time.monotonic()
    data = home(place.path, DATA, account)
    watch(Event(kind="start", doing=f"building the database: {workload.size}"))
    loaded = fill(place, data)
    close(place, account)
    with place.inner(DATA) as filled:
        take_back(filled, account)
    seconds = time.monotonic() - began
    watch(Event(kind="end", doing="building the database", share=1.0))
    known = {"server": recipe.version, "build_s": f"{seconds:.1f}"}
    if workload.type == "tproc-c":
        known["warehouses_per_min"] = f"{60 * workload.all_warehouses / seconds:.1f}"
    return {**known, **loaded, "bytes": str(tree_bytes(data))}


def find(kept: Path) -> BaseImage | None:
    """The kept image, or None; raises Refused where something else has its name or another user may
    change it, PlanError where that user's files are closed to us."""
    if not os.path.lexists(kept):
        return None
    again = (
        f"remove it (rm -r {shlex.quote(str(kept))}) and run again to rebuild the base image, or"
        " set database.base_image_path"
    )
    try:
        with Folder.at(kept) as there:
            require_ours(there.handle, kept, again)
            with there.inner(DATA) as data:
                require_ours(data.handle, data.path, again)
            return BaseImage(kept, _facts(there, again))
    except PermissionError:
        raise PlanError(
            f"cannot open the base image {kept}",
            seen="it belongs to another user",
            do="set database.base_image_path to a directory of your own",
        ) from None
    except (FileNotFoundError, NotADirectoryError):
        raise Refused(
            f"cannot use {kept}",
            seen="it is not a base image",
            do="move it away, or set database.base_image_path",
        ) from None


def _facts(image: Folder, again: str) -> dict[str, str]:
    """What was written down when the image was built; raises PlanError where it no longer reads."""
    try:
        facts = json.loads(image.text("facts.json"))
        int(facts["bytes"])
    except (ValueError, KeyError, TypeError):
        raise PlanError(
            f"cannot read {image.path / 'facts.json'}", seen="the file is damaged", do=again
        ) from None
    return {name: str(value) for name, value in facts.items()}


def prepare(
    folder: Path,
    recipe: Recipe,
    account: Account | None,
    fill: Callable[[Folder, Path], dict[str, str]],
    journal: Journal,
    watch: Watch,
) -> BaseImage:
    """The image of that recipe, found or built.

    Two runs that want the same one build it once: the second waits.

    `fill` loads the data directory (empty, in the image's own), which belongs to the account
    meanwhile, and gives what is known of the load.
    """
    key = recipe.key
    make_directory(folder)
    with _alone(folder / f".{key}.lock", watch):
        if image := find(folder / key):
            return BaseImage(image.folder, {**image.facts, "reused": "yes"})
        _clear(folder / f"building-{key}")
        made = journal.directory(folder / f"building-{key}", "a base image being built")
        with made as building, ours(building) as place:
            facts = {"key": key, **_building(place, recipe, account, fill, watch)}
            place.put("facts.json", json.dumps(facts, indent=1))
            drop_caches([place])
            building.rename(folder / key)
    return BaseImage(folder / key, {**facts, "reused": "no"})


@contextlib.contextmanager
def _alone(lock: Path, watch: Watch) -> Iterator[None]:
    try:
        handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    except OSError as error:
        do = "set database.base_image_path to a directory that only you can write to"
        raise PlanError(
            f"cannot open the lock of a base image, {lock}",
            seen=error.strerror or str(error),
            do=do,
        ) from error
    with os.fdopen(handle) as file:
        require_ours(handle, lock)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            watch(
                Event(
                    kind="start",
                    doing="waiting for another kneebench run that builds the same base image",
                )
            )
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _clear(left: Path) -> None:
    """Remove what a killed run left of a build (nobody else builds: we hold the lock)."""
    if not remove(left) and left.exists():
        raise Refused(
            f"cannot build the base image in {left}",
            seen="the directory exists and was not created by kneebench",
            do="move it away, or set database.base_image_path",
        )
