"""One line of conditions for under the title: what was tested on what, and how often."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench import units
from kneebench.analysis.memory import data_bytes
from kneebench.analysis.wording import plural
from kneebench.brief.view_model import ViewModel
from kneebench.engine_properties import engine_properties
from kneebench.records import Setting
from kneebench.shelf import ENGINES

CACHES = ("shared_buffers", "innodb_buffer_pool_size", "max server memory (MB)")
"""Server settings for the size of the database's own cache."""
VERSIONS = ("server_version", "version", "ProductVersion")


def setup_line(view: ViewModel) -> str:
    """Databases, data, machine, final runs; of what is not known nothing."""
    return " · ".join(filter(None, _parts(view)))


def _parts(view: ViewModel) -> Iterator[str]:
    campaign, workload = view.campaign, view.plan.workload
    for database, engine in campaign.engines.items():
        if engine in ENGINES.names():
            yield f"{f'{database}: ' if database else ''}{_database(view, database, engine)}"
    data = units.size(max((data_bytes(campaign, *one) for one in campaign.engines.items())))
    yield f"TPROC-C, {plural(workload.warehouses, 'warehouse')}, {data} of data"
    host = campaign.host
    if not campaign.simulated:
        yield f"{plural(host.cores, 'core')}, {units.size(host.memory_bytes)} of memory"
    ladder = view.plan.ladder
    if ladder.most_repeats:
        runs = max((len(climb.of("final_run")) for climb in view.climbs), default=0)
        yield f"{plural(runs, 'final run')} of {units.time(ladder.final_window)} each"


def _database(view: ViewModel, database: str, engine: str) -> str:
    """Its name and version, and the size of its own cache where all servers have the same."""
    settings = [
        view.campaign.settings.get(climb.id, ())
        for climb in view.climbs
        if climb.configuration.database == database
    ]
    version, cache = (_common(settings, names) for names in (VERSIONS, CACHES))
    named = " ".join(filter(None, (engine_properties(engine).label, version)))
    return f"{named}, {cache} of own cache" if cache else named


def _common(settings: list[tuple[Setting, ...]], names: tuple[str, ...]) -> str:
    """The value that a setting of one of these names has on all servers; else nothing."""
    found = {one.value for some in settings for one in some if one.name in names}
    return found.pop() if len(found) == 1 else ""
