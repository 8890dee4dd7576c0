"""A short load on a restored database."""

from __future__ import annotations

from kneebench.databases.engine import Server
from kneebench.plan.database_plan import DatabasePlan
from kneebench.records import TRANSACTIONS, Order, Tally
from kneebench.workload import generator_spec, running_load

LONGEST_S = 60


def short_load(server: Server, plan: DatabasePlan, configuration: str) -> Tally:
    """A load of two users until each transaction has committed."""
    order = Order(configuration=configuration, phase="search", users=2)
    generator = server.load_generator(generator_spec(plan.workload, plan.seed, order))
    generator.ready()
    with running_load(generator) as load:
        load.mark("window")
        seen: set[str] = set()
        for second in range(LONGEST_S):
            seen |= {one.transaction for one in load.tick().seconds if one.committed}
            if second >= 3 and seen == set(TRANSACTIONS):
                break
        load.mark("cool_down")
        return load.stop()
