"""Cross-campaign comparison: the knee of every configuration of several campaigns, against one
baseline of each database.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from pydantic import Field

from kneebench.analysis.comparison import baseline, ratio_of
from kneebench.analysis.configuration_summary import point
from kneebench.analysis.databases import by_database
from kneebench.analysis.disturbance import disturbances
from kneebench.analysis.fixed_rate import fixed_rate_latency, rate_text, same_rate
from kneebench.analysis.knee import final_rungs, knee
from kneebench.analysis.quantity_ratio import KNEE_LATENCY, MEAN, NOPM
from kneebench.analysis.query_rates import QUERIES, pass_rate, timed
from kneebench.analysis.query_streams import stream_knee
from kneebench.analysis.query_times import query_speed
from kneebench.analysis.quoted_load import log_write
from kneebench.analysis.still_warming import still_warming
from kneebench.analysis.undecided import reasons
from kneebench.analysis.wording import as_sentence, listed
from kneebench.records import (
    Climb,
    Comparison,
    Estimate,
    InSeconds,
    Knee,
    Record,
    Remark,
    Results,
    configuration_name,
)
from kneebench.results.campaign_differences import comparable, incomparable
from kneebench.results.trend import Trend
from kneebench.units import count

DRIFT = "the campaigns were not interleaved, so no interval covers drift between them"


class QueryRow(Record):
    """Queries of TPROC-H per hour: in a pass of one stream, over the `queries` with a time, and of
    all streams at the knee. `faster`: by query how many times as fast it was as in the first
    campaign, on the configuration of the same name; empty there.
    """

    queries: tuple[int, ...]
    per_hour: Estimate
    streams: int | None = None
    streams_per_hour: Estimate | None = None
    faster: dict[int, Estimate] = Field(default_factory=dict)


class CampaignRow(Record):
    """One configuration of one campaign. `against` is its NOPM at the knee against the first
    campaign's baseline; None for the baseline itself, and where either has no final runs.
    `sentence` says it for people; `point` is what the final runs measured, "knee" or "fixed load".
    Of TPROC-H it is "pass", `against` is of queries per hour, and `queries` has these.

    The latencies stand beside: in open loop at `rate_per_s` where the rates of all configurations
    count as one, else (`rate_per_s` None) in closed loop at the knee. A campaign sets its rate by
    its own lowest knee, so two campaigns rarely share one. `log_write_s` is the mean log write at
    the knee; None where it was not measured. `p999_certain`: at least 100 samples exceed that
    percentile.

    `label`: "Simulated" or "Emulated drives", which a reader must know first.

    `interleaved`: measured in turn with the first baseline, by the same campaign. Elsewhere drift
    between the campaigns is in no interval.
    """

    campaign: str
    simulated: bool
    label: str = ""
    configuration: str
    storage: str
    constraint: str
    database: str = ""
    point: str
    knee: Knee | None = None
    against: Comparison | None
    rate_per_s: float | None = None
    mean_s: InSeconds | None = None
    p999_s: InSeconds | None = None
    p999_certain: bool = False
    log_write_s: InSeconds | None = None
    interleaved: bool
    latency_against: Comparison | None = None
    queries: QueryRow | None = None
    sentence: str

    @property
    def name(self) -> str:
        """What people read of the configuration."""
        return configuration_name(self.storage, self.constraint, self.database)


def compare_campaigns(
    campaigns: Sequence[Results], *, anyway: bool = False
) -> tuple[CampaignRow, ...]:
    """The configurations of all campaigns, in order.

    Raises PlanError that names the field if the plans differ in one that shapes a figure, but not
    with `anyway` (see `incomparable`).

    Repeats of different campaigns were not interleaved, so they are not paired: drift between the
    days is in the ratio, and in no interval.
    """
    for other in () if anyway else campaigns[1:]:
        comparable(campaigns[0], other)
    bases = {name: _base(part) for name, part in by_database(campaigns[0]).items()}
    rate_per_s = _one_rate([climb for results in campaigns for climb in results.climbs])
    first, *_ = campaigns

    def row(results: Results, climb: Climb) -> CampaignRow:
        base = bases.get(climb.configuration.database, next(iter(bases.values())))
        if results.campaign.resolved.workload == "tproc-h":
            return _query_row(results, climb, base, first)
        return _row(results, climb, base, rate_per_s, interleaved=results is first)

    return tuple(row(results, climb) for results in campaigns for climb in results.climbs)


def caveats(campaigns: Sequence[Results]) -> dict[str, tuple[Remark, ...]]:
    """By campaign, why its figures and the first one's are no fair comparison, then what disturbed
    it; nothing of a campaign without either.
    """
    found = {
        one.campaign.id: (*_unfair(campaigns[0], one), *disturbances(one)) for one in campaigns
    }
    return {id_: remarks for id_, remarks in found.items() if remarks}


def _unfair(first: Results, other: Results) -> Iterator[Remark]:
    if not other.finished:
        words = "it is unfinished: what it lacks is not compared"
        yield Remark(kind="unfinished", severity="caveat", words=words)
    for sentence in incomparable(first, other) if other is not first else ():
        words = f"{sentence}: differences of figures may come from that"
        yield Remark(kind="incomparable", severity="caveat", words=words)


def _one_rate(climbs: Sequence[Climb]) -> float | None:
    """The fixed rate of every configuration with a knee; None if the rates differ or one is
    missing.
    """
    found = [fixed_rate_latency(climb) for climb in climbs if knee(climb)]
    rates = [one.rate_per_s for one in found if one]
    return rates[0] if len(rates) == len(found) and same_rate(rates) else None


def _base(results: Results) -> Climb:
    named = _named(results)
    return next(
        (
            climb
            for climb, own in zip(named, results.climbs, strict=True)
            if own.configuration.storage == baseline(results)
        ),
        named[0],
    )


def _named(results: Results) -> list[Climb]:
    """The climbs, their configurations named with the campaign too: storages of two campaigns may
    have the same name.
    """
    return [_renamed(results, climb) for climb in results.climbs]


def _renamed(results: Results, climb: Climb) -> Climb:
    configuration = climb.configuration.model_copy(
        update={
            "id": f"{results.campaign.id}/{climb.id}",
            "storage": f"{climb.configuration.storage} of {results.campaign.id}",
        }
    )
    return climb.model_copy(update={"configuration": configuration})


class _Latencies(NamedTuple):
    """The mean and the 99.9th percentile, and whether enough samples exceed that."""

    mean_s: Estimate | None = None
    p999_s: Estimate | None = None
    certain: bool = False
    rate_per_s: float | None = None


def _latencies(climb: Climb, found: Knee | None, rate_per_s: float | None) -> _Latencies:
    """At the one rate, or at the knee."""
    if found is None:
        return _Latencies()
    if rate_per_s is None:
        certain = bool(found.latency and found.latency.p999_is_certain)
        return _Latencies(found.latency_s, found.p999_s, certain)
    there = fixed_rate_latency(climb)
    if not there:
        return _Latencies()
    return _Latencies(there.mean_s, there.p999_s, there.p999_certain, there.rate_per_s)


def _why_not(climb: Climb, base: Climb) -> str:
    """Which of the two never became steady; empty for neither."""
    if why := still_warming(climb):
        return f"not compared: {why}"
    return f"the baseline is not compared: {why}" if (why := still_warming(base)) else ""


def _query_row(results: Results, climb: Climb, base: Climb, first: Results) -> CampaignRow:
    named, interleaved = _renamed(results, climb), results is first
    itself = interleaved and named.configuration.id == base.configuration.id
    against = None if itself else ratio_of(named, base, QUERIES, interleaved=interleaved)
    of, at_knee = tuple(sorted(timed(climb))), stream_knee(climb)
    then = [] if interleaved else [one for one in first.climbs if one.id == climb.id]
    faster = {
        number: ratio for number in of for one in then if (ratio := query_speed(climb, one, number))
    }
    rate = pass_rate(of, climb)
    of_queries = rate and QueryRow(
        queries=of,
        per_hour=rate,
        streams=at_knee and at_knee.streams,
        streams_per_hour=at_knee and at_knee.per_hour,
        faster=faster,
    )
    plain = "the baseline" if itself else "no pass has all queries in both"
    return CampaignRow(
        **_of_campaign(results, climb),
        point="pass",
        against=against,
        interleaved=interleaved,
        queries=of_queries,
        sentence=_sentence(against, interleaved=interleaved) or plain,
    )


def _of_campaign(results: Results, climb: Climb) -> dict[str, Any]:
    return {
        "campaign": results.campaign.id,
        "simulated": results.campaign.simulated,
        "label": results.campaign.label,
        "configuration": climb.id,
        "storage": climb.configuration.storage,
        "constraint": climb.configuration.constraint,
        "database": climb.configuration.database,
    }


def _sentence(against: Comparison | None, *, interleaved: bool) -> str:
    """What the comparison says, with what its interval leaves out; empty without one."""
    return against.sentence + ("" if interleaved else f"; {DRIFT}") if against else ""


def _row(
    results: Results, climb: Climb, base: Climb, rate_per_s: float | None, *, interleaved: bool
) -> CampaignRow:
    named, found = _renamed(results, climb), knee(climb)
    itself = interleaved and named.configuration.id == base.configuration.id
    of = (NOPM, MEAN if rate_per_s else KNEE_LATENCY)
    against, latency = (
        None if itself else ratio_of(named, base, quantity, interleaved=interleaved)
        for quantity in of
    )
    at, seen = point(results.campaign), _latencies(climb, found, rate_per_s)
    plain = (
        "the baseline"
        if itself
        else (
            f"no final run at the {at}"
            if found is None
            else _why_not(climb, base) or f"the baseline has no final run at the {at}"
        )
    )
    return CampaignRow(
        **_of_campaign(results, climb),
        point=at,
        knee=found,
        against=against,
        rate_per_s=seen.rate_per_s or rate_per_s,
        mean_s=seen.mean_s,
        p999_s=seen.p999_s,
        p999_certain=seen.certain,
        log_write_s=log_write(final_rungs(climb)),
        interleaved=interleaved,
        latency_against=latency,
        sentence=_sentence(against, interleaved=interleaved) or plain,
    )


# Compared campaigns in words: at which fixed rates, and why no difference is claimed.


def fixed_rate(rows: Sequence[CampaignRow]) -> str:
    """Where latencies of all rows were measured in open loop; empty where they were not."""
    rates = [row.rate_per_s for row in rows if row.rate_per_s]
    return rate_text(rates) if rates else ""


def notes(rows: Sequence[CampaignRow], trend: Sequence[Trend] = ()) -> Iterator[str]:
    """Sentences below the tables: the rates where they differ, then each reason why no difference
    is claimed.
    """
    rates = {row.campaign: f"{count(row.rate_per_s)}/s" for row in rows if row.rate_per_s}
    if len({*rates.values()}) > 1:
        each = [f"{rate} in {campaign}" for campaign, rate in rates.items()]
        yield f"The fixed rate is {listed(each)}."
    found = [one for row in rows for one in (row.against, row.latency_against)]
    found += [point.against for one in trend for point in one.points]
    yield from map(as_sentence, reasons(found))
