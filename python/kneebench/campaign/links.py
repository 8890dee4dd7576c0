"""The network between the database host and the users, looked at before the first rung."""

from __future__ import annotations

from kneebench.campaign.machines.machine import DatabaseMachine
from kneebench.errors import PlanError
from kneebench.hosts.bandwidth import measured
from kneebench.hosts.load_hosts import LoadHosts
from kneebench.plan.hosts import DatabaseHost
from kneebench.records import Link

HERE = "this machine"


def measured_link(
    host: DatabaseHost, machine: DatabaseMachine, load_hosts: LoadHosts | None
) -> Link | None:
    """What the users' hosts receive from the database host's address for a second; None where the
    plan names no such address. Raises PlanError where one of them has no way there.
    """
    if not host.address:
        return None
    with machine.sending(host.address, host.port) as port:
        if load_hosts:
            found = load_hosts.bandwidth(host.address, port)
        else:
            found = {HERE: _received(host.address, port)}
    interface, line_bytes_per_s = machine.interface(host.address)
    return Link(
        address=host.address,
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
