"""Where root works, and with whose rights: docs/decisions/root-and-reach.md."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from kneebench.commands.following import _serve
from kneebench.databases.engines.postgres.builds import find_build
from kneebench.databases.engines.postgres.engine import server_account
from kneebench.databases.managed.account import Account, may_replace
from kneebench.errors import Refused
from kneebench.lab.folder import Folder
from kneebench.lab.removal import MARKER, ours, remove

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="the server has an account of its own only under root"
)


@pytest.fixture
def account() -> Account:
    found = server_account()
    assert found
    return found


def test_a_file_that_is_written_replaces_a_link_and_leaves_what_it_led_to(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("years of work")
    (tmp_path / "ours").mkdir()
    (tmp_path / "ours" / "postgresql.conf").symlink_to(tmp_path / "theirs")
    with Folder.at(tmp_path / "ours") as folder:
        folder.put("postgresql.conf", "fsync = 'on'\n")
        assert folder.text("postgresql.conf") == "fsync = 'on'\n"
    assert (tmp_path / "theirs").read_text() == "years of work"
    assert [path.name for path in (tmp_path / "ours").iterdir()] == ["postgresql.conf"]


def test_a_directory_without_our_mark_or_behind_a_link_is_not_opened_as_ours(
    tmp_path: Path,
) -> None:
    (tmp_path / "theirs").mkdir()
    with pytest.raises(Refused, match="another directory took its place"):
        ours(tmp_path / "theirs")
    (tmp_path / "theirs" / MARKER).touch()
    (tmp_path / "link").symlink_to(tmp_path / "theirs")
    with pytest.raises(NotADirectoryError):
        ours(tmp_path / "link")
    assert not remove(tmp_path / "link")
    assert (tmp_path / "theirs" / MARKER).exists()


def test_a_tree_deeper_than_a_stack_is_removed_whole(tmp_path: Path) -> None:
    top = tmp_path / "data"
    top.mkdir()
    (top / MARKER).touch()
    code = (
        "import os, sys; os.chdir(sys.argv[1])\nfor n in range(2500): os.mkdir('d'); os.chdir('d');"
        " open('f', 'w').close()"
    )
    subprocess.run([sys.executable, "-c", code, top], check=True)
    assert remove(top)
    assert not top.exists()


@needs_root
@pytest.mark.root
def test_a_build_is_not_started_to_learn_its_version(account: Account) -> None:
    with tempfile.TemporaryDirectory(prefix="kneebench-account-") as folder:
        Path(folder).chmod(0o755)
        os.chown(folder, *account.owner)
        for name in ("postgres", "initdb"):
            Path(folder, name).write_text(
                f"#!/bin/sh\ntouch {folder}/ran\necho 'postgres (PostgreSQL) 15.1'\n"
            )
            Path(folder, name).chmod(0o755)
        assert find_build(Path(folder)).version == "15.1"
        assert not Path(folder, "ran").exists()


@needs_root
@pytest.mark.root
def test_the_runtime_directory_is_never_where_the_account_could_replace_it(
    account: Account, tmp_path: Path
) -> None:
    open_to_all, sticky, owned = (tmp_path / name for name in ("open", "sticky", "owned"))
    for place, mode in ((open_to_all, 0o777), (sticky, 0o1777), (owned, 0o755)):
        place.mkdir()
        place.chmod(mode)
    os.chown(owned, *account.owner)
    assert [
        may_replace(account, place)
        for place in (open_to_all, sticky, owned, owned / "..", Path("/tmp"))
    ] == [True, False, True, False, False]


CLOSED = """
import os, sys
from kneebench import __main__, cli
from kneebench.commands.measuring import confirm
def main():
    confirm(7200.0, sure=False)
    handle = os.open("a-drive", os.O_RDWR)
    assert handle > 2
    os.write(1, b"x"), os.write(2, b"x")
    sys.exit(os.read(0, 1) != b"")
cli.main = main
__main__.main()
"""


def test_no_file_gets_the_number_of_a_standard_stream_that_is_closed(tmp_path: Path) -> None:
    (tmp_path / "a-drive").write_text("data")
    shell = f'exec {sys.executable} -c "$0" <&- >&- 2>&-'
    ended = subprocess.run(["sh", "-c", shell, CLOSED], cwd=tmp_path, check=False)
    assert (ended.returncode, (tmp_path / "a-drive").read_text()) == (0, "data")


def test_the_live_page_of_a_run_imports_nothing_from_the_directory_that_it_is_started_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("kneebench", "types", "typer"):
        (tmp_path / f"{name}.py").write_text("open('theirs', 'w')\n")
    monkeypatch.chdir(tmp_path)
    assert _serve("nosuch", "127.0.0.1:0").wait() != 0
    assert not (tmp_path / "theirs").exists()
