"""A campaign of TPROC-H: passes over the queries, each on every configuration in turn; then streams
of them side by side, added as users are in a climb.

The databases of all configurations are up side by side, one at a time at work. In a pass each query
is run on one configuration after the other, in an order that reverses from query to query and from
pass to pass. With a cold cache a server is started again before each query, and the query is then
run once more with what it left in memory: the difference is what its reads cost.

Every answer is compared with DuckDB's over the same rows, up to scale 1. Those of streams beside
which the refresh functions change rows depend on the moment, and are not.
"""

from __future__ import annotations

import contextlib
import random
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from kneebench.analysis.comparison import bases_of
from kneebench.analysis.query_times import precise
from kneebench.campaign.power import measure_idle
from kneebench.campaign.profiled import profile_storage
from kneebench.campaign.restored import Context, disturbed_by, with_tries
from kneebench.databases.engine import Restarts, Server
from kneebench.databases.tproc_h.answers import ADDED_UP, Reference, Rows, difference, sums
from kneebench.databases.tproc_h.parameters import drawn
from kneebench.databases.tproc_h.queries import queries
from kneebench.databases.tproc_h.refresh import DELETE, INSERT, refresh
from kneebench.databases.tproc_h.tables import TABLES
from kneebench.errors import KneebenchError
from kneebench.lab.journal import Journal
from kneebench.ladder.climb import climb, measure_orders
from kneebench.ladder.rounds import in_turn
from kneebench.ladder.steps import Climbed
from kneebench.measurement.queries import AskedQuery, Streams, measure_streams, texts_of
from kneebench.measurement.rung_runner import described
from kneebench.measurement.streams import NO_LIMIT_S, Answered, QueryText
from kneebench.plan.workload import Workload
from kneebench.records import REFRESH, Climb, Configuration, Event, Order, Phase, Rung
from kneebench.units import time

CHECKED_SCALE = 1.0
"""Up to here the rows of all answers are made a second time, in DuckDB: about a minute."""
BESIDE_REFRESH = (
    "answers of streams were not compared: they depend on when the refresh functions beside them"
    " changed rows"
)
OWN_TABLES = "the tables are the user's own, with their keys, partitions and storage engine"
OTHER_ROWS = "answers were not compared with DuckDB's: on {}, {}"
SUMS = tuple(QueryText(0, (sums(table),)) for table in TABLES)
"""Of the rows of all tables."""
UNCHECKED = "answers were not compared with DuckDB's: the scale exceeds {:g}"
Texts = Sequence[tuple[QueryText, ...]]
"""Of streams."""


class QueryServer:
    """The server of a configuration, started again where queries begin cold."""

    server: Server

    def __init__(self, start: Callable[[], AbstractContextManager[Server]]) -> None:
        self._start, self._stack = start, contextlib.ExitStack()

    def __enter__(self) -> QueryServer:
        self.restart()
        return self

    def __exit__(self, *error: Any) -> None:
        """What failed reaches those who remove the database."""
        self._stack.__exit__(*error)

    def restart(self) -> None:
        """Stop it, if it runs, and start it."""
        self._stack.close()
        self.server = self._stack.enter_context(self._start())


