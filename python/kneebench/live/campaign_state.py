"""What a campaign's folder says of the campaign now: how far it is, its seconds, its curve, how
near each stop condition is, and what the brief would say.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kneebench.analysis.headline import headline
from kneebench.analysis.knee import knee
from kneebench.analysis.wording import listed, number_of_users
from kneebench.errors import KneebenchError
from kneebench.lab.volumes import preconditioning_s
from kneebench.ladder import stops
from kneebench.plan.duration import expected
from kneebench.records import Event, Results, Rung, StopResult
from kneebench.results import load
from kneebench.results.campaign_reader import rung_file
from kneebench.results.event_log import EventReader, Logged
from kneebench.results.formats import read_rung
from kneebench.results.head import read_head, study_of
from kneebench.results.lock import held
from kneebench.results.step_times import StepTimes
from kneebench.screen.progress import Progress, message_of
from kneebench.shelf import STOPS
from kneebench.units import significant

SECONDS, MESSAGES = 300, 20
"""How many of the latest are kept."""
UNFORESEEN = (ValueError, TypeError, LookupError, ArithmeticError, OSError, RecursionError)
"""Of a folder that is damaged, or was written by another version: the page leaves it out."""
NEAREST = 0.95
"""Of a stop condition that has not fired, at most."""
SPARING = 200
"""The analysis takes a moment: so many times as long is waited before it is made again, so that it
costs half a percent of a core."""


class CampaignState:
    """The state of one campaign: `refresh` it, then read it.

    Raises KneebenchError for a folder that is no campaign's, or one whose plan this version does
    not know.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self.folder, self._clock = folder, clock
        self._campaign = read_head(folder)
        self._study = study_of(self._campaign)
        self._reader, self.heard_s, self._now_s = EventReader(folder), 0.0, 0.0
        self._written_to = ""
        self._progress = self._begin()
        self.seconds: deque[dict[str, Any]] = deque(maxlen=SECONDS)
        self.messages: deque[str] = deque(maxlen=MESSAGES)
        self.rungs: list[Rung] = []
        self._sentence, self._knees = "", dict[str, dict[str, float]]()
        self._analysed_s, self._took_s = -1e9, 0.0

    @property
    def campaign_id(self) -> str:
        """The campaign's id, as in its folder's name."""
        return self._campaign.id

    def refresh(self) -> bool:
        """Read what is new; whether more than a second's figures is. What cannot be understood is
        left out, with a message.
        """
        more = False
        for logged in self._reader.new():
            more |= "second" not in logged.event.data
            try:
                self._take(logged)
            except UNFORESEEN as error:
                self.messages.append(f"an event was left out: {error}")
        return more

    def now(self) -> dict[str, Any]:
        """What changes from second to second."""
        running, finished = self.running, self.finished
        if running:
            self._now_s = self._clock()
        progress, order = self._progress, self._progress.order
        left = {} if finished else progress.left._asdict()
        ends = {f"left_{name}": round(seconds, 1) for name, seconds in left.items()}
        return {
            "at_s": self._now_s,
            "heard_s": self.heard_s,
            "running": running,
            "finished": finished,
            "doing": progress.doing,
            "share": progress.share,
            "step_left_s": progress.step_left_s,
            "position": progress.position,
            "configuration": order.configuration if order else "",
            "phase": order.phase if order else "",
            "rate": progress.rate,
            "elapsed_s": round(progress.elapsed_s, 1),
            **ends,
            "second": self.seconds[-1] if self.seconds and progress.second else None,
        }

    def whole(self) -> dict[str, Any]:
        """All of it, as JSON."""
        return {
            "campaign": self.campaign_id,
            "question": self._study.question,
            "configurations": [one.name for one in self._study.configurations],
            "seconds": list(self.seconds),
            "messages": list(self.messages),
            "rungs": [{**one._asdict(), "name": one.name} for one in self._progress.lines],
            "knees": self._knees,
            "stops": [*self._stops()],
            "health": [*self._health()],
            "sentence": self._sentence,
            "now": self.now(),
        }

    @property
    def finished(self) -> bool:
        """Whether the campaign has ended."""
        return (self.folder / "finished.json").exists()

    @property
    def running(self) -> bool:
        """Whether a process measures into the folder, on this machine."""
        try:
            return held(self.folder)
        except (KneebenchError, OSError):
            return False

    def analyse(self) -> None:
        """Find the brief's sentence and the knees as they are now, unless that was just done."""
        began = time.monotonic()
        if began - self._analysed_s < SPARING * self._took_s and not self.finished:
            return
        try:
            results = load(self.folder)
            finals = any(climb.of("final_run", "fixed_load") for climb in results.climbs)
            self._sentence = headline(results) if finals else so_far(results)
        except (KneebenchError, *UNFORESEEN) as error:
            self._sentence = f"Not known: {error}"
        else:
            self._knees = {
                climb.configuration.name: {"users": found.users.value, "nopm": found.nopm.value}
                for climb in results.climbs
                if (found := knee(climb))
            }
        self._analysed_s = time.monotonic()
        self._took_s = self._analysed_s - began

    def _begin(self) -> Progress:
        host = self._campaign.host
        parts = expected(self._study.databases, host, StepTimes(host, self._study).as_before())
        loads_s = 0.0 if self._campaign.base_image else parts.load_s
        parts = parts._replace(load_s=loads_s, drives_s=preconditioning_s(self._study))
        configurations, ladder = self._study.configurations, self._study.ladder
        return Progress(configurations, ladder, parts, lambda: self._now_s)

    def _take(self, logged: Logged) -> None:
        event = logged.event
        self.heard_s = self._now_s = logged.at_s
        if "folder" in event.data:  # a campaign that is resumed reports what it kept once more
            self._progress, self._written_to = self._begin(), str(event.data["folder"])
            self.rungs.clear()
        if event.data.get("in", self._written_to) != self._written_to:
            return  # a rung of a proof
        if event.kind == "rung":
            event = self._with_rung(event)
            if "rung" not in event.data:
                return
        self._progress.receive(event)
        if self._progress.second:
            second = self._progress.second.model_dump(exclude_none=True)
            self.seconds.append({"at_s": logged.at_s, **self._where(), **second})
        if said := message_of(event):
            self.messages.append(said)

    def _where(self) -> dict[str, Any]:
        """Of which rung a second is."""
        if not (order := self._progress.order):
            return {"users": 0, "name": "", "phase": ""}
        configuration = self._progress.configurations.get(order.configuration)
        name = configuration.name if configuration else ""
        return {"users": order.users, "name": name, "phase": order.phase}

    def _with_rung(self, event: Event) -> Event:
        """The event with its rung, or without data where its file cannot be read."""
        try:
            file = rung_file(self.folder, str(event.data.get("key")))
            rung = read_rung(file, self._study.workload).rung
        except KneebenchError as error:
            self.messages.append(str(error))
            return event.model_copy(update={"data": {}})
        self.rungs.append(rung)
        return event.model_copy(update={"data": {**event.data, "rung": rung}})

    def _climb(self) -> list[Rung]:
        """The search rungs of the climb under way, or of the last one."""
        searched = [one for one in self.rungs if one.order.phase == "search" and not one.invalid]
        if not searched:
            return []
        last = searched[-1].order
        return [
            one
            for one in searched
            if (one.order.configuration, one.order.repeat) == (last.configuration, last.repeat)
        ]

    def _stops(self) -> Iterator[dict[str, Any]]:
        """How near each stop condition is, by the latest search rung."""
        if not (searched := self._climb()):
            return
        by_id = {one.id: one for one in self._study.configurations}
        if not (configuration := by_id.get(searched[-1].order.configuration)):
            return
        ladder = self._study.rungs(configuration).ladder
        for name in STOPS.names():
            result = stops.find(name).judge(searched, stops.limits(name, ladder))
            share, of = _nearness(result), configuration.name
            yield {**result.model_dump(mode="json"), "share": share, "of": of}

    def _health(self) -> Iterator[dict[str, Any]]:
        """What speaks for and against the latest rung."""
        if not self.rungs:
            return
        last = self.rungs[-1]
        failed = [check for check in last.checks if not check.passed]
        yield from ({"good": False, "words": check.sentence} for check in failed)
        yield from (
            {"good": False, "words": one.words} for one in last.remarks if one.severity != "note"
        )
        busy = last.tally.load_generator_busy
        yield {"good": busy < 0.8, "words": f"load generator {100 * busy:.0f}% busy"}
        if not failed:
            yield {"good": True, "words": f"all {len(last.checks)} checks of the last rung passed"}


