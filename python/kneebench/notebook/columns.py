"""The columns of the frames: what each is, and the kind of its values."""

from __future__ import annotations

from kneebench.notebook.frame import FrameColumn, Kind
from kneebench.results import file_schemas


def _columns(kind: Kind, **about: str) -> dict[str, FrameColumn]:
    return {name: FrameColumn(kind, text) for name, text in about.items()}


def _estimate(name: str, about: str) -> dict[str, FrameColumn]:
    """An estimate's value, and the ends of its 95% interval."""
    ends = {f"{name}_low": "lower end of its 95% CI", f"{name}_high": "upper end of its 95% CI"}
    return _columns("number", **{name: about}, **ends)


def _knee_end(name: str, users: str) -> dict[str, FrameColumn]:
    """What the climb measured at one end of the interval of the knee's users."""
    return {
        **_columns(
            "whole",
            **{
                f"{name}_end_users": f"Users of the search rung at the {users} users that the knee"
                " may have; missing where no valid rung is there, or the knee is exact"
            },
        ),
        **_columns(
            "number",
            **{
                f"{name}_end_nopm": "New-Orders per minute of that rung",
                f"{name}_end_mean_s": "Mean latency of that rung",
            },
        ),
    }


_CONFIGURATION = _columns(
    "text",
    campaign="Campaign's id",
    configuration="Configuration as people read it: storage, database, constraint",
    storage="Storage, as the plan names it",
    database="Database, where the plan has several; else empty",
    constraint="Constraint, as the plan names it; else empty",
)
_RUNG = {
    **_CONFIGURATION,
    **_columns("text", key="Key of the rung, and name of its files", phase="Phase of the rung"),
    **_columns(
        "whole",
        users="Virtual users",
        repeat="Repetition, from 1; percent of a load level; 0 in the search",
    ),
}
RUNGS = {
    **_RUNG,
    **_columns("number", rate_per_s="Ordered transactions per second; missing in a closed loop"),
    **_columns("time", started_at="Start of the rung, in UTC; the value has no zone"),
    **_columns(
        "number",
        warm_up_s="Length of the warm-up",
        window_s="Length of the window",
        nopm="New-Orders per minute",
        tpm="Transactions per minute, from the database's counters",
        throughput_per_s="Transactions per second",
        mean_s="Mean latency",
        p50_s="Median latency",
        p90_s="P90 latency",
        p95_s="P95 latency",
        p99_s="P99 latency",
        p999_s="P99.9 latency",
        max_s="Longest latency",
    ),
    **_columns("flag", p999_certain="Whether at least 100 transactions exceed P99.9"),
    **_columns(
        "whole",
        committed="Transactions committed in the window",
        rolled_back="Transactions rolled back by design",
        failed="Transactions that failed",
        unknown="Transactions without a reply",
    ),
    **_columns(
        "number",
        log_write_s="Mean log write: write plus sync",
        read_bytes_per_s="Bytes read from the devices per second",
        write_bytes_per_s="Bytes written to the devices per second",
        cores_busy="Busy share of the database's cores, 0 to 1",
        system_w="Mean power, by the meter or sum that the campaign names; missing without one",
    ),
    **_columns("flag", steady="Whether the load was steady when the window began"),
    **_columns(
        "text",
        failed_checks="Names of failed self-checks; else empty",
        invalid="Why the rung must not be used; else empty",
        notes="Other remarks",
    ),
}
KNEES = {
    **_CONFIGURATION,
    **_columns("text", point="What the final runs measured: knee, or fixed load"),
    **_estimate("users", "Virtual users at the knee"),
    **_knee_end("low", "fewest"),
    **_knee_end("high", "most"),
    **_estimate("nopm", "New-Orders per minute at the knee"),
    **_estimate("tpm", "Transactions per minute at the knee"),
    **_estimate("mean_s", "Mean latency at the knee, in closed loop"),
    **_estimate("p999_s", "P99.9 latency at the knee, in closed loop"),
    **_columns("flag", p999_certain="Whether at least 100 transactions exceed that P99.9"),
    **_estimate("log_write_s", "Mean log write at the knee"),
    **_estimate("system_w", "Mean power at the knee; missing without a meter"),
    **_estimate("mw_per_nopm", "Power per NOPM at the knee, in mW/NOPM"),
    **_columns("whole", runs="Final runs behind these estimates"),
    **_columns("text", stopped_by="Stop condition that ended the climb", bottleneck="Bottleneck"),
    **_columns("number", fixed_rate_per_s="Fixed rate, transactions per second, in open loop"),
    **_estimate("fixed_rate_mean_s", "Mean latency at the fixed rate"),
    **_estimate("fixed_rate_p999_s", "P99.9 latency at the fixed rate"),
}
COMPARISONS = {
    **_columns(
        "text",
        campaign="Campaign's id",
        quantity="Compared quantity: nopm, latency.mean or latency.p999 (both at the fixed rate)"
        ", power.per_nopm, power.per_transaction, price.per_nopm",
        configuration="Configuration that is compared",
        baseline="Configuration that it is compared with",
    ),
    **_estimate("ratio", "Ratio of the quantity to that of the baseline"),
    **_columns("whole", runs="Pairs of runs behind the ratio"),
    **_columns("flag", differs="Whether the interval excludes 1 and the noise floor is exceeded"),
    **_columns("number", noise_floor="Noise floor as a share: 0.02 is 2%"),
    **_columns("text", sentence="Comparison in words"),
}
SERIES = {
    **_RUNG,
    **_columns("number", at_s="End of the second, from the rung's start: before its warm-up"),
    **_columns("flag", in_window="Whether the second is in the window, which figures are of"),
    **_columns(
        "text",
        quantity="Quantity, such as log.write_time",
        source="Part that was read: a device, core or process, or a wait by the database's name"
        "; empty for a single one",
        over="How the parts make the quantity: sum, mean or max",
        unit="Unit of the value",
    ),
    **_columns("number", value="Value: a counter's rate, or a gauge's value"),
}
SECONDS = {
    **_RUNG,
    **_columns("whole", at_s="Start of the second, from the start of the load"),
    **_columns("flag", in_window="Whether the second is in the window, which figures are of"),
    **_columns("text", transaction="Transaction type"),
    **_columns(
        "whole",
        committed="Transactions committed in this second",
        rolled_back="Transactions rolled back by design",
        failed="Transactions that failed",
        unknown="Transactions without a reply",
    ),
    **_columns(
        "number",
        mean_s="Mean latency",
        p50_s="Median latency",
        p99_s="P99 latency",
        p999_s="P99.9 latency",
        max_s="Longest latency",
    ),
}
WAIT_SHARES = {
    **_CONFIGURATION,
    **_columns(
        "text",
        wait="Class of waits, such as log; cpu: on a core or ready for one; rest: none of them",
        title="The same as people read it",
    ),
    **_columns(
        "number",
        latency_share="Share of a transaction's mean time, over the final runs at the knee",
        mean_s="That part of the mean latency",
    ),
}
_SWEPT: dict[str, Kind] = {
    "VARCHAR": "text",
    "BOOLEAN": "flag",
    "BIGINT": "whole",
    "INTEGER": "whole",
    "DOUBLE": "number",
}
_ABOUT_SWEEP = {
    "sweep": "Resource that grows: memory_bytes, cores, engine_memory_bytes or databases",
    "storage": "Storage, as the plan names it",
    "database": "Database, where the plan has several; else empty",
    "configuration": "Configuration as people read it",
    "reference": "Whether it is the one without a limit",
    "memory_bytes": "Limit of the memory with the page cache; missing: not limited",
    "engine_memory_bytes": "Limit of the database's own cache; missing: not limited",
    "cores": "Number of cores; missing: not limited",
    "databases": "Number of databases with users; missing: all",
    "users": "Virtual users",
    "nopm": "New-Orders per minute",
    "nopm_low": "lower end of its 95% CI",
    "nopm_high": "upper end of its 95% CI",
    "runs": "Final runs",
    "relative": "Ratio of NOPM to that of the largest size",
    "relative_low": "lower end of its 95% CI",
    "relative_high": "upper end of its 95% CI",
    "bound": "What the true ratio is beside it where a size was still warming",
    "read_bytes_per_s": "Bytes read from the devices per second",
    "write_bytes_per_s": "Bytes written to the devices per second",
    "busy": "Busy share of the database's cores, 0 to 1",
    "least_busy_core": "Busy share of the least busy core",
    "cache_hit_share": "Share of hits in the database's own cache",
    "read_bytes_per_transaction": "Bytes read from the devices per transaction",
    "still_warming": "Why its NOPM is a lower bound; empty if it was steady",
}
SWEEP = {
    name: FrameColumn(_SWEPT[kind], _ABOUT_SWEEP[name]) for name, kind in file_schemas.SWEEP.items()
}
_CAMPAIGN = _columns(
    "text",
    campaign="Campaign's id",
    label="What must be known first, such as Simulated; else empty",
)
COMPARED = {
    **_CAMPAIGN,
    **_columns("text", configuration="Configuration as people read it"),
    **_estimate("users", "Virtual users at the knee"),
    **_estimate("nopm", "New-Orders per minute at the knee"),
    **_estimate("queries_per_hour", "Queries of TPROC-H per hour in a pass"),
    **_estimate("ratio", "Ratio of either to that of the first campaign's baseline"),
    **_columns("number", mean_s="Mean latency at the fixed rate if all have it, else at the knee"),
    **_columns("number", rate_per_s="That rate, in transactions per second; missing at the knee"),
    **_columns("text", sentence="Comparison in words"),
}
ACCEPTED = {
    **_CAMPAIGN,
    **_columns(
        "text",
        baseline_campaign="Id of the baseline",
        storage="Storage",
        quantity="Figure, such as nopm or latency.mean; limit.* against a limit of the plan",
        answer="Answer: same, same or better, better, worse, cannot say, or not judged",
    ),
    **_columns("number", margin_share="Margin: 0.05 is 5%"),
    **_estimate("baseline", "Figure of the baseline, in NOPM, seconds, users or mW/NOPM"),
    **_estimate("value", "Figure of the campaign, in the same unit"),
    **_estimate("ratio", "Ratio of the campaign to the baseline"),
    **_columns("whole", runs="Runs behind the ratio"),
    **_columns("text", sentence="Answer in words"),
}
TRENDS = {
    **_columns("text", storage="Storage", quantity="Figure: nopm, latency.mean or latency.p999"),
    **_columns("text", campaign="Campaign's id"),
    **_columns("time", started_at="Start of the campaign, in UTC; the value has no zone"),
    **_estimate("value", "Figure, in NOPM or seconds"),
    **_columns("whole", runs="Runs behind the figure"),
    **_estimate("change", "Level after a change point over the level before; else missing"),
    **_columns("number", outlying_ratio="An outlying campaign's figure over the level beside it"),
}
CALLS = {"compare(...)": COMPARED, "accept(...)": ACCEPTED, "trend(...)": TRENDS}
"""Frames of several campaigns, by the call whose answer has them as `frame()`."""
FRAMES = {
    "rungs": RUNGS,
    "knees": KNEES,
    "comparisons": COMPARISONS,
    "series": SERIES,
    "seconds": SECONDS,
    "wait_shares": WAIT_SHARES,
    "sweep": SWEEP,
}
"""By the method of the results that gives it."""
