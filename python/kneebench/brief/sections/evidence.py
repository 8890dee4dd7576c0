"""Evidence on every resource of each storage's database, and where a transaction's time went
(Fig. 7).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kneebench import units
from kneebench.analysis.evidence import CLASSES, counted_cpu_share
from kneebench.analysis.knee import final_rungs
from kneebench.analysis.knee_readings import KneeReadings
from kneebench.analysis.resources import RESOURCES
from kneebench.analysis.wording import capital, percent
from kneebench.brief.section import Column, Figure, Row, Section, Table
from kneebench.brief.sections import numbered
from kneebench.brief.time_bars import Split, time_bars
from kneebench.brief.view_model import ViewModel
from kneebench.engine_properties import Quantity
from kneebench.measurement.quantities import RATIOS, READ, Ratio
from kneebench.records import Bottleneck, ResourceEvidence, TimeShare

EVIDENCE = tuple(
    Column(title=title, number=False)
    for title in ("Resource", "Bottleneck?", "Utilization", "Saturation", "Errors", "Decided by")
)
ANSWERS = {True: "yes", False: "no", None: "not judged"}
APART, NO_TIME = 0.03, TimeShare(share=0.0, seconds=0.0)
NAMES = {one.key: capital(one.key.replace("cpu", "CPU, all cores")) for one in RESOURCES}


def section(view: ViewModel) -> Section | None:
    """The bars, a table of evidence for each storage, and the server's own readings."""
    found = view.bottlenecks.items()
    if not found:
        return None
    return Section(
        name="evidence",
        title="Evidence on bottlenecks",
        figures=tuple(_figure(view)),
        tables=(
            *(_evidence(view, configuration, one) for configuration, one in found),
            *server_readings(view),
        ),
        part="appendix",
    )


def _evidence(view: ViewModel, configuration: str, one: Bottleneck) -> Table:
    """Utilization, saturation and errors of each resource; light where it was not judged."""
    caption = f"{capital(view.name(configuration))} at the {view.point}: evidence for and against."
    return Table(
        caption=caption,
        columns=EVIDENCE,
        rows=tuple(_row(row, named=row.resource == one.resource) for row in one.rows),
    )


def _row(row: ResourceEvidence, *, named: bool) -> Row:
    texts = (
        units.NOTHING if text == "not measured" else text
        for text in (row.utilization, row.saturation, row.errors)
    )
    return Row(
        cells=(capital(row.called) or NAMES[row.resource], ANSWERS[row.short], *texts, row.why),
        tone="strong" if named else "light" if row.short is None else "plain",
    )


def _figure(view: ViewModel) -> Iterator[Figure]:
    splits: dict[str, Split] = {
        view.name(configuration): one.time_split
        for configuration, one in view.bottlenecks.items()
        if one.time_split
    }
    if not splits:
        return
    title = _finding(splits)
    caption = (
        "Mean latency of a transaction (beside the bar), divided by what the database's sessions"
        " were found to wait for. CPU includes the time ready for a core. Rest: network and load"
        f" generator{_unseen(view)}.{_more_cpu(view)}"
    )
    yield Figure(
        name="time-split",
        number=numbered("evidence"),
        title=title,
        caption=caption,
        alt=f"Where a transaction's time goes. {'; '.join(map(_words, splits.items()))}.",
        spec=time_bars(splits),
    )


def _unseen(view: ViewModel) -> str:
    """What else is in the rest of results without the kernel's count."""
    rungs = (rung for climb in view.climbs for rung in climb.rungs)
    counted = any("processes.run_delay" in rung.quantities for rung in rungs)
    return "" if counted else ", and waits for a core that the database does not see"


def _more_cpu(view: ViewModel) -> str:
    """The CPU time that the kernel counted, where sampled waits leave clearly less to the bar."""
    more = [
        f"{view.name(climb.id)} {percent(counted)}"
        for climb in view.climbs
        if (found := view.bottlenecks.get(climb.id)) and found.time_split
        if (counted := counted_cpu_share(KneeReadings(final_rungs(climb))))
        if counted > found.time_split.get("cpu", NO_TIME).share + APART
    ]
    if not more:
        return ""
    return (
        " The kernel counted more time on a core, or ready for one, for the server's processes,"
        f" background work among them, than sampled waits leave: {', '.join(more)} of the users'"
        " time."
    )


def _finding(splits: dict[str, Split]) -> str:
    """The largest part of all that has a name, for the title."""
    name, part = max(
        ((name, part) for name, split in splits.items() for part in split),
        key=lambda one: (one[1] not in ("other", "rest"), splits[one[0]][one[1]].share),
    )
    share = percent(round(splits[name][part].share, 2))
    return f"{capital(name)}: {share} of a transaction's time is spent on {CLASSES[part]}"


def _words(one: tuple[str, Split]) -> str:
    name, split = one
    parts = ", ".join(f"{CLASSES[part]} {percent(round(x.share, 2))}" for part, x in split.items())
    return f"{capital(name)}: {parts}"


# What a server counts of itself and its machine at the knee, as a table: quantities that have a
# name for it (`engine_properties.Quantity.reading`). Of a machine that kneebench does not run on,
# nothing else is known.

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
