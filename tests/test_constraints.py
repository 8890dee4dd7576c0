"""Constraints of a plan: named ones, sweeps and their configurations; what is no constraint."""

from __future__ import annotations

import pytest

from kneebench.errors import PlanError
from kneebench.plan import Plan
from kneebench.plan.configurations import configurations, running_order
from kneebench.plan.reader import parse_plan
from kneebench.plan.study import Study

GIB = 2**30
STORAGE = '[storages.disk]\npath = "."\n'


def plan(constraints: str, rest: str = "") -> Plan:
    return parse_plan(f"[constraints]\n{constraints}\n{STORAGE}{rest}")


def names(constraints: str, rest: str = "") -> list[str]:
    return [configuration.constraint for configuration in configurations(plan(constraints, rest))]


def test_a_plan_without_constraints_has_one_configuration_per_storage() -> None:
    [configuration] = configurations(parse_plan(STORAGE))
    assert (configuration.id, configuration.name, configuration.constraint) == ("disk", "disk", "")
    assert (configuration.cores, configuration.memory_bytes, configuration.reference) == (
        None,
        None,
        False,
    )


def test_steps_and_lists_of_sizes_are_configurations_in_the_order_of_the_plan() -> None:
    assert names('memory = { from = "1GiB", to = "3.9GiB", step = "1GiB" }') == [
        *("1 GiB", "2 GiB", "3 GiB")
    ]
    assert names('memory = ["40GB", "384MiB", "1536MiB"]') == ["40 GB", "384 MiB", "1.5 GiB"]
    assert names("cores = { from = 1, to = 5, step = 2 }") == ["1 core", "3 cores", "5 cores"]


