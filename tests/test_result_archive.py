"""Result archives: one file that is read as the campaign's folder, and archives that somebody made
to do harm.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import kneebench
from kneebench.cli import app
from kneebench.errors import KneebenchError, Refused
from kneebench.results.archive import entries
from kneebench.results.campaign_reader import series
from kneebench.results.lock import Lock
from kneebench.results.redaction import pack
from tests.packed import campaign_of_few_rungs

HEAD = "campaign.json"
Files = list[tuple[zipfile.ZipInfo | str, bytes]]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one campaign, called before, and its archive."""
    root = tmp_path_factory.mktemp("archive")
    campaign_of_few_rungs(root).rename(root / "before")
    pack(kneebench.load(root / "before"), root / "before.kneebench")
    return root


@pytest.fixture(autouse=True)
def place(own_place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory, with one for temporary files beside it."""
    temporary = own_place.with_name(f"{own_place.name}-temporary")
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return own_place


def call(*words: object) -> Result:
    runner = CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"})
    return runner.invoke(app, [*map(str, words)])


def test_archives_are_unpacked_only_as_long_as_somebody_has_them(root: Path) -> None:
    def there() -> int:
        return len(list(Path(tempfile.gettempdir()).glob("kneebench-private-*")))

    first = kneebench.load(root / "before.kneebench")
    for name in ("a", "b", "c"):
        copied = Path(shutil.copy(root / "before.kneebench", root / f"{name}.kneebench"))
        assert kneebench.load(copied).folder != first.folder
        copied.unlink()
    again = kneebench.load(root / "before.kneebench")
    assert (there(), again.folder) == (1, first.folder)
    rung = first.climbs[0].rungs[-1]
    del first
    assert series(again, rung)
    del again
    assert there() == 0


# --- packed, and read -----------------------------------------------------------------------------


def test_an_archive_is_read_as_the_folder_it_was_made_of(root: Path) -> None:
    folder, archive = (kneebench.load(root / name) for name in ("before", "before.kneebench"))
    same = {"folder": None, "archive": None}
    assert archive.model_copy(update=same) == folder.model_copy(update=same)
    assert archive.archive == root / "before.kneebench"
    rung = folder.climbs[0].rungs[-1]
    assert series(folder, rung) == series(archive, rung) != ()


def test_every_command_that_reads_a_campaign_reads_its_archive(root: Path) -> None:
    archive = root / "before.kneebench"
    shown = call("show", archive, "--json")
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["folder"] == str(archive)
    assert call("show", "before.kneebench", "--in", root).exit_code == 0
    assert call("compare", root / "before", archive).exit_code == 0
    accepted = call("accept", archive, root / "before", "--json")
    assert json.loads(accepted.stdout)["itself"]
    assert call("brief", archive, "--markdown").exit_code == 0


def test_a_brief_is_written_beside_the_archive_and_the_archive_stays_as_it_is(
    root: Path, place: Path
) -> None:
    file = Path(shutil.copy(root / "before.kneebench", place))
    before = file.read_bytes()
    answer = call("brief", file)
    assert answer.stdout.strip() == str(place / "before.html")
    assert "<html" in (place / "before.html").read_text()
    assert file.read_bytes() == before


def test_the_same_campaign_gives_the_same_bytes_wherever_it_is(root: Path, place: Path) -> None:
    shutil.copytree(root / "before", place / "copied")
    os.utime(place / "copied" / HEAD, (1, 1))
    answer = call("pack", "copied", "--in", place, "--out", "copy.kneebench")
    assert answer.exit_code == 0, answer.output
    assert (place / "copy.kneebench").read_bytes() == (root / "before.kneebench").read_bytes()
    again = call("pack", "copy.kneebench", "--out", "again.kneebench")
    assert again.exit_code == 0, again.output
    assert (place / "again.kneebench").read_bytes() == (place / "copy.kneebench").read_bytes()


def test_an_archive_is_named_by_the_campaign_and_never_overwrites(root: Path, place: Path) -> None:
    (place / "x.kneebench").write_text("something")
    refused = call("pack", root / "before", "--out", "x.kneebench")
    assert refused.exit_code == Refused.exit_code
    assert "it is there already" in refused.stderr
    assert (place / "x.kneebench").read_text() == "something"
    assert call("pack", root / "before", "--out", "x.zip").exit_code == 2
    assert call("pack", root / "before", "--out", "no/x.kneebench").exit_code == 2
    assert call("pack", root / "before").exit_code == 0
    assert len(list(place.glob("*-buy.kneebench"))) == 1


def test_a_campaign_that_is_measured_is_not_packed(root: Path, place: Path) -> None:
    shutil.copytree(root / "before", place / "running")
    lock = Lock(place / "running")
    answer = call("pack", place / "running")
    lock.release()
    assert answer.exit_code == Refused.exit_code
    assert "a kneebench run writes to it" in answer.stderr


def test_what_is_unpacked_is_private_and_removed_when_the_process_ends(
    root: Path, place: Path
) -> None:
    program = (
        "import kneebench, sys; r, again = (kneebench.load(sys.argv[1]) for _ in range(2));"
        " assert r.folder == again.folder;"
        " print(r.folder, oct(r.folder.stat().st_mode & 0o777))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(root / "before.kneebench")],
        capture_output=True,
        text=True,
        check=True,
    )
    folder, mode = done.stdout.split()
    assert mode == "0o700"
    assert not Path(folder).exists()


def test_an_archive_that_was_written_again_is_read_again(root: Path, place: Path) -> None:
    file = place / "x.kneebench"
    shutil.copy(root / "before.kneebench", file)
    first = kneebench.load(file).folder
    file.unlink()
    made(file, [(name, data) for name, data in valid(root) if name != "finished.json"])
    assert kneebench.load(file).folder != first
    assert not kneebench.load(file).finished


# --- made to do harm ------------------------------------------------------------------------------


def valid(root: Path) -> Files:
    return list(entries(root / "before"))


def made(file: Path, files: Files, how: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(file, "w", how) as archive:
        for name, data in files:
            archive.writestr(name, data)
    return file


def with_mode(name: str, mode: int) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.external_attr = mode << 16
    return entry


ENTRIES: dict[str, tuple[zipfile.ZipInfo | str, bytes, str]] = {
    "path outside": ("../../etc/cron.d/x", b"", "is no file of a campaign"),
    "path outside, from within": ("rungs/../../x.json", b"", "is no file of a campaign"),
    "absolute path": ("/tmp/x.json", b"", "is no file of a campaign"),
    "backslashes": ("rungs\\..\\x.json", b"", "is no file of a campaign"),
    "directory": ("rungs/", b"", "is a link, a directory or"),
    "hidden file": ("rungs/.x.json", b"", "is no file of a campaign"),
    "program": ("run.sh", b"#!/bin/sh\n", "is no file of a campaign"),
    "page": ("brief.html", b"<script>", "is no file of a campaign"),
    "deeper": ("rungs/a/b.json", b"", "is no file of a campaign"),
    "line break": ("rungs/a\nb.json", b"", "is no file of a campaign"),
    "link": (with_mode("rungs/x.json", stat.S_IFLNK | 0o777), b"/etc/passwd", "is a link"),
    "device": (with_mode("rungs/x.json", stat.S_IFCHR | 0o666), b"", "is a link, a directory or"),
    "pipe": (with_mode("rungs/x.json", stat.S_IFIFO | 0o666), b"", "is a link, a directory or"),
    "twice": (HEAD, b"{}", "is in it twice"),
    "long name": (f"rungs/{'x' * 300}.json", b"", "is no file of a campaign"),
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("kind", ENTRIES)
def test_an_archive_with_anything_but_a_campaigns_files_is_refused(
    kind: str, root: Path, place: Path
) -> None:
    entry, data, said = ENTRIES[kind]
    refused(made(place / "x.kneebench", [*valid(root), (entry, data)]), said)
    assert [file.name for file in place.iterdir() if file.name != "state"] == ["x.kneebench"]


def refused(file: Path, said: str) -> None:
    """The archive is refused with these words, by every command, and nothing of it is left."""
    with pytest.raises(KneebenchError, match="cannot read") as error:
        kneebench.load(file)
    assert said in str(error.value)
    assert str(file) in str(error.value) or str(file.resolve()) in str(error.value)
    answer = call("show", file)
    assert answer.exit_code in (1, 2)
    assert said in answer.stderr
    assert "internal error" not in answer.stderr
    assert list(Path(tempfile.gettempdir()).iterdir()) == []


def _bomb(root: Path, file: Path) -> None:
    """A hundred megabytes of zeros in a few kilobytes, in small files."""
    zeros = [(f"rungs/x{number}.json", b"0" * 10**7) for number in range(10)]
    made(file, [(HEAD, b"{}"), *zeros])


def _large_entry(root: Path, file: Path) -> None:
    made(file, [(HEAD, b" " * (17 * 2**20))])


def _more_than_it_says(root: Path, file: Path) -> None:
    """The directory says 2 bytes, the data are a megabyte."""
    made(file, [(HEAD, b"0" * 2**20)])
    written = bytearray(file.read_bytes())
    at = written.index(b"PK\x01\x02")
    written[at + 24 : at + 28] = struct.pack("<L", 2)
    file.write_bytes(written)


def _damaged(root: Path, file: Path) -> None:
    made(file, valid(root), zipfile.ZIP_STORED)
    written = bytearray(file.read_bytes())
    written[2000] ^= 0xFF
    file.write_bytes(written)


def _cut_off(root: Path, file: Path) -> None:
    file.write_bytes((root / "before.kneebench").read_bytes()[:-500])


def _encrypted(root: Path, file: Path) -> None:
    written = bytearray((root / "before.kneebench").read_bytes())
    at = written.index(b"PK\x01\x02")
    written[at + 8] |= 1
    file.write_bytes(written)


def _with_comment(root: Path, file: Path) -> None:
    with zipfile.ZipFile(shutil.copy(root / "before.kneebench", file), "a") as archive:
        archive.comment = b"hello"


def _large_directory(root: Path, file: Path) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for number in range(140_000):
            archive.writestr(f"rungs/{'x' * 80}{number}.json", b"")


def _other_names_inside(root: Path, file: Path) -> None:
    """The directory names one file, the data another."""
    made(file, [(HEAD, b"{}"), ("rungs/x.json", b"{}")], zipfile.ZIP_STORED)
    file.write_bytes(file.read_bytes().replace(b"rungs/x.json", b"../../y.json", 1))


def _pipe(root: Path, file: Path) -> None:
    os.mkfifo(file)


def _sparse(root: Path, file: Path) -> None:
    file.touch()
    os.truncate(file, 10**11)


def _nested(root: Path, file: Path) -> None:
    inner = io.BytesIO((root / "before.kneebench").read_bytes())
    made(file, [(HEAD, b"{}"), ("rungs/x.kneebench", inner.read())])


ARCHIVES: dict[str, tuple[Callable[[Path, Path], object], str]] = {
    "bomb": (_bomb, "more than a campaign's"),
    "large entry": (_large_entry, "more than such a file may have"),
    "more than it says": (_more_than_it_says, "it is damaged"),
    "damaged": (_damaged, "it is damaged"),
    "cut off": (_cut_off, "it is no result archive"),
    "encrypted": (_encrypted, "is encrypted"),
    "other compression": (
        lambda root, file: made(file, valid(root), zipfile.ZIP_LZMA),
        "is compressed in a way",
    ),
    "comment": (_with_comment, "it is no result archive"),
    "large directory": (_large_directory, "it has more files than a campaign"),
    "other names inside": (_other_names_inside, "it is damaged"),
    "no head": (lambda root, file: made(file, valid(root)[1:]), f"it contains no {HEAD}"),
    "no files": (lambda root, file: made(file, []), f"it contains no {HEAD}"),
    "empty": (lambda root, file: file.touch(), "it is no result archive"),
    "text": (lambda root, file: file.write_text("x" * 1000), "it is no result archive"),
    "link to nowhere": (lambda root, file: file.symlink_to("nowhere"), "No such file"),
    "link to a device": (lambda root, file: file.symlink_to("/dev/zero"), "it is a device"),
    "pipe": (_pipe, "it is a named pipe"),
    "sparse file": (_sparse, "it has 93.1 GiB, more than"),
    "archive in an archive": (_nested, "is no file of a campaign"),
}


@pytest.mark.parametrize("kind", ARCHIVES)
def test_an_archive_that_kneebench_did_not_write_is_refused(
    kind: str, root: Path, place: Path
) -> None:
    write, said = ARCHIVES[kind]
    file = place / "x.kneebench"
    write(root, file)
    refused(file, said)


def test_a_damaged_document_in_an_archive_is_named_by_the_archives_path(
    root: Path, place: Path
) -> None:
    file = made(place / "x.kneebench", [*valid(root), ("climbs/x.json", b"{")])
    with pytest.raises(KneebenchError, match=r"x\.kneebench/climbs/x\.json"):
        kneebench.load(file)


def _headed(root: Path, file: Path, **changes: object) -> Path:
    """An archive whose head has other values."""
    head = {**json.loads((root / "before" / HEAD).read_text()), **changes}
    others = [entry for entry in valid(root) if entry[0] != HEAD]
    return made(file, [(HEAD, json.dumps(head).encode()), *others])


@pytest.mark.parametrize(
    "id", ["../up", "/x", "..", ".x", "-x", "a\nb", "", "x" * 300, "x\x85", "x\u202ey", "ä" * 101]
)
def test_a_campaign_whose_id_is_no_folders_name_is_not_read(
    id: str, root: Path, place: Path
) -> None:
    with pytest.raises(KneebenchError, match=r"its id is .* which is no folder's name"):
        kneebench.load(_headed(root, place / "x.kneebench", id=id))
    assert list(place.iterdir()) == [place / "x.kneebench"]


def test_an_archive_of_a_newer_format_needs_a_newer_kneebench(root: Path, place: Path) -> None:
    with pytest.raises(KneebenchError, match=r"999 is newer than .*; install a newer kneebench"):
        kneebench.load(_headed(root, place / "x.kneebench", format=999))


def test_a_directory_of_an_archives_name_is_read_as_a_folder(root: Path, place: Path) -> None:
    shutil.copytree(root / "before", place / "x.kneebench")
    assert kneebench.load(place / "x.kneebench").archive is None


def test_a_link_that_a_person_named_leads_to_the_archive(root: Path, place: Path) -> None:
    (place / "x.kneebench").symlink_to(root / "before.kneebench")
    assert kneebench.load(place / "x.kneebench").finished
