"""Configuration summary: the figures of one storage, as a column of the summary table in a
terminal, a notebook or --json.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import add

from kneebench import units
from kneebench.analysis.bottleneck import bottleneck
from kneebench.analysis.fixed_rate import fixed_rate_latency
from kneebench.analysis.knee import final_rungs, knee, measured_at_ends, metered
from kneebench.analysis.power import PowerOfLoad, at_the_knee
from kneebench.analysis.proof import proved, status
from kneebench.analysis.wording import FEW, ends, percent, stop_reason, value_with_ends
from kneebench.records import (
    Campaign,
    Climb,
    Estimate,
    InMilliwatts,
    InNopm,
    InSeconds,
    InTpm,
    InUsers,
    KneeEnd,
    Proof,
    Record,
    Results,
    configuration_name,
)


class FixedRateSummary(Record):
    """Latency of a storage in open loop at the fixed rate of all storages. `share`: that rate as a
    fraction of the storage's own knee. Percentiles are from the merged histogram; `p999_certain`:
    at least 100 samples exceed it. `wait`: share of the mean that is the wait for a free user."""

    rate_per_s: float
    share: float | None
    mean_s: InSeconds
    p999_s: InSeconds
    p999_certain: bool
    wait: float | None = None


class ConfigurationSummary(Record):
    """Knee of a storage (or its fixed load: `point`), its stop reason and its latency at the fixed
    rate; None if not measured.

    `mean_s`, `p999_s` and `log_write_s` belong to `nopm`: they are of the same rungs, in closed
    loop. `knee_ends`: the climb's rungs at the ends of the interval of `users`. `open_ended`:
    whether the knee is the climb's last and best rung.
    """

    storage: str
    constraint: str = ""
    database: str = ""
    point: str
    users: InUsers | None
    nopm: InNopm | None
    tpm: InTpm | None
    mean_s: InSeconds | None
    p999_s: InSeconds | None
    p999_certain: bool
    log_write_s: InSeconds | None
    stopped_by: str
    bottleneck: str
    fixed_rate: FixedRateSummary | None
    power_w: Estimate | None = None
    mw_per_nopm: InMilliwatts | None = None
    knee_ends: tuple[KneeEnd, ...] = ()
    open_ended: bool = False

    @property
    def name(self) -> str:
        return configuration_name(self.storage, self.constraint, self.database)


def configuration_summaries(results: Results) -> list[ConfigurationSummary]:
    """One summary per climb, in the order measured."""
    at, proofs = point(results.campaign), results.campaign.proofs
    power = results.campaign.power
    return [
        _summary(climb, at, proofs.get(climb.id)).model_copy(
            update=_power(at_the_knee(climb, power) if power else None)
        )
        for climb in results.climbs
    ]


def _power(found: PowerOfLoad | None) -> dict[str, Estimate]:
    return {"power_w": found.watts, "mw_per_nopm": found.mw_per_nopm} if found else {}


def _summary(climb: Climb, at: str, proof: Proof | None) -> ConfigurationSummary:
    found = knee(climb)
    rate = fixed_rate_latency(climb)
    return ConfigurationSummary(
        storage=climb.configuration.storage,
        constraint=climb.configuration.constraint,
        database=climb.configuration.database,
        point=at,
        users=found.users if found else None,
        nopm=found.nopm if found else None,
        tpm=found.tpm if found else None,
        mean_s=found.latency_s if found else None,
        p999_s=found.p999_s if found else None,
        p999_certain=found is None or (found.latency is not None and found.latency.p999_is_certain),
        log_write_s=metered(final_rungs(climb), "log.write_latency"),
        stopped_by=climb.stopped_by or "not stopped yet",
        bottleneck=_bottleneck(climb, proof) if climb.rungs else "",
        fixed_rate=(
            FixedRateSummary.model_validate(
                {name: getattr(rate, name) for name in FixedRateSummary.model_fields}
            )
            if rate
            else None
        ),
        knee_ends=found.ends if found else (),
        open_ended=found is not None and found.open_ended,
    )


def _bottleneck(climb: Climb, proof: Proof | None) -> str:
    """The resource; with whether it was proved, if that was tried."""
    found = proved(bottleneck(climb), proof)
    return f"{found.name} ({status(found)})" if found.gain else found.name


def rows(found: Sequence[ConfigurationSummary]) -> Iterator[tuple[str, list[str]]]:
    """Rows of the summary table: the row's name, and one text per storage."""
    yield f"{found[0].point}, users", [shown_users(summary.users) for summary in found]
    if any(summary.knee_ends for summary in found):
        ends = (measured_at_ends(one.knee_ends) if one.knee_ends else "" for one in found)
        yield "search at its ends", [*ends]
    yield "NOPM", [shown_count(summary.nopm) for summary in found]
    yield "TPM", [shown_count(summary.tpm) for summary in found]
    yield "mean latency", [shown_time(summary.mean_s) for summary in found]
    yield "P99.9 latency", [shown_time(summary.p999_s, summary.p999_certain) for summary in found]
    yield "log write", [shown_time(summary.log_write_s) for summary in found]
    if any(summary.power_w for summary in found):
        yield "power", [_shown(summary.power_w, units.power) for summary in found]
        yield "mW/NOPM", [_shown(summary.mw_per_nopm, units.significant) for summary in found]
    higher = (" (may be higher)" if summary.open_ended else "" for summary in found)
    reasons = (stop_reason(summary.stopped_by) for summary in found)
    yield "stop reason", [*map(add, reasons, higher)]
    yield "bottleneck", [summary.bottleneck for summary in found]
    yield from _at_the_fixed_rate(found[0].point, [summary.fixed_rate for summary in found])


