"""Files are whole or not there, whatever kills the writer; other formats are refused."""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from duckdb import DuckDBPyConnection

from kneebench.errors import KneebenchError
from kneebench.plan.study import Study
from kneebench.records import Second, Series
from kneebench.results import Store, load, parquet
from kneebench.results.archive import entries, write_archive
from kneebench.results.atomic_write import write_atomically
from kneebench.results.file_schemas import schemas
from kneebench.results.formats import DOCUMENTS, FORMAT
from kneebench.results.parquet import connect, write_seconds, write_series
from kneebench.results.tables import read_seconds, read_series
from tests.recorded.record import unpack
from tests.recordings import (
    PLATEAU,
    recorded,
    recorded_host,
    recorded_plan,
    recorded_rung,
    with_order,
)

INTERRUPTED_IN_THE_IMPORT = """
import os, signal, sys
from pathlib import Path
from kneebench.results.parquet import write_series

def interrupt(frame, event, arg):
    if event == "call" and "duckdb" in sys.modules and frame.f_code.co_filename.endswith("enum.py"):
        sys.setprofile(None)
        print("in the import", flush=True)
        os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.setprofile(interrupt)
try:
    write_series(Path(sys.argv[1]), [])
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
KILLED_HALFWAY = """
import os, signal, sys
from pathlib import Path
from kneebench.results.atomic_write import write_atomically

def half(part):
    with part.open("w") as out:
        out.write("half")
        out.flush()
        os.kill(os.getpid(), signal.SIGKILL)

write_atomically(Path(sys.argv[1]), half)
"""
PUTS_FOR_EVER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from tests.recordings import recorded_rung, with_order
from kneebench.results import Store
store, measured = Store(Path(sys.argv[1])), recorded_rung("final_run")
for repeat in range(1, 100_000):
    store.put(measured._replace(rung=with_order(measured.rung, repeat=repeat)))
    print("kept", flush=True)
"""


def test_a_writer_killed_halfway_leaves_the_old_file(tmp_path: Path) -> None:
    file = tmp_path / "rung.json"
    file.write_text("old")
    assert (
        subprocess.run([sys.executable, "-c", KILLED_HALFWAY, str(file)], check=False).returncode
        == -9
    )
    assert file.read_text() == "old"


def test_a_writer_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fails(part: Path) -> None:
        part.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space") as told:
        write_atomically(tmp_path / "rung.json", fails)
    assert told.value.filename == str(tmp_path / "rung.json")
    assert list(tmp_path.iterdir()) == []


def test_a_campaign_killed_while_it_keeps_rungs_has_only_whole_files_and_goes_on(
    tmp_path: Path,
) -> None:
    folder = Store.create(tmp_path, Study(recorded_plan()), recorded_host()).folder
    measured = recorded_rung("final_run")
    assert measured.series
    for pause_s in (0.05, 0.11, 0.17):
        writer = subprocess.Popen(
            [sys.executable, "-c", PUTS_FOR_EVER, str(folder), str(Path(__file__).parents[1])],
            stdout=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )
        assert writer.stdout
        writer.stdout.readline()
        time.sleep(pause_s)
        writer.kill()
        writer.wait()
        writer.stdout.close()
        rungs = load(folder).climbs[0].rungs
        assert rungs
        for rung in rungs:
            assert rung.order.repeat
            file = folder / "series" / f"{rung.order.key}.parquet"
            assert read_series(file) == measured.series
    Store(folder).close()
    assert [str(file) for file in folder.rglob("*.part")] == []


def test_what_a_kill_left_half_written_is_no_measured_file_that_is_missing(tmp_path: Path) -> None:
    folder = Store.create(tmp_path, Study(recorded_plan()), recorded_host()).folder
    (folder / "seconds" / ".half.parquet.77.part").write_bytes(b"half")
    store = Store(folder)
    store.put(recorded_rung("final_run"))
    store.close()
    assert len(list((folder / "rungs").iterdir())) == 1


