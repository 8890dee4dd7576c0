"""Sweeps over memory and cores: which climbs belong together, where more stops paying, what the
brief shows of it, and the rows for programs.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from math import exp
from pathlib import Path

import duckdb
import numpy as np
import pytest
from typer.testing import CliRunner

from kneebench.analysis.headline import headline, subtitle
from kneebench.analysis.levelling import levelling
from kneebench.analysis.levelling_words import finding, sentence, sweep_document
from kneebench.analysis.sweep import SweepRow, sweep_rows, sweeps, took_turns
from kneebench.brief import Brief
from kneebench.cli import app
from kneebench.errors import PlanError
from kneebench.records import Cell, Climb, Moved, NoiseFloor, Order, Results
from kneebench.results.file_schemas import SWEEP
from kneebench.results.parquet import write_sweep
from kneebench.shelf import SECTIONS
from tests.curves import rung
from tests.recordings import each, recorded, section
from tests.swept import MIB, SIZES, levelling_off, swept

GIB = 2**30
Course = Callable[[float], float]


def climb(cell: Cell, per_s: Sequence[float], knee_users: int = 8) -> Climb:
    """Final runs with these throughputs."""
    rungs = tuple(
        rung(Order(cell=cell.id, phase="final_run", users=8, repeat=repeat), each_s)
        for repeat, each_s in enumerate(per_s, start=1)
    )
    return Climb(cell=cell, rungs=rungs, knee_users=knee_users, bracket=(8, 8))


def memory(
    course: Course,
    *,
    scatter: float = 0.01,
    seed: int = 0,
    runs: int = 3,
    drift: float = 0.0,
    gib: Sequence[int] = (1, 2, 4, 8, 16, 32),
) -> Results:
    """A sweep over memory; all runs of a repeat drift alike."""
    rng = np.random.default_rng(seed)
    repeats = drift * rng.normal(size=runs)
    climbs = tuple(
        climb(
            Cell(id=f"disk-{n}", storage="disk", constraint=f"{n} GiB", memory_bytes=n * GIB),
            [1000 * course(n) * exp(scatter * rng.normal() + moved) for moved in repeats],
        )
        for n in gib
    )
    return recorded().model_copy(update={"climbs": climbs})


def early(gib: float) -> float:
    """99% of the most at 8 GiB, 92% at 4."""
    return 1 - 0.08 * (4 / gib) ** 3 if gib >= 4 else 0.92 * gib / 4


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
    cells = [
        Cell.model_validate({"id": f"{name}-{n}", "storage": name, **limit})
        for name in ("disk", "nvme")
        for n, limit in enumerate(limits)
    ]
    results = recorded().model_copy(
        update={"climbs": tuple(climb(cell, [1000, 1010]) for cell in cells)}
    )
    found = [(one.name, one.resource, one.values) for one in sweeps(results)]
    assert found == [
        ("disk", "memory_bytes", (GIB, 2 * GIB)),
        ("nvme", "memory_bytes", (GIB, 2 * GIB)),
        ("disk", "cores", (2, 4)),
        ("nvme", "cores", (2, 4)),
    ]
    assert all(one.reference and one.reference.cell.reference for one in sweeps(results))


def test_crossed_sweeps_are_called_by_what_else_limits_them() -> None:
    cells = [
        Cell(id=f"disk-{c}-{n}", storage="disk", cores=c, memory_bytes=n * GIB)
        for c in (2, 4)
        for n in (1, 2)
    ]
    results = recorded().model_copy(
        update={"climbs": tuple(climb(cell, [1000, 1010]) for cell in cells)}
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


def test_a_campaign_without_constraints_has_no_sweep_and_no_section() -> None:
    assert sweeps(recorded()) == ()
    assert recorded().sweep() == []
    assert SECTIONS.module("sweep").section(Brief(recorded()).view) is None


def test_the_ratio_to_the_largest_is_paired_where_runs_took_turns_and_drift_cancels_out() -> None:
    (one,) = sweeps(memory(early, scatter=0.002, drift=0.2))
    *smaller, largest = one.cells
    assert largest.relative
    assert largest.relative.value == 1
    for cell in smaller:
        assert cell.relative
        assert cell.relative.high / cell.relative.low < 1.03
    added = _began(one.cells[0].climb, "2026-01-02")
    assert took_turns([one.cells[0].climb, largest.climb])
    assert not took_turns([added, largest.climb])


def _began(one: Climb, at: str) -> Climb:
    """The climb as if it had been added to the campaign on another day."""
    rungs = (rung.model_copy(update={"started_at": at}) for rung in one.rungs)
    return one.model_copy(update={"rungs": tuple(rungs)})


# --- where it stops paying ------------------------------------------------------------------------


def test_more_memory_stops_paying_at_the_smallest_cell_within_5_percent_of_the_best() -> None:
    found = told(memory(early))
    assert found.startswith(
        "Disk: more memory stops paying at 8 GiB: the least within 5% of the best (confidence"
        " above 99%). Up to there, each GiB buys "
    )
    (one,) = sweeps(memory(early))
    gain = levelling(one).gain
    assert gain
    assert gain.step == GIB
    assert gain.nopm.low < gain.nopm.value < gain.nopm.high
    nopm = [27_000 * early(gib) for gib in (1, 2, 4, 8)]
    assert gain.nopm.value == pytest.approx(np.polyfit((1, 2, 4, 8), nopm, 1)[0], rel=0.05)


@pytest.mark.parametrize(
    ("course", "said"),
    [
        (lambda gib: gib**0.3, "Disk: more memory still pays at 32 GiB, the most measured (conf"),
        (
            lambda gib: 1.0,
            "Disk: more than 1 GiB of memory makes no difference: the least measured",
        ),
    ],
    ids=["still-pays", "no-difference"],
)
def test_a_sweep_that_never_levels_off_or_is_flat_is_said_to_be_so(
    course: Course, said: str
) -> None:
    assert told(memory(course)).startswith(said)


def test_with_too_much_noise_or_too_few_runs_the_answer_is_cannot_say() -> None:
    assert told(memory(lambda gib: 1.0, scatter=0.3)) == (
        "Disk: cannot say where more memory stops paying (the runs scatter too much)."
    )
    assert "two runs each" in told(memory(early, runs=1))
    close = memory(lambda gib: 0.95 if gib == 8 else early(gib), seed=1)
    assert "; it is somewhere from 8 GiB to 16 GiB (confidence " in told(close)


def test_a_machine_whose_equal_storages_differ_cannot_say_what_others_can() -> None:
    results = memory(lambda gib: 0.97 if gib == 8 else early(gib), scatter=0.002)
    assert "stops paying at 8 GiB" in told(results)
    floor = NoiseFloor(shares={"nopm": 0.08}, pairs=3, measured_at="2026-01-01")
    noisy = tuple(one.model_copy(update={"noise_floor": floor}) for one in results.climbs)
    assert "it is somewhere from" in told(results.model_copy(update={"climbs": noisy}))


@pytest.mark.parametrize("scatter", [0.02, 0.1])
@pytest.mark.parametrize(("course", "gib"), [(lambda gib: 1.0, 1), (early, 8)], ids=["flat", "off"])
def test_hardly_any_sweep_names_a_wrong_cell_however_noisy_it_is(
    course: Course, gib: int, scatter: float
) -> None:
    found = (sweeps(memory(course, scatter=scatter, seed=seed))[0] for seed in range(40))
    named = [one.at for one in map(levelling, found) if one.at]
    assert sum(one.cell.memory_bytes != gib * GIB for one in named) <= 4
    assert len(named) > 10 or scatter > 0.05


def test_a_cell_that_never_became_steady_is_shown_and_not_compared() -> None:
    filling = {"steady": False, "moved": Moved(nopm=0.1, reads=-0.4)}
    results = each(swept(), 0, lambda one: one.model_copy(update=filling), "final_run")
    disk = sweeps(results)[0]
    assert disk.cells[0].relative is None
    assert disk.cells[0].nopm
    assert "stops paying at 512 MiB" in sentence(levelling(disk))
    made = section(Brief(results), "sweep")
    assert made.tables[0].rows[0].cells[4] == "not compared"
    assert made.sentences[-1].startswith("Disk (128 MiB) is not compared: it never became steady")


# --- the brief ------------------------------------------------------------------------------------


def test_the_section_has_a_line_per_storage_the_reference_apart_and_a_row_per_cell() -> None:
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


def test_a_sweep_over_cores_is_said_in_cores() -> None:
    cells = [
        Cell(id=f"disk-{n}", storage="disk", constraint=f"{n} cores", cores=n) for n in (1, 2, 4, 8)
    ]
    rates = (1000, 2000, 3950, 4000)
    climbs = tuple(
        climb(cell, [rate, 1.01 * rate, 0.995 * rate])
        for cell, rate in zip(cells, rates, strict=True)
    )
    results = recorded().model_copy(update={"climbs": climbs})
    assert told(results).startswith(
        "Disk: more cores stop paying at 4 cores: the least within 5% of the best"
    )


# --- for programs ---------------------------------------------------------------------------------


def test_rows_for_a_notebook_are_flat_numbers_with_intervals() -> None:
    results = swept(reference=True)
    rows = results.sweep()
    assert rows == sweep_rows(results)
    first, *_, largest, reference = rows[:7]
    assert (first.sweep, first.storage, first.memory_bytes) == ("memory_bytes", "disk", 128 * MIB)
    assert first.cell == "disk (128 MiB)"
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
    rows, file = swept(reference=True).sweep(), tmp_path / f"it's a sweep.{ending}"
    write_sweep(file, rows)
    write_sweep(file, rows)
    name = str(file).replace("'", "''")
    found = duckdb.sql(f"SELECT * FROM '{name}'")
    assert found.columns == list(SWEEP)
    for read, row in zip(found.fetchall(), rows, strict=True):
        assert [*read[:-1], read[-1] or ""] == [
            pytest.approx(one) if isinstance(one, float) else one for one in row
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
    assert (disk["answer"], disk["cell"], disk["step"]) == (
        "levels off",
        "disk (512 MiB)",
        128 * MIB,
    )
    assert disk["nopm_per_step"]["low"] > 0
    json.dumps(document)
