"""What was short at the knee, resource by resource, with evidence for and against."""

from __future__ import annotations

import pytest

from kneebench.analysis.bottleneck import bottleneck
from kneebench.analysis.resource_evidence import EVALUATORS
from kneebench.analysis.resources import RESOURCES
from kneebench.measurement.quantities import RATIOS, READ
from kneebench.records import (
    Bottleneck,
    Climb,
    Configuration,
    CountedDevice,
    Order,
    RawProfile,
    RawRow,
    RawStorage,
    Summary,
)
from tests.curves import rung

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
    sources: dict[str, dict[str, float]] | None = None,
    raw: RawStorage | None = None,
    devices: tuple[CountedDevice, ...] = (),
    limits: dict[str, int] | None = None,
    **quantities: float,
) -> Bottleneck:
    """Three reports of 20 users that saw these; `waits` in sessions by class, `sources` by quantity
    with the mean as its value.
    """
    extra = {
        f"waits.{name}": Summary(unit="", value=value, high=value)
        for name, value in (waits or {}).items()
    }
    by_source = {**({"cores.busy": cores} if cores else {}), **(sources or {})}
    for name, found in by_source.items():
        mean = sum(found.values()) / len(found)
        extra[name] = Summary(unit="", value=mean, high=mean, sources=found)
    rungs = []
    for repeat in (1, 2, 3):
        one = rung(
            Order(configuration="a", phase="final_run", users=20, repeat=repeat),
            2000.0,
            **{**HEALTHY, **quantities},
        )
        seen = {"quantities": {**one.quantities, **extra}, "devices": devices}
        rungs.append(one.model_copy(update=seen))
    climb = Climb(
        configuration=Configuration(id="a", storage="disk"), rungs=tuple(rungs), knee_users=20
    )
    return bottleneck(climb.model_copy(update={"raw": raw, "class_limits": limits or {}}))


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
    assert found.evidence[0].startswith(f"for {found.name}: ")
    assert "limit" in found.evidence[0]
    assert found.sentence.startswith("Disk is probably limited by ")


def test_nothing_short_is_unknown_and_every_rule_is_told_as_evidence_against() -> None:
    found = judged(waits={"other": 1.0}, cores={"0": 0.6, "1": 0.62})
    assert found.resource == "unknown"
    judged_ones = ("load generator", "cpu", "one core", "log", "data reads", "locks", "other waits")
    assert [row.resource for row in found.rows if row.short is False] == [*judged_ones]
    assert [row.resource for row in found.rows] == [one.key for one in RESOURCES]
    assert not any(line.startswith("for ") for line in found.evidence)
    assert "No single bottleneck was found" in found.sentence


def test_where_the_time_went_is_said_when_no_share_alone_is_beyond_its_limit() -> None:
    found = judged(waits={"data_read": 9.4, "log": 7.8, "lock": 0.1})
    assert found.resource == "unknown"
    assert (
        "of their time users spent 47% waiting for data reads and 39% waiting for log writes"
        in found.sentence
    )


def test_busy_cores_are_asked_before_the_waits_that_they_lengthen() -> None:
    found = judged(database__busy=0.99, log__write_latency=0.009)
    assert found.resource == "cpu"
    assert "also over its limit: log" in found.sentence


def test_of_waits_for_the_storage_the_longest_is_named_and_the_others_are_also_named() -> None:
    found = judged({"log": 2.8, "data_read": 14.0, **SAMPLED}, log__write_latency=0.0075)
    assert found.resource == "data reads"
    assert "also over its limit: log" in found.sentence
    found = judged({"log": 14.0, "data_read": 11.0, **SAMPLED}, log__write_latency=0.0075)
    assert found.resource == "log"


def test_a_longer_wait_within_its_limit_is_said_beside_the_log_that_is_over_its_own() -> None:
    found = judged({"log": 2.8, "data_read": 9.0, **SAMPLED}, log__write_latency=0.0075)
    assert found.resource == "log"
    assert "Users waited longer for data reads: 45% of their time (limit 50%)." in found.sentence
    assert "waited longer" not in judged(log__write_latency=0.0075).sentence


