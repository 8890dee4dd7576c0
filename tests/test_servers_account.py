"""What somebody with the rights of the server's account plants where that account may write: root
neither reads, changes nor removes through it.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kneebench.databases.engines.postgres import image as images
from kneebench.databases.engines.postgres.engine import OwnPostgres, server_account
from kneebench.databases.engines.postgres.launcher import make_cluster, running_server
from kneebench.databases.engines.postgres.sql_schema import PostgresSchema
from kneebench.databases.managed.account import Account
from kneebench.databases.managed.ownership import home
from kneebench.databases.several import engine_of
from kneebench.errors import KneebenchError, PlanError, Refused
from kneebench.lab.journal import Journal
from kneebench.lab.removal import MARKER
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Configuration, Event

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(
        os.geteuid() != 0, reason="the server has an account of its own only under root"
    ),
]
DISK = Configuration(id="disk", storage="disk")
SECRET = "the-secret-of-root"


def unwatched(event: Event) -> None:
    """Nobody looks."""


@pytest.fixture(scope="module")
def account() -> Account:
    found = server_account()
    assert found
    return found


def without_rows(*load: object) -> dict[str, str]:
    """In place of a load, where what is in the tables does not matter."""
    return {}


@pytest.fixture(scope="module")
def bench() -> Iterator[Path]:
    """A directory that the account can reach, with an image that was built in it."""
    with tempfile.TemporaryDirectory(prefix="kneebench-account-") as folder:
        there = Path(folder)
        there.chmod(0o755)
        with pytest.MonkeyPatch.context() as building:
            building.setattr(PostgresSchema, "load", without_rows)
            engine(there).prepare(unwatched)
        yield there


@pytest.fixture
def secret(tmp_path: Path) -> Iterator[Path]:
    """A file of root's that nobody else may read; it is as it was at the end."""
    file = tmp_path / "secret"
    file.write_text(SECRET)
    file.chmod(0o600)
    yield file
    assert (file.read_text(), file.stat().st_mode & 0o777, file.stat().st_uid) == (SECRET, 0o600, 0)


def fields(folder: Path, images_in: Path | None = None, **database: object) -> dict[str, Any]:
    return {
        "database": {"base_image_path": images_in or folder / "images", **database},
        "workload": {"warehouses": 1},
        "ladder": {"users": (1, 8), "checkpoints": 0},
        "storages": {"disk": {"path": folder / "disk"}},
    }


def engine(folder: Path, images_in: Path | None = None, **database: object) -> OwnPostgres:
    (folder / "disk").mkdir(exist_ok=True)
    plan = Plan.model_validate(fields(folder, images_in, **database))
    opened = engine_of(Study(plan).databases, Journal(folder / "journal"))
    assert isinstance(opened, OwnPostgres)
    return opened


def kept(folder: Path) -> Path:
    """The image's directory."""
    [found] = (folder / "images").glob("postgres-*")
    return found


def as_account(account: Account, code: str, *words: object) -> str:
    """What a Python program with the account's rights and nothing else writes; it must end well."""
    command = [
        shutil.which("python3", path="/usr/bin") or sys.executable,
        "-c",
        "import os, sys; a = sys.argv[1:]\n" + code,
        *map(str, words),
    ]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
        timeout=60,
        user=account.uid,
        group=account.gid,
        extra_groups=[],
    ).stdout


def may_write(account: Account, folder: Path) -> list[Path]:
    """The directories in a directory, itself too, in which the account may make and remove
    files.
    """
    folders = [folder, *(path for path in folder.rglob("*") if path.is_dir())]
    return [
        Path(line)
        for line in as_account(
            account, "[print(path) for path in a if os.access(path, os.W_OK | os.X_OK)]", *folders
        ).splitlines()
    ]


def found_in(folder: Path, word: str) -> list[Path]:
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and word.encode() in path.read_bytes()
    ]


# --- the image ------------------------------------------------------------------------------------


def test_an_image_belongs_to_root_and_the_account_can_neither_read_nor_change_it(
    bench: Path, account: Account
) -> None:
    image = kept(bench)
    everything = [image, *image.rglob("*")]
    assert {path.lstat().st_uid for path in everything} == {0}
    assert [path for path in everything if path.stat().st_mode & 0o077] == []
    assert may_write(account, image) == []
    assert (
        as_account(account, "print(os.access(a[0], os.R_OK | os.X_OK))", image / "data")
        == "False\n"
    )


PLANTED: dict[str, Callable[[Path, Path], None]] = {
    "a symbolic link": lambda place, secret: place.symlink_to(secret),
    "a named pipe": lambda place, secret: os.mkfifo(place),
    "2 names": lambda place, secret: place.hardlink_to(secret),
}


