"""What people see while they wait, and at the end: the time left goes by the work done; the
terminal says what the brief says.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from rich.text import Text

from kneebench import run
from kneebench.analysis.bottleneck import bottleneck
from kneebench.analysis.comparison import compare
from kneebench.analysis.configuration_summary import configuration_summaries
from kneebench.analysis.final_estimates import RoundsSoFar, Wanted
from kneebench.analysis.fixed_rate import fixed_rate_latency
from kneebench.analysis.headline import headline
from kneebench.analysis.wording import FEW_MEANS
from kneebench.brief.profile import ProfilePage
from kneebench.brief.terminal import Fitted
from kneebench.databases.loading import progress_of as loading
from kneebench.plan import Plan
from kneebench.plan.configurations import configurations
from kneebench.plan.duration import Expected
from kneebench.plan.preset import preset_text
from kneebench.plan.reader import parse_plan
from kneebench.plan.workload import Workload
from kneebench.records import Event, Finding, LiveSecond, Order, Results
from kneebench.screen.live import Picture
from kneebench.screen.progress import Progress, RungLine, rung_line
from kneebench.screen.tables import configuration_summaries as tables
from kneebench.screen.tables import findings, rungs
from kneebench.screen.watching import PlainLines, plain
from tests.profiles import made_up_profile
from tests.recordings import recorded, recorded_plan
from tests.terminal import drawn

EXPECTED = Expected(load_s=100.0, climbs_s=400.0, final_runs_s=600.0, climb_rungs=8)


def progress_of(plan: Plan, clock: Callable[[], float] = time.monotonic) -> Progress:
    return Progress(configurations(plan), plan.ladder, EXPECTED, clock)


class Clock:
    """Stands still until it is set."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture(scope="module")
def results() -> Results:
    return recorded()


def test_the_time_left_takes_off_what_was_kept_and_not_only_what_has_passed(
    results: Results,
) -> None:
    progress = progress_of(recorded_plan(), Clock())
    assert progress.left.s == EXPECTED.total_s
    for climb in results.climbs:
        for rung in climb.of("warm_up", "search", "bisection", "drift_check"):
            progress.receive(Event(kind="rung", doing="", data={"rung": rung, "kept": True}))
        for result in climb.stop_results:
            progress.receive(
                Event(kind="stop", doing=climb.configuration.storage, data=result.model_dump())
            )
    assert progress.left.s == pytest.approx(EXPECTED.final_runs_s)
    progress.receive(
        Event(
            kind="rung", doing="", data={"rung": results.climbs[0].of("final_run")[0], "kept": True}
        )
    )
    assert progress.left.s == pytest.approx(EXPECTED.final_runs_s * (1 - 1 / (2 * 3 * 2)))


def test_the_time_left_goes_by_the_pace_of_what_was_measured(results: Results) -> None:
    clock = Clock()
    progress = progress_of(recorded_plan(), clock)
    reported = results.climbs[0].of("final_run", "fixed_rate")
    for number, rung in enumerate(reported[:3]):
        clock.now_s = 10.0 + 100.0 * number  # each was expected to take 50 s
        progress.receive(Event(kind="rung", doing="", data={"rung": rung, "kept": False}))
    foreseen_s = 0.1 * EXPECTED.total_s  # the first rung says nothing of the pace
    pace = (foreseen_s + 200) / (foreseen_s + 100)
    left_s = pace * (EXPECTED.climbs_s + EXPECTED.final_runs_s - 3 * 50)
    assert progress.left.s == pytest.approx(left_s)
    clock.now_s += 20
    assert progress.left.s == pytest.approx(left_s - 20)


def test_a_first_long_rung_does_not_make_the_time_left_jump(results: Results) -> None:
    clock = Clock()
    progress = progress_of(recorded_plan(), clock)
    first, second = results.climbs[0].of("final_run")[:2]
    progress.receive(Event(kind="rung", doing="", data={"rung": first, "kept": False}))
    before_s = progress.left.s
    clock.now_s = 200.0  # four times as long as expected
    progress.receive(Event(kind="rung", doing="", data={"rung": second, "kept": False}))
    assert before_s < progress.left.s < 2 * before_s


def test_the_range_of_the_time_left_narrows_and_always_has_the_time_left_in_it(
    results: Results,
) -> None:
    clock = Clock()
    progress = progress_of(recorded_plan(), clock)
    wide = []
    for number, rung in enumerate(results.climbs[0].of("final_run", "fixed_rate")):
        clock.now_s = 50.0 * number
        progress.receive(Event(kind="rung", doing="", data={"rung": rung, "kept": False}))
        left = progress.left
        assert left.low_s <= left.s <= left.high_s
        wide.append((left.high_s - left.low_s) / left.s)
    assert wide == sorted(wide, reverse=True) and wide[-1] < 0.6 * wide[0]


