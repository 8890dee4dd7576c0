"""Plans that differ in what matters are not compared, and the field is named."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from kneebench.brief.campaigns import ComparisonPage
from kneebench.brief.terminal import told
from kneebench.errors import PlanError
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Phase, Results, Rung, Setting
from kneebench.results import comparable, compare_campaigns, compare_plans
from kneebench.results.campaign_differences import differences, differing_settings
from kneebench.results.trend import trends
from tests.recordings import (
    each,
    recorded,
    recorded_plan,
    with_campaign,
    with_equal_repeats,
    with_order,
    with_plan,
)
from tests.terminal import drawn

PLAN = recorded_plan()
ID = recorded().campaign.id
STOPS = recorded().campaign.plan["ladder"]["stops"]


def other(**tables: dict[str, Any]) -> Plan:
    own = recorded().campaign.plan
    return recorded_plan(**{name: {**own[name], **fields} for name, fields in tables.items()})


def renamed(results: Results, id_: str, **fields: object) -> Results:
    return with_campaign(results, id=id_, **fields)


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"workload": {"warehouses": 61}}, "workload.warehouses"),
        ({"workload": {"profile": "hammerdb"}}, "workload.profile"),
        ({"database": {"settings": {"shared_buffers": "2GB"}}}, "database.settings.shared_buffers"),
        ({"database": {"restore": "clone"}}, "database.restore"),
        ({"ladder": {"final_window": "61s"}}, "ladder.final_window"),
        (
            {"ladder": {"stops": {**STOPS, "log_latency": {"limit": "6ms"}}}},
            "ladder.stops.log_latency.limit",
        ),
    ],
)
def test_a_field_that_matters_is_named(changed: dict[str, dict[str, Any]], field: str) -> None:
    assert compare_plans(Study(PLAN).document, Study(other(**changed)).document) == [field]


def test_storages_question_seed_budget_and_repeats_do_not_matter() -> None:
    plan = other(ladder={"budget": "1h", "repeats": 5}, storages={"ssd": {"path": "ssd"}})
    assert (
        compare_plans(
            Study(PLAN).document,
            Study(plan.model_copy(update={"question": "Else?", "seed": 1})).document,
        )
        == []
    )


def test_a_rate_in_one_plan_makes_the_share_of_the_other_irrelevant() -> None:
    share, rate = (
        other(ladder=keys) for keys in ({"fixed_rate_share": 0.5}, {"latency_rate": "880/s"})
    )
    assert compare_plans(Study(share).document, Study(PLAN).document) == ["ladder.fixed_rate_share"]
    assert compare_plans(Study(share).document, Study(rate).document) == []


def test_margins_of_acceptance_do_not_stop_a_comparison() -> None:
    plan = Plan.model_validate({**recorded().campaign.plan, "accept": {"margin": 0.2}})
    assert compare_plans(Study(PLAN).document, Study(plan).document) == []


def test_fields_are_named_in_the_order_of_what_tells_most() -> None:
    assert compare_plans(
        Study(PLAN).document,
        Study(other(ladder={"window": "11s"}, workload={"warehouses": 61})).document,
    ) == [
        "workload.warehouses",
        "ladder.window",
    ]


def test_comparing_what_is_not_comparable_names_the_first_field_and_both_values() -> None:
    one = recorded()
    two = renamed(one, "second", plan=other(workload={"warehouses": 61}).model_dump(mode="json"))
    own = PLAN.workload.warehouses
    with pytest.raises(
        PlanError,
        match=rf"workload\.warehouses is {own} in the first and 61 in the second",
    ) as caught:
        comparable(one, two)
    assert caught.value.exit_code == 2


def test_settings_that_change_what_storage_sees_are_told_apart() -> None:
    one = recorded()
    changed = {"disk": (Setting(name="data_checksums", value="off", matters=True),)}
    told = differing_settings(one, renamed(one, "second", settings=changed))
    assert f"data_checksums is on in {ID} and off in second" in told


def ratio(results: Results, phase: Phase, figure: Callable[[Rung], float]) -> float:
    """A figure of memory's first run, by that of disk's."""
    disk, memory = (figure(climb.of(phase)[0]) for climb in results.climbs)
    return memory / disk


def mean_s(rung: Rung) -> float:
    assert rung.tally.latency
    return rung.tally.latency.mean_s


def test_campaigns_side_by_side_have_every_knee_against_the_first_baseline() -> None:
    one = with_equal_repeats(recorded())
    rows = compare_campaigns([one, renamed(one, "second")])
    assert [(row.campaign, row.storage) for row in rows] == [
        (ID, "disk"),
        (ID, "memory"),
        ("second", "disk"),
        ("second", "memory"),
    ]
    assert rows[0].sentence == "the baseline"
    itself, memory = rows[2].against, rows[3].against
    assert itself is not None and itself.ratio.value == pytest.approx(1) and not itself.differs
    assert memory is not None and memory.differs
    assert memory.ratio.value == pytest.approx(ratio(one, "final_run", lambda r: r.tally.nopm))
    assert "Memory of second" in memory.sentence


def test_machines_and_kneebenches_that_differ_are_told_and_equal_ones_are_not() -> None:
    one = recorded()
    assert differences(one, renamed(one, "second")) == []
    other_host = one.campaign.host.model_copy(update={"kernel": "6.99", "governor": "powersave"})
    told = differences(one, renamed(one, "second", host=other_host, kneebench="9"))
    assert [sentence.split()[0] for sentence in told] == ["kneebench", "kernel", "governor"]


def test_a_key_that_is_not_set_says_so_and_a_rate_that_was_the_same_is_not_listed() -> None:
    one = recorded()
    ladder: Any = one.campaign.plan["ladder"]
    own = with_plan(one, ladder={**ladder, "latency_rate": "884/s"})
    assert differences(one, own) == []
    first = own.climbs[0]
    rungs = tuple(rung for rung in first.rungs if rung.order.phase != "fixed_rate")
    bare = own.model_copy(update={"climbs": (first.model_copy(update={"rungs": rungs}),)})
    assert differences(one, bare) == [
        f"ladder.latency_rate is not set in {one.campaign.id} and 884/s in {one.campaign.id}"
    ]


def test_servers_of_different_major_versions_are_not_compared() -> None:
    one = recorded()
    versions = ("17.6", "17.7 (Debian)", "18.1")
    first, second, third = (renamed(one, v, settings=server(v)) for v in versions)
    comparable(first, second)
    with pytest.raises(
        PlanError, match="the server is version 17 in the first and 18 in the second"
    ):
        comparable(first, third)


def server(version: str) -> dict[str, tuple[Setting, ...]]:
    return {"disk": (Setting(name="server_version", value=version, matters=True),)}


def page(*campaigns: Results) -> ComparisonPage:
    return ComparisonPage(campaigns, compare_campaigns(campaigns), trends(campaigns))


def text_of(*campaigns: Results) -> str:
    """What a terminal of 200 columns shows."""
    return drawn(*told(page(*campaigns)), width=200)


def at_another_rate(results: Results, rate_per_s: float) -> Results:
    for climb in (0, 1):
        results = each(
            results, climb, lambda rung: with_order(rung, rate_per_s=rate_per_s), "fixed_rate"
        )
    return results


def test_the_latency_at_one_rate_stands_beside_every_relative_nopm() -> None:
    one = at_another_rate(with_equal_repeats(recorded()), 880.0)
    both = one, renamed(one, "second")
    rows = compare_campaigns(both)
    memory, expected = rows[3], ratio(one, "fixed_rate", mean_s)
    assert memory.mean_s and memory.rate_per_s == 880
    assert memory.latency_against and memory.latency_against.quantity == "latency.mean"
    assert memory.latency_against.ratio.value == pytest.approx(expected)
    table = " ".join(text_of(*both).split())
    assert "Mean latency at 880/s" in table
    assert (
        table.count(f"latency at 880/s {expected:.3g}x (") == 2
    )  # of the first campaign's memory, and of the second's
    assert (
        page(*both).document()["storages"][3]["latency_against"]["ratio"]["value"]
        == memory.latency_against.ratio.value
    )


def test_where_the_rates_differ_the_latency_is_that_at_the_knee_for_every_storage() -> None:
    one = with_equal_repeats(recorded())
    both = one, at_another_rate(renamed(one, "second"), 990.0)
    rows = compare_campaigns(both)
    assert {row.rate_per_s for row in rows} == {None}
    assert all(row.knee and row.mean_s == row.knee.latency_s for row in rows)
    assert rows[3].latency_against and rows[3].latency_against.quantity == "latency.knee"
    table = " ".join(text_of(*both).split())
    assert "Mean latency at the knee" in table
    expected = ratio(one, "final_run", mean_s)
    assert f"latency at the knee {expected:.3g}x (" in table
    assert not re.search(r"\d/s", table)


def test_a_comparison_says_what_was_simulated_and_that_it_is_no_tpc_result() -> None:
    one = recorded()
    real = renamed(one, "real")
    both = real, renamed(one, "second", simulated=True)
    text, said = text_of(*both), page(*both).document()
    assert text.startswith("Simulated. ")
    assert "\nSimulated: second measured a model, not hardware.\n" in text
    assert text.rstrip().endswith("Derived from TPC-C, not comparable with TPC results.")
    assert (said["simulated"], [row["simulated"] for row in said["storages"]]) == (
        True,
        [False, False, True, True],
    )
    assert said["derived"] == "Derived from TPC-C, not comparable with TPC results."
    assert "Simulated" not in text_of(real)
    assert page(real).document()["simulated"] is False


def test_a_comparison_of_two_campaigns_pairs_no_runs_and_its_intervals_leave_drift_out() -> None:
    one = recorded()
    both = one, renamed(one, "second")
    rows = compare_campaigns(both)
    assert [row.interleaved for row in rows] == [True, True, False, False]
    assert [bool(row.against and "paired" in row.against.ratio.method) for row in rows] == [
        False,
        True,
        False,
        False,
    ]
    assert all(
        ("no interval covers drift between them" in row.sentence) == (not row.interleaved)
        for row in rows
    )
    text, said = text_of(*both), page(*both).document()
    assert (
        text.count("The campaigns were not interleaved, so no interval covers drift between them.")
        == 1
    )
    assert (
        said["drift"]
        == "the campaigns were not interleaved, so no interval covers drift between them"
    )


def test_a_campaign_beside_nothing_but_itself_has_no_such_warning() -> None:
    assert "interleaved" not in text_of(recorded())
    assert page(recorded()).document()["drift"] == ""


def slower(results: Results, factor: float) -> Results:
    """The same campaign with a factor on every count of committed transactions."""

    def scaled(rung: Rung) -> Rung:
        new_order = rung.tally.transactions["new_order"]
        committed = round(new_order.window.committed * factor)
        window = new_order.window.model_copy(update={"committed": committed})
        transactions = {
            **rung.tally.transactions,
            "new_order": new_order.model_copy(update={"window": window}),
        }
        tally = rung.tally.model_copy(update={"transactions": transactions})
        return rung.model_copy(update={"tally": tally})

    climbs = tuple(
        climb.model_copy(update={"rungs": tuple(map(scaled, climb.rungs))})
        for climb in results.climbs
    )
    return results.model_copy(update={"climbs": climbs})


def of_many_transactions(rung: Rung) -> Rung:
    """The rung with a percentile that enough transactions exceed."""
    latency = rung.tally.latency
    many = latency and latency.model_copy(update={"n": 10**6, "histogram": ""})
    return rung.model_copy(update={"tally": rung.tally.model_copy(update={"latency": many})})


def test_the_trend_is_each_storage_against_itself_in_the_first_campaign() -> None:
    one = with_equal_repeats(recorded())
    assert [trend.quantity for trend in trends([one, one])].count("latency.p999") == 0, (
        "few samples"
    )
    for climb in range(2):
        one = each(one, climb, of_many_transactions, "fixed_rate")
    three = [one, renamed(one, "second"), renamed(slower(one, 0.8), "third")]
    found = trends(three)
    assert [(one.storage, one.quantity) for one in found] == [
        ("disk", "nopm"),
        ("disk", "latency.mean"),
        ("disk", "latency.p999"),
        ("memory", "nopm"),
        ("memory", "latency.mean"),
        ("memory", "latency.p999"),
    ]
    ratios = [point.against and point.against.ratio.value for point in found[0].points]
    assert ratios[0] is None
    assert ratios[1:] == pytest.approx([1.0, 0.8], abs=0.01)
    assert [bool(one.against and one.against.differs) for one in found[0].points] == [
        False,
        False,
        True,
    ]
    table = text_of(*three)
    assert re.search(r"disk +NOPM at the knee +second +[0-9,]+ +1\.000x ", table), table
    assert re.search(r"disk +NOPM at the knee +third +[0-9,]+ +0\.800x ", table), table
    assert page(*three).document()["trend"][0]["points"][2]["campaign"] == "third"


def test_a_trend_has_no_latency_where_the_rates_differ_and_no_storage_that_is_alone() -> None:
    one = recorded()
    two = at_another_rate(renamed(one, "second"), 990.0)
    two = two.model_copy(update={"climbs": two.climbs[:1]})
    assert [(one.storage, one.quantity) for one in trends([one, two])] == [("disk", "nopm")]
