"""Background work in the windows compared: alike, a caveat, or a failed check."""

from __future__ import annotations

import pytest

from kneebench.analysis.background import background_checks
from kneebench.analysis.outcome import exit_code, failed_checks
from kneebench.brief import Brief
from kneebench.errors import CheckFailed
from kneebench.records import Results
from tests.recordings import metered, recorded, section, with_rungs

EVENT = "autovacuum finished on a table"


def vacuumed(results: Results, *windows: int) -> Results:
    """The campaign with autovacuum in so many of the final runs of each storage."""
    for climb, number in enumerate(windows):
        rungs = tuple(
            metered(
                rung,
                checkpoints__timed=0.0,
                checkpoints__requested=0.0,
                tables__autovacuums=0.1
                * (rung.order.phase == "final_run" and rung.order.repeat <= number),
            )
            for rung in results.climbs[climb].rungs
        )
        results = with_rungs(results, climb, rungs)
    return results


@pytest.mark.parametrize("windows", [(3, 0), (0, 3), (1, 3), (2, 0)])
def test_work_in_most_windows_of_one_storage_only_fails_the_comparison(
    windows: tuple[int, int],
) -> None:
    results = vacuumed(recorded(), *windows)
    one, other = windows
    told = f"{EVENT} in {one} of 3 on disk and {other} of 3 on memory (final runs)"
    assert [check.seen for check in background_checks(results)] == [told]
    assert f"comparison: the windows compared differ in background work: {told}" in failed_checks(
        results
    )
    assert exit_code(results) == CheckFailed.exit_code
    rows = section(Brief(results), "checks").tables[0].rows
    assert any(told in cell for row in rows for cell in row.cells)


@pytest.mark.parametrize("windows", [(1, 0), (2, 3)])
def test_a_difference_of_one_window_in_three_is_a_caveat(windows: tuple[int, int]) -> None:
    results = vacuumed(recorded(), *windows)
    assert [check.passed for check in background_checks(results)] == [True]
    cautions = " ".join(section(Brief(results), "cautions").sentences)
    assert f"{EVENT} in {windows[0]} of 3 on disk and {windows[1]} of 3 on memory" in cautions


@pytest.mark.parametrize("windows", [(0, 0), (3, 3)])
def test_work_in_all_windows_or_in_none_is_alike(windows: tuple[int, int]) -> None:
    results = vacuumed(recorded(), *windows)
    assert [check.seen for check in background_checks(results)] == ["alike"]
    assert "Background work" not in " ".join(section(Brief(results), "cautions").sentences)


def test_one_storage_alone_or_an_unfinished_campaign_has_nothing_to_compare() -> None:
    results = vacuumed(recorded(), 3, 0)
    alone = results.model_copy(update={"climbs": results.climbs[:1]})
    unfinished = results.model_copy(update={"finished": False})
    assert background_checks(alone) == background_checks(unfinished) == ()
