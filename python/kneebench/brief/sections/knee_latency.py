"""Latency in closed loop, of each storage at its own knee (or fixed load)."""

from __future__ import annotations

from kneebench import units
from kneebench.analysis.wording import FEW_MEANS, number_of_users
from kneebench.brief.section import Figure, Section
from kneebench.brief.sections import numbered
from kneebench.brief.sections.latency import (
    WORDS,
    ConfigurationLatency,
    Text,
    Which,
    latency_figure,
)
from kneebench.brief.view_model import ViewModel
from kneebench.records import Knee

FEW = 2


def section(view: ViewModel) -> Section | None:
    """Mean and 99.9th percentile, as published briefs draw them; nothing without final runs. Of
    more storages, where latency at the fixed rate is there, they are in the appendix.
    """
    if not view.knees:
        return None
    behind = len(view.climbs) > FEW and bool(view.fixed_rate_latency)
    return Section(
        name="knee_latency",
        title=f"Latency at each {view.point}",
        figures=(_figure(view, "mean"), _figure(view, "p999")),
        stack=True,
        part="appendix" if behind else "front",
    )


def _figure(view: ViewModel, which: Which) -> Figure:
    rows = [
        ConfigurationLatency(
            configuration,
            knee.latency_s if which == "mean" else knee.p999_s,
            _is_certain(knee),
            f", {number_of_users(knee.users.value)}",
        )
        for configuration, knee in view.knees.items()
    ]
    number = numbered("latency", "c" if which == "mean" else "d")
    title = f"{WORDS[which]} at each {view.point}, in a closed loop"
    if view.climbs[1:]:
        title += ": every storage has its own throughput"
    text = Text(number, "knee-latency", title, _caption(view, which))
    return latency_figure(view, which, rows, text)


def _caption(view: ViewModel, which: Which) -> str:
    nopm = "; ".join(
        f"{view.name(configuration)} {units.significant(knee.nopm.value)}"
        for configuration, knee in view.knees.items()
    )
    loads = f"NOPM: {nopm}. " if view.direct else ""
    here = (
        f"Closed loop at each {view.point}, as published briefs show it. {loads}Latency roughly"
        " equals users / throughput, so it says more about the number of users than about the"
        " drive."
    )
    if view.fixed_rate_latency:
        here += " Figs. 2a and 2b compare storages under one load."
    if which == "mean":
        return f"{here} Whiskers are 95% CIs over the final runs."
    few = f" {FEW_MEANS}" if not all(map(_is_certain, view.knees.values())) else ""
    return (
        f"The runs of {numbered('latency', 'c')}. The histograms of all of them are merged."
        " Whiskers are run-to-run variation or the percentile's sampling error, the wider one."
        f"{few}"
    )


def _is_certain(knee: Knee) -> bool:
    return knee.latency is not None and knee.latency.p999_is_certain
