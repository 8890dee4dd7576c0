"""Campaigns of TPROC-H with streams and refresh functions, and those that are ended in a pass."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kneebench import load, run
from kneebench.analysis.outcome import exit_code
from kneebench.analysis.query_streams import per_hour
from kneebench.analysis.query_times import energy_j, numbers, pass_s
from kneebench.analysis.wording import plural
from kneebench.brief.page import Brief
from kneebench.campaign.queries import AskedQueries
from kneebench.plan.power import Power
from kneebench.plan.workload import Workload
from kneebench.records import REFRESH
from tests.loaded import shared_images
from tests.query_plan import plan_on

ABOUT_50_W = (
    "import time;"
    " any(iter(lambda: print(50 + time.time() % 1 / 99, flush=True) or time.sleep(.001), 1))"
)
"""A meter's program; a reading that never changes is taken for a meter that stands still."""


@pytest.fixture(scope="module")
def streamed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    place = tmp_path_factory.mktemp("streams")
    plan = plan_on(place, "postgres", streams=[1, 2], refresh=True)
    command = [sys.executable, "-c", ABOUT_50_W]
    meter = {"name": "wall", "type": "command", "scope": "wall", "unit": "W", "command": command}
    power = Power.model_validate({"idle": "5s", "meters": [{**meter, "covers": ["all of it"]}]})
    ladder = plan.ladder.model_copy(update={"step": 2.0})
    plan = plan.model_copy(update={"ladder": ladder, "power": power})
    for number in range(3):  # a host that takes the cores away makes rungs invalid
        results = run(plan, folder=place / str(number))
        if not any(rung.invalid for climb in results.climbs for rung in climb.rungs):
            break
    return results


def test_streams_are_added_until_the_plan_has_no_more_and_the_knee_is_measured_again(
    streamed: Any,
) -> None:
    for climb in streamed.climbs:
        assert [rung.users for rung in climb.of("search")] == [1, 2]
        assert climb.knee_users in (1, 2)
        again = climb.of("final_run")
        assert [(rung.users, rung.order.repeat) for rung in again] == [
            (climb.knee_users, 1),
            (climb.knee_users, 2),
        ]
    assert exit_code(streamed) == 0


def test_every_stream_has_all_queries_and_queries_per_hour_follow_from_their_times(
    streamed: Any,
) -> None:
    for rung in streamed.climbs[0].of("search"):
        ran = [(one.stream, one.query) for one in rung.queries if one.query not in REFRESH]
        assert sorted(ran) == [(s, q) for s in range(1, rung.users + 1) for q in (1, 6)]
        ends_s = max(one.began_s + one.took_s for one in rung.queries)
        assert per_hour(rung) == pytest.approx(3600 * len(ran) / ends_s, rel=1e-6)


def test_beside_the_streams_one_more_has_a_pair_of_refresh_functions_for_each(
    streamed: Any,
) -> None:
    """Whose answers nobody knows; the rows at the end are those of the load."""
    for climb in streamed.climbs:
        for rung in climb.of("search", "final_run"):
            beside = [one for one in rung.queries if one.query in REFRESH]
            assert {one.stream for one in beside} == {rung.users + 1}
            assert [one.query for one in beside] == [*REFRESH] * rung.users
            assert rung.checks == ()


def test_the_energy_of_a_pass_is_that_of_its_queries(streamed: Any) -> None:
    of = numbers(streamed)
    for climb in streamed.climbs:
        found, took_s = energy_j(climb, of), pass_s(climb, of)
        assert found and took_s
        assert found.value == pytest.approx(50 * took_s, rel=0.1)
    assert streamed.campaign.power.idle
    assert "Energy of a pass" in Brief(streamed).html()


def test_a_stream_s_own_cpu_time_is_less_than_its_queries_take(streamed: Any) -> None:
    for rung in streamed.climbs[0].of("query"):
        assert 0 < rung.tally.load_generator_cpu_s < rung.tally.window_s


