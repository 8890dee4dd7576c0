"""What each load host did in a rung."""

from __future__ import annotations

from kneebench.records.record import Record


def utilization(cpu_s: float, cores: int, window_s: float) -> float:
    """CPU time as a share of what so many cores have in a window; 0 without a window.

    >>> utilization(3.0, 2, 10.0), utilization(3.0, 2, 0.0)
    (0.15, 0.0)
    """
    return cpu_s / (cores * window_s) if window_s > 0 else 0.0


class HostTally(Record):
    """A load host's part of a rung.

    `new_orders`: committed in the window. `ahead_s`: of its time of day, to within `bound_s`;
    `moved_s`: by how much that was another one after the window. `opened_s`, `closed_s`: when its
    window began and ended, relative to the mean of all hosts; `opened_at`, `closed_at`: the same as
    its own time of day, in seconds since 1970. `interface`: on the way to the
    database; `received_per_s`, `sent_per_s`: bytes in the window, `resent_per_s`: segments that TCP
    sent again.
    """

    name: str
    users: int
    cores: int
    threads: int
    new_orders: int
    cpu_s: float
    window_s: float
    delay_s: float | None = None
    ahead_s: float = 0.0
    bound_s: float = 0.0
    moved_s: float = 0.0
    round_trip_s: float = 0.0
    opened_s: float = 0.0
    closed_s: float = 0.0
    opened_at: float = 0.0
    closed_at: float = 0.0
    interface: str = ""
    received_per_s: float | None = None
    sent_per_s: float | None = None
    resent_per_s: float | None = None

    @property
    def busy(self) -> float:
        """Utilization of the cores that its threads can use. 0 without a window."""
        return utilization(self.cpu_s, min(self.cores, self.threads), self.window_s)

    @property
    def of_its_cores(self) -> float:
        """Utilization of all its cores. 0 without a window."""
        return utilization(self.cpu_s, self.cores, self.window_s)
