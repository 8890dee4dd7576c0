"""The answer for one storage, gathered from the analysis for a row of the summary (and of --json)."""

from __future__ import annotations

from kneebench.analysis.bottleneck import bottleneck
from kneebench.analysis.knee import knee, metered, report_rungs
from kneebench.analysis.latencies import at_one_rate
from kneebench.records import Climb, Estimate, Record, Results
from kneebench.results.reading import point


class Answer(Record):
    """A storage's knee (or what it did at the load that the plan fixed: `point`), its latency at the rate that all storages share, what stopped it;
    None where not measured.

    The latencies are open-loop at `rate_per_s`, as in the brief (percentiles from the merged histogram; `p999_certain`: at least
    100 samples lie beyond it); `log_write_s` is of the knee's rungs of the report.
    """

    storage: str
    point: str
    users: Estimate | None
    nopm: Estimate | None
    tpm: Estimate | None
    rate_per_s: float | None
    mean_s: Estimate | None
    p999_s: Estimate | None
    p999_certain: bool
    log_write_s: Estimate | None
    stopped_by: str
    bottleneck: str


def answers(results: Results) -> list[Answer]:
    """One answer a climb, in the order measured."""
    return [_answer(climb, point(results.campaign)) for climb in results.climbs]


def _answer(climb: Climb, at: str) -> Answer:
    found = knee(climb)
    rate = at_one_rate(climb)
    return Answer(
        storage=climb.cell.storage,
        point=at,
        users=found.users if found else None,
        nopm=found.nopm if found else None,
        tpm=found.tpm if found else None,
        rate_per_s=rate.rate_per_s if rate else None,
        mean_s=rate.mean_s if rate else None,
        p999_s=rate.p999_s if rate else None,
        p999_certain=rate.p999_certain if rate else True,
        log_write_s=metered(report_rungs(climb), "log.write_latency"),
        stopped_by=climb.stopped_by or "not stopped yet",
        bottleneck=bottleneck(climb).resource if climb.rungs else "",
    )