class QueryPasses:
    """The passes of one campaign; what was kept is not measured again."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self._plan = next(iter(context.databases.values()))
        self._workload = self._plan.workload
        self._asked = AskedQueries(self._workload, self._plan.seed)
        self._of = {one.id: one for one in context.configurations}
        self._latest = dict[str, Streams]()
        """What was asked last of each configuration's server."""
        self._lacking = dict[str, Streams]()
        """Orders that a kept pass had added, and that a server restored since does not have."""

    def measure(self) -> None:
        """All passes, then streams."""
        context = self.context
        where = context.engine.where
        context.store.put_servers({one.id: where(one) for one in context.configurations})
        with self._asked, contextlib.ExitStack() as stack:
            servers = {
                one: stack.enter_context(self._restored(one)) for one in context.configurations
            }
            if not self._asked.checked:
                context.store.put_note(UNCHECKED.format(CHECKED_SCALE))
            if self._plan.database.has_schema:
                self._compare_rows(servers)
            if self._asked.unjudged:
                context.store.put_note(BESIDE_REFRESH)
            for one, own in servers.items():
                measure_idle(context, one, own.server)
            for one, own in servers.items():
                profile_storage(context, one, own.server)
            self._passes(servers)
            knees = {one: self._climb(one, servers[one]) for one in servers}
            self._at_the_knees(knees, servers)

    @contextlib.contextmanager
    def _restored(self, one: Configuration) -> Iterator[QueryServer]:
        """A server on a restored database, its settings kept."""
        context = self.context
        kernel, watched = context.gathering()
        with contextlib.ExitStack() as stack:
            if isinstance(context.engine, Restarts):
                start = stack.enter_context(context.engine.restarting(one, watched)).started
            else:  # by URL: it is never started, and its cache is warm
                start = partial(context.engine.restored, one, watched)
            own = stack.enter_context(QueryServer(start))
            context.store.put_settings(one, (*own.server.settings, *kernel))
            yield own

    def _compare_rows(self, servers: Mapping[Configuration, QueryServer]) -> None:
        """Of the user's own tables: answers are compared where their rows are dbgen's."""
        context, asked = self.context, self._asked
        context.store.put_note(OWN_TABLES)
        for one, own in servers.items():
            try:
                other = asked.other_rows(self._answers(own, [SUMS], NO_LIMIT_S))
            except KneebenchError as error:
                other = asked.unknown(error.seen)
            if other:
                context.store.put_note(OTHER_ROWS.format(one.name, other))

    def _passes(self, servers: Mapping[Configuration, QueryServer]) -> None:
        """Passes until the comparison is as precise as the plan wants."""
        ladder, rungs = self._plan.ladder, list[Rung]()
        every = self.context.configurations
        bases = bases_of(every, every[0].storage)
        for repeat in range(1, ladder.most_repeats + 1):
            for place, number in enumerate(self._asked.of_pass):
                for one in in_turn(tuple(servers), repeat + place):
                    for phase in _phases(number, self._workload.cache):
                        order = Order(
                            configuration=one.id, phase=phase, users=1, repeat=repeat, query=number
                        )
                        streams = [[self._asked.query(number, repeat)]]
                        rungs.append(self._rung(servers[one], streams, order))
            enough, said = precise(rungs, bases, ladder.precision)
            self.context.watch(Event(kind="round", doing=said))
            if enough and repeat >= ladder.fewest_repeats:
                return

    def _climb(self, one: Configuration, own: QueryServer) -> Climb:
        """Add streams until something stops the climb, if the plan has any; then see whether all
        rows are still there.
        """
        context = self.context
        if kept := context.store.climb(one):
            return kept
        found = Climbed((), (), "")
        ladder = self._plan.ladder_on(one.storage)
        if ladder.users != 1:
            cores = len(context.engine.where(one).cores)
            steps = climb(ladder, cores or 1, confirms=False, warms=False)
            found = measure_orders(
                steps,
                lambda step: self._rung(own, self._asked.streams(step.users), step.on(one.id)),
            )
        checks = tuple(own.server.conditions(context.watch))
        climbed = Climb(configuration=one, checks=checks, **found._asdict())
        context.store.put_climb(climbed)
        for result in climbed.reported:
            context.watch(Event(kind="stop", doing=one.name, data=result.model_dump()))
        return climbed

    def _at_the_knees(
        self,
        climbs: Mapping[Configuration, Climb],
        servers: Mapping[Configuration, QueryServer],
    ) -> None:
        """The streams of each knee once more, in turn, as often as there are passes at least."""
        knees = {one: climbed.knee_users for one, climbed in climbs.items()}
        for repeat in range(1, self._plan.ladder.fewest_repeats + 1):
            for one in in_turn(tuple(servers), repeat):
                if users := knees[one]:
                    order = Order(
                        configuration=one.id, phase="final_run", users=users, repeat=repeat
                    )
                    self._rung(servers[one], self._asked.streams(users), order)

    def _rung(self, own: QueryServer, streams: Streams, order: Order) -> Rung:
        """The kept rung of this order, or a new one."""
        context = self.context
        kept = context.store.rung(order)
        if kept and order.query == INSERT:
            self._lacking[order.configuration] = streams
        elif kept and order.query == DELETE:
            del self._lacking[order.configuration]
        rung = kept or self._measured(own, streams, order)
        context.report_rung(rung, kept=kept is not None)
        return rung

    def _measured(self, own: QueryServer, streams: Streams, order: Order) -> Rung:
        """The first attempt that nothing disturbed, or the last one; a refresh function has one."""
        context, tried = self.context, list[str]()
        plan = context.with_its_cores(self._of[order.configuration])
        while True:
            self._begin(own, streams, order)
            measured = measure_streams(
                order, plan, own.server, streams, context.watch, context.machines
            )
            self._latest[order.configuration] = streams
            disturbed, tries = disturbed_by(measured, (), context.store.latest)
            if not disturbed or order.query in REFRESH or len(tried) + 1 >= tries:
                break
            tried.append(f"{time(measured.rung.tally.window_s)}, {disturbed}")
            attempt = f"attempt {len(tried)} of {tries} is {disturbed}"
            context.watch(Event(kind="warning", doing=f"{described(order)}: {attempt}"))
        rung = with_tries(measured.rung, tried)
        context.store.put(measured._replace(rung=rung))
        return rung

    def _begin(self, own: QueryServer, streams: Streams, order: Order) -> None:
        """A cold query, or pass of streams, begins on a server that was started again; a second run
        behind the first, and a warm one behind all queries, also where the campaign was resumed in
        between; each with the orders of its pass.
        """
        of, cold = order.configuration, self._workload.cache == "cold"
        self._asked.ready()
        if lacking := self._lacking.pop(of, None):
            self._run_unmeasured(own, lacking)
        if cold and order.phase != "warm_query":
            own.restart()
        elif cold and self._latest.get(of) != streams:
            self._run_unmeasured(own, streams)
        elif not cold and of not in self._latest:
            self._run_unmeasured(own, [self._asked.stream(1)])

    def _run_unmeasured(self, own: QueryServer, streams: Streams) -> None:
        """Run queries that are not measured."""
        self._answers(own, texts_of(streams), self._workload.query_limit)

    def _answers(self, own: QueryServer, texts: Texts, limit_s: float) -> Sequence[Answered]:
        """Those of queries that are not measured."""
        instruments = self.context.machine.instruments
        with instruments.streams(own.server, texts, limit_s) as running:
            running.begin()
            while running.under_way(1.0):
                pass
            return running.answered()


