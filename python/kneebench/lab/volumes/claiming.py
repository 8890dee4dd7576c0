"""Drives of this machine that a plan names, and those of them that its user has agreed to erase."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from kneebench.lab.device_writes import erase
from kneebench.lab.inventory import inventory, look_at
from kneebench.lab.inventory.erasable import drive_state, obstacle
from kneebench.lab.inventory.left import remember_left
from kneebench.lab.own_writes import are_all_ours
from kneebench.lab.permission import claim_agreed
from kneebench.records import Watch, WholeDrive, unwatched


def named_drives(names: Sequence[str], watch: Watch = unwatched) -> tuple[WholeDrive, ...]:
    """The drives that a plan makes volumes of, as they are now.

    Raises PlanError for one that is not here.
    """
    return tuple(inventory(names, watch=watch)) if names else ()


def to_be_erased(drives: Iterable[WholeDrive], allowed: Collection[str]) -> tuple[WholeDrive, ...]:
    """Those that contain data, or may, that have one of the allowed WWIDs, and that may be written
    to.
    """
    return tuple(
        one
        for one in drives
        if one.wwid and one.wwid in allowed and drive_state(one).needs_consent and not obstacle(one)
    )


def erase_drives(drives: Sequence[WholeDrive], watch: Watch = unwatched) -> None:
    """Erase what is on drives that their owner was shown so: both ends, and every signature.

    Raises Refused, before anything is written, if one of them is in use or has changed by now.
    """
    for device in claim_agreed(drives, watch):
        device.close()
    for drive in drives:
        [device] = claim_agreed([drive], watch)  # the ones before it took their time
        with device:
            own = [one.offset for one in drive.signatures or () if one.device == drive.name]
            erase(device, drive.key, own)
            seen = look_at(drive, ours=False)
            if are_all_ours(device.opened):
                remember_left(seen)
