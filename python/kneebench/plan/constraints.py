"""The plan's table of constraints: what of this machine a database may use, configuration by
configuration.

Named tables and sweeps together become one flat list of constraints (`Constraints.by_name`); a
configuration is a storage under one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Annotated, Self

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from kneebench.plan.amounts import (
    LEAST_MEMORY_BYTES,
    MOST_MEMORY,
    MOST_MEMORY_BYTES,
    Amount,
    Numbers,
    Sizes,
    amount_bytes,
    amount_text,
)
from kneebench.plan.values import Name, Part, Switch, Whole, wrong
from kneebench.records import Configuration, IoLimits
from kneebench.units import Bytes, exact_size

MOST = 100
"""Constraints of a plan."""
LEAST_CACHE_BYTES = 2**20
REFERENCE = "reference"
SATURATING_KEY, SATURATING = "saturating", "saturating cores"


class IoConstraint(Part):
    """Limits of the database's reads and writes on each drive under it (cgroup v2, io.max)."""

    read_iops: Annotated[Whole | None, Field(ge=1, description="Reads per second")] = None
    write_iops: Annotated[Whole | None, Field(ge=1, description="Writes per second")] = None
    read_bytes: Annotated[Bytes | None, Field(ge=1, description="Bytes read per second")] = None
    write_bytes: Annotated[Bytes | None, Field(ge=1, description="Bytes written per second")] = None

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        if not any(value for _, value in self):
            raise wrong(sentence=f"at least one of: {', '.join(type(self).model_fields)}")
        return self


SIBLINGS = "SMT siblings count as cores; false: one of each physical core is used, others stay idle"
NODE = "NUMA node that the cores (without a number: all of them) and the memory are on"


class NamedConstraint(Part):
    """One constraint by a name of your choice: all of its keys apply together."""

    cores: Annotated[
        Whole | None,
        Field(ge=1, description="Number of cores of the database, the first of `database.cores`"),
    ] = None
    siblings: Annotated[Switch, Field(description=SIBLINGS)] = True
    numa_node: Annotated[Whole | None, Field(ge=0, description=NODE)] = None
    memory: Annotated[
        Amount | None,
        Field(description="Memory of the database with its page cache, or its share of the data"),
    ] = None
    engine_memory: Annotated[
        Amount | None,
        Field(description="Size of the database's own cache (a setting), or its share of the data"),
    ] = None
    databases: Annotated[
        Whole | None,
        Field(ge=1, le=64, description="Number of the server's databases that have users"),
    ] = None
    io: Annotated[
        IoConstraint | None, Field(description="Limits of reads and writes (needs cgroup v2)")
    ] = None

    @model_validator(mode="after")
    def _limits_something(self) -> Self:
        limits = ("cores", "numa_node", "memory", "engine_memory", "databases", "io")
        if all(getattr(self, key) is None for key in limits):
            raise wrong(sentence=f"at least one of: {', '.join(limits)}")
        if not self.siblings and self.cores is None and self.numa_node is None:
            raise wrong("siblings", sentence="a value together with cores or numa_node")
        return self


