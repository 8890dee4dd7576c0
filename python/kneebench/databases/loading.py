"""Loading, as far as it is the same on every engine: what a load is known by, the rows from the
core, and the timed steps after them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from kneebench._core import Dataset, Loading, TableLoad
from kneebench.core_errors import LoadError
from kneebench.databases.engine import ServerAddress
from kneebench.databases.tproc_h.tables import TABLES
from kneebench.errors import KneebenchError, PlanError, Refused
from kneebench.plan.workload import Workload
from kneebench.records import Event, Watch

ROWS_FORMAT = "1"
"""Counts up when the same seed, or the same scale, would give other rows."""
STREAMS = 2 if (os.cpu_count() or 1) < 6 else 3
"""order_line, stock, and with cores to spare the rest beside them; each keeps a core of the server
busy."""
CANCEL_LIMIT_S = 60.0

Connection = TypeVar("Connection")


def shape_of(workload: Workload, seed: int) -> dict[str, str]:
    """What a load is known by; the rows of TPROC-H follow from their scale alone."""
    if workload.type == "tproc-h":
        scale = f"{workload.scale:g}"
        return {"workload": workload.type, "scale": scale, "rows_format": ROWS_FORMAT}
    return {
        "warehouses": str(workload.warehouses),
        "profile": workload.profile,
        "seed": str(seed),
        "rows_format": ROWS_FORMAT,
    }


SESSIONS_EACH = 4
"""Sessions beside the users' that each of several databases needs."""


def databases_of(workload: Workload, first: str) -> list[str]:
    """The names of its databases on a server of ours.

    >>> databases_of(Workload(databases=3), "kneebench")
    ['kneebench', 'kneebench_2', 'kneebench_3']
    """
    return [first, *(f"{first}_{number}" for number in range(2, workload.databases + 1))]


def dataset_of(workload: Workload, seed: int) -> Dataset:
    """The rows that the core makes for it."""
    if workload.type == "tproc-h":
        return Dataset.tproc_h(scale=workload.scale)
    return Dataset.tproc_c(warehouses=workload.warehouses, profile=workload.profile, seed=seed)


def require_shape(found: Mapping[str, str], shape: Mapping[str, str], database: str) -> None:
    """Raise Refused where the facts of a whole load are those of another shape."""
    if any(found.get(name) != value for name, value in shape.items()):
        held = ", ".join(f"{name} = {found.get(name)}" for name in shape)
        raise Refused(
            f"cannot load the database {database}",
            seen=f"it contains a different load: {held}",
            do="use another database, or drop this one",
        )


def require_restored(found: Mapping[str, str], shape: Mapping[str, str], database: str) -> None:
    """Raise PlanError where the facts of a load are not those of the plan's database, as the plan's
    command left it.
    """
    if found.get("state") == "whole" and all(found.get(k) == v for k, v in shape.items()):
        return
    held = ", ".join(f"{name} = {found[name]}" for name in shape if name in found)
    raise PlanError(
        f"cannot restore the database {database} by restore_command",
        seen=f"the command left another load: {held}" if held else "it left no loaded database",
        do="let it restore the database as the first run loaded it, or correct the plan",
    )


# --- rows -----------------------------------------------------------------------------------------


class TableRows(NamedTuple):
    """What to fill: the tables' statements, and the workload that the rows are for."""

    address: ServerAddress
    workload: Workload
    seed: int
    tables: Sequence[TableLoad]


def load_rows(
    rows: TableRows, watch: Watch, refusal: Callable[[str, LoadError], KneebenchError]
) -> dict[str, str]:
    """Fill the tables over STREAMS connections; the facts: rows, bytes and seconds.

    Raises what `refusal` makes of "cannot load the tables" and the server's error.
    """
    began = time.monotonic()
    loading = rows.address.loading(dataset_of(rows.workload, rows.seed), STREAMS, [*rows.tables])
    loading.start()
    try:
        while not loading.wait(0.5):
            watch(progress_of(loading.progress(), rows.workload, time.monotonic() - began))
    except LoadError as error:
        raise refusal("cannot load the tables", error) from error
    except BaseException:
        _stop(loading)
        raise
    done = loading.progress()
    return {
        "rows": str(done["rows"]),
        "copied_bytes": str(done["bytes"]),
        "rows_s": f"{time.monotonic() - began:.2f}",
    }


