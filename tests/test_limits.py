"""Limits that a server, role or database puts on sessions: lifted for ours, and named where they
are too short for that.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import psycopg
import pytest

from kneebench._core import GeneratorSpec
from kneebench.core_errors import ConnectError
from kneebench.databases.engines.postgres.address import connect, parameters
from kneebench.databases.engines.postgres.error_hints import error_hint
from kneebench.databases.engines.postgres.server import PostgresServer
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.errors import PlanError
from kneebench.records import Tally
from tests.loaded import BUILDS, Servers

ORDER: dict[str, Any] = {
    "users": 2,
    "first_user": 0,
    "warehouses": 1,
    "profile": "spec",
    "home": "all",
    "think_times": False,
    "retries": 1,
    "seed": 1,
    "stream": 1,
    "rate_per_s": None,
    "drain_s": 1.0,
    "workers": 1,
    "cores": [],
}


@pytest.fixture(scope="module", params=BUILDS)
def address(request: pytest.FixtureRequest, servers: Servers) -> PostgresAddress:
    """A loaded database whose every limit is a second."""
    address = servers(request.param).loaded()
    with psycopg.connect(**parameters(address), autocommit=True) as session:
        names = [
            name
            for (name,) in session.execute(
                "SELECT name FROM pg_settings WHERE name ~"
                " '^(statement|lock|idle.*session|transaction)_timeout$'"
            )
        ]
        assert {"statement_timeout", "lock_timeout", "idle_session_timeout"} < set(names)
        limit(session, address, names, "1s")
    return address


def limit(
    session: psycopg.Connection[Any], address: PostgresAddress, names: Sequence[str], longest: str
) -> None:
    role = f"ALTER ROLE {address.user} IN DATABASE {address.database}"
    for name in names:
        session.execute(f"{role} SET {name} = '{longest}'".encode())


def test_no_limit_ends_a_session_of_ours(address: PostgresAddress) -> None:
    with connect(address) as session:
        session.execute("SELECT pg_sleep(1.3)")
        time.sleep(1.3)
        session.execute("BEGIN")
        time.sleep(1.3)
        session.execute("COMMIT")


def test_no_limit_ends_what_the_users_wait_for(address: PostgresAddress) -> None:
    server = PostgresServer(address, 1, 0.0)
    generator = server.load_generator(GeneratorSpec(**ORDER))
    generator.ready()
    with connect(address) as other:
        other.execute("BEGIN")
        other.execute("UPDATE public.warehouse SET w_name = w_name")
        generator.go()
        for _ in range(2):
            generator.tick()
        other.execute("ROLLBACK")
    generator.tick()
    tally = Tally.model_validate(generator.stop())
    server.close()
    assert tally.whole.committed > 0
    assert tally.errors == ()


def test_a_limit_of_a_millisecond_does_not_end_what_lifts_it(servers: Servers) -> None:
    address = servers(None).loaded()
    with psycopg.connect(**parameters(address), autocommit=True) as session:
        limit(session, address, ["statement_timeout"], "1ms")
    refused = sum(_is_refused(address) for _ in range(20))
    assert refused < 10, "a busy machine may pause a few for a millisecond, but not most"


def _is_refused(address: PostgresAddress) -> bool:
    try:
        connect(address).close()
        PostgresServer(address, 1, 0.0).load_generator(GeneratorSpec(**ORDER)).ready()
    except (PlanError, ConnectError):
        return True
    return False


def test_a_limit_that_ended_a_statement_is_named() -> None:
    for state, name in (
        ("57014", "statement_timeout"),
        ("55P03", "lock_timeout"),
        ("25P04", "transaction_timeout"),
    ):
        assert error_hint(state, "canceling statement", None).startswith(f"remove {name}")
