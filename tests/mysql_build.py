"""The MySQL that `make debian` fetches, and one of somebody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from kneebench.databases.engines.mysql.builds import find_build
from kneebench.databases.engines.mysql.image import make_cluster
from kneebench.databases.engines.mysql.launcher import RunningMysql
from kneebench.databases.engines.mysql.server_settings import SETTINGS
from tests.mariadb_elsewhere import Product

BIN = Path(__file__).parent.parent / ".tools" / "mysql" / "bin"
WITHOUT = pytest.mark.skipif(
    not (BIN / "mysqld").exists(), reason="make debian has fetched no MySQL (Maven brings it)"
)
SMALL = {"bin_dir": str(BIN), "settings": {"innodb_redo_log_capacity": "64M"}}
"""A plan's keys for servers that are restored often and used for seconds."""


def mysql() -> Product:
    return Product("mysql", find_build(BIN), RunningMysql, SETTINGS, make_cluster)
