"""The brief of a campaign: one self-contained page that reads offline, prints well, and says first
what went wrong.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from pydantic_core import to_jsonable_python

from kneebench import units
from kneebench.analysis.answers import answers
from kneebench.analysis.fixed_rate import LoadLevel
from kneebench.analysis.memory import data_bytes
from kneebench.analysis.outcome import exit_code
from kneebench.analysis.wording import DERIVED_FROM, plural
from kneebench.brief import chart_theme, server_provenance
from kneebench.brief.knee_devices import KneeDevices, knee_devices
from kneebench.brief.rendering import Format, Page, write_figures
from kneebench.brief.section import Section
from kneebench.brief.sections import CONTENTS, OF_QUERIES
from kneebench.brief.view_model import ViewModel
from kneebench.directories import CAMPAIGNS
from kneebench.engine_properties import engine_properties
from kneebench.records import Campaign, CountedDevice, Results, Rung
from kneebench.results.atomic_write import writing
from kneebench.results.given_campaigns import Given, given_campaign
from kneebench.results.logo import as_uri, kept_logo
from kneebench.secrets import clean
from kneebench.shelf import ENGINES, SECTIONS

FORMAT = 4
"""Of the brief's JSON."""
SIMULATED = (
    "Simulated: these figures come from a model of a database and its drives. No figure was"
    " measured on hardware."
)
FEW_LETTERS = 40
"""Most letters of an author's words on a storage that the line under the title has room for."""
NO_MODEL = "0x"
"""Start of a virtual drive's model: a number of its maker."""
WHOSE = "In the author's words, not kneebench's."


class Brief(Page):
    """A campaign's brief, from its results alone, or from a name or path as `load` takes it;
    unfinished campaigns have one too, which says what is missing. `folder` holds campaigns.
    """

    def __init__(self, results: Given, folder: str | Path = CAMPAIGNS) -> None:
        self.view = ViewModel(given_campaign(results, folder))
        self._made: dict[str, Section | None] = {}

    @property
    def title(self) -> str:
        return self.view.title

    @property
    def subtitle(self) -> str:
        return self.view.subtitle

    @property
    def version(self) -> str:
        return self.view.campaign.kneebench

    @property
    def exit_code(self) -> int:
        """4 when a self-check failed, 3 when a rung is invalid or a storage has no usable figure,
        else 0 (errors.py).
        """
        return exit_code(self.view.results)

    @property
    def sections(self) -> tuple[Section, ...]:
        return tuple(self.each_section())

    def each_section(self) -> Iterator[Section]:
        """The sections in order, each as soon as it is made; none is made twice."""
        of_queries = self.view.plan.workload.type == "tproc-h"
        for name in OF_QUERIES if of_queries else CONTENTS:
            if name not in self._made:
                with chart_theme.without_validation():
                    self._made[name] = SECTIONS.module(name).section(self.view)
            if section := self._made[name]:
                yield section

    @property
    def derived(self) -> str:
        """The fair-use line of its workload."""
        return DERIVED_FROM[self.view.plan.workload.type]

    @property
    def kicker(self) -> str:
        """What it is, of when and of which campaign: the line above all."""
        campaign = self.view.campaign
        return f"kneebench brief · {campaign.started_at[:10]} · {campaign.id}"

    @property
    def banner(self) -> str:
        """That a model was measured; empty for hardware."""
        return SIMULATED if self.view.campaign.simulated else ""

    @property
    def byline(self) -> str:
        """The authors and whom they work for."""
        words = self.view.plan.brief
        return ", ".join(filter(None, (*words.authors, words.organisation)))

    @cached_property
    def logo(self) -> tuple[str, bytes] | None:
        """The author's, by its file's ending."""
        folder = self.view.results.folder
        return kept_logo(folder) if folder and self.view.plan.brief.logo else None

    @property
    def setup(self) -> str:
        return setup_line(self.view)

    @property
    def intervals(self) -> str:
        return what_intervals_hold(self.view)

    @property
    def written(self) -> str:
        """What the page was written from, for its end."""
        return f"Written from the campaign folder by kneebench {self.version}."

    @property
    def publishing(self) -> tuple[str, ...]:
        """What the licences of the databases ask of those who publish their figures."""
        return tuple(
            engine_properties(engine).publishing
            for engine in dict.fromkeys(self.view.campaign.engines.values())
            if engine in ENGINES.names() and engine_properties(engine).publishing
        )

    def html(self) -> str:
        logo = as_uri(self.logo) if self.logo else ""
        return self.render_page(
            "page.html.j2", view=self.view, derived=self.derived, whose=WHOSE, logo=logo
        )

    def _repr_html_(self) -> str:
        """The page as it is, in a frame of its own, for a notebook."""
        page = escape(self.html())
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 640px; border: 0"></iframe>'

    def figures(self, folder: str | Path, formats: Sequence[Format] = ("png",)) -> list[Path]:
        """Write every figure, its title within, as "svg", "png" or "pdf", and as "csv" the rows
        that it draws; their paths.
        """
        every = [figure for section in self.sections for figure in section.figures]
        with writing(Path(folder)):
            return write_figures(every, Path(folder), self.says, formats)

    @property
    def says(self) -> str:
        label = self.view.campaign.label
        return f"{label}. {self.derived}" if label else self.derived

    def _words(self) -> dict[str, str]:
        return {"title": self.title, "subtitle": self.subtitle, "setup": self.setup}

    def document(self) -> dict[str, Any]:
        """The brief for programs: SI units, estimates with their intervals, no histograms."""
        view = self.view
        whole = {
            "format": FORMAT,
            **self._words(),
            "derived": self.derived,
            **answers(view.results),
            "campaign": clean(view.campaign.model_dump(mode="json")),
            "failed_checks": [
                {"where": one.where, **one.check.model_dump()} for one in view.failed
            ],
            "invalid_rungs": [rung.order.key for rung in view.invalid],
            "without_figure": {one.configuration.id: one.sentence for one in view.missing_figures},
            "knees": {id: one.model_dump(exclude={"latency"}) for id, one in view.knees.items()},
            "fixed_rate": {id: one._asdict() for id, one in view.fixed_rate_latency.items()},
            "load_levels": {
                id: [
                    {
                        "percent": one.percent,
                        **one.latency._asdict(),
                        "log_write_s": one.log_write_s,
                    }
                    for one in some
                ]
                for id, some in view.load_levels.items()
            },
            "devices": {
                climb.id: _devices(found)
                for climb in view.climbs
                if (found := knee_devices(view, climb))
            },
            "stop_results": {climb.id: climb.stop_results for climb in view.climbs},
            **_rungs(view.results),
            "sections": self.sections,
        }
        plain: dict[str, Any] = to_jsonable_python(whole)
        return plain

    def json(self) -> str:
        return json.dumps(self.document(), ensure_ascii=False, indent=1)


