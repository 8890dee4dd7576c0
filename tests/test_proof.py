"""Proofs on the simulated engine: what limits a knee is relieved, and measured in turn with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kneebench import load, run
from kneebench.analysis.bottleneck import bottleneck
from kneebench.analysis.configuration_summary import configuration_summaries
from kneebench.analysis.proof import proved, reliefs_to_try, users_to_prove
from kneebench.analysis.wording import times_and_interval
from kneebench.brief import Brief
from kneebench.plan import Plan
from kneebench.records import Event, Results
from kneebench.results.campaign_reader import rungs_in
from tests.recorded.situations import kept
from tests.recordings import section

ONE_CORE = {"small": {"cores": 1, "memory": "1GiB"}}
"""Of a machine with at least two; the model pretends 2 GB of data."""

ONCE = {"users": 8, "window": "5s", "final_window": "5s", "warm_up": "1s"}
ONCE |= {"checkpoints": 0, "repeats": 1}


def plan(ladder: dict[str, Any] | None = None, **model: Any) -> Plan:
    """8 users on a model, once: 2 ms of CPU per transaction."""
    figures = {"cores": 8, "cpu_per_transaction": "2ms", "read_latency": "20us", **model}
    return Plan.model_validate(
        {
            "database": {"engine": "simulated"},
            "workload": {"warehouses": 20},
            "constraints": ONE_CORE,
            "ladder": {**ONCE, **(ladder or {})},
            "storages": {"drive": {"simulated": figures}},
        }
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A database with one core, relieved by what looks short."""
    return run(plan({"prove": "all"}), tmp_path_factory.mktemp("proved"))


def test_more_cores_prove_that_cores_were_short_and_more_memory_is_tried_beside(results) -> None:
    [proof] = results.campaign.proofs.values()
    cores, memory = {one.relief: one for one in proof.relieved}.values()
    assert (cores.relief, cores.verdict, memory.relief) == ("more cores", "proved", "more memory")
    assert cores.gain and cores.gain.low > 1.05
    assert memory.verdict == "refuted"
    assert proof.impossible["log in memory"] == "the storage names no directory or drives"
    found = proved(bottleneck(results.climbs[0]), proof)
    assert (found.resource, found.verdict, found.gain) == ("cpu", "proved", cores.gain)
    assert cores.sentence in found.next_limit and memory.sentence in found.next_limit


def test_what_was_proved_stands_in_the_brief_and_in_the_summary(results: Results) -> None:
    page = Brief(results).html()
    assert "proved" in page and "With more cores" in page
    [gain] = [one.gain for one in results.campaign.proofs["drive-small"].relieved if one.gain][:1]
    cards = [
        one for one in section(Brief(results), "glance").numbers if "with more cores" in one.says
    ]
    assert [(one.value, one.sure) for one in cards] == [times_and_interval(gain)]
    assert configuration_summaries(results)[0].bottleneck == "CPU (proved)"
    assert load(results.folder or "") == results, "kept"


def test_both_sides_take_turns_on_restores_of_their_own(results: Results) -> None:
    assert results.folder
    [folder] = (results.folder / "proofs" / "drive-small").iterdir()
    rungs = rungs_in(folder, None)
    first, second = (
        [rung.order.configuration for rung in rungs if rung.order.repeat == repeat]
        for repeat in (1, 2)
    )
    assert first == second[::-1] and len({*first}) == 3
    assert all(rung.restore_s is not None for rung in rungs)


def test_short_rounds_are_proved_side_by_side_for_the_baselines_limit_alone(
    tmp_path: Path,
) -> None:
    """Four rounds on one restore settle it."""
    short = {"rounds": "short", "final_window": "2s", "repeats": 8, "prove": "baseline"}
    results = run(plan(short), tmp_path)
    [proof] = results.campaign.proofs.values()
    assert [(one.relief, one.verdict) for one in proof.relieved] == [("more cores", "proved")]
    assert results.folder
    [folder] = (results.folder / "proofs" / "drive-small").iterdir()
    rungs = rungs_in(folder, None)
    assert [rung.order.repeat for rung in rungs] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert sum(rung.restore_s is not None for rung in rungs) == 2
    first, second = (rung.order.configuration for rung in rungs[:2])
    assert [rung.order.configuration for rung in rungs[2:4]] == [second, first]


def test_a_limit_that_is_assumed_wrongly_is_refuted(tmp_path: Path) -> None:
    [proof] = run(plan(), tmp_path, reliefs=["more memory"]).campaign.proofs.values()
    assert [(one.relief, one.verdict) for one in proof.relieved] == [("more memory", "refuted")]


def test_a_proof_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    measured: list[str] = []

    def stop(event: Event) -> None:
        if event.kind == "rung" and not event.data["kept"]:
            measured.append(event.doing)
            if len(measured) == 6:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(plan(), tmp_path, watch=stop, reliefs=["more memory"])
    again = run(plan(), tmp_path, watch=stop, reliefs=["more memory"])
    [proof] = again.campaign.proofs.values()
    whole = run(plan(), tmp_path, fresh=True, reliefs=["more memory"])
    assert proof == whole.campaign.proofs["drive-small"], "the same as without a stop"
    assert len(measured) < 6 + 3 + 6, "what was kept was not measured again"


def test_a_load_that_the_load_generator_could_not_drive_is_proved_at_its_users() -> None:
    generator, log = kept("load_generator"), kept("log")
    assert (generator.knee_users, users_to_prove(generator)) == (None, 4)
    assert users_to_prove(log) == log.knee_users == 8
    assert reliefs_to_try(generator)[0] == ("another load generator core",)


def test_a_finished_campaign_is_proved_without_being_measured_again(tmp_path: Path) -> None:
    announced: list[str] = []
    finished = run(plan(), tmp_path)
    memory = run(plan(), tmp_path, reliefs=["more memory"])
    both = run(
        plan(),
        tmp_path,
        watch=lambda event: announced.append(event.doing),
        reliefs=["more memory", "more cores"],
    )
    assert finished.folder == memory.folder == both.folder
    assert both.finished and both.climbs == finished.climbs
    [proof] = both.campaign.proofs.values()
    assert proof.tried == ("more memory", "more cores")
    [said] = [doing for doing in announced if doing.startswith("proving")]
    assert said == "proving what limits drive (small): as it was and more cores, in turn"
    assert run(plan(), tmp_path, reliefs=["more cores"]).folder != both.folder, "all were proved"
