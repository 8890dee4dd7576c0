"""Files that a person names for output: a drive is never opened for them, a stream stays one."""

from __future__ import annotations

import contextlib
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kneebench.campaign.preflight import preset
from kneebench.cli import app
from kneebench.errors import Refused
from kneebench.results.atomic_write import is_stream, write_text, write_where_named
from kneebench.results.parquet import write_sweep
from tests.loop_devices import MIB, done, loop_device, mounted, put
from tests.simulated_campaign import finished

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="makes a loop device: needs root")
OWNERS = b"OWNER" * 1000


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[Path]:
    """A drive with the owner's data, which nothing may open for writing."""
    with loop_device(tmp_path / "drive.img", 64 * MIB) as loop:
        put(loop, 0, OWNERS)
        yield loop
        done("blockdev", "--flushbufs", loop)
        assert (tmp_path / "drive.img").read_bytes()[: len(OWNERS)] == OWNERS
        assert stat.S_ISBLK(loop.stat().st_mode), "the device was replaced by a file"


def mode_of(name: str | bytes | Path) -> int:
    return Path(os.fsdecode(name)).stat().st_mode


@contextlib.contextmanager
def opened_for_writing() -> Iterator[list[str]]:
    """The block devices that this process opens for writing in the block."""
    found, watching = [], True

    def heard(event: str, facts: tuple[object, ...]) -> None:
        if watching and event == "open" and isinstance(facts[0], (str, bytes, Path)):
            how = facts[2] if isinstance(facts[2], int) else 0
            with contextlib.suppress(OSError):
                if how & (os.O_WRONLY | os.O_RDWR) and stat.S_ISBLK(mode_of(facts[0])):
                    found.append(str(facts[0]))

    sys.addaudithook(heard)
    try:
        yield found
    finally:
        watching = False


COMMANDS: dict[str, Callable[[Path, Path], list[object]]] = {
    "accept, a campaign that is missing": lambda root, out: ["accept", "nosuch", "--junit", out],
    "accept": lambda root, out: ["accept", "one", "one", "--in", root, "--junit", out],
    "brief": lambda root, out: ["brief", "one", "--in", root, "--out", out],
    "profile": lambda root, out: ["profile", root, "--size", "64MiB", "--out", out],
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one campaign."""
    root = tmp_path_factory.mktemp("outputs")
    finished(preset("simulated"), root).rename(root / "one")
    return root


@pytest.mark.root
@needs_root
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("named", ["device", "link.html", "link.json", "node.html"])
def test_a_drive_that_is_named_for_output_is_refused_and_not_opened(
    command: str, named: str, drive: Path, root: Path, own_place: Path
) -> None:
    out = drive if named == "device" else own_place / named
    if named.startswith("link"):
        out.symlink_to(drive)
    elif named.startswith("node"):
        os.mknod(out, stat.S_IFBLK | 0o600, drive.stat().st_rdev)
    with opened_for_writing() as opened:
        answer = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(
            app, [str(word) for word in COMMANDS[command](root, out)]
        )
    assert opened == []
    assert answer.exit_code == Refused.exit_code, answer.output
    assert f"cannot write {out}: it is a block device" in answer.stderr
    assert stat.S_ISBLK(out.stat().st_mode)


@pytest.mark.root
@needs_root
def test_a_mounted_drive_is_refused_too(drive: Path, tmp_path: Path) -> None:
    done("mkfs.ext4", "-q", "-F", drive)
    (tmp_path / "point").mkdir()
    with mounted(drive, tmp_path / "point"), opened_for_writing() as opened:
        with pytest.raises(Refused, match="it is a block device"):
            write_where_named(drive, "<xml/>")
        assert opened == []
    done("fsck.ext4", "-f", "-n", drive)
    put(drive, 0, OWNERS)


@pytest.mark.root
@needs_root
def test_a_program_that_writes_pages_and_tables_is_refused_a_drive(
    drive: Path, own_place: Path
) -> None:
    link = own_place / "page.csv"
    link.symlink_to(drive)
    with opened_for_writing() as opened:
        with pytest.raises(Refused, match="block device"):
            write_text(link, "x")
        with pytest.raises(Refused, match="block device"):
            write_sweep(link, [])
    assert opened == []
    assert link.is_symlink()


@pytest.mark.root
@needs_root
def test_a_pipe_that_becomes_a_drive_after_it_was_looked_at_is_refused(
    drive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link"
    link.symlink_to(drive)
    monkeypatch.setattr("kneebench.results.atomic_write.is_stream", lambda path: True)
    with opened_for_writing() as opened, pytest.raises(Refused, match="block device"):
        write_where_named(link, "<xml/>")
    assert opened == []


WRITES = (
    "import sys; from pathlib import Path;"
    " from kneebench.results.atomic_write import write_where_named;"
    " print('before', flush=True); write_where_named(Path(sys.argv[1]), 'answer\\n');"
    " print('after')"
)


@pytest.mark.parametrize("name", ["/dev/fd/1", "/proc/self/fd/1", "link"])
def test_standard_output_stays_what_it_is_and_keeps_what_is_in_it(
    name: str, tmp_path: Path
) -> None:
    """Also where it was redirected into a file: /dev/stdout is not replaced by that file."""
    was = Path("/dev/stdout").readlink()
    path = tmp_path / "link" if name == "link" else Path(name)
    if name == "link":
        path.symlink_to("/dev/stdout")
    command = [sys.executable, "-c", WRITES, str(path)]
    piped = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    with (tmp_path / "file").open("wb") as file:
        subprocess.run(command, stdout=file, check=True)
    assert piped == (tmp_path / "file").read_text() == "before\nanswer\nafter\n"
    assert Path("/dev/stdout").readlink() == was


def test_a_terminal_and_a_named_pipe_are_streams_and_a_file_is_not(tmp_path: Path) -> None:
    controller, terminal = os.openpty()
    write_where_named(Path(os.ttyname(terminal)), "answer\n")
    assert os.read(controller, 100) == b"answer\r\n"
    for handle in (controller, terminal):
        os.close(handle)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "1").touch()
    (tmp_path / "link").symlink_to("1")
    (tmp_path / "loop").symlink_to("loop")
    streams = [tmp_path / "pipe", Path("/dev/null"), Path("/dev/fd/1")]
    assert all(is_stream(path) for path in streams)
    others = [tmp_path, Path("/dev/fd/1023"), *(tmp_path / name for name in ("1", "link", "loop"))]
    assert not any(is_stream(path) for path in others)
