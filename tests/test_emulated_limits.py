"""A volume of emulated drives that is slower than its class says so, with both figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kneebench import load
from kneebench.analysis.proof import bottlenecks
from kneebench.brief import Brief
from kneebench.plan.drive_class import class_limits, device_limits
from kneebench.plan.storage import Storage
from kneebench.plan.volume import Volume
from kneebench.records import RawProfile, RawRow, Results
from tests.recordings import recorded, section, with_campaign

SAMPLES = Path(__file__).parent.parent / "docs/samples"
SATA = {"emulated": "sata", "size": "4GiB", "count": 4}


def on_emulated_drives(reads: float, writes: float, emulated: str = "sata") -> Results:
    """The recorded campaign, its disk four emulated drives that did so much without a database."""
    rows = [
        RawRow(name="", kind=kind, block_bytes=8192, depth=depth, iops=iops, mean_s=0.001)
        for kind, depth, iops in (
            ("read", 1, 100.0),
            ("read", 64, reads),
            ("write", 16, writes),
            ("log", 1, 90.0),
        )
    ]
    plan = recorded().campaign.plan
    drives = {"drives": [{**SATA, "emulated": emulated}], "layout": "raid10"}
    storages = {"disk": drives, "memory": plan["storages"]["memory"]}
    raw = {"disk": RawProfile(rows=tuple(rows), seconds=2, file_bytes=2**27)}
    return with_campaign(recorded(), plan={**plan, "storages": storages}, raw_profiles=raw)


def caveat(results: Results) -> list[str]:
    sentences = section(Brief(results), "cautions").sentences
    return [one for one in sentences if "emulation is the limit" in one]


def test_a_raw_figure_below_the_class_says_that_the_emulation_limits() -> None:
    assert caveat(on_emulated_drives(reads=5_750, writes=450)) == [
        "Disk: the emulation is the limit, not the class of its drives. Without a database it did"
        " 450 of 800 writes/s that the class allows."
    ]
    [both] = caveat(on_emulated_drives(reads=2_000, writes=450))
    assert "2,000 of 6,000 reads/s and 450 of 800 writes/s that the class allows" in both


def test_a_class_that_is_reached_and_one_without_limits_have_no_caveat() -> None:
    assert caveat(on_emulated_drives(reads=5_401, writes=721)) == []
    assert caveat(on_emulated_drives(reads=100, writes=100, emulated="nvme-fast")) == []


def test_what_the_classes_allow_is_said_once_of_all_storages() -> None:
    results = on_emulated_drives(reads=5_750, writes=790)
    [said] = [one for one in section(Brief(results), "cautions").sentences if "classes" in one]
    assert said == (
        "The classes of the drives limit disk to 6,000 reads/s and 800 writes/s. No storage did 80%"
        " of its limit in the final runs."
    )


def test_what_the_class_of_the_log_allows_is_said_too() -> None:
    results = on_emulated_drives(reads=5_750, writes=790)
    plan = results.campaign.plan
    disk = {**plan["storages"]["disk"], "log": {"drives": [{"emulated": "sata", "size": "4GiB"}]}}
    storages = {**plan["storages"], "disk": disk}
    apart = with_campaign(results, plan={**plan, "storages": storages})
    [said] = [one for one in section(Brief(apart), "cautions").sentences if "classes" in one]
    assert "disk to 6,000 reads/s and 800 writes/s; the log of disk to 1,500 reads/s" in said


def test_a_storage_that_could_not_be_measured_without_its_database_says_so() -> None:
    results = with_campaign(recorded(), unprofiled={"disk": "cannot profile it: 9 MiB free"})
    [said] = [one for one in section(Brief(results), "cautions").sentences if "9 MiB" in one]
    assert said == (
        "Disk: not measured without its database, so what its drives can do is not known; its"
        " bottleneck is inferred from waits alone (cannot profile it: 9 MiB free)."
    )


@pytest.mark.parametrize(
    ("layout", "emulated", "limits"),
    [
        ("mirror", "sata", {"read": 6_000, "write": 800}),
        ("stripe", "sata", {"read": 6_000, "write": 1_600}),
        ("stripe", "cloud", {"read": 4_000, "write": 4_000}),
        ("stripe", "memory", {}),
    ],
)
def test_the_limits_of_a_class_are_those_of_its_layout(
    layout: str, emulated: str, limits: dict[str, int]
) -> None:
    drives = [{**SATA, "emulated": emulated}]
    assert class_limits(Volume.model_validate({"drives": drives, "layout": layout})) == limits


def test_drives_of_two_classes_have_no_limit_of_a_class() -> None:
    drives = [{**SATA, "count": 1}, {**SATA, "emulated": "nvme", "count": 1}]
    table = {"drives": drives, "layout": "stripe", "file_system": {"type": "btrfs"}}
    assert class_limits(Volume.model_validate(table)) == {}


def test_a_storage_that_did_most_of_what_its_class_allows_is_named_with_its_share() -> None:
    """Four drives write as much as they may, 1,600/s, and eight 93% of that."""
    said = section(Brief(SAMPLES / "drives.kneebench"), "cautions").sentences
    [limits] = [one for one in said if "classes" in one]
    assert "4 drives did 1,600 of 1,600 writes/s (100%) and 8 drives did 2,973 of 3,200" in limits
    assert "mostly repeats the limits" in limits


@pytest.mark.parametrize(
    ("storage", "limits"),
    [
        ({"layout": "mirror"}, {"read": 3000, "write": 400}),
        ({"layout": "mirror", "file_system": {"type": "btrfs"}}, {"read": 3000, "write": 800}),
        ({"emulated": "cloud"}, {}),
        ({"emulated": "nvme-fast"}, {}),
    ],
)
def test_limits_are_compared_with_what_the_devices_count(
    storage: dict[str, Any], limits: dict[str, int]
) -> None:
    """Where btrfs keeps the copies, each is a write of its own; a burst is beyond its limit."""
    drive = {"emulated": storage.pop("emulated", "sata"), "size": "3GiB", "count": 2}
    given = {"drives": [drive], "layout": "stripe", **storage}
    assert device_limits(Storage.model_validate(given)) == limits


def test_a_campaign_that_is_read_has_the_limits_of_its_drives() -> None:
    """The sample of four and eight drives: their writes are at the limit."""
    found = bottlenecks(load(Path("docs/samples/drives.kneebench")))
    said = [found[name].sentence for name in ("4-drives", "8-drives")]
    assert "at 1,600 of 1,600 writes/s that its class allows" in said[0]
    assert "8 drives is limited by data reads and writes at the knee" in said[1], "proved together"
