"""A load whose users run on several hosts: it is used as one load generator is.

All hosts start at the same moment, open and close their windows at the same moments, each by its
own clock; what they count is added.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from statistics import fmean
from typing import Any, NamedTuple

from kneebench._core import GeneratorSpec, sum_histograms
from kneebench.core_errors import ConnectError
from kneebench.hosts.connection import HostLine, HostLost
from kneebench.hosts.pipe import Message
from kneebench.records import Counts

CONNECT_S = 600.0
"""For the connections of all users to be opened."""
DRAIN_S = 120.0
"""For the last responses."""
START_S = 0.5
"""From the order to go to the moment: the order must have arrived by then."""
AHEAD_S, ROUND_TRIPS = 0.01, 4.0
"""A phase begins so long after its order, or so many round trips."""


class Opened(NamedTuple):
    """When a host entered a phase: seconds since its go, its own time of day, and what its
    interface had carried.
    """

    at_s: float
    now: float
    carried: Mapping[str, int]


class SpreadLoad:
    """The users of one rung on all hosts. Raises HostLost as soon as one no longer answers."""

    def __init__(
        self,
        hosts: Mapping[str, tuple[HostLine, float]],
        spec: GeneratorSpec,
        address: Mapping[str, Any],
        certificates: str = "",
        threads: int = 0,
    ) -> None:
        """`hosts`: connections with their shares, by name. A host without a user takes no part."""
        shares = host_shares(spec.users, [share for _, share in hosts.values()])
        self._spec, self._threads = spec, threads
        self._address, self._certificates = dict(address), certificates
        self._parts: list[tuple[HostLine, HostShare]] = [
            (host, share)
            for (host, _), share in zip(hosts.values(), shares, strict=True)
            if share.users
        ]
        self._interfaces: dict[str, str] = {}
        self._offsets: dict[str, Offset] = {}
        self._opened: dict[str, dict[str, Opened]] = {}
        self._now_s = 0.0
        self._kept: list[Message] = []
        self._report: Message | None = None
        self._lost: HostLost | None = None

    def ready(self) -> None:
        """Open every connection. Raises ConnectError for the first host that cannot."""
        answers = self._all("prepare", self._order, CONNECT_S)
        for name, answer in answers.items():
            if refused := answer.get("connect"):
                raise _connect_error(name, refused)
        self._interfaces = {name: answer["interface"] for name, answer in answers.items()}
        self._offsets = {host.name: offset(host) for host, _ in self._parts}

    def _order(self, host: HostLine, share: HostShare) -> Message:
        spec = spec_of(self._spec, share, int(host.facts["cores"]), self._threads)
        return {"spec": spec, "address": self._address, "certificates": self._certificates}

    def go(self) -> None:
        """Start all hosts at one moment."""
        at = time.time() + START_S + self._longest_s
        self._all("go", lambda host, _: {"at": at + self._offsets[host.name].ahead_s}, START_S + 5)

    def tick(self) -> Message:
        """The second that has ended on all hosts; those that not all have reported are kept."""
        answers = self._all("tick", _nothing, 2.0)
        ticks = [answer["tick"] for answer in answers.values()]
        self._kept += [second for tick in ticks for second in tick["seconds"]]
        self._now_s = min(tick["now_s"] for tick in ticks)
        whole = [second for second in self._kept if second["at_s"] + 1 <= self._now_s]
        self._kept = [second for second in self._kept if second["at_s"] + 1 > self._now_s]
        return {
            "now_s": max(tick["now_s"] for tick in ticks),
            "alive": sum(tick["alive"] for tick in ticks),
            "late_s": max(tick["late_s"] for tick in ticks),
            "seconds": merged_seconds(whole),
            "progress": [
                {**one, "host": name}
                for name, answer in answers.items()
                for one in answer["tick"]["progress"]
            ],
            "network": {
                f"load_hosts.{quantity}|{name}": count
                for name, answer in answers.items()
                for quantity, count in answer["carried"].items()
            },
        }

    def mark(self, phase: str) -> float:
        """Have all hosts enter the phase at one moment; seconds since go."""
        at_s = self._now_s + max(AHEAD_S, ROUND_TRIPS * self._longest_s)
        answers = self._all("mark", lambda *_: {"phase": phase, "at_s": at_s}, at_s)
        self._opened[phase] = {
            name: Opened(answer["at_s"], answer["now"], answer["carried"])
            for name, answer in answers.items()
        }
        return fmean(one.at_s for one in self._opened[phase].values())

    def stop(self) -> Message:
        """Let every transaction that began end; the tally of all users."""
        if self._lost:
            self._stop_others()
            raise self._lost
        if self._report is None:
            answers = self._all("stop", _nothing, DRAIN_S)
            after = {host.name: offset(host) for host, _ in self._parts}
            reports = {name: answer["report"] for name, answer in answers.items()}
            hosts = [
                self._host_tally(host, share, reports[host.name], after[host.name])
                for host, share in self._parts
            ]
            self._report = {**merged_report(list(reports.values())), "hosts": hosts}
        return self._report

    def _stop_others(self) -> None:
        """Begun on all that still answer, and not waited for."""
        for host, _ in self._parts:
            try:
                host.begin("stop")
            except HostLost:
                continue

    def _host_tally(
        self, host: HostLine, share: HostShare, report: Message, after: Offset
    ) -> Message:
        before = self._offsets[host.name]
        edges = {phase: self._edge_s(phase, host.name) for phase in ("window", "cool_down")}
        return {
            "name": host.name,
            "users": share.users,
            "cores": int(host.facts["cores"]),
            "threads": report["load_generator_threads"],
            "new_orders": report["transactions"]["new_order"]["window"]["committed"],
            "cpu_s": report["load_generator_cpu_s"],
            "window_s": report["window_s"],
            "delay_s": report["delay"]["mean_s"] if report["delay"] else None,
            "ahead_s": before.ahead_s,
            "bound_s": max(before.bound_s, after.bound_s),
            "moved_s": after.ahead_s - before.ahead_s,
            "round_trip_s": before.round_trip_s,
            "opened_s": edges["window"],
            "closed_s": edges["cool_down"],
            "opened_at": self._entered_at("window", host.name),
            "closed_at": self._entered_at("cool_down", host.name),
            "interface": self._interfaces[host.name],
            **self._network(host.name, report["window_s"]),
        }

    def _network(self, name: str, window_s: float) -> dict[str, float]:
        """Rates of a host's interface in the window; nothing where they are not known."""
        marks = [self._opened.get(phase, {}).get(name) for phase in ("window", "cool_down")]
        first, last = (one.carried if one else {} for one in marks)
        if not (first and last and window_s > 0):
            return {}
        rates = {
            "received_per_s": "received",
            "sent_per_s": "sent",
            "resent_per_s": "retransmitted",
        }
        return {name: (last[one] - first[one]) / window_s for name, one in rates.items()}

    def _entered_at(self, phase: str, name: str) -> float:
        """A host's own time of day at the start of a phase; 0 where it did not enter it."""
        opened = self._opened.get(phase, {})
        return opened[name].now if name in opened else 0.0

    def _edge_s(self, phase: str, name: str) -> float:
        """When a host entered the phase, relative to the mean of all, in our time of day."""
        opened = self._opened.get(phase, {})
        if name not in opened:
            return 0.0
        ours = {other: one.now - self._offsets[other].ahead_s for other, one in opened.items()}
        return ours[name] - sum(ours.values()) / len(ours)

    @property
    def _longest_s(self) -> float:
        """The longest round trip."""
        return max(one.round_trip_s for one in self._offsets.values())

    def _all(
        self, do: str, values: Callable[[HostLine, HostShare], Message], limit_s: float
    ) -> dict[str, Message]:
        """Order the same of all hosts at once; what comes of it, by host."""
        try:
            begun = [(host, host.begin(do, **values(host, share))) for host, share in self._parts]
            answers = {host.name: host.result(number, limit_s) for host, number in begun}
        except HostLost as error:
            self._lost = HostLost(error.name, error.seen, f"{self._now_s:.0f} s after the start")
            raise self._lost from error
        for name, answer in answers.items():
            if words := answer.get("failed"):
                raise RuntimeError(f"host {name}: {words}")
        return answers