def test_refresh_functions_frame_each_pass_and_the_rows_are_those_of_the_load(
    streamed: Any,
) -> None:
    for climb in streamed.climbs:
        runs = [(rung.order.repeat, rung.order.of_query) for rung in climb.of("query")]
        for number in (1, 2):
            own = [name for repeat, name in runs if repeat == number]
            assert own == ["RF1", "query 6", "query 1", "RF2"]
        assert [(check.name, check.passed) for check in climb.checks] == [("rows", True)]


def test_a_refreshed_pass_is_judged_by_rows_that_were_refreshed_too() -> None:
    with AskedQueries(Workload(type="tproc-h", scale=0.02, refresh=True), 9300) as asked:
        orders = "SELECT count(*) FROM orders"
        plain, later = asked._reference.answer(orders), []
        for number in (1, 2, 0):
            asked._refresh(number)
            later.append(asked._reference.answer(orders)[0][0] - plain[0][0])
    assert later == [31, 32, 0], "no order has the key 0"


def test_a_query_that_is_drawn_again_is_judged_by_the_rows_of_its_own_pass() -> None:
    """Query 13 has 16 pairs of words: passes 1 and 2 have the same."""
    with AskedQueries(Workload(type="tproc-h", scale=0.02, refresh=True), 9300) as asked:
        one, other = (asked.query(13, number) for number in (1, 2))
        assert one.text == other.text
        assert one.judge and other.judge
        rows = []
        for number in (1, 2):
            asked._refresh(number)
            rows.append(asked._reference.answer(one.text.statements[0]))
        assert rows[0] != rows[1]
        assert [one.judge(rows[0]), other.judge(rows[1])] == ["", ""]


def test_the_brief_of_streams_draws_queries_per_hour(streamed: Any) -> None:
    page = Brief(streamed).html()
    assert "Queries per hour by streams side by side" in page
    assert "RF1" in page


def started(place: Path, file: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "kneebench", "run", str(file), "--json", "--no-brief", "--yes"]
    environment = {**os.environ, "XDG_STATE_HOME": str(place / "state")}
    return subprocess.Popen(
        [*command, "--out", "out"],
        cwd=place,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def events_until(process: subprocess.Popen[str], rungs: int = 10**6) -> list[dict[str, Any]]:
    """What it reports up to so many rungs, or to its end."""
    assert process.stdout
    found: list[dict[str, Any]] = []
    for line in process.stdout:
        found.append(json.loads(line))
        if sum(one["kind"] == "rung" for one in found) >= rungs:
            break
    return found


AT = [
    pytest.param(signal.SIGKILL, 2, id="killed behind RF1 and a query"),
    pytest.param(signal.SIGINT, 4, id="interrupted in the second query"),
    *(
        pytest.param(signal.SIGKILL, rungs, marks=pytest.mark.long, id=f"killed behind {rungs}")
        for rungs in (1, 3, 5, 6, 7, 9, 11, 12)
    ),
]


@pytest.mark.parametrize(("ended_by", "rungs"), AT)
def test_a_campaign_that_was_ended_in_a_pass_goes_on_there_and_leaves_nothing(
    ended_by: int, rungs: int, tmp_path: Path
) -> None:
    """With the orders of RF1, which the database that is restored for the rest does not have."""
    file, disk = tmp_path / "plan.toml", tmp_path / "disk"
    disk.mkdir()
    file.write_text(KILLED.format(disk=disk, images=shared_images()))
    with started(tmp_path, file) as process:
        events_until(process, rungs)
        process.send_signal(ended_by)
    with started(tmp_path, file) as process:
        events = events_until(process)
    assert any(f"({plural(rungs, 'rung')} already measured)" in one["doing"] for one in events)
    assert len(load(next((tmp_path / "out").iterdir())).climbs[0].rungs) == 12
    assert process.returncode == 0
    assert [one.name for one in disk.iterdir()] == []
    environment = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state")}
    command = [sys.executable, "-m", "kneebench", "clean"]
    cleaned = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "nothing to clean up" in cleaned.stdout


KILLED = """
meters = ["cores", "devices"]
[workload]
type = "tproc-h"
scale = 0.02
queries = [6, 1]
refresh = true
[ladder]
repeats = 2
[database]
base_image_path = "{images}"
[storages]
disk = {{ path = "{disk}" }}
"""
