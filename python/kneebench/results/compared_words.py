"""Compared campaigns in words: at which fixed rates, and why no difference is claimed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kneebench.analysis.fixed_rate import rate_text
from kneebench.analysis.undecided import reasons
from kneebench.analysis.wording import as_sentence, listed
from kneebench.results.cross_campaign import CampaignRow
from kneebench.results.trend import Trend
from kneebench.units import count


def fixed_rate(rows: Sequence[CampaignRow]) -> str:
    """Where latencies of all rows were measured in open loop; empty where they were not."""
    rates = [row.rate_per_s for row in rows if row.rate_per_s]
    return rate_text(rates) if rates else ""


def notes(rows: Sequence[CampaignRow], trend: Sequence[Trend] = ()) -> Iterator[str]:
    """Sentences below the tables: the rates where they differ, then each reason why no difference
    is claimed.
    """
    rates = {row.campaign: f"{count(row.rate_per_s)}/s" for row in rows if row.rate_per_s}
    if len({*rates.values()}) > 1:
        each = [f"{rate} in {campaign}" for campaign, rate in rates.items()]
        yield f"The fixed rate is {listed(each)}."
    found = [one for row in rows for one in (row.against, row.latency_against)]
    found += [point.against for one in trend for point in one.points]
    yield from map(as_sentence, reasons(found))
