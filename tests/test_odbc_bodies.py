"""The procedures of dialects whose databases nobody here has, run where their SQL runs too: PL/SQL
on MariaDB with sql_mode = ORACLE, SQL PL on HSQLDB. What no other database has is stood in for.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import pymysql
import pytest

from kneebench.databases.engines import db2, oracle
from kneebench.databases.innodb.server import InnodbServer
from kneebench.databases.innodb.session import InnodbSession, connect
from kneebench.databases.odbc.dialect import Dialect, dialect_in
from tests.hsqldb import WITHOUT_HSQLDB, Hsqldb
from tests.mariadb_elsewhere import WITHOUT_MARIADB, restored_mariadb
from tests.procedure_cases import (
    NAMES,
    REPEATED,
    UNUSED_ITEM,
    Drawn,
    after,
    bad_credit,
    drawn,
    middle,
)

REFUSE = """
CREATE OR REPLACE PROCEDURE kneebench_refuse() AS BEGIN SIGNAL SQLSTATE 'KB001'; END"""
"""In place of RAISE_APPLICATION_ERROR, which MariaDB does not have."""
DRAWS = 400


class Database(Protocol):
    """One that has the tables and a dialect's procedures; every call is a transaction."""

    dialect: Dialect

    def rows(self, statement: str) -> Sequence[Sequence[Any]]: ...

    def call(self, name: str, *given: int | str) -> bool:
        """Whether it committed; False where it was rolled back by design."""


class OracleMode:
    """MariaDB as it takes PL/SQL; like on Oracle, a transaction begins by itself. What calls leave
    is seen by another session: only what they committed.
    """

    def __init__(self, server: InnodbServer) -> None:
        self.dialect = dialect_in(Path(oracle.__file__).parent)
        self.server, self.session = server, oracle_session(server)
        self._seen = connect(server.address)
        for statement in self.dialect.procedures:
            ours = "kneebench_refuse AS" in statement
            self.session.run(REFUSE if ours else statement)

    def rows(self, statement: str) -> Sequence[Sequence[Any]]:
        return self._seen.rows(statement)

    def call(self, name: str, *given: int | str) -> bool:
        parameters = ", ".join(["%s"] * len(given))
        try:
            self.session.run(f"CALL kneebench_{name}({parameters})", *given)
        except pymysql.Error as error:
            if "KB001" not in str(error) and error.args[0] != 1644:
                raise
            return False
        return True


def oracle_session(server: InnodbServer) -> InnodbSession:
    session = connect(server.address)
    session.run("SET sql_mode = 'ORACLE', autocommit = 0")
    return session


