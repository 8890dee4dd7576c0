"""The MySQL engine: a running server by URL, asked as MariaDB is (engines/mariadb/remote.py)."""

from __future__ import annotations

from kneebench.databases.engine import Engine
from kneebench.databases.engines.mariadb.remote import RemoteMariadb
from kneebench.databases.engines.mariadb.versions import Product
from kneebench.lab.journal import Journal
from kneebench.plan.database_plan import DatabasePlan


def open_engine(plan: DatabasePlan, journal: Journal) -> Engine:
    """The engine that the plan requires; changes nothing."""
    return RemoteMariadb(plan, journal, Product.MYSQL)
