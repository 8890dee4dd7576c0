"""What looking costs: CPU time of all meters, here and in the database, and what it takes from the
throughput.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from bench.ratio import Ratio, Size, alone, at_least, at_most, turns
from bench.servers import Loaded, loaded
from bench.turn import generator_values, in_turn, process_cpu_s
from kneebench._core import GeneratorSpec
from kneebench.databases.engines.postgres.address import connect
from kneebench.databases.engines.postgres.server import PostgresServer
from kneebench.measurement.log_trace import LogTrace, log_trace
from kneebench.measurement.meters import open_meters
from kneebench.measurement.meters.meter import MeterContext
from kneebench.measurement.sampler import Sampler
from kneebench.plan.workload import Workload
from kneebench.shelf import METERS
from kneebench.workload import running_load

NAME = "meters"
ABOUT = "CPU of all meters, and NOPM with them over without"
AIM_CORE, AIM_NOPM = 0.02, 0.99
SETTINGS = {"shared_buffers": "2GB", "max_wal_size": "8GB", "checkpoint_timeout": "1h"}
SESSIONS = (
    "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <>"
    " pg_backend_pid()"
)


class Watched(NamedTuple):
    """A turn of the load: what it did, and what the meters took of one core."""

    nopm: float
    here: float
    in_database: float


def measure(size: Size) -> list[Ratio]:
    """The meters' share of a core, and NOPM in turns with and without them."""
    warehouses, users, seconds = size.count(10, 1), size.count(8, 2), size.count(12, 2)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(
            loaded(size, Workload(warehouses=warehouses, profile="hammerdb"), SETTINGS)
        )
        watched = stack.enter_context(contextlib.closing(server.watched()))
        sessions = _sessions(server)
        if not size.quick:
            _turn(
                server, watched, sessions, users, 20, sample=True
            )  # a first turn writes what later ones do not
        on, off = in_turn(
            size.count(10, 1),
            *(
                lambda sample=sample: _turn(
                    server, watched, sessions, users, seconds, sample=sample
                )
                for sample in (True, False)
            ),
        )
    return [_core(on, users), _nopm(on, off)]


def _core(on: Sequence[Watched], users: int) -> Ratio:
    here, there = fmean(turn.here for turn in on), fmean(turn.in_database for turn in on)
    found = alone([turn.here + turn.in_database for turn in on])
    note = f"under {users} users; the reading threads, and the sessions that answer"
    return at_most(
        "CPU of all meters at one reading per second",
        found,
        AIM_CORE,
        unit="core",
        note=note,
        here=here,
        in_the_database=there,
    )


def _nopm(on: Sequence[Watched], off: Sequence[Watched]) -> Ratio:
    with_them, without = [turn.nopm for turn in on], [turn.nopm for turn in off]
    note = "pairs in turn; the interval shows what this machine can resolve"
    return at_least(
        "NOPM with meters over without",
        turns(with_them, without),
        AIM_NOPM,
        note=note,
        NOPM_on=fmean(with_them),
        NOPM_off=fmean(without),
    )


def _sessions(server: Loaded) -> list[int]:
    """The processes that answer the meters: there is no load yet."""
    with connect(server.address) as session:
        return [pid for (pid,) in session.execute(SESSIONS)]


@contextlib.contextmanager
def _trace(watched: PostgresServer) -> Iterator[LogTrace | str]:
    """The trace of log writes, attached as it is when a window begins."""
    with log_trace(watched) as trace:
        while isinstance(trace, LogTrace) and not trace.seen and not trace.why_not:
            time.sleep(0.05)
        yield trace


def _sampler(
    watched: PostgresServer, server: Loaded, trace: LogTrace | str
) -> contextlib.closing[Sampler]:
    context = MeterContext(watched, [server.data], trace)
    return contextlib.closing(Sampler(open_meters(METERS.names(), context), watched.now_s))


def _turn(
    server: Loaded,
    watched: PostgresServer,
    sessions: list[int],
    users: int,
    seconds: int,
    *,
    sample: bool,
) -> Watched:
    """A turn of the load generator as a rung drives it, with its meters or without."""
    generator = watched.load_generator(
        GeneratorSpec(**generator_values(users, server.workload.warehouses))
    )
    generator.ready()
    with contextlib.ExitStack() as opened:
        sampler = None
        if sample:
            trace = opened.enter_context(_trace(watched))
            sampler = opened.enter_context(_sampler(watched, server, trace))
        load = opened.enter_context(running_load(generator))
        began_s = ended_s = load.tick().now_s
        new_orders, sampled_s, before = 0, 0.0, _used_s(sessions)
        while ended_s < began_s + seconds - 0.5:
            tick = load.tick()
            ended_s = tick.now_s
            new_orders += sum(
                second.committed for second in tick.seconds if second.transaction == "new_order"
            )
            if sampler:
                started_s = time.thread_time()
                sampler.sample()
                sampled_s += time.thread_time() - started_s
        slow_s, there_s = (now - then for now, then in zip(_used_s(sessions), before, strict=True))
    passed_s = ended_s - began_s
    here_s = sampled_s + slow_s
    return Watched(60 * new_orders / passed_s, here_s / passed_s, there_s / passed_s)


def _used_s(sessions: list[int]) -> tuple[float, float]:
    """CPU seconds so far of the threads of slow meters, and of the sessions that answer meters."""
    slow = [one.native_id for one in threading.enumerate() if one.name.startswith("meter ")]
    there = (Path(f"/proc/self/task/{one}/schedstat") for one in slow)
    slow_s = sum(int(file.read_text().split()[0]) for file in there) / 1e9
    return slow_s, sum(map(process_cpu_s, sessions))
