"""One figure, one estimator: a title says what its bars say, a tile says first what it does not
show, and a stop reason names no figure of the search.
"""

from __future__ import annotations

import json
import re

import pytest

from kneebench.analysis.comparison import compare
from kneebench.analysis.wording import times
from kneebench.brief import Brief
from kneebench.brief.section import Figure
from kneebench.records import Results, Rung, Series
from tests.recordings import (
    each,
    recorded,
    section,
    with_equal_repeats,
    with_rungs,
    with_tally,
)


@pytest.fixture(scope="module")
def results() -> Results:
    return with_equal_repeats(recorded())


def with_latency_of(results: Results, phase: str, repeat: int) -> Results:
    """The campaign with one repeat of memory as slow as disk's, its histogram too."""
    disk, memory = results.climbs
    slow = next(rung.tally.latency for rung in disk.of(phase) if rung.order.repeat == repeat)

    def one(rung: Rung) -> Rung:
        if rung.order.phase != phase or rung.order.repeat != repeat:
            return rung
        return with_tally(rung, latency=slow)

    return with_rungs(results, 1, tuple(map(one, memory.rungs)))


def bars(figure: Figure) -> dict[str, float]:
    """The values drawn, by storage."""
    found = re.findall(r'"name": "(\w+)", "value": ([\d.]+)', json.dumps(figure.spec))
    return {name: float(value) for name, value in found}


def test_the_ratio_in_a_title_is_that_of_its_bars_also_where_one_repeat_has_most_of_the_tail(
    results: Results,
) -> None:
    results = with_latency_of(results, "fixed_rate", 2)
    mean, p999 = section(Brief(results), "latency").figures
    drawn = bars(mean)
    ratio = times(drawn["memory"] / drawn["disk"])
    assert mean.title.startswith(f"Mean latency, too uncertain: memory {ratio} (")
    assert p999.title == "Too few transactions to compare P99.9"


def test_the_interval_of_a_percentile_s_ratio_holds_its_value_and_the_order_statistics(
    results: Results,
) -> None:
    (found,) = (
        one
        for one in compare(with_latency_of(results, "fixed_rate", 2))
        if one.quantity == "latency.p999"
    )
    assert found.ratio.low < found.ratio.value < found.ratio.high
    assert "order statistics" in found.ratio.method
    assert not found.differs


def test_where_a_repeat_is_missing_on_one_storage_the_caption_says_which_repeats_the_ratio_is_of(
    results: Results,
) -> None:
    assert (
        "repeats that both storages have"
        not in section(Brief(results), "latency").figures[0].caption
    )
    few = with_rungs(
        results,
        1,
        tuple(
            r
            for r in results.climbs[1].rungs
            if (r.order.phase, r.order.repeat) != ("fixed_rate", 2)
        ),
    )
    mean, p999 = section(Brief(few), "latency").figures
    assert "The title's ratio uses the 2 repeats that both storages have." in mean.caption
    assert "title's ratio" not in p999.caption, "its title has none"


def test_every_part_of_figure_5_has_the_same_scales_in_both_directions(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = Brief(each(results, 1, lambda r: r.model_copy(update={"warm_up_s": 1.0}), "final_run"))
    kept = cut.view.series

    def shorter(rung: Rung, *names: str) -> tuple[Series, ...]:
        return tuple(
            one.model_copy(update={"at_s": one.at_s[:2], "value": one.value[:2]})
            if rung.order.configuration != "disk"
            else one
            for one in kept(rung, *names)
        )

    monkeypatch.setattr(cut.view, "series", shorter)
    figures = section(cut, "over-time").figures
    assert len(figures) == 2
    domains = [
        re.findall(r'"domain": (\[0, [\d.]+\])', json.dumps(figure.spec)) for figure in figures
    ]
    assert domains[0] == domains[1]
    rung = cut.view.at_the_knee(results.climbs[0])
    longest_s = max(round(at) for one in kept(rung, "cores.busy") for at in one.at_s)
    assert longest_s > 2
    assert f"[0, {longest_s}]" in domains[0]


def test_a_tile_and_a_title_say_first_that_a_ratio_is_too_uncertain(results: Results) -> None:
    factors = {1: 0.5, 2: 1.0, 3: 2.0}

    def alike(rung: Rung) -> Rung:
        if rung.order.phase != "final_run":
            return rung
        window_s = rung.tally.window_s * factors[rung.order.repeat]
        tally = rung.tally.model_copy(update={"window_s": window_s})
        return rung.model_copy(update={"tally": tally})

    brief = Brief(with_rungs(results, 1, tuple(map(alike, results.climbs[1].rungs))))
    first, mean, *_ = section(brief, "glance").numbers
    assert (first.value, first.words) == ("Too uncertain", True)
    assert first.says == "to compare NOPM at the knee, memory vs. disk"
    disk, memory = results.climbs
    nopm = memory.of("final_run")[0].tally.nopm / disk.of("final_run")[0].tally.nopm
    assert re.fullmatch(rf"{nopm:.2g}x \([\d.]+x to [\d.]+x, n=3\)", first.sure), first.sure
    slow, fast = (climb.of("fixed_rate")[0].tally.latency.mean_s for climb in results.climbs)
    assert (mean.value, mean.words) == (f"{fast / slow:.3g}x", False)
    (figure,) = section(brief, "relative").figures
    assert figure.title.startswith(f"Too uncertain: memory {nopm:.2g}x (")
    assert '<div class="number-card words"><strong>Too uncertain</strong>' in brief.html()


def test_a_stop_reason_names_no_nopm_of_the_search() -> None:
    (reason,) = section(Brief(recorded("log_bound")), "glance").stop_reasons
    assert re.search(r"Log latency: log write [\d.]+ ms .* at \d+ users \(limit", reason.sentence)
    assert "NOPM within" not in reason.sentence
