"""Findings on a plan's kernel settings before they are written; nothing is changed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from kneebench.errors import KneebenchError
from kneebench.lab.changes.setting import setting_in
from kneebench.lab.inventory import identities, named
from kneebench.lab.kernel_settings import READ_AHEAD, queue_file
from kneebench.lab.sysctl_files import DEBUGFS, MOUNT, is_hidden, sysctl_file
from kneebench.plan.kernel import DriveSettings
from kneebench.plan.study import Study
from kneebench.records import Finding


def kernel_findings(study: Study) -> Iterator[Finding]:
    """What prevents the plan's sysctls and settings of drives; nothing for a plan without any."""
    of_drives = [one for one in study.volumes if one.drive_settings != DriveSettings()]
    if not (study.kernel.sysctl or of_drives):
        return
    if os.geteuid() != 0:
        seen = "kernel settings are written by root only"
        do = "run kneebench as root, or remove kernel.sysctl and drive_settings"
        yield Finding(level="error", subject="kernel", seen=seen, do=do)
        return
    for name, value in study.kernel.sysctl.items():
        yield _of(name, sysctl_file(name), str(value))
    for volume in of_drives:
        try:
            here = identities() if volume.named_drives else []
            devices = [named(here, name).path for name in volume.named_drives]
        except KneebenchError:  # said by the volume's own findings
            continue
        for device in devices:
            yield from _of_drive(device, volume.drive_settings)


def _of_drive(device: str, settings: DriveSettings) -> Iterator[Finding]:
    if settings.scheduler:
        file = queue_file(device, "scheduler")
        yield _known_scheduler(device, file, settings.scheduler)
    if settings.nr_requests is not None:
        file = queue_file(device, "nr_requests")
        yield _of(f"{device}: nr_requests", file, str(settings.nr_requests))
    if settings.read_ahead is not None:
        file = queue_file(device, READ_AHEAD)
        yield _of(f"{device}: read_ahead_kb", file, str(settings.read_ahead // 1024))


def _known_scheduler(device: str, file: Path, wanted: str) -> Finding:
    """A kernel may have a scheduler as a module, which is loaded when it is written."""
    subject = f"{device}: scheduler"
    found = _of(subject, file, wanted)
    if found.level != "ok":
        return found
    there = file.read_text().replace("[", "").replace("]", "").split()
    if wanted in there:
        return found
    do = f"use one of {', '.join(there)}, unless a module has it; nothing was changed"
    return Finding(level="warning", subject=subject, seen=f"no scheduler {wanted!r} now", do=do)


def _of(subject: str, file: Path, value: str) -> Finding:
    """One setting: it is there and can be written, and what it is now."""
    try:
        now = setting_in(file)
    except OSError as error:
        return _unreadable(subject, file, error)
    if not os.access(file, os.W_OK):
        seen = f"{file} is read-only here, as in a container"
        do = "run on the machine itself, or remove it from the plan; nothing was changed"
        return Finding(level="error", subject=subject, seen=seen, do=do)
    return Finding(level="ok", subject=subject, seen=f"{now} now, {value} during the campaign")


def _unreadable(subject: str, file: Path, error: OSError) -> Finding:
    seen, do = f"cannot be read: {error.strerror}", "remove it from the plan; nothing was changed"
    if is_hidden(file):
        seen = f"cannot be read: debugfs is not mounted at {DEBUGFS}"
        do = f"{MOUNT}, or {do}"
    elif isinstance(error, FileNotFoundError):
        seen = "does not exist on this kernel"
    elif file.is_relative_to(DEBUGFS):
        seen += " (a locked-down kernel refuses it even to root)"
    return Finding(level="error", subject=subject, seen=f"{file} {seen}", do=do)
