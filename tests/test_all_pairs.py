"""Every pair of storages, with intervals that hold together."""

from __future__ import annotations

from math import log
from pathlib import Path
from random import Random

import pytest

from kneebench import load
from kneebench.analysis.comparison import all_pairs, compare, widened
from kneebench.analysis.estimate import paired_ratio
from kneebench.analysis.headline import headline, subtitle
from kneebench.analysis.query_times import compared_pairs, speed, step_up
from kneebench.analysis.wording import times_with_interval
from kneebench.brief import Brief
from kneebench.records import Results, Rung
from kneebench.screen.summary import results_json
from tests.recordings import faster, recorded, section, with_order, with_plan, with_throughput


def of_storages(**times: float) -> Results:
    """The recorded disk as several storages of which each did so many times as much."""
    results = recorded()
    climbs = tuple(faster(results.climbs[0], name, value) for name, value in times.items())
    plan = {"baseline": next(iter(times)), "storages": {name: {"path": name} for name in times}}
    return with_plan(results.model_copy(update={"climbs": climbs}), **plan)


def test_each_pair_of_three_storages_is_compared_the_later_over_the_earlier() -> None:
    found = all_pairs(of_storages(sata=1.0, two=3.0, four=4.5))
    assert [(one.configuration, one.baseline) for one in found] == [
        ("two", "sata"),
        ("four", "sata"),
        ("four", "two"),
    ]
    assert [one.ratio.value for one in found] == pytest.approx([3.0, 4.5, 1.5])
    assert all(one.differs for one in found)


def test_two_storages_have_no_other_pair_than_the_comparison() -> None:
    two = of_storages(sata=1.0, nvme=3.0)
    assert compare(two) and all_pairs(two) == ()
    assert "pairs" not in [one.name for one in Brief(two).sections]


def test_an_interval_is_as_much_wider_as_its_pairs_are_many() -> None:
    ratio = paired_ratio([210.0, 198.0, 205.0, 201.0], [100.0, 101.0, 99.0, 102.0])
    widths = [log(one.high / one.low) for pairs in (1, 3, 10) if (one := widened(ratio, pairs))]
    assert widths[0] == log(ratio.high / ratio.low)
    assert 1.4 * widths[0] < widths[1] < widths[2] < 3 * widths[0]


def test_all_pairs_of_equal_storages_hold_together_as_often_as_they_say() -> None:
    random, plain, together = Random(9300), 0, 0
    for _ in range(400):
        runs = [[100 * random.lognormvariate(0, 0.03) for _ in range(4)] for _ in range(3)]
        ratios = [paired_ratio(runs[a], runs[b]) for a, b in ((1, 0), (2, 0), (2, 1))]
        plain += all(one.low <= 1 <= one.high for one in ratios)
        wide = [widened(one, 3) for one in ratios]
        together += all(one.low <= 1 <= one.high for one in wide)
    assert together >= 0.94 * 400 > plain


def test_the_sentence_of_a_pair_has_the_interval_for_all_of_them() -> None:
    found, alone = all_pairs(recorded("emulated")), compare(recorded("emulated"))
    assert len(found) == 3
    assert all(times_with_interval(one.ratio) in one.sentence for one in found)
    assert times_with_interval(found[0].ratio) not in alone[0].sentence


def test_a_pair_that_only_the_wider_interval_hides_claims_no_difference() -> None:
    results = recorded()
    disk, memory = results.climbs
    factors = {1: 1.2, 2: 1.3, 3: 1.45}

    def faster(rung: Rung) -> Rung:
        factor = factors.get(rung.order.repeat if rung.order.phase == "final_run" else 0, 1.0)
        return with_throughput(rung, factor * rung.tally.throughput_per_s)

    third = disk.model_copy(
        update={
            "configuration": disk.configuration.model_copy(update={"id": "ssd", "storage": "ssd"}),
            "rungs": tuple(
                with_order(
                    faster(rung) if rung.order.phase == "final_run" else rung, configuration="ssd"
                )
                for rung in disk.rungs
            ),
        }
    )
    found = all_pairs(results.model_copy(update={"climbs": (disk, memory, third)}))
    (pair,) = [one for one in found if (one.configuration, one.baseline) == ("ssd", disk.id)]
    assert not pair.differs
    assert pair.sentence.startswith(
        ("No difference shown in NOPM", "Too uncertain to compare NOPM")
    )


