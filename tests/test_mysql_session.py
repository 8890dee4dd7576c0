"""Control sessions of MariaDB and MySQL: when they fall back to a connection without TLS, and what
limits of the server they lift.

The server that has no TLS is scripted from MySQL's documentation of its protocol (caching_sha2,
full authentication). **Not tried on MySQL 8.**
"""

# ruff: noqa: F811 (fixtures are imported, and arguments named after them)

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import SecretStr

from kneebench.databases.innodb.address import address_of
from kneebench.databases.innodb.server_address import InnodbAddress
from kneebench.databases.innodb.session import InnodbSession, connect
from kneebench.errors import PlanError
from tests.elsewhere import certify
from tests.mariadb_elsewhere import (  # noqa: F401
    PASSWORD,
    WITHOUT_MARIADB,
    MariadbElsewhere,
    mariadb_elsewhere,
    no_mysql_password_around,
)

SALT = b"12345678", b"123456789012\0"
CAPABILITIES = 0x81FFF7FF & ~0x800
"""All, but for TLS."""
FULL_AUTHENTICATION, PUBLIC_KEY = b"\x01\x04", b"\x01-----BEGIN PUBLIC KEY-----"


def greeting() -> bytes:
    low, high = CAPABILITIES & 0xFFFF, CAPABILITIES >> 16
    return b"".join(
        (
            *(b"\x0a8.0.36\0", (7).to_bytes(4, "little"), SALT[0], b"\0"),
            *(low.to_bytes(2, "little"), b"\x2d\x02\x00", high.to_bytes(2, "little")),
            *(b"\x15", bytes(10), SALT[1], b"caching_sha2_password\0"),
        )
    )


def packet(number: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "little") + bytes([number]) + payload


@contextlib.contextmanager
def mysql_without_tls() -> Iterator[tuple[int, list[bytes]]]:
    """Its port, and what it was sent after each greeting."""
    received: list[bytes] = []

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                one, _ = listening.accept()
                with one:
                    one.sendall(packet(0, greeting()))
                    received.append(one.recv(4096))
                    if received[-1]:
                        one.sendall(packet(2, FULL_AUTHENTICATION))
                        one.recv(4096)
                        one.sendall(packet(4, PUBLIC_KEY))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1], received


def test_an_account_of_mysql_that_requires_tls_is_told_to_set_it() -> None:
    with mysql_without_tls() as (port, received):
        address = InnodbAddress(
            host="127.0.0.1", port=port, sslmode="prefer", password=SecretStr("secret")
        )
        with pytest.raises(PlanError, match="set sslmode=require"):
            connect(address)
    assert [bool(one) for one in received] == [False, True], "TLS was tried first"


@pytest.mark.mariadb
@WITHOUT_MARIADB
def test_a_refused_password_is_not_sent_again_without_tls(
    mariadb_elsewhere: MariadbElsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = "SHOW GLOBAL STATUS LIKE 'Aborted_connects'"
    [(_, before)] = mariadb_elsewhere.execute(refused)
    monkeypatch.setenv("MYSQL_PWD", "wrong")
    with pytest.raises(PlanError, match="Access denied"):
        connect(address_of(mariadb_elsewhere.url(sslmode="prefer", sslrootcert="")))
    [(_, after)] = mariadb_elsewhere.execute(refused)
    assert int(after) - int(before) == 1


@pytest.mark.mariadb
@WITHOUT_MARIADB
def test_a_password_may_have_letters_of_every_script(
    mariadb_elsewhere: MariadbElsewhere, monkeypatch: pytest.MonkeyPatch
) -> None:
    mariadb_elsewhere.execute("CREATE USER letters@'127.0.0.1' IDENTIFIED BY 'Zażółć €5'")
    monkeypatch.setenv("MYSQL_PWD", "Zażółć €5")
    with connect(address_of(mariadb_elsewhere.url(user="letters"))) as session:
        assert session.value("SELECT 1") == 1


@pytest.mark.mariadb
@WITHOUT_MARIADB
def test_a_root_certificate_is_verified_where_tls_is_required_and_a_root_is_named(
    mariadb_elsewhere: MariadbElsewhere, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MYSQL_PWD", PASSWORD)
    other, _, _ = certify(tmp_path)
    with pytest.raises(PlanError, match="certificate verify failed"):
        connect(address_of(mariadb_elsewhere.url(sslmode="require", sslrootcert=other)))
    connect(address_of(mariadb_elsewhere.url(sslmode="require", sslrootcert=""))).close()


@pytest.mark.mariadb
@WITHOUT_MARIADB
def test_limits_on_idle_sessions_and_on_statements_do_not_end_ours(
    mariadb_elsewhere: MariadbElsewhere,
) -> None:
    with (
        mariadb_elsewhere.with_setting("wait_timeout", "1"),
        mariadb_elsewhere.with_setting("max_statement_time", "0.2"),
        connect(mariadb_elsewhere.address) as session,
    ):
        time.sleep(1.5)
        assert session.value("SELECT SLEEP(0.5)") == 0


class Sent:
    """A connection to MySQL 8 that notes what it is sent."""

    def __init__(self) -> None:
        self.statements = list[str]()
        self._sock, self._server = socket.socketpair()

    def get_server_info(self) -> str:
        return "8.0.36"

    def cursor(self) -> Sent:
        return self

    def __enter__(self) -> Sent:
        return self

    def __exit__(self, *error: object) -> None: ...

    def mogrify(self, statement: str, values: object) -> str:
        return statement

    def execute(self, statement: str) -> None:
        self.statements.append(statement)

    def fetchall(self) -> list[tuple[object, ...]]:
        return []


def test_mysql_is_sent_its_own_name_for_the_limit_on_statements(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent = Sent()
    session = InnodbSession(cast(Any, sent))
    monkeypatch.setattr("kneebench.databases.innodb.session._open_session", lambda *given: session)
    connect(InnodbAddress(host="db"))
    assert sent.statements[-2:] == [
        "SET SESSION max_execution_time = 0",
        "SET SESSION information_schema_stats_expiry = 0",
    ]
