"""Loading into real servers: what is in the tables, and what happens when it did not go
smoothly.
"""

from __future__ import annotations

import hashlib
import threading
import time
from typing import Any

import psycopg
import pytest

from kneebench.databases.engines.postgres.address import connect
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.databases.engines.postgres.sql_schema import HERE, PostgresSchema
from kneebench.databases.tproc_c.tables import LARGEST_FIRST
from kneebench.errors import KneebenchError, Refused
from kneebench.plan.workload import Workload
from kneebench.records import Event
from tests.loaded import BUILDS, SEED, Databases, Servers, session, unwatched, value

ONE = Workload(warehouses=1)
SLOW_STEPS = (
    """CREATE FUNCTION public.wait() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
        IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands()
            WHERE object_identity LIKE 'public.item%') THEN PERFORM pg_sleep(1.8); END IF;
    END $$""",
    "CREATE EVENT TRIGGER slow ON ddl_command_end EXECUTE FUNCTION public.wait()",
)
"""Making one table and its key."""


@pytest.fixture(scope="module", params=BUILDS)
def there(request: pytest.FixtureRequest, servers: Servers) -> Databases:
    return servers(request.param)


@pytest.fixture(scope="module")
def limited(there: Databases) -> PostgresAddress:
    """A load with another seed, into a database where some steps take longer than every limit."""
    address = there.empty()
    with connect(address) as connection:
        for statement in SLOW_STEPS:
            connection.execute(statement.encode())
        for limit in ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"):
            connection.execute(f"ALTER DATABASE {address.database} SET {limit} = '1500ms'".encode())
    PostgresSchema.load(address, ONE, SEED + 1, unwatched)
    return address


@pytest.fixture(scope="module")
def interrupted(there: Databases) -> tuple[PostgresAddress, Event]:
    """A load that Ctrl-C ended at its first rows, with the event of these."""
    address, told = there.empty(), list[Event]()

    def interrupt(event: Event) -> None:
        told.append(event)
        if event.data["rows"]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PostgresSchema.load(address, Workload(warehouses=20), SEED, interrupt)
    return address, told[-1]


def counted(address: PostgresAddress) -> dict[str, int]:
    with connect(address) as connection:
        return {
            table: value(connection, f"SELECT count(*) FROM public.{table}")
            for table in LARGEST_FIRST
        }


def printed(address: PostgresAddress, table: str) -> str:
    """A digest of a table's rows in their order on the pages."""
    digest = hashlib.sha256()
    with connect(address) as connection, connection.cursor() as cursor:
        cursor.execute("SET synchronize_seqscans = off")
        with cursor.copy(f"COPY public.{table} TO STDOUT (FORMAT binary)".encode()) as rows:
            for row in rows:
                digest.update(row)
    return digest.hexdigest()


def share(connection: psycopg.Connection[Any], table: str, condition: str) -> float:
    return float(value(connection, f"SELECT avg(({condition})::int) FROM public.{table}"))


@pytest.mark.parametrize(("warehouses", "profile"), [(2, "spec"), (1, "hammerdb")])
def test_a_load_has_its_rows_and_keeps_all_conditions(
    there: Databases, warehouses: int, profile: str
) -> None:
    address = there.loaded(warehouses, profile)
    rows = counted(address)
    lines = rows.pop("order_line")
    assert rows.pop("item") == 100_000
    assert rows == {
        "warehouse": warehouses, "district": 10 * warehouses, "customer": 30_000 * warehouses,
        "history": 30_000 * warehouses, "stock": 100_000 * warehouses,
        "orders": 30_000 * warehouses, "new_order": 9_000 * warehouses,
    }  # fmt: skip
    assert abs(lines - 300_000 * warehouses) < 3_000 * warehouses
    with connect(address) as connection:
        checks = PostgresSchema(connection).conditions(warehouses)
        assert [check.sentence for check in checks if not check.passed] == []


