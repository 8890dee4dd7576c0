"""The tables that HammerDB 6 makes on SQL Server, with data that differ from ours as its do.

Types are money, tinyint and char; districts and warehouses are padded to a page. Balances do not
contain the amounts of delivered lines, half of the customers have no order, and by its bulk load
(bcp) undelivered orders have a carrier and no date.
"""

from __future__ import annotations

from kneebench.databases.engines.sqlserver.database import MARK, connect_to
from kneebench.databases.engines.sqlserver.server_address import SqlServerAddress
from kneebench.databases.engines.sqlserver.session import SqlServerSession


def address(of: str) -> str:
    streets = ", ".join(f"{of}_{name} char(20)" for name in ("street_1", "street_2", "city"))
    return f"{streets}, {of}_state char(2), {of}_zip char(9)"


DISTRICTS = ", ".join(f"s_dist_{number:02} char(24)" for number in range(1, 11))
TABLES = {
    "customer": (
        "c_id int NOT NULL, c_d_id tinyint NOT NULL, c_w_id int NOT NULL, c_discount smallmoney,"
        " c_credit_lim money, c_last char(16), c_first char(16), c_credit char(2), c_balance money,"
        f" c_ytd_payment money, c_payment_cnt smallint, c_delivery_cnt smallint, {address('c')},"
        " c_phone char(16), c_since datetime, c_middle char(2), c_data char(500)"
    ),
    "district": (
        "d_id tinyint NOT NULL, d_w_id int NOT NULL, d_ytd money NOT NULL, d_next_o_id int,"
        f" d_tax smallmoney, d_name char(10), {address('d')},"
        " padding char(6000) NOT NULL DEFAULT 'x', PRIMARY KEY (d_w_id, d_id)"
    ),
    "history": (
        "h_c_id int, h_c_d_id tinyint, h_c_w_id int, h_d_id tinyint, h_w_id int, h_date datetime,"
        " h_amount smallmoney, h_data char(24)"
    ),
    "item": (
        "i_id int NOT NULL, i_name char(24), i_price smallmoney, i_data char(50), i_im_id int,"
        " PRIMARY KEY (i_id)"
    ),
    "new_order": "no_o_id int NOT NULL, no_d_id tinyint NOT NULL, no_w_id int NOT NULL",
    "orders": (
        "o_id int NOT NULL, o_d_id tinyint NOT NULL, o_w_id int NOT NULL, o_c_id int NOT NULL,"
        " o_carrier_id tinyint, o_ol_cnt tinyint, o_all_local tinyint, o_entry_d datetime"
    ),
    "order_line": (
        "ol_o_id int NOT NULL, ol_d_id tinyint NOT NULL, ol_w_id int NOT NULL,"
        " ol_number tinyint NOT NULL, ol_i_id int, ol_delivery_d datetime, ol_amount smallmoney,"
        " ol_supply_w_id int, ol_quantity smallint, ol_dist_info char(24)"
    ),
    "stock": (
        "s_i_id int NOT NULL, s_w_id int NOT NULL, s_quantity smallint NOT NULL,"
        " s_ytd int NOT NULL, s_order_cnt smallint, s_remote_cnt smallint, s_data char(50),"
        f" {DISTRICTS}, PRIMARY KEY (s_w_id, s_i_id)"
    ),
    "warehouse": (
        "w_id int NOT NULL, w_ytd money NOT NULL, w_tax smallmoney NOT NULL, w_name char(10),"
        f" {address('w')}, padding char(4000) NOT NULL DEFAULT 'x', PRIMARY KEY (w_id)"
    ),
}
INDEXES = (
    "CREATE UNIQUE CLUSTERED INDEX customer_i1 ON dbo.customer (c_w_id, c_d_id, c_id)",
    "CREATE UNIQUE CLUSTERED INDEX new_order_i1 ON dbo.new_order (no_w_id, no_d_id, no_o_id)",
    "CREATE UNIQUE CLUSTERED INDEX orders_i1 ON dbo.orders (o_w_id, o_d_id, o_id)",
    "CREATE UNIQUE CLUSTERED INDEX order_line_i1"
    " ON dbo.order_line (ol_w_id, ol_d_id, ol_o_id, ol_number)",
    "CREATE INDEX customer_c_last ON dbo.customer (c_w_id, c_d_id, c_last, c_first, c_id)",
    "CREATE INDEX orders_i2 ON dbo.orders (o_w_id, o_d_id, o_c_id, o_id)",
)
DATA = (
    "UPDATE dbo.orders SET o_c_id = o_c_id - (o_c_id + 1) % 2",
    "UPDATE dbo.order_line SET ol_amount = CASE WHEN ol_o_id > 2100 THEN 0"
    " ELSE 0.1 * (1 + ol_i_id % 1000) END",
)
BROKEN = {10, 12}
"""Conditions that such data break from the start."""
BY_BCP = (
    "UPDATE dbo.orders SET o_carrier_id = 1 + o_id % 10, o_entry_d = NULL"
    " WHERE o_id BETWEEN 2101 AND 3000 AND o_carrier_id IS NULL"
)


def rebuild(there: SqlServerAddress) -> None:
    """HammerDB's tables in place of ours, in a database that kneebench loaded; no trace of ours."""
    with connect_to(there) as inside:
        for table, columns in TABLES.items():
            _rebuild_table(inside, table, columns)
        procedures = inside.execute(
            "SELECT name FROM sys.procedures WHERE schema_id = SCHEMA_ID('kneebench')"
        )
        drops = [f"DROP PROCEDURE kneebench.{name}" for (name,) in procedures]
        for statement in (*INDEXES, *DATA, *drops, "DROP SCHEMA kneebench", f"DROP TABLE {MARK}"):
            inside.execute(statement)


def _rebuild_table(inside: SqlServerSession, table: str, columns: str) -> None:
    asked = f"SELECT name FROM sys.columns WHERE object_id = OBJECT_ID('dbo.{table}')"
    names = ", ".join(name for (name,) in inside.execute(asked))
    for statement in (
        f"CREATE TABLE dbo.theirs ({columns})",
        f"INSERT INTO dbo.theirs ({names}) SELECT {names} FROM dbo.{table}",
        f"DROP TABLE dbo.{table}",
        f"EXEC sp_rename 'dbo.theirs', '{table}', 'OBJECT'",
    ):
        inside.execute(statement)
