"""Preconditioning in the brief: what was written to the drives, and how their speed settled."""

from __future__ import annotations

from pathlib import Path

import pytest

from kneebench import load, preset
from kneebench.brief import Brief
from kneebench.brief.section import Section
from kneebench.plan.study import Study
from kneebench.records import DriveLoad, LoadInterval, Preconditioned, Results
from kneebench.results.store import Store
from tests.recordings import recorded, recorded_host, section, with_campaign

STEADY = (5200.0, 3300.0, 3100.0, 3050.0, 3000.0, 3020.0, 2990.0)


def preconditioned(name: str, **facts: object) -> Preconditioned:
    table = {"device": f"/dev/{name}", "drive": name, "how": "snia", "took_s": 900.0}
    speed = tuple((60.0 * n, 1e6 * (500 - 20 * n)) for n in range(1, 10))
    return Preconditioned.model_validate({**table, "speed": speed, **facts})


def load_of(kind: str, iops: list[float], **facts: object) -> DriveLoad:
    intervals = [
        LoadInterval(read_iops=0.7 * one, write_iops=0.3 * one, read_s=0.001, write_s=0.002)
        for one in iops
    ]
    table = {"device": "/dev/nvme0n1", "drive": "a", "kind": kind, "interval_s": 60.0}
    return DriveLoad.model_validate({**table, "intervals": tuple(intervals), **facts})


def with_drives(*done: Preconditioned | DriveLoad) -> Results:
    drives = tuple(one for one in done if isinstance(one, Preconditioned))
    loads = tuple(one for one in done if isinstance(one, DriveLoad))
    return with_campaign(recorded(), preconditioned=drives, drive_loads=loads)


def shown(*done: Preconditioned | DriveLoad) -> Section:
    return section(Brief(with_drives(*done)), "preconditioning")


def test_rounds_are_drawn_with_the_band_of_the_steady_state_of_one_drive() -> None:
    found = shown(preconditioned("nvme0n1", rounds_iops=STEADY, steady=True))
    assert "Random writes were steady after 7 rounds." in found.sentences[0]
    speed, rounds = found.figures
    assert speed.title == "Drives were written at 320 to 480 MB/s"
    assert rounds.title == "Random writes steady after 7 rounds, at 3,032 IOPS"
    assert "Shaded: 10% around their average." in rounds.caption
    assert [speed.number, rounds.number] == ["Fig. 8a", "Fig. 8b"]


@pytest.mark.parametrize(
    ("sizes", "times", "said"),
    [
        ((4, 4), (900.0, 900.0), "before the first volume was made, 4 GiB each in 15 min."),
        ((4,), (900.0,), "before the first volume was made, 4 GiB in 15 min."),
        (
            (1, 2, 4),
            (300.0, 600.0, 900.0),
            "before the first volume was made, 1 GiB, 2 GiB and 4 GiB, the longest in 15 min.",
        ),
        ((4, 4), (900.0, 300.0), "made, 4 GiB each, the longest in 15 min."),
    ],
)
def test_what_was_written_to_drives_of_different_sizes_is_said_of_each(
    sizes: tuple[int, ...], times: tuple[float, ...], said: str
) -> None:
    facts = zip("abcd", sizes, times, strict=False)
    drives = [preconditioned(f"sd{n}", written_bytes=s * 2**30, took_s=t) for n, s, t in facts]
    [sentence] = [one for one in shown(*drives).sentences if "preconditioned" in one]
    assert sentence.endswith(said)


def test_a_drive_that_is_not_steady_is_a_caveat_of_the_whole_campaign() -> None:
    results = with_drives(preconditioned("nvme0n1", rounds_iops=STEADY, steady=False))
    cautions = section(Brief(results), "cautions").sentences
    assert "NOT in the steady state after preconditioning: /dev/nvme0n1." in cautions


def test_a_fall_in_speed_is_told_with_its_time_and_a_drain_without_one_says_so() -> None:
    fallen = shown(load_of("drain", [3000.0] * 4 + [1000.0] * 5))
    assert fallen.sentences == (
        "/dev/nvme0n1: drain of 9 min: IOPS fell by 66.7% after 4 min, 1,000 IOPS at the end.",
    )
    assert fallen.figures[0].title == "Drain: 1,000 to 3,000 IOPS"
    level = shown(load_of("drain", [3000.0] * 9))
    assert "no fall to a lower level was seen, 3,000 IOPS at the end" in level.sentences[0]


