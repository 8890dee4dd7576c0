"""The plan's table of the workload."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from kneebench.plan.ladder import WAREHOUSES_PER_USER
from kneebench.plan.values import Cores, Number, Part, Switch, WhileSeconds, Whole, wrong

Streams = Annotated[Whole, Field(ge=1, le=1000)]


class Workload(Part):
    """TPROC-C: data size, profile and behaviour of the users. TPROC-H: data size and queries."""

    type: Annotated[
        Literal["tproc-c", "tproc-h"],
        Field(
            description=(
                "Workload: tproc-c for short transactions of many users, tproc-h for the 22 queries"
                " of an analyst"
            )
        ),
    ] = "tproc-c"
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
    databases: Annotated[
        Whole,
        Field(
            ge=1,
            le=64,
            description=(
                "Number of databases on one server, each with the warehouses; the users are"
                " spread over them"
            ),
        ),
    ] = 1
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
    scale: Annotated[
        Number,
        Field(ge=0.01, le=10_000, description="TPROC-H: size of the data, in about 1 GB of rows"),
    ] = 1.0
    queries: Annotated[
        tuple[Annotated[Whole, Field(ge=1, le=22)], ...],
        Field(max_length=22, description="TPROC-H: numbers of the queries to run; empty: all 22"),
    ] = ()
    streams: Annotated[
        tuple[Streams, Streams] | Streams,
        Field(
            description=(
                "TPROC-H: [first, last] streams of queries side by side, added until queries per"
                " hour stop growing; one number: as many; 1: no streams after the passes"
            )
        ),
    ] = 1
    cache: Annotated[
        Literal["cold", "warm"],
        Field(
            description=(
                "TPROC-H. cold: each query begins with none of its data in memory; warm: with what"
                " the queries before it left there"
            )
        ),
    ] = "cold"
    refresh: Annotated[
        Switch,
        Field(
            description=(
                "TPROC-H: add orders before the queries of each pass (RF1), and remove them"
                " afterwards (RF2); beside streams such a pair for each of them"
            )
        ),
    ] = False
    query_limit: Annotated[
        WhileSeconds,
        Field(description="TPROC-H: longest time of a query; then it is cancelled and counted"),
    ] = 3600.0

    @model_validator(mode="after")
    def _keys_are_of_one_workload(self) -> Self:
        others = TPROC_H if self.type == "tproc-c" else TPROC_C
        for name in others:
            if getattr(self, name) != type(self).model_fields[name].default:
                raise wrong(name, sentence=f'not with type = "{self.type}"')
        if not isinstance(self.streams, int) and self.streams[0] > self.streams[1]:
            raise wrong("streams", sentence="[first, last], the first not above the last")
        return self

    @model_serializer(mode="wrap")
    def _own_keys(self, written: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without those of the other workload."""
        others = TPROC_H if self.type == "tproc-c" else TPROC_C
        return {name: value for name, value in written(self).items() if name not in others}

    @property
    def writes(self) -> bool:
        """Whether it changes rows."""
        return self.type == "tproc-c" or self.refresh

    @property
    def asked(self) -> tuple[int, ...]:
        """The numbers of the queries that are run."""
        return self.queries or tuple(range(1, 23))

    @property
    def size(self) -> str:
        """How much data it has, in words.

        >>> Workload(warehouses=8).size, Workload(type="tproc-h", scale=0.5).size
        ('8 warehouses', 'TPROC-H at scale 0.5')
        >>> Workload(warehouses=8, databases=4).size
        '4 databases of 8 warehouses'
        """
        if self.type == "tproc-h":
            return f"TPROC-H at scale {self.scale:g}"
        each = f"{self.warehouses:,} warehouse{'s' * (self.warehouses > 1)}"
        return each if self.databases == 1 else f"{self.databases} databases of {each}"

    @property
    def sized_as(self) -> int:
        """As many warehouses as its data are worth, for what they take of a machine."""
        if self.type == "tproc-h":
            return math.ceil(self.scale * WAREHOUSES_PER_SCALE)
        return self.all_warehouses

    @property
    def all_warehouses(self) -> int:
        """Those of all databases."""
        return self.warehouses * self.databases


WAREHOUSES_PER_SCALE = 18
"""PostgreSQL 18 and MariaDB 10.11 take as much room for the one as for the other."""
TPROC_C = ("warehouses", "databases", "profile", "home", "think_times", "connections", "retries")
TPROC_H = ("scale", "queries", "streams", "cache", "refresh", "query_limit")
"""Keys that only one workload has."""
