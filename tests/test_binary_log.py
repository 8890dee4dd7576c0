"""The binary log of a MariaDB or MySQL that kneebench starts: on where the plan says so, and with
the log.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kneebench.databases.innodb.session import connect
from kneebench.databases.several import engine_of
from kneebench.lab.journal import Journal
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Event
from tests import mysql_build
from tests.loaded import shared_images
from tests.mariadb_elsewhere import SMALL_LOG, WITHOUT_MARIADB

pytestmark = pytest.mark.mariadb
SMALL = {"engine": "mysql", **mysql_build.SMALL}


def unwatched(event: Event) -> None:
    """Nobody looks."""


@pytest.mark.parametrize(
    "database",
    [
        pytest.param({"engine": "mariadb", "settings": SMALL_LOG}, marks=WITHOUT_MARIADB),
        pytest.param(SMALL, marks=[pytest.mark.long, mysql_build.WITHOUT]),
    ],
    ids=["mariadb", "mysql"],
)
@pytest.mark.parametrize("apart", [True, pytest.param(False, marks=pytest.mark.long)])
def test_the_binary_log_is_with_the_log(
    database: dict[str, Any], apart: bool, tmp_path: Path
) -> None:
    for name in ("data", "log"):
        (tmp_path / name).mkdir()
    settings = {**database["settings"], "log_bin": True}
    places = {"path": tmp_path / "data", **({"log_path": tmp_path / "log"} if apart else {})}
    given = {
        "database": {"base_image_path": shared_images(), **database, "settings": settings},
        "storages": {"disk": places},
        "workload": {"warehouses": 1},
    }
    study = Study(Plan.model_validate(given))
    engine = engine_of(study.databases, Journal(tmp_path / "journal"))
    with engine.restored(study.configurations[0], unwatched) as server:
        with connect(server.address) as session:
            base = Path(str(session.value("SELECT @@GLOBAL.log_bin_basename")))
            session.run("CREATE TABLE kneebench.written (x int)")
        assert base.is_relative_to(tmp_path / ("log" if apart else "data"))
        assert base.name == "binlog"
        [first] = base.parent.glob("binlog.0*1")
        assert first.stat().st_size > 0
        assert any("the binary log is on" in note for note in server.notes)
    engine.close()
