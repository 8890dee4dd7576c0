"""Result archive: one file that contains a campaign, to hand on and to keep.

A zip file of the documents and tables of a campaign's folder. It lacks what is made of them (the
brief), what only a running campaign needs (events, lock), and the campaigns of proofs. The same
campaign gives the same bytes: names are sorted, and no entry has a time or an owner.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

from kneebench.errors import KneebenchError, Refused
from kneebench.plan.authors_words import LOGOS, MOST_LOGO_BYTES
from kneebench.plan.values import ARCHIVE
from kneebench.regular_file import content, names_in
from kneebench.results.allowance import MOST_DOCUMENT_BYTES, MOST_FILES, MOST_TABLE_BYTES
from kneebench.results.atomic_write import write_atomically

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
