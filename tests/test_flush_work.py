"""What a flush of the log is on both sides of a comparison, where it explains the ratio."""

from __future__ import annotations

import re

from kneebench.analysis.comparison import compare
from kneebench.analysis.flush_work import flush_work
from kneebench.brief import Brief
from kneebench.records import CountedDevice, Results, Rung
from tests.recordings import each, metered, recorded, section, with_equal_repeats, with_phase


def with_flushes(
    commits: tuple[float, float], flushes: tuple[float, float], writes: tuple[float, float]
) -> Results:
    """The recorded comparison with these commits, device flushes and device writes per log flush on
    disk and memory.
    """
    results = with_equal_repeats(recorded())
    for climb in (0, 1):
        values = {
            "log__flushes": 1000.0,
            "log__commits_per_flush": commits[climb],
            "device__flushes": 1000 * flushes[climb],
            "device__writes": 1000 * writes[climb],
        }
        results = with_phase(results, climb, "final_run", **values)
    return results


def said(results: Results) -> list[str]:
    """The sentences on flushes, at the end of the caption of Fig. 1."""
    (figure,) = section(Brief(results), "relative").figures
    return re.findall(r"Disk: [^;]+flush;[^;]*\.(?= |$)", figure.caption)


def test_what_a_flush_is_on_both_sides_is_one_sentence() -> None:
    results = with_flushes(commits=(1.3, 6.2), flushes=(4.1, 1.0), writes=(2.0, 2.2))
    assert said(results) == [
        "Disk: 1.3 commits per flush and 4.1 device flushes per log flush; memory: 6.2 and 1.0."
    ]


def test_what_differs_by_less_than_half_is_not_said() -> None:
    assert said(with_flushes(commits=(1.3, 1.9), flushes=(1, 1.4), writes=(2, 2.9))) == []


def test_no_device_flush_at_all_is_a_figure_too() -> None:
    sentences = said(with_flushes(commits=(1.3, 1.3), flushes=(1.1, 0), writes=(0, 0)))
    assert sentences == ["Disk: 1.1 device flushes per log flush; memory: 0."]


def test_without_a_difference_in_throughput_there_is_nothing_to_explain() -> None:
    results = with_flushes(commits=(1.3, 6.2), flushes=(4.1, 1.0), writes=(2.0, 2.2))
    disk, memory = results.climbs
    [nopm, *_] = compare(results)
    alike = nopm.model_copy(update={"differs": False})
    assert flush_work(memory, disk, nopm)
    assert flush_work(memory, disk, alike) == ""


def test_a_storage_without_a_device_is_compared_by_its_commits_alone() -> None:
    results = with_phase(recorded(), 0, "final_run", log__commits_per_flush=3.3)
    assert "device.flushes" not in results.climbs[1].of("final_run")[0].quantities
    assert said(results) == ["Disk: 3.3 commits per flush; memory: 1.1."]


def test_only_devices_under_the_log_count() -> None:
    def with_two_devices(rung: Rung) -> Rung:
        rung = metered(rung, log__flushes=100.0, device__flushes=900.0)
        both = {"sources": {"sda": 500.0, "sdb": 400.0}}
        flushes = rung.quantities["device.flushes"].model_copy(update=both)
        devices = (
            CountedDevice(name="sda", directories=(0,), roles=("data",)),
            CountedDevice(name="sdb", directories=(1,), roles=("log",)),
        )
        found = {**rung.quantities, "device.flushes": flushes}
        return rung.model_copy(update={"quantities": found, "devices": devices})

    results = with_flushes(commits=(1, 1), flushes=(1, 1), writes=(1, 1))
    results = each(results, 0, with_two_devices, "final_run")
    assert said(results)[0].startswith("Disk: ")
    assert "4.0 device flushes per log flush" in said(results)[0]
