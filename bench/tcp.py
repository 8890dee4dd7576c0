"""A benchmark's server on loopback TCP, where a packet trace sees it. Over its Unix socket no
password is needed, because nobody else may enter the socket's directory; TCP asks for one.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from pydantic import SecretStr

from bench.servers import Loaded
from kneebench.databases.engines.postgres.address import connect
from kneebench.databases.engines.postgres.engine import server_account
from kneebench.databases.engines.postgres.launcher import ACCESS
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.errors import PlanError
from kneebench.lab.folder import Folder

PID = os.getpid()
HOST = f"127.{93 + (PID >> 16)}.{PID >> 8 & 255}.{PID & 255}"
"""A loopback address for this process alone: each server of a benchmark has the same port."""
LISTENING = {"listen_addresses": HOST}
"""For the server's settings."""
LET_IN_S = 10.0
"""How long the server may take to read its rules again."""
CERTIFY = (
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    " -subj /CN=kneebench -keyout server.key -out server.crt"
)


def over_tcp(server: Loaded) -> PostgresAddress:
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


def over_tls(server: Loaded, address: PostgresAddress) -> PostgresAddress | None:
    """The same address with TLS, which the server then takes as well; None where the build or this
    machine has no OpenSSL.
    """
    with connect(server.address) as session:
        library = session.execute("SELECT current_setting('ssl_library')").fetchone()
    if library == ("",) or not shutil.which("openssl"):
        return None
    account = server_account()
    with tempfile.TemporaryDirectory() as made, Folder.at(server.data) as data:
        subprocess.run(CERTIFY.split(), cwd=made, check=True, capture_output=True)
        for name in ("server.key", "server.crt"):
            data.put(name, Path(made, name).read_text(), account and account.owner)
    server.run("ALTER SYSTEM SET ssl = on")
    server.run("SELECT pg_reload_conf()")
    encrypted = address.model_copy(update={"sslmode": "require"})
    _await_entry(encrypted)
    return encrypted


def _await_entry(address: PostgresAddress) -> None:
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
