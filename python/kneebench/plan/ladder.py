"""The ladder of a plan: the search for the knee, and the final runs."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from kneebench.plan.stops import Stops, StorageStops
from kneebench.plan.values import MONTH_S, WEEK_S, Number, Part, Switch, WhileSeconds, Whole, wrong
from kneebench.units import Rate, Seconds, parse_rate

WAREHOUSES_PER_USER = 4
"""Fewest warehouses per user: with fewer, users wait for each other's rows. The SanDisk test had
2,500 for 601 users, 4.16."""


Repeats = Annotated[Whole, Field(ge=0, le=50)]
OF_SHORT_ROUNDS = ("precision", "restore_every")
AT_FIXED_RATE = (1, 3)
"""Short rounds of four that also measure the fixed rate: both orders, one per restore of two."""
FIXED_RATE_USERS = 64
"""So many users may offer a fixed rate, however few the climb has."""
LOAD_LEVELS = (25, 50, 75, 90)
"""Percent of the knee's throughput where a plan only switches load levels on."""
Level = Annotated[Whole, Field(ge=1, le=99)]
ROUND_RAMP_S = 1.0
"""Warm-up of a short round: its database was warmed after the restore and has been under load."""
ROUND_LOAD_S = 1.0
"""Window of the load on a database that was restored for rounds, which nobody quotes."""
MOST_CANDIDATE_S = 10.0
"""Longest automatic warm-up of a candidate for the knee."""
SHORT_S = 5.0
"""Minimum window of a warm-up rung."""


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
    final_window: Annotated[
        WhileSeconds, Field(description="Window of a final run, and of all runs of a fixed load")
    ] = 300.0
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
            ge=0,
            lt=1,
            description=(
                "Fixed rate for the latency comparison, as a fraction of the slowest storage's knee"
                " throughput; 0: latency is not compared at a fixed rate"
            ),
        ),
    ] = 0.7
    latency_rate: Annotated[
        Rate,
        Field(
            description=(
                "Fixed rate of transactions for the latency comparison, in place of"
                " `fixed_rate_share`: campaigns with the same rate can be compared on latency"
            )
        ),
    ] = ""
    load_levels: Annotated[
        Switch | Annotated[tuple[Level, ...], Field(max_length=20)],
        Field(
            description=(
                "Latency vs. rate: after its final runs, one more run of each storage at each of"
                " these percentages of the throughput at its knee, in an open loop; true: 25, 50,"
                " 75 and 90"
            )
        ),
    ] = False
    budget: Annotated[
        Seconds,
        Field(gt=0, le=MONTH_S, description="Longest time of one climb, without its warm-up rung"),
    ] = 14_400.0
    climb_again: Annotated[
        Switch,
        Field(
            description=(
                "If the repeat of the first rung differs by more than the climb's noise (at least"
                " 15%, at most 25%), the climb is run again"
            )
        ),
    ] = True
    prove: Annotated[
        Literal["none", "baseline", "all"],
        Field(
            description=(
                "Relieve what limits a knee (log in memory, more cores, ...) and measure what that"
                " gains. baseline: what limits the baseline's most. all: the same as --prove"
            )
        ),
    ] = "none"
    stops: Stops = Stops()

    @property
    def fixed(self) -> bool:
        """One number of users, measured without a climb."""
        return isinstance(self.users, int)

    @property
    def aligned(self) -> bool:
        """One load for all and no whole checkpoint cycles: the windows of all configurations begin
        after as many transactions, and no checkpoint may fall into some of them by chance.
        """
        return self.fixed and self.checkpoints == 0

    @property
    def first(self) -> int:
        """Users of the first search rung; 0 for as many as the database has cores."""
        return self.users if isinstance(self.users, int) else self.users[0]

    @property
    def last(self) -> int:
        """Most users of the climb."""
        return self.users if isinstance(self.users, int) else self.users[1]

    @property
    def most_users(self) -> int:
        """Most users of any rung. A fixed rate may need more than a short climb has: a transaction
        that finds all users busy waits for one.
        """
        open_loop = self.at_fixed_rate(1) or self.levels
        return max(self.last, FIXED_RATE_USERS) if open_loop else self.last

    def with_fewer_users(self, users: int) -> str:
        """What to set in the plan so that no rung has more than so many users."""
        if self.last <= users:
            open_loop = {"fixed_rate_share to 0": self.at_fixed_rate(1)}
            open_loop["load_levels to false"] = bool(self.levels)
            return " and ".join(f"ladder.{key}" for key, is_set in open_loop.items() if is_set)
        lowered = "ladder.users" if self.fixed else "the upper end of ladder.users"
        return f"{lowered} or workload.connections to {users}"

    @property
    def fewest_repeats(self) -> int:
        """Final runs per storage before `precision` may end them."""
        return self.repeats if isinstance(self.repeats, int) else self.repeats[0]

    @property
    def fewest_rounds(self) -> int:
        """Fewest short rounds that may be precise enough (analysis/rounds.py)."""
        unit = max(2, self.restore_every)
        whole = 2 if unit >= 4 else 4
        return min(self.most_repeats, max(self.fewest_repeats, whole * unit + math.ceil(unit / 2)))

    @property
    def most_repeats(self) -> int:
        """Most final runs per storage."""
        return self.repeats if isinstance(self.repeats, int) else self.repeats[1]

    @property
    def most_restores(self) -> int:
        """Most restores of one storage, with that of its climb."""
        every = self.restore_every if self.rounds == "short" else 1
        return 1 + math.ceil(self.most_repeats / every) + bool(self.levels)

    def at_fixed_rate(self, repeat: int) -> bool:
        """Whether this repeat of the final runs also measures the fixed rate; they count from 1."""
        if not (self.latency_rate or self.fixed_rate_share):
            return False
        return self.rounds == "long" or repeat % 4 in AT_FIXED_RATE

    @property
    def final_rungs(self) -> int:
        """Most rungs of one storage's final runs, at the knee, the fixed rate and load levels."""
        repeats = range(1, self.most_repeats + 1)
        return len(repeats) + sum(map(self.at_fixed_rate, repeats)) + len(self.levels)

    @property
    def levels(self) -> tuple[int, ...]:
        """Load levels in percent; empty if they are switched off."""
        if isinstance(self.load_levels, bool):
            return LOAD_LEVELS if self.load_levels else ()
        return self.load_levels

    @property
    def latency_per_s(self) -> float:
        """The plan's own fixed rate, transactions per second; 0 for a share of the knee."""
        return parse_rate(self.latency_rate) if self.latency_rate else 0.0

    @property
    def warm_up_window(self) -> float:
        """Window of a rung that only warms up: a third of the others', but long enough for its
        checks.
        """
        return max(min(self.window, SHORT_S), self.window / 3)

    @property
    def candidate_warm_up(self) -> float:
        """Warm-up of a candidate for the knee, in seconds: its database is warm, and loads alike
        before each of its turns.
        """
        if self.warm_up != "auto":
            return self.warm_up
        return max(ROUND_RAMP_S, min(MOST_CANDIDATE_S, self.window / 3))

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
    def _levels_in_order(self) -> Self:
        if [*self.levels] != sorted({*self.levels}):
            raise wrong("load_levels", sentence="each percentage once, the smallest first")
        return self

    @model_validator(mode="after")
    def _one_fixed_rate(self) -> Self:
        default = type(self).model_fields["fixed_rate_share"].default
        if self.latency_rate and self.fixed_rate_share != default:
            raise wrong("latency_rate", sentence="latency_rate or fixed_rate_share, not both")
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

    def on(self, own: StorageStops) -> Ladder:
        """The same with the stop conditions that a storage has of its own."""
        return self.model_copy(update={"stops": self.stops.with_own(own)})

    def once(self, users: int, window_s: float) -> Ladder:
        """The same, but so many users for so long, measured once on each storage; no final runs."""
        window = {"window": window_s, "final_window": window_s, "checkpoints": 0}
        of_rounds = {key: type(self).model_fields[key].default for key in OF_SHORT_ROUNDS}
        never = {"load_levels": False, "prove": "none"}
        once = {"users": users, "repeats": 0, "rounds": "long", **never}
        return self.model_copy(update={**once, **window, **of_rounds})
