"""What a campaign's folder says of the campaign now: how far it is, its seconds, and by the brief's
own analysis its title, its curves with their knees, and how near each stop condition is.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kneebench.analysis.configuration_summary import point as measured_point
from kneebench.analysis.headline import headline, subtitle
from kneebench.analysis.knee import knee, rungs_by_users
from kneebench.analysis.wording import number_of_users
from kneebench.errors import KneebenchError
from kneebench.lab.volumes import preconditioning_s
from kneebench.ladder.climb import judged_so_far
from kneebench.plan.duration import expected
from kneebench.records import Climb, Configuration, Event, Results, Rung, StopResult
from kneebench.results import load
from kneebench.results.allowance import Allowance
from kneebench.results.campaign_reader import rung_file, rung_files, with_rungs
from kneebench.results.event_log import EventReader, Logged
from kneebench.results.formats import KeptRung, read_rung
from kneebench.results.head import read_head, study_of
from kneebench.results.lock import held
from kneebench.results.step_times import StepTimes
from kneebench.screen.progress import Progress, message_of
from kneebench.units import significant

SECONDS, MESSAGES = 300, 20
"""How many of the latest are kept."""
UNFORESEEN = (ValueError, TypeError, LookupError, ArithmeticError, OSError, RecursionError)
"""Of a folder that is damaged, or was written by another version: the page leaves it out."""
NEAREST = 0.95
"""Of a stop condition that has not fired, at most."""
RESULTS = ("campaign.json", "rungs", "climbs", "conditions", "finished.json")
"""What the brief's analysis reads of a folder."""


class Findings(NamedTuple):
    """What the brief would say if the campaign ended now, by configuration where it is of one.

    `curve`: users and NOPM of each rung on it; `knees`: what is quoted there; `stops`: how near
    each condition of the climb under way is, or why each climb ended.
    """

    sentence: str = ""
    subtitle: str = ""
    curve: Mapping[str, Sequence[tuple[int, float]]] = {}
    knees: Mapping[str, Mapping[str, Any]] = {}
    stops: Sequence[Mapping[str, Any]] = ()


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
        self.failed = Counter[str]()
        """Failed transactions in the seconds of all rungs, by configuration."""
        self._read = dict[str, KeptRung]()
        self._last: Rung | None = None
        self._findings, self._analysed = Findings(), list[int]()

    @property
    def campaign_id(self) -> str:
        """The campaign's id, as in its folder's name."""
        return self._campaign.id

    @property
    def rungs(self) -> Counter[str]:
        """Number of rungs measured, by configuration; those of the plan are all there."""
        found = Counter(dict.fromkeys((one.id for one in self._study.configurations), 0))
        found.update(one.rung.order.configuration for one in [*self._read.values()])
        return found

    def labels(self, id: str) -> dict[str, str]:
        """What a configuration consists of; of a single database its engine."""
        found = self._progress.configurations.get(id) or Configuration(id=id, storage=id)
        database = found.database or self._campaign.engines.get("", "")
        return {"storage": found.storage, "constraint": found.constraint, "database": database}

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
            "health": [*self._health()],
            **self._findings._asdict(),
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
        """Find what the brief would say now, if any of the results was written since."""
        parts = [self.folder / name for name in RESULTS]
        written = [one.stat().st_mtime_ns if one.exists() else 0 for one in parts]
        if written == self._analysed:
            return
        self._analysed = written
        try:
            self._findings = self._found(self._results())
        except (KneebenchError, *UNFORESEEN) as error:
            self._findings = self._findings._replace(sentence=f"Not known: {error}", subtitle="")

    def _results(self) -> Results:
        """Those that the brief would have; until the end rungs are read once, tables not at all."""
        if self.finished:
            return load(self.folder)
        keys = [file.stem for file in rung_files(self.folder)]
        kept = [self._read.get(key) or self._read_rung(key) for key in keys]
        rungs = [one.rung for one in sorted(kept, key=lambda one: one.number)]
        return with_rungs(self.folder, read_head(self.folder), rungs, Allowance())

    def _read_rung(self, key: str) -> KeptRung:
        """The rung of that key, as its file is now."""
        file = rung_file(self.folder, key)
        kept = self._read[key] = read_rung(file, self._study.workload)
        return kept

    def _found(self, results: Results) -> Findings:
        point = f"{measured_point(results.campaign)}{'' if results.finished else ' so far'}"
        knees = {one.configuration.name: knee(one) for one in results.climbs}
        return Findings(
            headline(results),
            subtitle(results),
            {
                one.configuration.name: [(r.users, r.tally.nopm) for r in rungs_by_users(one)]
                for one in results.climbs
            },
            {
                name: {
                    "users": found.users.value,
                    "nopm": found.nopm.value,
                    "words": f"{point} at {number_of_users(found.users.value)}"
                    f" ({significant(found.nopm.value)} NOPM)",
                }
                for name, found in knees.items()
                if found
            },
            [*self._stops(results.climbs)],
        )

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
            self.failed[self.seconds[-1]["configuration"]] += self._progress.second.failed
        if said := message_of(event):
            self.messages.append(said)

    def _where(self) -> dict[str, Any]:
        """Of which rung a second is."""
        if not (order := self._progress.order):
            return {"users": 0, "name": "", "phase": "", "configuration": ""}
        id = order.configuration
        configuration = self._progress.configurations.get(id)
        name = configuration.name if configuration else ""
        return {"users": order.users, "name": name, "phase": order.phase, "configuration": id}

    def _with_rung(self, event: Event) -> Event:
        """The event with its rung, or without data where its file cannot be read."""
        try:
            self._last = self._read_rung(str(event.data.get("key"))).rung
        except KneebenchError as error:
            self.messages.append(str(error))
            return event.model_copy(update={"data": {}})
        return event.model_copy(update={"data": {**event.data, "rung": self._last}})

    def _stops(self, climbs: Sequence[Climb]) -> Iterator[dict[str, Any]]:
        """Of the climb under way what each condition says, and how near it is; between climbs and
        after them what the brief reports of each.
        """
        order = self._progress.order
        of_order = (one for one in climbs if order and one.id == order.configuration)
        searching = (one for one in of_order if one.of("search") and not one.stopped_by)
        under_way = next(searching, None)
        for climb in (under_way,) if under_way else climbs:
            shown = {"of": climb.configuration.name, "ended": not under_way}
            for one in self._judged(climb) if under_way else climb.reported:
                yield {**one.model_dump(mode="json"), "share": _nearness(one), **shown}

    def _judged(self, climb: Climb) -> tuple[StopResult, ...]:
        return judged_so_far(climb.rungs, self._study.rungs(climb.configuration).ladder)

    def _health(self) -> Iterator[dict[str, Any]]:
        """What speaks for and against the latest rung."""
        if not (last := self._last):
            return
        failed = [check for check in last.checks if not check.passed]
        yield from ({"good": False, "words": check.sentence} for check in failed)
        yield from (
            {"good": False, "words": one.words} for one in last.remarks if one.severity != "note"
        )
        busy = last.tally.load_generator_busy
        yield {"good": busy < 0.8, "words": f"load generator {100 * busy:.0f}% busy"}
        if not failed:
            yield {"good": True, "words": f"all {len(last.checks)} checks of the last rung passed"}


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
