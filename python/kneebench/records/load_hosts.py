"""What each load host did in a rung."""

from __future__ import annotations

from pydantic import Field

from kneebench.records.record import Record


def utilization(cpu_s: float, cores: int, window_s: float) -> float:
    """CPU time as a share of what so many cores have in a window; 0 without a window.

    >>> utilization(3.0, 2, 10.0), utilization(3.0, 2, 0.0)
    (0.15, 0.0)
    """
    return cpu_s / (cores * window_s) if window_s > 0 else 0.0


class HostTally(Record):
    """A load host's part of a rung."""

    name: str
    """Name of the load host."""
    users: int
    """Virtual users on it."""
    cores: int
    """Number of cores that its load generator may use."""
    threads: int
    """Threads of its load generator."""
    new_orders: int
    """New-Orders committed in the window."""
    cpu_s: float
    """CPU time of its load generator in the window."""
    window_s: float
    """Length of its window."""
    delay_s: float | None = None
    """Mean delay in its load generator; None: not measured."""
    ahead_s: float = 0.0
    """Lead of its time of day over the controller's, to within `bound_s`."""
    bound_s: float = 0.0
    """Largest error of that lead, before and after the load."""
    moved_s: float = 0.0
    """Change of that lead from before the load to after it."""
    round_trip_s: float = 0.0
    """Shortest round trip to it, before the load."""
    opened_s: float = 0.0
    """Start of its window, relative to the mean of all hosts."""
    closed_s: float = 0.0
    """End of its window, relative to the mean of all hosts."""
    opened_at: float = 0.0
    """Start of its window by its own clock, in seconds since 1970."""
    closed_at: float = 0.0
    """End of its window by its own clock, in seconds since 1970."""
    interface: str = ""
    """Network interface on the way to the database; empty: unknown."""
    received_per_s: float | None = None
    """Bytes per second that the interface received in the window; None: unknown."""
    sent_per_s: float | None = None
    """Bytes per second that the interface sent in the window; None: unknown."""
    resent_per_s: float | None = None
    """Segments per second that TCP sent again, of the whole host; None: unknown."""

    @property
    def busy(self) -> float:
        """Utilization of the cores that its threads can use. 0 without a window."""
        return utilization(self.cpu_s, min(self.cores, self.threads), self.window_s)

    @property
    def of_its_cores(self) -> float:
        """Utilization of all its cores. 0 without a window."""
        return utilization(self.cpu_s, self.cores, self.window_s)


# The network between the database host and the users.


class Link(Record):
    """The way from the database host's address to the hosts of the users."""

    address: str
    """Address of the database host, as the plan has it."""
    interface: str
    """Network interface that has this address; empty: unknown."""
    line_bytes_per_s: float | None = None
    """Line rate of the interface, by its driver; None if it reports none."""
    measured: dict[str, float] = Field(default_factory=dict)
    """Bytes per second that each host received, all at once, over one connection each."""
    connect_s: float = 0.0
    """Time to open a connection, the shortest of five, of the slowest host."""

    @property
    def carries(self) -> float | None:
        """Bytes per second that the interface can send: the line rate, or what was measured where
        that is less or all that is known.
        """
        known = [self.line_bytes_per_s, sum(self.measured.values())]
        return min(filter(None, known), default=None)
