"""Campaigns with short rounds: databases side by side, of the same age, resumed where they stopped;
simulated, and on the embedded PostgreSQL.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from kneebench import run
from kneebench.analysis.comparison import compare, noise_floor, ratio_of
from kneebench.analysis.headline import headline
from kneebench.analysis.outcome import exit_code, failed_checks
from kneebench.analysis.quantity_ratio import NOPM
from kneebench.brief import Brief
from kneebench.campaign import restored
from kneebench.databases.engine import Server
from kneebench.errors import InvalidMeasurement
from kneebench.measurement.measure import MeasuredRung, measure
from kneebench.plan import Plan
from kneebench.plan.database_plan import RungPlan
from kneebench.plan.ladder import ROUND_RAMP_S
from kneebench.plan.reader import parse_plan
from kneebench.records import Climb, Event, Order, Results
from kneebench.screen.summary import printed, results_json
from tests.loaded import shared_images
from tests.remarks import invalid as marked_invalid

LADDER = {
    "users": [1, 64],
    "step": 2,
    "warm_up_limit": "30s",
    "window": "10s",
    "final_window": "3s",
    "checkpoints": 0,
    "rounds": "short",
    "repeats": [4, 16],
    "restore_every": 4,
}
FAST = {
    "log_latency": "1ms",
    "cores": 4,
    "cpu_per_transaction": "4ms",
    "checkpoint_every": "0s",
}
SLOW = {**FAST, "read_latency": "10ms", "read_channels": 8}


def plan(slow: dict[str, object] = SLOW, **ladder: object) -> Plan:
    return Plan.model_validate(
        {
            "database": {"engine": "simulated"},
            "workload": {"warehouses": 400},
            "storages": {"fast": {"simulated": FAST}, "slow": {"simulated": slow}},
            "ladder": {**LADDER, **ladder},
        }
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run(plan(), tmp_path_factory.mktemp("campaigns"))


def test_every_storage_has_as_many_rounds_and_as_many_latencies(results: Results) -> None:
    (rounds,) = {len(climb.of("final_run")) for climb in results.climbs}
    assert 10 <= rounds <= 16
    for climb in results.climbs:
        at_fixed_rate = [rung.order.repeat for rung in climb.of("fixed_rate")]
        assert at_fixed_rate == [n for n in range(1, rounds + 1) if n % 4 in (1, 3)]


def test_a_title_of_rounds_that_were_not_as_precise_as_planned_says_about(
    results: Results, tmp_path: Path
) -> None:
    assert "about" not in headline(results)
    short_of_it = headline(run(plan(repeats=[4, 10], precision=0.0001), tmp_path))
    assert re.match(r"Simulated\. Slow: about 0\.\d+x fast's NOPM\b", short_of_it)
    planned = headline(run(plan(repeats=10, precision=0.0001), tmp_path))
    assert "about" not in planned, "so many rounds were what the plan wanted"


def test_the_windows_of_a_turn_at_the_knee_begin_after_as_many_transactions_on_every_storage(
    results: Results,
) -> None:
    fast, slow = (climb.of("final_run") for climb in results.climbs)
    for one, other in zip(fast, slow, strict=True):
        assert (one.order.restore, one.order.repeat) == (other.order.restore, other.order.repeat)
        second = max(one.tally.throughput_per_s, other.tally.throughput_per_s)
        assert one.age_transactions == pytest.approx(other.age_transactions, abs=second)
        logged = [rung.quantity("log.bytes_per_transaction") for rung in (one, other)]
        assert logged[0] == pytest.approx(logged[1], rel=0.1)
    first = [rung.age_transactions for rung in slow if rung.order.restore == 1]
    again = [rung.age_transactions for rung in slow if rung.order.restore == 2]
    assert first == pytest.approx(again, rel=0.15)


def test_at_the_fixed_rate_a_slower_storage_does_not_catch_up_with_a_faster_one(
    results: Results,
) -> None:
    fast, slow = (climb.of("fixed_rate") for climb in results.climbs)
    assert {rung.warm_up_s for rung in (*fast, *slow)} == {ROUND_RAMP_S}
    assert all(
        one.age_transactions > other.age_transactions for one, other in zip(fast, slow, strict=True)
    )


def test_a_round_in_which_any_server_began_a_checkpoint_is_measured_again(tmp_path: Path) -> None:
    results = run(plan({**SLOW, "checkpoint_every": "45s"}), tmp_path)
    quoted = [rung for climb in results.climbs for rung in climb.of("final_run", "fixed_rate")]
    assert not any(rung.quantity("checkpoints.timed") for rung in quoted)
    repeated = [note for rung in quoted for note in rung.notes if "was repeated" in note]
    assert repeated
    assert all("a checkpoint started on slow" in note for note in repeated)


def test_rounds_that_always_meet_a_checkpoint_are_invalid(tmp_path: Path) -> None:
    results = run(plan({**SLOW, "checkpoint_every": "3s"}, repeats=4), tmp_path)
    _, slow = results.climbs
    assert {rung.invalid for rung in slow.of("final_run")} == {"a checkpoint started on slow"}
    assert exit_code(results) == InvalidMeasurement.exit_code


def test_a_comparison_of_rounds_has_a_narrow_interval_and_no_floor_of_single_rounds(
    results: Results,
) -> None:
    nopm = next(found for found in compare(results) if found.quantity == "nopm")
    assert nopm.differs
    assert nopm.ratio.n == len(results.climbs[0].of("final_run"))
    assert "rounds on 3 restores" in nopm.ratio.method
    assert nopm.ratio.high / nopm.ratio.low < 1.25
    assert nopm.noise_floor == 0.02


def rounds(climb: Climb, invalid: int) -> Climb:
    """The climb with so many of its final runs invalid."""
    finals = list(climb.of("final_run"))
    marked = {rung.order.key for rung in finals[:invalid]}
    rungs = (marked_invalid(rung) if rung.order.key in marked else rung for rung in climb.rungs)
    return climb.model_copy(update={"rungs": tuple(rungs)})


def test_a_few_invalid_rounds_leave_a_usable_answer_and_many_do_not(results: Results) -> None:
    first, second = results.climbs
    for invalid, code in ((0, 0), (2, 0), (5, 3)):
        changed = results.model_copy(update={"climbs": (rounds(first, invalid), second)})
        assert exit_code(changed) == code


def test_campaigns_of_rounds_are_compared_with_the_intervals_of_their_rounds(
    results: Results,
) -> None:
    fast, slow = results.climbs
    found = ratio_of(fast, slow, NOPM, interleaved=False)
    paired = next(one for one in compare(results) if one.quantity == "nopm").ratio
    assert found
    assert found.ratio.value == pytest.approx(1 / paired.value, rel=0.05)
    assert "3 restores" in found.ratio.method
    assert found.ratio.low < found.ratio.value < found.ratio.high


def test_a_climb_drifts_beyond_what_two_of_its_rounds_differ_by_and_not_beyond_2_percent(
    results: Results,
) -> None:
    assert noise_floor(results.climbs[:1], NOPM) > 0.02
    assert all(one.noise_floor == 0.02 for one in compare(results))


def test_a_campaign_that_was_stopped_in_its_rounds_ends_with_as_many(tmp_path: Path) -> None:
    class Stopped(Exception):
        pass

    def stopper(event: Event) -> None:
        if event.kind == "rung" and not event.data["kept"]:
            order = event.data["rung"].order
            if order.phase == "fixed_rate" and order.repeat in (3, 5):
                raise Stopped

    for _ in range(4):
        with pytest.raises(Stopped):
            run(plan(repeats=5), tmp_path, watch=stopper)
    resumed = run(plan(repeats=5), tmp_path, watch=stopper)
    assert [len(climb.of("final_run")) for climb in resumed.climbs] == [5, 5]
    assert any("resumed on a freshly restored" in note for note in resumed.campaign.notes)
    assert len({rung.order.rate_per_s for c in resumed.climbs for rung in c.of("fixed_rate")}) == 1


def test_page_terminal_and_json_say_what_ended_the_rounds(
    results: Results,
) -> None:
    rounds = len(results.climbs[0].of("final_run"))
    sentence = f"Precise enough after {rounds} rounds of at most 16: NOPM half-width "
    assert sentence in Brief(results).subtitle
    assert any(sentence in str(part) for part in printed(results))
    found = results_json(results)["rounds"]
    assert (found["rounds"], found["ended_by"]) == (rounds, "precision")
    assert 0 < found["half_width"] <= 0.1


def test_the_brief_says_how_rounds_were_measured_and_what_they_cannot_show(
    results: Results,
) -> None:
    page = Brief(results).html()
    assert "the order reverses from round to round" in page
    assert "restored every 4 rounds" in page
    assert "Short rounds: windows of 3 s leave out" in page
    assert "Quick plan" not in page


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench")


def data_directories(place: Path) -> list[Path]:
    return list(place.glob("*/.kneebench-*-data"))


def share_in_page_cache(place: Path) -> float:
    """Of the tables and indexes of the databases that are there."""
    files = [str(file) for data in data_directories(place) for file in data.glob("**/base/*/*")]
    seen = subprocess.run(["fincore", "-Jb", *files], check=True, capture_output=True, text=True)
    found = json.loads(seen.stdout)["fincore"]
    return sum(int(one["res"]) for one in found) / sum(int(one["size"]) for one in found)


SMALL = """
[workload]
warehouses = 1
[database]
page_cache = "warm"
base_image_path = "{images}"
[ladder]
users = 2
warm_up = "1s"
window = "1s"
final_window = "1s"
checkpoints = 0
rounds = "short"
repeats = 2
restore_every = 1
[storages]
one = {{ path = "one" }}
other = {{ path = "other" }}
"""


def beside_one_checkpoint(configuration: str) -> Callable[..., MeasuredRung]:
    """Measures rungs; one configuration makes a checkpoint just before the first final run of
    another.
    """
    seen: dict[str, Server] = {}
    begun: list[str] = []

    def measured(
        order: Order, plan: RungPlan, server: Server, *of: Any, **how: Any
    ) -> MeasuredRung:
        seen[order.configuration] = server
        if order.phase == "final_run" and not begun:
            begun.append(order.key)
            seen[configuration].checkpoint()
        return measure(order, plan, server, *of, **how)

    return measured


@pytest.mark.long
def test_real_servers_stay_up_side_by_side_and_are_restored_together(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setattr(restored, "caveats", lambda rung: ())  # on shared cores measured once, too
    place.chmod(0o755)
    for name in ("one", "other"):
        Path(name).mkdir()
    servers: dict[str, int] = {}
    cached: list[float] = []

    def watch(event: Event) -> None:
        if event.kind == "end" and event.doing.startswith("restoring"):
            cached.append(share_in_page_cache(place))
        if event.kind == "rung":
            order = event.data["rung"].order
            servers[order.key] = len(data_directories(place))

    monkeypatch.setattr(restored, "measure", beside_one_checkpoint("other"))
    results = run(
        parse_plan(SMALL.format(images=shared_images())), place / "campaigns", watch=watch
    )
    (first,) = [note for note in results.climbs[0].of("final_run")[0].notes if "attempt 1" in note]
    assert "a checkpoint started on other" in first
    assert not [found for found in failed_checks(results) if "condition" in found]
    for climb in results.climbs:
        assert [rung.order.restore for rung in climb.of("final_run")] == [1, 2]
        for rung in climb.of("final_run"):
            assert rung.quantity("checkpoints.timed") == rung.quantity("checkpoints.requested") == 0
        settings = {setting.name: setting.value for setting in results.campaign.settings[climb.id]}
        assert settings["checkpoint_timeout"] == "1h"
    assert {n for key, n in servers.items() if "final_run" in key} == {2}
    assert {n for key, n in servers.items() if "fixed_load" in key} == {1}
    assert median(cached) > 0.9, "other tests may make the kernel evict some pages"
    assert data_directories(place) == []
