"""What a plan may set on a server of ours, beyond what the server itself would refuse."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

SIZED = ("innodb_buffer_pool_size", "innodb_log_file_size")
"""Settings that room on the machine is reckoned by."""
SIZE = re.compile(r"([0-9]{1,15})([KMGT]?)", re.IGNORECASE)
"""A size as MariaDB reads it: whole bytes, or a number with K, M, G or T."""
NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
PLACES = (
    *("aria_log_dir_path", "basedir", "character_sets_dir", "chroot", "datadir", "defaults_file"),
    *("defaults_extra_file", "general_log_file", "init_file", "init_connect", "lc_messages_dir"),
    *("innodb_data_file_path", "innodb_data_home_dir", "innodb_log_group_home_dir"),
    *("innodb_temp_data_file_path", "innodb_undo_directory", "log_basename", "log_bin_index"),
    *("log_error", "pid_file", "plugin_dir", "plugin_load", "plugin_load_add", "relay_log"),
    *("secure_file_priv", "slave_load_tmpdir", "slow_query_log_file", "tmpdir", "innodb_tmpdir"),
    *("early_plugin_load", "innodb_directories", "innodb_doublewrite_dir", "replica_load_tmpdir"),
    "innodb_temp_tablespaces_dir",
)
"""Where a server's files lie, and what it runs; of MySQL too."""
DOORS = (
    *("bind_address", "port", "extra_port", "skip_networking", "socket", "user"),
    *("skip_grant_tables", "bootstrap", "wsrep_on", "wsrep_provider", "initialize"),
    *("admin_address", "admin_port", "mysqlx", "mysqlx_bind_address", "mysqlx_port"),
    "mysqlx_socket",
)
"""Where it listens, and who may enter."""
BEGINNINGS = ("general_log", "innodb_doublewrite", "lc_messages", "log_bin", "slow_query_log")
"""Settings of their own, although longer names of the above begin so."""
PREFIXES = ("autoset_", "disable_", "enable_", "loose_", "maximum_", "skip_")
"""The server takes a setting's name after these too."""
_PATH = re.compile(r"(^|[^\w%.-])/|(^|/)\.\.(/|$)|^~")
"""An absolute path, also in a list; or one that leads out of the data directory."""


def named(name: str) -> str:
    """A setting's name as the server shows it.

    >>> named("innodb-Log-file-size"), named("loose_skip-networking")
    ('innodb_log_file_size', 'skip_networking')
    """
    return name.lower().replace("-", "_").removeprefix("loose_")


def fault(settings: Mapping[str, object]) -> tuple[str, str] | None:
    """The first setting that a plan cannot have, and what is allowed in its place.

    >>> fault({"innodb_io_capacity": 4000})
    >>> fault({"datadir": "/srv/theirs"})[1]
    'another setting: kneebench sets the paths and the address of a managed server'
    >>> [fault(one)[0] for one in ({"skip-networkin": 0}, {"log_bin": "../a"}, {"mysqlx": 1})]
    ['skip-networkin', 'log_bin', 'mysqlx']
    """
    for name, value in settings.items():
        if not NAME.fullmatch(name):
            return name, "the name of a server setting"
        if any(map(_is_closed, _meant(named(name)))) or _PATH.search(str(value)):
            return (
                name,
                "another setting: kneebench sets the paths and the address of a managed server",
            )
        if named(name) in SIZED and not SIZE.fullmatch(str(value).strip()):
            return name, 'a size such as "2G"'
    return None


def _meant(name: str) -> Iterator[str]:
    """A name as the server may read it: as it is, and without its prefixes."""
    yield name
    for prefix in PREFIXES:
        if name.startswith(prefix):
            yield from _meant(name.removeprefix(prefix))


def _is_closed(name: str) -> bool:
    """Whether a name is that of a place or a door, or its beginning, which the server completes."""
    closed = (*PLACES, *DOORS)
    return name not in BEGINNINGS and any(one.startswith(name) for one in closed)


def setting_bytes(value: str) -> int:
    """The bytes of a size as MariaDB reads it.

    >>> setting_bytes("128M"), setting_bytes("4096")
    (134217728, 4096)
    """
    found = SIZE.fullmatch(value.strip())
    assert found, value
    return int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[found[2].upper()]
