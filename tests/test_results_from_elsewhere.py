"""A campaign's folder that somebody else made: whatever it contains, no command hangs on it, fills
the memory or writes outside it, and each names the file.
"""

from __future__ import annotations

import base64
import json
import os
import resource
import shutil
import socket
import stat
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import duckdb
import pytest
from typer.testing import CliRunner, Result

from kneebench.cli import app
from kneebench.errors import KneebenchError, PlanError, Refused
from kneebench.plan.reader import read_plan
from kneebench.plan.study import Study
from kneebench.records import Second
from kneebench.results import Store, campaigns, load
from kneebench.results.allowance import MOST_FILES, MOST_ROWS, MOST_SERIES
from kneebench.results.atomic_write import write_text
from kneebench.results.campaign_folders import find_unfinished
from kneebench.results.lock import held
from kneebench.results.parquet import connect, write_seconds
from tests.recorded.record import unpack
from tests.recordings import PLATEAU, recorded_host, recorded_plan, recorded_rung

MEMORY_BYTES = 4 * 10**9
PATIENCE_S = 300.0
"""For a few commands on a busy machine: what they look at is refused within milliseconds."""
COMMANDS = ("show", "brief", "accept", "compare")
KEY = "disk.final_run-4-1"
FILES = (
    "campaign.json",
    "finished.json",
    f"rungs/{KEY}.json",
    "climbs/disk.json",
    f"conditions/{KEY}.json",
    f"series/{KEY}.parquet",
    f"seconds/{KEY}.parquet",
)
"""One of each kind."""
LIMITED = """
import json, sys
from typer.testing import CliRunner
from kneebench.cli import app
from kneebench.plan.study import Study

for words in json.loads(sys.argv[1]):
    answer = CliRunner(env={"COLUMNS": "200"}).invoke(app, words)
    print(json.dumps([words[0], answer.exit_code, answer.stdout, answer.stderr]), flush=True)
"""


class Answer(NamedTuple):
    """What a command said."""

    command: str
    exit_code: int
    stdout: str
    stderr: str


def limited(*calls: list[str]) -> list[Answer]:
    """Commands in a process of their own, which may neither take much memory nor hang."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))

    done = subprocess.run(
        [sys.executable, "-c", LIMITED, json.dumps(calls)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        preexec_fn=limit,
        check=False,
    )
    answers = [Answer(*json.loads(line)) for line in done.stdout.splitlines()]
    assert len(answers) == len(calls), done.stderr[-2000:]
    return answers


def every_command(folder: Path) -> list[list[str]]:
    """The commands that read a campaign."""
    twice = [str(folder), str(folder)]
    return [
        ["show", str(folder)],
        ["brief", str(folder), "--out", str(folder.parent / "brief.html")],
        ["accept", *twice],
        ["compare", *twice],
    ]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A campaign with a file of each kind."""
    folder = unpack(PLATEAU, tmp_path)
    (folder / "seconds").mkdir(exist_ok=True)
    numbers = dict.fromkeys(("committed", "rolled_back", "failed", "unknown"), 1)
    times = dict.fromkeys(("mean_s", "p50_s", "p99_s", "p999_s", "max_s"), 0.001)
    second = Second(at_s=1, transaction="payment", **numbers, **times)
    write_seconds(folder / "seconds" / f"{KEY}.parquet", [second])
    assert [file for file in FILES if not (folder / file).is_file()] == []
    return folder


# --- what is no file ------------------------------------------------------------------------------


def _socket(file: Path) -> None:
    here = Path.cwd()
    os.chdir(file.parent)  # the path of a socket has 107 bytes at most
    try:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(file.name)
    finally:
        os.chdir(here)


def _sparse(file: Path) -> None:
    file.touch()
    os.truncate(file, 100 * 10**9)