def so_far(results: Results) -> str:
    """What the climbs have found until now; empty before the first rung that is judged."""
    found = []
    for climb in results.climbs:
        searched = [rung for rung in climb.of("search", "bisection") if not rung.invalid]
        if searched:
            best = max(searched, key=lambda rung: rung.tally.nopm)
            nopm, users = significant(best.tally.nopm), number_of_users(best.users)
            found.append(f"{climb.configuration.name} {nopm} NOPM at {users}")
    return f"So far: {listed(found)}" if found else ""


def _nearness(result: StopResult) -> float | None:
    """How near a condition is: 1 where it fires, and less where it does not, as some need more than
    the one value. A plateau is near where the growth is small.

    >>> _nearness(StopResult(stop="log_latency", fired=False, seen="", limit="", sentence="",
    ...     value=0.001, limit_value=0.005))
    0.2
    >>> _nearness(StopResult(stop="plateau", fired=False, seen="", limit="", sentence="",
    ...     value=0.5, limit_value=0.05))
    0.1
    """
    if result.fired:
        return 1.0
    if not result.value or not result.limit_value:
        return None
    near = result.value / result.limit_value
    if result.stop == "plateau":
        near = 1 / near if near > 0 else 1.0
    return min(max(near, 0.0), NEAREST)
