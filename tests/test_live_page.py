"""The live page: what it says of a campaign's folder, who may ask it, and how it looks."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import termios
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from kneebench.analysis.headline import data_cached, headline, subtitle
from kneebench.analysis.knee import knee
from kneebench.errors import KneebenchError
from kneebench.live.address import Address, parse_address
from kneebench.live.campaign_state import CampaignState
from kneebench.live.page_server import Follower, exposition
from kneebench.measurement.rung_runner import live_second
from kneebench.plan.ladder import Ladder
from kneebench.plan.preset import preset_text
from kneebench.plan.reader import parse_plan
from kneebench.records import Knee, Tick
from kneebench.results import Store, load
from kneebench.results.event_log import FILE
from kneebench.results.formats import read_rung
from kneebench.units import significant
from tests.browser import BROWSER, Tab
from tests.recorded.record import unpack
from tests.recordings import PLATEAU
from tests.simulated_campaign import finished, plan


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished campaign on the simulated engine."""
    return finished(plan(), tmp_path_factory.mktemp("campaigns"))


def unfinished(folder: Path, to: Path, lines: int) -> Path:
    """A copy of a campaign as it was after so many events."""
    copy = Path(shutil.copytree(folder, to / "copy"))
    (copy / "finished.json").unlink()
    kept = (folder / FILE).read_text().splitlines(keepends=True)[:lines]
    (copy / FILE).write_text("".join(kept))
    if lines < len((folder / FILE).read_text().splitlines()):
        events = [json.loads(line) for line in kept]
        measured = {str(event["data"].get("key")) for event in events}
        ended = {event["doing"] for event in events if event["kind"] == "stop"}
        for file in (*(copy / "rungs").iterdir(), *(copy / "climbs").iterdir()):
            if file.stem not in measured | ended:
                file.unlink()
    return copy


def seen(folder: Path) -> CampaignState:
    state = CampaignState(folder)
    state.refresh()
    state.analyse()
    return state


# --- what it says -------------------------------------------------------------------------------


def test_a_finished_campaign_has_its_finding_its_knees_and_every_rung(folder: Path) -> None:
    results, said = load(folder), seen(folder).whole()
    assert said["sentence"] == headline(results)
    knees = {climb.configuration.name: knee(climb) for climb in results.climbs}
    assert {name: one["nopm"] for name, one in said["knees"].items()} == {
        name: found.nopm.value for name, found in knees.items() if found
    }
    assert len(said["rungs"]) == sum(len(climb.rungs) for climb in results.climbs)
    assert (said["now"]["finished"], said["now"]["running"]) == (True, False)
    assert "left_s" not in said["now"]
    json.dumps(said)


def test_in_a_climb_it_says_which_rung_it_is_and_how_near_each_stop_is(
    folder: Path, tmp_path: Path
) -> None:
    events = [json.loads(line) for line in (folder / FILE).read_text().splitlines()]
    rungs = [n for n, event in enumerate(events) if event["kind"] == "rung"]
    state = seen(unfinished(folder, tmp_path, rungs[3] + 4))
    said = state.whole()
    assert said["now"]["position"].startswith("configuration 1 of 2, rung 5 of about ")
    assert said["now"]["second"]["nopm"] == events[rungs[3] + 3]["data"]["second"]["nopm"]
    stops = {one["stop"]: one for one in said["stops"]}
    assert {"plateau", "log_latency", "saturation", "budget"} <= {*stops}
    log = stops["log_latency"]
    assert log["share"] == pytest.approx(log["value"] / log["limit_value"])
    assert said["health"][0]["words"].startswith("load generator ")
    now = said["now"]
    assert 0 < now["left_low_s"] <= now["left_s"] <= now["left_high_s"]
    assert {(one["name"], one["phase"]) for one in said["seconds"]} >= {("fast", "search")}
    best = max(rung["nopm"] for rung in said["rungs"][1:])
    assert said["sentence"] == "Simulated. No final runs yet"
    assert f"Best search rung so far: fast {significant(best)} NOPM at " in said["subtitle"]


def test_in_the_final_runs_it_says_which_one(folder: Path, tmp_path: Path) -> None:
    events = [json.loads(line) for line in (folder / FILE).read_text().splitlines()]
    finals = [
        n
        for n, event in enumerate(events)
        if event["kind"] == "progress" and event["data"].get("order", {}).get("repeat")
    ]
    state = seen(unfinished(folder, tmp_path, finals[0] + 1))
    assert re.fullmatch(r"final run 1 of about \d+", state.now()["position"])


