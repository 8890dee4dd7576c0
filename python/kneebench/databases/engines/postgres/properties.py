"""The properties of PostgreSQL (engine_properties.py): what is known of it before a server runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from signal import SIGINT

from kneebench.databases.engines.postgres import footprint as footprint
from kneebench.engine_properties import (
    ErrorClass,
    Listens,
    Quantity,
    SafetySetting,
    ServerProgram,
    WaitClass,
)
from kneebench.records import Setting

label = "PostgreSQL"
postponed = (
    "Checkpoints and the removal of old rows are set to wait for an hour, longer than a restored"
    " database is used; a full log still asks for a checkpoint."
)
publishing = ""
named_settings = (
    "shared_buffers",
    "max_wal_size",
    "checkpoint_timeout",
    "synchronous_commit",
    "fsync",
    "full_page_writes",
    "wal_compression",
)
_WAL = "PostgreSQL manual, Write Ahead Log"
safety_settings = (
    SafetySetting(
        "fsync",
        ["on"],
        "a crash of the machine can damage the whole database, and log writes are measured without"
        " their sync",
        _WAL,
    ),
    SafetySetting(
        "full_page_writes",
        ["on"],
        "a crash of the machine can leave pages that are half old and half new",
        _WAL,
    ),
    SafetySetting(
        "synchronous_commit",
        ["on", "local", "remote_write", "remote_apply"],
        "a crash can lose commits that were acknowledged, and no commit waits for its log write",
        _WAL,
    ),
    SafetySetting(
        "data_sync_retry",
        ["off"],
        "data that a drive failed to write can be lost without an error",
        "PostgreSQL manual, Error Handling",
    ),
)
measures_real_hardware = True
packages = ("psycopg", "psycopg-binary")
password_variable = "PGPASSWORD"  # noqa: S105
listens: Listens = "for users"
answers_queries = True
server_program = ServerProgram("postgres", stop=SIGINT)
"""SIGINT is the fast shutdown, with a checkpoint."""
own_quantities = {
    "log.new_segments": Quantity("1/s", "counter"),
    "tables.dead_tuples": Quantity("rows", "gauge", heading="Dead rows"),
    "tables.autovacuums": Quantity("1/s", "counter", event="autovacuum finished on a table"),
}
_UNITS_S = {"ms": 1e-3, "min": 60.0, "h": 3600.0, "d": 86400.0}
_ERRORS: dict[str, ErrorClass] = {
    "40001": "retry",
    "40P01": "retry",
    "3D000": "refused",
    "42501": "refused",
    "28": "refused",
    "53": "full",
    "57P": "stopped",
    "58": "broken",
}
"""By how the SQLSTATE begins (appendix A of the manual): 53 insufficient resources, 57P operator
intervention, 58 system error."""


def major_version(settings: Sequence[Setting]) -> str:
    """By server_version.

    >>> debian = "15.18 (Debian 15.18-0+deb12u1)"
    >>> major_version([Setting(name="server_version", value=debian, source="server")])
    '15'
    """
    version = _value(settings, "server_version") or ""
    return version.partition(".")[0].partition(" ")[0]


def checkpoint_cycle_s(settings: Sequence[Setting]) -> float:
    """checkpoint_timeout, or the version's default."""
    value = _value(settings, "checkpoint_timeout")
    return float(footprint.CHECKPOINT_S) if value is None else _seconds(value)


def error_class(code: str) -> ErrorClass:
    """By the SQLSTATE.

    >>> error_class("53100"), error_class("57P01"), error_class("22012")
    ('full', 'stopped', 'other')
    """
    return next((found for start, found in _ERRORS.items() if code.startswith(start)), "other")


_WAITS: dict[str, WaitClass] = {
    r"running": "cpu",
    r"lwlock:walinsert": "lightweight_lock",
    r"(io|lwlock|ipc):wal": "log",
    r"io:(datafile(read|prefetch)|slruread|aio)|(lwlock|ipc):bufferio": "data_read",
    r"io:(datafile|slru)": "data_write",
    r"lock:": "lock",
    r"lwlock|bufferpin|buffer:": "lightweight_lock",
}
"""By how the wait's name begins, the first that fits. A session that waits for another one's flush
is in LWLock:WALWrite, and for another one's read of the same page in BufferIO; in 18, reads by its
I/O workers are Aio..."""


def wait_class(event: str) -> WaitClass:
    """By pg_stat_activity's wait_event_type:wait_event, "running" if a session waits for nothing.

    >>> wait_class("LWLock:WALWrite"), wait_class("IO:DataFileRead"), wait_class("Lock:tuple")
    ('log', 'data_read', 'lock')
    >>> wait_class("running"), wait_class("LWLock:BufferContent"), wait_class("IO:DataFileExtend")
    ('cpu', 'lightweight_lock', 'data_write')
    """
    found = (one for begins, one in _WAITS.items() if re.match(begins, event.lower()))
    return next(found, "other")


def _value(settings: Sequence[Setting], name: str) -> str | None:
    return next((setting.value for setting in settings if setting.name == name), None)


def _seconds(text: str) -> float:
    """A time setting as the server shows it, or bare seconds.

    >>> [_seconds(text) for text in ("5min", "300s", "1h", "300")]
    [300.0, 300.0, 3600.0, 300.0]
    """
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
    return float(number) * _UNITS_S.get(text[len(number) :].strip(), 1.0)