def test_a_delay_in_the_load_generator_costs_nothing_where_the_database_is_busy() -> None:
    assert judged(load_generator__delay=0.0028, database__busy=0.99).resource == "cpu"
    assert judged(load_generator__delay=0.0028).resource == "load generator"


def test_cores_that_are_nearly_busy_are_short_where_users_spend_most_of_their_time_on_them() -> (
    None
):
    """The database sees hardly any session at work: the others have not read their requests."""
    processes = {
        "processes.cpu": {"server": 0.92},
        "processes.run_delay": {"server": 15.0},
        "database.busy": {"0": 0.94},
    }
    found = judged(waits={"cpu": 0.5, **SAMPLED}, sources=processes)
    assert found.resource == "cpu"
    assert "users spent 80% of their time on a core or ready for one" in found.sentence
    assert found.time_split["cpu"].share == pytest.approx(0.796)
    assert judged(waits={"cpu": 0.5, **SAMPLED}, database__busy=0.94).resource == "unknown"


def test_busy_cores_that_the_database_hardly_used_are_not_judged() -> None:
    processes = {"processes.cpu": {"server": 0.48}, "database.busy": {"0": 0.99}}
    found = judged(sources=processes)
    assert found.resource == "unknown"
    assert any("the database used 48% of their busy time" in line for line in found.evidence)


def test_waits_of_no_class_name_no_resource() -> None:
    assert judged(waits={"other": 15.0}).resource == "unknown"


def test_all_cores_busy_alike_are_no_single_core() -> None:
    assert judged(cores={"0": 0.96, "1": 0.97}).resource == "unknown"


def test_what_was_not_measured_is_said_and_speaks_neither_way() -> None:
    bare = Climb(
        configuration=Configuration(id="a", storage="disk"),
        rungs=(rung(Order(configuration="a", phase="search", users=8), 100.0),),
        knee_users=8,
    )
    found = bottleneck(bare)
    assert found.resource == "unknown"
    assert all(line.startswith("unknown ") for line in found.evidence)
    assert "not judged: load generator, cpu, one core, log, data reads, locks" in found.sentence


def test_where_no_waits_were_measured_locks_are_not_judged() -> None:
    assert any(line.startswith("unknown locks") for line in judged().evidence)


def test_where_the_database_does_not_show_reads_the_device_says_how_long_they_took() -> None:
    reads = {"device__reads_per_transaction": 20.0, "device__read_await": 0.001}
    assert judged({"cpu": 10.0, "reads_unseen": 1.0}, **reads).resource == "data reads"
    assert judged({"cpu": 10.0}, **reads).resource != "data reads"
    elsewhere = judged({"log": 15.0, "reads_unseen": 1.0})
    assert elsewhere.resource == "log", "the other waits are measured"


def test_a_climb_without_a_knee_has_no_bottleneck() -> None:
    found = bottleneck(Climb(configuration=Configuration(id="a", storage="disk"), rungs=()))
    assert (found.resource, found.evidence) == ("unknown", ())


def test_cores_that_other_processes_keep_busy_are_not_the_databases_shortage() -> None:
    found = judged(database__busy=0.99, database__others=0.6)
    assert found.resource == "unknown"
    assert any(
        line.startswith("unknown CPU: ")
        and "other processes used 60% of the database's cores" in line
        for line in found.evidence
    )
    assert judged(database__busy=0.99, database__others=0.1).resource == "cpu"


def test_a_busy_core_of_the_load_host_is_not_the_shortage_of_a_database_elsewhere() -> None:
    cores = Summary(unit="share", value=0.3, high=0.3, sources={"0": 0.18, "1": 0.96, "2": 0.2})
    one = rung(
        Order(configuration="a", phase="final_run", users=20, repeat=1),
        2000.0,
        **{name: value for name, value in HEALTHY.items() if name != "database__busy"},
    )
    seen = one.model_copy(update={"quantities": {**one.quantities, "cores.busy": cores}})
    found = bottleneck(
        Climb(configuration=Configuration(id="a", storage="disk"), rungs=(seen,), knee_users=20)
    )
    assert found.resource == "unknown"
    assert "not judged: cpu, one core, locks" in found.sentence


