"""The answer for one storage, gathered from the analysis for a row of the summary (and of --json)."""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.analysis.bottleneck import bottleneck
from kneebench.analysis.estimate import estimate
from kneebench.analysis.knee import knee, report_rungs
from kneebench.records import Climb, Estimate, Record, Results


class Answer(Record):
    """A storage's knee, its latency at the rate that all storages share, what stopped it; None where not measured.

    The latencies are open-loop at `rate_per_s`; `log_write_s` is of the knee's rungs of the report.
    """

    storage: str
    users: Estimate | None
    nopm: Estimate | None
    tpm: Estimate | None
    rate_per_s: float | None
    mean_s: Estimate | None
    p999_s: Estimate | None
    log_write_s: Estimate | None
    stopped_by: str
    bottleneck: str


def answers(results: Results) -> list[Answer]:
    """One answer a climb, in the order measured."""
    return [_answer(climb) for climb in results.climbs]


def _answer(climb: Climb) -> Answer:
    found = knee(climb)
    open_loop = [rung for rung in climb.of("latency") if not rung.invalid]
    latencies = [rung.tally.latency for rung in open_loop if rung.tally.latency]
    return Answer(
        storage=climb.cell.storage,
        users=found.users if found else None,
        nopm=found.nopm if found else None,
        tpm=found.tpm if found else None,
        rate_per_s=open_loop[0].order.rate_per_s if open_loop else None,
        mean_s=_estimate([latency.mean_s for latency in latencies]),
        p999_s=_estimate([latency.p999_s for latency in latencies]),
        log_write_s=_estimate([value for rung in report_rungs(climb) if (value := rung.quantity("log.write_latency")) is not None]),
        stopped_by=climb.stopped_by or "not stopped yet",
        bottleneck=bottleneck(climb).resource if climb.rungs else "",
    )


def _estimate(values: Sequence[float]) -> Estimate | None:
    return estimate(values) if values else None
