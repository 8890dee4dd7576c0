"""The memory limit and the data beside it: what `check`, the brief and the terminal say first."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from kneebench.analysis.memory import limited_memory
from kneebench.brief import Brief
from kneebench.campaign.preflight import data_findings
from kneebench.plan import Plan
from kneebench.plan.study import Study
from kneebench.records import Results
from kneebench.screen.summary import printed, results_json
from tests.recordings import recorded, recorded_host, with_campaign, with_plan
from tests.swept import swept

SWEPT = "Memory limit: 128 MiB to 1 GiB (6 sizes), and none. Data: 167 MiB, 1.3 to 0.163 times the"


def first_lines(results: Results) -> str:
    """What a terminal shows first, in one line."""
    screen = StringIO()
    console = Console(file=screen, width=200)
    for part in printed(results):
        console.print(part)
    return " ".join(screen.getvalue().splitlines()[:3])


def test_the_first_lines_of_a_sweep_have_its_limits_and_data_to_memory() -> None:
    results = swept(storages=1, reference=True)
    (found,) = limited_memory(results)
    assert found.sentence.startswith(SWEPT)
    page = Brief(results).html()
    header = page[page.index("<header>") : page.index("</header>")]
    assert found.sentence in header
    assert found.sentence in first_lines(results)
    (document,) = results_json(results)["limited_memory"]
    assert document["limits_bytes"][0] == 128 * 2**20
    assert document["data_to_memory"][0] == pytest.approx(1.3, rel=0.01)


def test_a_limit_of_the_plan_counts_and_a_campaign_without_one_says_nothing() -> None:
    assert limited_memory(recorded()) == ()
    assert "Memory limit" not in first_lines(recorded())
    database = {**recorded().campaign.plan["database"], "memory": 2**26}
    (found,) = limited_memory(with_plan(recorded(), database=database))
    assert found.sentence == "Memory limit: 64 MiB. Data: 167 MiB, 2.61 times the memory."


def test_users_with_a_home_warehouse_each_use_fewer_than_the_data_have() -> None:
    results = swept(storages=1)
    resolved = results.campaign.resolved.model_copy(update={"home": "one", "warehouses": 32})
    (found,) = limited_memory(with_campaign(results, resolved=resolved))
    used, every = found.homes
    assert 0 < used < every == 32
    assert found.sentence.endswith(f"Users work mostly in {used} of the 32 warehouses, one each.")
    (other,) = limited_memory(results)
    assert other.homes == () and "one each" not in other.sentence


@pytest.mark.parametrize(
    ("constraints", "ends"),
    [
        (
            {"memory": ["256MiB", "1GiB"], "reference": True},
            "in 256 MiB to 1 GiB of memory (without a limit: {})",
        ),
        ({"memory": ["256MiB", "1GiB"]}, "in 256 MiB to 1 GiB of memory"),
        (
            {"memory": ["4GiB", "8GiB"]},
            "in 4 GiB to 8 GiB of memory: the drive will see writes and hardly any reads",
        ),
        ({}, "in {} of memory: the drive will see writes and hardly any reads"),
    ],
    ids=["reference", "limits", "large", "none"],
)
def test_check_says_of_each_size_whether_its_drive_sees_reads(
    constraints: dict[str, object], ends: str, tmp_path: Path
) -> None:
    """Not of the machine's memory, where every configuration has less."""
    machine = recorded_host()
    plan = Plan.model_validate(
        {
            "workload": {"warehouses": 10},
            "constraints": constraints,
            "storages": {"disk": {"path": tmp_path}},
        }
    )
    (found,) = data_findings(Study(plan).only_database, machine)
    from kneebench.units import size

    assert found.seen.endswith(ends.format(size(machine.memory_bytes)))
    assert found.level == ("note" if "hardly" in ends else "ok")
