"""Another drive by its profile: what a prediction needs of it."""

from __future__ import annotations

from kneebench.errors import PlanError
from kneebench.measurement.profile import Profile


def figures_of(profile: Profile) -> dict[str, float]:
    """Keys of `WhatIf`: the time of a log write, that of a read at the least depth, and how many
    reads are served at once, by the most reads per second. Raises PlanError for a profile without
    log writes or random reads.
    """
    valid = [one for one in profile.rows if not one.invalid]
    logs = [one.mean_s for one in valid if one.sync and one.mean_s]
    reads = [one for one in valid if one.pattern == "randread" and one.read and one.depth]
    if not logs or not reads:
        seen = "it has no log writes" if not logs else "it has no random reads"
        do = "profile a directory of that drive, or a whole drive with --write"
        raise PlanError("--drive", seen=seen, do=do)
    alone = min(reads, key=lambda one: (one.depth or 1) * one.workers)
    read_s = alone.mean_s or 0.0
    at_once = max(1, round(max(one.iops for one in reads) * read_s))
    return {"log_write_s": logs[0], "read_s": read_s, "reads_at_once": at_once}
