"""TPROC-H: rows as dbgen makes them, in every engine; and the 22 queries, whose answers are those
of DuckDB over the same rows.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any

import pytest

from kneebench._core import Address, Dataset, Loading, TableLoad
from kneebench.databases.engine import core_address
from kneebench.databases.engines.postgres.address import connect
from kneebench.databases.innodb.server_address import InnodbAddress
from kneebench.databases.innodb.session import connect as connect_mariadb
from kneebench.databases.tproc_h.answers import Reference, Rows, difference
from kneebench.databases.tproc_h.parameters import COLORS, NATIONS, drawn, validation
from kneebench.databases.tproc_h.queries import Query, queries
from kneebench.databases.tproc_h.tables import TABLES
from tests import mariadb_elsewhere as elsewhere
from tests.loaded import Servers
from tests.mariadb_elsewhere import WITHOUT_MARIADB, MariadbElsewhere

mariadb_elsewhere = elsewhere.mariadb_elsewhere
SCALE = 0.02
Ask = Callable[[str], Rows]


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reference]:
    with closing(Reference(SCALE, tmp_path_factory.mktemp("reference"))) as made:
        yield made


def fill(address: Address, making: str, filling: str) -> Mapping[str, int]:
    """Load all tables; what was loaded."""
    tables = [
        TableLoad(
            name=name,
            before=[making.format(name, table.declaration)],
            fill=filling.format(name),
        )
        for name, table in reversed(TABLES.items())
    ]
    dataset = Dataset.tproc_h(scale=SCALE)
    loading = Loading(address=address, dataset=dataset, streams=2, tables=tables)
    loading.start()
    while not loading.wait(60):
        pass
    return loading.progress()


@pytest.fixture(scope="module")
def postgres(servers: Servers) -> Iterator[Ask]:
    address = servers(None).empty()
    making, filling = "CREATE TABLE public.{} ({})", "COPY public.{} FROM STDIN (FORMAT binary)"
    fill(core_address(address), making, filling)
    with connect(address) as session:
        for name, table in TABLES.items():
            session.execute(f"ALTER TABLE {name} ADD PRIMARY KEY ({', '.join(table.key)})".encode())
        session.execute("ANALYZE")
        yield lambda statement: session.execute(statement.encode()).fetchall()


@pytest.fixture(scope="module")
def mariadb(mariadb_elsewhere: MariadbElsewhere) -> Iterator[Ask]:
    mariadb_elsewhere.execute("CREATE DATABASE tproc_h")
    address = mariadb_elsewhere.address.model_copy(update={"database": "tproc_h"})
    assert isinstance(address, InnodbAddress)
    filling = "LOAD DATA LOCAL INFILE 'rows' INTO TABLE {} CHARACTER SET ascii"
    fill(core_address(address), "CREATE TABLE {} ({}) CHARACTER SET ascii", filling)
    with closing(connect_mariadb(address)) as session:
        for name, table in TABLES.items():
            session.run(f"ALTER TABLE {name} ADD PRIMARY KEY ({', '.join(table.key)})")
            session.run(f"ANALYZE TABLE {name}")
        yield session.rows


def wrong_answers(ask: Ask, reference: Reference, statements: Mapping[int, str]) -> dict[int, str]:
    """What is wrong with the answers of a database, by the query's number."""
    found = {
        number: difference(ask(statement), reference.answer(statement))
        for number, statement in statements.items()
    }
    return {number: wrong for number, wrong in found.items() if wrong}


def validating() -> dict[int, str]:
    return {one.number: one.statement(validation(one.number, SCALE)) for one in queries()}


def test_the_answers_of_postgres_are_right(postgres: Ask, reference: Reference) -> None:
    assert wrong_answers(postgres, reference, validating()) == {}
    for name in TABLES:
        [(count,)] = postgres(f"SELECT count(*) FROM {name}")
        assert count == reference.count(name)


@WITHOUT_MARIADB
def test_the_answers_of_mariadb_are_right(mariadb: Ask, reference: Reference) -> None:
    assert wrong_answers(mariadb, reference, validating()) == {}


