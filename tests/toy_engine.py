"""A toy engine, as small as one can be: TPROC-C in dictionaries, one warehouse, its own clock."""

from __future__ import annotations

import contextlib
import random
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

from kneebench import records
from kneebench._core import GeneratorSpec
from kneebench.core_errors import ConnectError
from kneebench.engine_properties import ErrorClass, Quantity, ServerProgram, WaitClass
from kneebench.lab.journal import Journal
from kneebench.plan.database import Database as TABLE  # noqa: F401
from kneebench.plan.database_plan import DatabasePlan

label = "Toy"
postponed = ""
publishing = ""
named_settings = ()
safety_settings = ()
measures_real_hardware = False
server_program = ServerProgram("toyserver", stop=signal.SIGQUIT)
own_quantities: dict[str, Quantity] = {}
footprint = SimpleNamespace(WAREHOUSE_BYTES=0)
CLASSES: dict[str, ErrorClass] = {"conflict": "retry", "full": "full"}


def checkpoint_cycle_s(settings: Sequence[records.Setting]) -> float:
    return 60.0


def error_class(code: str) -> ErrorClass:
    return CLASSES.get(code, "other")


def wait_class(event: str) -> WaitClass:
    return "cpu"


# --- its database ---------------------------------------------------------------------------------

KINDS = records.TRANSACTIONS
DECK = (45, 43, 4, 4, 4)
DISTRICTS, CUSTOMERS, LOADED, DELIVERED = 10, 30, 30, 21


@dataclass
class Order:
    customer: int
    amounts: list[int]
    carrier: int | None = None


@dataclass
class District:
    customers: list[list[int]]  # balance and payments of each
    orders: dict[int, Order] = field(default_factory=dict)
    waiting: list[int] = field(default_factory=list)
    history: list[tuple[int, int]] = field(default_factory=list)
    next_order_id: int = 1
    ytd: int = 0
    delivered: int = 0


class Tables:
    """The data: a fresh one is the loaded database."""

    def __init__(self, seed: int) -> None:
        self.warehouse_ytd = 0
        self.counts = {"log.bytes": 0, "database.commits": 0, "database.rollbacks": 0}
        self.districts = [District([[0, 0] for _ in range(CUSTOMERS)]) for _ in range(DISTRICTS)]
        self._chance = random.Random(seed)
        for district in self.districts:
            for _ in range(LOADED):
                self.new_order(district)
            for _ in range(DELIVERED):
                self.delivery(district)

    def run(self, kind: str) -> bool:
        """One transaction; False where it was rolled back by design."""
        undone = kind == "new_order" and self._chance.random() < 0.01
        self.counts["database.rollbacks" if undone else "database.commits"] += 1
        if not undone:
            getattr(self, kind)(self._chance.choice(self.districts))
        return not undone

    def new_order(self, district: District) -> None:
        amounts = [self._chance.randrange(1, 1000) for _ in range(self._chance.randrange(5, 16))]
        order = Order(self._chance.randrange(CUSTOMERS), amounts)
        district.orders[district.next_order_id] = order
        district.waiting.append(district.next_order_id)
        district.next_order_id += 1
        self.counts["log.bytes"] += 100

    def payment(self, district: District) -> None:
        customer, amount = self._chance.randrange(CUSTOMERS), self._chance.randrange(100, 500_000)
        self.warehouse_ytd += amount
        district.ytd += amount
        district.history.append((customer, amount))
        district.customers[customer][0] -= amount
        district.customers[customer][1] += amount

    def delivery(self, district: District) -> None:
        if district.waiting:
            order = district.orders[district.waiting.pop(0)]
            order.carrier = 1
            district.customers[order.customer][0] += sum(order.amounts)
            district.delivered += 1

    def order_status(self, district: District) -> None:
        max(district.orders)

    stock_level = order_status


def broken(tables: Tables) -> dict[str, bool]:
    """Which of the twelve consistency conditions (TPC-C 3.3.2) do not hold in some district."""
    found: Counter[int] = Counter()
    paid = sum(amount for one in tables.districts for _, amount in one.history)
    found[1] += tables.warehouse_ytd != sum(one.ytd for one in tables.districts)
    found[8] += tables.warehouse_ytd != paid
    for one in tables.districts:
        undelivered = {number for number, order in one.orders.items() if order.carrier is None}
        last = one.next_order_id - 1
        found[2] += last != max(one.orders) or last != max(one.waiting, default=last)
        found[3] += bool(one.waiting) and one.waiting[-1] - one.waiting[0] + 1 != len(one.waiting)
        found[4] += any(not order.amounts for order in one.orders.values())
        found[5] += undelivered != set(one.waiting)
        found[6] += any(not 5 <= len(order.amounts) <= 15 for order in one.orders.values())
        found[7] += len(undelivered) != len(one.orders) - one.delivered
        found[9] += one.ytd != sum(amount for _, amount in one.history)
        found[11] += len(one.orders) - len(one.waiting) != one.delivered
        bought, spent = Counter[int](), Counter[int]()
        for order in one.orders.values():
            bought[order.customer] += sum(order.amounts) if order.carrier else 0
        for customer, amount in one.history:
            spent[customer] += amount
        for number, (balance, paid_by_customer) in enumerate(one.customers):
            found[10] += balance != bought[number] - spent[number]
            found[12] += balance + paid_by_customer != bought[number]
    return {f"condition {number}": found[number] > 0 for number in range(1, 13)}


# --- its load generator ---------------------------------------------------------------------------

PER_USER_S = 50
OUTCOMES = ("started", "committed", "rolled_back")
NO_SECOND = dict.fromkeys(("failed", "unknown", "mean_s", "p50_s", "p99_s", "p999_s", "max_s"), 0)
LATENCIES = ("p50_s", "p90_s", "p95_s", "p99_s", "p999_s", "p999_low_s", "p999_high_s", "max_s")
Done = Counter[tuple[str, str]]  # transactions by kind and outcome, or reason of a retry


