"""The plan's table `[hosts]`: the machines that take part besides this one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Annotated, Self

from pydantic import Field, model_validator

from kneebench.engine_properties import engine_properties
from kneebench.plan.database import Database
from kneebench.plan.storage import Storage
from kneebench.plan.values import Name, Part, Sentence, Switch, wrong

MOST_HOSTS = 64
_OPTION = "an ssh destination such as bench@load1, which does not begin with -"


_Ssh = Annotated[
    Name,
    Field(description="Its ssh destination, such as `bench@load1`; ssh's own files apply"),
]
_HostName = Annotated[Name, Field(description="Its name in results; empty: the destination's")]
_Python = Annotated[Sentence, Field(description="Its Python, 3.11 or later, by name or path")]


def _check_ssh(ssh: str) -> None:
    if ssh.startswith("-") or ssh != ssh.strip():
        raise wrong("ssh", sentence=_OPTION)


class DatabaseHost(Part):
    """The machine that the databases run on. Without `ssh`: this one, and `address` is where users
    on other machines reach it.
    """

    ssh: _Ssh = ""
    address: Annotated[
        Name,
        Field(
            description="Its IP address on the network that the users take; a server that kneebench"
            " starts listens there, for the hosts of the plan only"
        ),
    ] = ""
    port: Annotated[
        int,
        Field(
            ge=0,
            le=65_000,
            description="Port of such a server; of those side by side the next ones. 0: a free one",
        ),
    ] = 0
    tls: Annotated[
        Switch,
        Field(description="Encrypt what users send to such a server, where its build can"),
    ] = True
    name: _HostName = ""
    python: _Python = "python3"

    @model_validator(mode="after")
    def _is_one_place(self) -> Self:
        _check_ssh(self.ssh)
        if self.address and not _is_address(self.address):
            raise wrong("address", sentence="an IP address of the database host")
        return self

    @property
    def called(self) -> str:
        """Its name in results."""
        return self.name or self.ssh.rpartition("@")[2] or "here"


def _is_address(text: str) -> bool:
    try:
        return not ip_address(text).is_unspecified
    except ValueError:
        return False


class LoadHost(Part):
    """A machine that users run on. `ssh` or `here`, one of both."""

    ssh: _Ssh = ""
    here: Annotated[Switch, Field(description="This machine itself")] = False
    name: _HostName = ""
    python: _Python = "python3"
    share: Annotated[
        float,
        Field(
            ge=0,
            le=1e6,
            allow_inf_nan=False,
            description="Its part of the users, relative to the others'; 0: as many as its cores",
        ),
    ] = 0.0

    @model_validator(mode="after")
    def _is_one_machine(self) -> Self:
        if bool(self.ssh) == self.here:
            raise wrong("ssh", sentence="ssh with a destination, or here = true")
        _check_ssh(self.ssh)
        return self

    @property
    def called(self) -> str:
        """Its name in results."""
        return self.name or self.ssh.rpartition("@")[2] or "here"


class RayHosts(Part):
    """Machines that users run on, as nodes of a Ray cluster that is there (`kneebench[ray]`)."""

    ray: Annotated[
        Name, Field(description='Address of the cluster, such as `10.0.0.1:6379`, or "auto"')
    ]
    hosts: Annotated[
        int, Field(ge=0, le=MOST_HOSTS, description="How many of its nodes; 0: all")
    ] = 0
    without: Annotated[
        tuple[Name, ...],
        Field(max_length=MOST_HOSTS, description="Addresses of nodes to leave out"),
    ] = ()


class Hosts(Part):
    """The machines that take part besides this one."""

    database: Annotated[
        DatabaseHost, Field(description="The machine that the databases run on")
    ] = DatabaseHost()
    load: Annotated[
        Annotated[tuple[LoadHost, ...], Field(max_length=MOST_HOSTS)] | RayHosts,
        Field(description="Machines that the users run on; none: this one, as a part of the run"),
    ] = ()

    @property
    def apart(self) -> bool:
        """Whether users and database may be on different machines."""
        return bool(self.load or self.database.ssh)

    def check(self, storages: Mapping[str, Storage], databases: Iterable[Database]) -> None:
        """Raise the rule's error where load hosts share a name, or users cannot reach one of these
        databases that kneebench starts.
        """
        names = [] if isinstance(self.load, RayHosts) else [one.called for one in self.load]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise wrong("hosts", "load", sentence=f"names that differ: {twice} is there twice")
        if self.database.address and not self.apart:
            sentence = "an address needs users elsewhere: name hosts.load or hosts.database.ssh"
            raise wrong("hosts", "database", sentence=sentence)
        for one in databases if self.apart else ():
            self._check_reached(one, all(one.urls(storages).values()))

    def _check_reached(self, database: Database, by_url: bool) -> None:
        """A server by URL is reached there; one that kneebench starts at the host's address."""
        if not database.users_elsewhere:
            sentence = f"no users elsewhere with engine {database.engine}: its driver is here"
            raise wrong("hosts", sentence=sentence)
        if by_url:
            return
        listens = engine_properties(database.engine).listens
        if listens == "never":
            sentence = f"a server of engine {database.engine} is reached by database.url only"
            raise wrong("hosts", sentence=sentence)
        if listens == "for users with TLS" and not self.database.tls:
            sentence = f"true with engine {database.engine}, whose users log in by TLS"
            raise wrong("hosts", "database", "tls", sentence=sentence)
        if not self.database.address:
            sentence = "users elsewhere need hosts.database.address, or a server by database.url"
            raise wrong("hosts", "database", sentence=sentence)
