"""A real PostgreSQL 15 whose five functions are stand-ins: for tests of the load generator
alone. Its payments take 2 ms, so that a few users leave the machine time for other tests.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any

from kneebench._core import Address, GeneratorSpec, LoadGenerator

BIN = Path("/usr/lib/postgresql/15/bin")

FUNCTIONS = """
DROP SCHEMA IF EXISTS kneebench CASCADE;
CREATE SCHEMA kneebench;
CREATE TABLE kneebench.orders (w int4);
CREATE SEQUENCE kneebench.tries;
CREATE FUNCTION kneebench.new_order(
    w int4, d int4, c int4, items int4[], suppliers int4[], quantities int4[])
    RETURNS numeric LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO kneebench.orders VALUES (w);
    IF 100001 = ANY (items) THEN RAISE EXCEPTION 'no such item' USING ERRCODE = 'KB001'; END IF;
    RETURN 1.5;
END $$;
CREATE FUNCTION kneebench.payment(
    w int4, d int4, c_w int4, c_d int4, c int4, c_last text, amount_cents int4)
    RETURNS int4 LANGUAGE sql AS 'SELECT c FROM pg_sleep(0.002)';
CREATE FUNCTION kneebench.order_status(w int4, d int4, c int4, c_last text)
    RETURNS TABLE (line int4, what text) LANGUAGE sql
    AS $$SELECT n, 'line ' || n FROM generate_series(1, 12) n$$;
CREATE FUNCTION kneebench.delivery(w int4, carrier int4)
    RETURNS int4 LANGUAGE sql AS 'SELECT 10';
CREATE FUNCTION kneebench.stock_level(w int4, d int4, threshold int4)
    RETURNS int4 LANGUAGE sql AS 'SELECT threshold';
"""


GENERATOR = """
import json, sys
from kneebench._core import Address, GeneratorSpec, LoadGenerator
values = json.loads(sys.argv[1])
address = Address(protocol="postgres", **values.pop("address"))
generator = LoadGenerator(GeneratorSpec(**values), address)
generator.ready()
generator.go()
"""
"""How a script in a process of its own starts a load generator; its argument is `Postgres.values`
as JSON."""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Postgres:
    """A PostgreSQL 15 in a directory of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.data = folder, folder / "data"
        self.account: dict[str, Any] = (
            {"user": "postgres", "group": "postgres", "extra_groups": []}
            if os.getuid() == 0
            else {}
        )
        if self.account:
            shutil.chown(folder, "postgres", "postgres")
        self.run(
            "initdb",
            "-D",
            self.data,
            "-U",
            "kneebench",
            "-A",
            "scram-sha-256",
            "--pwfile",
            self.password_file(),
        )
        self.start()
        self.sql(FUNCTIONS)

    def password_file(self) -> Path:
        file = self.folder / "password"
        file.write_text("secret-word\n")
        file.chmod(0o644)
        return file

    def run(self, program: str, *arguments: object) -> str:
        done = subprocess.run(
            [BIN / program, *map(str, arguments)],
            capture_output=True,
            text=True,
            env={"PGPASSWORD": "secret-word"},
            cwd=self.folder,
            **self.account,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start(self, more: str = "") -> None:
        options = (
            f"-c listen_addresses='' -c unix_socket_directories={self.folder} -c fsync=off -c"
            f" max_connections=200 -c shared_buffers=64MB {more}"
        )
        self.run("pg_ctl", "-D", self.data, "-l", self.folder / "log", "-o", options, "-w", "start")

    def stop(self) -> None:
        subprocess.run(
            [BIN / "pg_ctl", "-D", self.data, "-m", "immediate", "stop"],
            capture_output=True,
            **self.account,
        )

    def sql(self, text: str, port: int = 5432) -> str:
        where = ("-h", self.folder, "-p", port, "-U", "kneebench", "-d", "postgres")
        return self.run(
            "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", *where, "-c", text
        ).strip()

    def postmaster(self) -> int:
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def values(self, **changes: Any) -> dict[str, Any]:
        address = {
            "host": str(self.folder),
            "port": 5432,
            "user": "kneebench",
            "password": "secret-word",
            "database": "postgres",
            "sslmode": "disable",
            "sslrootcert": "",
        }
        values = {
            "users": 4,
            "first_user": 0,
            "warehouses": 10,
            "profile": "spec",
            "home": "all",
            "think_times": False,
            "retries": 10,
            "seed": 9300,
            "stream": 1,
            "rate_per_s": None,
            "drain_s": 10.0,
            "workers": 2,
            "cores": [],
            "address": address,
        }
        return values | changes

    def load_generator(self, **changes: Any) -> LoadGenerator:
        values = self.values(**changes)
        address = Address(protocol="postgres", **values.pop("address"))
        return LoadGenerator(GeneratorSpec(**values), address)