def _nothing(host: HostLine, share: HostShare) -> Message:
    return {}


def _connect_error(host: str, refused: Mapping[str, Any]) -> ConnectError:
    """As the core raises it, with the host's name."""
    message = f"host {host}: {refused['message']}"
    return ConnectError(message, refused["code"], refused["error_class"])


# Reports of several load generators as one: counts and histograms are added, never averaged.

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


# How the users of a rung are divided over load hosts.

FIELDS = (
    "warehouses",
    "profile",
    "home",
    "think_times",
    "retries",
    "seed",
    "stream",
    "drain_s",
    "cores",
)
"""Of a load generator's specification: the same on every host."""


class HostShare(NamedTuple):
    """The users of one host: how many, and how many are on the hosts before it."""

    users: int
    first: int


def divided(whole: int, weights: Sequence[float]) -> list[int]:
    """A whole number in parts as the weights are, by largest remainders.

    >>> divided(10, [1, 1, 2]), divided(3, [1, 1]), divided(1, [1, 1, 1])
    ([3, 2, 5], [2, 1], [1, 0, 0])
    """
    exact = [whole * weight / sum(weights) for weight in weights]
    parts = [int(one) for one in exact]
    nearest = sorted(range(len(parts)), key=lambda n: (parts[n] - exact[n], n))
    for n in nearest[: whole - sum(parts)]:
        parts[n] += 1
    return parts


