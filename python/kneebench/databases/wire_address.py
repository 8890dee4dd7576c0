"""The address of a database by its wire protocol, as plain data."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict


class WireAddress(TypedDict):
    """What `_core.Address` takes. `sslrootcert`: a file of this machine, or certificates themselves
    (PEM); empty for the system's.
    """

    protocol: Literal["postgres", "mysql", "tds"]
    host: str
    port: int
    user: str
    password: str | None
    database: str
    sslmode: str
    sslrootcert: str


def checked_by(authority: str) -> dict[str, str]:
    """The part of an address that says how the server is checked: by this authority's certificate
    (PEM), or not at all and without encryption where it is empty.
    """
    return {"sslmode": "verify-full" if authority else "disable", "sslrootcert": authority}
