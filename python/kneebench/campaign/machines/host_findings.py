"""What is known of the other machines of a plan before a run: `kneebench hosts check`."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench.analysis.wording import plural
from kneebench.campaign.machines.opening import machine_of
from kneebench.campaign.machines.other_machine import OtherMachine
from kneebench.errors import KneebenchError
from kneebench.hosts.bandwidth import measured
from kneebench.hosts.check import (
    Destination,
    bandwidth_finding,
    host_findings,
    its_clock,
    what_it_is,
)
from kneebench.hosts.load_hosts import ways_to
from kneebench.plan.study import Study
from kneebench.records import Finding

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
        with machine_of(study) as machine:
            assert isinstance(machine, OtherMachine)
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
