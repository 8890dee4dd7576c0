"""The network between the database host and the users."""

from __future__ import annotations

from pydantic import Field

from kneebench.records.record import Record


class Link(Record):
    """The way from the database host's address to the hosts of the users.

    `line_bytes_per_s`: of the interface, as its driver says; None where it says nothing.
    `measured`: bytes per second that each host received from there, all at once, over one
    connection each; `connect_s`: the longest time in which one was opened.
    """

    address: str
    interface: str
    line_bytes_per_s: float | None = None
    measured: dict[str, float] = Field(default_factory=dict)
    connect_s: float = 0.0

    @property
    def carries(self) -> float | None:
        """Bytes per second that the interface can send: the line rate, or what was measured where
        that is less or all that is known.
        """
        known = [self.line_bytes_per_s, sum(self.measured.values())]
        return min(filter(None, known), default=None)
