"""What a profile was measured on, how, and the command that repeats it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from kneebench import units
from kneebench.brief.host_facts import host_facts
from kneebench.brief.section import Column, Row, Section, Table
from kneebench.measurement.profile import Profile, Together
from kneebench.records import Preconditioned, WholeDrive

ON_A_FILE = (
    "fio reads and writes one file that was written in full before. I/O bypasses the page cache,"
    " except for log writes and the copy."
)
ON_A_DRIVE = (
    "fio reads and writes the whole drive, without a file system. Blocks that were never written,"
    " or were trimmed, are read without reaching the flash. I/O bypasses the page cache, except for"
    " log writes."
)
COLUMNS = (Column(title="Fact", number=False), Column(title="Value", number=False))


def sentences(found: Profile | Together) -> tuple[str, ...]:
    """How a row is measured."""
    each = f"Every row is measured for {found.seconds} s, after a ramp of 1 s."
    how = ON_A_DRIVE if found.raw else ON_A_FILE
    return (how, f"{each} A log write has no ramp.", *found.host.unknown)


def section(found: Profile) -> Section:
    """The machine, its drives, and the method."""
    where = (place(found), f"{found.directory} ({found.file_system})")
    facts = facts_of(found, found.drives, found.fio.values())
    return Section(
        name="machine",
        title="Machine and method",
        sentences=sentences(found),
        tables=(facts_table([where, *facts]),),
    )


def place(found: Profile | Together) -> str:
    """What a target is called."""
    return "Device" if found.raw else "Directory"


def repeat(found: Profile) -> Section:
    return command([found.directory], found)


def command(directories: Sequence[Path], found: Profile | Together) -> Section:
    """The command that measures these directories in the same way."""
    names = " ".join(shlex.quote(str(one)) for one in directories)
    size = units.size(found.file_bytes).replace(" ", "")
    if units.parse_size(size) != found.file_bytes:
        size = f"{found.file_bytes}B"
    how = f"--size {size}"
    if found.raw:
        how = "--write" if found.written_bytes else ""
        how += "".join(f" --precondition {shlex.quote(one)}" for one in _preconditioned(found))
    line = " ".join(filter(None, ("kneebench profile", names, how, f"--seconds {found.seconds}")))
    return Section(name="repeat", title="Reproduce this result", code=(line,))


def facts_of(
    found: Profile | Together, drives: Iterable[WholeDrive], documents: Iterable[Any]
) -> Iterator[tuple[str, str]]:
    """Drives, file, fio by its documents, and machine; values may be empty."""
    host = found.host
    versions = sorted({str(one.get("fio version", "")) for one in documents} - {""})
    for drive in drives:
        yield f"Drive {drive.name}", ", ".join(filter(None, _of_drive(drive)))
    yield "File", "" if found.raw else units.size(found.file_bytes)
    for done in found.preconditioned:
        yield f"Preconditioned {done.device}", _of_preconditioning(done)
    yield "Written", f"about {units.size(found.written_bytes)}"
    yield "fio", ", ".join([*versions, found.engine])
    yield from host_facts(host)
    yield "kneebench", found.kneebench
    yield "Started", found.started_at


def facts_table(facts: Iterable[tuple[str, str]]) -> Table:
    """The facts that are known."""
    rows = tuple(Row(cells=fact) for fact in facts if fact[1])
    return Table(narrow=True, columns=COLUMNS, rows=rows)


def _preconditioned(found: Profile | Together) -> list[str]:
    """How, each way once."""
    return list(dict.fromkeys(one.how for one in found.preconditioned))


def _of_preconditioning(done: Preconditioned) -> str:
    if done.remembered:
        return f"{done.how}, by an earlier run"
    facts = f"{done.how}, {units.size(done.written_bytes)} in {units.rough_time(done.took_s)}"
    if done.steady is None:
        return facts
    return f"{facts}, {'steady' if done.steady else 'NOT steady'}"


def _of_drive(drive: WholeDrive) -> Iterator[str]:
    yield drive.model or "model unknown"
    yield drive.firmware and f"firmware {drive.firmware}"
    yield units.size(drive.size_bytes)
    yield drive.transport
    yield drive.link and f"link {drive.link}"
    yield drive.scheduler and f"scheduler {drive.scheduler}"
    yield drive.write_cache and f"write cache {drive.write_cache}"
