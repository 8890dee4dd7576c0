"""The settings that a plan may set on a SQL Server: which they are, and of what they take.

Settings of the instance (sys.configurations) are put back at the end. Those of the database are set
when it is created; it is ours. Only settings that take effect without a restart are here
(Microsoft's "Server configuration options").
"""

from __future__ import annotations

from collections.abc import Mapping

INSTANCE = (
    "backup compression default",
    "blocked process threshold (s)",
    "cost threshold for parallelism",
    "max degree of parallelism",
    "max server memory (MB)",
    "max worker threads",
    "min server memory (MB)",
    "optimize for ad hoc workloads",
    "query wait (s)",
    "recovery interval (min)",
)
"""By their names in sys.configurations."""
SHORT = {"maxdop": "max degree of parallelism"}
"""Names that people use, with those of the server."""
DATABASE: Mapping[str, tuple[str, ...]] = {
    "compatibility_level": ("140", "150", "160"),
    "delayed_durability": ("disabled", "allowed", "forced"),
    "page_verify": ("checksum", "torn_page_detection", "none"),
    "read_committed_snapshot": ("on", "off"),
    "recovery": ("simple", "full", "bulk_logged"),
    "target_recovery_time": (),
}
"""Options of the database by name, with their values; empty: seconds."""
DEFAULTS = {"recovery": "simple"}
"""What kneebench sets where the plan does not: full recovery logs a bulk load in full."""


def fault(settings: Mapping[str, object]) -> tuple[str, str] | None:
    """The first setting that cannot be set, and what is allowed; None where all can.

    >>> fault({"maxdop": 1, "recovery": "simple"})
    >>> fault({"maxdop": "all"})
    ('maxdop', 'a whole number')
    >>> fault({"page_verify": "maybe"})
    ('page_verify', 'one of: checksum, torn_page_detection, none')
    >>> fault({"shared_buffers": 1})[0]
    'shared_buffers'
    """
    for name, value in settings.items():
        text = str(value).lower() if not isinstance(value, bool) else ("on" if value else "off")
        if name in DATABASE and (allowed := DATABASE[name]):
            if text not in allowed:
                return name, f"one of: {', '.join(allowed)}"
        elif name in (*DATABASE, *INSTANCE, *SHORT):
            if isinstance(value, bool) or not text.isdigit():
                return name, "a whole number"
        else:
            names = sorted((*INSTANCE, *SHORT, *DATABASE))
            return name, f"a setting that needs no restart: {', '.join(names)}"
    return None


def of_instance(settings: Mapping[str, object]) -> dict[str, int]:
    """The settings of the instance, by the server's names.

    >>> of_instance({"maxdop": 1, "recovery": "simple"})
    {'max degree of parallelism': 1}
    """
    named = {SHORT.get(name, name): value for name, value in settings.items()}
    return {name: int(str(value)) for name, value in named.items() if name in INSTANCE}


def of_database(settings: Mapping[str, object]) -> dict[str, str]:
    """The options of the database, in capitals as statements have them.

    >>> of_database({"maxdop": 1, "read_committed_snapshot": True})
    {'RECOVERY': 'SIMPLE', 'READ_COMMITTED_SNAPSHOT': 'ON'}
    """
    given = {name: value for name, value in settings.items() if name in DATABASE}
    shown = {
        name: ("on" if value else "off") if isinstance(value, bool) else str(value)
        for name, value in {**DEFAULTS, **given}.items()
    }
    return {name.upper(): value.upper() for name, value in shown.items()}
