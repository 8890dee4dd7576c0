"""Plans that differ in what matters are not compared, and the field is named."""

from __future__ import annotations

from typing import Any

import pytest
from recorded import make

from kneebench.errors import PlanError
from kneebench.plan import Plan
from kneebench.records import Results, Setting
from kneebench.results import across, comparable, compare_plans, load
from kneebench.results.compare_plans import differences, differing_settings

PLAN = Plan.model_validate(make.PLAN)


def other(**tables: dict[str, Any]) -> Plan:
    return Plan.model_validate({**make.PLAN, **{name: {**make.PLAN[name], **fields} for name, fields in tables.items()}})  # type: ignore[dict-item]


def renamed(results: Results, id_: str, **fields: object) -> Results:
    return results.model_copy(update={"campaign": results.campaign.model_copy(update={"id": id_, **fields})})


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"workload": {"warehouses": 61}}, "workload.warehouses"),
        ({"workload": {"profile": "hammerdb"}}, "workload.profile"),
        ({"database": {"settings": {"shared_buffers": "2GB"}}}, "database.settings.shared_buffers"),
        ({"database": {"restore": "clone"}}, "database.restore"),
        ({"ladder": {"report_window": "61s"}}, "ladder.report_window"),
        ({"ladder": {"stops": {"log_latency": {"limit": "6ms"}}}}, "ladder.stops.log_latency.limit"),
    ],
)
def test_a_field_that_matters_is_named(changed: dict[str, dict[str, Any]], field: str) -> None:
    assert compare_plans(PLAN, other(**changed)) == [field]


def test_storages_question_seed_budget_and_repeats_do_not_matter() -> None:
    plan = other(ladder={"budget": "1h", "repeats": 5}, storages={"ssd": {"simulated": {"cores": 8}}})
    assert compare_plans(PLAN, plan.model_copy(update={"question": "Else?", "seed": 1})) == []


def test_fields_are_named_in_the_order_of_what_tells_most() -> None:
    assert compare_plans(PLAN, other(ladder={"window": "11s"}, workload={"warehouses": 61})) == ["workload.warehouses", "ladder.window"]


def test_comparing_what_is_not_comparable_names_the_first_field_and_both_values() -> None:
    one = load(make.HERE / make.NAME)
    two = renamed(one, "second", plan=other(workload={"warehouses": 61}).model_dump(mode="json"))
    with pytest.raises(PlanError, match=r"workload\.warehouses is 60 in the first and 61 in the second") as caught:
        comparable(one, two)
    assert caught.value.exit_code == 2


def test_settings_that_change_what_storage_sees_are_told_apart() -> None:
    one = load(make.HERE / make.NAME)
    changed = {"disk": (Setting(name="data_checksums", value="off", matters=True),)}
    told = differing_settings(one, renamed(one, "second", settings=changed))
    assert "data_checksums is on in disk-against-memory and off in second" in told


def test_campaigns_side_by_side_have_every_knee_against_the_first_baseline() -> None:
    one = load(make.HERE / make.NAME)
    rows = across([one, renamed(one, "second")])
    assert [(row.campaign, row.storage) for row in rows] == [
        ("disk-against-memory", "disk"), ("disk-against-memory", "memory"), ("second", "disk"), ("second", "memory"),
    ]  # fmt: skip
    assert rows[0].sentence == "the baseline"
    itself, memory = rows[2].against, rows[3].against
    assert itself is not None and itself.ratio.value == pytest.approx(1) and not itself.differs
    assert memory is not None and memory.differs and memory.ratio.low < 2.3 < memory.ratio.high
    assert "memory of second" in memory.sentence


def test_machines_and_kneebenches_that_differ_are_told_and_equal_ones_are_not() -> None:
    one = load(make.HERE / make.NAME)
    assert differences(one, renamed(one, "second")) == []
    other_host = one.campaign.host.model_copy(update={"kernel": "6.99", "governor": "powersave"})
    told = differences(one, renamed(one, "second", host=other_host, kneebench="9"))
    assert [sentence.split()[0] for sentence in told] == ["kneebench", "kernel", "governor"]


def test_servers_of_different_major_versions_are_not_compared() -> None:
    one = load(make.HERE / make.NAME)
    first, second, third = (renamed(one, version, settings=server(version)) for version in ("17.6", "17.7 (Debian)", "18.1"))
    comparable(first, second)
    with pytest.raises(PlanError, match="the server is version 17 in the first and 18 in the second"):
        comparable(first, third)


def server(version: str) -> dict[str, tuple[Setting, ...]]:
    return {"disk": (Setting(name="server_version", value=version, matters=True),)}