def test_a_newer_format_is_refused_with_what_to_do(tmp_path: Path) -> None:
    folder = unpack(PLATEAU, tmp_path)
    head = json.loads((folder / "campaign.json").read_text())
    (folder / "campaign.json").write_text(json.dumps({**head, "format": FORMAT + 1}))
    with pytest.raises(
        KneebenchError, match=r"campaign\.json.*newer than.*install a newer kneebench"
    ):
        load(folder)


def test_an_older_format_is_refused_with_the_version_that_wrote_it(tmp_path: Path) -> None:
    folder = unpack(PLATEAU, tmp_path)
    head = json.loads((folder / "campaign.json").read_text())
    (folder / "campaign.json").write_text(json.dumps({**head, "format": FORMAT - 1}))
    said = rf"campaign\.json: format {FORMAT - 1} is that of a development version of kneebench"
    with pytest.raises(KneebenchError, match=rf"{said} 0\.1\.0.*measure again"):
        load(folder)
    archive = tmp_path / "old.kneebench"
    write_archive(archive, entries(folder))
    with pytest.raises(KneebenchError, match=r"old\.kneebench/campaign.*the version that wrote it"):
        load(archive)


def test_every_document_is_written_in_the_current_format() -> None:
    assert {kind.model_fields["format"].default for kind in DOCUMENTS.values()} == {FORMAT}


@pytest.mark.parametrize(
    ("kind", "pattern"),
    [
        ("campaign", "campaign.json"),
        ("rung", "rungs/*.json"),
        ("climb", "climbs/*.json"),
        ("conditions", "conditions/*.json"),
        ("finished", "finished.json"),
    ],
)
def test_every_document_of_a_campaign_fits_its_schema(kind: str, pattern: str) -> None:
    schema, folder = schemas()[kind], recorded().folder
    assert folder
    files = sorted(folder.glob(pattern))
    assert files
    for file in files:
        jsonschema.validate(json.loads(file.read_text()), schema)


def test_series_and_seconds_come_back_as_they_were_written_what_is_no_number_too(
    tmp_path: Path,
) -> None:
    series = (
        Series(
            quantity="device.reads",
            source="sd\u00e4",
            unit="1/s",
            at_s=(1.0, 2.0),
            value=(0.1, math.inf),
        ),
        Series(quantity="log.write_latency", source="", unit="s", at_s=(2.0,), value=(math.nan,)),
    )
    write_series(tmp_path / "series.parquet", series)
    assert repr(read_series(tmp_path / "series.parquet")) == repr(series)
    counts = {"committed": 2**40, "rolled_back": 0, "failed": 0, "unknown": 1}
    second = Second(
        at_s=3,
        transaction="payment",
        **counts,
        mean_s=math.nan,
        p50_s=1e-6,
        p99_s=2.0,
        p999_s=3.0,
        max_s=4.0,
        histogram="HIST",
    )
    write_seconds(tmp_path / "seconds.parquet", [second])
    assert repr(read_seconds(tmp_path / "seconds.parquet")) == repr((second,))
    write_series(tmp_path / "none.parquet", ())
    assert read_series(tmp_path / "none.parquet") == ()


def test_series_of_unequal_times_and_values_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="shorter"):
        write_series(
            tmp_path / "series.parquet",
            [Series(quantity="q", source="", unit="s", at_s=(1.0, 2.0), value=(1.0,))],
        )


