"""The live screen: its status stays in sight in every terminal, and every rung can be scrolled back
to.
"""

from __future__ import annotations

import re
import time

import pytest

from kneebench.plan import Plan
from kneebench.plan.configurations import configurations
from kneebench.plan.duration import Expected
from kneebench.records import Event, Results, Rung
from kneebench.screen import live
from kneebench.screen.progress import Progress, rung_line
from kneebench.units import time as time_of
from tests.recordings import recorded, recorded_plan, with_order
from tests.remarks import invalid as marked_invalid
from tests.terminal import Terminal

EXPECTED = Expected(load_s=100.0, climbs_s=400.0, final_runs_s=600.0, climb_rungs=8)
ELAPSED = re.compile(r"\d+:\d\d")
DRAWN_S = 0.4
"""More than the time between two drawings."""


def progress_of(plan: Plan) -> Progress:
    return Progress(configurations(plan), plan.ladder, EXPECTED)


LONG = "a drive of 28 letters in all"
SIZES = [
    pytest.param(80, 24, 1, "disk", id="80x24"),
    pytest.param(120, 35, 3, "disk", id="three storages"),
    pytest.param(80, 24, 2, LONG, id="28 letters", marks=[pytest.mark.long]),
]


@pytest.fixture(scope="module")
def results() -> Results:
    return recorded()


def plan(storage: str) -> Plan:
    return recorded_plan(
        baseline=storage, storages={storage: {"path": "disk"}, "memory": {"path": "memory"}}
    )


def events_of(results: Results, storage: str, notes: int) -> list[Event]:
    """A campaign as its watcher is told of it, one storage by this name; every second rung with a
    long note.
    """
    events: list[Event] = []
    of = {"disk": configurations(plan(storage))[0].id}
    for climb in results.climbs:
        for number, rung in enumerate(climb.rungs):
            invalid = (
                "37 of 12,000 transactions failed (0.31%, limit 0.1%); the first: canceling"
                " statement due to lock timeout"
            )
            named = with_order(
                rung, configuration=of.get(rung.order.configuration, rung.order.configuration)
            )
            noted = marked_invalid(named, invalid if number % 2 < notes else "")
            events.append(
                Event(
                    kind="progress",
                    doing=f"search on {storage}, 8 users: measuring the window",
                    share=0.4,
                    left_s=59.0,
                )
            )
            events.append(Event(kind="rung", doing="", data={"rung": noted, "kept": False}))
        events += [
            Event(kind="stop", doing=storage, data={**result.model_dump(), "fired": True})
            for result in climb.stop_results
        ]
        events.append(
            Event(
                kind="warning",
                doing=f"{storage}: "
                + "the server that is measured changed one of its settings meanwhile; " * 3,
            )
        )
    return events


def drawn(terminal: Terminal) -> list[str]:
    """The screen once its status is whole: on a busy machine it may be read while it is drawn."""
    until = time.monotonic() + 10
    while True:
        time.sleep(DRAWN_S)
        shown = list(terminal.screen)
        whole = any("search on" in one for one in shown) and any(
            ELAPSED.search(one) and "remaining" in one for one in shown
        )
        if whole or time.monotonic() > until:
            return shown


@pytest.mark.parametrize(("columns", "rows", "times", "storage"), SIZES)
def test_the_status_is_in_sight_after_every_event_and_every_rung_can_be_scrolled_back_to(
    results: Results,
    monkeypatch: pytest.MonkeyPatch,
    columns: int,
    rows: int,
    times: int,
    storage: str,
) -> None:
    terminal = Terminal(columns, rows)
    monkeypatch.setattr(live, "Console", lambda **how: terminal.console())
    progress = progress_of(plan(storage))
    events = events_of(results, storage, notes=1) * times
    with live.live(progress) as watch:
        for number, event in enumerate(events):
            watch(event)
            if number % 9:
                continue
            shown = drawn(terminal)
            assert any(ELAPSED.search(one) and "remaining" in one for one in shown[-2:]), "\n".join(
                shown
            )
            assert any("59 s remaining" in one for one in shown[-3:])
            assert any("search on" in one for one in shown[-4:])
    assert not any("remaining" in one for one in terminal.screen), "the status goes at the end"
    words = "".join(terminal.whole.split())
    rungs = [event.data["rung"] for event in events if event.kind == "rung"]
    assert words.count("thefirst:cancelingstatementduetolocktimeout") == sum(
        isinstance(rung, Rung) and bool(rung.invalid) for rung in rungs
    )
    for rung in rungs:
        assert isinstance(rung, Rung)
        line = rung_line(rung, {})
        assert line.log_write_s is not None
        assert re.search(
            rf" {line.nopm:,.0f} .* {re.escape(time_of(line.log_write_s))}$",
            terminal.whole,
            re.MULTILINE,
        )
    assert all("".join(event.doing.split()) in words for event in events if event.kind == "warning")


def test_rungs_stand_in_columns_below_one_heading(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal(100, 24)
    monkeypatch.setattr(live, "Console", lambda **how: terminal.console())
    with live.live(progress_of(recorded_plan())) as watch:
        for event in events_of(results, "disk", notes=0):
            watch(event)
    lines = terminal.whole.splitlines()
    (heading,) = (one for one in lines if re.search(r" users +NOPM ", one))
    for one in lines:
        if re.match(r"(disk|memory) +[a-z]", one):
            assert one[heading.index("NOPM") + 3].isdigit(), (
                "numbers end below the end of their heading"
            )
    assert terminal.whole.count("A ? marks") <= 1
