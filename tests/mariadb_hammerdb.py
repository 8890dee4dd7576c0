"""The tables that HammerDB 6 makes on MariaDB, with data that differ from ours as its do.

Its columns are in another order and of wider types; amounts of order lines are whole numbers; text
is latin1, compared byte by byte (BINARY). Delivered lines have amounts that no balance contains,
and half of the customers have no order. W_YTD is ten times the sum of D_YTD, as before version 4.9.
"""

from __future__ import annotations

from kneebench.databases.innodb.session import connect
from tests.mariadb_elsewhere import MariadbElsewhere


def address(of: str) -> str:
    texts = "".join(
        f"{of}_{name} varchar(20) BINARY, " for name in ("street_1", "street_2", "city")
    )
    return f"{texts}{of}_state char(2) BINARY, {of}_zip char(9) BINARY"


DISTRICTS = ", ".join(f"s_dist_{number:02} char(24) BINARY" for number in range(1, 11))
TABLES = {
    "customer": (
        "c_id int(5), c_d_id int(2), c_w_id int(4), c_first varchar(16) BINARY,"
        f" c_middle char(2) BINARY, c_last varchar(16) BINARY, {address('c')},"
        " c_phone char(16) BINARY, c_since datetime, c_credit char(2) BINARY,"
        " c_credit_lim decimal(12, 2), c_discount decimal(4, 4), c_balance decimal(12, 2),"
        " c_ytd_payment decimal(12, 2), c_payment_cnt int(8), c_delivery_cnt int(8),"
        " c_data varchar(500) BINARY, PRIMARY KEY (c_w_id, c_d_id, c_id),"
        " KEY c_w_id (c_w_id, c_d_id, c_last(16), c_first(16))"
    ),
    "district": (
        "d_id int(2), d_w_id int(4), d_ytd decimal(12, 2), d_tax decimal(4, 4), d_next_o_id int,"
        f" d_name varchar(10) BINARY, {address('d')}, PRIMARY KEY (d_w_id, d_id)"
    ),
    "history": (
        "h_c_id int, h_c_d_id int, h_c_w_id int, h_d_id int, h_w_id int, h_date datetime,"
        " h_amount decimal(6, 2), h_data varchar(24) BINARY"
    ),
    "item": (
        "i_id int(6), i_im_id int, i_name varchar(24) BINARY, i_price decimal(5, 2),"
        " i_data varchar(50) BINARY, PRIMARY KEY (i_id)"
    ),
    "new_order": "no_w_id int, no_d_id int, no_o_id int, PRIMARY KEY (no_w_id, no_d_id, no_o_id)",
    "orders": (
        "o_id int, o_w_id int, o_d_id int, o_c_id int, o_carrier_id int, o_ol_cnt int,"
        " o_all_local int, o_entry_d datetime, PRIMARY KEY (o_w_id, o_d_id, o_id),"
        " KEY o_w_id (o_w_id, o_d_id, o_c_id, o_id)"
    ),
    "order_line": (
        "ol_w_id int, ol_d_id int, ol_o_id int, ol_number int, ol_i_id int,"
        " ol_delivery_d datetime, ol_amount int, ol_supply_w_id int, ol_quantity int,"
        " ol_dist_info char(24) BINARY, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number)"
    ),
    "stock": (
        f"s_i_id int(6), s_w_id int(6), s_quantity int(6), {DISTRICTS}, s_ytd bigint(10),"
        " s_order_cnt int(6), s_remote_cnt int(6), s_data varchar(50) BINARY,"
        " PRIMARY KEY (s_w_id, s_i_id)"
    ),
    "warehouse": (
        "w_id int(6), w_ytd decimal(12, 2), w_tax decimal(4, 4), w_name varchar(10) BINARY,"
        f" {address('w')}, PRIMARY KEY (w_id)"
    ),
}
OPTIONS = {
    "history": ", id bigint NOT NULL INVISIBLE AUTO_INCREMENT PRIMARY KEY",
    "order_line": "PARTITION BY HASH (ol_w_id) PARTITIONS 2",
}
"""A key of history, and partitions, which HammerDB makes on request."""
DATA = (
    "UPDATE warehouse SET w_ytd = 3000000",
    "UPDATE customer SET c_balance = -10, c_ytd_payment = 10",
    "UPDATE orders SET o_c_id = o_c_id - (o_c_id + 1) % 2",
    "UPDATE order_line SET ol_amount = IF(ol_o_id > 2100, 0, 1 + ol_i_id % 100)",
)
BROKEN = {1, 8, 10, 12}
"""Conditions that such data break from the start."""
VISIBLE = """
SELECT column_name FROM information_schema.columns
WHERE table_schema = %s AND table_name = %s AND extra NOT LIKE '%%INVISIBLE%%'"""


def make(there: MariadbElsewhere, database: str, image: str, *, options: bool = False) -> None:
    """HammerDB's tables in a database, with the rows of a base image."""
    there.execute(
        f"CREATE DATABASE {database} CHARACTER SET latin1 COLLATE latin1_swedish_ci",
        f"GRANT ALL PRIVILEGES ON {database}.* TO tester@'127.0.0.1'",
    )
    with connect(there.address, database) as session:
        for table, columns in TABLES.items():
            more = OPTIONS.get(table, "") if options else ""
            column, partitions = (more, "") if more.startswith(",") else ("", more)
            session.run(f"CREATE TABLE {table} ({columns}{column}) ENGINE = InnoDB {partitions}")
            names = ", ".join(str(name) for (name,) in session.rows(VISIBLE, database, table))
            session.run(f"INSERT INTO {table} ({names}) SELECT {names} FROM {image}.{table}")
        for statement in DATA:
            session.run(statement)
