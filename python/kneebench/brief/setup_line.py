"""The line of conditions for under the title: what was tested on what, how often, and what NOPM
is.
"""

from __future__ import annotations

from collections.abc import Iterator

from kneebench import units
from kneebench.analysis.memory import data_bytes
from kneebench.analysis.wording import plural
from kneebench.brief.view_model import ViewModel
from kneebench.engine_properties import engine_properties
from kneebench.shelf import ENGINES


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
    setting = view.plan.databases_by_name[database].cache_setting
    cache = _common({one.value for some in settings for one in some if one.name == setting})
    named = f"{properties.label} {version}".strip()
    return f"{named}, cache {cache}" if cache else named


def _common(found: set[str]) -> str:
    """What all servers have alike; else nothing."""
    return found.pop() if len(found) == 1 else ""
