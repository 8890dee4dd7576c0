"""Reports of several load generators as one: counts and histograms are added, never averaged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kneebench._core import sum_histograms
from kneebench.records import Counts

Report = dict[str, Any]
COUNTS = tuple(Counts.model_fields)
OF_A_SECOND = ("mean_s", "p50_s", "p99_s", "p999_s", "max_s")


def added_counts(counts: Iterable[Report]) -> Report:
    """The sums of counts by name."""
    found = list(counts)
    return {name: sum(one[name] for one in found) for name in COUNTS}


def added_latencies(latencies: Iterable[Report | None]) -> Report | None:
    """The sum of latencies; None where there are none. Without a sample there is no histogram."""
    histograms = [one["histogram"] for one in latencies if one and one["histogram"]]
    found = sum_histograms(histograms)
    return dict(found) if found else None


def merged_report(reports: Sequence[Report]) -> Report:
    """The tally of all users; the window is the mean of the hosts' windows."""
    total = {
        name: sum(one[name] for one in reports)
        for name in ("users", "delay_stamped", "unstarted", "lost_users", "edges_s")
    }
    cores = [one["load_generator_cores"] for one in reports]
    return {
        **total,
        "window_s": sum(one["window_s"] for one in reports) / len(reports),
        "whole_s": max(one["whole_s"] for one in reports),
        "transactions": {
            name: _merged_type([one["transactions"][name] for one in reports])
            for name in reports[0]["transactions"]
        },
        **{
            name: added_latencies(one[name] for one in reports)
            for name in ("latency", "wait", "delay")
        },
        "errors": _merged_errors(error for one in reports for error in one["errors"]),
        "load_generator_cpu_s": sum(one["load_generator_cpu_s"] for one in reports),
        "load_generator_threads": sum(one["load_generator_threads"] for one in reports),
        "load_generator_cores": None if None in cores else sum(cores),
    }


def _merged_type(reports: Sequence[Report]) -> Report:
    retried: dict[str, int] = {}
    for one in reports:
        for why, count in one["retried"].items():
            retried[why] = retried.get(why, 0) + count
    return {
        **{scope: added_counts(one[scope] for one in reports) for scope in ("whole", "window")},
        **{name: added_latencies(one[name] for one in reports) for name in ("latency", "wait")},
        "retried": retried,
    }


def _merged_errors(errors: Iterable[Report]) -> list[Report]:
    found: dict[str, Report] = {}
    for error in errors:
        known = found.setdefault(error["code"], {**error, "count": 0})
        known["count"] += error["count"]
    return list(found.values())


def merged_seconds(seconds: Iterable[Report]) -> list[Report]:
    """One report of each second and transaction type, by time."""
    found: dict[tuple[int, str], list[Report]] = {}
    for one in seconds:
        found.setdefault((one["at_s"], one["transaction"]), []).append(one)
    return [
        some[0] if len(some) == 1 else _merged_second(some) for _, some in sorted(found.items())
    ]


def _merged_second(some: Sequence[Report]) -> Report:
    outcomes = [name for name in COUNTS if name != "started"]
    times = added_latencies(some)
    return {
        "at_s": some[0]["at_s"],
        "transaction": some[0]["transaction"],
        **{name: sum(one[name] for one in some) for name in outcomes},
        **({name: times[name] for name in OF_A_SECOND} if times else dict.fromkeys(OF_A_SECOND, 0)),
        "histogram": times["histogram"] if times else "",
    }
