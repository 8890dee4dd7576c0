"""Predictions from several storages of one campaign: each is the drive that is asked about with
other figures, so each has an answer to the same question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import fsum

from kneebench.analysis.estimate import student_t
from kneebench.errors import InvalidMeasurement, PlanError
from kneebench.prediction.prediction import Prediction, Predictor
from kneebench.prediction.what_if import WhatIf
from kneebench.records import Estimate

NO_DRIVE_S = 50e-6
"""A storage whose log writes take less is in memory: it lacks the CPU time that a drive costs."""
METHOD = "predictions from {} storages, pooled by their intervals"


def other_drives(of: Predictor) -> tuple[Predictor, ...]:
    """The campaign's other drives under the same constraint that the model describes."""
    found = []
    for climb, flush_s in of.alike:
        if flush_s < NO_DRIVE_S:
            continue
        try:
            found.append(Predictor(of.results, climb))
        except (PlanError, InvalidMeasurement):
            continue
    return tuple(found)


def pooled(of: Predictor, others: Sequence[Predictor], change: WhatIf) -> Prediction:
    """A prediction from a configuration, and from others where the change sets all by which they
    differ from it: the times of log writes and of reads.
    """
    own = of.predict(change)
    every = [own]
    for other in others:
        reads = other.fit.model.reads_per_transaction
        if change.log_write_s is not None and (change.read_s is not None or not reads):
            every.append(other.predict(change))
    if len(every) == 1:
        return own
    nopm = _mean([one.nopm for one in every])
    base = of.measured.nopm.value
    ends = {key: getattr(nopm, key) / base for key in ("value", "low", "high")}
    ratio = nopm.model_copy(update={**ends, "unit": own.ratio.unit})
    surest = min(every, key=lambda one: one.nopm.high / one.nopm.low)
    update = {"nopm": nopm, "ratio": ratio, "at_least": surest.at_least and ratio.low > 1}
    return surest.model_copy(update=update)


def _mean(some: Sequence[Estimate]) -> Estimate:
    """Of figures with intervals, each as sure as its interval is narrow; wider where they disagree
    by more than their intervals allow.

    >>> each = [Estimate(value=v, low=v / 1.2, high=1.2 * v, n=9) for v in (90.0, 110.0)]
    >>> found = _mean(each)
    >>> round(found.low), round(found.value), round(found.high)
    (79, 99, 125)
    """
    logs = [math.log(one.value) for one in some]
    errors = [math.log(one.high / one.low) / 2 / student_t(one.n - 1) for one in some]
    weights = [1 / error**2 for error in errors]
    mean = fsum(w * y for w, y in zip(weights, logs, strict=True)) / fsum(weights)
    apart = fsum(w * (y - mean) ** 2 for w, y in zip(weights, logs, strict=True))
    variance = max(1.0, apart / (len(some) - 1)) / fsum(weights)
    fewest = min(one.n for one in some)
    half = student_t(fewest - 1) * math.sqrt(variance)
    low, value, high = (math.exp(mean + each) for each in (-half, 0.0, half))
    found = {"value": value, "low": low, "high": high, "n": fewest}
    return some[0].model_copy(update={**found, "method": METHOD.format(len(some))})