FALLING, LEVEL = [3000.0] * 4 + [1000.0] * 5, [3000.0] * 9


def test_each_drive_says_in_how_many_of_its_drains_it_fell_and_the_first_is_drawn() -> None:
    first = [load_of("drain", LEVEL), load_of("drain", FALLING, drive="b", device="/dev/nvme1n1")]
    found = shown(*first, load_of("drain", FALLING), load_of("drain", FALLING))
    assert found.sentences == (
        "/dev/nvme0n1: IOPS fell in 2 of 3 drains; first drain of 9 min: no fall to a lower level"
        " was seen, 3,000 IOPS at the end.",
        "/dev/nvme1n1: drain of 9 min: IOPS fell by 66.7% after 4 min, 1,000 IOPS at the end.",
    )
    [figure] = found.figures
    rows = figure.spec["data"]["values"]
    assert [row["y"] for row in rows if row["drive"] == "nvme0n1"] == LEVEL
    assert [row["y"] for row in rows if row["drive"] == "nvme1n1"] == FALLING
    assert figure.caption.endswith("The first drain of each drive.")


@pytest.mark.parametrize(
    ("courses", "caveat"),
    [
        ([FALLING, FALLING], ""),
        ([LEVEL, FALLING], "1 of 2 drains of /dev/nvme0n1: burst credits may have been left."),
        (
            [LEVEL, LEVEL],
            "2 of 2 drains of /dev/nvme0n1: burst credits may have been left, or there are none.",
        ),
        (
            [LEVEL],
            "the drain of /dev/nvme0n1: burst credits may have been left, or there are none.",
        ),
    ],
)
def test_a_drain_without_a_fall_is_a_caveat_of_the_climb(
    courses: list[list[float]], caveat: str
) -> None:
    brief = Brief(with_drives(*(load_of("drain", iops) for iops in courses)))
    said = [one for one in section(brief, "cautions").sentences if "IOPS did not fall" in one]
    assert said == ([f"IOPS did not fall during {caveat}"] if caveat else [])


def test_the_results_keep_every_drain_and_the_latest_burn_in(tmp_path: Path) -> None:
    plan = preset("simulated")
    with Store.create(tmp_path, Study(plan), recorded_host()) as store:
        for n in (1.0, 2.0):
            store.put_drive_written(load_of("burn-in", [n] * 3))
            store.put_drive_written(load_of("drain", [n] * 3))
            store.put_drive_written(load_of("drain", [n] * 3, drive="b"))
        kept = load(store.folder).campaign.drive_loads
    seen = [(one.drive, one.kind, one.intervals[0].iops) for one in kept]
    assert sorted(seen) == [
        ("a", "burn-in", 2.0),
        ("a", "drain", 1.0),
        ("a", "drain", 2.0),
        ("b", "drain", 1.0),
        ("b", "drain", 2.0),
    ]


def test_throttling_and_media_errors_of_a_burn_in_are_caveats() -> None:
    burn_in = load_of("burn-in", [3000.0] * 20, throttled=2, media_errors=1)
    assert shown(burn_in).sentences == (
        "/dev/nvme0n1: burn-in of 20 min: IOPS changed by +0.0%, 3,000 IOPS at the end, throttled"
        " 2 times, 1 media error.",
    )
    cautions = section(Brief(with_drives(burn_in)), "cautions").sentences
    assert "/dev/nvme0n1 during its burn-in: media errors: 1 and throttled: 2." in cautions


def test_what_several_drains_counted_is_one_caveat_with_their_sum() -> None:
    drained = [load_of("drain", FALLING, throttled=n) for n in (0, 2, 3)]
    cautions = section(Brief(with_drives(*drained)), "cautions").sentences
    assert [one for one in cautions if "throttled" in one] == [
        "/dev/nvme0n1 during its drain: throttled: 5."
    ]


def test_what_an_earlier_run_did_is_named_without_figures() -> None:
    earlier = shown(
        preconditioned("nvme0n1", remembered=True, speed=()),
        load_of("burn-in", [], remembered=True),
    )
    assert earlier.figures == ()
    assert [sentence.endswith(".") for sentence in earlier.sentences] == [True, True]
    assert "by an earlier run; nothing else has written since" in earlier.sentences[0]
