"""The open loop has enough users: transactions wait for the database, hardly ever for a user. The
wait is printed beside the latency, and a run that waited is measured again.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean

import pytest

from kneebench import run
from kneebench.analysis.configuration_summary import configuration_summaries, rows
from kneebench.analysis.fixed_rate import MOST_WAIT, fixed_rate_latency, wait_caveats, wait_share
from kneebench.brief import Brief
from kneebench.databases.several import engine_of
from kneebench.lab.journal import Journal
from kneebench.ladder.climb import measure_orders
from kneebench.ladder.final_runs import FinalRuns
from kneebench.measurement.log_trace import NO_TRACE
from kneebench.measurement.meters import open_meters
from kneebench.measurement.meters.meter import MeterContext
from kneebench.measurement.rung_runner import RungRunner
from kneebench.measurement.sampler import Sampler
from kneebench.plan import Plan
from kneebench.plan.configurations import configurations
from kneebench.plan.ladder import Ladder
from kneebench.plan.study import Study
from kneebench.records import Climb, Configuration, Event, Order, Results, Rung, unwatched
from kneebench.results import load
from kneebench.screen.summary import printed
from kneebench.workload import generator_spec, running_load
from tests.curves import Usl, answer, climb, latency, rung, walk
from tests.recordings import recorded, section, with_plan
from tests.remarks import invalid as marked_invalid
from tests.terminal import drawn

ONE_CORE = {"cores": 1, "cpu_per_transaction": "2ms", "log_latency": "200us"}
TWO_CORES = {**ONE_CORE, "cores": 2}
STORAGES = {"slow": {"simulated": ONE_CORE}, "fast": {"simulated": TWO_CORES}}
CURVE = Usl(500, 0.2, 0.01)
CONFIGURATION = Configuration(id="a", storage="a")
KNEE_PER_S = 1000.0


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def plan(**ladder: object) -> Plan:
    """Knees of very few users: one core is full with two, two cores with three or so."""
    keys = {
        "users": [1, 16],
        "step": 1.5,
        "warm_up": "2s",
        "window": "6s",
        "final_window": "10s",
        "checkpoints": 0,
        "repeats": 2,
        **ladder,
    }
    tables = {"database": {"engine": "simulated"}, "workload": {"warehouses": 200}}
    return Plan.model_validate({**tables, "storages": STORAGES, "ladder": keys})


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run(plan(), tmp_path_factory.mktemp("campaigns"))


def waits(results: Results) -> list[float | None]:
    return [wait_share(rung) for one in results.climbs for rung in one.of("fixed_rate")]


# --- whole campaigns ------------------------------------------------------------------------------


def test_with_knees_of_a_few_users_no_run_waits_for_one(results: Results) -> None:
    assert all(climb.knee_users and climb.knee_users <= 4 for climb in results.climbs)
    found = waits(results)
    assert len(found) == 4
    assert all(wait is not None and wait <= MOST_WAIT for wait in found), found
    assert wait_caveats(results) == ()


def test_the_wait_is_printed_beside_the_latency(results: Results) -> None:
    found = [fixed_rate_latency(climb) for climb in results.climbs]
    table = section(Brief(results), "glance").tables[1]
    assert [column.title for column in table.columns][-1] == "Wait for a user"
    for row, one in zip(table.rows, found, strict=True):
        assert one and one.wait is not None
        assert float(row.cells[-1].removesuffix("%")) == pytest.approx(100 * one.wait, abs=0.051)
    summaries = configuration_summaries(results)
    assert [one.fixed_rate.wait for one in summaries if one.fixed_rate] == [
        one.wait for one in found if one
    ]
    assert "wait for a user" in dict(rows(summaries))
    document = Brief(results).document()["fixed_rate"]
    assert {configuration: one["wait"] for configuration, one in document.items()} == {
        climb.id: one.wait for climb, one in zip(results.climbs, found, strict=True) if one
    }


def test_a_rate_near_the_knee_is_measured_again_with_more_users_while_it_waits(
    tmp_path: Path,
) -> None:
    """At 95% of one core's throughput queues are long, and users for the mean are too few."""
    measured = run(plan(fixed_rate_share=0.95, final_window="20s"), tmp_path)
    again = [rung for climb in measured.climbs for rung in climb.superseded]
    assert again
    assert {rung.order.phase for rung in again} == {"fixed_rate"}
    assert all((wait_share(rung) or 0) > MOST_WAIT for rung in again)
    for one in measured.climbs:
        assert [rung.order.repeat for rung in one.of("fixed_rate")] == [1, 2]
    slow = measured.climbs[0]
    first = [rung for rung in slow.superseded if rung.order.repeat == 1]
    quoted = slow.of("fixed_rate")[0]
    assert [rung.users for rung in (*first, quoted)] == [16, 32, 64]
    assert measured.folder
    assert load(measured.folder).climbs == measured.climbs


