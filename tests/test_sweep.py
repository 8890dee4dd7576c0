"""Sweeps over memory and cores: which climbs belong together, where more stops paying, what the
brief shows of it, and the rows for programs.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from typer.testing import CliRunner

from kneebench.analysis.headline import headline, subtitle
from kneebench.analysis.levelling import levelling
from kneebench.analysis.levelling_words import finding, sentence, sweep_document
from kneebench.analysis.sweep import needs, rising_reads, sweeps, took_turns
from kneebench.analysis.sweep_rows import SweepRow, sweep_rows
from kneebench.brief import Brief
from kneebench.cli import app
from kneebench.errors import PlanError
from kneebench.records import Climb, Configuration, Moved, NoiseFloor, Results, Rung
from kneebench.results.file_schemas import SWEEP
from kneebench.results.parquet import write_sweep
from kneebench.shelf import SECTIONS
from tests.recordings import each, metered, recorded, section, with_campaign
from tests.sweeps_simulated import COURSES, GIB, WARMING, climb, memory_sweep, off, rising, shares
from tests.swept import MIB, SIZES, levelling_off, swept

Course = Callable[[float], float]
FILLING = {"steady": False, "moved": Moved(nopm=0.1, reads=-0.4)}


def told(results: Results) -> str:
    (one,) = sweeps(results)
    return sentence(levelling(one))


# --- which climbs ---------------------------------------------------------------------------------


def test_a_sweep_is_of_one_storage_and_differs_in_one_resource_alone() -> None:
    limits = [
        {"memory_bytes": 2 * GIB, "cores": 2},
        {"memory_bytes": GIB, "cores": 2},
        {"memory_bytes": GIB, "cores": 4},
        {"engine_memory_bytes": GIB},
        {"reference": True},
    ]
    configurations = [
        Configuration.model_validate({"id": f"{name}-{n}", "storage": name, **limit})
        for name in ("disk", "nvme")
        for n, limit in enumerate(limits)
    ]
    results = recorded().model_copy(
        update={
            "climbs": tuple(climb(configuration, [1000, 1010]) for configuration in configurations)
        }
    )
    found = [(one.name, one.resource, one.values) for one in sweeps(results)]
    assert found == [
        ("disk", "memory_bytes", (GIB, 2 * GIB)),
        ("nvme", "memory_bytes", (GIB, 2 * GIB)),
        ("disk", "cores", (2, 4)),
        ("nvme", "cores", (2, 4)),
    ]
    assert all(one.reference and one.reference.configuration.reference for one in sweeps(results))


def test_crossed_sweeps_are_called_by_what_else_limits_them() -> None:
    configurations = [
        Configuration(id=f"disk-{c}-{n}", storage="disk", cores=c, memory_bytes=n * GIB)
        for c in (2, 4)
        for n in (1, 2)
    ]
    results = recorded().model_copy(
        update={
            "climbs": tuple(climb(configuration, [1000, 1010]) for configuration in configurations)
        }
    )
    assert [(one.name, one.resource) for one in sweeps(results)] == [
        ("disk, 2 cores", "memory_bytes"),
        ("disk, 4 cores", "memory_bytes"),
        ("disk, 1 GiB", "cores"),
        ("disk, 2 GiB", "cores"),
    ]
    made = section(Brief(results), "sweep")
    assert made.title == "Sweep"
    assert made.sentences[0].startswith("Disk, 2 cores: more than 1 GiB of memory makes no diff")
    assert [one.number for one in made.figures] == ["Fig. S1", "Fig. S4"]


def test_the_big_numbers_of_a_sweep_are_a_share_of_the_throughput_and_what_most_of_it_needs() -> (
    None
):
    share, need, most, least = section(Brief(memory_sweep(off, scatter=0.002)), "glance").numbers
    assert (share.value, share.sure) == ("99%", "98% to 99%, n=3")
    assert share.says == "of the NOPM with 25% of the memory, on disk"
    assert (need.value, need.sure) == ("3.92 GiB", "between 2 GiB and 4 GiB")
    assert need.says == "for 24,300 NOPM (90% of the largest), on disk"
    assert most.says.startswith("NOPM with 32 GiB, at ")
    assert least.says.startswith("NOPM with 1 GiB, at ")
    ratio, *_ = section(Brief(memory_sweep(rising)), "glance").numbers
    assert (ratio.value, ratio.says) == (
        "2.84x",
        "the NOPM with 32 GiB in place of 1 GiB, on disk",
    )


def test_all_bars_of_a_figure_are_relative_to_one_configuration() -> None:
    """Each storage's largest size is compared with the first storage's, the others with theirs."""
    configurations = [
        Configuration(id=f"{name}-{n}", storage=name, constraint=f"{n} GiB", memory_bytes=n * GIB)
        for name in ("disk", "nvme")
        for n in (1, 2)
    ]
    nopm = dict(zip((one.id for one in configurations), (1000, 2000, 3000, 4000), strict=True))
    climbs = [climb(one, [nopm[one.id], 1.01 * nopm[one.id]]) for one in configurations]
    brief = Brief(recorded().model_copy(update={"climbs": tuple(climbs)}))
    assert len({one.baseline for one in brief.view.comparisons}) > 1
    (figure,) = section(brief, "relative").figures
    values = [row["value"] for row in figure.spec["data"]["values"]]
    assert [value / values[0] for value in values] == pytest.approx([1, 2, 3, 4])
    assert "or of a bar's own NOPM if it is not compared with disk (1 GiB)" in figure.caption


def test_a_campaign_without_constraints_has_no_sweep_and_no_section() -> None:
    assert sweeps(recorded()) == ()
    assert sweep_rows(recorded()) == []
    assert SECTIONS.module("sweep").section(Brief(recorded()).view) is None


def test_the_ratio_to_the_largest_is_paired_where_runs_took_turns_and_drift_cancels_out() -> None:
    (one,) = sweeps(memory_sweep(off, scatter=0.002, drift=0.2))
    *smaller, largest = one.configurations
    assert largest.relative
    assert largest.relative.value == 1
    for configuration in smaller:
        assert configuration.relative
        assert configuration.relative.high / configuration.relative.low < 1.03
    added = _began(one.configurations[0].climb, "2026-01-02")
    assert took_turns([one.configurations[0].climb, largest.climb])
    assert not took_turns([added, largest.climb])


def _began(one: Climb, at: str) -> Climb:
    """The climb as if it had been added to the campaign on another day."""
    rungs = (rung.model_copy(update={"started_at": at}) for rung in one.rungs)
    return one.model_copy(update={"rungs": tuple(rungs)})


# --- where it stops paying ------------------------------------------------------------------------


def test_more_memory_stops_paying_at_the_smallest_configuration_within_5_percent_of_the_best() -> (
    None
):
    found = told(memory_sweep(off))
    assert found.startswith(
        "Disk: more memory stops paying at 8 GiB: the least within 5% of the best (confidence"
        " above 99%). 13,600 NOPM (50% of the largest) need 2.18 GiB (between 2 GiB and 4 GiB), "
    )
    assert headline(memory_sweep(off)) == (
        "Disk: more memory stops paying at 8 GiB, 97% of the NOPM with 25% of the memory"
    )
    assert "; 97% of the NOPM with 25% of the memory (95% CI 95% to 100%, n=3)" in subtitle(
        memory_sweep(off)
    )


def straight(gib: float) -> float:
    """All of it from 8 GiB on."""
    return 0.2 + 0.1 * min(gib, 8)


def test_what_each_step_buys_is_beside_it_and_one_slope_only_where_a_line_fits_every_step() -> None:
    bent, line = (levelling(*sweeps(memory_sweep(one, scatter=0.003))) for one in (off, straight))
    assert bent.line is None and bent.unit == GIB
    assert [round(one.value, -3) for one in bent.steps.values()] == [6000, 6000, 0, 0, 0]
    assert all(one.low < one.value < one.high for one in bent.steps.values())
    assert "straight line" not in sentence(bent)
    assert line.line and line.line.value == pytest.approx(2700, rel=0.02)
    assert "(a straight line fits every step)" in sentence(line)
    noisy = levelling(*sweeps(memory_sweep(off, scatter=0.1)))
    assert noisy.line is None, "wide intervals do not make a line of it"
    (table,) = section(Brief(memory_sweep(off)), "sweep").tables
    at = [column.title for column in table.columns].index("Step")
    shown = [row.cells[at] for row in table.rows]
    assert shown[0] == shown[5] == "–" and shown[1].startswith("6,2"), "its interval includes 0"
    assert "Step: NOPM more than the next smaller one, per GiB, where" in table.caption


def test_a_target_is_answered_in_the_title_between_the_sizes_measured_around_it() -> None:
    def targeted(nopm: float) -> Results:
        swept = memory_sweep(off, scatter=0.002)
        resolved = swept.campaign.resolved.model_copy(update={"target": nopm})
        return with_campaign(swept, resolved=resolved)

    assert headline(targeted(15_000)) == (
        "Disk: 15,000 NOPM need 2.41 GiB of memory (between 2 GiB and 4 GiB)"
    )
    assert subtitle(targeted(15_000)).startswith("Disk: more memory stops paying at 8 GiB (conf")
    assert " 15,000 NOPM need 2.41 GiB (between 2 GiB and 4 GiB)." in told(targeted(15_000))
    assert headline(targeted(90_000)) == (
        "Disk: 90,000 NOPM need more than 32 GiB of memory (the most measured)"
    )
    assert "need 1 GiB or less of memory (the least measured)" in headline(targeted(1000))
    assert [one.share for one in needs(*sweeps(memory_sweep(off)))] == [0.5, 0.75, 0.9]
    assert needs(*sweeps(memory_sweep(lambda gib: 1.0))) == (), "all do as much"


def test_reads_that_rise_with_memory_are_a_caveat() -> None:
    results = with_reads(swept(storages=1), 2, 2000, 2100, 1900)
    assert list(rising_reads(results)) == []
    more = with_reads(results, 3, 12_000, 12_100, 12_200)
    (said,) = rising_reads(more)
    assert said == (
        "Disk (512 MiB): it read 11.8 KiB per transaction, and disk (384 MiB) with less memory"
        " 1.95 KiB. Reads should fall as memory grows, so its NOPM may be too low."
    )
    assert said in section(Brief(more), "cautions").sentences


def test_the_largest_size_whose_limit_was_not_reached_is_not_said_to_need_more() -> None:
    def largest_used(hits: float) -> Results:
        results, seen = memory_sweep(lambda gib: gib**0.3), {"group__limit_hits": hits}
        for number in range(len(results.climbs)):
            results = each(results, number, lambda r: metered(r, group__memory=20 * GIB, **seen))
        return results

    found = told(largest_used(0.0))
    assert found.startswith(
        "Disk: more memory still pays at 32 GiB, whose limit was not reached (confidence above 99%;"
        " 12 GiB of it unused in the windows)."
    )
    assert "still pays at 32 GiB, the most measured (conf" in told(largest_used(0.1))


def test_a_sweep_over_cores_says_nothing_of_a_limit_on_memory_beside_it() -> None:
    results = memory_sweep(lambda gib: gib**0.3)
    climbs = []
    for one in results.climbs:
        cores = (one.configuration.memory_bytes or 0) // GIB
        update = {"memory_bytes": 64 * GIB, "cores": cores}
        configuration = one.configuration.model_copy(update=update)
        rungs = tuple(metered(r, group__memory=GIB, group__limit_hits=0.0) for r in one.rungs)
        climbs.append(one.model_copy(update={"configuration": configuration, "rungs": rungs}))
    said = told(results.model_copy(update={"climbs": tuple(climbs)}))
    assert "more cores still pay at 32 cores" in said and "unused" not in said


@pytest.mark.parametrize(
    ("course", "said"),
    [
        (lambda gib: gib**0.3, "Disk: more memory still pays at 32 GiB, the most measured (conf"),
        (
            lambda gib: 1.0,
            "Disk: more than 1 GiB of memory makes no difference to NOPM: the least measured",
        ),
    ],
    ids=["still-pays", "no-difference"],
)
def test_a_sweep_that_never_levels_off_or_is_flat_is_said_to_be_so(
    course: Course, said: str
) -> None:
    assert told(memory_sweep(course)).startswith(said)


def test_with_too_much_noise_or_too_few_runs_the_answer_is_cannot_say() -> None:
    assert told(memory_sweep(lambda gib: 1.0, scatter=0.3)) == (
        "Disk: cannot say where more memory stops paying (the runs scatter too much)."
    )
    assert "two runs each" in told(memory_sweep(off, runs=1))
    close = memory_sweep(lambda gib: 0.95 if gib == 8 else off(gib), seed=1)
    assert "stops paying somewhere from 8 GiB to 16 GiB (confidence " in told(close)


def test_a_machine_whose_equal_storages_differ_cannot_say_what_others_can() -> None:
    results = memory_sweep(lambda gib: 0.97 if gib == 8 else off(gib), scatter=0.002)
    assert "stops paying at 8 GiB" in told(results)
    floor = NoiseFloor(shares={"nopm": 0.08}, pairs=3, measured_at="2026-01-01")
    noisy = tuple(one.model_copy(update={"noise_floor": floor}) for one in results.climbs)
    assert "stops paying somewhere from" in told(results.model_copy(update={"climbs": noisy}))


@pytest.mark.parametrize("scatter", [0.02, 0.1])
@pytest.mark.parametrize(("course", "gib"), [(lambda gib: 1.0, 1), (off, 8)], ids=["flat", "off"])
def test_hardly_any_sweep_names_a_wrong_configuration_however_noisy_it_is(
    course: Course, gib: int, scatter: float
) -> None:
    found = (sweeps(memory_sweep(course, scatter=scatter, seed=seed))[0] for seed in range(40))
    named = [one.at for one in map(levelling, found) if one.at]
    assert sum(one.configuration.memory_bytes != gib * GIB for one in named) <= 4
    assert len(named) > 10 or scatter > 0.05


# --- still warming --------------------------------------------------------------------------------

EIGHTHS = tuple(round(n / 8 * 1843) * MIB for n in range(1, 9))
"""Eight sizes up to 1.8 GiB, as shares of the data."""
ROSE = (0.60, 0.88, 0.97, 0.98, 0.99, 1.0, 1.11, 1.46)
"""A sweep that seemed to level off at three eighths while its two largest sizes were warming."""


def eighths(*warming: int, rose: Sequence[float] = ROSE) -> Results:
    """A sweep over eight sizes of memory, of which these were still warming."""
    shares = dict(zip(EIGHTHS, rose, strict=True))
    results = swept(shares.__getitem__, sizes=EIGHTHS, storages=1, scatter=0.005)
    for n in warming:
        results = each(results, n, lambda one: one.model_copy(update=FILLING), "final_run")
    return results


def test_larger_sizes_that_were_still_warming_bound_the_answer() -> None:
    results = eighths(6, 7)
    assert told(results).startswith(
        "Disk: more memory still pays beyond 1.35 GiB (confidence above 99%)."
    )
    assert (
        " 1.8 GiB had at least 1.46x the NOPM of 1.35 GiB (95% CI 1.44x to 1.49x, n=3)."
        " Where it stops paying is not known, because 1.58 GiB and 1.8 GiB were still warming."
        " 53,400 NOPM (50% of the largest) need 230 MiB or less (the least measured), "
    ) in told(results)
    assert told(results).endswith(" The bottleneck is log writes from 230 MiB to 1.35 GiB.")
    assert headline(results).startswith(
        "Disk: 1.66x the NOPM with 1.35 GiB in place of 230 MiB, and more still pays"
    )
    (document,) = sweep_document(results)["levelling"]
    assert (document["answer"], document["configuration"]) == ("pays beyond", "disk (1382 MiB)")
    assert document["at_least"]["configuration"] == "disk (1843 MiB)"
    assert document["at_least"]["relative"]["value"] == pytest.approx(1.46, rel=0.01)


def test_the_largest_size_keeps_its_name_and_ratios_to_it_are_bounds() -> None:
    results = eighths(6, 7)
    (sweep,) = sweeps(results)
    *_, below, warming, largest = sweep.configurations
    assert largest.relative and largest.relative.value == 1
    assert below.relative and below.relative.value == pytest.approx(1 / 1.46, rel=0.02)
    assert [one.bound for one in (below, warming, largest)] == ["at most", "either", ""]
    rows = sweep_rows(results)
    assert [one.bound for one in rows[-3:]] == ["at most", "either", ""]
    assert rows[-1].still_warming.startswith("it never became steady within its warm-up limit")
    made = section(Brief(results), "sweep")
    shown = [row.cells[4].partition("\n")[0] for row in made.tables[0].rows]
    assert shown[0].startswith("at most 0.4")
    assert shown[5].startswith("at most 0.68")
    assert shown[6].endswith("(both still warming)")
    assert shown[7] == "largest (still warming)"
    assert made.tables[0].rows[7].cells[3].startswith("at least ")
    assert not made.tables[0].rows[5].cells[3].startswith("at least")
    _, bounded = section(Brief(results), "each-configuration").tables[0].rows[-2:]
    assert bounded.cells[2].startswith("at least ")
    (first, *_) = section(Brief(results), "each-configuration").tables
    titles = [column.title for column in first.columns]
    assert "Vs. baseline" not in titles, "there is no other storage"


def test_figures_show_and_mark_the_sizes_that_were_still_warming() -> None:
    drawn, devices = section(Brief(eighths(6, 7)), "sweep").figures
    marked = [row["warming"] for row in _rows(drawn.spec)]
    assert marked == [False] * 6 + [True] * 2
    assert not any(row["circled"] for row in _rows(drawn.spec))
    assert "▲: still warming." in drawn.caption
    assert "ratios of warm configurations are upper bounds" in drawn.caption
    assert "▲" in devices.caption
    steady = section(Brief(eighths()), "sweep").figures[0]
    assert "▲" not in steady.caption


def _rows(spec: dict[str, Any]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = spec["data"]["values"]
    return rows


def test_a_caveat_says_why_a_size_is_a_lower_bound_and_the_section_does_not_repeat_it() -> None:
    results = eighths(6, 7)
    brief = Brief(results)
    caveats = section(brief, "cautions").sentences
    [caveat] = [one for one in caveats if "ower bound" in one]
    assert caveat.startswith(
        "Lower bounds in their sweep, as they were still warming: disk (1613 MiB) and disk (1843"
        " MiB): "
    )
    [alone] = [one for one in section(Brief(eighths(7)), "cautions").sentences if "ower b" in one]
    assert alone.startswith("Disk (1843 MiB) is a lower bound in its sweep: ")
    assert not any(
        "never became steady" in one for one in section(Brief(results), "sweep").sentences
    )


def test_without_a_shown_gain_a_warming_largest_size_leaves_the_end_open() -> None:
    flat = (0.60, 0.88, 0.97, 0.98, 0.99, 1.0, 1.0, 1.0)
    assert told(eighths(7, rose=flat)).startswith(
        "Disk: cannot say where more memory stops paying; it is 691 MiB or more (confidence 95%),"
        " because 1.8 GiB was still warming."
    )
    (document,) = sweep_document(eighths(7, rose=flat))["levelling"]
    assert document["between"] == ["disk (691 MiB)", None]
    assert "and 1.8 GiB were still warming). The" in told(eighths(*range(8)))


def test_a_smaller_size_that_was_still_warming_is_taken_to_do_no_more_than_a_larger_one() -> None:
    results = each(swept(), 0, lambda one: one.model_copy(update=FILLING), "final_run")
    disk = sweeps(results)[0]
    assert disk.configurations[0].bound == "at least"
    found = levelling(disk)
    assert (found.answer, found.at) == ("levels off", disk.configurations[3])
    between = each(swept(), 3, lambda one: one.model_copy(update=FILLING), "final_run")
    assert levelling(sweeps(between)[0]).answer == "levels off", "it did enough while it warmed"


def with_reads(results: Results, climb: int, *each_bytes: float, time_s: float = 1.0) -> Results:
    """The results where the final runs of a climb read so much per transaction; `time_s`: of the
    users in a second.
    """
    of_repeat = dict(enumerate(each_bytes, start=1))

    def reading(one: Rung) -> Rung:
        read = of_repeat.get(one.order.repeat, each_bytes[0])
        return metered(one, device__read_bytes_per_transaction=read, device__read_time=time_s)

    return each(results, climb, reading, "final_run")


def test_a_reference_that_reads_more_than_the_largest_size_is_still_warming() -> None:
    results = with_reads(swept(storages=1, reference=True), 5, 7000, 7100, 6900)
    colder = with_reads(results, 6, 25_000, 24_000, 26_000)
    (sweep,) = sweeps(colder)
    assert sweep.reference
    assert sweep.reference.warming == (
        "it read 24.4 KiB per transaction, and disk (1024 MiB) with less memory 6.84 KiB"
    )
    assert sweep.reference.bound == "at least"
    assert levelling(sweep).answer == "levels off", "the reference is apart"
    made = section(Brief(colder), "sweep")
    assert made.tables[0].rows[6].cells[3].startswith("at least ")
    assert _rows(made.figures[0].spec)[6]["warming"]
    assert any(
        "Disk (no limit) is a lower bound in its sweep: it read 24.4 KiB" in one
        for one in section(Brief(colder), "cautions").sentences
    )
    for alike in (
        with_reads(results, 6, 7200, 7000, 7100),
        with_reads(results, 6, 25_000, 24_000, 7050),
        with_reads(results, 6, 25_000, 24_000, 26_000, time_s=0.01),
    ):
        reference = sweeps(alike)[0].reference
        assert reference and not reference.warming


@pytest.mark.parametrize("warming", WARMING.values(), ids=WARMING)
@pytest.mark.parametrize("scatter", [0.02, 0.1])
def test_hardly_any_sweep_with_warming_sizes_has_a_wrong_answer(
    warming: Sequence[int], scatter: float
) -> None:
    for name, course in COURSES.items():
        found = shares(course, warming, scatter, 30)
        assert found.wrong <= 0.1, name
        assert found.outside <= 0.125, name


# --- the brief ------------------------------------------------------------------------------------


def test_the_section_has_a_line_per_storage_the_reference_apart_and_a_row_per_configuration() -> (
    None
):
    made = section(Brief(swept(reference=True)), "sweep")
    assert made.title == "Memory sweep"
    assert [one[: one.index(":")] for one in made.sentences] == ["Disk", "Memory"]
    relative, devices = made.figures
    assert [one.number for one in made.figures] == ["Fig. S1", "Fig. S2"]
    drawn = json.dumps(relative.spec)
    assert drawn.count('"reference": true') == 2
    assert drawn.count('"circled": true') >= 1
    assert "Read, MB/s" in json.dumps(devices.spec)
    (table,) = made.tables
    assert len(table.rows) == 2 * (len(SIZES) + 1)
    shown = [row.cells[:2] for row in table.rows]
    assert shown[0] == ("disk", "128 MiB")
    assert shown[6] == ("disk", "no limit")
    assert table.rows[5].cells[4] == "largest"


def test_a_sweep_of_one_storage_is_the_title_of_its_brief() -> None:
    results = swept(storages=1)
    assert headline(results).startswith("Disk: more memory stops paying at 512 MiB")
    assert "confidence" in subtitle(results)
    (one,) = sweeps(results)
    assert finding(levelling(one)) in headline(results)


def test_the_answer_says_what_limits_the_database_from_which_size_to_which() -> None:
    results = swept(storages=1)
    climbs = [
        _waiting(climb, "waits__data_read" if n < 3 else "waits__log")
        for n, climb in enumerate(results.climbs)
    ]
    waiting = results.model_copy(update={"climbs": tuple(climbs)})
    (one,) = sweeps(waiting)
    assert sentence(levelling(one)).endswith(
        " The bottleneck is data reads from 128 MiB to 384 MiB and log writes from 512 MiB to 1"
        " GiB."
    )
    status = [row.cells[2] for row in section(Brief(waiting), "bottlenecks").tables[0].rows]
    assert status[0] == "suspected\n(more memory: see the sweep)"
    assert status[-1] == "suspected\n(to prove it: log in memory)"


def _waiting(climb: Climb, what: str) -> Climb:
    """The climb, whose users spend their time waiting for one thing."""
    waits = dict.fromkeys(("waits__data_read", "waits__log", "waits__cpu"), 0.0)
    busy = {"cores__busy": 0.3, "database__busy": 0.3, "device__busy": 0.3}
    rungs = (metered(rung, **busy, **waits | {what: 0.9 * rung.users}) for rung in climb.rungs)
    return climb.model_copy(update={"rungs": tuple(rungs)})


def test_a_sweep_over_cores_is_said_in_cores() -> None:
    configurations = [
        Configuration(id=f"disk-{n}", storage="disk", constraint=f"{n} cores", cores=n)
        for n in (1, 2, 4, 8)
    ]
    rates = (1000, 2000, 3950, 4000)
    climbs = tuple(
        climb(configuration, [rate, 1.01 * rate, 0.995 * rate])
        for configuration, rate in zip(configurations, rates, strict=True)
    )
    results = recorded().model_copy(update={"climbs": climbs})
    assert told(results).startswith(
        "Disk: more cores stop paying at 4 cores: the least within 5% of the best"
    )


# --- for programs ---------------------------------------------------------------------------------


def test_traffic_of_devices_is_the_arithmetic_mean_that_its_interval_is_around() -> None:
    rates = iter((30e6, 40e6, 60e6) * 9)
    results = each(swept(), 0, lambda r: metered(r, device__write_bytes=next(rates)), "final_run")
    written = sweeps(results)[0].configurations[0].write_bytes_per_s
    assert written is not None
    seen = [r.quantity("device.write_bytes") or 0 for r in results.climbs[0].of("final_run")]
    assert written.value == pytest.approx(sum(seen) / len(seen))
    assert (written.low + written.high) / 2 == pytest.approx(written.value)
    assert 0 < written.low < min(seen)


def test_rows_for_a_notebook_are_flat_numbers_with_intervals() -> None:
    results = swept(reference=True)
    rows = sweep_rows(results)
    assert rows == sweep_rows(results)
    first, *_, largest, reference = rows[:7]
    assert (first.sweep, first.storage, first.memory_bytes) == ("memory_bytes", "disk", 128 * MIB)
    assert first.configuration == "disk (128 MiB)"
    assert first.nopm_low is not None
    assert first.nopm is not None
    assert first.nopm_high is not None
    assert first.nopm_low < first.nopm < first.nopm_high
    assert first.relative == pytest.approx(levelling_off(128 * MIB) / levelling_off(GIB), rel=0.05)
    assert first.read_bytes_per_s is not None
    assert largest.read_bytes_per_s is not None
    assert first.read_bytes_per_s > 10 * largest.read_bytes_per_s
    assert largest.relative == 1
    assert (reference.reference, reference.memory_bytes) == (True, None)
    assert tuple(SWEEP) == SweepRow._fields


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_table_of_a_sweep_is_read_back_as_it_was(ending: str, tmp_path: Path) -> None:
    rows, file = sweep_rows(swept(reference=True)), tmp_path / f"it's a sweep.{ending}"
    write_sweep(file, rows)
    write_sweep(file, rows)
    name = str(file).replace("'", "''")
    found = duckdb.sql(f"SELECT * FROM '{name}'")
    assert found.columns == list(SWEEP)
    for read, row in zip(found.fetchall(), rows, strict=True):
        assert [one or None for one in read] == [
            pytest.approx(one) if isinstance(one, float) else one or None for one in row
        ]
    if ending == "csv":
        with file.open() as lines:
            assert [line["memory_bytes"] for line in csv.DictReader(lines)][5:7] == [str(GIB), ""]


def test_show_writes_the_sweep_as_a_table_and_refuses_where_there_is_none(tmp_path: Path) -> None:
    from kneebench.commands.output import write_sweep_table

    assert write_sweep_table(swept(), tmp_path / "sweep.csv").read_text().startswith("sweep,stor")
    with pytest.raises(PlanError, match="no storage was measured with several sizes"):
        write_sweep_table(recorded(), tmp_path / "none.csv")
    with pytest.raises(PlanError, match=r"use \.csv or \.parquet"):
        write_sweep_table(swept(), tmp_path / "sweep.xlsx")
    shown = CliRunner().invoke(app, ["show", str(recorded().folder), "--json"])
    assert json.loads(shown.stdout)["sweep"] == {"rows": [], "levelling": []}


def test_the_document_for_programs_has_the_sweep_and_where_it_levels_off() -> None:
    document = sweep_document(swept())
    assert len(document["rows"]) == 2 * len(SIZES)
    disk = document["levelling"][0]
    assert (disk["answer"], disk["configuration"], disk["step"]) == (
        "levels off",
        "disk (512 MiB)",
        128 * MIB,
    )
    assert disk["nopm_per_step"] is None and disk["steps"]["disk-256-mib"]["low"] > 0
    assert [one["share"] for one in disk["needs"]] == [0.5, 0.75, 0.9]
    json.dumps(document)
