"""Rung runner: runs a rung second by second, keeps its readings and detects a lost database."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from math import fsum

from kneebench._core import merged_quantiles
from kneebench.analysis.wording import named, number_of_users
from kneebench.databases.engine import UNLOCK, EndsStuckUsers, MakesLogFiles, Server
from kneebench.errors import DatabaseLost, InvalidMeasurement, KneebenchError
from kneebench.measurement.instruments import Samples
from kneebench.measurement.power.recorder import PowerClock, PowerRecorder
from kneebench.measurement.quantities import RATIOS
from kneebench.measurement.summaries import Values, between, combined, quotient
from kneebench.records import AnsweredSecond, Event, LiveSecond, Order, Second, Tick, Watch
from kneebench.workload import RunningLoad


def make_log_ready(server: Server, for_s: float, limit_s: float) -> bool | None:
    """As `MakesLogFiles.ready_log`; other servers have their log as a whole."""
    return server.ready_log(for_s, limit_s) if isinstance(server, MakesLogFiles) else True


class RungRunner:
    """One rung under load.

    Only `second` passes time: it ends with the load generator's second, real or simulated.
    """

    def __init__(
        self,
        order: Order,
        users: RunningLoad,
        sampler: Samples,
        server: Server,
        watch: Watch,
        power: PowerRecorder | None = None,
    ) -> None:
        self.order = order
        self.users = users
        self.sampler = sampler
        self._server = server
        self._watch = watch
        self.power = PowerClock(power, server)
        """When each sample was taken, on the clock of the power meters."""
        self.seconds: list[Second] = []
        self.nopm: list[float] = []
        """New-Orders per minute in each second since go."""
        self.read: list[Values] = []
        """Readings of the meters in each second since go."""
        self.reads_per_s: list[float] = []
        """Device reads in each second since go; empty where no device is measured."""
        self.read_time: list[float] = []
        """Share of the users' time that these reads took."""
        self.read_bytes = 0.0
        """Bytes that the devices read since go."""
        self.busy_users = 0.0
        """Users with a transaction, or as many as wait for one, in the last second."""
        self.late_s: list[float] = []
        """Largest delay of the load generator's own clock in each second since go."""
        self.now_s = 0.0
        self.ended_s: list[float] = []
        """When each second ended that `read` and `late_s` are of."""
        self.progress: list[AnsweredSecond] = []
        self.log_ready: bool | None = None
        """Whether the files of the log that follows are there (MakesLogFiles)."""

    @property
    def completed(self) -> int:
        """Transactions completed since go."""
        return self.sampler.load.completed

    @property
    def held_bytes(self) -> float:
        """What the memory limit of the server counts now; 0 where there is none."""
        return combined(self.read[-1], "group.memory") or 0.0 if self.read else 0.0

    def ready_log(self, for_s: float, limit_s: float) -> None:
        """Have so many seconds of log ready."""
        self.log_ready = make_log_ready(self._server, for_s, limit_s)

    def second(self, doing: str, left_s: float) -> None:
        """Let one second pass, sample every meter and report progress.

        Raises DatabaseLost; InvalidMeasurement if other sessions block the users.
        """
        where = f"{described(self.order)}, {doing} ({self.now_s:.0f} s after the start)"
        whole_s = self.now_s + left_s
        share = self.now_s / whole_s if whole_s else 0.0
        with losses_reported(self._server, where):
            tick = self.users.tick()
            self.now_s = tick.now_s
            self.late_s.append(tick.late_s)
            self.ended_s.append(tick.now_s)
            self.progress += tick.progress
            self._count(tick.seconds)
            self.busy_users = self._busy(tick.seconds)
            self.sampler.load.network = tick.network
            self.sampler.load.completed += sum(s.committed + s.rolled_back for s in tick.seconds)
            self._require_connections(tick)
            if len(self.read) % EVERY_S == EVERY_S - 1:
                refuse_stuck(self._server, where)
            sample = self.sampler.sample()
            self.power.read()
        seen = between(self.sampler.raw_series, sample - 1, sample)
        self.read.append(seen)
        if (reads := combined(seen, "device.reads")) is not None:
            self.reads_per_s.append(reads)
            read_s = combined(seen, "device.read_time") or 0.0
            self.read_time.append(read_s / self.busy_users)
            self.read_bytes += combined(seen, "device.read_bytes") or 0.0
        self._report(doing, share, left_s, live_second(self.nopm, tick, seen))

    def _report(self, doing: str, share: float, left_s: float, second: LiveSecond) -> None:
        data: dict[str, object] = {
            "order": self.order.model_dump(),
            "nopm": second.nopm,
            "second": second.model_dump(exclude_none=True),
        }
        self._watch(
            Event(
                kind="progress",
                doing=f"{described(self.order)}: {doing}",
                share=min(1.0, max(0.0, share)),
                left_s=max(0.0, left_s),
                data=data,
            )
        )

    def _count(self, seconds: Sequence[Second]) -> None:
        """Add the seconds to the counts; a second without a New-Order counts 0."""
        self.seconds += seconds
        self.nopm += [0.0] * (max((s.at_s for s in seconds), default=-1) + 1 - len(self.nopm))
        for second in seconds:
            if second.transaction == "new_order":
                self.nopm[second.at_s] = 60.0 * second.committed

    def _busy(self, seconds: Sequence[Second]) -> float:
        """Users with a transaction: all of them in a closed loop; in an open loop, of which many
        wait for work, as many as the latencies of these seconds add up to.
        """
        if self.order.rate_per_s is None:
            return self.order.users
        return fsum(s.mean_s * (s.committed + s.rolled_back) for s in seconds) or self.order.users

    def _require_connections(self, tick: Tick) -> None:
        if tick.alive == 0:
            raise ConnectionError(f"all {self.order.users} connections were lost")
        if tick.alive < self.order.users and self._server.alive():
            raise ConnectionError(
                f"{self.order.users - tick.alive} of {self.order.users} connections were lost"
            )

    @property
    def checkpoints_begun(self) -> float | None:
        """Number of checkpoints that the server has started, for any cause; None if it does not
        report them.
        """
        readings = [values for raw in self.sampler.raw_series if (values := raw.values[-1])]
        counts = [
            n
            for values in readings
            for key, n in values.items()
            if key.partition("|")[0] in ("checkpoints.timed", "checkpoints.requested")
        ]
        return fsum(counts) if counts else None


