"""Predictions from several configurations of one campaign: each of them, with a change that sets
all by which they differ, is the same configuration, so each has an answer to the same question.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from math import fsum

from kneebench.analysis.estimate import student_t
from kneebench.errors import InvalidMeasurement, PlanError
from kneebench.prediction.fit import TINY
from kneebench.prediction.observed import HARDLY
from kneebench.prediction.prediction import Prediction, Predictor, as_measured, half_of, times
from kneebench.prediction.what_if import WhatIf
from kneebench.records import Climb, Estimate

NO_DRIVE_S = 50e-6
"""A storage whose log writes take less is in memory: it lacks the CPU time that a drive costs."""
METHOD = "predictions from {} configurations, pooled by their intervals"
UNSET = ("database", "databases", "siblings", "numa_node", "io")
"""What of a configuration no change sets."""


def others_for(
    of: Predictor, changes: Sequence[WhatIf], watch: Callable[[Climb], None] = lambda climb: None
) -> tuple[Predictor, ...]:
    """The campaign's other configurations that one of the changes makes the same as this one, as
    far as the model describes them. `watch` hears of each before it is fitted.
    """
    found = []
    for climb in of.results.climbs:
        if climb.id == of.climb.id or not any(_same(of, climb, one) for one in changes):
            continue
        watch(climb)
        try:
            found.append(Predictor(of.results, climb))
        except (PlanError, InvalidMeasurement):
            continue
    return tuple(found)


def _same(of: Predictor, climb: Climb, change: WhatIf) -> bool:
    """Whether a change sets all by which another configuration differs from this one."""
    own, other = of.climb.configuration, climb.configuration
    stays = {
        **dict.fromkeys(UNSET, True),
        "storage": not _sets_drive(of, climb, change),
        "cores": change.cores is None,
        "memory_bytes": change.memory_bytes is None,
        "engine_memory_bytes": change.memory_bytes is None,
    }
    return all(getattr(own, key) == getattr(other, key) for key in stays if stays[key])


def _sets_drive(of: Predictor, climb: Climb, change: WhatIf) -> bool:
    """Whether a change sets the times of another storage's drive: those of log writes, and of reads
    where there are any.
    """
    rungs = of.observed(climb)
    if not rungs or rungs[0].flush_s < NO_DRIVE_S or change.log_write_s is None:
        return False
    return change.read_s is not None or all(one.reads <= HARDLY for one in rungs)


def pooled(of: Predictor, others: Sequence[Predictor], change: WhatIf) -> Prediction:
    """A prediction from a configuration, and from the others that the change makes the same.
    Raises PlanError where it is too far from what was measured for all of them.
    """
    found = tuple(_each(of, others, change))
    if all(source is of for source, _ in found):
        return of.predict(change)
    nopm = _mean([times(source.measured.nopm, one.ratio) for source, one in found])
    base = of.measured.nopm
    ends = {key: getattr(nopm, key) / base.value for key in ("value", "low", "high")}
    ratio = nopm.model_copy(update={**ends, "unit": "x"})
    surest = min((one for _, one in found), key=lambda one: half_of(one.nopm))
    update = {
        "nopm": as_measured(nopm, base),
        "ratio": ratio,
        "at_least": surest.at_least and ratio.low > 1,
    }
    return surest.model_copy(update=update)


def _each(
    of: Predictor, others: Sequence[Predictor], change: WhatIf
) -> Iterator[tuple[Predictor, Prediction]]:
    """The predictions of those that are not too far from the change."""
    for one in (of, *(other for other in others if _same(of, other.climb, change))):
        with contextlib.suppress(PlanError):
            yield one, one.predict(change)


def _mean(some: Sequence[Estimate]) -> Estimate:
    """Of figures with intervals, each as sure as its interval is narrow; wider where they disagree
    by more than their intervals allow, and no surer than the surest: they share the model.

    >>> for pair in ((100, 100), (90, 110)):
    ...     found = _mean([Estimate(value=v, low=v / 1.2, high=1.2 * v, n=9) for v in pair])
    ...     print(round(found.low), round(found.value), round(found.high))
    83 100 120
    79 99 125
    """
    if len(some) == 1:
        return some[0]
    logs = [math.log(one.value) for one in some]
    errors = [max(TINY, half_of(one)) / student_t(one.n - 1) for one in some]
    weights = [1 / error**2 for error in errors]
    mean = fsum(w * y for w, y in zip(weights, logs, strict=True)) / fsum(weights)
    apart = fsum(w * (y - mean) ** 2 for w, y in zip(weights, logs, strict=True))
    variance = max(1 / max(weights), apart / (len(some) - 1) / fsum(weights))
    fewest = min(one.n for one in some)
    half = student_t(fewest - 1) * math.sqrt(variance)
    low, value, high = (math.exp(mean + each) for each in (-half, 0.0, half))
    found = {"value": value, "low": low, "high": high, "n": fewest}
    return some[0].model_copy(update={**found, "method": METHOD.format(len(some))})
