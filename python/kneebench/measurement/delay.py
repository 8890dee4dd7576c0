"""The load generator's own delay: how long answers, and starts that were due, waited for its
threads to run.

No latency includes it (docs/method/load-generator.md). In a closed loop it still costs throughput:
a user who waits in the load generator asks the database for nothing. In an open loop it bunches the
starts. So it is printed, and beyond a limit the rung is invalid.
"""

from __future__ import annotations

from kneebench.records import Remark, Severity, Summary, Tally, noted
from kneebench.units import time

PRINTED = 0.02
"""Share of the mean latency from which the delay is printed."""
LIMIT = 0.5
"""Share of the mean latency above which a rung is invalid: its users spent a third of their time in
the load generator."""


def share(tally: Tally) -> float | None:
    """The mean delay as a share of the mean latency; None where either is unknown."""
    return tally.delay.mean_s / tally.latency.mean_s if tally.delay and tally.latency else None


def quantity(tally: Tally) -> Summary | None:
    """The mean per transaction; `high` is the P99.9."""
    return (
        Summary(unit="s", value=tally.delay.mean_s, high=tally.delay.p999_s)
        if tally.delay
        else None
    )


def remarks(tally: Tally) -> tuple[Remark, ...]:
    """The delay where it is worth printing, with how it was measured; or that it was not, so that
    the latencies include it.
    """
    if not tally.latency:
        return ()
    found = share(tally)
    if found is None:
        return noted(
            "not_measured",
            "delay in the load generator not measured (this kernel keeps no scheduler"
            " statistics): latencies include it",
        )
    if not tally.delay or found <= PRINTED:
        return ()
    how = (
        "receive stamps"
        if tally.delay_stamped == tally.delay.n
        else "from the scheduler: Unix sockets and TLS have no receive stamps"
    )
    words = (
        f"delay in the load generator {time(tally.delay.mean_s)}, {100 * found:.0f}% of the mean"
        f" latency, which excludes it ({how})"
    )
    return (_of_the_delay("note", words, found, PRINTED),)


def invalid(tally: Tally) -> Remark | None:
    """Why the rung must not be used; None where it may."""
    found = share(tally)
    if found is None or found <= LIMIT:
        return None
    words = (
        f"the load generator delayed its transactions by {100 * found:.0f}% of their mean latency"
        f" (limit {100 * LIMIT:.0f}%): it had too little CPU time"
    )
    return _of_the_delay("invalid", words, found, LIMIT)


def _of_the_delay(severity: Severity, words: str, share: float, limit: float) -> Remark:
    return Remark(
        kind="delay", severity=severity, words=words, value=share, limit=limit, unit="share"
    )