def live_second(nopm: Sequence[float], tick: Tick, seen: Values) -> LiveSecond:
    """The second that has just ended: New-Orders per minute so far, the load generator's report,
    and what the meters read.
    """
    done = [one.committed + one.rolled_back for one in tick.seconds]
    spent_s = sum(one.mean_s * n for one, n in zip(tick.seconds, done, strict=True))
    latencies = [one.histogram for one in tick.seconds if one.histogram]
    log_write, read, write = (
        quotient(seen, RATIOS[name])
        for name in ("log.write_latency", "device.read_await", "device.write_await")
    )
    return LiveSecond(
        nopm=nopm[-1] if nopm else 0.0,
        mean_s=spent_s / sum(done) if sum(done) else None,
        p999_s=merged_quantiles(latencies, [0.999])[0] if latencies else None,
        failed=sum(one.failed for one in tick.seconds),
        late_s=tick.late_s,
        log_write_s=log_write,
        read_await_s=read,
        write_await_s=write,
        read_bytes_per_s=combined(seen, "device.read_bytes"),
        write_bytes_per_s=combined(seen, "device.write_bytes"),
        cores={name: round(busy, 3) for name, busy in seen.get("cores.busy", {}).items()},
    )


def described(order: Order) -> str:
    """Description of an order for people.

    >>> described(Order(configuration="disk", phase="search", users=16))
    'search on disk, 16 users'
    """
    if order.query:
        return f"{order.of_query} on {order.configuration}, pass {order.repeat}"
    rate = f" at {order.rate_per_s:,.0f}/s" if order.rate_per_s else ""
    level = order.nth if order.phase == "load_level" else ""
    nth = f", round {order.repeat}" if order.restore and order.repeat and not level else ""
    phase = f"{named(order.phase)}{level}"
    return f"{phase} on {order.configuration}, {number_of_users(order.users)}{rate}{nth}"


@contextlib.contextmanager
def losses_reported(server: Server, doing: str) -> Iterator[None]:
    """Turn any failure caused by a dead or dying server into DatabaseLost, with the crash report of
    the server.
    """
    try:
        yield
    except DatabaseLost as error:
        raise DatabaseLost(error.what, seen=f"{error.seen}; during {doing}", do=error.do) from error
    except KneebenchError:
        raise
    except Exception as error:
        seen = server.alive()
        if not seen and not isinstance(error, ConnectionError):
            raise
        words = f"{error}; {seen}" if seen and str(error) else seen or str(error)
        raise DatabaseLost(doing, seen=words, do="see the server's log") from error


# Users that wait for a lock of somebody else's: the load is no longer the one ordered, and may
# never end.

STUCK_S = 20.0
"""How long a user may wait for a session that is none of ours; waits for other users are the
workload's own, however long."""
EVERY_S = 5
"""Seconds from one sample to the next."""


def refuse_stuck(server: Server, what: str) -> None:
    """Raises InvalidMeasurement that names the sessions that have blocked users for `STUCK_S`."""
    if isinstance(server, EndsStuckUsers) and (seen := server.end_stuck(STUCK_S)):
        raise InvalidMeasurement(what, seen=seen, do=UNLOCK)


@contextlib.contextmanager
def refusing_stuck(server: Server, what: str) -> Iterator[None]:
    """The same while the block waits for users: they are looked at beside it, and ended where they
    are stuck, so that it ends.
    """
    ended, seen = threading.Event(), list[InvalidMeasurement]()

    def sample() -> None:
        while not ended.wait(EVERY_S):
            try:
                refuse_stuck(server, what)
            except InvalidMeasurement as stuck:
                seen.append(stuck)
            except KneebenchError:  # whoever waits for that server meets the same
                return

    threading.Thread(target=sample, name="stuck", daemon=True).start()
    try:
        yield
    finally:
        ended.set()
    if seen:
        raise seen[0]
