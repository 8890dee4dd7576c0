"""The table `[database]` of a plan for the simulated engine: a model has no server, no cores of
this machine and no files.
"""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import Field, ValidationError, model_validator

from kneebench.databases.engines.simulated.storage import SimulatedStorage
from kneebench.plan.database import Database
from kneebench.plan.values import Name, Number, Switch, Text, Whole, wrong


class SimulatedDatabase(Database):
    """The simulated engine: its drives are the `simulated` table of each storage."""

    cache_setting: ClassVar[str] = "simulated.cache"
    settings: dict[Name, Text | Switch | Whole | Number] = Field(
        default={},
        description=(
            "Figures of the model, such as cpu_per_transaction; they override those of each"
            " storage's table `simulated`"
        ),
    )

    @model_validator(mode="after")
    def _settings_are_figures(self) -> Self:
        for name in self.settings:
            if name not in SimulatedStorage.model_fields:
                keys = ", ".join(SimulatedStorage.model_fields)
                raise wrong("settings", name, sentence=f"a figure of the model, one of: {keys}")
            try:
                SimulatedStorage.model_validate({name: self.settings[name]})
            except ValidationError:
                sentence = "a value as the same key of a storage's table has it"
                raise wrong("settings", name, sentence=sentence) from None
        return self

    def changed(self, storage: SimulatedStorage) -> SimulatedStorage:
        """The figures of a storage, with those of the settings in their place.

        >>> database = SimulatedDatabase(settings={"cpu_per_transaction": "2ms"})
        >>> database.changed(SimulatedStorage()).cpu_per_transaction
        0.002
        """
        changed = SimulatedStorage.model_validate(self.settings)
        return storage.model_copy(update={name: getattr(changed, name) for name in self.settings})


def simulated_table(table: Database) -> SimulatedDatabase:
    """A plan's table, which is the simulated engine's."""
    assert isinstance(table, SimulatedDatabase)
    return table


TABLE = SimulatedDatabase
STORAGE = SimulatedStorage
