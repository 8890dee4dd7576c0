"""Result archive: one file that contains a campaign, to hand on and to keep.

A zip file of the documents and tables of a campaign's folder. It lacks what is made of them (the
brief), what only a running campaign needs (events, lock), and the campaigns of proofs. The same
campaign gives the same bytes: names are sorted, and no entry has a time or an owner.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple
from weakref import WeakValueDictionary

from kneebench.directories import make_directory
from kneebench.errors import KneebenchError, Refused
from kneebench.plan.authors_words import LOGOS, MOST_LOGO_BYTES
from kneebench.plan.values import ARCHIVE
from kneebench.private_folder import KeptFolder, kept_folder
from kneebench.regular_file import content, names_in, opened
from kneebench.results.allowance import MOST_DOCUMENT_BYTES, MOST_FILES, MOST_TABLE_BYTES
from kneebench.results.atomic_write import write_atomically
from kneebench.results.logo import active_part
from kneebench.units import size

DOCUMENTS, TABLES = ("climbs", "conditions", "rungs"), ("seconds", "series")
"""Directories of a campaign's folder: those of JSON documents, those of Parquet tables."""
HEADS = ("campaign.json", "finished.json")
_DATE = (1980, 1, 1, 0, 0, 0)
_NAME = r"(?!\.)[\w.,+=@ -]{1,200}"
_ENTRY = re.compile(
    rf"(?:{'|'.join(map(re.escape, HEADS))})"
    rf"|(?:{'|'.join(DOCUMENTS)})/{_NAME}\.json"
    rf"|(?:{'|'.join(TABLES)})/{_NAME}\.parquet"
    rf"|logo(?:{'|'.join(map(re.escape, LOGOS))})"
)

Entries = Iterator[tuple[str, bytes]]
"""Files of a campaign: the path within its folder, and the content."""


def is_archive(path: Path) -> bool:
    """Whether a path leads to something that is named as a result archive, and is no directory."""
    return path.suffix == ARCHIVE and os.path.lexists(path) and not path.is_dir()


def is_entry(name: str) -> bool:
    """Whether a result archive may contain a file of this path.

    >>> [is_entry(one) for one in ("rungs/disk.search-2.json", "rungs/../x.json", "/campaign.json")]
    [True, False, False]
    """
    return bool(_ENTRY.fullmatch(name))


def most_bytes(name: str) -> int:
    """The largest size of the file of this path in a campaign's folder."""
    if name.endswith(".parquet"):
        return MOST_TABLE_BYTES
    return MOST_DOCUMENT_BYTES if name.endswith(".json") else MOST_LOGO_BYTES


def entries(folder: Path) -> Entries:
    """The files of a campaign that an archive contains, sorted by path.

    Raises KneebenchError, which names it, for one that is a link, too large or no regular file.
    """
    for name in sorted(_names(folder)):
        yield name, content(folder / name, most_bytes(name), inner="/" in name)


def _names(folder: Path) -> Iterator[str]:
    pictures = (f"logo{ending}" for ending in LOGOS)
    yield from (name for name in (*HEADS, *pictures) if os.path.lexists(folder / name))
    for directories, ending in ((DOCUMENTS, ".json"), (TABLES, ".parquet")):
        for directory in directories:
            names = names_in(folder / directory, ending, MOST_FILES)
            yield from (name for one in names if is_entry(name := f"{directory}/{one}"))


def write_archive(file: Path, found: Entries) -> None:
    """Write a result archive, whole or not at all.

    Raises Refused where something has the name already.
    """
    if os.path.lexists(file):
        raise Refused(
            f"cannot write {file}",
            seen="it is there already",
            do="remove it, or choose another name with --out",
        )
    try:
        write_atomically(file, lambda part: _fill(part, found))
    except zipfile.LargeZipFile as error:
        seen = "the campaign has more than 4 GiB or 65,535 files"
        raise KneebenchError(f"cannot write {file}", seen=seen, do="copy its folder") from error


def _fill(part: Path, found: Entries) -> None:
    with zipfile.ZipFile(part, "w", allowZip64=False) as archive:
        for name, written in found:
            entry = zipfile.ZipInfo(name, _DATE)
            entry.create_system, entry.external_attr = 3, 0o100644 << 16  # a file, on every system
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, written, compresslevel=9)


# A result archive, read without trust: it may be made by anybody, to do harm.
#
# Nothing in it is executed. Only files that kneebench itself packs are taken out of it, into a new
# private folder, so no path leads out of that and nothing there is a link or a device. Before the
# first byte is written, all that the archive says of itself is checked; what it says is also what
# is taken at most.

MOST_ARCHIVE_BYTES = 2**31
"""Of an archive, and of all files in it together: those of a week of measuring are a tenth."""
MOST_DIRECTORY_BYTES = 16 * 2**20
"""Of what an archive says of its files: that of 65,535 names of 100 characters."""
SMALL_BYTES = 64 * 2**20
"""What any archive may unpack to, however small it is itself."""
MOST_EXPANSION = 100
"""Bytes per byte of the archive, beyond SMALL_BYTES. A campaign's are 3 to 10, a bomb's 1,000."""
_PIECE_BYTES = 2**20
_END = struct.Struct("<4s4H2LH")
"""The last record of a zip file without a comment: signature, numbers of disks and of entries, size
and place of the directory, length of the comment."""
_END_SIGNATURE, _LARGE_SIGNATURE, _LARGE_BYTES = b"PK\x05\x06", b"PK\x06\x07", 20
_ENCRYPTED = 1
_SHOWN = 100
"""Characters of an entry's name in a message."""
_DAMAGES = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    struct.error,
)
"""What the standard library raises for an archive that is damaged."""


