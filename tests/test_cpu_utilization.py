"""One CPU utilization of a configuration, wherever a campaign shows it."""

from __future__ import annotations

import re

import pytest

from kneebench import run
from kneebench.analysis.bottleneck import bottleneck
from kneebench.analysis.control import controls
from kneebench.analysis.cpu_utilization import cpu_utilization, database_cores
from kneebench.analysis.knee import final_rungs
from kneebench.analysis.sweep_rows import sweep_rows
from kneebench.analysis.wording import percent
from kneebench.brief import Brief
from kneebench.brief.sections.glance import stop_reason_sentence
from kneebench.plan import Plan
from kneebench.records import Climb, Order, Results, Rung, StopResult, Summary
from kneebench.screen.summary import results_json
from tests.curves import rung
from tests.recordings import section
from tests.swept import BUSY, sweep_plan

LEAST_BUSY = re.compile(r"[Ll]east busy (?:database )?core (?:was )?([\d.]+%)")


def busy_plan() -> Plan:
    """Two cores that 24 users keep busy, and eight that they do not; noise between restores."""
    noisy = {**BUSY, "noise": 0.05, "restore_noise": 0.05}
    return sweep_plan({"cores": [2, 8]}, storages={"disk": {"simulated": noisy}})


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run(busy_plan(), tmp_path_factory.mktemp("busy"))


def test_table_evidence_control_and_stop_reason_have_the_same_figure(results: Results) -> None:
    brief = Brief(results)
    rows = section(brief, "sweep").tables[0].rows
    said = [stop_reason_sentence(brief.view, climb) for climb in results.climbs]
    document = results_json(results)
    for climb, row, words in zip(results.climbs, rows, said, strict=True):
        used = cpu_utilization(final_rungs(climb))
        assert used
        mean, least = percent(used.mean.value), percent(used.least_busy.value)
        both = f"{mean} busy" if mean == least else f"{mean} busy (least busy core {least})"
        assert row.cells[8].split() == [mean, f"({least})"][: 1 + (mean != least)]
        (cpu,) = (one for one in bottleneck(climb).rows if one.resource == "cpu")
        assert cpu.utilization.startswith(both)
        assert controls(results.climbs)[climb.id].seen == least
        assert document["controls"][climb.id]["seen"] == least
        assert f"the database's cores were {both}" in words
        shown = {least, *LEAST_BUSY.findall(words), *LEAST_BUSY.findall(cpu.why)}
        assert shown == {least}
        assert not any(
            "%" in one.sentence for one in climb.stop_results if one.stop == "fixed_load"
        )
    flat = {one.configuration: one for one in sweep_rows(results)}
    for climb in results.climbs:
        used = cpu_utilization(final_rungs(climb))
        own = flat[climb.configuration.name]
        assert used and (own.busy, own.least_busy_core) == (
            used.mean.value,
            used.least_busy.value,
        )


def test_it_is_the_mean_over_the_cores_of_the_database_and_over_its_final_runs() -> None:
    def one(repeat: int, *shares: float) -> Rung:
        made = rung(Order(configuration="disk", phase="final_run", users=8, repeat=repeat), 1000.0)
        cores = {str(n): share for n, share in enumerate(shares)}
        busy = Summary(unit="share", value=min(shares), high=1.0, sources=cores)
        return made.model_copy(update={"quantities": {"database.busy": busy}})

    runs = [one(1, 0.96, 0.90), one(2, 0.96, 0.90)]
    used = cpu_utilization(runs)
    assert used and used.words == "93% busy (least busy core 90%)"
    assert database_cores(runs[0]) == {"0", "1"}
    alone = cpu_utilization([one(1, 0.5)])
    assert alone and alone.words == "50% busy"
    assert (
        cpu_utilization([rung(Order(configuration="disk", phase="search", users=8), 1000.0)])
        is None
    )


def test_the_stop_reason_of_a_fixed_load_has_the_figure_of_the_final_runs(
    results: Results,
) -> None:
    was = "Fixed load of 24 users, not a knee; the least busy database core was 12.3% busy"
    old = StopResult(stop="fixed_load", fired=True, seen="24 users", limit="24 users", sentence=was)

    def first_rung(climb: Climb) -> Climb:
        return climb.model_copy(update={"stop_results": (old,)})

    found = results.model_copy(update={"climbs": tuple(map(first_rung, results.climbs))})
    said = section(Brief(found), "glance").stop_reasons
    assert not any("12.3%" in one.sentence for one in said)


def test_fig_5_draws_the_cores_of_the_database_alone(results: Results) -> None:
    """Not those of the load generator, which the meter reads as well."""
    from kneebench.brief.sections.over_time import _Read
    from kneebench.records import Series

    one = final_rungs(results.climbs[0])[0]
    (first, *_) = sorted(database_cores(one))

    def series(source: str, share: float) -> Series:
        return Series(
            quantity="cores.busy", source=source, unit="share", at_s=(1.0, 2.0), value=(share,) * 2
        )

    read = _Read(one, [series(first, 0.9), series("99", 0.1)])
    assert [point["value"] for point in read.cores] == [0.9, 0.9]