def test_a_campaign_that_was_resumed_counts_each_of_its_rungs_once(
    folder: Path, tmp_path: Path
) -> None:
    copy = unfinished(folder, tmp_path, 10**6)
    with (copy / FILE).open("a") as file:
        file.write((folder / FILE).read_text())
    assert len(seen(copy).whole()["rungs"]) == len([*(folder / "rungs").iterdir()])


def test_a_page_opened_late_says_how_long_the_campaign_has_taken_since_its_start(
    folder: Path, tmp_path: Path
) -> None:
    copy = unfinished(folder, tmp_path, 10**6)
    lines = [json.loads(line) for line in (copy / FILE).read_text().splitlines()]
    for number, line in enumerate(lines):
        line["at"] = 1000.0 + number
    (copy / FILE).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    now_s = 1000.0 + len(lines) + 9
    with Store(copy):
        state = CampaignState(copy, lambda: now_s)
        state.refresh()
        now = state.now()
    assert now["running"] and now["elapsed_s"] == now_s - 1000.0


def test_a_single_load_of_the_default_plan_has_a_page_too() -> None:
    once = parse_plan(preset_text("quick")).ladder.once(4, 20.0)
    Ladder.model_validate(once.model_dump())


def test_what_cannot_be_understood_is_left_out_with_a_message(folder: Path, tmp_path: Path) -> None:
    copy = unfinished(folder, tmp_path, 10**6)
    with (copy / FILE).open("a") as file:
        odd = {"at": 1e9, "kind": "stop", "doing": "fast", "data": {"stop": 1}}
        file.write(json.dumps(odd) + "\n")
    said = seen(copy).whole()
    assert said["messages"][-1].startswith("an event was left out: ")


def test_a_rung_of_a_proof_is_none_of_the_campaign(folder: Path, tmp_path: Path) -> None:
    copy = unfinished(folder, tmp_path, 10**6)
    rungs = len(seen(copy).whole()["rungs"])
    lines = (copy / FILE).read_text().splitlines()
    key = next(json.loads(one)["data"]["key"] for one in lines if '"key"' in one)
    with (copy / FILE).open("a") as file:
        data = {"key": key, "in": f"{folder}/proofs/fast"}
        file.write(json.dumps({"at": 1e9, "kind": "rung", "doing": "", "data": data}) + "\n")
    assert len(seen(copy).whole()["rungs"]) == rungs


def recorded_until(rungs: int, to: Path) -> Path:
    """A recording as it was after so many rungs; with all of them it is finished."""
    folder = unpack(PLATEAU, to)
    files = sorted((folder / "rungs").iterdir(), key=lambda one: read_rung(one, None).number)
    said = [{"kind": "rung", "doing": "", "data": {"key": file.stem}} for file in files[:rungs]]
    lines = (json.dumps({"at": 1.0 + number, **one}) for number, one in enumerate(said))
    (folder / FILE).write_text("".join(f"{line}\n" for line in lines))
    if rungs < len(files):
        for file in (*files[rungs:], folder / "finished.json"):
            file.unlink()
        shutil.rmtree(folder / "climbs")
    return folder


def test_a_campaign_whose_climbs_have_ended_says_why_as_its_brief_does(tmp_path: Path) -> None:
    folder = recorded_until(10**6, tmp_path)
    said = seen(folder).whole()["stops"]
    reported = [
        (climb.configuration.name, one.sentence)
        for climb in load(folder).climbs
        for one in climb.reported
    ]
    assert reported and [(one["of"], one["sentence"]) for one in said] == reported


def test_between_two_climbs_it_says_why_the_first_one_ended(folder: Path, tmp_path: Path) -> None:
    events = [json.loads(line) for line in (folder / FILE).read_text().splitlines()]
    key = "slow.warm_up"
    warmed = next(n for n, one in enumerate(events) if key in str(one["data"].get("key")))
    said = seen(unfinished(folder, tmp_path, warmed + 1)).whole()["stops"]
    assert said and {(one["of"], one["ended"]) for one in said} == {("fast", True)}