class _Version(NamedTuple):
    """One content of a file, by what changes when it is written again."""

    device: int
    inode: int
    size_bytes: int
    changed_ns: int


_there: WeakValueDictionary[tuple[Path, _Version], KeptFolder] = WeakValueDictionary()


def unpacked(file: Path) -> KeptFolder:
    """The campaign's folder that a result archive contains: private, and removed when nobody has
    its path any more. The same archive gives the same folder.

    Raises KneebenchError, which names the archive, for one that is damaged or that kneebench would
    not have written.
    """
    try:
        found = file.stat()
    except OSError as error:
        do = "correct the path"
        raise KneebenchError(
            f"cannot read {file}", seen=error.strerror or str(error), do=do
        ) from error
    key = file, _Version(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
    if (folder := _there.get(key)) is None:
        _there[key] = folder = _unpacked(file)
    return folder


def _unpacked(file: Path) -> KeptFolder:
    folder = kept_folder()
    try:
        with (
            opened(file.resolve(), MOST_ARCHIVE_BYTES) as handle,
            os.fdopen(os.dup(handle), "rb") as stream,
        ):
            _unpack(stream, file, folder)
    except _DAMAGES as error:
        shutil.rmtree(folder)
        raise _refused(file, f"it is damaged ({error})") from error
    except BaseException:
        shutil.rmtree(folder)
        raise
    return folder


def _unpack(stream: IO[bytes], file: Path, folder: Path) -> None:
    """Everything in the archive into the folder; raises KneebenchError before the first file where
    one may not be there.
    """
    length = stream.seek(0, os.SEEK_END)
    _require_end(stream, length, file)
    with zipfile.ZipFile(stream) as archive:
        found = archive.infolist()
        _require_entries(found, length, file)
        for entry in found:
            path = folder / entry.filename
            make_directory(path.parent, 0o700)
            with archive.open(entry) as source:
                _copy(source, path, entry.file_size)
            if path.suffix in LOGOS and (part := active_part(path.suffix, path.read_bytes())):
                raise _refused(file, f"its {path.name} has {part}")


def _require_end(stream: IO[bytes], length: int, file: Path) -> None:
    """Raises KneebenchError for a directory that is too large to be read, or of a kind that
    kneebench does not write.
    """
    stream.seek(max(0, length - _END.size - _LARGE_BYTES))
    last = stream.read()
    large, end = last[: -_END.size], last[-_END.size :]
    if len(end) < _END.size or not end.startswith(_END_SIGNATURE):
        raise _refused(file, "it is no result archive")
    if large.startswith(_LARGE_SIGNATURE) or _END.unpack(end)[5] > MOST_DIRECTORY_BYTES:
        raise _refused(file, "it has more files than a campaign")


def _require_entries(found: Sequence[zipfile.ZipInfo], length: int, file: Path) -> None:
    """Raises KneebenchError for the first entry that kneebench would not have written, and for more
    than a campaign has.
    """
    names: set[str] = set()
    for entry in found:
        if wrong := _wrong(entry, names):
            raise _refused(file, f"{entry.filename[:_SHOWN]!r} {wrong}")
        names.add(entry.filename)
    if HEADS[0] not in names:
        raise _refused(file, f"it contains no {HEADS[0]}")
    total = sum(entry.file_size for entry in found)
    if total > min(MOST_ARCHIVE_BYTES, max(SMALL_BYTES, MOST_EXPANSION * length)):
        raise _refused(file, f"{size(length)} would become {size(total)}, more than a campaign's")


def _wrong(entry: zipfile.ZipInfo, before: set[str]) -> str:
    """What is wrong with an entry; empty for one that kneebench may have written."""
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        return "is a link, a directory or a device"
    if not is_entry(entry.filename):
        return "is no file of a campaign"
    if entry.filename in before:
        return "is in it twice"
    if entry.flag_bits & _ENCRYPTED:
        return "is encrypted"
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return "is compressed in a way that kneebench does not use"
    if entry.file_size > most_bytes(entry.filename):
        return f"has {size(entry.file_size)}, more than such a file may have"
    return ""


def _copy(source: IO[bytes], path: Path, most: int) -> None:
    """As many bytes as the entry says that it has; the reader gives no more of them, and compares
    their checksum.
    """
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as target:
        written = 0
        while piece := source.read(_PIECE_BYTES):
            written += target.write(piece)
    if written != most:
        raise ValueError(f"{path.name} has {written} bytes and says {most}")


def _refused(file: Path, seen: str) -> KneebenchError:
    return KneebenchError(
        f"cannot read {file}", seen=seen, do="get the archive again, from whom you trust"
    )
