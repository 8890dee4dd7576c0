"""Configurations whose final runs never became steady are flagged, and not compared."""

from __future__ import annotations

import pytest

from kneebench.analysis.comparison import compare
from kneebench.analysis.outcome import exit_code, never_steady
from kneebench.analysis.still_warming import still_warming
from kneebench.brief import Brief
from kneebench.records import Climb, Configuration, Moved, Order, Results, Rung
from kneebench.screen.summary import results_json
from tests.curves import rung
from tests.recordings import each, recorded, section, with_order

FILLING = Moved(nopm=0.12, reads=-0.35)
SCATTER = Moved(nopm=0.0, reads=-0.05)


def unsteady(moved: Moved) -> dict[str, object]:
    return {"steady": False, "moved": moved}


def climb(moves: list[Moved | None], **configuration: object) -> Climb:
    """Final runs of one configuration, as many as moves; None is steady."""
    rungs = []
    for repeat, moved in enumerate(moves, start=1):
        order = Order(configuration="disk", phase="final_run", users=8, repeat=repeat)
        found = rung(order, 1000.0 + repeat)
        rungs.append(found.model_copy(update=unsteady(moved)) if moved else found)
    made = Configuration.model_validate({"id": "disk", "storage": "disk", **configuration})
    return Climb(configuration=made, rungs=tuple(rungs))


def results(moved: Moved) -> Results:
    """The recorded campaign, as if no final run on the disk had become steady."""
    change = unsteady(moved)
    return each(recorded(), 0, lambda one: one.model_copy(update=change), "final_run")


def test_a_configuration_whose_final_runs_were_all_still_warming_says_by_how_much() -> None:
    why = still_warming(climb([FILLING] * 3))
    assert why == (
        "it never became steady within its warm-up limit: NOPM still rose by 12% and device reads"
        " fell by 35% of their mean in 3 final runs (noise floor 2%)"
    )


@pytest.mark.parametrize(
    "moves",
    [
        [FILLING, FILLING, None],
        [SCATTER] * 3,
        [Moved(nopm=-0.3)] * 3,
        [None] * 3,
        [],
    ],
    ids=["one-steady", "scatter", "falling", "steady", "none"],
)
def test_a_configuration_is_compared_unless_all_of_its_runs_were_still_warming(
    moves: list[Moved | None],
) -> None:
    assert still_warming(climb(moves)) == ""


def test_runs_that_were_not_steady_without_a_known_move_are_compared() -> None:
    found = climb([FILLING] * 3)
    old = tuple(one.model_copy(update={"moved": None}) for one in found.rungs)
    assert still_warming(found.model_copy(update={"rungs": old})) == ""


def test_short_rounds_with_less_memory_are_judged_by_the_first_rung_of_the_climb() -> None:
    def rounds(**configuration: object) -> Climb:
        found = climb([None] * 4, **configuration)
        first = rung(Order(configuration="disk", phase="warm_up", users=8), 900.0)
        first = first.model_copy(update=unsteady(FILLING))
        short = tuple(with_order(one, restore=1) for one in found.rungs)
        return found.model_copy(update={"rungs": (first, *short)})

    assert "in 1 warm-up rung" in still_warming(rounds(memory_bytes=2**30))
    assert still_warming(rounds()) == "", "their warm-up is fixed, and the machine's memory is free"


def test_a_storage_that_never_became_steady_is_compared_with_none_and_the_brief_says_so() -> None:
    filling = results(FILLING)
    assert compare(recorded())
    assert compare(filling) == ()
    assert exit_code(recorded()) == 0
    assert exit_code(filling) == 3
    remark = never_steady(filling)["disk"]
    sentence = remark.words
    assert sentence.startswith("disk is not compared: it never became steady")
    assert (remark.value, remark.unit) == (FILLING.nopm, "share")
    assert remark.limit and FILLING.nopm > remark.limit
    assert results_json(filling)["still_warming"] == {"disk": remark.model_dump()}
    brief = Brief(filling)
    assert brief.title == "Nothing is compared: disk never became steady (data cached)"
    assert "NOPM" not in brief.subtitle, "one storage's interval is not what the title is about"
    assert section(brief, "cautions").sentences[0] == f"D{sentence[1:]}."
    assert section(brief, "glance").tables[0].rows[0].cells[3] == "not compared"


def test_a_storage_that_only_scattered_at_its_limit_is_compared_as_before() -> None:
    found, before = compare(results(SCATTER)), compare(recorded())
    assert [one.model_dump() for one in found] == [one.model_dump() for one in before]


def test_the_table_of_rungs_shows_what_each_warm_up_discarded() -> None:
    def discarding(one: Rung) -> Rung:
        return one.model_copy(update={"discarded": 3400})

    brief = Brief(each(results(FILLING), 0, discarding, "final_run"))
    table = section(brief, "rungs").tables[0]
    at = [column.title for column in table.columns].index("Warm-up")
    shown = {row.cells[1]: (row.cells[at], row.cells[-1]) for row in table.rows[:12]}
    assert shown["knee 1"][0].endswith(" s\n(3,400 transactions)")
    assert any("not steady" in table.notes[int(n) - 1] for n in shown["knee 1"][1].split(", "))
    assert "transactions" not in shown["search"][0]
