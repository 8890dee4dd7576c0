"""What a campaign wrote to its drives, and about which share of their rated endurance that cost.

A drive reports its wear as a whole percentage of its rated endurance, beside all bytes written to
it so far. Together they give its average wear per byte. A campaign of small random writes may wear
it more than its average so far, so the share is no bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kneebench import units
from kneebench.records import Campaign, WholeDrive


class CampaignWrites(NamedTuple):
    """What was written to a drive while a campaign ran, by any program. `by_the_drive`: counted by
    itself, else by the kernel; `share`: of its rated endurance, at its average wear so far; None if
    it does not report its wear, or hardly any.
    """

    drive: str
    size_bytes: int
    by_the_drive: bool
    share: float | None

    @property
    def sentence(self) -> str:
        """In words.

        >>> print(CampaignWrites("nvme0n1", 64 * 2**30, True, 0.0004).sentence)
        64 GiB were written to nvme0n1 (its own counter), about 0.04% of its rated endurance.
        """
        counter = "its own counter" if self.by_the_drive else "the kernel's counter"
        cost = (
            ""
            if self.share is None
            else f", about {units.rounded(100 * self.share, 2)}% of its rated endurance"
        )
        return f"{units.size(self.size_bytes)} were written to {self.drive} ({counter}){cost}."


def written(campaign: Campaign) -> Iterator[CampaignWrites]:
    """A drive each that was there before and after; those whose counters went back (another drive,
    or a restart) are left out.
    """
    before = {(drive.name, drive.wwid, drive.serial): drive for drive in campaign.drives_before}
    for after in campaign.drives_after:
        began = before.get((after.name, after.wwid, after.serial))
        if began and (found := _written(began, after)):
            yield found


def _written(before: WholeDrive, after: WholeDrive) -> CampaignWrites | None:
    first, last, own = before.health.written_bytes, after.health.written_bytes, True
    if first is None or last is None:
        first, last, own = before.boot_written_bytes, after.boot_written_bytes, False
    restarted = not own and before.boot != after.boot
    if first is None or last is None or last < first or restarted:
        return None
    share = endurance_share(after, last - first) if own else None
    return CampaignWrites(after.name, last - first, own, share)


def endurance_share(drive: WholeDrive, size_bytes: int) -> float | None:
    """About which share of a drive's rated endurance so many bytes cost; None if it reports no
    wear.

    Whole percents are reported: half of the next one is assumed. Below 1% that would be a guess,
    and at 255 the counter stands still.
    """
    used, total = drive.health.percentage_used, drive.health.written_bytes
    if not used or not total or used >= 255:
        return None
    return (used + 0.5) / 100 * size_bytes / total
