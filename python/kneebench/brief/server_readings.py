"""What a server counts of itself and its machine at the knee, as a table: quantities that have a
name for it (`engine_properties.Quantity.reading`). Of a machine that kneebench does not run on,
nothing else is known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kneebench import units
from kneebench.analysis.knee import final_rungs
from kneebench.analysis.knee_readings import KneeReadings
from kneebench.analysis.wording import percent
from kneebench.brief.section import Column, Row, Table
from kneebench.brief.view_model import ViewModel
from kneebench.engine_properties import Quantity
from kneebench.measurement.quantities import RATIOS, READ, Ratio

MOST_SOURCES = 3
WRITTEN: dict[str, Callable[[float], str]] = {
    "share": percent,
    "s": units.time,
    "s/s": lambda value: f"{units.time(value)}/s",
    "B/s": units.rate,
    "1/s": lambda value: f"{units.count(value)}/s",
}
"""How a value is written, by its unit; a count otherwise."""


def server_readings(view: ViewModel) -> Iterator[Table]:
    """A row for each quantity, a column for each storage; no table where nothing was read."""
    found = {climb.id: KneeReadings(final_rungs(climb)) for climb in view.climbs}
    every: dict[str, Quantity | Ratio] = {**READ, **RATIOS}
    rows = tuple(
        Row(cells=(one.reading, *(_cell(readings, name, one.unit) for readings in found.values())))
        for name, one in every.items()
        if one.reading and any(readings.value(name) is not None for readings in found.values())
    )
    if rows:
        names = (Column(title=view.name(configuration)) for configuration in found)
        yield Table(
            caption=(
                f"What the server counted of itself and its machine at the {view.point}: rates and"
                f" means over the window, with the largest sources in parentheses."
            ),
            columns=(Column(title="Server", number=False), *names),
            rows=rows,
            narrow=True,
        )


def _cell(readings: KneeReadings, name: str, unit: str) -> str:
    """The value and its largest sources, where they add up to it or differ by source."""
    value, written = readings.value(name), WRITTEN.get(unit, units.count)
    if value is None:
        return units.NOTHING
    sources = sorted(readings.sources(name).items(), key=lambda one: -one[1])
    most = [f"{source}: {written(part)}" for source, part in sources[:MOST_SOURCES] if part]
    apart = f"\n({', '.join(most)})" if len(sources) > 1 and most else ""
    return f"{written(value)}{apart}"