def test_one_core_that_another_program_may_have_filled_is_not_called_short() -> None:
    cores = {str(n): 0.98 if n == 2 else 0.2 for n in range(8)}
    busy = Summary(unit="share", value=0.2, high=0.2, sources=cores)
    one = rung(Order(configuration="a", phase="final_run", users=20, repeat=1), 2000.0, **HEALTHY)

    def with_others(share: float) -> Bottleneck:
        others = Summary(unit="share", value=share, high=share)
        seen = one.model_copy(
            update={
                "quantities": {**one.quantities, "database.busy": busy, "database.others": others}
            }
        )
        return bottleneck(
            Climb(configuration=Configuration(id="a", storage="disk"), rungs=(seen,), knee_users=20)
        )

    assert with_others(0.01).resource == "one core"
    assert with_others(0.12).resource == "unknown"


# --- the table of resources -----------------------------------------------------------------------

NOT_READ_YET = ("group", "group_pressure", "network", "run_queue", "threads")
DERIVED = ("database.busy", "database.others", "load_generator.busy", "load_generator.delay")


def test_every_resource_has_one_evaluator_and_reads_quantities_that_there_are() -> None:
    assert [*EVALUATORS] == [one.key for one in RESOURCES]
    named = {quantity for one in RESOURCES for quantity in one.quantities}
    known = {*READ, *RATIOS, *DERIVED}
    assert {name.partition(".")[0] for name in named - known} <= {*NOT_READ_YET}
    assert all(one.source and 0 < one.limit <= 1 for one in RESOURCES)


# --- waits and where the time goes ----------------------------------------------------------------

SAMPLED = {"samples": 10.0}


@pytest.mark.parametrize(
    ("resource", "seen"),
    [
        ("data writes", {"waits": {"data_write": 11.0, **SAMPLED}}),
        ("lightweight locks", {"waits": {"lightweight_lock": 5.0, **SAMPLED}}),
        ("load generator", {"load_generator__delay": 0.0025}),
        ("network", {"sources": {"network.busy": {"eth0": 0.9, "lo": 0.1}}}),
        ("memory", {"sources": {"group_pressure.memory": {"some": 0.2, "full": 0.1}}}),
    ],
)
def test_the_newer_resources_are_named_when_one_alone_is_short(resource: str, seen: dict) -> None:
    found = judged(**seen)
    assert found.resource == resource
    assert found.evidence[0].startswith(f"for {found.name}: ")
    assert "limit" in found.evidence[0]


@pytest.mark.parametrize(("writes", "resource"), [(7.0, "data writes"), (0.5, "data reads")])
def test_behind_a_busy_device_its_queue_decides_between_reads_and_writes(
    writes: float, resource: str
) -> None:
    found = judged(
        waits={"data_read": 6.0, **SAMPLED},
        device__busy=0.97,
        device__read_time=1.0,
        device__write_time=writes,
        device__queue_depth=1.2,
    )
    assert (found.resource, found.relief) == (resource, "data in memory")
    assert "97% busy" in found.evidence[0]


READ_ROW = RawRow(name="r", kind="read", block_bytes=8192, depth=8, iops=8000, mean_s=0.001)
WRITE_ROW = RawRow(name="w", kind="write", block_bytes=8192, depth=16, iops=3000, mean_s=0.005)
BOTH_ROWS = RawStorage(profile=RawProfile(rows=(READ_ROW, WRITE_ROW), seconds=2, file_bytes=2**27))


