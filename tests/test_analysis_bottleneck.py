"""What was short at the knee, resource by resource, with evidence for and against."""

from __future__ import annotations

import pytest
from curves import rung

from kneebench.analysis.bottleneck import bottleneck
from kneebench.records import Bottleneck, Cell, Climb, Order, Summary

HEALTHY = {
    "load_generator__busy": 0.3,
    "database__busy": 0.6,
    "log__write_latency": 0.0008,
    "device__reads_per_transaction": 0.2,
    "device__read_await": 0.0001,
}


def judged(
    waits: dict[str, float] | None = None,
    cores: dict[str, float] | None = None,
    **quantities: float,
) -> Bottleneck:
    """Three reports of 20 users that saw these; `waits` in sessions by class."""
    extra = {
        f"waits.{name}": Summary(unit="", value=value, high=value)
        for name, value in (waits or {}).items()
    }
    if cores:
        extra["cores.busy"] = Summary(unit="", value=0, high=0, sources=cores)
    rungs = []
    for repeat in (1, 2, 3):
        one = rung(
            Order(cell="a", phase="final_run", users=20, repeat=repeat),
            2000.0,
            **{**HEALTHY, **quantities},
        )
        rungs.append(one.model_copy(update={"quantities": {**one.quantities, **extra}}))
    return bottleneck(Climb(cell=Cell(id="a", storage="disk"), rungs=tuple(rungs), knee_users=20))


@pytest.mark.parametrize(
    ("resource", "seen"),
    [
        ("load generator", {"load_generator__busy": 0.85}),
        ("cpu", {"database__busy": 0.98}),
        ("one core", {"cores": {"0": 0.18, "1": 0.96, "2": 0.2}}),
        ("log", {"log__write_latency": 0.0062}),
        ("log", {"waits": {"log": 11.0}}),
        ("data reads", {"waits": {"data_read": 11.0}}),
        ("data reads", {"device__reads_per_transaction": 8.0, "device__read_await": 0.001}),
        ("locks", {"waits": {"lock": 5.0}}),
    ],
)
def test_each_resource_is_named_when_it_alone_is_short(resource: str, seen: dict) -> None:
    found = judged(**seen)
    assert found.resource == resource
    assert found.evidence[0].startswith(f"for {resource}: ")
    assert "limit" in found.evidence[0]
    assert found.sentence.startswith("Disk is limited by ")


def test_nothing_short_is_unknown_and_every_rule_is_told_as_evidence_against() -> None:
    found = judged(waits={"other": 1.0}, cores={"0": 0.6, "1": 0.62})
    assert found.resource == "unknown"
    assert len(found.evidence) == 6
    assert all(line.startswith("against ") for line in found.evidence)
    assert "No single bottleneck was found" in found.sentence


def test_where_the_time_went_is_said_when_no_share_alone_is_beyond_its_limit() -> None:
    found = judged(waits={"data_read": 9.4, "log": 7.8, "lock": 0.1})
    assert found.resource == "unknown"
    assert (
        "users spent most of their time waiting for data reads (47%) and log (39%)"
        in found.sentence
    )


def test_busy_cores_are_asked_before_the_waits_that_they_lengthen() -> None:
    found = judged(database__busy=0.99, log__write_latency=0.009)
    assert found.resource == "cpu"
    assert "also over its limit: log" in found.sentence


def test_waits_of_no_class_name_no_resource() -> None:
    assert judged(waits={"other": 15.0}).resource == "unknown"


def test_all_cores_busy_alike_are_no_single_core() -> None:
    assert judged(cores={"0": 0.96, "1": 0.97}).resource == "unknown"


def test_what_was_not_measured_is_said_and_speaks_neither_way() -> None:
    bare = Climb(
        cell=Cell(id="a", storage="disk"),
        rungs=(rung(Order(cell="a", phase="search", users=8), 100.0),),
        knee_users=8,
    )
    found = bottleneck(bare)
    assert found.resource == "unknown"
    assert all(line.startswith("unknown ") for line in found.evidence)
    assert "not judged: load generator, cpu, one core, log, data reads, locks" in found.sentence


def test_where_no_waits_were_measured_locks_are_not_judged() -> None:
    assert any(line.startswith("unknown locks") for line in judged().evidence)


def test_a_climb_without_a_knee_has_no_bottleneck() -> None:
    found = bottleneck(Climb(cell=Cell(id="a", storage="disk"), rungs=()))
    assert (found.resource, found.evidence) == ("unknown", ())


def test_cores_that_other_programs_keep_busy_are_not_the_databases_shortage() -> None:
    found = judged(database__busy=0.99, database__others=0.6)
    assert found.resource == "unknown"
    assert any(
        line.startswith("unknown cpu: ")
        and "other processes used 60% of the database's cores" in line
        for line in found.evidence
    )
    assert judged(database__busy=0.99, database__others=0.1).resource == "cpu"


def test_a_busy_core_of_the_load_host_is_not_the_shortage_of_a_database_elsewhere() -> None:
    cores = Summary(unit="share", value=0.3, high=0.3, sources={"0": 0.18, "1": 0.96, "2": 0.2})
    one = rung(
        Order(cell="a", phase="final_run", users=20, repeat=1),
        2000.0,
        **{name: value for name, value in HEALTHY.items() if name != "database__busy"},
    )
    seen = one.model_copy(update={"quantities": {**one.quantities, "cores.busy": cores}})
    found = bottleneck(Climb(cell=Cell(id="a", storage="disk"), rungs=(seen,), knee_users=20))
    assert found.resource == "unknown"
    assert "not judged: cpu, one core, locks" in found.sentence


def test_one_core_that_another_program_may_have_filled_is_not_called_short() -> None:
    cores = {str(n): 0.98 if n == 2 else 0.2 for n in range(8)}
    busy = Summary(unit="share", value=0.2, high=0.2, sources=cores)
    one = rung(Order(cell="a", phase="final_run", users=20, repeat=1), 2000.0, **HEALTHY)

    def with_others(share: float) -> Bottleneck:
        others = Summary(unit="share", value=share, high=share)
        seen = one.model_copy(
            update={
                "quantities": {**one.quantities, "database.busy": busy, "database.others": others}
            }
        )
        return bottleneck(Climb(cell=Cell(id="a", storage="disk"), rungs=(seen,), knee_users=20))

    assert with_others(0.01).resource == "one core"
    assert with_others(0.12).resource == "unknown"
