"""The shelf of sections: one file each, with `section(view)`, which gives None when it has nothing
to say. What stands where, and which number its figures have, is said here.
"""

CONTENTS = (
    "checks",
    "missing",
    "glance",
    "queries",
    "sweep",
    "bottlenecks",
    "predictions",
    "durability",
    "cautions",
    "each_configuration",
    "databases",
    "server_databases",
    "relative",
    "latency",
    "knee_latency",
    "power",
    "curve",
    "log_writes",
    "rounds",
    "load_levels",
    "pairs",
    "published",
    "over_time",
    "power_over_time",
    "device_times",
    "latency_spectrum",
    "evidence",
    "raw_share",
    "rungs",
    "costs",
    "devices",
    "devices_by_users",
    "method",
    "settings",
    "preconditioning",
    "power_meters",
    "load_hosts",
    "machine",
    "repeat",
)
"""The sections from the top of the page to its end; each part of the page keeps this order."""
OF_QUERIES = (
    "checks",
    "missing",
    "queries",
    "pairs",
    "cautions",
    "power_meters",
    "settings",
    "machine",
    "repeat",
)
"""Those of a brief of TPROC-H."""
FIGURES = {
    "relative": 1,
    "latency": 2,
    "curve": 3,
    "log_writes": 4,
    "over_time": 5,
    "device_times": 6,
    "evidence": 7,
    "preconditioning": 8,
    "power": 9,
    "power_over_time": 10,
    "published": 11,
    "rounds": 12,
    "load_levels": 13,
}
"""The same figure has the same number in every brief, so that documents can name it."""


def numbered(section: str, letter: str = "") -> str:
    """What a section's figure is called.

    >>> numbered("over_time", "b")
    'Fig. 5b'
    """
    return f"Fig. {FIGURES[section]}{letter}"
