"""Predictions: what would help most by a model, and what was predicted before beside what was
measured.
"""

from __future__ import annotations

from collections.abc import Iterator

from kneebench import units
from kneebench.analysis.wording import ends, percent
from kneebench.brief.section import Section
from kneebench.brief.view_model import ViewModel
from kneebench.prediction.gains import ratio_words, unchanged
from kneebench.records import Estimate, PredictedGain, SavedPrediction


def section(view: ViewModel) -> Section | None:
    """Nothing where nothing was predicted."""
    sentences = (*_gains(view), *_saved(view))
    if not sentences:
        return None
    return Section(name="predictions", title="Predicted", sentences=sentences)


def _gains(view: ViewModel) -> Iterator[str]:
    predicted = view.campaign.predicted
    if not predicted or not predicted.gains:
        return
    each = "; ".join(map(_gain, predicted.gains))
    yield (
        f"What would help {view.name(predicted.configuration)} most, predicted and not measured:"
        f" {each}. The model misses what it was not fitted to by {percent(predicted.median_error)}"
        " (median). The command kneebench what-if answers more."
    )


def _gain(one: PredictedGain) -> str:
    ratio = ratio_words(one.ratio, at_least=one.at_least)
    undecided = one.ratio.low <= 1 <= one.ratio.high and not unchanged(one.ratio)
    return f"{one.change}: {'no difference shown, ' if undecided else ''}{ratio}"


def _saved(view: ViewModel) -> Iterator[str]:
    """A sentence for each prediction of a storage that was measured."""
    for one in view.campaign.saved_predictions:
        for climb in view.climbs:
            found = view.knees.get(climb.id)
            if climb.configuration.storage == one.storage and found:
                yield _beside(one, found.nopm)
                break


def _beside(one: SavedPrediction, nopm: Estimate) -> str:
    where = "within" if one.nopm.low <= nopm.value <= one.nopm.high else "outside"
    return (
        f"{one.storage} ({one.change}): {units.significant(one.nopm.value)} NOPM"
        f" ({ends(one.nopm, units.significant)}) were predicted from {one.campaign},"
        f" {units.significant(nopm.value)} were measured: {where} the interval."
    )
