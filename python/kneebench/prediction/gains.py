"""What would help most: a few changes of a configuration, predicted from its own campaign."""

from __future__ import annotations

from collections.abc import Iterator

from kneebench import units
from kneebench.errors import InvalidMeasurement, PlanError
from kneebench.prediction.misses import memory_of
from kneebench.prediction.prediction import Predictor
from kneebench.prediction.what_if import MOST_DRIVE, WhatIf
from kneebench.records import Estimate, PredictedGain, PredictedGains, Results

FAST_LOG_S, FAST_READ_S = 50e-6, 80e-6
"""About what a fast NVMe drive takes."""
SLOWER = 2
"""Such a drive is asked for where the drive takes so many times as long."""
NO_CHANGE = 0.005
"""Ratios closer to 1 than this, with their intervals, are no change."""


def gains(results: Results) -> PredictedGains | None:
    """Those of the baseline; None where the model does not describe it, or misses its rungs."""
    if not results.climbs:
        return None
    climb = results.climbs[0]
    try:
        of = Predictor(results, climb)
    except (PlanError, InvalidMeasurement):
        return None
    found = sorted(_predicted(of), key=lambda one: -one.ratio.value)
    return PredictedGains(
        configuration=climb.id, median_error=of.fit.median_error, gains=tuple(found)
    )


def _predicted(of: Predictor) -> Iterator[PredictedGain]:
    """The changes that the campaign can tell something of."""
    for change in _changes(of):
        try:
            found = of.predict(change)
        except PlanError:
            continue
        yield PredictedGain(change=change.words, ratio=found.ratio, at_least=found.at_least)


def _changes(of: Predictor) -> Iterator[WhatIf]:
    """A fast drive's log writes, its reads, twice the memory, twice the cores."""
    alone = of.rungs[0]
    if alone.flush_s > SLOWER * FAST_LOG_S:
        yield WhatIf(log_write_s=max(FAST_LOG_S, alone.flush_s / MOST_DRIVE))
    if of.fit.model.reads_per_transaction and alone.read_s > SLOWER * FAST_READ_S:
        yield WhatIf(read_s=max(FAST_READ_S, alone.read_s / MOST_DRIVE))
    had = memory_of(of.climb.configuration) or of.results.campaign.host.memory_bytes
    yield WhatIf(memory_bytes=2 * had)
    yield WhatIf(cores=2 * of.cores.number)


def unchanged(ratio: Estimate) -> bool:
    """Whether neither a ratio nor its interval leaves 1."""
    return max(abs(ratio.low - 1), abs(ratio.high - 1)) < NO_CHANGE


def ratio_words(ratio: Estimate, *, at_least: bool = False) -> str:
    """A predicted ratio, never without its interval.

    >>> ratio = Estimate(value=1.4, low=1.2, high=1.6, n=8, unit="x")
    >>> ratio_words(ratio), ratio_words(ratio, at_least=True)
    ('1.40x (1.20x to 1.60x)', 'at least 1.20x')
    """
    value, low, high = units.times_and_ends(ratio.value, ratio.low, ratio.high)
    if unchanged(ratio):
        return "no change"
    return f"at least {low}" if at_least else f"{value} ({low} to {high})"
