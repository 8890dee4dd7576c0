"""What a storage kept of what its database had acknowledged, after its server was cut off."""

from __future__ import annotations

from typing import Literal

from kneebench.records.record import Record
from kneebench.records.rung import Check

CutLevel = Literal["server", "drive", "cut"]
"""What was cut off: the server's processes, also the power of emulated drives, or the machine of a
server by URL."""


class Cut(Record):
    """One crash under load, and what was there after it.

    There are three losses: a file system that does not mount, a database that does not start,
    lost commits.
    """

    configuration: str
    """Id of the configuration."""
    level: CutLevel
    """What was cut off."""
    load: int = 1
    """Number of the load that was cut off: of one load there may be cuts at several moments."""
    users: int
    """Number of users."""
    after_s: float
    """Time under load before it."""
    acknowledged: int
    """New-Orders that the database had acknowledged."""
    unknown: int
    """New-Orders that were sent and not answered before it: they may be there or not."""
    file_system: str = ""
    """Error of the file system that did not mount; empty: it did, or was never away."""
    database: str = ""
    """Error of the database that did not start; empty: it did."""
    recovery_s: float | None = None
    """Time from the start of the server, or at level `cut` from the end of the command, until it
    answered; None: it did not.
    """
    lost: int | None = None
    """Acknowledged New-Orders that are not there as a whole; None: the server did not answer."""
    holes: int | None = None
    """Numbers of orders that were given and have no order."""
    committed: int | None = None
    """New-Orders without an answer that were committed."""
    unsent: int | None = None
    """New-Orders in the database that were never sent: above 0 the comparison itself is wrong."""
    conditions: tuple[Check, ...] = ()
    """The twelve consistency conditions after recovery."""
    damage: str = ""
    """What the database's own checksums say against its pages, or the error of a database that
    cannot be read; empty: nothing.
    """

    @property
    def kept(self) -> bool:
        """Whether everything that was acknowledged is there, and consistent."""
        wrong = self.file_system or self.database or self.damage
        whole = not (wrong or self.lost or self.holes)
        return whole and self.lost is not None and all(one.passed for one in self.conditions)