def test_the_rows_follow_the_rules_of_their_profile(there: Databases) -> None:
    with connect(there.loaded()) as spec, connect(there.loaded(1, "hammerdb")) as hammerdb:
        assert share(spec, "customer", "c_credit = 'BC'") == pytest.approx(0.1, abs=0.01)
        assert share(hammerdb, "customer", "c_credit = 'BC'") == pytest.approx(0.5, abs=0.02)
        assert share(spec, "stock", "s_data LIKE '%ORIGINAL%'") == pytest.approx(0.1, abs=0.005)
        assert (
            share(spec, "item", "i_price BETWEEN 1 AND 100 AND length(i_data) BETWEEN 26 AND 50")
            == 1
        )
        assert (
            share(
                spec,
                "customer",
                "c_zip LIKE '____11111' AND length(c_phone) = 16 AND c_middle = 'OE'",
            )
            == 1
        )
        assert value(spec, "SELECT count(DISTINCT (o_d_id, o_c_id)) FROM public.orders") == 30_000
        last_names = """
            SELECT array_agg(c_last ORDER BY c_id) FROM public.customer
            WHERE c_d_id = 1 AND c_id IN (1, 2, 372, 1000)"""
        expected = ["BARBARBAR", "BARBAROUGHT", "PRICALLYOUGHT", "EINGEINGEING"]
        assert value(spec, last_names) == expected
        assert value(spec, "SELECT max(ol_amount) FROM public.order_line") > 9_000
        assert 99 < value(hammerdb, "SELECT max(ol_amount) FROM public.order_line") <= 100


def test_the_schema_is_hammerdbs_with_its_names(there: Databases) -> None:
    with connect(there.loaded()) as connection:
        indexes = """
            SELECT string_agg(indexname::text, ' ' ORDER BY indexname) FROM pg_indexes
            WHERE schemaname = 'public'"""
        assert value(connection, indexes) == (
            "customer_i1 customer_i2 district_i1 item_i1 new_order_i1 order_line_i1"
            " orders_i1 orders_i2 stock_i1 warehouse_i1"
        )
        columns = """
            SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod), ', '
                ORDER BY attnum)
            FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0"""
        new_order = "no_w_id integer, no_o_id integer, no_d_id smallint"
        assert value(connection, columns, "public.new_order") == new_order
        stock = value(connection, "SELECT pg_get_indexdef('stock_i1'::regclass)")
        assert stock.endswith("(s_i_id, s_w_id)")
        functions = "SELECT count(*) FROM pg_proc WHERE pronamespace = 'kneebench'::regnamespace"
        assert value(connection, functions) >= 5