PLANTED: dict[str, tuple[Callable[[Path], object], str]] = {
    "endless link": (lambda file: file.symlink_to("/dev/zero"), "it is a symbolic link"),
    "link": (lambda file: file.symlink_to("/etc/passwd"), "it is a symbolic link"),
    "link to nowhere": (lambda file: file.symlink_to("nowhere"), "it is a symbolic link"),
    "pipe": (os.mkfifo, "it is a named pipe, not a regular file"),
    "socket": (_socket, "it is a socket, not a regular file"),
    "directory": (Path.mkdir, "it is a directory, not a regular file"),
    "sparse file": (_sparse, "it has 93.1 GiB, more than the"),
    "device": (
        lambda file: os.mknod(file, 0o600 | stat.S_IFCHR, os.makedev(1, 5)),
        "it is a device, not a regular file",
    ),
}
DEVICE = pytest.param("device", marks=pytest.mark.root)
LOCKS = [*(kind for kind in PLANTED if kind not in ("device", "sparse file")), DEVICE]
UNLIKE = ("endless link", "pipe", "directory", "sparse file")
"""What each is refused for another reason; the others with --long only."""
KINDS = [
    *UNLIKE,
    *(
        pytest.param(kind, marks=[pytest.mark.long, *([pytest.mark.root] * (kind == "device"))])
        for kind in PLANTED
        if kind not in UNLIKE
    ),
]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_regular_file_is_named_by_every_command_alike(folder: Path, kind: str) -> None:
    plant, seen = PLANTED[kind]
    strange = []
    for number, file in enumerate(FILES):
        copy = folder.parent / f"{number}" / "campaign"
        shutil.copytree(folder, copy)
        (copy / file).unlink()
        plant(copy / file)
        strange.append(copy)
    calls = [call for copy in strange for call in every_command(copy)]
    answers = limited(*calls, *(["list", "--in", str(copy.parent)] for copy in strange))
    for number, (copy, file) in enumerate(zip(strange, FILES, strict=True)):
        said = answers[number * len(COMMANDS) :][: len(COMMANDS)]
        assert {(one.exit_code, one.stderr) for one in said} == {(1, said[0].stderr)}, said
        assert said[0].stderr.startswith(f"kneebench: cannot read {copy / file}: {seen}"), said[0]
    for one, file in zip(answers[len(calls) :], FILES, strict=True):
        assert one.exit_code == 0, one
        assert (seen.split(",")[0] in " ".join(one.stdout.split())) == ("/" not in file), one.stdout


LINKED = [
    *("rungs", "series"),
    *(pytest.param(one, marks=pytest.mark.long) for one in ("climbs", "conditions", "seconds")),
]


@pytest.mark.parametrize("directory", LINKED)
def test_a_directory_that_is_a_link_is_neither_read_nor_written(
    folder: Path, directory: str
) -> None:
    elsewhere = (folder / directory).rename(folder.parent / "elsewhere")
    (folder / directory).symlink_to(elsewhere)
    there = sorted(elsewhere.iterdir())
    wanted = f"cannot read {folder / directory}: it is a symbolic link, not a directory"
    for answer in limited(*every_command(folder)):
        assert (answer.exit_code, wanted in answer.stderr) == (1, True), answer
    with pytest.raises(KneebenchError, match=wanted):
        Store(folder)
    assert sorted(elsewhere.iterdir()) == there


def test_a_folder_that_the_user_named_may_be_a_link(folder: Path) -> None:
    named = folder.parent / "named"
    named.symlink_to(folder)
    assert load(named).campaign == load(folder).campaign
    assert {one.folder for one in campaigns(folder.parent)} == {named, folder}


# --- too much -------------------------------------------------------------------------------------


def test_more_rungs_than_a_campaign_can_have_are_counted_and_not_read(folder: Path) -> None:
    for number in range(MOST_FILES + 1):
        (folder / "rungs" / f"{number}.json").touch()
    for answer in limited(*every_command(folder)[:2]):
        assert answer.exit_code == 1
        seen = f"cannot read {folder / 'rungs'}: it contains more than {MOST_FILES:,} files"
        assert seen in answer.stderr
    (listed,) = campaigns(folder.parent)
    assert "more than" in listed.damaged