def of_a_parallel_drive(raw: RawStorage | None = None, **quantities: float) -> Bottleneck:
    """Users who spend 45% of their time in reads, of a device that is 95% busy with seven eighths
    writes: a third of its class's IOPS.
    """
    busy = {"device__busy": 0.95, "device__read_time": 1.0, "device__write_time": 7.0}
    load = {"device__queue_depth": 8.0, "device__reads": 1000.0, "device__writes": 1000.0}
    return judged(
        waits={"data_read": 9.0, **SAMPLED},
        raw=raw,
        devices=(CountedDevice(name="nvme0n1", directories=(0,), rotational=False),),
        **{**busy, **load, **quantities},
    )


def test_utilization_of_a_parallel_drive_alone_is_no_bottleneck() -> None:
    found = of_a_parallel_drive()
    assert found.resource == "unknown", found.sentence
    assert any("95% busy" in one for one in found.evidence)


def test_a_busy_drive_that_is_as_fast_as_without_a_database_had_room() -> None:
    found = of_a_parallel_drive(BOTH_ROWS, device__read_await=0.0012, device__write_await=0.006)
    assert found.resource == "unknown", found.sentence
    [writes] = [row.why for row in found.rows if row.resource == "data writes"]
    assert (
        "95% busy, but did only 12% of its raw reads and 33% of its raw writes and none took 2"
        " times as long, so it had room" in writes
    )


@pytest.mark.parametrize(
    ("quantities", "says"),
    [
        (
            {"device__read_await": 0.0012, "device__write_await": 0.012},
            "with writes that took up to 2.4 times as long as without a database at the same depth",
        ),
        (
            {"device__writes": 2700.0, "device__write_await": 0.006},
            "at 90% of its raw writes (limit 80%)",
        ),
    ],
)
def test_a_busy_drive_is_the_limit_if_it_is_slower_than_raw_or_near_its_raw_iops(
    quantities: dict[str, float], says: str
) -> None:
    found = of_a_parallel_drive(BOTH_ROWS, **quantities)
    assert found.resource == "data writes", found.sentence
    assert says in found.sentence


def test_a_drive_at_its_raw_iops_is_the_limit_however_idle_it_looks() -> None:
    seen = {"device__busy": 0.69, "device__writes": 2990.0, "device__write_await": 0.006}
    found = of_a_parallel_drive(BOTH_ROWS, **seen)
    assert found.resource == "data writes", found.sentence
    assert "69% busy, at 100% of its raw writes (limit 80%)" in found.sentence
    assert "also over its limit" not in found.sentence


@pytest.mark.parametrize(("written", "resource"), [(1600.0, "data writes"), (1200.0, "data reads")])
def test_a_drive_at_the_limit_of_its_class_is_the_limit_however_idle_it_looks(
    written: float, resource: str
) -> None:
    found = judged(
        waits={"data_read": 12.0, "data_write": 2.0, **SAMPLED},
        limits={"read": 6000, "write": 1600},
        devices=(CountedDevice(name="loop0", directories=(0,), rotational=False),),
        device__busy=0.81,
        device__queue_depth=6.0,
        device__reads=1300.0,
        device__writes=written,
        device__read_time=1.2,
        device__write_time=5.0,
    )
    assert found.resource == resource, found.sentence
    says = "81% busy, at 1,600 of 1,600 writes/s that its class allows"
    assert (says in found.sentence) is (resource == "data writes")


def test_utilization_of_a_drive_that_rotates_still_counts() -> None:
    disk = CountedDevice(name="sda", directories=(0,), rotational=True)
    seen = {"device.busy": {"sda": 0.97}, "device.queue_depth": {"sda": 9.0}}
    times = {"device__read_time": 1.0, "device__write_time": 7.0}
    waits = {"data_read": 6.0, **SAMPLED}
    assert judged(waits, sources=seen, devices=(disk,), **times).resource == "data writes"
    other = disk.model_copy(update={"rotational": None})
    assert judged(waits, sources=seen, devices=(other,), **times).resource == "unknown"


