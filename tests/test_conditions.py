"""The twelve conditions: each is broken by hand and noticed, and what was broken before is told
apart from what broke since.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from kneebench import databases
from kneebench.databases.engines.postgres.sql_schema import SETTINGS, PostgresSchema
from kneebench.databases.engines.sqlserver.conditions import Conditions, of_existing
from kneebench.databases.tproc_c.conditions import checked_warehouses, conditions_in
from kneebench.databases.tproc_c.tables import LARGEST_FIRST
from kneebench.records import Check
from tests.loaded import Databases, Servers, session

BREAKING = {
    1: ("UPDATE public.warehouse SET w_ytd = w_ytd + 1", {1, 8}),
    2: ("UPDATE public.district SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 3", {2}),
    3: ("DELETE FROM public.new_order WHERE no_d_id = 4 AND no_o_id = 2500", {3, 5, 11}),
    4: ("UPDATE public.orders SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 5 AND o_id = 6", {4, 6}),
    5: ("UPDATE public.orders SET o_carrier_id = NULL WHERE o_d_id = 5 AND o_id = 6", {5, 7}),
    6: (
        "DELETE FROM public.order_line WHERE ol_d_id = 6 AND ol_o_id = 7 AND ol_number = 1",
        {4, 6},
    ),
    7: ("UPDATE public.order_line SET ol_delivery_d = NULL WHERE ol_d_id = 6 AND ol_o_id = 7", {7}),
    8: ("DELETE FROM public.history WHERE h_c_id = 8 AND h_c_d_id = 1", {8, 9, 10}),
    9: ("UPDATE public.district SET d_ytd = d_ytd + 1 WHERE d_id = 2", {1, 9}),
    10: (
        (
            "UPDATE public.customer SET c_balance = c_balance + 1, c_ytd_payment = c_ytd_payment -"
            " 1 WHERE c_id = 9 AND c_d_id = 9"
        ),
        {10},
    ),
    11: ("UPDATE public.customer SET c_delivery_cnt = 1 WHERE c_id = 9 AND c_d_id = 9", {11}),
    12: (
        (
            "UPDATE public.customer SET c_ytd_payment = c_ytd_payment + 1 WHERE c_id = 9 AND"
            " c_d_id = 9"
        ),
        {12},
    ),
}


DELIVERED = (
    "SELECT o_c_id FROM public.orders WHERE o_d_id = 1 AND o_id < 2101 ORDER BY o_c_id DESC LIMIT 2"
)
"""Two customers whose balances were wrong before, and whom no check names."""


@pytest.fixture(scope="module")
def there(servers: Servers) -> Databases:
    return servers(None)


@pytest.fixture(scope="module")
def loaded(there: Databases) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    with session(there.loaded()) as connection:
        yield connection


def broken(checks: list[Check]) -> set[int]:
    return {number for number, check in enumerate(checks, 1) if not check.passed}


HASHBYTES = b"""
CREATE FUNCTION hashbytes(text, text) RETURNS bytea LANGUAGE sql
RETURN CASE $1 WHEN 'MD5' THEN decode(md5($2), 'hex') END"""


class AsDbo:
    """A session in which the tables are in the schema dbo, as on SQL Server: its conditions are
    written in what both understand.
    """

    def __init__(self, connection: psycopg.Connection[tuple[object, ...]]) -> None:
        self._connection = connection
        connection.execute("CREATE SCHEMA dbo")
        for setting in SETTINGS:
            connection.execute(f"SET {setting}".encode())
        for table in LARGEST_FIRST:
            connection.execute(f"CREATE VIEW dbo.{table} AS TABLE public.{table}".encode())
        connection.execute(HASHBYTES)

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        return self._connection.execute(statement.encode()).fetchall()

    def value(self, statement: str) -> object:
        return self.execute(statement)[0][0]


def in_transact_sql(connection: psycopg.Connection[tuple[object, ...]]) -> list[Check]:
    return Conditions(1).checks(AsDbo(connection))


def test_there_are_twelve_and_a_fresh_load_keeps_them(
    loaded: psycopg.Connection[tuple[object, ...]],
) -> None:
    checks = PostgresSchema(loaded).conditions(1)
    assert [check.name for check in checks] == [f"condition {number}" for number in range(1, 13)]
    assert broken(checks) == set()
    assert "checked on the only warehouse" in checks[0].sentence


@pytest.mark.parametrize("number", BREAKING)
def test_what_breaks_a_condition_is_noticed(there: Databases, number: int) -> None:
    statement, noticed = BREAKING[number]
    assert number in noticed
    with session(there.loaded()) as connection:
        connection.execute(statement.encode())
        checks = PostgresSchema(connection).conditions(1)
        assert broken(in_transact_sql(connection)) == noticed
    assert broken(checks) == noticed
    assert (
        "is broken in" in checks[number - 1].sentence and "warehouse 1" in checks[number - 1].seen
    )


def test_what_was_broken_before_passes_while_it_stays_as_it_was(there: Databases) -> None:
    """As on a schema that HammerDB built: its balances know nothing of its delivered amounts."""
    with session(there.loaded()) as connection:
        connection.execute(
            "UPDATE public.order_line SET ol_amount = 1 WHERE ol_delivery_d IS NOT NULL"
        )
        before = PostgresSchema(connection).conditions(1)
        assert broken(before) == {10, 12}
        as_dbo = AsDbo(connection)
        of_sqlserver = of_existing(as_dbo, 1)
        assert broken(of_sqlserver.before) == {10, 12}
        connection.execute(
            "SELECT kneebench.payment(1, 1, 1, 1, 5, '', 700), kneebench.delivery(1, 2)"
        )
        assert broken(PostgresSchema(connection).conditions(1, before)) == set()
        assert broken(of_sqlserver.checks(as_dbo)) == set()
        for sign, (customer,) in zip("+-", connection.execute(DELIVERED), strict=True):
            connection.execute(
                f"UPDATE public.customer SET c_balance = c_balance {sign} 1"
                f" WHERE c_id = {customer} AND c_d_id = 1".encode()
            )
        for checks in (
            PostgresSchema(connection).conditions(1, before),
            of_sqlserver.checks(as_dbo),
        ):
            assert broken(checks) == {10, 12}, "also where the errors add up to nothing"


def test_orders_that_bcp_left_undelivered_with_a_carrier_are_judged_once_delivered(
    there: Databases,
) -> None:
    with session(there.loaded()) as connection:
        connection.execute("UPDATE public.orders SET o_carrier_id = 3 WHERE o_id > 2100")
        as_dbo = AsDbo(connection)
        assert broken(Conditions(1).checks(as_dbo)) == {5, 7}
        existing = of_existing(as_dbo, 1)
        assert broken(existing.before) == set()
        connection.execute("SELECT kneebench.delivery(1, 2)")
        assert broken(existing.checks(as_dbo)) == set()
        connection.execute(
            "UPDATE public.order_line SET ol_delivery_d = NULL WHERE ol_d_id = 1 AND ol_o_id = 2101"
        )
        assert broken(existing.checks(as_dbo)) == {7, 10, 12}
        connection.execute("INSERT INTO public.new_order VALUES (1, 3001, 1)")
        assert 5 in broken(existing.checks(as_dbo))


def test_large_databases_are_sampled_and_the_sentence_says_so() -> None:
    assert len(checked_warehouses(10)) == 10
    assert (
        checked_warehouses(11)[0] == 1
        and checked_warehouses(11)[-1] == 11
        and len(set(checked_warehouses(11))) == 10
    )


def test_only_the_warehouses_asked_for_are_judged(
    there: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kneebench.databases.tproc_c.conditions.ALL_UP_TO", 1)
    monkeypatch.setattr("kneebench.databases.tproc_c.conditions.SAMPLE", 2)
    with session(there.loaded()) as connection:
        add_broken_warehouse(connection, 2)
        checks = PostgresSchema(connection).conditions(3)
        assert broken(checks) == set() and "warehouses 1, 3 of 3" in checks[0].sentence
        add_broken_warehouse(connection, 3)
        assert broken(PostgresSchema(connection).conditions(3)) == {1, 2, 8}


def add_broken_warehouse(connection: psycopg.Connection[tuple[object, ...]], number: int) -> None:
    """One with a district, no orders and no history, that was paid what nobody else knows of."""
    for statement in (
        "INSERT INTO public.warehouse SELECT (jsonb_populate_record(w, jsonb_build_object('w_id',"
        " %s::int, 'w_ytd', 1))).* FROM public.warehouse AS w WHERE w_id = 1",
        "INSERT INTO public.district SELECT (jsonb_populate_record(d, jsonb_build_object('d_w_id',"
        " %s::int, 'd_ytd', 0))).* FROM public.district AS d WHERE d_w_id = 1 AND d_id = 1",
    ):
        connection.execute(statement.encode(), [number])


@pytest.mark.parametrize(
    ("folder", "listed"),
    [
        ("engines/postgres", "%(warehouses)s"),
        ("innodb", "%(warehouses)s"),
        ("engines/sqlserver", "{warehouses}"),
    ],
)
def test_the_twelve_queries_of_an_engine_name_what_they_ask_for(folder: str, listed: str) -> None:
    asked = conditions_in(Path(databases.__file__).parent / folder)
    assert [one.number for one in asked] == list(range(1, 13))
    assert all(listed in one.query and one.holds for one in asked)
