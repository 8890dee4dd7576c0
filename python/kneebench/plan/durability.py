"""The plan's table `[durability]`: whether each storage's server is cut off under load at the end,
and asked for every order that it had acknowledged.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kneebench.plan.values import Part, Whole

DEFAULT_USERS = 8
"""Of a plan whose campaign found no knee."""


class Durability(Part):
    """Cuts of each storage's server, after the final runs."""

    level: Annotated[
        Literal["auto", "none", "server", "drive", "cut"],
        Field(
            description=(
                "Cuts under load at the end, after which every acknowledged order is looked for:"
                " none, of the server's processes (kill -9), also of the power of its emulated"
                " drives, or of the server's machine, by database.cut_command; auto: of the server"
                " in `accept`, where kneebench starts it"
            )
        ),
    ] = "auto"
    cuts: Annotated[Whole, Field(ge=1, le=1000, description="Cuts of each storage")] = 3
    users: Annotated[
        Whole, Field(ge=0, le=100_000, description="Users under load; 0: those of the knee")
    ] = 0