class Constraints(Part):
    """What each database may use of this machine. Each storage is measured under each of them.

    Sweeps (`memory`, `cores`, `engine_memory`, `databases`) are crossed with each other. Any other
    key is a table with a name of your choice: one constraint.
    """

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, NamedConstraint]

    memory: Annotated[
        Sizes,
        Field(
            description=(
                "Memory of the database with its page cache (cgroup), a configuration for each"
                ' size: `{ from = "32GiB", to = "256GiB", step = "32GiB" }`, a list of sizes, or of'
                ' shares of the data (`"12.5%"`)'
            )
        ),
    ] = ()
    cores: Annotated[
        Numbers,
        Field(
            description=(
                "Numbers of cores, a configuration for each: a list, or `{ from, to, step }`."
                " saturating: the most cores that the fixed load keeps busy"
                " (`ladder.stops.saturation.busy`), found before the first one and used for all"
            )
        ),
    ] = ()
    engine_memory: Annotated[
        Sizes,
        Field(
            description=(
                "Sizes of the database's own cache, by its own setting alone, a configuration for"
                " each; as `memory`"
            )
        ),
    ] = ()
    databases: Annotated[
        tuple[Annotated[Whole, Field(ge=1, le=64)], ...],
        Field(
            description=(
                "Numbers of databases with users on one server, a configuration for each; the"
                " server has the largest of them, or workload.databases if that is more"
            )
        ),
    ] = ()
    siblings: Annotated[Switch, Field(description=SIBLINGS)] = True
    numa_node: Annotated[Whole | None, Field(ge=0, description=NODE)] = None
    reference: Annotated[
        Switch, Field(description="Also measure each storage without a constraint, shown apart")
    ] = False

    @property
    def named(self) -> Mapping[str, NamedConstraint]:
        """The tables with a name of the plan's choice."""
        return self.__pydantic_extra__

    @property
    def sweeps(self) -> bool:
        """Whether there is any sweep."""
        return bool(self.memory or self.cores or self.engine_memory or self.databases)

    @property
    def most_databases(self) -> int:
        """The largest number of databases that any of them asks for; 0 where none does."""
        named = (one.databases or 0 for one in self.named.values())
        return max([*self.databases, *named], default=0)

    @property
    def saturating(self) -> frozenset[str]:
        """Names of those whose number of cores is found when the campaign begins."""
        return frozenset(self._sweep_names) if self.cores == SATURATING_KEY else frozenset()

    def by_name(self, data_bytes: int) -> dict[str, Configuration]:
        """All constraints by name: the named ones, those of the sweeps as the plan lists them, then
        the reference. Each is a configuration that has no storage yet, with shares of the data as
        bytes. Empty for a plan without constraints.

        `data_bytes`: expected size of the data, of which shares are taken.
        """
        found = {name: _limits(one, data_bytes) for name, one in self.named.items()}
        found |= dict(self._swept(data_bytes)) if self.sweeps else {}
        if self.reference and (self.named or self.sweeps):
            found[REFERENCE] = UNLIMITED.model_copy(update={"reference": True})
        return {
            name: one.model_copy(update={"constraint": name, "other_limits": _other_limits(one)})
            for name, one in found.items()
        }

    @property
    def _sweep_names(self) -> list[str]:
        return [name for name, _ in self._swept(1)]

    def _swept(self, data_bytes: int) -> Iterator[tuple[str, Configuration]]:
        saturating = self.cores == SATURATING_KEY
        numbers: tuple[int, ...] = () if isinstance(self.cores, str) else self.cores
        none = (None,)
        every = product(numbers or none, self.memory or none, self.engine_memory or none)
        for (cores, memory, cache), databases in product(every, self.databases or none):
            words = [
                SATURATING if saturating else f"{cores} core{'s' * (cores != 1)}" if cores else "",
                amount_text(memory),
                f"{amount_text(cache)} cache" if cache else "",
                f"{databases} database{'s' * (databases != 1)}" if databases else "",
            ]
            one = NamedConstraint.model_construct(
                cores=cores,
                memory=memory,
                engine_memory=cache,
                databases=databases,
                siblings=self.siblings,
                numa_node=self.numa_node,
            )
            yield ", ".join(filter(None, words)), _limits(one, data_bytes)

    @model_validator(mode="after")
    def _names_are_names(self) -> Self:
        for name in self.named:
            try:
                _NAME.validate_python(name)
            except ValidationError:
                raise wrong(name, sentence="a name of at most 100 characters on one line") from None
            if name in (*self._sweep_names, REFERENCE):
                raise wrong(name, sentence="a name that no sweep gives")
        return self

    @model_validator(mode="after")
    def _sweeps_are_clear(self) -> Self:
        for key in ("memory", "cores", "engine_memory", "databases"):
            values = getattr(self, key)
            if len(set(values)) < len(values) and values != SATURATING_KEY:
                raise wrong(key, sentence="each value once")
        limits = self.named or self.memory or self.cores or self.engine_memory
        if self.reference and not limits:
            sentence = "true together with a sweep of memory or cores, or a named constraint"
            raise wrong("reference", sentence=sentence)
        if not self.cores and (not self.siblings or self.numa_node is not None):
            key = "siblings" if not self.siblings else "numa_node"
            raise wrong(key, sentence="a value together with a sweep of cores")
        if len(self.by_name(1)) > MOST:
            raise wrong(sentence=f"at most {MOST} constraints")
        names = self._sweep_names
        if alike := next((name for name in names if names.count(name) > 1), ""):
            raise wrong(sentence=f"sizes with names of their own: two of them are {alike!r}")
        return self


