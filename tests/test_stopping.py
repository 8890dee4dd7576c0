"""A run that is stopped says how it is resumed, and what it says is so; a finished campaign is not
measured again for its brief.
"""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from kneebench import run
from kneebench.campaign import flow, restored
from kneebench.campaign.machines import machine
from kneebench.cli import app
from kneebench.commands import running
from kneebench.errors import DatabaseLost
from kneebench.plan.preset import preset_text
from kneebench.records import Event
from kneebench.results import load
from kneebench.stopping_signals import STOPPING

WHOLE = preset_text("simulated").replace('"20s"', '"10s"').replace('"60s"', '"10s"')
SHORT = WHOLE.replace("[1, 256]", "[1, 2]").replace("repeats       = 3", "repeats       = 1")
LONG = WHOLE.replace('"10s"', '"2min"').replace("repeats       = 3", "repeats       = 50")
"""So many rungs that, although its clock is simulated, somebody has time to stop it."""
SIGNALLED = """
import os

def signalled():
    os.kill(os.getpid(), {number})
    sum(range(100_000))
"""
"""A module whose function gets a stopping signal."""
IN_AN_IMPORT = """
from signalled import signalled

class Part:
    def __set_name__(self, owner, name):
        signalled()

class Made:
    part = Part()

print("imported")
"""
IN_A_DESTRUCTOR = """
import time
from signalled import signalled

class Dropped:
    def __del__(self):
        signalled()

def work():
    Dropped()
    time.sleep(30)
    print("not interrupted")
"""
IN_A_RECORD = """
import time
from typing import Annotated
from pydantic import BaseModel, PlainSerializer
from signalled import signalled

class Written(BaseModel):
    part: Annotated[str, PlainSerializer(lambda part: signalled() or part)] = ""

def work():
    Written().model_dump_json()
    time.sleep(30)
    print("not interrupted")
"""
COMMANDS = """
import signal, sys, time
from types import SimpleNamespace
from kneebench.__main__ import main

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup's jobs ignore it

def run():
    try:
        import in_an_import
        time.sleep(30)
        print("not interrupted")
    except Exception as error:
        print(repr(error))

def drop():
    import in_a_destructor
    in_a_destructor.work()

def write():
    import in_a_record
    in_a_record.work()

commands = {"run": run, "drop": drop, "write": write}
sys.modules["kneebench.cli"] = SimpleNamespace(main=commands[sys.argv[1]])
main()
"""
"""The command with another command line."""
KNEEBENCH = [sys.executable, "-m", "kneebench"]


@pytest.fixture(autouse=True)
def place(own_place: Path, blank_figures: None) -> Path:
    """A directory of its own, with two plans."""
    (own_place / "plan.toml").write_text(SHORT)
    (own_place / "long plan.toml").write_text(LONG)
    return own_place


def call(*words: str) -> Result:
    return CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).invoke(app, list(words))