@pytest.mark.parametrize("seed", range(3))
def test_the_answers_of_a_stream_are_right(postgres: Ask, reference: Reference, seed: int) -> None:
    draw = random.Random(seed)
    drawn_of = {one.number: one.statement(drawn(one.number, draw, SCALE)) for one in queries()}
    assert wrong_answers(postgres, reference, drawn_of) == {}


WEAKER: dict[int, tuple[str, str]] = {
    1: ("WHERE l_shipdate <= {date}", ""),
    2: ("p_size = {size} AND ", ""),
    3: (" AND l_shipdate > {date}", ""),
    4: (" AND l_commitdate < l_receiptdate", ""),
    5: (" AND s_nationkey = c_nationkey", ""),
    6: ("    AND l_quantity < {quantity}", ""),
    7: ("DATE '1996-12-31'", "DATE '1997-12-31'"),
    8: (" AND p_type = '{type}'", ""),
    9: ("    WHERE p_name LIKE '%{color}%'", ""),
    10: (" AND l_returnflag = 'R'", ""),
    11: ("> (\n    SELECT sum", "> (\n    SELECT 0.1 * sum"),
    12: (" AND l_shipdate < l_commitdate", ""),
    13: ("%{word1}%{word2}%", "%{word1}%{word2}"),
    14: ("l_shipdate >= {date} AND ", ""),
    15: ("l_shipdate >= {date} AND ", ""),
    16: ("LIKE '{type}%'", "LIKE '{type} %X'"),
    17: ("    AND l_quantity < (", "    AND l_quantity <= 2 * ("),
    18: ("> {quantity}", "> {quantity} - 40"),
    19: (" AND p_size BETWEEN 1 AND 15", ""),
    20: ("LIKE '{color}%'", "LIKE '%{color}%'"),
    21: (" AND o_orderstatus = 'F'", ""),
    22: ("        AND NOT EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey)", ""),
}
"""What of each query is left out, or lets more through."""


@pytest.mark.parametrize("query", queries(), ids=lambda query: str(query.number))
def test_a_weaker_query_is_noticed(query: Query, postgres: Ask, reference: Reference) -> None:
    part, weaker = WEAKER[query.number]
    assert part in query.text
    parameters = validation(query.number, SCALE)
    right = reference.answer(query.statement(parameters))
    weak = query._replace(text=query.text.replace(part, weaker))
    assert difference(postgres(weak.statement(parameters)), right)


def test_names_that_streams_draw_are_those_of_the_rows(reference: Reference) -> None:
    assert reference.answer("SELECT count(*), max(n_regionkey) FROM nation") == [(25, 4)]
    regions = "SELECT n_name, r_name FROM nation JOIN region ON r_regionkey = n_regionkey"
    assert dict(reference.answer(regions)) == NATIONS
    words = reference.answer("SELECT DISTINCT unnest(string_split(p_name, ' ')) FROM part")
    assert {word for (word,) in words} == {*COLORS}
    for number in range(1, 23):
        given: set[str] = set()
        for seed in range(30):
            parameters: Any = drawn(number, random.Random(seed), 1)
            assert parameters.keys() == validation(number, 1).keys()
            given.add(str(parameters))
        assert len(given) > 1


def test_what_a_row_refers_to_is_there(reference: Reference) -> None:
    for name, table in TABLES.items():
        for columns, other in table.refers.items():
            ours, theirs = ", ".join(columns), ", ".join(TABLES[other].key)
            missing = f"SELECT {ours} FROM {name} EXCEPT SELECT {theirs} FROM {other}"
            assert reference.answer(missing) == []


def test_scales_and_tables_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match=r"scales of 0\.001 to 10000"):
        Dataset.tproc_h(scale=0)
    load = TableLoad(name="warehouse", before=[], fill="")
    address: Any = Address(protocol="postgres", host="/nowhere", port=1, user="a", database="b")
    with pytest.raises(ValueError, match="unknown table"):
        Loading(address=address, dataset=Dataset.tproc_h(scale=1), streams=1, tables=[load])
