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
    undecided = 1 in one.ratio and not unchanged(one.ratio)
    return f"{one.change}: {'no difference shown, ' if undecided else ''}{ratio}"


def _saved(view: ViewModel) -> Iterator[str]:
    """A sentence for each prediction of a configuration that was measured."""
    for one in view.campaign.saved_predictions:
        if found := view.knees.get(one.configuration):
            yield _beside(view.name(one.configuration), one, found.nopm)


def _beside(name: str, one: SavedPrediction, nopm: Estimate) -> str:
    where = "within" if nopm.value in one.nopm else "outside"
    return (
        f"{name} ({one.change}): {units.significant(one.nopm.value)} NOPM"
        f" ({ends(one.nopm, units.significant)}) were predicted from {one.campaign},"
        f" {units.significant(nopm.value)} were measured: {where} the interval."
    )
