"""The table `[database]` of a plan for the simulated engine: a model has no server, no cores of
this machine and no files.
"""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import model_validator

from kneebench.databases.simulated.storage import SimulatedStorage
from kneebench.plan.database import Database
from kneebench.plan.values import wrong


class SimulatedDatabase(Database):
    """The simulated engine: its drives are the `simulated` table of each storage."""

    cache_setting: ClassVar[str] = "simulated.cache"

    @model_validator(mode="after")
    def _has_no_server(self) -> Self:
        for name in ("url", "cores"):
            if getattr(self, name):
                raise wrong(name, sentence="no value: a simulated database has no server")
        return self


TABLE = SimulatedDatabase
STORAGE = SimulatedStorage
