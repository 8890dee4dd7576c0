"""The machine of a plan's databases, and where its users are, until they are no longer needed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import NamedTuple, cast

from kneebench.analysis.wording import plural
from kneebench.campaign.machines.machine import DatabaseMachine
from kneebench.campaign.machines.other_machine import OtherMachine, database_host
from kneebench.databases.engine import AdmitsUsers, Engine
from kneebench.errors import KneebenchError, PlanError
from kneebench.hosts.bandwidth import measured
from kneebench.hosts.check import (
    Destination,
    bandwidth_finding,
    host_findings,
    its_clock,
    what_it_is,
)
from kneebench.hosts.load_agent import source_address
from kneebench.hosts.load_hosts import LoadHosts, connected, ways_to
from kneebench.plan.hosts import DatabaseHost, Hosts
from kneebench.plan.study import Study
from kneebench.records import Finding, Link


@contextlib.contextmanager
def machine_of(study: Study) -> Iterator[DatabaseMachine]:
    """This machine, or the plan's database host. Raises PlanError where that cannot be reached."""
    if not study.hosts.database.ssh:
        yield DatabaseMachine()
        return
    with database_host(study.hosts.database, _packages(study)) as machine:
        yield cast(DatabaseMachine, machine)


def _packages(study: Study) -> tuple[str, ...]:
    """What the plan's engines need there: Python packages, and the binaries of those that are
    started.
    """
    found = list[str]()
    for one in study.databases.values():
        started = not all(one.urls.values())
        found += [*one.engine.packages, one.database.bundle if started else ""]
    return tuple(dict.fromkeys(filter(None, found)))


# Where the users are, and the network between them and the database host, looked at before the
# first rung.

HERE = "this machine"


class Users(NamedTuple):
    """Where the users run (None: on this machine), and how they reach the database host."""

    database: DatabaseHost
    load_hosts: LoadHosts | None

    def let_into(self, engine: Engine) -> None:
        """Let them connect to the servers of an engine."""
        to = self.database.address
        if to and isinstance(engine, AdmitsUsers):
            engine.admit(self.load_hosts.addresses(to) if self.load_hosts else [source_address(to)])

    def link(self, machine: DatabaseMachine) -> Link | None:
        """What their hosts receive from the database host's address for a second; None where the
        plan names no such address. Raises PlanError where one of them has no way there.
        """
        to = self.database.address
        if not to:
            return None
        with machine.sending(to, self.database.port) as port:
            if self.load_hosts:
                found = self.load_hosts.bandwidth(to, port)
            else:
                found = {HERE: _received(to, port)}
        interface, line_bytes_per_s = machine.interface(to)
        return Link(
            address=to,
            interface=interface,
            line_bytes_per_s=line_bytes_per_s,
            measured={name: one["bytes_per_s"] for name, one in found.items()},
            connect_s=max(one["took_s"] for one in found.values()),
        )


def _received(address: str, port: int) -> dict[str, float]:
    try:
        return measured(address, port)
    except OSError as error:
        do = f"let this machine reach the ports of hosts.database (tried: {port})"
        raise PlanError(f"cannot reach {address}", seen=str(error), do=do) from error


@contextlib.contextmanager
def users_of(hosts: Hosts) -> Iterator[Users]:
    """Those of a plan, once every load host is connected."""
    with connected(hosts.load) as load_hosts:
        yield Users(hosts.database, load_hosts)


# What is known of the other machines of a plan before a run: `kneebench hosts check`.

NO_ROOT = "not root: volumes, kernel settings and limits of memory or I/O need that"


def other_machines(study: Study) -> Iterator[Finding]:
    """What the database host and each load host is, and the way between them. Each is written its
    files of kneebench, if they are not there, and nothing else.
    """
    subject = f"database host {study.hosts.database.called}"
    try:
        if not study.hosts.database.ssh:
            yield from planned_load_hosts(study)
            return
        with database_host(study.hosts.database, _packages(study)) as machine:
            yield what_it_is(machine.connection, subject)
            yield from its_clock(machine.connection, subject)
            yield from _rights_and_drives(machine, study, subject)
            measured_now = machine.others()
            yield from measured_now
            if not measured_now:  # the test of the network runs at full speed
                yield from _network(machine, study, subject)
    except KneebenchError as error:
        yield Finding(level="error", subject=subject, seen=error.seen, do=error.do)


def planned_load_hosts(study: Study) -> Iterator[Finding]:
    """What each load host is, and whether it reaches servers by URL; nothing is sent at full
    speed.
    """
    try:
        with ways_to(study.hosts.load) as ways:
            yield from host_findings(ways, study.servers)
    except KneebenchError as error:
        yield Finding(level="error", subject="load hosts", seen=error.seen, do=error.do)


def _rights_and_drives(machine: OtherMachine, study: Study, subject: str) -> Iterator[Finding]:
    if not machine.connection.facts["root"]:
        do = "log in as root, or leave them out of the plan"
        yield Finding(level="note", subject=subject, seen=NO_ROOT, do=do)
    if drives := machine.drives((), study.drives):
        names = ", ".join(drive.path for drive in drives)
        seen = f"{plural(len(drives), 'drive')} of the plan: {names}"
        yield Finding(level="ok", subject=subject, seen=seen)


def _network(machine: OtherMachine, study: Study, subject: str) -> Iterator[Finding]:
    """From the database host to the users, whichever machines they are on."""
    host, urls = study.hosts.database, study.servers
    if not host.address:
        with ways_to(study.hosts.load) as ways:
            yield from host_findings(ways, urls)
        return
    with machine.sending(host.address, host.port) as port, ways_to(study.hosts.load) as ways:
        sender = Destination(host.address, port)
        if ways:
            yield from host_findings(ways, urls, sender)
            return
        try:
            answer: dict[str, object] = {**measured(*sender)}
        except OSError as error:
            answer = {"failed": str(error)}
        yield bandwidth_finding(answer, "this machine", sender)
