"""Power of a simulated server, as its model has it: idle, per busy core, per drive by its activity
(databases/engines/simulated). Its energy is exact, and its clock is the model's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from kneebench.errors import PlanError
from kneebench.measurement.power_meters.power_source import PowerSource
from kneebench.plan.power import PowerMeter
from kneebench.records import Scope

TYPE = "model"


class ModelMeter(PowerMeter):
    """The simulated engine's own power."""

    of_scope: ClassVar[Scope | None] = "wall"
    means: ClassVar[str] = "the model's power"


def of_machines(meters: Iterable[PowerMeter]) -> Iterator[PowerMeter]:
    """Those of other types, which a model cannot have: it runs on no machine."""
    return (one for one in meters if one.type != TYPE)


def open_source(table: PowerMeter) -> PowerSource:
    """Raises PlanError: beside a real server there is no model."""
    seen = "type model is the simulated engine's, and this database is none"
    raise PlanError(f"power meter {table.name}", seen=seen, do="name a meter of another type")


TABLE = ModelMeter
