"""What a campaign keeps of its drives, with what becomes known later: pure functions."""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.records import Campaign, DriveFill, DriveLoad, Preconditioned


def with_written(campaign: Campaign, done: Preconditioned | DriveLoad) -> Campaign:
    """The head with what was done to a drive before its volume was made: all drains, else the
    latest.
    """
    if isinstance(done, DriveLoad):
        every = enumerate((*campaign.drive_loads, done))
        loads = {(one.drive, n if one.kind == "drain" else -1): one for n, one in every}
        return campaign.model_copy(update={"drive_loads": tuple(loads.values())})
    drives = {one.drive: one for one in (*campaign.preconditioned, done)}
    return campaign.model_copy(update={"preconditioned": tuple(drives.values())})


def with_fills(campaign: Campaign, fills: Sequence[DriveFill]) -> Campaign:
    """The head with how full the drives are, for each the fullest so far."""
    fullest = {one.drive: one for one in campaign.drive_fills}
    for one in fills:
        if one.drive not in fullest or one.share > fullest[one.drive].share:
            fullest[one.drive] = one
    return campaign.model_copy(update={"drive_fills": tuple(fullest.values())})
