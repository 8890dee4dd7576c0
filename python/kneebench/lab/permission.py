"""The one place that decides whether a block device may be written to.

There are four reasons, and each gives a `WritableDevice`:

- `claimed`: nothing uses the drive, and it is blank;
- `agreed`: its owner was shown what is on it, has agreed to lose that, and nothing changed since;
- `made`: kneebench made the device itself, such as a loop device over its own file;
- `left`: kneebench wrote to it, and no other program can have done so since.

Nothing else writes to a device: lab/device_writes.py takes no other, and looks at it once more
right before each write.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Self

from kneebench.errors import InvalidMeasurement, Refused
from kneebench.lab.inventory import MOMENTARY, drives_called, look_at
from kneebench.lab.inventory.erasable import DriveState, changes_since, drive_state, obstacle
from kneebench.lab.open_device import (
    LOOKS_S,
    OpenDevice,
    once_free,
    write_count,
)
from kneebench.lab.own_writes import are_all_ours, note_claimed, note_own_writes
from kneebench.lab.processes import runs
from kneebench.lab.programs import wait_until
from kneebench.records import Watch, WholeDrive, WriteCount, unwatched

START_AGAIN = "nothing was written to it; run kneebench drives, then start again"


class Daemon(NamedTuple):
    """A program that serves a device, and when it started."""

    name: str
    pid: int
    started: int


class WritableDevice:
    """A block device that may be written to, open since that was decided.

    Only the functions of this module make one. `daemons`: the programs that serve it; `key`: the
    name that a drive of this machine is known by; `drives`: those whose writes are noted when this
    device is written to. `mounted`: devices, by name, through which a volume of ours on it writes
    at any time.
    """

    def __init__(self, opened: OpenDevice, daemons: Sequence[Daemon] = (), key: str = "") -> None:
        self._opened, self._daemons, self.key = opened, tuple(daemons), key
        self.drives: tuple[WritableDevice, ...] = ()
        self.mounted: set[str] = set()

    @property
    def path(self) -> str:
        return self._opened.path

    @property
    def opened(self) -> OpenDevice:
        """It as it was opened."""
        return self._opened

    def require_same(self) -> None:
        """Raises Refused if it is another device by now, InvalidMeasurement if what serves it has
        ended.
        """
        self.require_daemons()
        self._opened.require_same()
        for drive in self.drives:
            if not are_all_ours(drive.opened, drive.mounted):
                seen = "another program has written to it since kneebench did"
                raise Refused(f"cannot write to {drive.path}", seen=seen, do=START_AGAIN)

    def note_writes(self) -> None:
        """What was written to it is on it, and is ours."""
        for drive in self.drives:
            note_own_writes(drive.opened)

    def lost_daemon(self) -> Daemon | None:
        """A program that serves it and has ended."""
        return next((one for one in self._daemons if not runs(one.pid, one.started)), None)

    def require_daemons(self, failure: Exception | None = None) -> None:
        """Raises InvalidMeasurement, in place of what failed, if a program that serves it has
        ended.
        """
        if daemon := self.lost_daemon():
            raise InvalidMeasurement(
                f"cannot use the emulated drive {self.path}",
                seen=f"its program {daemon.name} (PID {daemon.pid}) has ended",
                do="look for the reason in the kernel's log, then run again to resume",
            ) from failure

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """No other program may mount it meanwhile. Raises OSError while one uses it."""
        with once_free(lambda: OpenDevice(self.path, alone=True)):
            yield

    def close(self) -> None:
        """It may be given to others."""
        self._opened.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


# --- the four reasons -----------------------------------------------------------------------------


def claim(names: Sequence[str], watch: Watch = unwatched) -> list[WritableDevice]:
    """Blank drives of these names; all are decided on before one is given. Each is looked at while
    this process has it alone.

    Raises Refused for a drive that is in use, or not blank; PlanError for one that is not here.
    """
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(_hold(drive)) for drive in drives_called(names)]
        for one in held:
            now = one.now(watch)
            require_blank(now, drive_state(now))
        return _release(held)


def claim_agreed(drives: Sequence[WholeDrive], watch: Watch = unwatched) -> list[WritableDevice]:
    """Drives as their owner was shown them, and agreed to lose what is on them.

    Raises Refused if one is in use by now, or something on it has changed.
    """
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(_hold(drive)) for drive in drives]
        for drive, one in zip(drives, held, strict=True):
            now = one.now(watch)
            if changed := changes_since(drive, now):
                seen = f"{changed} since it was looked at"
                raise Refused(f"cannot write to {drive.path}", seen=seen, do=START_AGAIN)
            if not drive_state(now).needs_consent:
                require_blank(now, drive_state(now))
        return _release(held)


def made(
    path: str, is_ours: Callable[[OpenDevice], bool], daemons: Sequence[Daemon] = ()
) -> WritableDevice:
    """A device that kneebench has just made. Raises Refused if it is another one by now, OSError if
    it is not there.
    """
    opened = OpenDevice(path)
    with contextlib.ExitStack() as stack:
        stack.callback(opened.close)
        if not is_ours(opened):
            seen = "it is not the device that kneebench made"
            raise Refused(f"cannot write to {path}", seen=seen, do=START_AGAIN)
        stack.pop_all()
    return WritableDevice(opened, daemons)


def left(path: str, is_ours: Callable[[OpenDevice], bool]) -> WritableDevice | None:
    """A device that kneebench wrote to; None if another program may have done so since. Raises
    OSError if it cannot be opened.
    """
    opened = OpenDevice(path)
    with contextlib.ExitStack() as stack:
        stack.callback(opened.close)
        if not is_ours(opened):
            return None
        stack.pop_all()
    return WritableDevice(opened)


# --- a drive of this machine ----------------------------------------------------------------------


class HeldDrive(NamedTuple):
    """A drive that this process has exclusively, and how much was written to it before that was
    looked at.
    """

    drive: WholeDrive
    alone: OpenDevice
    before: WriteCount

    def now(self, watch: Watch) -> WholeDrive:
        """It as it is now; what others have open for an instant is looked at again. Raises Refused
        if it is another drive, or may not be written to, whatever is on it.
        """
        found: list[WholeDrive] = []

        def settled() -> bool:
            found[:] = [look_at(self.drive, ours=True, watch=watch)]
            uses = {holder.kind for holder in found[0].holders}
            return not uses or not uses <= MOMENTARY

        try:
            wait_until(settled, LOOKS_S)
            self.alone.require_same()
        except OSError as error:
            what = f"cannot write to {self.drive.path}"
            raise Refused(what, seen=str(error), do=START_AGAIN) from error
        if found[0].identity is None:  # it could not be read, for a reason
            require_blank(found[0], drive_state(found[0]))
        if found[0].identity == self.alone.identity:  # a deleted file has another name
            require_no_obstacle(found[0])
        if (found[0].key, found[0].identity) != (self.drive.key, self.alone.identity):
            seen = "it is another drive since it was looked at"
            raise Refused(f"cannot write to {self.drive.path}", seen=seen, do=START_AGAIN)
        return found[0]

    def release(self) -> WritableDevice:
        """The same drive, open for longer than it is held: mkfs and mount must have it
        exclusively.
        """
        found = made(self.drive.path, lambda one: one.identity == self.alone.identity)
        note_claimed(found.opened, self.before)
        device = WritableDevice(found.opened, key=self.drive.key)
        device.drives = (device,)
        return device

    def require_unwritten(self) -> None:
        """Raises Refused if another program has written to it since it was looked at: others take
        their time.
        """
        if self.before.device_bytes is not None and write_count(self.alone) != self.before:
            seen = "another program has written to it since it was looked at"
            raise Refused(f"cannot write to {self.drive.path}", seen=seen, do=START_AGAIN)


def _release(held: Sequence[HeldDrive]) -> list[WritableDevice]:
    """All of them, as none was written to since it was looked at."""
    for one in held:
        one.require_unwritten()
    return [one.release() for one in held]


@contextlib.contextmanager
def _hold(drive: WholeDrive) -> Iterator[HeldDrive]:
    """The drive exclusively, once others who only look have gone. Raises Refused while it is in
    use.
    """
    try:
        opened = once_free(lambda: OpenDevice(drive.path, alone=True))
    except OSError as error:
        with contextlib.suppress(OSError):
            now = look_at(drive, ours=False)
            require_blank(now, drive_state(now))  # it says what uses the drive
        seen, do = error.strerror or str(error), "use another drive (kneebench drives)"
        raise Refused(f"cannot open {drive.path}", seen=seen, do=do) from error
    with opened:
        yield HeldDrive(drive, opened, write_count(opened))


# Refusals to write to a drive: it is in use, not blank, or its writes are not counted.


def require_blank(drive: WholeDrive, state: DriveState, allow: str = "") -> None:
    """Raises Refused for a drive that is in use, is not blank, or cannot be read. `allow`: how to
    allow that its data are lost, if not in a plan.
    """
    require_no_obstacle(drive)
    if state.state != "blank":
        allow = allow or f"name it under erase in the plan ({drive.key}) and run with --erase"
        instead = f", or {allow}" if state.needs_consent else " (kneebench drives)"
        raise Refused(
            f"cannot write to {drive.path}",
            seen=f"{state.state}: {state.why}",
            do=f"use another drive{instead}",
        )


def require_no_obstacle(drive: WholeDrive) -> None:
    """Raises Refused for a drive that may not be written to, whatever is on it."""
    if found := obstacle(drive):
        raise Refused(f"cannot write to {drive.path}", seen=found.seen, do=found.do)
