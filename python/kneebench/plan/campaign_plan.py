"""A plan resolved for the campaign that measures it."""

from __future__ import annotations

from typing import NamedTuple

from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.ladder import Ladder
from kneebench.plan.power import Power
from kneebench.plan.rung_plan import RungPlan
from kneebench.plan.workload import Workload
from kneebench.records import Configuration


class CampaignPlan(NamedTuple):
    """All that a campaign measures by.

    `configurations`: the baseline's first; `databases`: by name; `ladder`, `workload`: what is the
    same for all of them; `meters`: those to read; `power`: those of power; `saturating`: names of
    the constraints whose number of cores the campaign finds.
    """

    configurations: tuple[Configuration, ...]
    databases: dict[str, DatabasePlan]
    ladder: Ladder
    workload: Workload
    meters: tuple[str, ...]
    power: Power = Power()
    saturating: frozenset[str] = frozenset()

    def database(self, configuration: Configuration) -> DatabasePlan:
        """The database that a configuration has."""
        return self.databases[configuration.database]

    def rungs(self, configuration: Configuration) -> RungPlan:
        """The rules of a configuration's rungs."""
        database = self.database(configuration)
        return RungPlan(
            engine=database.engine,
            ladder=database.ladder_on(configuration.storage),
            workload=self.workload,
            seed=database.seed,
            meters=self.meters,
        )
