"""Fig. 2: latency in open loop, at one rate for all storages."""

from __future__ import annotations

from kneebench.analysis.fixed_rate import AtOneRate
from kneebench.analysis.wording import FEW, FEW_MEANS, NO_DIFFERENCE, times_with_interval
from kneebench.brief import formatting
from kneebench.brief.bars import BEYOND, Bar, bars, cut_off
from kneebench.brief.section import Figure, Section
from kneebench.brief.view_model import Reading
from kneebench.records import Comparison, Estimate

PLACE = 30


def section(reading: Reading) -> Section | None:
    """Mean and 99.9th percentile, side by side."""
    if not reading.at_one_rate:
        return None
    return Section(name="latency", title="Latency at a fixed rate", figures=(_figure(reading, "mean"), _figure(reading, "p999")), stack=True)


def _figure(reading: Reading, which: str) -> Figure:
    rows = [_bar(reading, cell, rate, which) for cell, rate in reading.at_one_rate.items()]
    what, number, name = ("Mean latency", "Fig. 2a", "latency-mean") if which == "mean" else ("P99.9 latency", "Fig. 2b", "latency-p999")
    ratios = [c for c in reading.comparisons if c.quantity == f"latency.{which}"]
    best = min(ratios, key=lambda c: c.ratio.value, default=None)
    title = what
    if best:
        shown = what if best.differs else f"{what}, {NO_DIFFERENCE.lower()}"
        title = f"{shown}: {reading.name(best.cell)} {times_with_interval(best.ratio)} vs. {reading.name(best.baseline)}"
    caption = _caption(reading, which) + _paired(reading, best) + (BEYOND if cut_off(rows) else "")
    return Figure(name=name, number=number, title=title, caption=caption, alt=f"Bars. {title}.", spec=bars(reading, rows, "Latency, ms"))


def _bar(reading: Reading, cell: str, rate: AtOneRate, which: str) -> Bar:
    of: Estimate = rate.mean_s if which == "mean" else rate.p999_s
    certain, known = which == "mean" or rate.p999_certain, which == "p999" or of.n > 1
    label = formatting.time(of.value) + ("" if certain else f" ({FEW})")
    return Bar(reading.name(cell), of.value * 1e3, of.low * 1e3 if known else None, of.high * 1e3 if known else None, label)


def _caption(reading: Reading, which: str) -> str:
    first = next(iter(reading.at_one_rate.values()))
    rate = f"Open loop at {formatting.count(60 * first.rate_per_s)} transactions per minute on every storage{_share(reading)}"
    if which == "mean":
        whiskers = f"Whiskers are 95% CIs over {first.mean_s.n} repeats." if first.mean_s.n > 1 else "One run each: no interval."
        return f"{rate}. Latency counts from the intended start, so stalls are not hidden. {whiskers}"
    few = {cell: one.n for cell, one in reading.at_one_rate.items() if not one.p999_certain}
    each = "; ".join(f"{reading.name(cell)} {n:,} transactions" for cell, n in few.items())
    mark = f" {FEW_MEANS.removesuffix('.')} ({each})." if few else ""
    return f"{rate}. The histograms of all repeats are merged. Whiskers combine run-to-run variation and the percentile's sampling error.{mark}"


def _paired(reading: Reading, best: Comparison | None) -> str:
    """Where a repeat is missing or invalid on one storage, the title's ratio leaves out the other's too, and the bars do not."""
    repeats = {reading.at_one_rate[cell].mean_s.n for cell in (best.cell, best.baseline)} if best else set()
    return f" The title's ratio uses the {best.ratio.n} repeats that both storages have." if best and repeats != {best.ratio.n} else ""


def _share(reading: Reading) -> str:
    """How hard that rate is for the slowest: the report's first turn decided it, and the repeats after it count too."""
    shares = {cell: one.share for cell, one in reading.at_one_rate.items() if one.share}
    if not shares:
        return ""
    cell = max(shares, key=lambda one: shares[one])
    return f", {formatting.percent(round(shares[cell], 2))} of the throughput of {reading.name(cell)} at its {reading.point}"
