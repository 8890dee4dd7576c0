"""Latency in open loop, at the fixed rate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple

from kneebench import units
from kneebench.analysis.fixed_rate import MOST_WAIT, waited_for
from kneebench.analysis.headline import foremost
from kneebench.analysis.quantity_ratio import few_beyond
from kneebench.analysis.undecided import not_shown
from kneebench.analysis.wording import FEW, FEW_MEANS, has_interval, percent, times_with_interval
from kneebench.brief.bars import Bar, bars, interval_ends
from kneebench.brief.section import Figure, Section, part_of_each
from kneebench.brief.sections import numbered
from kneebench.brief.view_model import ViewModel
from kneebench.records import Comparison, Estimate


def section(view: ViewModel) -> Section | None:
    """Mean and 99.9th percentile, side by side."""
    if not view.fixed_rate_latency:
        return None
    return Section(
        name="latency",
        title="Latency at a fixed rate",
        figures=(_figure(view, "mean"), _figure(view, "p999")),
        stack=True,
        part=part_of_each(view),
    )


def _figure(view: ViewModel, which: Which) -> Figure:
    rows = [
        ConfigurationLatency(
            configuration, rate.mean_s if which == "mean" else rate.p999_s, rate.p999_certain
        )
        for configuration, rate in view.fixed_rate_latency.items()
    ]
    best = view.compared(f"latency.{which}", _quoted(view))
    title = _title(view, which, best)
    number = numbered("latency", "a" if which == "mean" else "b")
    compared = best is not None and times_with_interval(best.ratio) in title
    caption = _caption(view, which) + (_paired(view, best) if compared else "")
    return latency_figure(view, which, rows, Text(number, "latency", title, caption))


def _quoted(view: ViewModel) -> str:
    """The configuration that the brief's title is about."""
    best = foremost(view.comparisons)
    return best.configuration if best else ""


def _title(view: ViewModel, which: Which, best: Comparison | None) -> str:
    """The ratio of the title's pair; none of percentiles that are too uncertain to compare."""
    what = WORDS[which]
    if best is None:
        return what
    pair = (best.configuration, best.baseline)
    if which == "p999" and not all(view.fixed_rate_latency[id].p999_certain for id in pair):
        return f"Too few transactions to compare {what.replace(' latency', '')}"
    shown = what if best.differs else f"{what}, {not_shown(best.ratio).lower()}"
    ratio = times_with_interval(best.ratio) + _few(view, which, best)
    return f"{shown}: {view.name(best.configuration)} {ratio} vs. {view.name(best.baseline)}"


def _few(view: ViewModel, which: Which, best: Comparison) -> str:
    """Beside a ratio of percentiles, of which a run alone has too few transactions."""
    pair = [one for one in view.climbs if one.id in (best.configuration, best.baseline)]
    return f" ({FEW})" if which == "p999" and few_beyond(*pair) else ""


def _caption(view: ViewModel, which: Which) -> str:
    first = next(iter(view.fixed_rate_latency.values()))
    rate = (
        f"Open loop at {units.count(first.rate_per_s)} transactions/s on every"
        f" storage{_share(view)}"
    )
    if which == "mean":
        means = [one.mean_s for one in view.fixed_rate_latency.values()]
        whiskers = (
            f"Whiskers are 95% CIs over {first.mean_s.n} repeats."
            if any(map(has_interval, means))
            else "Too few runs for an interval."
        )
        return (
            f"{rate}. Latency counts from the intended start, so stalls are not hidden."
            f"{_without_the_wait(view)} {whiskers}"
        )
    few = {
        configuration: one.n
        for configuration, one in view.fixed_rate_latency.items()
        if not one.p999_certain
    }
    each = "; ".join(
        f"{view.name(configuration)} {n:,} transactions" for configuration, n in few.items()
    )
    mark = f" {FEW_MEANS.removesuffix('.')} ({each})." if few else ""
    return (
        f"{rate}. The histograms of all repeats are merged. Whiskers are run-to-run variation"
        f" or the percentile's sampling error, the wider one.{mark}"
    )


def _without_the_wait(view: ViewModel) -> str:
    """The means without the wait for a free user, where that was a large part of any."""
    found = view.fixed_rate_latency
    if not any(one.wait and one.wait > MOST_WAIT for one in found.values()):
        return ""
    each = [
        f"{view.name(configuration)} {units.time(one.without_wait_s.value)}"
        for configuration, one in found.items()
        if one.without_wait_s
    ]
    waits = waited_for(view.campaign.resolved.connections)
    return f" Without the wait for {waits}: {', '.join(each)}."


def _paired(view: ViewModel, best: Comparison | None) -> str:
    """Where a repeat is missing or invalid on one storage, the title's ratio leaves out the other's
    too, and the bars do not.
    """
    repeats = (
        {
            view.fixed_rate_latency[configuration].mean_s.n
            for configuration in (best.configuration, best.baseline)
        }
        if best
        else set()
    )
    return (
        f" The title's ratio uses the {best.ratio.n} repeats that both storages have."
        if best and repeats != {best.ratio.n}
        else ""
    )


def _share(view: ViewModel) -> str:
    """How hard that rate is for the slowest: the final runs' first turn decided it, and the repeats
    after it count too.
    """
    shares = {
        configuration: one.share
        for configuration, one in view.fixed_rate_latency.items()
        if one.share
    }
    if not shares:
        return ""
    most = max(shares, key=lambda one: shares[one])
    share = percent(round(shares[most], 2))
    return f", {share} of the throughput of {view.name(most)} at its {view.point}"


# Bars of a latency by configuration: its mean, or its 99.9th percentile.

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
    doubt = "" if which == "mean" or one.certain else f"\n({FEW})"
    return Bar(
        view.name(one.configuration),
        of.value * 1e3,
        *interval_ends(of, 1e3),
        f"{units.time(of.value)}{one.load}{doubt}",
    )
