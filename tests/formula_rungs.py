"""Rungs of the formula server: measured alone, and kept by a campaign."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kneebench.campaign.machines.machine import DatabaseMachine
from kneebench.campaign.restored import Context, Restored
from kneebench.lab.host import host
from kneebench.measurement.measure import measure
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Configuration, Order, Rung, Watch
from kneebench.results import Store
from tests.formula import Formula
from tests.only import rungs_of

CONFIGURATION = Configuration(id="disk", storage="disk")
SEARCH = Order(configuration="disk", phase="search", users=8)


def plan() -> Plan:
    ladder = {"window": "6s", "final_window": "6s", "warm_up": "2s", "checkpoints": 0}
    fields = {
        "meters": ["log_writes", "tables", "cores"],
        "workload": {"warehouses": 40},
        "ladder": ladder,
    }
    return Plan.model_validate({**fields, "storages": {"disk": {"path": "."}}})


def measured(server: Formula, order: Order = SEARCH) -> Rung:
    return measure(order, rungs_of(plan()), server, lambda event: None).rung


@dataclass
class Engine:
    """Restores one server, and nothing else."""

    server: Formula

    @contextlib.contextmanager
    def restored(
        self, configuration: Configuration, watch: Watch, restore: int = 0
    ) -> Iterator[Formula]:
        yield self.server


def kept(server: Formula, folder: Path, order: Order = SEARCH) -> tuple[Rung, list[str]]:
    """The rung that a campaign keeps, as its folder gives it back, and the warnings on the way."""
    told: list[str] = []
    with Store.create(folder, Study(plan()), host()) as store:
        study = Study(plan())
        context = Context(
            study.databases,
            study.configurations,
            Engine(server),
            store,
            lambda event: told.append(event.doing) if event.kind == "warning" else None,
            DatabaseMachine(),
        )
        with Restored(context, CONFIGURATION) as place:
            place.rung(order)
        found = store.rung(order)
        assert found
        return found, told
