"""The frames of a campaign: its rungs, knees and comparisons, and what was read in each second."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches

from kneebench.analysis.bottleneck import bottleneck
from kneebench.analysis.comparison import compare
from kneebench.analysis.configuration_summary import ConfigurationSummary, configuration_summaries
from kneebench.analysis.evidence import CLASSES
from kneebench.analysis.power import PowerOfLoad, at_the_knee
from kneebench.analysis.sweep_rows import required_sweep_rows
from kneebench.analysis.wording import plural
from kneebench.errors import KneebenchError, PlanError
from kneebench.measurement.quantities import RATIOS, READ
from kneebench.notebook import columns
from kneebench.notebook.frame import Frame
from kneebench.records import SYSTEM_POWER, Climb, Configuration, Estimate, Results, Rung
from kneebench.results import file_schemas
from kneebench.results.campaign_reader import seconds, series, table_of

Values = tuple[object, ...]


def rungs_frame(results: Results) -> Frame:
    """A row for each rung, by configuration and in the order measured."""
    return Frame(columns.RUNGS, _of_each_rung(results, lambda rung: [_rung(rung)]))


def knees_frame(results: Results) -> Frame:
    """A row for each configuration: its knee and its latency at the fixed rate, with intervals."""
    rows = (
        (*_configuration(results, climb), *_knee(summary, _power(results, climb)))
        for climb, summary in zip(results.climbs, configuration_summaries(results), strict=True)
    )
    return Frame(columns.KNEES, rows)


def comparisons_frame(results: Results) -> Frame:
    """A row for each configuration and quantity that is compared with the baseline."""
    names = {climb.id: climb.configuration.name for climb in results.climbs}
    rows = (
        (
            results.campaign.id,
            one.quantity,
            names[one.configuration],
            names[one.baseline],
            *ends(one.ratio),
            one.ratio.n,
            one.differs,
            one.noise_floor,
            one.sentence,
        )
        for one in compare(results)
    )
    return Frame(columns.COMPARISONS, rows)


def series_frame(results: Results, quantities: Sequence[str]) -> Frame:
    """A row for each reading of these quantities, or of all. Raises PlanError for a name that no
    quantity has.
    """

    _require_tables(results, "series")

    def rows(rung: Rung) -> Iterator[Values]:
        for one in series(results, rung, *quantities):
            for at_s, value in zip(one.at_s, one.value, strict=True):
                inside, named = _in_window(rung, at_s - 0.5), (one.quantity, one.source)
                yield at_s, inside, *named, _over(one.quantity), one.unit, value

    found = Frame(columns.SERIES, _of_each_rung(results, rows))
    for name in quantities:
        if name not in READ and name not in RATIOS and name not in found["quantity"]:
            near = get_close_matches(name, [*READ, *RATIOS], 1)
            do = f"did you mean {near[0]!r}?" if near else "series() without a name has all"
            raise PlanError(f"quantity {name!r}", seen="unknown name", do=do)
    return found


def _over(quantity: str) -> str:
    """How a quantity is made of its sources; a ratio has none."""
    return READ[quantity].over if quantity in READ else ""


def wait_shares_frame(results: Results) -> Frame:
    """A row for each configuration and class of waits; none where waits were not sampled."""
    rows = (
        (*_configuration(results, climb), wait, CLASSES[wait], part.share, part.seconds)
        for climb in results.climbs
        for wait, part in bottleneck(climb).time_split.items()
    )
    return Frame(columns.WAIT_SHARES, rows)


def seconds_frame(results: Results) -> Frame:
    """A row for each second and transaction type."""
    _require_tables(results, "seconds")
    names = [name for name in file_schemas.SECONDS if name in columns.SECONDS and name != "at_s"]

    def rows(rung: Rung) -> Iterator[Values]:
        for one in seconds(results, rung):
            inside = _in_window(rung, one.at_s + 0.5)
            yield one.at_s, inside, *(getattr(one, name) for name in names)

    return Frame(columns.SECONDS, _of_each_rung(results, rows))


def _require_tables(results: Results, directory: str) -> None:
    """Raises KneebenchError where the files of rungs are missing; results without a folder need
    none.
    """
    files = [table_of(results, rung, directory) for climb in results.climbs for rung in climb.rungs]
    lacking = [file for file in files if file and not os.path.lexists(file)]
    if lacking:
        raise KneebenchError(
            f"results.{directory}()",
            seen=f"{len(lacking)} of {plural(len(files), 'file')} missing, first {lacking[0]}",
            do="restore the folder from a copy",
        )


def sweep_frame(results: Results) -> Frame:
    """A row for each configuration of a sweep, the smallest first; text is empty, never missing."""
    rows = required_sweep_rows(results, "results.sweep()")
    return Frame(columns.SWEEP, (row._replace(database=row.database or "") for row in rows))


def _of_each_rung(
    results: Results, rows: Callable[[Rung], Iterator[Values] | Sequence[Values]]
) -> Iterator[Values]:
    """The rows of each rung, with what says which it is."""
    for climb in results.climbs:
        named = _configuration(results, climb)
        for rung in climb.rungs:
            order = rung.order
            which = (*named, order.key, order.phase, order.users, order.repeat)
            for row in rows(rung):
                yield (*which, *row)


def _in_window(rung: Rung, middle_s: float) -> bool:
    """Whether the middle of a second is in the window: its ends are late by some milliseconds, and
    so are the window's.
    """
    return rung.warm_up_s < middle_s < rung.warm_up_s + rung.tally.window_s


def _configuration(results: Results, climb: Climb) -> Values:
    one: Configuration = climb.configuration
    return results.campaign.id, one.name, one.storage, one.database, one.constraint


def _rung(rung: Rung) -> Values:
    tally, latency = rung.tally, rung.tally.latency
    percentiles = ("mean_s", "p50_s", "p90_s", "p95_s", "p99_s", "p999_s", "max_s")
    counts = ("committed", "rolled_back", "failed", "unknown")
    quantities = (
        "log.write_latency",
        "device.read_bytes",
        "device.write_bytes",
        "cores.busy",
        SYSTEM_POWER,
    )
    return (
        rung.order.rate_per_s,
        rung.started_at,
        rung.warm_up_s,
        tally.window_s,
        tally.nopm,
        rung.tpm,
        tally.throughput_per_s,
        *(getattr(latency, name) if latency else None for name in percentiles),
        latency.p999_is_certain if latency else None,
        *(getattr(tally.window, name) for name in counts),
        *map(rung.quantity, quantities),
        rung.steady,
        ", ".join(check.name for check in rung.checks if not check.passed),
        rung.invalid,
        "; ".join(rung.notes),
    )


def _power(results: Results, climb: Climb) -> PowerOfLoad | None:
    """The power at the knee; None without a meter."""
    power = results.campaign.power
    return at_the_knee(climb, power) if power else None


def _knee(one: ConfigurationSummary, power: PowerOfLoad | None) -> Values:
    measured = (one.nopm, one.tpm, one.mean_s, one.p999_s)
    rate, users = one.fixed_rate, one.users
    return (
        one.point,
        *ends(users),
        *_knee_end(one, users.low if users else 0.0),
        *_knee_end(one, users.high if users else 0.0),
        *(value for estimate in measured for value in ends(estimate)),
        one.p999_certain if one.p999_s else None,
        *ends(one.log_write_s),
        *ends(power.watts if power else None),
        *ends(power.mw_per_nopm if power else None),
        one.nopm.n if one.nopm else 0,
        one.stopped_by,
        one.bottleneck,
        rate.rate_per_s if rate else None,
        *ends(rate.mean_s if rate else None),
        *ends(rate.p999_s if rate else None),
    )


def _knee_end(one: ConfigurationSummary, users: float) -> Values:
    rungs = {end.users: end for end in one.knee_ends}
    found = rungs.get(round(users))
    return (found.users, found.nopm, found.latency_s) if found else (None, None, None)


def ends(one: Estimate | None) -> Values:
    """An estimate's value and the ends of its interval, for a frame; all missing without one."""
    return (one.value, one.low, one.high) if one else (None, None, None)
