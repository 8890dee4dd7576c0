"""Bars of a latency by configuration: its mean, or its 99.9th percentile."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from kneebench import units
from kneebench.analysis.wording import FEW
from kneebench.brief.bars import Bar, bars, interval_ends
from kneebench.brief.section import Figure
from kneebench.brief.view_model import ViewModel
from kneebench.records import Estimate

Which = Literal["mean", "p999"]
WORDS: dict[Which, str] = {"mean": "Mean latency", "p999": "P99.9 latency"}


class ConfigurationLatency(NamedTuple):
    """A latency of one configuration; `certain`: enough samples lie beyond the percentile; `load`:
    what the label says of its load.
    """

    configuration: str
    latency_s: Estimate
    certain: bool = True
    load: str = ""


class Text(NamedTuple):
    """What stands around the bars."""

    number: str
    name: str
    title: str
    caption: str


def latency_figure(
    view: ViewModel, which: Which, latencies: Iterable[ConfigurationLatency], text: Text
) -> Figure:
    """The bars with their intervals; a mean of one run alone has none."""
    rows = [_bar(view, which, one) for one in latencies]
    return Figure(
        name=f"{text.name}-{which}",
        number=text.number,
        title=text.title,
        caption=text.caption,
        alt=f"Bars. {text.title}.",
        spec=bars(view, rows, "Latency, ms"),
    )


def _bar(view: ViewModel, which: Which, one: ConfigurationLatency) -> Bar:
    of = one.latency_s
    doubt = "" if which == "mean" or one.certain else f" ({FEW})"
    return Bar(
        view.name(one.configuration),
        of.value * 1e3,
        *interval_ends(of, 1e3),
        f"{units.time(of.value)}{doubt}{one.load}",
    )
