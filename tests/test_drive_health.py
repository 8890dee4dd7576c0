"""What drives report, read from the documents of smartctl and nvme-cli and from a sysfs tree, as
their manuals describe them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from kneebench.errors import KneebenchError
from kneebench.lab.inventory import Sources, inventory
from kneebench.lab.inventory.block_devices import BlockDevice
from kneebench.lab.inventory.erasable import drive_state
from kneebench.lab.inventory.health import health
from kneebench.records import DriveHealth, WholeDrive
from kneebench.screen.drives import document

NVME_LOG = {
    "critical_warning": 0,
    "temperature": 311,
    "percent_used": 3,
    "data_units_written": 464403132,
    "power_on_hours": 27567,
    "media_errors": 0,
    "warning_temp_time": 2,
    "critical_comp_time": 1,
    "thm_temp1_trans_count": 4,
    "thm_temp2_trans_count": 0,
}
SATA = {
    "logical_block_size": 512,
    "temperature": {"current": 31},
    "power_on_time": {"hours": 90},
    "ata_smart_attributes": {"table": []},
    "ata_device_statistics": {
        "pages": [
            {"number": 1, "table": [{"name": "Logical Sectors Written", "value": 2000}]},
            {"number": 7, "table": [{"name": "Percentage Used Endurance Indicator", "value": 12}]},
        ]
    },
}
SAS = {
    "temperature": {"current": 40},
    "scsi_grown_defect_list": 7,
    "scsi_percentage_used_endurance_indicator": 1,
    "scsi_error_counter_log": {
        "read": {"total_uncorrected_errors": 2, "gigabytes_processed": "11.5"},
        "write": {"total_uncorrected_errors": 1, "gigabytes_processed": "1024.25"},
    },
}


class Printed(Sources):
    """Sources whose programs print what a test says; the others are missing."""

    documents: Mapping[str, dict[str, Any]] = {}

    def document(self, command: Sequence[str], tries: int = 1) -> dict[str, Any] | None:
        return self.documents.get(command[0])


def printing(root: Path, **documents: dict[str, Any]) -> Printed:
    (root / "proc" / "self").mkdir(parents=True, exist_ok=True)
    sources = Printed(root / "sys", root / "proc", root / "dev")
    sources.documents = documents
    return sources


def device(name: str) -> BlockDevice:
    return BlockDevice(name, f"/dev/{name}", "259:0", "disk", {})


def test_nvme_cli_and_smartctl_report_the_same_of_one_nvme_drive(tmp_path: Path) -> None:
    """But for the throttling, which smartctl's JSON lacks: it is nvme-cli's if both are there."""
    throttling = {"thm_temp1_trans_count", "thm_temp2_trans_count"}
    shared = {key: value for key, value in NVME_LOG.items() if key not in throttling}
    smartctl = {
        "nvme_smart_health_information_log": {
            **shared,
            "temperature": 38,
            "percentage_used": 3,
            "available_spare": 100,
        }
    }
    nvme_cli = {**NVME_LOG, "avail_spare": 100}
    drive = device("nvme0n1")
    one = health(printing(tmp_path, nvme=nvme_cli), drive)
    other = health(printing(tmp_path, smartctl=smartctl), drive)
    both = health(printing(tmp_path, smartctl=smartctl, nvme=nvme_cli), drive)
    assert other == one.model_copy(update={"source": "smartctl", "throttled": None})
    assert both == one.model_copy(update={"source": "smartctl"})
    assert one == DriveHealth(
        source="nvme-cli",
        temperature_c=38,
        too_hot_min=3,
        throttled=4,
        media_errors=0,
        percentage_used=3,
        available_spare=100,
        critical_warning=False,
        written_bytes=464403132 * 512_000,
        powered_on_h=27567,
    )


def test_zero_kelvin_and_zero_units_written_are_not_measured(tmp_path: Path) -> None:
    """As drives of a cloud report."""
    log = {"temperature": 0, "media_errors": 0, "data_units_written": 0}
    found = health(printing(tmp_path, nvme=log), device("nvme0n1"))
    assert (found.temperature_c, found.written_bytes) == (None, None)


def test_what_a_log_lacks_is_unknown_and_not_zero(tmp_path: Path) -> None:
    log = {"temperature": 300, "media_errors": 0}
    found = health(printing(tmp_path, nvme=log), device("nvme0n1"))
    assert (found.temperature_c, found.media_errors) == (27, 0)
    assert (found.written_bytes, found.throttled, found.percentage_used) == (None, None, None)


def test_a_sata_drive_reports_its_statistics_and_a_sas_drive_its_own(tmp_path: Path) -> None:
    sata = health(printing(tmp_path, smartctl=SATA), device("sda"))
    sas = health(printing(tmp_path, smartctl=SAS), device("sdb"))
    assert (sata.temperature_c, sata.percentage_used, sata.written_bytes) == (31, 12, 1_024_000)
    assert (sata.media_errors, sata.powered_on_h) == (None, 90)
    assert (sas.temperature_c, sas.percentage_used, sas.media_errors) == (40, 1, 3)
    assert sas.written_bytes == 1_024_250_000_000


@pytest.mark.parametrize("hwmon", ["hwmon3", "hwmon/hwmon3"])
def test_without_both_programs_the_kernels_temperature_is_read(tmp_path: Path, hwmon: str) -> None:
    folder = tmp_path / "sys" / "block" / "nvme0n1" / "device" / hwmon
    folder.mkdir(parents=True)
    (folder / "temp1_input").write_text("36850\n")
    found = health(printing(tmp_path), device("nvme0n1"))
    assert found == DriveHealth(source="kernel (hwmon)", temperature_c=36.85)


def nvme(root: Path, vwc: int | None = None, **facts: object) -> WholeDrive:
    """The one drive of a machine whose sysfs has an NVMe drive at half of its link."""
    plugged = root / "sys" / "devices" / "0000:01:00.0"
    block, controller = root / "sys" / "block" / "nvme0n1", plugged / "nvme" / "nvme0"
    files = {
        block / "wwid": "eui.0025384b91b2c8f5",
        block / "queue" / "read_ahead_kb": "128",
        block / "queue" / "write_cache": "write through",
        plugged / "numa_node": "1",
        plugged / "current_link_speed": "8.0 GT/s PCIe",
        plugged / "current_link_width": "4",
        plugged / "max_link_speed": "16.0 GT/s PCIe",
        plugged / "max_link_width": "4",
    }
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    controller.mkdir(parents=True)
    (block / "device").symlink_to(controller)
    row = {
        "kname": "nvme0n1",
        "path": str(root / "dev" / "nvme0n1"),
        "maj:min": "259:0",
        "type": "disk",
        "model": "A drive",
        "size": 960197124096,
        "tran": "nvme",
        "log-sec": 512,
        **facts,
    }
    identity = {} if vwc is None else {"vwc": vwc}
    documents = {"lsblk": {"blockdevices": [row, {**row, "size": 0}]}, "nvme": identity}
    (drive,) = inventory(sources=printing(root, **documents))
    return drive


def test_an_nvme_drive_has_its_link_node_and_name_from_sysfs(tmp_path: Path) -> None:
    drive = nvme(tmp_path)
    assert (drive.link, drive.link_most) == ("8.0 GT/s x4", "16.0 GT/s x4")
    assert (drive.wwid, drive.numa_node) == ("eui.0025384b91b2c8f5", 1)
    assert (drive.read_ahead_bytes, drive.volatile_write_cache) == (131072, None)
    assert (drive.serial, drive.physical_block_bytes) == ("", None)


@pytest.mark.parametrize(("vwc", "volatile"), [(0, False), (1, True), (7, True), (6, False)])
def test_a_volatile_write_cache_is_what_the_controller_says(
    tmp_path: Path, vwc: int, volatile: bool
) -> None:
    """Not what "write through" in sysfs says, which an administrator may change."""
    assert nvme(tmp_path, vwc).volatile_write_cache is volatile


def test_a_drive_that_cannot_be_read_is_unknown_and_never_blank(tmp_path: Path) -> None:
    drive = nvme(tmp_path)
    assert drive.signatures is None
    assert drive_state(drive).state == "unknown"


def test_the_link_of_a_sata_drive_is_its_controllers_and_is_not_shown(tmp_path: Path) -> None:
    assert nvme(tmp_path, tran="sata").link == ""


def test_the_document_has_null_for_what_is_unknown(tmp_path: Path) -> None:
    from kneebench.lab.host import host

    (found,) = document([nvme(tmp_path)], host())["drives"]
    assert (found["serial"], found["firmware"], found["signatures"]) == (None, None, None)
    assert (found["health"]["source"], found["health"]["media_errors"]) == (None, None)


def test_without_lsblk_the_error_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(KneebenchError, match="install util-linux"):
        inventory(sources=printing(tmp_path))
