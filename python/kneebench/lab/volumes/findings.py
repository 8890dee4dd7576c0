"""Findings on a plan's volumes before they are made: privileges, programs, drives, and what would
be erased.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kneebench import units
from kneebench.engine_properties import UNFLUSHED, without_flushes
from kneebench.errors import KneebenchError
from kneebench.lab.drives import existing
from kneebench.lab.inventory import identities, named
from kneebench.lab.inventory.erasable import drive_state, obstacle
from kneebench.lab.programs import found
from kneebench.lab.volumes.claiming import named_drives
from kneebench.lab.volumes.emulated import PROGRAMS, is_in_memory
from kneebench.lab.volumes.layouts import AROUND_BYTES, by_drive, by_md, has_md
from kneebench.lab.volumes.preconditioning_time import drives_of, preconditioning_finding
from kneebench.plan.default import MEMORY
from kneebench.plan.storage import ROLES, Storage, differing_key
from kneebench.plan.study import Study
from kneebench.plan.volume import Volume
from kneebench.records import Finding, Watch, WholeDrive, unwatched

MKFS = {"xfs": "xfsprogs", "ext4": "e2fsprogs", "btrfs": "btrfs-progs"}
"""The Debian package of mkfs by file system."""


def volume_findings(
    study: Study, *, erase: Sequence[WholeDrive] = (), watch: Watch = unwatched
) -> Iterator[Finding]:
    """What prevents the plan's volumes, and what will become of its drives; nothing for a plan of
    directories. `erase`: drives that the run's user has agreed to erase.
    """
    if not study.volumes:
        return
    if os.geteuid() != 0:
        seen = "volumes are made and mounted by root only"
        yield Finding(level="error", subject="volumes", seen=seen, do="run kneebench as root")
        return
    yield from _programs(study.volumes)
    yield from _md(study.volumes)
    try:
        yield from _drives(study, erase, watch)
    except KneebenchError as error:
        yield Finding(level="error", subject=error.what, seen=error.seen, do=error.do)
    yield from _emulated(study)
    yield from _without_flushes(study)


def _without_flushes(study: Study) -> Iterator[Finding]:
    """Mount options that buy speed with safety."""
    for name, storage in study.storages.items():
        for volume in storage.volumes:
            for option in without_flushes(volume.file_system.mount_options):
                yield unflushed_finding(name, option)


def unflushed_finding(storage: str, option: str) -> Finding:
    """Of one such option."""
    seen = f"mount option {option}: {UNFLUSHED}"
    do = "leave it out to measure a storage that keeps its data"
    return Finding(level="warning", subject=storage, seen=seen, do=do)


def _drives(study: Study, erase: Sequence[WholeDrive], watch: Watch) -> Iterator[Finding]:
    agreed = {drive.key for drive in erase}
    here = named_drives(study.drives, watch)
    for drive in here:
        yield _drive(drive, study, erase=drive.key in agreed)
    yield from _named_twice(study, here)
    for name, storage in study.storages.items():
        yield from _partitions(name, storage)
        yield from _shared_limits(name, storage)
        once = {drives_of(one, n): one for n, one in enumerate(storage.volumes) if one.precondition}
        for volume in once.values():
            yield preconditioning_finding(name, volume, here, study.most_restores)


def _named_twice(study: Study, here: Sequence[WholeDrive]) -> Iterator[Finding]:
    """Drives that volumes name by two names, or want different, or that storages side by side
    share.
    """
    taken: dict[str, tuple[str, Volume]] = {}
    for name, storage in study.storages.items():
        taken = taken if study.ladder.rounds == "short" else {}
        for volume in storage.volumes:
            for drive in (named(here, one) for one in volume.named_drives):
                other, there = taken.get(drive.path, ("", volume))
                apart = there is not volume and there.size and volume.size
                if other and not (other == name and apart):
                    seen = f"{drive.path} is in {other!r} already"
                    do = 'name other drives, or measure one storage at a time (rounds = "long")'
                    yield Finding(level="error", subject=name, seen=seen, do=do)
                elif key := differing_key(there, volume):
                    seen = f"volumes that share {drive.path} differ in {key}"
                    do = f"set the same {key} in each of them"
                    yield Finding(level="error", subject=name, seen=seen, do=do)
                taken[drive.path] = name, volume


def _partitions(name: str, storage: Storage) -> Iterator[Finding]:
    """The partitions of each drive, and whether they fit."""
    for drive, sizes in by_drive(storage).items():
        parts = ", ".join(
            f"{units.size(size)} for {ROLES[key].holds}" for key, size in sizes.items()
        )
        left = drive.size_bytes - sum(sizes.values()) - AROUND_BYTES
        subject, seen = f"{name}: {drive.path}", f"partitions of {parts}"
        if left < 0:
            seen += f"; the drive has {units.size(drive.size_bytes)}"
            do = "lower the sizes; the table needs 2 MiB itself"
            yield Finding(level="error", subject=subject, seen=seen, do=do)
        else:
            yield Finding(level="ok", subject=subject, seen=f"{seen}; {units.size(left)} unused")


def _shared_limits(name: str, storage: Storage) -> Iterator[Finding]:
    """Which volumes are parts of the same emulated drives, and so share their limits."""
    for keys in storage.on_emulated_drives:
        if len(keys) > 1:
            volumes = [storage.volumes_by_path[key] for key in keys]
            drives, kind = len(volumes[0].emulated_drives), volumes[0].emulated_drives[0].emulated
            parts = ", ".join(
                f"{units.size(volume.size or 0)} for {ROLES[key].holds}"
                for key, volume in zip(keys, volumes, strict=True)
            )
            what = f"{drives} emulated {'drive' if drives == 1 else 'drives'} ({kind})"
            seen = f"parts of {parts} on each; they share its limits"
            yield Finding(level="ok", subject=f"{name}: {what}", seen=seen)


def _programs(volumes: Iterable[Volume]) -> Iterator[Finding]:
    needed = {"mount": "mount", "wipefs": "util-linux"}
    for volume in volumes:
        kind = volume.file_system.type
        needed[f"mkfs.{kind}"] = MKFS[kind]
        needed |= {"mdadm": "mdadm"} if by_md(volume) else {}
        limited = [one for one in volume.emulated_devices if not is_in_memory(one)]
        needed |= PROGRAMS if limited else {}
        partitions = volume.size and volume.named_drives
        needed |= {"sfdisk": "fdisk", "partx": "util-linux"} if partitions else {}
        needed |= {"fio": "fio"} if volume.precondition else {}
    missing = {program: package for program, package in needed.items() if not found(program)}
    if missing:
        yield Finding(
            level="error",
            subject="volumes",
            seen=f"missing: {', '.join(missing)}",
            do=f"install {', '.join(dict.fromkeys(missing.values()))} (packages of Debian)",
        )


def _md(volumes: Iterable[Volume]) -> Iterator[Finding]:
    if any(map(by_md, volumes)) and not has_md():
        yield Finding(
            level="error",
            subject="volumes",
            seen="this kernel has no md, which makes a layout below xfs or ext4",
            do='set file_system = { type = "btrfs" }, or use a kernel with md',
        )


def _drive(drive: WholeDrive, study: Study, *, erase: bool) -> Finding:
    found = drive_state(drive)
    what = f"{drive.model or drive.kind} {drive.serial}".strip()
    seen = f"{what}, {units.size(drive.size_bytes)}: {found.state}, {found.why}"
    if why := obstacle(drive):
        return Finding(level="refused", subject=drive.path, seen=f"{seen}; {why.seen}", do=why.do)
    if found.state == "blank":
        return Finding(level="ok", subject=drive.path, seen=seen)
    if not found.needs_consent:
        do = "use another drive (kneebench drives)"
        return Finding(level="refused", subject=drive.path, seen=seen, do=do)
    if not drive.wwid or drive.wwid not in study.erase:
        name = json.dumps(drive.wwid, ensure_ascii=False)  # as TOML writes it, too
        do = f"use another drive, or allow it: erase = [{name}] and run --erase"
        do = do if drive.wwid else "use another drive: this one has no WWID to be known by"
        return Finding(level="refused", subject=drive.path, seen=seen, do=do)
    if not erase:
        do = "its contents would be lost; if that is intended: kneebench run --erase"
        return Finding(level="refused", subject=drive.path, seen=seen, do=do)
    return Finding(level="warning", subject=drive.path, seen=seen, do="it will be erased")


def _emulated(study: Study) -> Iterator[Finding]:
    """Space for the files of emulated drives, which are kept until the campaign ends."""
    drives = [drive for volume in study.volumes for drive in volume.emulated_devices]
    for folder in (study.emulated_path, MEMORY):
        here = [one for one in drives if is_in_memory(one) == (folder == MEMORY)]
        if needed := sum(drive.size for drive in here):
            yield _space(folder, needed)


def _space(folder: Path, needed: int) -> Finding:
    free = shutil.disk_usage(existing(folder)).free
    text = f"files of emulated drives: {units.size(needed)} needed, {units.size(free)} free"
    if free < needed:
        do = "free some space, or set emulated_path or smaller drives"
        return Finding(level="error", subject=str(folder), seen=text, do=do)
    label = "; no real drive behaves like them: use them to try a plan"
    return Finding(level="note", subject=str(folder), seen=text + label, writes_bytes=needed)


# Findings on the drives that a plan allows to be erased.


def erase_findings(study: Study) -> Iterator[Finding]:
    """Warnings of entries of `erase` that allow nothing, because no storage of the plan has such a
    drive.
    """
    try:
        here = identities() if study.erase and study.drives else []
        there = [named(here, name) for name in study.drives] if here else []
    except KneebenchError:  # said by the volume's own findings
        return
    wwids = {drive.path: drive.wwid for drive in there}
    for entry in study.erase:
        if entry in wwids.values():
            continue
        do = "remove it, or name the WWID of a drive in [storages] (`kneebench drives` prints it)"
        if own := wwids.get(entry) or wwids.get(f"/dev/{entry}"):
            do = f'name the WWID of that drive: "{own}"'
        seen = (
            f'no storage of the plan has a drive with the WWID "{entry}": nothing is erased by it'
        )
        yield Finding(level="warning", subject="erase", seen=seen, do=do)
