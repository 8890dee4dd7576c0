"""The events of a campaign in its folder: what is kept, and reading them while they are written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kneebench import run
from kneebench.errors import KneebenchError
from kneebench.records import Event
from kneebench.results import load
from kneebench.results.event_log import FILE, EventLog, EventReader
from tests.simulated_campaign import plan


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished campaign on the simulated engine."""
    results = run(plan(), tmp_path_factory.mktemp("campaigns"))
    assert results.folder
    return results.folder


def test_a_campaign_keeps_each_of_its_rungs_seconds_and_stops(folder: Path) -> None:
    events = [one.event for one in EventReader(folder).new()]
    assert events[0].data["folder"] == str(folder)
    rungs = [one.data["key"] for one in events if one.kind == "rung"]
    assert sorted(map(str, rungs)) == sorted(file.stem for file in (folder / "rungs").iterdir())
    ends = {climb.ended_by.stop for climb in load(folder).climbs if climb.ended_by}
    assert ends and {one.data["stop"] for one in events if one.kind == "stop"} >= ends
    seconds = [one.data["second"] for one in events if "second" in one.data]
    assert len(seconds) > 100
    assert all(isinstance(one, dict) and one["nopm"] > 0 for one in seconds[5:10])


def test_no_rung_and_no_password_is_in_the_file(tmp_path: Path) -> None:
    EventLog(tmp_path).write(
        Event(kind="warning", doing="no answer from postgresql://me:secret@db/x")
    )
    text = (tmp_path / FILE).read_text()
    assert "no answer from postgresql://me@db/x" in text
    assert "secret" not in text


def test_a_reader_gets_each_event_once_and_waits_for_the_end_of_a_line(tmp_path: Path) -> None:
    log, reader = EventLog(tmp_path), EventReader(tmp_path)
    assert [*reader.new()] == []
    log.write(Event(kind="start", doing="one"))
    assert [one.event.doing for one in reader.new()] == ["one"]
    whole = json.dumps({"at": 1.5, "kind": "start", "doing": "two"}) + "\n"
    with (tmp_path / FILE).open("a") as file:
        file.write(whole[:20])
        file.flush()
        assert [*reader.new()] == []
        file.write(whole[20:] + "no JSON\n[1]\n" + '{"at": 2, "kind": "odd"}\n')
        file.write('{"at": NaN, "kind": "start", "doing": "x"}\n' + "[" * 100_000 + "\n")
    log.write(Event(kind="start", doing="three"))
    assert [(one.event.doing, one.at_s > 1) for one in reader.new()] == [
        ("two", True),
        ("three", True),
    ]


def test_where_nothing_can_be_written_the_campaign_goes_on(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    EventLog(tmp_path).write(Event(kind="start", doing="one"))
    with pytest.raises(KneebenchError, match="a directory"):
        next(EventReader(tmp_path).new())


def test_a_name_that_is_no_text_ends_no_campaign(tmp_path: Path) -> None:
    EventLog(tmp_path).write(Event(kind="start", doing="drive \udcff"))
    EventLog(tmp_path).write(Event(kind="start", doing="after it"))
    assert [*EventReader(tmp_path).new()][-1].event.doing == "after it"