def _at_the_fixed_rate(
    point: str, found: Sequence[FixedRateSummary | None]
) -> Iterator[tuple[str, list[str]]]:
    """A separate block: these latencies belong to no NOPM above."""
    rate = next((one.rate_per_s for one in found if one), None)
    if rate is None:
        return
    at = f"{units.count(rate)}/s"
    yield "", [""] * len(found)
    yield (
        f"fixed rate, {at}",
        [
            f"{percent(round(one.share, 2))} of its {point}" if one and one.share else ""
            for one in found
        ],
    )
    yield f"mean latency at {at}", [shown_time(one.mean_s if one else None) for one in found]
    yield (
        f"P99.9 latency at {at}",
        [shown_time(one.p999_s if one else None, one is None or one.p999_certain) for one in found],
    )
    waits = [one.wait if one else None for one in found]
    yield (
        "wait for a user",
        ["" if wait is None else f"{percent(round(wait, 3))} of the mean" for wait in waits],
    )


def shown_time(value: Estimate | None, certain: bool = True) -> str:
    """A time with its interval; `certain` is False for a percentile with too few samples."""
    shown = _shown(value, units.time)
    return shown if certain or value is None else f"{shown[:-1]}, {FEW})"


def _shown(value: Estimate | None, written: Callable[[float, int], str]) -> str:
    return value_with_ends(value, written) if value else "not measured"


def shown_users(users: Estimate | None) -> str:
    """The knee's users with their interval, where there is one."""
    if users is None:
        return "none"
    return f"{users.value:g}" + (
        f" ({users.low:g} to {users.high:g})" if users.low < users.high else ""
    )


def shown_count(value: Estimate | None) -> str:
    """A throughput with its interval and the number of runs."""
    if value is None:
        return "none"
    return (
        f"{units.count(value.value)}"
        f" ({ends(value, units.count)}{f', n={value.n}' if value.n > 1 else ''})"
    )


def point(campaign: Campaign) -> str:
    """The name of what the final runs measure: "knee", or "fixed load" if the plan sets the number
    of users.
    """
    return "fixed load" if campaign.resolved.fixed_load else "knee"