UNLIMITED = Configuration(id="", storage="")
"""What limits nothing, without a storage."""


def _limits(one: NamedConstraint, data_bytes: int) -> Configuration:
    return Configuration(
        id="",
        storage="",
        cores=one.cores,
        memory_bytes=amount_bytes(one.memory, data_bytes),
        engine_memory_bytes=amount_bytes(one.engine_memory, data_bytes),
        databases=one.databases,
        siblings=one.siblings,
        numa_node=one.numa_node,
        io=IoLimits(**one.io.model_dump()) if one.io else None,
    )


def _other_limits(one: Configuration) -> str:
    """What it limits besides numbers of cores and sizes of memory, in words."""
    words = [] if one.siblings else ["no siblings"]
    words += [] if one.numa_node is None else [f"NUMA node {one.numa_node}"]
    given = one.io.model_dump(exclude_none=True) if one.io else {}
    return ", ".join([*words, *(f"{key} {value}" for key, value in given.items())])


def named(name: str, one: Configuration) -> Constraints:
    """A table with the limits of a configuration alone, under a name; empty for no limits."""
    if not (limits := one.limited):
        return Constraints()
    keys = {name.removesuffix("_bytes"): value for name, value in limits.items()}
    if one.io:
        keys["io"] = IoConstraint(**one.io.model_dump())
    return Constraints.model_validate({name: NamedConstraint(**keys)})


_NAME: TypeAdapter[str] = TypeAdapter(Name)


def wrong_sizes(
    table: Constraints, data_bytes: int, limit_bytes: int | None
) -> Iterator[PydanticCustomError]:
    """The rules' errors of amounts of memory that no database fits in, that no machine has, or that
    are more than the memory beside them; shares are known only together with the data.

    `limit_bytes`: the plan's limit for every database, which holds where a constraint has none.
    """
    tables: list[tuple[tuple[str, ...], Constraints | NamedConstraint]] = [((), table)]
    tables += [((name,), one) for name, one in table.named.items()]
    for path, one in tables:
        memory, cache = _amounts(one.memory), _amounts(one.engine_memory)
        for key, amounts, least in (
            ("memory", memory, LEAST_MEMORY_BYTES),
            ("engine_memory", cache, LEAST_CACHE_BYTES),
        ):
            if sentence := _out_of_bounds(amounts, least, data_bytes):
                yield wrong("constraints", *path, key, sentence=sentence)
        limits = [amount_bytes(each, data_bytes) or 0 for each in memory]
        of_all = [limit_bytes] if limit_bytes else []
        least = min(limits or of_all, default=MOST_MEMORY_BYTES)
        if any((amount_bytes(each, data_bytes) or 0) > least for each in cache):
            beside = "the least memory beside it" if limits else "which is database.memory"
            sentence = f"sizes of at most {exact_size(least)}, {beside}"
            yield wrong("constraints", *path, "engine_memory", sentence=sentence)


def _amounts(given: int | str | tuple[int | str, ...] | None) -> tuple[int | str, ...]:
    if given is None:
        return ()
    return given if isinstance(given, tuple) else (given,)


def _out_of_bounds(amounts: tuple[int | str, ...], least: int, data_bytes: int) -> str:
    """What is allowed in place of the first amount that is too small or too large; empty for
    none.
    """
    for amount in amounts:
        if not least <= (amount_bytes(amount, data_bytes) or 0) <= MOST_MEMORY_BYTES:
            of_data = f" ({exact_size(data_bytes)} of data)" if "%" in str(amount) else ""
            return f"at least {exact_size(least)} and at most {MOST_MEMORY}{of_data}"
    return ""
