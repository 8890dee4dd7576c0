"""What shapes a base image, and the name that follows from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kneebench.databases.tproc_c.loading import ROWS_FORMAT
from kneebench.plan.plan import Workload

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
        shape = [
            *(FORMAT, ROWS_FORMAT, self.version, self.fixed),
            *(workload.warehouses, workload.profile, self.seed, sql_hash(self.sql)),
        ]
        digest = hashlib.sha256(json.dumps(shape, sort_keys=True).encode()).hexdigest()[:12]
        name = f"{self.engine}-{self.version}"
        return f"{name}-{workload.warehouses}w-{workload.profile}-{digest}"