def host_shares(users: int, weights: Sequence[float]) -> list[HostShare]:
    """The users of each host, in order: a user has the same number whatever the hosts.

    >>> host_shares(5, [2, 1, 1])
    [HostShare(users=3, first=0), HostShare(users=1, first=3), HostShare(users=1, first=4)]
    """
    parts = divided(users, weights)
    return [
        HostShare(part, upto - part) for part, upto in zip(parts, accumulate(parts), strict=True)
    ]


def spec_of(spec: GeneratorSpec, share: HostShare, cores: int, threads: int) -> dict[str, Any]:
    """The specification of one host's part. `threads`: of the plan; 0: as many as its cores, and
    never more than it has users.

    The rate and the shared connections are divided as the users are.
    """
    part = share.users / spec.users
    upto = [spec.connections * n // spec.users for n in (share.first, share.first + share.users)]
    return {
        **{name: getattr(spec, name) for name in FIELDS},
        "users": share.users,
        "first_user": share.first,
        "all_users": spec.users,
        "rate_per_s": None if spec.rate_per_s is None else spec.rate_per_s * part,
        "connections": max(1, upto[1] - upto[0]) if spec.connections else 0,
        "workers": threads or max(1, min(share.users, cores)),
    }


# How far a host's time of day is from ours, with a bound.
#
# Cristian's algorithm (Distributed Computing 3, 1989): of many probes the one with the smallest
# round trip knows best, to half of that round trip. No monotonic clock of another machine is used.

PROBES = 60


class Offset(NamedTuple):
    """Seconds by which a host's time of day is ahead, to within `bound_s`, by the smallest round
    trip.
    """

    ahead_s: float
    bound_s: float
    round_trip_s: float


def offset(host: HostLine, probes: int = PROBES) -> Offset:
    """The offset now. Raises HostLost."""
    return min((_probe(host) for _ in range(probes)), key=lambda one: one.bound_s)


def _probe(host: HostLine) -> Offset:
    began, before = time.time(), time.perf_counter()
    there = host.ask("probe")["now"]
    took = time.perf_counter() - before
    return Offset(there - (began + took / 2), took / 2, took)
