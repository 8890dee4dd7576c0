"""A campaign of TPROC-H: passes over the queries, each on every configuration in turn.

The databases of all configurations are up side by side, one at a time at work. In a pass each query
is run on one configuration after the other, in an order that reverses from query to query and from
pass to pass. With a cold cache a server is started again before each query, and the query is then
run once more with what it left in memory: the difference is what its reads cost.

Every answer is compared with DuckDB's over the same rows, as long as these can be made in a while.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Mapping
from functools import cached_property

from kneebench.analysis.query_times import precise
from kneebench.campaign.profiled import profile_storage
from kneebench.campaign.restored import Context, disturbed_by, with_tries
from kneebench.databases.engine import AnswersQueries, Restarting, Restarts
from kneebench.databases.tproc_h.answers import Reference, difference
from kneebench.databases.tproc_h.parameters import drawn
from kneebench.databases.tproc_h.queries import queries
from kneebench.ladder.rounds import in_turn
from kneebench.measurement.queries import AskedQuery, measure_query
from kneebench.measurement.rung_runner import described
from kneebench.plan.workload import Workload
from kneebench.records import Climb, Configuration, Event, Order, Phase, Rung
from kneebench.units import time

CHECKED_SCALE = 1.0
"""Up to here the rows of all answers are made a second time, in DuckDB: about a minute."""
UNCHECKED = "answers were not checked: beyond scale {:g} their rows are not made a second time"


class QueryPasses:
    """The passes of one campaign; what was kept is not measured again."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._plan = next(iter(context.databases.values()))
        self._workload = self._plan.workload
        self._latest = dict[str, AskedQuery]()
        """What was asked last of each configuration's server."""

    def measure(self) -> None:
        """All passes, then what was loaded once more."""
        context = self.context
        where = context.engine.where
        context.store.put_servers({one.id: where(one) for one in context.configurations})
        with contextlib.ExitStack() as stack:
            servers = {
                one: stack.enter_context(self._restored(one)) for one in context.configurations
            }
            asked = stack.enter_context(AskedQueries(self._workload, self._plan.seed))
            if not asked.checked:
                context.store.put_note(UNCHECKED.format(CHECKED_SCALE))
            for one, restarting in servers.items():
                profile_storage(context, one, restarting.server)
            self._passes(servers, asked)
            for one, restarting in servers.items():
                self._close(one, restarting)

    @contextlib.contextmanager
    def _restored(self, one: Configuration) -> Iterator[Restarting]:
        """A server on a restored database, its settings kept."""
        context, kernel = self.context, [*self.context.in_force]
        assert isinstance(context.engine, Restarts)

        def watched(event: Event) -> None:
            """The settings of a volume's drives are reported while it is made."""
            if isinstance(settings := event.data.get("settings"), tuple):
                kernel.extend(settings)
            context.watch(event)

        with context.engine.restarting(one, watched) as restarting:
            context.store.put_settings(one, (*restarting.server.settings, *kernel))
            yield restarting

    def _passes(self, servers: Mapping[Configuration, Restarting], asked: AskedQueries) -> None:
        """Passes until the comparison is as precise as the plan wants."""
        ladder, rungs = self._plan.ladder, list[Rung]()
        phases: tuple[Phase, ...] = ("query", "warm_query")
        for repeat in range(1, ladder.most_repeats + 1):
            for place, number in enumerate(asked.numbers):
                for one in in_turn(tuple(servers), repeat + place):
                    for phase in phases[self._workload.cache == "warm" :]:
                        order = _order(one, phase, number, repeat)
                        rungs.append(self._rung(one, servers[one], asked, order))
            enough, said = precise(rungs, ladder.precision)
            self.context.watch(Event(kind="round", doing=said))
            if enough and repeat >= ladder.fewest_repeats:
                return

    def _rung(
        self, one: Configuration, restarting: Restarting, asked: AskedQueries, order: Order
    ) -> Rung:
        """The kept rung of this order, or a new one: the first attempt that nothing disturbed."""
        context = self.context
        kept = context.store.rung(order)
        rung = kept or self._measured(one, restarting, asked, order)
        context.report_rung(rung, kept=kept is not None)
        return rung

    def _measured(
        self, one: Configuration, restarting: Restarting, asked: AskedQueries, order: Order
    ) -> Rung:
        context, tried, plan = self.context, list[str](), self.context.with_its_cores(one)
        query = asked.query(order.query, order.repeat)
        while True:
            self._begin(restarting, query, order)
            server = restarting.server
            measured = measure_query(order, plan, server, query, context.watch, context.machines)
            self._latest[one.id] = query
            disturbed, tries = disturbed_by(measured, (), context.store.latest)
            if not disturbed or len(tried) + 1 >= tries:
                break
            tried.append(f"{time(measured.rung.tally.window_s)}, {disturbed}")
            attempt = f"attempt {len(tried)} of {tries} is {disturbed}"
            context.watch(Event(kind="warning", doing=f"{described(order)}: {attempt}"))
        rung = with_tries(measured.rung, tried)
        context.store.put(measured._replace(rung=rung))
        return rung

    def _begin(self, restarting: Restarting, query: AskedQuery, order: Order) -> None:
        """A cold query begins on a server that was started again; a warm one behind itself, also
        where the campaign was resumed in between.
        """
        if order.phase == "query":
            restarting.again()
        elif self._workload.cache == "cold" and self._latest.get(order.configuration) != query:
            assert isinstance(restarting.server, AnswersQueries)
            with restarting.server.querying(self._workload.query_limit) as analyst:
                analyst.ask(query.statement)

    def _close(self, one: Configuration, restarting: Restarting) -> None:
        """Keep that all rows are there, and that all was measured."""
        if not self.context.store.climb(one):
            checks = tuple(restarting.server.conditions(self.context.watch))
            self.context.store.put_climb(Climb(configuration=one, rungs=(), checks=checks))


def _order(one: Configuration, phase: Phase, number: int, repeat: int) -> Order:
    return Order(configuration=one.id, phase=phase, users=1, repeat=repeat, query=number)


class AskedQueries:
    """The queries of a plan, with the parameters of each pass, and who judges their answers."""

    def __init__(self, workload: Workload, seed: int) -> None:
        self._workload, self._seed = workload, seed
        self.numbers = workload.asked
        self.checked = workload.scale <= CHECKED_SCALE
        self._made = dict[tuple[int, int], AskedQuery]()

    def __enter__(self) -> AskedQueries:
        return self

    def __exit__(self, *error: object) -> None:
        if "_reference" in vars(self):
            self._reference.close()

    @cached_property
    def _reference(self) -> Reference:
        return Reference(self._workload.scale)

    def query(self, number: int, repeat: int) -> AskedQuery:
        """A query as all configurations are asked it in a pass."""
        if (number, repeat) not in self._made:
            self._made[number, repeat] = self._make(number, repeat)
        return self._made[number, repeat]

    def _make(self, number: int, repeat: int) -> AskedQuery:
        draw = random.Random(f"{self._seed} {repeat} {number}")  # noqa: S311
        text = next(one for one in queries() if one.number == number)
        statement = text.statement(drawn(number, draw, self._workload.scale))
        if not self.checked:
            return AskedQuery(number, statement)
        right = self._reference.answer(statement)
        return AskedQuery(number, statement, lambda found: difference(found, right))
