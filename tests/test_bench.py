"""The benchmarks run. How fast anything is, no test asks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bench.__main__ import benchmarks, main
from bench.ratio import Ratio, at_least, at_most, told, turns
from bench.table import performance_page, printed, verdict
from kneebench.lab.host import host
from tests.loaded import shared_images

PERFORMANCE = Path(__file__).parent.parent / "docs" / "performance.md"
SLOW = {
    *(
        "brief",
        "clients",
        "contended",
        "flat",
        "loading",
        "mariadb_loading",
        "mysql",
        "odbc",
        "orders",
    ),
    *("answer", "hosts", "meters", "real", "restore"),
}
"""Benchmarks whose quick form takes long, too."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name, marks=[pytest.mark.long, pytest.mark.timeout(900)] if name in SLOW else []
        )
        for name in sorted(benchmarks())
    ],
)
def test_every_benchmark_runs_and_gives_rows_with_intervals_and_aims(name, tmp_path, capsys):
    if reason := getattr(benchmarks()[name], "unable", str)():
        pytest.skip(reason)
    kept = ["--json", str(tmp_path / "bench.json"), "--images", str(shared_images())]
    assert main([name, "--quick", *kept]) == 0
    rows = json.loads((tmp_path / "bench.json").read_text())["rows"][name]
    assert rows and all(row["low"] <= row["value"] <= row["high"] for row in rows)
    assert rows[0]["name"] in capsys.readouterr().out
    assert all(row["value"] == 0 for row in rows if row["aim"] == 0), "counts that must be equal"


def test_a_row_holds_by_its_value_and_is_doubtful_where_its_interval_holds_the_aim():
    slow, fast = (
        at_most("cost", turns([1.1, 1.3, 0.9], [1.0, 1.0, 1.0]), 1.0),
        at_least("speed", turns([2.0, 2.1], [1.0, 1.0]), 0.8),
    )
    assert (slow.holds, slow.doubtful, verdict(slow)) == (False, True, "missed (uncertain)")
    assert (fast.holds, fast.doubtful, verdict(fast)) == (True, False, "holds")


def test_numbers_of_a_row_have_three_digits_and_errors_are_in_percent():
    row = at_most("error", turns([1.0, 1.0], [1.0, 1.0]), 3.0, unit="%")
    table = printed([row, at_most("cost", turns([1.0, 1.0], [1.0, 1.0]), 3.0)])
    assert all(word in table for word in ("1.00%", "at most 3%", "1.00x"))
    assert "CPU s 5" in printed([row.model_copy(update={"beside": {"cpu_s": 5.0}})])
    assert not re.search(r"(holds|not)\?|\| 0\.0\d+x|\| 1x", PERFORMANCE.read_text())


def test_a_row_without_an_aim_neither_holds_nor_misses():
    cost = told("cost", turns([0.9, 0.8, 0.7], [1.0, 1.0, 1.0]))
    assert (cost.doubtful, verdict(cost)) == (False, "-")
    assert "at most" not in printed([cost])


def test_the_table_names_each_ratio_with_its_interval_and_aim():
    row = Ratio(
        name="loading",
        value=0.9,
        low=0.85,
        high=0.95,
        n=5,
        aim=0.8,
        at_most=False,
        beside={"floor_s": 6.0},
    )
    table = printed([row])
    assert all(
        word in table
        for word in ("loading", "0.900x", "0.850 to 0.950", "at least 0.8", "holds", "floor s 6")
    )


def test_the_page_has_the_sections_that_were_measured_again_and_keeps_the_others():
    kept = "## loading\n\nMeasured long ago.\n"
    old = f"# Performance\n\nWhat it costs.\n\n## brief\n\nold figures\n\n{kept}"
    row = at_most("cost", turns([1.1, 1.2, 1.3], [1.0, 1.0, 1.0]), 1.0)
    page = performance_page(old, {"brief": [row], "answer": [row]}, host())
    assert [line for line in page.splitlines() if line.startswith("## ")] == [
        *("## answer", "## brief", "## loading")
    ]
    assert page.startswith("# Performance\n\nWhat it costs.\n\n## answer\n\nMeasured on 2")
    assert page.endswith(f"\n\n{kept}") and "old figures" not in page
    assert page.count("| cost | 1.20x |") == 2
    assert performance_page(page, {}, host()) == page


def test_an_unknown_benchmark_is_refused_with_the_names_there_are(capsys):
    with pytest.raises(SystemExit, match="2"):
        main(["nonsense"])
    assert "nonsense" in capsys.readouterr().err
