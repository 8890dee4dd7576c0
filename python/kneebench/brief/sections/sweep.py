"""Figs. S1 to S3: what more memory or more cores buy, and where they stop paying."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from kneebench import units
from kneebench.analysis.cpu_utilization import CpuUtilization
from kneebench.analysis.devices import volumes
from kneebench.analysis.knee import final_rungs
from kneebench.analysis.levelling import WITHIN, levelling
from kneebench.analysis.levelling_words import WHAT, finding, per_unit, sentence
from kneebench.analysis.sweep import Resource, SweptConfiguration, amount, sweeps, value_of
from kneebench.analysis.wording import listed, percent, times_and_interval, value_and_ends
from kneebench.brief import sweep_figures
from kneebench.brief.section import Column, Figure, Row, Section, Table
from kneebench.brief.sweep_figures import NAMED, WARMING, SweepLine
from kneebench.brief.view_model import ViewModel
from kneebench.records import Estimate

TITLES: dict[Resource, str] = {
    "memory_bytes": "Memory",
    "cores": "Cores",
    "engine_memory_bytes": "Database cache",
    "databases": "Databases",
}
AT_LEAST = " At least, at most: bounds, as a configuration was still warming."
COLUMNS = (
    "Users",
    "NOPM",
    "Vs. largest",
    "Step",
    "Device reads",
    "Device writes",
    "CPU",
    "Cache hits",
    "Read per transaction",
)


def section(view: ViewModel) -> Section | None:
    """Figures and a table for each resource that was swept; nothing where none was."""
    every = [SweepLine(one, levelling(one)) for one in sweeps(view.results)]
    if not every:
        return None
    lines = {
        resource: list(some) for resource, some in groupby(every, lambda one: one.sweep.resource)
    }
    return Section(
        name="sweep",
        title="Sweep" if len(lines) > 1 else f"{TITLES[every[0].sweep.resource]} sweep",
        sentences=tuple(_sentences(every)),
        figures=tuple(
            figure
            for (resource, some), start in zip(lines.items(), range(1, 99, 3), strict=False)
            for figure in _figures(view, resource, some, start)
        ),
        tables=tuple(_table(resource, some) for resource, some in lines.items()),
    )


def _sentences(lines: Sequence[SweepLine]) -> Iterator[str]:
    for line in lines:
        yield sentence(line.levelling)


# --- figures ----------------------------------------------------------------------------------


def _figures(
    view: ViewModel, resource: Resource, lines: Sequence[SweepLine], start: int
) -> Iterator[Figure]:
    what = TITLES[resource].lower()
    drawn = {
        "relative": sweep_figures.relative(lines),
        "devices": sweep_figures.devices(lines),
        "cores": sweep_figures.cores_over_time(view, lines),
    }
    titles = {
        "relative": _title(resource, lines),
        "devices": f"Device reads and writes by {what}",
        "cores": f"CPU over time by {what}",
    }
    captions = {
        "relative": (
            f"{'NOPM' if lines[1:] else 'NOPM relative to the largest configuration'}; bars are 95%"
            " CIs."
            f"{_circled_caption(lines)}{_reference_caption(lines)}{_warming_caption(lines)}"
            f"{_largest_caption(lines)}"
        ),
        "devices": (
            "Arithmetic means over the windows of the final runs; bars are their 95% CIs."
            f"{_devices_caption(lines)}{_warming_caption(lines)}"
        ),
        "cores": (
            "Mean busy share of the database's cores in one final run each, from the start of its"
            f" warm-up.{_warming_caption(lines)}"
        ),
    }
    for number, (name, spec) in enumerate(drawn.items(), start=start):
        if spec:
            yield Figure(
                name=f"sweep-{name}" if start == 1 else f"sweep-{name}-{start}",
                number=f"Fig. S{number}",
                title=titles[name],
                caption=captions[name],
                alt=f"{titles[name]}.",
                spec=spec,
            )


def _title(resource: Resource, lines: Sequence[SweepLine]) -> str:
    """Where one storage levels off; of several the sentences say it."""
    if len(lines) == 1:
        return finding(lines[0].levelling)
    return f"What more {WHAT[resource]} buy{'' if resource == 'cores' else 's'}"


def _circled_caption(lines: Sequence[SweepLine]) -> str:
    circled = any(line.levelling.answer in NAMED for line in lines)
    return f" Circled: the smallest within {percent(WITHIN)} of the best." if circled else ""


def _reference_caption(lines: Sequence[SweepLine]) -> str:
    return (
        " Hollow: the reference, which has no limit."
        if any(line.sweep.reference for line in lines)
        else ""
    )


def _devices_caption(lines: Sequence[SweepLine]) -> str:
    """What else is in the traffic of a storage whose log has drives of its own."""
    apart = any(
        len(volumes(rung)) > 1
        for line in lines
        for one in line.configurations
        for rung in final_rungs(one.climb)[:1]
    )
    return " Devices: all of a storage, including the log's." if apart else ""


def _pooled_caption(lines: Sequence[SweepLine]) -> str:
    """Why an answer may be surer than the intervals beside it."""
    if all(line.levelling.at is None and line.levelling.between is None for line in lines):
        return ""
    return (
        " Where more stops paying rests on the noise of all configurations together, which no"
        " single CI shows."
    )


def _warming_caption(lines: Sequence[SweepLine]) -> str:
    marked = any(one.warming for line in lines for one in line.configurations)
    return f" {WARMING}: still warming." if marked else ""


def _largest_caption(lines: Sequence[SweepLine]) -> str:
    """What the ratios are where the largest configuration itself is a lower bound."""
    cold = [line.name for line in lines if line.sweep.configurations[-1].warming]
    if not cold:
        return ""
    of = f" of {listed(cold)}" if len(lines) > 1 else ""
    return f" The largest{of} was still warming: ratios of warm configurations are upper bounds."


# --- table ------------------------------------------------------------------------------------


def _table(resource: Resource, lines: Sequence[SweepLine]) -> Table:
    columns = (
        Column(title="Storage", number=False),
        Column(title=TITLES[resource]),
        *(Column(title=title) for title in COLUMNS),
    )
    rows = tuple(_row(line, one) for line in lines for one in line.configurations)
    caption = (
        "NOPM with its 95% CI; vs. largest: its ratio to the largest configuration of the storage."
        f" Step: NOPM more than the next smaller one, per {per_unit(lines[0].levelling)}, where"
        " its 95% CI excludes 0."
        f"{AT_LEAST if any(one.warming for line in lines for one in line.configurations) else ''}"
        " CPU: mean busy share of the database's cores; below it that of the least busy core."
        " Cache hits: of the database's own cache."
        f"{_devices_caption(lines)}{_pooled_caption(lines)}"
    )
    return Table(caption=caption, columns=columns, rows=rows)


def _row(line: SweepLine, one: SweptConfiguration) -> Row:
    value = value_of(one.configuration, line.sweep.resource)
    levelled = line.levelling.at is one and line.levelling.answer == "levels off"
    return Row(
        cells=(
            line.name,
            "no limit" if value is None else amount(value, line.sweep.resource),
            units.count(one.users.value) if one.users else units.NOTHING,
            _nopm(one),
            _ratio(line, one),
            _step(line.levelling.steps.get(one.configuration.id)),
            _rate(one.read_bytes_per_s),
            _rate(one.write_bytes_per_s),
            _cpu(one.cpu),
            percent(one.cache_hit_share.value) if one.cache_hit_share else units.NOTHING,
            units.size(
                one.read_bytes_per_transaction.value if one.read_bytes_per_transaction else None
            ),
        ),
        tone="strong" if levelled else "light" if one.configuration.reference else "plain",
    )


def _nopm(one: SweptConfiguration) -> str:
    if one.nopm is None:
        return units.NOTHING
    least = "at least " if one.warming else ""
    return "{}{}\n({})".format(least, *value_and_ends(one.nopm))


def _ratio(line: SweepLine, one: SweptConfiguration) -> str:
    if one is line.sweep.configurations[-1]:
        return "largest (still warming)" if one.warming else "largest"
    if one.relative is None:
        return units.NOTHING
    value, sure = times_and_interval(one.relative)
    sure = sure.partition(", n=")[0]  # as many runs as the line below the title says
    bound = {"": "", "either": " (both still warming)"}.get(one.bound, "")
    least = f"{one.bound} " if one.bound in ("at least", "at most") else ""
    return f"{least}{value}{bound}\n({sure})"


def _step(of: Estimate | None) -> str:
    shown = of is not None and 0 not in of
    return units.significant(of.value) if of and shown else units.NOTHING


def _cpu(of: CpuUtilization | None) -> str:
    if of is None:
        return units.NOTHING
    mean, least = percent(of.mean.value), percent(of.least_busy.value)
    return mean if mean == least else f"{mean}\n({least})"


def _rate(of: Estimate | None) -> str:
    return units.rate(of.value) if of else units.NOTHING
