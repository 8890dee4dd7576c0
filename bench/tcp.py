"""A benchmark's server on loopback TCP, without TLS: what a packet trace can read. Its own users
come over a Unix socket that nobody else may enter; TCP asks for a password.
"""

from __future__ import annotations

import secrets
import time

from pydantic import SecretStr

from bench.servers import Loaded
from kneebench.databases.postgres.account import server_account
from kneebench.databases.postgres.address import connect
from kneebench.databases.postgres.cluster import ACCESS
from kneebench.databases.postgres.server_address import Address
from kneebench.errors import PlanError
from kneebench.lab.folder import Folder

HOST = "127.0.0.93"
"""A loopback address that no other server is likely to use."""
LISTENING = {"listen_addresses": HOST}
"""For the server's settings."""
LET_IN_S = 10.0
"""How long the server may take to read its rules again."""


def over_tcp(server: Loaded) -> Address:
    """The address over TCP of a server started with `LISTENING`, with a new password.

    Raises PlanError where it lets nobody in.
    """
    user, database = server.address.user, server.address.database
    password, account = secrets.token_hex(16), server_account()
    rule = f"host {database} {user} 127.0.0.0/8 scram-sha-256\n"
    with Folder.at(server.data) as data:
        data.put("pg_hba.conf", ACCESS + rule, account and account.owner)
    server.run(f"ALTER ROLE {user} PASSWORD '{password}'")
    server.run("SELECT pg_reload_conf()")
    changes = {"host": HOST, "password": SecretStr(password)}
    address = server.address.model_copy(update=changes)
    _await_entry(address)
    return address


def _await_entry(address: Address) -> None:
    last = time.monotonic() + LET_IN_S
    while True:
        try:
            connect(address).close()
        except PlanError:
            if time.monotonic() > last:
                raise
            time.sleep(0.1)
        else:
            return
