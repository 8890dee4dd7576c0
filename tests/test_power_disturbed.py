"""Meters that show 0 W, stand still, contradict each other or measure something else: each window
is the truth's within 2%, or refused. They are read from a peer (tests/stepped_power.py).
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from kneebench.analysis.power import doubts
from kneebench.brief import Brief
from kneebench.measurement.measure import RungPower
from kneebench.measurement.power.idle import idle_power
from kneebench.measurement.power.lag import OFF_S, ON_S
from kneebench.measurement.power.record import PowerSample
from kneebench.measurement.power.recorder import PowerRecorder
from kneebench.measurement.power.recordings import NewSamples, RecordedPower, facts_of
from kneebench.measurement.power_meters import http
from kneebench.measurement.power_meters.power_source import NoAnswer, NotBelieved
from kneebench.plan.power import Power
from kneebench.records import CampaignPower, PowerWindow, Results
from kneebench.results.acceptance import accept
from tests.recordings import each, recorded, section, with_campaign, with_plan
from tests.stepped_power import FINE

CLOSE = 0.02
WINDOWS, WINDOW_S = 9, 40
CAMPAIGNS = {
    "honest": ("honest",),
    "zero": ("zero",),
    "frozen": ("frozen",),
    "contradicted": ("contradicted", "honest"),
    "elsewhere": ("elsewhere",),
}
"""The meters of each campaign; its first one leads."""


class SteppedMeters:
    """All meters of the peer, read once in each second that passes."""

    def __init__(self, power: Power, port: int) -> None:
        self.now_s, self.loaded = 0.0, False
        self._peer = HTTPConnection("127.0.0.1", port)
        self._sources = [http.open_source(table) for table in power.meters]
        self.meters = [
            RecordedPower(facts_of(table, source), counts_energy=False, every_s=1.0)
            for table, source in zip(power.meters, self._sources, strict=True)
        ]
        self._samples: list[list[PowerSample]] = [[] for _ in self._sources]

    def pass_time(self, seconds: float) -> None:
        for _ in range(round(seconds)):
            self.now_s += 1
            self._peer.request("GET", "/on" if self.loaded else "/off")
            self._peer.getresponse().read()
            for samples, source in zip(self._samples, self._sources, strict=True):
                samples.append(self._read(source))

    def _read(self, source: Any) -> PowerSample:
        try:
            return PowerSample(self.now_s, source.read().watts)
        except (NoAnswer, NotBelieved) as error:
            return PowerSample(self.now_s, None, str(error), isinstance(error, NotBelieved))

    def new_samples(self) -> NewSamples:
        taken = tuple(map(tuple, self._samples))
        self._samples = [[] for _ in self._sources]
        return NewSamples(self.now_s, taken, (0.0,) * len(taken))

    def close(self) -> None:
        for source in self._sources:
            source.close()
        self._peer.close()


class Measured:
    """What a campaign's recorder found: power without load, lags, and windows with their bounds."""

    def __init__(self, power: Power, stepped: SteppedMeters) -> None:
        self.recorder = PowerRecorder(power, [stepped], lambda: stepped.now_s)
        server: Any = stepped
        self.idle = idle_power(self.recorder, server, 60.0, lambda event: None, "disk")
        self.recorder.use_idle(self.idle)
        steps = [self._load(stepped, *times) for times in zip(ON_S, OFF_S, strict=True)]
        self.lags = self.recorder.find_lags(steps, stepped.now_s)
        self.windows: list[tuple[float, PowerWindow]] = []
        for _ in range(WINDOWS):
            begin_s, end_s = self._load(stepped, WINDOW_S + 3, 5)
            self.windows.append((begin_s + 3, self.recorder.window(begin_s + 3, end_s)))

    def _load(self, stepped: SteppedMeters, on_s: float, off_s: float) -> tuple[float, float]:
        begin_s, stepped.loaded = stepped.now_s, True
        stepped.pass_time(on_s)
        end_s, stepped.loaded = stepped.now_s, False
        stepped.pass_time(off_s)
        self.recorder.take()
        return begin_s, end_s

    def campaign(self, names: Sequence[str]) -> Results:
        """A recorded campaign with these meters, whose final runs had the first windows."""
        facts = tuple(one for one in self.recorder.meters if one.name in names)
        kept = {"idle": {"disk": self.idle}, "lags": {"disk": self.lags}}
        power = CampaignPower(meters=facts, leading=names[0], **kept)
        planned = with_plan(recorded(), accept={"power_limit": 1e6})
        results, windows = with_campaign(planned, power=power), [one for _, one in self.windows]

        def powered(rung: Any) -> Any:
            window = windows.pop(0)
            return RungPower(window.model_copy(update={"system_w": window.of(names[0])})).on(rung)

        for climb in range(len(results.climbs)):
            results = each(results, climb, powered, "final_run")
        return results


def meter(name: str, port: int) -> dict[str, Any]:
    document = {"url": f"http://127.0.0.1:{port}/{name}", "pointer": "/w"}
    return {"name": name, "type": "http", "scope": "wall", "covers": ["db1"], **document}


def test_each_window_of_disturbed_meters_is_the_truth_or_refused(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    command = [sys.executable, "-m", "tests.stepped_power", str(seed), str(tmp_path)]
    here, pipe = Path(__file__).parent.parent, subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=here) as peer:
        assert peer.stdout
        port = int(peer.stdout.readline())
        power = Power.model_validate({"meters": [meter(name, port) for name in CAMPAIGNS]})
        stepped = SteppedMeters(power, port)
        measured = Measured(power, stepped)
        stepped.close()
        peer.communicate("")
    joules = json.loads((tmp_path / "truth.json").read_text())
    answers = {name: answered(measured, name, joules) for name in CAMPAIGNS}
    assert {name: answers[name].count("wrong") for name in CAMPAIGNS} == dict.fromkeys(CAMPAIGNS, 0)
    assert answers["honest"] == ["true"] * WINDOWS
    for name in ("zero", "frozen"):
        assert answers[name] == ["true" if one % 3 else "refused" for one in turns(answers[name])]
    for name in ("contradicted", "elsewhere"):
        results = measured.campaign(CAMPAIGNS[name])
        caveat, *_ = section(Brief(results), "cautions").sentences
        assert caveat.startswith(f"{name.capitalize()} may not measure this server: ")
        before = with_campaign(results, id="before")
        judged = accept(baseline=before, campaign=results)
        found = {one.quantity: one.judgement for one in judged.figures if "power" in one.quantity}
        assert found == dict.fromkeys(("power.per_nopm", "power.limit"), "cannot say")
        assert judged.judgement == "cannot say"


def answered(measured: Measured, name: str, joules: Sequence[float]) -> list[str]:
    """What was said of each window by the meter that leads its campaign."""
    doubted = doubts(*_climbs_and_power(measured.campaign(CAMPAIGNS[name])))
    found = []
    for begin_s, window in measured.windows:
        first, last = (round(FINE * at_s) for at_s in (begin_s, begin_s + WINDOW_S))
        true_w, watts = (joules[last] - joules[first]) / WINDOW_S, window.of(name)
        if watts is None or doubted:
            found.append("refused")
        else:
            found.append("true" if watts == pytest.approx(true_w, rel=CLOSE) else "wrong")
    return found


def _climbs_and_power(results: Results) -> tuple[Any, Any]:
    return results.climbs, results.campaign.power


def turns(answers: Sequence[str]) -> range:
    """Numbers of the windows, of which each third one is 0 from the first that is refused on."""
    first = answers.index("refused")
    return range(-first % 3, -first % 3 + len(answers))
