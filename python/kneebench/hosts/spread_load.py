"""A load whose users run on several hosts: it is used as one load generator is.

All hosts start at the same moment, open and close their windows at the same moments, each by its
own clock; what they count is added.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from statistics import fmean
from typing import Any, NamedTuple

from kneebench._core import ConnectError, GeneratorSpec
from kneebench.hosts.clock import Offset, offset
from kneebench.hosts.connection import HostLine, HostLost
from kneebench.hosts.merging import merged_report, merged_seconds
from kneebench.hosts.pipe import Message
from kneebench.hosts.shares import HostShare, host_shares, spec_of

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


def _connect_error(host: str, refused: Mapping[str, str]) -> ConnectError:
    """As the core raises it, with the host's name."""
    error = ConnectError(f"host {host}: {refused['message']}")
    error.error_class = refused["error_class"]  # type: ignore[assignment]
    error.code, error.message = refused["code"], f"host {host}: {refused['message']}"
    return error
