"""A short load on a restored database."""

from __future__ import annotations

from kneebench.databases.engine import Server
from kneebench.plan import Plan
from kneebench.records import TRANSACTIONS, Order, Tally
from kneebench.workload import generator_spec, running_load

LONGEST_S = 60


def short_load(server: Server, plan: Plan, cell: str) -> Tally:
    """A load of two users until each transaction has committed."""
    order = Order(cell=cell, phase="search", users=2)
    generator = server.load_generator(generator_spec(plan, order))
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
