"""The five functions on real servers: what they write, side by side and alone, and by which
plans.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.databases.engines.postgres.sql_schema import PostgresSchema, ensure_statistics
from tests.loaded import BUILDS, Databases, Servers, session, value
from tests.procedure_cases import NAMES, REPEATED, Drawn, after, bad_credit, drawn, middle

Connection = psycopg.Connection[tuple[Any, ...]]
NEW_ORDER = "SELECT kneebench.new_order(%s, %s, %s, %s::int[], %s::int[], %s::int[])"
PAYMENT = "SELECT kneebench.payment(%s, %s, %s, %s, %s, %s, %s)"
LARGE = ("customer", "stock", "orders", "order_line", "new_order", "history", "item")


@pytest.fixture(scope="module", params=BUILDS)
def there(request: pytest.FixtureRequest, servers: Servers) -> Databases:
    return servers(request.param)


@pytest.fixture(scope="module")
def shared(there: Databases) -> PostgresAddress:
    return there.loaded(2)


@pytest.fixture
def user(shared: PostgresAddress) -> Iterator[Connection]:
    """A session on two warehouses that the module's tests share, each with customers and items of
    its own.
    """
    with session(shared) as connection:
        yield connection


def row(connection: Connection, query: str, *given: object) -> tuple[Any, ...]:
    return connection.execute(query.encode(), given or None).fetchone() or ()


def stock(connection: Connection, item: int, supplier: int = 1) -> tuple[Any, ...]:
    return row(
        connection,
        "SELECT s_quantity, s_ytd, s_order_cnt, s_remote_cnt FROM public.stock WHERE s_i_id = %s"
        " AND s_w_id = %s",
        item,
        supplier,
    )


def test_an_order_writes_its_rows_and_takes_its_stock(user: Connection) -> None:
    before = [stock(user, 11), stock(user, 12), stock(user, 13, 2)]
    total = value(user, NEW_ORDER, 1, 3, 5, [11, 12, 13], [1, 1, 2], [1, 10, 5])
    assert [stock(user, 11), stock(user, 12), stock(user, 13, 2)] == [
        after(before[0], 1),
        after(before[1], 10),
        after(before[2], 5, remote=1),
    ]
    o = value(user, "SELECT d_next_o_id - 1 FROM public.district WHERE d_w_id = 1 AND d_id = 3")
    order = """
        SELECT o_c_id, o_carrier_id, o_ol_cnt, o_all_local FROM public.orders
        WHERE o_w_id = 1 AND o_d_id = 3 AND o_id = %s"""
    assert row(user, order, o) == (5, None, 3, 0)
    waiting = """
        SELECT count(*) FROM public.new_order
        WHERE no_w_id = 1 AND no_d_id = 3 AND no_o_id = %s"""
    assert value(user, waiting, o) == 1
    lines = """
        SELECT array_agg((ol_number, ol_i_id, ol_supply_w_id, ol_quantity)::text
                ORDER BY ol_number),
            bool_and(ol_amount = ol_quantity * i_price AND ol_dist_info = s_dist_03
                AND ol_delivery_d IS NULL),
            sum(ol_amount)
        FROM public.order_line JOIN public.item ON i_id = ol_i_id
            JOIN public.stock ON s_i_id = ol_i_id AND s_w_id = ol_supply_w_id
        WHERE ol_w_id = 1 AND ol_d_id = 3 AND ol_o_id = %s"""
    numbers, right, amount = row(user, lines, o)
    assert (numbers, right) == (["(1,11,1,1)", "(2,12,1,10)", "(3,13,2,5)"], True)
    rates = """
        SELECT (1 - c_discount) * (1 + w_tax + d_tax)
        FROM public.customer, public.warehouse, public.district
        WHERE c_w_id = 1 AND c_d_id = 3 AND c_id = 5 AND w_id = 1 AND d_w_id = 1 AND d_id = 3"""
    assert total == pytest.approx(amount * value(user, rates))


def test_an_item_named_twice_is_taken_twice(user: Connection) -> None:
    before = stock(user, 21)
    items, quantities = REPEATED
    value(user, NEW_ORDER, 1, 4, 6, items, [1, 1, 1, 1], quantities)
    assert stock(user, 21) == after(after(after(before, 3), 4), 2)
    lines = (
        "SELECT array_agg(ol_i_id ORDER BY ol_number) FROM public.order_line WHERE ol_w_id = 1 AND"
        " ol_d_id = 4 AND ol_o_id = 3001"
    )
    assert value(user, lines) == items


def test_an_unused_item_rolls_everything_back(user: Connection) -> None:
    orders = "SELECT sum(d_next_o_id), (SELECT count(*) FROM public.orders) FROM public.district"
    before = stock(user, 31), row(user, orders)
    with pytest.raises(psycopg.Error) as raised:
        value(user, NEW_ORDER, 1, 5, 7, [31, 32, 100_001], [1, 1, 1], [1, 1, 1])
    assert raised.value.sqlstate == "KB001"
    assert before == (stock(user, 31), row(user, orders))


def test_an_unused_item_is_met_only_after_all_that_can_be_written_was(user: Connection) -> None:
    wrote = """DO $$ BEGIN
        BEGIN PERFORM kneebench.new_order(1, 5, 7, '{31,32,100001}', '{1,1,1}', '{1,1,1}');
        EXCEPTION WHEN SQLSTATE 'KB001' THEN NULL; END;
        PERFORM set_config('test.wrote', (SELECT row(sum(n_tup_ins), sum(n_tup_upd))::text
            FROM pg_stat_xact_user_tables WHERE schemaname = 'public'), false); END $$"""
    user.execute(wrote.encode())
    assert value(user, "SELECT current_setting('test.wrote')") == "(4,3)", (
        "orders, new_order, two lines; district, two of stock"
    )


def test_a_payment_by_number_moves_every_sum(user: Connection) -> None:
    of = (
        "SELECT c_balance, c_ytd_payment, c_payment_cnt FROM public.customer WHERE c_w_id = 2 AND"
        " c_d_id = 7 AND c_id = 9"
    )
    sums = (
        "SELECT (SELECT w_ytd FROM public.warehouse WHERE w_id = 1), (SELECT d_ytd FROM"
        " public.district WHERE d_w_id = 1 AND d_id = 2)"
    )
    before, there = row(user, of), row(user, sums)
    assert value(user, PAYMENT, 1, 2, 2, 7, 9, "", 123_45) == 9
    paid = Decimal("123.45")
    assert row(user, of) == (before[0] - paid, before[1] + paid, before[2] + 1)
    assert row(user, sums) == (there[0] + paid, there[1] + paid)
    written = """
        SELECT h_amount, h_data = w_name || '    ' || d_name
        FROM public.history, public.warehouse, public.district
        WHERE h_c_w_id = 2 AND h_c_d_id = 7 AND h_c_id = 9 AND h_w_id = 1 AND h_d_id = 2
            AND w_id = 1 AND d_w_id = 1 AND d_id = 2"""
    assert row(user, written) == (paid, True)


@pytest.mark.parametrize("name", NAMES)
def test_a_payment_by_name_takes_the_middle_one_by_first_name(user: Connection, name: str) -> None:
    same = (
        "SELECT array_agg(c_id ORDER BY c_first, c_id) FROM public.customer WHERE c_w_id = 1 AND"
        " c_d_id = 1 AND c_last = %s"
    )
    customers = value(user, same, name)
    assert value(user, PAYMENT, 1, 1, 1, 1, 0, name, 100) == middle(customers)


def test_bad_credit_writes_down_the_payment_and_good_credit_does_not(user: Connection) -> None:
    of = (
        "SELECT c_id, c_data FROM public.customer WHERE c_w_id = 1 AND c_d_id = 6 AND c_credit = %s"
        " LIMIT 1"
    )
    (bad, bad_data), (good, good_data) = row(user, of, "BC"), row(user, of, "GC")
    for customer in (bad, good):
        value(user, PAYMENT, 2, 8, 1, 6, customer, "", 500)
    data = "SELECT c_data FROM public.customer WHERE c_w_id = 1 AND c_d_id = 6 AND c_id = %s"
    assert value(user, data, bad) == bad_credit((bad, 6, 1), (8, 2), "5.00", bad_data)
    assert value(user, data, good) == good_data


def test_an_order_status_gives_the_lines_of_the_last_order(user: Connection) -> None:
    value(user, NEW_ORDER, 2, 9, 77, [41, 42, 43], [2, 2, 2], [1, 2, 3])
    rows = user.execute(
        "SELECT customer, o_id, carrier, item, quantity FROM kneebench.order_status(2, 9, 77, '')"
    ).fetchall()
    assert sorted(rows) == [
        (77, 3001, None, 41, 1),
        (77, 3001, None, 42, 2),
        (77, 3001, None, 43, 3),
    ]
    assert (
        value(
            user,
            "SELECT count(DISTINCT customer) FROM kneebench.order_status(2, 9, 0, 'BARBARBAR')",
        )
        == 1
    )


def test_a_delivery_takes_the_oldest_order_of_each_district(there: Databases) -> None:
    with session(there.loaded()) as user:
        balance = "SELECT sum(c_balance), sum(c_delivery_cnt) FROM public.customer"
        owed = value(user, "SELECT sum(ol_amount) FROM public.order_line WHERE ol_o_id = 2101")
        before = row(user, balance)
        assert value(user, "SELECT kneebench.delivery(1, 7)") == 10
        assert row(user, balance) == (before[0] + owed, before[1] + 10)
        assert row(user, "SELECT min(no_o_id), count(*) FROM public.new_order") == (2102, 8_990)
        assert row(
            user,
            "SELECT count(*), min(o_carrier_id), max(o_carrier_id) FROM public.orders WHERE o_id ="
            " 2101",
        ) == (10, 7, 7)
        assert (
            value(
                user,
                "SELECT count(*) FROM public.order_line WHERE ol_o_id = 2101 AND ol_delivery_d IS"
                " NULL",
            )
            == 0
        )


def test_a_delivery_skips_districts_that_have_nothing_to_deliver(there: Databases) -> None:
    with session(there.loaded()) as user:
        user.execute("DELETE FROM public.new_order WHERE no_d_id IN (2, 9)")
        assert value(user, "SELECT kneebench.delivery(1, 1)") == 8
        user.execute("DELETE FROM public.new_order")
        assert value(user, "SELECT kneebench.delivery(1, 1)") == 0


def test_a_stock_level_counts_distinct_items_of_the_last_20_orders(user: Connection) -> None:
    counted = """
        SELECT count(DISTINCT s_i_id)
        FROM public.order_line JOIN public.stock ON s_w_id = 2 AND s_i_id = ol_i_id,
            public.district
        WHERE d_w_id = 2 AND d_id = 10 AND ol_w_id = 2 AND ol_d_id = 10
            AND ol_o_id BETWEEN d_next_o_id - 20 AND d_next_o_id - 1 AND s_quantity < %s"""
    for threshold in (0, 15, 40, 101):
        assert value(user, "SELECT kneebench.stock_level(2, 10, %s)", threshold) == value(
            user, counted, threshold
        )


def storm(address: PostgresAddress, seed: int, failures: list[str], calls: int = 250) -> None:
    """One user's transactions, all in few districts."""
    with session(address) as user:
        for one in drawn(seed, calls):
            try:
                user.execute(*statement(one))
            except psycopg.Error as error:
                if error.sqlstate != "KB001":
                    failures.append(f"{error.sqlstate}: {error}")