def test_a_rung_below_the_first_is_not_judged_by_the_stop_conditions(tmp_path: Path) -> None:
    climb = load(recorded_until(10**6, tmp_path / "whole")).climbs[0]
    searched = [one.users for one in climb.of("search")]
    assert searched[-1] < searched[0]
    until = next(n for n, one in enumerate(climb.rungs) if one.users == searched[-1])
    said = seen(recorded_until(until + 1, tmp_path / "part")).whole()["stops"]
    assert [one["sentence"] for one in said] == [one.sentence for one in climb.stop_results]


def test_a_title_without_final_runs_does_not_say_that_data_was_cached(tmp_path: Path) -> None:
    folder = recorded_until(10**6, tmp_path / "whole")
    climbs = load(folder).climbs
    assert data_cached(climbs)
    until = sum(len(one.rungs) - len(one.of("final_run", "fixed_rate")) for one in climbs)
    part = recorded_until(until, tmp_path / "part")
    shutil.copytree(folder / "climbs", part / "climbs")
    assert "cached" not in headline(load(part)) + subtitle(load(part))


def test_what_a_page_says_follows_each_rung_at_once(folder: Path, tmp_path: Path) -> None:
    events = (folder / FILE).read_text().splitlines(keepends=True)
    rungs = [n for n, line in enumerate(events) if json.loads(line)["kind"] == "rung"]
    copy = unfinished(folder, tmp_path, rungs[1] + 1)
    state = seen(copy)
    for at in rungs[2:5]:
        with (copy / FILE).open("a") as file:
            file.write(events[at])
        key = json.loads(events[at])["data"]["key"]
        shutil.copy(folder / "rungs" / f"{key}.json", copy / "rungs")
        state.refresh()
        state.analyse()
        said = state.whole()
        assert said["subtitle"] == subtitle(load(copy))
        assert {nopm for _, nopm in said["curve"]["fast"]} <= {one["nopm"] for one in said["rungs"]}
        assert said["rungs"][-1]["nopm"] in {nopm for _, nopm in said["curve"]["fast"]}


def test_a_recording_without_events_is_followed_too(tmp_path: Path) -> None:
    said = seen(unpack(PLATEAU, tmp_path)).whole()
    assert said["sentence"] and said["knees"]
    assert said["now"]["position"] == ""


def test_a_key_in_the_events_names_no_file_elsewhere(folder: Path, tmp_path: Path) -> None:
    copy = unfinished(folder, tmp_path, 1)
    with (copy / FILE).open("a") as file:
        line = {"at": 1.0, "kind": "rung", "doing": "8 users", "data": {"key": "../../secret"}}
        file.write(json.dumps(line) + "\n")
    said = seen(copy).whole()
    assert said["rungs"] == []
    assert "its key is '../../secret'" in said["messages"][-1]


def test_what_is_no_campaign_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KneebenchError):
        CampaignState(tmp_path)


METRIC = re.compile(r"\bkneebench_\w+")


def test_prometheus_gets_each_second_and_keeps_the_last_one_after_the_end(
    folder: Path, tmp_path: Path
) -> None:
    events = [json.loads(line) for line in (folder / FILE).read_text().splitlines()]
    last = max(n for n, event in enumerate(events) if "second" in event.get("data", {}))
    second = events[last]["data"]["second"]
    copy = unfinished(folder, tmp_path, last + 1)
    with Store(copy):
        text, _ = exposition(seen(copy))
    of = r'constraint="",database="simulated",phase="\w+",storage="(fast|slow)"'
    campaign = 'campaign="[^"]+"'
    assert re.search(rf"kneebench_nopm{{{campaign},{of}}} {second['nopm']}\n", text)
    assert second["p999_s"] > second["mean_s"] > 0
    assert f'storage="fast"}} {second["p999_s"]}\n' in text.replace("slow", "fast")
    assert METRIC.findall(exposition(seen(folder))[0]) == METRIC.findall(text)
    assert "kneebench_running" in text and text.count("_created") == 0
    rungs = re.findall(r"kneebench_rungs_total{.*} (\d+)\.0\n", text)
    assert sum(map(int, rungs)) == len([*(copy / "rungs").iterdir()])


def test_a_second_has_the_bytes_of_all_devices_together() -> None:
    seen = {"device.read_bytes": {"a": 1e6, "b": 2e6}, "device.write_bytes": {"a": 4e6}}
    second = live_second([60.0], Tick(now_s=1.0, alive=1, seconds=()), seen)
    assert (second.read_bytes_per_s, second.write_bytes_per_s) == (3e6, 4e6)
    assert second.p999_s is None


