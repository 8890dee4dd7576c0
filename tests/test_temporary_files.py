"""Temporary files of a database in a directory or on a volume of their own: a query that spills
writes them there, on a real server.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from kneebench.databases.engines.postgres.address import connect
from kneebench.databases.engines.postgres.server import PostgresServer
from kneebench.databases.several import engine_of
from kneebench.lab.journal import Journal
from kneebench.lab.volumes.fio_on_drives import written_bytes
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Configuration, Event
from tests.loaded import shared_images, value
from tests.loop_devices import MIB, done, loop_device

root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: loop devices and mounts")
SPILL = "DECLARE spilled CURSOR FOR SELECT g FROM generate_series(1, 1500000) g ORDER BY g % 977, g"


def unwatched(event: Event) -> None:
    """Nobody looks."""


def plan(storage: dict[str, Any], **database: Any) -> Plan:
    return Plan.model_validate(
        {
            "database": {"base_image_path": shared_images(), "memory": None, **database},
            "workload": {"warehouses": 1},
            "ladder": {"users": 2, "checkpoints": 0},
            "storages": {"new": storage},
        }
    )


@contextlib.contextmanager
def restored(storage: dict[str, Any], journal: Journal) -> Iterator[PostgresServer]:
    engine = engine_of(Study(plan(storage)).databases, journal)
    with (
        closing(engine),
        engine.restored(Configuration(id="new", storage="new"), unwatched) as server,
    ):
        assert isinstance(server, PostgresServer)
        yield server


@contextlib.contextmanager
def spilled(server: PostgresServer) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """A session in the middle of a sort that is far larger than its memory."""
    with connect(server.address) as session, session.transaction():
        session.execute("SET LOCAL work_mem = '64kB'")
        session.execute(SPILL)
        session.execute("FETCH 1 FROM spilled")
        yield session


def files_below(place: Path) -> dict[str, int]:
    """Temporary files of sorts, with their bytes."""
    return {str(file): file.stat().st_size for file in place.rglob("pgsql_tmp*.*")}


@pytest.mark.parametrize("apart", [True, False])
def test_a_query_that_spills_writes_to_the_directory_of_temporary_files(
    tmp_path: Path, apart: bool
) -> None:
    journal, (data, other) = Journal(tmp_path / "journal"), (tmp_path / "data", tmp_path / "other")
    for place in (data, other):
        place.mkdir()
    places = {"path": data, **({"temporary_path": other} if apart else {})}
    with restored(places, journal) as server:
        with spilled(server) as session:
            there, elsewhere = (other, data) if apart else (data, other)
            assert sum(files_below(there).values()) > 10 * MIB
            assert files_below(elsewhere) == {}
            listed = "SELECT count(*) FROM pg_tablespace t, pg_ls_tmpdir(t.oid) WHERE spcname = %s"
            assert bool(value(session, listed, "kneebench_temporary")) == apart
        names = [one.name for one in server.settings]
        assert ("temp_tablespaces" in names) == apart
        assert [path.resolve() for path in server.paths] == [*places.values()]
    assert list(data.iterdir()) == list(other.iterdir()) == list(journal.folder.iterdir()) == []


@pytest.mark.root
@root
def test_data_log_and_temporary_files_have_a_volume_each(tmp_path: Path) -> None:
    journal, images = Journal(tmp_path / "journal"), [tmp_path / name for name in "abc"]
    with contextlib.ExitStack() as stack:
        drives = [str(stack.enter_context(loop_device(image, 1536 * MIB))) for image in images]
        data, log, temporary = ({"drives": [drive]} for drive in drives)
        temporary["file_system"] = {"type": "ext4"}  # type: ignore[assignment]
        with restored({**data, "log": log, "temporary": temporary}, journal) as server:
            assert len({path.stat().st_dev for path in server.paths}) == 3
            for path in server.paths:
                done("sync", "-f", path)
            before = list(map(written_bytes, drives))
            with spilled(server):
                [place] = [path for path in server.paths if files_below(path)]
                assert place == server.paths[2]
                done("sync", "-f", place)
            grown = [written_bytes(drive) - was for drive, was in zip(drives, before, strict=True)]
            assert grown[2] > 10 * MIB > grown[0]
    assert list(journal.folder.iterdir()) == []


def test_an_engine_without_a_place_for_temporary_files_is_an_error_of_the_plan() -> None:
    model = {"simulated": {}, "path": "/tmp", "temporary_path": "/tmp"}
    table = {"database": {"engine": "simulated"}, "storages": {"model": model}}
    with pytest.raises(ValueError, match="keeps temporary files with the data"):
        Plan.model_validate(table)


def test_two_places_for_temporary_files_in_one_plan_are_an_error() -> None:
    storage = {"path": "/srv", "temporary_path": "/tmp"}
    with pytest.raises(ValueError, match="has a place for temporary files"):
        plan(storage, settings={"temp_tablespaces": "mine"})
    with pytest.raises(ValueError, match="only together with a path"):
        plan({"drives": ["sda"], "temporary_path": "/tmp"})
    with pytest.raises(ValueError, match="other drives"):
        plan({"drives": ["sda"], "temporary": {"drives": ["sda"]}})
