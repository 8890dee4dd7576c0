"""What a model predicted of a campaign's storages: no measurement."""

from __future__ import annotations

from kneebench.records.estimate import Estimate
from kneebench.records.record import Record


class PredictedGain(Record):
    """What a change would give."""

    change: str
    """The change in words, such as "log writes of 50 µs"."""
    ratio: Estimate
    """NOPM at the knee over that of the configuration as it was measured."""
    at_least: bool = False
    """Whether it is more, limited by a resource that limited nothing measured."""


class PredictedGains(Record):
    """What would help a configuration most, by the model that was fitted to it."""

    configuration: str
    """Id of the configuration."""
    median_error: float
    """Median error of the model where a number of users was left out, a fraction."""
    gains: tuple[PredictedGain, ...]
    """The changes that were asked for, the largest gain first."""


class SavedPrediction(Record):
    """A prediction that was saved before the campaign began, of one of its configurations."""

    configuration: str
    """Id of the configuration."""
    change: str
    """What was asked, in words."""
    saved_at: str
    """Time at which it was saved."""
    campaign: str
    """Campaign from which it was predicted."""
    nopm: Estimate
    """Predicted NOPM at the knee."""