def _phases(number: int, cache: str) -> tuple[Phase, ...]:
    """How a query is run: from cold once more, unless it changes rows."""
    return ("query",) if cache == "warm" or number in REFRESH else ("query", "warm_query")


class AskedQueries:
    """The queries of a plan, with the parameters of each pass and stream, and who judges their
    answers.
    """

    def __init__(self, workload: Workload, seed: int) -> None:
        self._workload, self._seed = workload, seed
        self.numbers = workload.asked
        self.of_pass = (INSERT, *self.numbers, DELETE) if workload.refresh else self.numbers
        """In their order."""
        self.checked = workload.scale <= CHECKED_SCALE
        self.unjudged = workload.refresh and workload.streams != 1
        """Whether streams run beside refresh functions."""
        self._made = dict[tuple[int, int], AskedQuery]()
        self._right = dict[tuple[int, str], Rows]()
        """By the pass whose orders there are, and the statement."""
        self._stack = contextlib.ExitStack()
        self._refreshed = 0
        """The pass whose orders DuckDB's rows have, too; 0: none."""

    def __enter__(self) -> AskedQueries:
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def ready(self) -> None:
        """Have DuckDB's rows there, if answers are compared."""
        if self.checked:
            assert self._reference

    @cached_property
    def _reference(self) -> Reference:
        place = Path(tempfile.gettempdir(), f"kneebench-answers-{uuid.uuid4().hex[:12]}")
        made = Journal().directory(place, "the rows that answers are compared by")
        opened = closing(Reference(self._workload.scale, self._stack.enter_context(made)))
        return self._stack.enter_context(opened)

    def other_rows(self, found: Sequence[Answered]) -> str:
        """What tells a database's rows from dbgen's, by the answers to SUMS, if answers are
        compared; empty for nothing. Then no answer is judged.
        """
        for table, one in zip(TABLES, found, strict=True):
            right = self._reference.answer(sums(table)) if self.checked else None
            if right and difference(one.answer or (), right, ADDED_UP):
                self.checked = False
                return f"{table} has other rows than dbgen's"
        return ""

    def unknown(self, seen: str) -> str:
        """What is said where SUMS cannot be asked: no answer is judged."""
        self.checked = False
        return f"the columns of numbers cannot be added up ({seen})"

    def query(self, number: int, of: int) -> AskedQuery:
        """A query as all configurations are asked it in a pass, from 1, or in a stream, from -1
        down.
        """
        if (number, of) not in self._made:
            self._made[number, of] = self._make(number, of)
        return self._made[number, of]

    def streams(self, number: int) -> Streams:
        """So many streams, and beside them one with a pair of refresh functions for each, if the
        plan has any.
        """
        found = [*map(self.stream, range(1, number + 1))]
        if not self._workload.refresh:
            return found
        pairs = [self.query(one, nth) for nth in range(1, number + 1) for one in REFRESH]
        return [*found, pairs]

    def stream(self, number: int) -> list[AskedQuery]:
        """One of them, from 1: all queries, in an order and with parameters of its own, the same on
        every configuration and beside however many others.
        """
        order = [*self.numbers]
        random.Random(f"{self._seed} stream {number}").shuffle(order)  # noqa: S311
        return [self.query(one, -number) for one in order]

    def _make(self, number: int, of: int) -> AskedQuery:
        scale = self._workload.scale
        if number in REFRESH:
            return AskedQuery(QueryText(number, refresh(number, of, scale)))
        draw = random.Random(f"{self._seed} {of} {number}")  # noqa: S311
        text = next(one for one in queries() if one.number == number)
        statement = text.statement(drawn(number, draw, scale))
        known = self.checked and (of > 0 or not self._workload.refresh)
        judge = partial(self._judge, statement, of) if known else None
        return AskedQuery(QueryText(number, (statement,)), judge)

    def _judge(self, statement: str, nth: int, found: Rows) -> str:
        """What is wrong with an answer; rows are as a pass found them."""
        of = (nth if self._workload.refresh else 0, statement)
        if of not in self._right:
            self._refresh(of[0])
            self._right[of] = self._reference.answer(statement)
        return difference(found, self._right[of])

    def _refresh(self, nth: int) -> None:
        """Have DuckDB's rows with the orders of a pass; 0: without."""
        scale = self._workload.scale
        if self._refreshed not in (0, nth):
            self._reference.run(refresh(DELETE, self._refreshed, scale))
        if nth not in (0, self._refreshed):
            self._reference.run(refresh(INSERT, nth, scale))
        self._refreshed = nth
