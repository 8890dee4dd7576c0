"""A PostgreSQL 15 that somebody else runs, with TLS and scram."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest

from kneebench.databases.engines.postgres.builds import find_build
from kneebench.databases.engines.postgres.engine import server_account
from kneebench.databases.engines.postgres.launcher import SOCKET, Launch, make_cluster, program
from kneebench.databases.managed.ownership import home
from kneebench.databases.managed.runtime import runtime_directory, socket_folder
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from tests.loaded import DEBIAN

PASSWORD = "correct:horse@battery"
ROLES = (
    f"CREATE ROLE tester LOGIN CREATEDB PASSWORD '{PASSWORD}'",
    "GRANT pg_monitor, pg_checkpoint TO tester",
    "GRANT SET ON PARAMETER log_min_messages TO PUBLIC",
    f"CREATE ROLE poor LOGIN PASSWORD '{PASSWORD}'",
)
CONFIGURATION = """\
ssl = on
listen_addresses = 'localhost'
track_wal_io_timing = on
max_wal_size = 4GB
"""
ACCESS = """\
local all kneebench trust
hostssl all all 127.0.0.1/32 scram-sha-256
hostssl all all ::1/128 scram-sha-256
"""


class Elsewhere(NamedTuple):
    """A server that somebody else runs."""

    port: int
    root: Path
    superuser: str
    journal: Journal

    def url(self, database: str = "postgres", *, user: str = "tester", **parameters: object) -> str:
        given = {"sslmode": "verify-full", "sslrootcert": self.root, **parameters}
        return f"postgresql://{user}@localhost:{self.port}/{database}?" + "&".join(
            f"{key}={value}" for key, value in given.items() if value
        )

    def plan(self, url: str, **database: Any) -> Plan:
        given = {
            "database": {"url": url, **database},
            "workload": {"warehouses": 1},
            "ladder": {"users": (1, 64)},
            "storages": {"there": {}},
        }
        return Plan.model_validate(given)

    def execute(self, *statements: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        with psycopg.connect(f"{self.superuser} dbname={database}", autocommit=True) as connection:
            cursors = [connection.execute(statement.encode()) for statement in statements]
            return cursors[-1].fetchall() if cursors[-1].description else []


def certify(folder: Path) -> tuple[Path, Path, Path]:
    """(root certificate, server's certificate for localhost signed by it, its key)."""
    root, root_key, request, certificate, key, names = (
        folder / name
        for name in ("root.crt", "root.key", "server.csr", "server.crt", "server.key", "names")
    )
    names.write_text("subjectAltName = DNS:localhost\n")
    new = ["req", "-newkey", "rsa:2048", "-nodes"]
    valid, kept = ["-days", "2"], ["-keyout", root_key, "-out", root]
    signed = ["-CA", root, "-CAkey", root_key, "-CAcreateserial", "-extfile", names]
    for command in (
        [*new, "-x509", *valid, "-subj", "/CN=root of the tests", *kept],
        [*new, "-subj", "/CN=localhost", "-keyout", key, "-out", request],
        ["x509", "-req", "-in", request, *signed, *valid, "-out", certificate],
    ):
        subprocess.run(["openssl", *map(str, command)], check=True, capture_output=True)
    return root, certificate, key


def configure(data: Path, certificate: Path, key: Path) -> None:
    for file in (certificate, key):
        (data / file.name).write_bytes(file.read_bytes())
        (data / file.name).chmod(0o600)
    (data / "pg_hba.conf").write_text(ACCESS)
    (data / "postgresql.conf").write_text(CONFIGURATION)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Elsewhere]:
    """The server, on a port of its own, with a role that may do what is needed and nothing more."""
    folder = tmp_path_factory.mktemp("elsewhere")
    journal, account = Journal(folder / "journal"), server_account()
    root, certificate, key = certify(folder)
    with runtime_directory(journal, account, SOCKET) as runtime, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        data = home(runtime, "data", account)
        launch = Launch(find_build(DEBIAN), account, runtime)
        make_cluster(launch, data, [])
        configure(data, certificate, key)
        for path in (data, *data.rglob("*")):
            if account:
                os.chown(path, *account.owner)
        command, more = launch.command(
            program(launch, "postgres"),
            "-D",
            data,
            "-k",
            socket_folder(runtime),
            "-p",
            str(port),
            reach=(),
        )
        with (runtime / "log").open("w") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, **more)
        try:
            there = Elsewhere(
                port, root, f"host={socket_folder(runtime)} port={port} user=kneebench", journal
            )
            await_answer(there)
            there.execute(*ROLES)
            yield there
            assert process.poll() is None, "the server of another was stopped"
        finally:
            process.terminate()
            process.wait(30)


def await_answer(there: Elsewhere) -> None:
    until = time.monotonic() + 30
    while True:
        try:
            there.execute("SELECT 1")
            return
        except psycopg.OperationalError:
            assert time.monotonic() < until
            time.sleep(0.05)


@pytest.fixture(autouse=True)
def no_password_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))


def databases(there: Elsewhere) -> set[str]:
    return {
        name for (name,) in there.execute("SELECT datname FROM pg_database WHERE NOT datistemplate")
    }
