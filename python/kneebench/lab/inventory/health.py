"""How a drive is: temperature, errors, wear and bytes written, as it reports them itself.

smartctl(8) prints them for NVMe, SATA and SAS; nvme(1) for NVMe. Both need root. An ordinary user
gets at least the temperature, from the kernel (hwmon).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kneebench.lab.inventory.block_devices import BlockDevice
from kneebench.lab.inventory.sources import Sources
from kneebench.records import DriveHealth

DATA_UNIT_BYTES = 512_000
"""NVMe counts what was written in thousands of 512-byte units (NVM Express Base, SMART log)."""
KELVIN = 273
"""nvme-cli prints the log's temperature as it is, in whole kelvins."""
PERCENTAGE_USED = "Percentage Used Endurance Indicator"
WRITTEN = "Logical Sectors Written"
UNCORRECTABLE = "Number of Reported Uncorrectable Errors"
"""Names in smartctl's ATA device statistics."""


def health(sources: Sources, device: BlockDevice) -> DriveHealth:
    """What the drive reports; loop devices report nothing and are not asked."""
    if device.type == "loop":
        return DriveHealth()
    found = sources.document(["smartctl", "--json", "--all", "--log=devstat", device.path])
    known = _by_smartctl(found) if found else None
    log = None
    if device.name.startswith("nvme"):
        log = sources.document(["nvme", "smart-log", "--output-format=json", device.path])
    if log and "media_errors" in log:
        by_nvme_cli = _by_nvme_cli(log)
        return (
            known.model_copy(update={"throttled": by_nvme_cli.throttled}) if known else by_nvme_cli
        )
    return known or _by_the_kernel(sources, device)


def _by_smartctl(found: Mapping[str, Any]) -> DriveHealth | None:
    """None where the drive has no such log, or smartctl could not open it."""
    if log := found.get("nvme_smart_health_information_log"):
        return _of_nvme_log(log, "smartctl", number(log.get("temperature")), "percentage_used")
    if "ata_smart_attributes" in found or "ata_device_statistics" in found:
        return _of_ata(found)
    return _of_sas(found) if "scsi_error_counter_log" in found else None


def _by_nvme_cli(log: Mapping[str, Any]) -> DriveHealth:
    """A drive of a cloud may report 0 K: it does not measure."""
    kelvin = number(log.get("temperature"))
    return _of_nvme_log(log, "nvme-cli", kelvin - KELVIN if kelvin else None, "percent_used")


def _of_nvme_log(
    log: Mapping[str, Any], source: str, temperature_c: int | None, used: str
) -> DriveHealth:
    """The SMART log of NVMe; both programs name most of its fields alike. 0 units written mean
    that the drive does not count them. smartctl's JSON lacks the throttling.
    """
    units, warning = number(log.get("data_units_written")), number(log.get("critical_warning"))
    return DriveHealth(
        source=source,
        temperature_c=temperature_c,
        too_hot_min=_sum(map(log.get, ("warning_temp_time", "critical_comp_time"))),
        throttled=_sum(map(log.get, ("thm_temp1_trans_count", "thm_temp2_trans_count"))),
        media_errors=number(log.get("media_errors")),
        percentage_used=number(log.get(used)),
        available_spare=_either(log, "available_spare", "avail_spare"),
        critical_warning=None if warning is None else warning > 0,
        written_bytes=units * DATA_UNIT_BYTES if units else None,
        powered_on_h=number(log.get("power_on_hours")),
    )


def _of_ata(found: Mapping[str, Any]) -> DriveHealth:
    """The device statistics of a SATA drive. Attributes are not used: their meaning is the
    maker's.
    """
    pages = found.get("ata_device_statistics", {}).get("pages") or ()
    statistics = {
        row.get("name"): number(row.get("value"))
        for page in pages
        for row in page.get("table") or ()
        if row.get("flags", {}).get("valid", True)
    }
    sectors, sector_bytes = statistics.get(WRITTEN), found.get("logical_block_size", 512)
    return DriveHealth(
        source="smartctl",
        temperature_c=_temperature(found),
        media_errors=statistics.get(UNCORRECTABLE),
        percentage_used=statistics.get(PERCENTAGE_USED),
        written_bytes=None if sectors is None else sectors * sector_bytes,
        powered_on_h=number(found.get("power_on_time", {}).get("hours")),
    )


def _of_sas(found: Mapping[str, Any]) -> DriveHealth:
    """The error counters of a SAS drive, which count gigabytes (10^9), too."""
    counters = found["scsi_error_counter_log"]
    errors = (one.get("total_uncorrected_errors") for one in counters.values())
    gigabytes = counters.get("write", {}).get("gigabytes_processed")
    return DriveHealth(
        source="smartctl",
        temperature_c=_temperature(found),
        media_errors=_sum(errors),
        percentage_used=number(found.get("scsi_percentage_used_endurance_indicator")),
        written_bytes=round(float(gigabytes) * 1e9) if gigabytes else None,
        powered_on_h=number(found.get("power_on_time", {}).get("hours")),
    )


def _by_the_kernel(sources: Sources, device: BlockDevice) -> DriveHealth:
    """The temperature that the driver of an NVMe or SATA drive publishes."""
    folder = sources.sys / "block" / device.name / "device"
    for place in (*sorted(folder.glob("hwmon*")), *sorted(folder.glob("hwmon/hwmon*"))):
        thousandths = sources.number(place, "temp1_input")
        if thousandths is not None:
            return DriveHealth(source="kernel (hwmon)", temperature_c=thousandths / 1000)
    return DriveHealth()


def _temperature(found: Mapping[str, Any]) -> int | None:
    return number(found.get("temperature", {}).get("current"))


def number(value: object) -> int | None:
    """A count of a log; None where it is missing. Large ones come as text.

    >>> number(3), number("464403132"), number(None), number("n/a")
    (3, 464403132, None, None)
    """
    text = str(value).replace(",", "")
    return int(text) if text.isdigit() else None


def _either(log: Mapping[str, Any], *names: str) -> int | None:
    """The first field that is there: the two programs name it differently."""
    return next((found for name in names if (found := number(log.get(name))) is not None), None)


def _sum(values: Iterable[object]) -> int | None:
    """Of the counts that are there; None without any."""
    known = [found for value in values if (found := number(value)) is not None]
    return sum(known) if known else None
