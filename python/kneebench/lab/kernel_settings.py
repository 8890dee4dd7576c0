"""Settings of the kernel that a plan names: written, read back, and put back at the end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from kneebench import units
from kneebench.errors import PlanError
from kneebench.lab.changes.setting import WrittenSetting, setting_in
from kneebench.lab.drives import block_folder
from kneebench.lab.journal import Journal
from kneebench.lab.permission import WritableDevice
from kneebench.lab.sysctl_files import renamed, sysctl_file
from kneebench.plan.kernel import PAIRS, DriveSettings, Kernel
from kneebench.records import Event, Setting, Watch

READ_AHEAD = "read_ahead_kb"
UNCHANGED = "all settings are as before"


def paired(name: str) -> str:
    """The sysctl that the kernel sets to 0 when this one is written; empty for most.

    >>> paired("vm.dirty_bytes"), paired("vm.swappiness")
    ('vm.dirty_ratio', '')
    """
    return next((({*pair} - {name}).pop() for pair in PAIRS if name in pair), "")


def queue_file(device: str, name: str) -> Path:
    """A file of a whole drive's queue."""
    return block_folder(device) / "queue" / name


def btrfs_file(uuid: str, name: str) -> Path:
    """A file of a mounted btrfs, which reads ahead by itself, whatever its drives do."""
    return Path("/sys/fs/btrfs") / uuid / "bdi" / name


@contextlib.contextmanager
def sysctls(kernel: Kernel, journal: Journal, watch: Watch) -> Iterator[tuple[Setting, ...]]:
    """The plan's sysctls in force until the end of the block. Raises PlanError for one that the
    kernel refuses; then all are as before.
    """
    with contextlib.ExitStack() as stack:
        settings = []
        for name, value in kernel.sysctl.items():
            other = paired(name)
            beside = [sysctl_file(other)] if other else []
            file = sysctl_file(name)
            try:
                before = stack.enter_context(hold_setting(journal, file, str(value), beside, watch))
            except OSError as error:
                what = f"cannot set {name} to {value}"
                do = f"correct kernel.sysctl in the plan; {UNCHANGED}"
                raise PlanError(what, seen=str(error), do=do) from error
            was = " ".join([before[0], *(f"({other} {text})" for text in before[1:])])
            settings.append(_setting(name, str(value), was, renamed(name, file)))
        yield tuple(settings)


class SettingsOfDrives:
    """The kernel settings of one volume's drives, in force until the stack ends.

    `called`: what the results call the drives; `settled`: drives that another volume shares and has
    set before. Raises OSError for a value that the kernel refuses.
    """

    def __init__(
        self,
        journal: Journal,
        stack: contextlib.ExitStack,
        watch: Watch,
        called: str,
        settled: set[str],
    ) -> None:
        self._journal, self._stack, self._watch, self._called = journal, stack, watch, called
        self._settled = settled

    def put(self, settings: DriveSettings, devices: Sequence[WritableDevice]) -> None:
        """Set all of them, by the devices of whole drives; a new scheduler resets the queue."""
        drives, found = [one.path for one in devices if one.path not in self._settled], []
        if not drives:
            return
        for device in devices:
            device.require_same()
        self._settled.update(drives)
        if settings.scheduler:
            files = [queue_file(one, "scheduler") for one in drives]
            was = [self._put(file, settings.scheduler, "nr_requests") for file in files]
            found.append(self._found("scheduler", settings.scheduler, was))
        if settings.nr_requests is not None:
            files = [queue_file(one, "nr_requests") for one in drives]
            was = [self._put(file, str(settings.nr_requests)) for file in files]
            found.append(self._found("nr_requests", str(settings.nr_requests), was))
        if settings.read_ahead is not None:
            was = [self.put_read_ahead(settings, queue_file(one, READ_AHEAD)) for one in drives]
            found.append(self._found("read_ahead", units.size(settings.read_ahead), was))
        if found:
            doing = f"kernel settings of the {self._called} are set"
            self._watch(Event(kind="end", doing=doing, data={"settings": tuple(found)}))

    def put_read_ahead(self, settings: DriveSettings, file: Path) -> str:
        """Set the read-ahead of what is on the drives, too: md or btrfs; the one before."""
        if settings.read_ahead is None:
            return ""
        return f"{self._put(file, str(settings.read_ahead // 1024))} KiB"

    def _put(self, file: Path, value: str, *beside: str) -> str:
        others = [file.with_name(name) for name in beside]
        others = [other for other in others if other.exists()]
        [before, *_] = self._stack.enter_context(
            hold_setting(self._journal, file, value, others, self._watch)
        )
        return before

    def _found(self, name: str, value: str, was: Sequence[str]) -> Setting:
        return _setting(f"{self._called}: {name}", value, ", ".join(dict.fromkeys(was)))


@contextlib.contextmanager
def hold_setting(
    journal: Journal, file: Path, value: str, beside: Sequence[Path], watch: Watch
) -> Iterator[list[str]]:
    """A setting with this value until the end of the block; the values before: its own, and those
    of the files that the kernel writes along with it.

    The watcher is warned if another program has changed it by then. Raises OSError if the kernel
    refuses the value, or takes another one.
    """
    value = " ".join(value.split())
    before = {str(one): setting_in(one) for one in (file, *beside)}
    facts = {"file": str(file), "before": before[str(file)], "written": value}
    facts_beside = {str(one): before[str(one)] for one in beside}
    made = journal.made(WrittenSetting, "a kernel setting", **facts, beside=facts_beside)
    with made as change:
        _write(change)
        try:
            yield list(before.values())
        finally:
            if remark := change.remark():
                watch(Event(kind="warning", doing=remark))


def _write(change: WrittenSetting) -> None:
    try:
        Path(change.file).write_text(change.written)
    except OSError as error:
        raise OSError(f"{change.file} refuses {change.written}: {error.strerror}") from error
    if (now := setting_in(Path(change.file))) != change.written:
        change.put_back()
        raise OSError(f"{change.file} reads {now} after {change.written} was written")


def _setting(name: str, value: str, before: str, renamed: str = "") -> Setting:
    plan = f"plan, as {renamed}" if renamed else "plan"
    return Setting(name=name, value=value, source=f"{plan}; before: {before}", matters=True)