def test_a_busy_device_of_the_log_alone_says_nothing_of_the_data() -> None:
    seen = {
        "device.busy": {"sda": 0.2, "sdb": 0.99},
        "device.queue_depth": {"sda": 0.2, "sdb": 1.0},
        "device.read_time": {"sda": 0.2, "sdb": 0.0},
        "device.write_time": {"sda": 0.1, "sdb": 0.9},
    }
    found = judged({"data_read": 6.0, **SAMPLED}, sources=seen, devices=(DATA, LOG))
    assert found.resource == "unknown", found.sentence


def test_users_who_wait_for_both_reads_and_writes_wait_behind_the_writes() -> None:
    """Without utilization as evidence: most of their time, and a fifth of it in writes."""
    waits = {"data_read": 11.0, "data_write": 5.0, **SAMPLED}
    busy = {"device__busy": 0.97, "device__read_time": 1.0, "device__write_time": 7.0}
    assert judged(waits, device__queue_depth=13.0, **busy).resource == "data writes"


ONE_AT_A_TIME = {"device__queue_depth": 1.2}
DATA = CountedDevice(name="sda", directories=(0,), roles=("data",))
LOG = CountedDevice(name="sdb", directories=(1,), roles=("log",))
BOTH = CountedDevice(name="sda", directories=(0, 1), roles=("data", "log"))
TEMPORARY = CountedDevice(name="sdb", directories=(1,), roles=("temporary files",))
OLD = CountedDevice(name="sda", directories=(0,))


@pytest.mark.parametrize(
    ("devices", "name"),
    [
        ((DATA, LOG), "data writes"),
        ((BOTH,), "data and log writes"),
        ((DATA,), "data and log writes"),  # the log is in the data's directory
        ((DATA, TEMPORARY), "data and log writes"),
        ((OLD,), "data and log writes"),
        ((), "data writes"),
    ],
)
def test_the_writes_of_a_device_that_has_the_log_too_are_called_so(
    devices: tuple[CountedDevice, ...], name: str
) -> None:
    busy = {"device__busy": 0.97, "device__read_time": 1.0, "device__write_time": 7.0}
    busy |= ONE_AT_A_TIME
    found = judged(waits={"data_read": 6.0, **SAMPLED}, devices=devices, **busy)
    assert (found.resource, found.name) == ("data writes", name)
    assert found.sentence.startswith(f"Disk is probably limited by {name} at the knee: ")
    assert found.evidence[0].startswith(f"for {name}: ")
    assert ("the log's among them" in found.sentence) == (name == "data and log writes")


def test_waits_for_writes_of_data_are_of_data_alone_wherever_the_log_is() -> None:
    found = judged(waits={"data_write": 11.0, **SAMPLED}, devices=(BOTH,))
    assert (found.resource, found.name) == ("data writes", "data writes")


def test_reads_and_writes_that_only_together_take_most_of_the_time_are_the_devices() -> None:
    found = judged(waits={"data_read": 8.0, "data_write": 7.0, **SAMPLED}, device__busy=0.6)
    assert found.resource == "device"
    assert "users spent 75% of their time waiting for reads and writes of data" in found.sentence


@pytest.mark.parametrize(("reads", "resource"), [(900.0, "device"), (500.0, "unknown")])
def test_a_device_near_its_raw_profile_is_short_while_users_wait_for_it(
    reads: float, resource: str
) -> None:
    row = RawRow(name="r", kind="read", block_bytes=8192, depth=32, iops=1000, mean_s=0.001)
    raw = RawStorage(profile=RawProfile(rows=(row,), seconds=10, file_bytes=2**30))
    found = judged(waits={"data_read": 6.0, **SAMPLED}, raw=raw, device__reads=reads)
    assert found.resource == resource
    device = next(one for one in found.rows if one.resource == "device")
    assert f"{reads / 10:.0f}% of the storage's raw reads (limit 80%)" in device.why


def test_results_without_the_newer_classes_are_judged_without_them() -> None:
    found = judged(waits={"log": 11.0, "other": 5.0})
    assert found.resource == "log"
    assert {"unknown lightweight locks: lightweight locks are among the other waits"} <= {
        *found.evidence
    }


