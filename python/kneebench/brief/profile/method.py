"""What a profile was measured on, how, and the command that repeats it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from kneebench import units
from kneebench.analysis.wording import plural
from kneebench.brief.section import Column, Row, Section, Table
from kneebench.measurement.profile import Profile
from kneebench.records import WholeDrive

METHOD = (
    "fio reads and writes one file that was written in full before. I/O bypasses the page cache,"
    " except for log writes and the copy.",
    "Every row is measured for {seconds} s, after a ramp of 1 s. A log write has no ramp.",
)
COLUMNS = (Column(title="Fact", number=False), Column(title="Value", number=False))


def section(found: Profile) -> Section:
    """The machine, its drives, and the method."""
    rows = tuple(Row(cells=fact) for fact in _facts(found) if fact[1])
    return Section(
        name="machine",
        title="Machine and method",
        sentences=tuple(one.format(seconds=found.seconds) for one in METHOD),
        tables=(Table(narrow=True, columns=COLUMNS, rows=rows),),
    )


def repeat(found: Profile) -> Section:
    """The command."""
    directory = shlex.quote(str(found.directory))
    command = f"kneebench profile {directory} {_size(found)} --seconds {found.seconds}"
    return Section(name="repeat", title="Reproduce this result", code=(command,))


def _size(found: Profile) -> str:
    text = units.size(found.file_bytes).replace(" ", "")
    exact = units.parse_size(text) == found.file_bytes
    return f"--size {text if exact else f'{found.file_bytes}B'}"


def _facts(found: Profile) -> Iterator[tuple[str, str]]:
    host = found.host
    yield "Directory", f"{found.directory} ({found.file_system})"
    for drive in found.drives:
        yield f"Drive {drive.name}", ", ".join(filter(None, _of_drive(drive)))
    yield "File", units.size(found.file_bytes)
    yield "Written", f"about {units.size(found.written_bytes)}"
    yield "fio", ", ".join([*_versions(found), found.engine])
    yield "Processor", f"{host.cpu}, {plural(host.cores, 'core')}"
    yield "Memory", units.size(host.memory_bytes)
    yield "System", f"{host.system}, kernel {host.kernel}"
    yield "Virtualisation", host.virtualisation or "none detected"
    yield "Governor", host.governor or "not readable"
    yield "kneebench", found.kneebench
    yield "Started", found.started_at


def _of_drive(drive: WholeDrive) -> Iterator[str]:
    yield drive.model or "model unknown"
    yield drive.firmware and f"firmware {drive.firmware}"
    yield units.size(drive.size_bytes)
    yield drive.transport
    yield drive.link and f"link {drive.link}"
    yield drive.scheduler and f"scheduler {drive.scheduler}"
    yield drive.write_cache and f"write cache {drive.write_cache}"


def _versions(found: Profile) -> list[str]:
    return sorted({str(one.get("fio version", "")) for one in found.fio.values()} - {""})