def _stop(loading: Loading) -> None:
    """End a load in mid-stream: the tables under way are rolled back when their connections
    close.
    """
    loading.cancel()
    with contextlib.suppress(LoadError):
        loading.wait(CANCEL_LIMIT_S)


def progress_of(done: Mapping[str, int], workload: Workload, elapsed_s: float) -> Event:
    """What is shown of a load: its share, its rates and the time left."""
    share = min(1.0, done["rows"] / done["rows_total"])
    rates = {"rows_per_s": done["rows"] / elapsed_s, "bytes_per_s": done["bytes"] / elapsed_s}
    if workload.type == "tproc-c":
        rates["warehouses_per_min"] = 60 * workload.warehouses * share / elapsed_s
    return Event(
        kind="progress",
        doing=f"loading {workload.size}",
        share=share,
        left_s=elapsed_s * (1 - share) / share if share else None,
        data={"rows": done["rows"], **rates},
    )


# --- what comes after -----------------------------------------------------------------------------


class Step(NamedTuple):
    """One step after the rows: the fact that keeps its seconds, what is being done, the doing."""

    fact: str
    doing: str
    run: Callable[[], object]


def take_steps(
    steps: Sequence[Step],
    watch: Watch,
    reported: Callable[[str], contextlib.AbstractContextManager[None]],
) -> dict[str, str]:
    """Run the steps in turn, each within `reported` of its failure; the seconds that each took."""
    known = {}
    for number, (fact, doing, run) in enumerate(steps):
        watch(Event(kind="progress", doing=doing, share=number / len(steps)))
        began = time.monotonic()
        with reported(f"{doing} failed"):
            run()
        known[fact] = f"{time.monotonic() - began:.2f}"
    return known


def side_by_side(
    connections: Sequence[Connection],
    groups: Iterable[Sequence[str]],
    execute: Callable[[Connection, str], object],
    cancel: Callable[[Connection], object] = lambda connection: None,
) -> None:
    """Run groups of statements over the connections, the next free one taking the next group.

    The first error ends all: no further group is begun, and what runs is cancelled.
    """
    rest = iter(groups)

    def run(connection: Connection, groups: Iterator[Sequence[str]]) -> None:
        for group in groups:
            for statement in group:
                execute(connection, statement)

    with ThreadPoolExecutor(len(connections), thread_name_prefix="loading") as threads:
        try:
            for ended in as_completed([threads.submit(run, one, rest) for one in connections]):
                ended.result()
        except BaseException:
            deque(rest, maxlen=0)  # what was not begun is not begun any more
            for connection in connections:
                cancel(connection)
            raise


# What shapes a base image, and the name that follows from it.

FORMAT = 1
"""Counts up when images are kept in another way."""


@cache
def sql_hash(folder: Path) -> str:
    """A hash of an engine's SQL files, comments and all."""
    return hashlib.sha256(
        b"\0".join(file.read_bytes() for file in sorted(folder.glob("*.sql")))
    ).hexdigest()


class Recipe(NamedTuple):
    """All that shapes an image: `fixed` are the settings that it keeps from the moment when it is
    made, `sql` the directory of the engine's SQL files.
    """

    engine: str
    version: str
    fixed: Sequence[object] | Mapping[str, str]
    workload: Workload
    seed: int
    sql: Path

    @property
    def key(self) -> str:
        """The image's name: readable, and a hash of everything."""
        workload = self.workload
        of: list[object] = [workload.warehouses, workload.profile, self.seed]
        short = f"{workload.warehouses}w-{workload.profile}"
        if workload.databases > 1:
            of, short = [*of, workload.databases], f"{workload.databases}x{short}"
        if workload.type == "tproc-h":
            of = [workload.type, workload.scale, str(TABLES)]
            short = f"h{workload.scale:g}"
        shape = [FORMAT, ROWS_FORMAT, self.version, self.fixed, *of, sql_hash(self.sql)]
        digest = hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()[:12]
        return f"{self.engine}-{self.version}-{short}-{digest}"
