"""What a campaign wrote to its drives, and about what share of their endurance that cost."""

from __future__ import annotations

import pytest

from kneebench.analysis.endurance import written
from kneebench.brief.sections import machine
from kneebench.brief.view_model import ViewModel
from kneebench.records import Campaign, DriveHealth, WholeDrive
from tests.recordings import recorded

GIB = 2**30


def drive(written_gib: float | None = None, boot_gib: int = 7, **health: int) -> WholeDrive:
    counted = {} if written_gib is None else {"written_bytes": int(written_gib * GIB)}
    return WholeDrive(
        name="nvme0n1",
        path="/dev/nvme0n1",
        wwid="eui.1",
        boot_written_bytes=boot_gib * GIB,
        health=DriveHealth(**counted, **health),
    )


def campaign(before: WholeDrive, after: WholeDrive) -> Campaign:
    drives = {"drives_before": (before,), "drives_after": (after,)}
    return recorded().campaign.model_copy(update=drives)


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        (
            drive(1000, percentage_used=4),
            drive(1020, percentage_used=4),
            "20 GiB were written to nvme0n1 (its own counter), about 0.088% of its rated"
            " endurance.",
        ),
        (
            drive(1000),
            drive(1020),
            "20 GiB were written to nvme0n1 (its own counter).",
        ),
        (
            drive(boot_gib=7),
            drive(boot_gib=9),
            "2 GiB were written to nvme0n1 (the kernel's counter).",
        ),
    ],
    ids=["wear", "no wear", "only the kernel"],
)
def test_what_was_written_is_counted_by_the_best_counter(
    before: WholeDrive, after: WholeDrive, sentence: str
) -> None:
    assert [found.sentence for found in written(campaign(before, after))] == [sentence]


def test_the_share_is_near_the_true_one_whatever_the_rounding_of_the_wear() -> None:
    """A drive rated for 100,000 GiB reports 4% from 4,000 GiB on, until 5,000."""
    for total in (4000, 4500, 4999):
        (found,) = written(
            campaign(drive(total - 20, percentage_used=4), drive(total, percentage_used=4))
        )
        assert found.share == pytest.approx(20 / 100_000, rel=0.13)


@pytest.mark.parametrize("used", [0, 255])
def test_a_drive_of_hardly_any_wear_or_past_its_scale_has_no_share(used: int) -> None:
    (found,) = written(campaign(drive(10, percentage_used=used), drive(30, percentage_used=used)))
    assert (found.share, found.size_bytes) == (None, 20 * GIB)


def test_a_counter_that_went_back_or_another_drive_has_no_cost() -> None:
    assert not list(written(campaign(drive(boot_gib=9), drive(boot_gib=7))))
    for change in ({"wwid": "eui.2"}, {"boot": "another"}):
        other = drive(boot_gib=9).model_copy(update=change)
        assert not list(written(campaign(drive(boot_gib=7), other)))


def test_the_brief_says_what_was_written_where_the_drives_are_known() -> None:
    results = recorded()
    known = campaign(drive(boot_gib=7), drive(boot_gib=9))
    said, unsaid = (
        " ".join(machine.section(ViewModel(one)).sentences)
        for one in (results.model_copy(update={"campaign": known}), results)
    )
    assert "2 GiB were written to nvme0n1 (the kernel's counter)" in said
    assert "were written to" not in unsaid
