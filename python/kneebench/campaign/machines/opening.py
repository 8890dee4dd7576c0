"""The machine of a plan's databases, until it is no longer needed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from kneebench.campaign.machines.machine import DatabaseMachine, ThisMachine
from kneebench.campaign.machines.other_machine import database_host
from kneebench.databases.engine import AdmitsUsers, Engine
from kneebench.engine_properties import engine_properties
from kneebench.hosts.load_agent import source_address
from kneebench.hosts.load_hosts import LoadHosts
from kneebench.plan import Plan


@contextlib.contextmanager
def machine_of(plan: Plan) -> Iterator[DatabaseMachine]:
    """This machine, or the plan's database host. Raises PlanError where that cannot be reached."""
    if not plan.hosts.database.ssh:
        yield ThisMachine()
        return
    with database_host(plan.hosts.database, _packages(plan)) as machine:
        yield machine


def let_users_in(engine: Engine, plan: Plan, load_hosts: LoadHosts | None) -> None:
    """Let the users of all load hosts, or of this machine, connect to the servers of an engine."""
    to = plan.hosts.database.address
    if to and isinstance(engine, AdmitsUsers):
        engine.admit(load_hosts.addresses(to) if load_hosts else [source_address(to)])


def _packages(plan: Plan) -> tuple[str, ...]:
    """What the plan's engines need there: Python packages, and the binaries of those that are
    started.
    """
    found = list[str]()
    for one in plan.databases_by_name.values():
        started = not all(one.urls(plan.storages).values())
        found += [*engine_properties(one.engine).packages, one.bundle if started else ""]
    return tuple(dict.fromkeys(filter(None, found)))
