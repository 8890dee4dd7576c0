"""An independent judge: the load generator's latencies beside a packet trace of the same calls, its
NOPM beside the database's own counters.

A PostgreSQL of its own, on loopback TCP; a few users in a closed loop, without TLS and with it in
turn. Without TLS the trace has each call from the packet of its Bind, as it leaves, to that of its
ReadyForQuery, as it arrives, and the load generator knows that arrival by the kernel's timestamp.
With TLS the trace goes by directions, and the load generator estimates the arrival, as over a Unix
socket (docs/method/load-generator.md).

The counters are sums of d_next_o_id, read by a session of the judge's own when the window begins
and ends, each with the server's clock.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

from psycopg import Connection

from bench.calls import Call, calls, exchanges
from bench.capture import capture, captured, unable
from bench.ratio import Ratio, Size, at_most, largest
from bench.servers import Loaded, loaded
from bench.tcp import LISTENING, over_tcp, over_tls
from bench.turn import generator_values, in_turn
from kneebench._core import GeneratorSpec, LoadGenerator
from kneebench.databases.engine import core_address
from kneebench.databases.engines.postgres.address import connect
from kneebench.databases.engines.postgres.server_address import PostgresAddress
from kneebench.plan.workload import Workload
from kneebench.records import Tally
from kneebench.workload import RunningLoad, running_load

__all__ = ["ABOUT", "MUST_HOLD", "NAME", "measure", "unable"]

NAME = "judge"
ABOUT = "latencies vs. a packet trace, NOPM vs. the database's counters; needs root"
MUST_HOLD = True
MEAN_LIMIT, P999_LIMIT, NOPM_LIMIT = 2.0, 5.0, 1.0
"""Percent."""
SETTINGS = {
    **LISTENING,
    "shared_buffers": "1GB",
    "max_wal_size": "8GB",
    "checkpoint_timeout": "1h",
}
ORDERS = """SELECT extract(epoch FROM statement_timestamp())::float8, sum(d_next_o_id)::float8
    FROM public.district"""
OVER = ("TCP", "TLS")
NOTE = "the largest of the runs; closed loop, 4 users, windows of 20 s, 10 warehouses"


class Reading(NamedTuple):
    """The New-Orders that the database has counted, at a time of its own clock."""

    at_s: float
    orders: float


class Run(NamedTuple):
    """One run of the load, as the load generator counted it and as others saw it. `go_ns`: its
    start in ns since 1970; `window_s`: begin and end since then; `read`: the database's counters
    when idle before, at both, and when idle after.
    """

    tally: Tally
    go_ns: int
    window_s: tuple[float, float]
    read: Sequence[Reading]
    calls: Sequence[Call]


class Pair(NamedTuple):
    """The same figure from the load generator and from the other source."""

    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        """Ours / theirs."""
        return self.ours / self.theirs

    @property
    def off(self) -> float:
        """Difference in percent of theirs."""
        return 100 * abs(self.ratio - 1)


class Verdict(NamedTuple):
    """What one run is judged by. The counts are of the whole run; `calls_in_window` is the number
    of latencies.
    """

    mean_s: Pair
    p999_s: Pair
    nopm: Pair
    calls: Pair
    orders: Pair
    calls_in_window: Pair


def measure(size: Size) -> list[Ratio]:
    """Rows that must hold: mean, P99.9, NOPM, and the counts of whole runs, which must be equal.

    Raises RuntimeError if the kernel dropped packets: a part of the calls judges nothing.
    """
    users, seconds, runs = size.count(4, 2), size.count(20, 1), size.count(3, 1)
    workload = Workload(warehouses=size.count(10, 1))
    settings = SETTINGS if not size.quick else {**SETTINGS, "shared_buffers": "128MB"}
    with loaded(size, workload, settings) as server:
        plain = over_tcp(server)
        encrypted = over_tls(server, plain)
        if not encrypted:
            print("TLS not judged: the server or this machine has no OpenSSL", file=sys.stderr)
        sides = [plain, encrypted] if encrypted else [plain]
        verdicts = in_turn(
            runs, *(partial(_verdict, server, side, users, seconds) for side in sides)
        )
    return [row for over, found in zip(OVER, verdicts, strict=False) for row in _rows(over, found)]


def _verdict(server: Loaded, address: PostgresAddress, users: int, seconds: int) -> Verdict:
    """A run, judged, and reported on its way."""
    verdict = judge(_run(server, address, users, seconds))
    over = OVER[address.sslmode != "disable"]
    print(f"{over}: {_sentence(verdict)}", file=sys.stderr, flush=True)
    return verdict


def _run(server: Loaded, address: PostgresAddress, users: int, seconds: int) -> Run:
    """One run under capture: a warm-up of a quarter, the window, a second of cool-down."""
    values = generator_values(users, server.workload.warehouses, profile="spec")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "packets")
        with capture(address.port, file), connect(server.address) as session:
            idle = _counted(session)
            generator = LoadGenerator(GeneratorSpec(**values), core_address(address))
            generator.ready()
            before_ns = time.time_ns()
            with running_load(generator) as load:
                go_ns = (before_ns + time.time_ns()) // 2
                _until(load, seconds / 4)
                begin_s, begin = load.mark("window"), _counted(session)
                _until(load, begin_s + seconds)
                end_s, end = load.mark("cool_down"), _counted(session)
                load.tick()
            read = (idle, begin, end, _counted(session))
        packets = captured(file).whole()
    if address.sslmode == "disable":
        found = calls(packets, address.host, address.port)
    else:
        answered = exchanges(packets, address.host, address.port)
        found = [call for call in answered if call.began_ns >= before_ns]
    return Run(load.stop(), go_ns, (begin_s, end_s), read, found)


def _until(load: RunningLoad, at_s: float) -> None:
    """Let seconds pass until so long after go."""
    while load.tick().now_s < at_s - 0.5:
        pass


def _counted(session: Connection[tuple[Any, ...]]) -> Reading:
    """The counters now."""
    at_s, orders = session.execute(ORDERS).fetchone() or (0.0, 0.0)
    return Reading(at_s, orders)


def judge(run: Run) -> Verdict:
    """The figures of a run, side by side: latencies of calls that began in the window, New-Orders
    that were committed in it.
    """
    idle, begin, end, after = run.read
    begin_ns, end_ns = (run.go_ns + int(1e9 * at_s) for at_s in run.window_s)
    ours = run.tally.latency
    theirs = sorted(
        call.ended_ns - call.began_ns
        for call in run.calls
        if call.completed and begin_ns <= call.began_ns < end_ns
    )
    if not ours or not theirs:
        raise RuntimeError("no call began in the window")
    p999_ns = theirs[math.ceil(0.999 * len(theirs)) - 1]
    counted = 60 * (end.orders - begin.orders) / (end.at_s - begin.at_s)
    committed = run.tally.transactions["new_order"].whole.committed
    return Verdict(
        mean_s=Pair(ours.mean_s, fmean(theirs) / 1e9),
        p999_s=Pair(ours.p999_s, p999_ns / 1e9),
        nopm=Pair(run.tally.nopm, counted),
        calls=Pair(run.tally.whole.started, len(run.calls)),
        orders=Pair(committed, after.orders - idle.orders),
        calls_in_window=Pair(ours.n, len(theirs)),
    )


def _sentence(verdict: Verdict) -> str:
    mean_s, p999_s, nopm, _, _, calls_in_window = verdict
    return (
        f"{calls_in_window.ours:,.0f} calls (trace {calls_in_window.theirs:,.0f}), mean"
        f" {1e3 * mean_s.ours:.4g} ms ({1e3 * mean_s.theirs:.4g}), P99.9 {1e3 * p999_s.ours:.4g} ms"
        f" ({1e3 * p999_s.theirs:.4g}), NOPM {nopm.ours:,.0f} (database {nopm.theirs:,.0f})"
    )


def _rows(over: str, verdicts: Sequence[Verdict]) -> list[Ratio]:
    mean, p999, nopm, calls_off, orders_off, _ = zip(*verdicts, strict=True)
    return [
        _row(f"mean latency vs. packet trace, {over}", mean, MEAN_LIMIT, "ms"),
        _row(f"P99.9 latency vs. packet trace, {over}", p999, P999_LIMIT, "ms"),
        _row(f"NOPM vs. the database's counters, {over}", nopm, NOPM_LIMIT),
        _row(f"calls of whole runs vs. packet trace, {over}", calls_off, 0),
        _row(f"New-Orders of whole runs vs. the database's counters, {over}", orders_off, 0),
    ]


def _row(name: str, pairs: Sequence[Pair], limit: float, shown: str = "") -> Ratio:
    """The largest difference of all runs, with the figures of each."""
    scale, unit = (1e3, f"_{shown}") if shown else (1.0, "")
    beside = {
        f"{whose}_{number}{unit}": scale * value
        for number, pair in enumerate(pairs, start=1)
        for whose, value in zip(("ours", "other"), pair, strict=True)
    }
    found = largest([pair.off for pair in pairs])
    return at_most(f"{name}: difference", found, limit, note=NOTE, unit="%", **beside)
