"""A database on a machine that kneebench does not run on: its cores, its data files and another
tool's TPM in the brief, from what the server counts itself. The answers are Microsoft's documented
ones; not tried on SQL Server.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kneebench.analysis.bottleneck import bottleneck
from kneebench.brief import Brief
from kneebench.brief.sections.over_time import _Read
from kneebench.brief.sweep_figures import _seconds
from kneebench.databases.engines.sqlserver.readings import SqlServerReadings
from kneebench.measurement.derived_metrics import derived_metrics
from kneebench.measurement.sampler import RawSeries
from kneebench.measurement.summaries import summaries, window
from kneebench.records import (
    Configuration,
    Counted,
    ResourceEvidence,
    Results,
    Rung,
    Series,
    Summary,
)
from tests.documented_server import ANSWERS, DocumentedSession
from tests.recordings import each, recorded, section

WINDOW_S = 10.0
OF_HERE = ("cores.", "database.", "processes.", "run_queue.", "device.", "pressure.", "threads.")
"""Quantities that are read on the machine that kneebench runs on."""


def later(*, busy: float, idle: int) -> DocumentedSession:
    """The documented server 10 s later: its cores so busy, its machine so idle."""
    ran_ms = round(1000 * WINDOW_S * busy)
    session = DocumentedSession()
    session.answer("dm_os_schedulers", [(0, 12_000 + ran_ms, 3), (1, 9_000 + ran_ms + 50, 2)])
    session.answer("process_user_time_ms", [(21_500 + 2 * ran_ms,)])
    session.answer("ring_buffers", [(idle, 0)])
    counters = {"Batch Requests/sec": 40_000, "Transactions/sec": 60_000, "Log Growths": 1}
    found = ANSWERS["dm_os_performance_counters"]
    assert isinstance(found, list)
    session.answer("performance_counters", [(n, v + counters.get(n, 0)) for n, v in found])
    files = ANSWERS["dm_io_virtual_file_stats"]
    assert isinstance(files, list)
    return session.answer(
        "virtual_file_stats", [(kind, name, *(2 * n for n in more)) for kind, name, *more in files]
    )


def measured(rung: Rung, *, busy: float, idle: int) -> Rung:
    """The rung as if that server had been measured, and nothing of its machine from here."""
    then, now = (
        SqlServerReadings(session, "tpcc")
        for session in (DocumentedSession(), later(busy=busy, idle=idle))
    )
    raw = [
        RawSeries(meter, [0.0, WINDOW_S], [then.read(meter), now.read(meter)])
        for meter in ("log_writes", "tables")
    ]
    load = [{"load.transactions|load_generator": n} for n in (0.0, 15_000.0)]
    held = window([*raw, RawSeries("load", [0.0, WINDOW_S], load)], 0, 1)
    kept = {name: one for name, one in rung.quantities.items() if not name.startswith(OF_HERE)}
    own = summaries(held) | derived_metrics(held, rung.tally, cores=())
    idle_generator = {"load_generator.busy": Summary(unit="share", value=0.3, high=0.3)}
    return rung.model_copy(update={"quantities": {**kept, **own, **idle_generator}})


def results(*, busy: float = 1.0, idle: int = 1) -> Results:
    return each(recorded(), 0, lambda rung: measured(rung, busy=busy, idle=idle))


def evidence(found: Results, resource: str) -> ResourceEvidence:
    return next(row for row in bottleneck(found.climbs[0]).rows if row.resource == resource)


def test_the_servers_own_count_of_its_cores_names_the_cpu_as_the_bottleneck() -> None:
    found = evidence(results(), "cpu")
    assert found.short is True
    assert (
        "the least busy database core was 100% busy (limit 100%), as the server counts" in found.why
    )
    assert found.utilization == "100% busy, the server's machine 99% busy"
    assert found.saturation.startswith("5 runnable tasks")
    assert bottleneck(results().climbs[0]).resource == "cpu"


def test_idle_cores_of_the_server_speak_against_the_cpu() -> None:
    found = evidence(results(busy=0.4, idle=55), "cpu")
    assert found.short is False
    assert found.utilization == ("40.3% busy (least busy core 40%), the server's machine 45% busy")


def test_a_machine_that_is_busy_without_the_database_is_not_judged() -> None:
    found = evidence(results(busy=0.4, idle=0), "cpu")
    assert found.short is None
    assert found.why.endswith("but its machine was 100% busy")


def test_a_single_core_is_judged_among_the_servers_and_never_among_this_machines() -> None:
    here = {"cores.busy": Summary(unit="", value=0.5, high=1, sources={"0": 0.99, "1": 0.01})}
    found = each(
        results(busy=0.4, idle=55),
        0,
        lambda rung: rung.model_copy(update={"quantities": {**rung.quantities, **here}}),
    )
    assert evidence(found, "one core").utilization.startswith("core 1 41% busy")


def test_what_the_server_counts_of_itself_is_a_table_of_the_brief() -> None:
    table = section(Brief(results()), "evidence").tables[-1]
    assert [column.title for column in table.columns] == ["Server", "disk", "memory"]
    shown = {row.cells[0]: row.cells[1] for row in table.rows}
    assert shown["Busiest core"].startswith("100%")
    assert shown["Server's machine, busy"] == "99%"
    assert shown["Server cores used"] == "2"
    assert shown["Page life expectancy"] == "1 h"
    assert shown["Growths of the log"] == "0.1/s"
    assert shown["Data file reads"] == "40/s\n(kneebench_data_1: 25/s, kneebench_data_2: 15/s)"
    assert (
        shown["Data file read latency"] == "2 ms\n(kneebench_data_1: 2 ms, kneebench_data_2: 2 ms)"
    )
    assert {row.cells[2] for row in table.rows} == {"–"}, "nothing of it was read of the other"


def test_without_such_readings_there_is_no_such_table() -> None:
    tables = section(Brief(recorded()), "evidence").tables
    assert not any(table.columns[0].title == "Server" for table in tables)


def test_what_another_tool_takes_for_tpm_is_a_column_beside_tpm() -> None:
    table = section(Brief(results()), "rungs").tables[0]
    titles = [column.title for column in table.columns]
    assert titles[titles.index("TPM") :][:3] == ["TPM", "TPM/NOPM", "HammerDB's TPM on SQL Server"]
    assert table.rows[0].cells[titles.index("HammerDB's TPM on SQL Server")] == "240,000"
    assert "HammerDB's TPM on SQL Server: the whole server's own count" in table.caption
    without = section(Brief(recorded()), "rungs").tables[0]
    assert "HammerDB's TPM on SQL Server" not in [column.title for column in without.columns]


def test_the_caption_of_tpm_names_whose_count_it_is() -> None:
    uncounted = {"counted": Counted(next_order_ids=1)}
    found = each(results(), 0, lambda rung: rung.model_copy(update=uncounted))
    assert "TPM comes from" in section(Brief(found), "rungs").tables[0].caption, "memory's does"
    alone = found.model_copy(update={"climbs": found.climbs[:1]})
    caption = section(Brief(alone), "rungs").tables[0].caption
    assert "TPM is the load generator's count" in caption
    assert "TPM comes from" not in caption


def test_log_per_transaction_is_in_the_brief_by_the_load_generators_count() -> None:
    table = section(Brief(results()), "costs").tables[0]
    titles = [column.title for column in table.columns]
    row = table.rows[0].cells
    assert row[titles.index("Log per tx")] == "4 KiB"
    assert row[titles.index("Commits per flush")] == "1.5"


def test_over_time_the_servers_cores_are_drawn_and_its_log_needs_no_count_of_commits() -> None:
    def course(quantity: str, *values: float) -> Series:
        return Series(quantity=quantity, source="0", unit="", at_s=(1.0, 2.0), value=values)

    given = [
        course("log.bytes", 3e6, 2e6),
        course("load.transactions", 9.0, 9.0),
        course("cores.busy", 0.1, 0.1),
        course("server.core_busy", 0.8, 0.9),
    ]
    read = _Read(recorded().climbs[0].rungs[0], given)
    assert [point["value"] for point in read.traffic if point["kind"] == "log"] == [3.0, 2.0]
    assert [point["value"] for point in read.cores] == [0.8, 0.9]
    here = _Read(recorded().climbs[0].rungs[0], given[:3])
    assert [point["value"] for point in here.cores] == [0.1, 0.1]


def test_derived_metrics_of_cores_here_do_not_use_the_servers_count() -> None:
    samples = [
        {"cores.busy|0": 0.0, "server.core_busy|0": 0.0},
        {"cores.busy|0": 5.0, "server.core_busy|0": 9.0},
    ]
    held = window([RawSeries("cores", [0.0, 10.0], samples)], 0, 1)
    tally = recorded().climbs[0].rungs[0].tally
    assert derived_metrics(held, tally, cores=[0])["database.busy"].value == pytest.approx(0.5)
    assert derived_metrics(held, tally, cores=[1]).get("database.busy") is None
    assert derived_metrics(held, tally, cores=())["database.busy"].value == pytest.approx(0.9)


def test_the_cores_of_a_sweep_are_the_servers_and_not_those_of_this_machine() -> None:
    rung = results().climbs[0].rungs[0]
    drawn = {"server.core_busy": 0.8, "cores.busy": 0.1}

    def series(_: Rung, name: str) -> list[Series]:
        return [Series(quantity=name, source="0", unit="", at_s=(1.0,), value=(drawn[name],))]

    view: Any = SimpleNamespace(at_the_knee=lambda climb: rung, series=series)
    configuration = Configuration(id="a", storage="disk")
    line: Any = SimpleNamespace(
        name="disk",
        configurations=[SimpleNamespace(climb=None, configuration=configuration, warming="")],
        sweep=SimpleNamespace(resource="memory_bytes"),
    )
    assert [point["value"] for point in _seconds(view, line)] == [0.8]
