"""How long the steps of campaigns took on this machine, kept in the state directory, one file each.

<state>/durations/<machine>/<campaign>.json, written when a campaign has finished. `check` and the
time left take what its constants say times what such steps took before, over what the constants
said of those. A file that cannot be read is ignored: nothing that is measured depends on it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median

from kneebench.analysis.quoted_load import REPEATED
from kneebench.directories import make_private, state_directory, write_private
from kneebench.errors import KneebenchError
from kneebench.lab.host import machine_key
from kneebench.plan.authors_words import AuthorsWords
from kneebench.plan.database_plan import DatabasePlan
from kneebench.plan.duration import Adjust, Steps, steps
from kneebench.plan.study import Study
from kneebench.records import Configuration, Host, Record, Results, Rung
from kneebench.results.formats import FORMAT, kept_text, read_kept

NEWEST = 40
"""Campaigns that are remembered."""
LIKE = 3
"""Of the configurations that are most alike, the newest so many count."""
COUNTS = ("rungs", "restores", "runs")
"""Steps that are counted: they say something of the same plan only."""
UNFORESEEN = (OSError, ValueError, ArithmeticError, RuntimeError, KneebenchError)
"""No campaign needs its times: what cannot be worked out or kept is left out."""


class ConfigurationTimes(Record):
    """The steps of one configuration: what those that were seen took, and what the constants said.
    `alike`: what it may have in common with other configurations, from much to little.
    """

    alike: tuple[str, ...]
    took: dict[str, float]
    expected: dict[str, float]


class CampaignTimes(Record):
    """One file."""

    format: int = FORMAT
    finished_at: str
    configurations: tuple[ConfigurationTimes, ...]


class StepTimes:
    """Those of one study on one machine: as they were here before, and now."""

    def __init__(self, host: Host, study: Study) -> None:
        self._host, self._study, self._digest = host, study, _digest(study)

    def keep(self, results: Results, *, resumed: bool = False) -> None:
        """Keep the times of a finished campaign if its clock was real and it was not interrupted;
        only the newest campaigns are.
        """
        if not resumed and self._study.measures_real_hardware:
            with contextlib.suppress(*UNFORESEEN):
                _write(self._host, results.campaign.id, self._of(results))

    def as_before(self) -> Adjust:
        """Steps as they were here before, on the configurations that are most alike."""
        known = list(_known(self._host))

        def adjusted(configuration: Configuration, expected: Steps) -> Steps:
            database = self._study.database(configuration)
            wanted = _alike(self._digest, database, configuration)
            return expected._replace(
                **{
                    name: value * _factor(name, wanted, known)
                    for name, value in expected._asdict().items()
                }
            )

        return adjusted

    def _of(self, results: Results) -> CampaignTimes:
        of = [rung for climb in results.climbs for rung in (*climb.superseded, *climb.rungs)]
        every = sorted(of, key=_start)
        found = tuple(
            ConfigurationTimes(
                alike=_alike(self._digest, database, configuration),
                took=dict(_took(configuration, database, every)),
                expected=steps(database, configuration, self._host)._asdict(),
            )
            for configuration in self._study.configurations
            for database in [self._study.database(configuration)]
        )
        return CampaignTimes(finished_at=datetime.now(UTC).isoformat(), configurations=found)


def _write(host: Host, name: str, times: CampaignTimes) -> None:
    folder = make_private(_folder(host))
    write_private(folder / f"{name}.json", kept_text(times))
    for old in sorted(folder.glob("*.json"), key=lambda one: one.stat().st_mtime)[:-NEWEST]:
        old.unlink(missing_ok=True)


def _factor(name: str, wanted: Sequence[str], known: Sequence[ConfigurationTimes]) -> float:
    """What a step took over what was expected of it, on the most alike configurations that
    have it.
    """
    for depth, trait in enumerate(wanted[:1] if name in COUNTS else wanted):
        factors = [
            one.took[name] / one.expected[name]
            for one in known
            if one.alike[depth : depth + 1] == (trait,)
            and name in one.took
            and one.expected.get(name, 0) > 0
        ]
        if factors:
            return median(factors[:LIKE])
    return 1.0


def _digest(study: Study) -> str:
    """Of all that a plan measures."""
    same = study.changed(seed=0, question="", brief=AuthorsWords())
    return hashlib.sha256(json.dumps(same.document, sort_keys=True).encode()).hexdigest()


def _alike(digest: str, plan: DatabasePlan, configuration: Configuration) -> tuple[str, ...]:
    """The same plan; the same engine, storage and constraint; the same engine and kind of storage;
    the same engine.
    """
    storage = plan.storages[configuration.storage]
    engine, words = plan.database.engine, storage.model_dump_json()
    kinds = ["volume" if storage.volumes else "directory" if storage.paths else "server"]
    kinds += [one.emulated for volume in storage.volumes for one in volume.emulated_drives[:1]]
    traits = (
        (digest, configuration.id),
        (
            engine,
            plan.ladder.rounds,
            hashlib.sha256(words.encode()).hexdigest(),
            configuration.constraint,
        ),
        (engine, plan.ladder.rounds, *kinds),
        (engine, plan.ladder.rounds),
    )
    return tuple(" ".join(trait) for trait in traits)


# --- what a campaign's rungs say ------------------------------------------------------------------


def _took(
    configuration: Configuration, plan: DatabasePlan, every: Sequence[Rung]
) -> Iterator[tuple[str, float]]:
    own = [rung for rung in every if rung.order.configuration == configuration.id]
    climbed = [rung for rung in own if rung.order.phase not in REPEATED]
    final = [rung for rung in own if rung.order.phase in REPEATED]
    if climbed:
        yield from _climb_steps(climbed, every)
    if final:
        short = plan.ladder.rounds == "short"
        groups = _groups([rung for rung in every if rung.order.phase in REPEATED], short=short)
        yield "runs", len(final)
        yield "restores", sum(any(rung in final for rung in group) for group in groups)
        yield from _final_steps(groups, every, plan)


def _climb_steps(climbed: Sequence[Rung], every: Sequence[Rung]) -> Iterator[tuple[str, float]]:
    yield "rungs", len(climbed)
    end_s = _start(climbed[1]) if len(climbed) > 1 else _end(climbed[0])
    yield "first_s", end_s - _start(climbed[0]) + (climbed[0].restore_s or 0.0)
    if len(climbed) > 2:
        yield "rung_s", (_start(climbed[-1]) - _start(climbed[1])) / (len(climbed) - 2)
    after = [rung for rung in every if _start(rung) > _start(climbed[-1])]
    if after and after[0].order.phase not in REPEATED:
        gap_s = _start(after[0]) - _end(climbed[-1]) - (after[0].restore_s or 0.0)
        yield "closing_s", max(0.0, gap_s)


def _final_steps(
    groups: Sequence[Sequence[Rung]], every: Sequence[Rung], plan: DatabasePlan
) -> Iterator[tuple[str, float]]:
    """Of the final runs of all configurations, which take turns: each configuration's part. What
    precedes a restore is unknown where drives are drained then, which is counted apart.
    """
    openings, runs = list[float](), list[float]()
    for group in groups:
        before = [rung for rung in every if _start(rung) < _start(group[0])]
        if before and not plan.drains:
            openings.append((_start(group[0]) - _end(before[-1])) / plan.servers_at_once)
        runs += [_start(b) - _start(a) for a, b in pairwise(group)]
        runs += [_end(group[-1]) - _start(group[-1])]
    if openings:
        yield "opening_s", max(0.0, fmean(openings))
    yield "run_s", fmean(runs)


def _groups(final: Sequence[Rung], *, short: bool) -> list[list[Rung]]:
    """Final runs by restore, in the order of measurement; `short`: they are short rounds."""
    found = list[list[Rung]]()
    for rung in final:
        last = found[-1][-1].order if found else None
        same = last and (
            last.restore == rung.order.restore
            if short
            else last.configuration == rung.order.configuration and rung.restore_s is None
        )
        if same:
            found[-1].append(rung)
        else:
            found.append([rung])
    return found


def _start(rung: Rung) -> float:
    return datetime.fromisoformat(rung.started_at).timestamp()


def _end(rung: Rung) -> float:
    return _start(rung) + rung.tally.whole_s


# --- the files ------------------------------------------------------------------------------------


def _folder(host: Host) -> Path:
    return state_directory() / "durations" / machine_key(host)


def _known(host: Host) -> Iterator[ConfigurationTimes]:
    """The configurations of all that is kept, the newest campaign first."""
    try:
        files = list(_folder(host).glob("*.json"))
    except (RuntimeError, OSError):  # a user without a home
        return
    campaigns = list[CampaignTimes]()
    for file in files:
        try:
            campaigns.append(read_kept(file, CampaignTimes))
        except KneebenchError:
            continue
    for one in sorted(campaigns, key=lambda one: one.finished_at, reverse=True):
        yield from one.configurations