def test_between_rungs_prometheus_gets_no_second(folder: Path, tmp_path: Path) -> None:
    events = [json.loads(line) for line in (folder / FILE).read_text().splitlines()]
    rung = next(n for n, event in enumerate(events) if event["kind"] == "rung")
    copy = unfinished(folder, tmp_path, rung + 1)
    with Store(copy):
        assert "kneebench_nopm" not in exposition(seen(copy))[0]


def test_every_metric_is_documented_and_the_dashboard_asks_for_no_other(folder: Path) -> None:
    docs = Path(__file__).parent.parent / "docs"
    exported = {*METRIC.findall(exposition(seen(folder))[0])}
    table = [line for line in (docs / "watch.md").read_text().splitlines() if line[:1] == "|"]
    of_devices = {f"kneebench_device_{way}_bytes_per_second" for way in ("read", "write")}
    assert {*METRIC.findall("".join(table))} == exported | of_devices
    panels = json.loads((docs / "grafana.json").read_text())["panels"]
    asked = [query["expr"] for panel in panels for query in panel["targets"]]
    assert asked and {*METRIC.findall("".join(asked))} <= exported | of_devices


# --- who may ask ----------------------------------------------------------------------------------


@contextmanager
def served(folder: Path, listen: str = "0") -> Iterator[str]:
    """The page of a folder by the command, at its URL."""
    command = [sys.executable, "-m", "kneebench", "live", str(folder), "--listen", listen]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        line = process.stderr.readline()
        try:
            yield line.removeprefix("live page: ").strip()
        finally:
            process.terminate()
            process.wait()


@pytest.fixture(scope="module")
def page(folder: Path) -> Iterator[str]:
    """The page of the finished campaign, for all who only look."""
    with served(folder) as url:
        yield url


