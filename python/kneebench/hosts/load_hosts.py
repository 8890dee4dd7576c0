"""The load hosts of a campaign: connected before the first rung, and again where one was lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from kneebench._core import GeneratorSpec
from kneebench.errors import PlanError
from kneebench.hosts.connection import Connection, HostLine, HostLost, by_ssh, here
from kneebench.hosts.load_agent import is_pem
from kneebench.hosts.package import NOTHING, load_package
from kneebench.hosts.ray_cluster import RayConnection, cluster
from kneebench.hosts.spread_load import SpreadLoad
from kneebench.plan.hosts import LoadHost, RayHosts

PROGRAM = "kneebench.hosts.load_agent"
STOPPED_S = 30.0
"""For the last responses on the hosts that are left."""
MEASURED_S = 30.0
"""For a bandwidth to be measured."""
AWAY_S, TRY_S = 30.0, 3.0
"""So long a lost host is waited for, and so long from one try to the next."""


class Way(NamedTuple):
    """How a load host is connected, and its part of the users (0: as many as its cores)."""

    connect: Callable[[], HostLine]
    share: float = 0.0


class LoadHosts:
    """Connections to all load hosts. To be used with `with`."""

    def __init__(self, ways: Mapping[str, Way]) -> None:
        """Connect. Raises PlanError for the first host that cannot be reached or used."""
        self._ways = ways
        self._connected: dict[str, HostLine] = {}
        with ThreadPoolExecutor(len(ways)) as at_once, ExitStack() as stack:
            begun = {name: at_once.submit(way.connect) for name, way in ways.items()}
            failed = [error for one in begun.values() if (error := one.exception())]
            for name, one in begun.items():
                if not one.exception():
                    self._connected[name] = stack.enter_context(one.result())
            for error in failed[:1]:
                raise error
            stack.pop_all()

    def load(self, spec: GeneratorSpec, address: Mapping[str, Any], threads: int) -> SpreadLoad:
        """A load on all hosts; `address`: of the database, as they reach it; `threads` of each, 0
        for as many as its cores.
        """
        hosts = {
            name: (host, self._ways[name].share or float(host.facts["cores"]))
            for name, host in self._connected.items()
        }
        given = dict(address)
        file = given.get("sslrootcert", "")
        certificates = file if is_pem(file) or not file else Path(file).read_text(encoding="utf-8")
        return SpreadLoad(hosts, spec, {**given, "sslrootcert": ""}, certificates, threads)

    def addresses(self, to: str) -> tuple[str, ...]:
        """The hosts' own addresses on the way to a database host's. Raises PlanError where one has
        no way there.
        """
        found = dict[str, str]()
        for name, host in self._connected.items():
            answer = host.ask("source", address=to)
            if words := answer.get("failed"):
                do = "correct hosts.database.address, or that host's network"
                raise PlanError(f"cannot reach {to} from host {name}", seen=words, do=do)
            found[name] = answer["address"]
        return tuple(dict.fromkeys(found.values()))

    def bandwidth(self, to: str, port: int) -> dict[str, dict[str, float]]:
        """What each host receives from where the database host sends bytes, all at once
        (hosts/bandwidth.py). Raises PlanError where one has no way there.
        """
        order = {"host": to, "port": port}
        begun = {name: host.begin("bandwidth", **order) for name, host in self._connected.items()}
        found = {
            name: self._connected[name].result(number, MEASURED_S) for name, number in begun.items()
        }
        for name, answer in found.items():
            if words := answer.get("failed"):
                do = f"let this host reach the ports of hosts.database (tried: {port})"
                raise PlanError(f"cannot reach {to} from host {name}", seen=words, do=do)
        return found

    def connect_again(self, lost: HostLost) -> None:
        """Wait for a lost host to be back, and for the others to have stopped. Raises it where it
        stays away.
        """
        self._connected[lost.name].close()
        for name, host in self._connected.items():
            if name != lost.name:
                host.ask("probe", STOPPED_S)
        until = time.monotonic() + AWAY_S
        while True:
            try:
                self._connected[lost.name] = self._ways[lost.name].connect()
                return
            except PlanError as error:
                if time.monotonic() + TRY_S > until:
                    raise HostLost(lost.name, f"{lost.seen}; then {error.seen}") from error
            time.sleep(TRY_S)

    def close(self) -> None:
        for host in self._connected.values():
            host.close()

    def __enter__(self) -> LoadHosts:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@contextmanager
def connected(planned: Sequence[LoadHost] | RayHosts) -> Iterator[LoadHosts | None]:
    """The load hosts of a plan; None where it has none."""
    if not planned:
        yield None
        return
    with ways_to(planned) as ways, LoadHosts(ways) as hosts:
        yield hosts


@contextmanager
def ways_to(planned: Sequence[LoadHost] | RayHosts) -> Iterator[dict[str, Way]]:
    """The ways to the load hosts of a plan, by name, until the end of the block. Raises PlanError
    for a Ray cluster that cannot be used.
    """
    if isinstance(planned, RayHosts):
        with cluster(planned) as nodes:
            yield {name: Way(partial(RayConnection, name, node)) for name, node in nodes.items()}
    else:
        yield {one.called: Way(partial(connect, one), one.share) for one in planned}


def connect(one: LoadHost) -> Connection:
    """A connection to one load host. Raises PlanError for one that cannot be reached or used."""
    command = here() if one.here else by_ssh(one.ssh, one.python)
    package = NOTHING if one.here else load_package()
    return Connection(one.called, command, PROGRAM, package)