def test_a_campaign_stopped_at_a_run_that_waited_gives_the_same_figures(tmp_path: Path) -> None:
    asked = plan(fixed_rate_share=0.95, final_window="20s")
    whole = run(asked, tmp_path / "whole")

    class Killed(BaseException):
        """Ends a campaign as abruptly as Python can."""

    def killer(event: Event) -> None:
        rung = event.data.get("rung")
        if rung and rung.order.phase == "fixed_rate" and not event.data["kept"]:
            raise Killed

    for _ in range(sum(len(one.of("fixed_rate")) + len(one.superseded) for one in whole.climbs)):
        with pytest.raises(Killed):
            run(asked, tmp_path / "killed", watch=killer)
    again = run(asked, tmp_path / "killed", watch=killer)

    def orders(climb: Climb) -> list[Order]:
        return [rung.order for rung in (*climb.rungs, *climb.superseded)]

    for one, other in zip(whole.climbs, again.climbs, strict=True):
        assert orders(one) == orders(other)


# --- orders ---------------------------------------------------------------------------------------

CLIMBED, _ = walk(climb(CONFIGURATION, Ladder(users=(1, 128)), 2), answer(CURVE))


def waited(order: Order, share: float, busy: float = 0.9) -> Rung:
    """A rung; at the fixed rate this share of the mean latency was the wait for a user, as this
    share of them was busy.
    """
    if not order.rate_per_s:
        return rung(order, KNEE_PER_S, tail=latency(0.004))
    mean_s = busy * order.users / order.rate_per_s / (1 - share)
    one = rung(order, order.rate_per_s, tail=latency(mean_s))
    tally = one.tally.model_copy(update={"wait": latency(share * mean_s)})
    return one.model_copy(update={"tally": tally})


def offered(
    measure: Callable[[Order], Rung],
    climbs: Sequence[Climb] = (CLIMBED,),
    *,
    pooled: bool = False,
    **keys: object,
) -> list[Order]:
    """The orders at the fixed rate."""
    orders: list[Order] = []

    def measured(order: Order) -> Rung:
        orders.append(order)
        return measure(order)

    ladder = Ladder.model_validate(keys)
    for runs in FinalRuns(climbs, ladder, pooled=pooled).restored_runs():
        measure_orders(runs.steps, measured)
    return [order for order in orders if order.phase == "fixed_rate"]


def test_users_are_four_times_those_that_are_busy_and_eight_more() -> None:
    """700/s of 4 ms each keep 2.8 users busy."""
    assert {order.users for order in offered(lambda order: waited(order, 0.0))} == {20}


def test_a_run_that_waited_is_measured_again_with_twice_the_users_and_later_ones_begin_there() -> (
    None
):
    found = offered(lambda order: waited(order, 0.03 if order.users < 40 else 0.019))
    assert [(order.repeat, order.users) for order in found] == [(1, 20), (1, 40), (2, 40), (3, 40)]
    assert len({order.key for order in found}) == len(found)


def test_users_end_at_four_times_the_first_number_and_at_the_plan_s_last() -> None:
    found = offered(lambda order: waited(order, 0.5))
    assert [(order.repeat, order.users) for order in found] == [
        *((1, 20), (1, 40), (1, 80)),
        *((2, 80), (3, 80)),
    ]
    few = offered(lambda order: waited(order, 0.5), users=[1, 64])
    assert {order.users for order in few} == {20, 40, 64}


def test_a_stall_that_all_users_waited_for_brings_no_more_of_them() -> None:
    """They would start at once behind the next one: four times the users took the mean from 4 ms to
    55 ms on two cores.
    """
    found = offered(lambda order: waited(order, 0.6, busy=0.2))
    assert [(order.repeat, order.users) for order in found] == [(1, 20), (2, 20), (3, 20)]


