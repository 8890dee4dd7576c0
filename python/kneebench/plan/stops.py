"""The stop conditions of a plan: what ends a climb, on every storage or on one of them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from kneebench.plan.values import Number, Part, WhileSeconds, Whole
from kneebench.records import Limits
from kneebench.units import Watts, power, time


class Plateau(Part):
    """Stop when throughput no longer grows with users."""

    elasticity: Annotated[
        Number,
        Field(
            gt=0,
            lt=1,
            description=(
                "Elasticity of throughput, ln(X2/X1) / ln(N2/N1), between neighbouring rungs"
            ),
        ),
    ] = 0.07
    steps: Annotated[
        Whole, Field(ge=1, le=5, description="Consecutive steps below that elasticity")
    ] = 2

    @property
    def rule(self) -> str:
        """The condition in a few words."""
        return f"elasticity {self.flat}, or {self.not_exceeded}"

    @property
    def flat(self) -> str:
        """When steps are flat."""
        return f"below {self.elasticity:g} on {self.steps} consecutive steps"

    @property
    def not_exceeded(self) -> str:
        """When noise hides flat steps."""
        return f"{self.steps + 1} consecutive rungs not above an earlier one"


class LogLatency(Part):
    """Stop when the database waits too long for its log."""

    limit: Annotated[
        WhileSeconds,
        Field(
            description=(
                "Limit for the mean of write plus sync over 10 s, exceeded in two of three windows;"
                " over the whole window if it is below 15 s. Final runs: limit for their mean"
            )
        ),
    ] = 0.005

    @property
    def rule(self) -> str:
        """The condition in a few words."""
        return f"log writes above {time(self.limit)}"


class Saturation(Part):
    """Stop when the database's cores are saturated and throughput has nearly stopped growing."""

    busy: Annotated[
        Number, Field(gt=0, le=1, description="Utilization that every database core must reach")
    ] = 0.97
    elasticity: Annotated[
        Number, Field(gt=0, lt=1, description="Elasticity of throughput below which the climb ends")
    ] = 0.10

    @property
    def rule(self) -> str:
        """The condition in a few words."""
        return f"all cores {100 * self.busy:g}% busy and elasticity below {self.elasticity:g}"


class Errors(Part):
    """Stop when transactions fail."""

    share: Annotated[
        Number,
        Field(
            ge=0, lt=1, description="Failed or unknown transactions as a fraction of all started"
        ),
    ] = 0.01

    @property
    def rule(self) -> str:
        """The condition in a few words."""
        return f"more than {100 * self.share:g}% of the transactions fail"


class PowerBudget(Part):
    """Stop when the server takes more power than its budget."""

    limit: Annotated[
        Annotated[Watts, Field(gt=0)] | None,
        Field(description="Budget for the power that mW/NOPM is of (`[power] headline`)"),
    ] = None

    @property
    def rule(self) -> str:
        """The condition in a few words."""
        return f"more than {power(self.limit)}"

    @property
    def off(self) -> bool:
        """Without a budget it is no condition."""
        return self.limit is None


class LatencyLimit(Part):
    """Stop when transactions take too long: the knee is the most users within the limit."""

    limit: Annotated[
        Annotated[WhileSeconds, Field(gt=0)] | None,
        Field(description="Limit for a percentile of the latency in a rung's window"),
    ] = None
    percentile: Annotated[
        Literal["p50", "p90", "p95", "p99", "p99.9"], Field(description="Percentile")
    ] = "p99"
    transaction: Annotated[
        Literal["", "new_order", "payment", "order_status", "delivery", "stock_level"],
        Field(description="Transaction type that is judged alone; empty: all together"),
    ] = ""

    @property
    def field(self) -> str:
        """The percentile in the records."""
        return f"{self.percentile.replace('.', '')}_s"

    @property
    def called(self) -> str:
        """The percentile, and of what."""
        of = f" of {self.transaction.replace('_', ' ')}" if self.transaction else ""
        return f"{self.percentile.upper()} latency{of}"

    @property
    def rule(self) -> str:
        """The condition in a few words."""
        return f"{self.called} above {time(self.limit or 0.0)}"

    @property
    def off(self) -> bool:
        """Without a limit it is no condition."""
        return self.limit is None


class Stops(Part):
    """Stop conditions: one table each; the first that fires ends the climb."""

    plateau: Plateau = Plateau()
    log_latency: LogLatency = LogLatency()
    saturation: Saturation = Saturation()
    errors: Errors = Errors()
    power: PowerBudget = PowerBudget()
    latency: LatencyLimit = LatencyLimit()

    @property
    def limits(self) -> Limits:
        """Those that the analysis uses too."""
        return Limits(
            elasticity=self.plateau.elasticity,
            log_write_s=self.log_latency.limit,
            cores_busy=self.saturation.busy,
        )

    @property
    def rules(self) -> dict[str, str]:
        """Each condition in a few words, by its name."""
        every = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: one.rule for name, one in every.items() if not is_off(one)}

    def with_own(self, own: StorageStops) -> Stops:
        """These conditions, with a storage's own ones in place of those of the same name.

        >>> own = StorageStops(log_latency=LogLatency(limit="20ms"))
        >>> found = Stops(plateau=Plateau(steps=3)).with_own(own)
        >>> found.plateau.steps, found.log_latency.limit
        (3, 0.02)
        """
        return self.model_copy(update=own.conditions)


Condition = Plateau | LogLatency | Saturation | Errors | PowerBudget | LatencyLimit


def is_off(condition: Part) -> bool:
    """Whether a condition lacks the limit without which it is none."""
    return isinstance(condition, PowerBudget | LatencyLimit) and condition.off


class StorageStops(Part):
    """Stop conditions of this storage alone, in place of those of the same name in
    `[ladder.stops]`. Conditions and keys that are left out are as there.
    """

    plateau: Plateau | None = None
    log_latency: LogLatency | None = None
    saturation: Saturation | None = None
    errors: Errors | None = None
    power: PowerBudget | None = None
    latency: LatencyLimit | None = None

    @property
    def conditions(self) -> dict[str, Condition]:
        """Those that the storage has of its own, by name."""
        every = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: one for name, one in every.items() if one}


def with_keys_of_ladder(given: Mapping[str, Any]) -> dict[str, Any]:
    """A plan as it was written, in which each storage's own stop condition has the keys that it
    leaves out from the condition of the same name in `[ladder.stops]`. What is wrong stays as it
    is, to be reported where it was written.

    >>> ladder = {"stops": {"saturation": {"elasticity": 0.05}}}
    >>> disk = {"stops": {"saturation": {"busy": 0.9}}}
    >>> found = with_keys_of_ladder({"ladder": ladder, "storages": {"disk": disk}})
    >>> found["storages"]["disk"]["stops"]["saturation"]
    {'elasticity': 0.05, 'busy': 0.9}
    """
    common = _table(_table(given.get("ladder")).get("stops"))
    storages = given.get("storages")
    if not isinstance(storages, Mapping) or not _right(common):
        return dict(given)
    return {**given, "storages": {name: _filled(one, common) for name, one in storages.items()}}


def _filled(storage: Any, common: Mapping[str, Any]) -> Any:
    own = _table(_table(storage).get("stops"))
    if not own:
        return storage
    stops = {
        name: {**_table(common.get(name)), **one} if isinstance(one, Mapping) else one
        for name, one in own.items()
    }
    return {**storage, "stops": stops}


def _right(common: Mapping[str, Any]) -> bool:
    """Whether there are conditions for every storage, and nothing is wrong with them."""
    with suppress(ValidationError):
        return bool(common and Stops.model_validate(common))
    return False


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