@pytest.mark.parametrize("what", PLANTED)
def test_what_is_no_plain_file_of_an_image_is_refused_and_not_copied(
    what: str, bench: Path, secret: Path
) -> None:
    evil = kept(bench) / "data" / "base" / "evil"
    PLANTED[what](evil, secret)
    try:
        with (
            pytest.raises(Refused, match=f"base/evil: .*{what}"),
            engine(bench).restored(DISK, unwatched) as server,
        ):
            assert found_in(bench / "disk", SECRET) == [], server.address
    finally:
        evil.unlink()
    assert list((bench / "disk").iterdir()) == []


@pytest.mark.parametrize("what", PLANTED)
def test_what_the_account_plants_while_the_image_is_built_never_becomes_part_of_it(
    what: str, account: Account, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted in place of rows: what they are does not matter here."""
    with tempfile.TemporaryDirectory(prefix="kneebench-account-") as folder:
        Path(folder).chmod(0o755)
        planted: list[str] = []

        def plant(*load: object) -> dict[str, str]:
            [base] = Path(folder, "images").glob("building-*/data/base")
            made = {
                "a symbolic link": "os.symlink(a[1], 'evil')",
                "a named pipe": "os.mkfifo('evil')",
            }
            own = "open('own', 'w').close(); os.link('own', 'evil')"
            planted.append(
                as_account(account, f"os.chdir(a[0]); {made.get(what, own)}", base, secret)
            )
            return {}

        monkeypatch.setattr(PostgresSchema, "load", plant)
        with pytest.raises(Refused, match=what):
            engine(Path(folder)).prepare(unwatched)
        assert planted
        assert [
            path.name
            for path in Path(folder, "images").iterdir()
            if not path.name.endswith(".lock")
        ] == []


def test_an_image_that_the_account_owns_as_those_of_earlier_versions_is_refused_with_what_to_do(
    bench: Path, account: Account
) -> None:
    image = kept(bench)
    os.chown(image, *account.owner)
    try:
        with pytest.raises(
            Refused,
            match=(
                rf"belongs to {account.name}, not to root; remove it \(rm -r .*{image.name}\) and"
                r" run again"
            ),
        ):
            engine(bench).prepare(unwatched)
        assert "refused" in [finding.level for finding in engine(bench).findings()]
    finally:
        os.chown(image, 0, 0)


def test_a_link_in_the_place_of_an_image_is_not_followed(bench: Path, tmp_path: Path) -> None:
    image = kept(bench)
    image.rename(tmp_path / "elsewhere")
    image.symlink_to(tmp_path / "elsewhere")
    try:
        with pytest.raises(Refused, match="it is not a base image"):
            engine(bench).prepare(unwatched)
    finally:
        image.unlink()
        (tmp_path / "elsewhere").rename(image)


def test_the_configuration_is_not_written_through_links_of_the_account(
    account: Account, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attacked(launch: object, data: Path, options: object) -> None:
        make_cluster(launch, data, options)
        as_account(
            account,
            "os.unlink(a[0]); os.symlink(a[1], a[0])",
            data / "postgresql.auto.conf",
            secret,
        )
        as_account(
            account, "os.unlink(a[0]); os.symlink(a[1], a[0])", data / "postgresql.conf", secret
        )

    monkeypatch.setattr(images, "make_cluster", attacked)
    monkeypatch.setattr(PostgresSchema, "load", without_rows)
    with tempfile.TemporaryDirectory(prefix="kneebench-account-") as folder:
        Path(folder).chmod(0o755)
        engine(Path(folder)).prepare(unwatched)
        assert not (kept(Path(folder)) / "data" / "postgresql.conf").is_symlink()


def test_the_lock_of_an_image_is_not_opened_through_a_link_that_the_account_could_make(
    account: Account, secret: Path
) -> None:
    with tempfile.TemporaryDirectory(prefix="kneebench-account-") as folder:
        Path(folder).chmod(0o755)
        (place := Path(folder, "images")).mkdir()
        place.chmod(0o1777)
        asked = engine(Path(folder))
        as_account(account, "os.symlink(a[1], a[0])", place / f".{asked.recipe.key}.lock", secret)
        with pytest.raises(
            PlanError, match=r"lock of a base image.*a directory that only you can write to"
        ):
            asked.prepare(unwatched)


# --- the data directory and the runtime directory -------------------------------------------------


def test_a_server_can_write_into_its_data_and_its_sockets_directory_and_nowhere_around_them(
    bench: Path, account: Account
) -> None:
    with engine(bench).restored(DISK, unwatched) as server:
        [data], runtime = (bench / "disk").glob(".kneebench-*"), Path(server.address.host).parent
        assert {path.relative_to(data).parts[0] for path in may_write(account, data)} == {"data"}
        assert may_write(account, runtime) == [Path(server.address.host)]
        as_account(
            account,
            "\ntry: os.rename(a[0], a[0] + '-away')\nexcept PermissionError: pass\nelse:"
            " sys.exit('renamed')",
            runtime,
        )
        as_account(
            account,
            "\ntry: os.unlink(a[0])\nexcept PermissionError: pass\nelse: sys.exit('removed')",
            runtime / "server.log",
        )


def test_while_a_database_is_put_in_place_the_account_cannot_reach_it(
    bench: Path, account: Account, secret: Path
) -> None:
    tried: list[str] = []
    code = (
        "\ntry: os.unlink(a[0]); os.symlink(a[1], a[0]); print('planted')\nexcept PermissionError:"
        " print('closed')"
    )

    def plant(event: Event) -> None:
        if event.kind == "progress" and event.share == 1.0 and not tried:
            [data] = (bench / "disk").glob(".kneebench-*/data")
            tried.append(as_account(account, code, data / "postgresql.auto.conf", secret))

    with engine(bench).restored(DISK, plant) as server:
        assert server.alive() == ""
    assert tried == ["closed\n"]


def test_links_in_a_data_directory_are_removed_and_what_they_lead_to_stays(
    bench: Path, account: Account, tmp_path: Path, secret: Path
) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "thesis").touch()
    with engine(bench).restored(DISK, unwatched):
        [base] = (bench / "disk").glob(".kneebench-*/data/base")
        as_account(
            account,
            "os.chdir(a[0]); os.symlink(a[1], 'file'); os.symlink(a[2], 'folder');"
            " os.mkfifo('pipe')",
            base,
            secret,
            tmp_path / "theirs",
        )
    assert list((bench / "disk").iterdir()) == []
    assert (tmp_path / "theirs" / "thesis").exists()


def test_a_directory_of_ours_that_was_swapped_for_a_link_is_neither_written_to_nor_removed(
    bench: Path, account: Account, tmp_path: Path
) -> None:
    victim, owned = tmp_path / "victim", bench / "owned"
    (victim / "data").mkdir(parents=True)
    for file in (victim / MARKER, victim / "data" / "theirs"):
        file.touch()
    owned.mkdir()
    os.chown(owned, *account.owner)
    swapped: list[str] = []

    def swap(event: Event) -> None:
        if event.kind == "progress" and event.share == 1.0 and not swapped:
            [place] = owned.glob(".kneebench-*")
            swapped.append(
                as_account(
                    account,
                    "os.rename(a[0], a[0] + '-away'); os.symlink(a[1], a[0])",
                    place,
                    victim,
                )
            )

    plan = Plan.model_validate({**fields(bench), "storages": {"disk": {"path": owned}}})
    asked = engine_of(Study(plan).databases, Journal(tmp_path / "journal"))
    with pytest.raises(KneebenchError), asked.restored(DISK, swap):
        pass
    assert swapped
    assert sorted(path.name for path in victim.rglob("*")) == [MARKER, "data", "theirs"]
    shutil.rmtree(owned)


def test_a_planted_postmaster_pid_ends_nobody_elses_segment_and_is_not_read(
    bench: Path, account: Account, secret: Path
) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    segment = libc.shmget(0, 56, 0o1600)
    assert segment >= 0
    try:
        lines = "\n".join(["1", "/", "0", "5432", "/tmp", "", f"0 {segment}", "ready"])
        with engine(bench).restored(DISK, unwatched) as server:
            [pid] = (bench / "disk").glob(".kneebench-*/data/postmaster.pid")
            as_account(account, "open(a[0], 'w').write(a[1])", pid, lines)
            os.kill(server.processes()[0], signal.SIGKILL)  # or it would remove the file
            time.sleep(0.5)
        assert segment in segments()
    finally:
        libc.shmctl(segment, 0, None)


def test_a_link_in_the_place_of_postmaster_pid_is_not_read(
    bench: Path, account: Account, secret: Path
) -> None:
    asked = engine(bench)
    with (
        asked.launch(asked.lab.resources) as launch,
        asked.journal.directory(bench / "cluster", "a cluster") as place,
    ):
        data = home(place, "data", account)
        make_cluster(launch, data, [])
        as_account(account, "os.symlink(a[1], a[0])", data / "postmaster.pid", secret)
        with (
            pytest.raises(KneebenchError, match="could not open lock file") as told,
            running_server(launch, data, asked.journal),
        ):
            pass
        assert SECRET not in str(told.value)


def test_a_killed_servers_own_segment_is_freed(bench: Path) -> None:
    with engine(bench).restored(DISK, unwatched) as server:
        postmaster = server.processes()[0]
        [its] = [segment for segment, creator in segments().items() if creator == postmaster]
        os.kill(postmaster, signal.SIGKILL)
        time.sleep(0.5)
        assert its in segments()
    assert its not in segments()


def segments() -> dict[int, int]:
    """Who made them, by their ids."""
    rows = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    return {int(row[1]): int(row[4]) for row in rows}
