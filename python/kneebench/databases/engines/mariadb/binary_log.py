"""What a run writes to the binary log of a server, which is on by default in MySQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kneebench import units
from kneebench.databases.engines.mariadb.footprint import data_bytes
from kneebench.records import Finding

EXPIRES = "binlog_expire_logs_seconds"


def binary_log(
    settings: Mapping[str, str], subject: str, warehouses: int, *, copied: bool
) -> Iterator[Finding]:
    """A warning where all that is loaded is written a second time; `copied`: before each climb.

    >>> on = {"log_bin": "ON", "binlog_expire_logs_seconds": "2592000"}
    >>> [finding] = binary_log(on, "db", 10, copied=True)
    >>> print(finding.seen)
    the binary log is on: the load and each copy (963 MiB) are written to it, and kept for 30 days
    """
    if settings.get("log_bin") != "ON":
        return
    kept_s = float(settings.get(EXPIRES, 0))
    kept = f"kept for {kept_s / 86_400:.3g} days" if kept_s else "kept for ever"
    written = "the load and each copy" if copied else "the load"
    size = units.size(data_bytes(warehouses))
    yield Finding(
        level="warning",
        subject=subject,
        seen=f"the binary log is on: {written} ({size}) are written to it, and {kept}",
        do=f"leave room for that, lower {EXPIRES}, or start the server with skip_log_bin",
    )
