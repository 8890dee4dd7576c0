"""The ladder of a plan: the search for the knee, its stop conditions, and the final runs."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from kneebench.plan.values import MONTH_S, WEEK_S, Number, Part, Switch, WhileSeconds, Whole, wrong
from kneebench.units import Seconds

WAREHOUSES_PER_USER = 4
"""Fewest warehouses per user: with fewer, users wait for each other's rows. The SanDisk test had
2,500 for 601 users, 4.16."""


Repeats = Annotated[Whole, Field(ge=0, le=50)]
ROUND_RAMP_S = 1.0
"""Warm-up of a short round: its database was warmed after the restore and has been under load."""


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


class LogLatency(Part):
    """Stop when the database waits too long for its log."""

    limit: Annotated[
        WhileSeconds,
        Field(
            description=(
                "Limit for the mean of write plus sync over 10 s, exceeded in two of three windows;"
                " over the whole window if it is below 15 s"
            )
        ),
    ] = 0.005


class Saturation(Part):
    """Stop when the database's cores are saturated and throughput has nearly stopped growing."""

    busy: Annotated[
        Number, Field(gt=0, le=1, description="Utilization that every database core must reach")
    ] = 0.97
    elasticity: Annotated[
        Number, Field(gt=0, lt=1, description="Elasticity of throughput below which the climb ends")
    ] = 0.10


class Errors(Part):
    """Stop when transactions fail."""

    share: Annotated[
        Number,
        Field(
            ge=0, lt=1, description="Failed or unknown transactions as a fraction of all started"
        ),
    ] = 0.01


class Stops(Part):
    """Stop conditions: one table each; the first that fires ends the climb."""

    plateau: Plateau = Plateau()
    log_latency: LogLatency = LogLatency()
    saturation: Saturation = Saturation()
    errors: Errors = Errors()


