"""The time to an answer once for real: the search on PostgreSQL in memory, and a dense ladder on
the same server.

The search is the product's own, at its default windows, on a database that is freshly started and
cold to it. The dense ladder (steps of 1.1, from the search's first rung to twice its knee) is then
measured up and down again, so that what drifts with time falls on all its rungs alike; its windows
are shorter than a fixed ladder's, whose seconds are those of its definition.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping, Sequence
from statistics import fmean

from bench.answer import DENSE_REACH, DENSE_STEP, RUNG_S, THROUGHPUT_AIM, TIME_AIM
from bench.ratio import Ratio, Size, alone, at_least, at_most, turns
from bench.servers import MEMORY, Loaded, loaded, unwatched
from kneebench.analysis.elasticity import between
from kneebench.databases.engines.postgres.server import PostgresServer
from kneebench.lab.host import host
from kneebench.ladder.climb import climb, measure_orders
from kneebench.measurement.measure import measure as measure_rung
from kneebench.measurement.warm_up import Beginning, ColdStart
from kneebench.plan import Plan
from kneebench.plan.stops import Plateau
from kneebench.plan.study import Study
from kneebench.plan.workload import Workload
from kneebench.records import Climb, Configuration, Order, Rung
from tests.simulated_truth import rungs

NAME = "real"
ABOUT = "the search on a real PostgreSQL: its time, and its knee vs. a dense ladder's"
SETTINGS = {"shared_buffers": "4GB", "max_wal_size": "16GB", "checkpoint_timeout": "1h"}
CONFIGURATION = Configuration(id="memory", storage="memory")
DENSE = {"warm_up": "5s", "window": "15s"}
QUICK = {"users": [1, 2], "warm_up": "0s", "window": "1s"}
PASSES = 4


def measure(size: Size) -> list[Ratio]:
    """Time, and throughput at the knee; both of one climb."""
    place = MEMORY if MEMORY.is_dir() else None
    workload = Workload(warehouses=size.count(20, 1))
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(loaded(size, workload, SETTINGS, place=place))
        watched = stack.enter_context(contextlib.closing(server.watched()))
        began_s = time.monotonic()
        climbed = _make_climb(server, watched, size)
        search_s = time.monotonic() - began_s
        dense = _dense(server, watched, climbed, size)
    return [_time(climbed, search_s), _throughput(climbed, dense)]


def _plan(server: Loaded, ladder: Mapping[str, object]) -> Plan:
    return Plan.model_validate(
        {
            "workload": server.workload.model_dump(),
            "ladder": dict(ladder),
            "storages": {CONFIGURATION.storage: {"path": str(server.data)}},
        }
    )


def _make_climb(server: Loaded, watched: PostgresServer, size: Size) -> Climb:
    plan = _plan(server, QUICK if size.quick else {})
    own = Study(plan).rungs(CONFIGURATION)
    found = measure_orders(
        climb(plan.ladder, len(watched.cores) or host().cores),
        lambda step: (
            measure_rung(
                step.on(CONFIGURATION.id),
                own,
                watched,
                unwatched,
                Beginning(cold=ColdStart() if step.phase == "warm_up" else None),
            ).rung
        ),
    )
    return Climb(configuration=CONFIGURATION, **found._asdict())


def _dense(
    server: Loaded, watched: PostgresServer, climbed: Climb, size: Size
) -> dict[int, list[Rung]]:
    """The rungs of the dense ladder by users, one of each pass."""
    plan = _plan(server, QUICK if size.quick else DENSE)
    own = Study(plan).rungs(CONFIGURATION)
    knee, first = climbed.knee_users or 1, climbed.of("search")[0].users
    users = sorted({knee, *rungs(first, max(2 * knee, first + DENSE_REACH), DENSE_STEP)})
    found: dict[int, list[Rung]] = {number: [] for number in users}
    for number in range(size.count(PASSES, 1)):
        for one in users if number % 2 == 0 else reversed(users):
            watched.checkpoint()  # the log of all passes does not fit the memory
            order = Order(
                configuration=CONFIGURATION.id, phase="search", users=one, repeat=2 + number
            )
            found[one].append(measure_rung(order, own, watched, unwatched).rung)
    return found


def _time(climbed: Climb, search_s: float) -> Ratio:
    fixed_s = RUNG_S * len(climbed.of("search"))
    note = "one climb; the fixed ladder's 7 minutes a rung as defined"
    return at_most(
        "search on PostgreSQL in memory, time vs. a fixed ladder",
        alone([search_s / fixed_s]),
        TIME_AIM,
        note=note,
        search_s=search_s,
        fixed_s=fixed_s,
    )


def _throughput(climbed: Climb, dense: Mapping[int, Sequence[Rung]]) -> Ratio:
    nopm = {users: [rung.tally.nopm for rung in passes] for users, passes in dense.items()}
    knee = climbed.knee_users or 1
    there = _knee({users: fmean(passes) for users, passes in nopm.items()})
    return at_least(
        "NOPM at its knee over NOPM at the dense ladder's",
        turns(nopm[knee], nopm[there]),
        1 - THROUGHPUT_AIM,
        note="pairs of rungs of one pass of the dense ladder, at the one's knee and at the other's",
        knee_users=knee,
        dense_users=there,
        knee_nopm=fmean(nopm[knee]),
        dense_nopm=fmean(nopm[there]),
    )


def _knee(nopm: Mapping[int, float]) -> int:
    """The first rung beyond which a third more users no longer gain as much as the plateau rule
    asks; the last where all do.
    """
    users = list(nopm)
    pairs = zip(users, users[DENSE_REACH:], strict=False)
    return next(
        (
            few
            for few, more in pairs
            if between(few, nopm[few], more, nopm[more]) < Plateau().elasticity
        ),
        users[-1],
    )