@pytest.fixture(scope="module")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of a few kilobytes that expands to gigabytes."""
    file = tmp_path_factory.mktemp("bomb") / "bomb.parquet"
    with duckdb.connect() as database:
        database.execute(
            f"COPY (SELECT 1.0::DOUBLE AS at_s FROM range({MOST_ROWS + 1})) TO '{file}'"
            " (FORMAT parquet, ROW_GROUP_SIZE 20000000)"
        )
    assert file.stat().st_size < 100_000
    return file


def test_a_small_table_that_expands_to_gigabytes_is_not_read(folder: Path, bomb: Path) -> None:
    shutil.copyfile(bomb, folder / "series" / f"{KEY}.parquet")
    for answer in limited(*every_command(folder)[:2]):
        assert answer.exit_code == 1
        assert f"{KEY}.parquet: the file is damaged (it has {MOST_ROWS + 1:,} rows" in answer.stderr


@pytest.mark.long
def test_a_large_table_is_read_no_further_than_is_shown(folder: Path) -> None:
    rungs = [rung.order.key for climb in load(folder).climbs for rung in climb.rungs]
    columns = "1.0::DOUBLE AS at_s, 'cores.busy' AS quantity, '' AS source, '' AS unit"
    large = folder / "series" / f"{rungs[0]}.parquet"
    with connect() as database:
        database.execute(
            f"COPY (SELECT {columns}, 1.0::DOUBLE AS value FROM range(10500000))"
            f" TO '{large}' (FORMAT parquet, ROW_GROUP_SIZE 20000000)"
        )
    for file in (folder / "series").glob("disk.*.parquet"):
        if file != large:
            shutil.copyfile(large, file)
    show, brief, *_ = limited(*every_command(folder)[:2])
    assert show.exit_code == 0
    assert brief.exit_code == 1
    assert "it has more than 10,000,000 readings" in brief.stderr


def test_a_document_of_many_small_faults_is_refused_before_they_are_listed(folder: Path) -> None:
    file = folder / "rungs" / f"{KEY}.json"
    kept = json.loads(file.read_text())
    kept["rung"]["notes"] = [0] * 4_000_000
    file.write_text(json.dumps(kept, separators=(",", ":")))
    for answer in limited(*every_command(folder)[:2]):
        assert answer.exit_code == 1
        assert f"cannot read {file}: it has more than 250,000 values" in answer.stderr


def test_a_histogram_that_claims_gigabytes_is_damaged_and_takes_none(folder: Path) -> None:
    file = folder / "rungs" / f"{KEY}.json"
    kept = json.loads(file.read_text())
    head = struct.pack(">IIIIQQd", 0x1C849313, 2**32 - 1, 0, 3, 1, 2**40, 1.0)
    kept["rung"]["tally"]["latency"]["histogram"] = base64.b64encode(head).decode()
    file.write_text(json.dumps(kept))
    for answer in limited(*every_command(folder)[:2]):
        assert answer.exit_code == 1
        assert f"cannot read {file}: the file is damaged" in answer.stderr
        assert "a histogram is cut off" in answer.stderr


@pytest.mark.parametrize("storages", [1, [1], {"disk": 1}, {"disk": {"log": 1, "drives": 1}}])
def test_a_plan_of_another_shape_is_none_and_its_campaign_is_shown(
    folder: Path, storages: object
) -> None:
    file = folder / "campaign.json"
    head = json.loads(file.read_text())
    file.write_text(json.dumps({**head, "plan": {**head["plan"], "storages": storages}}))
    for words in (["show", str(folder)], ["list", "--in", str(folder.parent)]):
        answer = CliRunner().invoke(app, words)
        assert answer.exit_code == 0, answer.output


# --- damaged tables -------------------------------------------------------------------------------


def _other_columns(file: Path) -> None:
    file.unlink()
    with connect() as database:
        database.execute(f"COPY (SELECT 1 AS at_s, 'a' AS quantity) TO '{file}' (FORMAT parquet)")


def _cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size - 100)


def _inner_part_lost(file: Path) -> None:
    whole = file.read_bytes()
    file.write_bytes(whole[:50] + whole[350:])


DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda file: file.write_bytes(b""), "0 bytes are too few for a Parquet file"),
    "random": (lambda file: file.write_bytes(os.urandom(5000)), "it does not begin as a Parquet"),
    "random inside": (
        lambda file: file.write_bytes(b"PAR1" + os.urandom(5000) + b"\x00\x10\x00\x00PAR1"),
        "its footer ",
    ),
    "cut off": (_cut, "it does not end as a Parquet file"),
    "cut in the middle": (_inner_part_lost, "bytes remain of"),
    "a text": (lambda file: file.write_text("at_s,value\n1,2\n"), "it does not begin as a Parquet"),
    "other columns": (_other_columns, "no column "),
}


DAMAGED = [
    *(("series", damage) for damage in DAMAGES),
    *(("seconds", damage) for damage in ("cut off", "other columns")),
]


@pytest.mark.parametrize(("kind", "damage"), DAMAGED)
def test_a_table_that_is_none_is_named_by_every_command_alike(
    folder: Path, kind: str, damage: str
) -> None:
    file = folder / kind / f"{KEY}.parquet"
    change, seen = DAMAGES[damage]
    change(file)
    answers = [CliRunner().invoke(app, call) for call in every_command(folder)]
    assert {(one.exit_code, one.stderr) for one in answers} == {(1, answers[0].stderr)}
    assert f"cannot read {file}: the file is damaged (" in answers[0].stderr
    assert seen in answers[0].stderr


READINGS = {
    "a time that is no number": "'NaN'::DOUBLE, 'cores.busy', '', '', 1.0",
    "no time": "NULL::DOUBLE, 'cores.busy', '', '', 1.0",
    "a time after the end": "1e300, 'cores.busy', '', '', 1.0",
    "no value": "1.0, 'cores.busy', '', '', NULL::DOUBLE",
    "no source": "1.0, 'cores.busy', NULL::VARCHAR, '', 1.0",
    "a long name": "1.0, 'cores.busy', repeat('a', 10000), '', 1.0",
    "many sources": "1.0, 'cores.busy', range::VARCHAR, '', 1.0",
}


def test_readings_that_no_meter_gave_are_named_with_their_file(folder: Path) -> None:
    calls = []
    for number, reading in enumerate(READINGS.values()):
        copy = folder.parent / f"{number}" / "campaign"
        shutil.copytree(folder, copy)
        first, *others = (copy / "series").glob("*.parquet")
        names = "col0 AS at_s, col1 AS quantity, col2 AS source, col3 AS unit, col4 AS value"
        with connect() as database:
            database.execute(
                f"COPY (SELECT {names} FROM (SELECT {reading} FROM range({MOST_SERIES + 1})"
                f" t(range)) t(col0, col1, col2, col3, col4)) TO '{first}' (FORMAT parquet)"
            )
        for file in others:
            shutil.copyfile(first, file)
        calls.append(every_command(copy)[1])
    for odd, brief in zip(READINGS, limited(*calls), strict=True):
        assert brief.exit_code == 1, (odd, brief)
        assert ".parquet: the file is damaged (" in brief.stderr, (odd, brief)
        assert len(brief.stderr) < 1000, odd


# --- what is written ------------------------------------------------------------------------------


def test_a_brief_is_not_written_through_a_link(folder: Path, blank_figures: None) -> None:
    aim = folder.parent / "aim"
    aim.write_text("as it was")
    (folder / "brief.html").symlink_to(aim)
    answer = CliRunner().invoke(app, ["brief", str(folder)])
    assert answer.exit_code == 0, answer.output
    assert aim.read_text() == "as it was"
    assert not (folder / "brief.html").is_symlink()


def test_a_temporary_file_is_a_new_one_of_a_name_that_nobody_can_guess(tmp_path: Path) -> None:
    aim = tmp_path / "aim"
    aim.write_text("as it was")
    (tmp_path / f".brief.html.{os.getpid()}.part").symlink_to(aim)
    write_text(tmp_path / "brief.html", "new")
    assert (aim.read_text(), (tmp_path / "brief.html").read_text()) == ("as it was", "new")


@pytest.mark.parametrize("kind", LOCKS)
def test_a_lock_that_is_no_file_is_refused_and_nothing_is_made_of_it(
    tmp_path: Path, kind: str
) -> None:
    plan = recorded_plan(question="What would faster storage buy?")
    store = Store.create(tmp_path, Study(plan), recorded_host())
    store.put(recorded_rung("search"))
    store.close()
    assert find_unfinished(tmp_path, Study(plan)) == store.folder
    (store.folder / "lock").unlink()
    PLANTED[kind][0](store.folder / "lock")
    for look in (Store, held):
        with pytest.raises(Refused, match=r"cannot open .*/lock: it is a .*; remove it"):
            look(store.folder)
    assert find_unfinished(tmp_path, Study(plan)) is None
    assert not (store.folder / "nowhere").exists()


# --- files that a person named --------------------------------------------------------------------


def call(*words: object) -> Result:
    return CliRunner().invoke(app, [*map(str, words)])


@pytest.mark.parametrize("words", [("check",), ("profile", ".", "--datasheet")])
@pytest.mark.parametrize(
    ("file", "seen"),
    [
        ("/dev/zero", "it is a device, not a regular file"),
        ("pipe.toml", "nothing was written to this named pipe for 5 s"),
        ("folder.toml", "it is a directory, not a regular file"),
    ],
)
def test_a_file_of_the_user_that_is_none_is_named(
    own_place: Path, words: tuple[str, ...], file: str, seen: str
) -> None:
    os.mkfifo("pipe.toml")
    Path("folder.toml").mkdir()
    answer = call(*words, file)
    assert answer.exit_code == PlanError.exit_code
    assert f"cannot read {file}: {seen}" in answer.stderr


def test_a_plan_may_be_a_link_or_come_out_of_a_pipe(own_place: Path) -> None:
    Path("plan.toml").write_text('storages.disk.path = "."')
    Path("link.toml").symlink_to("plan.toml")
    read, write = os.pipe()
    os.write(write, b'storages.disk.path = "."')
    os.close(write)
    try:
        plans = [read_plan(file) for file in ("plan.toml", "link.toml", f"/dev/fd/{read}")]
    finally:
        os.close(read)
    assert plans[0] == plans[1] == plans[2]
