"""How long a plan will take, by what such steps took on this machine before."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import pytest

from kneebench.analysis.rounds import are_enough, unit_rounds
from kneebench.campaign.expected_duration import is_loaded
from kneebench.plan import Plan
from kneebench.plan.configurations import configurations
from kneebench.plan.duration import Expected, expected, steps
from kneebench.plan.ladder import Ladder
from kneebench.plan.study import Study
from kneebench.records import Climb, Finding, Host, Order, Results, Rung
from kneebench.results import step_times
from tests.recordings import recorded, recorded_host, recorded_plan

SHORT = {
    "rounds": "short",
    "repeats": [4, 8],
    "restore_every": 2,
    "checkpoints": 0,
    "final_window": "2s",
    "window": "3s",
}


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


def lasted_s(results: Results) -> float:
    """From the first restore of a campaign to the end of its last rung."""
    rungs = [rung for climb in results.climbs for rung in climb.rungs]
    starts, ends = map(step_times._start, rungs), map(step_times._end, rungs)
    return max(ends) - min(starts) + (rungs[0].restore_s or 0.0)


def foreseen(plan: Plan, host: Host) -> Expected:
    before = step_times.StepTimes(host, Study(plan)).as_before()
    return expected(Study(plan).databases, host, before)


def foreseen_s(plan: Plan, host: Host) -> float:
    parts = foreseen(plan, host)
    return parts.climbs_s + parts.final_runs_s


def slower(results: Results, times: float) -> Results:
    """The same campaign on a machine where all but the windows takes so many times as long."""
    rungs = sorted(
        (rung for climb in results.climbs for rung in climb.rungs), key=step_times._start
    )
    began, clock = dict[str, str](), 0.0
    for rung, after in pairwise((*rungs, rungs[-1])):
        began[rung.order.key] = _at(clock)
        rest_s = step_times._start(after) - step_times._start(rung) - rung.tally.window_s
        clock += rung.tally.window_s + times * max(rest_s, 0.0)

    def changed(rung: Rung) -> Rung:
        fields = {
            "started_at": began[rung.order.key],
            "warm_up_s": times * rung.warm_up_s,
            "restore_s": rung.restore_s and times * rung.restore_s,
        }
        return rung.model_copy(update=fields)

    return with_rungs_of(results, lambda climb: map(changed, climb.rungs))


def with_rungs_of(results: Results, of: Callable[[Climb], Iterable[Rung]]) -> Results:
    climbs = [climb.model_copy(update={"rungs": tuple(of(climb))}) for climb in results.climbs]
    return results.model_copy(update={"climbs": tuple(climbs)})


def _at(seconds: float) -> str:
    whole = round(seconds)
    return f"2026-01-01T{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}+00:00"


@pytest.mark.parametrize("times", [1.0, 3.0])
def test_a_plan_that_ran_here_is_foreseen_as_it_was(times: float) -> None:
    ran, host, plan = slower(recorded(), times), recorded_host(), recorded_plan()
    step_times.StepTimes(host, Study(plan)).keep(ran)
    assert foreseen_s(plan, host) == pytest.approx(lasted_s(ran), rel=0.1)


def test_another_plan_of_the_same_engine_is_foreseen_by_its_steps() -> None:
    host, plan = recorded_host(), recorded_plan()
    ladder = {**plan.model_dump(mode="json")["ladder"], "repeats": 1}
    other = recorded_plan(ladder=ladder, question="another")
    before = foreseen_s(other, host)
    step_times.StepTimes(host, Study(plan)).keep(slower(recorded(), 3.0))
    assert foreseen_s(other, host) > 1.5 * before
    assert foreseen(other, host).final_runs_s < foreseen(plan, host).final_runs_s, "one of three"


def test_the_turns_of_other_configurations_are_no_part_of_a_configurations_runs() -> None:
    """Two configurations in turn: the second is restored once more for the fixed rate, after the
    first.
    """
    plan, model = recorded_plan(), recorded().climbs[0].of("final_run")[0]
    by_configuration: dict[str, list[Rung]] = {climb.id: [] for climb in recorded().climbs}
    first, second = by_configuration
    turns = [(first, "final_run"), (second, "final_run"), (second, "fixed_rate")]
    turns += [(first, "fixed_rate")]
    clock = 1000.0
    for configuration, phase in turns:
        restored = None if (configuration, phase) == (second, "fixed_rate") else 2.0
        order = Order(configuration=configuration, phase=phase, users=4, repeat=1)
        one = {"order": order, "started_at": _at(clock), "warm_up_s": 1.0, "restore_s": restored}
        by_configuration[configuration].append(model.model_copy(update=one))
        clock += 100.0
    every = [*by_configuration[first][:1], *by_configuration[second], *by_configuration[first][1:]]
    groups = step_times._groups(every, short=False)
    assert [len(group) for group in groups] == [1, 2, 1]
    took = dict(step_times._final_steps(groups, every, Study(plan).only_database))
    assert took["run_s"] < 100.0


def test_what_another_machine_took_says_nothing() -> None:
    host, plan = recorded_host(), recorded_plan()
    before = foreseen_s(plan, host)
    step_times.StepTimes(host.model_copy(update={"cpu": "another"}), Study(plan)).keep(
        slower(recorded(), 3.0)
    )
    assert foreseen_s(plan, host) == before


def test_counts_say_nothing_of_another_plan() -> None:
    """Rounds and rungs depend on the ladder, and on luck."""
    host, plan = recorded_host(), recorded_plan()
    ran = with_rungs_of(recorded(), lambda climb: (*climb.rungs, *climb.of("final_run")))
    step_times.StepTimes(host, Study(plan)).keep(ran)
    other = recorded_plan(question="another", workload={"warehouses": 9})
    [configuration, *_] = configurations(other)
    modelled = steps(Study(other).only_database, configuration, host)
    found = step_times.StepTimes(host, Study(other)).as_before()(configuration, modelled)
    assert (found.rungs, found.runs, found.restores) == (
        modelled.rungs,
        modelled.runs,
        modelled.restores,
    )


@pytest.mark.parametrize("every", range(1, 9))
def test_as_many_rounds_are_foreseen_as_may_be_precise_enough(every: int) -> None:
    ladder = Ladder(rounds="short", repeats=(4, 50), restore_every=every, checkpoints=0)
    enough = next(
        rounds
        for rounds in range(1, 60)
        if are_enough(unit_rounds([[1.0] * len(one) for one in _restores(rounds, every)]))
    )
    assert ladder.fewest_rounds == enough


def _restores(rounds: int, every: int) -> list[range]:
    return [range(at, min(at + every, rounds)) for at in range(0, rounds, every)]


def test_a_database_is_loaded_where_every_image_is_there() -> None:
    there = Finding(level="ok", subject="x", seen="will be reused", about="base_image")
    other = Finding(level="ok", subject="y", seen="built", keeps_bytes=1, about="base_image")
    full = Finding(level="error", subject="base image", seen="no space")
    storage = Finding(level="ok", subject="old base image", seen="space enough", writes_bytes=1)
    assert is_loaded([there]) and is_loaded([there, full, storage])
    assert not any(map(is_loaded, ([], [there, other], [full], [storage], [other])))


def test_a_damaged_file_is_ignored_and_only_the_newest_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(step_times, "NEWEST", 2)
    host, plan = recorded_host(), recorded_plan()
    for number in range(3):
        campaign = recorded().campaign.model_copy(update={"id": f"c{number}"})
        step_times.StepTimes(host, Study(plan)).keep(
            recorded().model_copy(update={"campaign": campaign})
        )
    [folder] = (tmp_path / "kneebench" / "durations").iterdir()
    kept = list(folder.iterdir())
    assert len(kept) == 2
    assert folder.stat().st_mode & 0o077 == 0
    for file in kept:
        file.write_text("{")
    unknown = expected(Study(plan).databases, host)
    assert foreseen_s(plan, host) == unknown.climbs_s + unknown.final_runs_s


def test_short_rounds_are_counted_by_restore() -> None:
    """Two restores of 20 s for both configurations, two rounds each of 5 s a run."""
    plan = recorded_plan(ladder=SHORT | {"users": 4, "fixed_rate_share": 0})
    host, model = recorded_host(), recorded().climbs[0].of("final_run")[0]
    by_configuration: dict[str, list[Rung]] = {climb.id: [] for climb in recorded().climbs}
    clock = 1000.0
    for restore in (1, 2):
        clock += 20.0
        for repeat in (2 * restore - 1, 2 * restore):
            for configuration in by_configuration:
                order = Order(
                    configuration=configuration,
                    phase="final_run",
                    users=4,
                    repeat=repeat,
                    restore=restore,
                )
                tally = model.tally.model_copy(update={"window_s": 2.0})
                one = {"order": order, "tally": tally, "started_at": _at(clock), "warm_up_s": 1.0}
                by_configuration[configuration].append(model.model_copy(update=one))
                clock += 5.0
    step_times.StepTimes(host, Study(plan)).keep(
        with_rungs_of(recorded(), lambda climb: by_configuration[climb.id]),
    )
    found = expected(
        Study(plan).databases, host, step_times.StepTimes(host, Study(plan)).as_before()
    ).final_runs_s
    assert found == pytest.approx(2 * 20 + 8 * 5, rel=0.15)
