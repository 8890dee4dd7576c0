"""The network between the database host and the users."""

from __future__ import annotations

from pydantic import Field

from kneebench.records.record import Record


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
