"""Whole campaigns in which the final runs of a storage exceed the limit on log writes that its
search kept: quoted is the last measured load within the limit, and what was found is said once.

The model's log takes longer the more users commit at once, and its restores differ by a few per
cent: the search saw a faster one than the final runs.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from kneebench import load, run
from kneebench.analysis.comparison import compare
from kneebench.analysis.final_estimates import rounds_of
from kneebench.analysis.outcome import conditions
from kneebench.analysis.quoted_load import limit_caveats, quoted_load
from kneebench.brief import Brief
from kneebench.plan import Plan
from kneebench.records import Climb, Event, Order, Results, StopResult
from kneebench.screen.summary import printed, results_json
from kneebench.units import time
from tests.recordings import recorded, section
from tests.terminal import drawn

LIMIT_S = 0.005
SATA = {
    "cores": 2,
    "cpu_per_transaction": "2ms",
    "log_latency": "3ms",
    "log_time_per_commit": "800us",
    "restore_noise": 0.06,
    "noise": 0.02,
}
NVME = {"cores": 2, "cpu_per_transaction": "8ms", "log_latency": "500us"}
LONG = {"repeats": 3}
SHORT = {"rounds": "short", "repeats": [8, 8], "restore_every": 2, "final_window": "3s"}
KINDS = pytest.mark.parametrize("kind", ["long", "short"])


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def plan(kind: str, **tables: object) -> Plan:
    ladder = {
        "users": [1, 16],
        "step": 1.33,
        "warm_up": "3s",
        "window": "15s",
        "final_window": "10s",
        "checkpoints": 0,
        **(LONG if kind == "long" else SHORT),
    }
    fields: dict[str, object] = {
        "seed": 1,
        "baseline": "nvme",
        "database": {"engine": "simulated"},
        "workload": {"warehouses": 400},
        "storages": {"sata": {"simulated": SATA}, "nvme": {"simulated": NVME}},
        "ladder": ladder,
    }
    return Plan.model_validate({**fields, **tables})


@pytest.fixture(scope="module")
def campaigns(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Results, list[Event]]]:
    made: dict[str, tuple[Results, list[Event]]] = {}
    for kind in ("long", "short"):
        events: list[Event] = []
        made[kind] = (
            run(plan(kind), tmp_path_factory.mktemp(kind), watch=events.append),
            events,
        )
    return made


Campaigns = dict[str, tuple[Results, list[Event]]]


def sata(results: Results) -> Climb:
    return next(climb for climb in results.climbs if climb.configuration.storage == "sata")


def nvme(results: Results) -> Climb:
    return next(climb for climb in results.climbs if climb.configuration.storage == "nvme")


def above(climb: Climb) -> list[Order]:
    """The orders of the final runs that are not quoted."""
    return [rung.order for rung in climb.superseded if rung.order.phase == "final_run"]


@KINDS
def test_the_quoted_load_is_the_last_measured_one_within_the_limit(
    campaigns: Campaigns, kind: str
) -> None:
    climb = sata(campaigns[kind][0])
    found = quoted_load(climb)
    assert found and found.log_write_s
    assert (
        found.log_write_s.value
        <= LIMIT_S
        < min(one.log_write_s.value for one in found.exceeded if one.log_write_s)
    )
    assert (found.users, found.within) == (climb.knee_users, True)
    searched = sorted({rung.users for rung in climb.of("search", "bisection")})
    (exceeded,) = {order.users for order in above(climb)}
    assert searched.index(exceeded) == searched.index(found.users) + 1
    assert {rung.users for rung in climb.of("final_run")} == {found.users}
    assert climb.stopped_by == "log_latency"
    assert climb.bracket == (found.users, exceeded)


@KINDS
def test_its_search_was_within_the_limit_where_its_final_runs_were_not(
    campaigns: Campaigns, kind: str
) -> None:
    climb = sata(campaigns[kind][0])
    (exceeded,) = {order.users for order in above(climb)}
    (search,) = (rung for rung in climb.of("search", "bisection") if rung.users == exceeded)
    assert (search.quantity("log.write_latency_10s") or 1.0) <= LIMIT_S


@KINDS
def test_both_storages_are_measured_again_in_turn_and_compared_by_pairs(
    campaigns: Campaigns, kind: str
) -> None:
    results = campaigns[kind][0]
    last = [rung.order.repeat for rung in sata(results).of("final_run")]
    assert last == [4, 5, 6] if kind == "long" else [*range(9, 17)]
    assert {*last} < {rung.order.repeat for rung in nvme(results).of("final_run")}
    (nopm,) = (one for one in compare(results) if one.quantity == "nopm")
    assert nopm.ratio.n == len(last)
    method = " ".join(section(Brief(results), "method").sentences)
    if rounds := rounds_of(results):
        assert rounds.rounds == len(last)
        assert "16 rounds, 8 of them with every storage at its quoted load" in method
    else:
        assert "Final runs: each knee 3 to 6 times" in method


@KINDS
def test_what_was_found_is_said_once_and_everywhere_alike(campaigns: Campaigns, kind: str) -> None:
    results, events = campaigns[kind]
    climb, brief = sata(results), Brief(results)
    found = quoted_load(climb)
    assert found and found.log_write_s
    (exceeded,) = found.exceeded
    assert exceeded.log_write_s
    over, within = time(exceeded.log_write_s.value), time(found.log_write_s.value)
    sentence = (
        f"Log write {over} at {exceeded.users} users in the final runs (limit 5 ms); the quoted"
        f" load is {found.users} users ({within}), the last within the limit"
    )
    reasons = [reason.sentence for reason in section(brief, "glance").stop_reasons]
    (reason,) = (one for one in reasons if "Log latency" in one)
    assert reason.count("(limit 5 ms)") == 1
    assert f". Log latency: {sentence[0].lower()}{sentence[1:]}. " in reason
    row = next(row for row in section(brief, "glance").tables[0].rows if row.cells[0] == "sata")
    assert row.cells[1].startswith(f"{found.users} ")
    assert row.cells[-2:] == (within, "log latency")
    assert not limit_caveats(results)
    said = [
        one.data["sentence"] for one in events if one.kind == "stop" and "again" in str(one.data)
    ]
    runs = len(above(climb))
    assert said == [
        f"Log write {over} at {exceeded.users} users in {runs} final runs (limit 5 ms); measured"
        f" again at {found.users} users"
    ]


@KINDS
def test_brief_json_and_folder_name_the_quoted_load(campaigns: Campaigns, kind: str) -> None:
    results = campaigns[kind][0]
    document = json.loads(Brief(results).json())
    one = document["quoted_loads"]["sata"]
    assert one["users"] == document["knees"]["sata"]["users"]["value"]
    assert one["within"] is True
    assert [load_["users"] for load_ in one["exceeded"]] == [above(sata(results))[0].users]
    again = [rung["key"] for rung in document["superseded_rungs"]]
    assert f"sata.final_run-{one['exceeded'][0]['users']}-1" in again
    assert results_json(results)["quoted_loads"] == document["quoted_loads"]
    rungs = [row.cells[1] for row in section(Brief(results), "rungs").tables[0].rows]
    assert "knee 1, measured again" in rungs
    (again_said,) = [
        one for one in section(Brief(results), "cautions").sentences if "measured again" in one
    ]
    superseded = sata(results).superseded
    counted = sata(results).of("final_run", "fixed_rate")
    assert f": {len(superseded)} of {len(superseded) + len(counted)} on" in again_said
    assert results.folder
    assert load(results.folder) == results
    places = [when for when, _ in conditions(sata(results))]
    assert not [when for when in places if re.fullmatch(r"after [\w-]+\.\S+", when)], places


@KINDS
def test_a_campaign_killed_after_every_third_final_run_steps_down_alike(
    campaigns: Campaigns, kind: str, tmp_path: Path
) -> None:
    class Killed(BaseException):
        """Ends a campaign as abruptly as Python can."""

    left = [3]

    def killer(event: Event) -> None:
        rung = event.data.get("rung")
        if rung and rung.order.phase == "final_run" and not event.data["kept"]:
            left[0] -= 1
            if not left[0]:
                left[0] = 3
                raise Killed

    again = None
    while again is None:
        try:
            again = run(plan(kind), tmp_path, watch=killer)
        except Killed:
            continue
    for one, other in zip(campaigns[kind][0].climbs, again.climbs, strict=True):
        runs, others = (climb.of("final_run") for climb in (one, other))
        assert [rung.order for rung in runs] == [rung.order for rung in others]
        assert above(one) == above(other)
        assert one.knee_users == other.knee_users
        if kind == "long":  # rounds that are resumed begin on younger databases
            assert [rung.order for rung in one.rungs] == [rung.order for rung in other.rungs]


def test_a_storage_with_a_limit_of_its_own_keeps_its_knee(tmp_path: Path) -> None:
    """As a published brief had it: the limit of 5 ms stopped the SATA drives alone."""
    own = {"simulated": SATA, "stops": {"log_latency": {"limit": "20ms"}}}
    storages = {"sata": {"simulated": SATA}, "own": own}
    results = run(plan("long", storages=storages, baseline="sata"), tmp_path)
    limited, free = results.climbs
    assert (limited.limits.log_write_s, free.limits.log_write_s) == (0.005, 0.02)
    assert (limited.stopped_by, free.stopped_by) == ("log_latency", "budget")
    assert free.knee_users == 16
    found = quoted_load(free)
    assert found and found.within and found.log_write_s
    assert LIMIT_S < found.log_write_s.value < found.limit_s == 0.02
    assert limit_caveats(results) == ()
    brief = Brief(results)
    method = " ".join(section(brief, "method").sentences)
    assert (
        "Stop conditions: elasticity below 0.07 on 2 consecutive steps, or 3 consecutive rungs not"
        " above an earlier one; log writes above 5 ms;" in method
    )
    assert "On own instead: log writes above 20 ms." in method
    (figure,) = section(brief, "log-writes").figures
    assert "the limits of sata 5 ms and own 20 ms" in figure.title
    drawn_limits = re.findall(r'"label": "limit (\d+) ms"', json.dumps(figure.spec))
    assert drawn_limits == ["5", "20"]


def test_a_recorded_campaign_whose_quoted_runs_exceed_the_limit_has_a_caveat() -> None:
    """Measured when the search alone kept the limit: 1.53 and 1.97 ms where 1.6 were allowed."""
    results = recorded("log_bound")
    runs = [rung.quantity("log.write_latency") or 0.0 for rung in results.climbs[0].of("final_run")]
    assert (min(runs), max(runs)) == (
        pytest.approx(0.00153, rel=0.01),
        pytest.approx(0.00197, 0.01),
    )
    (caveat,) = limit_caveats(results)
    assert caveat == (
        "Quoted log writes exceed the limit: disk 1.73 ms at 8 users (limit 1.6 ms). No final run"
        " had fewer users."
    )
    assert caveat in section(Brief(results), "cautions").sentences
    assert caveat in drawn(*printed(results), width=300)


def test_without_fewer_users_in_the_climb_the_caveat_says_that_no_load_is_known() -> None:
    results = recorded("log_bound")
    (climb,) = results.climbs
    alone = tuple(r for r in climb.rungs if r.order.phase == "final_run" or r.users >= 8)
    fewest = results.model_copy(update={"climbs": (climb.model_copy(update={"rungs": alone}),)})
    assert limit_caveats(fewest)[0].endswith(
        "The climb measured no fewer users, so no load within the limit is known."
    )
    flag = StopResult(
        stop="log_latency",
        fired=False,
        severity="caveat",
        seen="2 ms",
        limit="1.6 ms",
        sentence="Flagged",
    )
    flagged = climb.model_copy(update={"stop_results": (flag,)})
    assert limit_caveats(results.model_copy(update={"climbs": (flagged,)})) == ()
    assert limit_caveats(results.model_copy(update={"finished": False})) == ()