def test_shares_are_of_the_data_that_the_engine_expects() -> None:
    one = plan('memory = ["12.5%", "100%"]', "[workload]\nwarehouses = 100\n")
    data_bytes = Study(one).only_database.data_bytes
    small, whole = configurations(one)
    assert (small.constraint, small.memory_bytes) == ("12.5% of the data", data_bytes // 8)
    assert whole.memory_bytes == data_bytes


def test_sweeps_are_crossed_and_named_ones_and_the_reference_stand_beside_them() -> None:
    one = plan(
        'cores = [2, 4]\nmemory = ["1GiB", "2GiB"]\nengine_memory = ["256MiB"]\nreference = true\n'
        'small = { cores = 2, memory = "1GiB" }'
    )
    found = configurations(one)
    assert [configuration.constraint for configuration in found] == [
        "small",
        *(f"{n} cores, {m} GiB, 256 MiB cache" for n in (2, 4) for m in (1, 2)),
        "reference",
    ]
    assert (found[1].cores, found[1].memory_bytes) == (2, GIB)
    assert found[1].engine_memory_bytes == GIB // 4
    assert found[1].id == "disk-2-cores-1-gib-256-mib-cache"
    assert found[-1].reference and found[-1].memory_bytes is None


def test_a_plan_that_is_kept_and_read_again_has_the_same_configurations() -> None:
    one = plan('memory = { from = "1GiB", to = "2GiB", step = "1GiB" }\nsmall = { cores = 1 }')
    again = Plan.model_validate(one.model_dump(mode="json"))
    assert configurations(again) == configurations(one)


def test_configurations_run_in_blocks_so_that_no_end_of_a_sweep_is_last() -> None:
    sizes = ", ".join(f'"{n}GiB"' for n in range(1, 7))
    order = running_order(
        configurations(plan(f"memory = [{sizes}]", '[storages.ssd]\npath = "/"\n'))
    )
    assert [configuration.constraint[0] for configuration in order] == list("113355664422")
    assert [configuration.storage for configuration in order[:4]] == ["disk", "ssd", "ssd", "disk"]


WRONG = {
    "no size": ('memory = ["much"]', "constraints.memory", "sizes or shares"),
    "too small": ('memory = ["1MiB"]', "constraints.memory", "at least 64 MiB"),
    "more than any machine": (
        'engine_memory = ["999TiB"]',
        "constraints.engine_memory",
        "at most 64 TiB",
    ),
    "memory of no machine": ('memory = ["1GiB", "1PiB"]', "constraints.memory", "at most 64 TiB"),
    "more than its memory": (
        'memory = ["2GiB", "1GiB"]\nengine_memory = ["512MiB", "1.5GiB"]',
        "constraints.engine_memory",
        "at most 1 GiB, the least memory beside it",
    ),
    "more than its memory, named": (
        'small = { memory = "1GiB", engine_memory = "2GiB" }',
        "constraints.small.engine_memory",
        "at most 1 GiB",
    ),
    "a share of more than its memory": (
        'memory = ["64MiB"]\nengine_memory = ["90%"]',
        "constraints.engine_memory",
        "at most 64 MiB",
    ),
    "one name": (
        'memory = ["1000000001B", "1000000002B"]',
        "constraints",
        "two of them are '954 MiB'",
    ),
    "share too small": ('memory = ["0.1%"]', "constraints.memory", "of data"),
    "twice": ('memory = ["1GiB", "1024MiB"]', "constraints.memory", "each value once"),
    "no step": ("cores = { from = 1, to = 2 }", "constraints.cores", "all of: from, to, step"),
    "odd key": ("cores = { from = 1, to = 2, by = 1 }", "constraints.cores.by", "from, to, step"),
    "backwards": ("cores = { from = 3, to = 2, step = 1 }", "constraints.cores.to", "at least"),
    "nothing": ("small = {}", "constraints.small", "at least one of: cores"),
    "unknown": ("small = { core = 1 }", "constraints.small.core", "one of: cores"),
    "no table": ("smal = 3", "constraints.smal", "a table"),
    "a sweep's name": ('cores = [2]\n"2 cores" = { cores = 2 }', '"2 cores"', "no sweep gives"),
    "siblings alone": ("siblings = false", "constraints.siblings", "sweep of cores"),
    "reference alone": ("reference = true", "constraints.reference", "sweep"),
    "a climb": ('cores = "saturating"', "constraints.cores", "one number"),
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_no_constraint_is_refused_with_its_line_and_its_key(text: str) -> None:
    constraints, key, allowed = WRONG[text]
    with pytest.raises(PlanError) as error:
        plan(constraints)
    assert "line" in str(error.value) and key in str(error.value) and allowed in str(error.value)


@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_a_cache_larger_than_the_memory_of_every_server_is_refused(engine: str) -> None:
    database = f'[database]\nengine = "{engine}"\nmemory = "1GiB"\n'
    with pytest.raises(PlanError, match="at most 1 GiB, which is database"):
        plan('engine_memory = ["2GiB"]', database)
    assert len(names('engine_memory = ["2GiB"]\nmemory = ["4GiB"]', database)) == 1
    with pytest.raises(PlanError, match="at least 64 MiB and at most 64 TiB"):
        parse_plan(database.replace("1GiB", "65TiB") + STORAGE)


def test_a_model_has_no_cache_larger_than_its_memory_either() -> None:
    simulated = '[database]\nengine = "simulated"\n'
    with pytest.raises(PlanError, match="at most 1 GiB, the least memory beside it"):
        plan('engine_memory = ["2GiB"]\nmemory = ["1GiB"]', simulated)
    with pytest.raises(PlanError, match="at most 64 TiB"):
        plan('engine_memory = ["999TiB"]', simulated)


def test_only_managed_servers_and_cold_caches_are_limited() -> None:
    with pytest.raises(PlanError, match="only a managed server is limited"):
        parse_plan('database.url = "postgresql://x/y"\nconstraints.cores = [1]')
    warm = '[database]\npage_cache = "warm"\n'
    with pytest.raises(PlanError, match="outside a memory limit"):
        plan('memory = ["1GiB"]', warm)
    assert len(names("cores = [1]", warm)) == 1
    with pytest.raises(PlanError, match="does not count huge pages"):
        plan('memory = ["1GiB"]', '[database.settings]\nhuge_pages = "try"\n')


def test_a_model_has_no_siblings_nodes_or_drives_to_limit() -> None:
    simulated = '[database]\nengine = "simulated"\n'
    assert names('memory = ["1GiB"]\ncores = [1]', simulated) == ["1 core, 1 GiB"]
    with pytest.raises(PlanError, match="a model has none"):
        plan("odd = { cores = 1, numa_node = 0 }", simulated)


def test_short_rounds_need_a_directory_that_configurations_can_share() -> None:
    short = '[ladder]\nrounds = "short"\nrepeats = 4\ncheckpoints = 0\n'
    assert len(names("cores = [1, 2]", short)) == 2
    drives = '[storages.ssd]\ndrives = [{ emulated = "nvme", size = "4GiB" }]\n'
    with pytest.raises(PlanError, match="two configurations on the same drives"):
        plan("cores = [1, 2]", drives + short)