def _level(one: LoadLevel) -> dict[str, Any]:
    own = {name: value for name, value in one._asdict().items() if name != "latency"}
    return {**own, **one.latency._asdict()}


def _devices(found: KneeDevices) -> dict[str, Any]:
    """Means of the windows at the knee by volume, as a whole and for each device; `rung` is the one
    whose courses are drawn.
    """
    volumes = [
        {
            "name": one.name,
            "differ": [odd.sentence for odd in one.odd],
            **one.whole.model_dump(exclude={"device", "drive"}),
            "each": [load.model_dump(exclude={"devices"}) for load in one.loads],
        }
        for one in found.volumes
    ]
    return {"rung": found.rung.order.key, "volumes": volumes}


def _rungs(results: Results) -> dict[str, Any]:
    """Those that figures are made of, and those that were measured again."""
    climbs = results.climbs
    return {
        "rungs": [_rung(rung) for climb in climbs for rung in climb.rungs],
        "superseded_rungs": [_rung(rung) for climb in climbs for rung in climb.superseded],
    }


def _rung(rung: Any) -> dict[str, Any]:
    histograms: dict[str, Any] = {
        "latency": {"histogram"},
        "wait": {"histogram"},
        "delay": {"histogram"},
        "transactions": {"__all__": {"latency": {"histogram"}, "wait": {"histogram"}}},
    }
    left_out = {"tally": histograms, "log_histogram": {"counts"}}
    plain: dict[str, Any] = rung.model_dump(mode="json", exclude=left_out)
    return {
        **plain,
        "key": rung.order.key,
        "nopm": rung.tally.nopm,
        "throughput_per_s": rung.tally.throughput_per_s,
    }


# The line of conditions for under the title: what was tested on what, how often, and what NOPM
# is.


def setup_line(view: ViewModel) -> str:
    """Databases, data, machine, final runs; of what is not known nothing."""
    return " · ".join(filter(None, _parts(view)))


def _parts(view: ViewModel) -> Iterator[str]:
    campaign, workload = view.campaign, view.plan.workload
    for database, engine in campaign.engines.items():
        if engine in ENGINES.names():
            yield f"{f'{database}: ' if database else ''}{_database(view, database, engine)}"
    loaded = max((data_bytes(campaign, *one) for one in campaign.engines.items()), default=0)
    data = f", {units.size(loaded)} of data" if loaded else ""
    name = "" if workload.type == "tproc-h" else "TPROC-C, "
    yield f"{name}{workload.size}{data}"
    host = campaign.host
    if view.plan.measures_real_hardware:
        yield f"{plural(host.cores, 'core')}, {units.size(host.memory_bytes)} of memory"
        yield from _drives(view)
    if workload.type == "tproc-h":
        return
    ladder = view.plan.ladder
    if ladder.most_repeats:
        runs = max((len(climb.of("final_run")) for climb in view.climbs), default=0)
        yield f"{plural(runs, 'final run')} of {units.time(ladder.final_window)} each"
    yield "NOPM: New-Orders per minute"


