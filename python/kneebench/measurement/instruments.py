"""What reads the machine that a database runs on: meters, traces and faults. On this machine, or on
the database host by whoever runs there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Protocol

from kneebench.databases.engine import Server
from kneebench.hosts.load_hosts import LoadHosts
from kneebench.lab.drives import counted_devices
from kneebench.lab.inventory import drive_fills
from kneebench.lab.own_devices import storage_faults
from kneebench.measurement.log_trace import NO_TRACE, LogTrace, log_trace
from kneebench.measurement.meters import open_meters
from kneebench.measurement.meters.meter import MeterContext
from kneebench.measurement.power.recorder import PowerRecorder
from kneebench.measurement.power.recordings import OwnRecordings, Recordings
from kneebench.measurement.profile.storage_profile import storage_profile
from kneebench.measurement.sampler import LoadMeter, RawSeries, Sampler
from kneebench.measurement.streams import QueryText, RunningStreams, running_streams
from kneebench.plan.power import PowerMeter
from kneebench.records import CountedDevice, DriveFill, RawProfile, Remark, Role, Watch


class Samples(Protocol):
    """The samples of a rung's meters (sampler.py)."""

    load: LoadMeter
    raw_series: tuple[RawSeries, ...]

    def sample(self) -> int:
        """Take a reading of every meter; the number of this sample."""

    @property
    def last(self) -> int:
        """The number of the last sample."""

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """Those of the meters, once they are closed."""

    def close(self) -> None: ...


class Instruments:
    """What can be read of the machine that a server runs on."""

    def log_trace(self, server: Server) -> AbstractContextManager[LogTrace | str]:
        """A trace of the server's log writes until the end of the block; or why there is none."""
        return log_trace(server)

    def samples(self, wanted: Sequence[str], context: MeterContext, *, real: bool) -> Samples:
        """The meters of these names, opened, on the server's clock; `real`: they may read this
        machine.
        """
        meters = open_meters(wanted, context, real_hardware=real)
        return Sampler(meters, context.server.now_s)

    def streams(
        self, server: Server, streams: Sequence[tuple[QueryText, ...]], limit_s: float
    ) -> AbstractContextManager[RunningStreams]:
        """Streams of queries that run from there, each query at most so long."""
        return running_streams(server, streams, limit_s)

    def power_meters(self, tables: Sequence[PowerMeter]) -> Recordings:
        """Meters of power that are read there, each in a thread. Raises PlanError for one that
        cannot be read.
        """
        return OwnRecordings(tables)

    def storage_faults(self, paths: Sequence[Path]) -> tuple[str, ...]:
        """What is wrong under these paths now."""
        return storage_faults(paths)

    def counted_devices(
        self, paths: Sequence[Path], roles: Sequence[Role]
    ) -> tuple[CountedDevice, ...]:
        """The devices under a server's directories."""
        return counted_devices(paths, roles)

    def drive_fills(self, paths: Sequence[Path]) -> tuple[DriveFill, ...]:
        """How full the drives under some paths are."""
        return drive_fills(paths)

    def storage_profile(self, paths: Sequence[Path], doing: str, watch: Watch) -> RawProfile | None:
        """What a storage does without its database. Raises PlanError."""
        return storage_profile(paths, doing, watch)


OWN = Instruments()


class RungMachines(NamedTuple):
    """The machines of a rung: what reads the server's; where the users run, None for this machine;
    what interfaces of the server's machine carry, in bytes per second, as far as measured; the
    power of all, None without meters; and the trace of the server's log, or why there is none.
    """

    instruments: Instruments = OWN
    load_hosts: LoadHosts | None = None
    links: Mapping[str, float] = MappingProxyType({})
    power: PowerRecorder | None = None
    log_trace: LogTrace | str = NO_TRACE


ALONE = RungMachines()
"""Everything on this machine."""
