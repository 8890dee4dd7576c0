"""The figures behind the caveats, for programs: what a sentence says, the JSON has as a number."""

from __future__ import annotations

from typing import Any

from kneebench.analysis.cpu_utilization import cpu_utilization
from kneebench.analysis.drift import drift
from kneebench.analysis.fixed_rate import ratio_without_wait
from kneebench.analysis.knee import final_rungs, knee_rung
from kneebench.analysis.order_weight import order_weights
from kneebench.brief.view_model import ViewModel
from kneebench.records import Climb


def caveat_figures(view: ViewModel) -> dict[str, Any]:
    """By kind, and by configuration where it is of one.

    `noise`: the difference between two runs of one configuration that is not claimed. `drift`: how
    much more the first rung did when it was repeated last. `climb_at_knee`: what the climb had
    measured there, and the final runs over it. `weights`: configurations whose transactions were
    not equally heavy, with their bytes per transaction. `cpu`: how busy the cores were at the knee.
    `without_wait`: the ratio of the mean latencies without the wait for a free user, where that is
    a large part of them.
    """
    return {
        "noise": {climb.id: view.noise_floor(climb) for climb in view.climbs},
        "drift": {
            climb.id: {"share": moved.share, "users": moved.users, "noise": moved.noise}
            for climb in view.climbs
            if (moved := drift(climb, view.noise_floor(climb)))
        },
        "climb_at_knee": {
            climb.id: found for climb in view.climbs if (found := _at_knee(view, climb))
        },
        "weights": [
            {
                **one._asdict(),
                "bytes": list(one.bytes),
                "times": one.times,
                "matters": one.matters,
            }
            for one in order_weights(view.results)
        ],
        "without_wait": _without_wait(view),
        "cpu": {
            climb.id: {"mean": cpu.mean.value, "least_busy": cpu.least_busy.value}
            for climb in view.climbs
            if (cpu := cpu_utilization(final_rungs(climb)))
        },
    }


def _without_wait(view: ViewModel) -> dict[str, float]:
    climbs = {climb.id: climb for climb in view.climbs}
    return {
        one.configuration: ratio
        for one in view.comparisons
        if one.quantity == "latency.mean"
        and (ratio := ratio_without_wait(climbs[one.configuration], climbs[one.baseline]))
    }


def _at_knee(view: ViewModel, climb: Climb) -> dict[str, float]:
    knee, searched = view.knees.get(climb.id), knee_rung(climb)
    if not knee or not searched or not searched.tally.nopm:
        return {}
    nopm = searched.tally.nopm
    return {"users": searched.users, "nopm": nopm, "final_over_climb": knee.nopm.value / nopm}