def stopped(words: list[str], rungs: int, number: int = signal.SIGINT) -> str:
    """What a run says that is stopped once so many rungs are there."""
    process = subprocess.Popen(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while len(list(Path().glob("*/*/rungs/*.json"))) < rungs and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    return errors


def folders() -> list[Path]:
    """The campaigns' folders, by the number behind the name; the first has none."""
    found = (file.parent for file in Path().glob("*/*/campaign.json"))
    behind = {one: one.name.rpartition("-")[2] for one in found}
    return sorted(behind, key=lambda one: int(behind[one]) if behind[one].isdigit() else 1)


def test_a_fresh_run_that_is_stopped_prints_the_command_that_resumes_it(place: Path) -> None:
    given = ["run", "long plan.toml", "--out", "my results", "--fresh", "--no-brief"]
    errors = stopped([*KNEEBENCH, *given], rungs=1)
    (folder,) = folders()
    found = re.search(
        r"kneebench: Interrupted\. (\d+) rungs? saved in (.+)\. Resume with: (.*)\n", errors
    )
    assert found, errors
    assert (int(found[1]), found[2]) == (len(list(folder.glob("rungs/*.json"))), str(folder))
    command = shlex.split(found[3])
    assert command[1:] == [
        "-m",
        "kneebench",
        "run",
        "long plan.toml",
        "--out",
        "my results",
        "--no-brief",
    ]
    again = stopped([sys.executable, *command[1:]], rungs=int(found[1]) + 1, number=signal.SIGTERM)
    assert folders() == [folder], "the printed command resumes and does not start over"
    assert "Resume with:" in again


def test_a_lost_database_says_how_the_campaign_is_resumed(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*words: Any, **more: Any) -> None:
        raise DatabaseLost(
            "search on disk, 8 users", seen="the server is gone", do="see the server's log"
        )

    monkeypatch.setattr(restored, "measure", lose)
    answer = call("run", "plan.toml")
    assert answer.exit_code == 3
    (folder,) = folders()
    assert f"0 rungs saved in {folder}. Resume with: " in answer.stderr
    assert "same command" not in answer.stderr


def test_what_ends_before_a_campaign_has_a_folder_promises_no_resuming(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*words: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(machine, "preflight_checks", interrupt)
    answer = call("run", "plan.toml", "--fresh")
    assert answer.exit_code == 130
    assert "kneebench: Interrupted.\n" in answer.stderr
    assert "Resume" not in answer.stderr


def test_a_campaign_that_was_killed_before_its_brief_gets_it_and_is_not_measured_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*words: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as before:
        before.setattr(running, "_print_results", killed)
        first = call("run", "plan.toml")
    assert first.exit_code == 130
    (folder,) = folders()
    assert re.search(
        rf"rungs saved in {folder}\. The campaign is finished\. Write its brief with: .* brief"
        rf" {folder}\n",
        first.stderr,
    ), first.stderr
    (folder / ".brief.html.77.part").write_text("what a kill left")
    rungs = {file: file.read_bytes() for file in folder.glob("rungs/*")}

    def never(*words: Any, **options: Any) -> None:
        raise AssertionError("nothing is measured")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(flow, "run", never)
        again = call("run", "plan.toml")
    assert again.exit_code == 0, again.output
    assert "is finished; writing its missing brief" in again.stderr
    assert f"brief:   {folder / 'brief.html'}" in again.stdout
    assert (folder / "brief.html").read_text().endswith("</html>\n")
    assert {file: file.read_bytes() for file in folder.glob("rungs/*")} == rungs
    assert not list(folder.glob(".*.part"))
    assert call("run", "plan.toml").exit_code == 0
    assert len(folders()) == 2, (
        "with its brief the campaign is done, and the same command measures again"
    )


@pytest.mark.long
def test_a_campaign_that_was_to_have_no_brief_is_measured_again(place: Path) -> None:
    assert call("run", "plan.toml", "--no-brief").exit_code == 0
    assert call("run", "plan.toml").exit_code == 0
    assert len(folders()) == 2


def test_a_fresh_run_leaves_a_campaign_without_its_brief_alone(place: Path) -> None:
    assert call("run", "plan.toml").exit_code == 0
    (folder,) = folders()
    (folder / "brief.html").unlink()
    answer = call("run", "plan.toml", "--fresh", "--json")
    assert answer.exit_code == 0
    assert len(folders()) == 2
    assert not (folder / "brief.html").exists()
    opened = next(
        event
        for event in map(json.loads, answer.stdout.splitlines())
        if "folder" in event.get("data", {})
    )
    assert (opened["kind"], Path(opened["data"]["folder"])) == ("start", folders()[-1])


def test_a_campaign_that_another_stopped_after_it_is_not_taken_for_the_one_without_a_brief(
    place: Path,
) -> None:
    assert call("run", "plan.toml").exit_code == 0
    (folder,) = folders()
    (folder / "brief.html").unlink()
    head = json.loads((folder / "campaign.json").read_text())
    (folder / "campaign.json").write_text(
        json.dumps({**head, "started_at": "2001-01-01T00:00:00+00:00"})
    )

    class Stopped(BaseException):
        pass

    def stop(event: Event) -> None:
        if event.kind == "rung":
            raise Stopped

    from kneebench.campaign.preflight import read_plan

    with pytest.raises(Stopped):
        run(read_plan(Path("plan.toml")), Path("kneebench-results"), watch=stop, fresh=True)
    later = folders()[-1]
    assert call("run", "plan.toml").exit_code == 0
    assert (later / "brief.html").exists()
    assert load(later).finished
    assert not (folder / "brief.html").exists()


@pytest.mark.parametrize("number", STOPPING)
@pytest.mark.parametrize(("work", "printed"), [("run", "imported\n"), ("drop", ""), ("write", "")])
def test_a_signal_where_an_interrupt_is_lost_or_misread_interrupts_a_moment_later(
    place: Path, number: signal.Signals, work: str, printed: str
) -> None:
    (place / "signalled.py").write_text(SIGNALLED.format(number=int(number)))
    (place / "in_an_import.py").write_text(IN_AN_IMPORT)
    (place / "in_a_destructor.py").write_text(IN_A_DESTRUCTOR)
    (place / "in_a_record.py").write_text(IN_A_RECORD)
    command = [sys.executable, "-c", COMMANDS, work]
    done = subprocess.run(command, text=True, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, printed, "")


def test_a_signal_that_was_ignored_from_outside_stays_ignored(place: Path) -> None:
    ignoring = (
        "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_IGN);"
        " os.execv(sys.argv[1], sys.argv[1:])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", ignoring, *KNEEBENCH, "run", "plan.toml", "--no-brief"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not list(Path().glob("*/*/rungs/*.json")) and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGHUP)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