def statement(one: Drawn) -> tuple[bytes, list[object]]:
    d, c, items, quantities = one
    if items:
        return NEW_ORDER.encode(), [1, d, c, [*items], [1] * len(items), [*quantities]]
    if c:
        return PAYMENT.encode(), [1, d, 1, d, c, "", 100]
    return b"SELECT kneebench.delivery(1, %s)", [3]


def test_many_users_on_the_same_rows_neither_lose_updates_nor_deadlock(there: Databases) -> None:
    address, failures = there.loaded(), list[str]()
    users = [threading.Thread(target=storm, args=(address, seed, failures)) for seed in range(8)]
    for thread in users:
        thread.start()
    for thread in users:
        thread.join()
    assert failures == []
    with session(address) as user:
        checks = PostgresSchema(user).conditions(1)
        assert [check.sentence for check in checks if not check.passed] == []
        taken = row(user, "SELECT sum(s_ytd), sum(s_order_cnt) FROM public.stock")
        ordered = row(
            user, "SELECT sum(ol_quantity), count(*) FROM public.order_line WHERE ol_o_id > 3000"
        )
        assert taken == ordered and ordered[1] > 1_000


CALLS = (
    (NEW_ORDER, 1, 1, 5, [7, 9, 500], [1, 1, 1], [1, 2, 3]),
    (PAYMENT, 1, 1, 1, 1, 0, "BARBARBAR", 500),
    (PAYMENT, 1, 1, 1, 1, 8, "", 500),
    ("SELECT kneebench.delivery(1, %s)", 3),
    ("SELECT kneebench.stock_level(1, 1, %s)", 15),
    ("SELECT * FROM kneebench.order_status(1, 1, 0, %s)", "BARBARBAR"),
)