def test_the_parts_of_a_transactions_time_add_up_to_its_latency() -> None:
    found = judged(waits={"cpu": 2.0, "log": 8.0, "lock": 5.0, **SAMPLED}).time_split
    assert [*found] == ["cpu", "log", "lock", "rest"]
    assert sum(one.share for one in found.values()) == pytest.approx(1)
    assert sum(one.seconds for one in found.values()) == pytest.approx(0.01)
    assert found["log"].share == pytest.approx(0.4)
    assert found["rest"].seconds == pytest.approx(0.0025)


def test_waits_beyond_the_latency_by_chance_are_all_of_the_time() -> None:
    found = judged(waits={"log": 18.0, "lock": 6.0}).time_split
    assert [*found] == ["log", "lock"]
    assert found["log"].share == pytest.approx(0.75)


def test_a_share_of_the_time_is_the_same_in_a_sentence_and_in_the_split() -> None:
    """Sampled waits exceed the latency by chance: 15 and 12 sessions of 20 users."""
    found = judged({"data_read": 15.0, "log": 12.0})
    assert round(found.time_split["data_read"].share, 2) == 0.56
    assert "users spent 56% of their time waiting for reads" in found.sentence


def test_without_waits_nothing_is_said_of_where_the_time_went() -> None:
    assert judged().time_split == {}


# --- the verdict ----------------------------------------------------------------------------------


def test_a_verdict_is_suspected_and_names_the_change_that_would_prove_it() -> None:
    found = judged(waits={"log": 11.0})
    assert (found.verdict, found.relief, found.gain) == ("suspected", "log in memory", None)
    assert judged().relief == ""


def test_a_storage_with_time_left_is_said_not_to_be_the_bottleneck() -> None:
    found = judged(database__busy=0.99, device__busy=0.31, device__read_await=0.00009)
    assert found.sentence.endswith("Not the storage: 31% busy, read await 90 µs.")


def test_a_wait_that_the_device_does_not_see_keeps_the_storage_among_the_suspects() -> None:
    """As a limit of a cgroup: the device is idle, and the kernel's pressure is high."""
    throttled = {"pressure.io": {"some": 0.9, "full": 0.79}}
    found = judged(database__busy=0.99, device__busy=0.31, sources=throttled)
    assert "Not the storage" not in found.sentence


def test_the_load_generator_that_ended_a_climb_is_its_bottleneck() -> None:
    knee = rung(Order(configuration="a", phase="search", users=8), 1500.0, **HEALTHY)
    over = {**HEALTHY, "load_generator__busy": 0.91}
    last = rung(Order(configuration="a", phase="search", users=16), 1600.0, invalid="busy", **over)
    found = bottleneck(
        Climb(
            configuration=Configuration(id="a", storage="disk"),
            rungs=(knee, last),
            knee_users=8,
            stopped_by="load_generator",
        )
    )
    assert (found.resource, found.relief) == ("load generator", "another load generator core")
    assert "at 16 users, load generator threads were 91% busy" in found.sentence


def test_a_core_that_a_thread_of_a_drive_fills_is_short_although_others_use_it() -> None:
    cores = {str(n): 0.98 if n == 2 else 0.2 for n in range(8)}
    threads = {"md127_raid10@2": 0.91, "postgres@2": 0.05, "postgres@1": 0.2}
    found = judged(
        sources={"cores.busy": cores, "database.busy": cores, "threads.cpu": threads},
        database__others=0.12,
    )
    assert found.resource == "one core"
    assert "on it: md127_raid10 91%, postgres 5%" in found.sentence


@pytest.mark.parametrize(("rate", "few"), [(0.1, True), (10.0, False)])
def test_a_share_of_few_samples_says_how_few(rate: float, few: bool) -> None:
    found = judged(waits={"log": 11.0, "samples": rate})
    (log,) = [row for row in found.rows if row.resource == "log"]
    window_s = rung(Order(configuration="a", phase="final_run", users=20), 2000.0).tally.window_s
    assert (f"; only {round(3 * rate * window_s)} samples)" in log.why) is few
    assert ("; only " in found.sentence) is few
