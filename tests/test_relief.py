"""Reliefs: what is changed in a configuration's plan so that one resource is no longer short."""

from __future__ import annotations

from typing import Any

import pytest

from kneebench.analysis.proof import judged
from kneebench.plan import Plan
from kneebench.plan.configurations import configurations
from kneebench.plan.default import MEMORY
from kneebench.plan.relief import RELIEFS, ReliefError, Side, Spare, as_it_was, relieved
from kneebench.plan.storage import Storage
from kneebench.plan.study import Study
from kneebench.records import Estimate

GIB = 2**30
SPARE = Spare(cores=(0, 1, 2, 3), free_bytes=20 * GIB, used_cores=1)
DISK = {"path": "disk"}
DRIVES = {"drives": [{"emulated": "sata", "size": "3GiB"}]}


def side(storage: dict[str, Any] = DISK, **keys: Any) -> Side:
    """The only configuration of a plan, at 8 users."""
    plan = Plan.model_validate({"storages": {"disk": storage}, **keys})
    return as_it_was(Study(plan), configurations(plan)[0], 8)


def storage_of(found: Side) -> Storage:
    return found.study.written.storages[found.configuration.storage]


@pytest.mark.parametrize("relief", RELIEFS)
def test_a_relieved_configuration_has_its_own_name_and_nothing_else_has_changed(
    relief: str,
) -> None:
    before = side(constraints={"small": {"cores": 1, "memory": "1GiB"}})
    after = relieved(before, relief, SPARE)
    assert after.configuration.name != before.configuration.name
    assert after.configuration.id != before.configuration.id
    assert (after.study.written.ladder, after.study.written.seed) == (
        before.study.written.ladder,
        before.study.written.seed,
    )
    same = ("database", "workload", "storages", "constraints", "kernel")
    changed = [
        key
        for key in same
        if getattr(after.study.written, key) != getattr(before.study.written, key)
    ]
    limits = ["constraints"], ["database", "constraints"]
    assert changed in (["storages"], *limits, ["workload", "storages"])


def test_a_log_in_memory_is_a_directory_there_if_the_memory_is_not_limited() -> None:
    found = storage_of(relieved(side(), "log in memory", SPARE))
    assert (found.log_path, found.log) == (MEMORY, None)


@pytest.mark.parametrize(
    ("storage", "keys"), [(DISK, {"constraints": {"memory": ["1GiB"]}}), (DRIVES, {})]
)
def test_a_log_in_memory_is_a_volume_if_memory_is_limited_or_it_was_one(storage, keys) -> None:
    found = storage_of(relieved(side(storage, **keys), "log in memory", SPARE))
    assert found.log and found.log.emulated_drives[0].emulated == "memory"
    assert (found.path, found.drives) == (
        side(storage).study.written.storages["disk"].path,
        found.drives,
    )


def test_data_in_memory_leave_the_log_where_it_was() -> None:
    directory = storage_of(relieved(side(), "data in memory", SPARE))
    assert (directory.path, str(directory.log_path)) == (MEMORY, "disk")
    volume = storage_of(relieved(side(DRIVES), "data in memory", SPARE))
    assert [one.emulated for one in volume.emulated_drives] == ["memory"]
    assert volume.log and [one.emulated for one in volume.log.emulated_drives] == ["sata"]


@pytest.mark.parametrize(
    ("storage", "relief"),
    [
        ({"path": "/dev/shm/db"}, "data in memory"),
        ({"path": "/dev/shm/db"}, "log in memory"),
        ({"path": "disk", "log_path": "/dev/shm/log"}, "log in memory"),
        ({"drives": [{"emulated": "memory", "size": "3GiB"}]}, "data in memory"),
        ({**DRIVES, "log": {"drives": [{"emulated": "memory", "size": "1GiB"}]}}, "log in memory"),
    ],
)
def test_what_is_in_memory_is_not_put_there_again(storage: dict[str, Any], relief: str) -> None:
    with pytest.raises(ReliefError, match="in memory as the plan has it"):
        relieved(side(storage), relief, SPARE)


def test_more_memory_is_enough_for_all_data_or_what_is_free() -> None:
    before = side(constraints={"memory": ["512MiB"]})
    data = before.study.only_database.data_bytes
    most = relieved(before, "more memory", SPARE).configuration.memory_bytes or 0
    assert most >= data
    some = relieved(
        before, "more memory", SPARE._replace(free_bytes=3 * GIB)
    ).configuration.memory_bytes
    assert some == 3 * GIB // 2


def test_more_cores_are_those_that_the_load_generator_leaves() -> None:
    plan = {"constraints": {"cores": [1]}, "workload": {"load_generator_cores": [3]}}
    found = relieved(side(**plan), "more cores", SPARE)
    assert (found.configuration.cores, found.study.written.database.cores) == (3, (0, 1, 2))