class Load:
    """Users of the toy: each tick is one second of its clock, and PER_USER_S transactions each."""

    def __init__(self, server: Toy, spec: GeneratorSpec) -> None:
        self.server, self.spec = server, spec
        self.seconds, self.done = 0, Done()
        self.marks: list[tuple[int, Done]] = []
        self._chance = random.Random(spec.seed + spec.stream)

    def ready(self) -> None:
        if self.spec.users > self.server.most_users:
            raise ConnectError(f"the toy lets in {self.server.most_users} users", "full", "full")

    def go(self) -> None: ...

    def tick(self) -> dict[str, Any]:
        self.seconds += 1
        self.server.clock_s += 1
        before = self.done.copy()
        alive = 0 if self.server.dead else self.spec.users
        for _ in range(alive * PER_USER_S):
            self._transaction(*self._chance.choices(KINDS, DECK))
        seconds = tuple(self._second(kind, self.done - before) for kind in KINDS)
        return records.Tick(now_s=self.seconds, alive=alive, seconds=seconds).model_dump()

    def _transaction(self, kind: str) -> None:
        while self._chance.random() < self.server.conflicts:
            self.done[kind, "conflict"] += 1
            self.server.tables.counts["database.rollbacks"] += 1
        self.done[kind, "started"] += 1
        self.done[kind, "committed" if self.server.tables.run(kind) else "rolled_back"] += 1

    def _second(self, kind: str, done: Done) -> records.Second:
        given = {"at_s": self.seconds - 1, "transaction": kind, **NO_SECOND}
        ended = {name: done[kind, name] for name in ("committed", "rolled_back")}
        return records.Second.model_validate(given | ended)

    def mark(self, phase: str) -> float:
        self.marks.append((self.seconds, self.done.copy()))
        return float(self.seconds)

    def stop(self) -> dict[str, Any]:
        begin, end = self.marks if len(self.marks) == 2 else [(0, Done())] * 2
        users, window_s, window = self.spec.users, max(1, end[0] - begin[0]), end[1] - begin[1]
        ended = sum(window[kind, "started"] for kind in KINDS)
        each_s = users * window_s / max(1, ended)
        latency = {"n": ended, "mean_s": each_s, **dict.fromkeys(LATENCIES, each_s)}
        return records.Tally(
            users=users,
            window_s=window_s,
            whole_s=self.seconds,
            transactions={kind: self._tally(kind, window) for kind in KINDS},
            latency=records.Latency.model_validate(latency),
            lost_users=users if self.server.dead else 0,
        ).model_dump()

    def _tally(self, kind: str, window: Done) -> records.TransactionTally:
        whole = records.Counts(**{name: self.done[kind, name] for name in OUTCOMES})
        within = records.Counts(**{name: window[kind, name] for name in OUTCOMES})
        retried = {name: n for name in CLASSES if (n := self.done[kind, name])}
        return records.TransactionTally(whole=whole, window=within, retried=retried)


# --- its server and engine ------------------------------------------------------------------------


class Toy:
    """A restored database; `dead` says why it does not answer any more."""

    measures = frozenset({"log_writes"})
    cores: Sequence[int] = (0,)
    paths = roles = ()
    notes: Sequence[str] = ("a toy",)
    restore_s = 0.0

    def __init__(self, tables: Tables, settings: dict[str, Any]) -> None:
        self.tables, self.clock_s, self.dead = tables, 0.0, ""
        setting = partial(records.Setting, source="plan")
        self.settings = [setting(name=name, value=str(value)) for name, value in settings.items()]
        self.conflicts = float(settings.get("conflicts", 0))
        self.most_users = int(settings.get("users", 1000))

    def load_generator(self, spec: GeneratorSpec) -> Any:
        return Load(self, spec)

    def readings(self, meter: str) -> dict[str, float]:
        return {f"{name}|database": float(n) for name, n in self.tables.counts.items()}

    def sum_next_order_ids(self) -> int:
        return sum(district.next_order_id for district in self.tables.districts)

    def transaction_counts(self) -> tuple[int, int]:
        counts = self.tables.counts
        return counts["database.commits"], counts["database.rollbacks"]

    def conditions(self, watch: records.Watch) -> Sequence[records.Check]:
        check = partial(records.Check, seen="", limit="", sentence="As it should be.")
        return [check(name=n, passed=not off) for n, off in broken(self.tables).items()]

    def processes(self) -> Sequence[int]:
        return ()

    def now_s(self) -> float:
        return self.clock_s

    def checkpoint(self) -> None: ...

    def connection_hint(self, code: str, message: str) -> str:
        return "lower the number of users"

    def alive(self) -> str:
        return self.dead


class ToyEngine:
    def __init__(self, plan: DatabasePlan) -> None:
        self._plan = plan

    def findings(self) -> Sequence[records.Finding]:
        return [records.Finding(level="ok", subject="toy", seen="in this process")]

    def where(self, configuration: records.Configuration) -> records.Whereabouts:
        return records.Whereabouts(seen="in this process", cores=(0,))

    def prepare(self, watch: records.Watch) -> dict[str, str]:
        return {"engine": "toy", "warehouses": "1"}

    @contextlib.contextmanager
    def restored(
        self, configuration: records.Configuration, watch: records.Watch, restore: int = 0
    ) -> Iterator[Toy]:
        yield Toy(Tables(self._plan.seed), dict(self._plan.database.settings))

    def close(self) -> None: ...


def open_engine(plan: DatabasePlan, journal: Journal) -> ToyEngine:
    return ToyEngine(plan)
