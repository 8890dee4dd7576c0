"""When a rung is measured again, and what is kept of the attempts before."""

from __future__ import annotations

from collections.abc import Sequence

from kneebench.analysis.disturbance import CLIMBING, TRIES, caveats, heavier
from kneebench.measurement.measure import MeasuredRung
from kneebench.records import Rung, noted


def disturbed_by(measured: MeasuredRung, searched: Sequence[Rung]) -> tuple[str, int]:
    """(what disturbed a rung so that it is measured again, or nothing; attempts at most).

    A short round is measured again for any reason, also once more if other processes or a
    hypervisor used more of the cores than a caveat allows. So is a rung of a climb, and one that
    fell behind a checkpoint, unlike those `searched` before it.
    """
    rung, round_ = measured.rung, bool(measured.rung.order.restore)
    if invalid := measured.disturbed or (round_ and rung.invalid):
        return f"invalid: {invalid}", TRIES
    climbing = rung.order.phase in CLIMBING
    seen = [one.words for one in caveats(rung)]
    seen += heavier(rung, searched) if climbing else ()
    return (f"disturbed: {'; '.join(seen)}", 2) if seen and (round_ or climbing) else ("", 1)


def with_tries(rung: Rung, tried: Sequence[str]) -> Rung:
    """The rung with a note for each attempt before it, which is not kept."""
    repeated = (
        f"attempt {number} of {len(tried) + 1} was repeated: {seen}"
        for number, seen in enumerate(tried, start=1)
    )
    return rung.with_remarks(*noted("repeated", *repeated))
