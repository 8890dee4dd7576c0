"""Users on several hosts: processes of this machine in their place, so that the true start of each
is known; what the hosts count against the database, and what each one costs the controller.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from bench.ratio import Ratio, Size, alone, at_most, largest, told, turns
from bench.servers import SEED, Loaded, loaded
from bench.turn import in_turn
from kneebench import preset
from kneebench._core import GeneratorSpec
from kneebench.databases.engine import wire_address
from kneebench.databases.engines.postgres.server import PostgresServer
from kneebench.databases.several import engine_of
from kneebench.hosts.load_hosts import LoadHosts, Way, connect
from kneebench.hosts.spread_load import merged_report
from kneebench.lab.journal import Journal
from kneebench.plan.configurations import configurations
from kneebench.plan.hosts import LoadHost
from kneebench.plan.study import Study
from kneebench.plan.workload import Workload
from kneebench.records import Order, Tally, unwatched
from kneebench.workload import generator_spec, running_load

NAME = "hosts"
ABOUT = "NOPM over 1, 2 and 4 load hosts, the start of 64, and the controller's cost"
MANY = 64
AIM_START_S, AIM_HOST = 0.05, 0.01
"""Beyond 50 ms a rung is invalid; a hundredth of a core for each host."""
SETTINGS = {"shared_buffers": "512MB", "max_wal_size": "4GB", "max_connections": "120"}


class Done(NamedTuple):
    """A turn: its tally, when the windows of its hosts opened, and the controller's CPU."""

    tally: Tally
    spread_s: float
    cpu_per_host: float
    missing: int
    """Orders that the database has, and the tally has not."""


def measure(size: Size) -> list[Ratio]:
    """Turns with 1, 2 and 4 hosts, then one with many, and the merge of as many reports."""
    users, seconds = size.count(8, 4), size.count(8, 2)
    workload = Workload(warehouses=size.count(8, 1))
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(loaded(size, workload, SETTINGS))
        watched = stack.enter_context(contextlib.closing(server.watched()))
        turn = partial(_turn, server, watched, seconds=seconds)
        turn(hosts=1, users=users)  # a first turn writes what later ones do not
        one, two, four = in_turn(
            size.count(6, 1), *(partial(turn, hosts=n, users=users) for n in (1, 2, 4))
        )
        many = size.count(MANY, 3)
        crowd = [turn(hosts=many, users=many) for _ in range(size.count(3, 1))]
    every = [*one, *two, *four, *crowd]
    return [
        _against(2, two, one),
        _against(4, four, one),
        at_most(
            "New-Orders that the database and all hosts together count differently",
            largest([abs(found.missing) for found in every]),
            0,
            unit="orders",
            note=f"in {len(every)} turns of 1 to {many} hosts",
        ),
        at_most(
            f"Start of the windows of {many} hosts, from the first to the last",
            largest([found.spread_s for found in crowd]),
            AIM_START_S,
            unit="s",
            note="processes of this machine, whose clock is the reference; they share its cores",
        ),
        at_most(
            f"CPU of the controller for each of {many} hosts, under load",
            alone([found.cpu_per_host for found in crowd]) if len(crowd) > 1 else largest([0.0]),
            AIM_HOST,
            unit="core",
        ),
        _merge(many),
    ]


def _against(hosts: int, ours: Sequence[Done], one: Sequence[Done]) -> Ratio:
    """NOPM over several hosts against one; P99.9 beside it."""

    def nopm(some: Sequence[Done]) -> list[float]:
        return [found.tally.nopm for found in some]

    def tail(some: Sequence[Done]) -> float:
        return max(one.tally.latency.p999_s for one in some if one.tally.latency)

    return told(
        f"NOPM over {hosts} load hosts over one",
        turns(nopm(ours), nopm(one)),
        note="the same users, in turn; all hosts share this machine's cores",
        p999_s=tail(ours),
        p999_of_one_s=tail(one),
    )


@contextlib.contextmanager
def _hosts(number: int) -> Iterator[LoadHosts]:
    planned = [LoadHost(here=True, name=f"host{n}") for n in range(number)]
    with LoadHosts({one.called: Way(partial(connect, one)) for one in planned}) as hosts:
        yield hosts


def _spec(users: int, warehouses: int) -> GeneratorSpec:
    order = Order(configuration="bench", phase="search", users=users)
    return generator_spec(Workload(warehouses=warehouses), SEED, order)


def _turn(server: Loaded, watched: PostgresServer, *, hosts: int, users: int, seconds: int) -> Done:
    before = watched.sum_next_order_ids()
    with _hosts(hosts) as connected:
        spec = _spec(users, server.workload.warehouses)
        load = connected.load(spec, wire_address(server.address), 0)
        load.ready()
        with running_load(load) as running:
            running.tick()
            running.mark("window")
            used_s, began_s = time.process_time(), time.monotonic()
            for _ in range(seconds):
                running.tick()
            used_s, passed_s = time.process_time() - used_s, time.monotonic() - began_s
            running.mark("cool_down")
            tally = running.stop()
    orders = watched.sum_next_order_ids() - before
    missing = orders - tally.transactions["new_order"].whole.committed
    opened = [host.opened_at for host in tally.hosts]
    return Done(tally, max(opened) - min(opened), used_s / passed_s / hosts, missing)


def _merge(reports: int) -> Ratio:
    """The time that adding so many reports takes, of a load with a full histogram."""
    one = _a_report()
    took = []
    for _ in range(7):
        began_s = time.perf_counter()
        merged_report([one] * reports)
        took.append(time.perf_counter() - began_s)
    return told(f"Merge of {reports} hosts' reports", alone(took), unit="s")


def _a_report() -> dict[str, Any]:
    """The report of a load on the simulated engine, as a host would send it."""
    plan = preset("simulated")
    configuration = configurations(plan)[0]
    with engine_of(Study(plan).databases, Journal()).restored(configuration, unwatched) as server:
        generator = server.load_generator(_spec(32, plan.workload.warehouses))
        generator.ready()
        generator.go()
        generator.mark("window")
        for _ in range(30):
            generator.tick()
        generator.mark("cool_down")
        return {**generator.stop()}
