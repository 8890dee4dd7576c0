"""The figures of the page for Prometheus."""

from __future__ import annotations

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest

from kneebench.live.campaign_state import CampaignState

SECOND = {
    "nopm": ("kneebench_nopm", "New-Orders per minute in the latest second"),
    "users": ("kneebench_users", "Virtual users of the rung under way"),
    "mean_s": ("kneebench_latency_mean_seconds", "Mean latency in the latest second"),
    "failed": ("kneebench_failed_transactions", "Failed transactions in the latest second"),
    "late_s": ("kneebench_clock_delay_seconds", "Longest delay of the load generator's clock"),
    "log_write_s": ("kneebench_log_write_seconds", "Mean log write in the latest second"),
    "read_await_s": ("kneebench_device_read_seconds", "Mean device read in the latest second"),
    "write_await_s": ("kneebench_device_write_seconds", "Mean device write in the latest second"),
}
"""By field of a second: the metric's name, and what it is."""

LEFT = {
    "left_s": "Expected until its end",
    "left_low_s": "The least that is expected until its end",
    "left_high_s": "The most that is expected until its end",
}
"""The same of the time left."""


def exposition(state: CampaignState) -> tuple[str, str]:
    """The metrics as text, and its media type. Between rungs there are none of a second, and
    of a campaign that is not measured only what it has reached.
    """
    registry, now = CollectorRegistry(), state.now()
    label, campaign = ["campaign"], state.campaign_id

    def put(name: str, about: str, value: float) -> None:
        Gauge(name, about, label, registry=registry).labels(campaign).set(value)

    put("kneebench_running", "1 while the campaign is measured", float(now["running"]))
    put("kneebench_elapsed_seconds", "Since the campaign was started", now["elapsed_s"])
    put("kneebench_rungs", "Rungs measured", float(len(state.rungs)))
    if not now["running"]:
        return generate_latest(registry).decode(), CONTENT_TYPE_LATEST
    for name, about in LEFT.items():
        put(f"kneebench_{name}econds", about, now[name])
    second = now["second"] or {}
    labels, where = [*label, "configuration", "phase"], (now["configuration"], now["phase"])
    for field, (name, about) in SECOND.items():
        if field in second:
            Gauge(name, about, labels, registry=registry).labels(campaign, *where).set(
                second[field]
            )
    busy = Gauge("kneebench_core_busy_ratio", "Busy share", [*label, "core"], registry=registry)
    for core, share in second.get("cores", {}).items():
        busy.labels(campaign, core).set(share)
    return generate_latest(registry).decode(), CONTENT_TYPE_LATEST
