"""A fixed rate that the plan sets: measured as ordered, with a caveat where it exceeds a knee."""

from __future__ import annotations

from pathlib import Path

import pytest

from kneebench import run
from kneebench.analysis.fixed_rate import fixed_rate_latency, rate_caveats
from kneebench.analysis.outcome import conditions
from kneebench.brief import Brief
from kneebench.brief.sections import load_levels, missing
from kneebench.brief.view_model import ViewModel
from kneebench.plan.preset import preset_text
from kneebench.plan.reader import parse_plan
from kneebench.records import Event, Remark, Results, Rung
from kneebench.results import load
from kneebench.screen.summary import printed
from tests.recordings import each, with_order
from tests.terminal import drawn

SHORT = preset_text("simulated").replace("[1, 256]", "[4, 64]").replace('"60s"', '"10s"')


def measured(root: Path, rate: str) -> tuple[Results, list[str]]:
    text = SHORT.replace("repeats ", f'latency_rate = "{rate}"\nrepeats ', 1)
    warnings = []

    def watch(event: Event) -> None:
        warnings.extend([event.doing] if event.kind == "warning" else [])

    return run(parse_plan(text), root, watch=watch), warnings


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_every_storage_is_measured_at_the_rate_of_the_plan(tmp_path: Path) -> None:
    results, warnings = measured(tmp_path, "24000/min")
    rates = [found.rate_per_s for climb in results.climbs if (found := fixed_rate_latency(climb))]
    assert rates == [400.0, 400.0]
    assert (warnings, rate_caveats(results.climbs)) == ([], ())


def test_a_rate_beyond_a_knee_is_a_warning_and_a_caveat(tmp_path: Path) -> None:
    results, warnings = measured(tmp_path, "1600/s")
    (caveat,) = rate_caveats(results.climbs)
    assert "1,600 transactions/s saturates slow drive" in caveat
    assert any("saturates slow drive" in warning for warning in warnings)
    assert "CAVEAT  The fixed rate of 1,600" in drawn(*printed(results), width=200)


# --- load levels: latency vs. rate ----------------------------------------------------------------


class Killed(Exception):
    """Stands for a killed process."""


def levels_of(results: Results) -> list[Rung]:
    return [rung for climb in results.climbs for rung in climb.of("load_level")]


@pytest.fixture(scope="module")
def killed_and_resumed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, Results]:
    """A campaign as it was killed after its first load level, and as the same plan finished it."""
    root = tmp_path_factory.mktemp("levels")
    text = SHORT.replace("repeats ", "load_levels = [30, 90]\nrepeats ", 1).replace("= 3", "= 1", 1)

    def killer(event: Event) -> None:
        if event.kind == "rung" and event.data["rung"].order.repeat == 30:
            raise Killed

    with pytest.raises(Killed):
        run(parse_plan(text), root, watch=killer)
    [folder] = root.iterdir()
    return load(folder), run(parse_plan(text), root)


def test_a_campaign_killed_in_its_load_levels_is_resumed_there(
    killed_and_resumed: tuple[Results, Results],
) -> None:
    killed, resumed = killed_and_resumed
    lacking = missing.section(ViewModel(killed))
    assert lacking and [*lacking.sentences][1:] == [
        "slow drive: latency at 90% of the knee's throughput was not measured.",
        "fast drive: latency at 30% and 90% of the knee's throughput was not measured.",
    ]
    assert (killed.folder, resumed.finished) == (resumed.folder, True)
    assert [(one.order.configuration, one.order.repeat) for one in levels_of(resumed)] == [
        (configuration, level)
        for configuration in ("slow-drive", "fast-drive")
        for level in (30, 90)
    ]
    for climb in resumed.climbs:
        assert [when for when, _ in conditions(climb)][-1] == "after the load levels"


def test_a_brief_has_the_curves_of_load_levels_and_a_table_of_their_points(
    killed_and_resumed: tuple[Results, Results], blank_figures: None
) -> None:
    _, results = killed_and_resumed
    section = load_levels.section(ViewModel(results))
    assert section
    assert [one.name for one in section.figures] == [
        f"load-levels-{which}" for which in ("mean", "p999", "log")
    ]
    assert [row.cells[:2] for row in section.tables[0].rows] == [
        (name, share) for name in ("slow drive", "fast drive") for share in ("30%", "90%")
    ]
    told = Brief(results).document()["load_levels"]
    for climb in results.climbs:
        for rung, level in zip(climb.of("load_level"), told[climb.id], strict=True):
            assert rung.tally.latency
            assert level["mean_s"]["value"] == rung.tally.latency.mean_s
            assert level["p999_s"]["value"] == rung.tally.latency.p999_s
            assert level["log_write_s"]["value"] == rung.quantity("log.write_latency")
            assert level["rate_per_s"] == rung.order.rate_per_s
            assert level["share"] == pytest.approx(rung.order.repeat / 100, rel=1e-4)
        low, high = told[climb.id]
        assert low["mean_s"]["value"] < high["mean_s"]["value"], "queues grow towards the knee"


def test_rounds_have_load_levels_and_an_invalid_one_is_named_and_not_drawn(tmp_path: Path) -> None:
    text = SHORT.replace("repeats ", 'load_levels = [50]\nrounds = "short"\nrepeats ', 1)
    results = run(parse_plan(text), tmp_path)
    assert [one.order.restore for one in levels_of(results)] == [2, 2]
    wrong = Remark(kind="lost_users", severity="invalid", words="a user was lost")
    climb = results.climbs[0]
    rungs = [
        rung.with_remarks(wrong) if rung.order.phase == "load_level" else rung
        for rung in climb.rungs
    ]
    one_invalid = climb.model_copy(update={"rungs": (*rungs,)})
    changed = results.model_copy(update={"climbs": (one_invalid, *results.climbs[1:])})
    section = load_levels.section(ViewModel(changed))
    assert section and [row.cells[0] for row in section.tables[0].rows] == ["fast drive"]
    assert "Invalid, so not shown: slow drive, load level 50%," in section.tables[0].caption
    assert "queue grew" not in section.tables[0].caption
    offered_twice = each(results, 1, _offered_twice, "load_level")
    section = load_levels.section(ViewModel(offered_twice))
    assert section and "the queue grew: fast drive at 50% (" in section.tables[0].caption


def _offered_twice(rung: Rung) -> Rung:
    return with_order(rung, rate_per_s=2 * (rung.order.rate_per_s or 0.0))
