"""Fig. 2: latency in open loop, at one rate for all storages."""

from __future__ import annotations

from kneebench import units
from kneebench.analysis.fixed_rate import FixedRateLatency
from kneebench.analysis.wording import FEW, FEW_MEANS, NO_DIFFERENCE, percent, times_with_interval
from kneebench.brief.bars import BEYOND, Bar, bars, cut_off
from kneebench.brief.section import Figure, Section
from kneebench.brief.view_model import ViewModel
from kneebench.records import Comparison, Estimate

PLACE = 30


def section(view: ViewModel) -> Section | None:
    """Mean and 99.9th percentile, side by side."""
    if not view.fixed_rate_latency:
        return None
    return Section(
        name="latency",
        title="Latency at a fixed rate",
        figures=(_figure(view, "mean"), _figure(view, "p999")),
        stack=True,
    )


def _figure(view: ViewModel, which: str) -> Figure:
    rows = [_bar(view, cell, rate, which) for cell, rate in view.fixed_rate_latency.items()]
    what, number, name = (
        ("Mean latency", "Fig. 2a", "latency-mean")
        if which == "mean"
        else ("P99.9 latency", "Fig. 2b", "latency-p999")
    )
    ratios = [c for c in view.comparisons if c.quantity == f"latency.{which}"]
    best = min(ratios, key=lambda c: c.ratio.value, default=None)
    title = what
    if best:
        shown = what if best.differs else f"{what}, {NO_DIFFERENCE.lower()}"
        title = (
            f"{shown}: {view.name(best.cell)} {times_with_interval(best.ratio)} vs."
            f" {view.name(best.baseline)}"
        )
    caption = _caption(view, which) + _paired(view, best) + (BEYOND if cut_off(rows) else "")
    return Figure(
        name=name,
        number=number,
        title=title,
        caption=caption,
        alt=f"Bars. {title}.",
        spec=bars(view, rows, "Latency, ms"),
    )


def _bar(view: ViewModel, cell: str, rate: FixedRateLatency, which: str) -> Bar:
    of: Estimate = rate.mean_s if which == "mean" else rate.p999_s
    certain, known = which == "mean" or rate.p999_certain, which == "p999" or of.n > 1
    label = units.time(of.value) + ("" if certain else f" ({FEW})")
    return Bar(
        view.name(cell),
        of.value * 1e3,
        of.low * 1e3 if known else None,
        of.high * 1e3 if known else None,
        label,
    )


def _caption(view: ViewModel, which: str) -> str:
    first = next(iter(view.fixed_rate_latency.values()))
    rate = (
        f"Open loop at {units.count(60 * first.rate_per_s)} transactions per minute on every"
        f" storage{_share(view)}"
    )
    if which == "mean":
        whiskers = (
            f"Whiskers are 95% CIs over {first.mean_s.n} repeats."
            if first.mean_s.n > 1
            else "One run each: no interval."
        )
        return (
            f"{rate}. Latency counts from the intended start, so stalls are not hidden. {whiskers}"
        )
    few = {cell: one.n for cell, one in view.fixed_rate_latency.items() if not one.p999_certain}
    each = "; ".join(f"{view.name(cell)} {n:,} transactions" for cell, n in few.items())
    mark = f" {FEW_MEANS.removesuffix('.')} ({each})." if few else ""
    return (
        f"{rate}. The histograms of all repeats are merged. Whiskers combine run-to-run variation"
        f" and the percentile's sampling error.{mark}"
    )


def _paired(view: ViewModel, best: Comparison | None) -> str:
    """Where a repeat is missing or invalid on one storage, the title's ratio leaves out the other's
    too, and the bars do not.
    """
    repeats = (
        {view.fixed_rate_latency[cell].mean_s.n for cell in (best.cell, best.baseline)}
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
    shares = {cell: one.share for cell, one in view.fixed_rate_latency.items() if one.share}
    if not shares:
        return ""
    cell = max(shares, key=lambda one: shares[one])
    return (
        f", {percent(round(shares[cell], 2))} of the throughput of {view.name(cell)} at its"
        f" {view.point}"
    )
