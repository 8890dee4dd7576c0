"""The brief of a campaign: one self-contained page that reads offline, prints well, and says first
what went wrong.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from kneebench import units
from kneebench.analysis.comparison import all_pairs
from kneebench.analysis.cpu_utilization import cpu_utilization
from kneebench.analysis.drift import drift
from kneebench.analysis.fixed_rate import ratio_without_wait
from kneebench.analysis.knee import final_rungs, knee_rung
from kneebench.analysis.levelling_words import sweep_document
from kneebench.analysis.memory import data_bytes, memory_document
from kneebench.analysis.outcome import exit_code, never_steady, order_weights
from kneebench.analysis.quoted_load import quoted_loads
from kneebench.analysis.still_steady import still_steady
from kneebench.analysis.wording import DERIVED, plural
from kneebench.brief import chart_theme
from kneebench.brief.knee_devices import KneeDevices, knee_devices
from kneebench.brief.rendering import Format, Page, write_figures
from kneebench.brief.section import Section
from kneebench.brief.sections import CONTENTS
from kneebench.brief.view_model import ViewModel
from kneebench.directories import CAMPAIGNS
from kneebench.engine_properties import engine_properties
from kneebench.records import Climb, Results
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
        for name in CONTENTS:
            if name not in self._made:
                with chart_theme.without_validation():
                    self._made[name] = SECTIONS.module(name).section(self.view)
            if section := self._made[name]:
                yield section

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
            "page.html.j2", view=self.view, derived=DERIVED, whose=WHOSE, logo=logo
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
        return f"{label}. {DERIVED}" if label else DERIVED

    def _words(self) -> dict[str, str]:
        return {"title": self.title, "subtitle": self.subtitle, "setup": self.setup}

    def document(self) -> dict[str, Any]:
        """The brief for programs: SI units, estimates with their intervals, no histograms."""
        view = self.view
        return {
            "format": FORMAT,
            **self._words(),
            "disturbances": [one.model_dump() for one in view.disturbances],
            "derived": DERIVED,
            "exit_code": self.exit_code,
            "caveat_figures": caveat_figures(view),
            "finished": view.results.finished,
            "campaign": clean(view.campaign.model_dump(mode="json")),
            "failed_checks": [
                {"where": one.where, **one.check.model_dump(mode="json")} for one in view.failed
            ],
            "invalid_rungs": [rung.order.key for rung in view.invalid],
            "without_figure": {one.configuration.id: one.sentence for one in view.missing_figures},
            "knees": {
                id: knee.model_dump(mode="json", exclude={"latency"})
                for id, knee in view.knees.items()
            },
            "fixed_rate": {id: _fixed_rate(one) for id, one in view.fixed_rate_latency.items()},
            **_comparisons(view),
            "bottlenecks": {
                id: one.model_dump(mode="json") for id, one in view.bottlenecks.items()
            },
            "devices": {
                climb.id: _devices(found)
                for climb in view.climbs
                if (found := knee_devices(view, climb))
            },
            "sweep": sweep_document(view.results),
            **_steadiness(view.results),
            "stop_results": {
                climb.id: [v.model_dump(mode="json") for v in climb.stop_results]
                for climb in view.climbs
            },
            **_rungs(view.results),
            "sections": [section.model_dump(mode="json") for section in self.sections],
        }

    def json(self) -> str:
        return json.dumps(self.document(), ensure_ascii=False, indent=1)


def _comparisons(view: ViewModel) -> dict[str, Any]:
    found = {"comparisons": view.comparisons, "pairs": all_pairs(view.results)}
    return {name: [one.model_dump(mode="json") for one in some] for name, some in found.items()}


def _steadiness(results: Results) -> dict[str, Any]:
    """Memory to be filled, configurations that never became steady, and whether preconditioned
    drives still were.
    """
    return {
        "limited_memory": memory_document(results),
        "still_warming": {id: one.model_dump() for id, one in never_steady(results).items()},
        "still_steady": [one.model_dump(mode="json") for one in still_steady(results)],
    }


def _fixed_rate(one: Any) -> dict[str, Any]:
    plain = one._asdict()
    return {
        **plain,
        "mean_s": one.mean_s.model_dump(mode="json"),
        "p999_s": one.p999_s.model_dump(mode="json"),
        "without_wait_s": one.without_wait_s and one.without_wait_s.model_dump(mode="json"),
    }


def _devices(found: KneeDevices) -> dict[str, Any]:
    """Means of the windows at the knee by volume, as a whole and for each device; `rung` is the one
    whose courses are drawn.
    """
    volumes = [
        {
            "name": one.name,
            "differ": [odd.sentence for odd in one.odd],
            **one.whole.model_dump(mode="json", exclude={"device", "drive"}),
            "each": [load.model_dump(mode="json", exclude={"devices"}) for load in one.loads],
        }
        for one in found.volumes
    ]
    return {"rung": found.rung.order.key, "volumes": volumes}


def _rungs(results: Results) -> dict[str, Any]:
    """Those that figures are made of, those that were measured again, and the loads of the final
    runs.
    """
    climbs = results.climbs
    return {
        "quoted_loads": quoted_loads(results),
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


# The figures behind the caveats, for programs: what a sentence says, the JSON has as a number.


def caveat_figures(view: ViewModel) -> dict[str, Any]:
    """By kind, and by configuration where it is of one.

    `noise`: the difference between two runs of one configuration that is not claimed. `drift`: how
    much more the first rung did when it was repeated last. `climb_at_knee`: what the climb had
    measured there, and the final runs over it. `weights`: configurations whose transactions were
    not equally heavy, with their bytes per transaction. `cpu`: how busy the cores were at the knee.
    `without_wait`: the ratio of the mean latencies without the wait for a free user, where that is
    a large part of them.
    """
    return {
        "noise": {climb.id: view.noise_floor(climb) for climb in view.climbs},
        "drift": {
            climb.id: {"share": moved.share, "users": moved.users, "noise": moved.noise}
            for climb in view.climbs
            if (moved := drift(climb, view.noise_floor(climb)))
        },
        "climb_at_knee": {
            climb.id: found for climb in view.climbs if (found := _at_knee(view, climb))
        },
        "weights": [
            {
                **one._asdict(),
                "bytes": list(one.bytes),
                "times": one.times,
                "matters": one.matters,
            }
            for one in order_weights(view.results)
        ],
        "without_wait": _without_wait(view),
        "cpu": {
            climb.id: {"mean": cpu.mean.value, "least_busy": cpu.least_busy.value}
            for climb in view.climbs
            if (cpu := cpu_utilization(final_rungs(climb)))
        },
    }


def _without_wait(view: ViewModel) -> dict[str, float]:
    climbs = {climb.id: climb for climb in view.climbs}
    return {
        one.configuration: ratio
        for one in view.comparisons
        if one.quantity == "latency.mean"
        and (ratio := ratio_without_wait(climbs[one.configuration], climbs[one.baseline]))
    }


def _at_knee(view: ViewModel, climb: Climb) -> dict[str, float]:
    knee, searched = view.knees.get(climb.id), knee_rung(climb)
    if not knee or not searched or not searched.tally.nopm:
        return {}
    nopm = searched.tally.nopm
    return {"users": searched.users, "nopm": nopm, "final_over_climb": knee.nopm.value / nopm}


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
    yield f"TPROC-C, {plural(workload.warehouses, 'warehouse')}{data}"
    host = campaign.host
    if view.plan.measures_real_hardware:
        yield f"{plural(host.cores, 'core')}, {units.size(host.memory_bytes)} of memory"
    ladder = view.plan.ladder
    if ladder.most_repeats:
        runs = max((len(climb.of("final_run")) for climb in view.climbs), default=0)
        yield f"{plural(runs, 'final run')} of {units.time(ladder.final_window)} each"
    yield "NOPM: New-Orders per minute"


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
    return f"{named}, cache {cache}" if cache else named


def _common(found: set[str]) -> str:
    """What all servers have alike; else nothing."""
    return found.pop() if len(found) == 1 else ""
