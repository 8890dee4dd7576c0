"""The plan's table of the workload."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from kneebench.plan.ladder import WAREHOUSES_PER_USER
from kneebench.plan.values import Cores, Part, Switch, Whole


class Workload(Part):
    """TPROC-C: data size, profile and behaviour of the users."""

    warehouses: Annotated[
        Whole,
        Field(
            ge=1,
            le=100_000,
            description=(
                f"Number of warehouses, about 100 MB each; at least {WAREHOUSES_PER_USER} per user"
                " at the knee"
            ),
        ),
    ] = 20
    profile: Annotated[
        Literal["spec", "hammerdb"],
        Field(
            description=(
                "Transaction mix. spec: 45/43/4/4/4 from a deck of 100, NURand picks; hammerdb:"
                " 10/10/1/1/1 in 23, uniform picks"
            )
        ),
    ] = "spec"
    home: Annotated[
        Literal["all", "one"],
        Field(description="Home warehouses. all: users use all warehouses; one: each user has one"),
    ] = "all"
    think_times: Annotated[
        Switch, Field(description="Use the keying and think times of the workload")
    ] = False
    connections: Annotated[
        Whole,
        Field(
            ge=0,
            le=100_000,
            description=(
                "Connections shared by the users; the wait for a free one counts as latency; 0: one"
                " per user"
            ),
        ),
    ] = 0
    retries: Annotated[
        Whole,
        Field(
            ge=0,
            le=100,
            description="Retries after a serialization failure or deadlock, with the same inputs",
        ),
    ] = 10
    load_generator_threads: Annotated[
        Whole,
        Field(ge=0, le=256, description="Threads of the load generator; 0: chosen for the machine"),
    ] = 0
    load_generator_cores: Annotated[
        Cores, Field(description="Cores that the load generator is pinned to; empty: not pinned")
    ] = ()
