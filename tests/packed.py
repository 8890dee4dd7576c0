"""Result archives for tests: a campaign that names hosts, users, drives and paths in all places."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kneebench.campaign.preflight import preset
from kneebench.results.parquet import write_series
from kneebench.results.tables import read_series
from tests.simulated_campaign import finished

HOST, SHORT, DOMAIN, ADDRESS = "dbnode7.acme.example", "dbnode7", "acme.example", "10.20.30.40"
USER, LOGIN, AUTHOR, COMPANY = "alice", "bench77", "Alice Liddell", "Acme Storage"
SERIAL, WWID, UUID = "S4EWNF0M771", "eui.0025385771b0a1c4", "6c6b5a1e-7f3a-4d54-9d71-0a9b8c7d6e5f"
PATH, SPACED, RELATIVE = "/mnt/acme-nvme/pg", "/srv/fast disk/pg", "results/secretplan.toml"
PRIVATE = (
    *(HOST, SHORT, DOMAIN, ADDRESS, USER, LOGIN, AUTHOR, COMPANY, SERIAL, WWID, UUID),
    *("acme-nvme", "fast disk", "secretplan", "0025385771b0a1c4"),
)
"""What may not be in a redacted archive."""
SENTENCE = (
    f"{USER} at {SHORT} ({HOST}, {ADDRESS}) put {PATH}/log and {SPACED} on {WWID} ({SERIAL}):"
    f" see ssh://{LOGIN}@{HOST}:22/x, /home/{USER}/notes and UUID={UUID}, by {AUTHOR} of {COMPANY}"
)


def small_campaign(root: Path) -> Path:
    """The folder of a finished campaign."""
    return finished(preset("simulated"), root)


def campaign_of_few_rungs(root: Path) -> Path:
    """The same storages at one load."""
    plan = preset("simulated")
    ladder = plan.ladder.model_copy(update={"users": (8, 8), "final_window": 20.0})
    return finished(plan.model_copy(update={"ladder": ladder}), root)


def changed(file: Path, change: Callable[[Any], None]) -> None:
    document = json.loads(file.read_text())
    change(document)
    file.write_text(json.dumps(document))


def with_private_names(folder: Path) -> Path:
    """The same folder, with private names in its documents and tables."""
    changed(folder / "campaign.json", _name_in_head)
    rung = next((folder / "rungs").glob("*final_run*.json"))
    remark = {"kind": "other", "severity": "note", "words": SENTENCE}
    changed(rung, lambda kept: kept["rung"]["remarks"].append(remark))
    table = folder / "series" / f"{rung.stem}.parquet"
    series = [one.model_copy(update={"source": SENTENCE}) for one in read_series(table)[:2]]
    table.unlink()
    write_series(table, series)
    return folder


def _name_in_head(head: dict[str, Any]) -> None:
    head["command"] = f"kneebench run {RELATIVE} --out=/home/{USER}/out"
    head["notes"] = [SENTENCE]
    head["host"]["places"] = {
        PATH: f"{PATH} on /dev/nvme0n1p1 at /mnt/acme-nvme",
        "bigdisk": SPACED,
    }
    drive = {"name": "nvme0n1", "path": "/dev/nvme0n1", "wwid": WWID, "serial": SERIAL}
    by_id = [f"/dev/disk/by-id/nvme-Samsung_SSD_990_PRO_{SERIAL}"]
    signature = {"device": "nvme0n1p1", "type": "xfs", "offset": 0, "label": "data", "uuid": UUID}
    head["drives_before"] = [{**drive, "by_id": by_id, "signatures": [signature]}]
    head["plan"]["storages"]["fast drive"] |= {"path": PATH, "log_path": SPACED}
    head["plan"]["erase"] = [WWID]
    head["plan"]["brief"] |= {"authors": [AUTHOR], "organisation": COMPANY, "summary": SENTENCE}
    load_host = {"ssh": f"{LOGIN}@{HOST}", "name": SHORT, "share": 1}
    head["plan"]["hosts"]["load"] = [load_host]
    head["link"] = {"address": ADDRESS, "interface": "eth0", "measured": {SHORT: 1e9}}
    meter = {"name": "m", "type": "command", "command": ["/opt/acme-nvme/m", "--of", SHORT]}
    head["plan"]["power"] = {"meters": [meter]}


def texts(archive: Path) -> str:
    """Everything in an archive that can be read: names, documents, and the texts of its tables."""
    with zipfile.ZipFile(archive) as found:
        documents = [found.read(name).decode("utf-8", "replace") for name in found.namelist()]
        return "\n".join([*found.namelist(), *documents])
