"""The properties of SQL Server (engine_properties.py): what is known of it before a server runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import get_args

from kneebench.databases.engines.postgres.properties import wait_class as wait_class_below_babelfish
from kneebench.databases.engines.sqlserver import footprint as footprint
from kneebench.engine_properties import (
    ErrorClass,
    Listens,
    Quantity,
    SafetySetting,
    ServerProgram,
    WaitClass,
)
from kneebench.records import Setting

label = "SQL Server"
postponed = ""
publishing = (
    "Microsoft's licence terms for SQL Server forbid to disclose the results of benchmark tests of"
    " the software without Microsoft's prior written approval: have it before you publish."
)
named_settings = (
    "max server memory (MB)",
    "recovery",
    "delayed_durability",
    "target_recovery_time",
)
safety_settings = (
    SafetySetting(
        "delayed_durability",
        ["disabled"],
        "a crash can lose commits, and log writes are measured without those that no session waited"
        " for",
        "Microsoft, Control Transaction Durability",
    ),
    SafetySetting(
        "page_verify",
        ["checksum"],
        "a page that a crash left half written may not be found out",
        "Microsoft, ALTER DATABASE SET options",
    ),
)
measures_real_hardware = True
packages = ("python-tds",)
password_variable = "SQLCMDPASSWORD"  # noqa: S105
listens: Listens = "never"
answers_queries = False
server_program: ServerProgram | None = None
own_quantities = {
    "log.flush_waits": Quantity("1/s", "counter", reading="Commits that waited for the log"),
    "log.growths": Quantity("1/s", "counter", reading="Growths of the log"),
    "database.batches": Quantity("1/s", "counter", tpm="HammerDB's TPM on SQL Server"),
    "database.transactions": Quantity("1/s", "counter"),
    "cache.page_life": Quantity("s", "gauge", "max", reading="Page life expectancy"),
    "server.cpu": Quantity(
        "cores", "counter", heading="Server cores used", reading="Server cores used"
    ),
    **{
        f"wait_time.{name}": Quantity(
            "s/s", "counter", reading=f"Wait time: {name.replace('_', ' ')}"
        )
        for name in get_args(WaitClass)
    },
}
_ERRORS: dict[ErrorClass, tuple[int, ...]] = {
    "retry": (1205, 1222, 3960, 3961, 41301, 41302, 41305, 41325),
    "full": (
        *(701, 802, 1101, 1105, 1204, 3257, 3967, 8645, 8651, 9002, 10928, 10929),
        *(17300, 17803, 17809, 40501, 40544, 40549, 40551, 40552, 40553),
    ),
    "refused": (229, 230, 300, 911, 916, 4060, 4064, 18452, 18456, 18486, 18487, 18488),
    "stopped": (596, 6005, 6006, 17142, 18401, 18451, 18461),
    "broken": (605, 823, 824, 825, 832, 5171, 5172),
}
"""By number (sys.messages): 1205 deadlock victim, 1222 lock request time-out, 3960 update conflict
of a snapshot; 1105 filegroup full, 9002 log full; 823 and 824 I/O errors."""


def major_version(settings: Sequence[Setting]) -> str:
    """By ProductVersion, as the year that people say.

    >>> major_version([Setting(name="ProductVersion", value="16.0.4135.4")])
    '2022'
    """
    value = next((one.value for one in settings if one.name == "ProductVersion"), "")
    return VERSIONS.get(value.partition(".")[0], value.partition(".")[0])


VERSIONS = {"14": "2017", "15": "2019", "16": "2022", "17": "2025"}


def checkpoint_cycle_s(settings: Sequence[Setting]) -> float:
    """The database's target recovery time; with 0 (automatic checkpoints) about a minute."""
    value = next((one.value for one in settings if one.name == "target_recovery_time"), "")
    return float(value) if value.isdigit() and int(value) else float(footprint.RECOVERY_S)


def error_class(code: str) -> ErrorClass:
    """By the error number.

    >>> error_class("1205"), error_class("9002"), error_class("18456"), error_class("2627")
    ('retry', 'full', 'refused', 'other')
    """
    number = int(code) if code.isdigit() else 0
    return next((name for name, numbers in _ERRORS.items() if number in numbers), "other")


_WAITS: dict[str, WaitClass] = {
    r"running|runnable|SOS_SCHEDULER_YIELD": "cpu",
    r"WRITELOG|LOGBUFFER|LOG_RATE|LOGMGR|HADR_SYNC_COMMIT": "log",
    r"PAGEIOLATCH": "data_read",
    r"WRITE_COMPLETION": "data_write",
    r"LCK_M": "lock",
    r"PAGELATCH|LATCH_|SPINLOCK": "lightweight_lock",
}
"""By how the wait type begins (sys.dm_os_wait_stats). A page that is read is latched meanwhile, so
that PAGEIOLATCH is a read whatever the mode."""


def wait_class(event: str) -> WaitClass:
    """By the wait type; by PostgreSQL's names where a colon shows that Babelfish gave it.

    >>> wait_class("WRITELOG"), wait_class("PAGEIOLATCH_EX"), wait_class("LCK_M_U")
    ('log', 'data_read', 'lock')
    >>> wait_class("running"), wait_class("PAGELATCH_SH"), wait_class("ASYNC_NETWORK_IO")
    ('cpu', 'lightweight_lock', 'other')
    """
    if ":" in event:
        return wait_class_below_babelfish(event)
    return next((one for begins, one in _WAITS.items() if re.match(begins, event)), "other")