def test_more_cores_are_all_of_them_also_without_siblings_and_on_a_node() -> None:
    plan = {"constraints": {"half": {"cores": 2, "siblings": False, "numa_node": 0}}}
    found = relieved(side(**plan), "more cores", SPARE._replace(used_cores=2))
    [constraint] = found.study.written.constraints_of(found.study.written.database).values()
    assert (constraint.cores, constraint.siblings, constraint.numa_node) == (4, True, None)


def test_a_load_generator_gets_twice_its_threads_on_all_cores_or_nothing() -> None:
    spare = SPARE._replace(threads=2)
    found = relieved(side(), "another load generator core", spare).study.written.workload
    assert (found.load_generator_threads, found.load_generator_cores) == (4, (0, 1, 2, 3))
    with pytest.raises(ReliefError, match="no further core"):
        relieved(side(), "another load generator core", spare._replace(threads=3))


def test_a_proof_keeps_what_the_sizing_rules_set_for_the_campaign() -> None:
    plan = Plan.model_validate({"storages": {"disk": DISK}})
    plan = plan.model_copy(
        update={"database": plan.database.model_copy(update={"settings": {"jit": "on"}})}
    )
    kept = as_it_was(Study(plan), configurations(plan)[0], 8, {"max_wal_size": "9GB", "jit": "off"})
    assert kept.study.written.database.settings == {"max_wal_size": "9GB", "jit": "on"}


def test_saturating_cores_are_those_that_were_found() -> None:
    keys = {"constraints": {"cores": "saturating"}, "ladder": {"users": 8}}
    plan = Plan.model_validate({"storages": {"disk": DISK}, **keys})
    found = configurations(plan)[0].model_copy(update={"cores": 1})
    before = as_it_was(Study(plan), found, 8)
    assert before.configuration.cores == 1
    assert relieved(before, "more cores", SPARE).configuration.cores == 4


def test_a_load_generator_on_the_only_other_core_shares_all_of_them() -> None:
    keys = {"database": {"cores": [0]}, "workload": {"load_generator_cores": [1]}}
    found = relieved(side(**keys), "more cores", SPARE._replace(cores=(0, 1)))
    assert found.configuration.cores == 2
    assert (
        found.study.written.database.cores,
        found.study.written.workload.load_generator_cores,
    ) == ((0, 1), ())


def test_the_plan_s_own_memory_limit_counts_as_the_configuration_s() -> None:
    before = side(database={"memory": "512MiB"})
    assert (relieved(before, "more memory", SPARE).configuration.memory_bytes or 0) > GIB
    assert storage_of(relieved(before, "log in memory", SPARE)).log


@pytest.mark.parametrize(
    ("relief", "keys", "why"),
    [
        ("more cores", {}, "has every core"),
        ("more memory", {}, "not limited"),
        ("more memory", {"constraints": {"memory": ["15GiB"]}}, "twice its memory is not free"),
    ],
)
def test_a_relief_that_cannot_be_had_says_why(relief: str, keys: dict[str, Any], why: str) -> None:
    with pytest.raises(ReliefError, match=why):
        relieved(side(**keys), relief, SPARE._replace(cores=(0,)))


def test_a_server_by_url_keeps_its_storage() -> None:
    plan = Plan.model_validate({"database": {"url": "postgres://there/db"}})
    before = as_it_was(Study(plan), configurations(plan)[0], 8)
    with pytest.raises(ReliefError, match="no directory"):
        relieved(before, "log in memory", SPARE)


SHORT = {"rounds": "short", "repeats": [4, 8]}


@pytest.mark.parametrize(
    ("more", "place", "expected"),
    [
        (SHORT, DISK, ("short", 4)),
        (SHORT, {"path": str(MEMORY / "here")}, ("long", 9)),
        (SHORT, DRIVES, ("long", 9)),
        ({}, DISK, ("long", 4)),
    ],
)
def test_a_proof_of_short_rounds_is_one_where_both_servers_fit_and_else_has_the_climbs_windows(
    more: dict[str, Any], place: dict[str, Any], expected: tuple[str, float]
) -> None:
    windows = {"window": "9s", "final_window": "4s", "checkpoints": 0}
    ladder = side(place, ladder={"users": [1, 64], **windows, **more}).study.written.ladder
    assert (ladder.fixed, ladder.first) == (True, 8)
    assert (ladder.rounds, ladder.final_window) == expected


def test_an_interval_that_includes_both_five_percent_and_nothing_settles_nothing() -> None:
    estimate = Estimate(value=1.04, low=0.97, high=1.12, n=3)
    assert judged(estimate) == judged(None) == "suspected"