def test_the_warm_up_of_a_round_is_no_rung_of_a_climb() -> None:
    progress = progress_of(recorded_plan(), Clock())
    order = Order(configuration="disk", phase="warm_up", users=4, repeat=3, restore=2)
    said = {"order": order.model_dump(), "second": LiveSecond(nopm=1.0).model_dump()}
    progress.receive(Event(kind="round", doing="round 2 of at most 14"))
    progress.receive(Event(kind="progress", doing="warm-up on disk", data=said))
    assert progress.position == "round 2 of at most 14"


def test_rounds_that_go_on_beyond_the_fewest_are_still_to_do() -> None:
    plan = parse_plan(preset_text("quick"))
    progress = progress_of(plan, Clock())
    fewest = plan.ladder.fewest_rounds
    round_s = EXPECTED.final_runs_s / fewest
    before = progress.left
    assert before.high_s - before.s > (plan.ladder.most_repeats - fewest) * round_s
    so_far = RoundsSoFar(fewest, 0.12, Wanted(0.1, 4, fewest + 6), "")
    progress.receive(
        Event(kind="round", doing=so_far.sentence, data={"rounds_left": so_far.left(fewest)})
    )
    least, likely, most = so_far.left(fewest)
    assert least <= likely < most
    rest_s = EXPECTED.load_s + EXPECTED.climbs_s
    assert progress.left.s == pytest.approx(rest_s + likely * round_s)
    ended = RoundsSoFar(fewest + 6, 0.12, so_far.wanted, "repeats")
    progress.receive(Event(kind="round", doing="", data={"rounds_left": ended.left(fewest)}))
    assert progress.left.s == pytest.approx(rest_s)


def test_the_terminal_has_the_percentile_of_the_brief(results: Results) -> None:
    for answer, climb in zip(configuration_summaries(results), results.climbs, strict=True):
        rate = fixed_rate_latency(climb)
        assert rate and answer.fixed_rate and answer.fixed_rate.p999_s == rate.p999_s
        assert answer.fixed_rate.mean_s == rate.mean_s


def test_the_interval_of_a_percentile_at_one_rate_holds_what_the_repeats_differ_by(
    results: Results,
) -> None:
    climb = results.climbs[0]
    repeats = [rung.tally.latency for rung in climb.of("fixed_rate") if rung.tally.latency]
    apart = [
        one.model_copy(update={"p999_s": factor * one.p999_s, "histogram": ""})
        for one, factor in zip(repeats, (0.5, 1.0, 2.0), strict=True)
    ]
    rungs = [
        r.model_copy(update={"tally": r.tally.model_copy(update={"latency": one})})
        for r, one in zip(climb.of("fixed_rate"), apart, strict=True)
    ]
    rate = fixed_rate_latency(climb.model_copy(update={"rungs": tuple(rungs)}))
    assert (
        rate
        and rate.p999_s.low
        < min(one.p999_s for one in apart)
        < max(one.p999_s for one in apart)
        < rate.p999_s.high
    )


def test_a_fixed_load_is_not_called_a_knee(results: Results, tmp_path: Path) -> None:
    table = tables(configuration_summaries(results))
    assert "knee, users" in [row.cells[0] for row in table.rows]
    ladder = {
        "users": 24,
        "window": "10s",
        "final_window": "10s",
        "warm_up": "5s",
        "checkpoints": 0,
        "repeats": 1,
    }
    simulated = {"log_latency": "1900us", "cores": 4}
    plan = recorded_plan(
        database={"engine": "simulated"},
        workload={"warehouses": 60},
        ladder=ladder,
        storages={
            "disk": {"simulated": simulated},
            "memory": {"simulated": {**simulated, "log_latency": "40us"}},
        },
    )
    fixed = run(plan, tmp_path)
    table = tables(configuration_summaries(fixed))
    assert "fixed load, users" in [row.cells[0] for row in table.rows]
    assert "knee, users" not in [row.cells[0] for row in table.rows]
    words = [sentence for said in told(fixed) for sentence in said]
    assert [one for one in words if "knee" in one.replace("not a knee", "").lower()] == []
    assert any("NOPM at 24 users" in one for one in words)
    assert "Fixed load of 24 users, not a knee" in words
    assert headline(fixed).startswith("Simulated. ")


def told(results: Results) -> list[list[str]]:
    """All sentences that terminal, brief and JSON are made of."""
    stop_results = [result.sentence for climb in results.climbs for result in climb.stop_results]
    shorts = [bottleneck(climb).sentence for climb in results.climbs]
    return [stop_results, shorts, [one.sentence for one in compare(results)], [headline(results)]]


def test_sentences_of_a_climb_speak_of_its_knee(results: Results) -> None:
    _, shorts, compared, _ = told(results)
    assert all(" at the knee" in one for one in shorts)
    assert any("NOPM at the knee" in one for one in compared)


def test_one_user_is_a_user(results: Results) -> None:
    assert (
        plain(RungLine("disk", "search", 1, 810.0, None, None, None, ""))
        == "disk: search, 1 user: 810 NOPM"
    )