def test_the_brief_and_the_json_have_every_pair() -> None:
    results = of_storages(sata=1.0, two=3.0, four=3.0)
    brief = Brief(results)
    one = section(brief, "pairs")
    assert one.part == "front"
    [table] = one.tables
    assert [row.cells[:2] for row in table.rows] == [
        *(("Two", "sata"), ("Four", "sata"), ("Four", "two"))
    ]
    assert table.rows[2].cells[3] == "No difference shown"
    assert "all 3 hold together" in table.caption
    kept = [pair.model_dump(mode="json") for pair in all_pairs(results)]
    assert brief.document()["pairs"] == results_json(results)["pairs"] == kept


def test_a_card_has_the_step_between_the_two_best_storages_of_three() -> None:
    def cards(**times: float) -> list[tuple[str, str]]:
        numbers = section(Brief(of_storages(**times)), "glance").numbers
        return [(one.value, one.says.removeprefix("NOPM at the knee, ")) for one in numbers[:2]]

    both = [("4.50x", "four vs. sata"), ("1.500x", "four vs. two")]
    assert cards(sata=1.0, two=3.0, four=4.5) == both
    assert cards(four=1.0, two=0.8, sata=0.3)[1] == ("1.250x", "four vs. two")
    assert cards(sata=1.0, two=3.0, four=3.0)[1] == (
        "No difference shown",
        "in NOPM at the knee, four vs. two",
    )


def test_many_pairs_are_in_the_appendix() -> None:
    many = of_storages(a=1.0, b=1.5, c=2.0, d=2.5, e=3.0)
    assert section(Brief(many), "pairs").part == "appendix"


def test_of_queries_the_fastest_storage_is_compared_with_the_next_one_too() -> None:
    """The speeds over the baseline are those of single comparisons, and multiply."""
    scan = load(Path("docs/samples/scan.kneebench"))
    found = {
        (one.climb.configuration.storage, one.base.configuration.storage): one.ratio
        for one in compared_pairs(scan)
    }
    two, four = (found[name, "1 drive"].value for name in ("2 drives", "4 drives"))
    step = found["4 drives", "2 drives"]
    assert step.value == pytest.approx(four / two)
    assert step.method.endswith("widened for 3 pairs")
    alone = speed(scan.climbs[2], scan.climbs[1])
    assert alone and step.low < alone.low < alone.high < step.high
    [last] = [one for one in [step_up(scan)] if one]
    assert last.ratio == step
    assert f"over 2 drives (768 MiB): {times_with_interval(step)}" in subtitle(scan)
    [table] = section(Brief(scan), "pairs").tables
    assert [row.cells[2] for row in table.rows] == [*map(times_with_interval, found.values())]
    assert [one["ratio"]["value"] for one in results_json(scan)["pairs"]] == [
        one.value for one in found.values()
    ]


def test_one_pass_of_queries_shows_no_difference_however_far_apart_they_are() -> None:
    scan = load(Path("docs/samples/scan.kneebench"))
    climbs = tuple(
        climb.model_copy(update={"rungs": tuple(r for r in climb.rungs if r.order.repeat == 1)})
        for climb in scan.climbs
    )
    once = scan.model_copy(update={"climbs": climbs})
    assert headline(once).endswith(
        "Too few passes to compare 2 drives (768 MiB) and 4 drives (768 MiB) with 1 drive"
        " (768 MiB) over queries 1 and 6"
    )
    assert step_up(once) is None
    [table] = section(Brief(once), "pairs").tables
    assert "differs" not in {row.cells[3] for row in table.rows}
