"""Where a server that we start listens for users on other machines, and for whom.

It always has its own socket for kneebench; this address is added for the users alone, who log in as
a role of their own with a password that is made for one restore and kept nowhere.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import SecretStr

from kneebench.databases.engine import checked_by
from kneebench.databases.managed.account import Account
from kneebench.errors import KneebenchError
from kneebench.hosts.bandwidth import family_of
from kneebench.lab.folder import Folder
from kneebench.lab.programs import environment, found
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.hosts import DatabaseHost
from kneebench.records import Finding

# Certificates for a server that listens for users on other machines: an authority that is made for
# one restore and signs one certificate. Its own certificate travels to the users' hosts by ssh.

PROGRAM = "openssl"
LIBRARY = b"libssl.so"
"""A server that is linked with it can encrypt; one with a library of its own is taken not to."""
NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
DAYS = ("-days", "30")


class Certificate(NamedTuple):
    """The files of a server, and its authority's certificate (PEM)."""

    certificate: Path
    key: Path
    authority: str


def can_encrypt(server: Path) -> bool:
    """Whether a server's binary is built with TLS, and certificates can be made here."""
    return found(PROGRAM) is not None and LIBRARY in server.read_bytes()


def make_certificate(address: str, folder: Path, account: Account | None) -> Certificate:
    """A new certificate for an IP address in a folder of ours; the key is the account's."""
    authority, request = folder / "authority.pem", folder / "listening.csr"
    made = Certificate(folder / "listening.pem", folder / "listening.key", "")
    names = folder / "names"
    names.write_text(f"subjectAltName=IP:{address}\n")
    secret = folder / "authority.key"
    signed = ("-CA", authority, "-CAkey", secret, "-CAcreateserial", "-extfile", names)
    own = ("-subj", "/CN=kneebench", "-keyout", secret, "-out", authority)
    _run("req", "-x509", *NEW_KEY, *DAYS, *own)
    _run("req", *NEW_KEY, "-subj", f"/CN={address}", "-keyout", made.key, "-out", request)
    _run("x509", "-req", "-in", request, *signed, *DAYS, "-out", made.certificate)
    secret.unlink()
    with Folder.at(folder) as place:
        place.set_mode(made.certificate.name, 0o644)
        place.set_mode(made.key.name, 0o600)
    if account:
        with made.key.open("rb") as key:
            account.owns(key.fileno())
    return made._replace(authority=authority.read_text())


def _run(*words: str | Path) -> None:
    command = [PROGRAM, *map(str, words)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment(), cwd="/"
    )
    if done.returncode:
        seen = " ".join(done.stderr.split())[-300:]
        do = f"see why {PROGRAM} fails, or set hosts.database.tls = false"
        raise KneebenchError("cannot make a certificate", seen=seen, do=do)


USERS = "kneebench_users"
"""The role of users on other machines: it may use the workload's tables, and nothing else."""
MOST_AT_ONCE = 64
"""Servers side by side, each with a port of its own."""
KEY = "hosts.database.address"


class Listening(NamedTuple):
    """An address with a free port, the addresses that users may come from, and their password.
    `certificate`: of a server that encrypts.
    """

    address: str
    port: int
    admitted: tuple[str, ...]
    password: str
    certificate: Certificate | None = None

    @property
    def log_in(self) -> dict[str, object]:
        """The part of an address by which users come here, and check whom they reached."""
        return {
            "host": self.address,
            "port": self.port,
            "user": USERS,
            "password": SecretStr(self.password),
            **checked_by(self.certificate.authority if self.certificate else ""),
        }


class ListensForUsers:
    """The part of an engine that lets users on other machines in."""

    plan: DatabasePlan
    _admitted: tuple[str, ...] = ()

    def admit(self, addresses: Sequence[str]) -> None:
        """Let users connect from these addresses to every server that is restored from now on."""
        self._admitted = tuple(addresses)

    def listening(self, server: Path, runtime: Path, account: Account | None) -> Listening | None:
        """Where the next server listens, of this binary; None where all users are on this machine.
        Raises KneebenchError where no port is free.
        """
        host = self.plan.hosts.database
        if not host.address:
            return None
        password = secrets.token_urlsafe(24)
        port = free_port(host.address, host.port)
        found = Listening(host.address, port, self._admitted, password)
        if not (host.tls and can_encrypt(server)):
            return found
        return found._replace(certificate=make_certificate(host.address, runtime, account))


def free_port(address: str, first: int = 0) -> int:
    """A port at an address that nothing listens on: the first one or one of the next; 0: any.
    Raises KneebenchError without one.
    """
    last = first + MOST_AT_ONCE - 1 if first else 0
    failed = ""
    for port in range(first, last + 1):
        try:
            with socket.create_server((address, port), family=family_of(address)) as made:
                return int(made.getsockname()[1])
        except OSError as error:
            failed = os.strerror(error.errno or 0)
    ports = f"ports {first} to {last}" if first else "any port"
    raise KneebenchError(
        "cannot listen for users on other machines",
        seen=f"{address}, {ports}: {failed}",
        do=f"correct {KEY}, or end what listens there",
    )


def listening_findings(host: DatabaseHost, server: Path) -> Iterator[Finding]:
    """Whether a server of this binary can listen at the plan's address; none where it need not."""
    if not host.address:
        return
    try:
        port = free_port(host.address, host.port)
    except KneebenchError as error:
        yield Finding(level="error", subject=KEY, seen=error.seen, do=error.do)
        return
    at = f"port {port}" if host.port else "a free port"
    listens = f"servers listen at {host.address}, {at}, for the plan's hosts only"
    if host.tls and can_encrypt(server):
        yield Finding(level="ok", subject=KEY, seen=f"{listens}, encrypted (TLS)")
        return
    why = "this build has no TLS, or openssl is missing" if host.tls else "tls = false"
    seen = f"{listens}; what users send is not encrypted, except for passwords ({why})"
    yield Finding(level="ok", subject=KEY, seen=seen)