def test_a_rung_whose_name_leaves_the_folder_is_refused(tmp_path: Path) -> None:
    store = Store.create(tmp_path, Study(recorded_plan()), recorded_host())
    measured = recorded_rung("search")
    with pytest.raises(KneebenchError, match="not a valid file name"):
        store.put(measured._replace(rung=with_order(measured.rung, configuration=f"..{os.sep}out")))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A campaign with one rung, open for writing."""
    store = Store.create(tmp_path / "campaigns", Study(recorded_plan()), recorded_host())
    store.put(recorded_rung("search"))
    return store


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_a_table_is_written_or_read_is_the_interrupt_that_it_is_elsewhere(
    tmp_path: Path, number: signal.Signals
) -> None:
    def interrupt(seen: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(number, interrupt)
    try:
        table = (
            "COPY (SELECT hash(range) AS b FROM range(1000000000) ORDER BY b) TO"
            f" '{tmp_path / 'table.parquet'}' (FORMAT parquet)"
        )
        for slow in (
            table,
            "SELECT max(hash(a.range + b.range)) FROM range(1000000) a, range(1000000) b",
        ):
            with pytest.raises(KeyboardInterrupt), connect() as database:
                threading.Timer(0.2, os.kill, (os.getpid(), number)).start()
                database.execute(slow).fetchall()
    finally:
        signal.signal(number, before)


class Stopped:
    """A value during whose reading Ctrl-C is pressed."""

    def __str__(self) -> str:
        os.kill(os.getpid(), signal.SIGINT)
        return "stopped"


def test_a_signal_while_the_table_engine_is_imported_is_the_interrupt_too(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_IN_THE_IMPORT, str(tmp_path / "series.parquet")],
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        ["in the import", "interrupted"],
    ), done.stderr


def test_a_signal_while_values_are_read_out_of_python_is_the_interrupt_too() -> None:
    """DuckDB calls the handler there too, and what that raises becomes an error of another kind."""
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), connect() as database:
        database.register("kept", {"a": np.array([Stopped()], dtype=object)})
        database.execute("SELECT a FROM kept").fetchall()
    assert signal.getsignal(signal.SIGINT) is before


def test_a_full_disk_while_a_table_is_written_is_told_like_any_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, parts = parquet._copy, list[Path]()

    def on_a_full_disk(database: DuckDBPyConnection, made: str, part: Path) -> None:
        part.unlink()
        part.symlink_to("/dev/full")
        parts.append(part)
        copy(database, made, part)

    monkeypatch.setattr(parquet, "_copy", on_a_full_disk)
    file = tmp_path / "series.parquet"
    with pytest.raises(OSError, match="No space left on device") as told:
        write_series(
            file, [Series(quantity="cores.busy", source="", unit="", at_s=(1.0,), value=(0.5,))]
        )
    assert (told.value.errno, told.value.filename) == (errno.ENOSPC, str(file))
    assert [part.is_symlink() for part in parts] == [False]


def test_a_folder_that_is_removed_in_mid_campaign_is_not_made_again(
    store: Store, tmp_path: Path
) -> None:
    shutil.rmtree(store.folder)
    for write in (
        lambda: store.put(recorded_rung("search", number=1)),
        lambda: store.put_note("still here"),
        store.finish,
    ):
        with pytest.raises(
            KneebenchError, match=r"the folder was removed or replaced.*restore it from a copy"
        ):
            write()
    assert not store.folder.exists()


def test_a_folder_that_is_replaced_in_mid_campaign_is_left_alone(store: Store) -> None:
    away = store.folder.rename(store.folder.with_name("away"))
    shutil.copytree(away, store.folder)
    with pytest.raises(KneebenchError, match="the folder was removed or replaced"):
        store.put(recorded_rung("search", number=1))
    assert not (store.folder / "rungs" / "disk.search-4.json").exists()


@pytest.mark.parametrize(
    "lost", ["rungs", "rungs/disk.search-2.json", "series/disk.search-2.parquet", "seconds"]
)
def test_files_that_are_removed_in_mid_campaign_end_it_with_their_name(
    store: Store, lost: str
) -> None:
    path = store.folder / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    missing = f"1 of the 3 files measured so far is missing: {lost.partition('/')[0]}/disk.search-2"
    for write in (lambda: store.put(recorded_rung("search", number=1)), store.finish):
        with pytest.raises(KneebenchError, match=missing):
            write()
    assert not (store.folder / "finished.json").exists()
