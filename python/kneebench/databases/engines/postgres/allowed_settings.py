"""What a plan may set on a server of ours, beyond what the server itself would refuse."""

from __future__ import annotations

import re
from collections.abc import Mapping

SIZED = ("shared_buffers", "max_wal_size")
"""Settings that room on the machine is reckoned by."""
SIZE = re.compile(r"\s*([0-9]{1,15}(?:\.[0-9]{1,15})?)\s*(B|kB|MB|GB|TB)\s*")
"""A memory setting as PostgreSQL writes it: a number and its unit."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)*")
"""How a setting may be called, an extension's with its prefix; what `include` and its like name are
files."""
PLACES = (
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "log_directory",
    "stats_temp_directory",
    "unix_socket_directories",
)
"""Where a server's files lie."""
DOORS = (
    "listen_addresses",
    "port",
    "unix_socket_group",
    "unix_socket_permissions",
    "log_destination",
    "logging_collector",
)
"""Where it listens, and where its log goes."""


def fault(settings: Mapping[str, object]) -> tuple[str, str] | None:
    """The first setting that a plan cannot have, and what is allowed in its place.

    With a data directory from the plan, a server would start on another's files; with addresses
    from the plan, it would listen where others reach it.

    >>> fault({"work_mem": "8MB"})
    >>> fault({"Data_Directory": "/srv/theirs"})[0]
    'Data_Directory'
    >>> fault({"Data_Directory": "/srv/theirs"})[1]
    'another setting: kneebench sets the paths and the address of a managed server'
    """
    for name, value in settings.items():
        if not NAME.fullmatch(name) or name.lower().startswith("include"):
            return name, "the name of a server setting"
        if name.lower() in (*PLACES, *DOORS):
            return (
                name,
                "another setting: kneebench sets the paths and the address of a managed server",
            )
        if name in SIZED and not SIZE.fullmatch(str(value)):
            return name, 'a size with its unit, such as "2GB": the unit of a bare number varies'
    return None
