"""Drives on a network, by made-up trees of sysfs: none was to be had."""

from __future__ import annotations

from pathlib import Path

from kneebench.lab.inventory import Sources
from kneebench.lab.inventory.block_devices import BlockDevice
from kneebench.lab.inventory.identity import identified
from kneebench.records import WholeDrive


def network_drive(place: Path, name: str, above: str, files: dict[str, str]) -> WholeDrive:
    """A drive whose device in sysfs is below `above`, with these files there."""
    device = place / "devices" / above / "device-of-it"
    device.mkdir(parents=True)
    for file, text in files.items():
        (place / "devices" / above / file).parent.mkdir(parents=True, exist_ok=True)
        (place / "devices" / above / file).write_text(f"{text}\n")
    folder = place / "sys" / "block" / name
    folder.mkdir(parents=True)
    below = device if "session" in above else device.parent
    (folder / "device").symlink_to(below)
    sources = Sources(sys=place / "sys", dev=place / "dev")
    return identified(sources, BlockDevice(name, f"/dev/{name}", "8:0", "disk", {"size": 2**30}))


def test_a_drive_on_a_network_has_the_address_of_its_target(tmp_path: Path) -> None:
    over_tcp = {"transport": "tcp", "address": "traddr=10.0.0.1,trsvcid=4420"}
    found = network_drive(tmp_path / "a", "nvme7n1", "nvme7", over_tcp)
    assert found.link == "NVMe over tcp, traddr=10.0.0.1,trsvcid=4420"
    connection = "connection3:0/iscsi_connection/connection3:0"
    files = {
        f"{connection}/persistent_address": "10.0.0.2",
        f"{connection}/persistent_port": "3260",
    }
    found = network_drive(tmp_path / "b", "sdz", "host2/session3", files)
    assert found.link == "iSCSI, 10.0.0.2:3260"
    assert network_drive(tmp_path / "c", "nvme8n1", "nvme8", {"transport": "pcie"}).link == ""
