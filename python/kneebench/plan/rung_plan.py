"""What a plan says of the rungs of one configuration: all that measuring them takes."""

from __future__ import annotations

from typing import NamedTuple

from kneebench.engine_properties import EngineProperties
from kneebench.plan.ladder import Ladder
from kneebench.plan.workload import Workload


class RungPlan(NamedTuple):
    """The rules of a configuration's rungs.

    `ladder`: with the stop conditions of its storage; `workload`: with the cores that its load
    generator has; `seed`: of the random streams; `meters`: those to read.
    """

    engine: EngineProperties
    ladder: Ladder
    workload: Workload
    seed: int
    meters: tuple[str, ...]
