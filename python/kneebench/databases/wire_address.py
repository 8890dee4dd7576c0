"""The address of a database by its wire protocol, as plain data."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict


class WireAddress(TypedDict):
    """What `_core.Address` takes. `sslrootcert`: a file of this machine; empty for the system's."""

    protocol: Literal["postgres", "mysql", "tds"]
    host: str
    port: int
    user: str
    password: str | None
    database: str
    sslmode: str
    sslrootcert: str
