"""Volumes: made of drives for one restored database, mounted, and taken apart again.

Drives are named by the plan or emulated; md or btrfs makes their layout. Every step is an entry in
the journal, so that it is undone after any end.
"""

from __future__ import annotations

from kneebench.lab.volumes.building import Volumes
from kneebench.lab.volumes.claiming import erase_drives, named_drives, to_be_erased
from kneebench.lab.volumes.findings import volume_findings
from kneebench.lab.volumes.preconditioner import Preconditioner
from kneebench.lab.volumes.preconditioning_time import (
    capacity_bytes,
    preconditioning_cost,
    preconditioning_s,
)

__all__ = [
    "Preconditioner",
    "Volumes",
    "capacity_bytes",
    "erase_drives",
    "named_drives",
    "preconditioning_cost",
    "preconditioning_s",
    "to_be_erased",
    "volume_findings",
]