def get(url: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_the_page_its_state_and_its_events_are_served_on_loopback(page: str) -> None:
    assert page.startswith("http://127.0.0.1:")
    assert "<title>Kneebench live</title>" in get(page)[1]
    assert json.loads(get(f"{page}state")[1])["configurations"] == ["fast", "slow"]
    assert "kneebench_rungs" in get(f"{page}metrics")[1]
    with urllib.request.urlopen(f"{page}events", timeout=10) as events:
        lines = [events.readline().decode() for _ in range(4)]
    assert lines[0] == "retry: 1000\n" and lines[2] == "event: state\n"
    first = json.loads(lines[3].removeprefix("data: "))
    assert first["now"]["finished"] is True and first["sentence"]
    assert get(page, Host="evil.example")[0] == 400
    assert get(page, Host="localhost:1")[0] == 200
    with urllib.request.urlopen(urllib.request.Request(page, method="HEAD")) as answer:
        assert (answer.status, answer.read()) == (200, b"")


def test_a_state_is_made_once_for_all_who_ask_at_once_and_again_when_it_changes(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, made = seen(folder), list[int]()
    whole = state.whole
    monkeypatch.setattr(state, "whole", lambda: made.append(1) or whole())
    monkeypatch.setattr("kneebench.live.page_server.KEPT_S", 600.0)

    async def two_events() -> list[str]:
        follower = Follower(state)
        assert len({follower.whole() for _ in range(900)}) == 1
        events = follower.events()
        before = [await anext(events), await anext(events)]
        assert len(made) == 1
        following = asyncio.create_task(follower.follow())
        after = await anext(events)
        following.cancel()
        return [*before[1:], after]

    assert [one.partition("\n")[0] for one in asyncio.run(two_events())] == ["event: state"] * 2
    assert len(made) == 2


def test_elsewhere_only_those_who_know_the_token_are_answered(folder: Path) -> None:
    with served(folder, "0.0.0.0:0") as url:
        here, _, token = url.replace("0.0.0.0", "127.0.0.1").partition("?token=")
        assert len(token) > 20
        assert get(here)[0] == get(f"{here}state?token=wrong")[0] == 401
        assert get(f"{here}metrics", Authorization=f"Bearer {token}")[0] == 200
        with urllib.request.urlopen(f"{here}?token={token}") as answer:
            cookie = answer.headers["Set-Cookie"]
        assert "HttpOnly" in cookie and "SameSite=strict" in cookie
        assert get(f"{here}state", Cookie=cookie.partition(";")[0])[0] == 200


def test_an_address_that_is_none_or_taken_is_an_error(folder: Path, page: str) -> None:
    assert parse_address("127.0.0.1:9") == Address(port=9)
    for text in ("here", "1:x", "127.0.0.1:99999"):
        with pytest.raises(KneebenchError, match="is no address"):
            parse_address(text)
    taken = page.removeprefix("http://").strip("/")
    command = [sys.executable, "-m", "kneebench", "live", str(folder), "--listen", taken]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "cannot be listened on; use another host or port" in ended.stderr


def test_the_process_that_measures_imports_nothing_of_the_page() -> None:
    code = (
        "import sys, kneebench.cli, kneebench.campaign.flow, kneebench.screen.watching\n"
        "found = {'fastapi', 'uvicorn', 'prometheus_client', 'kneebench.live.page_server'}\n"
        "print(sorted(found & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "[]\n"


def short_run(place: Path) -> list[str]:
    """A run of seconds that serves a page."""
    file = place / "plan.toml"
    file.write_text('[database]\nengine = "simulated"\n[storages]\na = { simulated = {} }\n')
    command = [sys.executable, "-m", "kneebench", "run", str(file), "--out", str(place)]
    short = ["--users", "2", "--for", "2s", "--no-brief", "--live", "--prometheus", "127.0.0.1:0"]
    return [*command, *short]


def test_a_run_serves_its_page_until_it_ends(tmp_path: Path) -> None:
    ended = subprocess.run(short_run(tmp_path), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    url = re.search(r"live page: (\S+)", ended.stderr)
    assert url
    with pytest.raises(OSError):
        urllib.request.urlopen(url[1], timeout=5)


@pytest.mark.parametrize("command", ["live", "run"])
def test_the_url_of_a_page_is_on_one_line_of_a_terminal_that_is_narrower(
    folder: Path, tmp_path: Path, command: str
) -> None:
    follow = [sys.executable, "-m", "kneebench", "live", str(folder), "--listen", "127.0.0.1:0"]
    words, printed = follow if command == "live" else short_run(tmp_path), b""
    ours, its = pty.openpty()
    termios.tcsetwinsize(its, (24, 30))
    unset = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
    with subprocess.Popen(words, stdin=its, stdout=its, stderr=its, env=unset) as process:
        os.close(its)
        with suppress(OSError):  # nobody has the terminal open any more
            while read := os.read(ours, 4096):
                printed += read
                if command == "live" and re.search(rb"live page:.*\n", printed):
                    process.kill()
    os.close(ours)
    assert re.search(rb"live page: http://127\.0\.0\.1:\d+/\r\n", printed), printed


SIGNALLED = """
import os, signal, sys
from pathlib import Path
from kneebench.live.address import Address
from kneebench.live.campaign_state import CampaignState
from kneebench.live.page_server import serve
from kneebench.stopping_signals import stop_at_signals
signal.signal(signal.Signals[sys.argv[2]], signal.SIG_DFL)  # which nohup has ignored
stop_at_signals()
at, stop = Address("127.0.0.1", 0), lambda url: os.kill(os.getpid(), signal.Signals[sys.argv[2]])
serve(CampaignState(Path(sys.argv[1])), at, stop)
"""
"""A page that is stopped as soon as its URL is printed, before its event loop runs."""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_a_page_that_is_stopped_at_once_ends_without_a_word(folder: Path, name: str) -> None:
    command = [sys.executable, "-c", SIGNALLED, str(folder), name]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


# --- how it looks ---------------------------------------------------------------------------------


@pytest.mark.browser
@pytest.mark.skipif(not BROWSER, reason="Chromium is not installed")
def test_a_browser_shows_it_on_one_screen_without_a_word_on_the_console(
    folder: Path, page: str, tmp_path: Path
) -> None:
    with opened(tmp_path, 1440, 1000) as tab:
        tab.open(page)
        tab.wait_until(f"{SENTENCE} === {json.dumps(headline(load(folder)))}")
        assert tab.evaluate("document.querySelectorAll('svg').length") == 4
        assert tab.evaluate("document.documentElement.scrollHeight <= innerHeight")
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        for (users, nopm), found in zip(tab.evaluate(CIRCLES), knees(folder), strict=True):
            assert users == pytest.approx(found.users.value, rel=0.02)
            assert nopm == pytest.approx(found.nopm.value, rel=0.01)
        assert tab.evaluate(f"{SUBTITLE} === {json.dumps(subtitle(load(folder)))}")
        colours = "[...document.querySelectorAll('#{} .series')].map((one) => one.style.stroke)"
        assert tab.evaluate(colours.format("nopm")) == tab.evaluate(colours.format("curve"))
        said = tab.evaluate("document.body.innerText")
        assert "Why each climb ended" in said and "checks of the last rung passed" in said
        assert tab.console == []


@pytest.mark.browser
@pytest.mark.skipif(not BROWSER, reason="Chromium is not installed")
def test_a_page_whose_connection_was_cut_finds_back_and_shows_what_it_missed(
    folder: Path, tmp_path: Path
) -> None:
    copy = unfinished(folder, tmp_path, 40)
    rest = (folder / FILE).read_text().splitlines(keepends=True)[40:]
    with opened(tmp_path, 390, 800) as tab:
        with served(copy) as url:
            tab.open(url)
            tab.wait_until("document.querySelectorAll('svg').length > 2")
            assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        tab.wait_until(f"{CONNECTION}.includes('connection lost')")
        shutil.copytree(folder / "rungs", copy / "rungs", dirs_exist_ok=True)
        with (copy / FILE).open("a") as file:
            file.writelines(rest)
        with served(copy, url.removeprefix("http://").strip("/")):
            tab.wait_until(f"{CONNECTION} === ''", limit_s=60)
            final = "document.getElementById('position').textContent.startsWith('final ')"
            tab.wait_until(final, limit_s=60)
            rungs = len([*(folder / "rungs").iterdir()])
            assert tab.evaluate("state.rungs.length") == rungs


@pytest.mark.browser
@pytest.mark.skipif(not BROWSER, reason="Chromium is not installed")
def test_every_line_of_every_message_can_be_read(folder: Path, tmp_path: Path) -> None:
    copy = unfinished(folder, tmp_path, 10**6)
    with (copy / FILE).open("a") as file:
        for number in range(20):
            words = f"warning {number}: " + "the log's drive was slower than before, " * 6
            file.write(json.dumps({"at": 1e9, "kind": "warning", "doing": words}) + "\n")
    with opened(tmp_path, 1440, 1000) as tab, served(copy) as url:
        tab.open(url)
        tab.wait_until("document.querySelectorAll('#messages li').length === 20")
        assert tab.evaluate("messages.querySelector('ul').clientHeight") == tab.evaluate(
            "messages.querySelector('ul').scrollHeight"
        )


def knees(folder: Path) -> list[Knee]:
    return [found for climb in load(folder).climbs if (found := knee(climb))]


CIRCLES = """(() => {
  const [least, most] = [...document.querySelectorAll('#curve text')].slice(3, 5);
  const lines = [...document.querySelectorAll('#curve .axis')].map(
    (one) => +one.getAttribute('y1'));
  const high = +document.querySelectorAll('#curve text')[2].textContent.replaceAll(',', '');
  const [from, to] = [least, most].map((one) => +one.getAttribute('x'));
  const share = (at) => (at - from) / (to - from);
  return [...document.querySelectorAll('#curve circle[r="6"]')].map((one) => [
    +least.textContent + share(+one.getAttribute('cx')) * (most.textContent - least.textContent),
    high * (lines[0] - one.getAttribute('cy')) / (lines[0] - lines[2])]);
})()"""
"""Users and NOPM of each circle, by the axes."""
SUBTITLE = "document.getElementById('subtitle').textContent"
SENTENCE = "document.getElementById('sentence').textContent"
CONNECTION = "document.getElementById('connection').textContent"


@contextmanager
def opened(tmp_path: Path, width: int, height: int) -> Iterator[Tab]:
    tab = Tab(tmp_path / "profile", width, height)
    try:
        yield tab
    finally:
        tab.close()


def test_so_many_pages_listen_at_once_and_one_more_is_refused_until_one_leaves(
    page: str,
) -> None:
    with ExitStack() as stack:
        pages = [stack.enter_context(urllib.request.urlopen(f"{page}events")) for _ in range(64)]
        assert get(f"{page}events") == (503, "64 pages are open already: close one")
        assert get(f"{page}state")[0] == 200
        pages[0].close()
        for _ in range(50):
            try:
                with urllib.request.urlopen(f"{page}events") as again:
                    assert again.status == 200
                    break
            except urllib.error.HTTPError:  # the server has not seen yet that it left
                time.sleep(0.1)
        else:
            pytest.fail("no page may listen again")