def test_a_percentile_with_too_few_samples_says_so_where_it_stands_and_what_that_means_is_told_once(
    results: Results,
) -> None:
    certain = RungLine("disk", "final_run", 8, 810.0, 0.001, 0.0123, None, "")
    doubtful = certain._replace(p999_certain=False)
    marked = drawn(Fitted(rungs([certain, doubtful, doubtful])))
    assert marked.count("12.3 ms *") == 2
    assert marked.count(FEW_MEANS) == 1
    assert "?" not in marked
    assert "n too small" not in drawn(Fitted(rungs([certain])))
    answered = [
        answer.model_copy(update={"p999_certain": False})
        for answer in configuration_summaries(results)
    ]
    found = drawn(Fitted(tables(answered)))
    assert re.search(r"P99\.9 latency +[\d.]+ ms \([\d.]+ ms to [\d.]+ ms, n too small\)", found), (
        found
    )
    assert found.count(FEW_MEANS) == 1
    assert " ? " not in found


def test_what_the_mark_goes_by_is_the_number_of_samples(results: Results) -> None:
    for climb in results.climbs:
        for rung in climb.rungs:
            assert rung.tally.latency
            assert rung_line(rung, {}).p999_certain == (rung.tally.latency.n >= 100_000)


def test_plain_lines_explain_the_words_where_they_are_used_first(results: Results) -> None:
    out = StringIO()
    watch = PlainLines(progress_of(recorded_plan(), Clock()), out)
    for rung in results.climbs[0].rungs[:4]:
        assert rung.tally.latency
        few = rung.tally.model_copy(
            update={"latency": rung.tally.latency.model_copy(update={"n": 9})}
        )
        watch(
            Event(
                kind="rung",
                doing="",
                data={"rung": rung.model_copy(update={"tally": few}), "kept": False},
            )
        )
    assert len(re.findall(r"P99.9 [\d.]+ [mµ]?s \(n too small\)", out.getvalue())) == 4
    assert out.getvalue().count(FEW_MEANS) == 1


def test_loading_is_shown_with_its_rate_beside_the_time_left() -> None:
    event = loading({"rows": 250, "rows_total": 1000, "bytes": 10}, Workload(), elapsed_s=2.0)
    out, progress = (
        StringIO(),
        progress_of(recorded_plan(), Clock()),
    )
    progress.receive(event)
    assert "150 warehouses/min, 6 s remaining" in drawn(Picture(progress))
    progress.receive(Event(kind="start", doing="restoring"))
    assert "warehouses/min" not in drawn(Picture(progress))
    clock = Clock()
    watch = PlainLines(progress_of(recorded_plan(), clock), out)
    clock.now_s = 11.0
    watch(event)
    assert out.getvalue() == "  0:11 loading 20 warehouses 25%, 150 warehouses/min, 6 s remaining\n"


@pytest.mark.parametrize("columns", [60, 80])
def test_a_url_is_never_broken_in_a_narrow_terminal(columns: int) -> None:
    url = "postgresql://bench@db.example:5432/tpcc?sslmode=verify-full&sslrootcert=/etc/ca.pem"
    do = f'create it: psql "{url}" -c "CREATE DATABASE tpcc"'
    found = [
        Finding(level="error", subject=f"{url}: base image", seen="none", do=do),
        Finding(level="warning", subject="load hosts", seen=f"ahead cannot reach {url}", do="wait"),
        Finding(level="ok", subject="machine", seen="2 cores"),
    ]
    console = Console(width=columns, file=(printed := StringIO()))
    for part in findings(found):
        console.print(part, soft_wrap=isinstance(part, Text))
    lines = [line.strip() for line in printed.getvalue().splitlines()]
    assert f"URL 1: {url}" in lines
    assert f"URL 1: base image: {do}" in lines
    assert [line for line in lines if "db.example" in line and url not in line] == []


@pytest.mark.parametrize("columns", [40, 80, 160])
def test_a_table_too_wide_for_a_terminal_is_in_parts_and_none_of_its_cells_is_cut(
    columns: int,
) -> None:
    found = made_up_profile()
    table = next(one for one in ProfilePage(found).told if one.name == "rows").tables[0]
    text = drawn(Fitted(table), width=columns)
    assert all(len(line) <= columns for line in text.splitlines())
    words = text.replace("\N{NO-BREAK SPACE}", " ").split()
    for row in table.rows:
        for cell in row.cells[1:]:
            assert all(word in words for word in cell.split()), (cell, text)


def test_rungs_of_queries_have_a_time_and_no_new_orders() -> None:
    line = RungLine("disk", "query", 1, 0.0, 2.0, None, None, "", took_s=2.0, query="query 6")
    shown = drawn(Fitted(rungs([line])))
    assert " ".join(shown.split()) == "storage phase streams time note disk query 6 1 2 s"