@pytest.fixture(scope="module")
def oracle_mode(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with restored_mariadb(tmp_path_factory.mktemp("bodies")) as running:
        yield OracleMode(running)


@pytest.fixture(scope="module")
def sql_pl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    dialect = dialect_in(Path(db2.__file__).parent)
    with Hsqldb(tmp_path_factory.mktemp("hsqldb"), dialect) as database:
        yield database


@pytest.fixture(
    params=[
        pytest.param("oracle_mode", marks=[pytest.mark.mariadb, WITHOUT_MARIADB]),
        pytest.param("sql_pl", marks=WITHOUT_HSQLDB),
    ]
)
def database(request: pytest.FixtureRequest) -> Database:
    found: Database = request.getfixturevalue(request.param)
    return found


def order(
    database: Database,
    d: int,
    c: int,
    items: Sequence[int],
    sold: Sequence[int],
    *,
    remote: int = 0,
) -> bool:
    """One of warehouse 1, as the load generator sends it; `remote`: an item of warehouse 2."""
    given = zip(items, sold, strict=True)
    lines = sorted((2 if item == remote else 1, item, quantity) for item, quantity in given)
    text = "".join(f"{item:06}{supplier:06}{quantity:02}" for supplier, item, quantity in lines)
    return database.call("new_order", 1, d, c, len(lines), int(bool(remote)), text)


def stock(database: Database, item: int, supplier: int = 1) -> tuple[int, ...]:
    [row] = database.rows(
        "SELECT s_quantity, s_ytd, s_order_cnt, s_remote_cnt FROM stock"
        f" WHERE s_i_id = {item} AND s_w_id = {supplier}"
    )
    return tuple(map(int, row))


def broken(database: Database) -> list[str]:
    """The conditions that do not hold, by the dialect's own queries."""
    asked = ((one, one.query.replace("{warehouses}", "(1)")) for one in database.dialect.conditions)
    found = ((one.holds, database.rows(query)) for one, query in asked)
    return [f"{holds}: {places[0]}" for holds, places in found if places]


def test_an_item_named_repeatedly_is_taken_each_time(database: Database) -> None:
    before, (items, quantities) = stock(database, 21), REPEATED
    assert order(database, 4, 6, items, quantities)
    assert stock(database, 21) == after(after(after(before, 2), 3), 4)


def test_a_line_from_another_warehouse_is_counted_there(database: Database) -> None:
    columns = [f"s_dist_{number:02}" for number in range(1, 11)]
    names = f"s_ytd, s_quantity, s_order_cnt, s_remote_cnt, {', '.join(columns)}, s_data"
    copied = f"SELECT s_i_id, 2, {names} FROM stock WHERE s_i_id = 13 AND s_w_id = 1"
    database.rows(f"INSERT INTO stock (s_i_id, s_w_id, {names}) {copied}")
    before = stock(database, 11), stock(database, 13, 2)
    assert order(database, 3, 5, [11, 13], [1, 5], remote=13)
    after_it = stock(database, 11), stock(database, 13, 2)
    assert after_it == (after(before[0], 1), after(before[1], 5, remote=1))
    [[local]] = database.rows("SELECT o_all_local FROM orders WHERE o_d_id = 3 AND o_id = 3001")
    assert int(local) == 0
    database.rows("DELETE FROM stock WHERE s_w_id = 2")


def test_an_order_for_an_item_that_does_not_exist_leaves_nothing(database: Database) -> None:
    before = stock(database, 31), database.rows("SELECT SUM(d_next_o_id) FROM district")
    assert not order(database, 5, 7, [31, UNUSED_ITEM], [1, 2])
    assert (stock(database, 31), database.rows("SELECT SUM(d_next_o_id) FROM district")) == before


@pytest.mark.parametrize("name", NAMES)
def test_a_payment_by_name_is_of_the_middle_one_by_first_name(
    database: Database, name: str
) -> None:
    same = f"c_w_id = 1 AND c_d_id = 1 AND c_last = '{name}'"
    customers = database.rows(f"SELECT c_id FROM customer WHERE {same} ORDER BY c_first, c_id")
    paid = f"SELECT c_id, c_payment_cnt FROM customer WHERE {same}"
    before = {int(number): int(count) for number, count in database.rows(paid)}
    assert database.call("payment", 1, 1, 1, 1, 0, name, 500)
    after_it = {int(number): int(count) for number, count in database.rows(paid)}
    chosen = middle([int(number) for (number,) in customers])
    assert after_it == {**before, chosen: before[chosen] + 1}
    assert database.call("order_status", 1, 1, 0, name)


def test_bad_credit_writes_down_the_payment(database: Database) -> None:
    of = "SELECT MIN(c_id) FROM customer WHERE c_d_id = 6 AND c_credit = 'BC'"
    number = int(database.rows(of)[0][0])
    data = f"SELECT c_data FROM customer WHERE c_d_id = 6 AND c_id = {number}"
    before = str(database.rows(data)[0][0])
    assert database.call("payment", 1, 8, 1, 6, number, "", 512)
    assert database.rows(data)[0][0] == bad_credit((number, 6, 1), (8, 1), "5.12", before)


def test_after_many_transactions_every_condition_holds(database: Database) -> None:
    paid = "SELECT SUM(h_amount) FROM history"
    before, draw, rolled_back = Decimal(str(database.rows(paid)[0][0])), random.Random(1), 0
    payments = 0
    for one in drawn(1, DRAWS):
        if one.items:
            rolled_back += not order(
                database, one.district, one.customer, one.items, one.quantities
            )
        elif one.customer:
            payments += database.call("payment", 1, one.district, 1, 2, one.customer, "", 100)
        else:
            database.call("delivery", 1, draw.randint(1, 10))
            database.call("stock_level", 1, 1, draw.randint(10, 20))
            database.call("order_status", 1, 1, draw.randint(1, 30), "")
    assert rolled_back > 0
    assert Decimal(str(database.rows(paid)[0][0])) == before + payments
    assert broken(database) == []


@WITHOUT_MARIADB
@pytest.mark.mariadb
def test_many_users_of_plsql_on_the_same_rows_do_not_deadlock(oracle_mode: OracleMode) -> None:
    """Row locks are taken in one order by all (procedures.sql)."""
    failures = list[str]()

    def storm(seed: int) -> None:
        with oracle_session(oracle_mode.server) as session:
            for one in drawn(seed, calls=60):
                try:
                    _run(session, one)
                except pymysql.Error as error:
                    if "KB001" not in str(error) and error.args[0] != 1644:
                        failures.append(str(error))

    users = [threading.Thread(target=storm, args=(seed,)) for seed in range(6)]
    for thread in users:
        thread.start()
    for thread in users:
        thread.join()
    assert failures == []
    assert broken(oracle_mode) == []


def _run(session: InnodbSession, one: Drawn) -> None:
    if one.items:
        lines = sorted(zip(one.items, one.quantities, strict=True))
        text = "".join(f"{item:06}{1:06}{quantity:02}" for item, quantity in lines)
        given = (1, one.district, one.customer, len(lines), 0, text)
        session.run("CALL kneebench_new_order(%s, %s, %s, %s, %s, %s)", *given)
    elif one.customer:
        call = "CALL kneebench_payment(1, %s, 1, %s, %s, '', 500)"
        session.run(call, one.district, one.district, one.customer)
    else:
        session.run("CALL kneebench_delivery(1, 3)")


def test_a_broken_condition_is_found(database: Database) -> None:
    database.rows("UPDATE district SET d_ytd = d_ytd + 1 WHERE d_id = 3")
    assert [one.partition(":")[0] for one in broken(database)] == [
        "W_YTD = sum D_YTD",
        "D_YTD = sum H_AMOUNT of the district",
    ]
    database.rows("UPDATE district SET d_ytd = d_ytd - 1 WHERE d_id = 3")
