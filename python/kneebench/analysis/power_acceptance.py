"""Power per NOPM in an acceptance: whether two campaigns' meters are alike, and its limit."""

from __future__ import annotations

from kneebench.analysis.comparison import called
from kneebench.analysis.equivalence import Judgement
from kneebench.analysis.final_estimates import estimate_of
from kneebench.analysis.judged import LIMIT, Judged, shown_power
from kneebench.analysis.knee import place, quoted_rungs
from kneebench.analysis.power import mw_per_nopm
from kneebench.analysis.wording import capital
from kneebench.records import CampaignPower, Climb, Estimate


def power_per_nopm(climb: Climb) -> Estimate | None:
    """mW/NOPM over the quoted final runs; None where power was not measured."""
    rungs = [rung for rung in quoted_rungs(climb) if mw_per_nopm(rung) > 0]
    return estimate_of(rungs, mw_per_nopm) if rungs else None


def meters_differ(of: CampaignPower | None, to: CampaignPower | None) -> str:
    """Why the power of two campaigns is not compared; empty where their meters are alike, or one
    has none.
    """
    if not of or not to or _measured(of) == _measured(to):
        return ""
    return f"the meters differ ({_called(to)} in the baseline, {_called(of)} now)"


def _measured(power: CampaignPower) -> set[tuple[str, str, tuple[str, ...]]]:
    return {(one.type, one.scope, one.covers) for one in power.parts(power.leading)}


def _called(power: CampaignPower) -> str:
    parts = power.parts(power.leading)
    return ", ".join(f"{one.name}: {one.type}, {one.caption}" for one in parts) or "none"


def within_limit(found: Estimate, most: float) -> Judgement:
    """Whether mW/NOPM is at most so much, by its interval.

    >>> interval = Estimate(value=0.7, low=0.65, high=0.75, n=6)
    >>> [within_limit(interval, most) for most in (0.8, 0.7, 0.6)]
    ['same or better', 'cannot say', 'worse']
    """
    if found.high <= most:
        return "same or better"
    return "worse" if found.low > most else "cannot say"


def limited(climb: Climb, most: float) -> Judged:
    """Power per NOPM against a limit that is no baseline's."""
    found, name = power_per_nopm(climb), capital(called(climb))
    what = f"power per NOPM at {place(climb)}, at most {shown_power(most)}"
    head = Judged(
        storage=called(climb),
        quantity=LIMIT,
        called=what,
        judgement="cannot say",
        margin=0.0,
        campaign=found,
        sentence=f"{name}: {what}: cannot say, power was not measured",
    )
    if not found:
        return head
    answer = within_limit(found, most)
    low, high = shown_power(found.low), shown_power(found.high)
    said = f"{name}: {what}: {answer}, {shown_power(found.value)} (95% CI {low} to {high})"
    return head.model_copy(update={"judgement": answer, "sentence": said})