def plans(address: PostgresAddress) -> str:
    """The plans of all statements within the functions, as auto_explain logs them to the
    session.
    """
    said: list[str] = []
    with session(address) as user:
        user.add_notice_handler(lambda notice: said.append(notice.message_primary or ""))
        user.execute("LOAD 'auto_explain'")
        for setting in (
            "auto_explain.log_min_duration = 0",
            "auto_explain.log_nested_statements = on",
            "client_min_messages = log",
        ):
            user.execute(f"SET {setting}".encode())
        for query, *given in CALLS:
            user.execute(query.encode(), given)
    return "\n".join(plan for plan in said if "plan:" in plan)


@pytest.mark.parametrize(
    "state", ["as loaded", "after many orders", "statistics lost and gathered again"]
)
def test_plans_go_by_the_keys_in_every_state_of_the_tables(there: Databases, state: str) -> None:
    address = there.loaded()
    with session(address) as user:
        if not explains(user):
            pytest.skip("this build has no auto_explain")
        if state == "after many orders":
            storm(address, 1, [], calls=300)
            user.execute("VACUUM ANALYZE")
        if state == "statistics lost and gathered again":
            user.execute("DELETE FROM pg_statistic WHERE starelid::regclass::text !~ '^pg_'")
            ensure_statistics(user)
    seen = plans(address)
    for key in (
        "order_line_i1",
        "stock_i1",
        "customer_i1",
        "customer_i2",
        "orders_i1",
        "orders_i2",
        "new_order_i1",
        "item_i1",
        "district_i1",
        "warehouse_i1",
    ):
        assert f"using {key}" in seen or f"on {key}" in seen, key
    assert "Seq Scan" not in seen and "Hash Join" not in seen and "Merge Join" not in seen
    assert re.findall(r"Index (?:Only )?Scan[^\n]*\n(?! *Index Cond)", seen) == [], (
        "a scan of a whole index"
    )


def explains(user: Connection) -> bool:
    """auto_explain can be loaded."""
    try:
        user.execute("LOAD 'auto_explain'")
    except psycopg.Error:
        return False
    return True


def test_no_call_scans_a_large_table_whichever_the_build(there: Databases) -> None:
    address = there.loaded()
    scans = (
        "SELECT sum(seq_scan) FROM pg_stat_user_tables WHERE schemaname = 'public' AND relname ="
        " ANY(%s)"
    )
    with session(address) as user:
        before = value(user, scans, list(LARGE))
        for query, *given in CALLS:
            user.execute(query.encode(), given)
    with session(address) as user:
        assert value(user, scans, list(LARGE)) == before
