"""Kills campaigns at random moments and checks that nothing is lost and nothing left: `python -m
tests.kills --count 300`.

A campaign is started, killed, and started again by the same command until it ends by itself. The
moments are drawn from the seed in lines of its output, not in seconds, so that they fall alike on a
fast machine and on a busy one.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import NamedTuple

from kneebench.errors import KneebenchError
from kneebench.lab.processes import runs
from kneebench.results import load
from tests import leftovers
from tests.kill_place import PLANS, Place

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)
ENDED = (0, 3, 4)
"""Exit codes of a run that came to its end: on a busy machine a rung may be invalid, or a check
fail."""
PATIENCE_S = 300


class Fault(AssertionError):
    """What a kill must not do."""


class Moment(NamedTuple):
    """When a run is killed: after so many lines of output, but not later than in its end, and then
    a delay.
    """

    number: signal.Signals
    lines: int
    delay_s: float


def moment(random: Random, most: int, *, brief: bool) -> Moment:
    """A quarter of the kills fall on the start, before the campaign says anything; the rest on what
    it does, at most after so many lines, and on its end. Where only its `brief` is missing, every
    second run may come to its end."""
    number = random.choice(SIGNALS)
    if brief:
        return Moment(number, 1, random.choice([random.uniform(0, 3.0), PATIENCE_S]))
    if random.random() < 1 / 4:
        return Moment(number, 1, random.uniform(0, 1.0))
    return Moment(number, random.randint(2, most), random.uniform(0, 0.3))


class Killing:
    """One campaign, killed again and again: what it has promised so far, and whether it keeps
    that.
    """

    def __init__(self, place: Place, random: Random) -> None:
        self.place, self.random = place, random
        self.command = ["run", "plan.toml", "--json", "--fresh"]
        self.kept: dict[Path, str] = {}
        self.made: set[tuple[str, int, int]] = set()
        self.done = False
        self.kills = 0
        self.last = ""

    def once(self) -> None:
        """Start it, kill it, look; or see it end."""
        when = moment(self.random, self.place.most_lines, brief=self._finished())
        self.last = f"{when.number.name} after line {when.lines} and {when.delay_s:.3f} s"
        process = self.place.start(*self.command)
        try:
            self._wait_for(when, process)
            self.made |= self.place.made
            process.send_signal(when.number)
            code = process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise Fault(f"it does not end within {PATIENCE_S} s of the signal") from None
        finally:
            process.kill()
            process.wait()
        self._judge(code, when.number)

    def _wait_for(self, when: Moment, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        lines = 0
        while process.poll() is None and (
            lines < 1 or (lines < when.lines and not self._finished())
        ):
            if time.monotonic() > deadline:
                raise Fault(f"no line {when.lines} within {PATIENCE_S} s")
            time.sleep(0.005)
            lines = len(self.place.lines())
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(when.delay_s)

    def _finished(self) -> bool:
        return any((folder / "finished.json").exists() for folder in self.place.campaigns)

    def _judge(self, code: int, number: int) -> None:
        events = self.place.events()
        folder = next(
            (str(event["data"]["folder"]) for event in events if "folder" in event.get("data", {})),
            "",
        )
        ended = bool(events) and events[-1]["kind"] == "result"
        self._judge_code(code, number, before=not events, ended=ended)
        self._judge_words(code, folder)
        self._judge_files(
            [str(event["data"]["key"]) for event in events if event["kind"] == "rung"]
        )
        if self.place.campaigns and "--fresh" in self.command:
            self.command.remove("--fresh")
        self.done = ended
        if ended or self.random.random() < 0.15:
            self._judge_left()

    def _judge_code(self, code: int, number: int, *, before: bool, ended: bool) -> None:
        """A signal ends the process by itself only before our handlers are there, and after all is
        done.
        """
        self.kills += code not in ENDED
        allowed = {-9} if number == signal.SIGKILL else {130, -number} if before or ended else {130}
        if code not in allowed | (set(ENDED) if ended else set()):
            raise Fault(f"exit code {code}: {self.place.errors.read_text()}")

    def _judge_words(self, code: int, folder: str) -> None:
        errors = self.place.errors.read_text()
        for word in ("Traceback", "internal error", "Exception ignored"):
            if word in errors:
                raise Fault(errors)
        found = re.search(r"Resume with: (.*)\n", errors)
        resuming = [word for word in self.command if word != "--fresh"]
        if (
            code == 130
            and folder
            and not self._finished()
            and (not found or shlex.split(found[1])[1:] != resuming)
        ):
            raise Fault(f"no command that resumes: {errors}")

    def _judge_files(self, announced: list[str]) -> None:
        """What was measured is there, as it was; a campaign that can be read has no half files."""
        now = {file: digest(file) for folder in self.place.campaigns for file in measured(folder)}
        changed = [
            str(file)
            for file, content in {**dict.fromkeys(now, ""), **self.kept}.items()
            if not now.get(file) or content not in ("", now[file])
        ]
        if changed:
            raise Fault(f"lost or changed: {', '.join(changed)}")
        missing = set(announced) - {file.stem for file in now if file.parent.name == "rungs"}
        if missing:
            raise Fault(f"announced and not there: {', '.join(sorted(missing))}")
        self.kept = now
        for folder in self.place.campaigns:
            try:
                load(folder)
            except KneebenchError as error:
                raise Fault(f"a campaign that cannot be read: {error}") from error

    def _judge_left(self) -> None:
        """After `clean` nothing is left of what was ever in the journal, and nothing on the
        storages.
        """
        code = self.place.start("clean").wait(PATIENCE_S)
        there = [
            f"{path or pid}"
            for path, pid, began in self.made
            if (path and Path(path).exists()) or (pid and runs(pid, began))
        ]
        there += [str(entry) for entry in self.place.made]
        there += [
            str(file)
            for storage in ("disk", "memory")
            for file in (self.place.folder / storage).iterdir()
        ]
        if code or there:
            raise Fault(
                f"left after clean ({code}): {', '.join(there)}\n{self.place.errors.read_text()}"
            )
        self.made = set()

    def judge_end(self) -> None:
        """One campaign, whole, with its brief, and no part of a file."""
        if len(self.place.campaigns) != 1:
            raise Fault(f"{len(self.place.campaigns)} folders in place of one campaign")
        (folder,) = self.place.campaigns
        if not load(folder).finished:
            raise Fault("it ended and is not finished")
        if not (folder / "brief.html").exists() or not (folder / "brief.html").read_text().endswith(
            "</html>\n"
        ):
            raise Fault("there is no whole brief")
        parts = [str(file) for file in folder.rglob(".*")]
        if parts:
            raise Fault(f"left in the folder: {', '.join(parts)}")


def measured(folder: Path) -> list[Path]:
    """The files of climbs that ended and of rungs that are whole: a rung's own file is written
    last.
    """
    rungs = list((folder / "rungs").glob("[!.]*.json"))
    tables = [
        folder / kind / f"{rung.stem}.parquet" for rung in rungs for kind in ("seconds", "series")
    ]
    return [
        *rungs,
        *tables,
        *(file for kind in ("climbs", "conditions") for file in (folder / kind).glob("[!.]*.json")),
    ]


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else ""


def kill(
    count: int, seed: int, engine: str = "simulated", first: int = 0, report: bool = False
) -> int:
    """Kill campaigns until there were so many kills and each has ended; how many kills there were.

    Raises Fault with what reproduces it.
    """
    kills, campaign = 0, first
    while kills < count:
        place = Place(Path(leftovers.folder("kills")), engine)
        killing = Killing(place, Random(f"{seed} {campaign}"))
        try:
            while not killing.done:
                killing.once()
            killing.judge_end()
        except Fault as fault:
            again = (
                f"python -m tests.kills --engine {engine} --seed {seed} --first {campaign} --count"
                f" {killing.kills + 1}"
            )
            raise Fault(
                f"kill {killing.kills} of campaign {campaign}, {killing.last}: {fault}\nfiles:"
                f" {place.folder}\nagain: {again}"
            ) from fault
        place.remove()
        kills, campaign = kills + killing.kills, campaign + 1
        if report:
            print(
                f"campaign {campaign - 1}: {killing.kills} kills, {len(killing.kept)} files kept;"
                f" {kills} kills in all",
                flush=True,
            )
    return kills


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Kill campaigns at random moments; nothing may be lost, nothing left."
    )
    parser.add_argument("--count", type=int, default=30, help="at least so many kills")
    parser.add_argument(
        "--seed",
        type=int,
        default=int.from_bytes(os.urandom(4)),
        help="of signals and moments; printed",
    )
    parser.add_argument("--engine", choices=PLANS, default="simulated")
    parser.add_argument(
        "--first", type=int, default=0, help="the campaign of this seed to begin with"
    )
    asked = parser.parse_args()
    print(f"seed {asked.seed}")
    try:
        kill(asked.count, asked.seed, asked.engine, asked.first, report=True)
    except Fault as fault:
        print(f"seed {asked.seed}: {fault}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