def _drives(view: ViewModel) -> Iterator[str]:
    """Each storage's drives: in a few words of the plan's author, or their models, or that there
    are none; nothing of emulated ones, and of those without a model.
    """
    words = view.plan.brief.storages
    memory = {one.configuration.storage for one in view.climbs if view.memory_backed(one)}
    devices = {
        climb.configuration.storage: climb.rungs[-1].devices for climb in view.climbs if climb.rungs
    }
    for storage, under in devices.items():
        own = words.get(storage, "")
        models = [] if view.campaign.emulated else _models(view.campaign, under)
        models = ["RAM (tmpfs)"] if storage in memory else models
        if said := own if 0 < len(own) <= FEW_LETTERS else ", ".join(models):
            yield f"{storage}: {said}"


def _models(campaign: Campaign, devices: Sequence[CountedDevice]) -> list[str]:
    """Models of a storage's drives, each once, with its number if there are several."""
    found = {name: drive.model for drive in campaign.host.drives for name in drive.real[:1]}
    found |= {drive.name: drive.model for drive in campaign.drives_before if drive.model}
    named = Counter(found.get(device.name, "") for device in devices)
    return [
        f"{n} × {model}" if n > 1 else model
        for model, n in named.items()
        if model and not model.startswith(NO_MODEL)
    ]


def _database(view: ViewModel, database: str, engine: str) -> str:
    """Its name and version, and the size of its own cache where all servers have the same."""
    settings = [
        view.campaign.settings.get(climb.id, ())
        for climb in view.climbs
        if climb.configuration.database == database
    ]
    properties = engine_properties(engine)
    version = _common({properties.major_version(some) for some in settings})
    setting = view.databases.plans[database].database.cache_setting
    cache = _common({one.value for some in settings for one in some if one.name == setting})
    named = f"{properties.label} {version}".strip()
    return f"{named}, cache {_size(cache, setting)}" if cache else named


def _size(value: str, setting: str) -> str:
    """The size that a server's setting has: in bytes, with a unit behind it as PostgreSQL writes
    it, or with that unit in the name of the setting.

    >>> _size("1224736768", "innodb_buffer_pool_size"), _size("3008MB", "shared_buffers")
    ('1.14 GiB', '2.94 GiB')
    >>> _size("3008", "max server memory (MB)"), _size("8 pages", "cache")
    ('2.94 GiB', '8 pages')
    """
    unit = "MB" if setting.endswith("(MB)") else ""
    found = re.fullmatch(r"([0-9]+)(?:([kMGT])B)?", value + unit)
    return units.size(int(found[1]) * 1024 ** " kMGT".index(found[2] or " ")) if found else value


def what_intervals_hold(view: ViewModel) -> str:
    """What the 95% CIs contain, and what they leave out; empty without final runs. Which interval
    is of what: docs/method/comparing.md.
    """
    runs = [rung for climb in view.climbs for rung in climb.of("final_run", "fixed_rate", "query")]
    if not runs:
        return ""
    if max(len(climb.repeats("final_run") | climb.repeats("query")) for climb in view.climbs) < 2:
        return "Each storage had one final run: nothing here shows how runs differ."
    if not view.plan.measures_real_hardware:
        return "95% CIs cover how runs of the model differ, and say nothing of a real machine."
    short = view.plan.ladder.rounds == "short"
    differ = "rounds and restores" if short else f"{'restored ' * bool(view.own_restore)}runs"
    if view.plan.workload.type == "tproc-h":
        differ = "passes on one restored database"
    hosts = server_provenance.hosts(view.plan)
    here = server_provenance.HERE.issuperset(hosts) and not view.campaign.link
    where = "this machine" if here else "the servers' machines"
    drives = "any real drive" if view.campaign.emulated else "other drives of the same model"
    return (
        f"95% CIs cover how {differ} differed on {where} within {_span(runs)}, not other days,"
        f" other machines or {drives}."
    )


def _span(runs: Sequence[Rung]) -> str:
    """From the first run's start to the last one's end."""
    starts = sorted(datetime.fromisoformat(rung.started_at) for rung in runs)
    last = max(runs, key=lambda rung: datetime.fromisoformat(rung.started_at))
    under_load_s = last.warm_up_s + last.tally.window_s
    return units.rough_time((starts[-1] - starts[0]).total_seconds() + under_load_s)


def _common(found: set[str]) -> str:
    """What all servers have alike; else nothing."""
    return found.pop() if len(found) == 1 else ""
