"""The page of `what-if --score`: saved predictions beside what was measured later."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from statistics import median
from typing import Any

from kneebench import units
from kneebench.analysis.bottleneck import BY_KEY
from kneebench.analysis.wording import ends, percent, plural
from kneebench.brief.campaigns.campaigns_page import CampaignsPage, compared_section, flat
from kneebench.brief.section import Row, Section, Table, columns
from kneebench.prediction.ledger import Scored
from kneebench.records import Results

COLUMNS = columns(
    "Storage",
    "Predicted from",
    ">Predicted NOPM",
    ">95% CI",
    ">Measured NOPM",
    ">Error",
    "Interval",
    "Bottleneck, predicted",
    "Measured",
)


class ScorePage(CampaignsPage):
    """Predictions that were measured since."""

    what = "what-if"

    def __init__(self, found: Sequence[Scored], campaigns: Sequence[Results]) -> None:
        self.found, self.campaigns = found, campaigns

    @property
    def title(self) -> str:
        held, number = sum(one.held for one in self.found), len(self.found)
        return self.labelled(f"Predictions: {held} of {plural(number, 'interval')} held")

    @property
    def subtitle(self) -> str:
        error = median(abs(one.error) for one in self.found)
        return f"Median error of predicted NOPM at the knee: {percent(error)}"

    @property
    def figures(self) -> list[dict[str, Any]]:
        """A row for each prediction."""
        return [
            {
                "storage": one.kept.storage,
                "predicted_from": one.kept.campaign,
                "measured_in": one.campaign,
                **flat("predicted_nopm", one.kept.prediction.nopm),
                **flat("measured_nopm", one.nopm),
                "error": one.error,
                "held": one.held,
                "predicted_bottleneck": one.kept.prediction.resource,
                "measured_bottleneck": one.resource,
            }
            for one in self.found
        ]

    def document(self) -> dict[str, Any]:
        return {
            "derived": self.derived,
            "held": sum(one.held for one in self.found),
            "scored": len(self.found),
            "median_error": median(abs(one.error) for one in self.found),
            "predictions": self.figures,
        }

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        table = Table(columns=COLUMNS, rows=tuple(map(_row, self.found)))
        scored = Section(name="score", title="Each prediction", tables=(table,))
        return (scored, compared_section(self.campaigns))


def _row(one: Scored) -> Row:
    predicted = one.kept.prediction.nopm
    cells = (
        f"{one.kept.storage} ({one.kept.prediction.what_if.words})",
        one.kept.campaign,
        units.significant(predicted.value),
        ends(predicted, units.significant),
        units.significant(one.nopm.value),
        percent(one.error, signed=True),
        "held" if one.held else "missed",
        _called(one.kept.prediction.resource),
        _called(one.resource),
    )
    return Row(cells=cells)


def _called(resource: str) -> str:
    found = BY_KEY.get(resource)
    return found.called if found else "none stands out"