class Ladder(Part):
    """Search for the knee, and the final runs that measure it."""

    users: Annotated[
        tuple[Whole, Whole] | Whole,
        Field(
            description=(
                "[first, last] users of the climb (first = 0: the number of database cores; fewer"
                " follow if throughput is already near its best there), or one number for a fixed"
                " load"
            )
        ),
    ] = (0, 512)
    step: Annotated[
        Number,
        Field(gt=1.05, le=4, description="Factor between rungs; 1.33, or 1.5 in quick plans"),
    ] = 1.33
    warm_up: Annotated[
        Literal["auto"] | Annotated[Seconds, Field(le=WEEK_S)],
        Field(description='Time, or "auto": until the steady state'),
    ] = "auto"
    warm_up_limit: Annotated[
        Seconds,
        Field(
            le=WEEK_S,
            description=(
                "Longest automatic warm-up of a rung; three times as long for the first rung on a"
                " restored (cold) database"
            ),
        ),
    ] = 120.0
    window: Annotated[WhileSeconds, Field(description="Window of a search rung")] = 30.0
    final_window: Annotated[WhileSeconds, Field(description="Window of a final run")] = 300.0
    checkpoints: Annotated[
        Whole,
        Field(
            ge=0,
            le=10,
            description=(
                "Whole checkpoint cycles that the window of a final run must contain; 0: none"
            ),
        ),
    ] = 2
    rounds: Annotated[
        Literal["short", "long"],
        Field(
            description=(
                "Final runs. long: each storage alone, on its own restore, with a long window."
                " short: short windows, all storages in turn, their servers side by side"
            )
        ),
    ] = "long"
    repeats: Annotated[
        tuple[Repeats, Repeats] | Repeats,
        Field(
            description=(
                "Final runs per storage; with short rounds also [least, most], ended at"
                " `precision`; 0, with a fixed load: one run"
            ),
        ),
    ] = 3
    precision: Annotated[
        Number,
        Field(
            gt=0,
            lt=1,
            description=(
                "Short rounds end when the 95% interval of the throughput ratio is this narrow"
                " (half-width as a fraction)"
            ),
        ),
    ] = 0.1
    restore_every: Annotated[
        Whole, Field(ge=1, le=50, description="Short rounds on one restore of the databases")
    ] = 4
    fixed_rate_share: Annotated[
        Number,
        Field(
            gt=0,
            lt=1,
            description=(
                "Fixed rate for the latency comparison, as a fraction of the slowest storage's knee"
                " throughput"
            ),
        ),
    ] = 0.7
    budget: Annotated[
        Seconds,
        Field(gt=0, le=MONTH_S, description="Longest time of one climb, without its warm-up rung"),
    ] = 14_400.0
    climb_again: Annotated[
        Switch,
        Field(
            description=(
                "If the repeat is more than 25% faster, the database was still warming; the climb"
                " is run again"
            )
        ),
    ] = True
    stops: Stops = Stops()

    @property
    def fixed(self) -> bool:
        """One number of users, measured without a climb."""
        return isinstance(self.users, int)

    @property
    def first(self) -> int:
        """Users of the first search rung; 0 for as many as the database has cores."""
        return self.users if isinstance(self.users, int) else self.users[0]

    @property
    def last(self) -> int:
        """Most users of the climb."""
        return self.users if isinstance(self.users, int) else self.users[1]

    @property
    def fewest_repeats(self) -> int:
        """Final runs per storage before `precision` may end them."""
        return self.repeats if isinstance(self.repeats, int) else self.repeats[0]

    @property
    def most_repeats(self) -> int:
        """Most final runs per storage."""
        return self.repeats if isinstance(self.repeats, int) else self.repeats[1]

    @property
    def cold_warm_up_limit(self) -> float:
        """Longest automatic warm-up, in seconds, of what is measured first on a restored database:
        it starts cold.
        """
        return 3 * self.warm_up_limit

    @property
    def quick(self) -> bool:
        """Too short for whole checkpoint cycles: the brief says what such windows cannot show."""
        return self.checkpoints == 0 or self.final_window < 120

    @model_validator(mode="after")
    def _users_in_order(self) -> Self:
        if self.first < 0 or self.last < 1 or self.last > 100_000:
            raise wrong(
                "users",
                sentence=(
                    "1 to 100000 users, as [first, last] or as one number; first = 0: the number of"
                    " database cores"
                ),
            )
        if self.first > self.last:
            raise wrong("users", sentence="[first, last], the smaller number first")
        return self

    @model_validator(mode="after")
    def _repeats_in_order(self) -> Self:
        if self.fewest_repeats > self.most_repeats:
            raise wrong("repeats", sentence="[least, most], the smaller number first")
        if not self.fewest_repeats and not self.fixed:
            raise wrong(
                "repeats",
                sentence="at least 1, or 0 with `users` as one number: search rungs are not quoted",
            )
        return self

    @model_validator(mode="after")
    def _keys_fit_the_rounds(self) -> Self:
        if self.rounds == "long":
            if not isinstance(self.repeats, int):
                raise wrong(
                    "repeats", sentence='one number, or [least, most] with rounds = "short"'
                )
            for key in ("precision", "restore_every"):
                if getattr(self, key) != type(self).model_fields[key].default:
                    raise wrong(key, sentence='a value with rounds = "short" only')
        elif self.checkpoints:
            raise wrong("checkpoints", sentence='0 with rounds = "short": their windows hold none')
        elif "repeats" not in self.model_fields_set:
            sentence = (
                'a number of rounds, or [least, most] such as [10, 16], with rounds = "short"'
            )
            raise wrong("repeats", sentence=sentence)
        return self

    def once(self, users: int, window_s: float) -> Ladder:
        """The same, but so many users for so long, measured once on each storage; no final runs."""
        window = {"window": window_s, "final_window": window_s, "checkpoints": 0}
        return self.model_copy(update={"users": users, "repeats": 0, "rounds": "long", **window})