def test_the_same_seed_gives_the_same_rows_whatever_the_number_of_streams(
    there: Databases, limited: PostgresAddress, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = there.loaded(), there.empty()
    monkeypatch.setattr("kneebench.databases.loading.STREAMS", 4)
    PostgresSchema.load(second, ONE, SEED, unwatched)
    for table in ("customer", "orders", "order_line", "stock"):
        assert printed(first, table) == printed(second, table) != printed(limited, table)


def test_loaded_pages_are_frozen_and_known_to_be_visible(there: Databases) -> None:
    with connect(there.loaded()) as connection:
        shares = (
            "SELECT min(relallvisible::float / relpages) FROM pg_class WHERE relname = ANY(%s) AND"
            " relkind = 'r'"
        )
        assert value(connection, shares, list(LARGEST_FIRST)) == 1


def test_a_whole_load_is_found_again_and_one_that_was_run_on_is_redone(there: Databases) -> None:
    address = there.loaded()
    assert PostgresSchema.load(address, ONE, SEED, unwatched)["reused"] == "yes"
    with session(address) as user:
        user.execute("SELECT kneebench.payment(1, 1, 1, 1, 5, '', 100)")
    assert "reused" not in PostgresSchema.load(address, ONE, SEED, unwatched)
    assert counted(address)["history"] == 30_000


def test_a_load_that_was_broken_off_is_dropped_and_redone(there: Databases) -> None:
    address = there.empty()

    def interrupt(event: Event) -> None:
        if event.doing == "creating keys":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        PostgresSchema.load(address, ONE, SEED, interrupt)
    with connect(address) as connection:
        schema = PostgresSchema(connection)
        assert schema.facts()["state"] == "loading"
        assert all(schema.tables().values()) and "stock" in schema.tables()
    PostgresSchema.load(address, ONE, SEED, unwatched)
    with connect(address) as connection:
        schema = PostgresSchema(connection)
        assert schema.facts()["state"] == "whole"
        assert [check.sentence for check in schema.conditions(1) if not check.passed] == []


def test_ctrl_c_in_mid_stream_rolls_the_tables_under_way_back(
    interrupted: tuple[PostgresAddress, Event],
) -> None:
    address, _ = interrupted
    with connect(address) as connection:
        assert "order_line" not in PostgresSchema(connection).tables()
        until = time.monotonic() + 20
        while (
            value(
                connection,
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()",
            )
            > 1
        ):
            assert time.monotonic() < until, "a stream's session is still there"
            time.sleep(0.1)


def test_tables_of_another_are_refused_and_left_alone(there: Databases) -> None:
    address = there.empty()
    with connect(address) as connection:
        connection.execute("CREATE TABLE public.customer AS SELECT 7 AS precious")
        PostgresSchema(connection).note({"state": "loading"})
        with pytest.raises(Refused, match="did not create: customer"):
            PostgresSchema.load(address, ONE, SEED, unwatched)
        assert value(connection, "SELECT precious FROM public.customer") == 7


def test_a_whole_load_of_another_shape_is_refused_and_left_alone(there: Databases) -> None:
    address = there.loaded()
    with pytest.raises(Refused, match="a different load: warehouses = 1, profile = spec"):
        PostgresSchema.load(address, Workload(warehouses=2), SEED, unwatched)
    assert counted(address)["warehouse"] == 1


def test_progress_tells_rate_and_time_left(interrupted: tuple[PostgresAddress, Event]) -> None:
    _, event = interrupted
    assert event.doing == "loading 20 warehouses"
    assert 0 < (event.share or 0) < 1
    assert event.data["rows_per_s"] > 0
    assert (event.left_s or 0) > 0


def test_the_steps_after_the_rows_are_told_in_their_order(there: Databases) -> None:
    there.loaded(2)
    seen = [event.doing for event in there.events[2, "spec"]]
    assert [doing for doing in seen if doing != "loading 2 warehouses"] == [
        "creating keys",
        "gathering statistics",
        "installing the functions",
        "waiting for a checkpoint",
    ]


def test_limits_of_the_server_do_not_cut_a_load_short(limited: PostgresAddress) -> None:
    assert counted(limited)["warehouse"] == 1


def test_a_server_that_ends_the_stream_is_heard(there: Databases) -> None:
    address = there.empty()

    def shoot() -> None:
        with connect(there.address) as connection:
            kill = (
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = %s"
                " AND query LIKE 'COPY%%'"
            )
            while not value(connection, kill, address.database):
                pass

    threading.Thread(target=shoot).start()
    with pytest.raises(
        KneebenchError,
        match=(
            r"cannot load the tables: filling [a-z_]+: .*(connection closed|terminating connection)"
        ),
    ):
        PostgresSchema.load(address, Workload(warehouses=20), SEED, unwatched)


def test_functions_are_installed_beside_the_schema_of_another(there: Databases) -> None:
    address = there.empty()
    with connect(address) as connection:
        for statement in (HERE / "schema.sql").read_text().split(";\n"):
            connection.execute(statement.encode())
        PostgresSchema(connection).install_routines()
        PostgresSchema(connection).install_routines()
        names = (
            "SELECT array_agg(proname::text ORDER BY proname) FROM pg_proc WHERE pronamespace ="
            " 'kneebench'::regnamespace"
        )
        assert set(value(connection, names)) >= {
            "delivery",
            "new_order",
            "order_status",
            "payment",
            "stock_level",
        }
