"""The procedures on MariaDB: what they write, side by side and alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import pymysql
import pytest

from kneebench.databases.innodb.server import InnodbServer
from kneebench.databases.innodb.session import InnodbSession, Row, connect
from tests.loaded import unwatched
from tests.mariadb_elsewhere import WITHOUT_MARIADB, restored_mariadb
from tests.procedure_cases import NAMES, REPEATED, after, bad_credit, drawn, middle

pytestmark = [pytest.mark.mariadb, WITHOUT_MARIADB]
BY_DESIGN = 45001 - (1 << 16)
"""The number of the rollback by design, as PyMySQL reads it."""
STOCK = "SELECT s_quantity, s_ytd, s_order_cnt, s_remote_cnt FROM stock WHERE s_i_id = %s"
SAME_NAME = """
SELECT c_id FROM customer
WHERE c_w_id = 1 AND c_d_id = 1 AND c_last = %s ORDER BY c_first, c_id"""
OTHER_SUPPLIER = (
    "CREATE TEMPORARY TABLE other AS SELECT * FROM stock WHERE s_i_id = 13",
    "UPDATE other SET s_w_id = 2",
    "INSERT INTO stock SELECT * FROM other",
)
"""An item in the stock of a second warehouse."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InnodbServer]:
    """A server that the tests share; each has customers and items of its own."""
    with restored_mariadb(tmp_path_factory.mktemp("procedures")) as running:
        yield running


@pytest.fixture
def user(server: InnodbServer) -> Iterator[InnodbSession]:
    with connect(server.address) as session:
        yield session


def stock(user: InnodbSession, item: int, supplier: int = 1) -> Row:
    return user.row(f"{STOCK} AND s_w_id = {supplier}", item)


def order(
    user: InnodbSession,
    d: int,
    c: int,
    items: Sequence[int],
    quantities: Sequence[int],
    *,
    remote: int = 0,
) -> None:
    """One of warehouse 1, as the load generator sends it; `remote`: an item of warehouse 2."""
    lines = sorted(
        (2 if item == remote else 1, item, quantity)
        for item, quantity in zip(items, quantities, strict=True)
    )
    listed = [[item, supplier, quantity] for supplier, item, quantity in lines]
    given = (1, d, c, len(items), int(bool(remote)), str(listed))
    user.run("CALL kneebench_new_order(%s, %s, %s, %s, %s, %s)", *given)


def pay(user: InnodbSession, d: int, c: int, name: str = "", c_d: int = 0) -> int:
    call = "CALL kneebench_payment(1, %s, 1, %s, %s, %s, 500)"
    return int(user.value(call, d, c_d or d, c, name))


def test_an_order_takes_its_stock_and_counts_what_comes_from_elsewhere(
    user: InnodbSession,
) -> None:
    for statement in OTHER_SUPPLIER:
        user.run(statement)
    before = [stock(user, 11), stock(user, 12), stock(user, 13, 2)]
    order(user, 3, 5, [11, 12, 13], [1, 10, 5], remote=13)
    assert [stock(user, 11), stock(user, 12), stock(user, 13, 2)] == [
        after(before[0], 1),
        after(before[1], 10),
        after(before[2], 5, remote=1),
    ]
    [local] = user.row("SELECT o_all_local FROM orders WHERE o_d_id = 3 AND o_id = 3001")
    assert local == 0
    user.run("DELETE FROM stock WHERE s_w_id = 2")


@pytest.mark.parametrize("quantity", [10, 9])
def test_stock_that_would_fall_below_10_is_filled_by_91(user: InnodbSession, quantity: int) -> None:
    user.run("UPDATE stock SET s_quantity = 19 WHERE s_i_id = 15")
    before = stock(user, 15)
    order(user, 3, 6, [15], [quantity])
    assert stock(user, 15) == after(before, quantity)
    assert stock(user, 15)[0] == {10: 100, 9: 10}[quantity]


def test_an_item_named_repeatedly_is_taken_each_time(user: InnodbSession) -> None:
    before, (items, quantities) = stock(user, 21), REPEATED
    order(user, 4, 6, items, quantities)
    assert stock(user, 21) == after(after(after(before, 2), 3), 4)
    [lines] = user.row(
        "SELECT GROUP_CONCAT(ol_i_id ORDER BY ol_number) FROM order_line"
        " WHERE ol_w_id = 1 AND ol_d_id = 4 AND ol_o_id = 3001"
    )
    assert lines == "21,21,21,22"


@pytest.mark.parametrize("name", NAMES)
def test_a_payment_by_name_takes_the_middle_one_by_first_name(
    user: InnodbSession, name: str
) -> None:
    customers = [int(number) for (number,) in user.rows(SAME_NAME, name)]
    assert pay(user, 1, 0, name) == middle(customers)


def test_an_order_status_by_name_is_that_of_the_middle_one(user: InnodbSession) -> None:
    customers = [int(number) for (number,) in user.rows(SAME_NAME, NAMES[0])]
    rows = user.rows("CALL kneebench_order_status(1, 1, 0, %s)", NAMES[0])
    assert {row[0] for row in rows} == {middle(customers)}


def test_bad_credit_writes_down_the_payment_and_good_credit_does_not(user: InnodbSession) -> None:
    of = "SELECT c_id, c_data FROM customer WHERE c_d_id = 6 AND c_credit = %s LIMIT 1"
    (bad, bad_data), (good, good_data) = user.row(of, "BC"), user.row(of, "GC")
    for customer in (bad, good):
        pay(user, 8, customer, c_d=6)
    data = "SELECT c_data FROM customer WHERE c_d_id = 6 AND c_id = %s"
    assert user.value(data, bad) == bad_credit((bad, 6, 1), (8, 1), "5.00", bad_data)
    assert user.value(data, good) == good_data


def storm(server: InnodbServer, seed: int, failures: list[str]) -> None:
    with connect(server.address) as user:
        for one in drawn(seed, calls=150):
            try:
                if one.items:
                    order(user, one.district, one.customer, one.items, one.quantities)
                elif one.customer:
                    pay(user, one.district, one.customer)
                else:
                    user.run("CALL kneebench_delivery(1, 3)")
            except pymysql.Error as error:
                if error.args[0] != BY_DESIGN:
                    failures.append(str(error))


def test_many_users_on_the_same_rows_neither_lose_updates_nor_deadlock(
    server: InnodbServer, user: InnodbSession
) -> None:
    """Row locks are taken in one order by all (procedures.sql)."""
    failures = list[str]()
    taken = "SELECT sum(s_ytd), sum(s_order_cnt) FROM stock"
    ordered = "SELECT coalesce(sum(ol_quantity), 0), count(*) FROM order_line WHERE ol_o_id > 3000"
    before = zip(user.row(taken), user.row(ordered), strict=True)
    elsewhere = [stock - lines for stock, lines in before]
    users = [threading.Thread(target=storm, args=(server, seed, failures)) for seed in range(8)]
    for thread in users:
        thread.start()
    for thread in users:
        thread.join()
    assert failures == []
    assert [check.sentence for check in server.conditions(unwatched) if not check.passed] == []
    after_all = zip(user.row(taken), user.row(ordered), strict=True)
    assert [stock - lines for stock, lines in after_all] == elsewhere
    assert user.row(ordered)[1] > 1_000
