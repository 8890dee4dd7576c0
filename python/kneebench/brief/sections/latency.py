"""Fig. 2: latency in open loop, at one rate for all storages."""

from __future__ import annotations

from kneebench.analysis.latencies import AtOneRate
from kneebench.analysis.words import times_with_interval
from kneebench.brief import words
from kneebench.brief.bars import BEYOND, Bar, bars, cut_off
from kneebench.brief.reading import Reading
from kneebench.brief.section import Figure, Section
from kneebench.records import Estimate

PLACE = 30


def section(reading: Reading) -> Section | None:
    """Mean and 99.9th percentile, side by side."""
    if not reading.at_one_rate:
        return None
    return Section(name="latency", title="Latency at one rate", figures=(_figure(reading, "mean"), _figure(reading, "p999")), stack=True)


def _figure(reading: Reading, which: str) -> Figure:
    rows = [_bar(reading, cell, rate, which) for cell, rate in reading.at_one_rate.items()]
    what, number, name = ("Mean latency", "Fig. 2a", "latency-mean") if which == "mean" else ("P99.9 latency", "Fig. 2b", "latency-p999")
    ratios = [c for c in reading.comparisons if c.quantity == f"latency.{which}"]
    best = min(ratios, key=lambda c: c.ratio.value, default=None)
    title = f"{what}: {reading.name(best.cell)} {times_with_interval(best.ratio)} that of {reading.name(best.baseline)}" if best else what
    caption = _caption(reading, which) + (BEYOND if cut_off(rows) else "")
    return Figure(name=name, number=number, title=title, caption=caption, alt=f"Bars. {title}.", spec=bars(reading, rows, "milliseconds"))


def _bar(reading: Reading, cell: str, rate: AtOneRate, which: str) -> Bar:
    of: Estimate = rate.mean_s if which == "mean" else rate.p999_s
    certain, known = which == "mean" or rate.p999_certain, which == "p999" or of.n > 1
    label = words.time(of.value) + ("" if certain else f"  uncertain, n = {rate.n:,}")
    return Bar(reading.name(cell), of.value * 1e3, of.low * 1e3 if known else None, of.high * 1e3 if known else None, label)


def _caption(reading: Reading, which: str) -> str:
    first = next(iter(reading.at_one_rate.values()))
    rate = f"Open loop at {words.count(60 * first.rate_per_s)} transactions a minute on every storage{_share(reading, first.rate_per_s)}"
    if which == "mean":
        whiskers = f"Whiskers are 95 % intervals over {first.mean_s.n} repeats." if first.mean_s.n > 1 else "One run each: no interval."
        return f"{rate}; from the intended start, so stalls are not hidden. {whiskers}"
    uncertain = [cell for cell, one in reading.at_one_rate.items() if not one.p999_certain]
    mark = f" Fewer than 100 samples lie beyond it on {reading.some(uncertain)}: uncertain." if uncertain else ""
    title = " The title's ratio is the mean over pairs of repeats." if reading.comparisons else ""
    return f"{rate}; histograms of all repeats merged, whiskers for what the repeats and the percentile itself scatter by.{title}{mark}"


def _share(reading: Reading, rate_per_s: float) -> str:
    """How hard that rate is: it was chosen by what the climb had seen of the slowest, which its report may not confirm."""
    if not reading.knees:
        return ""
    cell, slowest = min(reading.knees.items(), key=lambda one: one[1].tpm.value)
    return f", {words.percent(round(60 * rate_per_s / slowest.tpm.value, 2))} of what {reading.name(cell)} did at its {reading.point}"