def test_a_rate_that_saturates_the_storage_gets_no_more_users() -> None:
    found = offered(lambda order: waited(order, 0.9), latency_rate="2000/s")
    assert len(found) == 3


def test_users_that_share_connections_and_invalid_runs_are_left_as_they_are() -> None:
    assert len(offered(lambda order: waited(order, 0.5), pooled=True)) == 3

    def invalid(order: Order) -> Rung:
        return marked_invalid(waited(order, 0.5))

    assert len(offered(invalid)) == 3


# --- idle users -----------------------------------------------------------------------------------


def share_of_reads(users: int) -> float:
    """Of the users' time, at 300 transactions/s on two cores, as a warm-up sees it."""
    one = plan()
    configuration, order = (
        configurations(one)[1],
        Order(configuration="fast", phase="fixed_rate", users=users, rate_per_s=300),
    )
    with (
        contextlib.closing(engine_of(Study(one).databases, Journal())) as engine,
        engine.restored(configuration, unwatched) as server,
    ):
        generator = server.load_generator(generator_spec(one.workload, one.seed, order))
        generator.ready()
        context = MeterContext(server, (), NO_TRACE)
        meters = open_meters(("devices",), context, real_hardware=False)
        with (
            contextlib.closing(Sampler(meters, server.now_s)) as sampler,
            running_load(generator) as load,
        ):
            runner = RungRunner(order, load, sampler, server, unwatched)
            for _ in range(10):
                runner.second("warming up", 0.0)
    return fmean(runner.read_time[3:])


def test_users_that_wait_for_work_do_not_make_reads_look_short() -> None:
    """Else a database that still fills its cache would count as warm."""
    assert share_of_reads(64) == pytest.approx(share_of_reads(16), rel=0.1)


# --- sentences ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "waited"),
    [
        ("plateau", "28.8% at 4 users on disk; 10% at 4 users on memory"),
        ("log_bound", "63.9% at 8 users on disk"),
    ],
)
def test_recorded_campaigns_that_queued_for_their_own_users_say_so(name: str, waited: str) -> None:
    results = recorded(name)
    (caveat,) = wait_caveats(results)
    assert caveat == (
        "At the fixed rate the wait for a free user is a large part of the mean latency (limit 2%):"
        f" {waited}."
    )
    assert caveat in section(Brief(results), "cautions").sentences
    assert caveat in drawn(*printed(results), width=300)


def test_the_wait_for_a_shared_connection_is_called_so() -> None:
    results = recorded()
    shared = with_plan(results, workload={**results.campaign.plan["workload"], "connections": 3})
    assert "the wait for one of 3 shared connections is a large part" in wait_caveats(shared)[0]


# --- beside the latency at the fixed rate ---------------------------------------------------------


def test_mean_and_p999_at_each_knee_are_drawn_and_called_closed_loop(results: Results) -> None:
    brief = Brief(results)
    mean, tail = section(brief, "knee_latency").figures
    assert (mean.number, tail.number) == ("Fig. 2c", "Fig. 2d")
    for figure in (mean, tail):
        assert "at each knee, in a closed loop" in figure.title
    assert "Latency roughly equals users / throughput" in mean.caption
    assert "Figs. 2a and 2b compare storages under one load" in mean.caption
    assert tail.caption.startswith("The runs of Fig. 2c.")
    knees = brief.view.knees.values()
    for figure, which in ((mean, "latency_s"), (tail, "p999_s")):
        drawn_ms = re.findall(r'"name": "(\w+)", "value": ([\d.]+)', json.dumps(figure.spec))
        assert [(name, float(ms)) for name, ms in drawn_ms] == [
            (configuration, pytest.approx(1e3 * getattr(knee, which).value))
            for configuration, knee in brief.view.knees.items()
        ]
        assert all(f", {knee.users.value:.0f} users" in json.dumps(figure.spec) for knee in knees)


def test_they_are_drawn_without_a_fixed_rate_too(tmp_path: Path) -> None:
    one = plan(fixed_rate_share=0.0, repeats=1)
    brief = Brief(run(one, tmp_path))
    assert not [part for part in brief.sections if part.name == "latency"]
    mean, _ = section(brief, "knee_latency").figures
    assert "Figs. 2a" not in mean.caption
